"""Questions with answers to choose from: each answer is what a program printed in the build.

    **Predict:** what do three calls return?

    ```{code-cell} ipython3
    :tags: [predict]
    …
    ```

    ```{code-cell} ipython3
    :tags: [answers]
    instead("@jax.jit", "")
    instead("+= 1", "+= 2")
    ```

    ```{why} three-calls
    - Why the program prints what it prints.
    - What the reader may have thought who expected the first of the others.
    - And the second.
    ```

The first item is about the program as it stands, each of the others about one line of the cell
with the tag ``answers`` (see ``kernel.py``). The name in the last line is
unique on the whole site. ``{question-list}`` is the list of all questions, and ``{question-count}``
says how many of them the reader has answered, which only the reader's browser knows.
"""

import hashlib
import html
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from docutils import nodes
from haiku_site import compat, features
from haiku_site.course import contents
from haiku_site.features.folds import Fold
from haiku_site.features.outputs import printed
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

LINES = 12
KEPT = "hs_questions"
LIST = "exercises/questions"
SCORE = "{right} of {total} questions answered correctly, {wrong} to repeat"


class QuestionError(ExtensionError):
    """A question does not hold: it has no wrong answer, or two that are equal."""


class Why(nodes.Element):
    """The reasons of a question, until it is made."""


class WhyHere(SphinxDirective):
    """Makes a question of the two cells before."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Keep the reasons."""
        reasons = self.parse_content_to_nodes()
        if [type(node) for node in reasons] != [nodes.bullet_list]:
            raise self.error("the content is a list of reasons, one for each answer")
        why = Why("", *reasons, name=self.arguments[0])
        self.set_source_info(why)
        return [why]


class Answer(NamedTuple):
    """One answer: what a program printed, what was changed in it, and why it is right or wrong."""

    output: str
    changes: list[list[str]]
    why: list[nodes.Node]


class MakeQuestions(SphinxTransform):
    """Make the questions, after all texts are translated and what cells print is in one piece."""

    default_priority = 295

    def apply(self, **kwargs: Any) -> None:
        """Put the answers and the fold into the cell that is asked about."""
        found = self.env.metadata[self.env.docname][KEPT] = []
        for why in list(self.document.findall(Why)):
            try:
                found.append((why["name"], self._make(why)))
            except QuestionError as error:
                place = f"{why.source}:{why.line}: the question {why['name']}"
                raise QuestionError(f"{place}: {error}") from None

    def _make(self, why: Why) -> str:
        at = why.parent.index(why)
        around = [node for node in why.parent[:at] if not isinstance(node, nodes.Invisible)]
        cells = around[-2:]
        if len(cells) < 2 or "predict" not in _tags(cells[0]) or "answers" not in _tags(cells[1]):
            raise QuestionError("stands after a cell with the tag predict and one with answers")
        cell, others = cells
        text = _text(around[:-2], cell.parent)
        answers = _answers(cell, others, why)
        name = f"question-{why['name']}"
        right = answers[0]
        answers.sort(key=lambda answer: hashlib.sha256(answer.output.encode()).digest())
        [shown] = list(compat.parts_of_cells(cell, "cell_code_output"))
        cell.remove(shown)
        cell += nodes.raw("", _form(name, answers, right), format="html")
        wrong = [_reason(answer) for answer in answers if answer is not right]
        reasons = nodes.container("", *right.why, nodes.definition_list("", *wrong))
        reasons["classes"].append("hs-reasons")
        cell += Fold(
            "", shown, reasons, prompt_show=_("Show what it prints, and why"), kind="answer"
        )
        for node in (others, why):
            node.parent.remove(node)
        return text


def _tags(node: nodes.Node) -> list[str]:
    return compat.tags(node) if compat.part_of_cell(node) == "cell_code" else []


def _text(before: list[nodes.Node], section: nodes.Element) -> str:
    """Return what is asked: the paragraph before that begins in bold, or the title above.

    It begins with a capital letter, unless it begins with code.
    """
    if before and isinstance(before[-1], nodes.paragraph):
        first, *said = [node.astext() for node in before[-1] if node.astext()]
        if any(isinstance(node, nodes.strong) and node.astext() == first for node in before[-1]):
            text = " ".join("".join(said).split()).lstrip(":： ")
            return text[0].upper() + text[1:] if said[0].strip(":： ") else text
    return " ".join(section[section.first_child_matching_class(nodes.title)].astext().split())


def _answers(cell: nodes.Element, others: nodes.Element, why: Why) -> list[Answer]:
    """Return the answers, the right one first."""
    reasons = [list(item.children) for item in why[0]]
    wrong = [json.loads(line) for line in printed(others).splitlines()]
    if not 2 <= len(wrong) <= 4:
        raise QuestionError(f"has {len(wrong)} wrong answers, not 2 to 4")
    if len(reasons) != 1 + len(wrong):
        raise QuestionError(f"has {len(reasons)} reasons for {1 + len(wrong)} answers")
    outputs = [printed(cell), *(answer["output"] for answer in wrong)]
    changes = [[], *(answer["changes"] for answer in wrong)]
    known: dict[str, int] = {}
    for number, output in enumerate(outputs):
        short = " ".join(output.split())
        if not short or len(output.splitlines()) > LINES:
            raise QuestionError(f"answer {number} has no line, or more than {LINES}: {output!r}")
        if short in known:
            raise QuestionError(f"the answers {known[short]} and {number} are equal: {output!r}")
        known[short] = number
    return list(map(Answer, outputs, changes, reasons))


