import abc
import collections
import copy
import dataclasses
import enum
import functools
import io
import itertools
import pickle
import random
import threading
import types
import weakref
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haiku_state import errors
from haiku_state.functionalize import functionalize

# ---- ordinary classes, as a newcomer writes them


class Tally:
    def __init__(self):
        self.count = 0

    def step(self, by=1):
        self.count += by
        return self.count

    def reset(self):
        self.count = 0

    @property
    def doubled(self):
        return 2 * self.count


class Average:
    def __init__(self, shape=()):
        self.shape = shape
        self.sum = jnp.zeros(shape)
        self.count = 0

    def __call__(self, x):
        self.sum += x
        self.count += 1
        return self.average

    @property
    def average(self):
        return self.sum / self.count

    def forget(self):
        self.sum = jnp.zeros(self.shape)
        self.count = 0


class Momentum:
    def __init__(self, params, lr=0.25, decay=0.5, nesterov=False):
        self.params = params
        self.velocity = {name: jnp.zeros_like(value) for name, value in params.items()}
        self.lr, self.decay, self.nesterov = lr, decay, nesterov

    def step(self, grads):
        for name, grad in grads.items():
            self.velocity[name] = self.decay * self.velocity[name] + grad
            moved = self.velocity[name]
            if self.nesterov:
                moved = self.decay * moved + grad
            self.params[name] = self.params[name] - self.lr * moved
        return self.params

    def halve(self):
        self.velocity = jax.tree.map(lambda v: v / 2, self.velocity)


class RandomNumbers:
    def __init__(self, seed):
        self._key = jax.random.key(seed)

    def _next(self):
        self._key, key = jax.random.split(self._key)
        return key

    def normal(self, mean=0.0):
        return mean + jax.random.normal(self._next(), (2,))

    def uniform(self, low, high):
        return jax.random.uniform(self._next(), (), minval=low, maxval=high)

    def integers(self, high):
        return jax.random.randint(self._next(), (3,), 0, high)

    def shuffle(self, values):
        return jax.random.permutation(self._next(), values)


class History:
    def __init__(self, size):
        self.size = size
        self.values = np.zeros(size, np.float32)
        self.position = 0
        self.is_full = False

    def push(self, value):
        self.values = jnp.asarray(self.values).at[self.position].set(value)
        self.position = (self.position + 1) % self.size
        self.is_full = jnp.logical_or(self.is_full, self.position == 0)

    def last(self, back=0):
        return self.values[(self.position - 1 - back) % self.size]

    def mean(self):
        seen = jnp.where(self.is_full, self.size, self.position)
        return jnp.sum(self.values) / jnp.maximum(seen, 1)


class Layer:
    def __init__(self, w):
        self.w = w
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return self.w * x


class Stack:
    def __init__(self, *weights):
        self.layers = [Layer(jnp.float32(w)) for w in weights]
        self.extra = {"z": Layer(jnp.float32(1.5)), "a": [0, 1.0]}
        self.best = ((0, 0.0), None)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        self.extra["a"][0] += 1
        return {"y": x, "order": list(map(str, self.extra))}["y"]

    def nudge(self, by):
        for index, layer in enumerate(self.layers):
            layer.w = layer.w + by * (index + 1)
        first = self.extra["z"]
        first.w -= by
        self.best = ((self.best[0][0] + 1, by), None)
        return [layer.w for layer in self.layers], (first.w,)

    def swap(self):
        self.layers = self.layers[::-1]


@dataclasses.dataclass
class Account:
    owner: str
    rate: float = 0.5
    balance: float = 0.0
    log: list = dataclasses.field(default_factory=lambda: [0, 0])
    started: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.started = 7

    def pay(self, amount):
        self.balance += amount
        self.log[0] += 1
        return self.balance

    def close_year(self, *, bonus=0.0):
        self.log[1] += 1
        self.pay(self.rate * self.balance + bonus)
        return {"balance": self.balance, "pays": tuple(self.log)}


class Thermometer:
    __slots__ = ("__raw", "never", "unit")

    def __init__(self, unit):
        self.unit = unit
        self.__raw = 0.0

    @property
    def degrees(self):
        return self.__raw + self.offset()

    @degrees.setter
    def degrees(self, value):
        self.__raw = value - self.offset()

    def offset(self):
        return 1.0 if self.unit == "C" else 32.0


class Recorder(Thermometer):
    __slots__ = ("__raw", "highest")

    def __init__(self, unit="C"):
        super().__init__(unit)
        self.highest = -jnp.inf
        self.__raw = 0

    def measure(self, value):
        self.degrees = value
        self.__raw += 1
        self.highest = jnp.maximum(self.highest, self.degrees)
        return self.degrees, self.__raw

    def offset(self):
        return 2 * super().offset()


class ClassDefault:
    count = 0
    total = np.zeros(2, np.float32)
    name = "default"

    def add(self, x):
        self.count += 1
        self.total = self.total + x
        return self.total * self.count

    def cleared(self):
        self.count = 0
        return self.name


# made once: functions made anew by each constructor would be other programs to JAX
OPTIMIZER = optax.chain(optax.trace(0.5), optax.scale(-0.5))


class Optax:
    def __init__(self, start):
        self.optimizer = OPTIMIZER
        self.params = collections.OrderedDict(w=jnp.float32(start), b=jnp.ones(2))
        self.state = self.optimizer.init(self.params)
        self.seen = collections.defaultdict(int, w=0, b=0)

    def step(self, w, b):
        grads = collections.OrderedDict(w=jnp.float32(w), b=jnp.full(2, b, jnp.float32))
        updates, self.state = self.optimizer.update(grads, self.state)
        self.params = optax.apply_updates(self.params, updates)
        for name in grads:
            self.seen[name] += 1
        return self.params


