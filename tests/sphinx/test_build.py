"""What a second build may keep of the first: everything, unless more than prose has changed."""

import build
import pytest

PAGE = "docs/state/pytrees.md"
CATALOG = "docs/locale/zh_CN/LC_MESSAGES/state/pytrees.po"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name, text in {
        PAGE: "(label)=\n# PyTrees\n\nText.\n",
        "docs/api/errors.rst": "Errors\n======\n\nText.\n",
        CATALOG: 'msgid ""\nmsgstr ""\n\nmsgid "PyTrees"\nmsgstr "树"\n\nmsgid "Text."\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(build, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(build, "BUILD", tmp_path / "build")
    monkeypatch.setattr(build, "WORK", tmp_path / "build/sphinx")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "old", "new", "kept"),
    [
        (PAGE, "Text.", "Other text.", True),
        (PAGE, "# PyTrees", "# Trees", False),
        ("docs/api/errors.rst", "Text.", "Other text.", True),
        ("docs/api/errors.rst", "Errors", "Faults", False),
        (CATALOG, '"Text."', '"Other text."', True),
        (CATALOG, "树", "树结构", False),
    ],
)
def test_an_edit_of_prose_keeps_the_last_build_and_one_of_a_title_does_not(
    tree, name, old, new, kept
):
    before = build._build_fingerprint()
    text = (tree / name).read_text(encoding="utf-8")
    (tree / name).write_text(text.replace(old, new), encoding="utf-8")
    assert (build._build_fingerprint() == before) is kept


def test_a_page_that_was_added_or_removed_does_not(tree):
    before = build._build_fingerprint()
    (tree / "docs/state/more.md").write_text("# More\n")
    assert build._build_fingerprint() != before
    (tree / "docs/state/more.md").unlink()
    assert build._build_fingerprint() == before
    (tree / PAGE).unlink()
    assert build._build_fingerprint() != before


def test_what_was_built_from_the_same_is_kept_and_nothing_after_a_failure(tree):
    built = tree / "build/sphinx/en/index.html"
    build._invalidate_cache_unless("one")
    built.parent.mkdir()
    built.write_text("")
    build._invalidate_cache_unless("one")
    assert built.exists()
    build._invalidate_cache_unless("two")
    assert not built.exists()
    built.parent.mkdir()
    built.write_text("")
    build._invalidate_cache_unless("")
    assert not built.exists()


def test_a_catalog_that_is_not_utf_8_is_left_to_the_gate(tree):
    (tree / CATALOG).write_bytes("树".encode("gbk"))
    assert build._build_fingerprint()
