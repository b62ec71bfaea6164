"""The doctor: right on a measured set, an unmeasured one, a too old one and a broken one."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.cells import cell_len

import haiku_state
from haiku_state import doctor
from haiku_state.__main__ import main
from haiku_state.doctor import probe, report, versions
from haiku_state.doctor.probe import STEPS
from haiku_state.doctor.trial import Step, try_steps
from haiku_state.doctor.versions import Table, examine, install_line, nearest_set, notes
from haiku_state.errors import UnmatchedVersionsError

COMPAT = json.loads((Path(haiku_state.__file__).parent / "compat.json").read_text("utf-8"))


def pinned(jax, haiku, optax, **others):
    return {
        "jax": jax,
        "jaxlib": jax,
        "dm-haiku": haiku,
        "optax": optax,
        "numpy": "2.4.6",
        **others,
    }


def measured(python, pins, failed=0):
    return {"python": python, "pins": pins, "tests": {"passed": 1990, "failed": failed}}


OLDEST = pinned("0.4.30", "0.0.13", "0.2.5", **{"chex": "0.1.90", "orbax-checkpoint": "0.6.4"})
SIX = pinned("0.6.2", "0.0.14", "0.2.8", **{"orbax-checkpoint": "0.12.8", "flax": "0.12.0"})
SIX_313 = {**SIX, "dm-haiku": "0.0.16", "numpy": "2.5.5"}
TEN = pinned("0.10.2", "0.0.17", "0.2.8")
NEWEST = pinned("0.12.0.1", "0.0.17", "0.2.8")
TABLE = Table(
    "2026-11-21",
    {
        "0.4.30": measured("3.10.13", dict.fromkeys(["3.10", "3.11", "3.12"], OLDEST)),
        "0.4.38": measured(
            "3.13.0",
            dict.fromkeys(["3.10", "3.11", "3.12", "3.13"], pinned("0.4.38", "0.0.14", "0.2.5")),
        ),
        "0.6": measured(
            "3.10.13", {**dict.fromkeys(["3.10", "3.11", "3.12"], SIX), "3.13": SIX_313}
        ),
        "0.10": measured("3.11.7", dict.fromkeys(["3.11", "3.12", "3.13"], TEN), failed=3),
        "0.12": measured("3.13.0", dict.fromkeys(["3.12", "3.13"], NEWEST)),
    },
)


def core(pins, **other):
    """What is installed: the core of a set, and changes of it."""
    found = {name: pins[name] for name in ("jax", "jaxlib", "dm-haiku", "optax", "numpy")}
    found |= {name.replace("_", "-"): version for name, version in other.items()}
    return {name: version for name, version in found.items() if version}


@pytest.fixture(autouse=True)
def _with_pip(monkeypatch):
    monkeypatch.setattr(versions.importlib.util, "find_spec", lambda name: name)


NEAREST = [
    ("3.11.7", "0.4.30", "0.4.30"),
    ("3.11.7", "0.4.26", "0.4.30"),
    ("3.11.7", "0.3.25", "0.4.30"),
    ("3.11.7", "0.4.31", "0.4.30"),
    ("3.11.7", "0.4.37", "0.4.38"),
    ("3.13.0", "0.4.26", "0.4.38"),
    ("3.11.7", "0.6.0", "0.6"),
    ("3.11.7", "0.7.2", "0.6"),
    ("3.11.7", "0.9.2", "0.10"),
    ("3.11.7", "0.10.2", "0.10"),
    ("3.11.7", "0.12.0.1", "0.10"),
    ("3.12.1", "0.12.0", "0.12"),
    ("3.12.1", "0.12.1.dev20261121", "0.12"),
    ("3.12.1", "1.0.0", "0.12"),
    ("3.12.1", None, "0.12"),
    ("3.10.13", None, "0.6"),
    ("3.14.0", "0.12.0.1", None),
]


@pytest.mark.parametrize(("python", "jax", "name"), NEAREST)
def test_the_nearest_set_is_one_for_this_python(python, jax, name):
    assert nearest_set(TABLE, python, jax) == name


PIP = "python -m pip install "
LINES = {
    "Haiku too new": (
        "3.11.7",
        core(SIX, dm_haiku="0.0.17"),
        '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.14" "optax==0.2.8"',
    ),
    "another Haiku for another Python": (
        "3.13.0",
        core(SIX, dm_haiku="0.0.14"),
        '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.16" "optax==0.2.8"',
    ),
    "JAX too old, and what hangs on it": (
        "3.11.7",
        core(OLDEST, jax="0.4.26", jaxlib="0.4.26", chex="0.1.86", orbax_checkpoint="0.12.8"),
        '"jax==0.4.30" "jaxlib==0.4.30" "dm-haiku==0.0.13" "optax==0.2.5"'
        ' "chex==0.1.90" "orbax-checkpoint==0.6.4"',
    ),
    "NumPy newer than measured": (
        "3.11.7",
        core(SIX, numpy="3.0.0"),
        '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.14" "optax==0.2.8" "numpy==2.4.6"',
    ),
    "NumPy older than measured stays": (
        "3.11.7",
        core(SIX, numpy="2.0.0", optax=None),
        '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.14" "optax==0.2.8"',
    ),
    "nothing is installed": (
        "3.12.1",
        {},
        '"jax==0.12.0.1" "jaxlib==0.12.0.1" "dm-haiku==0.0.17" "optax==0.2.8"',
    ),
    "with CUDA": (
        "3.11.7",
        {**core(TEN, dm_haiku="0.0.14"), "jax-cuda12-plugin": "0.10.2"},
        '"jax[cuda12]==0.10.2" "jaxlib==0.10.2" "dm-haiku==0.0.17" "optax==0.2.8"',
    ),
    "all versions are right": (
        "3.11.7",
        core(TEN),
        '--force-reinstall "jax==0.10.2" "jaxlib==0.10.2" "dm-haiku==0.0.17" "optax==0.2.8"',
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_the_line_gives_a_whole_set(case):
    python, found, line = LINES[case]
    assert install_line(examine(TABLE, python, found), works=False) == PIP + line


def test_there_is_no_line_for_a_python_without_a_set():
    assert install_line(examine(TABLE, "3.14.0", core(NEWEST)), works=False) is None


def test_an_environment_without_pip_is_one_of_uv(monkeypatch):
    monkeypatch.setattr(versions.importlib.util, "find_spec", lambda name: None)
    line = install_line(examine(TABLE, "3.11.7", core(TEN)), works=True)
    assert line.startswith('uv pip install "jax==0.10.2" ')


NOTES = {
    "measured": ("3.11.7", core(SIX), []),
    "Haiku too new": (
        "3.11.7",
        core(SIX, dm_haiku="0.0.17"),
        ["dm-haiku 0.0.17 is newer than 0.0.14, which was measured with JAX 0.6.2."],
    ),
    "Haiku too old": (
        "3.11.7",
        core(TEN, dm_haiku="0.0.9"),
        [],  # reported as too old for the package instead
    ),
    "Haiku older": (
        "3.11.7",
        core(TEN, dm_haiku="0.0.14"),
        ["dm-haiku 0.0.14 is older than 0.0.17, which was measured with JAX 0.10.2."],
    ),
    "jaxlib differs": (
        "3.11.7",
        core(TEN, jaxlib="0.10.1"),
        ["jax 0.10.2 and jaxlib 0.10.1 differ; in each measured set they are alike."],
    ),
    "JAX newer than measured": (
        "3.12.1",
        core(NEWEST, jax="0.13.0", jaxlib="0.13.0"),
        ["JAX 0.13.0 is newer than 0.12.0.1, the newest that was measured."],
    ),
    "a Python that this set does not have": (
        "3.13.0",
        core(pinned("0.4.30", "0.0.14", "0.2.5")),
        ["The set of JAX 0.4.30 is for Python 3.10, 3.11, 3.12; this is Python 3.13.0."],
    ),
    "a Python that no set has": (
        "3.14.0",
        core(NEWEST),
        ["No measured set is for Python 3.14.0; they are for 3.10, 3.11, 3.12, 3.13."],
    ),
    "Haiku is missing": ("3.11.7", core(SIX, dm_haiku=None), ["dm-haiku is not installed."]),
    "the CUDA plugin differs": (
        "3.11.7",
        {**core(TEN), "jax-cuda12-plugin": "0.10.0"},
        ["jax-cuda12-plugin 0.10.0 and jaxlib 0.10.2 differ: JAX then uses the CPU."],
    ),
}


@pytest.mark.parametrize("case", NOTES)
def test_a_likely_cause_is_stated(case):
    python, found, expected = NOTES[case]
    assert notes(examine(TABLE, python, found)) == expected


NAMES = [name for name in STEPS if name != "save_checkpoint"]
WORK = [Step(name, "ok", "cpu: 1 x cpu", 1.0) for name in NAMES]
NO_HAIKU = [
    *WORK[:2],
    Step("import haiku", "FAIL", "AttributeError: take_current_trace"),
    WORK[3],
    Step("import haiku_state", "skip", "import haiku"),
    Step("jit_update", "skip", "import haiku_state"),
]
TO_SIX = '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.14" "optax==0.2.8"'
# what is installed, the steps, the exit code, and lines in both languages
REPORTS = {
    "measured": (
        core(SIX),
        WORK,
        0,
        [
            "This is the measured set 0.6: on 2026-11-21, 1990 tests passed on Python 3.10.13.",
            "All steps work, on a measured set.",
        ],
        [
            "当前版本正是实测过的组合 0.6：2026-11-21 在 Python 3.10.13 上，1990 项测试通过。",
            "各项全部通过，版本组合也实测过。",
        ],
    ),
    "a measured set with failures": (
        core(TEN),
        WORK,
        0,
        [
            "This is the measured set 0.10: on 2026-11-21, 1990 tests passed and 3 failed on "
            "Python 3.11.7."
        ],
        [
            "当前版本正是实测过的组合 0.10：2026-11-21 在 Python 3.11.7 上，"
            "1990 项测试通过，3 项失败。"
        ],
    ),
    "unmeasured, and works": (
        core(SIX, dm_haiku="0.0.17"),
        WORK,
        0,
        [
            "This is not a measured set. The nearest is set 0.6: on 2026-11-21, 1990 tests passed "
            "on Python 3.10.13.",
            "dm-haiku          0.0.17      0.0.14      differs",
            "note  dm-haiku 0.0.17 is newer than 0.0.14, which was measured with JAX 0.6.2.",
            "All steps work, on a set that was not measured. For the nearest measured one:",
            PIP + TO_SIX,
        ],
        [
            "dm-haiku          0.0.17      0.0.14      不一致",
            "note  dm-haiku 0.0.17 比 0.0.14 新；与 JAX 0.6.2 一起实测的是后者。",
            "各项全部通过，但这个版本组合没有实测过。要换成最接近的实测组合：",
            PIP + TO_SIX,
        ],
    ),
    "unmatched": (
        core(SIX, dm_haiku="0.0.17"),
        NO_HAIKU,
        1,
        [
            "FAIL  import haiku                 AttributeError: take_current_trace",
            "skip  import haiku_state           not tried: it needs import haiku",
            "This would fail: import haiku. To install a measured set:",
            PIP + TO_SIX,
        ],
        [
            "FAIL  import haiku                 AttributeError: take_current_trace",
            "skip  import haiku_state           未尝试：需要先通过 import haiku",
            "以下各项会失败：import haiku。要安装实测过的组合：",
            PIP + TO_SIX,
        ],
    ),
    "too old, though it works": (
        core(OLDEST, jax="0.4.26", jaxlib="0.4.26", optax="0.2.2"),
        WORK,
        1,
        [
            "FAIL  jax 0.4.26 is too old: 0.4.30 is the oldest that the package supports.",
            "This would fail: jax 0.4.26, jaxlib 0.4.26, optax 0.2.2. To install a measured set:",
            PIP + '"jax==0.4.30" "jaxlib==0.4.30" "dm-haiku==0.0.13" "optax==0.2.5"',
        ],
        [
            "FAIL  jax 0.4.26 太旧：本包支持的最低版本是 0.4.30。",
            "以下各项会失败：jax 0.4.26, jaxlib 0.4.26, optax 0.2.2。要安装实测过的组合：",
        ],
    ),
    "measured, and broken": (
        core(SIX),
        NO_HAIKU,
        1,
        [
            "This would fail: import haiku. The versions are right, so install them again:",
            PIP + "--force-reinstall " + TO_SIX,
        ],
        ["以下各项会失败：import haiku。版本本身没有问题，请重新安装："],
    ),
    "nothing is there": (
        {},
        [Step("import jax", "FAIL", "ModuleNotFoundError: No module named 'jax'")],
        1,
        [
            "jax               -           0.10.2      not installed",
            "orbax-checkpoint  -           not installed; it comes with haiku-state[checkpoint]",
            "scikit-learn      -           not installed; it comes with haiku-state[data]",
            "note  dm-haiku is not installed.",
        ],
        [
            "jax               -           0.10.2      未安装",
            "rich              -           未安装；随 haiku-state[data] 一起安装",
        ],
    ),
    "CUDA without a GPU": (
        {**core(TEN), "jax-cuda12-plugin": "0.10.2"},
        WORK,
        0,
        [
            "note  jax-cuda12-plugin is installed, and JAX uses the CPU: no GPU is seen, or "
            "JAX_PLATFORMS is set."
        ],
        [
            "note  已安装 jax-cuda12-plugin，但 JAX 用的是 CPU："
            "没有找到 GPU，或者设置了 JAX_PLATFORMS。"
        ],
    ),
}


@pytest.mark.parametrize("case", REPORTS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_report_says_it_in_both_languages(case, language, monkeypatch, capsys):
    found, steps, code, *lines = REPORTS[case]
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    assert report.print_report(examine(TABLE, "3.11.7", found), steps) == code
    printed = capsys.readouterr().out
    assert printed.startswith("haiku_state doctor: Python 3.11.7, ")
    for line in lines[language == "zh"]:
        assert f"  {line}\n" in printed, printed
    assert bool(re.search(r"[一-鿿]", printed)) == (language == "zh")


@pytest.mark.parametrize(
    ("steps", "code", "result"),
    [
        (WORK, 0, "All steps work, on a set that was not measured."),
        (
            NO_HAIKU,
            1,
            "This would fail: import haiku. Take a Python with a measured set: "
            "3.10, 3.11, 3.12, 3.13.",
        ),
    ],
)
def test_a_python_that_no_set_has(steps, code, result, capsys):
    assert report.print_report(examine(TABLE, "3.14.0", core(NEWEST)), steps) == code
    printed = capsys.readouterr().out
    assert printed.endswith(f"result\n  {result}\n")
    assert "pip install" not in printed
    assert "differs" not in printed


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_columns_are_aligned_on_the_screen(language, monkeypatch, capsys):
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    report.print_report(examine(TABLE, "3.11.7", core(SIX)), [])
    table = capsys.readouterr().out.split("\n\n")[1].splitlines()[:5]
    starts = [
        [cell_len(line[: cell.start()]) for cell in re.finditer(r"\S+( 0\.6$)?", line)]
        for line in table
    ]
    assert [columns[1:] for columns in starts] == [[20, 32]] * 5


def fake(folder, name, body="", version=None):
    """A library that comes before the installed one, and what the metadata say of it."""
    package = folder / name.replace("dm-", "")
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(body)
    if version:
        claim(folder, name, version)


def claim(folder, name, version):
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def environment(folder, language="en"):
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONIOENCODING": "utf-8",
        "HAIKU_STATE_LANG": language,
    }


def run(*arguments, **variables):
    return subprocess.run(
        [sys.executable, *arguments],
        env=variables or None,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("body", "timeout", "expected"),
    [
        ("raise OSError('a\\nb')", 60, "OSError: a"),
        ("import os; os._exit(3)", 60, "the process ended with exit code 3: -"),
        (
            "import os, sys; print('gone', file=sys.stderr, flush=True); os._exit(4)",
            60,
            "the process ended with exit code 4: gone",
        ),
        ("raise SystemExit(5)", 60, "SystemExit: 5"),
        ("import time; time.sleep(60)", 1, "no answer within 1 seconds"),
    ],
)
def test_whatever_an_import_does_is_one_failed_step(body, timeout, expected, tmp_path, monkeypatch):
    fake(tmp_path, "jax", "print('noise')\n" + body)
    monkeypatch.setenv("PYTHONPATH", environment(tmp_path)["PYTHONPATH"])
    first, *others = try_steps(checkpoint=True, timeout=timeout)
    assert first == Step("import jax", "FAIL", expected)
    assert [step.name for step in others] == list(STEPS)[1:]
    assert {step.status for step in others} == {"skip"}


def after_one_update(scale, mean):
    params = {"batch_norm": {"scale": np.array([[scale]])}}
    state = {"batch_norm/~/mean_ema": {"average": np.array([[mean]])}}
    return haiku_state.TrainState(params, state, (), None, np.int32(1))


@pytest.mark.parametrize(
    ("scale", "mean", "right"),
    [(0.8, 2.0, True), (0.9, 2.0, False), (0.8, 1.9, False), (np.nan, 2.0, False)],
)
def test_an_update_with_a_wrong_result_fails(scale, mean, right, monkeypatch):
    monkeypatch.setattr(probe, "one_update", lambda: (None, after_one_update(scale, mean)))
    if right:
        assert probe.jitted_update() == "scale 0.800, running mean 2.000"
    else:
        with pytest.raises(ArithmeticError, match=r"scale is .+ running mean is "):
            probe.jitted_update()


def test_a_checkpoint_that_comes_back_changed_or_not_at_all_fails(monkeypatch):
    after, other = after_one_update(0.8, 2.0), after_one_update(0.8, 2.5)
    monkeypatch.setattr(probe, "one_update", lambda: (None, after))
    monkeypatch.setattr(haiku_state, "save_checkpoint", lambda directory, train_state: None)
    restored = SimpleNamespace(train_state=after)
    monkeypatch.setattr(haiku_state, "restore_checkpoint", lambda directory, like: restored)
    assert probe.save_and_restore() == "step 1"
    restored.train_state = other
    with pytest.raises(AssertionError, match="not equal"):
        probe.save_and_restore()
    restored = None
    with pytest.raises(ArithmeticError, match="no checkpoint"):
        probe.save_and_restore()


HERE = ".".join(map(str, sys.version_info[:2]))
UNMATCHED = "raise AttributeError('no take_current_trace')"


@pytest.fixture
def unmatched(tmp_path):
    """A set of this Python with a Haiku that is too new for it."""
    fake(tmp_path, "jax", "")
    fake(tmp_path, "dm-haiku", UNMATCHED, "99.0")
    pins = next(each["pins"][HERE] for each in COMPAT["sets"].values() if HERE in each["pins"])
    for name in ("jax", "jaxlib", "optax"):
        claim(tmp_path, name, pins[name])
    return tmp_path, pins


@pytest.mark.parametrize("language", ["en", "zh"])
def test_doctor_runs_where_haiku_cannot_be_imported(unmatched, language):
    folder, pins = unmatched
    ran = run("-m", "haiku_state", "doctor", **environment(folder, language))
    assert (ran.returncode, ran.stderr) == (1, "")
    assert re.search(r"^  FAIL  import haiku +AttributeError: no take_current_trace$", ran.stdout,
                     re.M)  # fmt: skip
    last = ran.stdout.splitlines()[-1]
    wanted = " ".join(f'"{name}=={pins[name]}"' for name in ("jax", "jaxlib", "dm-haiku", "optax"))
    assert f" pip install {wanted}" in last
    assert bool(re.search(r"[一-鿿]", ran.stdout)) == (language == "zh")


def test_importing_the_package_names_the_versions_and_the_line(unmatched):
    folder, pins = unmatched
    ran = run("-c", "import haiku_state", **environment(folder))
    assert ran.returncode == 1
    *_, what, wrong, right, why, more = ran.stderr.splitlines()
    jax, optax = pins["jax"], pins["optax"]
    assert what == (
        "haiku_state.errors.versions.UnmatchedVersionsError: haiku_state cannot be imported with "
        f"jax {jax}, jaxlib {jax}, dm-haiku 99.0, optax {optax}: "
        "AttributeError: no take_current_trace"
    )
    assert wrong == (
        f'  wrong: python -m pip install "jax=={jax}" "jaxlib=={jax}" "dm-haiku==99.0" '
        f'"optax=={optax}"'
    )
    assert f' pip install "jax=={jax}" "jaxlib=={jax}" "dm-haiku=={pins["dm-haiku"]}" ' in right
    assert "python -m haiku_state doctor" in why
    assert more == "  more:  README.md"


def test_other_commands_fail_with_that_error_and_bad_arguments_with_code_2(unmatched):
    folder, _ = unmatched
    ran = run("-m", "haiku_state", "train", **environment(folder))
    assert ran.returncode == 1
    assert "UnmatchedVersionsError: " in ran.stderr
    assert ran.stdout == ""
    ran = run("-m", "haiku_state", "doctor", "--loud", **environment(folder))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "haiku_state doctor: error: unrecognized arguments: --loud\n"


def test_doctor_runs_where_optax_cannot_be_imported(tmp_path):
    fake(tmp_path, "optax", "raise ImportError('no optax')")
    ran = run("-W", "ignore", "-m", "haiku_state", "doctor", **environment(tmp_path))
    assert (ran.returncode, ran.stderr) == (1, "")
    assert re.search(r"^  FAIL  import optax +ImportError: no optax$", ran.stdout, re.M)
    assert re.search(r"^  ok    import haiku_state ", ran.stdout, re.M)
    assert re.search(r"^  skip  jit_update +not tried: it needs import optax$", ran.stdout, re.M)


def test_what_is_installed_here_works():
    ran = run("-m", "haiku_state", "doctor", **environment(""))
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    statuses = re.findall(r"^  (ok|FAIL|skip)  ", ran.stdout, re.M)
    assert statuses == ["ok"] * len(STEPS), ran.stdout
    assert "jax.devices()" in ran.stdout
    assert f"  jax               {metadata.version('jax')}" in ran.stdout


ASKED = [
    (["-m", "haiku_state", "doctor"], ["-m", "doctor"], []),
    (["-m", "haiku_state", "doctor", "-h"], ["-m", "doctor", "-h"], ["-h"]),
    (["-W", "ignore", "-m", "haiku_state", "doctor"], ["-m", "doctor"], []),
    (["-mhaiku_state", "doctor"], ["-m", "doctor"], []),
    (["-Im", "haiku_state", "doctor"], ["/a/haiku_state/__main__.py", "doctor"], []),
    (["-m", "haiku_state", "train", "doctor"], ["-m", "train", "doctor"], None),
    (["-m", "haiku_state"], ["-m"], None),
    (["-m", "pytest", "doctor"], ["/a/pytest.py", "doctor"], None),
    (["-m", "haiku_state.train", "doctor"], ["-m", "doctor"], None),
    (["a.py", "doctor"], ["a.py", "doctor"], None),
    (["-c", "import haiku_state"], ["-c"], None),
    (["-c", "import haiku_state", "doctor"], ["-c", "doctor"], None),
    ([], [""], None),
]


@pytest.mark.parametrize(("given", "seen", "words"), ASKED)
def test_only_the_command_itself_turns_the_error_into_a_report(given, seen, words, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["python", *given])
    monkeypatch.setattr(sys, "argv", seen)
    assert doctor._asked_for() == words


@pytest.mark.parametrize("python", ["3.11.7", "3.14.0"])
def test_the_error_has_a_right_line_in_every_case(python, monkeypatch):
    findings = [examine(TABLE, python, found) for found in ({}, core(SIX), core(TEN, jaxlib=None))]
    for each in findings:
        monkeypatch.setattr(doctor, "examine", lambda table, each=each: each)
        error = doctor.unmatched(ModuleNotFoundError(""))
        assert isinstance(error, UnmatchedVersionsError)
        assert error.values["right"] != error.values["wrong"]
        assert error.values["right"].startswith("python -m ")
        assert error.what.endswith(": ModuleNotFoundError: ")


def test_the_command_line_has_the_doctor(monkeypatch):
    monkeypatch.setattr("haiku_state.__main__.doctor", lambda: 1)
    assert main(["doctor"]) == 1
    with pytest.raises(SystemExit, match="2"):
        main(["doctor", "--loud"])


@pytest.mark.parametrize("name", COMPAT["sets"])
def test_the_measurements_have_what_the_doctor_reads(name):
    each = COMPAT["sets"][name]
    assert {"passed", "failed"} <= set(each["tests"])
    assert ".".join(each["python"].split(".")[:2]) in each["pins"]
    for pins in each["pins"].values():
        assert {*versions.CORE, "numpy", "orbax-checkpoint", "flax", "equinox"} <= set(pins)
        assert pins["jax"] == pins["jaxlib"]
        assert pins["jax"] == each["versions"]["jax"]


def test_the_measurements_are_in_ascending_order():
    jaxes = [versions.numbers(each["versions"]["jax"]) for each in COMPAT["sets"].values()]
    assert jaxes == sorted(set(jaxes))
    assert versions.numbers("0.12.0.1") > versions.numbers("0.12.0") > versions.numbers("0.9.2")