# ---- the impure class itself, step by step, is the oracle


class Case(NamedTuple):
    cls: type
    args: tuple
    calls: dict
    eager_only: tuple = ()


whole = st.integers(-1000, 1000)
number = st.floats(-100, 100, width=16)
pair = st.tuples(number, number).map(lambda xs: np.asarray(xs, np.float32))
unit = st.floats(0, 1, width=16)
PARAMS = {"w": jnp.ones(2), "b": jnp.zeros(()), "a": jnp.float32(2)}
gradient = st.fixed_dictionaries({"w": pair, "b": number, "a": number})
none = st.tuples()

CASES = [
    Case(Tally, (), {"step": st.tuples(whole), "reset": none, "doubled": none}),
    Case(Average, ((2,),), {"__call__": st.tuples(pair), "forget": none, "average": none}),
    Case(Momentum, (PARAMS,), {"step": st.tuples(gradient), "halve": none}),
    Case(Momentum, (PARAMS, 0.5, 0.25, True), {"step": st.tuples(gradient), "halve": none}),
    Case(
        RandomNumbers,
        (3,),
        {
            "normal": st.tuples(number),
            "uniform": st.tuples(st.just(-1.0), unit),
            "integers": st.tuples(st.integers(1, 99)),
            "shuffle": st.tuples(pair),
        },
    ),
    Case(
        History,
        (3,),
        {"push": st.tuples(number), "last": st.tuples(st.integers(0, 2)), "mean": none},
    ),
    Case(
        Stack, (1.0, -2.0), {"forward": st.tuples(number), "nudge": st.tuples(unit), "swap": none}
    ),
    Case(
        Account,
        ("Ada",),
        {"pay": st.tuples(number), "close_year": st.one_of(none, st.just({"bonus": 2.0}))},
    ),
    Case(Recorder, (), {"measure": st.tuples(number), "degrees": none, "offset": none}),
    Case(ClassDefault, (), {"add": st.tuples(pair), "cleared": none}, eager_only=("cleared",)),
    Case(Optax, (1.0,), {"step": st.tuples(number, number)}),
]
EXAMPLES = 25
law = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)


@functools.cache
def pure(cls, *methods):
    return functionalize(cls, *methods)


@functools.cache
def compiled(function):
    return jax.jit(function)


def function_of(functions, name):
    alone = len(functions) == 2
    return functions.apply if alone or name == "__call__" else getattr(functions, name)


def perform(instance, name, args, kwargs):
    if isinstance(getattr(type(instance), name), property):
        return getattr(instance, name)
    return getattr(instance, name)(*args, **kwargs)


def assert_same(pure_value, impure_value, where):
    """Exact but for floats: the impure class computes with Python's float64, state is float32."""
    if isinstance(impure_value, dict):
        assert type(pure_value) is type(impure_value), where
        assert pure_value.keys() == impure_value.keys(), where
        # jax.tree.map inside a method sorts the keys of a dict; the state keeps their order
        if list(impure_value) != sorted(impure_value):
            assert list(pure_value) == list(impure_value), where
        for key in impure_value:
            assert_same(pure_value[key], impure_value[key], f"{where}[{key!r}]")
    elif isinstance(impure_value, list | tuple):
        assert type(pure_value) is type(impure_value), where
        assert len(pure_value) == len(impure_value), where
        for index, (x, y) in enumerate(zip(pure_value, impure_value, strict=True)):
            assert_same(x, y, f"{where}[{index}]")
    elif type(impure_value).__module__ == __name__ and not isinstance(impure_value, type):
        own = vars(impure_value) if hasattr(impure_value, "__dict__") else ()
        assert set(dir(pure_value)) >= set(own), where
        for name in dir(pure_value):
            assert_same(getattr(pure_value, name), getattr(impure_value, name), f"{where}.{name}")
    elif isinstance(impure_value, jax.Array | np.ndarray | np.generic | bool | int | float):
        if jnp.issubdtype(getattr(impure_value, "dtype", int), jax.dtypes.prng_key):
            pure_value, impure_value = map(jax.random.key_data, (pure_value, impure_value))
        if np.asarray(impure_value).dtype.kind in "iub":
            np.testing.assert_array_equal(pure_value, impure_value, where)
        else:
            # 12 steps at a rounding of 6e-8 each, with cancellation between values up to 1e4
            np.testing.assert_allclose(pure_value, impure_value, 3e-5, 2e-3, err_msg=where)
    else:
        assert pure_value == impure_value, where


def ordered(functions, case):
    """The calls with their functions; a mapping of arguments stands for keywords."""
    for name, arguments in case:
        args, kwargs = ((), arguments) if isinstance(arguments, dict) else (arguments, {})
        yield name, function_of(functions, name), args, kwargs


def sequences(case):
    calls = [st.tuples(st.just(name), args) for name, args in case.calls.items()]
    return st.lists(st.one_of(calls), min_size=1, max_size=12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.cls.__name__)
