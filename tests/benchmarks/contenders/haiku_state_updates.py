"""The package itself: one update step, and each way to run it."""

from collections.abc import Callable
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from benchmarks import problem
from benchmarks.problem import Contender, Size
from jax.sharding import NamedSharding, PartitionSpec

import haiku_state as hs

AXIS = "devices"
MEMBERS = 4


def classifier(size: Size, axis_name: str | None) -> Callable[..., Any]:
    hidden = [size.width] * problem.HIDDEN_LAYERS
    return lambda x, is_training: hs.Classifier(
        hidden, problem.CLASSES, problem.DECAY_RATE, cross_replica_axis=axis_name
    )(x, is_training)


def haiku_classifier(size: Size, axis_name: str | None) -> Callable[..., Any]:
    """Say the same with ``hk.BatchNorm``."""

    def forward(x: jax.Array, is_training: bool) -> jax.Array:
        for _ in range(problem.HIDDEN_LAYERS):
            x = hk.Linear(size.width, with_bias=False)(x)
            norm = hk.BatchNorm(True, True, problem.DECAY_RATE, cross_replica_axis=axis_name)
            x = jax.nn.relu(norm(x, is_training))
        return hk.Linear(problem.CLASSES)(x)

    return forward


def parts(
    size: Size, axis_name: str | None = None, model: Callable[..., Any] = classifier
) -> tuple[Any, Callable[[], Any]]:
    """Give the update step, and a function that makes its first train state."""
    pair = hk.transform_with_state(model(size, axis_name))
    optimizer = optax.adam(
        problem.LEARNING_RATE, b1=problem.BETA_1, b2=problem.BETA_2, eps=problem.ADAM_EPS
    )

    def loss_fn(params: Any, state: Any, rng: jax.Array, batch: Any) -> Any:
        logits, state = pair.apply(params, state, rng, batch["inputs"], True)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
        return jnp.mean(losses), (state, {})

    first = problem.batches(size)[0]["inputs"]
    initial = hs.init_train_state(pair.init, optimizer, jax.random.key(0), first, True)
    params = {module: dict(values) for module, values in initial.params.items()}
    linear = [module for module in params if "linear" in module]  # in the order of the calls
    for module, w in zip(linear, problem.weights(size), strict=True):
        params[module]["w"] = jnp.asarray(w)
    initial = initial._replace(params=params)
    return hs.make_update(loss_fn, optimizer), lambda: jax.tree.map(jnp.copy, initial)


def contender(
    run: Any, fresh: Callable[[], Any], batches: list[Any], steps_per_call: int = 1
) -> Contender:
    def memory() -> dict[str, int]:
        analysis = run.lower(fresh(), batches[0]).compile().memory_analysis()
        kinds = ("argument", "output", "alias", "temp")
        return {kind: getattr(analysis, f"{kind}_size_in_bytes") for kind in kinds}

    return Contender(fresh, run, batches, jax.block_until_ready, steps_per_call, memory)


def jit(size: Size, devices: int = 1) -> Contender:
    update, fresh = parts(size)
    return contender(hs.jit_update(update), fresh, jax.device_put(problem.batches(size)))


def haiku_batch_norm(size: Size) -> Contender:
    update, fresh = parts(size, model=haiku_classifier)
    return contender(hs.jit_update(update), fresh, jax.device_put(problem.batches(size)))


def scan(size: Size, devices: int = 1) -> Contender:
    update, fresh = parts(size)
    stack = jax.device_put(problem.stacked_batches(size))
    return contender(hs.scan_update(update), fresh, [stack], size.scan_steps)


def vmap(size: Size, devices: int = 1) -> Contender:
    update, fresh = parts(size)

    def members() -> Any:
        one = fresh()
        many = jax.tree.map(lambda leaf: jnp.stack([leaf] * MEMBERS), one._replace(rng=one.step))
        return many._replace(rng=jax.random.split(one.rng, MEMBERS))

    return contender(hs.vmap_update(update), members, jax.device_put(problem.batches(size)))


def pmap(size: Size, devices: int = 1) -> Contender:
    used = hs.use_devices(devices)
    update, fresh = parts(size, AXIS)
    place = jax.pmap(lambda batch: batch, devices=used)
    batches = [place(hs.split_batch(batch, devices)) for batch in problem.batches(size)]
    run = hs.pmap_update(update, AXIS, used)
    return contender(run, lambda: hs.replicate(fresh(), used, AXIS), batches)


def on_mesh(way: Callable[..., Any], axis_name: str | None) -> Callable[..., Contender]:
    def setup(size: Size, devices: int = 1) -> Contender:
        mesh = jax.sharding.Mesh(np.array(hs.use_devices(devices)), (AXIS,))
        update, fresh = parts(size, axis_name)
        rows = NamedSharding(mesh, PartitionSpec(AXIS))
        return contender(
            way(update, mesh),
            lambda: hs.shard_train_state(fresh(), mesh),
            jax.device_put(problem.batches(size), rows),
        )

    return setup


shard = on_mesh(lambda update, mesh: hs.shard_update(update, mesh), None)
shard_map = on_mesh(lambda update, mesh: hs.shard_map_update(update, mesh, AXIS), AXIS)
