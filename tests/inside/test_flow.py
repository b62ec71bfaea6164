"""Where params and state go, compared with what the modules' formulas say."""

import dataclasses
import functools
import itertools
import re
from xml.etree import ElementTree

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.chinese import ZH
from support.module_table import CASES

import haiku_state as hs
from haiku_state.errors import ArgumentError
from haiku_state.inside.flow import record_flow
from haiku_state.inside.flow_picture import _lanes
from haiku_state.pure import mini

# functions as people write them, and Haiku's own nets, are less strict than ours
pytestmark = pytest.mark.usefixtures("standard_promotion")

X = jnp.ones((8, 3))
NORM = "batch_norm"
# average, read in evaluation, is hidden / (1 - decay ** counter); both are moved on by training
EMA = [("read", "counter"), ("read", "hidden")]
EMA_WRITES = [("write", "counter"), ("write", "hidden"), ("write", "average")]


def done(flow, phase="apply"):
    """What the modules do, in order."""
    leaves = {leaf.place: leaf for leaf in flow.leaves}
    return [
        (event.module, event.action, leaves[event.leaf].name)
        for event in flow.events
        if event.phase == phase
    ]


def ends(flow):
    return {f"{leaf.module}/{leaf.name}": leaf.end for leaf in flow.leaves if leaf.kind == "state"}


# the modules, from their formulas


def test_record_flow__a_counter_is_made_then_read_and_written():
    flow = record_flow(hs.Counter)
    accesses = [("counter", action, "count") for action in ("create", "write")]
    assert done(flow, "init") == accesses
    assert done(flow) == [("counter", "read", "count"), ("counter", "write", "count")]
    [leaf] = flow.leaves
    assert (leaf.kind, leaf.place, leaf.type) == ("state", "state['counter']['count']", "int32[]")
    assert (leaf.read, leaf.written, leaf.end, leaf.made) == (True, True, "returned", "")
    assert leaf.result == "[1]['counter']['count']"
    assert {event.method for event in flow.events} == {"__call__"}


def test_record_flow__batch_norm_in_training_moves_its_averages_and_does_not_read_them():
    flow = record_flow(lambda x: hs.BatchNorm(True, True, 0.9)(x, True), X)
    expected = [
        (f"{NORM}/~/{name}_ema", *access) for name in ("mean", "var") for access in EMA + EMA_WRITES
    ]
    expected += [(NORM, "read", "scale"), (NORM, "read", "offset")]
    assert sorted(done(flow)) == sorted(expected)
    assert set(ends(flow).values()) == {"returned"}
    assert set(flow.wires) == {
        *(("<inputs>", path) for path in (f"{NORM}/~/mean_ema", f"{NORM}/~/var_ema", NORM)),
        (NORM, "<result>"),
    }


