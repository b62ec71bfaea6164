# %% 1
rerun("ages = np.arange", {"np.arange(0, 89, 8)": "np.arange(0, 17)"})
says(f"an age of {ages[online.argmin()]}")
# %% 2
before = copied
rerun("optimizer = optax.sgd", {"optax.sgd(1.0)": "optax.sgd(0.1)"})
rerun("ages = np.arange")
says(f"{before:.2f} to {copied:.2f}")
# %% 3
params, fresh = history[88].params, history[0].state
for count in (22, 5):
    state = hs.recipes.reestimate_state(apply, params, fresh, batches[:count])
    says(f"{error(params, state):.2f}")
says(f"the {error(params, history[88].state):.2f} of the copied state")
