# %% 1
found = [online_error(age) for age in range(17)]
says(f"an age of {found.index(min(found))}")
# %% 2
before = copied
rerun("optimizer = optax.sgd", {"optax.sgd(1.0)": "optax.sgd(0.1)"})
says(f"{before:.2f} to {online_error(0):.2f}")
