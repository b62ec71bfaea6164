"""The process in which programs run: it calls them on hidden inputs, and tells what it saw.

It does not judge. Its answers go to a channel of their own; what a program prints goes elsewhere.
"""

import ast
import contextlib
import faulthandler
import functools
import gc
import inspect
import json
import linecache
import os
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs
from haiku_state import explain  # bound before a program could replace it
from haiku_state.compat import keep_programs
from haiku_state.exercises.cells import at_its_lines, cells, read, solution_code
from haiku_state.exercises.exercise import Check, Exercise
from haiku_state.exercises.sandbox.guard import Guard
from haiku_state.exercises.sandbox.process import GIBIBYTES, TIME_IS_UP
from haiku_state.exercises.sandbox.values import encoded, flat

DEVICES = 4
WORK = "HAIKU_STATE_WORK"
RIGHT = "<solution>"
CHECK = "<check>"


class Played(NamedTuple):
    """The functions of a check."""

    check: Check
    inputs: Callable[[Any], tuple[Any, ...]]
    functions: dict[str, Callable[..., Any]]
    names: list[str]
    """What it calls its inputs; empty for one that it does not use."""


def main(channel: Connection, printed: Connection, folder: str, cache: str) -> None:
    """Wait for an exercise and a program, run it, and tell what was seen until nobody asks.

    Args:
      channel: from and to the checker.
      printed: where everything goes that a program prints.
      folder: the working directory.
      cache: where JAX keeps what it has compiled; empty for nowhere.
    """
    gc.freeze()  # else the first collection would copy what it shares with the fork server
    _settle(printed, folder, cache)
    wanted = _heard(channel)
    exercise = read(wanted["name"], wanted["text"], Path(wanted["folder"]))
    os.environ[WORK] = wanted["work"]
    _limit_memory()
    try:
        played = staged(exercise)
    except BaseException as raised:  # a mistake of the author
        _say(channel, error=_described(raised, CHECK))
        return
    if not channel.poll():
        _warm()
    _say(channel, error=None)
    program = _heard(channel)
    path = program["path"]
    if program["seconds"]:
        _limit_time(program["seconds"])
    written = [Path(wanted["work"]), *map(Path, filter(None, [cache]))]
    sys.path[:] = [place for place in sys.path if place and Path(place) != Path(path).parent]
    guard = Guard(written, Path(path), exercise.folder)
    told = functools.partial(_told, channel, guard)
    answer, error = _loaded(exercise, path, program["source"], program["is_whole"])
    told("", error=error)
    while error is None:
        question = _heard(channel)  # only now: nothing in it can be known
        for number, source in enumerate(question.get("sources", [None])):
            module, failed = answer, None
            if source is not None:
                module, failed = _loaded(exercise, path, source, False)
            if failed is None:
                _answer(question, number, played, module, path, told)
            else:
                told(question["nonce"], source=number, error=failed)
        sys.modules["answer"] = answer
        told(question["nonce"], done=True)


def _heard(channel: Connection) -> Any:
    try:
        return json.loads(channel.recv_bytes())
    except (EOFError, OSError):  # nobody is there any more
        os._exit(0)


def _answer(
    question: dict[str, Any],
    source: int,
    played: list[Played],
    answer: types.ModuleType,
    path: str,
    told: Callable[..., None],
) -> None:
    for number in question["checks"]:
        one = played[number]
        try:
            rows = drawn(one, question["seed"], number)
        except Exception as raised:
            failed = {"eager": {"error": _described(raised, CHECK)}}
            told(question["nonce"], source=source, check=number, seen=failed)
            continue
        play = functools.partial(one.functions["check"], answer)
        if question.get("is_truth") and "truth" in one.functions:
            play = functools.partial(one.functions["truth"], answer)
        wanted = question.get("properties", one.check.properties)
        for inputs, seen in zip(rows, observe(play, rows, wanted, path), strict=True):
            if question.get("is_truth"):
                named = zip(one.names, inputs, strict=False)
                used = {name: value for name, value in named if name}
                seen["inputs"] = encoded(flat(used))
                seen["arguments"] = {"tree": encoded(flat(on_device(inputs)))}
            if question.get("closed_form") and "closed_form" in one.functions:
                seen["closed_form"] = attempt(one.functions["closed_form"], inputs, path)
            told(question["nonce"], source=source, check=number, seen=seen)


