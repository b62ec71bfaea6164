"""What a rejected argument advises, where it is sure what was meant."""

import jax
import numpy as np

X = np.float32([[0.5, 1.0, 3.0], [1.5, 1.0, 5.0], [2.5, 1.0, 1.0], [3.5, 5.0, 3.0]])
FOUR = "devices=jax.devices()[:4]"


def of_mean(make, batch="run.feed(X[:, 0])", place="run.place(train_state)", before=""):
    """One step to the mean of the rows: w - 0.5 (2 w - 2 mean)."""
    return f"""{before}
def loss_fn(params, state, rng, batch):
    return jnp.mean((params["w"] - batch) ** 2), (state, {{}})
sgd = optax.sgd(0.5)
run = {make}
train_state = init_train_state(lambda rng: ({{"w": jnp.float32(0)}}, {{}}), sgd, jax.random.key(0))
train_state = {place}
train_state, metrics = run(train_state, {batch})
answer = run.one(train_state).params["w"]
"""


MESH = """
import pytest
if jax.__version_info__ < (0, 9):
    pytest.skip("make_mesh means Auto before JAX 0.9")
mesh = jax.make_mesh({})
"""
BATCH_NORM = """
model = pure_pair(lambda x: BatchNorm(True, True, 0.5)(x, True))
def loss_fn(params, state, rng, batch):
    out, state = model.apply(params, state, rng, batch)
    return jnp.mean(jnp.sin(out)), (state, {})
sgd = optax.sgd(0.1)
run = pmap_update(make_update(loss_fn, sgd), jax.devices()[:2])
train_state = run.place(init_train_state(model.init, sgd, jax.random.key(0), X))
train_state, _ = run(train_state, run.feed(X))
answer = run.one(train_state).state["batch_norm/~/mean_ema"]["average"][0]
"""
AVERAGE = """
optimizer = hs.recipes.average_params(optax.sgd(1.0), decay_rate=0.5)
params = {"linear": {"w": jnp.float32(8)}}
opt_state = optimizer.init(params)
for _ in range(2):
    updates, opt_state = optimizer.update({"linear": {"w": jnp.float32(4)}}, opt_state)
    params = optax.apply_updates(params, updates)
answer = hs.recipes.averaged_params(opt_state)["linear"]["w"]
"""
SIZE = """
class C:
    def __init__(self):
        self.size = 3
    def step(self, x):
        return x + jnp.zeros(self.size)
    def other(self):
        return 0
init, apply = functionalize(C, "step")
answer, state = jax.jit(apply)(init(), 1.0)
"""
DEVICES = """#!/bin/sh
{}=2 python <<'END'
answer = len(use_devices(4))
END
"""
MEAN = X[:, 0].mean()
PROGRAMS = {
    "arguments.batch_elsewhere": (
        of_mean(
            "shard_update(make_update(loss_fn, sgd), data_mesh(jax.devices()[:2]))",
            "jax.device_put(X[:, 0], jax.devices()[3])",
        ),
        2.0,
    ),
    "arguments.traced_number, of one method": (SIZE, [1.0] * 3),
    "arguments.random_key": (
        """
model = pure_pair(hk.Linear, 2)
train_state = init_train_state(model.init, optax.sgd(0.1), 42, X)
answer = jax.random.key_data(train_state.rng)
""",
        jax.random.key_data(jax.random.split(jax.random.key(42))[0]),
    ),
    "arguments.device_count": (
        DEVICES.format("XLA_FLAGS=--xla_force_host_platform_device_count"),
        4,
    ),
    "arguments.devices": (
        of_mean(
            'pmap_update(make_update(loss_fn, sgd), "i")', batch="run.feed(np.tile(X[:, 0], 2))"
        ),
        MEAN,
    ),
    "arguments.devices_axis": (
        of_mean(f"pmap_update(make_update(loss_fn, sgd), {FOUR})", "np.tile(X[:, 0], 3)"),
        MEAN,
    ),
    "arguments.replicas_differ": (BATCH_NORM, X.mean(0)),
    "arguments.explicit_mesh, a row": (
        of_mean(
            "shard_update(make_update(loss_fn, sgd), mesh)", before=MESH.format('(4,), ("d",)')
        ),
        MEAN,
    ),
    "arguments.explicit_mesh, two axes": (
        of_mean(
            "shard_map_update(make_update(loss_fn, sgd), mesh)",
            before=MESH.format('(4, 2), ("d", "m")'),
        ),
        MEAN,
    ),
    "arguments.misplaced, on one device": (
        of_mean(
            "shard_update(make_update(loss_fn, sgd), data_mesh(jax.devices()[:4]))",
            place="jax.device_put(train_state, jax.devices()[0])",
        ),
        MEAN,
    ),
    "arguments.misplaced, on another mesh": (
        of_mean(
            "shard_map_update(make_update(loss_fn, sgd), data_mesh(jax.devices()[:4]))",
            place="shard_train_state(train_state, data_mesh(jax.devices()[:2]))",
        ),
        MEAN,
    ),
    # 8 - 4 - 4: averages of 8, 4, 0 by halves
    "arguments.missing_params": (AVERAGE, 3.0),
}
