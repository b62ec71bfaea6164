# %% 1
rerun(
    "def haiku_to_nnx",
    {
        '"average", "norm", "mean"': '"hidden", "norm", "mean"',
        '"hidden", "norm", "hidden_mean"': '"average", "norm", "hidden_mean"',
    },
)
wrong = haiku_to_nnx(haiku_params, haiku_state, NNXModel(nnx.BatchNorm))
ratio = np.array(wrong.norm.mean[...] / haiku_state["norm/~/mean_ema"]["average"][0])
assert np.allclose(ratio, 1 - DECAY**STEPS)
says(f"{ratio.mean():.3f} times")
# %% 2
says("returns {} and {}".format(*map(settled_count, (0.99, 0.999))))
