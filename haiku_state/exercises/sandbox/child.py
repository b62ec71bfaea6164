"""The process of the learner: it runs the answer on hidden inputs, and tells what it saw.

It does not judge. Its answers go to a channel of their own; what the learner prints goes elsewhere.
"""

import contextlib
import faulthandler
import functools
import importlib
import json
import linecache
import os
import sys
import traceback
import types
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
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
        for inputs in rows:
            told(question["nonce"], check=number, seen=observe(check, answer, inputs, rows, path))
    told(question["nonce"], done=True)


def drawn(check: Check, seed: int, number: int, count: int) -> list[tuple[Any, ...]]:
    """Draw the hidden inputs of a check; the checker draws the same ones."""
    return [check.inputs(np.random.default_rng([seed, number, draw])) for draw in range(count)]


def on_device(inputs: Any) -> Any:
    """Return new containers, with JAX arrays for NumPy's."""
    return jax.tree_util.tree_map(
        lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf,
        inputs,
    )


def observe(
    check: Check, answer: Any, inputs: tuple[Any, ...], rows: list[tuple[Any, ...]], path: str
) -> dict[str, Any]:
    """Play a check, and everything that its properties ask for.

    Returns:
      For each property what was seen: the leaves of a result, or the error.
    """
    play = functools.partial(_as_of_learner(check.play), answer)
    given = on_device(inputs)
    seen: dict[str, Any] = {"eager": attempt(play, given, path)}
    if "error" in seen["eager"]:
        return seen
    wanted = check.properties
    if "arguments" in wanted:
        seen["arguments"] = {"tree": encoded(flat(given))}
    if "again" in wanted:
        seen["again"] = attempt(play, on_device(inputs), path)
    if "pure" in wanted:
        seen["pure"] = {"findings": _findings(play, on_device(inputs), path)}
    if "jit" in wanted:
        seen["jit"] = attempt(jax.jit(play), on_device(inputs), path)
    if "vmap" in wanted:
        many = jax.tree_util.tree_map(lambda *leaves: jnp.stack(leaves), *map(on_device, rows))
        row = next(index for index, other in enumerate(rows) if other is inputs)

        def one(*arguments: Any) -> Any:
            result = jax.vmap(play)(*arguments)
            return jax.tree_util.tree_map(lambda leaf: leaf[row], result)

        seen["vmap"] = attempt(one, many, path)
    if "keys" in wanted:
        with jax.debug_key_reuse(True):
            seen["keys"] = attempt(jax.jit(lambda *rest: play(*rest)), on_device(inputs), path)
    return seen


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
    jax.config.update("jax_platforms", "cpu")
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
