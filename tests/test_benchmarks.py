"""The machinery of tests/benchmarks: the contenders compute the same, the numbers are added up
right. No times are judged here."""

import functools
import io
import json
import sys

import jax
import numpy as np
import pytest
from benchmarks import cold, driver, groups, limits, problem, processes, ratios, report
from benchmarks.contenders import CONTENDERS, set_up
from benchmarks.limits import Limit
from benchmarks.problem import NotInstalledError, Size
from benchmarks.worker import devices_of, repeat
from rich.console import Console

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = Size(batch=16, width=8, scan_steps=problem.NUM_BATCHES)
STEPS = problem.NUM_BATCHES
NEEDS = {
    "nnx_jit": "flax.nnx",
    "nnx_cached": "flax.nnx",
    "nnx_partial": "flax.nnx",
    "linen": "flax.linen",
    "equinox": "equinox",
    "torch_one_thread": "torch",
}
# ten steps of float32, each framework with its own order of additions
RTOL = 1e-5


@functools.cache
def set_up_once(name):
    return set_up(name, SMALL)


@pytest.fixture(scope="module")
def plain_losses():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        return losses(set_up_once("plain"), STEPS)


def losses(contender, steps):
    """The losses of so many steps, one by one."""
    carry, found = contender.fresh(), []
    while len(found) < steps:
        carry, loss = contender.step(carry, contender.batches[len(found) % STEPS])
        contender.wait((carry, loss))
        loss = loss["loss"] if isinstance(loss, dict) else loss
        loss = loss.detach() if hasattr(loss, "detach") else loss
        found.extend(np.reshape(np.asarray(loss), (contender.steps_per_call, -1))[:, 0].tolist())
    return found


# NumPy in float64


def normalized(x):
    mean, var = x.mean(axis=0), x.var(axis=0)
    return (x - mean) / np.sqrt(var + problem.EPS), mean, var


def reference(weights, batch):
    """The loss, and the mean and variance in each hidden layer."""
    x, statistics = batch["inputs"].astype(np.float64), []
    for w in weights[:-1]:
        x, mean, var = normalized(x @ w.astype(np.float64))
        statistics.append((mean, var))
        x = np.maximum(x, 0)
    logits = x @ weights[-1].astype(np.float64)
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -logs[np.arange(len(logs)), batch["targets"]].mean(), statistics


def test_plain_jax_computes_the_loss_and_the_statistics_of_numpy():
    expected, statistics = reference(problem.weights(SMALL), problem.batches(SMALL)[0])
    contender = set_up_once("plain")
    train_state, loss = contender.step(contender.fresh(), contender.batches[0])
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    for i, (mean, var) in enumerate(statistics):
        for kind, value in (("mean", mean), ("var", var)):
            found = train_state["state"][f"hidden_{i}"][kind]
            # after one value the corrected average is that value
            np.testing.assert_allclose(found["average"], value, rtol=2e-5, atol=2e-6)
            np.testing.assert_allclose(found["hidden"], 0.1 * value, rtol=2e-5, atol=2e-7)
            assert found["counter"] == 1


def test_plain_jax_takes_the_steps_of_adam():
    step, gradient = [], np.array([2.0, -0.5])
    from benchmarks.contenders import plain

    params, moments = (
        {"w": np.zeros(2, np.float32)},
        {kind: {"w": np.zeros(2, np.float32)} for kind in ("mean", "square")},
    )
    for count in (1, 2, 3):
        new, moments = plain.adam(
            params, {"w": np.float32(gradient)}, moments, jax.numpy.int32(count)
        )
        step.append(np.asarray(new["w"]) - np.asarray(params["w"]))
        params = new
    # a gradient that stays the same: both corrected moments are it and its square
    np.testing.assert_allclose(step, [-1e-3 * np.sign(gradient)] * 3, rtol=1e-4)


def test_the_train_state_of_plain_jax_has_the_leaves_of_ours():
    def shapes(name):
        leaves = jax.tree.leaves(set_up_once(name).fresh())
        return sorted((leaf.size, str(leaf.dtype)) for leaf in leaves)

    assert shapes("plain") == shapes("jit_update")
    assert len(shapes("plain_lean")) == len(shapes("plain")) - 2 * 2 * 2 - 1


@pytest.mark.parametrize("name", ["plain_lean", "jit_update", "scan_update", "hk.BatchNorm"])
def test_the_contenders_of_every_environment_make_the_same_steps(name, plain_losses):
    np.testing.assert_allclose(losses(set_up_once(name), STEPS), plain_losses, rtol=RTOL)


