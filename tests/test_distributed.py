import atexit
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import digits
import jax
import numpy as np
import pytest
from distributed_worker import leaves

import haiku_state as hs
from haiku_state import rendezvous, watch
from haiku_state.compat import connectable_cpu_devices
from haiku_state.distributed import (
    end_processes,
    global_batch,
    is_main_process,
    process_part,
    start_processes,
    watch_processes,
)
from haiku_state.errors import BatchDivisionError
from haiku_state.errors.processes import (
    CoordinatorAddressError,
    LateStartError,
    LostProcessError,
    MissingProcessError,
    ProcessArgumentError,
    ProcessEnvironmentError,
)

WORKER = Path(__file__).with_name("distributed_worker.py")
EACH = connectable_cpu_devices() or 2  # devices of each process
LIMIT = 400  # seconds that a process may take before it is killed, and the test fails

ADVICE = """\
  wrong: for batch in data: train_state, metrics = update(train_state, batch)
  right: train_state = restore_checkpoint(directory, train_state)
  why:   each update needs all processes: what one loses all lose; start them again, from the \
last checkpoint
  more:  docs/api/distributed.rst
"""
LOST = f"""\
haiku_state.errors.processes.LostProcessError: process %d of 2 waits for another one that died, \
or has stood still for %d s.
{ADVICE}"""
ENDED = f"""\
haiku_state.errors.processes.EndedProcessError: process %d of 2 was ended by a signal, or by JAX \
because another one died.
{ADVICE}"""