def test_every_sequence_of_calls_gives_what_the_class_gives(case, standard_promotion):
    functions = pure(case.cls)
    runs = []

    @law
    @given(sequences(case))
    def agree(calls):
        instance = case.cls(*copy.deepcopy(case.args))
        # two states: JAX reports a random key that is used twice
        eager, jitted = functions.init(*case.args), functions.init(*case.args)
        for name, function, args, kwargs in ordered(functions, calls):
            expected = perform(instance, name, copy.deepcopy(args), kwargs)
            output, eager = function(eager, *args, **kwargs)
            assert_same(output, expected, name)
            assert_same(eager, instance, "eager")
            fast = function if name in case.eager_only else compiled(function)
            output, jitted = fast(jitted, *args, **kwargs)
            assert_same(jitted, instance, "jitted")
            if not isinstance(expected, collections.OrderedDict | dict):
                assert_same(output, expected, name)
            assert jax.tree.structure(eager) == jax.tree.structure(jitted)
        runs.append(len(calls))

    agree()
    assert len(runs) >= EXAMPLES


def test_there_are_at_least_200_sequences_over_at_least_8_classes():
    assert len(CASES) * EXAMPLES >= 200
    assert len({case.cls for case in CASES}) >= 8


# ---- names


@pytest.mark.parametrize(
    ("cls", "methods", "fields"),
    [
        (Tally, (), ("init", "step", "reset", "doubled")),
        (Tally, ("step",), ("init", "apply")),
        (Tally, ("reset", "step"), ("init", "reset", "step")),
        (Average, (), ("init", "apply", "average", "forget")),
        (Average, ("__call__",), ("init", "apply")),
        (Recorder, (), ("init", "degrees", "offset", "measure")),
        (type("Empty", (), {}), (), ("init",)),
        (type("Held", (), {"s": staticmethod(len), "c": classmethod(len)}), (), ("init",)),
        (type("Named", (), {"count": lambda self: 1, "index": lambda self: 2}), (),
         ("init", "count", "index")),
    ],
)  # fmt: skip
def test_the_functions_are_named_after_the_methods(cls, methods, fields):
    functions = functionalize(cls, *methods)
    assert functions._fields == fields
    assert type(functions).__name__ == f"Pure{cls.__name__}"
    assert isinstance(functions, tuple)


class Clash:
    def apply(self): ...

    def __call__(self): ...


class Begins:
    def init(self): ...


@pytest.mark.parametrize(
    ("cls", "methods", "name"),
    [
        (Tally, ("missing",), "missing"),
        (Tally, ("init",), "init"),
        (Tally, ("count",), "count"),
        (Tally, ("__init__",), "__init__"),
        (RandomNumbers, ("_next",), "_next"),
        (Tally, ("step", "step"), "step"),
        (Clash, (), "apply"),
        (Clash, ("__call__", "apply"), "__call__"),
        (Begins, (), "init"),
    ],
)
def test_a_name_that_is_no_method_or_taken_is_refused(cls, methods, name):
    with pytest.raises(errors.MethodNameError) as caught:
        functionalize(cls, *methods)
    assert caught.value.values["name"] == name


def test_the_text_of_the_name_error():
    with pytest.raises(errors.MethodNameError) as caught:
        functionalize(Tally, "run")
    assert str(caught.value) == (
        "'run' cannot be a function of Tally; its methods are step, reset, doubled.\n"
        "  wrong: functionalize(Tally, 'run')\n"
        "  right: functionalize(Tally)\n"
        "  why:   each name must be a method or property of the class; `init` stands for the "
        "constructor, and a name that begins with _ is private\n"
        "  more:  docs/api/functionalize.rst"
    )


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (hk.Linear, "Linear"),
        (hk.Module, "Module"),
        (jnp.add, "add"),
        (Tally(), "Tally(…)"),
        (3, "int(…)"),
        (None, "NoneType(…)"),
        (int, "int"),
        (dict, "dict"),
        (object, "object"),
        (type, "type"),
        (random.Random, "Random"),
        (type("Mine", (list,), {}), "Mine"),
        (type("Broken", (ValueError,), {}), "Broken"),
        (Colour, "Colour"),
        (np.ndarray, "ndarray"),
        (NamedTuple("Point", [("x", int)]), "Point"),
    ],
)
def test_what_is_no_ordinary_class_is_refused(given, shown):
    with pytest.raises(errors.PlainClassError) as caught:
        functionalize(given)
    assert str(caught.value) == (
        f"{shown} is not an ordinary Python class.\n"
        f"  wrong: functionalize({shown})\n"
        f"  right: pure_pair({shown})\n"
        "  why:   functionalize carries the attributes of a class's instances; a Haiku module or "
        "a function has its state elsewhere\n"
        "  more:  docs/api/functionalize.rst"
    )


# ---- under JAX's transformations


def aval(leaf):
    return leaf.shape, leaf.dtype, leaf.weak_type


def test_one_trace_serves_all_calls():
    traces = []

    class Traced(Tally):
        def step(self):
            traces.append(self.count)
            self.flag = True
            return super().step()

        def __init__(self):
            super().__init__()
            self.flag = False
            self.rate = 0.5

    init, apply = functionalize(Traced, "step")
    fast = jax.jit(apply)
    state = init()
    treedef, avals = jax.tree.structure(state), list(map(aval, jax.tree.leaves(state)))
    for count in range(1, 6):
        output, state = fast(state)
        assert output == count
        assert jax.tree.structure(state) == treedef
        assert list(map(aval, jax.tree.leaves(state))) == avals
    assert len(traces) == 1


def test_scan_is_the_loop(standard_promotion):
    xs = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32)
    functions = pure(Average)
    impure = Average((2,))
    expected = [impure(x) for x in xs]
    state, outputs = jax.lax.scan(
        lambda state, x: functions.apply(state, x)[::-1], functions.init((2,)), xs
    )
    np.testing.assert_allclose(outputs, expected, rtol=1e-6)
    assert_same(state, impure, "state")


