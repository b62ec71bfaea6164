"""The command ``lab``: what it puts where, and how it starts JupyterLab, which is not installed."""

import json
import os
import sys
import types
import zipfile
from pathlib import Path

import pytest
from support.chinese import ZH

from haiku_state.commands.lab import command
from haiku_state.commands.main import main
from haiku_state.errors.language import languages

FILES = ("index.ipynb", "pure/thinking.ipynb", "state/counter.ipynb", "state/pytrees.ipynb")


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys):
    """Runs the command in an empty folder; gives its code, its text, and JupyterLab's options."""
    for language in ("en", ZH):
        root = f"haiku_lessons_{language}"
        (tmp_path / "package").mkdir(exist_ok=True)
        with zipfile.ZipFile(tmp_path / f"package/{root}.zip", "w") as archive:
            for name in FILES:
                archive.writestr(f"{root}/{name}", f"{language} {name}")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")
    monkeypatch.setattr(command, "ARCHIVES", tmp_path / "package")
    started = []

    class LabApp:
        @staticmethod
        def launch_instance(words):
            settings = [word.partition("app_settings_dir=")[2] for word in words]
            chosen = [
                json.loads(Path(name, "overrides.json").read_text()) for name in settings if name
            ]
            started.append((words, chosen, os.environ["HAIKU_STATE_LANG"]))

    jupyterlab = types.ModuleType("jupyterlab.labapp")
    jupyterlab.LabApp = LabApp
    monkeypatch.setitem(sys.modules, "jupyterlab", types.ModuleType("jupyterlab"))
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", jupyterlab)

    def run(*words):
        started.clear()
        try:
            code = main(["lab", *map(str, words)])
        except SystemExit as error:
            code = error.code
        printed = capsys.readouterr()
        return code, printed.out + printed.err, *(started or [None])

    return run


def test_lab__opens_the_contents_of_the_lessons(lab, tmp_path):
    code, text, (words, chosen, language) = lab()
    folder = tmp_path / "work/haiku_lessons_en"
    assert code == 0
    assert text == "New notebooks in haiku_lessons_en: 4.\n"
    assert (folder / "state/counter.ipynb").read_text() == "en state/counter.ipynb"
    assert f"--ServerApp.root_dir={folder}" in words
    assert "--LabApp.default_url=/lab/tree/index.ipynb" in words
    assert (chosen, language) == ([], "en")


def test_lab__what_a_reader_has_written_stays(lab, tmp_path):
    lab()
    file = tmp_path / "work/haiku_lessons_en/state/counter.ipynb"
    file.write_text("mine")
    (tmp_path / "work/haiku_lessons_en/index.ipynb").unlink()
    code, text, _started = lab()
    assert code == 0
    assert file.read_text() == "mine"
    assert text == (
        "New notebooks in haiku_lessons_en: 1.\n"
        "Notebooks in haiku_lessons_en that were kept as you left them: 3.\n"
    )


def test_lab__one_part_may_go_to_another_folder(lab, tmp_path):
    code, _text, (words, *_rest) = lab("there", "--part", "state", "--no-browser")
    root = tmp_path / "work/there/haiku_lessons_en"
    assert code == 0
    assert sorted(file.name for file in root.rglob("*.ipynb")) == ["counter.ipynb", "pytrees.ipynb"]
    assert "--LabApp.default_url=/lab/tree/state/counter.ipynb" in words
    assert "--no-browser" in words
    code, text, started = lab("--part", "stat")
    assert (code, started) == (2, None)
    assert "there is no part stat; the parts are pure, state" in text


@pytest.mark.parametrize("has_pack", [True, False])
def test_lab__speaks_chinese(lab, monkeypatch, has_pack):
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: has_pack or None)
    code, text, (_words, chosen, language) = lab("--lang", ZH)
    assert (code, language) == (0, ZH)
    assert f"haiku_lessons_{ZH} 里新增的笔记本：4 个。" in text
    assert len(chosen) == has_pack
    assert all(
        each == {"@jupyterlab/translation-extension:plugin": {"locale": ZH}} for each in chosen
    )
    assert (f"python -m pip install {languages()[ZH].lab_pack}" in text) is not has_pack


def test_lab__a_download_is_used_in_its_language(lab, tmp_path):
    file = tmp_path / "mine.zip"
    (tmp_path / f"package/haiku_lessons_{ZH}.zip").rename(file)
    code, text, (_words, _chosen, language) = lab("--from", file)
    assert (code, language) == (0, ZH)
    assert "4" in text


@pytest.mark.parametrize("wrong", ["text.zip", "other.zip"])
def test_lab__another_file_is_refused(lab, tmp_path, wrong):
    (tmp_path / "text.zip").write_text("text")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("../out.ipynb", "")
    code, text, started = lab("--from", tmp_path / wrong)
    assert (code, started) == (2, None)
    assert "is not a file of notebooks from the site, such as haiku_lessons_en.zip" in text


def test_lab__a_file_that_is_not_there_is_refused(lab, tmp_path):
    code, text, started = lab("--from", tmp_path / "absent.zip")
    assert (code, started) == (2, None)
    assert f"there is no file {tmp_path / 'absent.zip'}" in text


def test_lab__a_package_without_notebooks_says_where_they_are(lab, tmp_path):
    (tmp_path / "package/haiku_lessons_en.zip").unlink()
    code, text, _started = lab()
    assert code == 2
    assert (
        "download the notebooks from a lesson of the site and pass the file: "
        "--from haiku_lessons_en.zip" in text
    )


def test_lab__a_file_is_no_folder(lab, tmp_path):
    (tmp_path / "work/taken").write_text("")
    code, text, started = lab("taken")
    assert (code, started) == (2, None)
    assert "taken is not a folder" in text


def test_lab__without_jupyterlab_nothing_is_written(lab, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)
    code, text, _started = lab()
    assert code == 1
    assert "jupyterlab is not installed; " in text
    assert " jupyterlab" in text.split("pip install")[1]
    assert not list((tmp_path / "work").iterdir())
