"""Every private name of Sphinx, MyST-NB, sphinx-design and the theme that the site relies on.

A new version may rename what it does not document, and nothing would tell: a fold that is open, a
notebook without outputs. Each such name is looked up here and nowhere else. If one is lost, the
build stops and says which, of what, and what it was for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from jupyter_cache import get_cache
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PACKAGES = {
    "jupyter_cache": "jupyter-cache", "myst_nb": "myst-nb", "sphinx_design": "sphinx-design",
    "sphinx": "sphinx",
}  # fmt: skip


class LostNameError(ExtensionError):
    """A library no longer has a private name that the site relies on."""

    def __init__(self, package: str, name: str, purpose: str) -> None:
        super().__init__(
            f"{package} {version(package)} has no {name}, which is needed to {purpose}; "
            f"find what took its place, and change conf/sphinx/haiku_site/compat.py"
        )


def find(module: str, name: str, purpose: str) -> Any:
    """Return what a module has under a private name.

    Raises:
      LostNameError: the module or the name is gone.
    """
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        package = PACKAGES[module.partition(".")[0]]
        raise LostNameError(package, f"{module}.{name}", purpose) from None


FoldedCell = find("myst_nb.sphinx_", "HideCodeCellNode", "fold cells")
_Executions = find("myst_nb.sphinx_", "NbMetadataCollector", "say which notebooks were executed")
_create_reader = find("myst_nb.core.read", "create_nb_reader", "write notebooks")
ExecutionError = find("myst_nb.core.execute.base", "ExecutionError", "name the cell that fails")
Dropdown = find("sphinx_design.dropdown", "dropdown_main", "write dropdowns into notebooks")
create_component = find("sphinx_design.shared", "create_component", "show tabs")
_Cache = find("jupyter_cache.cache.main", "JupyterCacheBase", "keep what was executed")
_translators = find("sphinx.locale", "translators", "build two languages in one process")


def keep_all_executed() -> None:
    """Let Jupyter-cache remove nothing: each version of what notebooks run has its own folder.

    After each notebook it looks for old ones with two queries, and takes for old what another
    process adds between them: that page's build fails.
    """
    if not hasattr(_Cache, "truncate_caches"):
        raise LostNameError("jupyter-cache", "truncate_caches", "keep what was executed")
    _Cache.truncate_caches = lambda cache: None


def forget_language() -> None:
    """Forget the texts of the last build, or this one asks its own language only where they end."""
    _translators.clear()


def seconds_of_execution(env: Any, start: float) -> float | None:
    """Return how long the notebook of the present page ran, if it has run since a time."""
    data = _Executions.get_exec_data(env, env.docname)
    if data and not data.keys() >= {"mtime", "runtime"}:
        raise LostNameError("myst-nb", "exec_data['mtime']", "say which notebooks were executed")
    return float(data["runtime"]) if data and data["mtime"] >= start else None


def executed_notebook(app: Sphinx, name: str) -> Any:
    """Read a page's notebook, with the outputs that MyST-NB has kept."""
    path = str(app.env.doc2path(name))
    text = Path(path).read_text(encoding="utf-8")
    reader = _create_reader(path, app.env.myst_config, app.env.mystnb_config, text)
    cache = get_cache(app.config.nb_execution_cache_path)
    return cache.merge_match_into_notebook(reader.read(text))[1]


def part_of_cell(node: nodes.Node) -> str:
    """Return ``cell_code``, ``cell_code_source`` or ``cell_code_output``, or nothing."""
    return str(node.get("nb_element", "")) if isinstance(node, nodes.container) else ""


def parts_of_cells(document: nodes.Element, part: str) -> Iterator[nodes.container]:
    """Yield the code cells of a page, or the part of each that holds its source or its outputs."""
    return (node for node in document.findall(nodes.container) if part_of_cell(node) == part)


def sources(node: nodes.Element) -> Iterator[nodes.literal_block]:
    """Yield the code of the cells in a node."""
    for source in parts_of_cells(node, "cell_code_source"):
        yield from source.findall(nodes.literal_block)


def tags(cell: nodes.container) -> list[str]:
    """Return the tags of a code cell."""
    return list(cell["cell_metadata"].get("tags", []))


