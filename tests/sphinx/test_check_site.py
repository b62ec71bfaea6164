"""The checks of the built site, each shown a site with one defect."""

import pytest
from haiku_site.finish.check_site import Page, check_site, check_styles
from support.chinese import ZH

PARAGRAPH = '<p>{title} <img src="plot.png" alt="x" /><em>{of}</em> of <code>x</code></p>'
PAGE = """<!DOCTYPE html>
<html lang="{lang}"><head><link rel="stylesheet" href="style.css"></head><body>
<h1 id="title">{title}</h1><a href="#title">{title}</a><a href="https://jax.example/">JAX</a>
<article>PARAGRAPH
<table><tr><th>{head}</th></tr></table><svg><path d="M0 0" /></svg>
<details><summary><span>{title}</span></summary><ul><li>{item}</li></ul></details></article>
<img src="plot.png" alt="{title}">
<div class="cell_input docutils"><pre>x = 1  # {comment}</pre></div>
<div class="cell_output docutils"><pre>1</pre><figure><img src="plot.png" alt="{title}">
<figcaption>{title}</figcaption></figure></div>
</body></html>""".replace("PARAGRAPH", PARAGRAPH)
ENGLISH = {
    "lang": "en",
    "title": "Title",
    "of": "many words",
    "head": "passed",
    "item": "An item",
    "comment": "the first",
}
CHINESE = {
    "lang": "zh-CN",
    "title": "标题",
    "of": "很多字",
    "head": "通过",
    "item": "一项",
    "comment": "第一个",
}


@pytest.fixture
def site(tmp_path):
    for folder, texts in {"en": ENGLISH, ZH: CHINESE}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "page.html").write_text(PAGE.format(**texts), encoding="utf-8")
        (tmp_path / folder / "plot.png").write_bytes(b"")
        (tmp_path / folder / "style.css").write_text("body { background: url(x.png) }")
    lines = ['msgid ""', 'msgstr "Content-Type: text/plain; charset=utf-8\\n"']
    for name, text in ENGLISH.items():
        if name != "lang":
            lines += ["", f'msgid "{text}"', f'msgstr "{CHINESE[name]}"']
    (tmp_path / f"locale/{ZH}/LC_MESSAGES").mkdir(parents=True)
    (tmp_path / f"locale/{ZH}/LC_MESSAGES/page.po").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def check(site):
    return check_site(site, site / "locale")


def test_check_site__a_sound_site_passes(site):
    assert check(site) + check_styles(site) == []


def test_check_site__each_piece_of_prose_is_read(site):
    linked, paragraph = "TitleJAX", "Title many words of"  # then its image
    in_order = [linked, "Title", paragraph, "x", "passed", "Title", "An item", *["Title"] * 3]
    assert Page(site / "en/page.html").prose == in_order


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('id="title"', 'id="other"', "ids differ"),
        ("x = 1 ", "x = 2 ", "the code of the cells differs"),
        ("<pre>1</pre>", "<pre>2</pre>", "the outputs of the cells differ"),
        ('<figure><img src="plot.png"', '<figure><img src="other.png"', "the outputs of the cells"),
        ('lang="zh-CN"', 'lang="en"', "lang is 'en'"),
        ('href="style.css"', 'href="https://cdn.example/style.css"', "loads from outside"),
        ('href="style.css"', 'href="//cdn.example/style.css"', "loads from outside"),
        ('href="style.css"', 'href="/style.css"', "does not work under a sub-path"),
        ('href="style.css"', 'href="gone.css"', "loads what is not there: gone.css"),
        ('<h1 id="title">', '<h1 id="title" onclick="x()">', "the policy blocks <h1 onclick=…>"),
        ('src="plot.png" alt="标题">\n<div', 'src="plot.png">\n<div', "no alt text: plot.png"),
        ('href="#title"', 'href="#nowhere"', "dead anchor: #nowhere"),
        ('href="#title"', 'href="gone.html"', "dead link: gone.html"),
        (PARAGRAPH.format(**CHINESE), PARAGRAPH.format(**ENGLISH), "'Title many words of'"),
        ("很多字", "many words", "page.po:7: not shown on"),
        ("一项", "An item", "English on the Chinese page: 'An item'"),
        ("通过", "passed", "English on the Chinese page: 'passed'"),
        ('alt="标题">', 'alt="A title">', "English on the Chinese page: 'A title'"),
        ("<summary><span>标题", "<summary><span>Title", "English on the Chinese page: 'Title'"),
        ("第一个", "the first", "page.po:16: not shown on"),
        ("<li>一项</li>", "<li>一项</li><li>二</li>", "pieces of prose, and"),
        ("</code></p>", "</code>", "</article> ends <p>"),
        ("</ul>", "</ul></ul>", "</ul> ends <details>"),
    ],
)
def test_check_site__a_defect_of_a_page_is_named(site, old, new, says):
    page = site / f"{ZH}/page.html"
    assert old in page.read_text(encoding="utf-8")
    page.write_text(page.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    problems = check(site)
    assert any(says in problem and "page" in problem for problem in problems), problems


@pytest.mark.parametrize("name", ["src", "data-src"])
def test_check_site__a_script_that_is_loaded_now_or_later_is_here(site, name):
    page = site / "en/page.html"
    text = page.read_text(encoding="utf-8")
    script = f'<script {name}="https://cdn.example/x.js"></script></head>'
    page.write_text(text.replace("</head>", script), encoding="utf-8")
    assert any("loads from outside" in problem for problem in check(site))


def test_check_site__a_site_in_which_no_cell_is_found_is_not_compared(site):
    """As after a release of MyST-NB that calls its cells something else."""
    for page in site.rglob("page.html"):
        text = page.read_text(encoding="utf-8").replace('class="cell_input', 'class="input_of_cell')
        page.write_text(text, encoding="utf-8")
    assert "no code of a cell was found on any page, so none was compared" in check(site)


def test_check_site__a_version_and_a_hash_are_not_english(site):
    page = site / f"{ZH}/page.html"
    text = page.read_text(encoding="utf-8").replace("通过", "0.1.0 · 864343b0fa3e755c")
    page.write_text(text, encoding="utf-8")
    assert not any("English" in str(problem) for problem in check(site))


@pytest.mark.parametrize(("says_so", "problems"), [(' translate="no"', 0), ("", 1)])
def test_check_site__a_text_in_english_on_all_pages_says_so(site, says_so, problems):
    for page in site.rglob("page.html"):
        text = page.read_text(encoding="utf-8")
        assert "<ul>" in text
        text = text.replace("<ul>", f"<div{says_so}>Many words.</div><ul>")
        page.write_text(text, encoding="utf-8")
    assert len(check(site)) == problems


def test_check_site__a_page_in_one_language_only_is_named(site):
    (site / "en/page.html").rename(site / "en/renamed.html")
    assert "page.html: in one language only" in check(site)


def test_check_styles__one_that_loads_from_outside_is_named(site):
    (site / "en/style.css").write_text("@import 'https://fonts.example/x.css';")
    (problem,) = check_styles(site)
    assert problem.endswith("loads from outside: https://fonts.example/x.css")
