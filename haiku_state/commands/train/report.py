"""What the ``train`` command shows: a table and a plot."""

from pathlib import Path
from typing import NamedTuple

import haiku_state as hs
from haiku_state.commands.train.models import TASKS


class Epoch(NamedTuple):
    """One row of the table."""

    epoch: int
    train_loss: float
    test_loss: float
    test_score: float
    seconds: float


def print_row(model: str, row: Epoch) -> None:
    """Print one row of the table, in one process; the header is printed above the first row."""
    if not hs.processes.is_main_process():
        return
    if row.epoch == 1:
        score_name = f"test {TASKS[model].score_name}"
        print(f"epoch {'train loss':>12} {'test loss':>12} {score_name:>14} {'seconds':>8}")
    losses = f"{row.train_loss:12.4g} {row.test_loss:12.4g}"
    print(f"{row.epoch:5} {losses} {row.test_score:14.4f} {row.seconds:8.2f}", flush=True)


def save_plot(rows: list[Epoch], model: str, path: Path) -> None:
    """Draw the curves of loss and score; the file is complete or absent."""
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
    partial = path.with_name(f"{path.name}.partial")
    try:
        figure.savefig(partial, format=path.suffix[1:].lower(), dpi=150)
        partial.replace(path)
    except OSError as error:
        if error.errno is None:
            raise
        # it names the partial file, or none
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)
