"""Functions that are jitted, and static arguments."""

import functools

import jax
import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure.made(x)
def calls_a_jitted_method():
    class Model:
        def __init__(self):
            self.traces = 0
            self.step = jax.jit(self._step)

        def _step(self, x):
            self.traces += 1  # finds: mutation self.traces
            return x * 2

        def __call__(self, x):
            return self.step(x) + 1

    return Model()


cached_calls = []


@jax.jit
def _jit_helper(v):
    cached_calls.append(1)  # finds: mutation cached_calls[...]
    return v * 2


_jit_helper(x)


@impure(x)
def jit_helper_traced_before(x):
    return _jit_helper(x)


@impure.made(x)
def jit_static_method_called():
    class M:
        def __init__(self):
            self.n = 0

        @functools.partial(jax.jit, static_argnums=0)
        def f(self, x):
            self.n += 1  # finds: mutation self.n
            return x

    m = M()
    m.f(x)
    m.n = 0
    return m.f


@jax.jit
def tick(x):
    tick.calls = getattr(tick, "calls", 0) + 1  # finds: mutation tick.calls
    return x


@impure.made(x)
def attribute_of_a_jitted_function():
    return tick


pmapped_calls = 0


def counts_its_calls(x):
    global pmapped_calls
    pmapped_calls += 1  # finds: mutation pmapped_calls
    return x * pmapped_calls


@impure.made(x[None])
def below_pmap():
    return jax.pmap(counts_its_calls)


@impure.made(x, 2)
def static_number_needed_for_tile():
    log_ = []

    def f(x, n):
        log_.append("f")  # finds: mutation log_[...]
        return jnp.tile(x, n)

    return f


@impure.made(3)
def static_number_needed_for_zeros():
    log_ = []

    def f(n):
        log_.append("f")  # finds: mutation log_[...]
        return jnp.zeros(n)

    return f


@impure.made(x, 2)
def number_as_dict_key():
    log_ = []

    def f(x, n):
        log_.append("f")  # finds: mutation log_[...]
        return {1: jnp.sin, 2: jnp.cos}[n](x)

    return f


@pure(x)
@jax.jit
def jitted(x):
    return jnp.sin(x)


@jax.jit
def _jitted_helper(x):
    return x * 2


@pure(x)
def jit_inside(x):
    local = jax.jit(lambda value: _jitted_helper(value) + 1)
    return local(x) + _jitted_helper(x)


@functools.partial(jax.jit, static_argnames=("size", "mode", "training"))
def _static(x, size, mode, training):
    y = jnp.tile(x, size)
    return getattr(y, mode)() if training else y


@pure(x)
def static_arguments(x):
    return _static(x, size=2, mode="sum", training=True) + _static(x, 3, "max", False).sum()


@pure.made(x, 3)
def jitted_with_a_static_number():
    return jax.jit(lambda value, n: jnp.tile(value, n), static_argnums=1)


@pure(3)
def number_as_a_size(n):
    return jnp.zeros(n)


@pure(x, (3, 1))
def numbers_in_a_shape(x, shape):
    return x.reshape(shape)


@pure(x)
def shapes_only(x):
    shape = jax.eval_shape(lambda value: jnp.outer(value, value), x)
    return jnp.zeros(shape.shape, shape.dtype) + x.sum()


@pure(x)
def checkpointed(x):
    block = jax.checkpoint(lambda value: jnp.sin(jnp.cos(value)))
    return jax.grad(lambda value: block(block(value)).sum())(x)
