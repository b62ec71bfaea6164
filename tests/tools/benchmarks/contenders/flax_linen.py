"""Flax Linen: a TrainState with batch statistics, and a jitted function that donates it."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state
from tools.benchmarks import problem
from tools.benchmarks.problem import Contender, Size


class MLP(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x: jax.Array, train: bool) -> jax.Array:
        for _ in range(problem.HIDDEN_LAYERS):
            x = nn.Dense(self.width, use_bias=False)(x)
            norm = nn.BatchNorm(
                use_running_average=not train, momentum=problem.DECAY_RATE, epsilon=problem.EPS
            )
            x = nn.relu(norm(x))
        return nn.Dense(problem.CLASSES)(x)


class TrainState(train_state.TrainState):
    batch_stats: Any


def train_step(state: TrainState, batch: Any) -> tuple[TrainState, jax.Array]:
    def loss_fn(params: Any) -> tuple[jax.Array, Any]:
        logits, updates = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            batch["inputs"],
            train=True,
            mutable=["batch_stats"],
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
        return jnp.mean(losses), updates

    (loss, updates), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads, batch_stats=updates["batch_stats"])
    return state, loss


def setup(size: Size) -> Contender:
    model = MLP(size.width)
    adam = optax.adam(
        problem.LEARNING_RATE, b1=problem.BETA_1, b2=problem.BETA_2, eps=problem.ADAM_EPS
    )
    variables = model.init(jax.random.key(0), jnp.ones((1, problem.FEATURES)), train=True)
    params = dict(variables["params"])
    for i, w in enumerate(problem.weights(size)):
        params[f"Dense_{i}"] = {**params[f"Dense_{i}"], "kernel": jnp.asarray(w)}

    def fresh() -> TrainState:
        own_params, stats = jax.tree.map(jnp.copy, (params, variables["batch_stats"]))
        return TrainState.create(
            apply_fn=model.apply, params=own_params, tx=adam, batch_stats=stats
        )

    return Contender(
        fresh,
        jax.jit(train_step, donate_argnums=0),
        jax.device_put(problem.batches(size)),
        jax.block_until_ready,
    )
