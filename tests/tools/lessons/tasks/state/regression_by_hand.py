# %% 1
def first_to_stay(history):
    distances = [abs(np.array(params) - exact).max() for params in history]
    return 1 + max(k for k, distance in enumerate(distances) if distance >= 0.01)


params = init(key)
opt_state = init_velocity(params)
momentum_history = [params]
for _ in range(steps):
    params, opt_state, _ = momentum_update(params, opt_state, x, y)
    momentum_history.append(params)
slow, fast = first_to_stay(history), first_to_stay(momentum_history)
says(f"{slow} steps without momentum and {fast} steps with it.")

# %% 2
rerun(
    "optimizer = optax.sgd(",
    {
        "optimizer = optax.sgd(learning_rate, momentum=decay_rate)": "optimizer = optax.sgd(1.0)",
        "    updates, opt_state = optimizer.update(grads, opt_state, params)\n": (
            "    rate = 0.1 / (1 + step / 100)\n"
            "    updates = jax.tree.map(lambda g: -rate * g, grads)\n"
        ),
    },
)
train_state = init_train_state(key)
distances = []
for _ in range(50):
    train_state, _ = train(train_state, x, y)
    distances.append(abs(np.array(train_state.params) - exact).max())
assert distances[-1] < 0.001
says("within 0.001 of `exact` after 50 steps")

# %% 3
optimizer = optax.adam(0.1)
params = Params(jnp.float32(0), jnp.float32(0))
opt_state = optimizer.init(params)
seen = {}
for step in range(1, 41):
    grads = jax.grad(loss_fn)(params, x, y)
    updates, _ = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    seen[step] = params
says(f"After 10 steps, the weight is {seen[10].weight:.1f} and the bias {seen[10].bias:.1f}")
says(f"after 39 steps, they are {seen[39].weight:.1f} and {seen[39].bias:.1f}")
says(f"after 40 steps, they are {seen[40].weight:.1f} and {seen[40].bias:.1f}")
