import re

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import law
from support.models import start_from
from support.trees import assert_same_bits

import haiku_state as hs
from haiku_state import errors

X = jnp.asarray(np.random.default_rng(0).normal(1, 2, (8, 4)), jnp.float32)
NORM = hk.transform_with_state(lambda x, is_training: hs.BatchNorm(True, True, 0.9)(x, is_training))
PARAMS, STATE = NORM.init(None, X, True)
MEAN = "batch_norm/~/mean_ema"
SGD = optax.sgd(0.1)


def replaced(**leaves):
    return {**STATE, MEAN: {**STATE[MEAN], **leaves}}


def without(*names):
    return {**STATE, MEAN: {k: v for k, v in STATE[MEAN].items() if k not in names}}


def advanced(steps=1):
    def one(module):
        return {**module, "counter": module["counter"] + steps}

    return {name: one(module) for name, module in STATE.items()}


BROKEN = {
    "a name gone": (
        without("hidden"),
        errors.StateStructureError,
        "the returned state has different names (- removed, + added):\n"
        "    - state['batch_norm/~/mean_ema']['hidden']",
    ),
    "a name new": (
        replaced(variance=X[0]),
        errors.StateStructureError,
        "the returned state has different names (- removed, + added):\n"
        "    + state['batch_norm/~/mean_ema']['variance']",
    ),
    "a module gone": (
        {MEAN: STATE[MEAN]},
        errors.StateStructureError,
        "the returned state has different names (- removed, + added):\n"
        + "\n".join(
            f"    - state['batch_norm/~/var_ema']['{name}']"
            for name in ("average", "counter", "hidden")
        ),
    ),
    "a shape": (
        replaced(average=X[0]),
        errors.StateShapeError,
        "the returned state has different shapes:\n"
        "    state['batch_norm/~/mean_ema']['average']: float32[1,4] -> float32[4]",
    ),
    "two shapes": (
        replaced(average=X[0], hidden=X),
        errors.StateShapeError,
        "the returned state has different shapes:\n"
        "    state['batch_norm/~/mean_ema']['average']: float32[1,4] -> float32[4]\n"
        "    state['batch_norm/~/mean_ema']['hidden']: float32[1,4] -> float32[8,4]",
    ),
    "a dtype": (
        replaced(hidden=X[:1].astype(jnp.bfloat16)),
        errors.StateDtypeError,
        "the returned state has different dtypes:\n"
        "    state['batch_norm/~/mean_ema']['hidden']: float32[1,4] -> bfloat16[1,4]",
    ),
    "a Python number of another dtype": (
        replaced(counter=1.0),
        errors.StateDtypeError,
        "the returned state has different dtypes:\n"
        "    state['batch_norm/~/mean_ema']['counter']: int32[] -> weak float32[]",
    ),
    "a Python number": (
        replaced(counter=1),
        errors.WeakTypeError,
        "the returned state has different weak types:\n"
        "    state['batch_norm/~/mean_ema']['counter']: int32[] -> weak int32[]",
    ),
    "a weak array": (
        replaced(counter=jnp.asarray(1)),
        errors.WeakTypeError,
        "the returned state has different weak types:\n"
        "    state['batch_norm/~/mean_ema']['counter']: int32[] -> weak int32[]",
    ),
    "a device axis": (
        jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), STATE),
        errors.DeviceStackedError,
        "state['batch_norm/~/mean_ema']['counter'] has shape (4,) instead of (): "
        "it has an extra leading axis.",
    ),
    "no state at all": (None, errors.StateStructureError, None),
}


@pytest.mark.parametrize(("after", "error", "what"), BROKEN.values(), ids=BROKEN.keys())
def test_check_state__names_what_a_returned_state_must_keep(after, error, what):
    with pytest.raises(error) as caught:
        hs.check_state(STATE, after)
    if what:
        assert caught.value.what == what


def test_check_state__notices_a_state_that_came_with_a_device_axis():
    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), STATE)
    with pytest.raises(errors.DeviceStackedError, match=r"\(4,.*\) instead of \(.*\): it has"):
        hs.check_state(stacked, STATE)
    hs.check_state(stacked, stacked)  # an ensemble's state has such an axis all the time


