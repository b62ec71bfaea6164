# %% 1
if explicit:
    refused = []
    for line in (
        "jnp.std(x, axis=0)",
        "jnp.median(x, axis=0)",
        "jax.nn.softmax(x, axis=0)",
        "jnp.cov(x.T)",
    ):
        says(f"`{line}`")
        try:
            eval(line)
        except Exception as error:
            refused.append((line, type(error).__name__))
    says("The other two raise a `ShardingTypeError`")
    assert refused == [
        ("jnp.median(x, axis=0)", "ShardingTypeError"),
        ("jnp.cov(x.T)", "ShardingTypeError"),
    ], refused

# %% 2
if explicit:
    kinds = 2 * (jax.sharding.AxisType.Explicit,)
    square = jax.make_mesh((2, 2), ("data", "model"), kinds, devices=devices)
    with jax.set_mesh(square):
        a = jax.device_put(rows, P("data"))
        b = jax.device_put(np.ones((4, 6), np.float32), P(None, "model"))
        c = jax.device_put(np.ones((6, 2), np.float32), P("model"))
        says(f"has the type `{jax.typeof(a @ b)}`")
        try:
            a @ b @ c
        except Exception as error:
            assert type(error).__name__ == "ShardingTypeError"
        else:
            raise AssertionError("nothing was raised")
        product = jnp.matmul(a @ b, c, out_sharding=P("data"))
        says(f"its type is then `{jax.typeof(product)}`")

# %% 3
if explicit:
    loss = 'jnp.mean(jnp.square(prediction - batch["targets"]))'
    wrong = loss + " + 0.01 * jnp.sum(x.T @ x)"
    right = loss + " + 0.01 * jnp.sum(jnp.matmul(x.T, x, out_sharding=P()))"
    rerun("def forward(x, is_training)", {loss: wrong})
    try:
        jax.jit(update)(placed, split)
    except Exception as error:
        says(f"raises a `{type(error).__name__}`")
    else:
        raise AssertionError("nothing was raised")
    rerun("def forward(x, is_training)", {loss: right})
    rerun("placed = jax.device_put")
    assert distance(after.params, alone.params) < 1e-6
    says("the params again agree", "to within 1e-6")
