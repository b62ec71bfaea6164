# %% 1
rerun("decay = 0.98", {"decay = 0.98": "decay = 0.0"})
rerun("def statistics")
rerun("def test_loss")
assert apart < 1e-6
says(f"{apart:.2f}")
assert abs(mean_loss["params"] - mean_loss["average"]) < 1e-4
says(f"{mean_loss['params']:.3f}")
# %% 2
rerun("decay = 0.98", {"decay = 0.98": "decay = 0.995"})
rerun("def statistics")
rerun("def test_loss")
says(f"{1 / (1 - decay):.0f} steps", f"{decay**last.step:.2f}")
says(f"about {curves['average'][-1]:.2f}")
says(f"about {curves['average, reestimated'][-1]:.2f}")
# %% 3
fresh = history[0].state
for count in (1, 11):
    state = hs.recipes.reestimate_state(apply, averaged, fresh, batches[:count])
    says(f"about {test_loss(averaged, state):.2f}")
