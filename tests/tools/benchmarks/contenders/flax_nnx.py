"""Flax NNX: a module and an optimizer that a jitted function changes in place.

Three forms of its documentation: ``nnx.jit``; the same with ``nnx.cached_partial``, of the page
"Performance considerations"; and ``nnx.jit_partial``, which needs a newer Flax.
"""

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from tools.benchmarks import problem
from tools.benchmarks.problem import Contender, NotInstalledError, Size


class MLP(nnx.Module):
    def __init__(self, size: Size) -> None:
        rngs = nnx.Rngs(0)
        *hidden, output = problem.weights(size)
        self.linear_0 = linear(hidden[0], False, rngs)
        self.norm_0 = batch_norm(size, rngs)
        self.linear_1 = linear(hidden[1], False, rngs)
        self.norm_1 = batch_norm(size, rngs)
        self.output = linear(output, True, rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = nnx.relu(self.norm_0(self.linear_0(x)))
        x = nnx.relu(self.norm_1(self.linear_1(x)))
        return self.output(x)


def linear(w: Any, use_bias: bool, rngs: nnx.Rngs) -> nnx.Linear:
    def given(*_: Any, **__: Any) -> jax.Array:
        return jnp.asarray(w)

    return nnx.Linear(*w.shape, use_bias=use_bias, kernel_init=given, rngs=rngs)


def batch_norm(size: Size, rngs: nnx.Rngs) -> nnx.BatchNorm:
    return nnx.BatchNorm(size.width, momentum=problem.DECAY_RATE, epsilon=problem.EPS, rngs=rngs)


def train_step(model: MLP, optimizer: nnx.Optimizer, batch: Any) -> jax.Array:
    def loss_fn(model: MLP) -> jax.Array:
        logits = model(batch["inputs"])
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
        return jnp.mean(losses)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


def model_and_optimizer(size: Size) -> tuple[MLP, nnx.Optimizer]:
    if "model" not in inspect.signature(nnx.Optimizer.update).parameters:
        raise NotInstalledError("this Flax's optimizer is not given the model, as it is from 0.11")
    model = MLP(size)
    adam = optax.adam(
        problem.LEARNING_RATE, b1=problem.BETA_1, b2=problem.BETA_2, eps=problem.ADAM_EPS
    )
    return model, nnx.Optimizer(model, adam, wrt=nnx.Param)


def contender(size: Size, bind: Any) -> Contender:
    """``bind(model, optimizer)`` gives the function of the batch that makes one step."""
    both = model_and_optimizer(size)
    bound = bind(*both)
    initial = jax.tree.map(jnp.copy, [nnx.state(part) for part in both])

    def fresh() -> Any:
        for part, state in zip(both, jax.tree.map(jnp.copy, initial), strict=True):
            nnx.update(part, state)
        return both

    def step(carry: Any, batch: Any) -> tuple[Any, jax.Array]:
        return carry, bound(batch)

    def wait(result: Any) -> None:
        carry, loss = result
        jax.block_until_ready([loss, *map(nnx.state, carry)])

    return Contender(fresh, step, jax.device_put(problem.batches(size)), wait)


def setup(size: Size) -> Contender:
    jitted = nnx.jit(train_step, donate_argnums=(0, 1))
    return contender(size, lambda *both: lambda batch: jitted(*both, batch))


def setup_cached(size: Size) -> Contender:
    if not hasattr(nnx, "cached_partial"):
        raise NotInstalledError("this Flax has no nnx.cached_partial")
    jitted = nnx.jit(train_step, donate_argnums=(0, 1))
    return contender(size, lambda *both: nnx.cached_partial(jitted, *both))


def setup_partial(size: Size) -> Contender:
    if not hasattr(nnx, "jit_partial"):
        raise NotInstalledError("this Flax has no nnx.jit_partial")

    def bind(*both: Any) -> Any:  # its first argument is the two of them together
        return nnx.jit_partial(train_step, *both, graph=False, donate_argnums=0)

    return contender(size, bind)
