# %% 1
squares = jnp.square(each["w"]).sum(axis=1) + jnp.square(each["b"])
lengths = jnp.sqrt(squares)
says(f"has the length {lengths.max():.1f}", f"the example with index {lengths.argmax()}.")
# %% 2
parts = [slice(0, 48), slice(48, 64)]
halves = [jax.grad(loss_fn)(params, {k: v[p] for k, v in batch.items()}) for p in parts]
mean_of_two = jax.tree.map(lambda g, h: (g + h) / 2, *halves)
says(f"{grads['b'] - mean_of_two['b']:.2f} below the gradient of the whole batch")
weighted = jax.tree.map(lambda g, h: g * 48 / 64 + h * 16 / 64, *halves)
assert close(weighted, grads)
# %% 3
hessian = jax.hessian(loss_fn)(params, batch)
says(f"The entry is {hessian['b']['b']:.0f}")
assert abs(hessian["b"]["b"] - 2) < 1e-6
# %% 4
rates = jnp.linspace(0.01, 0.1, 10)
many = jax.vmap(update, (None, None, 0))(params, batch, rates)
for _ in range(39):
    many = jax.vmap(update, (0, None, 0))(many, batch, rates)
losses = jax.vmap(loss_fn, (0, None))(many, batch)
assert (jnp.diff(losses) < 0).all()
says(f"from {losses[0]:.2f} for the smallest learning rate to {losses[-1]:.4f} for the largest")
