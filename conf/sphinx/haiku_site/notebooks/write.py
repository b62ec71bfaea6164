"""Each lesson as a notebook in the page's language, alone, by part, and all of them.

A notebook is written from its resolved page, so that it says what the page says: translated prose,
comments in the page's language, the outputs of the one execution. The checks, which the page leaves
out, are its last section.
"""

import copy
import html
import json
import re
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import nbformat
from docutils import nodes
from haiku_site import SPHINX, compat
from haiku_site.course import after_whole_site, course, parts, told
from haiku_site.features.folds import FOLDED
from haiku_site.features.install import requirement
from haiku_site.finish.metadata import address
from haiku_site.notebooks.markdown import Markdown, svg_address
from haiku_site.translate.cells import skeleton
from haiku_site.translate.languages import sites
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _

FOLDER = "notebooks"
LIBRARIES = {
    "matplotlib": re.compile(r"^\s*(?:import|from) matplotlib\b", re.MULTILINE),
    "scikit-learn": re.compile(r"^\s*(?:import|from) sklearn\b|\bhs\.load_\w+\(", re.MULTILINE),
    "orbax-checkpoint": re.compile(r"^\s*(?:import|from) orbax\b|_checkpoint\(", re.MULTILINE),
    "flax": re.compile(r"^\s*(?:import|from) flax\b", re.MULTILINE),
    "equinox": re.compile(r"^\s*(?:import|from) equinox\b", re.MULTILINE),
}
"""What of the extra ``lab`` a lesson uses, and the code that uses it."""
# what a notebook hides of a cell, by the part of it that the page folds
HIDDEN = {
    "input": {"source_hidden": True},
    "output": {"outputs_hidden": True},
    "all": {"source_hidden": True, "outputs_hidden": True},
}

ON_WHITE = {
    "figure.facecolor": "white", "axes.facecolor": "white", "savefig.transparent": "False",
}  # fmt: skip
"""In Jupyter a figure is not on a page of known colour."""


def archive(language: str, part: str = "") -> str:
    """Return the name of the file that holds the notebooks of a part, or of the course."""
    return f"haiku_lessons_{language}{part and '_'}{part}.zip"


def make_notebook(document: nodes.document, executed: Any, config: Config, docname: str) -> Any:
    """Make the notebook of a page.

    Args:
      document: the resolved page.
      executed: the page's notebook as it was executed.
      config: that of the build, with the language of the page.
      docname: the name of the page.
    """
    markdown = Markdown(lambda target: _address(target, str(config.language), docname))
    cells: list[Any] = []
    prose: list[str] = []
    checks: list[Any] = []

    def end_prose() -> None:
        if prose:
            images = (f"[{name}]: {address}" for name, address in markdown.images.items())
            cells.append(new_markdown_cell("\n\n".join([*prose, *images])))
        markdown.images.clear()
        prose.clear()

    for block in markdown.blocks(document):
        if isinstance(block, str):
            if block.startswith("##"):
                end_prose()
            prose.append(block)
        else:
            end_prose()
            cell = _code_cell(block, executed.cells[compat.number(block)])
            (checks if "check" in compat.tags(block) else cells).append(cell)
    end_prose()
    if checks:
        text = _("These cells check the numbers above and print nothing if these are right.")
        cells += [new_markdown_cell(f"## {_('Checks')}\n\n{text}"), *checks]
    code = [cell for cell in cells if cell.cell_type == "code"]
    command = f"python -m pip install {requirement(config, 'lab')}"
    cells[0].source += f"\n\n{_('To install what this notebook needs:')} `{command}`"
    if any("image/svg+xml" in output.get("data", {}) for cell in code for output in cell.outputs):
        cells.insert(cells.index(code[0]), _figure_settings())
    return _finished(cells)


def _address(target: str, language: str, docname: str) -> str | None:
    """Return the address of a link's target where the site is published, if it is."""
    if urlsplit(target).scheme:
        return target
    site = address()
    return urljoin(f"{site}{language}/{docname}.html", target) if site else None


