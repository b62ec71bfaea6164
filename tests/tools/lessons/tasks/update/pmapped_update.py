# %% 1
devices = devices[:2]
rerun("mesh = hs.data_mesh(")
assert replicated.step.shape == (2,)
assert distance(pmapped.params, on_mesh.params) < 1e-6
assert distance(pmapped.state, on_mesh.state) < 1e-5
says("to within 1e-6, and the state to within 1e-5")
# %% 2
says(f"`replicated.step` is `{replicated.step}`")
