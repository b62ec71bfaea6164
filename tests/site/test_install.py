"""What the pages tell to install is installed, in an empty environment beside the site's wheel.

The first lines are those for the JAX of this environment; those for another Python, for a GPU and
for Windows have the same wheel in them. Each extra is resolved, and one is installed and used.
"""

import html
import os
import re
import runpy
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from haiku_site.features.install import newest_sets
from support.chinese import ZH
from support.user import User

from haiku_state.commands.doctor.versions import read_sets

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build/site"
INTERPRETERS = runpy.run_path(str(ROOT / "toxfile.py"))["installed"]()
CODE = re.compile(r"<pre>(.*?)</pre>", re.DOTALL)
EXTRA = re.compile(r'python -m pip install "[^"]*\[([\w,]+)\][^"]*"')


def blocks(language):
    """Return all code with an install line of the package, and the pages that show it."""
    found = {}
    for page in sorted((SITE / language).rglob("*.html")):
        for code in CODE.findall(page.read_text(encoding="utf-8")):
            text = html.unescape(re.sub("<[^>]*>", "", code)).strip()
            if re.search(r"pip install\b.*haiku.state", text):
                name = page.relative_to(SITE / language).as_posix()
                found.setdefault(text.replace("$ ", ""), set()).add(name)
    return found


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """Somebody who has downloaded the wheel and run the first lines."""
    reader = User(tmp_path_factory.mktemp("reader"))
    [wheel] = SITE.glob("*.whl")
    shutil.copy(wheel, reader.folder)
    pins = f"jax=={version('jax')} "
    [lines, *_same] = [text for text in blocks("en") if pins in text and "python3 -m venv" in text]
    ran = run(reader, lines.replace("python3 ", f"{sys.executable} "))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return reader


def run(reader, lines):
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return reader.run("bash", "-e", "-c", lines, env=settings)


def test_install__all_pages_have_lines_and_both_languages_the_same():
    english = blocks("en")
    pages = set.union(*english.values())
    assert {"index.html", "exercises/index.html", "state/index.html"} <= pages
    assert {text.replace(f" --lang {ZH}", "") for text in blocks(ZH)} == set(english)


def test_install__the_first_lines_bring_what_the_home_page_runs(reader):
    page = (SITE / "en/index.html").read_text(encoding="utf-8")
    code = [html.unescape(re.sub("<[^>]*>", "", block)) for block in CODE.findall(page)]
    [program] = [text for text in code if "from haiku_state import" in text]
    (reader.folder / "first.py").write_text(program, encoding="utf-8")
    ran = run(reader, "source env/bin/activate; python first.py")
    assert ran.stdout.split() == ["1", "2", "3"], ran.stderr


EACH = [(python, pins) for pythons, pins in newest_sets(read_sets()) for python in pythons]


@pytest.mark.parametrize(("python", "pins"), EACH, ids=[python for python, _ in EACH])
def test_install__the_lines_of_each_python_find_what_they_name(python, pins, reader):
    [lines] = [
        text
        for text in blocks("en")
        if f"jax=={pins['jax']} " in text and "python3 -m venv" in text
    ]
    interpreter = shutil.which(f"python{python}", path=os.pathsep.join(INTERPRETERS))
    if interpreter is None:
        pytest.skip(f"there is no Python {python}")
    own = re.sub(r"\benv\b", f"env{python}", lines.replace("python3 ", f"{interpreter} "))
    ran = run(reader, f"{own} --dry-run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"jax-{pins['jax']}" in ran.stdout


def test_install__each_extra_can_be_installed(reader):
    lines = {found[0] for text in blocks("en") for found in EXTRA.finditer(text)}
    assert {EXTRA.match(line)[1] for line in lines} == {"exercises", "lab", "data,plot,checkpoint"}
    for line in sorted(lines):
        ran = run(reader, f"source env/bin/activate; {line} --dry-run")
        assert ran.returncode == 0, f"{line}\n{ran.stderr}"


def test_install__the_lines_of_the_exercises_begin_the_first(reader):
    for page in ("get_started", "exercises/index"):
        shown = html.unescape((SITE / f"en/{page}.html").read_text(encoding="utf-8"))
        assert "python -m haiku_state exercises" in re.sub("<[^>]*>", "", shown)
    ran = run(reader, "source env/bin/activate\npython -m haiku_state exercises <<< q")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (reader.folder / "haiku_exercises/counter.py").is_file()
    lead = "haiku/batch_norm#an-average-that-starts-right"
    ran = run(reader, f"source env/bin/activate\npython -m haiku_state read {lead}")
    assert ran.stdout.startswith("## An average that starts right"), ran.stderr


def test_install__the_lines_of_a_course_of_ones_own_work(reader):
    page = (SITE / "en/how_to/write_an_exercise.html").read_text(encoding="utf-8")
    code = [html.unescape(re.sub("<[^>]*>", "", block)) for block in CODE.findall(page)]
    [lines] = [text for text in code if "--course warm_ups" in text]
    lines = lines.replace("$ ", "").replace("--dir class/ada", "--dir class/ada <<< q")
    ran = run(reader, f"source env/bin/activate\n{lines}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (reader.folder / "class/ada/first_steps.py").is_file()
    table = (reader.folder / "grades.csv").read_text(encoding="utf-8")
    assert "ada,first_steps,False" in table