def _code_cell(cell: nodes.container, executed: Any) -> Any:
    [source] = compat.sources(cell)
    tags = compat.tags(cell)
    metadata: dict[str, Any] = {"tags": tags} if tags else {}
    for tag in {*tags} & {*FOLDED}:
        metadata["jupyter"] = HIDDEN[FOLDED[tag][0]]
    outputs = join_streams(executed.outputs)
    for output in outputs:
        _show_figure(output.get("data", {}), cell)
    return new_code_cell(source.astext(), metadata=metadata, outputs=outputs)


def join_streams(outputs: list[Any]) -> list[Any]:
    """Join what a cell has printed: a kernel sends it in pieces, which may end within a line."""
    joined: list[Any] = []
    streams: dict[str, Any] = {}
    for output in copy.deepcopy(outputs):
        name = output.get("name")
        if name in streams:
            streams[name].text += output.text
        else:
            joined.append(output)
            if name:
                streams[name] = output
    return joined


def _show_figure(data: dict[str, str], cell: nodes.container) -> None:
    """Show a figure as an image too: Jupyter draws no SVG in a notebook that it did not run itself.

    It is on white, so that its dark ink is seen in a dark theme.
    """
    if "image/svg+xml" in data:
        source = svg_address(data["image/svg+xml"])
        alt = html.escape("".join(image.get("alt", "") for image in cell.findall(nodes.image)))
        data["text/html"] = f'<img src="{source}" alt="{alt}" style="background: white">'


def _figure_settings() -> Any:
    """Make the cell that lets a notebook draw as the site does; it is not on the page."""
    lines = (SPHINX / "matplotlibrc").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":", 1) for line in lines if line and not line.startswith("#"))
    settings = {name: value.strip() for name, value in pairs} | ON_WHITE
    code = [
        f"# {_('how the figures of this lesson are drawn')}",
        "import matplotlib",
        "from matplotlib_inline.backend_inline import set_matplotlib_formats",
        "",
        'set_matplotlib_formats("svg", bbox_inches=None, metadata={"Date": None})',
        f"matplotlib.rcParams.update({json.dumps(settings, indent=4)})",
    ]
    return new_code_cell("\n".join(code), metadata={"tags": ["figures"], "jupyter": HIDDEN["all"]})


def needs(code: str) -> list[str]:
    """Return the libraries that code needs in addition to this package, by their names for pip."""
    return [library for library, used in LIBRARIES.items() if used.search(code)]


