"""Each exercise is as its file says: the solution passes, and a wrong program is told its idea."""

from pathlib import Path

import pytest

from haiku_state.errors import ExerciseError
from haiku_state.exercises import names
from haiku_state.exercises.cells import read
from haiku_state.exercises.courses import Course, ours
from haiku_state.exercises.exercise import KINDS
from haiku_state.exercises.judge import Checker, missing_for
from haiku_state.exercises.source import stub_of
from haiku_state.exercises.trial import STYLES, tried

# one exercise of each kind, whose programs are tried every time
SAMPLES = ("predict_trace", "branch", "counter", "a_ref", "quiz_pure", "capstone")

load = ours().load
each = pytest.mark.parametrize("name", names())


@pytest.fixture(autouse=True)
def possible(request):
    given = getattr(request.node, "callspec", None)
    if missing := missing_for(load(given.params.get("name", "counter") if given else "counter")):
        pytest.skip(missing)


@each
def test_exercises__the_solution_passes_and_the_stub_does_not(name):
    exercise = load(name)
    path = Path(f"{name}.py").absolute()
    with Checker(exercise) as checker:
        solved = checker.check("", path, is_whole=False)
        begun = checker.check(stub_of(exercise.program), path)
    assert solved.passed, str(solved)
    assert not begun.passed


@pytest.mark.slow
@each
def test_exercises__every_program_is_told_what_it_is(name):
    assert [(one.line, one.what, one.problem) for one in tried(load(name)) if one.problem] == []


@each
def test_exercises__each_has_three_wrong_programs(name):
    assert sum(one.idea is not None for one in load(name).programs) >= 3


def test_exercises__each_kind_has_a_sample():
    assert sorted(load(name).kind for name in SAMPLES) == sorted(KINDS)


