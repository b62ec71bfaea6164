"""Comments and docstrings of code cells in the reader's language, the code proven equal.

A cell is executed once, with English comments. Before each cell's source stands one invisible
node per line of prose in it: Sphinx extracts that node into the catalog and looks its translation
up, like any other text. A transform after the look-up writes the translations into the cell, and
raises unless the result has the same lines and the same tokens.
"""

import ast
import functools
import io
import tokenize
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from haiku_site import compat
from haiku_site.translate.gate.catalog_files import read_catalog
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

PRAGMAS = ("fmt:", "noqa", "type:")


class Prose(NamedTuple):
    """One line of prose in code: its place, first line 0, and its text."""

    row: int
    start: int
    end: int
    text: str


class CellError(ExtensionError):
    """A cell is not plain Python, or its translation changes the code."""


def find_prose(code: str) -> list[Prose]:
    """Find the comments and the lines of docstrings in a cell."""
    lines = _lines(code)
    found = [
        Prose(row - 1, start + 1 + len(text) - len(text.lstrip()), end, text.strip())
        for kind, string, (row, start), (_, end), _ in _tokens(code)
        if kind == tokenize.COMMENT and (text := string[1:]).strip()
        if not text.strip().startswith(PRAGMAS)
    ]
    for node in _docstrings(code):
        for row in range(node.lineno - 1, node.end_lineno or node.lineno):
            start = node.col_offset if row == node.lineno - 1 else 0
            end = node.end_col_offset if row + 1 == node.end_lineno else None
            line = lines[row].encode()[start:end].decode()
            text = line.lstrip("rR").strip("\"'").strip()
            if text:
                begin = lines[row].index(text, len(lines[row].encode()[:start].decode()))
                found.append(Prose(row, begin, begin + len(text), text))
    return sorted(found)


def rewrite(code: str, translations: dict[Prose, str]) -> str:
    """Replace prose with its translations, and prove that nothing else changed.

    Raises:
      CellError: the result has other lines or other tokens than ``code``.
    """
    lines = _lines(code)
    for prose in sorted(translations, reverse=True):
        line = lines[prose.row]
        lines[prose.row] = line[: prose.start] + translations[prose] + line[prose.end :]
    result = "\n".join(lines)
    if len(result.splitlines()) != len(lines):  # U+2028 ends a line in a browser, not in Python
        raise CellError(f"a translated comment has more than one line:\n{result}")
    if skeleton(result) != skeleton(code):
        raise CellError(f"a translated comment changes the code:\n{result}")
    return result


def place_of_error(code: str, translations: dict[Prose, str], catalog: Path) -> str:
    """Return the file and line of the translation that :func:`rewrite` refuses."""
    for prose, text in translations.items():
        try:
            rewrite(code, {prose: text})
        except CellError:
            message = read_catalog(catalog).get(prose.text)
            return f"{catalog}:{message.lineno if message else 1}"
    return str(catalog)


@functools.cache  # most cells are the same in both languages, and are in a notebook too
def skeleton(code: str) -> list[tuple[int, str, int]]:
    """Return the tokens of a cell and their lines, without the words of comments and docstrings."""
    docstrings = {(node.lineno, node.col_offset) for node in _docstrings(code)}
    tokens = []
    for kind, string, (row, column), _, line in _tokens(code):
        offset = len(line[:column].encode())
        blank = kind == tokenize.COMMENT or (row, offset) in docstrings
        tokens.append((kind, "" if blank else string, row))
    return tokens


def _lines(code: str) -> list[str]:
    """Return the lines of a cell, which must be the same for Python and for a reader."""
    lines = code.rstrip("\n").split("\n")
    if [line for line in lines if line] != [line for line in code.splitlines() if line]:
        raise CellError(f"a cell has an end of a line that Python does not see:\n{code!r}")
    return lines


def _tokens(code: str) -> list[tokenize.TokenInfo]:
    try:
        return list(tokenize.generate_tokens(io.StringIO(code.rstrip("\n")).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise CellError(f"a cell is not plain Python: {error}\n{code}") from error


def _docstrings(code: str) -> list[ast.Constant]:
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise CellError(f"a cell is not plain Python: {error}\n{code}") from error
    owners = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, owners) and isinstance(node.body[0], ast.Expr)
        if isinstance(node.body[0].value, ast.Constant)
        and isinstance(node.body[0].value.value, str)
    ]


class CellProse(nodes.Invisible, nodes.Element, addnodes.translatable):
    """A line of prose of the cell that follows: extracted and translated, never shown."""

    def preserve_original_messages(self) -> None:
        """Nothing to do: the text is kept apart from the translation."""

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Keep the translation for :class:`TranslateCells`."""
        self["translation"] = translated_message

    def extract_original_messages(self) -> list[str]:
        """Return the English."""
        return [self["prose"].text]


def _sources(document: nodes.document) -> list[nodes.literal_block]:
    return [*compat.sources(document)]


class ExtractCells(SphinxTransform):
    """Put a :class:`CellProse` before each cell for each line of prose in it."""

    default_priority = 5  # before Sphinx preserves (10) and translates (20) messages

    def apply(self, **kwargs: Any) -> None:
        """Insert the nodes."""
        for block in _sources(self.document):
            try:
                found = find_prose(block.astext())
            except CellError as error:
                raise CellError(f"{block.source}:{block.line}: {error}") from error
            for prose in found:
                node = CellProse(prose=prose)
                node.source, node.line = block.source, block.line
                block.parent.insert(block.parent.index(block), node)


class TranslateCells(SphinxTransform):
    """Write the translations into the cells."""

    default_priority = 21  # after Sphinx has looked them up

    def apply(self, **kwargs: Any) -> None:
        """Rewrite each cell that has a translation."""
        for block in _sources(self.document):
            prose = [node for node in block.parent.findall(CellProse) if "translation" in node]
            if prose:
                code = block.astext()
                translations = {node["prose"]: node["translation"] for node in prose}
                try:
                    code = rewrite(code, translations)
                except CellError as error:
                    place = place_of_error(code, translations, self._catalog())
                    raise CellError(f"{place}: {error}") from error
                block.rawsource, block[:] = code, [nodes.Text(code)]

    def _catalog(self) -> Path:
        folder = Path(self.env.srcdir, self.config.locale_dirs[0], self.config.language)
        return folder / "LC_MESSAGES" / f"{self.env.docname}.po"


def _skip(translator: nodes.NodeVisitor, node: nodes.Node) -> None:
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the node and the two transforms."""
    app.add_node(CellProse, html=(_skip, None), text=(_skip, None))
    app.add_transform(ExtractCells)
    app.add_transform(TranslateCells)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
