import abc
import collections
import copy
import dataclasses
import enum
import functools
import importlib
import io
import itertools
import logging
import pickle
import queue
import random
import sys
import threading
import types
import weakref
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import law
from support.tolerances import FEW_ROUNDINGS

from haiku_state import errors
from haiku_state.pure.functionalize import functionalize

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


class Named:
    name = "class"

    def __init__(self):
        self.count = 0
        self.total = np.zeros(2, np.float32)

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
        self.seen = {"w": 0, "b": 0}

    def step(self, w, b):
        grads = collections.OrderedDict(w=jnp.float32(w), b=jnp.full(2, b, jnp.float32))
        updates, self.state = self.optimizer.update(grads, self.state)
        self.params = optax.apply_updates(self.params, updates)
        for name in grads:
            self.seen[name] += 1
        return self.params


# ---- the impure class itself, step by step, is the oracle


class Clock:
    def __init__(self):
        self.n = 0

    def tick(self):
        self.n += 1
        return self.n


class Buffer:
    def __init__(self, n):
        self.n = n
        self.rows = jnp.zeros(n)


class Recording:
    """Beside a class whose ``n`` changes, another one whose ``n`` is a size."""

    def __init__(self, n):
        self.clock, self.buffer = Clock(), Buffer(n)

    def push(self, value):
        at = (self.clock.tick() - 1) % self.buffer.n
        self.buffer.rows = self.buffer.rows.at[at].set(value)
        return self.buffer.rows + jnp.ones(self.buffer.n)

    def reset(self):
        self.clock.n = 0


class Case(NamedTuple):
    cls: type
    args: tuple
    calls: dict
    static: tuple = ()
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
    Case(
        Average,
        ((2,),),
        {"__call__": st.tuples(pair), "forget": none, "average": none},
        static=("shape",),
    ),
    Case(
        Momentum,
        (PARAMS,),
        {"step": st.tuples(gradient), "halve": none},
        static=("nesterov",),
    ),
    Case(
        Momentum,
        (PARAMS, 0.5, 0.25, True),
        {"step": st.tuples(gradient), "halve": none},
        static=("nesterov",),
    ),
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
    Case(Named, (), {"add": st.tuples(pair), "cleared": none}, eager_only=("cleared",)),
    Case(Optax, (1.0,), {"step": st.tuples(number, number)}),
    Case(Recording, (3,), {"push": st.tuples(number), "reset": none}, static=("buffer.n",)),
]
EXAMPLES = 25


@functools.cache
def pure(cls, *methods, static=()):
    return functionalize(cls, *methods, static=static)


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
def test_functionalize__any_sequence_of_calls_gives_what_the_class_gives(case, standard_promotion):
    functions = pure(case.cls, static=case.static)
    runs = []

    @law(EXAMPLES)
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


# ---- names


@pytest.mark.parametrize(
    ("cls", "methods", "fields"),
    [
        (Tally, (), ("init", "step", "reset", "doubled")),
        (Tally, ("step",), ("init", "apply")),
        (Tally, ("reset", "step"), ("init", "reset", "step")),
        (Average, (), ("init", "apply", "average", "forget")),
        (type("Held", (), {"s": staticmethod(len), "c": classmethod(len)}), (), ("init",)),
    ],
)
def test_functionalize__names_its_functions_after_the_methods(cls, methods, fields):
    functions = functionalize(cls, *methods)
    assert functions._fields == fields
    assert type(functions).__name__ == f"Pure{cls.__name__}"


class Clash:
    def apply(self): ...

    def __call__(self): ...


class Begins:
    def init(self): ...


