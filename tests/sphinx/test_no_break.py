"""On Chinese pages code and formulas are kept together with the mark behind them."""

import re
from pathlib import Path

import pytest
from support.chinese import ZH

SPHINX = Path(__file__).parents[2] / "conf/sphinx"
CONF = f"""
import sys
sys.path.insert(0, {str(SPHINX)!r})
extensions = ["haiku_site.features.formulas", "haiku_site.translate.no_break"]
html_math_renderer = "katex"
html_theme = "basic"
"""
PAGE = r"""页
==

用 ``x``\ ，再用 :math:`y`\ 。）然后 :any:`f`\ ，还有 ``z`` 和 ``w``\ 以及 *强调*\ ：完。

.. py:function:: f
"""


@pytest.mark.parametrize(("language", "kept"), [(ZH, ["，", "。）", "，"]), ("en", [])])
def test_no_break__the_marks_behind_code_and_formulas_are_kept(tmp_path, language, kept, user):
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "index.rst").write_text(PAGE, encoding="utf-8")
    command = ["-m", "sphinx", "-W", "-q", "-D", f"language={language}", ".", "out"]
    built = user.python(*command, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    spans = page.split('<span class="hs-no-break">')[1:]
    assert [re.search(r">([，。：）]+)</span>", span)[1] for span in spans] == kept
    text = "".join(re.sub(r"<[^>]*>", "", page).split())
    assert "然后f，还有z和w以及强调：完。" in text