def test_grad_goes_through_arguments_and_state(standard_promotion):
    functions = pure(Momentum)

    def loss(w, gradient):
        state = functions.init({"w": w})
        for _ in range(3):
            _, state = functions.step(state, {"w": gradient})
        return state.params["w"]

    # the velocities are g, 1.5 g and 1.75 g, each taken a quarter of
    assert jax.grad(loss, (0, 1))(1.0, 2.0) == (1.0, -(1 + 1.5 + 1.75) / 4)

    def of_state(state):
        _, state = functions.step(state, {"w": jnp.float32(1)})
        return state.params["w"]

    state = functions.init({"w": jnp.float32(3)})
    gradient = jax.grad(of_state)(state)
    assert isinstance(gradient, type(state))
    assert gradient.params["w"] == 1
    assert gradient.velocity["w"] == -0.25 * 0.5


def test_vmap_runs_many_instances():
    functions = pure(RandomNumbers)
    states = jax.vmap(functions.init)(jnp.arange(4))
    outputs, states = jax.vmap(functions.uniform, (0, None, None))(states, 0.0, 1.0)
    outputs, states = jax.vmap(functions.normal)(states)
    for seed in range(4):
        impure = RandomNumbers(seed)
        impure.uniform(0.0, 1.0)
        np.testing.assert_allclose(outputs[seed], impure.normal(), rtol=1e-6)
        assert_same(jax.tree.map(lambda leaf, seed=seed: leaf[seed], states), impure, "state")


def test_init_is_compiled_like_any_function():
    made = jax.jit(pure(RandomNumbers).init)(5)
    assert_same(made, RandomNumbers(5), "state")
    many = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(pure(Tally).init() for _ in range(3)))
    output, _ = jax.vmap(pure(Tally).step)(many)
    assert output.tolist() == [1, 1, 1]


# ---- what a state is


def test_a_state_shows_its_attributes():
    state = pure(Stack).init(1.0)
    assert repr(pure(Tally).init()) == "Tally(count=Array(0, dtype=int32))"
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    assert paths == [
        ".layers[0].w", ".layers[0].calls", ".extra['z'].w", ".extra['z'].calls",
        ".extra['a'][0]", ".extra['a'][1]", ".best[0][0]", ".best[0][1]",
    ]  # fmt: skip
    assert state.layers[0].calls == 0
    assert list(state.extra) == ["z", "a"]
    assert dir(state) == ["best", "extra", "layers"]
    assert pure(Recorder).init().unit == "C"
    assert pure(Recorder).init()._Thermometer__raw == 0
    with pytest.raises(AttributeError, match="the state of Tally has no attribute 'total'"):
        _ = pure(Tally).init().total
    with pytest.raises(AttributeError):
        pure(Tally).init().count = 3


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_state_is_copied_and_pickled(copied):
    state = pure(Average).init((2,))
    again = copied(state)
    assert jax.tree.structure(again) == jax.tree.structure(state)
    assert pure(Average).forget(again)[1].count == 0


def test_what_a_method_assigns_is_state_and_what_only_the_constructor_assigns_is_static():
    class Mixed:
        def __init__(self, size, rate, flag):
            self.size, self.rate, self.flag = size, rate, flag
            self.steps, self.done, self.scale = 0, False, 2.0
            self.hidden, self.listed = 5, [1, "x", None]
            self.pair, self.shape = (1, 2.5), (2, 3)

        def step(self):
            if self.flag:
                self.steps += 1
            self.done = True
            self.pair = (self.pair[0] + 1, self.pair[1])
            change = lambda: setattr(self, "nothing", 1)  # noqa: E731, F841
            lift = lambda self: [setattr for self.scale in [4.0]]  # noqa: E731
            lift(self)
            return jnp.zeros(self.size) + jnp.where(self.done, self.rate, 0.0), jnp.ones(self.shape)

    functions = functionalize(Mixed)
    state = functions.init(3, 0.5, True)
    leaves = {
        jax.tree_util.keystr(path): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    }
    assert list(leaves) == [".steps", ".done", ".scale", ".listed[0]", ".pair[0]", ".pair[1]"]
    assert [leaf.dtype for leaf in leaves.values()] == [
        jnp.int32, jnp.bool_, jnp.float32, jnp.int32, jnp.int32, jnp.float32,
    ]  # fmt: skip
    assert not any(leaf.weak_type for leaf in leaves.values())
    assert (state.size, state.rate, state.flag, state.shape) == (3, 0.5, True, (2, 3))
    (output, _), state = jax.jit(functions.apply)(state)
    assert output.tolist() == [0.5, 0.5, 0.5]
    assert (state.done, state.scale, state.pair, state.flag) == (True, 4.0, (2, 2.5), True)
    assert not any(leaf.weak_type for leaf in jax.tree.leaves(state))


def test_numbers_that_are_equal_but_of_other_types_compile_to_other_programs():
    class Held:
        def __init__(self, value):
            self.value = value

        def read(self):
            return jnp.asarray(self.value)

    init, apply = functionalize(Held)
    fast = jax.jit(apply)
    values = [1, True, 1.0, 0.0, -0.0, (1, 2), (True, 2.0)[:1]]
    for value in [*values, float("nan")]:
        output, _ = fast(init(value))
        assert output.dtype == jnp.asarray(value).dtype
        np.testing.assert_array_equal(output, np.asarray(value))
        assert np.signbit(output).tolist() == np.signbit(np.asarray(value, float)).tolist()