@pytest.mark.parametrize(
    ("cls", "methods", "name"),
    [
        (Tally, ("missing",), "missing"),
        (Tally, ("__init__",), "__init__"),
        (RandomNumbers, ("_next",), "_next"),
        (Tally, ("step", "step"), "step"),
        (Clash, (), "apply"),
        (Begins, (), "init"),
    ],
)
def test_functionalize__refuses_a_name_that_is_no_method_or_is_taken(cls, methods, name):
    with pytest.raises(errors.ArgumentError, match=f"methods is {name!r}"):
        functionalize(cls, *methods)


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (hk.Linear, "Linear"),
        (jnp.add, "add"),
        (Tally(), "Tally(…)"),
        (int, "int"),
        (object, "object"),
        (random.Random, "Random"),
        (type("Mine", (list,), {}), "Mine"),
        (Color, "Color"),
        (NamedTuple("Point", [("x", int)]), "Point"),
    ],
)
def test_functionalize__refuses_what_is_not_an_ordinary_class(given, shown):
    with pytest.raises(errors.ArgumentError) as caught:
        functionalize(given)
    assert caught.value.what == (f"cls is {shown}, but it must be an ordinary Python class.")


# ---- under JAX's transformations


def test_functionalize__one_trace_serves_all_calls():
    traces = []

    class Traced(Tally):
        def step(self):
            traces.append(self.count)
            self.is_late = self.count > 3
            return super().step()

        def __init__(self):
            super().__init__()
            self.is_late = False
            self.rate = 0.5

    init, apply = functionalize(Traced, "step")
    fast, state = jax.jit(apply), init()
    structure = jax.tree.structure(state)
    for count in range(1, 6):
        output, state = fast(state)
        assert output == count
        assert jax.tree.structure(state) == structure
        assert [(leaf.dtype, leaf.weak_type) for leaf in jax.tree.leaves(state)] == [
            (jnp.int32, False),
            (jnp.bool_, False),
            (jnp.float32, False),
        ]
    assert len(traces) == 1


def test_functionalize__scan_is_the_loop(standard_promotion):
    xs = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32)
    functions = pure(Average, static=("shape",))
    impure = Average((2,))
    expected = [impure(x) for x in xs]
    state, outputs = jax.lax.scan(
        lambda state, x: functions.apply(state, x)[::-1], functions.init((2,)), xs
    )
    np.testing.assert_allclose(outputs, expected, rtol=FEW_ROUNDINGS)
    assert_same(state, impure, "state")


def test_functionalize__grad_goes_through_arguments_and_state(standard_promotion):
    functions = pure(Momentum, static=("nesterov",))

    def loss(w, gradient):
        state = functions.init({"w": w})
        for _ in range(3):
            _, state = functions.step(state, {"w": gradient})
        return state.params["w"]

    # the velocities are g, 1.5 g and 1.75 g, each taken a quarter of
    assert jax.grad(loss, (0, 1))(1.0, 2.0) == (1.0, -(1 + 1.5 + 1.75) / 4)


def test_functionalize__vmap_runs_many_instances():
    functions = pure(RandomNumbers)
    states = jax.vmap(functions.init)(jnp.arange(4))
    outputs, states = jax.vmap(functions.normal)(states)
    for seed in range(4):
        impure = RandomNumbers(seed)
        np.testing.assert_allclose(outputs[seed], impure.normal(), rtol=FEW_ROUNDINGS)
        assert_same(jax.tree.map(lambda leaf, seed=seed: leaf[seed], states), impure, "state")


# ---- what a state is


def test_functionalize__a_state_shows_its_attributes():
    state = pure(Stack).init(1.0)
    assert repr(pure(Tally).init()) == "Tally(count=Array(0, dtype=int32))"
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    assert paths == [
        ".best[0][0]", ".best[0][1]", ".extra['a'][0]", ".extra['a'][1]", ".extra['z'].calls",
        ".extra['z'].w", ".layers[0].calls", ".layers[0].w",
    ]  # fmt: skip
    assert state.layers[0].calls == 0
    assert state.best[1] is None
    assert dir(state) == ["best", "extra", "layers"]
    assert pure(Recorder).init()._Thermometer__raw == 0
    with pytest.raises(AttributeError, match="the state of Tally has no attribute 'total'"):
        _ = pure(Tally).init().total
    with pytest.raises(AttributeError, match="a state does not change"):
        pure(Tally).init().count = 3


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_functionalize__a_state_is_copied_and_pickled(copied):
    functions = pure(Average, static=("shape",))
    state = functions.init((2,))
    again = copied(state)
    assert jax.tree.structure(again) == jax.tree.structure(state)
    assert functions.forget(again)[1].count == 0


