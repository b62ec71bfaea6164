"""The checker: it compares what a learner's process saw with what the solution gives.

The solution runs in a process of its own. So do the wrong programs of the exercise, once an answer
has failed: one that gives what the answer gave tells which mistake it is.
"""

import contextlib
import importlib
import itertools
import re
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea
from haiku_state.exercises.result import NOTE, Failure, Result
from haiku_state.exercises.sandbox import guard
from haiku_state.exercises.sandbox.process import CHILD, GIBIBYTES, KINDS, Ended, Process
from haiku_state.exercises.sandbox.values import Leaf, Tree, decoded
from haiku_state.exercises.source import stub_of

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
ASKS = _("It asks for input, but nobody is there to answer.")
REFUSED = _("It {what}, which is not allowed while it is checked.")
REPLACED = _("It {what}. The checks use the libraries as they are.")
WRONG = _("The result is not as expected.")
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
TYPES = _("The numbers are right, but their types are not.")

NEEDS = _("It needs JAX {version} or newer; {installed} is installed.")
SOLUTION_FAILS = _("{file}, line {line}: the solution or its checks fail: {error}")
SOLUTION_ENDS = _("its process has ended")
WHY_SOLUTION = _(
    "inputs and checks see what the cell `setup` imports, not what the program imports"
)

PROGRAM = "<program>"
OWN_SECONDS = 60
"""How long the programs of an exercise may take."""

SLIPS = ("NameError", "ModuleNotFoundError")
"""Errors that say themselves what is wrong: the idea of the check would mislead."""

IDEAS = {
    "again": ideas.NOT_REPEATABLE,
    "arguments": ideas.CHANGED_ARGUMENT,
    "jit": ideas.JIT_DIFFERS,
    "vmap": ideas.VMAP_DIFFERS,
    "keys": ideas.KEY_REUSED,
}


def judge(
    exercise: Exercise,
    source: str,
    path: Path,
    can_fork: bool = False,
    ready: Sequence[Process] = (),
    is_whole: bool = True,
) -> Result:
    """Check an answer.

    Args:
      exercise: which exercise.
      source: the answer.
      path: its file, which is not read again.
      can_fork: whether this process can be forked, having no threads and no arrays yet.
      ready: a process of each kind that waits for its job; new processes by default.
      is_whole: whether the source is a whole program, and not one that takes the place of a part of
        the solution.

    Returns:
      The result. Whatever the answer does, this function returns.
    """
    if missing := missing_for(exercise):
        return _result(exercise, 0, Failure(missing), Ended(), source, path)
    if can_fork:
        importlib.import_module(CHILD)  # once, and not in each fork
    to_kill = [number for number, check in enumerate(exercise.checks) if check.is_killed]
    checks = [*range(len(exercise.checks))]
    folder = tempfile.TemporaryDirectory(prefix="haiku_state_", ignore_cleanup_errors=True)
    with folder as work, contextlib.ExitStack() as stack:
        learner, own = ready or [stack.enter_context(Process(kind, can_fork)) for kind in KINDS]
        others = [stack.enter_context(Process("answers", can_fork)) for _number in to_kill]
        seed = secrets.randbits(64)  # only now: the processes do not know it
        teacher = Teacher(exercise, own, seed)
        pool = stack.enter_context(ThreadPoolExecutor(1 + len(to_kill)))
        truth = pool.submit(teacher.truth)
        job = {
            "name": exercise.name,
            "text": exercise.text,
            "path": str(path),
            "source": source,
            "is_whole": is_whole,
            "seconds": exercise.seconds,
            "work": work,
        }
        seconds = exercise.seconds * 3
        victims = {
            number: pool.submit(one.run, job, [_question(seed, [number], is_killed=True)], seconds)
            for number, one in zip(to_kill, others, strict=True)
        }

        def questions() -> Iterator[dict[str, Any]]:
            yield _question(seed, [number for number in checks if number not in victims])
            if to_kill:
                wait(victims.values())
                yield _question(seed, to_kill)

        ended = learner.run(job, questions(), seconds)
        known = truth.result()
        rows = [
            [m["seen"] for m in ended.messages if m.get("check") == number] for number in checks
        ]
        for number, check in enumerate(exercise.checks):
            if number in victims and (
                failure := _of_killed(victims[number].result(), exercise, path)
            ):
                return _result(exercise, number, failure, victims[number].result(), source, path)
            for draw, (right, seen) in enumerate(zip(known[number], rows[number], strict=False)):
                found = next(_failures(check, right, seen), None)
                if found is not None:
                    told = _told(*found, teacher, number, draw, rows, right, seen)
                    return _result(exercise, number, told, ended, source, path)
            if len(rows[number]) < check.draws:
                failure = _of_end(ended, exercise, path, teacher) or Failure(translated(WRONG))
                return _result(exercise, number, failure, ended, source, path)
        failure = _of_end(ended, exercise, path, teacher)
        return _result(exercise, len(exercise.checks), failure, ended, source, path)


