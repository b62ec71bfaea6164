"""The checker: it compares what a learner's process saw with what it computes itself."""

import builtins
import contextlib
import inspect
import itertools
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake
from haiku_state.exercises.result import NOTE, Failure, Result
from haiku_state.exercises.sandbox import guard
from haiku_state.exercises.sandbox.child import GIBIBYTES, drawn
from haiku_state.exercises.sandbox.process import Ended, Process
from haiku_state.exercises.sandbox.values import Leaf, Tree, decoded, flat
from haiku_state.exercises.tasks import module_of

SHOWN = 3
_LOG_OF_XLA = r"[IWEF]\d{4} \d\d:\d\d:\d\d"

ENDED = {
    "time": _("It did not end within {seconds} seconds."),
    "output": _("It printed more than a megabyte, and was stopped."),
    "died": _("Its process ended before all checks were done (exit code {code})."),
}
MEMORY = _("It needed more than {size} GiB of memory.")
EXITS = _("It ended the program itself ({kind}).")
MISSING = _("It defines no `{name}`.")
ASKS = _("It asks for input, and nobody is there to answer.")
REFUSED = _("It {what}, which is not allowed while it is checked.")
REPLACED = _("It {what}. The checks use the libraries as they are.")
WRONG = _("The result is not the expected one.")
PROBLEMS = {
    "again": _("Called twice with the same arguments, it gives two different results."),
    "arguments": _("The call has changed its arguments."),
    "jit": _("Under `jax.jit` the result is different."),
    "vmap": _("Under `jax.vmap` the result is different."),
    "keys": _("A random key is used twice."),
}
RAISES = {
    "again": _("Called a second time: {problem}"),
    "jit": _("Under `jax.jit`: {problem}"),
    "vmap": _("Under `jax.vmap`: {problem}"),
    "keys": "{problem}",
}
FOUND = _("`explain` finds: {kind} of `{name}`.")
NOT_KILLED = _("It caught the end of its process.")
TYPES = _("The numbers are right, and their types are not.")

SLIPS = ("NameError", "ModuleNotFoundError")
"""Errors that say themselves what is wrong: the idea of the check would mislead."""

IDEAS = {
    "again": ideas.NOT_REPEATABLE,
    "arguments": ideas.CHANGED_ARGUMENT,
    "jit": ideas.JIT_DIFFERS,
    "vmap": ideas.VMAP_DIFFERS,
    "keys": ideas.KEY_REUSED,
}


def judge(exercise: Exercise, source: str, path: Path, can_fork: bool = False) -> Result:
    """Check an answer.

    Args:
      exercise: which exercise.
      source: the answer.
      path: its file, which is not read again.
      can_fork: whether this process can be forked, having no threads and no arrays yet.

    Returns:
      The result. Whatever the answer does, this function returns.
    """
    if exercise.needs and (missing := exercise.needs()):
        return _result(exercise, 0, Failure(translated(missing)), Ended(), source, path)
    to_kill = [number for number, check in enumerate(exercise.checks) if check.killed]
    folder = tempfile.TemporaryDirectory(prefix="haiku_state_", ignore_cleanup_errors=True)
    with folder as work, contextlib.ExitStack() as stack:
        processes = {number: stack.enter_context(Process(can_fork)) for number in (*to_kill, None)}
        seed = secrets.randbits(64)  # only now: the processes do not know it
        truth = stack.enter_context(ThreadPoolExecutor(1)).submit(_truth, exercise, seed)
        job = {
            "module": module_of(exercise.name),
            "path": str(path),
            "source": source,
            "seconds": exercise.seconds,
            "work": work,
        }
        killed = {}
        for number in to_kill:
            question = {"checks": [number], "seed": seed, "killed": True}
            ended = processes[number].run(job, question)
            if failure := _of_killed(ended, exercise, path):
                killed[number] = failure, ended
        question = {"checks": [*range(len(exercise.checks))], "seed": seed, "killed": False}
        ended = processes[None].run(job, question)
    messages = [message for message in ended.messages if message.get("check") is not None]
    for number, check in enumerate(exercise.checks):
        if number in killed:
            return _result(exercise, number, *killed[number], source, path)
        rows = [message["seen"] for message in messages if message["check"] == number]
        for (inputs, expected), seen in zip(truth.result()[number], rows, strict=False):
            failure = _of_check(check, inputs, expected, seen, exercise)
            if failure:
                return _result(exercise, number, failure, ended, source, path)
        if len(rows) < check.draws:
            failure = _of_end(ended, exercise, path) or Failure(translated(WRONG))
            return _result(exercise, number, failure, ended, source, path)
    failure = _of_end(ended, exercise, path)
    return _result(exercise, len(exercise.checks), failure, ended, source, path)


