"""The pages of the course: each in its frame and its place, each problem with a place to go."""

import operator
import re

import pytest
from course import minutes
from docutils.nodes import make_id
from lesson_cells import DOCS, cells

import haiku_state as hs
from haiku_state import errors

PARTS = ("pure", "state", "haiku", "update", "beyond")
LESSONS = [page for part in PARTS for page in (DOCS / part).glob("*.md") if page.stem != "index"]
NUMBERS = [*range(1, 21), 23]  # 21 and 22 are not written yet
FRAME = ["Check yourself", "On your own", "In practice", "Further reading"]

each_lesson = pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)


def number(page):
    label, title = re.search(
        r"^\(lesson-(\d+)\)=\n# Lesson (\d+): \S", page.read_text(encoding="utf-8"), re.MULTILINE
    ).groups()
    assert label == title
    return int(label)


def listed(page, directive):
    [block] = re.findall(rf"```{{{directive}}}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    return [line for line in block.splitlines() if line and not line.startswith(":")]


def test_the_parts_list_all_lessons_in_their_order():
    in_order = []
    for part in PARTS:
        names = listed(DOCS / part / "index.md", "toctree")
        assert listed(DOCS / part / "index.md", "lessons") == [f"{part}/{name}" for name in names]
        in_order += [DOCS / part / f"{name}.md" for name in names]
    assert sorted(in_order) == sorted(LESSONS)
    assert [number(page) for page in in_order] == NUMBERS


@each_lesson
def test_a_lesson_has_its_frame(page):
    text = page.read_text(encoding="utf-8")
    start = text.index(":::{admonition} Before you start")
    assert "\n## " not in text[:start]
    for entry in ("**You will build** ", "**You need** ", "**Time:** "):
        assert f"\n- {entry}" in text[start : text.index("\n:::\n", start)]
    assert minutes(page) % 5 == 0
    assert re.findall("^## (.*)$", text, re.MULTILINE)[-4:] == FRAME
    questions, tasks, _practice, reading = re.split("^## (?:.*)$", text, flags=re.MULTILINE)[-4:]
    assert len(re.findall(r"^:::\{dropdown\} .+\?$", questions, re.MULTILINE)) in (2, 3, 4)
    assert len(re.findall(r"^\d\. ", tasks, re.MULTILINE)) in (2, 3, 4)
    assert len(re.findall(r"\]\(https://", reading)) >= 2


@each_lesson
def test_a_lesson_holds_to_what_it_shows(page):
    code = "".join(cells(page.relative_to(DOCS).with_suffix("").as_posix()))
    assert re.search(r"^ *assert ", code, re.MULTILINE)
    for line in code.splitlines():
        assert len(line) <= 79, line
        assert not line.startswith(("%", "!")), line


PROBLEMS = (DOCS / "reference/problems.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^\d+\. (?:.|\n(?!\n|\d+\. ))*", PROBLEMS, re.MULTILINE)


def anchors(page):
    """The addresses that a page has: its labels, and its headings."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#{1,3} (.*)$", text, re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    labels = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {*slugs, *labels, *map(make_id, labels)}


def test_every_problem_has_its_number():
    assert [int(entry.split(".")[0]) for entry in ENTRIES] == list(range(1, 37))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.split(".")[0])
def test_every_problem_leads_to_a_place_that_exists(entry):
    links = re.findall(r"\]\((?!https:)([^)#]+)(?:#([^)]+))?\)", entry)
    for file, anchor in links:
        page = DOCS / "reference" / file
        assert page.exists(), file
        assert not anchor or anchor in anchors(page), f"{file}#{anchor}"
    names = re.findall(r"\{(exc|func|class)\}`~haiku_state\.([\w.]+)`", entry)
    catalog = (DOCS / "api/errors.rst").read_text(encoding="utf-8")
    for role, name in names:
        if role == "exc":
            assert f".. autoexception:: {name.removeprefix('errors.')}()" in catalog, name
            assert issubclass(getattr(errors, name.removeprefix("errors.")), errors.HaikuStateError)
        else:
            assert operator.attrgetter(name)(hs), name
    assert links or names
