"""The command line as a whole: help, languages, slips, errors; and whole runs of ``train``."""

import gettext
import io
import os
import re
import sys
from unittest import mock

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.linear_model import LinearRegression
from support import oracles
from support.chinese import ZH
from support.terminal import has_chinese, width
from support.user import free_port

import haiku_state as hs
from haiku_state.commands.main import explain, main
from haiku_state.errors import ArgumentError, LostProcessError

LAST_LINE = {"classifier": r"test accuracy 0\.\d{4}", "regression": r"test r2 0\.\d{4}"}


def helped(words, language, monkeypatch, capsys):
    """The lines of a help text."""
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    return capsys.readouterr().out.splitlines()


def score(output):
    return float(output.splitlines()[-1].split()[-1])


@pytest.mark.parametrize("words", [[], ["train"], ["explain"], ["doctor"]])
def test_main__the_help_is_in_the_language_of_the_reader(words, monkeypatch, capsys):
    english = helped(words, "en", monkeypatch, capsys)
    chinese = helped(words, ZH, monkeypatch, capsys)
    assert english[0].startswith("usage: python -m haiku_state ")
    assert chinese[0].startswith("用法: python -m haiku_state ")
    assert max(map(width, english + chinese)) <= 80
    sentences = [" ".join(re.findall(r"[a-z]+(?: [a-z]+){3,}", line)) for line in chinese]
    assert not any(sentences)


def test_main__the_help_names_the_defaults(monkeypatch, capsys):
    for language, default in (("en", "(default: {})"), (ZH, "（默认 {}）")):
        lines = helped(["train"], language, monkeypatch, capsys)
        for name, value in ((" B ", 32), (" E ", 30)):
            [line] = [line for line in lines if name in line[9:25]]
            assert line.endswith(default.format(value))


def test_train__a_process_that_does_not_come_ends_the_other_with_a_message(user):
    words = "train --update shard --num-processes 2 --process-id 0 --timeout 3 --coordinator"
    ran = user.haiku_state(*words.split(), f"localhost:{free_port()}")
    assert ran.returncode == 3
    assert "process 0 of 2 could not join the others at localhost:" in ran.stderr


@pytest.mark.parametrize(
    ("name", "options", "requirement"),
    [
        ("sklearn", [], "scikit-learn>=1.5.2"),
        ("matplotlib", ["--plot", "curves.png"], "matplotlib>=3.9.2"),
        ("orbax", ["--checkpoint-dir", "run"], "orbax-checkpoint>=0.6.4"),
    ],
)
def test_train__what_an_option_needs_is_asked_for_with_it(
    name, options, requirement, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, name, None)
    assert main(["train", *options]) == 1
    assert capsys.readouterr().err == (
        f"haiku_state: error: {name} is not installed; the core of the package works without "
        f'this library; `python -m pip install "{requirement}"` installs it\n'
    )
    if options:
        assert main(["train", "--model", "regression", "--epochs", "1"]) == 0


def test_main__a_bare_command_shows_its_help(capsys):
    assert main([]) == 0
    assert "doctor" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["doctor", "--lang", ZH, "-h"],
        [f"--lang={ZH}", "-h"],
        [f"--lang={ZH}", "train", "-h"],
        ["exercises", "--lang", ZH, "list", "-h"],
    ],
)
def test_main__each_command_speaks_the_language_that_is_asked_for(words, capsys, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")
    with pytest.raises(SystemExit):
        main(words)
    assert "用法" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["train", "--lang", ZH, "--epochs", "none"])
    assert has_chinese(capsys.readouterr().err)
    with pytest.raises(SystemExit):
        main(["doctor", "-h"])
    assert "usage" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["doctor", "--lang", "xx"])
    assert "'xx'" in capsys.readouterr().err