def _truth(exercise: Exercise, seed: int) -> list[list[tuple[Any, Tree]]]:
    """Return for each check its inputs, each with what is expected."""
    return [
        [
            (inputs, _as_jax(flat(check.expected(*inputs))))
            for inputs in drawn(check, seed, number, check.draws)
        ]
        for number, check in enumerate(exercise.checks)
    ]


def _result(
    exercise: Exercise, passed: int, failure: Failure | None, ended: Ended, source: str, path: Path
) -> Result:
    lines = source.splitlines()
    if failure and failure.line and failure.line <= len(lines):
        failure = replace(failure, code=lines[failure.line - 1])
    checks = (True,) * passed + (False,) * (failure is not None and passed < len(exercise.checks))
    last = ended.messages[-1] if ended.messages else {}
    refused = [(str(kind), str(what)) for kind, what in last.get("refused", ())]
    if failure and guard.REFUSES in failure.problem and refused:
        kind, what = refused[-1]
        did = translated(kind).format(what=what)
        failure = replace(failure, problem=translated(REFUSED).format(what=did), idea=None)
    told = [*refused, *((guard.IMPORTS, what) for what in last.get("imported", ()))]
    said = failure.problem if failure else ""
    notes = tuple(
        translated(NOTE).format(what=translated(kind).format(what=what))
        for kind, what in dict.fromkeys(told)
        if what not in said
    )
    lines = [] if ended.how in ("time", "output") else ended.printed.splitlines()
    printed = "\n".join(line for line in lines if not re.match(_LOG_OF_XLA, line))
    return Result(exercise, checks, failure, printed, notes, path.name)


def _of_end(ended: Ended, exercise: Exercise, path: Path) -> Failure | None:
    """Return what is wrong with how a process ended, or with what it did on its way."""
    first = ended.messages[0] if ended.messages else {}
    last = ended.messages[-1] if ended.messages else {}
    if first.get("error"):
        known = [mistake for check in exercise.checks for mistake in check.mistakes]
        return _of_error(first["error"], known)
    if last.get("replaced"):
        what = translated(guard.REPLACED).format(what=", ".join(last["replaced"][:SHOWN]))
        return Failure(translated(REPLACED).format(what=what))
    if ended.how == "done":
        return None
    lines = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', ended.printed)
    line = int(lines[0]) if lines else None
    if re.search(r"MemoryError|bad_alloc|RESOURCE_EXHAUSTED|out of memory", ended.printed, re.I):
        return Failure(translated(MEMORY).format(size=GIBIBYTES), line=line)
    values = {"seconds": exercise.seconds, "code": ended.code}
    return Failure(translated(ENDED[ended.how]).format(**values), line=line)


def _of_killed(ended: Ended, exercise: Exercise, path: Path) -> Failure | None:
    """Return why the first process did not end as it should: killed by the check itself."""
    if ended.messages and ended.messages[0]["error"]:  # the process after this one tells it
        return None
    if ended.messages and ended.messages[-1].get("done"):
        error = ended.messages[-2]["seen"]["error"]
        return _of_error(error) if error else Failure(translated(NOT_KILLED))
    if ended.how == "died" and ended.messages:
        return None
    return _of_end(ended, exercise, path)


