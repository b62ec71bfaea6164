# %% 1
rerun("def train(", {"optax.adamw(0.01, weight_decay=0.1)": "optax.sgd(0.1)"})
rerun("by_stopping = ")
factor, moved = by_stopping
says(f"the factor is {factor:.4f}", f"by {moved:.3f}")
# %% 2
first, last = train(loss_fn, freeze)
for module, leaves in hk.data_structures.filter(is_first_layer, last.params).items():
    for name, leaf in leaves.items():
        assert (leaf == first.params[module][name]).all()
apply = jax.jit(pair.apply, static_argnums=4)
logits = [apply(last.params, t.state, None, x, False)[0] for t in (first, last)]
says(f"up to {abs(logits[1] - logits[0]).max():.2f}")