OWN = sorted((Path(__file__).parent / "own").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("file", OWN, ids=lambda file: file.stem)
def test_exercises__one_that_a_teacher_has_written_is_as_it_says(file):
    exercise = read(file.stem, file.read_text(encoding="utf-8"))
    assert [one for one in tried(exercise) if one.problem] == []


FILE = ours().source("counter")
BROKEN = {
    "no docstring": (FILE.partition("# %%")[2], "counter.py, line 1: the file does not begin"),
    "no Python": (
        FILE.replace("def reset", "def def reset", 1),
        "Python cannot read the file: inv",
    ),
    "no kind": (FILE.replace("write, easy", "fix, easy"), "kinds are predict, repair, write, "),
    "no level": (FILE.replace("write, easy", "write, deep"), "the levels easy, medium, hard"),
    "no end": (FILE.replace("# </solution>", "#", 1), "`# </solution>` do not come in pairs"),
    "two hints": (FILE.replace("- Look", "  Look"), "does not end with a list of three hints"),
    "no function": (FILE.replace("def inputs", "def input"), "does not define a function `inputs`"),
    "a cell in a function": (FILE.replace("    #: total", "# %%\n    #: total", 1), "cannot read"),
    "half a draw": (FILE.replace("pure jit", "draws=1.5 jit"), "`draws=1.5` is not a property"),
    "a cell": (FILE.replace("# %% inputs", "# %% input"), "`input` is not a kind of cell"),
    "no check": (FILE.replace("# %% check", "# %% right"), "the file contains no check"),
    "a property": (
        FILE.replace("pure jit", "clean jit"),
        "`clean` is not a property of a check; the properties are again, ",
    ),
    "no text": (
        FILE.replace("# The output must", "#: The output must"),
        "the idea `order` has no text",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_exercises__a_mistake_in_the_format_is_told_with_its_line(case):
    text, told = BROKEN[case]
    assert text != FILE
    with pytest.raises(ExerciseError) as caught:
        read("counter", text)
    assert told in caught.value.what


def test_exercises__an_empty_cell_before_any_idea_is_no_program():
    exercise = read("counter", FILE.replace("# %% setup", "# %%\n\n# %% setup"))
    assert len(exercise.programs) == len(read("counter", FILE).programs)


def program(text):
    """What comes of the programs of a changed file of the counter."""
    return {(one.what, one.problem) for one in tried(read("counter", text))}


def test_exercises__a_wrong_program_that_is_right_is_told():
    text = FILE.replace("return increment, state\n", "return increment, state + increment\n")
    assert ("wrong program with the idea dropped state", "the program passes") in program(text)


def test_exercises__two_ideas_that_are_one_are_told():
    text = FILE + "\n# %% idea leak\ndef count(state, increment):\n    return increment, state\n"
    found = program(text)
    assert ("wrong program with the idea leak", "the check does not show an idea") in found
    assert ("the solution", "") in found


def test_exercises__a_check_that_right_answers_pass_by_their_style_alone_is_told():
    text = FILE.replace(
        "    return answer.count(state, increment)\n",
        "    return answer.count.__code__.co_argcount\n",
    )
    assert text != FILE
    failing = {what for what, problem in program(text) if problem == "the program does not pass"}
    assert failing >= {next(iter(STYLES))}


def test_exercises__a_closed_form_that_is_another_is_told():
    text = FILE.replace(
        "    return answer.count(state, increment)\n",
        "    return answer.count(state, increment)\n\n\n"
        "def closed_form(state, earlier, increment):\n    return increment, state - increment\n",
    )
    assert text != FILE
    told = [problem for what, problem in program(text) if what == "the closed form of check 1"]
    assert "the solution returns a different result" in "".join(told)


def test_exercises__a_solution_that_fails_is_told():
    text = FILE.replace("return None, state * 0", "return None, state.zero")
    with pytest.raises(ExerciseError, match="the solution or its checks fail: AttributeError"):
        program(text)


def test_exercises__a_solution_that_ends_its_process_is_told_with_the_first_line():
    text = FILE.replace("# %% inputs\n", "# %% setup\nimport os\n\nos._exit(0)\n\n# %% inputs\n")
    with pytest.raises(ExerciseError, match=r"line 1: .* fail: the process has ended"):
        program(text)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("import numpy as np", "import nump as np", "import nump as np"),
        ("rng.integers(20, 99)", "rng.integer(20, 99)", "rng.integer(20, 99)"),
    ],
)
def test_exercises__a_check_that_fails_is_told_with_its_line(old, new, line):
    text = FILE.replace(old, new)
    number = next(n for n, row in enumerate(text.splitlines(), 1) if line in row)
    with pytest.raises(ExerciseError, match=f"counter.py, line {number}: the solution or its"):
        program(text)


@pytest.fixture
def own(tmp_path):
    """A course of a teacher: two files, and their order."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("second", "first"):
        (folder / f"{name}.py").write_text(FILE, encoding="utf-8")
    (folder / "order.txt").write_text("One part\n  second\n\nAnother part\n  first\n")
    return folder


def test_exercises__a_course_is_a_folder(own):
    course = Course(own)
    assert course.parts == (("One part", ("second",)), ("Another part", ("first",)))
    assert course.load("second").folder == own
    (own / "order.txt").unlink()
    assert Course(own).parts == (("own", ("first", "second")),)


@pytest.mark.parametrize("given", ["second", "1", "second.py", "anywhere/second.py"])
def test_exercises__one_is_known_by_name_number_or_file(own, given):
    assert Course(own).known(given) == "second"


@pytest.mark.parametrize(
    ("given", "right"),
    [("secund", "second"), ("3", "python -m haiku_state exercises list"), ("0", "python -m ")],
)
def test_exercises__what_is_unknown_is_refused_with_what_is_near_or_the_list(own, given, right):
    with pytest.raises(ExerciseError, match=f"there is no exercise {given}") as caught:
        Course(own).known(given)
    assert caught.value.values["right"].startswith(right)


def test_exercises__an_order_without_its_file_is_told_with_its_line(own):
    (own / "first.py").unlink()
    with pytest.raises(ExerciseError, match=r"order.txt, line 5: there is no file first\.py"):
        Course(own)


def test_exercises__a_folder_without_exercises_is_no_course(tmp_path):
    with pytest.raises(ExerciseError, match="there is no exercise in"):
        Course(tmp_path)