def _of_error(error: dict[str, Any], known: Sequence[Mistake] = ()) -> Failure:
    kind, text = error["kind"], error["text"]
    first = text.strip().splitlines()[0] if text.strip() else ""
    problem = f"{kind}: {first}" if first else kind
    found = [one for one in known if one.error and one.error in f"{kind}: {text}"]
    idea = found[0].idea if found else None
    recognized = not (found and hasattr(builtins, found[0].error))  # a class says too little
    if kind in ("SystemExit", "KeyboardInterrupt"):
        problem = translated(EXITS).format(kind=kind)
    elif match := re.fullmatch(r"module 'answer' has no attribute '(\w+)'", first):
        problem = translated(MISSING).format(name=match[1])
    elif kind == "EOFError":
        problem = translated(ASKS)
    elif kind == "MemoryError":
        problem = translated(MEMORY).format(size=GIBIBYTES)
    return Failure(problem, idea, recognized, line=error["line"])


def _of_check(
    check: Check, inputs: Any, expected: Tree, seen: dict[str, Any], exercise: Exercise
) -> Failure | None:
    """Return what is wrong in one draw of a check."""
    for failure in _failures(check, inputs, expected, seen):
        shown = _shown_inputs(check, inputs)
        if exercise.kind in ("predict", "quiz"):
            return replace(failure, expected=(), recognized=True)
        return replace(failure, inputs=shown) if failure.got else failure
    return None


def _failures(check: Check, inputs: Any, expected: Tree, seen: dict[str, Any]) -> Iterator[Failure]:
    eager = seen["eager"]
    if "error" in eager:
        failure = _of_error(eager["error"], check.mistakes)
        if not failure.idea and eager["error"]["kind"] not in SLIPS:
            known = _of_jax(eager["error"])
            failure = replace(failure, idea=known or check.idea, recognized=bool(known))
        yield failure
        return
    got = decoded(eager["tree"])
    differences = _differences(expected, got, check.tolerance)
    if differences:
        known = _mistaken(check, inputs, got)
        failure = _different(translated(WRONG), known or check.idea, differences)
        yield replace(failure, recognized=bool(known))
    for finding in seen.get("pure", {}).get("findings", ()):
        kind, name = finding["kind"], finding["name"]
        problem = translated(FOUND).format(kind=translated(kind), name=name)
        idea = ideas.BY_FINDING.get(kind, check.idea)
        yield Failure(problem, idea, line=finding["line"] or None)
    if "arguments" in seen:
        before, after = flat(inputs), decoded(seen["arguments"]["tree"])
        if differences := _differences(before, after, 0.0):
            yield _different(translated(PROBLEMS["arguments"]), IDEAS["arguments"], differences)
    for name in ("again", "jit", "vmap", "keys"):
        result = seen.get(name)
        if result is None:
            continue
        if "error" in result:
            failure = _of_error(result["error"], check.mistakes)
            default = IDEAS["keys"] if name == "keys" else _of_jax(result["error"]) or IDEAS[name]
            problem = translated(RAISES[name]).format(problem=failure.problem)
            yield replace(failure, problem=problem, idea=failure.idea or default)
            continue
        tree = decoded(result["tree"])
        against = got if name == "again" else expected
        allowed = 0.0 if name == "again" else check.tolerance
        if differences := _differences(against, tree, allowed):
            yield _different(translated(PROBLEMS[name]), IDEAS[name], differences)
    if check.types and (wrong := _types(expected, got)):
        lost_key = any("key<" in one and "key<" not in other for one, other in wrong)
        yield _different(translated(TYPES), ideas.KEY_DATA if lost_key else ideas.DTYPE, wrong)


def _as_jax(tree: Tree) -> Tree:
    """Return leaves that NumPy has computed with the dtypes that JAX gives them.

    Nothing here asks JAX for an array: its start would take half a second of each check.
    """
    return {
        path: replace(leaf, dtype=str(jax.dtypes.canonicalize_dtype(leaf.array.dtype)))
        if leaf.dtype and not leaf.dtype.startswith("key<")
        else leaf
        for path, leaf in tree.items()
    }


