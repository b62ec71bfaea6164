"""What differs between the versions of JAX, for those who look at a program while JAX traces it.

By the rules of ``haiku_state/compat.py``.
"""

import contextlib
import functools
import itertools
import types
from typing import Any

import jax

_offsets = itertools.count(1 << 20)


def traced_anew(again: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Make JAX trace again what it has traced before, and make it forget these traces afterwards.

    JAX looks its traces up by the settings under which they were made. One of these settings is an
    offset to all seeds; inside this context, it has a value that is never used again.

    Args:
      again: False to look for no leaks, and do nothing else.

    Returns:
      A context manager, for this thread. A seed that is used inside gives different numbers, and no
      leaks are looked for.
    """
    from jax._src import config

    stack = contextlib.ExitStack()
    stack.enter_context(config.check_tracer_leaks(False))
    # never a sum with the value outside: sums repeat
    offset = (config.random_seed_offset.value, next(_offsets))[again]
    stack.enter_context(config.random_seed_offset(offset))
    return stack


def trace_state() -> Any:
    """Return what differs between two places if one of them is in a transformation of its own.

    Returns:
      A value to be compared; always the same on a JAX that does not tell.
    """
    from jax.extend import core

    tell = getattr(core, "get_opaque_trace_state", None)
    return tell and tell(convention="haiku")


def scan_sizes(params: dict[str, Any]) -> tuple[int, int]:
    """Return how many inputs of a ``scan`` equation are constants, and how many are carried.

    Args:
      params: those of the equation.

    Returns:
      The two numbers; the inputs that follow are scanned over.
    """
    if "ft_in" in params:  # JAX >= 0.11
        constants, carry, _scanned = params["ft_in"].unpack()
        return len(list(constants)), len(list(carry))
    else:  # JAX < 0.11
        return params["num_consts"], params["num_carry"]


def jit_codes() -> list[Any]:
    """Return the code of ``jax.jit``, after the code of the functions that JAX wraps around it."""
    functions: list[Any] = [jax.jit]
    while hasattr(functions[-1], "__wrapped__"):
        functions.append(functions[-1].__wrapped__)
    return [function.__code__ for function in functions]


def is_jitted(function: Any) -> bool:
    """Return whether a function was made by ``jax.jit`` and not by another wrapper of JAX."""
    return type(function) is type(jax.jit(is_jitted))


def static_arguments(function: Any) -> tuple[Any, ...]:
    """Return what ``jax.jit`` was told is static.

    Args:
      function: a jitted function, or any other.

    Returns:
      The positions and the names of the parameters together; none where JAX does not tell.
    """
    info = getattr(function, "_jit_info", None)
    return (*getattr(info, "static_argnums", ()), *getattr(info, "static_argnames", ()))


def place_of(equation: Any) -> tuple[str, int] | None:
    """Return the file and the line that an equation of a jaxpr was traced from.

    Args:
      equation: one of ``jaxpr.eqns``.

    Returns:
      None if no line outside of JAX is known.
    """
    from jax._src import source_info_util

    frame: Any
    if jax.__version_info__ >= (0, 7):  # JAX >= 0.7
        frame = source_info_util.user_frame(equation.source_info.traceback)
    else:  # JAX < 0.7
        frame = source_info_util.user_frame(equation.source_info)
    return frame and (frame.file_name, frame.start_line)


def file_of(jaxpr: Any) -> str:
    """Return the file of the function that a program was traced from.

    Args:
      jaxpr: a program, such as that of an equation.

    Returns:
      An empty text where JAX does not know it: before JAX 0.5, for all but jitted functions.
    """
    told = getattr(jaxpr.debug_info, "func_src_info", None) or ""
    return str(told).partition(" at ")[2].rpartition(":")[0]


@functools.lru_cache
def equation_code() -> types.CodeType:
    """Return the code that adds an equation to the program that is traced, its ``eqn``."""
    from jax._src.interpreters.partial_eval import JaxprStackFrame

    return JaxprStackFrame.add_eqn.__code__
