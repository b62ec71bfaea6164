"""Programs whose error gives a right line, each with the numbers that they are meant to print."""

import jax
import numpy as np

X = np.float32([[0.5, 1.0, 3.0], [1.5, 1.0, 5.0], [2.5, 1.0, 1.0], [3.5, 5.0, 3.0]])
MEAN = X.mean(0)


def of_loss(make, axis="devices"):
    """One step to the mean of the rows: w - 0.5 (2 w - 2 mean)."""
    return f"""
def loss_fn(params, state, rng, batch):
    mean = jax.lax.pmean(jnp.mean(batch), "{axis}")
    return params["w"] ** 2 - 2 * params["w"] * mean, (state, {{}})
sgd = optax.sgd(0.5)
run = {make}
train_state = init_train_state(lambda rng: ({{"w": jnp.float32(0)}}, {{}}), sgd, jax.random.key(0))
train_state, metrics = run(run.place(train_state), run.feed(X[:, 0]))
answer = run.one(train_state).params["w"]
"""


STEP = "make_update(loss_fn, sgd)"
CLASS = """
class Double(hk.Module):
    def __call__(self, x):
        return 2 * x
model = hk.transform_with_state(Double)
train_state = init_train_state(model.init, optax.sgd(0.1), jax.random.key(0), X)
answer, state = model.apply(train_state.params, train_state.state, None, X)
"""
SEED = """
model = pure_pair(hk.Linear, 2)
train_state = init_train_state(model.init, optax.sgd(0.1), 42, X)
answer = jax.random.key_data(train_state.rng)
"""
DEVICES = """#!/bin/sh
{}=2 python <<'END'
answer = len(use_devices(4))
END
"""
PROGRAMS = {
    "diagnosis._class_transformed": (CLASS, 2 * X),
    "arguments.random_key": (
        SEED,
        jax.random.key_data(jax.random.split(jax.random.key(42))[0]),
    ),
    "arguments.device_count, by XLA": (
        DEVICES.format("XLA_FLAGS=--xla_force_host_platform_device_count"),
        4,
    ),
    "arguments.devices, a name": (
        of_loss(f'pmap_update({STEP}, "devices")').replace("X[:, 0]", "np.tile(X[:, 0], 2)"),
        MEAN[0],
    ),
    "arguments.devices, a platform": (
        of_loss(f'pmap_update({STEP}, "cpu")').replace("X[:, 0]", "np.tile(X[:, 0], 2)"),
        MEAN[0],
    ),
    "arguments.devices, a number": (of_loss(f"pmap_update({STEP}, 2)"), MEAN[0]),
    "arguments.devices, of a mesh": (
        of_loss(f"shard_map_update({STEP}, data_mesh(4))"),
        MEAN[0],
    ),
}
