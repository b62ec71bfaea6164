import os
import re
import socket
import subprocess
import sys

import numpy as np
import oracles
import pytest
from matplotlib.image import imread
from sklearn.linear_model import LinearRegression

import haiku_state as hs
from haiku_state.__main__ import main

LAST_LINE = {"classifier": r"test accuracy 0\.\d{4}", "regression": r"test r2 0\.\d{3}"}


def run(*arguments):
    """The command line in a fresh process, which no XLA flag has prepared."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    del environment["XLA_FLAGS"]
    return subprocess.run(
        [sys.executable, "-m", "haiku_state", *arguments],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def score(output):
    return float(output.splitlines()[-1].split()[-1])


BAD = {
    "no command": ("", r"COMMAND"),
    "unknown command": ("learn", r"invalid choice: 'learn'"),
    "unknown option": ("train --speed 3", r"unrecognized arguments: --speed 3"),
    "unknown model": ("train --model transformer", r"--model: invalid choice: 'transformer'"),
    "unknown update": ("train --update fast", r"--update: invalid choice: 'fast'"),
    "no epochs": ("train --epochs 0", r"--epochs: 0 is not between 1 and 2147483647"),
    "negative devices": ("train --devices -1", r"--devices: -1 is not between 1"),
    "huge seed": ("train --seed 2147483648", r"--seed: 2147483648 is not between 0"),
    "not a number": ("train --epochs ten", r"--epochs: 'ten' is not a whole number"),
    "not whole": ("train --batch-size 1.5", r"--batch-size: '1.5' is not a whole number"),
    "undivided": (
        "train --update pmap --devices 4 --batch-size 30",
        r"--batch-size 30 does not divide among 4 devices",
    ),
    "jit on four": (
        "train --update jit --devices 4",
        r"--update jit runs on one device, not on 4; use shard",
    ),
    "scan on four": ("train --update scan --devices 4", r"--update scan runs on one device"),
    "processes without a place to meet": (
        "train --num-processes 2 --process-id 0",
        r"--num-processes and --process-id need --coordinator HOST:PORT",
    ),
    "processes with jit": (
        "train --coordinator localhost:1234 --num-processes 2 --process-id 0",
        r"--update jit runs in one process; with many, use shard or shard_map",
    ),
    "undivided among processes": (
        "train --update shard --devices 4 --batch-size 36"
        " --coordinator localhost:1234 --num-processes 2 --process-id 0",
        r"--batch-size 36 does not divide among 8 devices",
    ),
    "a process beyond the last": (
        "train --update shard --coordinator localhost:1234 --num-processes 2 --process-id 2",
        r"process_id is 2, and it must be ",
    ),
    "a place without a port": (
        "train --update shard --coordinator localhost --num-processes 2 --process-id 0",
        r"coordinator is 'localhost', and it must be HOST:PORT",
    ),
    "no scheduler": (
        "train --update shard --coordinator auto",
        r"start_processes\(\) was given nothing, and the environment has no",
    ),
    "checkpoints nowhere": (
        "train --checkpoint-every 5",
        r"--checkpoint-every needs --checkpoint-dir DIR",
    ),
    "batch above the data": (
        "train --model regression --batch-size 354",
        r"a batch of 354 rows cannot be cut from 353 rows",
    ),
    "too many devices": (
        "train --update pmap --devices 16",
        r"16 devices were asked for, and JAX has started with 8",
    ),
}


def assert_one_line(output, errors, message):
    assert output == ""
    [line] = errors.splitlines()
    assert re.match(rf"haiku_state( train)?: error: .*{message}", line)


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_argument_gives_one_line_and_code_2(arguments, message, capsys, tmp_path):
    plot = tmp_path / "curves.png"
    words = arguments.split()
    if words[:1] == ["train"]:
        words += ["--plot", str(plot)]
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert_one_line(*capsys.readouterr(), message)
    assert list(tmp_path.iterdir()) == []


BAD_PLOTS = {
    "missing folder": ("missing/curves.png", "cannot be written"),
    "a folder": ("folder.png", "cannot be written"),
    "below a file": ("file.png/curves.png", "cannot be written"),
    "suffix": ("curves.txt", r"does not end in \.png, \.svg, \.pdf"),
    "no suffix": ("curves", r"does not end in \.png, \.svg, \.pdf"),
}


@pytest.mark.parametrize(("plot", "message"), BAD_PLOTS.values(), ids=BAD_PLOTS.keys())
def test_a_plot_file_that_cannot_be_is_refused_before_training(plot, message, capsys, tmp_path):
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file.png").touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as left:
        main(["train", "--plot", str(tmp_path / plot)])
    assert left.value.code == 2
    assert_one_line(*capsys.readouterr(), message)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_bad_argument_in_a_fresh_process():
    ran = run("train", "--update", "pmap", "--devices", "4", "--batch-size", "30")
    assert ran.returncode == 2
    assert_one_line(ran.stdout, ran.stderr, "--batch-size 30 does not divide among 4 devices")


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


# python -m haiku_state, with a stdout that gloo's threads, which write lines of their own to the
# descriptor 1 when they connect, cannot tear
UNTORN = """\
import os, runpy, sys
sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
runpy.run_module("haiku_state", run_name="__main__", alter_sys=True)
"""


def start_two(port, *arguments, processes=(0, 1), timeout=300):
    """The command in two processes, each without any XLA flag."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    del environment["XLA_FLAGS"]
    meeting = ["--coordinator", f"localhost:{port}", "--num-processes", "2"]
    return [
        subprocess.Popen(
            [
                sys.executable, "-c", UNTORN, "train", "--update", "shard", *meeting,
                "--process-id", str(process), "--timeout", str(timeout), *arguments,
            ],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )
        for process in processes
    ]  # fmt: skip


