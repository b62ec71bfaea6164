# %% 1
rerun(
    "by_lax = lax.conv_general_dilated",
    {"jnp.array([1.0, 2.0, 1.0])": "jnp.array([1.0, 2.0, 3.0])"},
)
by_np = np.convolve(signal, [1, 2, 3])
begin = [", ".join(f"{x:.0f}" for x in numbers[:3]) for numbers in (by_lax, by_np)]
says(f"One begins with {begin[0]}, the other with {begin[1]}")
assert np.array_equal(by_lax, np.correlate(signal, [1, 2, 3], "full"))
# %% 2
before = len(traces)
for n in range(10):
    static_power(2.0, n)
says(f"It has grown by {len(traces) - before} ")
# %% 3
count = []


def scale(x, factor):
    count.append(x)
    return factor * x


scaled = jax.jit(scale)
results = [scaled(10.0, factor) for factor in (2.0, 3.0)]
says("return {:.0f} and {:.0f}".format(*results), "with one trace")
assert len(count) == 1


# %% 4
def clip(x):
    return x.at[x < 0].set(0)


says(f"The sum of the result is {clip(v).sum():.0f}.")
try:
    jax.jit(clip)(v)
except jax.errors.NonConcreteBooleanIndexError:
    says("raises the error that `negatives` raised")
else:
    raise AssertionError("jit does not refuse the mask")
fixed = jax.jit(lambda x: jnp.where(x < 0, 0, x))
says(f"the sum is {fixed(v).sum():.0f} again")
