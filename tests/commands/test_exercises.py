"""The command ``exercises``: what a learner and a teacher type, and what they get."""

import csv
import json
import subprocess
import sys
import threading
import unicodedata

import nbformat
import pytest

from haiku_state.commands.main import main
from haiku_state.errors import ExerciseError
from haiku_state.exercises import names, solution, stub
from haiku_state.exercises.folder import DEFAULT, PROGRESS
from haiku_state.exercises.tasks import load


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


def widths(text):
    wide = "WF"
    return [
        sum(2 if unicodedata.east_asian_width(letter) in wide else 1 for letter in line)
        for line in text.splitlines()
    ]


def test_list_shows_all(run):
    code, text = run("list")
    assert code == 0
    assert [name for name in names() if name not in text] == []


def test_start_begins_with_the_first_one(run, tmp_path):
    code, text = run("start")
    file = tmp_path / DEFAULT / f"{names()[0]}.py"
    assert code == 0
    assert file.read_text(encoding="utf-8") == stub(names()[0])
    assert str(file.relative_to(tmp_path)) in text


def test_a_learner_s_way(run, tmp_path):
    run("start", "counter")
    file = tmp_path / DEFAULT / "counter.py"
    code, text = run("check")
    assert code == 1
    assert "exercises hint counter" in text
    assert run("solution")[0] == 2
    for number in (1, 2, 3):
        assert f"Hint {number} of 3" in run("hint")[1]
    assert run("solution") == (0, solution("counter"))
    file.write_text(solution("counter"), encoding="utf-8")
    code, text = run("check")
    assert code == 0
    assert f"exercises start {names()[0]}" in text
    assert "✓ counter" in run("progress")[1]
    assert "✓ counter" in run("list")[1]
    assert str(file.with_name("counter.old1.py").relative_to(tmp_path)) in run("reset")[1]


def test_a_pass_shows_the_solution(run, tmp_path):
    run("start", "counter")
    (tmp_path / DEFAULT / "counter.py").write_text(solution("counter"), encoding="utf-8")
    run("check")
    assert run("solution") == (0, solution("counter"))


def test_another_folder_and_the_folder_itself(run, tmp_path, monkeypatch):
    run("start", "counter", "mine")
    assert (tmp_path / "mine" / PROGRESS).exists()
    assert run("check", "--dir", "mine")[0] == 1
    monkeypatch.chdir(tmp_path / "mine")
    assert run("check")[0] == 1
    run("start", names()[0])
    assert (tmp_path / "mine" / f"{names()[0]}.py").exists()


def test_the_language_is_remembered(run, tmp_path):
    run("start", "counter", "--lang", "zh_CN")
    text = (tmp_path / DEFAULT / "counter.py").read_text(encoding="utf-8")
    assert any("一" <= letter <= "鿿" for letter in text)
    assert "提示" in run("hint")[1]
    assert "Hint" in run("hint", "--lang", "en")[1]


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_everything_fits_a_terminal_of_80_columns(run, language):
    for words in (["list"], ["start", "counter"], ["check"], ["hint"], ["progress"], ["reset"]):
        text = run(*words, "--lang", language)[1]
        assert max(widths(text)) <= 80, text


@pytest.mark.parametrize("command", ["check", "hint", "solution", "reset", "progress", "watch"])
def test_without_a_start_the_folder_is_named(run, command):
    code, text = run(command)
    assert code == 2
    assert f"no exercise was started in {DEFAULT}" in text


def test_a_wrong_name_is_one_line(run):
    run("start", "counter")
    assert run("check", "conter") == (2, "haiku_state: error: there is no exercise conter.\n")


