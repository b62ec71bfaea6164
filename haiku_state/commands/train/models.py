"""What the ``train`` command can learn: models, each with its data, its loss and its optimizer."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


class Task(NamedTuple):
    """One model on one data set, how it is trained, and how it is scored."""

    load: Callable[[int], hs.data.Dataset]
    """Makes training and test data from a seed."""

    model: Callable[..., Any]
    """Makes the pure pair, given the name of the device axis as ``cross_replica_axis``."""

    loss: Callable[[jax.Array, jax.Array], jax.Array]
    """Computes the mean loss from outputs and targets."""

    optimizer: optax.GradientTransformation
    score: Callable[[jax.Array, jax.Array], jax.Array]
    """Computes the score on the test data from outputs and targets; more is better."""

    score_name: str


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
        load=hs.load_digits,
        model=functools.partial(hs.pure_pair, hs.Classifier, [256, 128], 10),
        loss=_cross_entropy,
        optimizer=optax.adam(2e-3),
        score=_accuracy,
        score_name="accuracy",
    ),
    "regression": Task(
        load=hs.load_diabetes,
        model=functools.partial(hs.pure_pair, hs.LinearRegression, True),
        loss=_squared_error,
        optimizer=optax.sgd(0.03),
        score=_r2,
        score_name="r2",
    ),
}
"""By the name that ``--model`` takes."""
