import ast
import re
from pathlib import Path

import pytest

import haiku_state as hs

PACKAGE = Path(hs.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
SOURCES = sorted({*PACKAGE.rglob("*.py")} - {*PACKAGE.glob("exercises/course/*.py")})


def public_names():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    return [
        alias.asname
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module != "haiku_state"
        for alias in node.names
    ]


@pytest.mark.parametrize("name", public_names())
def test_haiku_state__a_public_name_is_documented_with_an_example(name):
    doc = getattr(hs, name).__doc__
    assert doc, f"{name} has no docstring"
    assert ">>> " in doc, f"{name} shows no example"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_haiku_state__the_first_line_of_a_docstring_is_a_sentence(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            doc = ast.get_docstring(node)
            name = getattr(node, "name", path.stem)
            assert doc is None or doc.splitlines()[0].endswith("."), f"{name}: {doc}"


def test_haiku_state__every_public_name_has_a_line_of_its_own():
    lines = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8").splitlines()
    exports = [line for line in lines if line.startswith("from haiku_state.")]
    for line in exports:
        assert re.fullmatch(r"from haiku_state\.\w+ import (\w+) as \1", line), line
    assert len(exports) == len(set(public_names()))


def loaded_by(user, program):
    program += "; import sys; print(*{name.split('.')[0] for name in sys.modules})"
    return set(user.python("-W", "ignore", "-c", program).stdout.split())


def test_haiku_state__imports_no_more_than_its_names_need(user):
    assert loaded_by(user, "import haiku_state") & {"jax", "haiku", "numpy"} == set()
    program = "import haiku_state as hs; hs.BatchNorm, hs.jit_update, hs.storage, hs.explain"
    loaded = loaded_by(user, program)
    assert {"haiku_state", "haiku", "jax"} <= loaded
    assert loaded & {"optax", "orbax", "sklearn", "matplotlib"} == set()


def test_haiku_state__a_name_is_the_one_of_its_room():
    for name in public_names():
        assert name in dir(hs)
        assert getattr(hs, name).__name__ == name
    assert hs.explain is hs.inside.explain
    with pytest.raises(AttributeError, match="module 'haiku_state' has no attribute 'Count'"):
        _ = hs.Count


def test_haiku_state__is_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_haiku_state__every_public_name_stands_in_the_reference():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("api/*.rst"))
    documented = re.findall(r"^\.\. auto\w+:: (?:[\w.]+\.)?(\w+)", pages, re.MULTILINE)
    assert set(public_names()) <= set(documented)


def test_errors__every_one_stands_on_its_page():
    page = (DOCS / "api/errors.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^(?:\.\. autoexception:: |   )(\w+)(?:\(\))?$", page, re.MULTILINE)
    assert sorted(listed) == sorted(
        name for name in vars(hs.errors) if name.endswith(("Error", "Warning"))
    )
