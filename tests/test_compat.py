import jax
import jax.numpy as jnp
import pytest

from haiku_state.compat import is_live

X = jnp.arange(3.0)


def leaks():
    """Each transformation with a function that lets its tracer out."""

    def through(transformed):
        box = []

        def body(*values):
            box.append(values[-1] * 2)
            return values[0], values[-1]

        transformed(body)
        return box[-1]

    return {
        "scan": lambda: through(lambda f: jax.lax.scan(f, jnp.zeros(()), X)),
        "vmap": lambda: through(lambda f: jax.vmap(f)(X)),
        "jit": lambda: through(lambda f: jax.jit(f)(X)),
        "grad": lambda: through(lambda f: jax.grad(lambda x: f(x)[0])(X[0])),
        "checkpoint": lambda: through(lambda f: jax.checkpoint(f)(X)),
        "cond": lambda: through(lambda f: jax.lax.cond(True, f, f, X)),
        "pmap": lambda: through(lambda f: jax.pmap(f)(X)),
        "eval_shape": lambda: through(lambda f: jax.eval_shape(f, X)),
    }


@pytest.mark.parametrize("leak", leaks().values(), ids=leaks().keys())
def test_a_tracer_is_dead_when_its_transformation_has_ended(leak):
    assert not is_live(leak())

    def inside(x):
        assert not is_live(leak())
        return x

    jax.jit(inside)(X)
    jax.vmap(inside)(X)
    jax.grad(lambda x: inside(x))(1.0)
    jax.jit(jax.grad(lambda x: inside(x)))(1.0)


@pytest.mark.parametrize(
    "outer",
    [
        lambda f: jax.jit(f)(X),
        lambda f: jax.vmap(f)(X),
        lambda f: jax.pmap(f)(X),
        lambda f: jax.jit(jax.vmap(f))(X),
        lambda f: jax.grad(lambda x: f(x).sum())(X),
        lambda f: jax.value_and_grad(lambda x: (f(x).sum(), x), has_aux=True)(X),
        lambda f: jax.lax.scan(lambda carry, x: (carry, f(x)), 0, X),
        lambda f: jax.checkpoint(f)(X),
        lambda f: jax.jit(jax.checkpoint(f))(X),
        lambda f: jax.jacfwd(f)(X),
        lambda f: jax.eval_shape(f, X),
        lambda f: jax.jit(jax.grad(lambda x: jax.vmap(f)(x).sum()))(X),
    ],
)
def test_a_tracer_is_live_as_long_as_its_transformation_runs(outer):
    seen = []

    def check(x):
        y = x * 2
        seen.append((is_live(x), is_live(y)))

        def inner(z):
            seen.append((is_live(z), is_live(x), is_live(y), is_live(z + 1)))
            return z

        jax.jit(inner)(jnp.ones(2))
        jax.vmap(inner)(jnp.ones(2))
        jax.grad(lambda z: inner(z))(1.0)
        jax.lax.scan(lambda carry, z: (carry, inner(z)), 0, jnp.ones(2))
        jax.checkpoint(inner)(x)
        assert is_live(x)
        return y

    outer(check)
    assert len(seen) >= 6
    assert all(map(all, seen))


def test_asking_adds_nothing_to_the_program():
    def ask(x):
        y = x * 2
        assert is_live(x)
        assert is_live(y)
        return y

    assert str(jax.make_jaxpr(ask)(X)) == str(jax.make_jaxpr(lambda x: x * 2)(X))
