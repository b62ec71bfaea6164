"""The READMEs: their commands run as written, and both say the same."""

import concurrent.futures
import configparser
import os
import re
import shlex
from pathlib import Path

import pytest
from support.chinese import ZH
from support.user import free_port

import haiku_state as hs
from haiku_state.commands.main import main
from haiku_state.commands.train import UPDATES

ROOT = Path(__file__).parents[2]
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def lines(language):
    return [line for block in blocks(ENGLISH, language) for line in block.splitlines()]


def run(user, *arguments, language="en"):
    done = user.python(*arguments, env={"HAIKU_STATE_LANG": language})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readme__both_languages_have_the_same_code():
    for language in ("console", "python"):
        assert blocks(ENGLISH, language) == blocks(CHINESE, language) != []


def test_readme__both_languages_have_the_same_shape():
    headings = [re.findall(r"^#+ ", text, re.MULTILINE) for text in (ENGLISH, CHINESE)]
    assert headings[0] == headings[1]
    links = [set(re.findall(r"\]\(([^)]+)\)", text)) for text in (ENGLISH, CHINESE)]
    assert links[0] ^ links[1] == {"README.md", "README.zh-CN.md"}


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", ZH])
def test_readme__links_lead_somewhere(text):
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


def test_readme__the_example_runs(user):
    example, *_ = blocks(ENGLISH, "python")
    assert len(example.splitlines()) <= 11
    assert run(user, "-c", example).split() == ["1", "2", "3"]


PAGE = (ROOT / "docs/how_to/train.md").read_text(encoding="utf-8")
TRAIN = [
    shlex.split(line)[1:]
    for line in re.findall("^python -m haiku_state train.*", PAGE, re.MULTILINE)
]


def test_train__the_command_of_its_page_runs(user):
    output = run(user, *TRAIN[0], "--epochs", "2")
    assert re.search(r"^test accuracy 0\.9\d\d\d$", output, re.MULTILINE), output
    assert (user.folder / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_train__the_commands_of_two_processes_meet(user):
    assert [words[-1] for words in TRAIN[1:]] == ["0", "1"]
    port = free_port()
    here = [[word.replace(":1234", f":{port}") for word in words] for words in TRAIN[1:]]
    short = ["--model", "regression", "--epochs", "1", "--timeout", "300"]
    commands = [[*words, *short] for words in here]
    with concurrent.futures.ThreadPoolExecutor() as threads:
        outputs = threads.map(lambda command: run(user, *command), commands)
        assert ["test r2 " in output for output in outputs] == [True, False]


def test_train__the_options_of_its_page_are_those_of_the_command(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    known = capsys.readouterr().out
    options = re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)
    assert len(set(options)) > 12
    assert [option for option in options if option not in known] == []
    table = re.findall(r"^\| `(\w+)` \| `hs.(\w+)\(", PAGE, re.MULTILINE)
    assert [way for way, _ in table] == list(UPDATES)
    assert all(hasattr(hs, name) for _, name in table)


def test_readme__the_tox_commands_are_those_of_ci_and_exist():
    ci = (ROOT / ".ci/run").read_text().splitlines()
    commands = [line for line in lines("console") if "tox run" in line]
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    known = re.split(r"[,\s]+", tox["tox"]["env_list"])
    assert [command.split("tox run -e ")[1] in known for command in commands] == [True] * 2
    assert [command for command in commands if command not in ci] == []
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_citation__has_the_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall("^version: (.+)$", text, re.MULTILINE) == [hs.__version__]
