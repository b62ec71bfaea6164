"""Maps the errors of Haiku and JAX to named errors: the only place that knows their wording."""

import contextlib
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import haiku as hk
import jax
import numpy as np

from haiku_state import errors
from haiku_state.errors import arguments
from haiku_state.errors.base import as_lines
from haiku_state.errors.describe import (
    consumed_error,
    describe,
    describe_tree,
    is_key,
    leaked_error,
    leaves_by_path,
    number_error,
    shape_error,
    shared_error,
    with_dicts,
)
from haiku_state.errors.language import deferred as _
from haiku_state.errors.modules import uninitialized_average
from haiku_state.errors.pairs import NO_PARAMS, OTHER_PARAMS, SWAPPED
from haiku_state.errors.state import LEAKED_IN_HAIKU

_FLAGS = "is_training|training|train|test_local_stats"


@contextlib.contextmanager
def named_errors(**trees: Any) -> Iterator[None]:
    """Raise the named error in place of the error that Haiku or JAX raises inside.

    Args:
      trees: the arguments of the call by name, as in :func:`named_error`.

    Raises:
      HaikuStateError: the named error, with the original error as its cause.

    Example:
      >>> from haiku_state.errors.diagnosis import named_errors
      >>> with named_errors():
      ...     raise ValueError("If your transformed function uses hk.get_state …")
      Traceback (most recent call last):
        ...
      haiku_state.errors.pairs.StatelessTransformError: the function was transformed without support for state, for example by hk.transform.
        why:   the function keeps state, but this init does not return the state, or this apply does not take it: use pure_pair, hk.transform_with_state or hk.multi_transform_with_state
        more:  python -m haiku_state read haiku/pure_pair

    References:
      The wording of JAX 0.4.30 to 0.12 and of Haiku 0.0.13 to 0.0.17, each tested.
    """  # noqa: E501
    try:
        yield
    except errors.HaikuStateError:
        raise
    except Exception as error:
        if named := named_error(error, **trees):
            raise named from error
        raise


@contextlib.contextmanager
def loss_errors(**trees: Any) -> Iterator[None]:
    """Name what goes wrong in a loss function, or what JAX rejects in its result.

    Args:
      trees: as in :func:`named_error`.

    Raises:
      LossFunctionError: the loss function has returned, and JAX cannot differentiate the result.
      HaikuStateError: as in :func:`named_errors`.
    """
    with named_errors(**trees):
        try:
            yield
        except (TypeError, ValueError) as error:
            said = str(error).splitlines()[0] if str(error) else ""
            if "valued inputs" in said:
                raise arguments.integer_params(trees["params"]) from error
            if not re.search(_REFUSED, said) or _passed_through_users_code(error):
                raise
            value = re.sub(r"\.( Output was .*)?$", "", said)
            if "two-element tuple" in said:
                value = _("the result is not a pair")
            raise errors.LossFunctionError(value=value) from error


@contextlib.contextmanager
def opt_state_errors(optimizer: Any, opt_state: Any, params: Any) -> Iterator[None]:
    """Name what an optimizer raises because the opt_state is not its own.

    Args:
      optimizer: an Optax optimizer.
      opt_state: what it was given.
      params: what it updates.

    Raises:
      ArgumentError: its ``init`` returns another structure.
    """
    try:
        yield
    except errors.HaikuStateError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        expected = jax.eval_shape(optimizer.init, params)
        structures = [str(jax.tree.structure(with_dicts(t))) for t in (opt_state, expected)]
        if len(set(structures)) == 1:
            raise
        raise arguments.opt_state(opt_state, expected, "train_state.opt_state") from error


# what jax.value_and_grad says of a result that is no pair, or whose loss is no floating scalar
_REFUSED = r"to return a two-element tuple|scalar-output functions|grad requires \w+"


def _passed_through_users_code(error: Exception) -> bool:
    """Return whether any frame below the one that handles an error is not in JAX."""
    frames = [frame for frame, _line in traceback.walk_tb(error.__traceback__)]
    modules = [str(frame.f_globals.get("__name__")).split(".")[0] for frame in frames]
    _handler, _caller, *below = modules
    return any(module not in ("jax", "jaxlib") for module in below)


def named_error(error: Exception, **trees: Any) -> errors.HaikuStateError | None:
    """Find the named error for an error that Haiku or JAX has raised.

    Args:
      error: what a call has raised.
      trees: the arguments of the call by name, to look up the leaf that the error is about. An
        ``init`` has neither ``params`` nor a ``train_state`` among them.

    Returns:
      The named error; None for any other error.
    """
    text = f"{type(error).__name__}: {error}"
    for pattern, name in _ROWS:
        match = re.search(pattern, text)
        if match and (named := name(_Raised(error, match, trees))):
            return named
    return None


