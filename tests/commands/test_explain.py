"""The command ``explain``; what it refuses is in ``bad_lines.py``."""

import json
import sys

import pytest

from haiku_state.commands.main import main

MODEL = """\
import dataclasses
import sys

import haiku_state as hs
import helper
import jax
import jax.numpy as jnp

print("imported", __name__, sys.argv)
total = 0
step = jnp.ones(3)
pair = hs.pure_pair(hs.Counter)


def pure(x, scale=1.0, flag=False):
    return scale * helper.twice(x)


def impure(x):
    global total
    total += 1
    print("traced")
    return x


def fails(x):
    raise ValueError("it is\\nwrong")


@jax.jit
def jitted(x):
    return x * total


@dataclasses.dataclass
class Counter:
    n: float = 0.0

    class Inner:
        def count(self, x):
            return x

    def count(self, x):
        self.n += 1
        return x * self.n

    @staticmethod
    def twice(x):
        return 2 * x

    @classmethod
    def shared(cls, x):
        cls.calls = 1
        return x

    @property
    def scaled(self):
        return lambda x: x * self.n


counter = Counter(5.0)
if __name__ == "__main__":
    raise AssertionError("this file was run")
"""


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    """Two files in a folder that is not the current one."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "helper.py").write_text("def twice(x):\n    return 2 * x\n", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    yield folder / "model.py"
    sys.modules.pop("helper", None)


def explained(model, name, *options, capsys):
    """The exit code and the report as JSON."""
    code = main(["explain", f"{model}:{name}", *options, "--json"])
    return code, json.loads(capsys.readouterr().out)


CALLS = [
    ("pure", ["--args", "jnp.ones(3)"], []),
    ("pure", ["--args", "jnp.ones(3), 2.0, flag=True"], []),
    ("pure", ["--args", "np.ones(3),"], []),
    ("pure", ["--args", "*[step], **{'scale': 2.0}"], []),
    ("pure", ["--args", "f32[3, 4]"], []),
    ("pure", ["--args", "i8[2], 3"], []),
    ("pure", ["--args", "f32[()]"], []),
    ("pure", ["--args", "-1.0, 2"], []),
    ("pure", ["--args=-jnp.ones(3)"], []),
    ("pure", ["--args", "f32[3],\n2.0  # a scale"], []),
    ("helper.twice", ["--args", "jax.random.uniform(jax.random.key(0))"], []),
    ("impure", ["--args", "1.0"], ["total", "print"]),
    ("jitted", ["--args", "step"], []),
    ("pair.apply", ["--args", "*pair.init(None), None"], []),
    ("Counter", ["--args", "1.0"], []),
    ("Counter.count", ["--args", "1.0"], ["self.n"]),
    ("Counter.count", ["--args", "1.0", "--init", "n=0.5"], ["self.n"]),
    ("Counter.twice", ["--args", "1.0"], []),
    ("Counter.shared", ["--args", "1.0"], ["cls.calls"]),
    ("Counter.scaled", ["--args", "1.0", "--init", "2.0"], []),
    ("Counter.Inner.count", ["--args", "1.0"], []),
    ("counter.count", ["--args", "1.0"], ["self.n"]),
]


@pytest.mark.parametrize(("name", "options", "found"), CALLS)
def test_explain__the_exit_code_tells_whether_it_is_pure(name, options, found, model, capsys):
    code, report = explained(model, name, *options, capsys=capsys)
    assert [finding["name"] for finding in report["findings"]] == found
    assert report["error"] is None
    assert code == bool(found)


def test_explain__a_method_has_an_instance_of_its_own(model, capsys):
    _, report = explained(
        model, "Counter.count", "--args", "f32[3]", "--init", "0.5", capsys=capsys
    )
    [finding] = report["findings"]
    assert (report["function"], finding["before"], finding["after"]) == (
        "Counter.count",
        "0.5",
        "1.5",
    )
    assert finding["file"] == str(model)


def test_explain__an_error_while_it_is_traced_counts_as_for_assert_pure(model, capsys):
    code, report = explained(model, "fails", "--args", "1.0", capsys=capsys)
    assert (code, report["findings"], report["error"]) == (1, [], "ValueError: it is")


@pytest.mark.parametrize(
    ("language", "said"), [("en", "`impure` is impure: 2 findings"), ("zh", "`impure` 是非纯的")]
)
def test_explain__the_report_is_in_the_language_of_the_reader(
    language, said, model, monkeypatch, capsys
):
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    assert main(["explain", f"{model}:impure", "--args", "1.0"]) == 1
    printed, report, *_ = capsys.readouterr().out.splitlines()
    assert printed == f"imported model ['{model}']"
    assert report.startswith(said)


def test_explain__with_json_stdout_is_the_report_alone(model, capsys):
    main(["explain", f"{model}:pure", "--args", "1.0", "--json"])
    output, errors = capsys.readouterr()
    assert json.loads(output)["pure"]
    assert errors == f"imported model ['{model}']\n"


def test_explain__nothing_stays_behind(model, capsys):
    path, argv = [*sys.path], sys.argv
    for name, code in (("pure", 0), ("fails", 1)):
        assert main(["explain", f"{model}:{name}", "--args", "1.0"]) == code
    with pytest.raises(SystemExit):
        main(["explain", f"{model}:absent"])
    assert (sys.path, sys.argv) == (path, argv)
    assert "model" not in sys.modules
    assert not (model.parent / "__pycache__" / f"model.{sys.implementation.cache_tag}.pyc").exists()


def test_explain__a_file_does_not_stand_for_a_module_of_its_name(model, capsys):
    before, file = sys.modules["json"], model.with_name("json.py")
    file.write_text("import json\nassert json.dumps\ndef double(x): return 2 * x\n")
    assert main(["explain", f"{file}:double", "--args", "1.0"]) == 0
    assert sys.modules["json"] is before


def test_explain__a_module_may_take_the_place_of_the_file(model, monkeypatch, capsys):
    monkeypatch.chdir(model.parent)
    code = main(["explain", "helper:twice", "--args", "1.0"])
    assert code == 0, capsys.readouterr()


def test_explain__a_closed_pipe_needs_no_words(model, user):
    words = [sys.executable, "-m", "haiku_state", "explain", f"{model.name}:impure"]
    ran = user.start(*words, "--args", "1.0", cwd=model.parent)
    ran.stdout.close()
    assert (ran.stderr.read(), ran.wait(60)) == ("", 141)
    ran.stderr.close()


def test_explain__in_a_process_of_its_own_it_prints_the_report(model, user):
    ran = user.haiku_state("explain", f"{model}:impure", "--args", "1.0")
    assert (ran.returncode, ran.stderr) == (1, "")
    printed, report, *_ = ran.stdout.splitlines()
    assert printed.startswith("imported model")
    assert report == "`impure` is impure: 2 findings"