def judge_program(exercise: Exercise, code: str) -> Result:
    """Check a program that takes the place of a part of the solution.

    Args:
      exercise: which exercise.
      code: functions that take the place of those of the solution, which are also in ``right``.
    """
    return judge(exercise, code, Path(f"{exercise.name}.py").absolute(), is_whole=False)


def judge_stub(exercise: Exercise) -> Result:
    """Check what a learner begins with."""
    path = Path(f"{exercise.name}.py").absolute()
    return judge(exercise, stub_of(exercise.program), path)


def _question(seed: int, checks: list[int], is_killed: bool = False) -> dict[str, Any]:
    return {"checks": checks, "seed": seed, "killed": is_killed}


def missing_for(exercise: Exercise) -> str:
    """Return what the installed JAX lacks for an exercise, in the reader's language, or ""."""
    installed = metadata.version("jax")
    if not exercise.jax or _numbers(installed) >= _numbers(exercise.jax):
        return ""
    return translated(NEEDS).format(version=exercise.jax, installed=installed)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


class Teacher:
    """The process of the programs that the exercise itself has."""

    def __init__(self, exercise: Exercise, process: Process, seed: int) -> None:
        self.exercise = exercise
        self._process, self._seed = process, seed
        self._checks = [*range(len(exercise.checks))]
        self._sources = [one.code for one in exercise.programs if one.idea]
        self._ideas = [one.idea for one in exercise.programs if one.idea]

    def truth(self, closed_form: bool = False) -> list[list[dict[str, Any]]]:
        """Return for each check and each draw what the solution gives, and the inputs.

        Raises:
          ExerciseError: if the solution fails.
        """
        exercise = self.exercise
        job = {
            "name": exercise.name,
            "text": exercise.text,
            "path": PROGRAM,
            "source": "",
            "is_whole": False,
            "seconds": 0,  # each question has its own limit
            "work": self._process.folder,
        }
        end = self._process.load(job, OWN_SECONDS)
        loaded = self._process.loaded(end)
        messages = self._asked(is_truth=True, closed_form=closed_form, properties=["eager"])
        rows = [[m["seen"] for m in messages if m.get("check") == n] for n in self._checks]
        error = loaded.get("error") or next(
            (seen["eager"]["error"] for row in rows for seen in row if "error" in seen["eager"]),
            None,
        )
        if error or not messages or not messages[-1].get("done"):
            line = error["line"] if error and error["line"] else 1
            said = _of_error(error).problem if error else translated(SOLUTION_ENDS)
            file = f"{exercise.name}.py"
            raise ExerciseError(
                problem=translated(SOLUTION_FAILS).format(file=file, line=line, error=said),
                wrong=f"{file}:{line}",
                right="# %% setup",
                why=WHY_SOLUTION,
            )
        return rows

    def differs_from_closed_form(
        self, check: Check, seen: dict[str, Any]
    ) -> tuple[str, str] | None:
        """Return a leaf of the closed form, and that of the solution, if they differ."""
        result = seen.get("closed_form", seen["eager"])
        if "error" in result:
            return "", _of_error(result["error"]).problem
        pairs = _differences(
            decoded(result["tree"]), decoded(seen["eager"]["tree"]), check.tolerance
        )
        return pairs[0] if pairs else None

    def idea_of_load(self, error: dict[str, Any]) -> Idea | None:
        """Return the idea of the wrong program that ends with this error before it is called."""
        for message in self._asked(sources=self._sources, checks=[]):
            if message.get("error") and _is_same({"error": message["error"]}, {"error": error}):
                return self._ideas[message["source"]]
        return None

    def idea_of(
        self,
        name: str,
        number: int,
        draw: int,
        rows: list[list[dict[str, Any]]],
        right: dict[str, Any],
    ) -> Idea | None:
        """Return the idea of the wrong program that gives what the answer gave in a check.

        Args:
          name: the property that the answer lacks; ``eager`` for its values.
          number: which check.
          draw: which draw of its inputs.
          rows: what was seen of the answer, for each check and each draw.
          right: what the solution gives.
        """
        check, shown = self.exercise.checks[number], "eager" if name == "types" else name
        found = self._of_programs([number], [shown])

        def is_alike(theirs: list[dict[str, Any]], until: int) -> bool:
            pairs = list(zip(theirs, rows[number], strict=False))[:until]
            return len(pairs) == until and all(
                shown in one
                and shown in other
                and _is_same(one[shown], other[shown], check.tolerance, name == "types")
                for one, other in pairs
            )

        alike = [
            source
            for source, (theirs,) in found.items()
            if is_alike(theirs, draw + 1)
            and not _is_same(theirs[draw][shown], right["eager"], check.tolerance, name == "types")
        ]
        # one that remembers something may go on in its own way
        always = [source for source in alike if is_alike(found[source][0], len(rows[number]))]
        alike = always or alike
        known = dict.fromkeys(self._ideas[source] for source in alike)
        if len(known) > 1:
            more = self._of_programs(self._checks, ["eager"], alike)
            count = {
                source: sum(map(self._explains, self._checks, theirs, rows))
                for source, theirs in more.items()
            }
            best = max(count.values())
            return next(self._ideas[source] for source in alike if count[source] == best)
        return next(iter(known), None)

    def _explains(self, number: int, theirs: Any, mine: Any) -> bool:
        tolerance = self.exercise.checks[number].tolerance
        return len(theirs) == len(mine) and all(
            _is_same(one["eager"], other["eager"], tolerance)
            for one, other in zip(theirs, mine, strict=True)
        )

    def _of_programs(
        self, checks: list[int], properties: list[str], only: list[int] | None = None
    ) -> dict[int, list[list[dict[str, Any]]]]:
        """Return what the wrong programs give, by their numbers: for each check and each draw."""
        chosen = [*range(len(self._sources))] if only is None else only
        sources = [self._sources[number] for number in chosen]
        messages = self._asked(sources=sources, checks=checks, properties=properties)
        return {
            source: [
                [m["seen"] for m in messages if (m.get("source"), m.get("check")) == (row, number)]
                for number in checks
            ]
            for row, source in enumerate(chosen)
        }

    def _asked(self, **question: Any) -> list[dict[str, Any]]:
        question = {"checks": self._checks, "seed": self._seed, **question}
        return self._process.ask(question, time.monotonic() + OWN_SECONDS)


