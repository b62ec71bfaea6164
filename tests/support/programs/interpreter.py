"""State of Python, of its threads, and of JAX."""

import contextvars
import sys
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
depth = contextvars.ContextVar("depth", default=0)


@impure(x)
def context_variable(x):
    depth.set(depth.get() + 1)  # finds: mutation depth
    return x * depth.get()


latest = contextvars.ContextVar("latest", default=None)


@impure(x)
def context_variable_with_a_tracer(x):
    latest.set(x * 2)  # finds: leak latest
    return x


@impure(x)
def search_path(x):
    sys.path.append("nowhere")  # finds: mutation sys.path[...]
    return x


worker = threading.local()


@impure(x)
def variable_of_a_thread(x):
    worker.calls = getattr(worker, "calls", 0) + 1  # finds: mutation worker.calls
    return x


class Sized:
    pass


sized, widths = Sized(), weakref.WeakKeyDictionary()


@impure(x)
def weak_key(x):
    widths[sized] = x.size  # finds: mutation widths[sized]
    return x


@impure(x)
def function_of_jax_replaced(x):
    jnp.sin = jnp.cos  # finds: mutation jnp.sin
    return jnp.sin(x)


@impure(x)
def setting_of_jax(x):
    update, name = jax.config.update, "jax_default_matmul_precision"
    update(name, "float32")  # finds: mutation jax.config.jax_default_matmul_precision
    return x


@pure(x)
def import_inside(x):
    import colorsys
    import statistics as stats

    return x * stats.mean([1.0, 2.0]) + colorsys.ONE_THIRD


@pure(x)
def lock_inside(x):
    lock = threading.Lock()
    with lock:
        return x + 1


@pure(x)
def numpy_error_state(x):
    with np.errstate(divide="ignore"), np.printoptions(precision=2):
        scale = np.float32(1.0) / np.float32(4.0)
    return x * scale


@pure(x)
def jax_contexts(x):
    with jax.named_scope("layer"), jax.default_matmul_precision("float32"):
        y = x @ x
    with jax.ensure_compile_time_eval():
        size = int(jnp.arange(3).sum())
    with jax.numpy_dtype_promotion("standard"):
        return y * size
