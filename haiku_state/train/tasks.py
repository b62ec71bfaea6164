"""The models that the ``train`` command knows, each with its data."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


class Task(NamedTuple):
    """One model on one data set, and how it is scored."""

    load: Callable[[int], hs.Dataset]
    model: Callable[[str | None], Callable[[jax.Array, bool], jax.Array]]
    loss: Callable[[jax.Array, jax.Array], jax.Array]
    score: Callable[[jax.Array, jax.Array], jax.Array]
    score_name: str
    decimals: int
    optimizer: optax.GradientTransformation


def _cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))


def _accuracy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    return jnp.mean((jnp.argmax(logits, axis=-1) == labels).astype(jnp.float32))


def _squared_error(prediction: jax.Array, targets: jax.Array) -> jax.Array:
    return jnp.mean(jnp.square(prediction - targets))


def _r2(prediction: jax.Array, targets: jax.Array) -> jax.Array:
    return 1 - _squared_error(prediction, targets) / jnp.var(targets)


TASKS = {
    "classifier": Task(
        hs.load_digits,
        lambda axis: (
            lambda x, is_training: hs.Classifier([256, 128], 10, cross_replica_axis=axis)(
                x, is_training
            )
        ),
        _cross_entropy,
        _accuracy,
        "accuracy",
        4,
        optax.adam(2e-3),
    ),
    "regression": Task(
        hs.load_diabetes,
        lambda axis: (
            lambda x, is_training: hs.LinearRegression(True, cross_replica_axis=axis)(
                x, is_training
            )
        ),
        _squared_error,
        _r2,
        "r2",
        3,
        optax.sgd(0.03),
    ),
}
