# %% 1
gentle = hs.pure_pair(lambda x: hk.dropout(hk.next_rng_key(), 0.2, x))
keys = jax.random.split(jax.random.key(5), 10000)
drawn, _ = jax.vmap(gentle.apply, in_axes=(None, None, 0, None))({}, {}, keys, jnp.ones(16))
assert drawn.shape == (10000, 16)
assert abs(drawn.mean(axis=0) - 1).max() < 0.03
assert abs(drawn.std(axis=0) - 0.5).max() < 0.03
assert np.sqrt(0.2 / 0.8) == 0.5
says("a mean of about 1", "a standard deviation of about 0.5")


# %% 2
def drop_in_a_row(x, same):
    key = hk.next_rng_key()
    next_key = key if same else hk.next_rng_key()
    return hk.dropout(next_key, 0.5, hk.dropout(key, 0.5, x))


in_a_row = hs.pure_pair(drop_in_a_row)
for same, share, mean in [(False, 1 / 4, 1), (True, 1 / 2, 2)]:
    output, _ = in_a_row.apply({}, {}, jax.random.key(5), jnp.ones(10000), same)
    assert set(output.tolist()) == {0.0, 4.0}
    assert abs((output > 0).mean() - share) < 0.02
    assert abs(output.mean() - mean) < 0.08
    says(f"the mean is about {mean}")
says("a quarter of the units survive, with the value 4", "about half of the units survive")


# %% 3
def one_layer(x):
    return hk.Linear(4, name="last")(x)


def two_layers(x):
    return hk.Linear(4, name="last")(hk.Linear(4, name="first")(x))


before, after = (
    hk.transform(function).init(jax.random.key(5), jnp.ones((1, 4)))
    for function in (one_layer, two_layers)
)
weights = before["last"]["w"]
kept = (after["last"]["w"] == weights).sum()
says(f"Of the {weights.size} weights that `last` has in the second model, {kept} are the same")
says(f"All {(after['first']['w'] == weights).sum()} weights of the first model are now in `first`")
