"""How a statement of the user's program reads without a Python branch."""

import ast
import linecache
import re
import traceback


def chosen_by_where(error: BaseException) -> tuple[str, str] | None:
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
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.If(
                test=test,
                body=[ast.Assign(targets=[ast.Attribute() as target], value=value)],
                orelse=[],
            ) if node.lineno == users[-1].lineno:
                x, condition, new = map(ast.unparse, (target, test, value))
                return f"if {condition}: {x} = {new}", f"{x} = jnp.where({condition}, {new}, {x})"
    return None