def _finished(cells: list[Any]) -> Any:
    """Number the cells, and name the kernel: the same notebook from one build to the next."""
    count = 0
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    notebook = new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def _write_notebook(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Write the notebook of a lesson beside its page, and link to it above the title.

    This line, or on another page a line below the title, says what the code needs.
    """
    if app.builder.name != "html":
        return
    code = "\n".join(source.astext() for source in compat.sources(document))
    needed = _needed(docname, needs(code))
    if docname in course(Path(app.srcdir)):
        executed = compat.executed_notebook(app, docname)
        notebook = make_notebook(document, executed, app.config, docname)
        _save(notebook, Path(app.outdir, FOLDER, f"{docname}.ipynb"))
        above = (node for node in document.findall(nodes.paragraph) if "eyebrow" in node["classes"])
        link = download(docname, f"{docname}.ipynb", _("Download this notebook"))
        line = next(above)
        for one in (link, *needed):
            line += [nodes.Text(" · "), one]
    elif needed:
        title = next(document.findall(nodes.title))
        line = nodes.paragraph("", "", *needed, classes=["hs-needs"], translatable=False)
        title.parent.insert(title.parent.index(title) + 1, line)


def _needed(docname: str, libraries: list[str]) -> list[nodes.Node]:
    """Return a link that names libraries, to the page that says how to install them."""
    if not libraries:
        return []
    text = _("Needs {libraries}").format(libraries=", ".join(libraries))
    address = f"{'../' * docname.count('/')}how_to/run_a_lesson.html"
    return [nodes.raw("", f'<a href="{address}">{text}</a>', format="html")]


def _save(notebook: Any, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.validate(notebook)
    nbformat.write(notebook, file)


def download(docname: str, file: str, text: str) -> nodes.raw:
    """Return a link from a page to a notebook of the site."""
    address = f"{'../' * docname.count('/')}{FOLDER}/{file}"
    return nodes.raw("", f'<a href="{address}" download>{text}</a>', format="html")


def _write_archives(app: Sphinx) -> None:
    """Put the notebooks of each part into one file, and all of them, with their contents."""
    docs, folder = Path(app.srcdir), Path(app.outdir, FOLDER)
    lessons, language = course(docs), str(app.config.language)
    contents = [f"# {app.env.titles['index'].astext()}"]
    contents.append(_("Press Shift+Enter to run the selected cell. Each lesson can be run alone."))
    for part in parts(docs):
        of_part = [docname for docname, lesson in lessons.items() if lesson.part == part]
        _zip(folder, archive(language, Path(part).parent.name), of_part, language)
        contents.append(f"## {app.env.titles[part].astext()}")
        links = []
        for docname in of_part:
            text = told(lessons[docname])
            links.append(f"- [{app.env.titles[docname].astext()}]({docname}.ipynb) · {text}")
        contents.append("\n".join(links))
    _save(_finished([new_markdown_cell("\n\n".join(contents))]), folder / "index.ipynb")
    _zip(folder, archive(language), ["index", *lessons], language)


def _zip(folder: Path, name: str, docnames: list[str], language: str) -> None:
    """Write an archive, equal from one build to the next, that unpacks into one folder."""
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as file:
        for docname in docnames:
            entry = zipfile.ZipInfo(f"haiku_lessons_{language}/{docname}.ipynb")
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            file.writestr(entry, (folder / f"{docname}.ipynb").read_bytes())


def check_notebooks(site: Path) -> list[str]:
    """Compare the notebooks of the languages: the same cells, code and outputs, with words."""
    found = []
    names = sorted(file.relative_to(site / "en") for file in site.glob(f"en/{FOLDER}/*/*.ipynb"))
    for name in names:
        if name.parts[1] == "exercises":  # what the package exports, and its tests compare
            continue
        english, *others = (
            nbformat.read(site / code / name, as_version=4).cells for code in sites()
        )
        if any(list(map(_shape, english)) != list(map(_shape, other)) for other in others):
            found.append(f"{name}: the cells, their code or their outputs differ")
        bare = [cell.source for cell in english if cell.cell_type == "code" and _is_bare(cell)]
        found += [f"{name}: what are the numbers that this cell prints?\n{cell}" for cell in bare]
    return found


def _is_bare(cell: Any) -> bool:
    """Return whether a cell prints numbers alone, which are not a counter's: 1 2 3, or 1 1 1."""
    texts = [output.text for output in cell.outputs if output.get("name") == "stdout"]
    numbers = "".join(texts).split()
    named = any(re.search(r"\b[A-Za-z]", word) for word in numbers)
    return bool(numbers) and not named and numbers not in (["1", "2", "3"], ["1", "1", "1"])


def _shape(cell: Any) -> Any:
    """Return what is equal in all languages."""
    if cell.cell_type == "code":
        return cell.metadata, skeleton(cell.source), list(map(_without_words, cell.outputs))
    return [cell.source.count(mark) for mark in ("\n\n", "`", "](", "$")]


def _without_words(output: Any) -> str:
    """Return an output without what a reader who sees no figure is told, which is translated."""
    return re.sub(r'alt=\\"[^"]*"', "", json.dumps(output))


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the notebooks once the pages are resolved."""
    app.setup_extension("haiku_site.features.install")
    app.connect("doctree-resolved", _write_notebook)
    after_whole_site(app, _write_archives)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
