"""What a second build may keep of the first: everything, unless more than prose has changed."""

import os
from types import SimpleNamespace

import build
import pytest
from haiku_site import SPHINX, progress
from support.chinese import ZH

PAGE = "docs/state/pytrees.md"
CATALOG = f"docs/locale/{ZH}/LC_MESSAGES/state/pytrees.po"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name, text in {
        PAGE: "(label)=\n# PyTrees\n\nText.\n",
        "docs/api/errors.rst": "Errors\n======\n\nText.\n",
        CATALOG: 'msgid ""\nmsgstr ""\n\nmsgid "PyTrees"\nmsgstr "树"\n\nmsgid "Text."\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "conf/static").mkdir(parents=True)
    (tmp_path / "conf/static/site.css").write_text("a {}")
    (tmp_path / "conf/conf.py").write_text("a = 1")
    monkeypatch.setattr(build, "HERE", tmp_path / "conf")
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
def test_build__an_edit_of_prose_keeps_the_last_and_one_of_a_title_does_not(
    tree, name, old, new, kept
):
    before = build._build_fingerprint()
    text = (tree / name).read_text(encoding="utf-8")
    (tree / name).write_text(text.replace(old, new), encoding="utf-8")
    assert (build._build_fingerprint() == before) is kept


def test_build__a_page_that_was_added_or_removed_does_not_keep_the_last(tree):
    before = build._build_fingerprint()
    (tree / "docs/state/more.md").write_text("# More\n")
    assert build._build_fingerprint() != before
    (tree / "docs/state/more.md").unlink()
    assert build._build_fingerprint() == before
    (tree / PAGE).unlink()
    assert build._build_fingerprint() != before


EXECUTED = "executed/{cache}/a.ipynb"
ALL = {EXECUTED, "sphinx/doctrees/en/a.doctree", "sphinx/en/html/a.html"}


@pytest.mark.parametrize(
    ("edited", "kept"),
    [
        (None, ALL),
        ("static/site.css", ALL - {"sphinx/en/html/a.html"}),
        ("conf.py", {EXECUTED}),
        ("failed", {EXECUTED}),
    ],
)
def test_build__an_edit_of_the_pipeline_keeps_at_least_what_was_executed(tree, edited, kept):
    build._invalidate_cache_unless(build._build_fingerprint(), build._look_fingerprint())
    cache = build.cache_path(tree / "build/executed").name
    files = {name: tree / "build" / name.format(cache=cache) for name in ALL}
    for file in files.values():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    if edited == "failed":
        build._invalidate_cache_unless("", "")
    elif edited:
        (tree / "conf" / edited).write_text("b = 2")
    build._invalidate_cache_unless(build._build_fingerprint(), build._look_fingerprint())
    assert {name for name, file in files.items() if file.exists()} == kept


@pytest.mark.parametrize("edit", [None, "conf.py", "failed"])
def test_build__a_page_alone_is_read_again_after_an_edit_of_the_pipeline_or_a_failure(
    tree, monkeypatch, edit
):
    kept = []

    def run(builder, language, out, doctrees, **settings):
        kept.append(doctrees.exists())
        doctrees.mkdir(parents=True, exist_ok=True)
        return int(edit == "failed")

    monkeypatch.setattr(build, "_run_sphinx", run)
    build._build_pages([tree / PAGE], "en")
    if edit == "conf.py":
        (tree / "conf/conf.py").write_text("b = 2")
    build._build_pages([tree / PAGE], "en")
    assert kept == [False, edit is None]


def test_build__a_page_alone_that_fails_keeps_what_was_read_of_the_site(tree, monkeypatch):
    build._invalidate_cache_unless(build._build_fingerprint(), build._look_fingerprint())
    site = tree / "build/sphinx/doctrees/en/a.doctree"
    site.parent.mkdir(parents=True)
    site.touch()
    monkeypatch.setattr(build, "_run_sphinx", lambda *arguments, **settings: 1)
    assert build._build_pages([tree / PAGE], "en") == 1
    assert site.exists()


def test_progress__what_is_being_done_is_shown_on_a_terminal_only(monkeypatch, capsys):
    with progress.timed("checked"):
        pass
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with progress.timed("checked"):
        pass
    clear = progress.CLEAR
    said = f"checked: 0.0 s\n{clear}checked{clear}checked: 0.0 s\n"
    assert capsys.readouterr().out == said


PAGE_OF_CELLS = """\
---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
# A page

```{code-cell} ipython3
x = 1
```

```{code-cell} ipython3
x = 2
{code}
```
"""


FAIL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import build
build.DOCS, build.HERE = Path("docs").resolve(), Path("conf").resolve()
print(build._run_sphinx("html", "en", Path("out"), Path("trees"), int(sys.argv[2]), root_doc="0"))
"""


@pytest.mark.parametrize(
    ("jobs", "code", "said_first", "said_later"),
    [
        (1, "x.y", "AttributeError: 'int' object has no attribute 'y'", "----> 2 x.y"),
        (2, "x.y", "AttributeError: 'int' object has no attribute 'y'", "----> 2 x.y"),
        (2, "while True: pass", "it ran too long", "while True"),
    ],
)
def test_build__an_error_names_its_page_and_its_cell(
    tree, jobs, code, said_first, said_later, user
):
    (tree / PAGE).write_text(PAGE_OF_CELLS.replace("{code}", code), encoding="utf-8")
    conf = """\
extensions = ["myst_nb"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 2
"""
    (tree / "conf/conf.py").write_text(conf)
    for number in range(12):  # Sphinx reads few pages in one process
        (tree / f"docs/{number}.md").write_text("# Another page\n")
    said = user.python("-c", FAIL, SPHINX, jobs, cwd=tree).stdout
    assert said.startswith(f"{PAGE}, cell 2: {said_first}\n")
    assert said_later in said
    assert said.endswith("\n1\n")
    assert "sphinx" not in said


@pytest.mark.parametrize(
    ("builder", "error", "said"),
    [("html", None, "en: 1 pages written, "), ("html", ValueError(), ""), ("gettext", None, "")],
)
def test_progress__a_whole_build_says_how_many_pages_it_has_written(
    builder, error, said, tmp_path, capsys
):
    hooks = {}
    app = SimpleNamespace(
        connect=hooks.__setitem__,
        config=SimpleNamespace(language="en"),
        env=SimpleNamespace(found_docs=["new", "old", "none"]),
        builder=SimpleNamespace(name=builder, get_outfilename=lambda name: str(tmp_path / name)),
    )
    progress.setup(app)
    for name, time in {"new": 2**33, "old": 1}.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time, time))
    hooks["build-finished"](app, error)
    printed = capsys.readouterr().out
    assert printed.startswith(said)
    assert bool(printed) == bool(said)


def test_progress__a_page_that_was_executed_says_how_long_it_took(monkeypatch, capsys):
    hooks, seconds = {}, iter([2.34, None])
    monkeypatch.setattr(progress.compat, "seconds_of_execution", lambda env, began: next(seconds))
    app = SimpleNamespace(
        connect=hooks.__setitem__,
        config=SimpleNamespace(language="en"),
        env=SimpleNamespace(docname="page", temp_data={}),
        builder=SimpleNamespace(name="html"),
    )
    progress.setup(app)
    for _page in range(2):  # of the second, the outputs were there
        hooks["source-read"](app, "page", [])
        hooks["doctree-read"](app, None)
    assert capsys.readouterr().out == "en: executed page in 2.3 s\n"


@pytest.mark.parametrize("given", [["--lagging", PAGE], ["--language", "en"]])
def test_build__an_option_that_would_do_nothing_is_refused(given, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["build.py", *given])
    with pytest.raises(SystemExit, match="2"):
        build.main()
    assert given[0] in capsys.readouterr().err.splitlines()[-1]
