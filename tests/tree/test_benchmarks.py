"""The machinery of the benchmarks: all contenders compute the same, and a broken limit fails.

No times are judged here.
"""

import functools
import json

import jax
import numpy as np
import pytest
from tools.benchmarks import cold, driver, explained, groups, limits, problem, processes, ratios
from tools.benchmarks.contenders import CONTENDERS, set_up
from tools.benchmarks.limits import Limit
from tools.benchmarks.problem import NotInstalledError, Size
from tools.benchmarks.worker import devices_of

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = Size(batch=16, width=8, scan_steps=problem.NUM_BATCHES)
STEPS = problem.NUM_BATCHES
RTOL = 1e-5  # ten steps of float32, each framework with its own order of additions
IN_EVERY_SET = ["plain_lean", "jit_update", "scan_update", "vmap_update", "hk.BatchNorm"]
PEERS = ["nnx_jit", "nnx_cached", "nnx_partial", "linen", "equinox", "torch_one_thread"]


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


@functools.cache
def plain_losses():
    return losses(set_up("plain", SMALL), STEPS)


def reference(weights, batch):
    """The loss of NumPy in float64."""
    x = batch["inputs"].astype(np.float64)
    for w in weights[:-1]:
        x = x @ w.astype(np.float64)
        x = np.maximum((x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + problem.EPS), 0)
    logits = x @ weights[-1].astype(np.float64)
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -logs[np.arange(len(logs)), batch["targets"]].mean()


def test_benchmarks__plain_jax_computes_the_loss_of_numpy():
    expected = reference(problem.weights(SMALL), problem.batches(SMALL)[0])
    assert plain_losses()[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "name",
    ["jit_update", *(pytest.param(name, marks=pytest.mark.slow) for name in IN_EVERY_SET + PEERS)],
)
def test_benchmarks__the_contenders_make_the_same_steps(name):
    try:
        contender = set_up(name, SMALL)
    except NotInstalledError as error:
        pytest.skip(str(error))
    np.testing.assert_allclose(losses(contender, STEPS), plain_losses(), rtol=RTOL)


@pytest.mark.slow
@pytest.mark.parametrize("name", groups.MANY_DEVICES)
def test_benchmarks__the_ways_make_the_same_steps(name):
    contender = set_up(name, SMALL, devices=2)
    np.testing.assert_allclose(losses(contender, STEPS), plain_losses(), rtol=RTOL)
    assert devices_of(contender.fresh()) == 2
    bytes_of = contender.memory()
    assert bytes_of["argument"] > bytes_of["alias"] > 0.9 * bytes_of["output"]


@pytest.mark.slow
def test_benchmarks__the_whole_programs_do_the_same():
    assert list(cold.PROGRAMS) == groups.COLD
    first, second, *_ = [program() for program in cold.PROGRAMS.values()]
    assert first == pytest.approx(second, rel=1e-6)


def test_benchmarks__repeats_are_interleaved_and_the_ratio_is_taken_in_each_round():
    calls = []
    seconds = ratios.interleave(
        {name: lambda name=name: calls.append(name) or len(calls) for name in "ab"}, 3
    )
    assert "".join(calls) == "abbaab"
    assert seconds == {"a": [1, 4, 5], "b": [2, 3, 6]}
    # the machine was three times as slow in the second round: the medians alone would say 3
    assert ratios.paired([2.0, 6.0, 3.0], [1.0, 3.0, 1.0]) == [2.0, 2.0, 3.0]


def results(*ratio):
    contenders = {"plain": groups.entry([1.0] * len(ratio), 1)}
    contenders |= {"jit_update": groups.entry(ratio, 1), "equinox": {"missing": "not installed"}}
    return [groups.result("steps", "32x32", "plain", contenders)]


@pytest.mark.parametrize(
    ("contender", "measured", "text"),
    [
        # one round of four keeps it, and so may the quiet machine have done
        (
            "jit_update",
            [1.0, 1.04, 1.1, 1.2, 2.0],
            "is 1.100 (1.040 – 1.200), must be at most 1.05",
        ),
        (
            "jit_update",
            [1.0, 1.25, 1.26, 1.3, 2.0],
            "is 1.260 (1.250 – 1.300), must be at most 1.05: "
            "beyond it by 0.200 in three of four rounds",
        ),
        ("equinox", [1.0], "not installed"),
    ],
)
def test_benchmarks__a_limit_has_the_room_of_a_quartile_and_says_by_how_much_it_fails(
    contender, measured, text
):
    limit = Limit("steps", contender, "plain", ("32x32",), at_most=1.05)
    (found,) = limits.check(results(*measured), [limit])
    assert found["holds"] is text.endswith("at most 1.05")
    assert found["text"].endswith(text)


def test_benchmarks__the_limits_are_about_what_is_measured():
    for limit in limits.LIMITS:
        others = {"import": groups.IMPORTS, "cold": groups.COLD, "checkpoints": groups.CHECKPOINTS}
        others["explain"] = ["trace", "explain"]
        names = others.get(limit.group, CONTENDERS)
        assert limit.group in groups.GROUPS
        assert {limit.contender, limit.against} <= set(names)
        made = {make.__name__ for make in explained.FUNCTIONS}
        kinds = {f"{call} {numbers}" for call in ("save", "restore") for numbers in groups.NUMBERS}
        assert set(limit.sizes) <= {*problem.SIZES, "", *kinds, *made}


@pytest.mark.slow
def test_benchmarks__a_quick_run_writes_what_it_promises_and_a_broken_limit_fails_it(
    tmp_path, monkeypatch, capsys
):
    impossible = Limit("steps", "jit_update", "plain", ("32x32",), at_most=0.0)
    monkeypatch.setattr(limits, "LIMITS", [impossible])
    path = tmp_path / "new" / "times.json"
    arguments = "steps --quick --check --sizes 32x32 --contenders plain jit_update --out"
    assert driver.main([*arguments.split(), str(path)]) == 1
    assert "FAILS  steps 32x32: jit_update / plain is" in capsys.readouterr().out
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["versions"]["jax"] == jax.__version__
    assert str(tmp_path) not in path.read_text(encoding="utf-8")
    plain, ours = written["results"][0]["contenders"].values()
    assert plain["last_loss"] == pytest.approx(ours["last_loss"], rel=1e-2)
    assert ours["ratio"]["median"] == pytest.approx(
        np.median(np.divide(ours["seconds_per_step"], plain["seconds_per_step"]))
    )


def test_benchmarks__a_worker_that_dies_says_why():
    worker = processes.Worker("no such contender", SMALL)
    try:
        with pytest.raises(processes.WorkerError, match="KeyError: 'no such contender'"):
            _ = worker.ready
    finally:
        worker.close()
