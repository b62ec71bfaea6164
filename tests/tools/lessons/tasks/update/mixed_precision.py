# %% 1
rerun("jmp.DynamicLossScale", {"jmp.Dynamic": "jmp.Static", ", period=8)": ")"})
says(f"`steps {train_state.step} taken {sum(taken)} counter {counter}`")
# %% 2
left = {}
for dtype in (jnp.float32, jnp.bfloat16):
    value = dtype(1)
    for _ in range(1000):
        value = value - dtype(0.001)
    left[dtype] = float(value)
assert abs(left[jnp.float32]) < 0.0001
says("within 0.0001", f"still {left[jnp.bfloat16]:.0f}")
