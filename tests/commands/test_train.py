"""The command ``train``, called as a function: its numbers, checkpoints, table and plot."""

import functools
import io
import warnings

import jax
import numpy as np
import pytest
from matplotlib.image import imread
from support.tolerances import CANCELLED

import haiku_state as hs
from haiku_state.commands.main import main
from haiku_state.commands.train import TASKS, UPDATES, train
from haiku_state.commands.train.loop import ONE_DEVICE
from haiku_state.commands.train.report import Epoch, print_row, save_plot
from haiku_state.errors import SavedMismatchError, SkippedCheckpointWarning

pytestmark = pytest.mark.usefixtures("standard_promotion")

ROWS = [Epoch(1, 2.5, 2.25, 0.5, 1.0), Epoch(2, 1.25, 1.125, 0.875, 0.5)]


def test_train__each_epoch_gives_one_row():
    rows = train("regression", "jit", 1, epochs=3, batch_size=32, seed=0)
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert rows[0].train_loss > rows[1].train_loss > rows[2].train_loss
    assert rows[0].test_score < rows[1].test_score < rows[2].test_score
    assert all(row.seconds > 0 for row in rows)


def numbers(rows):
    return np.array([row[1:4] for row in rows]).reshape(-1, 3)


@functools.cache
def on_one_device(model):
    return train(model, "jit", 1, epochs=2, batch_size=64, seed=0)


@pytest.mark.parametrize("update", [update for update in UPDATES if update != "jit"])
@pytest.mark.parametrize("model", TASKS)
def test_train__each_way_learns_what_one_device_learns(model, update):
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


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("stop", [2, 9])
def test_train__a_run_that_was_broken_off_goes_on_with_the_same_numbers(update, stop, tmp_path):
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


