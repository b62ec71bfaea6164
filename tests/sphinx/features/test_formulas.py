"""Formulas are HTML of the built page, and one that cannot be read fails the build."""

import re

import dukpy
import pytest
from haiku_site import SPHINX
from haiku_site.features.formulas import formula_html

CONF = f"""
import sys
sys.path.insert(0, {str(SPHINX)!r})
extensions = ["haiku_site.features.formulas"]
html_math_renderer = "katex"
html_theme = "basic"
"""


def test_formulas__are_spoken_and_seen_without_scripts():
    html = formula_html(r"\bar{s} = \frac{1}{n} \sum_{b=1}^{n} s_b", display=True)
    assert "<mfrac><mn>1</mn><mi>n</mi></mfrac>" in html
    assert '<span class="katex-html" aria-hidden="true">' in html
    assert "<script" not in html


def test_formulas__lines_are_aligned():
    assert formula_html(r"a &= b \\ &= c", display=True).count("<mtr>") == 2


@pytest.mark.parametrize("broken", [r"\frac{1}{2", r"\nosuch x", "数"])
def test_formulas__what_katex_cannot_read_is_an_error(broken):
    with pytest.raises(dukpy.JSRuntimeError, match="KaTeX parse error"):
        formula_html(broken, display=False)


def build(user, text):
    folder = user.folder
    (folder / "conf.py").write_text(CONF)
    (folder / "index.rst").write_text(text, encoding="utf-8")
    return user.python("-m", "sphinx", "-W", "-q", "--keep-going", ".", "out")


def test_formulas__a_page_loads_the_style_only_if_it_has_some(user):
    (user.folder / "plain.rst").write_text(":orphan:\n\nPlain\n=====\n")
    built = build(user, "Page\n====\n\nAs :math:`x^2` is.\n")
    assert built.returncode == 0, built.stderr
    page, plain = ((user.folder / f"out/{name}.html").read_text() for name in ("index", "plain"))
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in page
    assert ("katex.min.css" in page, "katex.min.css" in plain) == (True, False)


def test_formulas__a_broken_one_fails_the_build_with_its_page_and_line(user):
    built = build(user, "Page\n====\n\nFine: :math:`x`.\n\n.. math:: \\frac{1}{2\n")
    assert built.returncode == 1
    assert re.search(r"index\.rst:6: .*KaTeX parse error: .*end of input", built.stderr)
