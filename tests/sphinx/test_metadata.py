"""What a page says of itself, and what stands above both languages."""

from xml.etree import ElementTree

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from haiku_site.finish import metadata
from hypothesis import given
from hypothesis import strategies as st
from sphinx.util.nodes import extract_messages
from support.chinese import ZH

SITE = "https://example.org/a/b/"


def test_describe__is_the_first_paragraphs_of_a_page():
    document = publish_doctree(
        "Title\n=====\n\nA label\n\nShort.\n\n.. note:: Not this.\n\nNor this:\n\nAnd the "
        "next one. But not this:"
    )
    assert metadata.describe(document) == "Short. And the next one."


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("A sentence. " * 20, ("A sentence. " * 13).strip()),
        ("一句话。" * 60, "一句话。" * 40),
        ("word " * 50, "word " * 31 + "word…"),
    ],
)
def test_shorten__a_long_description_ends_with_a_sentence_or_a_word(text, short):
    assert metadata.shorten(text) == short


@given(st.text(alphabet="ab .。，，", max_size=400))
def test_shorten__is_never_too_long_and_says_nothing_of_its_own(text):
    short = metadata.shorten(text)
    assert len(short) <= metadata.LENGTH
    assert text.startswith(short.removesuffix("…"))


@pytest.fixture
def site(tmp_path):
    for language in ("en", ZH):
        for page in ("index", "a/page", "search", "genindex", "_static/piece"):
            file = tmp_path / language / f"{page}.html"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
        (tmp_path / language / "llms.txt").write_text(f"# {language}\n")
    return tmp_path


def test_add_entrances__a_site_with_an_address_lists_its_pages(site, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_SITE", SITE.removesuffix("/"))
    metadata.add_entrances(site)
    assert f"Sitemap: {SITE}sitemap.xml" in (site / "robots.txt").read_text()
    name = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    listed = ElementTree.parse(site / "sitemap.xml").getroot()
    assert [url.findtext(f"{name}loc") for url in listed] == [
        f"{SITE}{language}/{page}.html" for page in ("a/page", "index") for language in ("en", ZH)
    ]
    links = [
        [link.get("href") for link in url if link.get("hreflang") == "zh-CN"] for url in listed
    ]
    assert links[0] == links[1] == [f"{SITE}{ZH}/a/page.html"]
    assert f'href="{SITE}{ZH}/index.html"' in (site / "404.html").read_text()
    assert (site / "llms.txt").read_text() == f"# en\n\n# {ZH}\n"


def test_add_entrances__a_site_without_an_address_lists_none(site, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_SITE", "")
    metadata.add_entrances(site)
    assert not (site / "sitemap.xml").exists()
    assert not (site / "robots.txt").exists()
    assert 'href="en/index.html"' in (site / "404.html").read_text()
    assert "{{" not in (site / "404.html").read_text() + (site / "index.html").read_text()


def test_day_of__is_that_of_the_sources(monkeypatch, tmp_path):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert metadata.day_of(tmp_path) == "1970-01-02"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert metadata.day_of(tmp_path) == ""  # no repository


def test_stayenglish__what_does_is_in_no_catalog_and_keeps_its_headings():
    document = publish_doctree(
        "In English.\n\n.. container:: notranslate\n\n   .. rubric:: 0.1\n\n   - New."
    )
    [heading] = document.findall(nodes.rubric)
    heading["level"] = 2  # as MyST makes one
    metadata.StayEnglish(document).apply()
    assert [text for _, text in extract_messages(document)] == ["In English."]
    assert heading["heading-level"] == 2


def test_moved__an_address_that_a_page_once_had_leads_to_its_place(tmp_path, monkeypatch):
    template = (metadata.SPHINX / "templates/moved.html").read_text(encoding="utf-8")
    monkeypatch.setattr(metadata, "SPHINX", tmp_path)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/moved.html").write_text(template, encoding="utf-8")
    (tmp_path / "moved.csv").write_text("old,new\na/old,b/new\na/gone,b/not\n")
    for code in metadata.sites():
        for folder in ("a", "b"):
            (tmp_path / code / folder).mkdir(parents=True)
        (tmp_path / code / "b/new.html").write_text("<title>New · site</title>")
    metadata._lead_on(tmp_path)
    for code in metadata.sites():
        page = (tmp_path / code / "a/old.html").read_text(encoding="utf-8")
        assert '<noscript><meta http-equiv="refresh" content="0; url=../b/new.html">' in page
        assert '<a href="../b/new.html">New · site</a>' in page
        assert not (tmp_path / code / "a/gone.html").exists()
