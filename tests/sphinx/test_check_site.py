"""The checks of the built site, each shown a site with one defect."""

import pytest
from check_site import check_site, check_styles

PAGE = """<!DOCTYPE html>
<html lang="{lang}"><head><link rel="stylesheet" href="style.css"></head><body>
<h1 id="title">{title}</h1><a href="#title">{title}</a><a href="https://jax.example/">JAX</a>
<article><p>{title} of a page</p></article>
<img src="plot.png" alt="{title}">
<div class="cell_input docutils"><pre>x = 1  # {title}</pre></div>
<div class="cell_output docutils"><pre>1</pre><figure><img src="plot.png" alt="{title}">
<figcaption>{title}</figcaption></figure></div>
</body></html>"""


@pytest.fixture
def site(tmp_path):
    for folder, lang, title in [("en", "en", "Title"), ("zh_CN", "zh-CN", "标题")]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "page.html").write_text(PAGE.format(lang=lang, title=title))
        (tmp_path / folder / "style.css").write_text("body { background: url(x.png) }")
    return tmp_path


def test_a_sound_site_passes(site):
    assert check_site(site) + check_styles(site) == []


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
        ('src="plot.png" alt="标题">\n<div', 'src="plot.png">\n<div', "no alt text: plot.png"),
        ('href="#title"', 'href="#nowhere"', "dead anchor: #nowhere"),
        ('href="#title"', 'href="gone.html"', "dead link: gone.html"),
        ("<p>标题 of", "<p>Title of", "English on the Chinese page: 'Title of a page'"),
    ],
)
def test_a_defect_of_a_page_is_named(site, old, new, says):
    page = site / "zh_CN/page.html"
    assert old in page.read_text()
    page.write_text(page.read_text().replace(old, new))
    problems = check_site(site)
    assert any(says in problem and "page.html" in problem for problem in problems), problems


def test_a_page_in_one_language_only(site):
    (site / "en/page.html").rename(site / "en/renamed.html")
    assert "page.html: in one language only" in check_site(site)


def test_a_style_that_loads_from_outside(site):
    (site / "en/style.css").write_text("@import 'https://fonts.example/x.css';")
    (problem,) = check_styles(site)
    assert problem.endswith("loads from outside: https://fonts.example/x.css")
