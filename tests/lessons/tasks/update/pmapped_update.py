# %% 1
devices = devices[:2]
rerun("replicated = hs.replicate(")
rerun("run = hs.pmap_update(")
rerun("one_replica = ")
assert replicated.step.shape == (2,)
assert distance(one_replica.params, single.params) < 1e-6
assert distance(one_replica.state, single.state) < 1e-5
says("1e-6 and 1e-5")
# %% 2
rows = "jax.tree.map(lambda leaf: np.stack([leaf[:8]] * 4), batch)"
rerun("no_axis_pair", {"hs.split_batch(batch, len(devices))": rows})
rerun("apart = ")
hs.assert_replicas_equal(no_axis.state)
says(f"`apart` is {apart:.1f}")
# %% 3
says(f"It is `{replicated.step}`")
