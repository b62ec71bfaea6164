"""What the search looks through: ``_static/search-index.js``, one for each language.

A place is what a reader can be sent to: a section, a name of the API, a term of the glossary. The
index is a script, so that a page opened from a disk can load it too; ``search.js`` loads it
once somebody searches, and ``search-engine.js`` reads it.
"""

import csv
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from haiku_site import SPHINX, compat, features
from haiku_site.course import after_whole_site, course
from haiku_site.translate.languages import scripts, sites, translations
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

SEARCHED = ("class", "exception", "function", "method")  # other names belong to the place around
WORDS = re.compile(r"[^\W\d][\w.]*")
SENTENCE = re.compile(rf"[^\W\d]{{2,}}\W+[^\W\d]{{2,}}\W+[^\W\d]{{2,}}|[{scripts()}]{{4}}")


def places_of(document: nodes.document) -> Iterator[list[str]]:
    """Return the places of a page: anchor, heading, headings around it, prose, words of its code.

    Args:
      document: the page, read and translated.
    """
    for node in document.findall(_is_place):
        above = [_heading(around) for around in _around(node)]
        prose, code = [], []
        for part in _own_parts(node):
            text = _text(part)
            if isinstance(part, nodes.literal_block) and _is_output(part):
                prose += [line.strip() for line in text.splitlines() if SENTENCE.search(line)]
            elif isinstance(part, nodes.literal_block | nodes.doctest_block | nodes.math_block):
                code.append(text)
            elif isinstance(part, addnodes.desc_signature):
                code.append(part.get("fullname", ""))
                code += [name.astext() for name in part.findall(addnodes.desc_sig_name)]
            else:
                prose.append(text)
        words = dict.fromkeys(WORDS.findall(" ".join(code)))
        yield [
            _target(node)["ids"][0],
            _heading(node),
            " › ".join(above),
            " ".join(" ".join(prose).split()),
            " ".join(words),
        ]


def _is_place(node: nodes.Node) -> bool:
    if isinstance(node, addnodes.desc):
        return node["objtype"] in SEARCHED and bool(_target(node)["ids"])
    if isinstance(node, nodes.definition_list_item):
        return bool(_target(node)["ids"])
    return isinstance(node, nodes.section)


def _target(node: nodes.Element) -> nodes.Element:
    """Return the part of a place that carries its anchor."""
    return node if isinstance(node, nodes.section) else node[0]


def _heading(node: nodes.Element) -> str:
    if isinstance(node, addnodes.desc):
        return str(node[0]["ids"][0])
    return " ".join(node[0].astext().split())


def _around(node: nodes.Node) -> list[nodes.Element]:
    """Return the places around one, outermost first."""
    found = []
    while node := node.parent:
        if _is_place(node):
            found.insert(0, node)
    return found


def _own_parts(node: nodes.Element) -> Iterator[nodes.Element]:
    """Return what a place says itself, without its heading and the places inside it."""
    for child in node.children[0 if isinstance(node, addnodes.desc) else 1 :]:
        yield from _parts(child)


def _parts(node: nodes.Node) -> Iterator[nodes.Element]:
    if not isinstance(node, nodes.Element) or _is_place(node) or "tag_check" in node["classes"]:
        return
    if isinstance(node, nodes.raw | nodes.comment | nodes.system_message | addnodes.toctree):
        return
    if isinstance(node, nodes.TextElement):
        yield node
    else:
        for child in node.children:
            yield from _parts(child)


def _text(part: nodes.Element) -> str:
    """Return the text of a node, formulas by their letters, each name in its short form."""
    long = [
        text
        for name in part.findall(addnodes.pending_xref_condition)
        if name["condition"] == "*"
        for text in name.findall(nodes.Text)
    ]
    kept = [
        re.sub(r"[\\{}]", "", text) if isinstance(text.parent, nodes.math) else str(text)
        for text in part.findall(nodes.Text)
        if not any(text is other for other in long)
    ]
    return "".join(kept)


def _is_output(node: nodes.Node) -> bool:
    while node := node.parent:
        if "cell_output" in node.get("classes", ()):
            return True
    return False


class Ask(SphinxDirective):
    """A box for a message; ``search.js`` searches for it."""

    def run(self) -> list[nodes.Node]:
        """Make the form; what it holds goes to the page of the search."""
        action = "../" * self.env.docname.count("/") + "search.html"
        label, button = html.escape(_("Paste the message or the traceback")), _("Search")
        form = (
            f'<form class="hs-ask" role="search" action="{action}"><label>{label}'
            f'<textarea name="q" rows="2" spellcheck="false"></textarea></label>'
            f"<noscript><button>{html.escape(button)}</button></noscript></form>"
        )
        return [nodes.raw("", form, format="html")]


def _note(app: Sphinx, document: nodes.document) -> None:
    app.env.metadata[app.env.docname]["hs_places"] = list(places_of(document))


