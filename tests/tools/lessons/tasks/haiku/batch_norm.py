# %% 1
rerun("def normalize(x, is_training):", {"decay_rate=0.9": "decay_rate=0.0"})
rerun("def train(state, x):")
last = draw_batch(step=50)
_, state = train(state, last)
running_mean = state["batch_norm/~/mean_ema"]["average"]
assert abs(running_mean - last.mean()).max() < 1e-5
says("`draw_batch(step=50)`", "differ by less than 1e-5")


# %% 2
def normalize_locally(x, is_training):
    norm = hs.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)
    return norm(x, is_training, test_local_stats=True)


local_pair = hk.transform_with_state(normalize_locally)
trained, after_training = pair.apply(params, state, None, new, is_training=True)
evaluated, after_evaluation = local_pair.apply(params, state, None, new, is_training=False)
assert (trained == evaluated).all()
counters = [
    new_state["batch_norm/~/mean_ema"]["counter"]
    for new_state in (after_training, after_evaluation)
]
says("evaluate `new`")
says("the counter is {} after training mode and {} after evaluation".format(*counters))
