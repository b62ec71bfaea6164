"""Reading a catalog: what can be read as none is named by its file and line."""

import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog
from babel.messages.pofile import PoFileError, read_po
from haiku_site.translate.languages import Site

# A text is in quotes that are closed, with the escapes that Babel writes. There is no msgctxt,
# without which Sphinx looks a text up, so that readers would get English.
_LINE = re.compile(r'(?:(msgid|msgstr) )?"((?:[^"\\]|\\["\\nt])*)"|#.*|')
_SIGNS = "—–×−±≤≥≈→⁰¹²³⁴⁵⁶⁷⁸⁹⁻½·©"


class Problem(NamedTuple):
    """One defect of one message, or of a line."""

    file: Path
    line: int
    what: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}\n    {self.message!r}"


def read_catalog(file: Path) -> Catalog:
    """Read a catalog that :func:`malformed` has nothing to say about."""
    with file.open(encoding="utf-8") as stream:
        return read_po(stream, abort_invalid=True)


def malformed(file: Path, site: Site) -> list[Problem]:
    """Look for what Babel cannot read, or reads as something else."""
    data = file.read_bytes()
    try:
        lines = data.decode("utf-8").split("\n")  # no other character ends a line
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n")
        return [Problem(file, line + 1, "not UTF-8", repr(data.split(b"\n")[line]))]
    # Everything else is invisible, looks like another character, or has no place in the language.
    known = f" -~{site.of.script}{site.letters}{_SIGNS}"
    strange = [
        Problem(file, number, f"{character!a} {unicodedata.name(character, '')}".strip(), line)
        for number, line in enumerate(lines, 1)
        for character in re.findall(f"[^{known}]", line)
    ]
    wrong = _first_wrong_line(lines)
    if wrong and not strange:
        return [Problem(file, wrong[0], wrong[1], lines[wrong[0] - 1])]
    if not strange:
        try:
            read_catalog(file)
        except PoFileError as error:
            return [Problem(file, error.lineno + 1, f"not a catalog: {error}", error.line)]
    return strange


def _first_wrong_line(lines: list[str]) -> tuple[int, str] | None:
    """Return the first line that does not belong there, and why."""
    last = "msgstr"  # of the two keywords, which take turns
    where: dict[str, int] = {}  # the lines of each msgid
    text = ""
    for number, line in enumerate(lines, 1):
        part = _LINE.fullmatch(line)
        if not part:
            return number, "not a catalog: neither msgid nor msgstr with its text, nor a comment"
        keyword, words = part.groups()
        if keyword == last:
            return number, f"not a catalog: {keyword} twice in a row"
        if keyword == "msgstr" and where.setdefault(text, number) != number:
            return number, f"the same msgid as that of line {where[text]}"
        text = words if keyword else text + (words or "")
        last = keyword or last
    return None
