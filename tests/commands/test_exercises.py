"""The command ``exercises``: what a learner and a teacher type, and what they get."""

import csv
import json
import os
import re
import select
import signal
import sys
import time

import nbformat
import pytest
from support.chinese import ZH
from support.terminal import has_chinese, width
from support.user import PIPE, User
from tools.walk import Stay

from haiku_state.commands.main import main
from haiku_state.errors import ExerciseError
from haiku_state.errors.language import reading
from haiku_state.exercises import grade, names, solution, stub
from haiku_state.exercises.courses import ours
from haiku_state.exercises.folder import DEFAULT, PROGRESS
from haiku_state.exercises.judge import missing_for

load = ours().load


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the command in an empty folder; gives its exit code, and what it has printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")

    def command(*words):
        try:
            code = main(["exercises", *words])
        except SystemExit as error:
            code = error.code
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return command


def grades(folder):
    """The rows of the table of grades."""
    with (folder / "grades.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_exercises__list_shows_all(run):
    code, text = run("list")
    assert code == 0
    assert [name for name in names() if name not in text] == []


def test_exercises__start_begins_with_the_first_one(run, tmp_path):
    code, text = run("start")
    file = tmp_path / DEFAULT / f"{names()[0]}.py"
    assert code == 0
    assert file.read_text(encoding="utf-8") == stub(names()[0])
    last = f"{file.relative_to(tmp_path)} is ready. "
    assert text.split("\n\n")[-1].startswith(last)


def test_exercises__a_learners_way(run, tmp_path):
    run("start", "branch")
    file = tmp_path / DEFAULT / "branch.py"
    code, text = run("check")
    assert code == 1
    assert "exercises hint branch" in text
    assert run("solution")[0] == 2
    for number in (1, 2, 3):
        assert f"Hint {number} of 3" in run("hint")[1]
    assert run("solution") == (0, solution("branch"))
    file.write_text(solution("branch"), encoding="utf-8")
    code, text = run("check")
    assert code == 0
    assert f"exercises start {names()[0]}" in text
    others = [one.title for one in load("branch").programs if one.title]
    assert others
    assert all(f"Another right answer, {title}:" in text for title in others)
    assert "✓ branch" in run("progress")[1]
    assert re.search(r"✓ +\d+ branch", run("list")[1])
    assert str(file.with_name("branch.old1.py").relative_to(tmp_path)) in run("reset")[1]


LOOKS_BACK = """
import sys

frame, found = sys._getframe(), []
while frame:
    found += [name for name in frame.f_locals if name == "seed"]
    frame = frame.f_back
if not found:
    del count
"""


def test_exercises__a_forked_process_knows_nothing_of_the_hidden_inputs(run, tmp_path, user):
    run("start", "counter")
    file = tmp_path / DEFAULT / "counter.py"
    file.write_text(solution("counter") + LOOKS_BACK, encoding="utf-8")
    ended = user.haiku_state("exercises", "check", cwd=tmp_path)
    assert "The code does not define `count`." in ended.stdout


IMPORTS_ANEW = """
import sys

sys.pycache_prefix = "kept"
sys.modules.pop("colorsys", None)
import colorsys
"""


def test_exercises__no_module_that_an_answer_imports_is_compiled_into_a_file(run, tmp_path, user):
    run("start", "counter")
    file = tmp_path / DEFAULT / "counter.py"
    file.write_text(solution("counter") + IMPORTS_ANEW, encoding="utf-8")
    ended = user.haiku_state("exercises", "check", cwd=tmp_path)
    assert ended.stdout.startswith("passed: ")
    assert "Your code also" not in ended.stdout  # as of a file that it has written


def test_exercises__a_pass_shows_the_solution(run, tmp_path):
    run("start", "counter")
    (tmp_path / DEFAULT / "counter.py").write_text(solution("counter"), encoding="utf-8")
    run("check")
    assert run("solution") == (0, solution("counter"))


def test_exercises__work_in_another_folder_and_in_the_folder_itself(run, tmp_path, monkeypatch):
    run("start", "counter", "mine")
    assert (tmp_path / "mine" / PROGRESS).exists()
    assert run("check", "--dir", "mine")[0] == 1
    monkeypatch.chdir(tmp_path / "mine")
    assert run("check")[0] == 1
    run("start", names()[0])
    assert (tmp_path / "mine" / f"{names()[0]}.py").exists()


def test_exercises__the_language_is_remembered(run, tmp_path):
    run("start", "counter", "--lang", ZH)
    text = (tmp_path / DEFAULT / "counter.py").read_text(encoding="utf-8")
    assert has_chinese(text)
    assert "提示" in run("hint")[1]
    assert "Hint" in run("hint", "--lang", "en")[1]


@pytest.mark.parametrize("language", ["en", ZH])
def test_exercises__everything_fits_a_terminal_of_80_columns(run, language):
    for words in (["list"], ["start", "counter"], ["check"], ["hint"], ["progress"], ["reset"]):
        text = run(*words, "--lang", language)[1]
        lines = [line for line in text.splitlines() if "haiku_state read" not in line]
        assert max(map(width, lines)) <= 80, text  # a command is not broken


@pytest.mark.parametrize("command", ["check", "hint", "solution", "reset", "progress"])
def test_exercises__without_a_start_the_folder_is_named(run, command):
    code, text = run(command)
    assert code == 2
    assert f"no exercise was started in {DEFAULT}" in text


def test_exercises__a_wrong_name_is_one_line(run):
    run("start", "counter")
    line = "haiku_state exercises check: error: there is no exercise conter; try: counter\n"
    assert run("check", "conter") == (2, line)
    line = "haiku_state exercises start: error: there is no exercise zzz; try: python -m "
    assert run("start", "zzz")[1].startswith(f"{line}haiku_state exercises list")
    run("start", "--lang", ZH)
    assert "没有" in run("check", "zzz")[1]  # as in the folder


def test_exercises__one_has_a_number_and_a_file(run, tmp_path):
    run("start", "1")
    assert (tmp_path / DEFAULT / f"{names()[0]}.py").exists()
    code, text = run("check", f"{DEFAULT}/{names()[0]}.py")
    assert code == 1
    assert text.startswith("not yet: ")


def test_exercises__a_missing_start_is_told_with_what_makes_up_for_it(run):
    assert run("check")[1].endswith("; try: python -m haiku_state exercises start\n")
    assert run("check", "--dir", "a")[1].endswith(" exercises start --dir a\n")
    run("start", "--dir", "a")
    assert run("check", "branch", "--dir", "a")[1].endswith(" exercises start branch\n")


def test_exercises__the_language_holds_before_a_folder_is_there(run, tmp_path):
    assert "练习" in run("check", "--lang", ZH)[1]
    (tmp_path / PROGRESS).write_text("{")
    assert "不是" in run("check", "--lang", ZH)[1]


def test_exercises__start_takes_the_folder_as_the_other_commands_do(run, tmp_path):
    run("start", "--dir", "mine")
    assert (tmp_path / "mine" / f"{names()[0]}.py").exists()
    run("start", "counter", "other")
    assert (tmp_path / "other/counter.py").exists()


@pytest.mark.parametrize("command", ["check", "start"])
def test_exercises__a_folder_in_place_of_an_answer_is_one_line(run, tmp_path, command):
    run("start", "counter")
    (tmp_path / DEFAULT / "counter.py").unlink()
    (tmp_path / DEFAULT / "counter.py").mkdir()
    code, text = run(command, "counter")
    assert code == 2
    assert "counter.py is not a file; try: mv " in text


def test_exercises__take_an_answer_as_windows_saves_it(run, tmp_path):
    run("start", "counter")
    text = solution("counter").replace("\n", "\r\n")
    (tmp_path / DEFAULT / "counter.py").write_bytes(text.encode("utf-8-sig"))
    assert run("check")[0] == 0
    (tmp_path / DEFAULT / "counter.py").write_bytes(f"# 计数器\n{text}".encode("gbk"))
    code, text = run("check")
    assert code == 2
    assert "counter.py is not valid UTF-8 text" in text


def test_exercises__the_last_hint_leads_to_a_solution(run):
    run("start", "counter")
    told = [" exercises solution counter" in run("hint")[1] for _number in range(4)]
    assert told == [False, False, True, True]


def test_exercises__a_count_in_chinese_has_a_chinese_colon(run):
    run("start", "counter", "--lang", ZH)
    assert ": " not in run("progress")[1].replace("\n\n", "\n").partition("下一题")[0]


def test_exercises__start_goes_on_with_a_file(run, tmp_path):
    run("start", "counter")
    (tmp_path / DEFAULT / "counter.py").write_text("mine")
    assert "was not changed" in run("start", "counter")[1]
    assert (tmp_path / DEFAULT / "counter.py").read_text() == "mine"


@pytest.mark.parametrize("language", ["en", ZH])
def test_exercises__export_makes_notebooks_of_every_exercise(run, tmp_path, language):
    assert run("export", "out", "--lang", language)[0] == 0
    texts = []
    for file in sorted((tmp_path / "out").glob("*.ipynb")):
        notebook = nbformat.read(file, as_version=4)
        nbformat.validate(notebook)
        texts += [cell.source for cell in notebook.cells]
    for name in names():
        assert [text for text in texts if text.startswith(f"%%exercise {name}\n")]
    assert not any("<summary>" in text and "```python" in text for text in texts)
    title = {"en": "Hint {}<", ZH: "提示 {}<"}[language].format
    for hints in (text for text in texts if text.startswith("<details>")):
        assert [number for number in range(5) if title(number) in hints] == [1, 2, 3]


def test_exercises__export_makes_a_folder_with_solutions(run, tmp_path):
    assert run("export", "new/out", "--format", "folder", "--solutions")[0] == 0
    out = tmp_path / "new/out"
    for name in names():
        assert (out / f"{name}.py").read_text(encoding="utf-8") == stub(name)
        assert (out / f"solutions/{name}.py").read_text(encoding="utf-8") == solution(name)
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert all(load(name).statement in readme for name in names())


def test_exercises__what_the_readme_of_an_export_says_works(run, tmp_path, monkeypatch):
    run("export", "out", "--format", "folder")
    (tmp_path / f"out/{names()[0]}.py").write_text(solution(names()[0]), encoding="utf-8")
    readme = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path / "out")
    for line, code in ("start --dir .", 0), ("check", 0):
        assert f"`python -m haiku_state exercises {line}`" in readme
        assert run(*line.split())[0] == code


