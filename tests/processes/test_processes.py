"""Processes that train as one: how they start, what they tell each other, and how they end."""

import contextlib
import json
import os
import random
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from support import ROOT, digits
from support.processes_worker import leaves
from support.tolerances import CANCELLED, MANY_ROUNDINGS
from support.user import User, free_port

import haiku_state as hs
from haiku_state.compat import connectable_cpu_devices
from haiku_state.errors import ArgumentError, BatchDivisionError, arguments
from haiku_state.errors.processes import LateStartError, LostProcessError, ProcessStartError
from haiku_state.exchange import in_all
from haiku_state.processes import (
    global_batch,
    start,
    start_processes,
    watch,
    watch_processes,
    watch_sigterm,
)

WORKER = ROOT / "tests/support/processes_worker.py"
EACH = connectable_cpu_devices() or 2  # devices of each process
LIMIT = 400  # seconds that a process may take before it is killed, and the test fails

LOST = """\
haiku_state.errors.processes.LostProcessError: process %d of 2 is waiting for another process, \
which has died or has been stuck for %d s.
  why:   each update needs all processes: if one process is lost, all of them stop, so start all \
of them again from the last checkpoint
  more:  python -m haiku_state read api/processes
"""
JOINING = """\
haiku_state: process %d of 2 joins the others at %s and waits for them for at most %d s. If JAX \
aborts this process with a stack dump, now or later, then a process is missing or lost, or two \
processes have the same process_id: look at what the other processes printed.
"""


class Workers:
    """Processes that run processes_worker.py."""

    def __init__(self, folder):
        self._server = User(folder).start(
            *(sys.executable, "-W", "ignore", WORKER),  # other tests look at the warnings
            env={"XLA_FLAGS": f"--xla_force_host_platform_device_count={EACH}"},
            stdin=-1,
            stderr=None,
        )
        self._folder = folder
        self._running = set()

    def start(self, mode, coordinator, count, index, timeout=300, environment=(), **options):
        output = self._folder / f"{mode}-{time.monotonic_ns()}"
        order = {
            "environment": dict(environment),
            "output": str(output),
            "mode": mode,
            "coordinator": coordinator,
            "count": count,
            "index": index,
            "timeout": timeout,
            **options,
        }
        process = self._ask(order)
        self._running.add(process)
        return Worker(self, process, output, coordinator)

    def wait(self, process):
        with self.killed_after(LIMIT):
            code = self._ask(process)
        self._running.discard(process)
        return code

    @contextlib.contextmanager
    def killed_after(self, seconds):
        timer = threading.Timer(seconds, self.kill)
        timer.start()
        yield
        timer.cancel()

    def kill(self):
        for process in self._running:
            os.kill(process, signal.SIGKILL)

    def close(self):
        self.kill()
        self._server.communicate(timeout=LIMIT)

    def _ask(self, order):
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


class Worker:
    """One of them."""

    def __init__(self, workers, process, output, address):
        self._workers, self.process, self._output = workers, process, output
        self.address = address

    def text(self, descriptor):
        path = Path(f"{self._output}.{descriptor}")
        return path.read_text(errors="replace") if path.exists() else ""

    def printed(self):
        """What it printed."""
        return self.text("printed").splitlines()

    def wait_for(self, line):
        end = time.monotonic() + LIMIT
        while line not in self.printed():
            assert time.monotonic() < end, self.text(2)
            time.sleep(0.05)

    def signal(self, number):
        os.kill(self.process, number)

    def end(self):
        """Its exit code, and what it wrote on stderr."""
        return self._workers.wait(self.process), self.text(2)


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    workers = Workers(tmp_path_factory.mktemp("workers"))
    yield workers
    workers.close()


def pair(workers, mode, *each, **options):
    """Start two processes, with options of both, and of each."""
    where = f"localhost:{free_port()}"
    told = [{"count": 2, **options, **own} for own in each or ({}, {})]
    return [workers.start(mode, where, index=index, **told[index]) for index in range(2)]


def slurm(index):
    """What srun tells two processes on this machine; JAX makes the port out of the job's number."""
    return {
        "SLURM_JOB_ID": str(JOB),
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_NTASKS": "2",
        "SLURM_STEP_NUM_NODES": "1",
        "SLURM_PROCID": str(index),
        "SLURM_LOCALID": str(index),
    }


