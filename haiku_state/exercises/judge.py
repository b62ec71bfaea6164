"""The checker: it compares what a learner's process saw with what the solution gives.

The solution runs in a process of its own. So do the wrong programs of the exercise, once an answer
has failed: one that gives what the answer gave tells which mistake it is.
"""

import ast
import importlib.util
import itertools
import re
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import reader_language, reading, translated
from haiku_state.exercises import ideas
from haiku_state.exercises.cells import solution_code
from haiku_state.exercises.exercise import Check, Exercise, Idea
from haiku_state.exercises.result import NOTE, Failure, Result
from haiku_state.exercises.sandbox import guard
from haiku_state.exercises.sandbox.process import GIBIBYTES, KINDS, Ended, Process
from haiku_state.exercises.sandbox.values import Leaf, Tree, decoded

SHOWN = 3
SAID = 400
"""How much of an error is told, in letters."""
_LOG_OF_XLA = r"[IWEF]\d{4} \d\d:\d\d:\d\d|=== Source Location Trace|external/xla/"

ENDED = {
    "time": _("The code did not end within {seconds} seconds."),
    "output": _("The code printed more than a megabyte and was stopped."),
    "died": _("The process of the code ended before all checks were done (exit code {code})."),
}
MEMORY = _("The code needed more than {size} GiB of memory.")
EXITS = _("The code itself ended the program ({kind}).")
MISSING = _("The code does not define `{name}`.")
ASKS = _("The code asks for input, but during a check nobody can answer.")
ONE_FILE = _(
    "{problem}. An answer is one file: it can import what is installed, but no other file."
)
REFUSED = _("The code {what}, which is not allowed while it is checked.")
REPLACED = _("The code {what}, but the checks use the unmodified libraries.")
WRONG = _("The result is not as expected.")
PROBLEMS = {
    "again": _("Two calls with the same arguments return different results."),
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
TYPES = _("The numbers are right, but their types are not.")

NEEDS = _("The exercise needs JAX {version} or newer, but {installed} is installed.")
NEEDS_LIBRARY = _(
    "The exercise needs {library}, which is not installed: python -m pip install {library}"
)
SOLUTION_FAILS = _("{file}, line {line}: the solution or its checks fail: {error}")
SOLUTION_ENDS = _("the process has ended")
WHY_SOLUTION = _(
    "inputs and checks can use what the program imports at its beginning and what the cell `setup` "
    "defines; everything else that the program defines is in `answer`"
)

PROGRAM = "<program>"
OWN_SECONDS = 90
"""How long the programs of an exercise may take."""

SLIPS = ("NameError", "SyntaxError", "IndentationError", "TabError", "ImportError",
         "ModuleNotFoundError", "UnboundLocalError")  # fmt: skip
"""Errors that say themselves what is wrong."""


class Truth(NamedTuple):
    """What a right answer gives.

    Args:
      seed: what the hidden inputs are drawn with.
      rows: for each check and each draw, what the solution gives, and the inputs.
    """

    seed: int
    rows: list[list[dict[str, Any]]]


class Checker:
    """Checks answers to one exercise; as a context, it ends the processes that wait for them.

    Processes, hidden inputs and expected results are there before an answer comes, so that a check
    takes no longer than the answer.

    Args:
      exercise: which exercise.
      is_eager: whether a check prepares the next one.
    """

    def __init__(self, exercise: Exercise, is_eager: bool = False) -> None:
        self.exercise, self._is_eager = exercise, is_eager
        self._language = reader_language()
        self._missing = missing_for(exercise)
        self._pool = ThreadPoolExecutor(2)
        self._work = tempfile.TemporaryDirectory(prefix="haiku_state_", ignore_cleanup_errors=True)
        self._teacher = None if self._missing else self._pool.submit(self._begun)
        self._ready = None if self._missing else self._prepared()

    def __enter__(self) -> "Checker":
        return self

    def __exit__(self, *_error: object) -> None:
        for future in self._ready or ():
            if isinstance(found := _result_or_error(future), Process):
                found.__exit__()
        if self._teacher and isinstance(found := _result_or_error(self._teacher), Teacher):
            found.process.__exit__()
        self._pool.shutdown()
        self._work.cleanup()

    def _begun(self) -> "Teacher":
        with ExitStack() as stack, reading(self._language):
            process = stack.enter_context(Process(KINDS[1]))
            teacher = Teacher(self.exercise, process, self._work.name)
            stack.pop_all()  # it works: it is ended with the checker
        return teacher

    def _prepared(self) -> "tuple[Future[Process], Future[Truth]]":
        assert self._teacher is not None
        teacher = self._teacher

        def truth() -> Truth:
            with reading(self._language):
                return teacher.result().truth()

        return self._pool.submit(self._waiting), self._pool.submit(truth)

    def _waiting(self) -> Process:
        process = Process(KINDS[0])
        process.stage(_staged(self.exercise, self._work.name))
        return process

    def check(self, source: str, path: Path, is_whole: bool = True) -> Result:
        """Check an answer.

        Args:
          source: the answer.
          path: its file, which is not read again.
          is_whole: whether the source is a whole program, and not one that takes the place of a
            part of the solution.

        Returns:
          The result. Whatever the answer does, this method returns.

        Raises:
          ExerciseError: if the solution of the exercise fails.
        """
        if self._missing or self._teacher is None:
            return _result(self.exercise, 0, Failure(self._missing), Ended(), source, path)
        process, truth = self._ready or self._prepared()
        self._ready = None
        known, teacher = truth.result(), self._teacher.result()
        program = {
            "path": str(path),
            "source": source,
            "is_whole": is_whole,
            "seconds": self.exercise.seconds,
        }
        question = {"checks": [*range(len(self.exercise.checks))], "seed": known.seed}
        with process.result() as learner:
            ended = learner.run(program, question, 3 * self.exercise.seconds)
        result = self._judged(known, teacher, ended, source, path)
        if self._is_eager:
            self._ready = self._prepared()
        return result

    def _judged(
        self, truth: Truth, teacher: "Teacher", ended: Ended, source: str, path: Path
    ) -> Result:
        exercise = self.exercise
        numbers = range(len(exercise.checks))
        rows = [[m["seen"] for m in ended.messages if m.get("check") == n] for n in numbers]
        for number, check in enumerate(exercise.checks):
            for draw, seen in enumerate(rows[number][: check.draws]):
                right = truth.rows[number][draw]
                for name, failure in _failures(check, right, seen):
                    place = Place(name, number, draw, rows, truth)
                    idea = cause(teacher, place, seen)
                    told = _told(exercise, check, replace(failure, idea=idea), right)
                    return _result(exercise, number, told, ended, source, path)
            if len(rows[number]) < check.draws:
                ends = _of_end(ended, exercise, path) or Failure(translated(WRONG))
                error = ended.messages[0].get("error") if ended.messages else None
                if error and not ends.idea:
                    ends = replace(ends, idea=cause_of_load(teacher, error))
                return _result(exercise, number, ends, ended, source, path)
        return _result(exercise, len(numbers), _of_end(ended, exercise, path), ended, source, path)


def judge(exercise: Exercise, source: str, path: Path, is_whole: bool = True) -> Result:
    """Check one answer; see :meth:`Checker.check`."""
    with Checker(exercise) as checker:
        return checker.check(source, path, is_whole)


def _result_or_error(future: "Future[Any]") -> Any:
    return future.exception() or future.result()


def _staged(exercise: Exercise, work: str) -> dict[str, Any]:
    return {
        "name": exercise.name,
        "folder": str(exercise.folder),
        "text": exercise.text,
        "work": work,
    }


def missing_for(exercise: Exercise) -> str:
    """Return what is not installed and an exercise needs, in the reader's language, or ""."""
    tree = ast.parse(solution_code(exercise))
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    names = {getattr(one, "module", None) or one.names[0].name for one in imports}
    for library in sorted({name.partition(".")[0] for name in names}):
        if importlib.util.find_spec(library) is None:
            return translated(NEEDS_LIBRARY).format(library=library)
    installed = metadata.version("jax")
    if not exercise.jax or _numbers(installed) >= _numbers(exercise.jax):
        return ""
    return translated(NEEDS).format(version=exercise.jax, installed=installed)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


class Teacher:
    """The process of the programs that the exercise itself has.

    Args:
      exercise: which exercise.
      process: a new one.
      work: the folder that programs may write to.

    Raises:
      ExerciseError: if the solution fails.
    """

    def __init__(self, exercise: Exercise, process: Process, work: str) -> None:
        self.exercise, self.process = exercise, process
        self._checks = [*range(len(exercise.checks))]
        wrong = [one for one in exercise.programs if one.idea]
        self._sources = [one.code for one in wrong]
        self._ideas = [one.idea for one in wrong if one.idea]
        staged = process.stage(_staged(exercise, work))
        program = {"path": PROGRAM, "source": "", "is_whole": False, "seconds": 0}
        end = time.monotonic() + OWN_SECONDS
        loaded = staged if staged.get("error") else process.load(program, end) or {}
        if loaded.get("error", True):
            self._fail(loaded.get("error"))

    def truth(self, closed_form: bool = False) -> Truth:
        """Draw hidden inputs, and return for each check and each draw what the solution gives.

        Raises:
          ExerciseError: if the solution fails.
        """
        seed = secrets.randbits(64)  # only now: no program knows it
        messages = self._asked(seed, is_truth=True, closed_form=closed_form, properties=["eager"])
        rows = [[m["seen"] for m in messages if m.get("check") == n] for n in self._checks]
        eager = [seen["eager"] for row in rows for seen in row]
        error = next((one["error"] for one in eager if "error" in one), None)
        if error or not messages or not messages[-1].get("done"):
            self._fail(error)
        return Truth(seed, rows)

    def _fail(self, error: dict[str, Any] | None) -> NoReturn:
        said = _of_error(error).problem if error else translated(SOLUTION_ENDS)
        line = (error and error["line"]) or 1
        file = f"{self.exercise.name}.py"
        raise ExerciseError(
            problem=translated(SOLUTION_FAILS).format(file=file, line=line, error=said),
            wrong=f"{file}:{line}",
            right="# %% setup",
            why=WHY_SOLUTION,
        )

    def differs_from_closed_form(
        self, check: Check, seen: dict[str, Any]
    ) -> tuple[str, str] | None:
        """Return a leaf of the closed form, and that of the solution, if they differ."""
        result = seen.get("closed_form", seen["eager"])
        if "error" in result:
            return "", _of_error(result["error"]).problem
        pairs = _differences(decoded(result["tree"]), decoded(seen["eager"]["tree"]), check)
        return pairs[0] if pairs else None

    def of_load(self, error: dict[str, Any], seed: int = 0) -> Idea | None:
        """Return the idea of the wrong program that ends with this error before it is called."""
        for message in self._asked(seed, sources=self._sources, checks=[]):
            if message.get("error") and _kind(message["error"]) == _kind(error):
                return self._ideas[message["source"]]
        return None

    def of_programs(self, place: "Place") -> Idea | None:
        """Return the idea of the wrong programs that give what the answer gave, if it is one."""
        name, number, rows = place.name, place.number, place.rows
        check = self.exercise.checks[number]
        shown = "eager" if name == "types" else name
        right = place.truth.rows[number][place.draw]["eager"]
        found = self._seen(place.truth.seed, [number], [shown])

        def is_alike(theirs: list[dict[str, Any]], until: int) -> bool:
            pairs = list(zip(theirs, rows[number], strict=False))[:until]
            return len(pairs) == until and all(
                shown in one
                and shown in other
                and _is_same(one[shown], other[shown], check, name == "types")
                for one, other in pairs
            )

        alike = [
            source
            for source, (theirs,) in found.items()
            if is_alike(theirs, place.draw + 1)
            and not _is_same(theirs[place.draw][shown], right, check, name == "types")
        ]
        # one that remembers something may go on in its own way
        alike = [s for s in alike if is_alike(found[s][0], len(rows[number]))] or alike
        if len({self._ideas[source] for source in alike}) > 1:
            more = self._seen(place.truth.seed, self._checks, ["eager"], alike)
            count = {
                source: sum(map(self._explains, self._checks, theirs, rows))
                for source, theirs in more.items()
            }
            alike = [source for source in alike if count[source] == max(count.values())]
        known = {self._ideas[source] for source in alike}
        return known.pop() if len(known) == 1 else None

    def _explains(self, number: int, theirs: Any, mine: Any) -> bool:
        check = self.exercise.checks[number]
        return len(theirs) == len(mine) and all(
            _is_same(one["eager"], other["eager"], check)
            for one, other in zip(theirs, mine, strict=True)
        )

    def _seen(
        self, seed: int, checks: list[int], properties: list[str], only: list[int] | None = None
    ) -> dict[int, list[list[dict[str, Any]]]]:
        """Return what the wrong programs give, by their numbers: for each check and each draw."""
        chosen = [*range(len(self._sources))] if only is None else only
        sources = [self._sources[number] for number in chosen]
        messages = self._asked(seed, sources=sources, checks=checks, properties=properties)
        return {
            source: [
                [m["seen"] for m in messages if (m.get("source"), m.get("check")) == (row, number)]
                for number in checks
            ]
            for row, source in enumerate(chosen)
        }

    def _asked(self, seed: int, **question: Any) -> list[dict[str, Any]]:
        question = {"checks": self._checks, "seed": seed, **question}
        return self.process.ask(question, time.monotonic() + OWN_SECONDS)


class Place(NamedTuple):
    """Where an answer fails.

    Args:
      name: the property that it lacks; ``eager`` for its values.
      number: which check.
      draw: which draw of its inputs.
      rows: what was seen of the answer, for each check and each draw.
      truth: what a right answer gives.
    """

    name: str
    number: int
    draw: int
    rows: list[list[dict[str, Any]]]
    truth: Truth


def cause(teacher: Teacher, place: Place, seen: dict[str, Any]) -> Idea | None:
    """Return the idea that an answer lacks, as far as it is sure.

    A wrong program of the exercise that gives the same result, or ends with the same error, tells
    it; else :func:`.explain`, if it finds something in this call; else a message of JAX that can
    have no other cause; else the property that the answer lacks. Otherwise nobody knows.
    """
    name = place.name
    error = seen.get(name, {}).get("error") if name != "pure" else None
    if error and (error["kind"] in SLIPS or error["kind"] == "UnboundAxisError"):
        return ideas.of_message(error["kind"], error["text"])
    if name == "keys":
        return ideas.KEY_REUSED if not error or error["kind"] == "KeyReuseError" else None
    if name not in ("pure", "arguments") and (idea := teacher.of_programs(place)):
        return idea
    if finding := next(iter(seen.get("pure", {}).get("findings", ())), None):
        is_argument = finding["form"] == "argument"
        return ideas.CHANGED_ARGUMENT if is_argument else ideas.BY_FINDING.get(finding["kind"])
    if error:
        return ideas.of_message(error["kind"], error["text"])
    if name == "types":
        wrong = _types(*_trees(place.truth.rows[place.number][place.draw], seen), True)
        lost_key = any("key<" in one and "key<" not in other for one, other in wrong)
        return ideas.KEY_DATA if lost_key else ideas.DTYPE
    return ideas.BY_PROPERTY.get(name)


def cause_of_load(teacher: Teacher, error: dict[str, Any]) -> Idea | None:
    """Return the idea behind an error that a program raises before anybody calls it."""
    known = None if error["kind"] in SLIPS else teacher.of_load(error)
    return known or ideas.of_message(error["kind"], error["text"])


def _trees(right: dict[str, Any], seen: dict[str, Any]) -> tuple[Tree, Tree]:
    return decoded(right["eager"]["tree"]), decoded(seen["eager"]["tree"])


def _told(exercise: Exercise, check: Check, failure: Failure, right: dict[str, Any]) -> Failure:
    if exercise.kind in ("predict", "quiz"):
        return replace(failure, expected=())
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
    told += [(guard.LOOKS, what) for what in last.get("looked", ())]
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
        return _of_error(first["error"])
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


def _of_error(error: dict[str, Any]) -> Failure:
    kind, text = error["kind"], error["text"]
    said = _said(text)
    problem = f"{kind}: {said}" if said else kind
    if kind in ("SystemExit", "KeyboardInterrupt"):
        problem = translated(EXITS).format(kind=kind)
    elif match := re.fullmatch(r"module 'answer' has no attribute '(\w+)'", said):
        problem = translated(MISSING).format(name=match[1])
    elif kind == "EOFError":
        problem = translated(ASKS)
    elif kind == "MemoryError":
        problem = translated(MEMORY).format(size=GIBIBYTES)
    elif kind == "ModuleNotFoundError":
        problem = translated(ONE_FILE).format(problem=problem)
    return Failure(problem, line=error["line"])


def _said(text: str) -> str:
    """Return the first paragraph of a message, and what it leads to, as far as sentences fit."""
    first, *more = re.split(r"\n\s*\n", text.strip())
    while more and first.rstrip().endswith(":"):
        first += f"\n{more.pop(0)}"
    lines = [line.strip() for line in first.splitlines()]
    # a sentence of its own on a line of its own, without the full stop that ends the line above
    paragraph = re.sub(r"(?<=[\w)\]])\n(?=[A-Z][a-z]+ )", ". ", "\n".join(filter(None, lines)))
    paragraph = " ".join(paragraph.split())
    if len(paragraph) <= SAID:
        return paragraph
    ends = [match.end() for match in re.finditer(r"[.!?](?= )", paragraph[:SAID])]
    return paragraph[: ends[-1]] if ends else paragraph[:SAID].rsplit(" ", 1)[0] + " …"


def _failures(
    check: Check, right: dict[str, Any], seen: dict[str, Any]
) -> Iterator[tuple[str, Failure]]:
    """Yield what is wrong in one draw of a check, each with the property that the answer lacks."""
    eager = seen["eager"]
    if "error" in eager:
        yield "eager", _of_error(eager["error"])
        return
    expected, got = _trees(right, seen)
    if differences := _differences(expected, got, check):
        yield "eager", _different(translated(WRONG), differences)
    for finding in seen.get("pure", {}).get("findings", ()):
        problem = translated(FOUND).format(kind=translated(finding["kind"]), name=finding["name"])
        yield "pure", Failure(problem, line=finding["line"] or None)
    if "arguments" in seen:
        before, after = decoded(right["arguments"]["tree"]), decoded(seen["arguments"]["tree"])
        if differences := _differences(before, after, Check("", tolerance=0.0)):
            yield "arguments", _different(translated(PROBLEMS["arguments"]), differences)
    for name in ("again", "jit", "vmap", "keys"):
        result = seen.get(name)
        if result is None:
            continue
        if "error" in result:
            failure = _of_error(result["error"])
            problem = translated(RAISES[name]).format(problem=failure.problem)
            yield name, replace(failure, problem=problem)
            continue
        against = got if name == "again" else expected
        allowed = replace(check, tolerance=0.0) if name == "again" else check
        if differences := _differences(against, decoded(result["tree"]), allowed):
            yield name, _different(translated(PROBLEMS[name]), differences)
    is_weak = "weak" in check.properties
    if "types" in check.properties and (wrong := _types(expected, got, is_weak, check.names)):
        yield "types", _different(translated(TYPES), wrong)


def _is_same(
    one: dict[str, Any], other: dict[str, Any], check: Check, with_types: bool = False
) -> bool:
    """Whether two programs gave the same values, or ended with the same error."""
    if "error" in one or "error" in other:
        return "error" in one and "error" in other and _kind(one["error"]) == _kind(other["error"])
    first, second = decoded(one["tree"]), decoded(other["tree"])
    if _differences(first, second, check):
        return False
    return not with_types or not _types(first, second, is_weak=True)


def _kind(error: dict[str, Any]) -> str:
    """The message of an error; its class, if it has none, or says all: JAX changes some classes."""
    first = (error["text"].strip().splitlines() or [""])[0]
    # without the addresses of objects and, since JAX 0.12, the place in a file
    same = re.sub(r"0x[0-9a-f]+|\S+:\d+:\d+ \(.+?\)", "", first)
    return same if " " in first else f"{error['kind']}: {first}"


def _differences(expected: Tree, got: Tree, check: Check) -> list[tuple[str, str]]:
    """Return pairs of texts, what was expected and what came, for each leaf that differs.

    Where the trees have different leaves, each side shows those that the other one lacks.
    """
    names = check.names
    if expected.keys() != got.keys():
        first, second = (
            [_shown(path, leaf, names) for path, leaf in tree.items() if path not in other]
            for tree, other in ((expected, got), (got, expected))
        )
        return list(itertools.zip_longest(first or ["–"], second or ["–"], fillvalue=""))
    return [
        (_shown(path, leaf, names), _shown(path, got[path], names))
        for path, leaf in expected.items()
        if not _equal(leaf, got[path], check.tolerance)
    ]


def _equal(one: Leaf, other: Leaf, tolerance: float) -> bool:
    if one.array is None or other.array is None:
        return one.array is None and other.array is None and one.text == other.text
    if one.array.shape != other.array.shape:
        return False
    if not {one.array.dtype.kind, other.array.dtype.kind} & {"f", "c"}:
        return bool((one.array == other.array).all())
    return np.allclose(one.array, other.array, tolerance, tolerance, equal_nan=True)


def _types(
    expected: Tree, got: Tree, is_weak: bool, names: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    return [
        (_type_of(path, one, names), _type_of(path, got[path], names))
        for path, one in expected.items()
        if one.dtype != got[path].dtype or (is_weak and one.weak != got[path].weak)
    ]


def _type_of(path: str, leaf: Leaf, names: tuple[str, ...]) -> str:
    return f"{_lead(path, names)}{leaf.dtype}{' (weak)' if leaf.weak else ''}"


def _shown(path: str, leaf: Leaf, names: tuple[str, ...] = ()) -> str:
    if leaf.array is None:
        return f"{_lead(path, names)}{leaf.text}"
    numbers = np.array2string(leaf.array, precision=6, threshold=8, edgeitems=2, separator=", ")
    shape = f" {leaf.dtype}[{','.join(map(str, leaf.array.shape))}]" if leaf.array.shape else ""
    return f"{_lead(path, names)}{' '.join(numbers.split())}{shape}"


def _lead(path: str, names: tuple[str, ...] = ()) -> str:
    """``state['w']: `` of ``[1]['w']``, if the parts have names, ``w: `` of ``['w']``."""
    if (match := re.match(r"\[(\d+)\]", path)) and int(match[1]) < len(names):
        path = names[int(match[1])] + path[match.end() :]
    path = re.sub(r"^\['([^']+)'\]", r"\1", path)
    return f"{path}: " if path else ""


def _different(problem: str, pairs: list[tuple[str, str]]) -> Failure:
    expected, got = (_first(side) for side in zip(*pairs, strict=True))
    return Failure(problem, expected=expected, got=got)


def _first(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first few texts, and a sign that there are more."""
    known = [text for text in texts if text]
    return (*known[:SHOWN], *(["…"] if len(known) > SHOWN else []))


def _shown_inputs(right: dict[str, Any]) -> tuple[str, ...]:
    """Show the inputs that are small enough, under the names that the check gives them."""
    texts = [
        _shown(path, leaf)
        for path, leaf in decoded(right["inputs"]).items()
        if leaf.array is not None and leaf.array.size <= 8
    ]
    return tuple(texts[:SHOWN])
