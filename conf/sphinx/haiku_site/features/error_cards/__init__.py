"""The errors of the package on the site: each as it is printed, in the language of the page.

``calls.py`` makes every error happen. It runs once for both languages, and again when
the package or the calls have changed; what it prints lies beside the executed notebooks.
"""

import difflib
import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from haiku_site import features
from haiku_site.course import link_to
from haiku_site.features.folds import Fold, card
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from haiku_state import errors
from haiku_state.errors import language
from haiku_state.errors.base import LABELS

CALLS = Path(__file__).with_name("calls.py")
CATALOGS = sorted(language.FOLDER.rglob("*.mo"))
PAGES = ("api/errors", "reference/problems")
NAME = re.compile(r"(?:[A-Z][a-z]+){3,}")
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
TOKEN = re.compile(r"\w+|\s+|.")
CARD = re.compile(r"^\(problem-(\d+)\)=$", re.MULTILINE)
PROBLEM = re.compile(r"problem-\d+")
MISSING = ("AttributeError", "ModuleNotFoundError")
QUOTED = re.compile(r"'[^']*'|<[^>]*>")


def cases(cache: Path) -> list[dict[str, Any]]:
    """Return what the errors say, case by case, from a folder where it is kept."""
    inputs = b"".join(file.read_bytes() for file in (CALLS, *CATALOGS))
    digest = hashlib.sha256(inputs).hexdigest()[:16]
    file = cache / f"errors-{digest}.json"
    if not file.exists():
        command = [sys.executable, str(CALLS)]
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if ran.returncode:
            raise ExtensionError(f"{CALLS} failed:\n{ran.stderr}")
        for old in {*cache.glob("errors-*.json")} - {file}:
            old.unlink(missing_ok=True)
        cache.mkdir(parents=True, exist_ok=True)
        # The pages are read by two processes: what one writes, the other sees whole or not at all.
        written = cache / f"{file.name}.{os.getpid()}"
        written.write_text(ran.stdout, encoding="utf-8")
        written.replace(file)
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found


class Reads(SphinxDirective):
    """A directive that shows what errors say."""

    def cases(self) -> list[dict[str, Any]]:
        """Return all cases, with their texts in the language of the page."""
        for file in (CALLS, *CATALOGS):
            self.env.note_dependency(str(file))
        kept = Path(self.config.nb_execution_cache_path)
        return [{**case, **case["texts"][str(self.config.language)]} for case in cases(kept)]

    def label(self, name: str) -> str:
        """Return what stands before a line of an error, in the language of the page."""
        text = language.translated(LABELS[name], str(self.config.language))
        return text.partition("{")[0].rstrip(" :：")

    def wrong_and_right(self, wrong: str, right: str) -> list[nodes.definition_list_item]:
        """Show two lines, and what differs."""
        codes = [nodes.literal("", "", *row, classes=["hs-code"]) for row in diff(wrong, right)]
        kinds = [("wrong", "hs-wrong"), ("right", "hs-right")]
        return [
            _part(self.label(name), kind, code)
            for (name, kind), code in zip(kinds, codes, strict=True)
        ]


class Cards(Reads):
    """A card for each class of errors that is named."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Let autodoc describe each class, and add what its errors say."""
        cards = nodes.Element()
        for name in self.arguments[0].split():
            self._describe(name, cards)
        return cards.children

    def _describe(self, name: str, cards: nodes.Element) -> None:
        source, line = self.get_source_info()
        lines = StringList([f".. autoexception:: {name}()"], items=[(source, line - 1)])
        described = nodes.Element()
        self.state.nested_parse(lines, self.content_offset, described)
        for shown in described.findall(addnodes.desc):
            shown["classes"].append("hs-error")
            signature, content = shown.children
            signature.children = [*_head(signature, name)]
            first, *others = self._cases(name)
            content.children[1:1] = [first]
            if others:
                content += Fold("", *others, prompt_show=_("Other messages of this error"))
        cards += described.children

    def _cases(self, name: str) -> Iterator[nodes.Node]:
        shown = set()
        for case in self.cases():
            lines = tuple(case["lines"].values())
            if case["error"] == name and lines not in shown:
                shown.add(lines)
                yield self._case(case)

    def _case(self, case: dict[str, Any]) -> nodes.container:
        """Show one error as it is printed."""
        first, *rest = case["what"].splitlines()
        what = _paragraph(*inline(first), kind="hs-what")
        what += [nodes.literal("", line.strip(), classes=["hs-code"]) for line in rest]
        lines, parts = case["lines"], nodes.definition_list(classes=["hs-parts"])
        if "right" in lines:
            parts += self.wrong_and_right(lines["wrong"], lines["right"])
        link = link_to(re.sub(r"^.* read |#.*$", "", lines["more"]), self)
        parts += _part(self.label("why"), "hs-why", *inline(lines["why"]))
        parts += _part(self.label("more"), "hs-why", link)
        if case["before"]:
            said = nodes.literal("", case["before"], classes=["hs-code"])
            parts += _part(_("original"), "hs-why", said)
        return nodes.container("", what, parts, classes=["hs-case"])