def test_check_state__another_container_is_another_structure():
    with pytest.raises(errors.StateStructureError, match="PyTreeDef"):
        hs.check_state({"a": {"b": (X,)}}, {"a": {"b": [X]}})


def test_check_state__takes_any_pytree():
    hs.check_state([X, {"a": jnp.int32(1)}], [X, {"a": jnp.int32(2)}])
    hs.check_state((), ())
    with pytest.raises(errors.StateShapeError, match=re.escape("state[0]: float32[8,4] -> ")):
        hs.check_state([X], [X[0]])
    # a leading axis on the only leaf says nothing about devices
    with pytest.raises(errors.StateShapeError):
        hs.check_state([X[0]], [X])


def test_check_state__abstract_values_numpy_and_keys_have_types_too():
    abstract = jax.eval_shape(lambda: STATE)
    hs.check_state(abstract, STATE)
    hs.check_state(jax.tree.map(np.asarray, STATE), STATE)
    keys = {"rng": jax.random.key(0)}
    hs.check_state(keys, {"rng": jax.random.key(1)})
    with pytest.raises((errors.StateDtypeError, errors.StateShapeError)):
        hs.check_state(keys, {"rng": jnp.zeros((), jnp.uint32)})


@pytest.mark.parametrize("steps", [0, 1, 7])
@pytest.mark.parametrize("is_training", [True, False, None])
def test_check_state__counters_move_in_training_and_only_then(steps, is_training):
    wanted = {True: steps > 0, False: steps == 0, None: True}[is_training]
    after = advanced(steps)
    if wanted:
        hs.check_state(STATE, after, is_training)
        return
    error = errors.CounterStoppedError if is_training else errors.CounterAdvancedError
    with pytest.raises(error) as caught:
        hs.check_state(STATE, after, is_training)
    assert caught.value.what.splitlines()[1:] == [
        f"    state['batch_norm/~/{ema}_ema']['counter']" for ema in ("mean", "var")
    ]


def test_checked__the_call_may_name_its_arguments():
    apply = hs.checked(lambda params, state, rng, x: NORM.apply(params, state, rng, x, True), True)
    apply(rng=None, x=X, state=STATE, params=PARAMS)
    apply = hs.checked(lambda p, s, rng, x: NORM.apply(p, s, rng, x, False), True)
    with pytest.raises(errors.CounterStoppedError):
        apply(p=PARAMS, s=STATE, rng=None, x=X)
    hs.checked(NORM.apply)(params=PARAMS, state=STATE, rng=None, x=X, is_training=True)
    hs.checked(hs.make_update(loss_fn, SGD), True)(train_state=train_state(), batch={"x": X})


# how several models may share one state, and the names of their modules in it
NESTED = {
    "dict": (lambda one, other: {"gen": one, "disc": other}, "disc/"),
    "tuple": (lambda one, other: (one, other), "1/"),
    "a list in a dict": (lambda one, other: {"nets": [one, other]}, "nets/1/"),
}


@pytest.mark.parametrize(("nest", "prefix"), NESTED.values(), ids=NESTED)
def test_check_state__sees_the_state_of_one_of_several_models(nest, prefix):
    hs.check_state(nest(STATE, STATE), nest(advanced(), advanced()), is_training=True)
    with pytest.raises(errors.CounterStoppedError) as caught:
        hs.check_state(nest(STATE, STATE), nest(advanced(), STATE), is_training=True)
    names = [f"{prefix}batch_norm/~/{ema}_ema" for ema in ("mean", "var")]
    assert str(caught.value).count("['counter']") == 2
    assert f"frozen=lambda module, *_: module in {names}" in str(caught.value)
    hs.check_state(
        nest(STATE, STATE), nest(advanced(), STATE), True, frozen=lambda module, *_: module in names
    )
    with pytest.raises(errors.CounterStoppedError):  # the other one is still protected
        hs.check_state(
            nest(STATE, STATE), nest(STATE, STATE), True, frozen=lambda module, *_: module in names
        )
    with pytest.raises(errors.CounterAdvancedError):
        hs.check_state(nest(STATE, STATE), nest(STATE, advanced()), is_training=False)