JOB = random.randrange(10**6)


def slurm_port():
    return JOB % 2**12 + 2**16 - 2**12


def test_start_processes__two_of_slurm_train_as_one(workers, tmp_path, standard_promotion):
    initial = digits.start(digits.ADAM)
    given = leaves(initial.params, initial.state)
    for step, batch in enumerate(digits.batches()):
        given |= {f"{name}/{step}": rows for name, rows in batch.items()}
    np.savez(tmp_path / "given.npz", **given)
    both = [
        workers.start(
            *("train", None, None, None),
            environment=slurm(index),
            given=str(tmp_path / "given.npz"),
            path=str(tmp_path / f"{index}.npz"),
        )
        for index in range(2)
    ]
    train_state, losses = digits.on_one_device(digits.ADAM)
    for index, worker in enumerate(both):
        assert worker.end() == (0, JOINING % (index, f"localhost:{slurm_port()}", 300))
        assert worker.printed() == [f"trained {index}"]  # the GPU of its local id

    first, second = (np.load(tmp_path / f"{index}.npz") for index in range(2))
    assert (first["part"].tolist(), second["part"].tolist()) == ([0, 2], [1, 2])
    for name in set(first) - {"part"}:
        np.testing.assert_array_equal(first[name], second[name])
    for way in ("shard", "shard_map"):
        assert first[f"{way}/traces"] == 1
        np.testing.assert_allclose(first[f"{way}/losses"], losses, rtol=0, atol=MANY_ROUNDINGS)
        for name, leaf in leaves(train_state.params, train_state.state).items():
            tolerance = MANY_ROUNDINGS if name.startswith("params") else CANCELLED
            np.testing.assert_allclose(first[f"{way}/{name}"], leaf, rtol=0, atol=tolerance)


def test_start_processes__joins_and_ends_normally(workers):
    for index, worker in enumerate(pair(workers, "start")):
        assert worker.end() == (0, JOINING % (index, worker.address, 300))
        assert worker.printed() == [f"started {index} 2 {index == 0} {2 * EACH} all"]


@pytest.mark.parametrize(
    ("count", "found"),
    [
        (2, ""),
        (3, "num_processes=2 (process_id=0), num_processes=3 (process_id=1); "),
    ],
)
def test_start_processes__processes_that_disagree_say_so(workers, count, found):
    found += (
        "seed=0 (process_id=0), seed=1 (process_id=1); "
        "epochs=2 (process_id=0), epochs=None (process_id=1)"
    )
    each = {"settings": {"seed": 0, "epochs": 2}}, {"settings": {"seed": 1}, "count": count}
    for worker in pair(workers, "agree", *each):
        code, text = worker.end()
        assert (code, DISAGREE % found in text) == (1, True), text


DISAGREE = """\
haiku_state.errors.processes.ProcessStartError: the processes have different settings: %s.
  why:   all processes run the same program on the same train state: start each process with the \
same settings
  more:  python -m haiku_state read api/processes
"""


def test_start_processes__a_setting_that_process_0_lacks_is_named_and_nan_is_nan():
    settings = [{"lr": float("nan")}, {"lr": float("nan"), "seed": 1}]
    found = arguments.settings_differ(settings).what
    assert found == (
        "the processes have different settings: seed=None (process_id=0), seed=1 (process_id=1)."
    )
    assert arguments.settings_differ(settings[:1] * 2) is None


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_runner__train_states_that_differ_between_processes_are_named(workers, bias):
    each = {"bias": 0.0, "delay": 0.0}, {"bias": bias, "delay": 1.0}
    for worker in pair(workers, "place", *each):
        code, text = worker.end()
        assert (code, DIFFER in text) == ((1, True) if bias else (0, False)), text
        assert worker.printed() == ([] if bias else ["placed"])


SIZES = [8, 8, 12, 8, 12]


