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
rights = []
for seed in (1, 2, 3):
    fitted, _ = fit(loss_fn, seed=seed)
    logits, _ = pair.apply(fitted.params, fitted.state, None, test["inputs"], is_training=False)
    rights.append(np.asarray(logits.argmax(axis=-1)) == test["targets"])
for one, other in [(0, 1), (0, 2), (1, 2)]:
    better = int((rights[one] & ~rights[other]).sum())
    worse = int((rights[other] & ~rights[one]).sum())
    assert better + worse <= 12
    if better + worse:
        assert scipy.stats.binomtest(better, better + worse).pvalue > 0.05
says("on no more than about ten images", "every comparison is above 0.05")
# %% 4
rerun("def fit(", {'train["inputs"][:64],': "jnp.zeros((1, 64)),"})
_, kept = fit(loss_fn)
assert (kept == history).all()
_, lost = fit(forgetful_loss, strict=False)
assert lost[-1, 1, 1] < 0.7
says("If the state is kept, the accuracy doesn't change", "the accuracy falls below 0.7")