def outputs(processes):
    """What each process printed."""
    printed = []
    for process in processes:
        output, errors = process.communicate(timeout=400)
        assert process.returncode == 0, errors
        printed.append(output.splitlines())
    return printed


def test_two_processes_train_together_and_write_once(tmp_path):
    short = ["--model", "regression", "--epochs", "2", "--batch-size", "16"]
    folder, plot = tmp_path / "run", tmp_path / "curves.png"
    files = ["--checkpoint-dir", str(folder), "--plot", str(plot)]
    table, nothing = outputs(start_two(free_port(), *short, *files))
    assert nothing == []
    alone = run("train", *short)
    assert score("\n".join(table[:-1])) == pytest.approx(score(alone.stdout), abs=1e-3)
    assert imread(plot).ndim == 3
    assert len([path for path in folder.iterdir() if path.name.isdigit()]) == 2
    assert outputs(start_two(free_port(), *short, *files)) == [table, []]


def test_a_process_that_does_not_come_ends_the_other_with_one_line():
    [first] = start_two(free_port(), processes=[0], timeout=3)
    output, errors = first.communicate(timeout=60)
    assert first.returncode == 2
    assert_one_line(output, errors.splitlines()[0], "2 processes were to meet at localhost:")


@pytest.mark.parametrize("name", ["sklearn", "rich", "matplotlib"])
def test_without_the_extra_one_line_says_what_to_install(name, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit) as left:
        main(["train"])
    assert left.value.code == 1
    assert capsys.readouterr().err == (
        f'haiku_state train: error: {name} not installed; pip install "haiku-state[data]"\n'
    )


def test_without_orbax_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "orbax", None)
    with pytest.raises(SystemExit) as left:
        main(["train", "--checkpoint-dir", "run"])
    assert left.value.code == 1
    assert capsys.readouterr().err == (
        'haiku_state train: error: orbax not installed; pip install "haiku-state[checkpoint]"\n'
    )


def test_help_lists_the_options(capsys):
    with pytest.raises(SystemExit) as left:
        main(["train", "--help"])
    assert left.value.code == 0
    output = capsys.readouterr().out
    options = "model update devices epochs batch-size seed plot checkpoint-dir checkpoint-every"
    processes = "coordinator num-processes process-id timeout"
    for option in f"{options} {processes}".split():
        assert f"--{option}" in output


def test_a_fresh_process_forces_the_devices_it_needs(tmp_path):
    plot = tmp_path / "curves.png"
    devices = ["--update", "pmap", "--devices", "4"]
    ran = run("train", "--model", "regression", *devices, "--epochs", "3", "--plot", str(plot))
    assert (ran.returncode, ran.stderr) == (0, "")
    *table, last, written = ran.stdout.splitlines()
    assert re.fullmatch(LAST_LINE["regression"], last)
    assert written == f"plot {plot}"
    assert "test r2" in table[1]
    assert len([line for line in table if re.match(r"│ +\d+ │", line)]) == 3
    assert imread(plot).ndim == 3


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("update", ["jit", "scan", "pmap --devices 4", "shard_map --devices 4"])
def test_a_training_reads_97_of_100_digits(update, capsys):
    epochs = 30 if update == "jit" else 12  # README.md shows 30 with pmap, and is tested as well
    assert main(f"train --epochs {epochs} --update {update}".split()) == 0
    output = capsys.readouterr().out
    assert re.fullmatch(LAST_LINE["classifier"], output.splitlines()[-1])
    assert score(output) >= 0.97


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("update", ["jit", "pmap --devices 4"])
def test_the_regression_comes_close_to_least_squares(update, capsys):
    assert main(f"train --model regression --update {update}".split()) == 0
    train, test = hs.load_diabetes(seed=0)
    best = LinearRegression().fit(np.float64(train["inputs"]), np.float64(train["targets"]))
    expected = oracles.r2(best.predict(np.float64(test["inputs"])), test["targets"])
    assert abs(score(capsys.readouterr().out) - expected) < 0.02