@pytest.mark.parametrize(
    ("others", "found"),
    [
        (SIZES, ""),
        ([12, 8, 12, 8, 12], "batch['x']: float32[8] (process 0), float32[12] (process 1)"),
    ],
)
def test_runner__batches_that_differ_between_processes_are_named(workers, others, found):
    for worker in pair(workers, "feed", {"sizes": SIZES}, {"sizes": others}):
        code, text = worker.end()
        assert code == (1 if found else 0), text
        assert found in text
        assert worker.printed() == ([] if found else ["fed 96.0 4"])


@pytest.mark.parametrize("others", [[8, 8, 12, 12, 8], [8, 12, 12, 8, 12]])
def test_runner__shapes_that_change_at_other_places_end_both_processes(workers, others):
    """A JAX that waits for each update waits for the other process, until it is lost."""
    said = []
    for worker in pair(workers, "feed", {"sizes": SIZES}, {"sizes": others}):
        code, text = worker.end()
        assert code != 0, text
        assert worker.printed() == []
        said.append(text)
    assert re.search("batch number: [34]|is waiting for another process", "".join(said))


DIFFER = """\
haiku_state.errors.updates.ReplicaMismatchError: the replicas differ:
    train_state['b']
  why:   each process creates its own copy of the train state, so all processes must start from \
the same seed or the same file
  more:  python -m haiku_state read update/meshes
"""


@pytest.mark.parametrize("what", ["directory", "step"])
def test_save_checkpoint__processes_that_save_different_checkpoints_say_so(workers, tmp_path, what):
    each = [{"path": str(tmp_path), "step": 1}, {"path": str(tmp_path), "step": 1}]
    each[1] |= {"path": str(tmp_path / "other")} if what == "directory" else {"step": 2}
    for worker in pair(workers, "save_once", *each):
        code, text = worker.end()
        assert code == 1, text
        assert f"the processes have different settings: {what}=" in text
    assert [*tmp_path.iterdir()] == []


def test_restore_checkpoint__what_two_processes_have_saved_one_restores(workers, tmp_path):
    for worker in pair(workers, "save_once", path=str(tmp_path), step=1):
        assert worker.end()[0] == 0
    manifest = json.loads((tmp_path / "1/manifest/metadata").read_text())
    path = "train_state.params['m']['w']"
    (rows,) = map(int, re.findall(r"\[(\d+)\]", manifest["leaves"]["kind"][path]))
    one = int(np.float32(1).view(np.uint32))
    total = sum((2 * i + 1) * one for i in range(rows)) % 2**32
    assert manifest["leaves"]["checksum"][path] == total
    params = {"m": {"w": np.zeros(rows, np.float32)}}
    like = hs.TrainState(params, {}, (), jax.random.key(7), np.int32(0))
    restored = hs.storage.restore_checkpoint(tmp_path, like)
    assert restored.skipped == ()
    assert np.array_equal(restored.train_state.params["m"]["w"], np.ones(rows))


def test_save_checkpoint__copies_that_differ_between_processes_are_not_saved(workers, tmp_path):
    for worker in pair(workers, "save_once", {"seed": 0}, {"seed": 1}, path=str(tmp_path), step=1):
        code, text = worker.end()
        assert (code, "the replicas differ:\n    train_state.rng\n" in text) == (1, True), text
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_watch_processes__one_that_is_killed_in_a_save_ends_the_other(workers, tmp_path):
    both = pair(workers, "save", path=str(tmp_path))
    both[0].wait_for("3")
    both[1].signal(signal.SIGKILL)
    code, text = both[0].end()
    assert (code, LOST % (0, 5) in text) == (watch.LOST, True), text
    assert not any(name in text for name in ("Gloo", "Traceback"))
    assert both[1].end()[0] == -signal.SIGKILL


def test_watch_sigterm__lets_one_process_save():
    before = signal.getsignal(signal.SIGTERM)
    with watch_sigterm() as stops:
        assert not stops(0)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stops(1)
    assert signal.getsignal(signal.SIGTERM) is before


def test_watch_processes__devices_can_be_chosen_after_the_watching_has_begun(user):
    program = """
import haiku_state as hs
with hs.processes.watch_processes(60), hs.processes.watch_sigterm():
    print(len(hs.use_devices(4)))
"""
    ran = user.python("-c", program)
    assert (ran.stdout, ran.stderr) == ("4\n", "")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--seed 0", "one process: SIGTERM, with", "both the same, with"], id="three"),
        pytest.param([], id="all", marks=pytest.mark.slow),
    ],
)
def test_train__the_scenarios(words, user):
    script = Path(__file__).with_name("scenarios.py")
    table = user.python("-W", "ignore", script, *words, timeout=LIMIT if words else 10 * LIMIT)
    assert table.returncode == 0, table.stdout + table.stderr
    assert len(table.stdout.splitlines()) >= 4 + (len(words) or 20)