def _form(name: str, answers: list[Answer], right: Answer) -> str:
    """Return radio buttons, whose right one ``questions.js`` knows."""
    texts = {"yes": _("Right."), "no": _("It prints something else. Why?")}
    data = "".join(f' data-{key}="{html.escape(text)}"' for key, text in texts.items())
    at = answers.index(right)
    lines = [f'<fieldset class="hs-question" id="{name}" data-right="{at}"{data}>']
    lines.append(f"<legend>{html.escape(_('What will it print?'))}</legend>")
    for number, answer in enumerate(answers):
        button = f'<input type="radio" name="{name}" value="{number}">'
        lines.append(f"<label>{button}<samp>{html.escape(answer.output)}</samp></label>")
    lines.append('<p role="status"></p></fieldset>')
    return "\n".join(lines)


def _reason(answer: Answer) -> nodes.definition_list_item:
    """Return a wrong answer, what speaks against it, and which program prints it."""
    mark = nodes.inline("", _("wrong"), classes=["hs-badge"])
    term = nodes.term("", "", mark, nodes.Text(" "), nodes.literal("", answer.output))
    told = nodes.definition("", *answer.why, _changed(answer.changes))
    return nodes.definition_list_item("", term, told)


def _changed(changes: list[list[str]]) -> nodes.paragraph:
    """Return the sentence that says which program prints the answer."""
    said: list[nodes.Node] = []
    for old, new in changes:
        text = _("with {new} instead of {old}") if new.strip() else _("without {old}")
        said += [nodes.Text(", ")] * bool(said) + _filled(text, old=old, new=new)
    filled = str(_("The program prints this {changes}.")).split("{changes}")
    parts = [nodes.Text(filled[0]), *said, nodes.Text(filled[1])]
    return nodes.paragraph("", "", *parts, translatable=False, classes=["hs-instead"])


def _filled(text: str, **values: str) -> list[nodes.Node]:
    """Put code into the places of a text."""
    parts = re.split(r"\{(\w+)\}", str(text))
    return [
        nodes.literal("", "; ".join(map(str.strip, values[part].strip().splitlines())))
        if number % 2
        else nodes.Text(part)
        for number, part in enumerate(parts)
    ]


# --- all of them ----------------------------------------------------------------------------------


def _questions(env: BuildEnvironment) -> dict[str, list[tuple[str, str]]]:
    """Return the name and the text of each question, by pages."""
    return {docname: known.get(KEPT, []) for docname, known in env.metadata.items()}


def _check_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Stop where two questions have one name, by which the reader's browser knows them."""
    known: dict[str, str] = {}
    for docname, questions in _questions(env).items():
        for name, _text in questions:
            if name in known:
                raise QuestionError(f"{docname} and {known[name]} have a question {name}")
            known[name] = docname


class QuestionList(nodes.General, nodes.Element):
    """The place of the list of all questions."""


class QuestionCount(nodes.General, nodes.Element):
    """The place of what is known of the answers."""


class ListHere(SphinxDirective):
    """All questions of the site, by pages."""

    def run(self) -> list[nodes.Node]:
        """Mark the place."""
        return [QuestionList()]


class CountHere(SphinxDirective):
    """How many questions the reader has answered, and what is to be repeated."""

    def run(self) -> list[nodes.Node]:
        """Mark the place."""
        return [QuestionCount()]


def _fill_places(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Draw the list and the count, once all pages are read."""
    for place in list(document.findall(QuestionList)):
        place.replace_self(list(_list(app, docname)))
    for count in list(document.findall(QuestionCount)):
        total = sum(map(len, _questions(app.env).values()))
        said = html.escape(_("{total} questions").format(total=total))
        if docname != LIST:
            said = f'<a href="{app.builder.get_relative_uri(docname, LIST)}">{said}</a>'
        words = {"text": _(SCORE), "right": _("answered correctly"), "wrong": _("to repeat")}
        told = "".join(f' data-{key}="{html.escape(word)}"' for key, word in words.items())
        score = f'<p class="hs-score" data-total="{total}"{told}><span>{said}</span></p>'
        count.replace_self(nodes.raw("", score, format="html"))


def _list(app: Sphinx, here: str) -> Iterator[nodes.Node]:
    pages = contents(app).pages
    for docname in _in_order(pages):
        questions = _questions(app.env).get(docname)
        if not questions:
            continue
        yield nodes.rubric("", app.env.titles[docname].astext())
        listed = nodes.bullet_list(classes=["hs-questions"])
        for name, text in questions:
            uri = f"{app.builder.get_relative_uri(here, docname)}#question-{name}"
            link = nodes.reference("", text, refuri=uri, internal=True)
            listed += nodes.list_item("", nodes.paragraph("", "", link))
        yield listed


def _in_order(pages: list[Any]) -> Iterator[str]:
    for page in pages:
        yield page.name
        yield from _in_order(page.pages)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, the transform, and what fills their places."""
    app.add_directive("why", WhyHere)
    app.add_directive("question-list", ListHere)
    app.add_directive("question-count", CountHere)
    app.add_transform(MakeQuestions)
    app.connect("env-updated", _check_names)
    app.connect("doctree-resolved", _fill_places)
    marks = 'class="hs-question"', 'class="hs-score"'
    return features.add(app, __file__, *marks)
