"""A small course in two languages: what its notebooks hold, and that they run."""

import base64
import importlib.metadata
import json
import re
import zipfile
from pathlib import Path

import nbformat
import pytest
from docutils import nodes
from haiku_site.notebooks.markdown import Markdown
from haiku_site.notebooks.write import LIBRARIES, check_notebooks, join_streams, needs
from nbclient import NotebookClient
from support.chinese import ZH
from support.user import User
from tools.lessons.compare import differences
from tools.lessons.executed import shown

SPHINX = Path(__file__).parents[2] / "conf/sphinx"

CONF = f"""
import sys
sys.path.insert(0, {str(SPHINX)!r})
extensions = ["myst_nb", "sphinx_design", "haiku_site.translate.cells"]
extensions += ["haiku_site.translate.languages", "haiku_site.execute.figures"]
extensions += ["haiku_site.notebooks.write"]
used = "drawings", "folds", "lessons", "notebook_downloads"
extensions += [f"haiku_site.features.{{name}}" for name in used]
nb_execution_mode = "cache"
nb_execution_cache_path = "{{cache}}"
nb_execution_raise_on_error = True
locale_dirs = ["locale"]
gettext_compact = False
exclude_patterns = ["drawings"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
html_theme = "basic"
templates_path = [{str(SPHINX / "templates")!r}]
html_static_path = [{str(SPHINX / "static")!r}]
"""

DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 100" aria-label="A circle.">
<circle class="state" cx="50" cy="50" r="8"/><text>holds</text></svg>"""

INDEX = "# Course\n\n```{toctree}\nstate/index\n```\n"
PART = "# Part\n\n```{lessons}\nstate/one\n```\n\n```{notebooks} state\n```\n\n"
PART += "```{toctree}\none\n```\n"

LESSON = r'''---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
# One *lesson*

:::{admonition} Before
Take [the part](index.md), [JAX](https://docs.jax.dev) and 2 \* 3.
:::

```{code-cell} ipython3
def double(x):
    """Twice."""
    return 2 * x  # no state


print("doubled", double(21))
```

```{code-cell} ipython3
:tags: [check]
assert double(21) == 42
```

With $x_1$ and `a_b`:

$$x^2$$

```{code-cell} ipython3
:tags: [plot]
import matplotlib.pyplot as plt
plt.plot([0, double(1)]);
```

## Next

```{drawing} circle
A caption.
```

:::{dropdown} What is `x`?
1. A value.

   | a | b |
   |---|---|
   | 1 | `y\|z` |
:::
'''

CHINESE = {
    "One *lesson*": "第*一*课",
    "Before": "开始之前",
    "Take [the part](index.md), [JAX](https://docs.jax.dev) and 2 \\\\* 3.":
        "看[这一部分](index.md)、[JAX](https://docs.jax.dev) 和 2 \\\\* 3。",
    "Twice.": "两倍。",
    "no state": "没有状态",
    "With $x_1$ and `a_b`:": "有 $x_1$ 和 `a_b`：",
    "Next": "下一节",
    "A circle.": "一个圆。",
    "holds": "保存",
    "A caption.": "图注。",
    "What is `x`?": "`x` 是什么？",
    "A value.": "一个值。",
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    pages = {"index.md": INDEX, "state/index.md": PART, "state/one.md": LESSON}
    pages |= {
        "conf.py": CONF.replace("{cache}", str(root / "cache")),
        "drawings/circle.svg": DRAWING,
    }
    lines = ['msgid ""', 'msgstr "Content-Type: text/plain; charset=utf-8\\n"']
    for english, chinese in CHINESE.items():
        lines += ["", f'msgid "{english}"', f'msgstr "{chinese}"']
    pages[f"locale/{ZH}/LC_MESSAGES/state/one.po"] = "\n".join(lines)
    for name, text in pages.items():
        file = root / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for language in ("en", ZH):
        command = ["-m", "sphinx", "-Wq", "-D", f"language={language}"]
        command += ["-d", root / f"doctrees/{language}", root / "docs", root / "site" / language]
        done = User(root).python(*command)
        assert done.returncode == 0, done.stderr
    return root / "site"


@pytest.fixture(scope="module")
def notebooks(site):
    return {
        language: nbformat.read(site / language / "notebooks/state/one.ipynb", as_version=4)
        for language in ("en", ZH)
    }


def prose(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_notebooks__prose_is_markdown_that_needs_no_sphinx(notebooks):
    first, second, third, _checks = prose(notebooks["en"])
    assert first.partition("\n\n")[2] == (
        "# One *lesson*\n\n> **Before**\n>\n"
        r"> Take “the part”, [JAX](https://docs.jax.dev) and 2 \* 3."
        "\n\nTo install what this notebook needs: "
        '`python -m pip install "./haiku_state--py3-none-any.whl[lab]"`'
    )
    assert second == "With $x_1$ and `a_b`:\n\n$$\nx^2\n$$"
    third, _separator, drawing = third.partition("\n\n[drawing-1]: data:image/svg+xml;base64,")
    svg = base64.b64decode(drawing).decode()
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 100"')
    assert 'width="320" height="100"><style>' in svg
    assert "var(" not in svg
    assert third == (
        "## Next\n\n![A circle.][drawing-1]\n\nA caption.\n\n"
        "<details><summary>What is <code>x</code>?</summary>\n\n"
        "1. A value.\n\n   | a | b |\n   | --- | --- |\n   | 1 | `y\\|z` |\n\n</details>"
    )


def test_notebooks__a_page_says_what_its_code_needs_of_the_extra_lab():
    lab = importlib.metadata.requires("haiku-state")
    extras = {re.match(r"[\w-]+", line)[0] for line in lab if "extra ==" in line}
    assert extras >= {*LIBRARIES}
    assert needs("import jax\nimport haiku_state as hs\n") == []
    assert needs("def draw():\n    import matplotlib.pyplot as plt\n") == ["matplotlib"]
    assert needs("data = hs.load_digits()") == ["scikit-learn"]
    assert needs("hs.save_checkpoint(folder, train_state)") == ["orbax-checkpoint"]
    assert needs("from flax import nnx\nimport equinox as eqx") == ["flax", "equinox"]


def test_notebooks__are_in_the_language_of_their_page(notebooks):
    first, second, third, _checks = prose(notebooks[ZH])
    assert "# 第*一*课\n\n> **开始之前**\n>\n> 看“这一部分”、[JAX](https://docs.jax.dev)" in first
    assert second == "有 $x_1$ 和 `a_b`：\n\n$$\nx^2\n$$"
    assert "## 下一节\n\n![一个圆。]" in third
    [source] = [cell.source for cell in code(notebooks[ZH]) if "double(x)" in cell.source]
    assert '"""两倍。"""' in source
    assert "# 没有状态" in source


@pytest.mark.parametrize("language", ["en", ZH])
def test_notebooks__have_the_outputs_of_the_page_and_its_checks_at_the_end(notebooks, language):
    settings, printed, drawn, check = code(notebooks[language])
    assert [cell.execution_count for cell in code(notebooks[language])] == [1, 2, 3, 4]
    assert notebooks[language].cells[-1] == check
    assert (check.source, check.outputs) == ("assert double(21) == 42", [])
    assert settings.metadata.tags == ["figures"]
    drawn_on = json.loads(settings.source.partition("rcParams.update(")[2].removesuffix(")"))
    assert {"figure.facecolor": "white", "axes.facecolor": "white"}.items() <= drawn_on.items()
    assert printed.outputs[0].text == "doubled 42\n"
    assert drawn.metadata == {"tags": ["plot"], "jupyter": {"source_hidden": True}}
    assert set(drawn.outputs[0].data) == {"text/plain", "text/html", "image/svg+xml"}


@pytest.mark.parametrize("language", ["en", ZH])
def test_notebooks__run_on_their_own_and_show_the_same(notebooks, language, tmp_path):
    book = notebooks[language]
    before = {"jax": "0.10", "lessons": {"one": {"cells": shown(book), "failure": None}}}
    resources = {"metadata": {"path": tmp_path}}
    ran = NotebookClient(nbformat.from_dict(book), resources=resources).execute()
    after = {"jax": "0.10", "lessons": {"one": {"cells": shown(ran), "failure": None}}}
    assert differences(before, after, ()) == []
    assert [name for name in before["lessons"]["one"]["cells"] if name]


def test_check_notebooks__numbers_without_a_word_are_found(site, notebooks):
    files = [site / language / "notebooks/state/one.ipynb" for language in ("en", ZH)]
    before = [file.read_text(encoding="utf-8") for file in files]
    for output, count in (("0.44 2.6e-01", 1), ("w 3", 0), ("1 2 3", 0), ("1 2 4", 1)):
        for file, text in zip(files, before, strict=True):
            assert text.count("doubled 42") == 1
            file.write_text(text.replace("doubled 42", output), encoding="utf-8")
        assert len(check_notebooks(site)) == count, output
    for file, text in zip(files, before, strict=True):
        file.write_text(text, encoding="utf-8")


def test_check_notebooks__the_languages_are_compared(site, notebooks):
    assert check_notebooks(site) == []
    file = site / f"{ZH}/notebooks/state/one.ipynb"
    text = file.read_text(encoding="utf-8")
    for old, new in (("2 * x", "3 * x"), ("42", "43"), ("$x_1$", "")):
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        assert len(check_notebooks(site)) == 1, old
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("language", ["en", ZH])
def test_notebooks__the_archives_unpack_into_one_folder(site, language):
    folder = site / language / "notebooks"
    root = f"haiku_lessons_{language}"
    for name, files in (("", ["index", "state/one"]), ("_state", ["state/one"])):
        with zipfile.ZipFile(folder / f"{root}{name}.zip") as archive:
            assert archive.namelist() == [f"{root}/{file}.ipynb" for file in files]
            last = archive.read(archive.namelist()[-1])
        assert last == (folder / "state/one.ipynb").read_bytes()
    contents = nbformat.read(folder / "index.ipynb", as_version=4)
    assert "(state/one.ipynb)" in contents.cells[-1].source


def test_notebook_downloads__the_pages_link_to_theirs(site):
    lesson = (site / "en/state/one.html").read_text(encoding="utf-8")
    assert '<a href="../notebooks/state/one.ipynb" download>' in lesson
    part = (site / f"{ZH}/state/index.html").read_text(encoding="utf-8")
    assert f'<a href="../notebooks/haiku_lessons_{ZH}_state.zip" download>' in part
    assert f"lab --part state --lang {ZH}" in re.sub("<[^>]*>", "", part)


def test_join_streams__what_is_printed_in_pieces_is_one_line():
    pieces = ["scan:     ", " [1 2 3]\n"]
    outputs = [nbformat.v4.new_output("stream", name="stdout", text=text) for text in pieces]
    assert [output.text for output in join_streams(outputs)] == ["scan:      [1 2 3]\n"]
    assert outputs[0].text == pieces[0]


@pytest.mark.parametrize(
    ("text", "shown"), [("x", "`x`"), ("a`b", "``a`b``"), ("``", "``` `` ```")]
)
def test_notebooks__code_with_a_backtick_has_one_more_around_it(text, shown):
    assert Markdown(str).inline(nodes.paragraph("", "", nodes.literal("", text))) == shown
