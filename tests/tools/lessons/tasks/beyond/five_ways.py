# %% 1
shown = rerun("class EquinoxCounter", {"output, state = fast_module": "output, _ = fast_module"})
says(f"prints {shown.strip()}, without")
# %% 2
states = jax.tree.map(lambda leaf: jnp.array([0, 10, 20]), pair.init(None)[1])
outputs, _ = jax.vmap(pair.apply, in_axes=(None, 0, None))({}, states, None)
says("outputs are {}, {} and {}.".format(*outputs))
# %% 3
params, state = pair.init(None)
for _ in range(3):
    _, state = fast_apply(params, state, None)
saved = jax.device_get(state)
four, state = fast_apply(params, state, None)
five, state = fast_apply(params, state, None)
again, _ = fast_apply(params, saved, None)
says(f"{four} and {five}, and the third is {again}")
