# %% 1
random_labels = np.random.default_rng(0).integers(0, 10, len(train["targets"]))
train = {**train, "targets": random_labels.astype(np.int32)}
rerun("def fit(", {"epochs = 15": "epochs = 40"})
_, memorized = fit(loss_fn)
assert len(memorized) == 40
assert memorized[-1, 0, 1] > 0.99
assert abs(memorized[-1, 1, 1] - 0.1) < 0.05
says("for 40 epochs", "training set is above 0.99", "test set it is near 0.1")
# %% 2
rerun("hidden_sizes=", {"hidden_sizes=[256, 128]": "hidden_sizes=[]"})
linear_state, linear_history = fit(loss_fn)
assert len(linear_history) == 15
assert abs(linear_history[-1, 1, 1] - 0.9) < 0.05
assert not jax.tree.leaves(linear_state.state)
says("after 15 epochs", "about 0.9 on the test set", "its state is empty")
# %% 3
accuracies = [fit(loss_fn, seed=seed)[1][-1, 1, 1] for seed in (1, 2, 3)]
assert max(accuracies) - min(accuracies) < 2 * standard_error
says("differ by less than two standard errors")
# %% 4
rerun("def fit(", {'train["inputs"][:64],': "jnp.zeros((1, 64)),"})
_, kept = fit(loss_fn)
assert (kept == history).all()
_, lost = fit(forgetful_loss, strict=False)
assert lost[-1, 1, 1] < 0.7
says("If the state is kept, nothing changes", "the accuracy falls below 0.7")
