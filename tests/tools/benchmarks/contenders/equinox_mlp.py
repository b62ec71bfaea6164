"""Equinox: a model that is a PyTree, its state beside it, ``vmap`` over the rows by name.

As in its example "Stateful operations (e.g. BatchNorm)", with the mode that its own warning
recommends, and everything but the batch donated.
"""

import inspect
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from tools.benchmarks import problem
from tools.benchmarks.problem import Contender, NotInstalledError, Size

AXIS = "batch"


class MLP(eqx.Module):
    hidden: list[eqx.nn.Linear]
    norms: list[eqx.nn.BatchNorm]
    output: eqx.nn.Linear

    def __init__(self, size: Size) -> None:
        if "mode" not in inspect.signature(eqx.nn.BatchNorm).parameters:
            raise NotInstalledError("this Equinox's BatchNorm has no mode")
        *hidden, output = problem.weights(size)
        self.hidden = [linear(w, False) for w in hidden]
        self.norms = [
            eqx.nn.BatchNorm(
                size.width, AXIS, eps=problem.EPS, momentum=problem.DECAY_RATE, mode="batch"
            )
            for _ in hidden
        ]
        self.output = linear(output, True)

    def __call__(self, x: jax.Array, state: eqx.nn.State) -> tuple[jax.Array, eqx.nn.State]:
        for layer, norm in zip(self.hidden, self.norms, strict=True):
            x, state = norm(layer(x), state)
            x = jax.nn.relu(x)
        return self.output(x), state


def linear(w: Any, use_bias: bool) -> eqx.nn.Linear:
    layer = eqx.nn.Linear(*w.shape, use_bias=use_bias, key=jax.random.key(0))
    layer = eqx.tree_at(lambda layer: layer.weight, layer, jnp.asarray(w.T))
    if use_bias:
        layer = eqx.tree_at(lambda layer: layer.bias, layer, jnp.zeros(w.shape[1]))
    return layer


def loss_fn(model: MLP, state: eqx.nn.State, batch: Any) -> tuple[jax.Array, eqx.nn.State]:
    batched = jax.vmap(model, axis_name=AXIS, in_axes=(0, None), out_axes=(0, None))
    logits, state = batched(batch["inputs"], state)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
    return jnp.mean(losses), state


def setup(size: Size) -> Contender:
    adam = optax.adam(
        problem.LEARNING_RATE, b1=problem.BETA_1, b2=problem.BETA_2, eps=problem.ADAM_EPS
    )

    @eqx.filter_jit(donate="all-except-first")
    def train_step(batch: Any, model: MLP, state: eqx.nn.State, opt_state: Any) -> Any:
        (loss, state), grads = eqx.filter_value_and_grad(loss_fn, has_aux=True)(model, state, batch)
        updates, opt_state = adam.update(grads, opt_state, eqx.filter(model, eqx.is_array))
        return (eqx.apply_updates(model, updates), state, opt_state), loss

    model, state = eqx.nn.make_with_state(MLP)(size)
    initial = model, state, adam.init(eqx.filter(model, eqx.is_array))

    return Contender(
        lambda: jax.tree.map(lambda x: jnp.copy(x) if eqx.is_array(x) else x, initial),
        lambda carry, batch: train_step(batch, *carry),
        jax.device_put(problem.batches(size)),
        jax.block_until_ready,
    )
