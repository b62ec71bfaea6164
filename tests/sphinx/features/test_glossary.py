"""The table of terms: where its words are found, and how its page shows them."""

import csv
import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from haiku_site.course import course
from haiku_site.features.glossary import Glossary, TermUse, _mark_terms, first_pages, order, uses
from haiku_site.translate.gate.terms import read_glossary, terms_in
from haiku_site.translate.languages import sites
from support.chinese import ZH
from support.lesson_cells import DOCS

from haiku_state.errors.language import code_of

SITE = sites()[code_of("zh")]

TABLE = """english,chinese,pinyin,note,meaning,gloss,match,taught
leaf,叶节点,yè jié diǎn,,What is no container.,leaf,,a/leaf
buffer donation,缓冲区捐赠 / 捐赠,huǎn chōng qū juān zèng,,To give.,donate,donates?,a
carry,carry,,never 携带值,What is handed on.,,(?:the|a) carry,a/leaf
tree structure (treedef) / skeleton,树结构,shù jié gòu,,What is left.,treedef,,a/leaf
tree,树,shù,,Containers of `x`.,,,a/leaf
"""


@pytest.fixture
def table(tmp_path):
    (tmp_path / "glossary.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path / "glossary.csv"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Leaves and a tree", {2: "Leaves", 6: "tree"}),
        ("The tree structures", {5: "tree structures"}),  # the longest term first
        ("A Skeleton", {5: "Skeleton"}),
        ("It donates and carries.", {3: "donates"}),  # to carry is no carry
        ("the \ue000carry\ue000", {4: "the carry"}),
        ("the carry of a leafless street", {4: "the carry"}),
    ],
)
def test_terms_in__finds_whole_words_in_their_meaning(table, text, found):
    in_text = {term.line: words for term, words in terms_in(text, read_glossary(table, SITE))}
    assert in_text == found


def test_read_glossary__a_term_knows_its_words(table):
    terms = {term.line: term for term in read_glossary(table, SITE)}
    assert (terms[3].words, terms[3].gloss) == (("缓冲区捐赠", "捐赠"), "donate")
    assert (terms[4].never, terms[2].never) == ("携带值", None)


def names_on_the_page(table, monkeypatch, language):
    directive = Glossary.__new__(Glossary)
    env = SimpleNamespace(
        relfn2path=lambda name: (name, str(table)),
        note_dependency=lambda file: None,
        config=SimpleNamespace(language=language),
    )
    directive.arguments = ["glossary.csv"]
    directive.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    monkeypatch.setattr(Glossary, "parse_text_to_nodes", lambda self, text: [])
    monkeypatch.setattr(Glossary, "_taught", lambda self, place: nodes.paragraph("", place))
    [shown] = directive.run()
    return [term.astext() for term in shown.findall(nodes.term)]


def test_glossary__the_english_page_follows_the_alphabet(table, monkeypatch):
    assert names_on_the_page(table, monkeypatch, "en") == [
        "buffer donation · 缓冲区捐赠 / 捐赠 huǎn chōng qū juān zèng · donate",
        "carry",
        "leaf · 叶节点 yè jié diǎn",
        "tree · 树 shù",
        "tree structure (treedef) / skeleton · 树结构 shù jié gòu",
    ]


def test_glossary__the_chinese_page_follows_the_sound(table, monkeypatch):
    assert names_on_the_page(table, monkeypatch, ZH) == [
        "carry",
        "缓冲区捐赠 / 捐赠 huǎn chōng qū juān zèng · buffer donation · donate",
        "树 shù · tree",
        "树结构 shù jié gòu · tree structure (treedef) / skeleton",
        "叶节点 yè jié diǎn · leaf",
    ]


with (DOCS / "glossary.csv").open(encoding="utf-8") as stream:
    ROWS = list(csv.DictReader(stream))
POLYPHONIC = set("重调行长核参种校钥率")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["english"])
def test_glossary__each_character_has_its_syllable(row):
    word = row["chinese"].split(" / ")[0]
    assert len(row["pinyin"].split()) == (len(word) if re.search("[一-鿿]", word) else 0)


def test_glossary__the_syllables_agree_with_an_encoding_that_is_sorted_by_sound():
    """The common characters of GB 2312 stand in the order of pinyin, each under one reading."""
    sounds = {}
    for row in ROWS:
        for letter, syllable in zip(row["chinese"], row["pinyin"].split(), strict=False):
            if letter not in POLYPHONIC and letter.encode("gb2312") < b"\xd8\xa1":
                [(sound, _tone, _letter)] = order(SITE)({"chinese": letter, "pinyin": syllable})
                sounds[letter.encode("gb2312")] = sound
    in_order = [sounds[code] for code in sorted(sounds)]
    assert len(in_order) > 100
    assert in_order == sorted(in_order)