STATIC = [
    "text", b"bytes", Colour.RED, int, jnp.float32, np.dtype("int8"), frozenset({1, "a"}),
    Path("a/b"), range(3), ..., object(), jnp.tanh, len, np.add, jnp.add,
    functools.partial(jnp.sum, axis=0), jax.nn.relu, jax.nn.gelu, optax.adam(0.1), types,
    jax.jit(jnp.sin), slice, list[int], Generic[TypeVar("T")], jax.devices()[0],
    optax.cosine_decay_schedule(1.0, 9), hk.initializers.RandomNormal, np.str_("x"),
    hk.transform(lambda x: x), jax.tree_util.Partial(jnp.sum, axis=0), "".join,
]  # fmt: skip


@pytest.mark.parametrize("value", STATIC, ids=lambda value: type(value).__name__)
def test_what_is_hashable_by_value_and_what_is_called_is_static(value):
    class Holder:
        def __init__(self, value):
            self.value = value
            self.count = 0

        def step(self):
            self.count += 1
            return self.count

    init, apply = functionalize(Holder)
    state = init(value)
    assert len(jax.tree.leaves(state)) == 1 + (type(value) is jax.tree_util.Partial)
    for expected in (1, 2):
        output, state = jax.jit(apply)(state)
        assert output == expected
    again = state.value
    assert again is value or type(again) is jax.tree_util.Partial or again == value


def test_abstract_generic_and_frozen_classes_are_ordinary():
    item = TypeVar("item")

    class Base(abc.ABC, Generic[item]):
        @abc.abstractmethod
        def step(self): ...

    @dataclasses.dataclass(frozen=True)
    class Config:
        size: int
        scale: Any

    class Child(Base[int]):
        def __init__(self, config):
            self.config = self.same = config
            self.iterated = Walk()

        def step(self):
            return jnp.ones(self.config.size) * self.config.scale + next(self.iterated)

    class Walk:
        def __init__(self):
            self.at = 0.0

        def __iter__(self):
            return self

        def __next__(self):
            self.at += 1.0
            return self.at

    functions = functionalize(Child)
    state = functions.init(Config(2, jnp.float32(3)))
    output, state = jax.jit(functions.apply)(state)
    assert output.tolist() == [4, 4]
    assert state.iterated.at == 1
    with pytest.raises(TypeError, match="abstract"):
        functionalize(Base).init()
    frozen = functionalize(dataclasses.make_dataclass("Frozen", [("x", int)], frozen=True))
    assert frozen.init(3).x == 3


def test_registered_nodes_and_their_numbers_are_carried():
    @jax.tree_util.register_pytree_node_class
    class Picky:
        def __init__(self, table, kind):
            self.table, self.kind = {**table}, kind

        def tree_flatten(self):
            return (self.table,), self.kind

        @classmethod
        def tree_unflatten(cls, kind, children):
            return cls(*children, kind)

    class Holder:
        def __init__(self):
            self.node = Picky({"b": 1, "a": "text"}, "sum")
            self.partial = jax.tree_util.Partial(lambda x, y: x + y, jnp.float32(1))

        def step(self, kind="sum"):
            self.node.table["b"] += 1
            self.node = Picky(self.node.table, kind)
            return self.partial(jnp.float32(2))

    init, apply = functionalize(Holder)
    state = init()
    output, state = jax.jit(apply)(state)
    assert output == 3
    assert isinstance(state.node, Picky)
    assert (list(state.node.table), state.node.kind) == (["b", "a"], "sum")
    assert (state.node.table["b"], state.node.table["a"]) == (2, "text")
    assert "node=<" in repr(state)
    with pytest.raises(errors.StateStructureError, match=r"state\.node: Picky"):
        apply(state, "mean")


def test_a_pure_function_takes_a_state_that_went_through_numpy():
    class Buffer:
        def __init__(self):
            self.x = np.zeros(2, np.float32)

        def add(self):
            self.x += 1
            return self.x

    init, apply = functionalize(Buffer)
    host = jax.tree.map(np.asarray, init())
    output, state = apply(host)
    assert output.tolist() == [1, 1]
    assert host.x.tolist() == [0, 0]
    assert isinstance(state.x, jax.Array)


# ---- original class, instances and arguments


def snapshot(cls):
    return [dict(vars(base)) for base in cls.__mro__[:-1]]


def first_of(strategy):
    seen = []
    settings(law, max_examples=1)(given(strategy)(lambda drawn: seen.append(drawn)))()
    return seen[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.cls.__name__)
def test_the_class_and_its_instances_stay_as_they_are(case, standard_promotion):
    witness, untouched = (case.cls(*copy.deepcopy(case.args)) for _ in range(2))
    before = snapshot(case.cls)
    functions = functionalize(case.cls)
    first, second = functions.init(*case.args), functions.init(*case.args)
    for name, args in case.calls.items():
        drawn = first_of(args)
        arguments, kwargs = ((), drawn) if isinstance(drawn, dict) else (drawn, {})
        function_of(functions, name)(functions.init(*case.args), *arguments, **kwargs)
        assert_same(first, witness, "first")
        assert_same(second, witness, "second")
    assert snapshot(case.cls) == before
    assert_same(functions.init(*case.args), untouched, "untouched")


def test_arguments_stay_as_they_are():
    class Greedy:
        def __init__(self, items, table):
            items.append(1)
            table["x"] = 1
            self.items = items

        def take(self, batch, xs, *, options):
            self.items = [item + 1 for item in batch]
            batch.append(3)
            options["nested"]["deep"].clear()
            xs += 1
            return xs

    functions = functionalize(Greedy)
    items, table = [], {}
    state = functions.init(items, table)
    assert (items, table) == ([], {})
    batch, xs, options = [1], np.zeros(2), {"nested": {"deep": [1]}}
    output, state = functions.apply(state, batch, xs, options=options)
    assert (batch, xs.tolist(), options) == ([1], [0, 0], {"nested": {"deep": [1]}})
    assert output.tolist() == [1, 1]


