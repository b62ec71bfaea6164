"""The exercises of the package on the site: cards, and links to them in the lessons.

Their texts are those of the package, in the language of the page, so that a page and a terminal
say the same.
"""

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from docutils import nodes
from docutils.parsers.rst import directives
from haiku_site import ROOT, features
from haiku_site.course import after_whole_site, link_to, of_lesson
from haiku_site.features.folds import Fold, card
from haiku_site.notebooks.write import FOLDER, download
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

import haiku_state
from haiku_state.errors.language import reading, translated
from haiku_state.exercises.courses import ours
from haiku_state.exercises.exercise import Exercise
from haiku_state.exercises.notebook import KINDS, LESSON, LEVELS, notebook_of

ROOM = Path(haiku_state.__file__).parent
WALKS = ROOT / "docs/exercises"
STEP = re.compile(r"\n\n(?=[(（])")


class Cards(SphinxDirective):
    """All exercises, by the parts of the course; the script filters and marks them."""

    def run(self) -> list[nodes.Node]:
        """Make a section for each part, and in it one for each exercise."""
        _depend(self.env.note_dependency)
        with reading(str(self.config.language)):
            parts = enumerate(ours().parts, 1)
            filters = nodes.raw("", _filters(), format="html")
            return [filters, *(self._part(number, *part) for number, part in parts)]

    def _part(self, number: int, title: str, names: tuple[str, ...]) -> nodes.Node:
        part = self._section(translated(title), f"exercises-{number}")
        part += [self._card(ours().load(name)) for name in names]
        return part

    def _section(self, title: str, name: str) -> nodes.section:
        section = nodes.section("", names=[name], ids=[nodes.make_id(name)])
        section += nodes.title("", *self._inline(title), translatable=False)
        self.state.document.note_explicit_target(section)
        return section

    def _card(self, exercise: Exercise) -> nodes.section:
        section = self._section(translated(exercise.title), label(exercise.name))
        kind = nodes.inline("", translated(KINDS[exercise.kind]), classes=["hs-badge"])
        minutes = _("about {minutes} minutes").format(minutes=exercise.minutes)
        level = translated(LEVELS[exercise.level])
        lead = nodes.inline("", "", kind, nodes.Text(f" {level} · {minutes}"), classes=["hs-lead"])
        card(section, "hs-exercise", lead)
        section["classes"] += [f"hs-is-{exercise.kind}", f"hs-is-{exercise.level}"]
        section += self._inside(exercise)
        return section

    def _inside(self, exercise: Exercise) -> Iterator[nodes.Node]:
        before, after = translated(LESSON).split("{address}")
        lesson = link_to(exercise.lesson.partition("#")[0], self)
        texts = [nodes.Text(before), lesson, nodes.Text(after)]
        yield nodes.paragraph("", "", *texts, translatable=False)
        for paragraph in translated(exercise.statement).split("\n\n"):
            yield nodes.paragraph("", "", *self._inline(paragraph), translatable=False)
        yield nodes.paragraph("", _("These checks have to pass:"), translatable=False)
        passes = nodes.bullet_list()
        for check in exercise.checks:
            text = nodes.paragraph(
                "", "", *self._inline(translated(check.title)), translatable=False
            )
            passes += nodes.list_item("", text)
        yield passes
        command = f"$ python -m haiku_state exercises start {exercise.name}"
        yield nodes.literal_block("", command, language="console", translatable=False)
        text = _("Download this exercise as a notebook")
        link = download(self.env.docname, f"exercises/{exercise.name}.ipynb", text)
        yield nodes.paragraph("", "", link, translatable=False)
        stub = nodes.literal_block(
            "", ours().stub(exercise.name), language="python", translatable=False
        )
        yield Fold("", stub, prompt_show=_("Show the file that you start with"))
        for number, hint in enumerate(exercise.hints, 1):
            text = nodes.paragraph("", "", *self._inline(translated(hint)), translatable=False)
            yield Fold("", text, prompt_show=_("Hint {number}").format(number=number))
        done = html.escape(_("I have passed this exercise"))
        box = f'<p class="hs-done" hidden><label><input type="checkbox"> {done}</label></p>'
        yield nodes.raw("", box, format="html")

    def _inline(self, text: str) -> list[nodes.Node]:
        parsed = self.parse_text_to_nodes(text)
        return [child for node in parsed for child in node.children]


