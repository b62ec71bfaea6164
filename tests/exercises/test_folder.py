"""The folder of a learner: nothing that was written is lost."""

import json

import pytest
from support.chinese import ZH

from haiku_state.errors import ExerciseError
from haiku_state.exercises import names, stub
from haiku_state.exercises.folder import PROGRESS, Folder


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "mine")


def test_exercises__a_start_makes_the_stub(folder):
    assert folder.start("counter")
    assert folder.file_of("counter").read_text(encoding="utf-8") == stub("counter")
    assert folder.current == "counter"


def test_exercises__a_second_start_leaves_the_file_alone(folder):
    folder.start("counter")
    folder.file_of("counter").write_text("mine")
    assert not folder.start("counter")
    assert folder.read("counter") == "mine"


def test_exercises__each_reset_keeps_what_was_there(folder):
    folder.start("counter")
    texts = ["one", "two", "three"]
    kept = []
    for text in texts:
        folder.file_of("counter").write_text(text)
        kept.append(folder.reset("counter"))
    assert [path.read_text() for path in kept] == texts
    assert folder.read("counter") == stub("counter")


def test_exercises__a_reset_without_a_file_starts(folder):
    assert folder.reset("counter") is None
    assert folder.read("counter") == stub("counter")


def test_exercises__the_record_is_read_again(folder):
    folder.start("counter", ZH)
    folder.note_check("counter", passed=False)
    folder.note_hint("counter")
    folder.note_check("counter", passed=True)
    assert (folder.path / PROGRESS).read_text().count("\n") > 9  # for those who look into it
    again = Folder(folder.path)
    assert again.passed("counter")
    assert (again.current, again.language, again.hints("counter")) == ("counter", ZH, 1)
    assert json.loads((folder.path / PROGRESS).read_text())["exercises"]["counter"]["checks"] == 2


def test_exercises__a_pass_is_not_taken_away(folder):
    folder.start("counter")
    folder.note_check("counter", passed=True)
    folder.note_check("counter", passed=False)
    assert folder.passed("counter")


def test_exercises__the_next_one_is_the_first_that_has_not_passed(folder):
    folder.start(names()[0])
    assert folder.next() == names()[0]
    for name in names():
        folder.note_check(name, passed=True)
    assert folder.next() is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "\0",
        '{"exercises": 1}',
        '{"exercises": {"a": 1}}',
        '{"exercises": {"a": {"hints": "1"}}}',
        '{"exercises": {"a": {"checks": []}}}',
        '{"exercises": {}, "language": "fr"}',
        '{"exercises": {}, "current": 1}',
    ],
)
def test_exercises__a_damaged_record_is_refused_and_kept(text, tmp_path):
    (tmp_path / PROGRESS).write_text(text)
    with pytest.raises(ExerciseError, match="was not written by this command"):
        Folder(tmp_path)
    assert (tmp_path / PROGRESS).read_text() == text


def test_exercises__a_folder_in_place_of_the_record_is_refused(tmp_path):
    (tmp_path / PROGRESS).mkdir()
    with pytest.raises(ExerciseError, match="was not written by this command"):
        Folder(tmp_path)


def test_exercises__two_terminals_keep_what_the_other_one_wrote(folder):
    folder.start("counter")
    other = Folder(folder.path)
    for _number in range(3):
        other.note_hint("counter")
    folder.note_check("counter", passed=False)
    other.note_check("counter", passed=True)
    folder.start("branch")
    again = Folder(folder.path)
    assert again.hints("counter") == 3
    assert again.passed("counter")
    assert again.current == "branch"


def test_exercises__a_full_disk_leaves_the_old_record(folder, monkeypatch):
    folder.start("counter")
    before = (folder.path / PROGRESS).read_text()
    monkeypatch.setattr("pathlib.Path.replace", failing)
    with pytest.raises(OSError, match="no space"):
        folder.note_check("counter", passed=True)
    assert (folder.path / PROGRESS).read_text() == before
    assert {path.name for path in folder.path.iterdir()} == {"counter.py", PROGRESS}


def failing(*_arguments):
    raise OSError("no space")


def test_exercises__a_file_that_is_not_there_is_named(folder):
    with pytest.raises(ExerciseError, match=r"counter\.py does not exist"):
        folder.read("counter")