def test_two_inits_share_nothing_even_with_a_default_list():
    class Lazy:
        def __init__(self, items=[0, 0]):  # noqa: B006
            self.items = items

        def step(self):
            self.items[0] += 1

    init, apply = functionalize(Lazy)
    first, second = init(), init()
    _, first = apply(first)
    assert (first.items[0], second.items[0], init().items[0]) == (1, 0, 0)


def test_a_state_survives_an_exception_in_a_method():
    class Fails:
        log = []  # noqa: RUF012

        def __init__(self):
            self.parts = [0]

        def step(self, fail):
            self.parts[0] += 1
            self.log.append(1) if fail else None
            if fail:
                raise KeyError("mine")
            return self.parts[0]

    init, apply = functionalize(Fails)
    state = init()
    with pytest.raises(KeyError, match="mine"):
        apply(state, True)
    assert Fails.log == []
    assert apply(state, False)[0] == 1


def test_a_reset_attribute_falls_back_to_the_class():
    class Default:
        count = 5

        def step(self):
            self.count += 1

        def drop(self):
            del self.count

    functions = functionalize(Default)
    state = functions.step(functions.init())[1]
    assert state.count == 6
    assert functions.drop(state)[1].count == 5


def test_order_of_a_dict_is_kept_and_jaxs_sorting_undone():
    class Table:
        def __init__(self):
            self.table = {"z": 1, "a": 2, 3: 4}
            self.words = {"b": jnp.ones(()), "a": jnp.zeros(())}

        def keys(self):
            return next(map(str, self.table)) == "z"

        def sort(self):
            self.words = jax.tree.map(lambda x: x + 1, self.words)

        def turn(self):
            self.table["z"] = self.table.pop("z")

    functions = functionalize(Table)
    state = functions.init()
    assert jax.jit(functions.keys)(jax.tree.map(jnp.negative, state))[0]
    after = functions.sort(state)[1]
    assert list(after.words) == ["b", "a"]
    assert jax.tree.structure(after) == jax.tree.structure(state)
    with pytest.raises(errors.StateStructureError) as caught:
        functions.turn(state)
    assert caught.value.what == (
        "the returned state has other names (- gone, + new):\n"
        "    - state.table: dict(z, a, 3)\n"
        "    + state.table: dict(a, 3, z)"
    )


# ---- errors


class Sample:
    """Its methods do what they must not."""

    table = {"x": [1]}  # noqa: RUF012
    total = 0
    numbers = np.zeros(2)

    def __init__(self):
        self.x = jnp.zeros(2)
        self.n = 0
        self.phase = "cold"
        self.best = None
        self.child = Layer(jnp.ones(()))
        self.items = [1, 2]
        self.names = ["a", "b"]
        self.fixed = 3
        self.function = None

    def phase_change(self):
        self.phase = "warm"
        self.child.mode = 1

    def fixed_change(self):
        vars(self)["fixed"] += 1

    def list_change(self):
        self.names[1] = "c"

    def static_to_array(self):
        self.phase = jnp.ones(2)

    def shape(self):
        self.x = jnp.zeros(3)

    def dtype(self):
        self.n = 1.5

    def none_to_value(self):
        self.best = 1.0

    def value_to_none(self):
        self.x = None

    def append(self):
        self.items.append(3)

    def append_name(self):
        self.names.append("c")

    def lazy(self):
        self.cache = 1

    def delete(self):
        del self.x

    def list_to_tuple(self):
        self.items = tuple(self.items)

    def other_class(self):
        twin = Twin()
        twin.w, twin.calls = self.child.w, self.child.calls
        self.child = twin

    def no_items(self):
        self.best = []

    def leak(self):
        jax.vmap(self._keep)(jnp.ones((3, 2)))

    def _keep(self, row):
        self.x = row

    def return_self(self):
        return {"me": [self]}

    def return_child(self):
        return self.child

    def return_method(self):
        return self.shape

    def return_lambda(self):
        return lambda: self.x

    def return_map(self):
        return map(self._keep, [1])

    def generate(self):
        yield self.x

    def class_attribute(self):
        Sample.total += 1

    def class_by_type(self):
        type(self).fresh = 1

    def class_delete(self):
        del Sample.total

    def class_list(self):
        self.table["x"].append(2)

    def class_dict(self):
        self.table["y"] = 1

    def class_array(self):
        self.numbers[0] = 7

    def class_nested(self):
        Layer.calls_of_all = 3

    def class_method(self):
        Sample.lazy = Sample.delete

    def default(self, seen=[]):  # noqa: B006
        seen.append(1)

    def share(self):
        self.items = self.names

    def share_child(self):
        self.function = [self.child]

    def cycle(self):
        self.child.parent = self

    def keep_file(self):
        self.function = io.StringIO()

    def keep_method(self):
        self.function = self.shape

    def keep_lambda(self):
        self.function = lambda: self.x

    def keep_set(self):
        self.child.w = {1}


class Twin:
    pass


