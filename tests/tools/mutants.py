"""Small changes of the source, drawn at random: do the tests notice them?

python tests/tools mutants modules pure haiku_site        40 changes of each room, or of the site
python tests/tools mutants update/step.py --count 80      80 changes of one file
python tests/tools mutants update/step.py --only "step + 1"    changes of lines with this text

Cosmic Ray makes the changes, and two more are made here: a statement or a named argument is left
out. What they cannot change is left out: annotations, and what is raised. Each change gets the
tests that run its line, the quickest first, until one fails; ``--budget`` says for how many
seconds of tests. The tests run in a fork of a process that has imported JAX. Meanwhile the file
itself has the change, because tests start processes too; afterwards it is what it was before. The
package must be installed as editable. A line that runs only in such processes gets the tests of
its file, or of the room, as far as the budget goes. Slow tests do not run.

The score is the share of the changes that a test noticed, without those in ``EQUIVALENT``, which
change no result. A change that survives is either such a one, or it wants a sharper test.
"""

import argparse
import ast
import contextlib
import difflib
import functools
import hashlib
import itertools
import json
import os
import random
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tools import ROOT

PACKAGE, BUILD = ROOT / "haiku_state", ROOT / "build/mutants"
SITE = ROOT / "conf/sphinx"
sys.path.insert(0, str(ROOT))  # what is changed is the source
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(BUILD / "hypothesis")

import conftest  # noqa: E402
import haiku  # noqa: E402, F401
import hypothesis  # noqa: E402, F401
import optax.contrib  # noqa: E402, F401
import orbax.checkpoint  # noqa: E402, F401
import pytest  # noqa: E402
from cosmic_ray.ast import ast_nodes, get_ast  # noqa: E402
from cosmic_ray.mutating import mutate_code  # noqa: E402
from cosmic_ray.plugins import get_operator, operator_names  # noqa: E402
from coverage import Coverage  # noqa: E402
from tools.equivalent_mutants import EQUIVALENT  # noqa: E402

CORE = (
    *("modules", "pure", "update", "recipes", "errors/test_problems.py"),
    *("errors/test_right_lines.py", "test_five_ways.py", "test_data.py"),
)
TESTS = {
    **dict.fromkeys(("modules", "pure", "update"), CORE),
    "recipes": ("recipes", "errors/test_right_lines.py"),
    "storage": ("storage",),
    "processes": ("processes", "test_exchange.py"),
    "inside": ("inside", "commands/test_explain.py"),
    "exercises": ("exercises", "commands/test_exercises.py"),
    "commands": ("commands",),
    "testing": ("testing",),
    "errors": ("errors",),
    "haiku_site": ("sphinx",),
}
"""The folders and files of tests that know a room; the examples of its docstrings do too."""
NOT_PYTHON = {"core/VariableReplacer", "core/VariableInserter"}  # they need the names of variables


# ---- The changes


class Mutant(NamedTuple):
    """A file with one change."""

    file: Path
    line: int
    operator: str
    text: str

    @property
    def change(self) -> str:
        """The lines that differ, as ``-`` and ``+``."""
        old, new = self.file.read_text("utf-8").splitlines(), self.text.splitlines()
        diff = [*difflib.unified_diff(old, new, n=0, lineterm="")][3:]
        return "\n".join(line[0] + line[1:].strip() for line in diff if line[0] in "+-")

    @property
    def reason(self) -> str | None:
        """Why the change makes no difference, if that is known."""
        name = name_of(self.file)
        for reason, changes in EQUIVALENT.items():
            for where, change in changes:
                if where == name and re.search(change, self.change):
                    return reason
        return None

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}"


def files_of(path: Path) -> list[Path]:
    """The file, or those of the folder; not the exercises, whose tests are slow."""
    found = sorted(path.rglob("*.py"))
    return [path] if path.is_file() else [each for each in found if each.parent.name != "course"]


Span = tuple[tuple[int, int], tuple[int, int]]
Way = tuple[str, Callable[[], str]]  # the name of an operator, and what returns the changed text


def name_of(file: Path) -> str:
    """Return the name of a file, such as update/step.py or haiku_site/progress.py."""
    return file.relative_to(PACKAGE if PACKAGE in file.parents else SITE).as_posix()


