# %% 1
count = []


def scale(x, factor):
    count.append(x)
    return factor * x


scaled = jax.jit(scale)
results = [scaled(10.0, factor) for factor in (2.0, 3.0)]
says("return {:.0f} and {:.0f}".format(*results), "with one trace")
assert len(count) == 1


# %% 2
def traces(**options):
    noted = []

    def power(x, n):
        noted.append(n)
        return x**n

    fast_power = jax.jit(power, **options)
    assert [fast_power(2.0, n) for n in (1, 2, 3, 1, 2, 3)] == 2 * [2, 4, 8]
    return len(noted)


says(f"With a static `n` there are {traces(static_argnums=1)} traces")
says(f"with an ordinary argument there is {traces()}.")


# %% 3
def clip(x):
    return x.at[x < 0].set(0)


says(f"The sum is {clip(v).sum():.0f}.")
try:
    jax.jit(clip)(v)
except jax.errors.NonConcreteBooleanIndexError:
    says("raises the same error as `negatives`")
else:
    raise AssertionError("jit does not refuse the mask")
fixed = jax.jit(lambda x: jnp.where(x < 0, 0, x))
says(f"the sum is {fixed(v).sum():.0f} again")