class Seen(Reads):
    """What a reader sees of the problem of this number: the errors that JAX or Haiku raises."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """List each of them once; two that differ in a name that they quote are one."""
        number = int(self.arguments[0])
        seen: dict[str, str] = {}
        for case in self.cases():
            if case["problem"] == number and case["before"]:
                seen.setdefault(_kind(case["before"]), case["before"])
        if not seen:
            raise self.error(f"no case of problem {number} has an error of JAX or Haiku")
        lines = [nodes.literal("", text, classes=["hs-code"]) for text in seen.values()]
        return [_paragraph(line, kind="hs-seen") for line in lines]


class ProblemCards(SphinxTransform):
    """Fold each problem to its title and to what a reader sees of it."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        """Make cards of the sections that have the label of a problem."""
        for section in self.document.findall(nodes.section):
            if any(PROBLEM.fullmatch(name) for name in section["ids"]):
                lead = nodes.inline("", classes=["hs-lead"])
                for seen in [node for node in section if "hs-seen" in node.get("classes", ())]:
                    section.remove(seen)
                    message = nodes.inline("", "", *seen.children, classes=["hs-seen"])
                    lead += [message, nodes.Text(" ")]  # to the search, two words
                card(section, "hs-problem", lead)


class Messages(Reads):
    """All messages of the page's problems, or, with ``none``, the problems that have none."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """List the messages by their text, each with its cards; or the other cards."""
        found = self._found()
        if self.arguments:
            known = {number for _, numbers in found for number in numbers}
            rest = [number for number in self._numbers() if number not in known]
            rows = [_paragraph(self._card(number)) for number in rest]
        else:
            rows = [self._row(*each) for each in found]
        items = [nodes.list_item("", row) for row in rows]
        listed = nodes.bullet_list("", *items, classes=["hs-messages"])
        return [listed] if self.arguments else [Fold("", listed, prompt_show=_("All messages"))]

    def _found(self) -> list[tuple[str, list[int]]]:
        """Return each message once, as `Seen` does, and the numbers of its problems."""
        found: dict[str, tuple[str, list[int]]] = {}
        for case in self.cases():
            number, said = case["problem"], case["before"]
            if number and said:
                _, numbers = found.setdefault(_kind(said), (said, []))
                numbers += [] if number in numbers else [number]
        return sorted(found.values())

    def _numbers(self) -> list[int]:
        """Return the numbers of the page's cards, in their order."""
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        return [int(number) for number in CARD.findall(page)]

    def _row(self, said: str, numbers: list[int]) -> nodes.paragraph:
        row = _paragraph(nodes.literal("", said, classes=["hs-code"]))
        for number in sorted(numbers):
            row += [nodes.Text(" · " if number != min(numbers) else " → "), self._card(number)]
        return row

    def _card(self, number: int) -> nodes.Node:
        """Make a link to a card, whose text is its title."""
        return addnodes.pending_xref(
            "",
            nodes.inline("", "", classes=["std", "std-ref"]),
            refdomain="std",
            reftype="ref",
            reftarget=f"problem-{number}",
            refdoc=self.env.docname,
            refexplicit=False,
            refwarn=True,
        )


