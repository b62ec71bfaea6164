# %% 1
says("JAX raises an error")
if new_ref is not None:

    def careless(params, state, batch):
        def loss_fn(values):
            old = values_of(state)
            outputs, new = plain_apply(values, old, batch["inputs"], True)
            write(state, new)
            return squared_error(outputs, batch)

        return jax.value_and_grad(loss_fn)(values_of(params))

    message = ""
    try:
        jax.jit(careless)(make_refs(start), make_refs(zero_state()), batches[0])
    except Exception as error:
        message = str(error)
    assert message, "nothing was raised"
    assert not hasattr(jax, "new_ref") or "a differentiated value" in message, message
# %% 2
rerun("class NNXModel", {"momentum=DECAY": "momentum=1 - DECAY"})
rerun("def nnx_update")
gaps = {part: distance(results["nnx"][part], results["numpy"][part]) for part in PARTS}
assert max(gaps["losses"], gaps["grads"], gaps["params"]) < 1e-5
says(f"up to {gaps['state']:.1f}", f"up to {gaps['outputs']:.1f}")
