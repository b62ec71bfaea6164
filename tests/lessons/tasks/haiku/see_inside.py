# %% 1
seen = []


def noting_step(params, x):
    loss = loss_of(params, x)
    seen.append(loss)
    return loss


[found] = hs.explain(noting_step, params, targets[0]).findings
says(f"of the kind `{found.kind}`", f"still has {len(seen)} entries")
assert found.name == "seen[...]"


# %% 2
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


# %% 3
def evaluate(params, state, x):
    return regression.apply(params, state, None, x, is_training=False)[0]


flow = hs.record_flow(evaluate, train_state.params, train_state.state, x[0])
read = [leaf for leaf in flow.leaves if leaf.kind == "state"]
assert {leaf.name for leaf in read} == {"average"}
assert all(leaf.read for leaf in read)
says(f"It reads {len(read)} leaves")
says(*(f"their `end` is `{end}`" for end in {leaf.end for leaf in read}))
says(f"`draws` is `{flow.draws}`")
