# %% 1
last = '    (square, P("data")),\n'
more = '    (square, P("model", "data")),\n    (square, P(("data", "model"))),\n'
rerun("def holders", {last: last + more})
shapes = {block[2:] for layout in layouts[-2:] for block in holders(*layout)}
says("The shards have the shapes `(4, 2)` and `(2, 4)`")
assert [{block[2:] for block in holders(*layout)} for layout in layouts[-2:]] == [
    {(4, 2)},
    {(2, 4)},
]

# %% 2
rerun(
    "def port(update)",
    {"def port(update)": "row = hs.data_mesh(devices[:2], 'data')\n\n\ndef port(update)"},
)
rerun("def first_step")
says(f"`sgd {factors['sgd']:.4f} times as long`")


# %% 3
def third(w, batch, *, axis_name):
    gradient = jax.grad(loss_of)(w, batch)
    return gradient / jax.lax.psum(1, axis_name), {}


grad, _ = port(third)(w, rows)
show(third, "default", grad)
says("the ratios are `1.000 1.000`")
assert ratios["third", "default"] == {1}
unchecked = hs.shard_map_update(third, row, check_replicas=False)
grad, _ = unchecked(hs.shard_train_state(w, row), rows)
own = jax.tree.map(lambda leaf: leaf[:2], rows)
says("a quarter of the gradient of its own rows")
np.testing.assert_allclose(grad, jax.grad(loss_of)(w, own) / 4, rtol=1e-4)

# %% 4
larger = optax.sgd(0.05)
one, ported = by_one(larger, batches)[1][-1], by_port(larger, batches)[1][-1]
says(f"is {one:.1f} on one device, and `{ported}` in the port")