def test_start_goes_on_with_a_file(run, tmp_path):
    run("start", "counter")
    (tmp_path / DEFAULT / "counter.py").write_text("mine")
    assert "as you left it" in run("start", "counter")[1]
    assert (tmp_path / DEFAULT / "counter.py").read_text() == "mine"


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_exported_notebooks_hold_every_exercise(run, tmp_path, language):
    assert run("export", "out", "--lang", language)[0] == 0
    texts = []
    for file in sorted((tmp_path / "out").glob("*.ipynb")):
        notebook = nbformat.read(file, as_version=4)
        nbformat.validate(notebook)
        texts += [cell.source for cell in notebook.cells]
    for name in names():
        assert [text for text in texts if text.startswith(f"%%exercise {name}\n")]
    assert not any("<summary>" in text and "```python" in text for text in texts)


def test_an_exported_folder_with_solutions(run, tmp_path):
    assert run("export", "out", "--format", "folder", "--solutions")[0] == 0
    for name in names():
        assert (tmp_path / f"out/{name}.py").read_text(encoding="utf-8") == stub(name)
        assert (tmp_path / f"out/solutions/{name}.py").read_text(encoding="utf-8") == solution(name)
    readme = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert all(load(name).statement in readme for name in names())


def test_an_export_overwrites_nothing(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    code, text = run("export", "out")
    assert code == 2
    assert "out is not empty" in text


def test_grades_of_a_class(run, tmp_path):
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/counter.py").write_text(solution("counter"), encoding="utf-8")
    (tmp_path / "class/ada/notes.py").write_text("not an exercise")
    (tmp_path / "class/bob").mkdir()
    cell = nbformat.v4.new_code_cell(f"%%exercise counter\n{stub('counter')}")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.write(notebook, tmp_path / "class/bob/mine.ipynb")
    (tmp_path / "class/cyd").mkdir()
    (tmp_path / "class/cyd/mine.ipynb").write_text("{")
    (tmp_path / "class/dan").mkdir()
    code, text = run("grade", "class")
    assert code == 0, text
    with (tmp_path / "grades.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["learner"], row["exercise"], row["passed"]) for row in rows] == [
        ("ada", "counter", "True"),
        ("bob", "counter", "False"),
        ("cyd", "mine.ipynb", "False"),
        ("dan", "", ""),
    ]
    assert rows[1]["idea"]
    assert run("grade", "class")[0] == 2  # the table is not overwritten


def test_an_exported_notebook_runs_in_a_kernel(run, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    run("export", "out")
    file = tmp_path / "out/exercises_2.ipynb"
    notebook = nbformat.read(file, as_version=4)
    wanted = [0, 1, *(n for n, cell in enumerate(notebook.cells) if " counter\n" in cell.source)]
    notebook.cells = [notebook.cells[number] for number in wanted]
    notebook.cells[-1].source = f"%%exercise counter\n{solution('counter')}"
    notebook.cells.append(nbformat.v4.new_code_cell("print(count(1, 2))"))
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    printed = "".join(output.get("text", "") for output in notebook.cells[-2].outputs)
    assert printed.startswith("passed: ")
    assert notebook.cells[-1].outputs[0].text == "(2, 3)\n"


def test_watch_checks_what_is_saved(run, tmp_path):
    run("start", names()[0])
    folder = tmp_path / DEFAULT
    watching = subprocess.Popen(
        [sys.executable, "-m", "haiku_state", "exercises", "watch"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    patience = threading.Timer(60, watching.kill)
    patience.start()
    try:
        assert watching.stdout.readline().startswith("Waiting for a file in")
        (folder / f"{names()[0]}.py").write_text(solution(names()[0]), encoding="utf-8")
        lines = iter(watching.stdout.readline, "")
        assert any(line.startswith("passed: ") for line in lines)
        assert any(f"{names()[1]}.py is ready" in line for line in lines)
    finally:
        patience.cancel()
        watching.terminate()
        watching.communicate()
    record = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
    assert record["exercises"][names()[0]]["passed"]
    assert (folder / f"{names()[1]}.py").exists()


def test_a_damaged_record_is_one_line(run, tmp_path):
    (tmp_path / PROGRESS).write_text("{")
    code, text = run("check")
    assert code == 2
    assert "is not what this command has written" in text
    assert issubclass(ExerciseError, ValueError)
