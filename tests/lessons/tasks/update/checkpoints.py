# %% 1
rerun("stop = 37", {"stop = 37": "stop = 45"})
rerun("equal = {")
says(f"The resumed run begins with step {min(resumed)}")
says(f"{sum(equal.values())} of its {len(equal)} losses are equal")
assert min(resumed) == 41
assert max(killed) == 45

# %% 2
_, losses = resume_without("position", "rng")
says(f"about {abs(losses - exact).max():.2f}")

# %% 3
rerun("scratch = tempfile")
rerun("def build():", {"optax.adam(0.01)": "optax.sgd(0.1)"})
rerun("def as_bytes")
says(f"has {len(jax.tree.leaves(train_state.opt_state))} arrays")
rerun("def go_on(")
rerun("def resume_without")
before, losses = resume_without("opt_state")
exact_before, exact = resume_without()
changes = {f"{abs(losses - exact).max():.3f}", f"{before - exact_before:.3f}"}
assert changes == {"0.000"}
says("shows `0.000` twice")

# %% 4
train_state = start()
for train_state, position, _ in training(
    update, digits.train, train_state, {"epoch": 0, "batch": 0}
):
    hs.storage.save_checkpoint(folder / "all", train_state, position, keep=1)
    if int(train_state.step) == 12:
        break
[only] = (folder / "all").iterdir()
says(f"one folder, named {only.name}")
