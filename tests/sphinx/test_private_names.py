"""Private names of Sphinx, MyST-NB, sphinx-design and the theme: the loss of one stops a build."""

import importlib
import re
import sys
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from haiku_site import compat

NAMES = [
    ("myst_nb.sphinx_", "HideCodeCellNode"),
    ("myst_nb.sphinx_", "NbMetadataCollector"),
    ("myst_nb.core.read", "create_nb_reader"),
    ("myst_nb.core.execute.base", "ExecutionError"),
    ("sphinx_design.dropdown", "dropdown_main"),
    ("sphinx_design.shared", "create_component"),
    ("sphinx.locale", "translators"),
]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_site_compat__a_name_that_is_gone_stops_the_build(module, name, monkeypatch):
    monkeypatch.delattr(importlib.import_module(module), name)
    monkeypatch.delitem(sys.modules, "haiku_site.compat")
    with pytest.raises(Exception, match=f"has no {module}.{name}, which is needed to"):
        importlib.import_module("haiku_site.compat")


@pytest.fixture
def page(tmp_path):
    """A page with one cell as MyST-NB marks it, and its environment."""
    file = tmp_path / "page.md"
    document = new_document("page")
    cell = nodes.container(nb_element="cell_code", cell_metadata={}, cell_index=0)
    cell += nodes.container(nb_element="cell_code_source")
    cell += nodes.container(nb_element="cell_code_output")
    document += cell
    env = SimpleNamespace(docname="page", metadata={"page": {"myst_slugs": {"a": 1}}})
    env.nb_metadata = {"page": {"exec_data": {"mtime": 2.0, "runtime": 3.0}}}
    env.doc2path = lambda name: file
    file.write_text("# Page\n\n```{code-cell} ipython3\n1 + 1\n```\n")
    return SimpleNamespace(env=env, builder=SimpleNamespace(name="html")), document


def renamed(app, document):
    document[0]["nb_element"] = "code"


def without_index(app, document):
    del document[0]["cell_index"]


def renamed_output(app, document):
    document[0][1]["nb_element"] = "output"


def without_slugs(app, document):
    app.env.metadata["page"].clear()


@pytest.mark.parametrize(
    ("lose", "lost"),
    [
        (renamed, "nb_element='cell_code'"),
        (without_index, "nb_element='cell_code'"),
        (renamed_output, "nb_element='cell_code_source' or 'cell_code_output'"),
        (without_slugs, "document.myst_slugs"),
    ],
)
def test_site_compat__a_mark_that_is_gone_stops_the_build(page, lose, lost):
    app, document = page
    compat._check_page(app, document)
    lose(app, document)
    with pytest.raises(compat.LostNameError, match=re.escape(lost)):
        compat._check_page(app, document)


def test_site_compat__a_page_that_is_begun_lacks_nothing(page):
    app, document = page
    del document[0][1]  # its cell prints nothing
    compat._check_page(app, document)
    del document[0]  # it has none
    app.env.doc2path("page").write_text("# Page\n")
    compat._check_page(app, document)


def test_site_compat__a_fold_that_nobody_folds_stops_the_build(page):
    app, document = page
    compat.fold(document[0], "all", "Show")
    with pytest.raises(compat.LostNameError, match=re.escape("cell['hide_mode']")):
        compat._check_folds(app, document, "page")
    document += compat.FoldedCell()
    compat._check_folds(app, document, "page")


def test_seconds_of_execution__what_a_run_no_longer_says_stops_the_build(page):
    app, _ = page
    assert compat.seconds_of_execution(app.env, 1.0) == 3
    assert compat.seconds_of_execution(app.env, 2.5) is None
    del app.env.nb_metadata["page"]["exec_data"]["mtime"]
    with pytest.raises(compat.LostNameError, match="mtime"):
        compat.seconds_of_execution(app.env, 1.0)


@pytest.mark.parametrize("lost", ["template layout.html", "env.myst_config", "builder.search"])
def test_site_compat__what_is_needed_later_is_looked_for_first(lost, tmp_path):
    for name in compat.REPLACED.values():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    theme = SimpleNamespace(get_theme_dirs=lambda: [str(tmp_path)])
    builder = SimpleNamespace(name="html", search=True, theme=theme)
    app = SimpleNamespace(env=SimpleNamespace(myst_config=1, mystnb_config=1), builder=builder)
    compat._check_settings(app)
    if lost.startswith("template"):
        (tmp_path / "layout.html").unlink()
    else:
        part, _, name = lost.partition(".")
        delattr(getattr(app, part), name)
    with pytest.raises(compat.LostNameError, match=lost):
        compat._check_settings(app)


def test_drop_scripts__what_the_policy_blocks_or_nobody_reads_is_not_loaded():
    def script(name, body=""):
        return SimpleNamespace(filename=name, attributes={"body": body})

    kept = [script("_static/doctools.js"), script(None, "own()")]
    dropped = [script("_static/translations.js"), script(None, "DOCUMENTATION_OPTIONS.a = 1;")]
    context = {"script_files": [*kept, *dropped]}
    compat.drop_scripts(None, "index", "page.html", context, None)
    assert context["script_files"] == kept