STRUCTURE, STATIC_CHANGE = errors.StateStructureError, errors.StaticAttributeError
WRONG = {
    "phase_change": (STATIC_CHANGE, "state.phase: 'cold' -> 'warm'"),
    "fixed_change": (STATIC_CHANGE, "state.fixed: 3 -> 4"),
    "list_change": (STATIC_CHANGE, "state.names[1]: 'b' -> 'c'"),
    "static_to_array": (STATIC_CHANGE, "state.phase: 'cold' -> float32[2]"),
    "shape": (errors.StateShapeError, "state.x: float32[2] -> float32[3]"),
    "dtype": (errors.StateDtypeError, "state.n: int32[] -> float32[]"),
    "none_to_value": (STRUCTURE, "+ state.best"),
    "value_to_none": (STRUCTURE, "- state.x"),
    "append": (STRUCTURE, "+ state.items[2]"),
    "append_name": (STRUCTURE, "+ state.names[2]"),
    "lazy": (STRUCTURE, "+ state.cache"),
    "delete": (STRUCTURE, "- state.x"),
    "list_to_tuple": (STRUCTURE, "+ state.items: tuple"),
    "other_class": (STRUCTURE, "+ state.child: Twin(w, calls)"),
    "no_items": (STRUCTURE, "+ state.best: list"),
    "leak": (errors.LeakedTracerError, "state.x"),
    "return_self": (errors.ReturnsSelfError, "an object of the class Sample"),
    "return_child": (errors.ReturnsSelfError, "an object of the class Layer"),
    "return_method": (errors.ReturnsSelfError, "an object of the class method"),
    "return_lambda": (errors.ReturnsSelfError, "an object of the class function"),
    "return_map": (errors.ReturnsSelfError, "an object of the class map"),
    "generate": (errors.ReturnsSelfError, "an object of the class generator"),
    "class_attribute": (errors.ClassStateError, "Sample.total,"),
    "class_by_type": (errors.ClassStateError, "Sample.fresh,"),
    "class_delete": (errors.ClassStateError, "Sample.total,"),
    "class_list": (errors.ClassStateError, "Sample.table,"),
    "class_dict": (errors.ClassStateError, "Sample.table,"),
    "class_array": (errors.ClassStateError, "Sample.numbers,"),
    "class_nested": (errors.ClassStateError, "Layer.calls_of_all,"),
    "class_method": (errors.ClassStateError, "Sample.lazy,"),
    "default": (errors.ClassStateError, "Sample.default,"),
    "share": (errors.SharedAttributeError, "self.items and self.names"),
    "share_child": (errors.SharedAttributeError, "self.child and self.function[0]"),
    "cycle": (errors.SharedAttributeError, "self and self.child.parent"),
    "keep_file": (errors.AttributeKindError, "self.function is of type StringIO"),
    "keep_method": (errors.AttributeKindError, "self.function is of type method"),
    "keep_lambda": (errors.AttributeKindError, "self.function is of type function"),
    "keep_set": (errors.AttributeKindError, "self.child.w is of type set"),
}


def test_every_wrong_method_is_in_the_table():
    assert {name for name in pure(Sample)._fields if name != "init"} == set(WRONG)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("compile_it", [False, True], ids=["eager", "jit"])
def test_a_method_that_does_what_it_must_not(name, compile_it):
    error, text = WRONG[name]
    functions = pure(Sample)
    state = functions.init()
    before, defaults = snapshot(Sample), Sample.default.__defaults__[0][:]
    contents, numbers = copy.deepcopy(Sample.table), Sample.numbers.copy()
    layer = snapshot(Layer)
    function = getattr(functions, name)
    with pytest.raises(error) as caught:
        (jax.jit(function) if compile_it else function)(state)
    assert text in caught.value.what
    assert snapshot(Sample) == before
    assert snapshot(Layer) == layer
    assert (Sample.table, Sample.default.__defaults__[0]) == (contents, defaults)
    np.testing.assert_array_equal(Sample.numbers, numbers)
    assert_same(state, Sample(), "the state")


def test_the_text_of_the_static_error():
    with pytest.raises(STATIC_CHANGE) as caught:
        pure(Sample).phase_change(pure(Sample).init())
    assert str(caught.value) == (
        "Sample.phase_change changed attributes that are no arrays:\n"
        "    state.phase: 'cold' -> 'warm'\n"
        '  wrong: self.phase = "warm"\n'
        "  right: self.warm = True\n"
        "  why:   what is not an array is part of the compiled program; a number or a bool that "
        "a method assigns is carried as an array\n"
        "  more:  docs/api/functionalize.rst"
    )


def test_the_text_of_the_self_error():
    with pytest.raises(errors.ReturnsSelfError) as caught:
        pure(Sample).return_child(pure(Sample).init())
    assert str(caught.value) == (
        "Sample.return_child returned an object of the class Layer that belongs to the state.\n"
        "  wrong: return self\n"
        "  right: return self.value\n"
        "  why:   a pure function returns values; the new state is returned beside them already\n"
        "  more:  docs/api/functionalize.rst"
    )


def test_the_text_of_the_class_error():
    with pytest.raises(errors.ClassStateError) as caught:
        pure(Sample).class_attribute(pure(Sample).init())
    assert str(caught.value) == (
        "Sample.class_attribute changed Sample.total, which all instances share.\n"
        "  wrong: Sample.total = …\n"
        "  right: self.total = …\n"
        "  why:   state is what init returns: one for each call of init, and none behind them\n"
        "  more:  docs/api/functionalize.rst"
    )


def test_a_constructor_that_counts_its_instances_changes_the_class():
    class Counted:
        made = 0
        registry = []  # noqa: RUF012

        def __init__(self):
            Counted.made += 1
            self.registry.append(self)

    with pytest.raises(errors.ClassStateError, match=r"Counted\.__init__ changed Counted\."):
        functionalize(Counted).init()
    assert (Counted.made, Counted.registry) == (0, [])