def test_start_processes__the_one_task_of_a_node_sees_all_its_gpus(workers):
    alone = slurm(0) | {"SLURM_NTASKS": "1"}
    worker = workers.start("start", None, None, None, environment=alone)
    assert worker.end() == (0, "")
    assert worker.printed() == [f"started 0 1 True {EACH} all"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"SLURM_NTASKS": "2", "SLURM_STEP_NUM_NODES": "2"}, []),
        ({"SLURM_NTASKS": "8", "SLURM_STEP_NUM_NODES": "2"}, None),
        ({"SLURM_NTASKS": "2"}, None),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "1"}, []),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "1", "JAX_LOCAL_DEVICE_IDS": "0,2"}, None),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, None),
        (
            # mpirun under Slurm: Slurm has started one daemon on each node
            {
                "SLURM_NTASKS": "2",
                "SLURM_STEP_NUM_NODES": "2",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
            },
            None,
        ),
    ],
)
def test_start_processes__tells_jax_the_devices(monkeypatch, variables, expected):
    without_scheduler(monkeypatch)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told = {}
    monkeypatch.setattr(start, "has_started", lambda: False)
    monkeypatch.setattr(start, "choose_collectives", lambda: None)  # it lasts
    monkeypatch.setattr(
        jax.distributed, "initialize", lambda *arguments, **options: told.update(options)
    )
    start_processes(f"localhost:{free_port()}", 1, 0, timeout=7)
    assert told["local_device_ids"] == expected
    # JAX aborts the process, so the message must come before
    assert all(value > 7 for name, value in told.items() if name != "local_device_ids")


@pytest.mark.parametrize(("count", "most"), [(1, 7), (2, 7), (2, 8), (2, None)])
def test_start_processes__counts_its_devices_and_waits_at_the_end(monkeypatch, count, most):
    registered = []
    monkeypatch.setattr(start, "has_started", lambda: False)
    monkeypatch.setattr(start, "choose_collectives", lambda: None)  # it lasts
    monkeypatch.setattr(start, "connectable_cpu_devices", lambda: most)  # as an old JAX
    monkeypatch.setattr(start.atexit, "register", lambda *given: registered.append(given))
    monkeypatch.setattr(jax.distributed, "initialize", lambda *arguments, **options: None)
    is_refused = count > 1 and most == jax.local_device_count() - 1
    with pytest.raises(ProcessStartError) if is_refused else contextlib.nullcontext():
        start_processes(f"localhost:{free_port()}", count, 0, timeout=9)
    # as the docstring of watch_processes says: 40 seconds longer than the timeout
    assert registered == [(watch.end_at_exit, 0, count, 49)] * (count > 1)


def test_start_processes__names_why_jax_cannot_connect(monkeypatch):
    def initialize(*_arguments, **_options):
        raise RuntimeError("DEADLINE_EXCEEDED")

    monkeypatch.setattr(start, "has_started", lambda: False)
    monkeypatch.setattr(start, "choose_collectives", lambda: None)  # it lasts
    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    with pytest.raises(ProcessStartError, match="process 0 of 1 could not join") as error:
        start_processes(f"localhost:{free_port()}", 1, 0)
    assert str(error.value.__cause__) == "DEADLINE_EXCEEDED"


UNJOINED = """\
haiku_state.errors.processes.ProcessStartError: process {index} of 2 could not join the others at \
{address}: one of them is missing or has a different num_processes, or two of them have \
the same process_id, such as {index}.
  why:   start each process once, on a machine that can reach this address, and give all \
processes the same num_processes but different values of process_id
  more:  python -m haiku_state read api/processes
"""