@contextlib.contextmanager
def traced_number_errors(state: Any) -> Iterator[None]:
    """Name the number of a state that JAX has traced where Python needs its value.

    Args:
      state: the argument of that name.

    Raises:
      TracedFlagError: JAX says that the value depends on some of them.
    """
    try:
        yield
    except errors.HaikuStateError:
        raise
    except (TypeError, IndexError) as error:
        said = re.search(r"depends on the values? of the arguments? (.*)", str(error))
        numbers = [
            path
            for path, leaf in leaves_by_path(state=state).items()
            if np.ndim(leaf) == 0 and not is_key(leaf)
        ]
        names = [
            path for path in numbers if said and re.search(rf"{re.escape(path)}(?!\w)", said[1])
        ]
        if not names:
            raise  # it is an argument of the method
        raise arguments.traced_number([path[len("state.") :] for path in names]) from error


def init_error(init: Callable[..., Any], result: Any) -> errors.HaikuStateError:
    """Make the error for an ``init`` that does not return ``(params, state)``.

    Args:
      init: the function.
      result: what it returned.

    Returns:
      The error, to be raised: a :class:`StatelessTransformError` for the ``init`` of
      ``hk.transform``.
    """
    if getattr(init, "__module__", "").startswith("haiku.") and isinstance(result, Mapping):
        return errors.StatelessTransformError(
            why=_(
                "a train state holds params and state, but this init returns only params: use "
                "pure_pair, whose init also returns a state, which is empty if the function has "
                "none"
            )
        )
    return errors.ArgumentError(
        argument="init(rng, …)",
        value=describe_tree(result),
        expected="(params, state)",
        why=_(
            "a train state holds params and state: if the model has no state, return an empty dict "
            "as its state"
        ),
        more="haiku/pure_pair",
    )


class _Raised(NamedTuple):
    """An error of Haiku or JAX, and what is known about the call that raised it."""

    error: Exception
    match: re.Match[str]
    trees: dict[str, Any]

    @property
    def in_init(self) -> bool:
        return not {"params", "train_state"} & set(self.trees)

    @property
    def frames(self) -> list[dict[str, Any]]:
        """The local variables of each frame that the error passed through, outermost first."""
        frames = traceback.walk_tb(self.error.__traceback__)
        return [dict(frame.f_locals) for frame, _line in frames]

    @property
    def modules(self) -> list[type[hk.Module]]:
        """The module classes among the frames, outermost first."""
        found = (frame.get("cls", type(frame.get("self"))) for frame in self.frames)
        return [cls for cls in found if _is_module(cls)]

    def path(self, tree: str) -> str:
        return f"{tree}[{self.match['module']!r}][{self.match['name']!r}]"


def _is_module(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, hk.Module)


Name = Callable[[_Raised], errors.HaikuStateError | None]
_ROWS: list[tuple[str, Name]] = []


def _says(pattern: str) -> Callable[[Name], Name]:
    """Let the function below name the errors whose class and text match a pattern."""

    def register(name: Name) -> Name:
        _ROWS.append((pattern, name))
        return name

    return register


@_says(r"If your transformed function uses `?hk\.(\{get,set\}|get)_state")
def _stateless(raised: _Raised) -> errors.HaikuStateError:
    return errors.StatelessTransformError()


@_says("has no attribute '?startswith")  # the inputs are in the place of the module's name
def _class_transformed(raised: _Raised) -> errors.HaikuStateError | None:
    for frame in raised.frames:
        if _is_module(frame.get("f")):  # what hk.transform_with_state was given
            name = frame["f"].__name__
            return errors.UncalledModuleError(
                module=name,
                wrong=f"hk.transform_with_state(…{name})",
                right=f"pure_pair(…{name})",
                why=_(
                    "hk.transform_with_state calls its argument with the inputs, but calling a "
                    "class only constructs a module and passes the inputs to its constructor"
                ),
            )
    return None


@_says(r"No value for '(?P<name>.+?)' in '(?P<module>.+?)', perhaps set an init")
def _missing_state(raised: _Raised) -> errors.HaikuStateError:
    path = raised.path("state")
    if raised.modules and issubclass(raised.modules[-1], hk.ExponentialMovingAverage):
        return uninitialized_average(path)
    return errors.UninitializedStateError(path=path)


@_says(rf"TracerBool[\s\S]*depends on the value of the argument (\w+\[')?(?P<name>{_FLAGS})\b")
def _traced_flag(raised: _Raised) -> errors.HaikuStateError:
    return errors.TracedFlagError(name=raised.match["name"])


@_says(r"Unable to retrieve parameter '(?P<name>.+?)' for module '(?P<module>.+?)'")
def _missing_parameter(raised: _Raised) -> errors.HaikuStateError:
    module, name = raised.match["module"], raised.match["name"]
    params, state = (raised.trees.get(tree) or {} for tree in ("params", "state"))
    advice = {}
    if name in state.get(module, {}):
        advice = {"why": SWAPPED}
    elif not params:
        advice = {"why": NO_PARAMS}
    elif module in params:
        advice = {"why": OTHER_PARAMS}
    return errors.UninitializedParameterError(path=raised.path("params"), **advice)


