"""Which error of Haiku or JAX means what: the only place that knows their wording."""

import contextlib
import functools
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import jax

from haiku_state.compat import is_live
from haiku_state.contract import leaves_by_path
from haiku_state.errors import (
    DeviceStackedError,
    DonatedBufferError,
    HaikuStateError,
    LeakedTracerError,
    MissingKeyError,
    ModuleClassError,
    OutsideTransformError,
    PairArgumentError,
    SharedBufferError,
    StatelessTransformError,
    TracedFlagError,
    UnboundAxisError,
    UninitializedParameterError,
    UninitializedStateError,
)
from haiku_state.errors.base import as_lines

Row = tuple[type[Exception], str, Callable[[re.Match[str]], HaikuStateError | None]]

# what the arguments of a pair should be
A_KEY = "jax.random.key(0) or None"
A_TREE = "{'module': {'name': array}}"

# what some functions of JAX say of a leaked tracer, as an argument that they do not know
_NO_TRACER = r"Tracer'> is not a valid JAX type"
# what JAX says of memory that an earlier call has taken
_DELETED = re.compile("deleted|donated", re.I)
_FLAGS = "is_training|training|train|test_local_stats"


@contextlib.contextmanager
def named_errors(**trees: Any) -> Iterator[None]:
    """Raise the named error in the place of the one that Haiku or JAX raises inside.

    Args:
      trees: the arguments of the call by name, to find the leaf in that an error is about.

    Raises:
      HaikuStateError: the named error, with the original one as its cause.

    Example:
      >>> from haiku_state.diagnosis import named_errors
      >>> with named_errors():
      ...     raise ValueError("If your transformed function uses hk.get_state …")
      Traceback (most recent call last):
        ...
      haiku_state.errors.pairs.StatelessTransformError: the function keeps state, and hk.transform has no place for it.
        wrong: hk.transform(f)
        right: pure_pair(f)
        why:   the pair of hk.transform neither takes nor returns state
        more:  docs/haiku/pure_pair.md

    References:
      The wording of JAX 0.4.30 to 0.12 and of Haiku 0.0.13 to 0.0.17, each tested.
    """  # noqa: E501
    try:
        yield
    except HaikuStateError:
        raise
    except Exception as error:
        if named := _diagnose(error, trees):
            raise named from error
        raise