@pytest.mark.parametrize("present", [0, 1])
def test_start_processes__a_process_that_never_comes_ends_the_other(workers, present):
    address = f"localhost:{free_port()}"
    worker = workers.start("start", address, 2, present, timeout=2)
    code, text = worker.end()
    assert code == watch.LOST
    assert text.startswith(JOINING % (present, address, 2))
    assert UNJOINED.format(address=address, index=present) in text


@pytest.mark.slow
def test_start_processes__names_a_process_id_that_is_taken(workers):
    both = pair(workers, "loop", watch=60)
    for worker in both:
        worker.wait_for("looping")
    address, port = both[0].address, int(both[0].address.partition(":")[2])
    code, text = workers.start("start", address, 2, 0).end()
    assert (code, TAKEN.format(port=port) in text) == (1, True), text
    code, text = workers.start("start", address, 2, 1, timeout=4).end()
    assert code == watch.LOST
    assert UNJOINED.format(address=address, index=1) in text
    for worker in both:  # old versions of JAX let them train on, new ones abort them, some with 1
        with contextlib.suppress(ProcessLookupError):
            worker.signal(signal.SIGKILL)
        code, text = worker.end()
        by_jax = code == 1 and "Terminating process because the JAX distributed service" in text
        assert by_jax or code in (-signal.SIGKILL, -signal.SIGABRT, watch.LOST)


@pytest.mark.parametrize(
    ("victim", "number"),
    [
        pytest.param(1, signal.SIGKILL, id="killed", marks=pytest.mark.slow),
        pytest.param(0, signal.SIGKILL, id="main_killed"),
        pytest.param(1, signal.SIGSTOP, id="stopped", marks=pytest.mark.slow),
        pytest.param(0, signal.SIGSTOP, id="main_stopped"),
    ],
)
def test_watch_processes__a_process_that_is_lost_ends_the_other(workers, victim, number):
    both = pair(workers, "loop", watch=5)
    for worker in both:
        worker.wait_for("looping")
    both[victim].signal(number)
    if number == signal.SIGSTOP:
        code, text = both[1 - victim].end()
        assert (code, LOST % (1 - victim, 5) in text) == (watch.LOST, True), text
        both[victim].signal(signal.SIGKILL)
    else:
        assert_lost(both[1 - victim], 1 - victim)
    assert both[victim].end()[0] == -signal.SIGKILL


@pytest.mark.parametrize("early", [0, 1])
def test_start_processes__one_that_ends_early_is_told_of_it_and_not_aborted(workers, early):
    each = [{"updates": 3 if index == early else 8} for index in (0, 1)]
    both = pair(workers, "finish", *each, watch=8)
    code, text = both[early].end()
    assert (code, both[early].printed()) == (watch.LOST, [f"finished {2.0 * EACH * 3}"]), text
    assert text.endswith(UNFINISHED % early)
    code, text = both[1 - early].end()
    assert LOST % (1 - early, 8) in text
    # the connection of an old JAX ends the process that waits in an update
    assert code == watch.LOST or (code == -signal.SIGABRT and EACH == 1), text


UNFINISHED = """\
haiku_state: process %d of 2 has finished, but another process has failed or has not finished, \
and it may be waiting for this process
"""


def test_watch_processes__an_error_in_one_process_ends_the_other(workers):
    first, second = pair(workers, "fail", watch=5)
    code, text = second.end()
    assert (code, text.splitlines()[-1]) == (1, "ValueError: planted")
    assert_lost(first, 0)


def assert_lost(worker, index):
    """JAX may end a process before Python can: by an abort, or as 0.7 and 0.8 do."""
    code, text = worker.end()
    assert text.startswith(JOINING % (index, worker.address, 300))
    assert code in (watch.LOST, -signal.SIGABRT, 1), text
    if code == watch.LOST:
        assert LOST % (index, 5) in text


@pytest.mark.parametrize("count", [1, 2])
def test_watch_processes__an_error_that_is_caught_changes_nothing(workers, count):
    address = f"localhost:{free_port()}"
    for worker in [workers.start("catch", address, count, index) for index in range(count)]:
        code, text = worker.end()
        assert (code, "Traceback" in text) == (0, False), text
        assert worker.printed() == ["goes on", "after", "before"]


def text_of(error):
    return f"{error.type.__name__}: {error.value}\n"