def average(**leaves):
    return {"counter": jnp.int32(0), "hidden": jnp.ones(3), "average": jnp.ones(3), **leaves}


AVERAGES = ["mean_ema", "exponential_moving_average_2", "a/~/ema_dw", "memory", "lemaire/rnn"]


@pytest.mark.parametrize("module", AVERAGES)
def test_check_state__knows_an_average_by_its_names(module):
    with pytest.raises(errors.CounterStoppedError):
        hs.check_state({module: average()}, {module: average()}, is_training=True)


@pytest.mark.parametrize("name", ["counter", "hidden", "average"])
def test_check_state__two_of_the_three_names_are_no_average(name):
    state = {"ema": {key: leaf for key, leaf in average().items() if key != name}}
    hs.check_state(state, state, is_training=True)


def two_norms(x, is_training):
    x = hs.BatchNorm(True, True, 0.9, name="pretrained")(x, False)
    return hs.BatchNorm(True, True, 0.9)(x, is_training)


def test_make_update__frozen_leaves_the_other_normalizations_protected():
    both = hk.transform_with_state(
        lambda x: [hs.BatchNorm(True, True, 0.9, name=n)(x, True) for n in ("pretrained", None)]
    )
    pair = hk.transform_with_state(two_norms)
    _, state = both.init(None, X)
    params, _ = both.init(None, X)

    def loss_of(is_training):
        def loss_fn(params, state, rng, batch):
            outputs, state = pair.apply(params, state, rng, batch["x"], is_training)
            return jnp.mean(outputs), (state, {})

        return loss_fn

    def frozen(module, name, value):
        return module.startswith("pretrained/") and name == "counter" and value.shape == ()

    made = start_from(params, state, SGD)
    for make in (
        hs.make_update,
        lambda loss_fn, *args, **kwargs: hs.make_update(
            hs.recipes.accumulate(loss_fn, 2, statistics="each", **kwargs), *args, **kwargs
        ),
    ):
        jax.eval_shape(make(loss_of(True), SGD, frozen=frozen), made, {"x": X})
        with pytest.raises(errors.CounterStoppedError) as caught:
            jax.eval_shape(make(loss_of(True), SGD), made, {"x": X})
        assert str(caught.value).endswith(
            "yet the evaluation looks plausible. If some state is meant to stay unchanged, exempt "
            "it: `frozen=lambda module, *_: module in ['pretrained/~/mean_ema', "
            "'pretrained/~/var_ema']`\n"
            "  more:  python -m haiku_state read haiku/batch_norm"
        )
        with pytest.raises(errors.CounterStoppedError, match=r"state.'batch_norm"):
            jax.eval_shape(make(loss_of(False), SGD, frozen=frozen), made, {"x": X})

    def apply(params, state, rng, x):
        return pair.apply(params, state, rng, x, True)

    hs.checked(apply, True, frozen=frozen)(params, state, None, X)
    fresh = hs.recipes.reestimate_state(apply, params, state, [X], frozen=frozen)
    assert fresh["batch_norm/~/mean_ema"]["counter"] == 1


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(("runs_as", "claims"), [(True, False), (False, True)])
def test_checked__sees_the_wrong_mode(runs_as, claims, wrap):
    apply = wrap(hs.checked(lambda p, s, rng, x: NORM.apply(p, s, rng, x, runs_as), claims))
    error = errors.CounterAdvancedError if runs_as else errors.CounterStoppedError
    with pytest.raises(error):
        apply(PARAMS, STATE, None, X)
    right = wrap(hs.checked(lambda p, s, rng, x: NORM.apply(p, s, rng, x, runs_as), runs_as))
    right(PARAMS, STATE, None, X)


def test_checked__keeps_name_arguments_and_results():
    apply = hs.checked(NORM.apply)
    assert apply.__name__ == NORM.apply.__name__
    found = apply(PARAMS, STATE, None, X, is_training=True)
    assert_same_bits(found, NORM.apply(PARAMS, STATE, None, X, True))