def test_exercises__notebooks_without_nbformat_say_what_to_install(run, tmp_path, monkeypatch):
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/mine.ipynb").write_text("{}")
    monkeypatch.setitem(sys.modules, "nbformat", None)
    for words in ("export", "out"), ("grade", "class"):
        code, text = run(*words)
        assert code
        assert "python -m pip install nbformat" in text
    assert not (tmp_path / "grades.csv").exists()


def test_exercises__export_overwrites_nothing(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    code, text = run("export", "out")
    assert code == 2
    assert "out is not empty" in text


def test_exercises__grade_a_class(run, tmp_path):
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/counter.py").write_text(solution("counter"), encoding="utf-8")
    (tmp_path / "class/ada/notes.py").write_text("not an exercise")
    (tmp_path / "class/bob").mkdir()
    dropped = solution("counter").replace("increment, state + increment", "increment, state")
    cell = nbformat.v4.new_code_cell(f"%%exercise counter\n{dropped}")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.write(notebook, tmp_path / "class/bob/mine.ipynb")
    (tmp_path / "class/cyd").mkdir()
    (tmp_path / "class/cyd/mine.ipynb").write_text("{")
    (tmp_path / "class/dan").mkdir()
    (tmp_path / "class/eve").mkdir()
    (tmp_path / "class/eve/counter.py").write_bytes("# 计数器".encode("gbk"))
    for hidden in (".ipynb_checkpoints", "__MACOSX"):
        (tmp_path / "class" / hidden).mkdir()
    code, text = run("grade", "class")
    assert code == 0, text
    rows = grades(tmp_path)
    assert [(row["learner"], row["exercise"], row["passed"]) for row in rows] == [
        ("ada", "counter", "True"),
        ("bob", "counter", "False"),
        ("cyd", "mine.ipynb", "False"),
        ("dan", "", ""),
        ("eve", "counter", "False"),
    ]
    assert (rows[0]["checks"], rows[0]["of"]) == ("2", "2")
    assert (rows[1]["checks"], rows[1]["of"]) == ("0", "2")
    assert [row["idea"] for row in rows] == ["", "dropped state", "", "", ""]
    feedback = {file.stem: file.read_text("utf-8") for file in (tmp_path / "grades").iterdir()}
    assert feedback.keys() == {"ada", "bob", "cyd", "dan", "eve"}
    assert feedback["ada"].startswith("counter\n\npassed: ")
    assert "not yet: " in feedback["bob"]


def test_exercises__grade_goes_on_where_it_was(run, tmp_path, monkeypatch):
    for learner in ("ada", "bob"):
        (tmp_path / "class" / learner).mkdir(parents=True)
        (tmp_path / f"class/{learner}/counter.py").write_text(stub("counter"), encoding="utf-8")
    run("grade", "class")
    (tmp_path / "class/bob/counter.py").write_text(solution("counter"), encoding="utf-8")
    judged = []
    real = grade.judge
    monkeypatch.setattr(grade, "judge", lambda *given: judged.append(1) or real(*given))
    assert run("grade", "class")[0] == 0
    assert judged == [1]  # bob alone
    rows = [(row["learner"], row["passed"]) for row in grades(tmp_path)]
    assert rows == [("ada", "False"), ("bob", "True")]


@pytest.fixture
def course(tmp_path):
    """A teacher's course of two exercises."""
    folder = tmp_path / "course"
    folder.mkdir()
    for name in ("mine", "other"):
        (folder / f"{name}.py").write_text(ours().source("counter"), encoding="utf-8")
    return folder


def test_exercises__a_teachers_course_is_used_like_ours(run, tmp_path, course):
    assert run("list", "--course", "course")[1].count("(write, easy)") == 2
    run("start", "--course", "course")
    assert (tmp_path / DEFAULT / "mine.py").exists()
    assert "not yet" in run("check")[1]  # the folder knows its course
    (tmp_path / DEFAULT / "mine.py").write_text(solution("counter"), encoding="utf-8")
    assert "exercises start other" in run("check")[1]
    assert run("grade", ".", "--course", "course")[0] == 0
    rows = [(row["learner"], row["exercise"], row["passed"]) for row in grades(tmp_path)]
    assert (DEFAULT, "mine", "True") in rows
    run("start")
    (tmp_path / DEFAULT / "other.py").write_text(solution("counter"), encoding="utf-8")
    assert run("check")[1].endswith("\nAll exercises are passed.\n")
    assert run("start") == (0, "All exercises are passed.\n")


def test_exercises__a_teachers_course_is_used_in_a_notebook(run, tmp_path, course):
    nbclient = pytest.importorskip("nbclient")
    assert run("export", "out", "--course", "course")[0] == 0
    notebook = nbformat.read(tmp_path / "out/exercises_1.ipynb", as_version=4)
    cell = next(cell for cell in notebook.cells if cell.source.startswith("%%exercise mine\n"))
    cell.source = f"%%exercise mine\n{solution('counter')}"
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    assert cell.outputs[0]["text"].startswith("passed: ")


MORE_CELLS = (
    "print(count(1, 2))",
    "%%exercise conter\npass",
    "%%exercise counter\ndef count(state, increment):\n    return nothing",
)


@pytest.mark.parametrize("language", ["en", ZH])
def test_exercises__an_exported_notebook_runs_in_a_kernel(run, tmp_path, language):
    nbclient = pytest.importorskip("nbclient")
    run("export", "out", "--lang", language)
    file = tmp_path / "out/exercises_1.ipynb"
    notebook = nbformat.read(file, as_version=4)
    wanted = [0, 1, *(n for n, cell in enumerate(notebook.cells) if " counter\n" in cell.source)]
    notebook.cells = [notebook.cells[number] for number in wanted]
    notebook.cells[-1].source = f"%%exercise counter\n{solution('counter')}"
    notebook.cells += map(nbformat.v4.new_code_cell, MORE_CELLS)
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    printed = ["".join(output.get("text", "") for output in cell.get("outputs", ()))
               for cell in notebook.cells]  # fmt: skip
    passed, used, unknown, unfinished = printed[-4:]
    assert passed.startswith({"en": "passed: ", ZH: "通过："}[language])
    assert used == "(2, 3)\n"
    assert unknown.splitlines()[0].endswith({"en": "conter.", ZH: "练习。"}[language])
    place = {"en": "%%exercise counter, line 3:", ZH: "%%exercise counter，第 3 行："}
    assert place[language] in unfinished


def test_exercises__the_one_command_goes_on_after_a_file_that_is_no_text(tmp_path):
    first = names()[0]
    stay = Stay(User(tmp_path), "en")
    stay.press("h")
    stay.save(first, b"\xff")
    assert any(line.endswith("is not valid UTF-8 text.") for line in stay.lines)
    stay.press("s")
    assert any("after three hints" in line for line in stay.lines)
    stay.save(first, solution(first))
    assert any(line.startswith("passed: ") for line in stay.lines)
    stay.press("r")
    assert any("counter.old1.py" in line for line in stay.lines)
    stay.press("l")
    assert stay.quit() == 0
    record = json.loads((stay.folder / PROGRESS).read_text(encoding="utf-8"))["exercises"][first]
    assert record["passed"]
    assert (record["hints"], record["checks"]) == (1, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals, no process groups")
@pytest.mark.parametrize("words", [["check"], []])
def test_exercises__ctrl_c_leaves_no_process(tmp_path, user, words):
    alive, theirs = os.pipe()
    user.haiku_state("exercises", "start", cwd=tmp_path)
    file = tmp_path / DEFAULT / f"{names()[0]}.py"
    file.write_text("while True: pass\n", encoding="utf-8")
    command = [sys.executable, "-m", "haiku_state", "exercises", *words]
    running = user.start(*command, cwd=tmp_path, pass_fds=[theirs], stdin=PIPE)
    os.close(theirs)
    time.sleep(4)
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 130
    running.communicate()
    assert select.select([alive], [], [], 30)[0]  # the end of the pipe: nobody holds the other side
    os.close(alive)


def test_exercises__a_damaged_record_is_one_line(run, tmp_path):
    (tmp_path / PROGRESS).write_text("{")
    code, text = run("check")
    assert code == 2
    assert "was not written by this command" in text
    assert issubclass(ExerciseError, ValueError)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, len(ours().parts) + 1))
