# %% 1
rerun("normalize_inputs=True", {"normalize_inputs=True": "normalize_inputs=False"})
hessian = np.linalg.eigvalsh(2 * design.T @ design / len(design))
inputs = np.linalg.eigvalsh(scaled.T @ scaled / len(scaled))
assert hessian[-1] / hessian[0] > 1e7
assert inputs[-1] / inputs[0] < 1000
found = {}
for factor in (0.9, 1.1):
    last = train_with(optax.sgd(factor * 2 / hessian[-1]), keep=True, steps=1000)[-1]
    error = x @ np.asarray(last["w"], np.float64) + float(last["b"]) - y
    found[factor] = np.mean(error**2) - best_loss
assert found[0.9] > 500
assert np.isnan(found[1.1])
says("the gap is still above 500", "is `nan`", "above $10^7$", "below 1000")
# %% 2
slow_optimizer = optax.sgd(0.01)
update_batch = update_by_hand(pair, slow_optimizer)
params, state = pair.init(None, train["inputs"], is_training=True)
opt_state = slow_optimizer.init(params)
for epoch in range(100):
    for batch in hs.batches(train, 32, seed=[0, epoch]):
        params, state, opt_state, _ = update_batch(params, state, opt_state, batch)
prediction, _ = apply(params, state, None, test["inputs"], is_training=False)
score = r2(prediction, test["targets"])
running_mean, _ = statistics(state)
off_by = np.abs((running_mean - mean) / np.sqrt(var)).max()
assert 0.32 < score < 0.34
assert 0.0005 < off_by < 0.0015
says("off by up to about 0.001", "between 0.32 and 0.34")
# %% 3
not_b = {"linear_regression": {"w": True, "b": False}}
decayed = optax.chain(optax.add_decayed_weights(0.1, mask=not_b), optimizer)
shrunk = train_with(decayed, keep=True)[-1]["w"]
ridge = sklearn.linear_model.Ridge(alpha=0.05 * 353).fit(scaled, y)
assert abs(shrunk - ridge.coef_).max() < 1e-3
assert abs(w * np.sqrt(var) - ridge.coef_).max() > 1
says("`Ridge(alpha=0.05 * 353)`", "agree to within 1e-3")