class Instead(Reads):
    """The wrong and the right line: the first begins with ``-``, the second with ``+``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Show both, and what differs."""
        rows = {sign: "\n".join(self._marked(sign)) for sign in "-+"}
        if not all(rows.values()) or len(self._marked("-") + self._marked("+")) < len(self.content):
            raise self.error("each line begins with '- ' or '+ ', and there are some of both")
        parts = nodes.definition_list(classes=["hs-parts"])
        parts += self.wrong_and_right(rows["-"], rows["+"])
        return [parts]

    def _marked(self, sign: str) -> list[str]:
        return [line[2:] for line in self.content if line.startswith(f"{sign} ")]


class Break(nodes.Element):
    """A place where a long name may go on in the next line."""


def break_names(tree: nodes.Element) -> None:
    """Let the long names of classes in code break at their humps."""
    for text in list(tree.findall(nodes.Text)):
        if NAME.fullmatch(text) and isinstance(text.parent, nodes.literal | addnodes.desc_name):
            first, *rest = map(nodes.Text, HUMP.split(text))
            parts = [first, *(node for part in rest for node in (Break(), part))]
            text.parent.replace(text, parts)


def _break_on_page(app: Sphinx, document: nodes.document, docname: str) -> None:
    if docname in PAGES:
        break_names(document)


def _break_in_contents(app: Sphinx, env: Any) -> None:
    for docname in {*PAGES} & {*env.tocs}:
        break_names(env.tocs[docname])


def _head(signature: nodes.Element, name: str) -> Iterator[nodes.Node]:
    """Keep the name of a class, and put the built-in beside it that would catch the error."""
    yield from signature.findall(addnodes.desc_name)
    builtin = [base for base in inspect.getmro(getattr(errors, name)) if _is_builtin(base)]
    nearest = [base.__name__ for base in builtin if not _is_base_of_another(base, builtin)]
    yield nodes.inline("", " · ".join(nearest), classes=["hs-base"])


def _is_builtin(base: type) -> bool:
    return base.__module__ == "builtins" and base is not object


def _is_base_of_another(base: type, others: list[type]) -> bool:
    return any(issubclass(other, base) for other in others if other is not base)


def _part(label: str, kind: str, *text: nodes.Node) -> nodes.definition_list_item:
    # the label is smaller than the text of its line, and stands on the baseline of the text
    name = nodes.inline("", label)
    term = nodes.term("", "", name, classes=[kind], translatable=False)
    return nodes.definition_list_item(
        "", term, nodes.definition("", _paragraph(*text), classes=[kind])
    )


def _kind(said: str) -> str:
    """Return a message without the names that it quotes, unless the name is what is missing."""
    return said if said.startswith(MISSING) else QUOTED.sub("", said)


def _paragraph(*text: nodes.Node, kind: str = "") -> nodes.paragraph:
    """Make a paragraph in the words of the package: no catalog has it, and its quotes are code."""
    classes = [kind] if kind else []
    return nodes.paragraph(
        "", "", *text, classes=classes, translatable=False, support_smartquotes=False
    )


def inline(text: str) -> list[nodes.Node]:
    """Show code between backticks as code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return [nodes.Text(text)]
    return [
        nodes.literal("", piece) if number % 2 else nodes.Text(piece)
        for number, piece in enumerate(pieces)
    ]


def diff(wrong: str, right: str) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Split two lines into what they share and what differs, which is marked."""
    before, after = TOKEN.findall(wrong), TOKEN.findall(right)
    rows: tuple[list[nodes.Node], list[nodes.Node]] = ([], [])
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        for row, text in zip(rows, ("".join(before[a:b]), "".join(after[c:d])), strict=True):
            if text:
                same = kind == "equal" or not text.strip()
                row.append(nodes.Text(text) if same else nodes.strong("", text))
    return rows


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, and the places where long names break."""
    app.add_node(Break, html=(lambda html, _node: html.body.append("<wbr>"), lambda *_: None))
    app.connect("doctree-resolved", _break_on_page)
    app.connect("env-updated", _break_in_contents)
    app.add_transform(ProblemCards)
    app.add_directive("error-cards", Cards)
    app.add_directive("seen", Seen)
    app.add_directive("messages", Messages)
    app.add_directive("instead", Instead)
    return features.add(app, __file__)
