"""Errors of params and state as NumPy arrays, and of files of them."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class ArrayMismatchError(HaikuStateError, ValueError):
    """Loaded arrays have other names, shapes or dtypes than the model."""

    TEXT_WHAT = _("the arrays do not fit the model (- missing, + unknown):{differences}")
    TEXT_WRONG = "from_numpy(arrays, params, state)"
    TEXT_RIGHT = "params, state = init(rng, inputs); from_numpy(arrays, params, state)"
    TEXT_WHY = _(
        "the module's names or sizes have changed since the arrays were saved; nothing was loaded"
    )
    MORE = "docs/api/interchange.rst"


class ArrayFileError(HaikuStateError, ValueError):
    """A file, or a dict, is not what ``save_numpy`` and ``to_numpy`` make."""

    TEXT_WHAT = _("{where} is {found}; expected: {expected}.")
    TEXT_WRONG = "np.savez(path, params)"
    TEXT_RIGHT = "save_numpy(path, to_numpy(params, state))"
    TEXT_WHY = _(
        "`params` and `state` are saved as plain arrays under their names; objects and "
        "pickles are not read, since they break with the next version"
    )
    MORE = "docs/api/interchange.rst"