class Holder:
    def __init__(self, value):
        self.value = value
        self.count = 0

    def step(self):
        self.count += 1
        return self.count


PROGRAM = [
    "text", b"bytes", Color.RED, None, int, jnp.float32, np.dtype("int8"), frozenset({1}),
    Path("a/b"), range(3), jnp.tanh, len, np.add,
    functools.partial(jnp.sum, axis=0), jax.nn.relu, optax.adam(0.1), types, jax.jit(jnp.sin),
    list[int], optax.cosine_decay_schedule(1.0, 9), hk.transform(lambda x: x), "".join,
]  # fmt: skip


@pytest.mark.parametrize("value", PROGRAM, ids=lambda value: type(value).__name__)
def test_functionalize__what_is_called_or_compared_by_value_is_part_of_the_program(value):
    init, apply = functionalize(Holder)
    state = init(value)
    assert len(jax.tree.leaves(state)) == 1
    for expected in (1, 2):
        output, state = jax.jit(apply)(state)
        assert output == expected
    assert state.value is value or state.value == value


@pytest.mark.parametrize("size", [3, [3], (3,), {"rows": 3}])
def test_functionalize__a_size_is_static_where_the_caller_says_so(size):
    class Sized:
        def __init__(self, size):
            self.size, self.calls = size, 0

        def zeros(self):
            self.calls += 1
            return jnp.zeros([*self.size.values()] if isinstance(self.size, dict) else self.size)

    init, apply = functionalize(Sized, static=("size",))
    output, state = jax.jit(apply)(init(size))
    assert output.shape == (3,)
    assert (state.size, state.calls) == (size, 1)
    with pytest.raises(errors.TracedFlagError) as caught:
        jax.jit(functionalize(Sized).apply)(functionalize(Sized).init(3))
    assert caught.value.what.startswith("`self.size` is traced")