def number(cell: nodes.container) -> int:
    """Return the place of a cell in its notebook."""
    return int(cell["cell_index"])


def fold(cell: nodes.container, part: str, text: str) -> None:
    """Have MyST-NB fold ``input``, ``output`` or ``all`` of a cell, as its own tags do."""
    cell["hide_mode"] = part
    cell["prompt_show"] = cell["prompt_hide"] = text


def keep_anchors(app: Sphinx, document: nodes.document) -> None:
    """Keep a page's headings, which MyST forgets when Sphinx translates an admonition's title."""
    if anchors := getattr(document, "myst_slugs", None):
        app.env.metadata[app.env.docname]["myst_slugs"] = anchors


def write_no_search(app: Sphinx) -> None:
    """Have Sphinx write no search index of its own."""
    app.builder.search = False


UNUSED = ("searchtools.js", "language_data.js", "sphinx_highlight.js", "translations.js")
"""Scripts of Sphinx: of its own search, and of texts that no page shows; the policy blocks one."""


def drop_scripts(
    app: Sphinx, name: str, template: str, context: dict[str, Any], document: Any
) -> None:
    """Drop these scripts, and options of the theme that no script of ours reads."""
    context["script_files"] = [
        script
        for script in context["script_files"]
        if not str(script.filename).endswith(UNUSED)
        and "DOCUMENTATION_OPTIONS." not in script.attributes.get("body", "")
    ]


def _check_settings(app: Sphinx) -> None:
    """Look for what the build only needs later."""
    for name in ("myst_config", "mystnb_config"):
        if not hasattr(app.env, name):
            raise LostNameError("myst-nb", f"env.{name}", "write notebooks")
    if app.builder.name == "html":
        if not hasattr(app.builder, "search"):
            raise LostNameError("sphinx", "builder.search", "write a search of our own")
        folders = app.builder.theme.get_theme_dirs()
        for ours, name in REPLACED.items():
            if not any(Path(folder, name).is_file() for folder in folders):
                purpose = f"replace it by our {ours}"
                raise LostNameError("pydata-sphinx-theme", f"template {name}", purpose)


REPLACED = {
    "layout.html": "layout.html",
    "search.html": "search.html",
    "navbar-nav.html": "components/navbar-nav.html",
    "search-button-field.html": "components/search-button-field.html",
    "components/prev-next.html": "components/prev-next.html",
    "static/webpack-macros.html": "static/webpack-macros.html",
}
"""Our templates, and those of the theme that they replace."""


def _check_page(app: Sphinx, document: nodes.document) -> None:
    """Look for the marks of code cells and headings on a page that was executed."""
    text = Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8")
    if "{code-cell}" not in text or not _Executions.get_exec_data(app.env, app.env.docname):
        return
    found = [*parts_of_cells(document, "cell_code")]
    if not found or not found[0].attributes.keys() >= {"cell_metadata", "cell_index"}:
        raise LostNameError("myst-nb", "nb_element='cell_code'", "find the cells of a page")
    inside = {part_of_cell(part) for cell in found for part in cell if part.tagname == "container"}
    if not inside or inside - {"cell_code_source", "cell_code_output"}:
        names = "nb_element='cell_code_source' or 'cell_code_output'"
        raise LostNameError("myst-nb", names, "tell what a cell prints from its code")
    if not app.env.metadata[app.env.docname].get("myst_slugs"):
        raise LostNameError("myst-nb", "document.myst_slugs", "link to headings")


def _check_folds(app: Sphinx, document: nodes.document, name: str) -> None:
    folded = [cell for cell in parts_of_cells(document, "cell_code") if cell.get("hide_mode")]
    if folded and app.builder.name == "html" and not any(document.findall(FoldedCell)):
        raise LostNameError("myst-nb", "cell['hide_mode']", "fold cells")


def setup(app: Sphinx) -> dict[str, Any]:
    """Look for each name as soon as it has to be there."""
    app.connect("builder-inited", _check_settings, priority=900)
    app.connect("doctree-read", _check_page, priority=900)
    app.connect("doctree-resolved", _check_folds)
    app.connect("html-page-context", drop_scripts, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
