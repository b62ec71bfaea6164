# %% 1
run = hs.jit_update(update)
train_state = start()
for epoch in range(5):
    for batch in hs.batches(data.train, 64, seed=epoch):
        train_state, metrics = run(train_state, batch)
says(f"`train_state.step` is {train_state.step}", f"the trace count is {run.trace_count}")
rng = jax.random.key(1)
logits, _ = pair.apply(train_state.params, train_state.state, rng, data.test["inputs"], False)
share = np.mean(np.argmax(logits, axis=-1) == data.test["targets"])
assert share > 0.95
says("More than 95%")
# %% 2
new_bytes = {"before": plain.output_size_in_bytes - plain.alias_size_in_bytes}
rerun(
    "fast_update_by_hand = ",
    {"jax.jit(update_by_hand)": "jax.jit(update_by_hand, donate_argnums=0)"},
)
rerun("run = hs.jit_update(update)\n\ntrain_state = start()")
rerun("plain = fast_update_by_hand.lower(")
assert plain.alias_size_in_bytes > 0
new_bytes["after"] = plain.output_size_in_bytes - plain.alias_size_in_bytes
says("The new memory falls from {before} to {after} bytes".format(**new_bytes))
# %% 3
run = hs.jit_update(update)
train_state = start()._replace(step=0)
for batch in batches[:3]:
    train_state, metrics = run(train_state, batch)
says(f"`train_state.step` is {train_state.step} after {run.trace_count} trace")
says(f"Its dtype is {train_state.step.dtype}", f"its `weak_type` is {train_state.step.weak_type}")
train_state = train_state._replace(step=jnp.int32(3))
train_state, metrics = run(train_state, batches[3])
says(f"the trace count to {run.trace_count}")
