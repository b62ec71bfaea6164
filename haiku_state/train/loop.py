"""Training from the first batch to the last, from where an earlier run has ended."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import haiku as hk
import jax
import numpy as np

import haiku_state as hs
from haiku_state.errors import TrainingMismatchError, as_lines
from haiku_state.train.report import Epoch
from haiku_state.train.tasks import TASKS
from haiku_state.train.ways import AXIS, NAMED_AXIS, WAYS
from haiku_state.typing import Batch, Metrics


def train(
    model: str,
    update: str,
    devices: int,
    epochs: int,
    batch_size: int,
    seed: int,
    *,
    checkpoint_dir: Path | None = None,
    checkpoint_every: int | None = None,
    progress: Callable[[Metrics], None] = lambda metrics: None,
) -> list[Epoch]:
    """Train a model on its data, and show a progress bar on a terminal.

    Args:
      model: a key of ``TASKS``.
      update: a key of ``WAYS``.
      devices: the number of devices, for the ways that use more than one; with many processes,
        of each process.
      epochs: how often to go through the training data.
      batch_size: rows per update, over all devices; the last partial batch is left out.
      seed: of the split, of the params, and of the order of the rows.
      checkpoint_dir: a folder to save in, and to go on from if there is a checkpoint.
      checkpoint_every: how many updates between two checkpoints, besides the one after each
        epoch.
      progress: called with the metrics after each call of the update step.

    Returns:
      One row per epoch, those of the earlier runs included.

    Raises:
      TrainingMismatchError: the checkpoint is of a run with another model, seed or batch size.

    Example:
      >>> from haiku_state.train import train
      >>> rows = train("regression", "jit", 1, epochs=2, batch_size=64, seed=0)
      >>> rows[1].train_loss < rows[0].train_loss
      True
    """
    task, way = TASKS[model], WAYS[update](devices)
    data = task.load(seed)
    pair = hk.transform_with_state(task.model(AXIS if update in NAMED_AXIS else None))

    def loss_fn(params: Any, state: Any, rng: jax.Array, batch: Batch) -> Any:
        outputs, state = pair.apply(params, state, rng, batch["inputs"], True)
        return task.loss(outputs, batch["targets"]), (state, {})

    def evaluate(params: Any, state: Any, batch: Batch) -> Any:
        outputs, _ = pair.apply(params, state, None, batch["inputs"], False)
        return task.loss(outputs, batch["targets"]), task.score(outputs, batch["targets"])

    first = next(hs.batches(data.train, batch_size))
    train_state = hs.init_train_state(
        pair.init, task.optimizer, jax.random.key(seed), first["inputs"], True
    )
    settings = {"model": model, "batch_size": batch_size, "seed": seed}
    position = _Position(settings, checkpoint_dir, checkpoint_every)
    train_state = position.restore(train_state)
    run, placed = way.compile(hs.make_update(loss_fn, task.optimizer)), way.place(train_state)

    def save() -> None:
        position.save(way.one(placed))

    steps_per_epoch = len(data.train["targets"]) // batch_size
    with _bar(epochs * steps_per_epoch, int(train_state.step)) as advance:
        while position.epoch <= epochs:
            start = time.perf_counter()
            rows = hs.batches(
                data.train,
                batch_size,
                seed=[seed, position.epoch],
                skip=position.batch,
                part=hs.process_part(),
            )
            for batch in way.feed(rows):
                placed, metrics = run(placed, batch)
                progress(metrics)
                steps = position.add(metrics["loss"])
                advance(steps)
                if position.is_due(steps) and position.batch < steps_per_epoch:
                    save()
            trained = way.one(placed)
            test_loss, score = evaluate(trained.params, trained.state, data.test)
            position.end_epoch(float(test_loss), float(score), time.perf_counter() - start)
            save()
    return position.epochs


class _Position:
    """Where a run is in its data, and what it has measured so far."""

    def __init__(self, settings: dict[str, Any], directory: Path | None, every: int | None) -> None:
        self._settings, self._directory, self._every = settings, directory, every
        self.epochs: list[Epoch] = []
        self.batch = 0
        self._losses: list[Any] = []  # of the epoch that is going on; some still on a device

    @property
    def epoch(self) -> int:
        return len(self.epochs) + 1

    def add(self, loss: jax.Array) -> int:
        self._losses.append(loss)
        steps = int(np.size(loss))
        self.batch += steps
        return steps

    def losses(self) -> list[float]:
        values = [number for loss in self._losses for number in np.atleast_1d(loss).tolist()]
        self._losses = list(values)
        return values

    def is_due(self, new: int) -> bool:
        every = self._every
        return every is not None and self.batch // every > (self.batch - new) // every

    def end_epoch(self, test_loss: float, score: float, seconds: float) -> None:
        loss = float(np.mean(self.losses()))
        self.epochs.append(Epoch(self.epoch, loss, test_loss, score, seconds))
        self._losses, self.batch = [], 0

    def save(self, train_state: hs.TrainState) -> None:
        if self._directory is not None:
            epochs = [list(row) for row in self.epochs]
            record = {"settings": self._settings, "epochs": epochs, "losses": self.losses()}
            hs.save_checkpoint(self._directory, train_state, record)

    def restore(self, train_state: hs.TrainState) -> hs.TrainState:
        if self._directory is None:
            return train_state
        restored = hs.restore_checkpoint(self._directory, train_state)
        if restored is None:
            return train_state
        known = restored.position if isinstance(restored.position, dict) else {}
        found = known.get("settings", {})
        differences = [
            f"{name}: {found.get(name)!r} -> {wanted!r}"
            for name, wanted in self._settings.items()
            if found.get(name) != wanted
        ]
        if differences:
            raise TrainingMismatchError(
                directory=self._directory, differences=as_lines(differences)
            )
        self.epochs = [Epoch(*row) for row in restored.position["epochs"]]
        self._losses = restored.position["losses"]
        self.batch = len(self._losses)
        return restored.train_state


@contextlib.contextmanager
def _bar(total: int, completed: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import Progress

    hidden = not sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=hidden) as bar:
        task = bar.add_task("training", total=total, completed=completed)
        yield lambda steps: bar.advance(task, steps)
