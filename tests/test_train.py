import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from haiku_state.train import TASKS, Epoch, print_table, save_plot, train

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


@pytest.mark.parametrize("model", TASKS)
def test_four_devices_learn_what_one_learns(model):
    one = train(model, "jit", 1, epochs=2, batch_size=64, seed=0)
    four = train(model, "pmap", 4, epochs=2, batch_size=64, seed=0)
    # adam divides by the size of a gradient: the last digits of a small one weigh as much
    np.testing.assert_allclose(numbers(four), numbers(one), rtol=2e-2)


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