def _told(
    name: str,
    failure: Failure,
    teacher: Teacher,
    number: int,
    draw: int,
    rows: list[list[dict[str, Any]]],
    right: dict[str, Any],
    seen: dict[str, Any],
) -> Failure:
    """Tell the idea behind a failure: of a wrong program that gives the same, or of `explain`."""
    exercise = teacher.exercise
    check = exercise.checks[number]
    if name in ("eager", "jit", "vmap", "keys", "types"):
        if idea := teacher.idea_of(name, number, draw, rows, right):
            failure = replace(failure, idea=idea, recognized=True)
        elif not failure.recognized and (found := next(_findings(check, seen), None)):
            failure = replace(found, expected=failure.expected, got=failure.got)
    if exercise.kind in ("predict", "quiz"):
        return replace(failure, expected=(), recognized=True)
    return replace(failure, inputs=_shown_inputs(right)) if failure.got else failure


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
    changed = tuple(map(str, last.get("changed", ())))
    return Result(exercise, checks, failure, printed, notes, path.name, changed)


def _of_end(
    ended: Ended, exercise: Exercise, path: Path, teacher: Teacher | None = None
) -> Failure | None:
    """Return what is wrong with how a process ended, or with what it did on its way."""
    first = ended.messages[0] if ended.messages else {}
    last = ended.messages[-1] if ended.messages else {}
    if first.get("error"):
        idea = teacher.idea_of_load(first["error"]) if teacher else None
        return replace(_of_error(first["error"]), idea=idea)
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


def _of_error(error: dict[str, Any]) -> Failure:
    kind, text = error["kind"], error["text"]
    first = text.strip().splitlines()[0] if text.strip() else ""
    problem = f"{kind}: {first}" if first else kind
    if kind in ("SystemExit", "KeyboardInterrupt"):
        problem = translated(EXITS).format(kind=kind)
    elif match := re.fullmatch(r"module 'answer' has no attribute '(\w+)'", first):
        problem = translated(MISSING).format(name=match[1])
    elif kind == "EOFError":
        problem = translated(ASKS)
    elif kind == "MemoryError":
        problem = translated(MEMORY).format(size=GIBIBYTES)
    return Failure(problem, line=error["line"])


