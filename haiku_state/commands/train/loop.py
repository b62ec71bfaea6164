"""Trains from the first batch to the last, or from where an earlier run has ended."""

import functools
import itertools
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs
from haiku_state.commands.train.models import TASKS
from haiku_state.commands.train.report import Epoch
from haiku_state.errors import SavedMismatchError, as_lines
from haiku_state.typing import Batch, Metrics

ONE_DEVICE: dict[str, Callable[..., hs.Runner[Any, Any]]] = {
    "jit": hs.jit_update,
    "scan": hs.scan_update,
}
ON_MESH: dict[str, Callable[..., hs.Runner[Any, Any]]] = {
    "shard": hs.shard_update,
    "shard_map": hs.shard_map_update,
}
UPDATES = (*ONE_DEVICE, "pmap", *ON_MESH)
"""What ``--update`` takes; those on a mesh run in many processes too."""


def runner_of(update: str, devices: int) -> Callable[[Any], hs.Runner[Any, Any]]:
    """Return the function that makes the runner of a step, on so many devices of each process."""
    if update in ONE_DEVICE:
        return ONE_DEVICE[update]
    used = hs.use_devices(devices)
    if update == "pmap":
        return functools.partial(hs.pmap_update, devices=used)
    mesh = hs.data_mesh(used if hs.processes.process_part()[1] == 1 else None)
    return functools.partial(ON_MESH[update], mesh=mesh)


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
    stops: Callable[[int], bool] = lambda update: False,
    report: Callable[[Epoch], None] = lambda row: None,
) -> list[Epoch]:
    """Train a model on its data.

    Args:
      model: a key of ``TASKS``.
      update: one of ``UPDATES``.
      devices: the number of devices; with many processes, of each process.
      epochs: how often to go through the training data.
      batch_size: rows per update, over all devices; the last partial batch is left out.
      seed: seed of the data split, the params and the row order.
      checkpoint_dir: a folder to save in, and to resume from if it has a checkpoint.
      checkpoint_every: save after this many updates as well as after each epoch.
      progress: called with the metrics after each call of the update step.
      stops: called with the number of each call of the update step; whether to save and to return.
      report: called with each row as soon as it is known, first with those of earlier runs.

    Returns:
      One row per finished epoch, including those of earlier runs.

    Raises:
      SavedMismatchError: the checkpoint is from a run with a different model, seed or batch size.

    Example:
      >>> from haiku_state.commands.train import train
      >>> rows = train("regression", "jit", 1, epochs=2, batch_size=64, seed=0)
      >>> rows[1].train_loss < rows[0].train_loss
      True
    """
    task = TASKS[model]
    data = task.load(seed)

    def loss_fn(params: Any, state: Any, rng: jax.Array, batch: Batch) -> Any:
        outputs, state = pair.apply(params, state, rng, batch["inputs"], True)
        return jnp.mean(task.metrics(outputs, batch["targets"])["loss"]), (state, {})

    def metrics_fn(params: Any, state: Any, batch: Batch) -> Any:
        outputs, state = pair.apply(params, state, None, batch["inputs"], False)
        return task.metrics(outputs, batch["targets"]), state

    make_runner = runner_of(update, devices)
    run = make_runner(hs.make_update(loss_fn, task.optimizer))
    evaluate = make_runner(hs.make_evaluate(metrics_fn))
    pair = task.model(cross_replica_axis=run.axis_name)  # the runner says what to average over

    first = next(hs.batches(data.train, batch_size))
    train_state = hs.init_train_state(
        pair.init, task.optimizer, jax.random.key(seed), first["inputs"], True
    )
    settings = {"model": model, "batch_size": batch_size, "seed": seed}
    rows: list[Epoch] = []
    losses: list[Any] = []  # of the epoch that is going on, one array for each call of the update

    def save(train_state: hs.TrainState) -> None:
        if checkpoint_dir is not None:
            done = [list(row) for row in rows]
            position = {"settings": settings, "epochs": done, "losses": _numbers(losses)}
            hs.storage.save_checkpoint(checkpoint_dir, train_state, position)

    if checkpoint_dir is not None:
        _check_settings(checkpoint_dir, settings)
        restored = hs.storage.restore_checkpoint(checkpoint_dir, train_state)
        if restored is not None:
            train_state = restored.train_state
            rows = [Epoch(*row) for row in restored.position["epochs"]]
            losses = restored.position["losses"]
            for row in rows:
                report(row)

    placed = run.place(train_state)
    part = hs.processes.process_part()
    steps_per_epoch = len(data.train["targets"]) // batch_size
    step = len(losses)
    updates = itertools.count()
    is_over = False
    for epoch in range(len(rows) + 1, epochs + 1):
        start = time.perf_counter()
        batches = hs.batches(data.train, batch_size, seed=[seed, epoch], skip=step, part=part)
        for batch in run.feed_all(batches):
            placed, metrics = run(placed, batch)
            progress(metrics)
            losses.append(metrics["loss"])  # not read yet, since that would wait for the update
            new = np.size(metrics["loss"])  # one call may make several updates
            step += new
            # a multiple of checkpoint_every is among the new updates
            is_due = checkpoint_every and step % checkpoint_every < new
            is_over = stops(next(updates))
            if step < steps_per_epoch and (is_due or is_over):
                save(run.one(placed))
                if is_over:
                    return rows
        padded = hs.batches(data.test, batch_size, remainder="pad", part=part)
        means = hs.mean_metrics(evaluate(placed, batch) for batch in evaluate.feed_all(padded))
        seconds = time.perf_counter() - start
        train_loss = float(np.mean(_numbers(losses)))
        rows.append(Epoch(epoch, train_loss, means["loss"], task.score(means, data), seconds))
        report(rows[-1])
        losses, step = [], 0
        save(run.one(placed))
        if is_over:
            return rows
    return rows


def _numbers(losses: list[Any]) -> list[float]:
    return [number for loss in losses for number in np.ravel(loss).tolist()]


def _check_settings(directory: Path, settings: dict[str, Any]) -> None:
    """Reject a checkpoint of a different run, by its position: leaves that differ say less."""
    left_out: Any = ...
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the restore of the leaves warns
        restored = hs.storage.restore_checkpoint(
            directory, hs.TrainState(*(left_out for _field in hs.TrainState._fields))
        )
    if restored is None:
        return
    position = restored.position if isinstance(restored.position, dict) else {}
    saved = position.get("settings")
    saved = saved if isinstance(saved, dict) else {}
    differences = [
        f"{name}: {saved.get(name)!r} -> {wanted!r}"
        for name, wanted in settings.items()
        if saved.get(name) != wanted
    ]
    if differences:
        raise SavedMismatchError(
            saved=directory,
            wanted="--model --batch-size --seed",
            differences=as_lines(differences),
        )
