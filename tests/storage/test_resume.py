"""Training that is killed resumes as if nothing had happened; two processes act as one."""

import json
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from support import resume_worker
from support.user import free_port

EVERY, KEEP, ENDLESS = 4, 3, 10**6
KILLS, KILLS_WHILE_SAVING = 20, 5
UNFINISHED = ".orbax-checkpoint-tmp"
LONGEST_WAIT = 120  # seconds, for one process on a machine that does much else


@pytest.fixture(scope="module")
def processes():
    """Start processes in about a second each: a server has imported the libraries for them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(resume_worker.PRELOAD)
    started = []

    def start(function, *args):
        process = context.Process(target=function, args=args)
        started.append(process)
        process.start()
        return process

    yield start
    for process in started:
        process.kill()
        process.join(LONGEST_WAIT)


def wait_until(true, process, report):
    """Look every half millisecond; a process that ended with an error fails the test."""
    deadline = time.monotonic() + LONGEST_WAIT
    while not (result := true()):
        assert process.exitcode in (None, 0), said(report)
        assert time.monotonic() < deadline, f"nothing happened: {said(report)}"
        time.sleep(0.0005)
    return result


def said(report):
    files = [Path(f"{report}{suffix}") for suffix in (".error", ".stderr")]
    return "\n".join(path.read_text(encoding="utf-8") for path in files if path.exists())


def finish(process, report):
    process.join(LONGEST_WAIT)
    assert process.exitcode == 0, said(report)


def listed(directory):
    return sorted(os.listdir(directory)) if directory.exists() else []


def complete(directory):
    return sorted(int(name) for name in listed(directory) if name.isdecimal())


def unfinished(directory):
    """The folders of saves under way, not those on their way out, with the time of their change."""
    found = set()
    for name in listed(directory):
        try:
            if UNFINISHED in name and not name.endswith("-deleted"):
                found.add((name, (directory / name).stat().st_mtime_ns))
        except FileNotFoundError:
            continue  # complete in the meantime
    return found


def test_restore_checkpoint__training_that_is_killed_is_bitwise_the_unbroken_one(
    tmp_path, processes
):
    cache, directory, report = (
        str(tmp_path / "cache"),
        tmp_path / "checkpoints",
        tmp_path / "broken",
    )
    starts = Path(f"{report}.starts")
    starts.touch()
    warm = tmp_path / "warm"
    finish(processes(resume_worker.train, None, str(warm), EVERY, EVERY, cache), warm)

    def start(steps):
        return processes(resume_worker.train, str(directory), str(report), steps, EVERY, cache)

    def started():
        return [json.loads(line) for line in starts.read_text(encoding="utf-8").splitlines()]

    rng = random.Random(0)
    newest, while_saving = 0, 0
    for kill in range(KILLS):
        left, earlier = unfinished(directory), len(started())
        process = start(ENDLESS)
        if kill % 5 < 3:  # while a save is going on, one of the first three
            for _ in range(rng.randrange(3)):
                before = complete(directory)
                wait_until(lambda before=before: complete(directory) != before, process, report)
            wait_until(lambda left=left: unfinished(directory) - left, process, report)
        elif kill % 5 == 3:  # at any moment of the training
            wait_until(lambda earlier=earlier: len(started()) > earlier, process, report)
            time.sleep(rng.uniform(0, 0.8))
        else:  # at any moment from the very start on
            time.sleep(rng.uniform(0, 0.9))
        os.kill(process.pid, signal.SIGKILL)
        process.join(LONGEST_WAIT)
        assert process.exitcode == -signal.SIGKILL, said(report)
        # if it came so far, it went on from the newest checkpoint, and found none broken
        assert started()[earlier:] in ([], [[newest, 0]])
        while_saving += bool(unfinished(directory) - left)
        assert max(complete(directory), default=0) >= newest
        newest = max(complete(directory), default=0)
    assert while_saving >= KILLS_WHILE_SAVING
    assert newest >= KILLS  # there was something to lose

    steps = newest + 2 * KEEP * EVERY
    finish(start(steps), report)
    assert started()[-1] == [newest, 0]
    last = range(steps - (KEEP - 1) * EVERY, steps + 1, EVERY)
    assert listed(directory) == sorted(map(str, last))

    unbroken = tmp_path / "unbroken"
    finish(processes(resume_worker.train, None, str(unbroken), steps, EVERY, None), unbroken)
    with np.load(f"{unbroken}.npz") as one, np.load(f"{report}.npz") as other:
        assert one.files == other.files
        assert len(set(one["losses"].tolist())) == len(one["losses"]) == steps  # it did train
        for name in one.files:
            assert (one[name].dtype, one[name].shape) == (other[name].dtype, other[name].shape)
            assert one[name].tobytes() == other[name].tobytes(), name


@pytest.fixture(scope="module")
def both(tmp_path_factory, processes):
    """What each call gave in the first process, and in the second."""
    folder = tmp_path_factory.mktemp("processes")
    port = free_port()
    reports = [folder / f"report{i}" for i in range(2)]
    started = [
        processes(resume_worker.distribute, i, port, str(folder / "run"), str(report))
        for i, report in enumerate(reports)
    ]
    for process, report in zip(started, reports, strict=True):
        finish(process, report)
    return [
        json.loads(Path(f"{report}.json").read_text(encoding="utf-8").replace(str(folder), ""))
        for report in reports
    ]


def test_restore_checkpoint__arrays_across_processes_come_back_in_both(both):
    for results in both:
        leaves, same_sharding, position, skipped, warned = results["restored"]
        assert leaves == results["expected"]
        assert all(same_sharding)
        assert repr(position) == "{'losses': [0.1, nan]}"
        assert (skipped, warned) == ([], [])
    first, second = (dict(results["expected"][0][1]) for results in both)
    assert not set(first) & set(second)  # each process holds rows that the other has not


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nothing there", None),
        ("saved", "3"),
        ("saved again", "4"),
    ],
)
def test_save_checkpoint__both_processes_get_the_same_result(both, name, expected):
    assert [results[name] for results in both] == [expected, expected]


@pytest.mark.parametrize(
    ("name", "error", "what"),
    [
        (
            "a tuple as position",
            "ArgumentError",
            "position is (1, 2), but it must be a JSON value that comes back unchanged.",
        ),
        (
            "keep in one process",
            "ArgumentError",
            "keep is 0, but it must be an integer of at least 1.",
        ),
        (
            "a full disk in one process",
            "CheckpointDirectoryError",
            "the checkpoints in DIR cannot be used: OSError: [Errno 28] No space left on device.",
        ),
        (
            "unreadable in one process",
            "CheckpointDirectoryError",
            "the checkpoints in DIR cannot be used: OSError: [Errno 28] No space left on device.",
        ),
        (
            "another train state",
            "CheckpointDirectoryError",
            "the checkpoints in DIR cannot be used: the folder holds a checkpoint of step 3 from a "
            "different train state.",
        ),
        (
            "other shape",
            "SavedMismatchError",
            "    train_state.many: float32[8,3] -> float32[4,3]",
        ),
        (
            "other shape in one process",
            "SavedMismatchError",
            "    train_state.many: float32[8,3] -> float32[4,3]",
        ),
        ("none whole", "DamagedFileError", "DIR is damaged, or was written by something else:"),
    ],
)
def test_save_checkpoint__an_error_is_raised_in_both_processes(both, name, error, what):
    for kind, text in (results[name] for results in both):
        assert kind == error
        assert what in text.splitlines()


def test_restore_checkpoint__both_processes_hear_what_was_skipped(both):
    for results in both:
        leaves, _, _, skipped, warned = results["skipped"]
        assert leaves == results["expected"]
        assert [step for step, _ in skipped] == [4]
        assert warned == ["SkippedCheckpointWarning"]


def test_save_checkpoint__each_process_writes_its_own_shards(both):
    for results in both:
        assert (results["not written"], results["written"]) == ([], ["3", "4"])
        assert results["wrote arrays"] == ["ocdbt.process_0", "ocdbt.process_1"]
