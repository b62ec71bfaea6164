# %% 1
mesh = Mesh(np.array(devices[:2]), ("data",))
run = hs.shard_map_update(with_name, mesh)
params_off, state_off = distances(run.one(train(run)))
says("Yes: the params to within 1e-6, and the state to within 1e-5")
assert params_off < 1e-6
assert state_off < 1e-5

# %% 2
same = "jax.tree.map(lambda rows: np.concatenate([rows[:8]] * 4), batch)"
printed = rerun(
    "unchecked_run = ", {"unchecked_run(apart, batch)": f"unchecked_run(apart, {same})"}
)
assert printed.strip().endswith("state 0.0"), printed
says("It prints `state 0.0`")

# %% 3
square = Mesh(np.array(devices).reshape(2, 2), ("data", "model"))


def rule(path, leaf):
    return P("model") if path.endswith("['linear']['w']") else None


run = hs.shard_update(without_name, square, rule=rule)
shard = run.place(start()).params["linear"]["w"].addressable_shards[0]
says(f"a shard of shape `{shard.data.shape}`", "to within 1e-6")
params_off, _ = distances(run.one(train(run)))
assert params_off < 1e-6