def test_record_flow__batch_norm_in_evaluation_reads_its_averages_and_changes_nothing():
    trained = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
    params, state = trained.init(None, X, is_training=True)

    def predict(params, state, x):
        return trained.apply(params, state, None, x, is_training=False)

    flow = record_flow(predict, params, state, X)
    assert {access for access in done(flow) if access[2] == "average"} == {
        (f"{NORM}/~/{name}_ema", "read", "average") for name in ("mean", "var")
    }
    assert not any(action == "write" for _, action, _ in done(flow))
    assert set(ends(flow).values()) == {"unchanged"}
    assert flow.frame == "predict"
    assert {leaf.place for leaf in flow.leaves if leaf.kind == "params"} == {
        f"params['{NORM}']['{name}']" for name in ("scale", "offset")
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_record_flow__every_module_of_ours_has_the_leaves_that_init_returns(case):
    flow = record_flow(case.call, *case.inputs())
    params, state = case.init()
    expected = {}
    for kind, tree in (("params", params), ("state", state)):
        for module, name, value in hk.data_structures.traverse(tree):
            expected[kind, module, name] = (value.shape, str(value.dtype))
    assert {(e.kind, e.module, e.name): (e.shape, e.dtype) for e in flow.leaves} == expected
    made = {(leaf.kind, leaf.module, leaf.name) for leaf in flow.leaves}
    created = {
        (leaf.kind, leaf.module, leaf.name)
        for leaf in flow.leaves
        for event in flow.events
        if (event.leaf, event.phase, event.action) == (leaf.place, "init", "create")
    }
    assert created == made
    assert {leaf.end for leaf in flow.leaves if leaf.kind == "state"} <= {"returned", "unchanged"}


# what the functions are given as


def of_transform(function):
    return hk.transform(function)


def of_transform_with_state(function):
    return hk.transform_with_state(function)


def of_pair(function):
    return hs.pure_pair(function)


def of_jitted(function):
    pair = hk.transform_with_state(function)
    jitted = hk.TransformedWithState(jax.jit(pair.init), jax.jit(pair.apply))
    jitted.apply(*jitted.init(jax.random.key(0), X), None, X)  # compiled before it is recorded
    return jitted


@pytest.mark.parametrize("make", [of_transform, of_transform_with_state, of_pair, of_jitted])
def test_record_flow__a_function_and_what_is_made_of_it_have_one_flow(make):
    def net(x):
        return hk.nets.MLP([4, 2])(x)

    direct, made = record_flow(net, X), record_flow(make(net), X)
    assert made.events == direct.events
    assert made.leaves == direct.leaves
    assert made.wires == direct.wires
    assert record_flow(make(net), jax.ShapeDtypeStruct(X.shape, X.dtype)).leaves == direct.leaves


def test_record_flow__nothing_is_computed_and_nothing_stays_behind():
    ran = []

    def net(x):
        jax.debug.callback(lambda y: ran.append(y), x.sum())
        return hk.Linear(2)(x)

    jitted = jax.jit(hk.transform(net).apply)
    params = hk.transform(net).init(jax.random.key(0), X)
    ran.clear()

    def step(params, x):
        return jitted(params, None, x)

    first = record_flow(step, params, X)
    assert record_flow(step, params, X) == first
    assert ran == []
    assert "haiku_state" not in str(jax.make_jaxpr(step)(params, X))


# what a step does with the state


COUNTER = hs.pure_pair(hs.Counter)
STATE = {"counter": {"count": jnp.zeros((), jnp.int32)}}


def keeps(state):
    count, state = COUNTER.apply({}, state, None)
    return count, state


def drops(state):
    count, _ = COUNTER.apply({}, state, None)
    return count, state


def keeps_the_second(state):
    COUNTER.apply({}, state, None)
    return COUNTER.apply({}, state, None)[1]


def keeps_inside_of_jit(state):
    return jax.jit(lambda state: keeps(state))(state)


def drops_inside_of_scan(state):
    def body(state, _):
        count, _ = COUNTER.apply({}, state, None)
        return state, count

    return jax.lax.scan(body, state, None, length=3)


def keeps_inside_of_scan(state):
    return jax.lax.scan(lambda state, _: keeps(state)[::-1], state, None, length=3)


def keeps_inside_of_while(state):
    return jax.lax.while_loop(lambda s: s["counter"]["count"] < 3, lambda s: keeps(s)[1], state)


def keeps_in_one_branch(state):
    return jax.lax.cond(state["counter"]["count"] < 3, lambda s: keeps(s)[1], lambda s: s, state)


def keeps_what_it_averages(state):
    return jax.tree.map(lambda new, old: (new + old) // 2, keeps(state)[1], state)


def keeps_under_grad(state):
    def loss(x, state):
        count, state = COUNTER.apply({}, state, None)
        return x * count, state

    return jax.value_and_grad(loss, has_aux=True)(1.0, state)


def drops_under_grad(state):
    return jax.grad(lambda x: x * COUNTER.apply({}, state, None)[0])(1.0), state


@pytest.mark.parametrize(
    ("step", "end"),
    [
        (keeps, "returned"),
        (drops, "dropped"),
        (jax.jit(drops), "dropped"),
        (keeps_the_second, "returned"),
        (keeps_inside_of_jit, "returned"),
        (drops_inside_of_scan, "dropped"),
        (keeps_inside_of_scan, "returned"),
        (keeps_inside_of_while, "returned"),
        (keeps_in_one_branch, "returned"),
        (keeps_what_it_averages, "returned"),
        (keeps_under_grad, "returned"),
        (drops_under_grad, "dropped"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_record_flow__a_written_leaf_is_returned_or_dropped(step, end):
    flow = record_flow(step, STATE)
    assert ends(flow) == {"counter/count": end}
    [leaf] = flow.leaves
    assert (leaf.read, leaf.written, leaf.frozen) == (True, True, False)
    assert leaf.place == "state['counter']['count']"


def test_record_flow__state_from_a_closure_is_frozen():
    flow = record_flow(lambda x: COUNTER.apply({}, STATE, None)[0] + x, 1.0)
    [leaf] = flow.leaves
    assert (leaf.frozen, leaf.end) == (True, "dropped")
    assert "frozen" in str(flow)


def regression():
    model = hs.pure_pair(hs.LinearRegression, True)

    def loss_fn(params, state, rng, batch):
        output, state = model.apply(params, state, rng, batch["x"], is_training=True)
        return jnp.mean((output - batch["y"]) ** 2), (state, {})

    batch = {"x": X, "y": jnp.ones(8)}
    optimizer = optax.adam(0.1)
    train_state = hs.init_train_state(model.init, optimizer, jax.random.key(0), X, is_training=True)
    return hs.make_update(loss_fn, optimizer), train_state, batch


@pytest.mark.parametrize("wrap", [lambda u: u, hs.jit_update, hs.scan_update])
def test_record_flow__an_update_returns_its_state(wrap):
    update, train_state, batch = regression()
    if wrap is hs.scan_update:
        batch = jax.tree.map(lambda x: jnp.stack([x, x]), batch)
    flow = record_flow(wrap(update), train_state, batch)
    assert set(ends(flow).values()) == {"returned"}
    assert {leaf.place for leaf in flow.leaves if leaf.kind == "params"} == {
        f"train_state.params['linear_regression']['{name}']" for name in ("w", "b")
    }
    assert all(leaf.place.startswith("train_state.state") for leaf in flow.leaves if leaf.end)
    assert not np.asarray(train_state.step)


def test_record_flow__a_python_number_is_state_like_an_array():
    assert ends(record_flow(drops, {"counter": {"count": 0}})) == {"counter/count": "dropped"}


def test_record_flow__state_that_the_step_makes_itself_is_neither_frozen_nor_an_argument():
    def step(x):
        params, state = COUNTER.init(None)
        return x, COUNTER.apply(params, state, None)[1]

    [leaf] = record_flow(step, 1.0).leaves
    assert (leaf.frozen, leaf.end, leaf.made) == (False, "returned", "init")
    assert leaf.place == "state: counter/count"


def test_record_flow__two_networks_with_equal_names_are_two():
    networks = [hs.pure_pair(lambda x, size=size: hk.Linear(size)(x)) for size in (3, 1)]
    inputs = (jnp.ones((2, 5)), jnp.ones((2, 3)))
    params = [net.init(jax.random.key(0), x)[0] for net, x in zip(networks, inputs, strict=True)]

    def score(generator, discriminator, noise):
        x, _ = networks[0].apply(generator, {}, None, noise)
        return networks[1].apply(discriminator, {}, None, x)[0]

    flow = record_flow(score, *params, inputs[0])
    assert {leaf.place: leaf.shape for leaf in flow.leaves} == {
        "generator['linear']['b']": (3,),
        "generator['linear']['w']": (5, 3),
        "discriminator['linear']['b']": (1,),
        "discriminator['linear']['w']": (3, 1),
    }


def test_record_flow__state_that_apply_makes_is_named():
    def late(x):
        if not hk.running_init():
            hk.set_state("late", x.sum())
        return x + hk.get_state("early", (), init=jnp.zeros)

    flow = record_flow(late, X)
    leaves = {leaf.name: leaf for leaf in flow.leaves}
    assert (leaves["late"].made, leaves["late"].end) == ("apply", "returned")
    assert (leaves["early"].made, leaves["early"].end) == ("", "unchanged")
    assert ("~", "create", "late") in done(flow)
    assert "made in apply" in str(flow)


def sums(x):
    total = hk.get_state("total", (), init=jnp.zeros)

    def body(carry, row):
        hk.set_state("total", carry + row.sum())
        return carry + row.sum(), None

    return jax.lax.scan(body, total, x)[0]


class Sums(hk.Module):
    def __call__(self, x):
        return sums(x)


class SumsAndReads(hk.Module):
    def __call__(self, x):
        return sums(x) + hk.get_state("total")


@pytest.mark.parametrize(
    "function",
    [sums, lambda x: Sums()(x), lambda x: SumsAndReads()(x), hs.pure_pair(sums), Sums],
)
def test_record_flow__a_leak_is_named_although_the_trace_may_fail(function):
    assert list(ends(record_flow(function, X)).values()) == ["leaked"]


def test_record_flow__state_that_haiku_carries_through_a_transformation_does_not_leak():
    def net(x):
        module = hs.ExponentialMovingAverage(0.9)
        return hk.scan(lambda carry, row: (carry, module(row)), 0, x)[1]

    assert set(ends(record_flow(net, X)).values()) == {"returned"}


# other people's modules


def dropout(x):
    return hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(3)(x))


def lstm(x):
    core = hk.LSTM(5)
    return hk.dynamic_unroll(core, x, core.initial_state(3))[0]


def shared(x):
    layer, counter = hk.Linear(3), hs.Counter()
    return layer(layer(x)) + counter() + counter()


def scanned(x):
    layer, counter = hk.Linear(3), hs.Counter()
    return hk.scan(lambda h, _: (layer(h) + counter(), None), x, None, length=5)[0]


def mapped(x):
    layer = hk.Linear(3)
    return hk.vmap(layer, split_rng=False)(x)


def branched(x):
    layer, counter = hk.Linear(3), hs.Counter()
    layer(x), counter()
    return hk.cond(x.sum() > 0, lambda x: layer(x) + counter(), lambda x: x, x)


def rematerialized(x):
    return hk.remat(lambda x: hs.BatchNorm(True, True, 0.9)(x, True))(x)


def stacked(x):
    return hk.layer_stack(3)(lambda x: hk.Linear(3)(x) + hs.Counter()())(x)


def lifted(x):
    inner = hk.transform(lambda x: hk.Linear(2)(x))
    keys = hk.next_rng_keys(4) if hk.running_init() else None
    params = hk.lift(jax.vmap(inner.init, in_axes=(0, None)), name="ensemble")(keys, x)
    return jax.vmap(inner.apply, in_axes=(0, None, None))(params, None, x)


def nested(x):
    hk.get_state("sums", init=lambda *_: {"all": jnp.zeros(()), "rows": jnp.zeros(8)}, shape=())
    hk.set_state("sums", {"all": x.sum(), "rows": x.sum(1)})
    return x


def attention(x):
    start = hk.initializers.VarianceScaling()
    return hk.MultiHeadAttention(2, 4, w_init=start)(x, x, x)


NETS = {
    "MLP": (lambda x: hk.nets.MLP([4, 2])(x), X, 4, 0),
    "ResNet18": (lambda x: hk.nets.ResNet18(10)(x, True), jnp.ones((2, 32, 32, 3)), 62, 120),
    "dropout": (dropout, X, 2, 0),
    "LSTM": (lstm, jnp.ones((7, 3, 4)), 2, 0),
    "shared": (shared, X, 2, 1),
    "scan": (scanned, X, 2, 1),
    "vmap": (mapped, X, 2, 0),
    "cond": (branched, X, 2, 1),
    "remat": (rematerialized, X, 2, 6),
    "layer_stack": (stacked, X, 2, 1),
    "lift": (lifted, X, 2, 0),
    "nested": (nested, X, 0, 2),
    "attention": (attention, X, 8, 0),
}
each_net = pytest.mark.parametrize("name", NETS)


@pytest.fixture(autouse=True)
def keys_as_haiku_uses_them():
    """``hk.lift`` with ``jax.vmap`` splits a key twice."""
    with jax.debug_key_reuse(False):
        yield


@each_net
def test_record_flow__a_net_has_the_leaves_that_init_returns_and_all_come_back(name):
    net, x, params, state = NETS[name]
    flow = record_flow(net, x)
    kinds = [leaf.kind for leaf in flow.leaves]
    assert (kinds.count("params"), kinds.count("state")) == (params, state)
    assert all(leaf.read for leaf in flow.leaves if leaf.kind == "params")
    assert set(ends(flow).values()) <= {"returned"}
    places = {leaf.place for leaf in flow.leaves}
    assert all(event.leaf in places for event in flow.events)
    assert not any(leaf.frozen or leaf.made for leaf in flow.leaves)


def test_record_flow__a_module_that_is_called_twice_reads_twice():
    linear = ("linear", "read", "w"), ("linear", "read", "b")
    counter = ("counter", "read", "count"), ("counter", "write", "count")
    assert done(record_flow(shared, X)) == [*linear * 2, *counter * 2]


def test_record_flow__a_stacked_layer_is_one_leaf_for_all_layers():
    flow = record_flow(stacked, X)
    path = "__layer_stack_no_per_layer/linear"
    assert {leaf.shape for leaf in flow.leaves if leaf.module == path} == {(3, 3), (3, 3, 3)}
    shapes = {
        event.shape for event in flow.events if event.module == path and event.phase == "apply"
    }
    assert shapes == {(3,), (3, 3)}


def test_record_flow__the_output_of_each_module_goes_where_the_net_says():
    flow = record_flow(attention, X)
    heads = [f"multi_head_attention/{name}" for name in ("query", "key", "value")]
    assert set(flow.wires) == {
        *(("<inputs>", head) for head in heads),
        *((head, "multi_head_attention/linear") for head in heads),
        ("multi_head_attention/linear", "multi_head_attention"),
        ("multi_head_attention", "<result>"),
    }


class Noise(hk.Module):
    def __call__(self, x):
        return x + jax.random.normal(hk.next_rng_key(), x.shape)


def test_record_flow__a_module_that_draws_is_named():
    flow = record_flow(lambda x: hk.Linear(3)(Noise()(x)), X)
    assert flow.draws
    assert flow.drawn_into == ()
    assert {module.path: module.draws for module in flow.modules} == {
        "noise": True,
        "linear": False,
    }
    assert not record_flow(lambda x: hk.Linear(3)(x), X).draws
    assert record_flow(dropout, X).draws


# what is refused


def test_record_flow__what_calls_no_module_is_refused():
    with pytest.raises(ArgumentError, match="no Haiku module ran"):
        record_flow(lambda x: x + 1, X)


@pytest.mark.parametrize("transform", [mini.transform, mini.transform_with_state])
def test_record_flow__what_haiku_does_not_know_is_refused(transform):
    pair = transform(lambda x: mini.get_parameter("w", (), init=jnp.ones) * x)
    with pytest.raises(ArgumentError, match="hooks recorded nothing"):
        record_flow(pair, X)


def test_record_flow__what_cannot_be_called_is_refused():
    with pytest.raises(ArgumentError, match="a function, a module class or a pure pair"):
        record_flow(3, X)


def test_record_flow__an_error_of_the_function_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        record_flow(lambda x: hk.Linear(3)(x) / (1 // 0), X)


# the text


def test_flow__the_columns_of_the_text_are_aligned(monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")
    flow = record_flow(lambda x: hs.BatchNorm(True, True, 0.9)(x, True), X)
    lines = str(flow).splitlines()
    table = lines[lines.index("apply") + 1 : lines.index("leaves") - 1]
    assert len(table) == 12
    assert len({line.index("__call__") for line in table}) == 1
    assert len({re.search(r"(float32|int32)\[", line).start() for line in table}) == 1
    assert lines[0] == "<lambda> (params: 2, leaves of state: 6)"


def test_flow__the_text_is_chinese_for_a_reader_of_chinese(monkeypatch):
    flow = record_flow(drops, STATE)
    monkeypatch.setenv("HAIKU_STATE_LANG", ZH)
    assert "已读取，已写入，在这里丢失" in str(flow)
    assert "dropped" in flow.text("en")


# the picture


def drawn(flow, **options):
    return ElementTree.fromstring(flow.svg(**options))


def of_class(svg, name):
    return [element for element in svg.iter() if name in element.get("class", "").split()]


def boxes_of(svg):
    return [
        tuple(float(each.get(key)) for key in ("x", "y", "width", "height"))
        for each in of_class(svg, "module")
    ]


def width_of(text):
    classes = text.get("class").split()
    sans = 7.2 if "strong" in classes else 7.0  # the widest of the usual fonts
    return sum(
        12.5 if ord(character) > 0x2E80 else 7.5 if "code" in classes else sans
        for character in text.text
    )


PICTURES = {
    **{name: lambda name=name: record_flow(NETS[name][0], NETS[name][1]) for name in NETS},
    **{case.name: lambda case=case: record_flow(case.call, *case.inputs()) for case in CASES},
    "dropped": lambda: record_flow(drops, STATE),
    "leaked": lambda: record_flow(Sums, X),
    "frozen": lambda: record_flow(lambda x: COUNTER.apply({}, STATE, None)[0] + x, 1.0),
    "update": lambda: record_flow(*regression()),
    "nothing": lambda: record_flow(hk.transform(lambda x: x), X),
}


@pytest.mark.parametrize("lang", ["en", ZH])
@pytest.mark.parametrize("name", PICTURES)
def test_flow__nothing_overlaps_and_nothing_leaves_the_picture(name, lang):
    svg = drawn(PICTURES[name](), lang=lang)
    _x, _y, width, height = map(float, svg.get("viewBox").split())
    assert width == 320
    for (_, y1, _, h1), (_, y2, _, _) in itertools.pairwise(boxes_of(svg)):
        assert y1 + h1 + 15 <= y2
    texts = [element for element in svg.iter() if element.tag.endswith("text")]
    rows = {}
    for text in texts:
        x, wide = float(text.get("x")), width_of(text)
        classes = text.get("class").split()
        left = x if "start" in classes else x - wide if "end" in classes else x - wide / 2
        assert left >= 0
        assert left + wide <= width
        assert float(text.get("y")) < height
        rows.setdefault(text.get("y"), []).append((left, left + wide))
    for spans in rows.values():
        for (_, end), (start, _) in itertools.pairwise(sorted(spans)):
            assert end < start
    for x, y, wide, high in boxes_of(svg):
        for text in texts:
            if y < float(text.get("y")) < y + high and "start" in text.get("class"):
                assert float(text.get("x")) + width_of(text) <= x + wide


def test_flow__each_fate_has_its_shape():
    kept, dropped, leaked, frozen = (
        drawn(record_flow(keeps, STATE)),
        *(drawn(PICTURES[name]()) for name in ("dropped", "leaked", "frozen")),
    )
    circles = [len(of_class(svg, "state")) for svg in (kept, dropped, leaked)]
    assert circles[0] > circles[1]
    assert [len(of_class(svg, "bar")) for svg in (kept, dropped, leaked)] == [0, 1, 0]
    assert [len(of_class(svg, "leaked")) for svg in (kept, dropped, leaked)] == [0, 0, 2]
    assert len(of_class(frozen, "bar")) == 1
    assert {each.get("class") for each in frozen.iter() if each.get("d", "").count("m-5 12")} == {
        "wire state"
    }


def test_flow__the_picture_has_classes_and_a_story_and_no_colours():
    text = record_flow(drops, STATE).svg(lang="en")
    assert not re.search(r"style|fill=|stroke=|#", text)
    svg = ElementTree.fromstring(text)
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == (
        "drops. Params: 0. Leaves of state: 1. counter: count (read, written, dropped here)."
    )
    assert "在这里丢失" in drawn(record_flow(drops, STATE), lang=ZH).get("aria-label")


def test_flow__a_deep_net_is_folded_to_what_is_readable():
    flow = record_flow(NETS["ResNet18"][0], NETS["ResNet18"][1])
    assert len(boxes_of(drawn(flow))) == 7
    assert len(boxes_of(drawn(flow, depth=1))) == 1
    assert len(boxes_of(drawn(flow, depth=3))) == 13
    assert len(boxes_of(drawn(flow, depth=9))) == len({leaf.module for leaf in flow.leaves})
    assert flow.svg() == flow.svg()


def test_flow__a_name_is_escaped():
    flow = record_flow(lambda x: COUNTER.apply({}, STATE, None)[0] + x, 1.0)
    assert "&lt;lambda&gt;" in flow.svg()


def test_flow__a_file_and_a_notebook_have_a_style_of_their_own(tmp_path):
    flow = record_flow(drops, STATE)
    flow.save(tmp_path / "flow.svg", ZH)
    text = (tmp_path / "flow.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).get("viewBox")
    html = flow._repr_html_()
    for each in (text, html):
        assert "prefers-color-scheme: dark" in each
        assert "@" not in re.sub("@media", "", each)
    assert html.count("<svg") == 2  # a page shows that of its language


def dropped_out(x):
    x = hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(8)(x))
    return hk.Linear(3)(x)


def test_record_flow__what_draws_outside_of_modules_is_told_apart():
    flow = record_flow(dropped_out, X)
    assert [module.draws for module in flow.modules] == [False, False]
    assert flow.drawn_into == ("linear_1",)
    assert flow.text("en").endswith("draws random numbers\n  apply")
    assert "outside of modules" in "".join(drawn(flow, lang="en").itertext())


def test_flow__what_draws_outside_of_modules_stands_where_it_runs():
    def net(x):
        for size in (4, 4):
            x = hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(size)(x))
        return hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(2)(x))

    svg = drawn(record_flow(net, X), lang="en")
    titles = [
        text.text
        for text in svg.iter()
        if text.tag.endswith("text") and "code small strong start" in text.get("class")
    ]
    outside = "outside of modules"
    assert [title for title in titles if "linear" in title or title == outside] == [
        *("linear", outside, "linear_1", outside, "linear_2", outside)
    ]
    assert len(boxes_of(svg)) == 6
    long = record_flow(net, X)
    assert long.drawn_into == ("linear_1", "linear_2", "<result>")


def test_record_flow__what_draws_between_the_modules_of_a_module_is_that_module():
    class Block(hk.Module):
        def __call__(self, x):
            x = hk.Linear(4)(x)
            x = hk.dropout(hk.next_rng_key(), 0.5, x)
            return hk.Linear(2)(x)

    flow = record_flow(Block, X)
    assert {module.path: module.draws for module in flow.modules} == {
        "block": True,
        "block/linear": False,
        "block/linear_1": False,
    }
    assert flow.drawn_into == ()


def test_record_flow__init_does_not_read_what_it_has_just_made():
    events = record_flow(lambda x: hk.Linear(3)(x), X).events
    assert [(e.action, e.leaf[-5:]) for e in events if e.phase == "init"] == [
        ("create", "['w']"), ("create", "['b']"),
    ]  # fmt: skip


def test_flow__a_batch_norm_is_one_box_with_what_is_inside():
    flow = record_flow(lambda x: hk.BatchNorm(True, True, 0.9)(hk.Linear(3)(x), True), X)
    svg = drawn(flow, lang="en")
    assert len(boxes_of(svg)) == 2
    assert "var_ema" in "".join(
        drawn(
            record_flow(lambda x: hk.BatchNorm(False, False, 0.9)(x, True), X), lang="en"
        ).itertext()
    )
    assert len(boxes_of(drawn(flow, depth=9))) == 4


def test_flow__long_wires_pass_beside_the_boxes_in_five_lanes_at_most():
    wires = [(0, 9), (1, 3), (2, 9), (3, 5), (3, 9), (4, 9), (5, 9), (6, 9), (7, 9)]
    wires += [(i, i + 1) for i in range(9)]
    lanes, complete = _lanes(wires)
    assert not complete
    for layer in range(1, 9):
        passing = [s for s in lanes.of if s < layer < max(e for b, e in wires if b == s)]
        assert len(passing) <= 5
        assert len({lanes.of[s] for s in passing}) == len(passing)
    assert all((i, i + 1) in wires for i in range(9))
    assert _lanes([(0, 1), (1, 2)])[0].of == {}


def test_record_flow__the_core_of_a_recurrent_net_stands_before_what_it_goes_into():
    def unrolled(x):
        core = hk.DeepRNN([hk.LSTM(8), hk.Linear(4)])
        return hk.dynamic_unroll(core, x, core.initial_state(2))[0]

    flow = record_flow(unrolled, jnp.ones((5, 2, 3)))
    assert [m.path for m in flow.modules] == ["lstm/linear", "lstm", "linear", "deep_rnn"]
    assert {("lstm/linear", "lstm"), ("lstm", "linear"), ("linear", "deep_rnn")} <= {*flow.wires}


def test_flow__is_plain_data():
    flow = record_flow(hs.Counter)
    assert flow == record_flow(hs.Counter)
    assert hash(flow) == hash(record_flow(hs.Counter))
    assert {"events", "modules", "leaves"} <= {field.name for field in dataclasses.fields(flow)}


def test_record_flow__a_function_without_params_that_draws_has_modules():
    flow = hs.record_flow(
        lambda x: hk.dropout(hk.next_rng_key(), 0.5, hk.Flatten()(x)), jnp.ones(3)
    )
    assert [module.path for module in flow.modules] == ["flatten"]


def test_record_flow__a_new_value_that_is_used_but_not_returned_in_its_place_is_dropped():
    norm = hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9, name="norm")(x, True))
    batch = jnp.ones((3, 2))
    params, state = norm.init(None, batch)

    def step(params, state, x):
        y, new = norm.apply(params, state, None, x)
        return y + new["norm/~/mean_ema"]["average"], state

    ends = {leaf.end for leaf in hs.record_flow(step, params, state, batch).leaves}
    assert ends == {"", "dropped"}


def test_flow__each_arrow_has_a_line_and_ends_at_a_box():
    pictures = [record_flow(dropped_out, X), *(PICTURES[name]() for name in ("update", "frozen"))]
    for svg in (drawn(flow, lang="en") for flow in pictures):
        lines = [path.get("d") for path in of_class(svg, "wire")]
        across = {match.groups() for d in lines if (match := re.search(r"^M\S+ (\S+) H(\S+)$", d))}
        down = {match[1] for d in lines if (match := re.search(r"V(\S+)$", d))}
        for head in of_class(svg, "head"):
            x, y, right, below = map(float, re.findall(r"[\d.]+", head.get("d"))[:4])
            x, y = x + right, y + below
            if right < below:
                assert f"{y - 3:g}" in down
            else:
                assert (f"{y:g}", f"{x - 7:g}") in across
                assert x == 297 or any(
                    left == x and top < y < top + high for left, top, _, high in boxes_of(svg)
                )


def test_flow__the_picture_tells_what_happens_to_a_leaf_that_is_not_only_read():
    def net(x, more):
        for size in (4, 4, 4, 4):
            x = hk.Linear(size)(x)
        return hk.Linear(4, with_bias=False)(x) if more else x

    def texts(function, *arguments):
        svg = drawn(record_flow(function, *arguments), lang="en")
        return [each.text for each in svg.iter() if each.tag.endswith("text")]

    assert {"read, written", "dropped here"} < {*texts(drops, STATE)}
    assert "inputs" not in texts(lambda x: hk.Linear(2)(jnp.ones((1, 3))), X)
    eight, nine = (texts(functools.partial(net, more=more), X) for more in (False, True))
    assert "inputs" in eight
    assert "read" not in eight
    assert (eight.count("b"), eight.count("b, w")) == (4, 0)
    assert (nine.count("b"), nine.count("b, w")) == (0, 4)


def test_record_flow__what_it_returns_cannot_be_changed():
    flow = record_flow(drops, STATE)
    for record in (flow, *flow.leaves, *flow.events, *flow.modules):
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.function = "another"
