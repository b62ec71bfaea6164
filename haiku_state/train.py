"""The ``train`` command: real data, whole epochs, a table, a plot."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

import haiku_state as hs
from haiku_state.typing import Batch, Metrics


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


class Epoch(NamedTuple):
    """One row of the table."""

    epoch: int
    train_loss: float
    test_loss: float
    test_score: float
    seconds: float


def train(
    model: str, update: str, devices: int, epochs: int, batch_size: int, seed: int
) -> list[Epoch]:
    """Train a model on its data, and show a progress bar on a terminal.

    Args:
      model: a key of ``TASKS``.
      update: ``"jit"`` or ``"pmap"``.
      devices: the number of devices for ``"pmap"``.
      epochs: how often to go through the training data.
      batch_size: rows per update, over all devices; the last partial batch is left out.
      seed: of the split, of the params, and of the order of the rows.

    Returns:
      One row per epoch.

    Example:
      >>> from haiku_state.train import train
      >>> rows = train("regression", "jit", 1, epochs=2, batch_size=64, seed=0)
      >>> rows[1].train_loss < rows[0].train_loss
      True
    """
    from rich.console import Console
    from rich.progress import Progress

    task = TASKS[model]
    axis_name = "devices" if update == "pmap" else None
    mapped_devices = hs.use_devices(devices)
    data = task.load(seed)
    pair = hk.transform_with_state(task.model(axis_name))

    def loss_fn(params: Any, state: Any, rng: jax.Array, batch: Batch) -> Any:
        outputs, state = pair.apply(params, state, rng, batch["inputs"], True)
        return task.loss(outputs, batch["targets"]), (state, {})

    def evaluate(params: Any, state: Any, batch: Batch) -> Any:
        outputs, _ = pair.apply(params, state, None, batch["inputs"], False)
        return task.loss(outputs, batch["targets"]), task.score(outputs, batch["targets"])

    step = hs.make_update(loss_fn, task.optimizer)
    first = next(hs.batches(data.train, batch_size))
    train_state = hs.init_train_state(
        pair.init, task.optimizer, jax.random.key(seed), first["inputs"], True
    )
    if axis_name is None:
        run = hs.jit_update(step)
    else:
        run = hs.pmap_update(step, axis_name, mapped_devices)
        train_state = hs.replicate(train_state, mapped_devices, axis_name)

    rows = []
    with Progress(
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as progress:
        bar = progress.add_task("training", total=epochs * (_rows(data.train) // batch_size))
        for epoch in range(1, epochs + 1):
            start = time.perf_counter()
            losses: list[Metrics] = []
            for batch in hs.batches(data.train, batch_size, seed=[seed, epoch]):
                if axis_name is not None:
                    batch = hs.split_batch(batch, devices)
                train_state, metrics = run(train_state, batch)
                losses.append(metrics)
                progress.advance(bar)
            trained = train_state.params, train_state.state
            if axis_name is not None:
                trained = hs.unreplicate(trained)
            test_loss, score = evaluate(*trained, data.test)
            train_loss = np.mean([metrics["loss"] for metrics in losses])
            seconds = time.perf_counter() - start
            rows.append(Epoch(epoch, float(train_loss), float(test_loss), float(score), seconds))
    return rows


def print_table(rows: list[Epoch], model: str) -> None:
    """Print the epochs as a table, and the last score on a line of its own."""
    from rich.console import Console
    from rich.table import Table

    task = TASKS[model]
    table = Table("epoch", "train loss", "test loss", f"test {task.score_name}", "seconds")
    for column in table.columns:
        column.justify = "right"
    for row in rows:
        table.add_row(
            str(row.epoch),
            f"{row.train_loss:.4g}",
            f"{row.test_loss:.4g}",
            f"{row.test_score:.{task.decimals}f}",
            f"{row.seconds:.2f}",
        )
    Console().print(table)
    print(f"test {task.score_name} {rows[-1].test_score:.{task.decimals}f}")


def save_plot(rows: list[Epoch], model: str, path: Path) -> None:
    """Draw the curves of loss and score, and write them to a file, whole or not at all."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    loss, score = figure.subplots(1, 2)
    epochs = [row.epoch for row in rows]
    loss.plot(epochs, [row.train_loss for row in rows], label="train", marker=".")
    loss.plot(epochs, [row.test_loss for row in rows], label="test", marker=".")
    loss.set(xlabel="epoch", ylabel="loss", yscale="log")
    loss.legend()
    score.plot(epochs, [row.test_score for row in rows], color="C1", marker=".")
    score.set(xlabel="epoch", ylabel=f"test {TASKS[model].score_name}")
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        figure.savefig(part, dpi=150)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _rows(data: Batch) -> int:
    return len(data["targets"])