def synonyms(docs: Path) -> list[list[str]]:
    """Return groups of words for the same thing.

    Args:
      docs: the folder with ``glossary.csv``, and with ``synonyms.csv``, whose first word is that of
        the glossary where that has one.
    """
    groups: dict[str, list[str]] = {}
    with (docs / "glossary.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            english = re.sub(r" \((.*?)\)", r" / \1", row["english"]).split(" / ")
            others = (row[site.glossary] for site in translations())
            groups[english[0]] = [
                *english,
                *(word for words in others for word in words.split(" / ")),
            ]
    with (docs / "synonyms.csv").open(encoding="utf-8") as stream:
        for words in csv.reader(stream):
            groups.setdefault(words[0], []).extend(words)
    return [list(dict.fromkeys(group)) for group in groups.values()]


def also_searched(docs: Path, language: str) -> dict[str, str]:
    """Return what else a place is found by: what people call it, what they see, what they want.

    Args:
      docs: the folder of the pages.
      language: that of the pages. English words are typed by everybody.
    """
    columns = dict.fromkeys(("en", language))
    with (docs / "search_words.csv").open(encoding="utf-8") as stream:
        return {
            row["place"]: "; ".join(row[column] for column in columns if row[column])
            for row in csv.DictReader(stream)
        }


def taught(docs: Path) -> dict[str, str]:
    """Return the place that teaches a term of the glossary, by the term's first name.

    Args:
      docs: the folder with ``glossary.csv``.
    """
    with (docs / "glossary.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return {re.split(r" / | \(", row["english"])[0]: row["taught"] for row in rows}


def called_by_number(number: int) -> list[str]:
    """Return what a lesson is called by its number, in every language.

    Args:
      number: from 1 to 99.
    """
    tens, ones = divmod(number, 10)
    signs = [tens - 1] * (tens > 1) + [9] * (tens > 0) + [ones - 1] * (ones > 0)
    called = []
    for site in sites().values():
        called.append(site.lesson.format(number=number))
        if site.numerals:
            called.append(site.lesson.format(number="".join(site.numerals[sign] for sign in signs)))
    return [name for name in called if name]


def simplified(used: str, language: str) -> dict[str, str]:
    """Return the letter that is searched for another one, such as the simplified of a traditional.

    Args:
      used: all characters that the pages use.
      language: that of the pages. On English pages people search in every language.
    """
    asked = translations() if language == "en" else [sites()[language]]
    files = [SPHINX / site.same_letters for site in asked if site.same_letters]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    rows = (re.split(r"\s", line) for line in lines if re.match(r"\w\t", line))
    return {row[0]: row[1] for row in rows if row[1] in used and row[1] != row[0]}


def query_language(language: str) -> dict[str, str]:
    """Return how queries are read, which are in the language of the pages or in another one.

    Args:
      language: that of the pages.
    """
    known = sites().values()
    # one segmenter finds the words of every script
    unspaced = {site.of.code: site.of.tag for site in known if site.of.script}
    return {
        "script": scripts(),
        "segmenter": unspaced.get(language) or next(iter(unspaced.values()), language),
        "noIdeas": " ".join(site.no_ideas for site in known),
        "negations": "".join(site.negations for site in known),
    }


def write_index(pages: dict[str, list[list[str]]], docs: Path, language: str = "en") -> str:
    """Return the index as a script.

    Args:
      pages: the places of each page.
      docs: the folder of the pages.
      language: that of the pages.

    Raises:
      ExtensionError: ``search_words.csv`` names a place that is not there.
    """
    words = also_searched(docs, language)
    listed = [
        [page, [[*place, words.pop(f"{page}#{place[0]}", "")] for place in places]]
        for page, places in sorted(pages.items())
        if places
    ]
    lessons = course(docs)
    for page, [first, *_others] in listed:
        if page in lessons and (number := lessons[page].number):
            names = called_by_number(number)
            first[-1] = "; ".join([*names, *filter(None, first[-1:])])
    if words:
        raise ExtensionError(f"search_words.csv names places that are not there: {[*words]}")
    groups = synonyms(docs)
    index = {
        "pages": listed,
        "synonyms": groups,
        "taught": taught(docs),
        "language": query_language(language),
        "simplified": simplified(json.dumps([listed, groups], ensure_ascii=False), language),
    }
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    return f"globalThis.searchIndex = {text};\n"


def _write(app: Sphinx) -> None:
    pages = {docname: known.get("hs_places", []) for docname, known in app.env.metadata.items()}
    script = write_index(pages, Path(app.srcdir), str(app.config.language))
    Path(app.outdir, "_static/search-index.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Take the place of Sphinx's own search: collect the places, and write them and the page."""
    app.connect("builder-inited", compat.write_no_search)
    app.connect("doctree-read", _note, priority=900)  # after what adds to a page
    app.connect("html-collect-pages", lambda app: [("search", {}, "search.html")])
    after_whole_site(app, _write)
    app.add_directive("ask", Ask)
    return features.add(app, __file__)
