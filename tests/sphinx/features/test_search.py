"""What the search looks through: the places of a page, other names of a term."""

import json

import pytest
from docutils import nodes
from docutils.utils import new_document
from haiku_site.features import search
from sphinx import addnodes
from sphinx.errors import ExtensionError
from support.chinese import ZH


def section(anchor, heading, *children):
    return nodes.section("", nodes.title("", heading), *children, ids=[anchor])


def paragraph(*text):
    return nodes.paragraph("", "", *text)


def places(*children):
    document = new_document("page")
    document += section("top", "Page", *children)
    return list(search.places_of(document))


def test_search__a_section_has_what_it_says_itself():
    inner = section("inner", "Inner", paragraph(nodes.Text("deep")))
    assert places(paragraph(nodes.Text("one\n  two")), inner) == [
        ["top", "Page", "", "one two", ""],
        ["inner", "Inner", "Page", "deep", ""],
    ]


def test_search__code_is_found_by_its_words_and_outputs_by_their_sentences():
    code = nodes.literal_block("", "x = jax.jit(f)(x)  # f of x")
    output = nodes.literal_block("", "1 2 3\nthe replicas differ")
    cell = nodes.container("", output, classes=["cell_output"])
    check = nodes.container("", nodes.literal_block("", "assert secret"), classes=["tag_check"])
    formula = paragraph(nodes.math(r"\mu_{j}", r"\mu_{j}"))
    raw = nodes.raw("", "<svg>", format="html")
    [[_, _, _, prose, words]] = places(code, cell, check, formula, raw)
    assert prose == "the replicas differ mu_j"
    assert words == "x jax.jit f of"


def test_search__a_name_of_the_api_and_a_term_are_places():
    short = addnodes.pending_xref_condition("", "Array", condition="resolved")
    long = addnodes.pending_xref_condition("", "jax.Array", condition="*")
    signature = addnodes.desc_signature("", "", ids=["hs.f"], fullname="f")
    content = addnodes.desc_content("", paragraph(short, long))
    function = addnodes.desc("", signature, content, objtype="function")
    term = nodes.term("", "leaf · 叶节点", ids=["term-leaf"])
    item = nodes.definition_list_item("", term, nodes.definition("", paragraph(nodes.Text("end"))))
    _, name, word = places(function, nodes.definition_list("", item))
    assert name == ["hs.f", "hs.f", "Page", "Array", "f"]
    assert word == ["term-leaf", "leaf · 叶节点", "Page", "end", ""]


@pytest.fixture
def docs(tmp_path):
    terms = "english,chinese,taught\n"
    terms += "leaf,叶节点 / 叶子,part/one#top\ntrace / tracing,追踪,part/one\n"
    (tmp_path / "glossary.csv").write_text(terms)
    (tmp_path / "synonyms.csv").write_text("leaf,树叶\nGPU,显卡\n")
    (tmp_path / "search_words.csv").write_text(f"place,en,{ZH}\npage#top,no leaf,没有叶子\n")
    (tmp_path / "index.md").write_text("```{toctree}\npart/index\n```\n")
    (tmp_path / "part").mkdir()
    (tmp_path / "part/index.md").write_text("```{lessons}\n```\n```{toctree}\none\n```\n")
    (tmp_path / "part/one.md").write_text("# One\n")
    return tmp_path


def test_search__other_names_belong_to_the_term(docs):
    assert search.synonyms(docs) == [
        ["leaf", "叶节点", "叶子", "树叶"],
        ["trace", "tracing", "追踪"],
        ["GPU", "显卡"],
    ]


def test_search__the_index_is_a_script(docs):
    script = search.write_index({"page": places(), "empty": []}, docs)
    index = json.loads(script.removeprefix("globalThis.searchIndex = ").removesuffix(";\n"))
    assert index["pages"] == [["page", [["top", "Page", "", "", "", "no leaf"]]]]
    chinese = search.write_index({"page": places()}, docs, ZH)
    assert '"no leaf; 没有叶子"' in chinese
    assert index["simplified"]["節"] == "节"
    assert "檢" not in index["simplified"]  # no page has 检


def test_search__a_lesson_is_called_by_its_number_and_a_term_leads_to_its_lesson(docs):
    script = search.write_index({"page": places(), "part/one": places()}, docs)
    index = json.loads(script.removeprefix("globalThis.searchIndex = ").removesuffix(";\n"))
    assert index["pages"][1][1][0][-1] == "lesson 1; 第1课; 第一课"
    assert index["taught"] == {"leaf": "part/one#top", "trace": "part/one"}


@pytest.mark.parametrize(
    ("number", "called"), [(9, "第九课"), (10, "第十课"), (12, "第十二课"), (32, "第三十二课")]
)
def test_search__a_lesson_is_called_in_the_signs_of_a_language(number, called):
    assert called in search.called_by_number(number)


def test_search__words_for_a_place_that_is_not_there_fail(docs):
    with pytest.raises(ExtensionError, match="page#top"):
        search.write_index({}, docs)
