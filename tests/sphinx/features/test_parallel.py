"""The same paragraph in the other language: numbered on both pages, in a script beside each."""

import json
import re

import pytest
from haiku_site.features.parallel import pair
from support.chinese import ZH

PAGE = """<html><nav><p>Not of the article</p></nav><article class="bd-article">
<p class="eyebrow">{lesson}</p>
<section id="a"><h1>{title}<a class="headerlink" href="#a">#</a></h1>
<p{kind}>{text} <code>f</code> <span id="once">{word}</span></p>
<li><p>42</p></li></section></article></html>"""
ENGLISH = {"lesson": "Lesson", "title": "Title", "text": "Text of", "word": "words", "kind": ""}
CHINESE = {"lesson": "课", "title": "标题", "text": "文字", "word": "词", "kind": ""}


def paired(folder, name="a/page.html", **chinese):
    pages = {
        folder / "en" / name: PAGE.format(**ENGLISH),
        folder / ZH / name: PAGE.format(**CHINESE | chinese),
    }
    for page in pages:
        page.parent.mkdir(parents=True, exist_ok=True)
    return pair(folder, pages), *pages.values()


def said(folder, language):
    [script] = (folder / language / "a").glob("page.other.*.js")
    script = script.read_text(encoding="utf-8")
    return json.loads(re.fullmatch(r"haikuStateOther\((.*)\);\n", script)[1])


def test_parallel__what_differs_is_numbered_and_said_in_the_other_language(tmp_path):
    problems, english, chinese = paired(tmp_path)
    assert problems == []
    assert '<h1 data-pair="1">Title<a' in english
    assert '<p data-pair="2">文字 <code>' in chinese
    assert re.findall(r'data-pair="(\d)"', english) == ["1", "2"]  # not 42, nor the lesson's number
    # an id may stand on a page only once, and the mark of a heading leads to it
    assert said(tmp_path, "en") == {"1": "标题", "2": "文字 <code>f</code> <span>词</span>"}
    assert said(tmp_path, ZH)["1"] == "Title"
    assert english.startswith("<html><nav><p>Not of the article</p>")
    assert english.endswith("</article></html>")


def test_parallel__what_lags_has_the_english_below_it(tmp_path):
    _, english, chinese = paired(tmp_path, kind=' class="hs-lags"')
    below = re.search(r'</p><div class="hs-other" translate="no">(.*?)</div>', chinese)[1]
    assert '<p lang="en">Text of <code>f</code> <span>words</span></p>' in below
    assert "译文还没有跟上" in below
    assert "译文" not in english
    assert [*said(tmp_path, ZH)] == ["1"]


def test_parallel__what_is_not_translated_says_so(tmp_path):
    _, _, chinese = paired(tmp_path, kind=' class="hs-not-translated"', text="Text of")
    below = re.search(r'</p><div class="hs-other" translate="no">(.*?)</div>', chinese)[1]
    assert re.fullmatch('<p class="hs-lags-note">[^<]*还没有译文[^<]*</p>', below)
    assert '<p class="hs-not-translated" lang="en">Text of' in chinese


@pytest.mark.parametrize("text", ["文字</p><p>又一段", "文字 <code>g</code>"])
def test_parallel__paragraphs_that_do_not_correspond_are_refused(tmp_path, text):
    problems, english, _ = paired(tmp_path, text=text)
    assert problems == ["a/page.html: the paragraphs of English and Chinese do not correspond"]
    assert "data-pair" not in english


def test_parallel__code_may_go_on_in_the_next_line(tmp_path):
    english = '<article class="bd-article"><p>Of <code>f(x,\n y)</code>.</p></article>'
    chinese = english.replace("\n", "")
    for folder in ("en", ZH):
        (tmp_path / folder).mkdir()
    assert (
        pair(tmp_path, {tmp_path / "en/b.html": english, tmp_path / ZH / "b.html": chinese}) == []
    )


def test_parallel__the_glossary_is_in_another_order_in_each_language(tmp_path):
    problems, english, _ = paired(tmp_path, "reference/glossary.html", text="又 <code>g</code>")
    assert problems == []
    assert "data-pair" not in english
