"""The package itself: one update step, and each way to run it."""

from collections.abc import Callable
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from tools.benchmarks import problem
from tools.benchmarks.problem import Contender, Size

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


def parts(size: Size, axis_name: str | None, model: Callable[..., Any]) -> tuple[Any, Any]:
    """Give the update step, and its first train state."""
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
    return hs.make_update(loss_fn, optimizer), initial


def contender(
    make_runner: Callable[..., Any],
    axis_name: str | None = None,
    model: Callable[..., Any] = classifier,
    scanned: bool = False,
    stacked: bool = False,
) -> Callable[..., Contender]:
    """Make the contender of a runner, given a step and the devices to run on."""

    def setup(size: Size, devices: int = 1) -> Contender:
        used = hs.use_devices(devices)
        update, initial = parts(size, axis_name, model)
        run = make_runner(update, used)
        rounds, steps_per_call = problem.batches(size), 1
        if scanned:
            run, steps_per_call = hs.scan_update(update, size.scan_steps), size.scan_steps
            rounds = rounds * (steps_per_call // problem.NUM_BATCHES)
        # where the runner wants them, as the steps by hand have them: none is moved in a step
        put = jax.pmap(lambda batch: batch, devices=used) if stacked else jax.device_put
        batches = [put(batch) for batch in run.feed_all(rounds)]

        def fresh() -> Any:
            return run.place(initial)

        def memory() -> dict[str, int]:
            analysis = run.lower(fresh(), batches[0]).compile().memory_analysis()
            kinds = ("argument", "output", "alias", "temp")
            return {kind: getattr(analysis, f"{kind}_size_in_bytes") for kind in kinds}

        return Contender(fresh, run, batches, jax.block_until_ready, steps_per_call, memory)

    return setup


jit = contender(lambda update, used: hs.jit_update(update))
haiku_batch_norm = contender(lambda update, used: hs.jit_update(update), model=haiku_classifier)
scan = contender(lambda update, used: hs.scan_update(update), scanned=True)
vmap = contender(lambda update, used: hs.vmap_update(update, MEMBERS))
pmap = contender(hs.pmap_update, AXIS, stacked=True)
shard = contender(lambda update, used: hs.shard_update(update, hs.data_mesh(used)))
shard_map = contender(lambda update, used: hs.shard_map_update(update, hs.data_mesh(used)), AXIS)