@pytest.mark.parametrize("language", ["en", ZH])
def test_exercises__an_exported_notebook_passes_with_the_solutions(run, tmp_path, language, part):
    nbclient = pytest.importorskip("nbclient")
    run("export", "out", "--lang", language)
    notebook = nbformat.read(tmp_path / f"out/exercises_{part}.ipynb", as_version=4)
    answered = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.startswith("%%exercise"):
            name = cell.source.split()[1]
            if not missing_for(load(name)):
                with reading(language):
                    cell.source = f"%%exercise {name}\n{solution(name)}"
                answered[name] = cell
    nbclient.NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    printed = {
        name: "".join(output.get("text", "") for output in cell.outputs)
        for name, cell in answered.items()
    }
    begin = {"en": "passed: ", ZH: "通过："}[language]
    assert {name: text for name, text in printed.items() if not text.startswith(begin)} == {}


def test_exercises__one_of_your_own_is_written_and_tried(run, tmp_path):
    code, text = run("new", "mine", "--from", "counter")
    assert code == 0
    assert "exercises test mine.py" in text
    assert run("new", "mine")[0] == 2  # it is not overwritten
    told = run("new", "my-own")[1]
    assert told.endswith("my-own cannot be the name of an exercise; try: my_own\n")
    assert run("new", "other", "--from", "conter")[1].endswith("exercise conter; try: counter\n")
    code, text = run("test", "mine.py")
    assert (code, "✗" in text) == (0, False)
    file = tmp_path / "mine.py"
    file.write_text(file.read_text().replace("return increment, state\n", "return state, state\n"))
    assert run("test", "mine.py")[0] == 0
    file.write_text(
        file.read_text().replace("return state, state\n", "return right.count(state, increment)\n")
    )
    code, text = run("test", "mine.py")
    assert code == 1
    assert "✗ line" in text
    assert "the program passes" in text
    file.write_text(file.read_text().replace("# %% inputs", "# %% input"))
    code, text = run("test", "mine.py")
    assert (code, "mine.py, line" in text) == (2, True)
    assert run("test", "nowhere.py")[0] == 2
