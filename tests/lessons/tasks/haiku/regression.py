# %% 1
fast = train_with(optax.adam(1.0), keep=True, steps=1000)
slow = train_with(optax.adam(0.1), keep=True, steps=1000)
assert gaps(fast)[-1] < 0.01
assert gaps(slow)[-1] > 1000
left_to_go = jax.tree.map(lambda a, b: abs(a - b).max(), slow[-1], fast[-1])
assert left_to_go["b"] > left_to_go["w"]
says("is below 0.01", "is still above 1000")
says(f"from 0 to {slow[-1]['b']:.2f}. The mean score is {y.mean():.2f}.")
# %% 2
slow_optimizer = optax.sgd(0.01)
_, update_batch = update_by_hand(pair, slow_optimizer)
params, state = pair.init(None, train["inputs"], is_training=True)
opt_state = slow_optimizer.init(params)
for epoch in range(100):
    for batch in hs.batches(train, 32, seed=[0, epoch]):
        params, state, opt_state, _ = update_batch(params, state, opt_state, batch)
prediction, _ = apply(params, state, None, test["inputs"], is_training=False)
score = r2(prediction, test["targets"])
running_mean, _ = statistics(state)
off_by = np.abs((running_mean - mean) / spread).max()
assert 0.32 < score < 0.34
assert 0.0005 < off_by < 0.0015
says("off by up to 0.001", "between 0.32 and 0.34")
# %% 3
not_b = {"linear_regression": {"w": True, "b": False}}
decayed = optax.chain(optax.add_decayed_weights(0.1, mask=not_b), optimizer)
shrunk = train_with(decayed, keep=True)[-1]["w"]
ridge = sklearn.linear_model.Ridge(alpha=0.05 * 353).fit(scaled, y)
assert abs(shrunk - ridge.coef_).max() < 1e-3
assert abs(w * spread - ridge.coef_).max() > 1
says("`Ridge(alpha=0.05 * 353)`", "agree up to 1e-3")
