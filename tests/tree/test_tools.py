"""What measures, draws or writes something is found and started in one way."""

from support import ROOT

TOOLS = ROOT / "tests/tools"


def test_tools__without_a_name_they_are_listed_with_what_each_does(user):
    listed = user.python(TOOLS).stdout.splitlines()
    assert "search.evaluate" in "\n".join(listed)
    assert all(len(line.split(maxsplit=1)) == 2 for line in listed)


def test_tools__an_unknown_name_is_answered_with_those_that_exist(user):
    done = user.python(TOOLS, "serch.evaluate")
    assert done.returncode == 1
    assert done.stderr.startswith("serch.evaluate is none of: ")
    assert "search.evaluate" in done.stderr


def test_tools__each_one_that_takes_options_says_which(user):
    names = [line.split()[0] for line in user.python(TOOLS).stdout.splitlines()]
    with_options = [
        name
        for name in names
        if name != "mutants"  # its libraries are in its own environment
        and "ArgumentParser" in (TOOLS / f"{name.replace('.', '/')}.py").read_text("utf-8")
    ]
    assert len(with_options) > 8
    for name in with_options:
        done = user.python(TOOLS, name, "--help")
        assert (done.returncode, done.stderr) == (0, ""), name
        assert done.stdout.startswith("usage: "), name
