"""Whatever an answer does, it ends in a clear message, and the learner's files stay as they are."""

import dataclasses
import os
import select
import sys
import threading
import time
from pathlib import Path

import pytest
from support.hostile import BROKEN, CHEATS, RIGHT, TOO_LONG

from haiku_state.exercises.courses import ours
from haiku_state.exercises.judge import judge
from haiku_state.exercises.sandbox.process import TIME_IS_UP, Process, _without_main

SECONDS = 5


@pytest.fixture
def checked(tmp_path):
    """Checks an answer in a learner's folder, and asserts that the folder stays as it is."""

    def check(text, seconds=SECONDS):
        path = tmp_path / "counter.py"
        path.write_bytes(text.encode(errors="surrogateescape"))
        (tmp_path / "progress.json").write_text("{}")
        before = contents(tmp_path)
        exercise = dataclasses.replace(ours().load("counter"), seconds=seconds)
        result = judge(exercise, text, path)
        assert contents(tmp_path) == before
        return result

    return check


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", BROKEN)
def test_check__a_broken_answer_is_told_what_it_did(name, checked):
    text, told, line = BROKEN[name]
    start = time.monotonic()
    result = checked(text, 1 if told == TOO_LONG else SECONDS)
    assert time.monotonic() - start < 60
    assert not result.passed
    assert told in str(result), str(result)
    assert result.failure.line == line, str(result)
    assert told not in "".join(result.notes)  # once is enough
    assert "Traceback" not in str(result)


def test_check__the_limits_begin_with_the_answer_and_tell_its_line(tmp_path):
    """However slow the machine is: the limit for what sleeps, in real time, is here a print."""
    setup = "faulthandler.dump_traceback_later = lambda limit, exit: print('sleeps for', limit)"
    text = ours().load("counter").text
    text = text.replace("# %% inputs\n", f"# %% setup\nimport faulthandler\n{setup}\n# %% inputs\n")
    path = str(tmp_path / "endless.py")
    exercise = {"name": "counter", "folder": str(tmp_path), "text": text, "work": str(tmp_path)}
    program = {"path": path, "source": "while True: pass\n", "is_whole": True, "seconds": 1}
    with Process("answers") as process:
        process.stage(exercise)
        ended = process.run(program, {"checks": [], "seed": 0}, 60)
    assert (ended.how, ended.code) == ("time", TIME_IS_UP)
    assert ended.printed.startswith("sleeps for 3\n")  # set after the cells of the checks
    assert f'File "{path}", line 1 ' in ended.printed


def test_check__a_process_is_not_closed_while_another_one_starts():
    """Python 3.10 polls all its processes when it starts one."""
    one = Process("answers")
    ending = threading.Thread(target=one.__exit__, args=(None, None, None))
    with _without_main():  # as while another one starts
        ending.start()
        ending.join(1)
        assert ending.is_alive()
    ending.join(10)
    assert not ending.is_alive()


ABANDONED = """
import os

from haiku_state.exercises.sandbox.process import Process

process = Process("answers")
os._exit(0)
"""


def test_check__a_process_ends_with_the_one_that_waits_for_it(user):
    alive, theirs = os.pipe()
    user.python("-c", ABANDONED, pass_fds=[theirs])
    os.close(theirs)
    assert select.select([alive], [], [], 30)[0]  # the end of the pipe: nobody holds the other side
    os.close(alive)


@pytest.mark.parametrize("name", CHEATS)
def test_check__a_wrong_answer_does_not_pass_by_other_means(name, checked):
    result = checked(CHEATS[name])
    assert not result.passed or result.notes, str(result)
    assert checked(RIGHT).passed  # the next answer is judged as ever


def test_check__a_package_of_our_name_in_the_folder_is_not_taken(tmp_path, checked):
    (tmp_path / "haiku_state").mkdir()
    (tmp_path / "haiku_state/__init__.py").write_text("raise SystemExit(0)")
    (tmp_path / "jax.py").write_text("raise SystemExit(0)")
    text = RIGHT + "import jax\nimport haiku_state\n\nassert haiku_state.explain and jax.jit\n"
    assert checked(text).passed


def test_check__an_answer_is_one_file(tmp_path, tmp_path_factory, checked):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "far.py").write_text("x = 1\n")
    (tmp_path / "near.py").write_text("x = 1\n")
    near = checked(RIGHT + "import near\n")
    assert not near.passed
    assert "No module named 'near'. An answer is one file" in str(near)
    far = checked(RIGHT + f"import sys\n\nsys.path.insert(0, {str(elsewhere)!r})\nimport far\n")
    assert str(elsewhere / "far.py") in str(far)


def test_check__a_write_that_is_caught_is_still_told(checked):
    text = RIGHT + "try:\n    open('notes.txt', 'w')\nexcept OSError:\n    pass\n"
    result = checked(text)
    assert result.passed
    assert "notes.txt" in str(result)


def test_check__what_an_answer_prints_is_shown_and_nothing_else(checked):
    result = checked(RIGHT + "import sys\n\nprint('one')\nprint('two', file=sys.stderr)\n")
    assert result.printed.split() == ["one", "two"]


def test_check__what_an_answer_prints_is_read_to_its_end(checked, monkeypatch):
    read, kill, killed = Process._read_printed, Process._kill, threading.Event()

    def read_late(process):
        killed.wait(60)
        time.sleep(0.5)
        read(process)

    monkeypatch.setattr(Process, "_read_printed", read_late)
    monkeypatch.setattr(Process, "_kill", lambda process: (killed.set(), kill(process)))
    assert checked(RIGHT + "print('late')\n").printed == "late"


FORKS = """
import ctypes
import os
import time

if not ctypes.CDLL(None).fork():
    time.sleep(200)
    os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork, no process groups")
def test_check__a_process_that_the_guard_does_not_see_ends_with_the_answer(checked):
    start = time.monotonic()
    checked(RIGHT + FORKS)
    assert time.monotonic() - start < 100  # its output is read until nobody holds it


def test_check__no_process_and_no_folder_is_left(tmp_path, checked, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    checked("import threading, time\nthreading.Thread(target=time.sleep, args=(100,)).start()\n")
    assert not [path for path in tmp_path.glob("haiku_state_*")]


def test_check__nothing_of_the_environment_is_changed(checked):
    before = dict(os.environ)
    checked("import os\nos.environ['JAX_PLATFORMS'] = 'nowhere'\n")
    assert dict(os.environ) == before
    assert Path.cwd().exists()