@pytest.mark.parametrize(
    "used", ["for _ in range(self.parts[0].n): pass", "if self.parts[0].n: pass"]
)
def test_functionalize__names_a_traced_size_inside_by_its_path(used, tmp_path, monkeypatch):
    source = f"""
class Part:
    def __init__(self):
        self.n = 3

class Whole:
    def __init__(self):
        self.parts, self.total = [Part()], 0.0

    def run(self):
        {used}
"""
    (tmp_path / "used_size.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "used_size", raising=False)
    whole = importlib.import_module("used_size").Whole
    with pytest.raises(errors.TracedFlagError) as caught:
        jax.jit(functionalize(whole).apply)(functionalize(whole).init())
    assert caught.value.what.startswith("`self.parts[0].n` is traced")
    fast = functionalize(whole, static=("parts[0].n",))
    jax.jit(fast.apply)(fast.init())


def test_functionalize__blames_only_a_number_of_the_state_for_a_traced_branch(standard_promotion):
    class Branching:
        def __init__(self):
            self.limit = 1.0

        def over(self, x):
            return 1 if x > 0 else self.limit

    function = jax.jit(functionalize(Branching).apply)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        function(functionalize(Branching).init(), 2.0)


def test_functionalize__numbers_inside_what_is_static_are_sizes_and_arrays_stay_state():
    class Part:
        def __init__(self):
            self.n, self.rows = 3, jnp.zeros(2)

    class Whole:
        def __init__(self):
            self.part = Part()

        def run(self):
            self.part.rows += 1
            return jnp.zeros(self.part.n)

        def grow(self):
            self.part.n += 1

    functions = functionalize(Whole, static=("part",))
    output, state = jax.jit(functions.run)(functions.init())
    assert (output.shape, state.part.rows.tolist(), state.part.n) == ((3,), [1, 1], 3)
    with pytest.raises(errors.StaticAttributeError) as caught:
        functions.grow(state)
    assert caught.value.what == (
        "Whole.grow changed something that is not state:\n    self.part.n: 3 -> 4"
    )
    assert state.part.n == 3
    with pytest.raises(errors.ArgumentError, match=r"static is 'part\.rows'"):
        functionalize(Whole, static=("part.rows",)).init()


def test_functionalize__static_names_must_exist():
    with pytest.raises(errors.ArgumentError, match=r"static is 'buffer\.size', 'n'"):
        functionalize(Recording, static=("buffer.n", "buffer.size", "n")).init(3)


def test_functionalize__equal_numbers_of_different_types_are_different_programs():
    class Held:
        def __init__(self, value):
            self.value = value

        def read(self):
            return jnp.asarray(self.value)

    init, apply = functionalize(Held, static=("value",))
    fast = jax.jit(apply)
    for value in [1, True, 1.0, 0.0, -0.0, (1, 2), (True,)]:
        output, _ = fast(init(value))
        assert output.dtype == jnp.asarray(value).dtype
        assert np.signbit(output).tolist() == np.signbit(np.asarray(value, float)).tolist()


def test_functionalize__abstract_generic_and_frozen_classes_are_ordinary():
    item = TypeVar("item")

    class Base(abc.ABC, Generic[item]):
        @abc.abstractmethod
        def step(self): ...

    @dataclasses.dataclass(frozen=True)
    class Config:
        size: int

    class Child(Base[int]):
        def __init__(self, config):
            self.config, self.scale = config, jnp.float32(3)

        def step(self):
            return jnp.ones(self.config.size) * self.scale

    functions = functionalize(Child, static=("config",))
    output, _ = jax.jit(functions.apply)(functions.init(Config(2)))
    assert output.tolist() == [3, 3]
    with pytest.raises(TypeError, match="abstract"):
        functionalize(Base).init()


# ---- original class, instances and arguments


def snapshot(cls):
    # Python itself keeps the slots of a class in its __slotnames__
    members = [vars(base).items() for base in cls.__mro__[:-1]]
    return [{name: v for name, v in own if name != "__slotnames__"} for own in members]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.cls.__name__)
def test_functionalize__the_class_and_its_instances_stay_as_they_are(case, standard_promotion):
    witness = case.cls(*copy.deepcopy(case.args))
    before = snapshot(case.cls)
    functions = pure(case.cls, static=case.static)
    first = functions.init(*case.args)
    for name, arguments in case.calls.items():
        seen = []
        law(1)(given(arguments)(lambda drawn: seen.append(drawn)))()  # noqa: B023
        args, kwargs = ((), seen[0]) if isinstance(seen[0], dict) else (seen[0], {})
        function_of(functions, name)(functions.init(*case.args), *args, **kwargs)
        assert_same(first, witness, "first")
    assert snapshot(case.cls) == before


def test_functionalize__arguments_stay_as_they_are():
    class Greedy:
        def __init__(self, items):
            items.append(1)
            self.items = items

        def take(self, batch, xs, *, options):
            self.items = [item + 1 for item in batch]
            batch.append(3)
            options["nested"].clear()
            options["new"] = 2
            xs += 1
            return xs

    functions = functionalize(Greedy)
    for kind in (dict, collections.OrderedDict):
        items, batch, xs, options = [], [1], np.zeros(2), kind(nested=[1])
        output, _ = functions.apply(functions.init(items), batch, xs, options=options)
        assert (items, batch, xs.tolist(), options) == ([], [1], [0, 0], kind(nested=[1]))
        assert output.tolist() == [1, 1]


