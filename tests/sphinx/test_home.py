"""What the home page is made from: durations, what to install, the course as a tree."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from docutils import nodes
from haiku_site.content import exercise_cards
from haiku_site.content.course import contents, course, duration, minutes, parts
from haiku_site.content.install import SYSTEMS, install_line, newest_sets, requirement
from packaging.requirements import Requirement
from sphinx import addnodes
from support.chinese import ZH
from support.constraint_files import FOLDER, lines
from support.lesson_cells import DOCS

from haiku_state.commands.doctor.versions import CORE, read_sets


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
def test_many_minutes_are_told_in_half_hours(minutes, text):
    assert duration(minutes) == text


def test_what_to_install_is_the_newest_measured_set_of_each_python():
    for pythons, found in newest_sets(read_sets()):
        for python in pythons:
            [newest] = lines(FOLDER / f"newest-py{python}.txt")
            pinned = list(map(Requirement, lines(FOLDER / newest.removeprefix("-c "))))
            here = {"python_version": python, "python_full_version": f"{python}.0"}
            for package in CORE:
                [version] = [
                    str(wanted.specifier)
                    for wanted in pinned
                    if wanted.name == package
                    if wanted.marker is None or wanted.marker.evaluate(here)
                ]
                assert f" {package}{version}" in install_line("haiku-state", found), (
                    python,
                    package,
                )
    listed = [python for pythons, _ in newest_sets(read_sets()) for python in pythons]
    assert sorted(listed) == sorted(file.stem[9:] for file in FOLDER.glob("newest-py*.txt"))


def test_only_the_line_for_a_gpu_asks_for_it():
    [pins] = [pins for pythons, pins in newest_sets(read_sets()) if "3.13" in pythons]
    asking = [
        name
        for name, (_, _, extra) in SYSTEMS.items()
        if "cuda" in install_line("haiku-state", pins, extra)
    ]
    assert asking == ["Linux, GPU"]


@pytest.mark.parametrize(
    ("published", "site", "line"),
    [
        (True, "", '"haiku-state[lab]"'),
        (True, "https://example.org", '"haiku-state[lab]"'),
        (False, "", '"./haiku_state-1.2-py3-none-any.whl[lab]"'),
        (
            False,
            "https://example.org",
            '"haiku-state[lab] @ https://example.org/haiku_state-1.2-py3-none-any.whl"',
        ),
    ],
)
def test_one_setting_says_what_is_installed(published, site, line, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_SITE", site)
    config = SimpleNamespace(haiku_state_published=published, release="1.2")
    assert requirement(config, "lab") == line


def toctree(*entries):
    return nodes.bullet_list("", addnodes.toctree(entries=list(entries)))


def test_the_tree_of_the_course_has_all_lessons_with_their_minutes():
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


def test_get_started_takes_ten_minutes():
    assert minutes(DOCS / "get_started.md") == 10


@pytest.mark.parametrize("language", ["en", ZH])
def test_get_started_shows_a_slip_and_a_pass_of_the_recorded_session(language, monkeypatch):
    page = (DOCS / "get_started.md").read_text(encoding="utf-8")
    [steps] = re.findall(r"^```\{exercise-walk\}\n:steps: (.*)\n```$", page, re.MULTILINE)
    walk = exercise_cards.Walk.__new__(exercise_cards.Walk)
    env = SimpleNamespace(note_dependency=lambda file: None)
    monkeypatch.setattr(exercise_cards.Walk, "env", env)
    monkeypatch.setattr(exercise_cards.Walk, "config", SimpleNamespace(language=language))
    walk.options = {}
    [whole] = [block.astext() for block in walk.run()]
    walk.options = {"steps": steps}
    [shown] = [block.astext() for block in walk.run()]
    assert shown.startswith("$ python -m haiku_state exercises\n")
    assert {*shown.splitlines()} < {*whole.splitlines()}
    assert re.search(r"✗[\s\S]*incremnt[\s\S]*✓[\s\S]* 1/\d+ ", shown)


def test_the_picture_is_drawn_in_the_colours_of_the_page():
    [file] = DOCS.glob("drawings/home/*.svg")
    assert ElementTree.parse(file).getroot().get("aria-label")
    assert not re.search(r'\b(style|fill|stroke|font-size|id)="|<style', file.read_text())
