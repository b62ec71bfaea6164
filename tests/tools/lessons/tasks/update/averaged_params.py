# %% 1
rerun("decay_rate = 0.98", {"decay_rate = 0.98": "decay_rate = 0.0"})
rerun("def test_loss")
assert all(abs(row[0] - row[1]) < 1e-3 for row in rows)
says("The first two columns are equal")
# %% 2
rerun("decay_rate = 0.98", {"decay_rate = 0.98": "decay_rate = 0.995"})
rerun("def test_loss")
says(f"0.995^{{{train_state.step}}} = {decay_rate**train_state.step:.2f}")
says(f"{1 / (1 - decay_rate):.0f} steps")
says(f"{rows[-1][1]:.2f} with the statistics from training")
says(f"{rows[-1][2]:.2f} with the re-estimated")
