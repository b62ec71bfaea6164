import functools
import io

import haiku as hk
import jax
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

import haiku_state as hs
from haiku_state.errors import CheckpointMismatchError, TrainingMismatchError
from haiku_state.train import (
    ONE_DEVICE,
    TASKS,
    WAYS,
    Epoch,
    print_table,
    save_plot,
    train,
)

pytestmark = pytest.mark.usefixtures("standard_promotion")

ROWS = [Epoch(1, 2.5, 2.25, 0.5, 1.0), Epoch(2, 1.25, 1.125, 0.875, 0.5)]


def test_each_epoch_gives_one_row():
    rows = train("regression", "jit", 1, epochs=3, batch_size=32, seed=0)
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert rows[0].train_loss > rows[1].train_loss > rows[2].train_loss
    assert rows[0].test_score < rows[1].test_score < rows[2].test_score
    assert all(row.seconds > 0 for row in rows)


def numbers(rows):
    return np.array([row[1:4] for row in rows])


@functools.cache
def on_one_device(model):
    return train(model, "jit", 1, epochs=2, batch_size=64, seed=0)


@pytest.mark.parametrize("update", [update for update in WAYS if update != "jit"])
@pytest.mark.parametrize("model", TASKS)
def test_each_way_learns_what_one_device_learns(model, update):
    devices = 1 if update in ONE_DEVICE else 4
    rows = train(model, update, devices, epochs=2, batch_size=64, seed=0)
    # adam divides by the size of a gradient: the last digits of a small one weigh as much
    np.testing.assert_allclose(numbers(rows), numbers(on_one_device(model)), rtol=2e-2)


def stopping_after(count):
    """A ``progress`` that breaks off, as a kill would."""
    calls = iter(range(count))

    def progress(metrics):
        if next(calls, None) is None:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("update", WAYS)
@pytest.mark.parametrize("stop", [2, 9])
def test_a_run_that_was_broken_off_goes_on_with_the_same_numbers(update, stop, tmp_path):
    devices = 1 if update in ONE_DEVICE else 4
    fixed = {"batch_size": 8, "seed": 0, "epochs": 2}
    unbroken = train("regression", update, devices, **fixed)
    saving = {"checkpoint_dir": tmp_path / "run", "checkpoint_every": 7}
    if update == "scan":
        stop = stop // 2  # it makes twenty updates in a call
    with pytest.raises(KeyboardInterrupt):
        train("regression", update, devices, **fixed, **saving, progress=stopping_after(stop))
    rows = train("regression", update, devices, **fixed, **saving)
    assert [row[:4] for row in rows] == [row[:4] for row in unbroken]
    again = train("regression", update, devices, **fixed, **saving)
    assert again == rows


def test_a_run_goes_on_for_more_epochs_and_in_another_way(tmp_path):
    first = train("regression", "jit", 1, 1, 8, 0, checkpoint_dir=tmp_path)
    rows = train("regression", "shard", 4, 2, 8, 0, checkpoint_dir=tmp_path)
    assert rows[0] == first[0]
    expected = train("regression", "jit", 1, 2, 8, 0)
    np.testing.assert_allclose(numbers(rows), numbers(expected), rtol=1e-4)


@pytest.mark.parametrize("change", [{"seed": 1}, {"batch_size": 16}])
def test_a_checkpoint_of_another_run_is_refused(change, tmp_path):
    settings = {"epochs": 1, "batch_size": 8, "seed": 0, "checkpoint_dir": tmp_path / "run"}
    train("regression", "jit", 1, **settings)
    before = sorted(tmp_path.rglob("*"))
    [(name, value)] = change.items()
    with pytest.raises(TrainingMismatchError) as caught:
        train("regression", "jit", 1, **{**settings, **change})
    assert str(caught.value) == (
        f"the checkpoints in {tmp_path}/run are of another run:\n"
        f"    {name}: {settings[name]} -> {value}\n"
        f"  wrong: train --checkpoint-dir {tmp_path}/run\n"
        f"  right: train --checkpoint-dir {tmp_path}/run-2\n"
        "  why:   the position in the data has a meaning for the same data and order only\n"
        "  more:  docs/api/checkpoint.rst"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_a_checkpoint_that_the_command_has_not_written_is_refused(tmp_path):
    hs.save_checkpoint(tmp_path, start_regression())
    with pytest.raises(TrainingMismatchError, match="seed: None -> 0"):
        train("regression", "jit", 1, 1, 8, 0, checkpoint_dir=tmp_path)


def start_regression():
    task = TASKS["regression"]
    pair = hk.transform_with_state(task.model(None))
    inputs = hs.load_diabetes().train["inputs"][:8]
    return hs.init_train_state(pair.init, task.optimizer, jax.random.key(0), inputs, True)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    train("regression", "jit", 1, 1, 8, 0, checkpoint_dir=tmp_path)
    with pytest.raises(CheckpointMismatchError, match=r"linear_regression"):
        train("classifier", "jit", 1, 1, 8, 0, checkpoint_dir=tmp_path)


def test_the_seed_repeats_a_run_and_another_seed_does_not():
    first, again, other = (
        numbers(train("regression", "jit", 1, epochs=1, batch_size=64, seed=seed))
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other, rtol=1e-4)


@pytest.mark.parametrize(
    ("model", "last"), [("classifier", "test accuracy 0.8750"), ("regression", "test r2 0.875")]
)
def test_the_table_has_every_epoch_and_ends_with_the_score(model, last, capsys):
    print_table(ROWS, model)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == last
    score = last.split()[-1]
    assert any(all(word in line for word in ("2", "1.25", "1.125", score)) for line in lines[:-1])


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_plot_is_one_whole_file(tmp_path, suffix):
    path = tmp_path / f"curves{suffix}"
    save_plot(ROWS, "classifier", path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    content = path.read_bytes()
    if suffix == ".png":
        assert imread(io.BytesIO(content)).shape == (480, 1200, 4)
    else:
        assert content.startswith({".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])


def test_a_plot_that_fails_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "curves.png"
    path.write_text("old")

    def fail(figure, file, **options):
        file.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        save_plot(ROWS, "classifier", path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]
