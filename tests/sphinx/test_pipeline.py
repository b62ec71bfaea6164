"""The extensions in a small project of two languages: what reaches the catalog and the reader."""

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from haiku_site.features.translation_progress import progress
from haiku_site.finish.check_site import Page
from support.chinese import ZH
from support.user import User

SPHINX = Path(__file__).parents[2] / "conf/sphinx"

CONF = f"""
import sys
sys.path.insert(0, {str(SPHINX)!r})
extensions = ["myst_nb", "haiku_site.features.folds", "haiku_site.features.outputs"]
extensions += [f"haiku_site.translate.{{name}}" for name in ("cells", "lagging", "languages")]
nb_execution_mode = "cache"
nb_execution_cache_path = "{{cache}}"
nb_execution_raise_on_error = True
locale_dirs = ["locale"]
gettext_compact = False
gettext_allow_fuzzy_translations = True
gettext_location = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2
suppress_warnings = ["toc.not_included"]
html_theme = "basic"
templates_path = [{str(SPHINX / "templates")!r}]
html_static_path = [{str(SPHINX / "static")!r}]
"""

PAGE = '''---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
# A page

[](other.md#a-heading)

$$x^2$$

```{code-cell} ipython3
import time


def double(x):
    """Twice."""
    return 2 * x  # no state


print(double(2), end="", flush=True)
time.sleep(0.3)
print(double(1))
```

```{code-cell} ipython3
:tags: [check]

assert double(21) == 42
```

```{code-cell} ipython3
:tags: [plot]

figure = 3
```
'''

OTHER = """# Other

## A heading

```{admonition} Before
Text.
```
"""

LAGGING = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
# Behind

As it was.

Corrected since then.

- Quite new.

```{code-cell} ipython3
42  # corrected
```
"""
LAGGING_CATALOG = """
msgid "Behind"
msgstr "落后"

msgid "As it was."
msgstr "原样。"

#, fuzzy
msgid "Corrected since then."
msgstr "更正之前。"

msgid "Quite new."
msgstr ""

#, fuzzy
msgid "corrected"
msgstr "更正之前"
"""

CHINESE = {"A page": "一页", "Twice.": "两倍。", "no state": "没有状态"}
OTHER_CHINESE = {"Other": "另一页", "A heading": "标题", "Before": "之前", "Text.": "文字。"}
SPHINX_CHINESE = {"Show the code of this figure": "展开代码"}


def build(root: Path, builder: str, language: str) -> Path:
    out = root / "build" / f"{builder}-{language}" / "out"
    command = ["-m", "sphinx", "-b", builder, "-D", f"language={language}"]
    command += ["-d", out.parent / "doctrees", "-W", "-q", "--keep-going"]
    result = User(root).python(*command, root / "docs", out)
    assert result.returncode == 0, result.stderr
    return out


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    messages = root / f"docs/locale/{ZH}/LC_MESSAGES"
    messages.mkdir(parents=True)
    (root / "docs/conf.py").write_text(CONF.replace("{cache}", str(root / "cache")))
    catalogs = {"index": CHINESE, "other": OTHER_CHINESE, "sphinx": SPHINX_CHINESE}
    for name, page in (("index", PAGE), ("other", OTHER), ("lagging", LAGGING)):
        (root / f"docs/{name}.md").write_text(page)
    for name, chinese in catalogs.items():
        lines = ['msgid ""', 'msgstr "Content-Type: text/plain; charset=utf-8\\n"']
        for msgid, msgstr in chinese.items():
            lines += ["", f'msgid "{msgid}"', f'msgstr "{msgstr}"']
        (messages / f"{name}.po").write_text("\n".join(lines), encoding="utf-8")
    header = "\n".join(lines[:2])
    (messages / "lagging.po").write_text(header + "\n" + LAGGING_CATALOG, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def english(project):
    return Page(build(project, "html", "en") / "index.html")


def test_translate__the_catalog_has_the_prose_of_cells_and_no_formulas(project, english):
    with (build(project, "gettext", "en") / "index.pot").open() as stream:
        messages = [m.id for m in read_po(stream) if m.id]
    assert messages == ["A page", "[](other.md#a-heading)", "Twice.", "no state"]


def test_translate__chinese_is_built_from_the_outputs_of_english(project, english):
    before = sorted(file.stat().st_mtime_ns for file in (project / "cache").rglob("*.ipynb"))
    chinese = Page(build(project, "html", ZH) / "index.html")
    after = sorted(file.stat().st_mtime_ns for file in (project / "cache").rglob("*.ipynb"))
    assert before == after != []
    assert [output.strip() for output in english.outputs] == ["42"]  # it came in two pieces
    assert chinese.outputs == english.outputs
    assert '"""Twice."""' in english.cells[0]
    assert "# no state" in english.cells[0]
    assert '"""两倍。"""' in chinese.cells[0]
    assert "# 没有状态" in chinese.cells[0]
    assert "other.html#a-heading" in english.links
    assert "other.html#a-heading" in chinese.links  # though the heading is called 标题
    assert (english.language, chinese.language) == ("en", "zh-CN")
    assert "x^2" in chinese.file.read_text()


def test_folds__are_in_the_language_of_the_page_and_checks_are_left_out(project, english):
    fold = re.compile(r'<details class="fold">.*?</details>', re.DOTALL)
    chinese = Page(build(project, "html", ZH) / "index.html")
    for page, text in ((english, "Show the code of this figure"), (chinese, "展开代码")):
        written = page.file.read_text(encoding="utf-8")
        [folded] = fold.findall(written)
        assert text in folded
        assert "figure = 3" in re.sub("<.*?>", "", folded)
        assert "assert" not in re.sub("<.*?>", "", written)


def test_lagging__a_translation_that_does_is_marked(project, english):
    page = (build(project, "html", ZH) / "lagging.html").read_text(encoding="utf-8")
    assert "<p>原样。</p>" in page
    assert '<p class="hs-lags">更正之前。</p>' in page
    assert '<p class="hs-not-translated">Quite new.</p>' in page
    assert "# corrected" in page  # a stale comment beside code would mislead


def test_translation_progress__the_messages_of_a_page_are_counted(project):
    messages = project / f"docs/locale/{ZH}/LC_MESSAGES"
    assert progress(messages / "lagging.po") == (5, 2, 2)
    assert progress(messages / "index.po") == (3, 3, 0)