@pytest.mark.parametrize("name", NEEDS)
def test_the_peers_make_the_same_steps(name, plain_losses):
    pytest.importorskip(NEEDS[name], reason="it is not installed; the extra bench has it")
    try:
        contender = set_up_once(name)
    except NotInstalledError as error:
        pytest.skip(str(error))
    np.testing.assert_allclose(losses(contender, STEPS), plain_losses, rtol=RTOL)


@pytest.mark.parametrize("name", groups.MANY_DEVICES)
@pytest.mark.parametrize("devices", [1, 2])
def test_the_ways_make_the_same_steps(name, devices, plain_losses):
    contender = set_up(name, SMALL, devices=devices)
    np.testing.assert_allclose(losses(contender, STEPS), plain_losses, rtol=RTOL)
    assert devices_of(contender.fresh()) == devices
    bytes_of = contender.memory()
    assert bytes_of["argument"] > bytes_of["alias"] > 0.9 * bytes_of["output"]


def test_every_member_of_the_ensemble_makes_the_same_steps(plain_losses):
    contender = set_up_once("vmap_update")
    np.testing.assert_allclose(losses(contender, STEPS), plain_losses, rtol=RTOL)
    members = jax.tree.leaves(contender.fresh())
    assert {leaf.shape[0] for leaf in members} == {4}


def test_plain_jax_learns_its_batches():
    found = losses(set_up_once("plain"), 4 * STEPS)
    assert found[-1] < found[-1 - STEPS] < found[-1 - 2 * STEPS]


def test_a_missing_framework_is_named(monkeypatch):
    monkeypatch.setitem(CONTENDERS, "torch_eager", ("torch_eager", "setup"))
    monkeypatch.delitem(sys.modules, "benchmarks.contenders.torch_eager", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)  # what an import of it then says
    with pytest.raises(NotInstalledError, match=r"^torch is not installed$"):
        set_up("torch_eager", SMALL)


def test_a_mistake_in_a_contender_is_no_missing_framework(monkeypatch):
    monkeypatch.setitem(CONTENDERS, "wrong", ("no_such_file", "setup"))
    with pytest.raises(ModuleNotFoundError, match="no_such_file"):
        set_up("wrong", SMALL)


def test_every_repeat_trains_from_the_initial_params(plain_losses):
    answers = [repeat(set_up_once("jit_update"), STEPS) for _ in range(2)]
    assert answers[0]["loss"] == answers[1]["loss"] == pytest.approx(plain_losses[-1], rel=RTOL)
    assert all(answer["seconds"] > 0 for answer in answers)


def test_the_scanned_steps_meet_the_batches_in_the_same_order():
    stack = problem.stacked_batches(Size(4, 8, 2 * STEPS))
    for i in (0, 3, STEPS, 2 * STEPS - 1):
        for name, values in problem.batches(Size(4, 8, STEPS))[i % STEPS].items():
            np.testing.assert_array_equal(stack[name][i], values)


def test_each_contender_comes_first_equally_often():
    orders = [ratios.rotated(["a", "b", "c"], i) for i in range(6)]
    assert orders[:3] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    assert orders[3:] == orders[:3]


def test_the_repeats_are_interleaved():
    calls = []
    seconds = ratios.interleave(
        {name: lambda name=name: calls.append(name) or len(calls) for name in "ab"}, 3
    )
    assert "".join(calls) == "abbaab"
    assert seconds == {"a": [1, 4, 5], "b": [2, 3, 6]}


def test_the_ratio_is_taken_in_each_round():
    # the machine was three times as slow in the second round: the medians alone would say 3
    baseline, mine = [1.0, 3.0, 1.0], [2.0, 6.0, 3.0]
    assert ratios.paired(mine, baseline) == [2.0, 2.0, 3.0]
    result = groups.result(
        "steps", "32x32", "plain", {"plain": timed(baseline), "jit_update": timed(mine)}
    )
    assert result["contenders"]["jit_update"]["ratio"]["median"] == 2.0
    assert result["contenders"]["plain"]["ratio"] == dict.fromkeys(
        ("median", "min", "lower_quartile", "upper_quartile", "max"), 1.0
    )


def timed(seconds):
    return groups.entry(seconds, 1)