def _of_jax(error: dict[str, Any]) -> Idea | None:
    """Return the idea behind an error of JAX itself."""
    kinds = {
        "TracerBoolConversionError": ideas.NOT_TRACEABLE,
        "TracerIntegerConversionError": ideas.NOT_TRACEABLE,
        "TracerArrayConversionError": ideas.NOT_TRACEABLE,
        "ConcretizationTypeError": ideas.NOT_TRACEABLE,
        "NonConcreteBooleanIndexError": ideas.NOT_TRACEABLE,
        "UnexpectedTracerError": ideas.LEAK,
        "KeyReuseError": ideas.KEY_REUSED,
    }
    return kinds.get(error["kind"])


def _mistaken(check: Check, inputs: Any, got: Tree) -> Idea | None:
    arrays = {path: leaf.array for path, leaf in got.items()}
    for mistake in check.mistakes:
        if mistake.like:
            like = flat(mistake.like(*inputs))
            if not _differences(like, got, check.tolerance):
                return mistake.idea
        if mistake.when:
            try:
                is_this = mistake.when(arrays, *inputs)
            except (KeyError, TypeError, ValueError, IndexError):  # a result of a different shape
                continue
            if is_this:
                return mistake.idea
    return None


def _differences(expected: Tree, got: Tree, tolerance: float) -> list[tuple[str, str]]:
    """Return pairs of texts, what was expected and what came, for each leaf that differs.

    Where the trees have different leaves, each side shows those that the other one lacks.
    """
    if expected.keys() != got.keys():
        first, second = (
            [_shown(path, leaf) for path, leaf in tree.items() if path not in other]
            for tree, other in ((expected, got), (got, expected))
        )
        return list(itertools.zip_longest(first or ["–"], second or ["–"], fillvalue=""))
    return [
        (_shown(path, leaf), _shown(path, got[path]))
        for path, leaf in expected.items()
        if not _equal(leaf, got[path], tolerance)
    ]


def _equal(one: Leaf, other: Leaf, tolerance: float) -> bool:
    if one.array is None or other.array is None:
        return one.array is None and other.array is None and one.text == other.text
    if one.array.shape != other.array.shape:
        return False
    if not {one.array.dtype.kind, other.array.dtype.kind} & {"f", "c"}:
        return bool((one.array == other.array).all())
    return np.allclose(one.array, other.array, tolerance, tolerance, equal_nan=True)


def _types(expected: Tree, got: Tree) -> list[tuple[str, str]]:
    return [
        (_type_of(path, one), _type_of(path, got[path]))
        for path, one in expected.items()
        if (one.dtype, one.weak) != (got[path].dtype, got[path].weak)
    ]


def _type_of(path: str, leaf: Leaf) -> str:
    return f"{_lead(path)}{leaf.dtype}{' (weak)' if leaf.weak else ''}"


def _shown(path: str, leaf: Leaf) -> str:
    if leaf.array is None:
        return f"{_lead(path)}{leaf.text}"
    numbers = np.array2string(leaf.array, precision=6, threshold=8, edgeitems=2, separator=", ")
    shape = f" {leaf.dtype}[{','.join(map(str, leaf.array.shape))}]" if leaf.array.shape else ""
    return f"{_lead(path)}{' '.join(numbers.split())}{shape}"


def _lead(path: str) -> str:
    return f"{path}: " if path else ""


def _different(problem: str, idea: Idea, pairs: list[tuple[str, str]]) -> Failure:
    expected, got = (_first(side) for side in zip(*pairs, strict=True))
    return Failure(problem, idea, expected=expected, got=got)


def _first(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first few texts, and a sign that there are more."""
    known = [text for text in texts if text]
    return (*known[:SHOWN], *(["…"] if len(known) > SHOWN else []))


def _shown_inputs(check: Check, inputs: Any) -> tuple[str, ...]:
    """Show the inputs that are small enough, under the names that the check gives them."""
    names = list(inspect.signature(check.expected).parameters)
    texts = []
    for name, value in zip(names, inputs, strict=False):
        for path, leaf in flat(value).items():
            if leaf.array is not None and leaf.array.size <= 8:
                texts.append(_shown(f"{name}{path}", leaf))
    return tuple(texts[:SHOWN])
