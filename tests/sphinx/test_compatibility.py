"""The tables of the page on compatibility."""

import compatibility
import pytest

ROW = {
    "python": "3.13.0",
    "versions": {"jax": "0.12.0.1", "optax": "0.2.8"},
    "tests": {"passed": 7, "failed": 0, "skipped": {"no GPU": 2, "no root": 1}},
    "seconds": 12.6,
}


def test_a_set_that_was_not_measured_is_a_row_of_dashes_in_its_place():
    directive = compatibility.Compatibility.__new__(compatibility.Compatibility)
    directive.missing = {"0.9", "0.10"}
    rows = {"0.4.30": ROW, "0.12": ROW}
    head, *body = [[cell.astext() for cell in row] for row in directive.sets(rows)]
    assert [row[0] for row in body] == ["0.12.0.1", "0.9", "0.10", "0.12.0.1"]
    assert body[0] == ["0.12.0.1", "3.13.0", "–", "0.2.8", "–", "–", "–", "–", "7", "0", "3", "13"]
    assert set(body[1][1:]) == {"–"}
    assert {len(row) for row in body} == {len(head)}


@pytest.mark.parametrize(
    ("result", "shown", "code"),
    [
        ("ok", "✓", []),
        ("ok; skipped: a ref", "✓ skipped: a ref", ["skipped: a ref"]),
        ("cell 3: ValueError: no", "cell 3: ValueError: no", ["cell 3: ValueError: no"]),
    ],
)  # fmt: skip
def test_what_a_lesson_printed_stands_in_code(result, shown, code):
    cell = compatibility.outcome(result)
    assert cell.astext() == shown
    literals = [node.astext() for node in cell.findall(compatibility.nodes.literal)]
    assert literals == code


def test_a_complaint_that_is_of_no_set_is_no_row():
    assert compatibility.OF_A_SET.match("jax0.4.30: no jax0.4.30.json")[1] == "0.4.30"
    assert compatibility.OF_A_SET.match("an exemption is not needed: jax") is None
