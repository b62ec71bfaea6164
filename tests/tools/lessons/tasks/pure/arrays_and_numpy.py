# %% 1
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

# %% 2
rerun("by_lax = lax", {"[(2, 2)]": "[(1, 1)]"})
assert by_lax.shape == signal.shape
assert by_lax[0] == by_lax[-1]
says("With the padding `[(1, 1)]`", f"the first and the last entry are {by_lax[0]:.0f}")
assert (by_lax == jnp.convolve(signal, kernel, mode="same")).all()
says('`jnp.convolve` returns the same array with `mode="same"`')