def span_of(node: Any) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def left_out(tree: ast.Module) -> Iterator[Span]:
    """The places where a change says nothing: types, what is raised, ``strict`` of a ``zip``."""
    for node in ast.walk(tree):
        match node:
            case ast.arg(annotation=ast.expr() as types) | ast.AnnAssign(annotation=types):
                yield span_of(types)
            case ast.FunctionDef(returns=ast.expr() as types):
                yield span_of(types)
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                yield span_of(node)
            case ast.Raise(exc=ast.expr() as error):
                yield span_of(error)
            case ast.Call(func=ast.Name("zip"), keywords=[strict]):
                yield span_of(strict)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            yield span_of(node)


def ways(file: Path) -> dict[Span, list[Way]]:
    """Return how each place of a file can change; to change the text takes long in a long file."""
    source = file.read_text("utf-8")
    original = ast.parse(source)
    avoided = [*left_out(original)]
    found: dict[Span, list[Way]] = defaultdict(list)
    lines, nodes = source.splitlines(), [*ast_nodes(get_ast(source))]
    for name in sorted({*operator_names()} - NOT_PYTHON):
        operator = get_operator(name)()
        places = (place for node in nodes for place in operator.mutation_positions(node))
        for i, place in enumerate(places):
            (line, column), _end = place
            if not lines[line - 1].startswith("*,", column):  # of a signature, and no product
                change = functools.partial(mutate_code, source, operator, i)
                found[place].append((name.removeprefix("core/"), change))
    starts = [0, *itertools.accumulate(map(len, source.encode().splitlines(keepends=True)))]
    for place, name, new in removals(original):
        start, end = (starts[line - 1] + column for line, column in place)
        text = source.encode()[:start] + new.encode() + source.encode()[end:]
        found[place].append((name, text.decode))
    return {
        place: each
        for place, each in found.items()
        if not any(start <= place[0] and place[1] <= end for start, end in avoided)
    }


def mutant_of(file: Path, place: Span, way: Way) -> Mutant | None:
    """Change a place in one way; None if the change is no program, is no change, or is known."""
    operator, change = way
    try:
        text = change()
        changed = ast.parse(text)
    except (SyntaxError, AttributeError, TypeError):  # Cosmic Ray fails at `except module.Error`
        return None
    mutant = Mutant(file, place[0][0], operator, text)
    is_same = ast.dump(changed) == ast.dump(ast.parse(file.read_text("utf-8")))
    return None if is_same or mutant.reason else mutant


