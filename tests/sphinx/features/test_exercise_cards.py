"""What a learner sees of the exercises on the pages."""

import re
from types import SimpleNamespace

import pytest
from haiku_site.features import exercise_cards
from support.chinese import ZH
from support.lesson_cells import DOCS


@pytest.mark.parametrize("language", ["en", ZH])
def test_exercise_walk__get_started_shows_a_slip_and_a_pass_of_it(language, monkeypatch):
    page = (DOCS / "get_started.md").read_text(encoding="utf-8")
    [steps] = re.findall(r"^```\{exercise-walk\}\n:steps: (.*)\n```$", page, re.MULTILINE)
    walk = exercise_cards.Walk.__new__(exercise_cards.Walk)
    env = SimpleNamespace(note_dependency=lambda file: None)
    monkeypatch.setattr(exercise_cards.Walk, "env", env)
    monkeypatch.setattr(exercise_cards.Walk, "config", SimpleNamespace(language=language))
    walk.options = {}
    [whole] = [block.astext() for block in walk.run()]
    walk.options = {"steps": steps}
    [shown] = [block.astext() for block in walk.run()]
    assert shown.startswith("$ python -m haiku_state exercises\n")
    assert {*shown.splitlines()} < {*whole.splitlines()}
    assert re.search(r"✗[\s\S]*incremnt[\s\S]*✓[\s\S]* 1/\d+ ", shown)


@pytest.mark.parametrize(("language", "hint"), [("en", "Hint 1"), (ZH, "提示 1")])
def test_exercise_cards__each_exercise_is_a_notebook_of_the_site(
    language, hint, tmp_path, monkeypatch
):
    monkeypatch.setattr(exercise_cards, "ours", lambda: SimpleNamespace(names=("counter", "a_ref")))
    app = SimpleNamespace(outdir=tmp_path, config=SimpleNamespace(language=language))
    exercise_cards._write_notebooks(app)
    found = {file.stem: file.read_text("utf-8") for file in tmp_path.rglob("*.ipynb")}
    assert found.keys() == {"counter", "a_ref"}
    assert all(f"%%exercise {name}\\n" in text and hint in text for name, text in found.items())