def loss_fn(params, state, rng, batch):
    outputs, state = NORM.apply(params, state, rng, batch["x"], True)
    return jnp.mean(jnp.square(outputs)), (state, {"mean": jnp.mean(outputs)})


def train_state():
    return hs.init_train_state(NORM.init, SGD, jax.random.key(0), X, True)


def test_checked__takes_an_update():
    update = hs.make_update(loss_fn, SGD, strict=False)
    new, _ = hs.checked(update, is_training=True)(train_state(), {"x": X})
    assert new.step == 1

    def forgets(train_state, batch):
        new, metrics = update(train_state, batch)
        return new._replace(state=train_state.state), metrics

    with pytest.raises(errors.CounterStoppedError):
        hs.checked(forgets, is_training=True)(train_state(), {"x": X})


def programs(strict):
    """The traced update and the traced apply, with the contract and without."""
    update = hs.make_update(loss_fn, SGD, strict=strict)
    apply = hs.checked(NORM.apply) if strict else NORM.apply
    return (
        (update, (train_state(), {"x": X})),
        (lambda p, s, x: apply(p, s, None, x, is_training=True), (PARAMS, STATE, X)),
        (lambda p, s, x: apply(p, s, None, x, is_training=False), (PARAMS, STATE, X)),
    )


def operations(compiled):
    """How often each operation stands in the program that XLA has made."""
    found = re.findall(r" ([a-z][a-z-]*)\(", compiled.as_text())
    return sorted(found)


@pytest.mark.parametrize("index", [0, 1, 2], ids=["update", "training", "evaluation"])
def test_checked__leaves_nothing_behind_in_the_compiled_step(index):
    (with_it, arguments), (without_it, _) = programs(True)[index], programs(False)[index]
    one, other = (str(jax.make_jaxpr(f)(*arguments)) for f in (with_it, without_it))
    assert one == other
    one, other = (operations(jax.jit(f).lower(*arguments).compile()) for f in (with_it, without_it))
    assert one == other
    assert len(one) > 10


HAIKUS = {
    "batch norm": (lambda x: hk.BatchNorm(True, True, 0.9)(x, True), X),
    "average": (lambda x: hk.ExponentialMovingAverage(0.9)(x), X),
    "average with a warm-up": (
        lambda x: hk.ExponentialMovingAverage(0.9, zero_debias=False, warmup_length=2)(x),
        X,
    ),
    "half precision": (
        lambda x: hk.BatchNorm(True, True, 0.9)(x, True),
        X.astype(jnp.bfloat16),
    ),
    "spectral norm": (lambda x: hk.SpectralNorm()(x), X),
    "vector quantizer": (
        lambda x: hk.nets.VectorQuantizerEMA(4, 8, 0.25, 0.99)(x, True)["quantize"],
        X,
    ),
    "linear": (lambda x: hk.Linear(3)(x), X),
}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize(("call", "x"), HAIKUS.values(), ids=HAIKUS.keys())
def test_checked__takes_haikus_own_modules(call, x):
    pair = hk.transform_with_state(call)
    params, state = pair.init(jax.random.key(0), x)
    for apply in (hs.checked(pair.apply), jax.jit(hs.checked(pair.apply))):
        for _ in range(2):
            _, state = apply(params, state, None, x)


shapes = st.lists(st.integers(1, 3), max_size=2).map(tuple)
dtypes = st.sampled_from([jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_])
types = st.tuples(shapes, dtypes)
states = st.dictionaries(
    st.sampled_from("ab"), st.dictionaries(st.sampled_from("xyz"), types, min_size=1), max_size=2
)


def filled(types):
    return {m: {n: jnp.zeros(*t) for n, t in values.items()} for m, values in types.items()}


@law(150)
@given(states, states)
def test_check_state__passes_exactly_equal_types(before, after):
    hs.check_state(filled(before), filled(before))
    if before == after:
        hs.check_state(filled(before), filled(after))
    else:
        with pytest.raises(errors.HaikuStateError):
            hs.check_state(filled(before), filled(after))