class Workers:
    """Processes that run distributed_worker.py."""

    def __init__(self, folder):
        environment = {
            **os.environ,
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={EACH}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._server = subprocess.Popen(
            [sys.executable, "-W", "ignore", WORKER],  # other tests look at the warnings
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
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
        return Worker(self, process, output)

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

    def __init__(self, workers, process, output):
        self._workers, self.process, self._output = workers, process, output

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

    def wait_for_error(self, text):
        """Wait for what its guard writes after its end."""
        end = time.monotonic() + LIMIT
        while not self.text(2).endswith(text):
            assert time.monotonic() < end, self.text(2)
            time.sleep(0.05)


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    workers = Workers(tmp_path_factory.mktemp("workers"))
    yield workers
    workers.close()


def free_port():
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


def pair(workers, mode, **options):
    where = f"localhost:{free_port()}"
    return [workers.start(mode, where, 2, index, **options) for index in range(2)]


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


def test_two_processes_that_slurm_started_train_as_one(workers, tmp_path, standard_promotion):
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
        assert worker.end() == (0, "")
        assert worker.printed() == [f"trained {index == 0}"]

    first, second = (np.load(tmp_path / f"{index}.npz") for index in range(2))
    assert (first["part"].tolist(), second["part"].tolist()) == ([0, 2], [1, 2])
    for name in set(first) - {"part"}:
        np.testing.assert_array_equal(first[name], second[name])
    for way in ("shard", "shard_map"):
        assert first[f"{way}/traces"] == 1
        np.testing.assert_allclose(first[f"{way}/losses"], losses, rtol=0, atol=1e-5)
        for name, leaf in leaves(train_state.params, train_state.state).items():
            tolerance = 1e-5 if name.startswith("params") else 1e-4
            np.testing.assert_allclose(first[f"{way}/{name}"], leaf, rtol=0, atol=tolerance)


def test_start_and_a_normal_end(workers):
    for index, worker in enumerate(pair(workers, "start")):
        assert worker.end() == (0, "")
        assert worker.printed() == [f"started {index} 2 {index == 0} {2 * EACH}"]


MISSING = """\
haiku_state.errors.processes.MissingProcessError: 2 processes were to meet at {address}; after \
2 s these had not come:
    process_id={absent}{why}
  wrong: start_processes("{address}", 2, {present})
  right: start_processes("{address}", 2, {absent})
  why:   all processes run one program together, and none can begin without the others: start \
each of them, so that it can reach that address
  more:  docs/api/distributed.rst
"""


@pytest.mark.parametrize(("present", "why"), [(0, ""), (1, " (Connection refused)")])
def test_a_process_that_never_comes_is_named(workers, present, why):
    address = f"localhost:{free_port()}"
    worker = workers.start("start", address, 2, present, timeout=2)
    code, text = worker.end()
    wanted = MISSING.format(address=address, present=present, absent=1 - present, why=why)
    assert (code, text[text.index("haiku_state.errors") :]) == (1, wanted)


@pytest.mark.parametrize(
    ("victim", "number"),
    [(1, signal.SIGKILL), (0, signal.SIGKILL), (1, signal.SIGSTOP)],
    ids=["killed", "main_killed", "stopped"],
)
def test_a_process_that_is_lost_ends_the_other(workers, victim, number):
    both = pair(workers, "loop", watch=5)
    for worker in both:
        worker.wait_for("looping")
    both[victim].signal(number)
    if number == signal.SIGSTOP:
        assert both[0].end() == (watch.LOST, LOST % (0, 5))
        both[1].signal(signal.SIGKILL)
    else:
        assert_lost(both[1 - victim], 1 - victim)
    assert both[victim].end()[0] == -signal.SIGKILL
    both[victim].wait_for_error(ENDED % victim)


def test_an_error_in_one_process_ends_the_other(workers):
    first, second = pair(workers, "fail", watch=5)
    code, text = second.end()
    assert (code, text.splitlines()[-1]) == (1, "ValueError: planted")
    assert_lost(first, 0)


def assert_lost(worker, index):
    """Where JAX ends the process itself, by an abort or as 0.7 and 0.8 do, the text comes after."""
    code, _ = worker.end()
    if code in (-signal.SIGABRT, 1):
        worker.wait_for_error(ENDED % index)
    else:
        text = worker.text(2)
        assert (code, LOST % (index, 5) in text) == (watch.LOST, True), text


def text_of(error):
    return f"{error.type.__name__}: {error.value}\n"


def test_several_cpu_devices_and_an_old_jax(workers):
    both = pair(workers, "old")
    for worker in both:
        code, text = worker.end()
        assert (code, OLD in text) == (EACH > 1, EACH > 1)


OLD = """\
ProcessDevicesError: each process has 2 CPU devices, and this JAX can connect one of them.
  wrong: XLA_FLAGS="--xla_force_host_platform_device_count=2"
  right: XLA_FLAGS="--xla_force_host_platform_device_count=1"
  why:   before JAX 0.4.33 the devices of a process connect one after the other, while each waits \
for all of them: the first update would never end
  more:  docs/api/distributed.rst
"""


@pytest.mark.parametrize(
    ("arguments", "what", "right"),
    [
        (("localhost", 2, 0), "coordinator is 'localhost', and it must be HOST:PORT", 0),
        ((":1234", 2, 0), "coordinator is ':1234', and it must be HOST:PORT", 0),
        (("::1:1234", 2, 0), "coordinator is '::1:1234', and it must be HOST:PORT", 0),
        (("a:70000", 2, 0), "coordinator is 'a:70000', and it must be HOST:PORT", 0),
        (("a:0", 2, 0), "coordinator is 'a:0', and it must be HOST:PORT", 0),
        ((1234, 2, 0), "coordinator is 1234, and it must be HOST:PORT", 0),
        ((None, 2, 0), "coordinator is None, and it must be HOST:PORT", 0),
        (("a:1", None, 0), "num_processes is None, and it must be 1, 2, …", 1),
        (("a:1", 0, 0), "num_processes is 0, and it must be 1, 2, …", 1),
        (("a:1", "2", 0), "num_processes is '2', and it must be 1, 2, …", 1),
        (("a:1", 3, None), "process_id is None, and it must be 0, …, 2", 2),
        (("a:1", 3, -1), "process_id is -1, and it must be 0, …, 2", 2),
        (("a:1", 3, 3), "process_id is 3, and it must be 0, …, 2", 2),
        (("[::1]:1234", 3, True), "process_id is True, and it must be 0, …, 2", 2),
    ],
)
def test_bad_arguments_are_named(arguments, what, right):
    fitting = list(arguments)
    fitting[right] = ("localhost:1234", 2, 2)[right]
    with pytest.raises(ProcessArgumentError) as error:
        start_processes(*arguments)
    assert text_of(error) == ARGUMENT.format(
        what=what, wrong=", ".join(map(repr, arguments)), right=", ".join(map(repr, fitting))
    )


ARGUMENT = """\
ProcessArgumentError: {what}.
  wrong: start_processes({wrong})
  right: start_processes({right})
  why:   all processes give the address at which process 0 listens and their number, and each an \
id of its own, counted from 0; where a scheduler starts them, give nothing
  more:  docs/api/distributed.rst
"""


@pytest.mark.parametrize("job", [None, "7"])
def test_no_arguments_and_no_scheduler(monkeypatch, job):
    for name in [name for name in os.environ if name.startswith(("SLURM_", "OMPI_", "JAX_COORD"))]:
        monkeypatch.delenv(name)
    if job:
        monkeypatch.setenv("SLURM_JOB_ID", job)
    with pytest.raises(ProcessEnvironmentError) as error:
        start_processes()
    # JAX 0.6 and older take the number of the job alone for a scheduler, and look for the rest
    missing = {"SLURM_PROCID, OMPI_COMM_WORLD_RANK, …"} | (
        {"SLURM_STEP_NODELIST"} if job else set()
    )
    assert text_of(error) in {ENVIRONMENT.format(missing=name) for name in missing}


ENVIRONMENT = """\
ProcessEnvironmentError: start_processes() was given nothing, and the environment has no {missing}.
  wrong: start_processes()
  right: start_processes("localhost:1234", 2, 0)
  why:   without arguments, JAX asks the scheduler that started the process (Slurm, Open MPI, \
Kubernetes, a TPU pod); without a scheduler, say it
  more:  docs/api/distributed.rst
"""


def test_jax_has_already_started():
    assert jax.devices()
    with pytest.raises(LateStartError) as error:
        start_processes("localhost:1234", 2, 0)
    assert text_of(error) == LATE


LATE = """\
LateStartError: JAX has already started in this process.
  wrong: jax.devices(); start_processes()
  right: start_processes(); jax.devices()
  why:   JAX looks for the devices of all processes once, when it starts: call start_processes \
once, before the first array
  more:  docs/api/distributed.rst
"""


def test_a_port_that_is_taken():
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(CoordinatorAddressError) as error:
            rendezvous.meet(f"localhost:{port}", 2, 0, 5)
    assert text_of(error) == TAKEN.format(port=port, other=port + 1)


TAKEN = """\
CoordinatorAddressError: process 0 cannot listen at localhost:{port}: Address already in use.
  wrong: start_processes("localhost:{port}", 2, 0)
  right: start_processes("localhost:{other}", 2, 0)
  why:   the port must be free on the machine of process 0; choose another in all
  more:  docs/api/distributed.rst
"""


def met(*processes):
    """What each process gets out of the meeting: None, or an error. The first one is process 0."""
    results, port = [None] * len(processes), free_port()

    def meet(place, count, index, timeout):
        try:
            rendezvous.meet(f"localhost:{port}", count, index, timeout)
        except Exception as error:
            results[place] = error

    with contextlib.ExitStack() as strangers:
        threads = []
        for place, process in enumerate(processes):
            threads.append(threading.Thread(target=meet, args=(place, *process)))
            threads[-1].start()
            if place == 0:
                for words in STRANGE:
                    strangers.enter_context(connected(port)).sendall(words)
        for thread in threads:
            thread.join(LIMIT)
    return results


STRANGE = [b"", b"GET / HTTP/1.1\r\n\r\n", b"[3]\n", b"3\n", b"[3, 7, 1]\n", b"[3, 1, null]\n"]


def connected(port):
    end = time.monotonic() + LIMIT
    while True:
        try:
            return socket.create_connection(("localhost", port))
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_all_come():
    assert met((3, 0, 60), (3, 2, 60), (3, 1, 60)) == [None] * 3


def test_all_hear_who_is_missing_when_the_first_gives_up():
    start = time.monotonic()
    first, second = met((4, 0, 60), (4, 2, 2))
    assert time.monotonic() - start < 60
    for error, present in ((first, 0), (second, 2)):
        assert isinstance(error, MissingProcessError)
        assert error.values["missing"] == "\n    process_id=1\n    process_id=3"
        assert (error.values["present"], error.values["absent"]) == (present, 1)


def test_processes_that_count_differently():
    first, second = met((3, 0, 2), (2, 1, 60))
    assert first.values["missing"] == "\n    process_id=1\n    process_id=2"
    assert isinstance(second, ProcessArgumentError)
    assert second.what == "num_processes is 2, and it must be 3."


class Ends:
    """What the watch would do at the end of this process."""

    def __init__(self, monkeypatch):
        self.codes = []
        monkeypatch.setattr(atexit, "register", self.register)

    def register(self, function, code):
        assert function is end_processes
        self.codes.append(code)


@pytest.fixture
def ends(monkeypatch):
    yield Ends(monkeypatch)
    for guard in tuple(watch._guards):
        watch._dismiss(guard)


@pytest.mark.parametrize(
    "text",
    [
        "UNKNOWN: Gloo all-reduce failed: [pair.cc:547] Connection closed by peer [127.0.0.1]:91",
        "Read error [127.0.0.1]:5600: Connection reset by peer",
        "INTERNAL: NCCL operation ncclAllReduce() failed: remote process exited",
        "UNAVAILABLE: Failed to send RPC to coordination service",
        "UNAVAILABLE: Task 1 heartbeat timeout",
    ],
)
def test_a_broken_connection_is_named(ends, text):
    broken = jax.errors.JaxRuntimeError(text) if EACH > 1 else RuntimeError(text)
    with pytest.raises(LostProcessError) as error, watch.watching(60, 1, 2):
        raise broken
    assert error.value.__cause__ is broken
    assert f"haiku_state.errors.processes.{text_of(error)}" == LOST % (1, 60)
    assert ends.codes == [watch.LOST]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("RESOURCE_EXHAUSTED"), 1),
        (ValueError("connection reset by peer"), 1),
        (KeyboardInterrupt(), 1),
        (SystemExit(7), 7),
        (SystemExit("bye"), 1),
    ],
    ids=repr,
)
def test_any_other_error_passes_and_lets_the_others_know(ends, error, code):
    with pytest.raises(type(error)) as raised, watch.watching(60, 0, 2) as watched:
        raise error
    assert raised.value is error
    assert ends.codes == [code]
    assert watched._ended.is_set()  # what the program does now may take its time


