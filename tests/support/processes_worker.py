"""What each process of test_processes.py runs, as a script; it holds no tests."""

import atexit
import contextlib
import itertools
import json
import os
import sys
import time
from pathlib import Path

import jax
import numpy as np
from jax._src.xla_bridge import CUDA_VISIBLE_DEVICES

if __name__ == "__main__":  # a program, which finds `support` as the tests do
    sys.path[0] = str(Path(__file__).parents[1])

from support import digits

import haiku_state as hs
from haiku_state import exchange
from haiku_state import processes as distributed
from haiku_state.processes import start as start_module
from haiku_state.processes.watch import watching


def _started(coordinator, count, index, timeout):
    distributed.start_processes(coordinator, count, index, timeout=timeout)


def start(*arguments):
    """Start, and print who this is, and which GPUs it would use."""
    _started(*arguments)
    who = *distributed.process_part(), distributed.is_main_process()
    print("started", *who, jax.device_count(), CUDA_VISIBLE_DEVICES.value, flush=True)


def train(*arguments, given, path):
    """Train on a mesh, in both ways, from this process's own rows, and save the result.

    Args:
      given: a file with the initial train state, and the batches.
      path: the file to be written.
    """
    _started(*arguments)
    index, count = distributed.process_part()
    given, saved = np.load(given), {"part": np.array([index, count])}
    batches = [
        {name: given[f"{name}/{step}"] for name in ("inputs", "targets")}
        for step in range(digits.STEPS)
    ]
    own = slice(digits.ROWS * index // count, digits.ROWS * (index + 1) // count)
    mesh = hs.data_mesh()
    with distributed.watch_processes(300) as watch:
        for way, compiled, axis in WAYS:
            run = compiled(digits.update_of(digits.ADAM, axis), mesh)
            train_state = hs.shard_train_state(restored(given), mesh)
            losses = []
            for rows in batches:
                batch = {name: leaf[own] for name, leaf in rows.items()}
                train_state, metrics = run(train_state, distributed.global_batch(batch, mesh))
                watch.progress(metrics)
                losses.append(np.asarray(metrics["loss"]))
            saved[f"{way}/losses"], saved[f"{way}/traces"] = np.array(losses), run.trace_count
            for name, leaf in leaves(train_state.params, train_state.state).items():
                saved[f"{way}/{name}"] = leaf
    np.savez(path, **saved)
    print("trained", CUDA_VISIBLE_DEVICES.value, flush=True)


WAYS = (("shard", hs.shard_update, None), ("shard_map", hs.shard_map_update, "devices"))


def leaves(params, state):
    """Give the arrays of params and state by name."""
    return {
        f"{name}/{module}/{leaf}": np.asarray(array)
        for name, tree in (("params", params), ("state", state))
        for module, values in tree.items()
        for leaf, array in values.items()
    }


def restored(given):
    """Give the train state at step 0 with the params and the state from a file."""
    trees = {"params": {}, "state": {}}
    for name in given:
        tree, *path, leaf = name.split("/")
        if tree in trees:
            trees[tree].setdefault("/".join(path), {})[leaf] = given[name]
    params, state = trees["params"], trees["state"]
    opt_state = jax.jit(digits.ADAM.init)(params)
    return hs.TrainState(params, state, opt_state, jax.random.key(0), np.int32(0))


def agree(coordinator, count, index, timeout, settings):
    """Start with settings of its own."""
    distributed.start_processes(coordinator, count, index, timeout=timeout, settings=settings)


def place(*arguments, bias, delay):
    """Place a train state on the mesh of all processes; this one hears from them too late."""
    _started(*arguments)
    interruptible = exchange.interruptible
    exchange.interruptible = lambda call: (interruptible(call), time.sleep(delay))
    train_state = {"rng": jax.random.key(0), "w": np.ones(2), "b": np.float32(bias)}
    hs.shard_train_state(train_state, hs.data_mesh())
    print("placed", flush=True)


def feed(*arguments, sizes):
    """Feed batches of these numbers of rows; print their sum, and how often the processes spoke."""
    exchange.TIMEOUT = 30
    _started(*arguments)
    mesh, exchanges = hs.data_mesh(), []
    asked = exchange.values_of_all
    exchange.values_of_all = lambda *given: (exchanges.append(given), asked(*given))[1]
    run = hs.shard_update(
        lambda total, batch, *, axis_name=None: (total + batch["x"].sum(), {}), mesh
    )
    total = run.place(jax.numpy.float32(0))
    placed = len(exchanges)
    for size in sizes:
        total, _ = run(total, run.feed({"x": np.ones(size, np.float32)}))
    print("fed", float(run.one(total)), len(exchanges) - placed, flush=True)


def save_once(*arguments, path, step, seed=0):
    """Save one checkpoint, with a leaf that is sharded over all devices."""
    _started(*arguments)
    mesh = hs.data_mesh()
    rows = distributed.global_batch(np.ones(len(jax.local_devices()), np.float32), mesh)
    train_state = hs.TrainState({"m": {"w": rows}}, {}, (), jax.random.key(seed), np.int32(step))
    hs.storage.save_checkpoint(path, train_state)


def save(*arguments, path):
    """Save checkpoints until the test ends one of the processes."""
    _started(*arguments)
    train_state = hs.TrainState({}, {}, (), jax.random.key(0), np.int32(0))
    with distributed.watch_processes(5) as watch:
        for step in itertools.count():
            hs.storage.save_checkpoint(path, train_state._replace(step=np.int32(step)))
            watch.progress()
            print(step, flush=True)


def _update(seconds, each):
    """Run small updates for ever; ``each`` is called with the number of each one."""
    mesh = hs.data_mesh()
    update = hs.shard_update(
        lambda total, batch, *, axis_name=None: (total + batch["x"].mean(), {}), mesh
    )
    rows = {"x": np.ones(len(jax.local_devices()), np.float32)}
    batch, total = (
        distributed.global_batch(rows, mesh),
        hs.shard_train_state(jax.numpy.float32(0), mesh),
    )
    with distributed.watch_processes(seconds) as watch:
        for step in itertools.count():
            total, _ = update(total, batch)
            watch.progress(total)
            each(step)


def loop(*arguments, watch=300):
    """Run updates until the test ends one of the processes."""

    def each(step):
        if step == 5:
            print("looping", flush=True)
        time.sleep(0.01)

    _started(*arguments)
    _update(watch, each)


def finish(*arguments, updates, watch):
    """Make some updates, and come to an end."""
    _started(*arguments)
    mesh = hs.data_mesh()
    run = hs.shard_update(
        lambda total, batch, *, axis_name=None: (total + batch["x"].sum(), {}), mesh
    )
    total = run.place(jax.numpy.float32(0))
    with distributed.watch_processes(watch) as watched:
        for _update in range(updates):
            total, _ = run(total, run.feed({"x": np.ones(jax.local_device_count(), np.float32)}))
            watched.progress(total)
    print("finished", float(total), flush=True)


def fail(*arguments, watch=300):
    """Run updates; process 1 meets an error of its own."""

    def each(step):
        if step == 5 and not distributed.is_main_process():
            raise ValueError("planted")

    _started(*arguments)
    _update(watch, each)


def catch(*arguments):
    """Catch an error inside the watch, and go on."""
    atexit.register(print, "before")
    _started(*arguments)
    atexit.register(print, "after")
    for error in (RuntimeError, ValueError, KeyboardInterrupt, SystemExit):
        with contextlib.suppress(error), distributed.watch_processes(60):
            raise error("planted")

    def each(step):
        if step == 5:
            raise KeyError("planted")

    with contextlib.suppress(KeyError):
        _update(60, each)
    print("goes on", flush=True)


def still(*_, seconds=2):
    """Make progress for a while, then stand still."""
    lost = hs.errors.LostProcessError(present=0, expected=2, timeout=seconds)
    with watching(seconds, 2, lost) as watch:
        for _ in range(8):
            time.sleep(seconds / 5)
            watch.progress()
    with watching(seconds, 2, lost):
        print("still here", end="")
        time.sleep(600)


def old(*arguments):
    """Start, as if this JAX could connect one CPU device of each process."""
    start_module.connectable_cpu_devices = lambda: 1
    _started(*arguments)


def run(mode, coordinator, count, index, timeout, **options):
    """Do one of the above."""
    globals()[mode](coordinator, count, index, timeout, **options)


def serve():
    """Fork a process for each line of the input, which says what it shall do.

    The imports are done once. The forked process ends as any other does, with all that JAX does
    then. A line that is a number asks for the exit code of that process, when it has ended.
    """
    for line in sys.stdin:
        order = json.loads(line)
        if isinstance(order, int):
            _, status = os.waitpid(order, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
        elif process := os.fork():
            print(process, flush=True)
        else:
            os.environ.update(order.pop("environment"))
            for descriptor in (1, 2):
                with Path(f"{order['output']}.{descriptor}").open("wb") as file:
                    os.dup2(file.fileno(), descriptor)
            # apart from 1, where gloo's threads write lines that tear each other and ours
            sys.stdout = Path(f"{order['output']}.printed").open("w")  # noqa: SIM115
            del order["output"]
            return run(**order)


if __name__ == "__main__":
    serve()