@_says(
    r"`hk\.Module`s must be initialized inside an `hk\.transform`"
    r"|`(?P<function>[\w.]+)` must be used as part of an `hk\.transform`"
)
def _outside(raised: _Raised) -> errors.HaikuStateError:
    name = raised.modules[0].__name__ if raised.modules else raised.match["function"] or "module"
    return errors.OutsideTransformError(module=name)


@_says(
    "(?P<argument>params|state) argument does not appear valid"
    "|must be called with an RNG as the (third|first) argument"
)
def _misplaced(raised: _Raised) -> errors.HaikuStateError:
    argument, expected = raised.match["argument"], "{'module': {'name': array}}"
    if argument is None:
        argument, expected = "rng", _("a random key or None")
    # the frame of Haiku's own init or apply
    frame = next(frame for frame in reversed(raised.frames) if {"rng", "args"} <= frame.keys())
    return errors.PairArgumentError(
        argument=argument,
        given=describe(frame[argument]),
        expected=expected,
    )


@_says("You must pass a non-None PRNGKey")
def _no_key(raised: _Raised) -> errors.HaikuStateError:
    return errors.MissingKeyError()


@_says(r"unbound axis name: (?P<axis>\w+)")
def _unbound(raised: _Raised) -> errors.HaikuStateError:
    axis = raised.match["axis"]
    if not raised.in_init:
        return errors.UnboundAxisError(axis=axis)
    if raised.modules and issubclass(raised.modules[-1], hk.BatchNorm):
        return errors.UnboundAxisError(
            axis=axis,
            why=_(
                "hk.BatchNorm needs the axis even in init: use the BatchNorm of this package, "
                "which does not need it there and has the same names and shapes"
            ),
        )
    return errors.UnboundAxisError(
        axis=axis,
        why=_(
            "only pmap, vmap or shard_map binds an axis, and init runs without them on one device: "
            "skip the code that needs the axis when hk.running_init() is true"
        ),
    )


@_says(
    r"'(?P<module>[^']+)/(?P<name>[^'/]+)' with retrieved shape \((?P<shape>.*?)\) "
    r"does not match shape=[\[(](?P<expected>.*?)[\])]"
)
def _other_shape(raised: _Raised) -> errors.HaikuStateError | None:
    if raised.in_init:  # two calls of one module
        return None
    shape, expected = (
        tuple(map(int, re.findall(r"\d+", raised.match[name]))) for name in ("shape", "expected")
    )
    lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(raised.trees["params"])}
    return shape_error(raised.path("params"), shape, expected, lengths == {shape[:1]})


# the second is what some JAX functions report when a leaked tracer is passed to them, and the pmap
# of JAX 0.6 and 0.7 when its function has used one
@_says(
    r"UnexpectedTracerError|"
    r"type:? <class '\S+\.(?P<held>\w*Tracer)'>(?: is not a valid JAX type|$)"
)
def _leaked(raised: _Raised) -> errors.HaikuStateError | None:
    if leaked := leaked_error(leaves_by_path(**raised.trees)):
        return leaked
    # Haiku raises JAX's error a second time, outside of the modules, with a hint
    text = f"{raised.error}\n{raised.error.__context__}"
    said = re.search(r"when the value leaked was (.+? at \S+\.py:\d+)", text)
    held = said[1] if said else raised.match["held"]
    if held is None:
        return None
    in_haiku = raised.modules or "inside a Haiku transformed function" in str(raised.error)
    texts = {"why": LEAKED_IN_HAIKU} if in_haiku else {}
    return errors.LeakedTracerError(paths=as_lines([held]), **texts)


@_says(r"New parameters were created: (?P<names>.*)")
def _made_in_loop(raised: _Raised) -> errors.HaikuStateError:
    return arguments.made_in_loop(raised.match["names"])


@_says(r"\.state\['(?P<module>.+?)'\]\['(?P<name>.+?)'\].* axis spec None but output was batched")
def _mapped(raised: _Raised) -> errors.HaikuStateError:
    return arguments.mapped_state(raised.path("state"))


@_says("[Dd]eleted|donated")
def _donated(raised: _Raised) -> errors.HaikuStateError | None:
    return consumed_error(**raised.trees)


@_says("ShapeDtypeStruct")
def _shape_alone(raised: _Raised) -> errors.HaikuStateError | None:
    def alone(leaf: Any) -> Any:
        return leaf if isinstance(leaf, jax.ShapeDtypeStruct) else 0

    return number_error(**jax.tree.map(alone, raised.trees))


@_says("same buffer twice|previously donated in the same call")
def _shared(raised: _Raised) -> errors.HaikuStateError | None:
    return shared_error(**raised.trees)