def test_main__prints_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"haiku_state {hs.__version__}\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["trian"], "train"),
        (["train", "--model", "clasifier"], "classifier"),
        (["train", "--model=clasifier"], "classifier"),
        (["train", "--modle", "classifier"], "--model"),
        (["--verison"], "--version"),
        (["exercises", "chek"], "check"),
        ([f"--lang={ZH}", "exercises", "chek"], "check"),
    ],
)
def test_main__a_slip_is_answered_with_what_is_meant(words, meant, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert re.search(f"(did you mean |你要找的是不是 ){meant}[?？]\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    "words",
    [
        *(["xyz"], ["train", "--epochs", "none"], ["--lang", "en"], ["doctor", "extra"]),
        *(["train", option, "0.1"] for option in ("--lr", "--optimizer", "--verbose", "--data")),
    ],
)
def test_main__where_nothing_is_like_it_nothing_is_suggested(words, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert "did you mean" not in capsys.readouterr().err


WRONG = {
    "no value": (["train", "--epochs"], "expected one argument"),
    "no number": (["train", "--epochs", "x"], "argument --epochs: 'x' is not a whole number"),
    "no choice": (["train", "--model", "x"], "argument --model: invalid choice: 'x' (choose from"),
    "no option": (["train", "--xxxx"], "unrecognized arguments: --xxxx"),
    "no command": (["--lang=en"], "no command was given"),
    "two options": (["train", "--ch", "x"], "ambiguous option: --ch could match --checkpoint-dir"),
    "a value too many": (["lab", "--no-browser=x"], "ignored explicit argument 'x'"),
}


@pytest.mark.parametrize(("words", "problem"), WRONG.values(), ids=WRONG.keys())
def test_main__argparse_speaks_the_language_of_the_reader(words, problem, monkeypatch, capsys):
    said = {}
    for language in ("en", ZH):
        monkeypatch.setenv("HAIKU_STATE_LANG", language)
        words = [word.replace("=en", f"={language}") for word in words]
        with pytest.raises(SystemExit):
            main(words)
        [said[language]] = capsys.readouterr().err.splitlines()
    assert problem in said["en"]
    assert not re.findall(r"[a-z]+ [a-z]+ [a-z]+", said[ZH].replace("haiku_state ", ""))


def test_main__the_language_of_argparse_stays_with_the_command(monkeypatch, capsys):
    monkeypatch.delenv("LANGUAGE", raising=False)
    before = gettext.textdomain()
    with pytest.raises(SystemExit):
        main(["--lang", ZH, "-h"])
    assert (gettext.textdomain(), os.environ.get("LANGUAGE")) == (before, None)


def test_main__a_shell_completes_commands_options_and_choices(user, tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(user.haiku_state("--print-completion", "bash").stdout)
    ask = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_shtab_haiku_state; echo "${COMPREPLY[@]}"'
    )
    for words, completed in {
        "haiku-state doc": "doctor",
        "haiku-state train --ep": "--epochs",
        "haiku-state train --model cl": "classifier",
        "haiku-state exercises prog": "progress",
    }.items():
        ran = user.run("bash", "-c", ask, "bash", script, *words.split())
        assert (ran.stdout.strip(), ran.stderr) == (completed, "")


def test_main__the_help_names_the_command_that_was_typed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/haiku-state", "train", "-h"])
    with pytest.raises(SystemExit):
        main(["train", "-h"])
    assert capsys.readouterr().out.startswith("usage: haiku-state train ")


def test_main__without_shtab_the_error_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 1
    assert "`python -m pip install shtab`" in capsys.readouterr().err


class Full(io.StringIO):
    """A stdout on a full disk."""

    def flush(self):
        raise OSError(28, "No space left on device")

    def fileno(self):
        return self.discarded


ENDINGS = {
    KeyboardInterrupt(): (130, "interrupted"),
    BrokenPipeError(): (141, ""),
    LostProcessError(present=0, expected=2, timeout=3): (3, "process 0 of 2 is waiting for .*"),
    ArgumentError(
        argument="a", value=1, expected="2", wrong="f(1)", right="f(2)", why="", more=""
    ): (2, "a is 1, but it must be 2."),
    OSError(28, "No space left on device", "run/1"): (
        1,
        r"OSError: \[Errno 28\] No space left on device: 'run/1'",
    ),
    AssertionError(): (1, "AssertionError; `python -m haiku_state doctor` looks for the cause"),
    RuntimeError("one\ntwo"): (1, "RuntimeError: one; `python -m haiku_state doctor` looks .*"),
}


@pytest.mark.parametrize(("error", "code", "said"), [(e, *v) for e, v in ENDINGS.items()])
def test_main__every_error_ends_in_one_line_and_its_code(error, code, said, monkeypatch, capsys):
    monkeypatch.setattr("haiku_state.commands.doctor.command.run", mock.Mock(side_effect=error))
    assert main(["doctor"]) == code
    output, errors = capsys.readouterr()
    assert output == ""
    assert re.fullmatch(f"haiku_state: error: {said}\n" if said else "", errors), errors


def test_main__developers_see_the_traceback_as_well(monkeypatch, capsys):
    monkeypatch.setattr(sys, "flags", mock.Mock(dev_mode=True))
    assert explain(ValueError(1)) == 1
    traceback, line = capsys.readouterr().err.splitlines()
    assert traceback == "ValueError: 1"
    assert line.startswith("haiku_state: error: ValueError: 1; ")


def test_main__a_full_disk_is_not_written_to_again_at_exit(monkeypatch, capsys, tmp_path):
    with (tmp_path / "stdout").open("w") as file:
        Full.discarded = file.fileno()
        monkeypatch.setattr(sys, "stdout", Full())
        assert main(["doctor", "--help"]) == 1
        file.write("lost")
    assert capsys.readouterr().err.endswith("No space left on device\n")
    assert (tmp_path / "stdout").read_text() == ""


def test_train__a_fresh_process_forces_the_devices_it_needs(user):
    words = "train --model regression --update pmap --devices 4 --epochs 3"
    ran = user.haiku_state(*words.split(), "--plot", "a.png", "--checkpoint-dir", "saved")
    assert (ran.returncode, ran.stderr) == (0, "")
    *table, last, written = ran.stdout.splitlines()
    assert re.fullmatch(LAST_LINE["regression"], last)
    assert written == "plot a.png"
    assert table[0].split() == ["epoch", "train", "loss", "test", "loss", "test", "r2", "seconds"]
    assert [line.split()[0] for line in table[1:]] == ["1", "2", "3"]
    assert imread(user.folder / "a.png").ndim == 3
    assert any(user.folder.glob("saved/[1-9]*"))


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("update", ["jit", "scan", "pmap --devices 4", "shard_map --devices 4"])
def test_train__the_classifier_reads_97_of_100_digits(update, capsys):
    epochs = 30 if update == "jit" else 12
    assert main(f"train --epochs {epochs} --update {update}".split()) == 0
    output = capsys.readouterr().out
    assert re.fullmatch(LAST_LINE["classifier"], output.splitlines()[-1])
    assert score(output) >= 0.97


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("update", ["jit", "pmap --devices 4"])
def test_train__the_regression_comes_close_to_least_squares(update, capsys):
    assert main(f"train --model regression --update {update}".split()) == 0
    data = hs.load_diabetes(seed=0)
    best = LinearRegression().fit(
        np.float64(data.train["inputs"]), np.float64(data.train["targets"])
    )
    expected = oracles.r2(best.predict(np.float64(data.test["inputs"])), data.test["targets"])
    assert abs(score(capsys.readouterr().out) - expected) < 0.02
