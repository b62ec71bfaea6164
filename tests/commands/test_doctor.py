"""The doctor: right on a tested set, an untested one and a broken one, with nothing but Python."""

import re
import sys
from importlib import metadata

import numpy as np
import pytest
from support.terminal import has_chinese

import haiku_state
from haiku_state.commands.doctor import probe, report, trial, versions
from haiku_state.commands.doctor.probe import STEPS
from haiku_state.commands.doctor.trial import Step, breaking_variables, try_steps
from haiku_state.commands.doctor.versions import compare, install_line, read_sets


def pinned(jax, haiku, optax, **others):
    return {
        "jax": jax,
        "jaxlib": jax,
        "dm-haiku": haiku,
        "optax": optax,
        "numpy": "2.4.6",
        **others,
    }


OLDEST = pinned("0.4.30", "0.0.13", "0.2.5", **{"chex": "0.1.90", "orbax-checkpoint": "0.6.4"})
SIX = pinned("0.6.2", "0.0.14", "0.2.8", **{"orbax-checkpoint": "0.12.8", "flax": "0.12.0"})
SIX_313 = {**SIX, "dm-haiku": "0.0.16", "numpy": "2.5.5"}
TEN = pinned("0.10.2", "0.0.17", "0.2.8")
NEWEST = pinned("0.12.0.1", "0.0.17", "0.2.8")
SETS = {
    "0.4.30": dict.fromkeys(["3.10", "3.11", "3.12"], OLDEST),
    "0.4.38": dict.fromkeys(["3.10", "3.11", "3.12", "3.13"], pinned("0.4.38", "0.0.14", "0.2.5")),
    "0.6": {**dict.fromkeys(["3.10", "3.11", "3.12"], SIX), "3.13": SIX_313},
    "0.10": dict.fromkeys(["3.11", "3.12", "3.13"], TEN),
    "0.12": dict.fromkeys(["3.12", "3.13"], NEWEST),
}


def core(pins, **other):
    """What is installed: the core of a set, and changes of it."""
    found = {name: pins[name] for name in ("jax", "jaxlib", "dm-haiku", "optax", "numpy")}
    found |= {name.replace("_", "-"): version for name, version in other.items()}
    return {name: version for name, version in found.items() if version}