def test_start_processes__names_several_cpu_devices_of_an_old_jax(workers):
    ended = [worker.end() for worker in pair(workers, "old")]
    assert any(OLD in text for _code, text in ended) == (EACH > 1)
    for code, text in ended:
        assert code in ({1, -signal.SIGABRT} if EACH > 1 else {0})
        # the first one to end may take the other with it, by an abort
        assert code == -signal.SIGABRT or (OLD in text) == (EACH > 1)


OLD = """\
ProcessStartError: each process has 2 CPU devices, but this version of JAX can connect only one of \
them.
  why:   before JAX 0.4.33, the devices of a process connect one after the other, although each of \
them waits for all the others, so the first update would never end: use one device in each \
process, or install a newer JAX
  more:  python -m haiku_state read api/processes
"""


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("localhost", 2, 0), "coordinator is 'localhost', but it must be HOST:PORT"),
        ((":1234", 2, 0), "coordinator is ':1234', but it must be HOST:PORT"),
        (("::1:1234", 2, 0), "coordinator is '::1:1234', but it must be HOST:PORT"),
        (("a:70000", 2, 0), "coordinator is 'a:70000', but it must be HOST:PORT"),
        ((None, 2, 0), "coordinator is None, but it must be HOST:PORT"),
        (("a:1", None, 0), "num_processes is None, but it must be 1, 2, …"),
        (("a:1", 0, 0), "num_processes is 0, but it must be 1, 2, …"),
        (("a:1", 3, None), "process_id is None, but it must be 0, …, num_processes - 1"),
        (("a:1", 3, 3), "process_id is 3, but it must be 0, …, num_processes - 1"),
        (("[::1]:1234", 3, "0"), "process_id is '0', but it must be 0, …, num_processes - 1"),
    ],
)
def test_start_processes__bad_arguments_are_named(arguments, what):
    with pytest.raises(ArgumentError) as error:
        start_processes(*arguments)
    assert error.value.what == f"{what}."


@pytest.mark.parametrize("timeout", [0, -1, "60", None, float("nan"), float("inf")])
def test_start_processes__a_bad_timeout_is_named(timeout):
    with pytest.raises(ArgumentError, match="but it must be a positive number of seconds"):
        start_processes("localhost:1234", 2, 0, timeout=timeout)
    with pytest.raises(ArgumentError) as error, watch_processes(timeout):
        raise AssertionError
    assert text_of(error) == TIMEOUT.format(timeout)


TIMEOUT = """\
ArgumentError: timeout is {0!r}, but it must be a positive number of seconds.
  why:   if a process makes no progress for this long, it ends with a message
  more:  python -m haiku_state read api/processes
"""


SCHEDULERS = ("SLURM_", "OMPI_", "JAX_COORD", "JAX_LOCAL")


def without_scheduler(monkeypatch):
    for name in [name for name in os.environ if name.startswith(SCHEDULERS)]:
        monkeypatch.delenv(name)


SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_NODELIST": "a",
    "SLURM_NTASKS": "2",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURM_STEP_NUM_NODES": "1",
}
UNKNOWN = "JAX does not recognize a scheduler here"


@pytest.mark.parametrize(
    ("variables", "reasons"),
    [
        ({}, {UNKNOWN}),
        # JAX 0.6 and older take the number of the job alone for a scheduler
        ({"SLURM_JOB_ID": "7"}, {UNKNOWN, "SLURM_STEP_NODELIST is not set"}),
        *[
            ({key: SLURM[key] for key in SLURM if key != name}, {UNKNOWN, f"{name} is not set"})
            for name in ("SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_LOCALID")
        ],
        (
            {**SLURM, "SLURM_JOB_ID": "abc"},
            {"SLURM_JOB_ID: ValueError: invalid literal for int() with base 10: 'abc'"},
        ),
        (
            {**SLURM, "SLURM_NTASKS": "2(x2)"},
            {"SLURM_NTASKS: ValueError: invalid literal for int() with base 10: '2(x2)'"},
        ),
    ],
)
def test_start_processes__says_what_is_missing_without_a_scheduler(monkeypatch, variables, reasons):
    without_scheduler(monkeypatch)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ProcessStartError) as error:
        start_processes()
    assert text_of(error) in {ENVIRONMENT.format(reason=reason) for reason in reasons}