@pytest.mark.parametrize("code", [0, None])
def test_a_good_end_inside_the_watch_is_left_to_jax(ends, code):
    with pytest.raises(SystemExit), watch.watching(60, 0, 2):
        raise SystemExit(code)
    assert (ends.codes, watch._guards) == ([], set())


def test_one_process_alone_loses_nobody(ends):
    with watch_processes(0.01) as one:
        one.progress(jax.numpy.ones(3))
        time.sleep(0.1)
        assert watch._guards == set()
    error = RuntimeError("NCCL operation failed")
    with pytest.raises(RuntimeError) as raised, watch_processes():
        raise error
    assert raised.value is error


def test_progress_keeps_a_process_alive(workers):
    worker = workers.start("still", None, None, None)
    assert worker.end() == (watch.LOST, LOST % (0, 1))
    assert worker.printed() == ["still here"]


def test_an_error_on_one_device_is_seen_while_the_others_wait():
    def fail():
        raise RuntimeError("Gloo all-reduce failed")

    waits = SimpleNamespace(is_ready=lambda: False, block_until_ready=lambda: time.sleep(600))
    fails = SimpleNamespace(is_ready=lambda: True, block_until_ready=fail)
    with watch.watching(600, 0, 2) as watched:
        for data, failed in ((waits, False), (fails, True)):
            shards = [SimpleNamespace(data=waits), SimpleNamespace(data=data)]
            watched._pending = [0.5, SimpleNamespace(addressable_shards=shards)]
            assert watched._has_failed() == failed
            watched._pending = None


def test_this_process_alone():
    assert process_part() == (0, 1)
    assert is_main_process()


def test_the_global_batch_of_one_process():
    mesh = hs.data_mesh(jax.devices()[:4])
    rows = {"x": np.arange(24.0, dtype=np.float32).reshape(8, 3), "y": np.arange(8)}
    batch = global_batch(rows, mesh)
    for name, leaf in batch.items():
        np.testing.assert_array_equal(leaf, rows[name])
        assert [shard.data.shape[0] for shard in leaf.addressable_shards] == [2] * 4
        assert leaf.sharding.mesh == mesh


def test_rows_that_do_not_divide():
    with pytest.raises(BatchDivisionError) as error:
        global_batch({"x": np.ones((6, 3), np.float32)}, hs.data_mesh(jax.devices()[:4]))
    assert error.value.values == {
        "rows": 6,
        "devices": 4,
        "fitting": 4,
        "wrong": "global_batch(batch, mesh)",
    }