def test_functionalize__does_not_write_to_a_numpy_array_in_a_state():
    class Rows:
        def __init__(self):
            self.x = np.zeros(2, np.float32)

        def add(self):
            self.x += 1
            return self.x

    init, apply = functionalize(Rows)
    host = jax.tree.map(np.asarray, init())
    output, state = apply(host)
    assert (output.tolist(), host.x.tolist()) == ([1, 1], [0, 0])
    assert isinstance(state.x, jax.Array)


def test_functionalize__a_state_survives_an_exception_in_a_method():
    class Fails:
        def __init__(self):
            self.parts = [0]

        def step(self, fail):
            self.parts[0] += 1
            if fail:
                raise KeyError("mine")
            return self.parts[0]

    init, apply = functionalize(Fails)
    state = init()
    with pytest.raises(KeyError, match="mine"):
        apply(state, True)
    assert apply(state, False)[0] == 1


def test_functionalize__a_dict_comes_back_sorted_and_an_ordered_one_in_its_order():
    class Table:
        def __init__(self, kind):
            self.steps = kind([("second", (1.0, 1.0)), ("first", (2.0, 0.0))])

        def run(self, x):
            self.steps = jax.tree.map(lambda step: step, self.steps)
            for factor, offset in self.steps.values():
                x = x * factor + offset
            return x

    functions = functionalize(Table)
    for kind, result, names in (
        (dict, 3, ["first", "second"]),
        (collections.OrderedDict, 4, ["second", "first"]),
    ):
        state = functions.init(kind)
        output, after = jax.jit(functions.apply)(state, 1.0)
        assert (output, list(after.steps)) == (result, names)
        assert jax.tree.structure(after) == jax.tree.structure(state)


class Wrapped:
    """Its methods keep elsewhere what they know of one instance."""

    def __init__(self):
        self.n = 1

    @functools.partial(jax.jit, static_argnums=0)
    def jitted(self):
        return self.n

    @functools.lru_cache  # noqa: B019
    def cached(self):
        return self.n

    @functools.cached_property
    def once(self):
        return self.n

    def part(self, k):
        return self.n + k

    bound = functools.partialmethod(part, k=2)
    activation = staticmethod(jnp.tanh)
    scale = 2.0


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("jitted", "PjitFunction"),
        ("cached", "_lru_cache_wrapper"),
        ("once", "cached_property"),
        ("bound", "partialmethod"),
    ],
)
def test_functionalize__names_a_wrapped_method(name, kind):
    with pytest.raises(errors.ArgumentError, match=rf"^Wrapped\.{name} is \S+{kind}, but"):
        functionalize(Wrapped, name)
    with pytest.raises(errors.ArgumentError, match=r"^Wrapped\.jitted is"):
        functionalize(Wrapped)
    init, apply = functionalize(Wrapped, "part")
    assert apply(init(), 2)[0] == 3


def test_functionalize__a_logger_is_part_of_the_program():
    class Talking:
        def __init__(self):
            self.logger, self.count = logging.getLogger("talking"), 0

        def step(self):
            self.logger.debug("tick")
            self.count += 1
            return self.count

    init, apply = functionalize(Talking)
    assert jax.jit(apply)(init())[0] == 1


def test_functionalize__names_an_object_of_a_library_where_it_is():
    class Queue:
        def __init__(self):
            self.waiting = queue.Queue()

        def step(self):
            return self.waiting.qsize()

    with pytest.raises(errors.AttributeKindError, match=r"^self\.waiting is of type Queue"):
        functionalize(Queue).init()


def test_functionalize__none_that_becomes_an_array_is_told_to_start_as_one():
    class Late:
        def __init__(self):
            self.best = None

        def step(self, x):
            self.best = x

    init, apply = functionalize(Late)
    with pytest.raises(errors.StaticAttributeError, match="start with an array of the shape"):
        apply(init(), jnp.ones((2, 3)))


def test_functionalize__an_object_with_a_hash_of_its_own_is_state():
    class Named:
        def __init__(self):
            self.count = 0

        def __eq__(self, other):
            return isinstance(other, Named)

        def __hash__(self):
            return 1

    class Owner:
        def __init__(self):
            self.named = Named()

        def step(self):
            self.named.count += 1
            return self.named.count

    init, apply = functionalize(Owner)
    state = init()
    for function in (apply, jax.jit(apply)):
        assert [int(function(state)[0]) for _ in range(2)] == [1, 1]