def _failures(
    check: Check, right: dict[str, Any], seen: dict[str, Any]
) -> Iterator[tuple[str, Failure]]:
    """Yield what is wrong in one draw of a check, each with the property that the answer lacks."""
    eager = seen["eager"]
    if "error" in eager:
        failure = _of_error(eager["error"])
        if eager["error"]["kind"] not in SLIPS:
            known = _of_jax(eager["error"])
            failure = replace(failure, idea=known or check.idea, recognized=bool(known))
        yield "eager", failure
        return
    expected, got = decoded(right["eager"]["tree"]), decoded(eager["tree"])
    if differences := _differences(expected, got, check.tolerance):
        yield "eager", _different(translated(WRONG), check.idea, differences, recognized=False)
    for failure in _findings(check, seen):
        yield "pure", failure
    if "arguments" in seen:
        before, after = decoded(right["arguments"]["tree"]), decoded(seen["arguments"]["tree"])
        if differences := _differences(before, after, 0.0):
            yield (
                "arguments",
                _different(translated(PROBLEMS["arguments"]), IDEAS["arguments"], differences),
            )
    for name in ("again", "jit", "vmap", "keys"):
        result = seen.get(name)
        if result is None:
            continue
        if "error" in result:
            failure = _of_error(result["error"])
            idea = IDEAS["keys"] if name == "keys" else _of_jax(result["error"]) or IDEAS[name]
            problem = translated(RAISES[name]).format(problem=failure.problem)
            yield name, replace(failure, problem=problem, idea=idea)
            continue
        tree = decoded(result["tree"])
        against = got if name == "again" else expected
        allowed = 0.0 if name == "again" else check.tolerance
        if differences := _differences(against, tree, allowed):
            yield name, _different(translated(PROBLEMS[name]), IDEAS[name], differences)
    if "types" in check.properties and (wrong := _types(expected, got, "weak" in check.properties)):
        lost_key = any("key<" in one and "key<" not in other for one, other in wrong)
        idea = ideas.KEY_DATA if lost_key else ideas.DTYPE
        yield "types", _different(translated(TYPES), idea, wrong)


def _findings(check: Check, seen: dict[str, Any]) -> Iterator[Failure]:
    for finding in seen.get("pure", {}).get("findings", ()):
        kind, name = finding["kind"], finding["name"]
        problem = translated(FOUND).format(kind=translated(kind), name=name)
        is_argument = finding["form"] == "argument"
        idea = ideas.CHANGED_ARGUMENT if is_argument else ideas.BY_FINDING.get(kind, check.idea)
        yield Failure(problem, idea, line=finding["line"] or None)


def _of_jax(error: dict[str, Any]) -> Idea | None:
    """Return the idea behind an error of JAX itself."""
    if "Non-hashable static arguments" in error["text"]:
        return ideas.STATIC_VALUE
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


def _is_same(
    one: dict[str, Any], other: dict[str, Any], tolerance: float = 0.0, with_types: bool = False
) -> bool:
    """Whether two programs gave the same values, or ended with the same error."""
    if "error" in one or "error" in other:
        return "error" in one and "error" in other and _kind(one["error"]) == _kind(other["error"])
    first, second = decoded(one["tree"]), decoded(other["tree"])
    if _differences(first, second, tolerance):
        return False
    return not with_types or not _types(first, second, is_weak=True)


def _kind(error: dict[str, Any]) -> str:
    """The message of an error; its class, if it has none, or says all: JAX changes some classes."""
    first = (error["text"].strip().splitlines() or [""])[0]
    # without the addresses of objects and, since JAX 0.12, the place in a file
    same = re.sub(r"0x[0-9a-f]+|\S+:\d+:\d+ \(.+?\)", "", first)
    return same if " " in first else f"{error['kind']}: {first}"


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


def _types(expected: Tree, got: Tree, is_weak: bool) -> list[tuple[str, str]]:
    return [
        (_type_of(path, one), _type_of(path, got[path]))
        for path, one in expected.items()
        if one.dtype != got[path].dtype or (is_weak and one.weak != got[path].weak)
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


def _different(
    problem: str, idea: Idea, pairs: list[tuple[str, str]], recognized: bool = True
) -> Failure:
    expected, got = (_first(side) for side in zip(*pairs, strict=True))
    return Failure(problem, idea, recognized, expected=expected, got=got)


def _first(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first few texts, and a sign that there are more."""
    known = [text for text in texts if text]
    return (*known[:SHOWN], *(["…"] if len(known) > SHOWN else []))


def _shown_inputs(right: dict[str, Any]) -> tuple[str, ...]:
    """Show the inputs that are small enough, under the names that the check gives them."""
    texts = [
        _shown(_dotted(path), leaf)
        for path, leaf in decoded(right["inputs"]).items()
        if leaf.array is not None and leaf.array.size <= 8
    ]
    return tuple(texts[:SHOWN])


def _dotted(path: str) -> str:
    """``x['w']`` of ``['x']['w']``."""
    return re.sub(r"^\['(\w+)'\]", r"\1", path)
