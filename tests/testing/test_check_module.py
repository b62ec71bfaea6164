"""A law that no module breaks tests nothing: each is broken here, by a module made for it."""

import itertools
import unittest
from pathlib import Path

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import haiku_state as hs
from haiku_state.errors import ArgumentError, BrokenLawError
from haiku_state.errors.language import reading
from haiku_state.testing import LawReport, check_module, laws_of
from haiku_state.testing.laws import LAWS as STATEMENTS

X = jnp.asarray(np.random.default_rng(0).normal(3, 2, (8, 6)), jnp.float32)
LAWS = [str(law) for law in laws_of(lambda: hs.Counter()())]


@pytest.fixture(autouse=True)
def _as_users_promote():
    """The tests' strict promotion rejects a module that takes another dtype than its state's."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def state(name, value, dtype=jnp.float32):
    return hk.get_state(name, jnp.shape(value), dtype, init=lambda *_: jnp.asarray(value, dtype))


def numbered():
    """A function whose init gives another number each time."""
    numbers = iter(range(1000))

    def make(x):
        state("start", next(numbers) if hk.running_init() else 0.0)
        return x

    return make


def counting():
    """A function that counts its calls where Haiku does not know, and returns what is pure."""
    calls = []

    def make(x):
        calls.append(len(calls))
        return x + len(calls)

    return make


def widening(x):
    count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
    hk.set_state("count", (count + 1).astype(jnp.float32) if not hk.running_init() else count)
    return x


def branching(x):
    return x if x.sum() > 0 else -x


def frozen(x):
    """What is read at the time of tracing is a constant of the compiled program."""
    frozen.scale += 1.0 if isinstance(x, jax.core.Tracer) else 0.0
    return x * frozen.scale


frozen.scale = 1.0


def mixing(x, is_training):
    return x if is_training else x - x.mean(0, keepdims=True)


def dropping(x, is_training):
    return jnp.where(jax.random.bernoulli(hk.next_rng_key(), 0.5, x.shape), x, 0.0)


def counting_in_evaluation(x, is_training):
    hk.set_state("count", state("count", 0.0) + 1.0)
    return x


def averaging(x, is_training):
    average = state("average", jnp.zeros((1, x.shape[1])))
    if is_training:
        mean = x.mean(0, keepdims=True, dtype=jnp.float32)
        hk.set_state("average", 0.9 * average + 0.1 * mean)
    return x - average


def halved(x):
    hk.set_state("sum", hk.get_state("sum", x.shape, x.dtype, init=jnp.zeros) + x)
    return x


def rounded(x):
    """A mean in half precision, whatever the precision of what it is computed from."""
    mean = hk.get_state("mean", x.shape, jnp.bfloat16, init=jnp.zeros)
    hk.set_state("mean", (0.9 * mean.astype(jnp.float32) + 0.1 * x).astype(jnp.bfloat16))
    return x


def beginning_with_the_first(x):
    """An average in half precision from the second call on: the first one stores the inputs."""
    count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
    mean = hk.get_state("mean", x.shape, x.dtype, init=jnp.zeros)
    hk.set_state("count", count + 1)
    hk.set_state("mean", jnp.where(count == 0, x, mean + (x - mean) / 4))
    return x


def slow(x):
    """In bfloat16, this average stays at 1: what is added is lost in rounding."""
    mean = hk.get_state("mean", x.shape, x.dtype, init=jnp.ones)
    hk.set_state("mean", jnp.asarray(0.9999, x.dtype) * mean + jnp.asarray(1e-4, x.dtype) * x)
    return x


def greatest(x):
    most = hk.get_state("most", x.shape, x.dtype, init=lambda *a: -3 * jnp.ones(*a))
    hk.set_state("most", jnp.maximum(most, jnp.tanh(x)))
    return x


def storing(x):
    """The last two results, in the precision of the inputs: no error of one is in the next."""
    count = state("count", 0.0) + 1
    hk.set_state("count", count)
    last = hk.get_state("last", (2, *x.shape), x.dtype, init=jnp.zeros)
    hk.set_state("last", jnp.stack([(x * count).astype(x.dtype), last[0]]))
    return x


def square_root(x):
    w = hk.get_parameter("w", (), init=hk.initializers.Constant(0.0))
    return x * jnp.sqrt(jnp.maximum(w, 0.0))


def one_pass(x):
    mean = x.mean(0, keepdims=True)
    return (x - mean) / jnp.sqrt((x**2).mean(0, keepdims=True) - mean**2)


def leaking():
    seen = []

    def make(x):
        seen.append(x)
        return x

    return make


def per_row(x):
    """What vmap cannot see in the row that it maps over."""
    return jnp.where(hk.running_init(), x, x * (1 if np.ndim(x) == 2 else 0)) + _mapped(x)


def _mapped(x):
    return float("Batch" in type(x).__name__)


def scanned(x):
    """Another number for each call that is not traced by a scan."""
    hk.set_state("a", state("a", 0.0) + (1.0 if isinstance(x, jax.core.Tracer) else 2.0))
    return x


BREAKS = {
    "init_is_deterministic": numbered(),
    "apply_is_deterministic": counting(),
    "state_keeps_its_type": widening,
    "jit_equals_eager": branching,
    "scan_equals_loop": scanned,
    "vmap_equals_loop": per_row,
    "gradient_is_finite": square_root,
    "no_tracer_is_left": leaking(),
    "evaluation_keeps_state": counting_in_evaluation,
    "evaluation_ignores_the_key": dropping,
    "examples_are_independent": mixing,
    "devices_agree": averaging,
    "state_stays_float32": halved,
    "far_from_zero_is_finite": one_pass,
}


def outcomes(make, *inputs, **options):
    report = check_module(make, *inputs, **options)
    assert all(map(str, report.results))  # what is said has all its parts
    return {r.name: r.outcome for r in report.results}


def said(make, *inputs, **options):
    return {r.name: str(r) for r in check_module(make, *inputs, **options).results}


@pytest.mark.parametrize("name", BREAKS)
def test_check_module__each_law_is_broken_by_a_module(name):
    assert outcomes(BREAKS[name], X)[name] == "broken"


def test_check_module__every_law_but_saving_has_a_module_that_breaks_it():
    assert {*LAWS} - {*BREAKS} == {"saving_keeps_everything"}


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("evaluation_keeps_state", {"evaluation_keeps_state"}),
        ("examples_are_independent", {"examples_are_independent"}),
        ("devices_agree", {"devices_agree"}),
        ("state_stays_float32", {"state_stays_float32"}),
        ("no_tracer_is_left", {"no_tracer_is_left"}),
        ("gradient_is_finite", {"gradient_is_finite"}),
    ],
)
def test_check_module__a_defect_breaks_its_own_law_alone(name, broken):
    found = outcomes(BREAKS[name], X)
    assert {law for law, outcome in found.items() if outcome == "broken"} == broken


def listing(x):
    return [x] if isinstance(x, jax.core.Tracer) else (x,)


def only_traced(x):
    return {"x": x, **({"n": x} if isinstance(x, jax.core.Tracer) else {})}


def only_eager(x):
    return {"x": x, **({} if isinstance(x, jax.core.Tracer) else {"n": x})}


@pytest.mark.parametrize(
    ("make", "law", "what"),
    [
        (widening, "state_keeps_its_type", "state['~']['count']: int32[] → float32[]"),
        (listing, "jit_equals_eager", "call 1: output: the two results have different structures"),
        (only_traced, "jit_equals_eager", "call 1: output['n'] is only in one of the two results"),
        (only_eager, "jit_equals_eager", "call 1: output['n'] is only in one of the two results"),
        (square_root, "gradient_is_finite", "gradient['~']['w'] is not finite"),
        (halved, "state_stays_float32", "state['~']['sum']: bfloat16"),
    ],
)
def test_check_module__what_broke_the_law_is_named(make, law, what):
    assert said(make, X)[law].partition(": ")[2] == what


def test_check_module__saving_is_broken_by_what_is_not_saved(monkeypatch):
    monkeypatch.setattr("haiku_state.testing.laws.load_numpy", lambda _path: {"params": {}})
    make = BREAKS["devices_agree"]
    assert outcomes(make, X)["saving_keeps_everything"] == "broken"


def shared(x, is_training):
    return hs.BatchNorm(True, True, 0.9, cross_replica_axis="i")(x, is_training)


def test_check_module__state_of_half_precision_matters_where_it_is_computed_from_itself():
    assert outcomes(rounded, X)["state_stays_float32"] == "broken"
    assert outcomes(storing, X)["state_stays_float32"] == "kept"
    assert outcomes(beginning_with_the_first, X)["state_stays_float32"] == "broken"
    assert outcomes(slow, X)["state_stays_float32"] == "broken"
    assert outcomes(greatest, X)["state_stays_float32"] == "kept"


@pytest.mark.parametrize("function", [jnp.exp, jnp.log1p, jnp.arccos, lambda x: x**20])
def test_check_module__what_is_not_defined_far_from_zero_is_not_blamed(function):
    x = X / (10 * jnp.abs(X).max())
    assert outcomes(lambda x: function(x), x)["far_from_zero_is_finite"] == "skipped"


def test_check_module__a_softmax_without_its_maximum_overflows():
    def softmax(x):
        return jnp.exp(x) / jnp.exp(x).sum(1, keepdims=True)

    assert outcomes(softmax, X)["far_from_zero_is_finite"] == "broken"
    assert outcomes(jax.nn.softmax, X)["far_from_zero_is_finite"] == "kept"


def test_check_module__an_axis_is_bound_in_every_law():
    assert set(outcomes(shared, X, axis_name="i").values()) == {"kept"}
    with pytest.raises(ZeroDivisionError):  # what a plain call raises is no law
        check_module(lambda x: 1 / 0, X)


def shared_haiku(x, is_training):
    return hk.BatchNorm(True, True, 0.9, cross_replica_axis="i")(x, is_training)


@pytest.mark.parametrize("make", [shared, shared_haiku])
@pytest.mark.parametrize("options", [{}, {"axis_name": "j"}])
def test_check_module__an_axis_without_its_name_is_named(make, options):
    with pytest.raises(ArgumentError, match=r"axis_name is .*, but it must be 'i'") as caught:
        check_module(make, X, **options)
    right = caught.value.values["expected"]
    assert "devices_agree" not in [
        result.name for result in check_module(make, X, axis_name=eval(right)).broken
    ]


def only_in_evaluation(x, is_training):
    return x if is_training else jax.lax.pmean(x.mean(), "i")


def of_two_axes(x, is_training):
    return jax.lax.pmean(jax.lax.pmean(x, "i"), "j")


def of_both_axes(x, is_training):
    return hs.BatchNorm(True, True, 0.9, cross_replica_axis=("i", "j"))(x, is_training)


def test_check_module__an_axis_that_evaluation_alone_uses_is_bound():
    assert "broken" not in outcomes(only_in_evaluation, X, axis_name="i").values()


def of_another_axis_in_evaluation(x, is_training):
    return jax.lax.pmean(x, "i" if is_training else "j")


@pytest.mark.parametrize("make", [of_two_axes, of_both_axes, of_another_axis_in_evaluation])
@pytest.mark.parametrize("axis_name", [None, "i", "j"])
def test_check_module__a_module_of_two_axes_is_refused(make, axis_name):
    with pytest.raises(ArgumentError, match="a module that uses at most one device axis"):
        check_module(make, X, axis_name=axis_name)


def test_check_module__without_evaluation_devices_are_tried_where_rows_are_examples():
    def make(x):
        return averaging(x, True)

    law = laws_of(make, X)[LAWS.index("devices_agree")]
    assert 'pass `axis_name="devices"`' in law.result().what.shown()
    assert outcomes(make, X, axis_name="devices")["devices_agree"] == "broken"


def test_check_module__a_class_with_a_flag_in_its_call():
    class Averaging(hk.Module):
        def __call__(self, x, is_training):
            return averaging(x, is_training)

    assert outcomes(Averaging, X)["devices_agree"] == "broken"


def test_check_module__a_pair_that_is_no_transform_is_called_with_its_flag():
    def apply(params, state, rng, x, is_training):
        return x, {"n": {"n": state["n"]["n"] + is_training}}

    def init(rng, x, is_training):
        return {}, {"n": {"n": jnp.int32(0)}}

    assert outcomes((init, apply), X)["evaluation_keeps_state"] == "kept"


@pytest.mark.parametrize("split", [jax.random.split, lambda key, n: np.ones((n, 2), np.uint32)])
def test_check_module__rows_may_have_keys_of_their_own(split):
    def make(x, keys, is_training):
        return x - x.mean(0, keepdims=True)

    for count in (8, 2):
        found = outcomes(make, X[:count], split(jax.random.key(1), count))
        assert found["examples_are_independent"] == "broken"
    of_all = split(jax.random.key(1), 8)[0]
    results = {result.name: result for result in check_module(make, X[:2], of_all).results}
    assert "one random key for all" in results["examples_are_independent"].what.shown()


def positioned(x, is_training):
    return x + hk.get_parameter("positions", x.shape, init=jnp.zeros)


def sampled(x, is_training):
    return x + jax.random.normal(hk.next_rng_key(), x.shape)


def quantized(x):
    """Integers that one rounding moves: those of two programs need not be equal."""
    numbers = (x * 1e6 % 100).astype(jnp.int8)
    return numbers + isinstance(x, jax.core.Tracer)


def listing_rows(x, is_training):
    return list(x)


def as_many_as_halves(x, is_training):
    return x if len(x) == 8 else [x]


def of_eight_rows(x, is_training):
    hs.Counter()()
    return hk.LSTM(5)(x, hk.LSTM(5).initial_state(8))[0]


NUMBERS = itertools.count(1)


def numbering(x, is_training):
    return x if is_training else x * next(NUMBERS)


def last_mean(x):
    if not hk.running_init():
        hk.set_state("last", x.sum())
    return 2 * x


def counting_rows(x):
    hk.set_state("largest", jnp.maximum(state("largest", 0.0), jnp.exp(x).max()))
    return len(x)


def with_colon(x):
    return x * hk.get_parameter("w:0", (1, 6), init=jnp.ones)


def small_head(x):
    return jnp.exp(hk.Linear(2, w_init=hk.initializers.Constant(4e-4))(jnp.tile(x, 5)))


def with_key(x):
    hk.set_state("key", jax.random.key(3))
    return x


@pytest.mark.parametrize(
    ("make", "law", "reason"),
    [
        (positioned, "examples_are_independent", "depends on the number of rows"),
        (sampled, "examples_are_independent", "in evaluation is random"),
        (listing_rows, "examples_are_independent", "structure of the output depends"),
        (as_many_as_halves, "examples_are_independent", "structure of the output depends"),
        (dropping, "devices_agree", "there is no state"),
        (quantized, "jit_equals_eager", "rounding alone changes"),
        (small_head, "far_from_zero_is_finite", "the output changes if"),
        (branching, "no_tracer_is_left", "see jit_equals_eager"),
        (with_key, "saving_keeps_everything", "is a random key, but it must be an array"),
        (with_colon, "saving_keeps_everything", "under names without a colon"),
        (of_eight_rows, "examples_are_independent", "does not take fewer rows"),
        (of_eight_rows, "devices_agree", "does not take fewer rows"),
        (numbering, "evaluation_ignores_the_key", "see apply_is_deterministic"),
        (numbering, "examples_are_independent", "see apply_is_deterministic"),
        (last_mean, "vmap_equals_loop", "see state_keeps_its_type"),
        (counting_rows, "far_from_zero_is_finite", "no output is a floating-point number"),
    ],
)
def test_check_module__a_law_that_says_nothing_of_a_module_tells_the_reason(make, law, reason):
    result = next(each for each in check_module(make, X).results if each.name == law)
    assert (result.outcome, reason in result.what.shown()) == ("skipped", True), result


@pytest.mark.parametrize(
    ("changes", "laws"),
    [
        (True, {"apply_is_deterministic"}),
        (False, {"apply_is_deterministic", "evaluation_keeps_state"}),
    ],
)
def test_check_module__state_that_is_changed_in_place_breaks_its_laws(changes, laws):
    def make(x, is_training):
        count = hk.get_state("count", (), jnp.int32, init=lambda *_: {"n": jnp.int32(0)})
        if is_training == changes and not hk.running_init():
            count["n"] = count["n"] + 1
        return x

    found = outcomes(make, X)
    assert {name for name, outcome in found.items() if outcome == "broken"} == laws


def test_check_module__a_constant_cannot_be_mapped():
    assert said(lambda: jnp.float32(1))["vmap_equals_loop"] == (
        "– vmap_equals_loop: there are no inputs and there is no state"
    )


def test_check_module__a_hidden_input_that_only_evaluation_reads():
    found = outcomes(numbering, X)
    assert {name for name, each in found.items() if each == "broken"} == {
        "apply_is_deterministic",
        "jit_equals_eager",
    }


def test_check_module__a_state_that_apply_deletes_breaks_one_law():
    apply = jax.jit(
        lambda params, state, key, x: (x * 2, {"n": state["n"] + x.mean(0)}),
        donate_argnums=1,
    )
    found = outcomes((lambda key, x: ({}, {"n": jnp.zeros(6)}), apply), X)
    assert {name for name, each in found.items() if each == "broken"} == {"apply_is_deterministic"}


@pytest.mark.parametrize("key", [42, np.int64(42)])
def test_check_module__the_key_may_be_a_seed(key):
    assert "broken" not in outcomes(dropping, X, exclude=["evaluation_ignores_the_key"], key=key)


def test_check_module__one_of_the_two_flags_may_be_given():
    for flags in ({"train": {"is_training": True}}, {"evaluation": {"is_training": False}}):
        assert said(averaging, X, **flags) == said(averaging, X)


def test_check_module__a_state_that_evaluation_hardly_changes_is_not_kept():
    def make(x, is_training):
        hk.set_state("sum", state("sum", 0.0) + (1.0 if is_training else 1e-6))
        return x

    assert outcomes(make, X)["evaluation_keeps_state"] == "broken"


def test_check_module__a_choice_that_only_evaluation_makes():
    def make(x, is_training):
        return x if is_training or x.mean() > 0 else -x

    assert outcomes(make, X)["jit_equals_eager"] == "broken"


def test_check_module__a_tracer_that_evaluation_alone_leaves():
    seen = []

    def make(x, is_training):
        return x if is_training else seen.append(x) or x

    assert outcomes(make, X)["no_tracer_is_left"] == "broken"


def test_check_module__an_axis_that_is_not_used_is_bound_where_devices_are_tried_alone():
    found = outcomes(lambda x: branching(averaging(x, True)), X, axis_name="devices")
    assert found["apply_is_deterministic"] == "kept"
    assert found["devices_agree"] == "broken"


def test_check_module__the_key_of_the_calls_can_be_given():
    def make(x):
        key = hk.get_state("key", (2,), jnp.uint32, init=jnp.zeros)
        hk.set_state("key", hk.next_rng_key())
        return x + key[0].astype(jnp.float32) * 0

    assert outcomes(make, X)["state_keeps_its_type"] == "broken"
    draws = said(sampled, X)  # of which the report names a number
    assert draws == said(sampled, X, key=jax.random.key(0))
    assert draws != said(sampled, X, key=jax.random.key(1))
    with jax.legacy_prng_key("allow"):
        assert outcomes(make, X, key=jax.random.PRNGKey(0))["state_keeps_its_type"] == "kept"


def test_check_module__means_over_devices_of_other_parts_are_seen():
    """An axis alone is not enough: the mean of a nonlinear statistic is not that of the batch."""

    def make(x, is_training):
        top = jax.lax.pmean(x.max(0, keepdims=True), "i")
        average = state("top", jnp.zeros((1, x.shape[1])))
        if is_training:
            hk.set_state("top", top)
        return x - average

    assert outcomes(make, X, axis_name="i")["devices_agree"] == "broken"


def test_check_module__one_state_a_device_may_be_meant():
    found = outcomes(BREAKS["devices_agree"], X, is_per_device=True)
    assert found["devices_agree"] == "skipped"


def test_check_module__flags_of_other_names():
    def make(x, mode):
        return mixing(x, mode == "train")

    flags = {"train": {"mode": "train"}, "evaluation": {"mode": "test"}}
    assert outcomes(make, X, **flags)["examples_are_independent"] == "broken"


def test_check_module__a_pair_and_a_random_module():
    def make(x, is_training):
        kept = jax.random.bernoulli(hk.next_rng_key(), 0.5 if is_training else 1.0, x.shape)
        return jnp.where(kept, x, 0.0)

    pair = hk.transform_with_state(make)
    flags = {"train": {"is_training": True}, "evaluation": {"is_training": False}}
    for each, options in ((make, {}), (pair, flags)):
        found = outcomes(each, X, **options)
        assert "broken" not in found.values()


def test_check_module__no_inputs_keys_and_dicts_as_inputs():
    def draw(inputs):
        return {"noise": jax.random.normal(inputs["key"], (3,)), "count": hs.Counter()()}

    assert "broken" not in outcomes(lambda: hs.Counter()()).values()
    assert "broken" not in outcomes(draw, {"key": jax.random.key(1)}).values()


def test_check_module__what_rounding_may_do_is_measured_on_the_module():
    """A deep product multiplies its rounding: 1e-5 alone would call jit wrong."""
    rng = np.random.default_rng(1)
    factors = jnp.asarray(rng.normal(0, 1, (40, 6, 6)) / np.sqrt(6), jnp.float32)

    def make(x):
        for factor in factors:
            x = 3 * jnp.tanh(x @ factor)
        return x

    found = outcomes(make, X)
    assert found["jit_equals_eager"] == found["vmap_equals_loop"] == "kept"


def assigning(batch):
    batch["x"] = batch["x"] * 2
    return batch["x"]


def popping(batch):
    return batch.pop("y") + batch["x"]


def nudging(x):
    if isinstance(x, np.ndarray):
        x *= np.float32(1 + 1e-6)
    return jnp.maximum(x, 0)


def in_place(x):
    if isinstance(x, np.ndarray):
        x[x < 0] = 0
    return jnp.maximum(x, 0)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (assigning, {"x": X}),
        (popping, {"x": X, "y": X}),
        (in_place, np.array(X) - 3),
        (nudging, np.array(X)),
    ],
)
def test_check_module__a_changed_argument_is_seen_and_the_callers_is_not_changed(make, given):
    before = jax.tree.map(np.array, given)
    assert outcomes(make, given)["apply_is_deterministic"] == "broken"
    jax.tree.map(np.testing.assert_array_equal, given, before)


def centered(x, is_training):
    """What depends on the batch in evaluation, behind a dropout in training."""
    kept = jax.random.bernoulli(hk.next_rng_key(), 0.5 if is_training else 1.0, x.shape)
    return jnp.where(kept, x, 0.0) - x.mean(0, keepdims=True)


def cumulative(x, is_training):
    """What depends on earlier rows: the first half alone does not show it."""
    return jnp.cumsum(x, 0)


def ghost(x, is_training):
    """What mixes pairs of rows, which are not torn apart by halves."""
    pairs = x.reshape(len(x) // 2, 2, -1) if len(x) % 2 == 0 else x[None]
    return (pairs - pairs.mean(1, keepdims=True)).reshape(x.shape)


@pytest.mark.parametrize("make", [centered, cumulative, ghost])
def test_check_module__other_ways_to_depend_on_the_batch(make):
    assert outcomes(make, X)["examples_are_independent"] == "broken"


def half_precision(x):
    """What computes in bfloat16 between a float32 input and a float32 output."""
    y = x.astype(jnp.bfloat16)
    y = jax.nn.gelu(y * 1.7 + 0.3) * jax.nn.sigmoid(y)
    return jnp.tanh(y * y + y).astype(jnp.float32)


def loss(x, is_training):
    return {"loss": jnp.mean(x**2), "weights": hk.get_parameter("w", [8], init=jnp.ones)}


def recurrent(x, is_training):
    last = state("last", jnp.zeros(x.shape))
    if is_training:
        hk.set_state("last", 0.9 * last + x)
    return x + last


def nested(x):
    kept = hk.get_state("kept", (), init=lambda *_: {"n": jnp.zeros([])})
    hk.set_state("kept", {"n": kept["n"] + 1})
    return x + kept["n"]


def of_float32_only(x):
    w = hk.get_parameter("w", [1, 1, 1], jnp.float32, init=jnp.ones)
    return jax.lax.conv_general_dilated(x[:, None, :], w, (1,), "SAME")[:, 0] + state("s", 0.0)


def with_integer_param(x):
    count = hk.get_parameter("t", [1, 6], jnp.int32, init=jnp.ones)
    return x * hk.get_parameter("w", [1, 6], init=jnp.ones) + count


def complex_product(z):
    return jnp.tanh(z @ jnp.ones((6, 5), jnp.complex64) * 0.123) * z.mean()


def scaled(x, factor):
    return hk.Linear(3)(x) * factor


def keyed(x, key, is_training):
    return x + (jnp.asarray(key[0], jnp.float32) if is_training else 0.0)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (half_precision, (X,)),
        (loss, (X,)),
        (recurrent, (X,)),
        (nested, (X,)),
        (of_float32_only, (X,)),
        (with_integer_param, (X,)),
        (complex_product, (jax.lax.complex(X, X),)),
        (scaled, (X, 0.5)),
        (keyed, (X[:2], np.array([0, 7], np.uint32))),
        (hs.Counter, ()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_check_module__what_is_right_breaks_no_law(make, inputs):
    found = check_module(make, *inputs)
    assert not found.broken, found


@pytest.fixture
def _x64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.usefixtures("_x64")
@pytest.mark.parametrize("dtype", ["float8_e5m2", "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("wrong", [0.0, 1.0])
def test_check_module__rounding_is_measured_in_each_precision(dtype, wrong):
    """One rounding grows by a factor of 4 a step, and the steps stop far below 1."""
    bits = float(jnp.finfo(dtype).eps)
    steps = int(np.log(1e-3 / bits) / np.log(4))

    def make(x):
        y = jax.nn.sigmoid(x)
        for _ in range(steps):
            y = 4 * y * (1 - y)
        return y + jnp.asarray(wrong * isinstance(x, jax.core.Tracer), x.dtype)

    assert outcomes(make, jnp.asarray(X, dtype))["jit_equals_eager"] == (
        "broken" if wrong else "kept"
    )


@pytest.mark.parametrize(("scale", "outcome"), [(1.07, "broken"), (1.0, "kept")])
def test_check_module__float16_is_more_precise_than_bfloat16(scale, outcome):
    def make(x):
        return hk.LayerNorm(-1, False, False)(x) * (
            scale if isinstance(x, jax.core.Tracer) else 1.0
        )

    assert outcomes(make, X.astype(jnp.float16))["jit_equals_eager"] == outcome


def test_check_module__rounding_grows_from_call_to_call():
    """Against float64, the loop and the scan of this reservoir are equally far off."""
    matrix = jnp.asarray(np.random.default_rng(0).normal(0, 1, (32, 32)), jnp.float32)

    def reservoir(x):
        h = hk.get_state("h", (32,), init=hk.initializers.RandomUniform())
        for _ in range(5):
            h = jnp.tanh(matrix @ h)
        hk.set_state("h", h)
        return x

    assert "broken" not in outcomes(reservoir, X).values()


def test_check_module__a_chaotic_module_is_not_judged():
    def make(x):
        y = jax.nn.sigmoid(x)
        for _ in range(40):
            y = 3.99 * y * (1 - y)
        return y if isinstance(x, jax.core.Tracer) else y * 0.5

    assert outcomes(make, X)["jit_equals_eager"] == "skipped"


def test_check_module__a_narrow_counter_is_seen_without_floating_inputs():
    def make(x):
        hk.set_state("count", state("count", 0.0, jnp.float16) + jnp.float16(1))
        return x

    assert outcomes(make, jnp.arange(8))["state_stays_float32"] == "broken"


def test_check_module__a_leak_is_told_once_and_by_the_name_of_what_holds_it():
    report = {r.name: str(r) for r in check_module(LEAKING_AND_READING, X).broken}
    assert "a tracer remains, referred to by" in report.pop("no_tracer_is_left")
    assert set(report.values()) == {
        f"✗ {name}: a tracer of an earlier call is used: see no_tracer_is_left" for name in report
    }


HELD = []


def LEAKING_AND_READING(x):  # noqa: N802
    HELD.append(x)
    return x + HELD[0]


@pytest.mark.parametrize(
    ("make", "inputs", "options", "says"),
    [
        (hk.transform(lambda x: x), (X,), {}, "make is Transformed"),
        (hk.without_apply_rng(hk.transform_with_state(averaging)), (X,), {}, "make is Transformed"),
        (X, (X,), {}, "make is Array"),
        (averaging, (X, True), {}, "an input is True, but it must be an array"),
        (averaging, (X, "relu"), {}, "an input is 'relu'"),
        (averaging, (X,), {"train": True}, "train is True"),
        (
            lambda x: {"loss": x, "name": "net"},
            (X,),
            {},
            r"output\['name'\] is str, but it must be an array of numbers",
        ),
        (lambda x, is_training: x if is_training else "x", (X,), {}, "output is str"),
        (
            (lambda rng, x: ({"kind": "net"}, {}), lambda params, state, rng, x: (x, state)),
            (X,),
            {},
            r"params\['kind'\] is str",
        ),
        (averaging, (X,), {"axis_name": ["i"]}, r"axis_name is \['i'\], but it must be a name"),
        ((lambda key, x: {"w": x, "b": x}, lambda w, s, key, x: (x, s)), (X,), {}, "make is"),
        ((lambda key, x: ({}, {}), lambda w, s, key, x: x), (X,), {}, "make is"),
        ((lambda key, x: ({}, {}), lambda w, s, key, x: (x, s, s)), (X,), {}, "make is"),
        (lambda x: np.array(["a"]), (X,), {}, "output is <U1"),
        (lambda x: 1.0, (np.array(["a"]),), {}, "an input is array"),
    ],
)
def test_check_module__misuse_is_named(make, inputs, options, says):
    with pytest.raises(ArgumentError, match=says):
        check_module(make, *inputs, **options)


def test_lawreport__one_line_a_law_with_the_page_of_a_broken_one():
    report = check_module(BREAKS["devices_agree"], X)
    head, *lines = str(report).splitlines()
    assert head == "`averaging`: laws kept: 12, broken: 1, not applicable: 2"
    at = next(i for i, line in enumerate(lines) if "devices_agree" in line)
    assert lines[at].startswith("  ✗ devices_agree: state['~']['average']: 0.10866 and")
    assert lines[at + 2] == "    python -m haiku_state read update/meshes"
    assert len(lines) == len(LAWS) + 3
    meant = lines[-1].partition("exclude=")[2]
    assert not check_module(BREAKS["devices_agree"], X, exclude=eval(meant)).broken
    html = report._repr_html_()
    assert html.count("<tr>") == 2 * len(LAWS)  # in both languages
    assert "broken" in html
    assert "违反" in html
    assert html.count("read update/meshes") == 2


def test_lawreport__what_an_error_says_after_a_colon_is_there():
    found = said(widening, X)["scan_equals_loop"]
    assert "int32" in found
    assert "float32" in found


def test_lawreport__a_changed_argument_is_called_so():
    found = said(assigning, {"x": X})["apply_is_deterministic"]
    assert ": an argument was changed: inputs[0]['x']: " in found
    with reading("zh"):
        found = said(assigning, {"x": X})["apply_is_deterministic"]
    report = check_module(assigning, {"x": X})  # and a report that was made in another language
    with reading("zh"):
        assert found in str(report)
    assert " and " not in found


def test_lawreport__a_leaked_tracer_is_not_taken_for_a_fixed_number_of_rows():
    held = []

    def make(x, is_training):
        if isinstance(x, jax.core.Tracer):
            held.append(x[0, 0])
        hs.Counter()()
        return x + held[0] if held else x

    report = said(make, X)
    for law in ("examples_are_independent", "devices_agree"):
        assert report[law].endswith("a tracer of an earlier call is used: see no_tracer_is_left")


def test_lawreport__a_tracer_that_only_a_closure_holds():
    assert said(leaking(), X)["no_tracer_is_left"] == "✗ no_tracer_is_left: a tracer remains"


def test_lawreport__numbers_that_differ_do_not_look_equal():
    def make(x, is_training):
        count = hk.get_state("n", (), jnp.int32, init=lambda *_: jnp.int32(123456789))
        hk.set_state("n", count if is_training else count + 1)
        return x

    result = {str(law): law.result() for law in laws_of(make, X)}["evaluation_keeps_state"]
    assert "123456790 and 123456789" in result.what.shown()


def test_lawreport__what_it_says_cannot_be_read_as_html():
    from haiku_state.testing import LawResult

    assert "<i>" not in LawReport("<i>", (LawResult("a", "broken", "b", "<i>"),))._repr_html_()


def test_laws_of__the_page_of_each_law_is_there():
    docs = Path(__file__).parents[2] / "docs"
    assert [page for _, page, _ in STATEMENTS.values() if not (docs / f"{page}.md").exists()] == []


def test_laws_of__a_law_is_a_test():
    laws = {str(law): law for law in laws_of(BREAKS["devices_agree"], X)}
    assert laws["scan_equals_loop"]() is None
    with pytest.raises(unittest.SkipTest, match="no param is a"):
        laws["gradient_is_finite"]()
    with pytest.raises(BrokenLawError) as caught:
        laws["devices_agree"]()
    first, *_rest, last = str(caught.value).splitlines()
    assert first.startswith("`averaging` breaks the law devices_agree: state['~']['average']")
    assert last == "  more:  python -m haiku_state read update/meshes"


def test_laws_of__exclude_takes_names_of_laws_alone():
    for names in (["devices_agree"], "devices_agree", (name for name in ["devices_agree"])):
        left = [str(law) for law in laws_of(averaging, X, exclude=names)]
        assert left == [name for name in LAWS if name != "devices_agree"]
    with pytest.raises(ArgumentError, match="exclude is 'device_agree', but it must be init_is"):
        laws_of(averaging, X, exclude=["device_agree"])