# ---- errors


class Thing:
    def __init__(self, fill):
        self.w = jnp.ones(())
        fill(self)

    def method(self):
        return self.w


def filled(make):
    return lambda self: setattr(self, "value", make(self))


def both(make):
    def fill(self):
        self.value = made = make()
        self.other = {"key": (made,)}

    return fill


@pytest.mark.parametrize(
    "make",
    [
        lambda self: self.method,
        lambda self: weakref.ref(self),
        lambda self: np.random.default_rng(0).normal,
        lambda self: itertools.count().__next__,
        lambda self: type("Log", (io.TextIOWrapper,), {})(io.BytesIO()),
    ],
)
def test_functionalize__refuses_what_refers_to_the_instance_or_changes_out_of_sight(make):
    with pytest.raises(errors.AttributeKindError, match=r"^self\.value is of type"):
        functionalize(Thing).init(filled(make))


@pytest.mark.parametrize(
    "make", [list, dict, Tally, lambda: collections.OrderedDict(a=1), lambda: np.zeros(2)]
)
def test_functionalize__refuses_one_mutable_object_under_two_names(make):
    # attributes are visited by name
    with pytest.raises(
        errors.SharedAttributeError, match=r"self\.other\['key'\]\[0\] and self\.value"
    ):
        functionalize(Thing).init(both(make))


def test_functionalize__what_cannot_change_may_have_two_names():
    for make in (lambda: jnp.ones(2), lambda: (1, 2), lambda: "text", lambda: jnp.tanh):
        functionalize(Thing).init(both(make))


class Sample:
    """Its methods do what they must not."""

    def __init__(self):
        self.x = jnp.zeros(2)
        self.n = 0
        self.phase = "cold"
        self.best = None
        self.child = Layer(jnp.ones(()))
        self.items = [1, 2]
        self.names = ["a", "b"]

    def phase_change(self):
        self.phase = "warm"

    def list_change(self):
        self.names[1] = "c"

    def none_to_value(self):
        self.best = 1.0

    def shape(self):
        self.x = jnp.zeros(3)

    def dtype(self):
        self.n = 1.5

    def append(self):
        self.items.append(3)

    def lazy(self):
        self.cache = 1

    def delete(self):
        del self.x

    def leak(self):
        jax.vmap(self._keep)(jnp.ones((3, 2)))

    def _keep(self, row):
        self.x = row

    def return_self(self):
        return {"me": [self]}

    def return_child(self):
        return self.child

    def generate(self):
        yield self.x

    async def later(self):
        return self.x

    def list_to_tuple(self):
        self.items = tuple(self.items)

    def share(self):
        self.items = self.names

    def cycle(self):
        self.child.parent = self

    def keep_file(self):
        self.phase = io.StringIO()

    def keep_iterator(self):
        self.phase = iter([1])

    def keep_lock(self):
        self.phase = threading.Lock()

    def keep_method(self):
        self.phase = self.shape

    def keep_append(self):
        self.phase = self.items.append

    def keep_set(self):
        self.child.w = {1}

    def too_large(self):
        self.n = 2**31


