"""Bad command lines and environments: one sentence each, the right exit code, no traceback."""

import re

import bad_lines
import pytest


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
def test_a_bad_line_ends_with_one_sentence(row, tmp_path):
    assert_ends(row, bad_lines.run_line, tmp_path)


@pytest.mark.parametrize(
    "row", bad_lines.SHELL, ids=lambda row: row.line.replace(bad_lines.HERE, "HS")
)
def test_a_bad_environment_ends_with_one_sentence(row, tmp_path):
    assert_ends(row, bad_lines.run_shell, tmp_path)


def test_there_are_a_hundred_of_them():
    assert len({row.line for row in bad_lines.LINES + bad_lines.SHELL}) >= 100
