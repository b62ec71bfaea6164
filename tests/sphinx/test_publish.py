"""The pages as they are published: one set of files, and a policy that allows no other script."""

import base64
import hashlib
import re

import pytest
from haiku_site.finish.publish import LOAD_SCRIPTS, publish
from support.chinese import ZH

PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8" />
<script>theme()</script>
<script src="{up}_static/own.js?v=1"></script>
<script src="{up}_static/both.js"></script>
<script src="{up}_static/loader.js"></script>
<script id="waits" src="{up}_static/waits.js"></script>
<link rel="stylesheet" href="{up}_static/css/both.css">
<link rel="stylesheet" href="{up}_static/sphinx-design.css">
</head><body>
<script type="application/json">{{"data": 1}}</script>
<img alt="" src="{up}dot.svg">
<dl><dt class="sig x">f(<dl><dd>a,</dd><dd>b</dd></dl>)</dt><dd>It does.</dd></dl>
<style>p {{ margin: 0 }}</style>
<p>one</p><style>b {{ margin: 0 }}</style><script>draw()</script>
<p>two</p><style>b {{ margin: 0 }}</style><script>draw()</script>
</body></html>
"""
LIBRARY = """/*! licence */.old>p,.unused{top:0}.unused .old{top:1}@media print{.gone{top:2}}
a:not(.unused,.gone).both{top:3}@font-face{src:url(../dot.png)}.bs-composed{top:4}"""
LEFT = ("dot.svg", *(f"_static/{name}.js" for name in ("own", "lazy", "loader", "waits")))


@pytest.fixture
def site(tmp_path):
    for language in ("en", ZH):
        files = {
            "index.html": PAGE.format(up=""),
            "a/page.html": PAGE.format(up="../"),
            "_static/own.js": language,
            "_static/both.js": "both()\n//# sourceMappingURL=both.js.map",
            "_static/both.js.map": "{}",
            "_static/loader.js": "load(document.currentScript.src + '/../lazy.js')",
            "_static/lazy.js": "no page names it",
            "_static/waits.js": f"on('DOMContentLoaded') // {language}",
            "dot.svg": '<svg width="30pt" height="22.5pt" xmlns="http://www.w3.org/2000/svg"/>',
            "_static/base.css": "base{}",
            "_static/css/both.css": '@import "../base.css";\na { background: url(../dot.png?v=2) }',
            "_static/dot.png": "dot",
            "_static/sphinx-design.css": LIBRARY,
            "_static/webpack-macros.html": "",
        }
        for name, text in files.items():
            (tmp_path / language / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / language / name).write_text(text)
    (tmp_path / "index.html").write_text(PAGE.format(up="en/"))
    publish(tmp_path)
    return tmp_path


def sheet(site):
    [file] = (site / "_static").glob("styles.*.css")
    return file


def files(site):
    return {str(file.relative_to(site)) for file in site.rglob("*") if file.is_file()}


def test_publish__what_the_pages_of_both_languages_load_is_there_once(site):
    page = (site / f"{ZH}/a/page.html").read_text()
    assert 'src="../_static/own.js?v=1"' in page
    assert 'src="../../_static/both.js"' in page
    name = sheet(site).name
    assert re.findall(r"<link[^>]*>", page) == [
        f'<link rel="stylesheet" href="../../_static/{name}">'
    ]
    assert f'href="_static/{name}"' in (site / "index.html").read_text()
    assert files(site) == {
        *("index.html", "_headers"),
        *(f"_static/{name}" for name in ("both.js", "dot.png", sheet(site).name)),
        *(
            f"{language}/{name}"
            for language in ("en", ZH)
            for name in ("index.html", "a/page.html", *LEFT)
        ),
    }
    assert (site / "_static/both.js").read_text() == "both()\n"


def test_publish__all_style_sheets_are_one_in_their_order(site):
    rules = sheet(site).read_text()
    assert rules.startswith('base{}\na { background: url("dot.png?v=2") }')  # it was css/both.css
    assert rules.index("a { background") < rules.index(".old>p")


def test_publish__sheets_in_another_order_are_refused(tmp_path):
    for language, names in (("en", "ab"), (ZH, "ba")):
        links = "".join(f'<link rel="stylesheet" href="_static/{name}.css">' for name in names)
        page = f'<html><head><meta charset="utf-8">{links}</head></html>'
        (tmp_path / language / "_static").mkdir(parents=True)
        (tmp_path / language / "index.html").write_text(page)
        for name in names:
            (tmp_path / language / f"_static/{name}.css").write_text(name)
    with pytest.raises(ValueError, match="another order"):
        publish(tmp_path)


def test_publish__scripts_come_after_the_first_paint_and_figures_when_they_come_near(site):
    page = (site / "en/index.html").read_text()
    assert re.findall(r"<script[^>]*\ssrc=[^>]*>", page) == [
        '<script defer id="waits" src="_static/waits.js">'
    ]
    later = re.findall(r'<script[^>]*\sdata-src="([^"]*)"', page)
    assert later == ["_static/own.js?v=1", "../_static/both.js", "_static/loader.js"]
    assert '<img width="40" height="30" loading="lazy" alt="" src="dot.svg">' in page


def test_publish__what_two_drawings_bring_with_them_is_there_once(site):
    text = (site / "en/index.html").read_text()
    assert "<p>one</p><style>b { margin: 0 }</style>\n<p>two</p><script>draw()</script>" in text


def test_publish__the_lines_of_a_signature_are_no_list_in_a_list(site):
    page = (site / "en/index.html").read_text()
    signature = 'f(<span class="hs-lines"><span>a,</span><span>b</span></span>)'
    assert f'<dl><dt class="sig x">{signature}</dt><dd>It does.</dd></dl>' in page


def quoted(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


LOADER = LOAD_SCRIPTS.removeprefix("<script>").removesuffix("</script>\n")
SCRIPTS = " ".join(sorted(map(quoted, ["theme()", "draw()", LOADER])))
STYLES = " ".join(sorted(map(quoted, ["p { margin: 0 }", "b { margin: 0 }"])))


@pytest.mark.parametrize("name", ["en/index.html", f"{ZH}/a/page.html", "index.html"])
def test_policy__each_page_allows_its_own_scripts_and_styles_alone(site, name):
    meta = r'<meta charset="utf-8" />\n<meta http-equiv="Content-Security-Policy" content="(.*)">'
    [policy] = re.findall(meta, (site / name).read_text())
    rules = policy.split("; ")
    assert [rule.split()[0].replace("-src", "") for rule in rules] == [
        *("default", "script", "style", "style-attr", "img", "font", "connect", "form-action"),
        "base-uri",
    ]
    assert {"default-src 'none'", "base-uri 'none'", "connect-src 'self'"} <= {*rules}
    assert f"script-src 'self' file: {SCRIPTS}" in rules
    assert f"style-src 'self' file: {STYLES}" in rules
    assert policy.count("unsafe") == 1  # the inline styles of formulas


def test_policy__hosts_are_told_the_same(site):
    [header] = re.findall("Content-Security-Policy: (.*)", (site / "_headers").read_text())
    assert f"script-src 'self' {SCRIPTS};" in header
    assert len(header) < 2000  # Cloudflare reads no longer line
