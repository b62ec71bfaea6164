# %% 1
rerun("counts = np.array", {"16, 32]": "16, 32, 64]"})
assert ratios[-1] == shares[-1] == 0
says(f"{ratios[-1]:.0f}, as the formula")
# %% 2
once = ratios
counters = []


def count_of(state):
    return int(state["batch_norm/~/var_ema"]["counter"])


rerun(
    "counts = np.array",
    {
        '"once"': '"each"',
        "    ratios.append(": "    counters.append(count_of(state))\n    ratios.append(",
    },
)
assert np.allclose(ratios, once, atol=0.02)
says("to within 0.02", "{}, {}, {} and {}".format(*counters))
# %% 3
parts = hs.recipes.accumulate(whole, 5, statistics="once")
try:
    compute(parts)
except hs.errors.BatchDivisionError as error:
    says(f"raises `{type(error).__name__}`")
else:
    raise AssertionError("nothing was raised")
