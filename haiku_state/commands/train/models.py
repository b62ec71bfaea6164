"""What the ``train`` command can learn: models, each with its data, its loss and its optimizer."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import haiku_state as hs


class Task(NamedTuple):
    """One model on one data set, how it is trained, and how it is scored."""

    load: Callable[[int], hs.data.Dataset]
    """Makes training and test data from a seed."""

    model: Callable[..., Any]
    """Makes the pure pair, given the name of the device axis as ``cross_replica_axis``."""

    metrics: Callable[[jax.Array, jax.Array], dict[str, jax.Array]]
    """Computes ``"loss"`` and other numbers for each example, from outputs and targets."""

    optimizer: optax.GradientTransformation
    score: Callable[[dict[str, float], hs.data.Dataset], float]
    """Computes the score from the means of the metrics on the test data; more is better."""

    score_name: str


def _classified(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return {"loss": losses, "accuracy": jnp.argmax(logits, axis=-1) == labels}


def _accuracy(means: dict[str, float], data: hs.data.Dataset) -> float:
    return means["accuracy"]


def _squared_error(prediction: jax.Array, targets: jax.Array) -> dict[str, jax.Array]:
    return {"loss": jnp.square(prediction - targets)}


def _r2(means: dict[str, float], data: hs.data.Dataset) -> float:
    return 1 - means["loss"] / float(np.var(data.test["targets"]))


TASKS = {
    "classifier": Task(
        load=hs.load_digits,
        model=functools.partial(hs.pure_pair, hs.Classifier, [256, 128], 10),
        metrics=_classified,
        optimizer=optax.adam(2e-3),
        score=_accuracy,
        score_name="accuracy",
    ),
    "regression": Task(
        load=hs.load_diabetes,
        model=functools.partial(hs.pure_pair, hs.LinearRegression, True),
        metrics=_squared_error,
        optimizer=optax.sgd(0.03),
        score=_r2,
        score_name="r2",
    ),
}
"""By the name that ``--model`` takes."""
