# %% 1
def forgetting(field):
    def step(train_state, batch):
        new, metrics = update(train_state, batch)
        return new._replace(**{field: getattr(train_state, field)}), metrics

    return step


numbers = {}
for field in ("rng", "opt_state", "state"):
    step = forgetting(field)
    assert hs.explain(step, first_train_state, batch).findings == ()
    names = never_changed(record(step, first_train_state, train_batches))
    assert all(name.startswith(f"train_state.{field}") for name in names)
    numbers[field] = len(names)
says("A forgotten `rng` is {rng} leaf".format(**numbers))
says("a forgotten `opt_state` {opt_state}, and a forgotten `state` {state}".format(**numbers))
# %% 2
again = hs.record_trace(move, (0.5, 1.0), (jnp.float32(0.5), 1.0))
second = [step for step in again.steps if step.kind == "call"][1]
assert second.traced
assert "weak" in " ".join(second.reasons)
says("the second call is traced again", "has a weak type and the array doesn't")