@pytest.mark.parametrize("found", [(None, 2, 0), ("a:1", None, 0), ("a:1", 2, None)])
def test_start_processes__needs_all_that_a_scheduler_can_tell(monkeypatch, found):
    monkeypatch.setattr(start, "scheduler_processes", lambda timeout: found)
    with pytest.raises(ProcessStartError) as error:
        start_processes()
    assert text_of(error) == ENVIRONMENT.format(reason=UNKNOWN)


ENVIRONMENT = """\
ProcessStartError: no address was given, and JAX could not get information about the \
processes from a scheduler: {reason}.
  why:   without an address, JAX reads the environment variables of the scheduler that started the \
process (Slurm, Open MPI, Kubernetes, a TPU pod); if there is no scheduler, pass the address, the \
number of processes and the id of this process
  more:  python -m haiku_state read api/processes
"""


def test_start_processes__names_open_mpi_5_without_mpi4py(monkeypatch):
    """Which JAX 0.9 asks for, and raises; the versions before do not recognize it."""
    without_scheduler(monkeypatch)
    for name in ("SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.setenv(f"OMPI_COMM_WORLD_{name}", "1")
    with pytest.raises(
        ProcessStartError, match="could not get information about the processes"
    ) as error:
        start_processes()
    assert UNKNOWN in str(error.value) or "mpi4py" in str(error.value)


@pytest.mark.parametrize("count", [0, 1025])
def test_start_processes__devices_out_of_range_are_named_and_change_nothing(count, monkeypatch):
    monkeypatch.setattr("haiku_state.processes.start.has_started", lambda: False)
    before = dict(os.environ)
    with pytest.raises(ArgumentError) as caught:
        start_processes(f"localhost:{free_port()}", 1, 0, devices=count)
    assert caught.value.what == f"devices is {count}, but it must be 1–1024."
    assert dict(os.environ) == before


def test_start_processes__is_refused_when_jax_has_already_started():
    assert jax.devices()
    with pytest.raises(LateStartError) as error:
        start_processes("localhost:1234", 2, 0)
    assert text_of(error) == LATE


LATE = """\
LateStartError: JAX has already started in this process.
  why:   JAX looks for the devices of all processes only once, when it starts: call \
start_processes once, before you create the first array
  more:  python -m haiku_state read api/processes
"""


def test_start_processes__names_a_port_that_is_taken(workers):
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        code, text = workers.start("start", f"localhost:{port}", 2, 0).end()
    assert code == 1
    assert TAKEN.format(port=port) in text


TAKEN = """\
ProcessStartError: process 0 cannot listen at localhost:{port}: Address already in use.
  why:   the port must be free on the machine of process 0, and only one process may have \
process_id=0; choose a different port in all processes
  more:  python -m haiku_state read api/processes
"""


@pytest.fixture
def second_of_two(monkeypatch):
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr(watch, "has_joined", lambda: True)
    monkeypatch.setattr(watch, "_lost", threading.Event())


@pytest.mark.parametrize(
    "broken",
    [
        ValueError("UNKNOWN: Gloo all-reduce failed: [pair.cc:547] Connection closed by peer"),
        RuntimeError("Read error [127.0.0.1]:5600: Connection reset by peer"),
        RuntimeError("INTERNAL: NCCL operation ncclAllReduce() failed: remote process exited"),
        RuntimeError("UNAVAILABLE: Failed to send RPC to coordination service"),
        RuntimeError("UNAVAILABLE: Task 1 heartbeat timeout"),
    ],
)
def test_watch_processes__a_broken_connection_is_named(second_of_two, broken):
    with pytest.raises(LostProcessError) as error, watch_processes(60):
        raise broken
    assert error.value.__cause__ is broken
    assert f"haiku_state.errors.processes.{text_of(error)}" == LOST % (1, 60)
    assert watch._lost.is_set()


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("RESOURCE_EXHAUSTED"),
        ConnectionResetError("Connection reset by peer"),
        KeyboardInterrupt(),
        SystemExit(7),
    ],
    ids=repr,
)
def test_watch_processes__any_other_error_passes(second_of_two, error):
    with pytest.raises(type(error)) as raised, watch_processes(60) as watched:
        raise error
    assert raised.value is error
    assert not watch._lost.is_set()
    assert watched._done.is_set()  # what the program does now may take its time


