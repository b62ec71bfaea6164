# %% 1
rerun("counts, ratios", {"16, 32]": "16, 32, 64]"})
assert ratios[-1] == formula[-1] == 0
says(f"is {ratios[-1]:.0f}, as the formula")
# %% 2
parts = hs.recipes.accumulate(whole, 5, statistics="once")
try:
    parts(params, fresh, None, batch)
except hs.errors.BatchDivisionError as error:
    says(f"raises `{type(error).__name__}`")
else:
    raise AssertionError("nothing was raised")
