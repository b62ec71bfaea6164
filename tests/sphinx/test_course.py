"""The pages of the course: each in its frame and its place, each problem with a place to go."""

import ast
import operator
import re
from types import SimpleNamespace

import haiku as hk
import jax
import jax.numpy as jnp
import pytest
from docutils import nodes
from haiku_site.course import FOLDED, contents, course, duration, minutes, parts, tasks
from sphinx import addnodes
from support.lesson_cells import DOCS, cells

import haiku_state as hs
from haiku_state import errors

FRAME = ["Recap", "Check yourself", "On your own", "Further reading"]
COURSE = course(DOCS)

NUMBERED = [name for name, lesson in COURSE.items() if lesson.number]

each_lesson = pytest.mark.parametrize("name", COURSE)


def test_course__each_page_of_a_part_is_a_lesson():
    pages = {
        page.relative_to(DOCS).with_suffix("").as_posix()
        for part in parts(DOCS)
        for page in (DOCS / part).parent.glob("*.md")
    }
    assert pages - {*parts(DOCS)} == {*COURSE}
    numbers = [lesson.number for lesson in COURSE.values() if lesson.number]
    assert numbers == [*range(1, len(numbers) + 1)]


def test_docs__a_fence_that_is_opened_is_closed():
    # MyST closes a fence at the end of its page without a word, and what follows is inside it
    fence = re.compile(r"^ *:::(.*)$", re.MULTILINE)
    for page in DOCS.rglob("*.md"):
        marks = fence.findall(page.read_text(encoding="utf-8"))
        ends = marks.count("")
        assert len(marks) == 2 * ends, page


def test_minutes__are_counted_from_words_visible_code_and_tasks(tmp_path):
    page = tmp_path / "lesson.md"
    prose = "word " * 299 + "[word](a/long/address.md)\n"  # 300 words, 2 minutes
    cell = "```{code-cell} ipython3\n" + "x = 1\n\n" * 20 + "```\n"  # 20 lines, 2 minutes
    folded = cell.replace("\n", "\n:tags: [plot]\n", 1)
    page.write_text(prose + cell + folded, encoding="utf-8")
    assert minutes(page) == 5
    # 17 words and 2 tasks more, 6 minutes and 7 seconds
    page.write_text(
        prose + cell + "\n## On your own\n1. " + "word " * 6 + "\n2. " + "word " * 6 + "\n"
    )
    assert minutes(page) == 15


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (35, "about 35 minutes"),
        (60, "about an hour"),
        (70, "about an hour"),
        (90, "about 1½ hours"),
        (110, "about 2 hours"),
        (215, "about 3½ hours"),
        (1110, "about 18½ hours"),
    ],
)
def test_duration__many_minutes_are_told_in_half_hours(minutes, text):
    assert duration(minutes) == text


def toctree(*entries):
    return nodes.bullet_list("", addnodes.toctree(entries=list(entries)))


def test_contents__has_all_lessons_with_their_minutes():
    lessons, own = course(DOCS), parts(DOCS)
    tocs = {name: nodes.bullet_list() for name in lessons}
    tocs |= {
        part: toctree(*((None, n) for n in lessons if lessons[n].part == part)) for part in own
    }
    tocs["index"] = toctree(*(("Short", part) for part in own))
    titles = {name: nodes.title("", f"Title of {name}") for name in tocs}
    env = SimpleNamespace(tocs=tocs, titles=titles)
    app = SimpleNamespace(env=env, srcdir=DOCS, config=SimpleNamespace(root_doc="index"))
    root = contents.__wrapped__(app)
    assert [(page.name, page.short) for page in root.pages] == [(part, "Short") for part in own]
    numbered = {name: each for name, each in lessons.items() if each.number}
    told = {page.name: (page.number, page.minutes) for page in root.lessons()}
    assert told == {name: (each.number, each.minutes) for name, each in numbered.items()}
    assert root.minutes == sum(each.minutes for each in numbered.values())
    first = next(iter(lessons))
    assert [page.name for page in root.pages if page.holds(first)] == [own[0]]
    assert root.pages[0].alone()[1:] == (f"Title of {own[0]}",) * 2 + root.pages[0][3:5] + ([],)


def test_get_started__takes_ten_minutes():
    assert minutes(DOCS / "get_started.md") == 10