def staged(exercise: Exercise) -> list[Played]:
    """Run the cells of a file that belong to its checks; return the functions of each check.

    What the program imports at its beginning is there.
    """
    space: dict[str, Any] = {"__name__": CHECK, "inputs": lambda rng: ()}
    imports = ast.parse(solution_code(exercise))
    imports.body = [one for one in imports.body if isinstance(one, ast.Import | ast.ImportFrom)]
    exec(compile(imports, CHECK, "exec", dont_inherit=True), space)
    checks = iter(exercise.checks)
    found = []
    for cell in cells(exercise.text):
        if cell.word not in ("setup", "inputs", "check"):
            continue
        own = space if cell.word != "check" else {**space}
        code = at_its_lines(cell)
        shown = code.splitlines(keepends=True)  # no more of the file: a program could read it
        linecache.cache[CHECK] = (len(code), None, shown, CHECK)
        exec(compile(code, CHECK, "exec", dont_inherit=True), own)
        if cell.word == "check":
            used = {one.id for one in ast.walk(ast.parse(cell.code)) if isinstance(one, ast.Name)}
            given = list(inspect.signature(own["check"]).parameters)[1:]
            names = [name if name in used else "" for name in given]
            found.append(Played(next(checks), own["inputs"], own, names))
    return found


def drawn(one: Played, seed: int, number: int) -> list[tuple[Any, ...]]:
    """Draw the hidden inputs of a check; each process draws the same ones."""
    rows = []
    for draw in range(one.check.draws):
        inputs = one.inputs(np.random.default_rng([seed, number, draw]))
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        rows.append(jax.tree_util.tree_map(_single, inputs))
    return rows


def _single(leaf: Any) -> Any:
    """NumPy's float64 as JAX's float32; a number of Python stays what it is."""
    is_double = isinstance(leaf, np.ndarray | np.generic) and leaf.dtype == np.float64
    return np.asarray(leaf, np.float32)[()] if is_double else leaf


def on_device(inputs: Any) -> Any:
    """Return new containers, with JAX arrays for NumPy's, of which none shares its memory."""
    return jax.tree_util.tree_map(
        lambda leaf: (
            jax.device_put(np.array(leaf)) if isinstance(leaf, np.ndarray | np.generic) else leaf
        ),
        inputs,
    )


def observe(
    play: Callable[..., Any], rows: list[tuple[Any, ...]], wanted: list[str], path: str
) -> Iterator[dict[str, Any]]:
    """Play a check with each of its inputs, and everything that its properties ask for.

    Most of the time goes into compiling, so each transformation is made once.

    Returns:
      For each of the inputs, and there for each property, what was seen: the leaves of a result, or
      the error.
    """
    jitted = jax.jit(play)

    @jax.jit
    def mapped(row: int, *arguments: Any) -> Any:
        return jax.tree_util.tree_map(lambda leaf: leaf[row], jax.vmap(play)(*arguments))

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
        if "keys" in wanted:
            with jax.debug_key_reuse(True):
                seen["keys"] = attempt(jitted, on_device(inputs), path)
        if "jit" in wanted:  # which the keys, if nothing is wrong with them, have shown
            is_shown = "tree" in seen.get("keys", ())
            seen["jit"] = seen["keys"] if is_shown else attempt(jitted, on_device(inputs), path)
        if "vmap" in wanted:
            many = on_device(jax.tree_util.tree_map(_stacked, *rows))
            seen["vmap"] = attempt(functools.partial(mapped, row), many, path)
        yield seen


def _stacked(*leaves: Any) -> Any:
    """Stack what NumPy holds with NumPy, and random keys with JAX."""
    return jax.numpy.stack(leaves) if isinstance(leaves[0], jax.Array) else np.stack(leaves)


