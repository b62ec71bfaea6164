"""What the ``train`` command shows: a table, and a plot."""

from pathlib import Path
from typing import NamedTuple

from haiku_state.train.tasks import TASKS


class Epoch(NamedTuple):
    """One row of the table."""

    epoch: int
    train_loss: float
    test_loss: float
    test_score: float
    seconds: float


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
