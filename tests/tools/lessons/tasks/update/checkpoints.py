# %% 1
for step in (40, 50):
    flip_a_bit(folder / "broken" / str(step))
try:
    hs.storage.restore_checkpoint(folder / "broken", start())
except Exception as error:
    says(f"raises a `{type(error).__name__}`")
else:
    raise AssertionError("nothing was raised")

# %% 2
rerun("stop = 37", {"stop = 37": "stop = 45"})
rerun("equal = {")
says(f"The resumed run begins at step {min(resumed)}")
says(f"{sum(equal.values())} of its {len(equal)} losses are equal")
assert min(resumed) == 41
assert max(killed) == 45

# %% 3
_, losses = resume_without("position", "rng")
says(f"about {abs(losses - exact).max():.2f}")
