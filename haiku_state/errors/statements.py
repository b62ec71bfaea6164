"""What the user's program says, where a right line has to be true to the letter."""

import ast
import inspect
import linecache
import re
import traceback
from collections.abc import Iterator
from typing import Any

# the transformations of JAX that Haiku has too, by JAX's name
HAIKUS = {
    name: f"hk.{name}" for name in ("scan", "map", "fori_loop", "while_loop", "cond", "switch")
} | {"checkpoint": "hk.remat", "remat": "hk.remat"}

TAKE_FUNCTIONS = "|".join([*HAIKUS, "vmap", "pmap", "jit", "grad", "value_and_grad", "custom_vjp"])


def source_of(function: Any, look: Any = inspect.getsourcelines) -> str:
    """Return the text of a function, or of its file with ``inspect.findsource``, if it is known."""
    call = function.__call__ if isinstance(function, type) else function
    try:
        return "".join(look(inspect.unwrap(call))[0])
    except (OSError, TypeError, AttributeError):
        return ""


def chosen_by_where(error: BaseException) -> dict[str, str] | None:
    """Rewrite ``if test: x = value``, where JAX has traced the test, with ``jnp.where``.

    Args:
      error: raised from the error of JAX, whose last frame outside of JAX is the branch.

    Returns:
      The statement as it is and as it should be; None if it is any other statement.
    """
    frames = traceback.walk_tb(error.__cause__.__traceback__ if error.__cause__ else None)
    users = [each for each in frames if not _is_of_library(each[0])]
    if not users:
        return None
    frame, line = users[-1]
    source = "".join(linecache.getlines(frame.f_code.co_filename))
    for node in _nodes(source):
        match node:
            case ast.If(
                test=test,
                body=[ast.Assign(targets=[ast.Attribute() as target], value=value)],
                orelse=[],
            ) if node.lineno == line:
                x, condition, new = map(ast.unparse, (target, test, value))
                right = f"{x} = jnp.where({condition}, {new}, {x})"
                return {"wrong": f"if {condition}: {x} = {new}", "right": right}
    return None


def _is_of_library(frame: Any) -> bool:
    module = str(frame.f_globals.get("__name__")).split(".")[0]
    return module in ("jax", "jaxlib", "haiku", "haiku_state")


def call_beside(function: Any, method: str, name: str) -> str:
    """Return the call ``hk.method("name", …)`` as it is written in the file of a function.

    It is empty if there is no such call, or more than one.
    """
    source, found = source_of(function, inspect.findsource), []
    for node in _nodes(source):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), args=[ast.Constant(value=first), *_]):
                if (attr, first) == (method, name):
                    found.append(ast.get_source_segment(source, node) or "")
    return found[0] if len(found) == 1 else ""


def transformed_by(function: Any) -> dict[str, str] | None:
    """Return the only transformation of JAX in a function, as it is and as Haiku has it."""
    names = set(re.findall(rf"\bjax\.(?:lax\.)?(?:{TAKE_FUNCTIONS})\b", source_of(function)))
    if len(names) == 1 and (right := HAIKUS.get((wrong := names.pop()).rpartition(".")[2])):
        return {"wrong": f"{wrong}(…)", "right": f"{right}(…)"}
    return None


def may_grow(function: Any) -> bool:
    """Return whether a function puts arrays together, as far as its text is known."""
    source = source_of(function)
    return not source or bool(re.search(r"append|concat|stack|pad\b|_\[", source))


def _nodes(source: str) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(source))
    except SyntaxError:  # of a notebook's magic
        return iter(())
