# %% 1
seen = []


def noting_step(w, x):
    loss = (w - x) ** 2 / 2
    seen.append(loss)
    return loss


[found] = hs.explain(noting_step, start, targets[0]).findings
says(f"of the kind `{found.kind}`", f"still has {len(seen)} entries")
assert found.name == "seen[...]"


# %% 2
def evaluate(state, x):
    return norm.apply({}, state, None, x, is_training=False)[0]


flow = hs.record_flow(evaluate, kept, batches[0])
read = [leaf for leaf in flow.leaves if leaf.kind == "state"]
assert {leaf.name for leaf in read} == {"average"}
assert all(leaf.read for leaf in read)
says(f"It reads {len(read)} leaves")
says(*(f"their `end` is `{end}`" for end in {leaf.end for leaf in read}))