def attempt(play: Callable[..., Any], inputs: Any, path: str) -> dict[str, Any]:
    """Call it; return the leaves of its result, or the error that it raised."""
    try:
        return {"tree": encoded(flat(play(*inputs)))}
    except BaseException as raised:
        return {"error": _described(raised, path)}


def _findings(play: Callable[..., Any], inputs: Any, path: str) -> list[dict[str, Any]]:
    report = explain(play, *inputs)
    return [
        {
            "kind": one.kind,
            "name": one.name.removeprefix("function.args[0]."),  # the learner's module
            "line": one.line,
            "form": one.form,
        }
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
        text = str(error).replace(os.environ[WORK], "…")  # which differs from process to process
    except BaseException:  # its own class is the learner's
        text = ""
    kind = type(error).__name__
    return {"kind": kind, "text": text[:2000], "line": line}


def _loaded(
    exercise: Exercise, path: str, source: str, is_whole: bool
) -> tuple[types.ModuleType, dict[str, Any] | None]:
    """Return the module of an answer, or of a program that takes the place of a part of one."""
    answer = types.ModuleType("answer")
    answer.__file__ = path
    sys.modules["answer"] = answer

    replaced = "" if is_whole else solution_code(exercise)
    vars(answer)["__again__"] = functools.partial(_filled, path, source, replaced)
    try:
        _filled(path, source, replaced, answer)
    except BaseException as raised:
        return answer, _described(raised, path)
    return answer, None


def _filled(
    path: str, source: str, replaced: str, answer: types.ModuleType | None = None
) -> types.ModuleType:
    """Run a program in a module; if it takes the place of a part of another, run that first."""
    answer = answer or types.ModuleType("answer")
    answer.__file__ = path
    if replaced:
        right = types.ModuleType("right")
        for module in (right, answer):
            _run(replaced, RIGHT, module)
        vars(answer)["right"] = right
    _run(source, path, answer)
    return answer


def _run(source: str, path: str, module: types.ModuleType) -> None:
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec", dont_inherit=True), vars(module))


def _told(channel: Connection, guard: Guard, nonce: str, **message: Any) -> None:
    replaced, imported, looked = guard.replaced(), guard.imported(), [*guard.looked]
    _say(channel, nonce=nonce, refused=guard.refused, replaced=replaced, imported=imported,
         looked=looked, **message)  # fmt: skip


def _say(channel: Connection, **message: Any) -> None:
    channel.send_bytes(json.dumps(message).encode())


def _settle(printed: Connection, folder: str, cache: str) -> None:
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
    if cache:
        keep_programs(cache)
    flags = os.environ.get("XLA_FLAGS", "").split()  # those of the checker may ask for more
    os.environ["XLA_FLAGS"] = " ".join(flag for flag in flags if "device_count" not in flag)
    hs.use_devices(DEVICES)


def _warm() -> None:
    """Use what JAX and Haiku prepare at the first use, while there is no job yet."""
    layer = hk.transform(lambda x: hk.Linear(1)(x).sum())
    x = jnp.ones([2, 3])
    params = layer.init(jax.random.key(0), x)
    gradient = jax.grad(lambda params, x: layer.apply(params, None, x))
    for run in (gradient, jax.jit(gradient), jax.vmap(gradient, (None, 0))):
        jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, run(params, x))
    key, other_key = jax.random.split(jax.random.key(0))
    for draw in (jax.random.normal, jax.random.uniform, jax.random.bernoulli):
        draw(key) == draw(jax.random.fold_in(other_key, 1))  # noqa: B015


def _limit_time(seconds: int) -> None:
    """End the process after so many seconds of computing, and tell its line; or of sleeping."""
    faulthandler.dump_traceback_later(3 * seconds, exit=True)
    end = time.process_time() + seconds
    threading.Thread(target=_end_at, args=(end,), daemon=True).start()


def _end_at(end: float) -> None:
    # A thread, which waits until it may read the others' lines: a signal does not, and Python 3.13
    # crashes where it comes amid a call.
    while time.process_time() < end:
        time.sleep(0.1)
    faulthandler.dump_traceback(2)
    os._exit(TIME_IS_UP)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    size = GIBIBYTES << 30
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
