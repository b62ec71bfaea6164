# %% 1
says(f"There are {sum(leaf.size for leaf in jax.tree.leaves(params))} parameters.")


# %% 2
def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


says(f"The norm is {norm(grads):.2f}.")

# %% 3
trees = [params, update(params, grads), update(params, params)]
stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
assert all(leaf.shape[0] == 3 for leaf in jax.tree.leaves(stacked))
says(f"have {sum(leaf.size for leaf in jax.tree.leaves(stacked))} numbers")
predictions = jax.vmap(predict, in_axes=(0, None))(stacked, x)
assert predictions.shape == (3, *x.shape[:1], 1)
for one, tree in zip(predictions, trees, strict=True):
    np.testing.assert_allclose(one, predict(tree, x))


# %% 4
@dataclass
class Other:
    w: jax.Array
    b: jax.Array
    activation: str


jax.tree_util.register_dataclass(Other, data_fields=["w", "b", "activation"], meta_fields=[])
other = Other(jnp.eye(2), jnp.zeros(2), "relu")
says(f"has {len(jax.tree.leaves(other))} leaves")
try:
    forward(other, row)
except TypeError as error:
    says(f"`forward` raises `{type(error).__name__}`")
else:
    raise AssertionError("forward took a string")
