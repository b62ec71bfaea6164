"""The addresses that pages and docstrings link to: each was looked up, with its anchor."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMESPACES = {"http://www.w3.org/2000/svg"}  # names of XML, which nobody follows
LOOKED_UP = ROOT / "tests/links.tsv"
PATTERNS = ("*.md", "docs/**/*.md", "docs/**/*.rst", "haiku_state/**/*.py")
_ADDRESS = re.compile(r"https?://[^\s<>()\"'`\]]*[^\s<>()\"'`\].,;:]")


def linked(root):
    files = {file for pattern in PATTERNS for file in root.glob(pattern)}
    texts = [file.read_text(encoding="utf-8") for file in files]
    return {address for text in texts for address in _ADDRESS.findall(text)} - NAMESPACES


def test_each_address_was_looked_up_and_is_still_linked():
    with LOOKED_UP.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    assert all(len(row) == 2 and row[1] for row in rows)
    addresses = [address for address, _ in rows]
    assert addresses == sorted(set(addresses))
    assert linked(ROOT) == set(addresses)


@pytest.mark.parametrize(
    "text",
    [
        "see [a](https://example.org/a.html#b), and more",
        "`a\n<https://example.org/a.html#b>`__.",
        "is at https://example.org/a.html#b.",
    ],
)
def test_an_address_is_found_however_it_is_written(tmp_path, text):
    (tmp_path / "page.md").write_text(text)
    assert linked(tmp_path) == {"https://example.org/a.html#b"}