def test_the_summary_is_that_of_numpy():
    values = [5.0, 1.0, 4.0, 2.0, 8.0, 3.0]
    expected = np.quantile(values, [0.5, 0.0, 0.25, 0.75, 1.0])
    np.testing.assert_allclose(list(ratios.summary(values).values()), expected)
    assert set(ratios.summary([3.0]).values()) == {3.0}


def test_the_time_is_that_of_one_step():
    entry = groups.entry([2.0, 4.0, 3.0], 10)
    assert entry["seconds_per_step"] == [0.2, 0.4, 0.3]
    assert entry["per_step"]["median"] == pytest.approx(0.3)
    assert entry["steps"] == 10


class Clock:
    """A worker whose steps take as long as they are told to."""

    def __init__(self, seconds_per_step):
        self.seconds_per_step = seconds_per_step

    def ask(self, steps):
        return {"seconds": steps * self.seconds_per_step}


@pytest.mark.parametrize(("seconds_per_step", "steps"), [(0.001, 500), (0.0049, 110), (1.0, 10)])
def test_a_repeat_takes_about_the_time_that_was_asked_for(seconds_per_step, steps):
    assert groups.calibrate(Clock(seconds_per_step), 10, 0.5) == steps


def results(*ratio):
    contenders = {"plain": timed([1.0] * len(ratio)), "jit_update": timed(ratio)}
    return [groups.result("steps", "32x32", "plain", contenders)]


@pytest.mark.parametrize(
    ("limit", "ratios", "text"),
    [
        ({"at_most": 1.05}, [1.05], "is 1.050 (1.050 – 1.050), must be at most 1.05"),
        # one round of four keeps it, and so may the quiet machine have done
        (
            {"at_most": 1.05},
            [1.0, 1.04, 1.1, 1.2, 2.0],
            "is 1.100 (1.040 – 1.200), must be at most 1.05",
        ),
        (
            {"at_most": 1.05},
            [1.0, 1.25, 1.26, 1.3, 2.0],
            "is 1.260 (1.250 – 1.300), must be at most 1.05: "
            "beyond it by 0.200 in three of four rounds",
        ),
        ({"at_least": 2.0}, [2.0], "is 2.000 (2.000 – 2.000), must be at least 2.0"),
        (
            {"at_least": 2.0},
            [1.0, 1.4, 1.5, 1.75, 2.5],
            "is 1.500 (1.400 – 1.750), must be at least 2.0: "
            "beyond it by 0.250 in three of four rounds",
        ),
    ],
)
def test_a_limit_has_the_room_of_a_quartile_and_says_by_how_much_it_fails(limit, ratios, text):
    table = [Limit("steps", "jit_update", "plain", ("32x32",), **limit)]
    (found,) = limits.check(results(*ratios), table)
    assert found["holds"] is ("beyond" not in text)
    assert found["ratio"] == np.median(ratios)
    assert found["text"] == f"steps 32x32: jit_update / plain {text}"


def test_a_limit_can_be_against_another_than_the_baseline():
    contenders = {name: timed([s]) for name, s in (("plain", 1.0), ("a", 2.0), ("b", 6.0))}
    result = groups.result("steps", "32x32", "plain", contenders)
    (found,) = limits.check([result], [Limit("steps", "b", "a", ("32x32",), at_least=2)])
    assert found["ratio"] == 3.0


def test_a_limit_of_what_could_not_run_does_not_hold():
    contenders = {"plain": timed([1.0]), "equinox": {"missing": "equinox is not installed"}}
    result = groups.result("steps", "32x32", "plain", contenders)
    limit = Limit("steps", "equinox", "plain", ("32x32",), at_least=2)
    (found,) = limits.check([result], [limit])
    assert not found["holds"]
    assert found["text"] == "steps 32x32: equinox / plain: equinox is not installed"


def test_a_limit_of_what_was_not_asked_for_is_left_out():
    other = Limit("steps", "equinox", "plain", ("32x32",), at_least=2)
    elsewhere = Limit("steps", "jit_update", "plain", ("512x1024",), at_most=0)
    assert limits.check(results(1.0), [other, elsewhere]) == []


def test_the_limits_are_about_what_is_measured():
    for limit in limits.LIMITS:
        names = {"import": groups.IMPORTS, "cold": groups.COLD}.get(limit.group, CONTENDERS)
        assert limit.group in groups.GROUPS
        assert {limit.contender, limit.against} <= set(names)
        assert set(limit.sizes) <= {*problem.SIZES, ""}


IMPOSSIBLE = [Limit("steps", "jit_update", "plain", ("32x32",), at_most=0.0)]