@pytest.mark.parametrize(
    ("is_lost", "error", "end"),
    [
        pytest.param(False, None, "well", id="no error"),
        pytest.param(True, None, 3, id="a loss that is caught"),
        pytest.param(False, LostProcessError(present=1, expected=2, timeout=3), 3, id="a loss"),
        pytest.param(False, ValueError(), 1, id="an error"),
        pytest.param(False, in_all(ValueError()), "well", id="an error of all"),
    ],
)
def test_watch_processes__the_end_of_a_process_is_told(
    second_of_two, monkeypatch, is_lost, error, end
):
    told = []

    def end_in_failure(code):
        told.append(code)
        raise SystemExit

    monkeypatch.setattr(watch, "end_in_failure", end_in_failure)
    monkeypatch.setattr(watch, "all_end_well", lambda *_given: told.append("well") or True)
    monkeypatch.setattr(sys, "last_value", error, raising=False)
    if is_lost:
        watch._lost.set()
    with contextlib.suppress(SystemExit):
        watch.end_at_exit(1, 2, 60)
    assert told == [end]


@pytest.mark.parametrize(
    ("silence", "told_before"),
    [
        pytest.param(LostProcessError(present=0, expected=2, timeout=3), [(False, 1)], id="lost"),
        pytest.param(arguments.unjoined("a:1", 2, 0), [], id="not joined"),
    ],
)
def test_watch_processes__a_silence_is_told_to_those_that_have_joined(
    monkeypatch, capsys, silence, told_before
):
    told = []

    def all_end_well(*given):
        time.sleep(0.2)
        told.append(given)

    def ends(code):
        told.append(code)
        raise SystemExit

    monkeypatch.setattr(watch, "all_end_well", all_end_well)
    monkeypatch.setattr(watch, "_end_last", ends)
    monkeypatch.setattr(watch, "end_processes", ends)
    with pytest.raises(SystemExit):
        watch.ProcessWatch(0.01)._wait(silence)
    assert told == [*told_before, 3]
    assert str(silence) in capsys.readouterr().err


@pytest.mark.parametrize("index", [0, 1])
def test_watch_processes__a_failure_is_told_before_the_process_ends(monkeypatch, index):
    told = []
    monkeypatch.setattr(watch, "all_end_well", lambda *given: told.append(given))
    monkeypatch.setattr(watch, "key_value_store", lambda: (None, index))
    monkeypatch.setattr(watch.time, "sleep", told.append)
    monkeypatch.setattr(watch, "end_processes", told.append)
    watch.end_in_failure(1)
    # process 0 has the store: it gives the others a second to hear of it
    assert told == [(False, 1), *([1] * (index == 0)), 1]


def test_watch_processes__one_process_alone_loses_nobody():
    with watch_processes(0.01) as one:
        one.progress(jax.numpy.ones(3))
        time.sleep(0.1)
    error = RuntimeError("NCCL operation failed")
    with pytest.raises(RuntimeError) as raised, watch_processes():
        raise error
    assert raised.value is error


def test_watch_processes__progress_keeps_a_process_alive(workers):
    worker = workers.start("still", None, None, None)
    assert worker.end() == (watch.LOST, LOST % (0, 2))
    assert worker.printed() == ["still here"]


def test_global_batch__of_one_process_is_its_rows():
    mesh = hs.data_mesh(jax.devices()[:4])
    rows = {"x": np.arange(24.0, dtype=np.float32).reshape(8, 3), "y": np.arange(8)}
    batch = global_batch(rows, mesh)
    for name, leaf in batch.items():
        np.testing.assert_array_equal(leaf, rows[name])
        assert [shard.data.shape[0] for shard in leaf.addressable_shards] == [2] * 4
        assert leaf.sharding.mesh == mesh


def test_global_batch__names_rows_that_do_not_divide():
    with pytest.raises(BatchDivisionError) as error:
        global_batch({"x": np.ones((6, 3), np.float32)}, hs.data_mesh(jax.devices()[:4]))
    assert error.value.what == ("a batch of 6 rows cannot be divided equally among 4 devices.")