@pytest.mark.parametrize("last", [3, 5, 8])  # inside an epoch of 6 updates, and at its end
def test_train__a_run_that_is_asked_to_stop_saves_and_goes_on_with_the_same_numbers(last, tmp_path):
    whole = train("regression", "jit", 1, 3, 64, 0)
    calls = []

    def stops(update):
        calls.append(update)
        return update == last

    rows = train("regression", "jit", 1, 3, 64, 0, checkpoint_dir=tmp_path, stops=stops)
    assert calls == list(range(last + 1))
    assert (tmp_path / str(last + 1)).is_dir()
    np.testing.assert_array_equal(numbers(rows), numbers(whole[: (last + 1) // 6]))
    rows = train("regression", "jit", 1, 3, 64, 0, checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(numbers(rows), numbers(whole))


def test_train__a_run_goes_on_for_more_epochs_and_in_another_way(tmp_path):
    first = train("regression", "jit", 1, 1, 8, 0, checkpoint_dir=tmp_path)
    rows = train("regression", "shard", 4, 2, 8, 0, checkpoint_dir=tmp_path)
    assert rows[0] == first[0]
    expected = train("regression", "jit", 1, 2, 8, 0)
    np.testing.assert_allclose(numbers(rows), numbers(expected), rtol=CANCELLED)


@pytest.mark.parametrize("change", [{"seed": 1}, {"batch_size": 16}])
def test_train__a_checkpoint_of_another_run_is_refused(change, tmp_path):
    settings = {"epochs": 1, "batch_size": 8, "seed": 0, "checkpoint_dir": tmp_path / "run"}
    train("regression", "jit", 1, **settings)
    before = sorted(tmp_path.rglob("*"))
    [(name, value)] = change.items()
    with pytest.raises(SavedMismatchError) as caught:
        train("regression", "jit", 1, **{**settings, **change})
    assert caught.value.what == (
        f"{tmp_path}/run does not fit --model --batch-size --seed (- missing, + unknown):\n"
        f"    {name}: {settings[name]} -> {value}"
    )
    assert sorted(tmp_path.rglob("*")) == before


def start_regression():
    task = TASKS["regression"]
    pair = task.model()
    inputs = hs.load_diabetes().train["inputs"][:8]
    return hs.init_train_state(pair.init, task.optimizer, jax.random.key(0), inputs, True)


def test_train__a_checkpoint_of_another_model_is_refused(tmp_path):
    train("regression", "jit", 1, 1, 8, 0, checkpoint_dir=tmp_path)
    with pytest.raises(SavedMismatchError) as caught:
        train("classifier", "jit", 1, 1, 8, 0, checkpoint_dir=tmp_path)
    assert caught.value.what.endswith("model: 'regression' -> 'classifier'")


@pytest.mark.parametrize("position", [3, [1, 2], "abc", {"settings": [1]}, None])
def test_train__a_checkpoint_that_the_command_has_not_written_is_refused(position, tmp_path):
    hs.storage.save_checkpoint(tmp_path, start_regression(), position)
    with pytest.raises(SavedMismatchError, match="model: None -> 'regression'") as caught:
        train("regression", "jit", 1, 1, 8, 0, checkpoint_dir=tmp_path)
    assert "seed: None -> 0" in caught.value.what


def test_train__a_warning_is_one_line(user):
    words = ("train", "--model", "regression", "--epochs", "2", "--checkpoint-dir", "run")
    user.haiku_state(*words)
    newest = max((user.folder / "run").iterdir(), key=lambda folder: int(folder.name))
    (newest / "manifest/metadata").write_text("")
    [line, *more] = user.haiku_state(*words).stderr.splitlines()
    assert line.startswith("haiku_state: the checkpoint of step")
    assert all(each.startswith("    step ") for each in more)


def test_train__a_damaged_checkpoint_is_told_of_once(tmp_path):
    train("regression", "jit", 1, 2, 64, 0, checkpoint_dir=tmp_path)
    newest = max(tmp_path.iterdir(), key=lambda folder: int(folder.name))
    (newest / "manifest/metadata").write_text("")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", SkippedCheckpointWarning)
        train("regression", "jit", 1, 2, 64, 0, checkpoint_dir=tmp_path)
    assert [each.category for each in warned] == [SkippedCheckpointWarning]


def test_train__a_run_that_is_longer_than_asked_for_is_named(tmp_path, capsys):
    words = ["train", "--model", "regression", "--checkpoint-dir", str(tmp_path), "--epochs"]
    for epochs in ("2", "1"):
        assert main([*words, epochs]) == 0
    [told] = [line for line in capsys.readouterr().out.splitlines() if "more than" in line]
    assert told == f"the run in {tmp_path} already has 2 epochs, more than --epochs 1"


def test_train__the_seed_repeats_a_run_and_another_seed_does_not():
    first, again, other = (
        numbers(train("regression", "jit", 1, epochs=1, batch_size=64, seed=seed))
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other, rtol=CANCELLED)


def test_train__the_seed_draws_the_params(monkeypatch):
    drawn, init = [], hs.init_train_state

    def init_train_state(init_fn, optimizer, rng, *inputs):
        drawn.append(jax.random.key_data(rng).tolist())
        return init(init_fn, optimizer, rng, *inputs)

    monkeypatch.setattr(hs, "init_train_state", init_train_state)
    for seed in (0, 7):
        train("regression", "jit", 1, epochs=1, batch_size=64, seed=seed)
    assert drawn == [jax.random.key_data(jax.random.key(seed)).tolist() for seed in (0, 7)]


@pytest.mark.parametrize(
    ("model", "score"), [("classifier", "test accuracy"), ("regression", "test r2")]
)
def test_train__the_table_has_every_epoch_below_one_head(model, score, capsys):
    for row in ROWS:
        print_row(model, row)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["epoch", "train", "loss", "test", "loss", *score.split(), "seconds"]
    assert [row.split() for row in rows] == [
        ["1", "2.5", "2.25", "0.5000", "1.00"],
        ["2", "1.25", "1.125", "0.8750", "0.50"],
    ]
    assert {len(line) for line in (head, *rows)} == {len(head)}


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_train__the_plot_is_one_whole_file(tmp_path, suffix):
    path = tmp_path / f"curves{suffix}"
    save_plot(ROWS, "classifier", path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    content = path.read_bytes()
    if suffix == ".png":
        assert imread(io.BytesIO(content)).shape == (480, 1200, 4)
    else:
        assert content.startswith({".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])


def test_train__a_plot_that_fails_leaves_no_file_and_keeps_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "curves.png"
    path.write_text("old")

    def half(self, file, **options):
        file.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", half)
    with pytest.raises(OSError, match="No space"):
        save_plot(ROWS, "classifier", path)
    assert [file.name for file in tmp_path.iterdir()] == ["curves.png"]
    assert path.read_text() == "old"


def test_train__a_plot_on_a_full_disk_is_named(tmp_path, monkeypatch):
    def fail(*arguments, **settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(OSError, match=r"No space left on device: '.*curves\.png'"):
        save_plot(train("regression", "jit", 1, 1, 64, 0), "regression", tmp_path / "curves.png")
