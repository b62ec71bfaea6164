"""The command ``train`` as a user runs it: its options in pairs."""

import functools
import itertools
import re
import sys

import pytest
from support.user import free_port

from haiku_state.commands.train import TASKS, UPDATES, train
from haiku_state.commands.train.loop import ON_MESH, ONE_DEVICE
from haiku_state.compat import connectable_cpu_devices

OPTIONS = {
    "update": list(UPDATES),
    "devices": [1, 4],
    "model": list(TASKS),
    "processes": [1, 2],
    "checkpoints": ["none", "each epoch", "every 3 updates"],
    "plot": [False, True],
}
SHORT = ["--epochs", "1", "--batch-size", "64"]


# python -m haiku_state, with a stdout that gloo's threads, which write lines of their own to the
# descriptor 1 when they connect, cannot tear
UNTORN = """\
import os, runpy, sys
sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
runpy.run_module("haiku_state", run_name="__main__", alter_sys=True)
"""


def fits(run):
    """Whether the options go together; ``tests/tools/bad_lines.py`` has those that do not."""
    one_device = run["devices"] == 1 or run["update"] not in ONE_DEVICE
    return one_device and (run["processes"] == 1 or run["update"] in ON_MESH)


def pairs(run):
    return {frozenset(pair) for pair in itertools.combinations(run.items(), 2)}


def pairwise(runs):
    """Choose runs so that each pair of two options' values is in one of them."""
    wanted = set().union(*map(pairs, runs))
    while wanted:
        yield (best := max(runs, key=lambda run: len(pairs(run) & wanted)))
        wanted -= pairs(best)


RUNS = [dict(zip(OPTIONS, values, strict=True)) for values in itertools.product(*OPTIONS.values())]
CHOSEN = list(pairwise([run for run in RUNS if fits(run)]))


def arguments(run, folder):
    """The words of a run's options."""
    words = [*SHORT, "--update", run["update"], "--model", run["model"]]
    words += ["--devices", str(run["devices"])]
    words += ["--plot", "curves.png"] * run["plot"]
    words += ["--checkpoint-dir", folder] * (run["checkpoints"] != "none")
    return words + ["--checkpoint-every", "3"] * (run["checkpoints"] == "every 3 updates")


def outputs(user, run):
    """What each process of a run has printed, and what is wrong about it."""
    words, port = arguments(run, "saved"), free_port()
    program = ["-m", "haiku_state"] if run["processes"] == 1 else ["-c", UNTORN]
    started = [
        user.start(sys.executable, *program, "train", *words, *meeting(run, port, index))
        for index in range(run["processes"])
    ]
    ended = [process.communicate(timeout=300) for process in started]
    return [(process.returncode, *said) for process, said in zip(started, ended, strict=True)]


def meeting(run, port, index):
    if run["processes"] == 1:
        return []
    return ["--coordinator", f"localhost:{port}", "--num-processes", "2", "--process-id", index]


@functools.cache
def expected(model):
    """The score that one device reaches."""
    return train(model, "jit", 1, epochs=1, batch_size=64, seed=0)[-1].test_score


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("run", CHOSEN, ids=lambda run: " ".join(map(str, run.values())))
def test_train__the_options_go_together(run, user):
    if run["processes"] == 2 and (most := connectable_cpu_devices()):
        run = {**run, "devices": min(run["devices"], most)}
    [(code, output, errors), *others] = outputs(user, run)
    assert code == 0, errors
    assert all((code, output) == (0, "") for code, output, _errors in others)
    if not others:
        assert errors == ""
    [score] = re.findall(r"^test \w+ (.*)$", output, re.MULTILINE)
    # Adam divides by the size of a gradient: the last digits of a small one weigh as much
    assert float(score) == pytest.approx(expected(run["model"]), rel=2e-2)
    assert (user.folder / "curves.png").exists() == run["plot"]
    assert any(user.folder.glob("saved/[1-9]*")) == (run["checkpoints"] != "none")
    if run["checkpoints"] != "none":  # the same command finds that all is done
        again = outputs(user, run)
        assert [said[:2] for said in again] == [(0, output), *([(0, "")] * len(others))], again


@pytest.mark.slow
def test_train__each_pair_of_options_that_go_together_is_run():
    covered = set().union(*map(pairs, CHOSEN))
    assert all(pairs(run) <= covered for run in RUNS if fits(run))
    assert len(CHOSEN) < 25
