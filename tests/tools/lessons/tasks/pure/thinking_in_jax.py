# %% 1
count = []


def scale(x, factor):
    count.append(x)
    return factor * x


scaled = jax.jit(scale)
results = [scaled(10.0, factor) for factor in (2.0, 3.0)]
says("return {:.0f} and {:.0f}".format(*results), "the function is traced once")
assert len(count) == 1


# %% 2
def by_where(x):
    return jnp.where(x > 0, 2 * x, x)


def by_cond(x):
    return jax.lax.cond(x > 0, lambda x: 2 * x, lambda x: x, x)


for rewritten in (by_where, by_cond):
    derivatives = [jax.jit(jax.grad(rewritten))(x) for x in (0.5, -0.5)]
    assert derivatives == [jax.grad(bent)(x) for x in (0.5, -0.5)]
    says("the derivatives are {:.0f} and {:.0f}, the same as without `jit`".format(*derivatives))
