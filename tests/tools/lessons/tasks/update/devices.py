# %% 1
columns = NamedSharding(mesh, PartitionSpec(None, "devices"))
square = jax.device_put(jnp.arange(16.0).reshape(4, 4), columns)
shard = square.addressable_shards[2]
assert shard.device == devices[2]
says(f"Device 2 holds `{np.asarray(shard.data).ravel()}`")
# %% 2
rerun("def mean_grads", {"jax.lax.pmean": "jax.lax.psum"})
ratios = {f"{ratio:.2f}" for name in grads for ratio in np.ravel(copies[name] / grads[name])}
[ratio] = ratios
says(f"is then {ratio} times as large")
# %% 3
padded = jnp.arange(8.0).reshape(4, 2)
mask = jnp.ones(8).at[7].set(0).reshape(4, 2)


def means(numbers, mask):
    total, count = (numbers * mask).sum(), mask.sum()
    of_means = jax.lax.pmean(total / count, "devices")
    of_sums = jax.lax.psum(total, "devices") / jax.lax.psum(count, "devices")
    return of_means, of_sums


of_means, of_sums = jax.pmap(means, axis_name="devices")(padded, mask)
says(f"`pmean` of these means is {of_means[0]}", f"0 to 6, which is {of_sums[0]}")
