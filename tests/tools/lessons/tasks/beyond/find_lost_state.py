# %% 1
seen = []


def noting_step(w, x):
    loss = (w - x) ** 2 / 2
    seen.append(loss)
    return loss


[found] = hs.explain(noting_step, jnp.float32(0), targets[0]).findings
says(f"of the kind `{found.kind}`", f"still has {len(seen)} entries")
assert found.name == "seen[...]"


# %% 2
def swapped_step(state, reward):
    rate, counted = explore.apply({}, state, None)
    mean, averaged = average.apply({}, state, None, reward)
    return {**averaged, **counted}, (rate, mean)


leaves = hs.record_flow(swapped_step, agent, rewards[0]).leaves
dropped = [leaf for leaf in leaves if leaf.end == "dropped"]
assert {leaf.module for leaf in dropped} == {"moving_average"}
says(f"The {len(dropped)} leaves of `moving_average`")
says(" and ".join(f"`{leaf.name}`" for leaf in dropped))


# %% 3
def mended_step(carried, x):
    w, mean = carried
    w_after = w - 0.1 * (w - x)
    return (w_after, 0.9 * mean + 0.1 * w_after), (w - x) ** 2 / 2


nothing = jnp.float32(0), jnp.float32(0)
(_, mean), _ = run(mended_step, nothing, targets[:2])
(_, late_mean), _ = run(late_step, nothing, targets[:2])
says(f"is {mean:.3f}, whereas the late version returns {late_mean:.2f}.")