def test_a_class_level_object_is_class_state():
    class Stats:
        def __init__(self):
            self.n = 0

    class Counted:
        stats = Stats()

        def step(self):
            self.stats.n += 1

    init, apply = functionalize(Counted)
    with pytest.raises(errors.ClassStateError, match=r"Counted\.stats"):
        apply(init())
    assert Counted.stats.n == 0


class Holder:
    def __init__(self, fill):
        fill(self)

    def method(self):
        return 1


def holding(value):
    return lambda self: setattr(self, "value", value)


def nonlocal_counter():
    count = 0

    def tick():
        nonlocal count
        count += 1
        return count

    return tick


class TextDict(dict):
    pass


class NewTuple(tuple):
    __slots__ = ()


KINDS = {
    "file": (holding(io.StringIO()), "StringIO"),
    "generator": (holding(x for x in ()), "generator"),
    "iterator": (holding(iter([1])), "list_iterator"),
    "count": (holding(itertools.count()), "count"),
    "lock": (holding(threading.Lock()), "lock"),
    "numpy generator": (holding(np.random.default_rng(0)), "Generator"),
    "numpy state": (holding(np.random.RandomState(0)), "RandomState"),
    "random": (holding(random.Random(0)), "Random"),
    "set": (holding({1}), "set"),
    "bytearray": (holding(bytearray(2)), "bytearray"),
    "deque": (holding(collections.deque([1])), "deque"),
    "dict subclass": (holding(TextDict(a=1)), "TextDict"),
    "list subclass": (holding(type("Items", (list,), {})()), "Items"),
    "tuple of an array": (holding(NewTuple([np.ones(1)])), "NewTuple"),
    "namespace": (holding(types.SimpleNamespace(a=1)), "SimpleNamespace"),
    "masked": (holding(np.ma.masked_array([1.0])), "MaskedArray"),
    "strings": (holding(np.array(["a"])), "ndarray"),
    "objects": (holding(np.array([None])), "ndarray"),
    "weak reference": (lambda self: setattr(self, "value", weakref.ref(self)), "ReferenceType"),
    "bound": (lambda self: setattr(self, "value", self.method), "method"),
    "bound of a generator": (holding(np.random.default_rng(0).normal), "method"),
    "append": (holding([].append), "builtin_function_or_method"),
    "next": (holding(itertools.count().__next__), "method-wrapper"),
    "bound elsewhere": (holding(Tally().step), "method"),
    "closure": (lambda self: setattr(self, "value", lambda: self), "function"),
    "default": (lambda self: setattr(self, "value", lambda me=self: me), "function"),
    "partial": (lambda self: setattr(self, "value", functools.partial(len, [self])), "partial"),
    "jitted": (lambda self: setattr(self, "value", jax.jit(lambda: self.x)), "PjitFunction"),
    "Partial": (
        lambda self: setattr(self, "value", jax.tree_util.Partial(self.method)), "method",
    ),
    "nonlocal": (holding(nonlocal_counter()), "function"),
    "random closure": (holding(lambda rng=random.Random(0): rng), "function"),  # noqa: B008
    "object key": (holding({Tally(): 1}), "Tally"),
    "object in a frozenset": (holding(frozenset({Tally()})), "Tally"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_what_cannot_be_carried_is_refused(name):
    fill, kind = KINDS[name]
    with pytest.raises(errors.AttributeKindError) as caught:
        functionalize(Holder).init(fill)
    assert caught.value.values["path"] == "self.value"
    assert kind in caught.value.values["kind"]


def test_a_closure_over_a_part_of_the_instance_is_refused():
    def fill(self):
        self.items = items = [1]
        self.child = [{"f": lambda: items}]

    with pytest.raises(errors.AttributeKindError) as caught:
        functionalize(Holder).init(fill)
    assert str(caught.value) == (
        "self.child[0]['f'] is of type function, which cannot be carried as state.\n"
        "  wrong: self.child = …\n"
        "  right: self.child = jnp.asarray(…)\n"
        "  why:   it changes out of sight, or refers back to the instance; keep arrays, numbers, "
        "containers and objects of your own classes, and pass the rest to the method\n"
        "  more:  docs/api/functionalize.rst"
    )


def shared(make):
    def fill(self):
        self.a = made = make()
        self.b = {"c": (made,)}

    return fill


def cycle(self):
    self.a = []
    self.a.append(self.a)


def views(self):
    self.a = np.zeros(4)
    self.b = {"c": (self.a[1:],)}


@pytest.mark.parametrize("make", [list, dict, Tally, collections.OrderedDict, lambda: np.zeros(2)])
def test_one_mutable_object_under_two_names_is_refused(make):
    with pytest.raises(errors.SharedAttributeError) as caught:
        functionalize(Holder).init(shared(make))
    assert str(caught.value) == (
        "self.a and self.b['c'][0] are one mutable object.\n"
        "  wrong: self.a = self.b = []\n"
        "  right: self.a, self.b = [], []\n"
        "  why:   in a PyTree each leaf stands for itself: a change through one name would no "
        "longer be seen through the other\n"
        "  more:  docs/api/functionalize.rst"
    )


@pytest.mark.parametrize(("fill", "second"), [(cycle, "self.a[0]"), (views, "self.b['c'][0]")])
def test_cycles_and_views_are_shared(fill, second):
    with pytest.raises(errors.SharedAttributeError) as caught:
        functionalize(Holder).init(fill)
    assert (caught.value.values["first"], caught.value.values["second"]) == ("self.a", second)


def test_what_cannot_change_may_be_shared():
    for make in (lambda: jnp.ones(2), lambda: (1, 2), lambda: "text", lambda: jnp.tanh):
        functionalize(Holder).init(shared(make))
