"""From ``FILE.py:FUNCTION`` to the function, and from ``--args`` to its arguments.

All of it is the user's own code, so it may raise anything, which is reported in one line.
"""

import ast
import contextlib
import difflib
import importlib
import inspect
import operator
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.commands.parser import OneLineParser, in_one_line
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

NO_NAME = _("{name} is not the name of a function; pass its arguments with --args")
NOT_IMPORTED = _("{name} cannot be imported")
NOT_READ = _("{name} cannot be read")
NOT_EVALUATED = _("{name} cannot be evaluated")
NOT_FOUND = _("{name} was not found: there is no {part}")
NOT_FOUND_CLOSE = _("{name} was not found: there is no {part}; did you mean {close}?")
NO_INIT = _("--init is for a method of a class, such as Counter.count, and not for {name}")
IN_HAIKU = _(
    "{name} belongs to a Haiku module, which must be transformed first: write pair = "
    "hs.pure_pair(…) in the file, and name pair.apply"
)
NEEDS_INSTANCE = _("{name} must be called on an instance, which cannot be created")
MAY_NEED_INIT = _(
    "{name} must be called on an instance, and --init may be needed to create the instance"
)
SAID = _("{problem}: {reason}")
SAID_AT = _("{problem}: {reason} (line {line})")


class Shapes:
    """Makes arrays without data: ``f32[3, 4]`` is any array of that dtype and shape."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype

    def __getitem__(self, sizes: Any) -> jax.ShapeDtypeStruct:
        shape = tuple(map(operator.index, sizes if isinstance(sizes, tuple) else (sizes,)))
        if min(shape, default=0) < 0:
            raise ValueError(f"a size is less than 0 in {list(shape)}")
        return jax.ShapeDtypeStruct(shape, self._dtype)


NAMES = {
    "jnp": jnp,
    "np": np,
    "jax": jax,
    "hk": hk,
    "f16": Shapes(jnp.float16),
    "bf16": Shapes(jnp.bfloat16),
    "f32": Shapes(jnp.float32),
    "i8": Shapes(jnp.int8),
    "i32": Shapes(jnp.int32),
    "u8": Shapes(jnp.uint8),
    "u32": Shapes(jnp.uint32),
}
"""What the arguments may use besides the names of the file."""


@contextlib.contextmanager
def imported(parser: OneLineParser, target: str) -> Iterator[tuple[types.ModuleType, str]]:
    """Import the file or the module of a target, as long as the context is open.

    Yields:
      The module, and the name of the function.
    """
    place, _colon, name = target.rpartition(":")
    if not place or not name:
        parser.reject(_("{target} does not have the form FILE.py:FUNCTION"), target=repr(target))
    if not _is_dotted(name):
        parser.reject(NO_NAME, name=repr(name))
    file = Path(place).absolute() if place.endswith(".py") else None
    if not file and (Path(place).is_file() or not _is_dotted(place)):
        parser.reject(_("{place} is neither a .py file nor a module"), place=repr(place))
    module = types.ModuleType(_unused(file.stem if file else place))
    path, argv = sys.path[:], sys.argv
    sys.path.insert(0, str(file.parent if file else Path.cwd()))
    sys.argv = [place]  # the words of the command line are not for the file
    try:
        if file:
            _run_file(parser, place, file, module)
        else:
            with _told(parser, NOT_IMPORTED, name=place):
                module = importlib.import_module(place)
        yield module, name
    finally:
        sys.path[:], sys.argv = path, argv
        if file:
            sys.modules.pop(module.__name__, None)


def _unused(name: str) -> str:
    """A name for a module: a file ``random.py`` must not stand for Python's."""
    while name in sys.modules:
        name += "_"
    return name


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _run_file(parser: OneLineParser, place: str, file: Path, module: types.ModuleType) -> None:
    """Import a file by itself, and write no bytecode beside it."""
    try:
        source = file.read_bytes()
    except OSError as error:
        parser.reject(SAID, problem=_problem(NOT_READ, name=place), reason=error.strerror)
    module.__file__ = str(file)
    module.__package__ = ""
    sys.modules[module.__name__] = module
    with _told(parser, NOT_IMPORTED, file, name=place):
        exec(compile(source, str(file), "exec", dont_inherit=True), vars(module))