def named_buffers(update: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a compiled update, to name the errors about memory that only its call can find.

    Args:
      update: ``update(train_state, batch)``, which donates the train state.

    Returns:
      The same, with :class:`DonatedBufferError` and :class:`SharedBufferError`.
    """

    @functools.wraps(update)
    def run(train_state: Any, batch: Any) -> Any:
        try:
            return update(train_state, batch)
        except (RuntimeError, ValueError) as error:
            if isinstance(error, HaikuStateError):
                raise
            path = _deleted_leaf({"train_state": train_state, "batch": batch})
            # an update that fails underway, for a lost process say, has deleted its train state too
            if path and _DELETED.search(str(error)):
                raise DonatedBufferError(path=path) from error
            if "same buffer twice" in str(error):
                raise SharedBufferError(paths=as_lines(_one_array(train_state))) from error
            raise

    return run


def delete(tree: Any) -> None:
    """Give the memory of each array back, as donation does."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, jax.Array):
            leaf.delete()


def _deleted_leaf(trees: dict[str, Any]) -> str | None:
    for path, leaf in leaves_by_path(**trees).items():
        if isinstance(leaf, jax.Array) and not _is_tracer(leaf) and leaf.is_deleted():
            return path
    return None


def _is_tracer(leaf: Any) -> bool:
    return isinstance(leaf, jax.core.Tracer)


def _one_array(train_state: Any) -> list[str]:
    paths: dict[int, list[str]] = {}
    for path, leaf in leaves_by_path(train_state=train_state).items():
        paths.setdefault(id(leaf), []).append(path)
    return next((same for same in paths.values() if len(same) > 1), [])


def _haiku_frames(error: Exception) -> list[bool]:
    """Say of each frame that the error passed, outermost first, whether it is Haiku's."""
    frames = traceback.walk_tb(error.__traceback__)
    return [frame.f_globals.get("__name__", "").startswith("haiku.") for frame, _ in frames]


def _path(tree: str, match: re.Match[str]) -> str:
    return f"{tree}[{match['module']!r}][{match['name']!r}]"


def misplaced(
    argument: str,
    given: str,
    expected: str,
    wrong: str = "apply(params, state, inputs)",
    right: str = "apply(params, state, rng, inputs)",
) -> PairArgumentError:
    """Make the error for an argument of a pair that stands in the wrong place."""
    return PairArgumentError(
        argument=argument, given=given, expected=expected, wrong=wrong, right=right
    )


def _stacked(match: re.Match[str]) -> HaikuStateError | None:
    shape, expected = _shape(match["shape"]), _shape(match["expected"])
    if shape[1:] != expected:
        return None
    return DeviceStackedError(
        path=_path("params", match),
        shape=shape,
        expected=expected,
        wrong="apply(params, state, rng, inputs)",
        right="apply(unreplicate(params), unreplicate(state), rng, inputs)",
    )


def _shape(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


_ROWS: list[Row] = [
    (
        ValueError,
        r"If your transformed function uses `?hk\.(\{get,set\}|get)_state",
        lambda match: StatelessTransformError(),
    ),
    (AttributeError, r"has no attribute 'startswith'", lambda match: ModuleClassError()),
    (
        ValueError,
        r"No value for '(?P<name>.+?)' in '(?P<module>.+?)', perhaps set an init",
        lambda match: UninitializedStateError(path=_path("state", match)),
    ),
    (
        jax.errors.TracerBoolConversionError,
        rf"the argument (\w+\[')?(?P<name>{_FLAGS})\b",
        lambda match: TracedFlagError(name=match["name"]),
    ),
    (
        ValueError,
        r"Unable to retrieve parameter '(?P<name>.+?)' for module '(?P<module>.+?)'",
        lambda match: UninitializedParameterError(path=_path("params", match)),
    ),
    (
        ValueError,
        r"`hk\.Module`s must be initialized inside an `hk\.transform`",
        lambda match: OutsideTransformError(module="Counter"),
    ),
    (
        ValueError,
        r"must be used as part of an `hk\.transform`",
        lambda match: OutsideTransformError(module="Counter"),
    ),
    (
        TypeError,
        r"(?P<argument>params|state) argument does not appear valid.*? of type "
        r"<class '([\w.]+\.)?(?P<given>\w+)'>",
        lambda match: misplaced(match["argument"], match["given"], A_TREE),
    ),
    (
        ValueError,
        r"must be called with an RNG as the (third|first) argument.*? of type "
        r"<class '([\w.]+\.)?(?P<given>\w+)'>",
        lambda match: misplaced("rng", match["given"], A_KEY),
    ),
    (ValueError, r"You must pass a non-None PRNGKey", lambda match: MissingKeyError()),
    (
        NameError,
        r"unbound axis name: (?P<axis>\w+)",
        lambda match: UnboundAxisError(axis=match["axis"]),
    ),
    (
        ValueError,
        r"'(?P<module>[^']+)/(?P<name>[^'/]+)' with retrieved shape \((?P<shape>.*?)\) "
        r"does not match shape=[\[(](?P<expected>.*?)[\])]",
        _stacked,
    ),
]


def _diagnose(error: Exception, trees: dict[str, Any]) -> HaikuStateError | None:
    text = str(error)
    if isinstance(error, jax.errors.UnexpectedTracerError) or re.search(_NO_TRACER, text):
        leaves = leaves_by_path(**trees).items()
        dead = [path for path, leaf in leaves if _is_tracer(leaf) and not is_live(leaf)]
        if dead or any(_haiku_frames(error)):
            return LeakedTracerError(paths=as_lines(dead or ["state[…]"]))
    may_be_gone = isinstance(error, RuntimeError | ValueError) and "deleted" in text
    if may_be_gone and (path := _deleted_leaf(trees)):
        return DonatedBufferError(path=path)
    if isinstance(error, AttributeError) and not _haiku_frames(error)[-1]:
        return None  # the user's own mistake, in words that Haiku's code raises too
    for kind, pattern, named in _ROWS:
        if isinstance(error, kind) and (match := re.search(pattern, text)):
            return named(match)
    return None
