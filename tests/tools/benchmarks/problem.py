"""What every contender computes: sizes, data, initial params. NumPy only, for all frameworks.

Rows of 64 features go through two hidden layers (linear without bias, batch normalization, ReLU)
and a linear layer to 10 scores; the loss is the softmax cross entropy, the optimizer Adam, the
dtype float32.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

FEATURES, CLASSES, HIDDEN_LAYERS = 64, 10, 2
LEARNING_RATE, BETA_1, BETA_2, ADAM_EPS = 1e-3, 0.9, 0.999, 1e-8
DECAY_RATE, EPS = 0.9, 1e-5
# a training loop meets one after the other, again and again
NUM_BATCHES = 10


class Size(NamedTuple):
    """How much there is to compute in one step."""

    batch: int
    width: int
    # how many steps one dispatch of scan_update makes, a multiple of NUM_BATCHES
    scan_steps: int


SIZES = {
    "32x32": Size(32, 32, 100),
    "128x256": Size(128, 256, 50),
    "512x1024": Size(512, 1024, 10),
}


class Contender(NamedTuple):
    """One way to make the same training step."""

    fresh: Callable[[], Any]
    """Gives what the steps carry, with the initial params."""

    step: Callable[[Any, Any], tuple[Any, Any]]
    """``step(carry, batch) -> (carry, loss)``; may consume its carry. A loss of shape (), of
    shape (steps,), or a dict that has it under ``"loss"``."""

    batches: Sequence[Any]
    """The batches, where the framework wants them: their transfer is not measured."""

    wait: Callable[[Any], Any]
    """Returns when everything in ``(carry, loss)`` is computed."""

    steps_per_call: int = 1

    memory: Callable[[], dict[str, int]] | None = None
    """Bytes that the compiled step needs, by kind."""


class NotInstalledError(Exception):
    """The framework of a contender is missing here, or too old."""


def weights(size: Size, seed: int = 0) -> list[np.ndarray]:
    """Give the initial weights, (inputs, outputs) each; offsets and biases begin at 0."""
    rng = np.random.default_rng(seed)
    widths = [FEATURES] + [size.width] * HIDDEN_LAYERS + [CLASSES]
    return [
        (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)
        for rows, columns in itertools.pairwise(widths)
    ]


def batches(size: Size, seed: int = 1) -> list[dict[str, np.ndarray]]:
    """Give rows around means that are as large as their spread, and labels to learn by heart."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal(FEATURES)
    return [
        {
            "inputs": (means + rng.standard_normal((size.batch, FEATURES))).astype(np.float32),
            "targets": rng.integers(0, CLASSES, size.batch).astype(np.int32),
        }
        for _ in range(NUM_BATCHES)
    ]


def stacked_batches(size: Size) -> dict[str, np.ndarray]:
    """Give the batches of ``size.scan_steps`` steps, stacked."""
    repeats, rest = divmod(size.scan_steps, NUM_BATCHES)
    assert not rest, "the scanned steps would meet other batches"
    rounds = batches(size) * repeats
    return {name: np.stack([batch[name] for batch in rounds]) for name in rounds[0]}


def last_loss(loss: Any) -> float:
    """Give the loss of the last step that ``step`` made; the first member's of an ensemble."""
    value = loss["loss"] if isinstance(loss, dict) else loss
    value = value.detach() if hasattr(value, "detach") else value
    return float(np.ravel(np.asarray(value))[-1])
