"""Bad command lines and environments: one sentence each, the right exit code, no traceback."""

import re

import pytest
from support.chinese import ZH
from tools import bad_lines


def assert_ends(row, run, folder):
    before = sorted(bad_lines.prepare(folder).rglob("*"))
    code, output, errors = run(row.line, folder)
    assert code == row.code, output + errors
    assert output == ""
    if row.says:
        [line] = errors.replace(bad_lines.LONG, "nnn").splitlines()
        assert re.match(
            rf"haiku_state( train| explain| doctor| exercises( \w+)?)?: error: .*{row.says}", line
        )
    else:
        assert errors == ""
    assert [path for path in sorted(folder.rglob("*")) if "said" not in path.parts] == before


@pytest.mark.parametrize("row", bad_lines.LINES, ids=lambda row: row.line[:60])
def test_main__a_bad_line_ends_with_one_sentence(row, tmp_path):
    assert_ends(row, bad_lines.run_line, tmp_path)


# what Python and the system say, and the words of the line itself, stay as they are
QUOTED = re.compile(
    r"'[^']*'|/[^\s：]+|--\w+ \w+|\w+(?:Error|Exit): .*|--(?:args|init): .*|"
    r"(?:No such file|Is a directory|Not a directory|File name too).*|"
    r"python -m haiku_state \w+ \w+|missing a required argument|too many positional .*|"
    r"got an unexpected .*"
)


@pytest.mark.parametrize("row", bad_lines.LINES, ids=lambda row: row.line[:60])
def test_main__a_bad_line_is_told_in_one_language(row, tmp_path, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", ZH)
    code, _output, errors = bad_lines.run_line(row.line, bad_lines.prepare(tmp_path))
    assert code == row.code, errors
    [told] = re.findall(r"^haiku_state(?: \w+){0,2}: 错误：(.+)\n$", errors)
    assert not re.search(r"[a-z]{2,} [a-z]{2,}", QUOTED.sub("", told)), errors


@pytest.mark.parametrize(
    "row", bad_lines.SHELL, ids=lambda row: row.line.replace(bad_lines.HERE, "HS")
)
def test_main__a_bad_environment_ends_with_one_sentence(row, tmp_path):
    assert_ends(row, bad_lines.run_shell, tmp_path)


def test_main__there_are_a_hundred_bad_lines():
    assert len({row.line for row in bad_lines.LINES + bad_lines.SHELL}) >= 100