def test_a_quick_run_writes_what_it_promises_and_a_broken_limit_fails_it(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(limits, "LIMITS", IMPOSSIBLE)
    path = tmp_path / "new" / "times.json"
    arguments = "steps --quick --check --sizes 32x32 --contenders plain jit_update --out"
    code = driver.main([*arguments.split(), str(path)])
    assert code == 1
    written = json.loads(path.read_text(encoding="utf-8"))
    assert set(written) == {
        "machine", "versions", "date", "options", "load", "results", "limits",
    }  # fmt: skip
    assert set(written["machine"]) == {
        "cpu", "cores", "cores_of_this_process", "memory_bytes", "os",
    }  # fmt: skip
    assert written["versions"]["jax"] == jax.__version__
    assert str(tmp_path) not in path.read_text(encoding="utf-8")
    (result,) = written["results"]
    assert (result["group"], result["size"], result["baseline"]) == ("steps", "32x32", "plain")
    assert list(result["contenders"]) == ["plain", "jit_update"]
    for values in result["contenders"].values():
        assert len(values["seconds_per_step"]) == written["options"]["rounds"] == 3
        assert values["per_step"]["min"] > 0
        assert values["devices"] == 1
    plain, ours = result["contenders"].values()
    assert plain["steps"] == ours["steps"]
    assert plain["last_loss"] == pytest.approx(ours["last_loss"], rel=1e-2)
    assert ours["ratio"]["median"] == pytest.approx(
        np.median(np.divide(ours["seconds_per_step"], plain["seconds_per_step"]))
    )
    printed = capsys.readouterr().out
    assert "jit_update" in printed
    assert "FAILS  steps 32x32: jit_update / plain is" in printed


def test_without_check_a_broken_limit_is_only_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(limits, "LIMITS", IMPOSSIBLE)
    monkeypatch.setitem(driver.GROUPS, "steps", lambda options: iter(results(1.0)))
    path = tmp_path / "times.json"
    assert driver.main(["steps", "--out", str(path)]) == 0
    assert "FAILS" in capsys.readouterr().out
    assert driver.main(["steps", "--check", "--out", str(path)]) == 1
    monkeypatch.setattr(limits, "LIMITS", [IMPOSSIBLE[0]._replace(at_most=1.0)])
    assert driver.main(["steps", "--check", "--out", str(path)]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "5"], "--rounds must be 7 at least"),
        (["speed"], "no such group: speed"),
    ],
)
def test_the_command_line_refuses(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        driver.main(arguments)
    assert message in capsys.readouterr().err


def test_the_table_shows_who_is_missing_and_what_was_needed():
    contenders = {
        "plain": {**timed([0.5, 0.5]), "memory_bytes": {"argument": 3 * 2**20, "peak": 2**30}},
        "torch_eager": {"missing": "torch is not installed"},
    }
    console = Console(file=io.StringIO(), width=160)
    report.print_result(groups.result("ways", "128x256", "plain", contenders), console)
    printed = console.file.getvalue()
    for words in ("ways 128x256", "500", "1.000", "3 MiB", "torch is not installed"):
        assert words in printed


def test_a_worker_that_dies_says_why():
    worker = processes.Worker("no such contender", SMALL)
    try:
        with pytest.raises(processes.WorkerError, match="KeyError: 'no such contender'"):
            _ = worker.ready
    finally:
        worker.close()


def test_a_worker_runs_on_the_devices_that_it_is_told():
    worker = processes.Worker("shard_update", SMALL, devices=2)
    try:
        assert worker.ready == {"devices": 2}
        assert worker.ask(steps=STEPS)["seconds"] > 0
        assert worker.ask(memory=True)["peak"] > 2**20
    finally:
        worker.close()


def test_an_import_is_timed_in_a_fresh_process():
    assert processes.seconds_to_import("json, decimal") > 0
    with pytest.raises(processes.WorkerError, match="ModuleNotFoundError"):
        processes.seconds_to_import("no_such_module")


@pytest.mark.usefixtures("standard_promotion")
def test_the_whole_programs_do_the_same():
    assert list(cold.PROGRAMS) == groups.COLD
    losses = [program() for program in cold.PROGRAMS.values()]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_the_environment_forces_the_devices_and_lets_bytecode_be_kept(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1 --xla_force_host_platform_device_count=8")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    values = processes.environment(2)
    assert values["XLA_FLAGS"] == "--xla_a=1 --xla_force_host_platform_device_count=2"
    assert "PYTHONDONTWRITEBYTECODE" not in values
