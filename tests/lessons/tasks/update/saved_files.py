# %% 1
rerun("weights = {", {"(64, 64))}": "(64, 64)) + 100}"})
rerun("def flip_a_bit")
says(f"All {wrong} restored matrices are still wrong")
assert wrong == len(places)

# %% 2
flip_a_bit(largest_file(folder / "run" / "1"), 0.5)
try:
    hs.storage.restore_checkpoint(folder / "run", bundle(weights))
except Exception as error:
    says(f"raises a `{type(error).__name__}`")
else:
    raise AssertionError("nothing was raised")

# %% 3
renamed = {"linear_0": narrow["linear_0"], "output": narrow["linear_1"]}
try:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.restore(folder / "narrow", renamed)
except Exception as error:
    says(f"raises a `{type(error).__name__}`")
else:
    raise AssertionError("nothing was raised")
try:
    hs.storage.restore_checkpoint(folder / "one", bundle(renamed))
except hs.errors.SavedMismatchError as error:
    lines = [line for line in str(error).splitlines() if "params[" in line]
    says(f"lists {len(lines)} differences")
else:
    raise AssertionError("nothing was raised")

# %% 4
stacked = jax.tree.map(lambda array: np.stack([array] * 4), arrays)
try:
    hs.storage.from_numpy(stacked, params, state)
except Exception as error:
    says(f"raises a `{type(error).__name__}`")
else:
    raise AssertionError("nothing was raised")