IN_OTHER_WORDS = {"optimizer state", "closure", "cross-replica"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["english"])
def test_glossary__a_term_is_used_where_it_is_taught(row):
    page = row["taught"].partition("#")[0]
    assert page in course(DOCS)
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    patterns = [
        term.english for term in read_glossary(DOCS / "glossary.csv", SITE) if term.row == row
    ]
    used = any(pattern.search(text) for pattern in patterns)
    assert used == (row["english"] not in IN_OTHER_WORDS)


def found(text, table, chinese):
    english = "the trees, a tree structure and the carry"
    terms = [term for term, _ in terms_in(english, read_glossary(table, SITE))]
    return sorted(
        text[start:stop] for start, stop, _ in uses(text, terms, SITE.of.script if chinese else "")
    )


def test_glossary__terms_are_marked_without_their_article_and_the_longest_first(table):
    text = "the trees, a tree structure and the carry"
    assert found(text, table, False) == ["carry", "tree structure", "trees"]
    assert found("树与树结构，叶节点", table, True) == ["树", "树结构"]  # of the terms in English


@pytest.mark.parametrize("language", ["en", ZH])
def test_glossary__the_first_use_on_a_page_carries_the_meaning(language, tmp_path, monkeypatch):
    (tmp_path / "glossary.csv").write_text(TABLE, encoding="utf-8")
    catalog = tmp_path / f"locale/{ZH}/LC_MESSAGES/reference/glossary.po"
    catalog.parent.mkdir(parents=True)
    catalog.write_text('msgid "Containers of `x`."\nmsgstr "`x` 的容器。"\n', encoding="utf-8")
    monkeypatch.setattr("haiku_site.features.glossary.course", lambda docs: {"a/page": None})
    monkeypatch.setattr("haiku_site.features.glossary.first_pages", lambda docs: {})
    app = SimpleNamespace(
        srcdir=tmp_path,
        builder=SimpleNamespace(name="html", get_relative_uri=lambda here, there: f"../{there}"),
        config=SimpleNamespace(language=language),
    )
    document = new_document("page")
    for text in ("A tree", "Tree again"):
        shown = text if language == "en" else "一棵树"
        document += nodes.title("", shown)
        document += nodes.paragraph(text, "", nodes.literal("", "tree"), nodes.Text(f" {shown}"))
    before = document.astext()
    _mark_terms(app, document, "a/page")
    [use] = document.findall(TermUse)
    assert document.astext() == before
    assert use["href"] == "../reference/glossary#term-tree"
    assert (use.astext(), use["other"], use["meaning"]) == {
        "en": ("tree", "树", "Containers of `x`."),
        ZH: ("树", "tree", "`x` 的容器。"),
    }[language]


def test_glossary__a_word_that_is_no_term_here_is_not_linked(tmp_path, monkeypatch):
    (tmp_path / "glossary.csv").write_text(TABLE, encoding="utf-8")
    catalog = tmp_path / f"locale/{ZH}/LC_MESSAGES/a/page.po"
    catalog.parent.mkdir(parents=True)
    catalog.write_text(
        '# glossary: leaves is a verb\nmsgid "It leaves the state alone."\nmsgstr "不改动。"\n',
        encoding="utf-8",
    )
    monkeypatch.setattr("haiku_site.features.glossary.course", lambda docs: {"a/page": None})
    monkeypatch.setattr("haiku_site.features.glossary.first_pages", lambda docs: {})
    app = SimpleNamespace(
        srcdir=tmp_path,
        builder=SimpleNamespace(name="html", get_relative_uri=lambda here, there: f"../{there}"),
        config=SimpleNamespace(language="en"),
    )
    document = new_document("page")
    for text in ("It leaves\nthe state alone.", "How many leaves does it have?"):
        document += nodes.paragraph(text, text)
    _mark_terms(app, document, "a/page")
    [use] = document.findall(TermUse)
    assert use.parent.rawsource.startswith("How many")


def test_glossary__a_term_is_linked_where_the_course_uses_it_first(tmp_path, monkeypatch):
    (tmp_path / "glossary.csv").write_text(TABLE, encoding="utf-8")
    for name, text in {"a": "# The tree\n\nA carry.", "b": "A tree.\n\nA carry."}.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr("haiku_site.features.glossary.course", lambda docs: {"a": None, "b": None})
    found = first_pages(tmp_path)
    assert (found["tree"], found["carry"]) == ("b", "a")  # a title is not a use
