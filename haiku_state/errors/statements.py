"""What the user's program says, where a right line has to be true to the letter."""

import ast
import inspect
import linecache
import re
import textwrap
import traceback
from collections.abc import Iterator
from typing import Any

# the transformations of JAX that Haiku has too, by JAX's name
HAIKUS = {
    name: f"hk.{name}" for name in ("scan", "map", "fori_loop", "while_loop", "cond", "switch")
} | {"checkpoint": "hk.remat", "remat": "hk.remat"}


def chosen_by_where(error: BaseException) -> dict[str, str] | None:
    """Rewrite ``if test: x = value``, where JAX has traced the test, with ``jnp.where``.

    Args:
      error: raised from the error of JAX, whose last frame outside of JAX is the branch.

    Returns:
      The statement as it is and as it should be; None if it is any other statement.
    """
    cause = error.__cause__
    frames = traceback.extract_tb(cause.__traceback__ if cause else None)
    users = [f for f in frames if not re.search(r"[/\\](jax|haiku_state)[/\\]", f.filename)]
    source = "".join(linecache.getlines(users[-1].filename)) if users else ""
    for node in _nodes(source):
        match node:
            case ast.If(
                test=test,
                body=[ast.Assign(targets=[ast.Attribute() as target], value=value)],
                orelse=[],
            ) if node.lineno == users[-1].lineno:
                x, condition, new = map(ast.unparse, (target, test, value))
                right = f"{x} = jnp.where({condition}, {new}, {x})"
                return {"wrong": f"if {condition}: {x} = {new}", "right": right}
    return None


def call_beside(function: Any, method: str, name: str) -> str:
    """Return the call ``hk.method("name", …)`` as it is written in the file of a function.

    It is empty if there is no such call, or more than one.
    """
    try:
        source = "".join(inspect.findsource(_code_of(function))[0])
    except (OSError, TypeError):
        return ""
    found = []
    for node in _nodes(source):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), args=[ast.Constant(value=first), *_]):
                if (attr, first) == (method, name):
                    found.append(ast.get_source_segment(source, node) or "")
    return found[0] if len(found) == 1 else ""


def transformed_by(function: Any) -> dict[str, str] | None:
    """Return the only transformation of JAX in a function, as it is and as Haiku has it."""
    try:
        source = textwrap.dedent(inspect.getsource(_code_of(function)))
    except (OSError, TypeError):
        return None
    written = set(re.findall(r"\bjax\.(?:lax\.)?[a-z_]+(?=\()", source)) - {"jax.lax.stop_gradient"}
    names = {each for each in written if not re.search(r"\.lax\.p", each)}
    if len(names) == 1 and (right := HAIKUS.get((wrong := names.pop()).rpartition(".")[2])):
        return {"wrong": f"{wrong}(…)", "right": f"{right}(…)"}
    return None


def _code_of(function: Any) -> Any:
    return inspect.unwrap(function.__call__ if isinstance(function, type) else function)


def _nodes(source: str) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(source))
    except SyntaxError:  # of a notebook's magic
        return iter(())