def find(
    parser: OneLineParser, module: types.ModuleType, name: str, init: str | None
) -> Callable[..., Any]:
    """Return the function with that name; for a method, the method of a new instance.

    Args:
      parser: which ends the command if there is no such function.
      module: where it is.
      name: its name, such as ``loss_fn`` or ``Counter.count``.
      init: the arguments that the class of a method is constructed with, as text.

    Returns:
      The function, or the bound method.
    """
    found: Any = module
    is_made = False
    for part in name.split("."):
        owner = found
        if _needs_instance(owner, part):
            owner, is_made = _instance(parser, module, owner, name, init), True
        with _told(parser, NOT_READ, name=name):
            found = getattr(owner, part, _MISSING)
        if found is _MISSING:
            close = difflib.get_close_matches(part, dir(owner), 1)
            text = NOT_FOUND_CLOSE if close else NOT_FOUND
            parser.reject(text, name=name, part=part, close="".join(close))
    if isinstance(found, type) and issubclass(found, hk.Module):
        parser.reject(IN_HAIKU, name=name)
    if not callable(found):
        kind = type(found).__name__
        parser.reject(
            _("{name} is not a function but a value of type {kind}"), name=name, kind=kind
        )
    if init is not None and not is_made:
        parser.reject(NO_INIT, name=name)
    function: Callable[..., Any] = found
    return function


_MISSING = object()


def _needs_instance(owner: Any, name: str) -> bool:
    """Whether a name of a class is bound to an instance: a method, or a property."""
    if not isinstance(owner, type):
        return False
    inside = inspect.getattr_static(owner, name, None)
    return hasattr(inside, "__get__") and not isinstance(inside, (staticmethod, classmethod))


def _instance(
    parser: OneLineParser, module: types.ModuleType, cls: type, name: str, init: str | None
) -> Any:
    if issubclass(cls, hk.Module):
        parser.reject(IN_HAIKU, name=name)
    args, kwargs = evaluated(parser, "--init", init, module)
    with _told(parser, NEEDS_INSTANCE if init else MAY_NEED_INIT, name=name):
        return cls(*args, **kwargs)


def evaluated(
    parser: OneLineParser, option: str, text: str | None, module: types.ModuleType
) -> Arguments:
    """Evaluate the arguments of a call.

    Args:
      parser: which ends the command if they cannot be evaluated.
      option: the option that they are from.
      text: what is between the parentheses of the call.
      module: the names that it may use, besides `NAMES`.

    Returns:
      The positional arguments and the keyword arguments.
    """
    names = {**NAMES, **vars(module), "arguments_of_call": lambda *args, **kwargs: (args, kwargs)}
    try:
        call = ast.parse(f"arguments_of_call({text or ''}\n)", mode="eval")
        code = compile(call, option, "eval")
    except (SyntaxError, ValueError) as error:
        parser.error(f"{option}: {getattr(error, 'msg', error)}: {text}")
    if not isinstance(call.body, ast.Call) or not isinstance(call.body.func, ast.Name):
        parser.reject(
            _("{option}: these are not the arguments of one call: {text}"),
            option=option,
            text=text or "",
        )
    with _told(parser, NOT_EVALUATED, name=option):
        result: Arguments = eval(code, names)
    return result


def check_fit(
    parser: OneLineParser, name: str, function: Callable[..., Any], given: Arguments
) -> None:
    """End the command if the function cannot be called with these arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # of some functions in C, Python does not know it
    args, kwargs = given
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        known = ", ".join(signature.parameters)
        problem = _problem(
            _("the arguments in --args do not fit {name}({known})"), name=name, known=known
        )
        parser.reject(SAID, problem=problem, reason=error)


@contextlib.contextmanager
def _told(
    parser: OneLineParser, text: str, file: Path | None = None, **values: str
) -> Iterator[None]:
    """End the command with one line about whatever the user's code raises."""
    try:
        yield
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(file)]
        problem, reason = _problem(text, **values), in_one_line(error)
        if lines:
            parser.reject(SAID_AT, problem=problem, reason=reason, line=lines[-1])
        parser.reject(SAID, problem=problem, reason=reason)


def _problem(text: str, **values: str) -> str:
    return translated(text).format(**values)