NEAREST = [
    ("3.11.7", "0.4.30", "0.4.30"),
    ("3.11.7", "0.4.26", "0.4.30"),
    ("3.11.7", "0.3.25", "0.4.30"),
    ("3.11.7", "0.4.31", "0.4.30"),
    ("3.11.7", "0.4.37", "0.4.30"),
    ("3.13.0", "0.4.26", "0.4.38"),
    ("3.11.7", "0.6.0", "0.6"),
    ("3.11.7", "0.7.2", "0.6"),
    ("3.11.7", "0.9.2", "0.6"),
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
def test_doctor__the_nearest_set_is_one_for_this_python(python, jax, name):
    assert compare({"jax": jax} if jax else {}, SETS, python).nearest == name


PIP = "python -m pip install "


@pytest.fixture(autouse=True)
def pip_is_installed(monkeypatch):
    monkeypatch.setattr(versions.importlib.util, "find_spec", lambda name: name)


LINES = {
    "Haiku too new": (
        "3.11.7",
        core(SIX, dm_haiku="0.0.17"),
        '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.14" "optax==0.2.8"',
    ),
    "another Haiku for another Python": (
        "3.13.0",
        core(SIX_313, dm_haiku="0.0.14"),
        '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.16" "optax==0.2.8"',
    ),
    "JAX too old, and what hangs on it": (
        "3.11.7",
        core(OLDEST, jax="0.4.26", jaxlib="0.4.26", chex="0.1.86", orbax_checkpoint="0.12.8"),
        '"jax==0.4.30" "jaxlib==0.4.30" "dm-haiku==0.0.13" "optax==0.2.5"'
        ' "chex==0.1.90" "orbax-checkpoint==0.6.4"',
    ),
    "another NumPy": (
        "3.11.7",
        core(SIX, numpy="3.0.0"),
        '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.14" "optax==0.2.8" "numpy==2.4.6"',
    ),
    "Optax is missing": (
        "3.11.7",
        core(SIX, optax=None),
        '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.14" "optax==0.2.8"',
    ),
    "nothing is installed": (
        "3.12.1",
        {},
        '"jax==0.12.0.1" "jaxlib==0.12.0.1" "dm-haiku==0.0.17" "optax==0.2.8"',
    ),
    "with CUDA, whose plugin comes with the extra": (
        "3.11.7",
        {**core(TEN, dm_haiku="0.0.14"), "jax-cuda12-plugin": "0.10.0"},
        '"jax[cuda12]==0.10.2" "jaxlib==0.10.2" "dm-haiku==0.0.17" "optax==0.2.8"',
    ),
    "only the plugin of CUDA differs": (
        "3.11.7",
        {**core(TEN), "jax-cuda13-plugin": "0.10.0"},
        '"jax[cuda13]==0.10.2" "jaxlib==0.10.2" "dm-haiku==0.0.17" "optax==0.2.8"',
    ),
    "all versions are right": (
        "3.11.7",
        core(TEN),
        '--force-reinstall "jax==0.10.2" "jaxlib==0.10.2" "dm-haiku==0.0.17" "optax==0.2.8"',
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_doctor__the_line_gives_a_whole_set(case):
    python, found, line = LINES[case]
    assert install_line(compare(found, SETS, python)) == PIP + line


def test_doctor__an_environment_without_pip_is_one_of_uv(monkeypatch):
    monkeypatch.setattr(versions.importlib.util, "find_spec", lambda name: None)
    assert install_line(compare({}, SETS, "3.11.7")).startswith("uv pip install ")


WORK = [Step(name, "ok", "") for name in STEPS if name != "save_checkpoint"]
NO_HAIKU = [*WORK[:1], Step("import haiku", "FAIL", "AttributeError: take_current_trace")]
TO_SIX = '"jax==0.6.2" "jaxlib==0.6.2" "dm-haiku==0.0.14" "optax==0.2.8"'
# what is installed, the steps, the exit code, and lines in both languages
REPORTS = {
    "tested": (
        core(SIX),
        WORK,
        0,
        ["All steps work, and this set of versions is tested."],
        ["各项全部通过，这个版本组合也实测过。"],
    ),
    "untested, and works": (
        core(SIX, dm_haiku="0.0.17"),
        WORK,
        0,
        [
            "dm-haiku          0.0.17      0.0.14      differs",
            "All steps work, but this set of versions was not tested.",
            "To install the tested set 0.6:",
            PIP + TO_SIX,
        ],
        [
            "dm-haiku          0.0.17      0.0.14      不一致",
            "各项全部通过，但这个版本组合没有实测过。",
            "要安装实测过的组合 0.6：",
            PIP + TO_SIX,
        ],
    ),
    "unmatched": (
        core(SIX, dm_haiku="0.0.17"),
        NO_HAIKU,
        1,
        [
            "FAIL  import haiku        AttributeError: take_current_trace",
            "This would fail: import haiku.",
            PIP + TO_SIX,
        ],
        ["以下各项会失败：import haiku。", PIP + TO_SIX],
    ),
    "tested, and broken": (
        core(SIX),
        NO_HAIKU,
        1,
        [PIP + "--force-reinstall " + TO_SIX],
        [PIP + "--force-reinstall " + TO_SIX],
    ),
    "nothing is there": (
        {},
        [Step("import jax", "FAIL", "ModuleNotFoundError: No module named 'jax'")],
        1,
        ["jax               -           0.10.2      differs"],
        ["jax               -           0.10.2      不一致"],
    ),
    "a plugin of another version": (
        {**core(TEN), "jax-cuda12-plugin": "0.10.0"},
        WORK,
        0,
        ["jax-cuda12-plugin 0.10.0      0.10.2      differs"],
        ["jax-cuda12-plugin 0.10.0      0.10.2      不一致"],
    ),
}


def printed(found, steps, capsys, python="3.11.7"):
    """The exit code, and what the doctor prints."""
    findings = compare(found, SETS, python)
    report.print_versions(findings)
    return report.print_outcome(findings, steps), capsys.readouterr().out


@pytest.mark.parametrize("case", REPORTS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_doctor__the_report_is_in_both_languages(case, language, monkeypatch, capsys):
    found, steps, expected, *lines = REPORTS[case]
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    code, text = printed(found, steps, capsys)
    assert code == expected
    assert text.startswith("haiku_state doctor: Python 3.11.7, ")
    for line in lines[language == "zh"]:
        assert f"  {line}\n" in text, text
    assert has_chinese(text) == (language == "zh")


@pytest.mark.parametrize(
    ("steps", "expected", "result"),
    [
        (WORK, 0, "All steps work, but this set of versions was not tested."),
        (NO_HAIKU, 1, "This would fail: import haiku."),
    ],
)
def test_doctor__names_a_python_that_no_set_has(steps, expected, result, capsys):
    code, text = printed(core(NEWEST), steps, capsys, "3.14.0")
    assert code == expected
    assert text.endswith(
        f"result\n  {result}\n  No set of versions was tested with Python 3.14.0; "
        "the tested sets are for Python 3.10, 3.11, 3.12, 3.13.\n"
    )
    assert "pip install" not in text
    assert "differs" not in text


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
    """What a user has set: where Python looks first, and a language."""
    return {"PYTHONPATH": str(folder), "HAIKU_STATE_LANG": language}


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
def test_doctor__any_end_of_an_import_is_one_failed_step(
    body, timeout, expected, tmp_path, monkeypatch
):
    fake(tmp_path, "jax", "print('noise')\n" + body)
    monkeypatch.setenv("PYTHONPATH", environment(tmp_path)["PYTHONPATH"])
    assert try_steps(timeout=timeout) == [Step("import jax", "FAIL", expected)]


SUM = "import os; assert int(os.environ.get('JAX_A', 0)) + int(os.environ.get('CUDA_B', 0)) < 2"
BREAKING = {
    "one of two": ({"JAX_A": "2", "CUDA_B": "0"}, SUM, ["JAX_A=2"]),
    "two together": ({"JAX_A": "2", "CUDA_B": "3"}, SUM, ["JAX_A=2", "CUDA_B=3"]),
    "either of two": ({"JAX_A": "1", "CUDA_B": "1"}, SUM, ["JAX_A=1"]),
    "not the environment": ({"JAX_A": "1"}, "raise ImportError('always')", []),
    "no suspect": ({}, "raise ImportError('always')", []),
    "nothing fails": ({"JAX_A": "1"}, SUM, []),
    "-OO": ({"PYTHONOPTIMIZE": "2"}, "def f(): 'text'\nlen(f.__doc__)", ["PYTHONOPTIMIZE=2"]),
}


@pytest.mark.parametrize(("given", "body", "expected"), BREAKING.values(), ids=BREAKING)
def test_doctor__finds_the_variable_that_breaks_a_step(
    given, body, expected, tmp_path, monkeypatch
):
    fake(tmp_path, "jax", body)
    variables = {"PYTHONPATH": environment(tmp_path)["PYTHONPATH"], **given}
    monkeypatch.setattr(trial, "environment", lambda: variables)
    steps = try_steps(["import jax"], variables=variables)
    assert breaking_variables(steps) == expected


def test_doctor__the_note_of_an_error_is_not_taken_for_it(tmp_path):
    fake(tmp_path, "jax", "error = OSError('a'); error.__notes__ = ['b']; raise error")
    assert try_steps(variables=environment(tmp_path)) == [Step("import jax", "FAIL", "OSError: a")]


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (["JAX_PLATFORMS=cuda"], "JAX_PLATFORMS=cuda"),
        (["PYTHONOPTIMIZE=2"], "PYTHONOPTIMIZE=2 (python -OO)"),
        (["JAX_A=1", "XLA_B=2"], "JAX_A=1 XLA_B=2"),
    ],
)
def test_doctor__nothing_is_to_be_installed_if_a_variable_is_the_cause(settings, shown, capsys):
    code = report.print_outcome(compare(core(SIX), SETS, "3.11.7"), NO_HAIKU, settings)
    assert code == 1
    assert capsys.readouterr().out.endswith(
        "  This would fail: import haiku.\n"
        f"  The cause is an environment variable: everything works without {shown}\n"
    )


@pytest.mark.parametrize(
    ("python", "variables", "shown"),
    [
        ([], {"JAX_PLATFORMS": "cuda"}, "JAX_PLATFORMS=cuda"),
        (["-OO"], {}, "PYTHONOPTIMIZE=2 (python -OO)"),
    ],
)
def test_doctor__names_the_variable(python, variables, shown, tmp_path, user):
    reads_docstring = "def f(): 'text'\nlen(f.__doc__)\n"
    reads_platform = "import os\nassert os.getenv('JAX_PLATFORMS') != 'cuda'\n"
    fake(tmp_path, "jax", reads_docstring + reads_platform)
    ran = user.python(*python, "-m", "haiku_state", "doctor", env=environment(tmp_path) | variables)
    assert (ran.returncode, ran.stderr) == (1, "")
    cause = f"The cause is an environment variable: everything works without {shown}"
    assert ran.stdout.endswith(f"  {cause}\n")


def after_one_update(scale, mean):
    params = {"batch_norm": {"scale": np.array([[scale]])}}
    state = {"batch_norm/~/mean_ema": {"average": np.array([[mean]])}}
    return haiku_state.TrainState(params, state, (), None, np.int32(1))


@pytest.mark.parametrize(
    ("scale", "mean", "right"),
    [(0.8, 2.0, True), (0.9, 2.0, False), (0.8, 1.9, False), (np.nan, 2.0, False)],
)
def test_doctor__an_update_with_a_wrong_result_fails(scale, mean, right, monkeypatch):
    monkeypatch.setattr(probe, "one_update", lambda: after_one_update(scale, mean))
    if right:
        assert probe.jitted_update("jit_update") == "scale 0.800, running mean 2.000"
    else:
        with pytest.raises(ArithmeticError, match=r"scale is .+ running mean is "):
            probe.jitted_update("jit_update")


HERE = ".".join(map(str, sys.version_info[:2]))


@pytest.fixture
def unmatched(tmp_path):
    """A set of this Python with a Haiku that is too new for it."""
    fake(tmp_path, "jax")
    fake(tmp_path, "dm-haiku", "raise AttributeError('no take_current_trace')", "99.0")
    pins = next(pythons[HERE] for pythons in read_sets().values() if HERE in pythons)
    for name in ("jax", "jaxlib", "optax"):
        claim(tmp_path, name, pins[name])
    return tmp_path, pins


# as pip writes it for `haiku-state = "haiku_state.commands.main:main"`
SCRIPT = """\
import sys
from haiku_state.commands.main import main
if __name__ == "__main__":
    sys.argv[0] = sys.argv[0].removesuffix(".exe")
    sys.exit(main())
"""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("script", [None, "haiku-state", "haiku-state.exe"])
def test_doctor__runs_where_haiku_cannot_be_imported(unmatched, script, language, user):
    folder, pins = unmatched
    if script:
        (folder / script).write_text(SCRIPT)
    start = [str(folder / script)] if script else ["-m", "haiku_state"]
    ran = user.python("-W", "ignore", *start, "doctor", env=environment(folder, language))
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "  FAIL  import haiku        AttributeError: no take_current_trace\n" in ran.stdout
    last = ran.stdout.splitlines()[-1]
    wanted = " ".join(f'"{name}=={pins[name]}"' for name in ("jax", "jaxlib", "dm-haiku", "optax"))
    assert f" pip install {wanted}" in last
    assert has_chinese(ran.stdout) == (language == "zh")


def test_doctor__runs_where_nothing_but_python_can_be_imported(tmp_path, user):
    for name in ("jax", "jaxlib", "haiku", "optax", "jmp", "numpy"):
        fake(tmp_path, name, "raise SystemError('imported')")
    ran = user.haiku_state("doctor", env=environment(tmp_path))
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "  FAIL  import jax          SystemError: imported\n" in ran.stdout


@pytest.mark.parametrize(
    "name", ["haiku.py", "optax.py", "jax.py", "random.py", "numpy/__init__.py"]
)
def test_doctor__names_the_file_that_hides_a_library(name, user):
    file = user.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("import jax\nkey = jax.random.key(0)\n")
    for other in ("training.py", "turtle.py"):  # no library's name, and one that JAX does not use
        (user.folder / other).write_text("1 / 0\n")
    ran = user.haiku_state("doctor")
    assert (ran.returncode, ran.stderr) == (1, "")
    shown = name.replace("__init__.py", "")
    assert ran.stdout.splitlines()[-1] == (
        f"  The cause is in this folder: Python imports {shown} from it instead of the "
        "library of the same name. Rename what is listed here to solve the problem."
    )
    file.rename(file.with_name("mine.py"))  # what it says, followed
    assert user.haiku_state("doctor").returncode == 0


def test_main__a_file_of_the_folder_hides_no_library(user):
    for name in ("haiku", "optax", "jax", "random", "numpy"):
        (user.folder / f"{name}.py").write_text("1 / 0\n")
    ran = user.haiku_state("train", "--epochs", 1, "--model", "regression")
    assert (ran.returncode, ran.stderr) == (0, "")
    (user.folder / "own.py").write_text("def f(x): return 2 * x\n")
    ran = user.haiku_state("explain", "own:f", "--args", "1.0")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_doctor__refuses_an_argument_with_one_line(unmatched, user):
    folder, _ = unmatched
    ran = user.haiku_state("doctor", "--loud", env=environment(folder))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "haiku_state: error: unrecognized arguments: --loud\n"


@pytest.mark.parametrize(
    "command",
    [
        ["-c", "import haiku_state; haiku_state.Counter"],
        ["-c", "from haiku_state import Counter", "doctor"],
        ["-c", "import haiku_state.update"],
        ["-m", "other", "doctor"],
        ["-m", "other", "doctor", "haiku_state"],
    ],
)
def test_doctor__whatever_else_imports_the_package_is_sent_there(unmatched, command, user):
    folder, _ = unmatched
    fake(folder, "other", "from haiku_state import Counter")
    ran = user.python(*command, env=environment(folder))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.endswith(
        "haiku_state.errors.versions.UnmatchedVersionsError: JAX, Haiku or Optax cannot be "
        "imported: AttributeError: no take_current_trace\n"
        "  why:   dm-haiku does not say which version of JAX it needs; `python -m haiku_state "
        "doctor` shows what fails and what to install\n"
        "  more:  python -m haiku_state read reference/compatibility\n"
    )


def test_doctor__train_is_sent_there_where_optax_cannot_be_imported(tmp_path, user):
    fake(tmp_path, "optax", "raise ImportError('no optax')")
    ran = user.python("-W", "ignore", "-m", "haiku_state", "train", env=environment(tmp_path))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "haiku_state: error: JAX, Haiku or Optax cannot be imported: ImportError: no optax; "
        "dm-haiku does not say which version of JAX it needs; `python -m haiku_state doctor` shows "
        "what fails and what to install\n"
    )
    ran = user.haiku_state("doctor", env=environment(tmp_path))
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "  FAIL  import optax        ImportError: no optax\n" in ran.stdout


def test_doctor__what_is_installed_here_works(user):
    ran = user.haiku_state("doctor")
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.startswith("haiku_state doctor: Python ")
    statuses = re.findall(r"^  (ok|FAIL)  ", ran.stdout, re.M)
    assert statuses == ["ok"] * len(STEPS), ran.stdout
    assert f"  jax               {metadata.version('jax')}" in ran.stdout


def test_doctor__what_is_not_installed_hides_nothing_else(monkeypatch):
    def version(name):
        if name == "jax":
            raise metadata.PackageNotFoundError
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    assert versions.installed() == dict.fromkeys({*versions.NAMES} - {"jax"}, "1.0")


@pytest.mark.parametrize("name", read_sets())
def test_doctor__the_sets_have_what_it_reads(name):
    for pins in read_sets()[name].values():
        assert {*versions.CORE, "numpy", "orbax-checkpoint", "flax", "equinox"} <= set(pins)
        assert pins["jax"] == pins["jaxlib"]