def removals(tree: ast.Module) -> Iterator[tuple[Span, str, str]]:
    """Statements and named arguments that can be left out."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
                yield span_of(node), "RemoveStatement", "pass"
            case ast.Assign(targets=[target], value=value):
                names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
                used = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
                if names <= used or isinstance(target, ast.Attribute | ast.Subscript):
                    yield span_of(node), "RemoveStatement", "pass"
            case ast.Call(keywords=keywords):
                for each in keywords:
                    if each.arg:
                        yield span_of(each), "RemoveArgument", "**{}"


def drawn(files: list[Path], seed: int) -> Iterator[Mutant]:
    """Changes at different places, each place as probable as another."""
    places = [(file, *each) for file in files for each in sorted(ways(file).items())]
    draw = random.Random(seed)
    draw.shuffle(places)
    for file, place, each in places:
        draw.shuffle(each)
        yield from itertools.islice(filter(None, (mutant_of(file, place, way) for way in each)), 1)


def of_lines(files: list[Path], text: str) -> Iterator[Mutant]:
    """All changes of the lines that have a text."""
    for file in files:
        lines = file.read_text("utf-8").splitlines()
        for place, each in sorted(ways(file).items()):
            if text in lines[place[0][0] - 1]:
                yield from filter(None, (mutant_of(file, place, way) for way in each))


# ---- The tests


class Recorder:
    """A plugin of pytest: it chooses and orders tests, and records what each of them does."""

    def __init__(self, chosen: list[str] | None = None, coverage: Coverage | None = None) -> None:
        self.chosen, self.coverage = chosen, coverage
        self.failed: list[str] = []
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.chosen is not None:
            place = {name: i for i, name in enumerate(self.chosen)}
            items[:] = sorted(
                (item for item in items if item.nodeid in place), key=lambda i: place[i.nodeid]
            )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self.coverage:
            self.coverage.switch_context(item.nodeid)
        yield
        if self.coverage:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def run(files: list[str], recorder: Recorder, *options: str) -> int:
    """Run tests in this process."""
    arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", "--noconftest", "--doctest-modules"]
    arguments += ["--assert=plain"]  # no hook that loads the package in another way
    return int(pytest.main([*arguments, *options, *files], plugins=[conftest, recorder]))


def in_fork(work: Callable[[], Any], seconds: float, log: Path) -> Any:
    """Return what a function gives in a process of its own, or how that process ended."""
    result = BUILD / "result.json"
    result.unlink(missing_ok=True)
    if not (child := os.fork()):
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.chdir(ROOT)
        try:
            result.write_text(json.dumps(work()), "utf-8")
        except BaseException as error:  # as an import that fails
            result.write_text(json.dumps(f"{type(error).__name__}: {error}"), "utf-8")
        os._exit(0)
    end = time.monotonic() + seconds
    try:
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                raise TimeoutError
            time.sleep(0.05)
    except BaseException as error:  # as a SIGTERM to this process
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if isinstance(error, TimeoutError):
            return "it took too long"
        raise
    return json.loads(result.read_text("utf-8")) if result.exists() else "the process died"


class Tests(NamedTuple):
    """Which tests run which lines of the package, and how long they take."""

    seconds: dict[str, float]
    lines: dict[str, dict[str, list[str]]]

    def of(self, mutant: Mutant, budget: float) -> list[str]:
        """The tests that run the line of a change, those of its own file first."""
        lines = self.lines.get(name_of(mutant.file), {})
        texts = mutant.file.read_text("utf-8").splitlines()
        statement = {texts[line - 1].strip() for line in statement_of(mutant)}
        running = {test for text in statement for test in lines.get(text, ())}
        running = running or {test for tests in lines.values() for test in tests}
        running = running or {*self.seconds}  # the file runs in other processes only
        room, name = name_of(mutant.file).partition("/")[0], mutant.file.stem

        def rank(test: str) -> tuple[bool, bool, float]:
            file = test.partition("::")[0]
            return not file.endswith(f"test_{name}.py"), f"/{room}/" not in file, self.seconds[test]

        spent, chosen = 0.0, []
        for test in sorted(running, key=rank):
            spent += self.seconds[test]
            if spent <= budget:
                chosen.append(test)
        files: dict[str, list[str]] = defaultdict(list)  # whose fixtures are made only once
        for test in chosen:
            files[test.partition("::")[0]].append(test)
        return [test for tests in files.values() for test in tests]


def statement_of(mutant: Mutant) -> range:
    """The lines of the statement that has the change, of a compound one those of its head.

    Of a function it is the body: its head runs once, when the module is imported. So does what is
    in no function, and has no lines here.
    """
    found, is_in_function = range(mutant.line, mutant.line + 1), False
    for node in ast.walk(ast.parse(mutant.file.read_text("utf-8"))):
        if not isinstance(node, ast.stmt):
            continue
        decorators = getattr(node, "decorator_list", [])
        first = min(each.lineno for each in (node, *decorators))
        if first <= mutant.line <= node.end_lineno:
            is_in_function |= isinstance(node, ast.FunctionDef)
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno
            if mutant.line <= end:
                found = range(node.lineno, max(node.lineno, end) + 1)
                if isinstance(node, ast.FunctionDef):
                    found = range(end + 1, node.end_lineno + 1)
    return found if is_in_function else range(0)


def tests_of(room: str) -> Tests:
    """Run each file of tests once for each state of it, and record which lines its tests run."""
    seconds: dict[str, float] = {}
    lines: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for place in [*(ROOT / "tests" / each for each in TESTS[room]), PACKAGE / room]:
        for file in files_of(place):
            text = file.read_bytes()
            if not file.name.startswith("test_") and b">>> " not in text:
                continue
            name = file.relative_to(ROOT).as_posix()
            key = hashlib.sha256(text).hexdigest()[:12]
            kept = BUILD / f"{name.replace('/', '.')}-{key}.json"
            if not kept.exists():
                print(f"{name}: which lines do its tests run?", flush=True)
                recorded = in_fork(functools.partial(record, name), 1800, BUILD / "tests.log")
                if isinstance(recorded, str):
                    sys.exit(f"{recorded}: see {BUILD}/tests.log")
                kept.write_text(json.dumps(recorded), "utf-8")
            found = json.loads(kept.read_text("utf-8"))
            seconds |= found["seconds"]
            for test in found["failed"]:
                print(f"fails without any change: {test}")
            for source, by_line in found["lines"].items():
                for line, names in by_line.items():
                    lines[source][line] += names
    return Tests(seconds, lines)


def record(name: str) -> Any:
    """Run the tests of one file; return the seconds of each, and which lines each of them runs."""
    coverage = Coverage(data_file=None, source=[str(PACKAGE), str(SITE)])
    recorder = Recorder(coverage=coverage)
    coverage.start()
    run([name], recorder)
    coverage.stop()
    lines: dict[str, dict[str, list[str]]] = {}
    for file in (data := coverage.get_data()).measured_files():
        # by the text of a line, so that the record outlives an edit of other lines
        texts = Path(file).read_text("utf-8").splitlines()
        found = lines[name_of(Path(file))] = defaultdict(list)
        for line, tests in data.contexts_by_lineno(file).items():
            found[texts[line - 1].strip()] += [
                test for test in tests if test and test not in recorder.failed
            ]
    return {"seconds": recorder.seconds, "lines": lines, "failed": recorder.failed}


@contextlib.contextmanager
def on_disk(mutant: Mutant) -> Iterator[None]:
    """Put a change into its file, and take it out again, unless somebody else has written there."""
    before, times = mutant.file.read_bytes(), mutant.file.stat()
    mutant.file.write_text(mutant.text, "utf-8")
    try:
        yield
    finally:
        assert mutant.file.read_text("utf-8") == mutant.text, f"{mutant.file} was edited"
        mutant.file.write_bytes(before)
        os.utime(mutant.file, ns=(times.st_atime_ns, times.st_mtime_ns))


def noticed(mutant: Mutant, tests: Tests, budget: float) -> str | None:
    """Return the first test that fails with a change, or how else the tests ended."""
    chosen = tests.of(mutant, budget)
    if not chosen:
        return None

    def test() -> Any:
        recorder = Recorder(chosen)
        files = [*dict.fromkeys(test.partition("::")[0] for test in chosen)]
        code = run(files, recorder, "-x")
        return None if code == 0 else (recorder.failed or [f"pytest ended with {code}"])[0]

    expected = sum(tests.seconds[test] for test in chosen)
    with on_disk(mutant):
        return in_fork(test, 120 + 10 * expected, BUILD / "tests.log")


# ---- The command


def main() -> int:
    """Print a line for each change, those that survived with their diff, and the score."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "places", nargs="+", help="rooms and files, such as update or pure/check.py"
    )
    parser.add_argument("--count", type=int, default=40, help="how many changes of each place")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests for a change")
    parser.add_argument("--only", help="each change of the lines that have this text")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a changed file is restored
    assert not any(name.startswith(("haiku_state", "haiku_site")) for name in sys.modules)
    all_killed = True
    for place in options.places:
        room = place.partition("/")[0]
        path = (PACKAGE if (PACKAGE / room).exists() else SITE) / place
        files = files_of(path)
        tests = tests_of(room)
        found = of_lines(files, options.only) if options.only else drawn(files, options.seed)
        chosen = [*itertools.islice(found, None if options.only else options.count)]
        alive = []
        for mutant in chosen:
            began = time.monotonic()
            by = noticed(mutant, tests, options.budget)
            took = f"{time.monotonic() - began:.0f} s"
            print(f"{mutant}: {by or 'SURVIVED'}, {took}", flush=True)
            if by is None:
                alive.append(mutant)
                print(f"  {mutant.operator}\n" + re.sub("(?m)^", "  ", mutant.change), flush=True)
        killed = len(chosen) - len(alive)
        print(f"{place}: {killed} of {len(chosen)} noticed, {killed / max(1, len(chosen)):.0%}")
        all_killed &= not alive
    return int(not all_killed)


if __name__ == "__main__":
    sys.exit(main())
