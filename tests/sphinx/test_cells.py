"""Comments and docstrings of cells: found, translated, and the code proven equal."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from haiku_site.translate.cells import (
    CellError,
    CellProse,
    ExtractCells,
    TranslateCells,
    find_prose,
    rewrite,
    skeleton,
)
from hypothesis import given
from hypothesis import strategies as st
from support.chinese import ZH

CODE = '''\
class Counter:
    """Counts its calls."""

    def count(self, n):
        r"""Count once.

        Twice, if asked to.
        """
        return n + 1  # the new state


text = "# not a comment"
s = """not a docstring"""
x = 1  # noqa: E501
# 中文 here already
'''


def test_find_prose__finds_comments_and_docstrings():
    assert [prose.text for prose in find_prose(CODE)] == [
        "Counts its calls.",
        "Count once.",
        "Twice, if asked to.",
        "the new state",
        "中文 here already",
    ]


def test_find_prose__the_place_is_that_of_the_text():
    lines = CODE.splitlines()
    for prose in find_prose(CODE):
        assert lines[prose.row][prose.start : prose.end] == prose.text


def test_rewrite__replaces_the_prose_alone():
    chinese = ["统计调用次数。", "计数一次。", "需要时计两次。", "新状态", "已是中文"]
    result = rewrite(CODE, dict(zip(find_prose(CODE), chinese, strict=True)))
    expected = CODE.rstrip("\n")
    for prose, text in zip(find_prose(CODE), chinese, strict=True):
        expected = expected.replace(prose.text, text)
    assert result == expected
    assert skeleton(result) == skeleton(CODE)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("两行\n的注释", "more than one line"),
        ("两行\u2028的注释", "more than one line"),
        ('文档""" + exit() + """', "changes the code|not plain Python"),
        ('没有结束"""', "not plain Python|changes the code"),
    ],
)
def test_rewrite__a_translation_that_changes_the_code_is_refused(text, says):
    prose = find_prose(CODE)[0]
    with pytest.raises(CellError, match=says):
        rewrite(CODE, {prose: text})


def test_find_prose__a_cell_that_is_not_python_is_refused():
    with pytest.raises(CellError, match="not plain Python"):
        find_prose("%matplotlib inline\n")


def test_find_prose__a_cell_with_lines_that_python_does_not_see_is_refused():
    with pytest.raises(CellError, match="that Python does not see"):
        find_prose("x = 1  # one\u2028two\n")


CATALOG = """msgid ""
msgstr "Content-Type: text/plain; charset=utf-8\\n"

msgid "Count once."
msgstr "计数一次。"

msgid "Counts its calls."
msgstr "统计\\n调用次数。"
"""


@pytest.fixture
def page(tmp_path):
    """A page with one cell, and its catalog."""
    catalog = tmp_path / f"locale/{ZH}/LC_MESSAGES/page.po"
    catalog.parent.mkdir(parents=True)
    catalog.write_text(CATALOG, encoding="utf-8")
    document = new_document("page.md")
    config = SimpleNamespace(locale_dirs=["locale"], language=ZH)
    document.settings.env = SimpleNamespace(srcdir=str(tmp_path), config=config, docname="page")
    block = nodes.literal_block(CODE, CODE)
    block.source, block.line = "page.md", 12
    document += nodes.container("", block, nb_element="cell_code_source")
    return document


def test_translatecells__what_is_refused_is_named_by_the_line_of_its_catalog(page):
    ExtractCells(page).apply()
    first, second, *_ = page.findall(CellProse)
    second.apply_translated_message("", "计数一次。")
    first.apply_translated_message("", "统计\n调用次数。")
    with pytest.raises(CellError, match=r"LC_MESSAGES/page\.po:7: .* more than one line"):
        TranslateCells(page).apply()


def test_extractcells__a_cell_that_is_refused_is_named_by_its_line(page):
    [block] = page.findall(nodes.literal_block)
    block[:] = [nodes.Text("%matplotlib inline")]
    with pytest.raises(CellError, match=r"page\.md:12: a cell is not plain Python"):
        ExtractCells(page).apply()


@pytest.mark.parametrize(
    "other",
    ["x = 2\n", "x = 1\n\ny = 1\n", "x  = '1'\n", "if x:\n    x = 1\n", "\nx = 1\n"],
)
def test_skeleton__other_code_has_another(other):
    assert skeleton("x = 1\n") != skeleton(other)


words = st.text(
    st.characters(exclude_characters="\"'\\", exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs"]),
    min_size=1,
    max_size=20,
)


@given(english=words, chinese=words)
def test_rewrite__any_comment_can_be_translated(english, chinese):
    code = f'def f():\n    """{english}"""\n    return 1  # a {english}\n'
    prose = [p for p in find_prose(code) if p.row == 2]
    result = rewrite(code, {p: chinese for p in prose})
    assert skeleton(result) == skeleton(code)
    assert result.splitlines()[2] == f"    return 1  # {chinese}"
