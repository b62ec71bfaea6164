"""The process of the learner: it runs the answer on hidden inputs, and tells what it saw.

It does not judge. Its answers go to a channel of their own; what the learner prints goes elsewhere.
"""

import contextlib
import faulthandler
import functools
import gc
import importlib
import json
import linecache
import os
import signal
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import jax
import numpy as np

import haiku_state as hs
from haiku_state.exercises.exercise import WORK, Check, Exercise
from haiku_state.exercises.sandbox.guard import Guard
from haiku_state.exercises.sandbox.values import encoded, flat

DEVICES = 4
GIBIBYTES = 4


def main(channel: Connection, printed: Connection, folder: str) -> None:
    """Wait for a job, do it, and write what was seen to the channel.

    Args:
      channel: from and to the checker.
      printed: where everything goes that the learner prints.
      folder: the working directory.
    """
    gc.freeze()  # else the first collection would copy what it shares with the fork server
    _settle(printed, folder)
    _say(channel, ready=True)
    job = json.loads(channel.recv_bytes())
    exercise: Exercise = importlib.import_module(job["module"]).EXERCISE
    path = job["path"]
    os.environ[WORK] = job["work"]
    _limit_memory()
    faulthandler.dump_traceback_later(job["seconds"], exit=True)
    guard = Guard(Path(job["work"]), Path(path).parent)
    sys.path.append(str(Path(path).parent))  # last, so that it hides no library
    answer = types.ModuleType("answer")
    error = None
    try:
        _load(answer, path, job["source"])
    except BaseException as raised:
        error = _described(raised, path)
    told = functools.partial(_told, channel, guard)
    told("", error=error)
    if error is not None:
        return
    question = json.loads(channel.recv_bytes())  # only now: what is in it cannot be learnt by heart
    for number in question["checks"]:
        check = exercise.checks[number]
        if question["killed"]:
            inputs = drawn(check, question["seed"], number, 1)[0]
            error = attempt(functools.partial(check.killed, answer), inputs, path).get("error")
            told(question["nonce"], check=number, seen={"error": error})
            continue
        rows = drawn(check, question["seed"], number, check.draws)
        for seen in observe(check, answer, rows, path):
            told(question["nonce"], check=number, seen=seen)
    told(question["nonce"], done=True)


def drawn(check: Check, seed: int, number: int, count: int) -> list[tuple[Any, ...]]:
    """Draw the hidden inputs of a check; the checker draws the same ones."""
    return [check.inputs(np.random.default_rng([seed, number, draw])) for draw in range(count)]


def on_device(inputs: Any) -> Any:
    """Return new containers, with JAX arrays for NumPy's, of which none shares its memory."""
    return jax.tree_util.tree_map(
        lambda leaf: (
            jax.device_put(np.array(leaf)) if isinstance(leaf, np.ndarray | np.generic) else leaf
        ),
        inputs,
    )


def observe(
    check: Check, answer: Any, rows: list[tuple[Any, ...]], path: str
) -> Iterator[dict[str, Any]]:
    """Play a check with each of its inputs, and everything that its properties ask for.

    Most of the time goes into compiling, so each transformation is made once.

    Returns:
      For each of the inputs, and there for each property, what was seen: the leaves of a result, or
      the error.
    """
    play = functools.partial(_as_of_learner(check.play), answer)
    jitted, with_keys = jax.jit(play), jax.jit(lambda *arguments: play(*arguments))

    @jax.jit
    def mapped(row: int, *arguments: Any) -> Any:
        return jax.tree_util.tree_map(lambda leaf: leaf[row], jax.vmap(play)(*arguments))

    wanted = check.properties
    for row, inputs in enumerate(rows):
        given = on_device(inputs)
        seen: dict[str, Any] = {"eager": attempt(play, given, path)}
        if "error" in seen["eager"]:
            yield seen
            continue
        if "arguments" in wanted:
            seen["arguments"] = {"tree": encoded(flat(given))}
        if "again" in wanted:
            seen["again"] = attempt(play, on_device(inputs), path)
        if "pure" in wanted:
            seen["pure"] = {"findings": _findings(play, on_device(inputs), path)}
        if "jit" in wanted:
            seen["jit"] = attempt(jitted, on_device(inputs), path)
        if "vmap" in wanted:
            many = on_device(jax.tree_util.tree_map(lambda *leaves: np.stack(leaves), *rows))
            seen["vmap"] = attempt(functools.partial(mapped, row), many, path)
        if "keys" in wanted:
            with jax.debug_key_reuse(True):
                seen["keys"] = attempt(with_keys, on_device(inputs), path)
        yield seen


def _as_of_learner(play: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that :func:`.explain` looks into, as it does not into this package."""
    copy = types.FunctionType(
        _elsewhere(play.__code__),
        play.__globals__,
        play.__name__,
        play.__defaults__,
        play.__closure__,
    )
    copy.__module__ = "<check>"
    return copy


def _elsewhere(code: types.CodeType) -> types.CodeType:
    inside = [_elsewhere(one) if isinstance(one, types.CodeType) else one for one in code.co_consts]
    return code.replace(co_filename="<check>", co_consts=tuple(inside))


def attempt(play: Callable[..., Any], inputs: Any, path: str) -> dict[str, Any]:
    """Call it; return the leaves of its result, or the error that it raised."""
    try:
        return {"tree": encoded(flat(play(*inputs)))}
    except BaseException as raised:
        return {"error": _described(raised, path)}


def _findings(play: Callable[..., Any], inputs: Any, path: str) -> list[dict[str, Any]]:
    report = hs.explain(play, *inputs)
    return [
        {"kind": one.kind, "name": one.name, "line": one.line, "form": one.form}
        for one in report.findings
        if one.file == path or not one.file
    ]


def _described(error: BaseException, path: str) -> dict[str, Any]:
    """What happened, and the line of the learner where it did."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == path]  # fmt: skip
    line = lines[-1] if lines else None
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
    try:
        text = str(error)
    except BaseException:  # its own class is the learner's
        text = ""
    kind = type(error).__name__
    return {"kind": kind, "text": text[:2000], "line": line}


def _load(answer: types.ModuleType, path: str, source: str) -> None:
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    answer.__file__ = path
    sys.modules["answer"] = answer
    exec(compile(source, path, "exec", dont_inherit=True), vars(answer))


def _told(channel: Connection, guard: Guard, nonce: str, **message: Any) -> None:
    replaced, imported = guard.replaced(), guard.imported()
    _say(channel, nonce=nonce, refused=guard.refused, replaced=replaced, imported=imported,
         **message)  # fmt: skip


def _say(channel: Connection, **message: Any) -> None:
    channel.send_bytes(json.dumps(message).encode())


def _settle(printed: Connection, folder: str) -> None:
    """Make this process one of its own: its group, folder, devices and streams."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    os.chdir(folder)
    sys.dont_write_bytecode = True
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # nobody is there to answer
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)
    printed.close()
    for name in ("stdout", "stderr"):
        stream = open(  # noqa: SIM115
            2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_disable_most_optimizations", True)  # XLA compiles more than it computes
    flags = os.environ.get("XLA_FLAGS", "").split()  # those of the checker may ask for more
    os.environ["XLA_FLAGS"] = " ".join(flag for flag in flags if "device_count" not in flag)
    hs.use_devices(DEVICES)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    size = GIBIBYTES << 30
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
