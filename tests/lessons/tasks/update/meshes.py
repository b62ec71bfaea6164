# %% 1
rerun(
    "def port(update)",
    {"def port(update)": "row = hs.data_mesh(devices[:2], 'data')\n\n\ndef port(update)"},
)
rerun("def first_step")
says(f"`sgd {factors['sgd']:.4f}`")


# %% 2
def third(w, numbers, *, axis_name):
    gradient = jax.grad(loss_of)(w, numbers)
    return gradient / jax.lax.psum(1, axis_name), {}


grad, _ = port(third)(w, numbers)
says("The ratio is 1")
assert ratio(grad) == 1
unchecked = hs.shard_map_update(third, row, check_replicas=False)
grad, _ = unchecked(unchecked.place(w), numbers)
says("a quarter of the gradient of its own rows")
np.testing.assert_allclose(grad, numbers[0] / 4, rtol=1e-4)

# %% 3
larger = optax.sgd(0.05)


def last_loss(run):
    train_state = start(larger)
    for batch in batches:
        train_state, metrics = run(train_state, batch)
    return float(metrics["loss"])


one = last_loss(hs.jit_update(hs.make_update(whole_loss, larger)))
ported = last_loss(port(hs.make_update(local_loss, larger)))
says(f"is {one:.1f} on one device but `{ported}` in the port")
