"""The table of terms: where its words are found, and how its page shows them."""

from types import SimpleNamespace

import pytest
from course import Glossary
from docutils import nodes
from terms import read_glossary, terms_in

TABLE = """english,chinese,note,meaning,gloss,match
leaf,叶节点,,What is no container.,leaf,
buffer donation,缓冲区捐赠 / 捐赠,,To give memory.,donate,buffer donation|donat(?:e|es|ed)
carry,carry,never 携带值,What is handed on.,,(?:the|a) carry
tree structure (treedef) / skeleton,树结构,,What is left.,treedef,
tree,树,,Containers.,,
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
def test_terms_are_found_as_whole_words_in_their_meaning(table, text, found):
    in_text = {term.line: words for term, words in terms_in(text, read_glossary(table))}
    assert in_text == found


def test_a_term_knows_its_words(table):
    terms = {term.line: term for term in read_glossary(table)}
    assert (terms[3].chinese, terms[3].gloss) == (("缓冲区捐赠", "捐赠"), "donate")
    assert (terms[4].never, terms[2].never) == ("携带值", None)


def test_the_page_shows_what_code_says_where_the_term_does_not(table, monkeypatch):
    directive = Glossary.__new__(Glossary)
    env = SimpleNamespace(
        relfn2path=lambda name: (name, str(table)), note_dependency=lambda file: None
    )
    directive.arguments = ["glossary.csv"]
    directive.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    monkeypatch.setattr(
        Glossary, "parse_text_to_nodes", lambda self, text: [nodes.paragraph("", text)]
    )
    [shown] = directive.run()
    assert [term.astext() for term in shown.findall(nodes.term)] == [
        "leaf · 叶节点",
        "buffer donation · 缓冲区捐赠 / 捐赠 · donate",
        "carry",
        "tree structure (treedef) / skeleton · 树结构",
        "tree · 树",
    ]
