"""What differs between the versions of JAX: each branch names the version that needs it."""

from typing import Any

import jax
import jax.extend
import jax.numpy as jnp

if hasattr(jax.extend, "core") and hasattr(jax.extend.core, "take_current_trace"):
    _current_trace: Any = jax.extend.core.take_current_trace  # JAX 0.8.2 and newer
else:
    _current_trace = getattr(jax.core, "take_current_trace", None)  # 0.4.36; None before


def is_live(tracer: Any) -> bool:
    """Say whether the transformation that made a tracer is still running.

    Args:
      tracer: a leaf of a PyTree that is a ``jax.core.Tracer``.

    Returns:
      False for a leaked tracer, which cannot be used any more.
    """
    if _current_trace is None:  # JAX 0.4.35 and older: try it, in a program that is thrown away
        try:
            jax.eval_shape(lambda: jnp.expand_dims(tracer, 0))
        except jax.errors.UnexpectedTracerError:
            return False
        return True
    with _current_trace() as trace:  # JAX 0.4.36 and newer: each trace knows the one around it
        while trace is not None and trace is not tracer._trace:
            trace = getattr(trace, "parent_trace", None)
    return trace is not None