class Walk(SphinxDirective):
    """What a learner sees on a terminal, as a test has recorded it: all of it, or some steps."""

    option_spec: ClassVar[dict[str, Any]] = {"steps": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Read the record in the language of the page; a step begins with what the learner does."""
        file = WALKS / f"walk.{self.config.language}.txt"
        self.env.note_dependency(str(file))
        text = file.read_text(encoding="utf-8").rstrip("\n")
        if "steps" in self.options:
            steps = STEP.split(text)
            text = "\n\n".join(steps[int(number)] for number in self.options["steps"].split())
        return [nodes.literal_block("", text, language="text", translatable=False)]


def _filters() -> str:
    """Return two lists to choose from, which the script shows."""
    chosen = []
    for title, texts in ((_("Kind"), KINDS), (_("Level"), LEVELS)):
        options = [f'<option value="">{html.escape(_("all"))}</option>']
        options += [f'<option value="{name}">{translated(texts[name])}</option>' for name in texts]
        chosen.append(f"<label>{html.escape(title)} <select>{''.join(options)}</select></label>")
    return f'<form class="hs-filters" hidden>{" ".join(chosen)} <output></output></form>'


def label(name: str) -> str:
    """Return the label of an exercise."""
    return f"exercise-{name.replace('_', '-')}"


def _depend(note: Callable[[str], None]) -> None:
    for file in [*ROOM.glob("exercises/**/*.*"), *ROOM.glob("locale/*/*/*.mo")]:
        note(str(file))


def _link_exercises(app: Sphinx, document: nodes.document) -> None:
    """Link to each exercise where the section that it practises ends."""
    docname, language = app.env.docname, str(app.config.language)
    sections = {name: one for one in document.findall(nodes.section) for name in one["ids"]}
    for exercise in of_lesson(docname):
        _depend(app.env.note_dependency)
        anchor = exercise.lesson.partition("#")[2]
        section = sections.get(anchor, sections.get("on-your-own"))
        if section is None:
            continue
        inner = section.first_child_matching_class(nodes.section)
        link = _link(exercise, docname, language)
        section.insert(len(section) if inner is None else inner, link)


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Lead from the end of a lesson to its exercises."""
    if found := list(of_lesson(pagename)):
        text = _("Practise: {number} exercises for this lesson").format(number=len(found))
        context["site_exercises"] = {
            "href": f"{context['pathto']('exercises/index')}#{label(found[0].name)}",
            "text": text if len(found) > 1 else _("Practise: an exercise for this lesson"),
        }


def _link(exercise: Exercise, docname: str, language: str) -> nodes.paragraph:
    about = _("{kind}, about {minutes} minutes").format(
        kind=translated(KINDS[exercise.kind], language), minutes=exercise.minutes
    )
    title = nodes.inline("", translated(exercise.title, language).replace("`", ""))
    link = addnodes.pending_xref(
        "",
        title,
        refdomain="std",
        reftype="ref",
        reftarget=label(exercise.name),
        refdoc=docname,
        refexplicit=True,
        refwarn=True,
    )
    lead = nodes.inline("", _("Exercise"), classes=["hs-badge"])
    texts = [lead, nodes.Text(" "), link, nodes.Text(f" ({about})")]
    return nodes.paragraph("", "", *texts, translatable=False, classes=["hs-practise"])


def _write_notebooks(app: Sphinx) -> None:
    """Write a notebook for each exercise, in the language of the site."""
    folder = Path(app.outdir, FOLDER, "exercises")
    folder.mkdir(parents=True, exist_ok=True)
    with reading(str(app.config.language)):
        for name in ours().names:
            nbformat.write(notebook_of(name), folder / f"{name}.ipynb")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, the fold, and the links in the lessons."""
    app.add_directive("exercise-cards", Cards)
    app.add_directive("exercise-walk", Walk)
    app.connect("doctree-read", _link_exercises)
    app.connect("html-page-context", _page_context)
    after_whole_site(app, _write_notebooks)
    return features.add(app, __file__, 'class="hs-filters"')
