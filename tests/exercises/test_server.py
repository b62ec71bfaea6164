"""The server behind ``exercises check``: one for a user, and never needed."""

import os
import signal
import stat
import sys
import time

import pytest

from haiku_state.exercises import solution
from haiku_state.exercises.folder import DEFAULT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

PASSED = "passed: A counter as two pure functions"


@pytest.fixture
def learner(user):
    """Somebody whose answer to the counter is right; the server ends with the home."""
    user.haiku_state("exercises", "start", "counter")
    write(user, solution("counter"))
    yield user
    for pid in servers(user):
        os.kill(pid, signal.SIGKILL)


def write(user, text):
    (user.folder / DEFAULT / "counter.py").write_text(text, encoding="utf-8")


def check(user, **options):
    return user.haiku_state("exercises", "check", "counter", **options)


def socket_of(user):
    [place] = (user.home / ".cache/haiku_state").glob("*/socket")
    return place


def servers(user, leaders=True):
    """The servers of this user, whose variables name the home; or all that they have forked."""
    home = f"HOME={user.home}\0".encode()
    found = []
    for folder in ("/proc",) if sys.platform == "linux" else ():
        for name in filter(str.isdigit, os.listdir(folder)):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as command:
                    is_server = b"haiku_state.exercises.sandbox.server" in command.read()
                with open(f"/proc/{name}/environ", "rb") as variables:
                    is_leader = not leaders or os.getsid(int(name)) == int(name)
                    if is_server and is_leader and home in variables.read():
                        found.append(int(name))
            except OSError:  # it has ended
                continue
    return found


def test_one_server_answers_all_checks_of_its_user_alone(learner):
    assert PASSED in check(learner).stdout
    assert PASSED in check(learner, env={"HAIKU_STATE_LANG": "en"}).stdout
    assert len(servers(learner)) == 1
    place = socket_of(learner)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert "通过：" in check(learner, env={"HAIKU_STATE_LANG": "zh_CN"}).stdout
    write(learner, "def count(state, increment): return nothing\n")
    failed = check(learner)
    assert failed.returncode == 1
    assert "counter.py, line 1: " in failed.stdout


FORGED = """
import os
for number in range(3, 64):
    try:
        os.write(number, b'{"passed": true, "text": "passed: forged"}\\n')
    except OSError:
        pass
"""


def test_no_answer_can_write_to_a_connection(learner):
    check(learner)
    learner.haiku_state("exercises", "start", "strategy")
    file = learner.folder / DEFAULT / "strategy.py"
    file.write_text("import time\ntime.sleep(3)\n" + solution("strategy"), encoding="utf-8")
    write(learner, FORGED)
    command = (sys.executable, "-m", "haiku_state", "exercises", "check", "strategy")
    before = learner.start(*command)  # so that none is ready for the next one
    time.sleep(1)
    assert "forged" not in check(learner).stdout
    before.communicate()
    learner.haiku_state("exercises", "start", "resume")  # a part of it runs in one more process
    (learner.folder / DEFAULT / "resume.py").write_text(FORGED, encoding="utf-8")
    assert "forged" not in learner.haiku_state("exercises", "check", "resume").stdout


def test_a_server_that_was_killed_is_replaced(learner):
    check(learner)
    [pid] = servers(learner)
    os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 10
    while servers(learner, leaders=False) and time.monotonic() < end:
        time.sleep(0.1)
    assert servers(learner, leaders=False) == []  # those that waited for an answer end too
    assert PASSED in check(learner).stdout
    assert servers(learner) != [pid]


def test_a_server_that_is_killed_while_it_answers_loses_nothing(learner):
    check(learner)
    write(learner, "import time\ntime.sleep(1)\n" + solution("counter"))
    checking = learner.start(sys.executable, "-m", "haiku_state", "exercises", "check")
    time.sleep(0.5)
    for pid in servers(learner):
        os.kill(pid, signal.SIGKILL)
    printed, _errors = checking.communicate()
    assert PASSED in printed


@pytest.mark.parametrize("cache", ["/proc/nowhere", "/dev/null"])
def test_where_nothing_can_be_kept_the_command_checks_for_itself(learner, cache):
    settings = {"XDG_CACHE_HOME": cache}
    ended = check(learner, env=settings)
    assert PASSED in ended.stdout, ended.stderr
    assert ended.stderr == ""


def test_a_folder_that_others_may_enter_is_not_used(learner):
    check(learner)
    socket_of(learner).parent.chmod(0o755)
    for pid in servers(learner):
        os.kill(pid, signal.SIGKILL)
    assert PASSED in check(learner).stdout
    assert servers(learner) == []


def test_a_server_ends_when_its_folder_is_gone(learner):
    check(learner)
    socket_of(learner).unlink()
    end = time.monotonic() + 30
    while servers(learner) and time.monotonic() < end:
        time.sleep(0.5)
    assert servers(learner) == []