@pytest.mark.parametrize("name", NUMBERED)
def test_lessons__a_numbered_one_has_its_frame(name):
    page = DOCS / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    label = f"lesson-{page.stem.replace('_', '-')}"
    assert re.search(rf"^\({label}\)=\n# (?!Lesson \d)\S", text, re.MULTILINE)
    first = re.split(r"\n\n+", text.split("\n# ", 1)[1])[1]
    assert re.match(r"\*\*Afterwards,? you can\*\* .*\*\*You need\*\* ", " ".join(first.split()))
    assert re.findall("^## (.*)$", text, re.MULTILINE)[-4:] == FRAME
    recap, questions, _tasks, reading = re.split("^## (?:.*)$", text, flags=re.MULTILINE)[-4:]
    assert len(re.findall("^- ", recap, re.MULTILINE)) == 3
    assert len(re.findall(r"^:::+\{dropdown\} .+\?$", questions, re.MULTILINE)) in (2, 3, 4)
    assert len(tasks(page)) in (2, 3, 4)
    assert len(re.findall(r"\]\(https://", reading)) >= 2
    assert COURSE[name].reading <= 45


def test_course__takes_eleven_hours_and_sixteen_with_its_exercises():
    numbered = [COURSE[name] for name in NUMBERED]
    assert len(numbered) == 18
    assert sum(lesson.reading for lesson in numbered) / 60 < 11.5
    assert sum(lesson.minutes for lesson in numbered) / 60 < 16.5


@each_lesson
def test_lessons__each_holds_to_what_it_shows(name):
    code = "".join(cells(name))
    assert re.search(r"^ *assert |np.testing.assert_", code, re.MULTILINE)
    for line in code.splitlines():
        assert len(line) <= 79, line
        assert not line.startswith(("%", "!")), line


PLOTS = r"\bplt\b|\bax(?:is|es)?\.|\bfigure\.|\.(?:plot|imshow|semilog\w|bar|axhline|scatter)\("


def test_lessons__what_plots_is_folded():
    visible = [
        line
        for name in COURSE
        for code in cells(name, without=FOLDED)
        for line in code.splitlines()
        if line.strip()
    ]
    plotting = [line for line in visible if re.search(PLOTS, line)]
    assert len(plotting) < 0.03 * len(visible), plotting


PROBLEMS = (DOCS / "reference/problems.md").read_text(encoding="utf-8")
ENTRIES = dict(
    re.findall(r"^\(problem-(\d+)\)=\n((?:.|\n(?!\(problem-))*)", PROBLEMS, re.MULTILINE)
)


def anchors(page):
    """The addresses that a page has: its labels, and its headings."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#{1,3} (.*)$", text, re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    labels = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {*slugs, *labels, *map(nodes.make_id, labels)}


def test_problems__every_one_has_its_number():
    assert sorted(map(int, ENTRIES)) == list(range(1, 53))
    assert "\nFifty-two problems" in PROBLEMS


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_problems__every_one_says_its_cause_and_what_to_write_instead(entry):
    cause, lines = re.match(
        r"### .+\n\n([^`{\n][\s\S]*?|`[^`][\s\S]*?)\n\n```\{instead\}\n([\s\S]*?)\n```\n", entry
    ).groups()
    assert cause.endswith(".")
    wrong, right = ([line[2:] for line in lines.splitlines() if line[0] == sign] for sign in "-+")
    assert len(wrong) + len(right) == len(lines.splitlines())
    for code in ("\n".join(wrong), "\n".join(right)):
        for node in ast.walk(ast.parse(code)):
            match node:
                case ast.Attribute(ast.Name("hs" | "hk" | "jnp" as module), name):
                    assert hasattr({"hs": hs, "hk": hk, "jnp": jnp}[module], name), name
                case ast.Attribute(ast.Name("jax"), name) if code == "\n".join(right):
                    assert hasattr(jax, name), name


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_problems__every_one_leads_to_a_place_that_exists(entry):
    links = re.findall(r"\]\((?!https:)([^)#]+)(?:#([^)]+))?\)", entry)
    for file, anchor in links:
        page = DOCS / "reference" / file
        assert page.exists(), file
        assert not anchor or anchor in anchors(page), f"{file}#{anchor}"
    names = re.findall(r"\{(exc|func|class)\}`~haiku_state\.([\w.]+)`", entry)
    catalog = (DOCS / "api/errors.rst").read_text(encoding="utf-8")
    for role, name in names:
        if role == "exc":
            assert re.search(rf"^   {name.removeprefix('errors.')}$", catalog, re.MULTILINE), name
            assert issubclass(getattr(errors, name.removeprefix("errors.")), errors.HaikuStateError)
        else:
            assert operator.attrgetter(name)(hs), name
    assert links or names