WRONG = {
    "phase_change": (errors.StaticAttributeError, "self.phase: 'cold' -> 'warm'"),
    "list_change": (errors.StaticAttributeError, "self.names[1]: 'b' -> 'c'"),
    "none_to_value": (errors.StaticAttributeError, "self.best: None -> "),
    "shape": (errors.StateShapeError, "state.x: float32[2] -> float32[3]"),
    "dtype": (errors.StateDtypeError, "state.n: int32[] -> float32[]"),
    "append": (errors.StaticAttributeError, "+ self.items[2]"),
    "lazy": (errors.StaticAttributeError, "+ self.cache"),
    "delete": (errors.StaticAttributeError, "- self.x"),
    "leak": (errors.LeakedTracerError, "state.x"),
    "return_self": (errors.AttributeKindError, "Sample.return_self() is of type Sample"),
    "return_child": (errors.AttributeKindError, "Sample.return_child() is of type Layer"),
    "generate": (errors.AttributeKindError, "Sample.generate() is of type generator"),
    "later": (errors.AttributeKindError, "Sample.later() is of type coroutine"),
    "list_to_tuple": (errors.StaticAttributeError, "items=(Array(1,"),
    "share": (errors.SharedAttributeError, "self.items and self.names are the same mutable object"),
    "cycle": (errors.SharedAttributeError, "self and self.child.parent are the same"),
    "keep_file": (errors.AttributeKindError, "self.phase is of type StringIO"),
    "keep_iterator": (errors.AttributeKindError, "self.phase is of type list_iterator"),
    "keep_lock": (errors.AttributeKindError, "self.phase is of type lock"),
    "keep_method": (errors.AttributeKindError, "self.phase is of type method"),
    "keep_append": (errors.AttributeKindError, "self.phase is of type builtin_function_or_method"),
    "keep_set": (errors.AttributeKindError, "self.child.w is of type set"),
    "too_large": (errors.ArgumentError, "self.n is 2147483648, but it must be -2147483648–21"),
}


@pytest.mark.filterwarnings("ignore:coroutine 'Sample.later' was never awaited")
@pytest.mark.parametrize("name", WRONG)
def test_functionalize__names_what_a_method_must_not_do_and_keeps_the_state(name):
    error, text = WRONG[name]
    functions = pure(Sample)
    state = functions.init()
    with pytest.raises(error) as caught:
        getattr(functions, name)(state)
    assert text in caught.value.what
    assert_same(state, Sample(), "state")


# ---- attributes of the class


def writing(write):
    class Base:
        total = 0
        seen = ()

    class Tally(Base):
        def __init__(self):
            self.n = 0

        def step(self, x):
            write(type(self), x)
            self.n += 1
            return self.n

        @classmethod
        def count(cls, x):
            cls.total += x

    return Base, Tally


WRITES = {
    "assigned": (lambda cls, x: setattr(cls, "total", cls.total + x), "Tally.total"),
    "of a base": (lambda cls, x: setattr(cls.__mro__[1], "total", x), "Base.total"),
    "by a class method": (lambda cls, x: cls.count(x), "Tally.total"),
    "new": (lambda cls, x: setattr(cls, "cache", x), "Tally.cache"),
    "deleted": (lambda cls, x: delattr(cls.__mro__[1], "seen"), "Base.seen"),
}


@pytest.mark.parametrize("jit", [jax.jit, lambda apply: apply])
@pytest.mark.parametrize("kind", WRITES)
def test_functionalize__names_and_undoes_what_a_method_writes_on_its_class(kind, jit):
    write, path = WRITES[kind]
    base, cls = writing(write)
    init, apply = functionalize(cls, "step")
    with pytest.raises(
        errors.StaticAttributeError, match=rf"Tally\.step.*:\n    {path}\n"
    ) as caught:
        jit(apply)(init(), jnp.int32(2))
    assert "wrong:" not in str(caught.value)
    assert (base.total, base.seen) == (0, ())
    assert not {"total", "cache"} & vars(cls).keys()


def test_functionalize__what_a_class_only_reads_from_itself_is_no_change():
    _base, cls = writing(lambda cls, x: cls.total + x)
    init, apply = functionalize(cls, "step")
    assert jax.jit(apply)(init(), jnp.int32(2))[0] == 1


def test_functionalize__has_the_docstrings_of_the_class():
    class Told:
        def __init__(self):
            """Begin."""
            self.n = 0

        def step(self):
            """Go on."""

    functions = functionalize(Told)
    assert (functions.init.__doc__, functions.apply.__doc__) == ("Begin.", "Go on.")
