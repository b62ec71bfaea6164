"""Pure functions that look suspicious, as newcomers and libraries write them: no finding in any.

A *note* is allowed, such as a constant of the module that the program holds as a frozen value.
"""

import abc
import bisect
import collections
import contextlib
import copy
import dataclasses
import datetime
import enum
import functools
import heapq
import importlib.util
import inspect
import io
import itertools
import json
import logging
import math
import operator
import os.path
import random
import re
import string
import textwrap
import threading
import time
import types
import typing
import uuid
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax

import haiku_state as hs

CASES: list[tuple[str, Any, tuple, dict]] = []  # name, function, args, kwargs
STANDARD_PROMOTION = {  # Optax's Adam and Haiku mix dtypes, which strict promotion refuses
    "optax_adam",
    "optax_chain_made_inside",
    "haiku_batch_norm",
    "haiku_batch_norm_init",
    "haiku_train_step",
    "haiku_next_rng_key",
}


def pure(*args, **kwargs):
    """Decorate a case, with the arguments to call it with."""

    def decorate(function):
        _add(function.__name__, function, args, kwargs)
        return function

    return decorate


def made(*args, **kwargs):
    """Decorate a function that makes the callable to explain, such as a bound method."""

    def decorate(builder):
        _add(builder.__name__, builder(), args, kwargs)
        return builder

    return decorate


def _add(name, function, args, kwargs):
    assert all(name != case[0] for case in CASES), name
    CASES.append((name, function, args, kwargs))


def _filled(function, *args):
    """Return arrays of the shapes that a function would return, without compiling it."""

    def fill(leaf):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        return jnp.full(leaf.shape, 1 if leaf.ndim else 0, leaf.dtype)

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        return jax.tree.map(fill, jax.eval_shape(function, *args))


x = jnp.arange(3.0)
matrix = jnp.ones((4, 3))
key = jax.random.key(0)


# ---- Containers built and filled inside


@pure(x)
def list_built_inside(x):
    outputs = []
    for scale in (1.0, 2.0, 3.0):
        outputs.append(x * scale)
    return jnp.stack(outputs)


@pure(x)
def dict_built_inside(x):
    stats = {}
    stats["mean"] = x.mean()
    stats.update(std=x.std(), size=x.size)
    stats.pop("size")
    return stats


@pure(x)
def nested_containers_built_inside(x):
    log = {"train": {"loss": []}, "seen": set()}
    for name in ("a", "b"):
        log["train"]["loss"].append(x.sum())
        log["seen"].add(name)
    return sum(log["train"]["loss"]) * len(log["seen"])


@pure(x)
def collections_built_inside(x):
    groups, counts = defaultdict(list), Counter()
    window, order = deque(maxlen=2), OrderedDict()
    for index in range(3):
        groups[index % 2].append(x[index])
        counts["calls"] += 1
        window.append(index)
        order[index] = x[index]
    order.move_to_end(0)
    window.rotate(1)
    return sum(groups[0]) * counts["calls"] + sum(window) + next(iter(order.values()))


@pure(x)
def heap_and_bisect_inside(x):
    heap, ordered = [3, 1, 2], []
    heapq.heapify(heap)
    while heap:
        bisect.insort(ordered, heapq.heappop(heap))
    return x * ordered[0]


@pure(x)
def list_passed_to_a_helper(x):
    def collect(store, value):
        store.append(value)
        return store

    return sum(collect(collect([], x), x + 1))


@pure(x)
def augmented_assignment_of_the_argument(x):
    x += 1
    x *= 2
    return x


@pure({"w": x, "b": x})
def argument_copied_then_changed(params):
    params = dict(params)
    params["w"] = params["w"] - 0.1
    params.pop("b")
    return params


@pure({"w": x, "b": x})
def argument_merged(params):
    return {**params, "w": params["w"] * 2} | {"step": 1.0}


@pure([x, x + 1])
def argument_list_concatenated(layers):
    layers = [*layers, x]
    layers += [layers[0]]
    return jnp.stack(layers)


@pure(x)
def bytearray_and_memoryview_inside(x):
    data = bytearray(3)
    data[0] = 7
    view = memoryview(data)
    view[1] = 2
    return x * sum(data)


@pure(x)
def comprehensions(x):
    squares = [i * i for i in range(3)]
    by_name = {f"layer{i}": x * i for i in squares}
    names = {name for name in by_name if not name.endswith("0")}
    return sum(by_name[name] for name in sorted(names))


@pure(x)
def list_of_callables(x):
    layers = []
    for factor in (1, 2, 3):
        layers.append(lambda value, factor=factor: value * factor)
    return functools.reduce(lambda value, layer: layer(value), layers, x)


# ---- Values from outside, read or copied, never changed

config = {"rate": 0.1, "sizes": [3, 4], "nested": {"depth": 2}}
names = ["b", "a", "c"]
order = [3, 1, 2]
offset = jnp.float32(2.0)
table = np.arange(6, dtype=np.float32)
LAYERS = (3, 2)


@pure(x)
def constants_of_the_module(x):
    return x * offset + table[:3] * config["rate"]


@pure(x)
def deepcopy_then_changed(x):
    mine = copy.deepcopy(config)
    mine["sizes"].append(5)
    mine["nested"]["depth"] += 1
    return x * len(mine["sizes"]) * mine["nested"]["depth"]


@pure(x)
def shallow_copy_rebound(x):
    mine = dict(config)
    mine["sizes"] = [*mine["sizes"], 5]
    mine["rate"] = 1.0
    return x * mine["rate"] * sum(mine["sizes"])


@pure(x)
def sorted_copy(x):
    first, *rest = sorted(order)
    reversed_order = order[::-1]
    reversed_order.sort()
    return x * first + len(rest)


@pure(x)
def list_copied_then_shuffled(x):
    mine = list(order)
    random.Random(0).shuffle(mine)
    return x * mine[0]


@pure(x)
def numpy_copied_then_changed(x):
    mine = table.copy()
    mine[:3] += 1
    mine.sort()
    return x + mine[:3]


@pure(x)
def numpy_result_then_changed(x):
    doubled = table * 2
    doubled *= 0.5
    doubled[0] = -1
    return x + doubled[:3]


@pure(x)
def local_name_of_a_global(x):
    table = np.zeros(3, np.float32)
    table[0] = 1
    order = []
    order.append(1)
    return x + table * len(order)


@pure(x)
def loop_over_an_outside_list(x):
    for index, size in enumerate(config["sizes"]):
        x = x * size + index
    for name, value in zip(names, order, strict=True):
        x = x + value * len(name)
    return x


@pure(x)
def iterator_of_an_outside_list(x):
    values = iter(order)
    first = next(values)
    for value in values:
        x = x + value
    return x * first


@pure(x)
def outside_dict_reads(x):
    rate = config.get("rate", 0.0)
    depth = config["nested"].get("width", 1)
    return x * rate * depth if "rate" in config else x


@pure(x)
def outside_set_operations(x):
    known = set(names) | {"d"}
    return x * len(known - {"a"})


@made(x)
def closure_over_constants():
    rate, shape = 0.1, (3,)

    def step(x):
        return x - rate * jnp.ones(shape)

    return step


@made(x)
def closure_over_an_array():
    w = np.ones((3, 3), np.float32)
    return lambda x: x @ w


@made(x)
def partial_of_constants():
    def dense(size, activation, x):
        return activation(x) * size

    return functools.partial(functools.partial(dense, 3), "relu" and jax.nn.relu)


@made(x)
def keyword_partial_with_static_values():
    def scale(x, *, mode, training):
        assert mode in {"sum", "mean"}
        return getattr(x, mode)() if training else x

    return functools.partial(scale, mode="mean", training=True)


@made(x)
def bound_method_that_only_reads():
    class Linear:
        def __init__(self, size):
            self.w = np.ones((size, size), np.float32)
            self.b = 0.5

        def __call__(self, x):
            return x @ self.w + self.b

    return Linear(3).__call__


@made(x)
def sequential_of_callables():
    class Sequential:
        def __init__(self, *layers):
            self.layers = layers

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    return Sequential(jnp.tanh, Sequential(jax.nn.relu, lambda x: x * 2))


@made(x)
def dataloader_with_a_fresh_iterator():
    class Loader:
        def __init__(self, data):
            self.data = data

        def __len__(self):
            return len(self.data)

        def __iter__(self):
            for index in range(len(self)):
                yield self.data[index]

    loader = Loader([1.0, 2.0, 3.0])

    def total(x):
        for batch in loader:
            x = x + batch
        return x / len(loader)

    return total


@made(x)
def sequence_protocol_only():
    class Data:
        def __getitem__(self, index):
            if index >= 3:
                raise IndexError(index)
            return float(index)

    data = Data()
    return lambda x: x + sum(data)


@made(x)
def property_getter():
    class Schedule:
        def __init__(self):
            self._base = 0.1

        @property
        def rate(self):
            return self._base * 2

    schedule = Schedule()
    return lambda x: x * schedule.rate


class Settings:
    rate = 0.1
    sizes: ClassVar[tuple] = (3, 4)
    names: ClassVar[list] = ["w", "b"]


@pure(x)
def class_with_only_constants(x):
    return x * Settings.rate * Settings.sizes[0] + len(Settings.names)


@pure(x)
def module_constants(x):
    return x * math.pi + np.e * len(string.ascii_letters)


@made(x)
def flag_set_and_restored():
    class Model:
        training = True

        @contextlib.contextmanager
        def evaluating(self):
            before, self.training = self.training, False
            try:
                yield self
            finally:
                self.training = before

        def __call__(self, x):
            return x * 0.5 if self.training else x

    model = Model()
    model.training = True

    def predict(x):
        with model.evaluating():
            return model(x)

    return predict


# ---- Objects and classes made inside


class Accumulator:
    def __init__(self):
        self.total, self.items = 0.0, []

    def add(self, value):
        self.total = self.total + value
        self.items.append(value)
        return self


@pure(x)
def object_made_inside(x):
    accumulator = Accumulator()
    accumulator.add(x).add(x * 2)
    return accumulator.total / len(accumulator.items)


@pure(x)
def class_defined_inside(x):
    class Counter:
        made = 0

        def __init__(self):
            Counter.made += 1
            self.n = 0

        def step(self, value):
            self.n += 1
            return value * self.n

    counter = Counter()
    return counter.step(counter.step(x)) * Counter.made


@pure(x)
def slots_and_property_inside(x):
    class Box:
        __slots__ = ("_value",)

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, new):
            self._value = new

    box = Box()
    box.value = x
    box.value = box.value + 1
    return box.value


@dataclasses.dataclass
class Point:
    a: Any
    b: float = 1.0
    tags: list = dataclasses.field(default_factory=list)


@pure(x)
def dataclass_made_inside(x):
    point = Point(x)
    point.a = point.a * 2
    point.tags.append("moved")
    return point.a * len(point.tags)


origin = Point(1.0)


@pure(x)
def dataclass_replace(x):
    moved = dataclasses.replace(origin, a=origin.a + 1, tags=["new"])
    moved.tags.append("moved")
    return x * moved.a + len(dataclasses.asdict(moved))


@dataclasses.dataclass(frozen=True)
class Frozen:
    rate: float = 0.5

    def __post_init__(self):
        object.__setattr__(self, "rate", self.rate * 2)


@pure(x)
def frozen_dataclass_made_inside(x):
    return x * Frozen(0.25).rate


class TrainState(NamedTuple):
    w: Any
    step: Any


@pure(TrainState(x, jnp.int32(0)))
def namedtuple_replace(state):
    return state._replace(w=state.w * 0.9, step=state.step + 1)


@pure(x)
def simple_namespace_inside(x):
    state = types.SimpleNamespace(step=0)
    for _ in range(3):
        state.step += 1
        state.last = x * state.step
    return state.last


@pure(x)
def setattr_and_vars_inside(x):
    bag = types.SimpleNamespace()
    setattr(bag, "first", x)  # noqa: B010
    vars(bag)["second"] = x * 2
    bag.__dict__.update(third=x * 3)
    return bag.first + bag.second + bag.third


@pure(x)
def cached_property_on_an_object_made_inside(x):
    class Lazy:
        def __init__(self, value):
            self.value = value

        @functools.cached_property
        def doubled(self):
            return self.value * 2

    lazy = Lazy(x)
    return lazy.doubled + lazy.doubled


@pure(x)
def getitem_with_a_local_cache(x):
    class Powers:
        def __init__(self, base):
            self.base, self.cache = base, {}

        def __getitem__(self, exponent):
            if exponent not in self.cache:
                self.cache[exponent] = self.base**exponent
            return self.cache[exponent]

    powers = Powers(x)
    return powers[2] + powers[2] + powers[3]


class Vector:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Vector(self.value + other.value)

    def __mul__(self, factor):
        return Vector(self.value * factor)

    def __iadd__(self, other):
        self.value = self.value + other.value
        return self


@pure(x)
def operator_overloading(x):
    v = Vector(x) + Vector(x) * 2
    v += Vector(x)
    return v.value


@pure(x)
def subclass_of_dict_made_inside(x):
    class Config(dict):
        __getattr__ = dict.__getitem__
        __setattr__ = dict.__setitem__

    config = Config(rate=0.1)
    config.rate = 0.2
    return x * config.rate


@pure(x)
def abstract_class(x):
    class Layer(abc.ABC):
        @abc.abstractmethod
        def call(self, x): ...

    class Double(Layer):
        def call(self, x):
            return x * 2

    layer = Double()
    return layer.call(x) if isinstance(layer, Layer) else x


@pure(x)
def isinstance_of_abstract_types(x):
    values: list[Any] = [x, 1.0, "a", {"k": 2}]
    total = x
    for value in values:
        if isinstance(value, collections.abc.Mapping):
            total = total + value["k"]
        elif isinstance(value, collections.abc.Hashable) and isinstance(value, float):
            total = total + value
    return total


# ---- Scopes


@pure(x)
def nonlocal_of_a_cell_made_inside(x):
    total = 0

    def add(value):
        nonlocal total
        total = total + value
        return total

    add(x)
    return add(x * 2)


@pure(x)
def counter_factory_called_inside(x):
    def make():
        n = 0

        def step():
            nonlocal n
            n += 1
            return n

        return step

    step = make()
    return x * step() * step()


@pure(x)
def function_attribute_of_a_local_function(x):
    def helper(value):
        helper.calls += 1
        return value * helper.calls

    helper.calls = 0
    return helper(helper(x))


@pure(x)
def mutable_default_of_a_local_function(x):
    def collect(value, acc=[]):  # noqa: B006
        acc.append(value)
        return acc

    collect(x)
    return sum(collect(x + 1))


@pure(x)
def default_none(x, acc=None):
    acc = [] if acc is None else acc
    acc.append(x)
    return acc[0]


@pure(x)
def recursion(x):
    def power(n):
        return x if n == 1 else x * power(n - 1)

    return power(4)


@pure(x)
def walrus(x):
    values = []
    while (n := len(values)) < 3:
        values.append(x * n)
    return sum(values) if (total := sum(values)) is not None else total


@pure(x)
def match_statement(x):
    layers = [("dense", 2), ("relu",), ("scale", {"by": 3.0})]
    for layer in layers:
        match layer:
            case ("dense", int(size)):
                x = x * size
            case ("relu",):
                x = jax.nn.relu(x)
            case (_, {"by": factor}):
                x = x * factor
    return x


@pure(x)
def exception_caught_inside(x):
    try:
        x.reshape(7)
    except TypeError as error:
        scale = len(str(error)) > 0
    try:
        raise KeyError("missing")
    except KeyError:
        scale = scale + 1
    finally:
        scale = scale + 1
    return x * scale


@pure(x)
def assertion(x):
    assert x.ndim == 1, f"expected a vector, got {x.shape}"
    return x


@pure(x)
def import_inside(x):
    import colorsys
    import statistics as stats

    return x * stats.mean([1.0, 2.0]) + colorsys.ONE_THIRD


@pure(x)
def names_deleted(x):
    scratch = [x]
    y = scratch.pop()
    del scratch
    return y


@pure(x)
def star_arguments(x):
    def total(*values, **weights):
        weights.setdefault("scale", 1.0)
        return sum(values) * weights.pop("scale")

    return total(x, x, scale=2.0)


@pure(x)
def locals_and_exec_free_scope(x):
    namespace = {}
    exec("scale = 2.0\nscale += 1", namespace)
    return x * namespace["scale"]


# ---- Local iterators, generators, context managers


@pure(x)
def local_generator(x):
    def layers():
        for factor in (1, 2, 3):
            yield x * factor

    return sum(layers())


@pure(x)
def local_generator_with_send(x):
    def running_sum():
        total = 0.0
        while True:
            total = total + (yield total)

    sums = running_sum()
    next(sums)
    sums.send(x)
    return sums.send(x)


def _chunks(sequence, size):
    for start in range(0, len(sequence), size):
        yield sequence[start : start + size]


@pure(jnp.arange(6.0))
def generator_function_of_the_module(x):
    return jnp.stack(list(_chunks(x, 2)))


@pure(x)
def local_itertools(x):
    steps = itertools.count(1)
    colors = itertools.cycle("ab")
    total = x
    for color, value in zip(colors, itertools.islice(steps, 3), strict=False):
        total = total + value * (color == "a")
    return total * next(steps)


@pure(x)
def local_zip_map_filter(x):
    pairs = zip(range(3), x, strict=True)
    doubled = map(lambda pair: pair[0] * pair[1], pairs)
    first = next(doubled)
    return first + sum(doubled) + sum(filter(None, [1, 0, 2]))


@pure(x)
def local_context_manager(x):
    events = []

    @contextlib.contextmanager
    def scope(name):
        events.append(f"enter {name}")
        yield len(events)
        events.append(f"leave {name}")

    with scope("a") as depth, contextlib.ExitStack() as stack:
        stack.callback(events.append, "closed")
        y = x * depth
    return y * len(events)


@pure(x)
def own_context_manager_made_inside(x):
    class Scope:
        depth = 0

        def __enter__(self):
            self.depth += 1
            return self

        def __exit__(self, *error):
            self.depth -= 1

    with Scope() as scope:
        return x * scope.depth


@pure(x)
def suppressed_error(x):
    with contextlib.suppress(ZeroDivisionError):
        return x * (1 // 0)
    return x


@pure(x)
def lock_inside(x):
    lock = threading.Lock()
    with lock:
        return x + 1


# ---- NumPy, random numbers with a fixed seed, time and text without a hidden input


@pure(x)
def numpy_scratch_array(x):
    mask = np.zeros(3, np.float32)
    mask[0] = 1
    np.add.at(mask, [1, 1], 1)
    np.multiply(mask, 2, out=mask)
    mask[...] = mask + 1
    mask += 1
    return x * mask


@pure(x)
def numpy_positions(x):
    positions = np.empty((3, 2), np.float32)
    positions[:, 0::2] = np.sin(np.arange(3))[:, None]
    positions[:, 1::2] = np.cos(np.arange(3))[:, None]
    return x @ positions


@pure(x)
def numpy_error_state(x):
    with np.errstate(divide="ignore"), np.printoptions(precision=2):
        scale = np.float32(1.0) / np.float32(4.0)
    return x * scale


@pure(x)
def seeded_random_made_inside(x):
    dice = random.Random(0)
    values = [1.0, 2.0, 3.0]
    dice.shuffle(values)
    return x * dice.random() + dice.choice(values)


@pure(x)
def seeded_numpy_generator_made_inside(x):
    rng = np.random.default_rng(0)
    return x + rng.normal(size=3).astype(np.float32) * float(rng.uniform())


@pure(x)
def seeded_random_state_made_inside(x):
    rng = np.random.RandomState(42)
    return x * rng.rand(3).astype(np.float32)


@pure(x)
def dates_without_a_clock(x):
    day = datetime.date(2020, 1, 1) + datetime.timedelta(days=3)
    start = datetime.datetime(2020, 1, 1, 12)
    return x * day.day + start.hour


@pure(x)
def time_without_a_clock(x):
    year = time.gmtime(0).tm_year
    return x * year


@pure(x)
def uuid_of_a_name(x):
    return x + uuid.UUID(int=3).int + uuid.uuid5(uuid.NAMESPACE_DNS, "jax").int % 7


@pure(x)
def paths_without_files(x):
    path = PurePath("data") / "train.csv"
    return x * len(path.suffix) + len(os.path.join("a", "b")) + len(os.path.splitext("a.b")[1])


@pure(x)
def print_into_a_local_buffer(x):
    buffer = io.StringIO()
    print("shape", x.shape, file=buffer)
    buffer.write("done")
    return x * len(buffer.getvalue())


@pure(x)
def print_in_a_branch_not_taken(x):
    if x.shape[0] > 100:
        print("a large batch")
        logging.warning("a large batch: %s", x.shape)
    return x


@made(x)
def verbose_flag_off():
    class Trainer:
        def __init__(self, verbose=False):
            self.verbose, self.steps = verbose, 0

        def step(self, x):
            if self.verbose:
                self.steps += 1
                print("step", self.steps)
            return x * 0.9

    return Trainer().step


@pure(x)
def text(x):
    name = f"{x.dtype}[{','.join(map(str, x.shape))}]"
    words = textwrap.dedent("  a b").split()
    found = re.findall(r"\d+", name)
    return x * len(found) + len("%s-%d" % ("a", 3)) + len("{:>4}".format("b")) + len(words)  # noqa: UP031


@pure(x)
def json_in_memory(x):
    shape = json.loads(json.dumps({"shape": list(x.shape)}))["shape"]
    return x.reshape(shape)


@pure(x)
def warnings_caught(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("old name", DeprecationWarning, stacklevel=1)
    return x * len(caught)


# ---- Functions of functools, typing, inspect


@functools.lru_cache(maxsize=None)  # noqa: UP033
def _fibonacci(n):
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


@pure(x)
def lru_cached_helper(x):
    return x * _fibonacci(10)


@functools.cache
def _frequencies(size):
    return np.arange(size, dtype=np.float32) / size


@pure(x)
def cached_numpy_helper(x):
    return x * _frequencies(x.shape[0])


@functools.singledispatch
def _size(value):
    return 1


@_size.register(str)
def _size_of_str(value):
    return len(value)


@_size.register(list)
def _size_of_list(value):
    return sum(map(_size, value))


@pure(x)
def single_dispatch(x):
    return x * _size(["ab", 3.0, ["c"]])


@made(x)
def single_dispatch_method():
    class Formatter:
        @functools.singledispatchmethod
        def width(self, value):
            return 1

        @width.register(str)
        def _(self, value):
            return len(value)

    formatter = Formatter()
    return lambda x: x * formatter.width("ab") * formatter.width(3)


class Activation(enum.Enum):
    RELU = "relu"
    TANH = "tanh"

    def apply(self, x):
        return {Activation.RELU: jax.nn.relu, Activation.TANH: jnp.tanh}[self](x)


class Mode(enum.Flag):
    TRAIN = enum.auto()
    LOG = enum.auto()


@pure(x)
def enums(x):
    mode = Mode.TRAIN | Mode.LOG  # a composite member, which enum makes and keeps
    return Activation("tanh").apply(x) * (2 if mode & Mode.LOG else len(Activation))


def _typed(x: "jax.Array", scale: "float" = 2.0) -> "jax.Array":
    return x * scale


@pure(x)
def signature_and_type_hints(x):
    parameters = inspect.signature(_typed).parameters
    hints = typing.get_type_hints(_typed)
    return _typed(x, parameters["scale"].default) * len(hints)


@pure(x)
def operator_functions(x):
    pick = operator.itemgetter(1, 2)
    total = operator.add(*pick([x, x, x * 2]))
    return functools.reduce(operator.mul, [total, 2.0, 3.0])


@pure(x)
def wraps_inside(x):
    def doubled(fn):
        @functools.wraps(fn)
        def wrapper(*args):
            return fn(*args) * 2

        return wrapper

    @doubled
    def square(value):
        return value**2

    return square(x)


# ---- JAX


@pure(x)
def at_set(x):
    x = x.at[0].set(5.0)
    return x.at[1:].add(1.0)


@pure(matrix)
def einsum(m):
    return jnp.einsum("ij,kj->ik", m, m).sum()


@pure(x)
def debug_print(x):
    jax.debug.print("x = {x}", x=x)
    return x


@pure(x)
def debug_callback(x):
    jax.debug.callback(lambda value: None, x)
    return x


@pure(x)
def pure_callback(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda value: np.asarray(value) * 2, shape, x)


@pure(key, x)
def random_with_keys(key, x):
    keys = []
    for _ in range(3):
        key, subkey = jax.random.split(key)
        keys.append(subkey)
    return x + sum(jax.random.normal(subkey, x.shape) for subkey in keys)


@pure(x)
def random_with_a_fixed_key(x):
    return x + jax.random.uniform(jax.random.key(7), x.shape)


@pure(x)
def scan(x):
    def body(carry, value):
        carry = {"sum": carry["sum"] + value, "n": carry["n"] + 1}
        return carry, carry["sum"]

    return jax.lax.scan(body, {"sum": 0.0, "n": 0}, x)


@pure(x)
def while_and_fori(x):
    total = jax.lax.fori_loop(0, 3, lambda i, value: value + i, x)
    return jax.lax.while_loop(lambda value: value.sum() < 100, lambda value: value * 2, total + 1)


@pure(x)
def cond_switch_map(x):
    y = jax.lax.cond(x.sum() > 0, lambda value: value, lambda value: -value, x)
    y = jax.lax.switch(1, [jnp.sin, jnp.cos, jnp.tan], y)
    return jax.lax.map(lambda value: value * 2, y)


@pure(x)
def associative_scan(x):
    return jax.lax.associative_scan(jnp.add, x)


@pure(matrix)
def vmap_of_a_local_function(m):
    def one(row):
        parts = []
        parts.append(row.sum())
        parts.append(row.max())
        return jnp.stack(parts)

    return jax.vmap(one)(m)


@pure({"w": x, "b": jnp.float32(0.0)}, x)
def grad_with_aux(params, x):
    def loss_fn(params):
        logs = {}
        prediction = params["w"] @ x + params["b"]
        logs["prediction"] = prediction
        return prediction**2, logs

    (loss, logs), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    return loss, logs, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


@pure(x)
def higher_derivatives(x):
    def energy(w):
        return (w**3).sum()

    value, tangent = jax.jvp(energy, (x,), (jnp.ones_like(x),))
    _, pullback = jax.vjp(energy, x)
    return jax.hessian(energy)(x).sum() + value + tangent + pullback(1.0)[0].sum()


@jax.custom_jvp
def _log1pexp(x):
    return jnp.log1p(jnp.exp(x))


@_log1pexp.defjvp
def _log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return _log1pexp(x), jax.nn.sigmoid(x) * t


@pure(x)
def custom_jvp(x):
    return jax.grad(lambda value: _log1pexp(value).sum())(x)


@pure(x)
def custom_vjp_made_inside(x):
    @jax.custom_vjp
    def clip_gradient(value):
        return value

    clip_gradient.defvjp(lambda value: (value, None), lambda _, g: (jnp.clip(g, -1, 1),))
    return jax.grad(lambda value: (clip_gradient(value) ** 2).sum())(x)


@pure(x)
def checkpointed(x):
    block = jax.checkpoint(lambda value: jnp.sin(jnp.cos(value)))
    return jax.grad(lambda value: block(block(value)).sum())(x)


@jax.jit
def _jitted_helper(x):
    return x * 2


@pure(x)
def jit_inside(x):
    local = jax.jit(lambda value: _jitted_helper(value) + 1)
    return local(x) + _jitted_helper(x)


@pure(x)
@jax.jit
def jitted(x):
    return jnp.sin(x)


@functools.partial(jax.jit, static_argnames=("size", "mode", "training"))
def _static(x, size, mode, training):
    y = jnp.tile(x, size)
    return getattr(y, mode)() if training else y


@pure(x)
def static_arguments(x):
    return _static(x, size=2, mode="sum", training=True) + _static(x, 3, "max", False).sum()


@pure(x)
def vectorized(x):
    return jnp.vectorize(lambda a, b: a * b)(x, x)


@pure({"a": x, "b": [x, (x, None)]})
def tree_functions(tree):
    leaves, structure = jax.tree.flatten(tree)
    leaves = [leaf * 2 for leaf in leaves]
    leaves.append(leaves.pop())
    tree = jax.tree.map(jnp.add, tree, jax.tree.unflatten(structure, leaves))
    return jax.tree.map(lambda leaf: leaf + 1, tree), len(jax.tree.leaves(tree))


@jax.tree_util.register_pytree_node_class
class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def tree_flatten(self):
        return (self.low, self.high), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    def widen(self, by):
        self.low = self.low - by
        self.high = self.high + by
        return self


@pure(x)
def registered_pytree_changed_inside(x):
    interval = Interval(x, x + 1).widen(0.5)
    interval = jax.tree.map(lambda leaf: leaf * 2, interval)
    return interval.high - interval.low


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["w", "step"], meta_fields=["name"]
)
@dataclasses.dataclass
class ModelState:
    w: Any
    step: Any
    name: str = "model"


@pure(ModelState(x, jnp.int32(0)))
def registered_dataclass(state):
    return dataclasses.replace(state, w=state.w * 2, step=state.step + 1)


@pure(x)
def jax_contexts(x):
    with jax.named_scope("layer"), jax.default_matmul_precision("float32"):
        y = x @ x
    with jax.ensure_compile_time_eval():
        size = int(jnp.arange(3).sum())
    with jax.numpy_dtype_promotion("standard"):
        return y * size


@pure(x)
def shapes_only(x):
    shape = jax.eval_shape(lambda value: jnp.outer(value, value), x)
    return jnp.zeros(shape.shape, shape.dtype) + x.sum()


@pure(x, jnp.ones((3,)))
def python_loop_of_training(w, x):
    losses = []
    momentum = jnp.zeros_like(w)
    for _ in range(3):
        loss, grad = jax.value_and_grad(lambda w: ((w - x) ** 2).mean())(w)
        momentum = 0.9 * momentum + grad
        w = w - 0.1 * momentum
        losses.append(loss)
    return w, jnp.array(losses)


@pure(x)
def host_math_on_shapes(x):
    history = [math.prod(x.shape)]
    while history[-1] < 20:
        history.append(history[-1] * 2)
    return x * history[-1]


@made(x)
def tree_partial():
    return jax.tree_util.Partial(lambda scale, x: scale * x, 2.0)


@made(x)
def grad_of_a_function():
    return jax.grad(lambda w: (w**2).sum())


@made(matrix)
def vmap_of_a_vmap():
    return jax.vmap(jax.vmap(lambda value: value * 2))


@pure(3)
def number_as_a_size(n):
    return jnp.zeros(n)


@pure(x, (3, 1))
def numbers_in_a_shape(x, shape):
    return x.reshape(shape)


@made(x, 3)
def jitted_with_a_static_number():
    return jax.jit(lambda value, n: jnp.tile(value, n), static_argnums=1)


# ---- Optax

weights = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
adam = optax.adam(1e-3)


def _quadratic(params):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(params))


@pure(weights, adam.init(weights))
def optax_adam(params, opt_state):
    grads = jax.grad(_quadratic)(params)
    updates, opt_state = adam.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state


@pure(weights)
def optax_chain_made_inside(params):
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 10)
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.trace(0.9),
        optax.add_decayed_weights(1e-4),
        optax.scale_by_learning_rate(schedule),
    )
    opt_state = optimizer.init(params)
    for _ in range(2):
        updates, opt_state = optimizer.update(jax.grad(_quadratic)(params), opt_state, params)
        params = optax.apply_updates(params, updates)
    return params


@pure(weights)
def optax_injected_hyperparameters(params):
    optimizer = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)
    opt_state = optimizer.init(params)
    opt_state.hyperparams["learning_rate"] = jnp.float32(0.01)
    updates, opt_state = optimizer.update(params, opt_state, params)
    return updates, opt_state.hyperparams


@pure(weights)
def optax_multi_transform(params):
    optimizer = optax.multi_transform(
        {"train": optax.sgd(0.1), "freeze": optax.set_to_zero()}, {"w": "train", "b": "freeze"}
    )
    return optimizer.update(params, optimizer.init(params), params)[0]


# ---- Haiku


def _transformed(function, *args):
    """Return a pair, with params and state of ones."""
    pair = hk.transform_with_state(function)
    return pair, *_filled(pair.init, key, *args)


mlp = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([4, 2])(x)))
mlp_params = _filled(mlp.init, key, matrix)
_add("haiku_mlp_apply", mlp.apply, (mlp_params, matrix), {})
_add("haiku_mlp_init", mlp.init, (key, matrix), {})


class Tally(hk.Module):
    """Counts its calls in Haiku's state."""

    def __call__(self, x):
        n = hk.get_state("n", (), init=jnp.zeros)
        hk.set_state("n", n + 1)
        return x * n


tally, *tally_trees = _transformed(lambda x: Tally()(x), x)
_add("haiku_get_and_set_state", tally.apply, (*tally_trees, None, x), {})
_add("haiku_state_init", tally.init, (None, x), {})
_add("haiku_apply_jitted", jax.jit(tally.apply), (*tally_trees, None, x), {})


def _normalized(x):
    return hk.BatchNorm(True, True, 0.9)(hk.Linear(3)(x), is_training=True)


norm, *norm_trees = _transformed(_normalized, matrix)
_add("haiku_batch_norm", norm.apply, (*norm_trees, None, matrix), {})
_add("haiku_batch_norm_init", norm.init, (key, matrix), {})


@made(*norm_trees, matrix)
def haiku_train_step():
    def loss_fn(params, state, x):
        y, state = norm.apply(params, state, None, x)
        return (y**2).mean(), state

    def step(params, state, x):
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state

    return step


def _unrolled(x):
    core = hk.LSTM(4)
    return hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))[0]


lstm, *lstm_trees = _transformed(_unrolled, jnp.ones((5, 2, 3)))
_add("haiku_lstm", lstm.apply, (*lstm_trees, None, jnp.ones((5, 2, 3))), {})


def _dropped(x):
    return hk.dropout(hk.next_rng_key(), 0.5, x) + jax.random.normal(hk.next_rng_key(), x.shape)


dropout = hk.transform(_dropped)
_add("haiku_next_rng_key", dropout.apply, ({}, key, x), {})


def _scanned(x):
    tally = Tally()
    start = tally(x[0])  # hk.scan wants the state to exist before

    def body(carry, value):
        return carry + tally(value), None

    return hk.scan(body, start, x)[0]


scanned, *scanned_trees = _transformed(_scanned, x)
_add("haiku_scan", scanned.apply, (*scanned_trees, None, x), {})


def _mapped(x):
    return hk.vmap(hk.Linear(2), split_rng=not hk.running_init())(x)


mapped, *mapped_trees = _transformed(_mapped, matrix)
_add("haiku_vmap", mapped.apply, (*mapped_trees, key, matrix), {})


def _rematerialized(x):
    block = hk.Linear(3)
    return hk.remat(lambda value: jnp.tanh(block(value)))(x)


remat, *remat_trees = _transformed(_rematerialized, matrix)
_add("haiku_remat", remat.apply, (*remat_trees, None, matrix), {})


class Caching(hk.Module):
    """Keeps its input and a count in attributes, of a module that each call makes anew."""

    def __init__(self, name=None):
        super().__init__(name)
        self.calls, self.history = 0, []

    def __call__(self, x):
        self.cache = x
        self.calls += 1
        self.history.append(self.cache)
        return sum(self.history) * self.calls


def _cached_twice(x):
    module = Caching()
    return module(x) + module(x)


_add("haiku_attribute_of_a_module", hk.transform(_cached_twice).apply, ({}, None, x), {})


def _control_flow(x):
    linear = hk.Linear(3)
    y = hk.cond(x.sum() > 0, linear, lambda value: value, linear(x))
    return hk.fori_loop(0, 2, lambda _, value: value * 2, y)


control, *control_trees = _transformed(_control_flow, x)
_add("haiku_control_flow", control.apply, (*control_trees, None, x), {})


def _intercepted(x):
    seen = []

    def interceptor(next_f, args, kwargs, context):
        seen.append(context.method_name)
        return next_f(*args, **kwargs)

    with hk.intercept_methods(interceptor):
        y = hk.Linear(2)(x)
    return y * len(seen)


intercepted, *intercepted_trees = _transformed(_intercepted, matrix)
_add("haiku_interceptor", intercepted.apply, (*intercepted_trees, None, matrix), {})


def _lifted(x):
    inner = hk.transform(lambda value: hk.Linear(2)(value))
    init = hk.lift(inner.init, name="lifted")
    params = init(hk.next_rng_key() if hk.running_init() else None, x)
    return inner.apply(params, None, x)


lifted, *lifted_trees = _transformed(_lifted, matrix)
_add("haiku_lift", lifted.apply, (*lifted_trees, None, matrix), {})


@pure(mlp_params)
def haiku_data_structures(params):
    wide, narrow = hk.data_structures.partition(lambda _, name, __: name == "w", params)
    return hk.data_structures.merge(wide, narrow)


@pure(x)
def haiku_transform_made_inside(x):
    pair = hk.transform_with_state(lambda value: Tally()(value))
    params, state = pair.init(None, x)
    y, state = pair.apply(params, state, None, x)
    y, state = pair.apply(params, state, None, y)
    return y, state


# ---- haiku_state

counter = hs.pure_pair(hs.Counter)
_add("pure_pair_init", counter.init, (None,), {})
_add("pure_pair_counter", counter.apply, (*counter.init(None), None), {})

classifier = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
classifier_trees = _filled(
    functools.partial(classifier.init, is_training=True), key, jnp.ones((4, 3))
)


@pure(*classifier_trees, matrix)
def pure_pair_batch_norm(params, state, x):
    return classifier.apply(params, state, None, x, is_training=True)


class Ledger:
    def __init__(self):
        self.total = 0.0
        self.entries = [0, 0]

    def add(self, amount):
        self.total = self.total + amount
        self.entries[0] += 1
        return self.total


ledger = hs.functionalize(Ledger, "add")
_add("functionalize_init", ledger.init, (), {})
_add("functionalize_apply", ledger.apply, (ledger.init(), jnp.float32(2)), {})


@dataclasses.dataclass
class Ema:
    decay: float = 0.9
    value: float = 0.0
    steps: float = 0.0

    @property
    def corrected(self):
        return self.value / (1 - self.decay ** (self.steps + 1))

    def update(self, x):
        self.value = self.decay * self.value + (1 - self.decay) * x
        self.steps += 1
        return self.value


ema = hs.functionalize(Ema)
_add("functionalize_dataclass", ema.update, (ema.init(), jnp.float32(2)), {})
_add("functionalize_property", ema.corrected, (ema.init(),), {})

regression = hs.pure_pair(hs.LinearRegression)
batch = {"x": matrix, "y": jnp.ones(4)}
sgd = optax.sgd(0.1)


def _loss_fn(params, state, rng, batch):
    prediction, state = regression.apply(params, state, rng, batch["x"], True)
    return jnp.mean((prediction - batch["y"]) ** 2), (state, {"mean": prediction.mean()})


def _train_state(optimizer):
    def initialized(rng):
        params, state = regression.init(rng, batch["x"], True)
        return hs.TrainState(params, state, optimizer.init(params), rng, jnp.int32(0))

    return _filled(initialized, key)


train_state = _train_state(sgd)
_add("make_update", hs.make_update(_loss_fn, sgd), (train_state, batch), {})


@made(train_state, jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), batch))
def update_in_a_scan():
    update = hs.make_update(_loss_fn, sgd)
    return lambda train_state, batches: jax.lax.scan(update, train_state, batches)


@made(train_state, batch)
def recipe_accumulate():
    loss_fn = hs.recipes.accumulate(_loss_fn, 2, statistics="each")
    return hs.make_update(loss_fn, sgd)


averaging = hs.recipes.average_params(sgd, 0.9)


@made(_train_state(averaging), batch)
def recipe_average_params():
    update = hs.make_update(_loss_fn, averaging)

    def step(train_state, batch):
        train_state, metrics = update(train_state, batch)
        return hs.recipes.averaged_params(train_state), metrics

    return step


@made(train_state.params, train_state.state, key, batch)
def recipe_mixed_precision():
    def loss_fn(params, state, rng, batch):
        loss = (params["linear_regression"]["w"] * batch["x"][0]).sum()
        return loss, (state, {})

    return hs.recipes.mixed_precision(loss_fn, "params=float32,compute=bfloat16,output=float32")


freezing = hs.recipes.freeze_params(sgd, lambda module, name, value: name == "b")


@pure(weights)
def recipe_freeze_params(params):
    params = {"linear": params}
    return freezing.update(params, freezing.init(params), params)[0]


@made(train_state.params, train_state.state, key, batch)
def recipe_freeze_state():
    def loss_fn(params, state, rng, batch):
        return jnp.float32(0), (jax.tree.map(lambda leaf: leaf + 1, {"m": {"n": x}}), {})

    frozen = hs.recipes.freeze_state(loss_fn, lambda module, name, value: name == "n")
    return lambda params, state, rng, batch: frozen(params, {"m": {"n": x}}, rng, batch)


scaled = hs.recipes.scale_loss(sgd, jmp.DynamicLossScale(jnp.float32(8)))


@made(_train_state(scaled)._replace(state={}), batch)
def recipe_scaled_update():
    def loss_fn(params, state, rng, batch):
        loss = (params["linear_regression"]["w"] * batch["x"][0]).sum()
        return loss, (state, {})

    return hs.recipes.make_scaled_update(loss_fn, scaled)


@pure(*tally_trees)
def check_state(params, state):
    hs.check_state(state, jax.tree.map(lambda leaf: leaf + 1, state))
    return state


@pure(*tally_trees, x)
def checked_apply(params, state, x):
    return hs.checked(tally.apply)(params, state, None, x)


@pure(jnp.ones(4), jnp.array([1.0, 1.0, 1.0, 0.0]))
def example_mean(values, mask):
    return hs.example_mean(values, mask)


# ---- Equinox

if importlib.util.find_spec("equinox"):
    import equinox as eqx

    class Affine(eqx.Module):
        """A module of Equinox: a frozen dataclass that is a PyTree."""

        w: jax.Array
        b: float

        def __call__(self, x):
            return self.w * x + self.b

    @pure(Affine(x, 1.0), x)
    def equinox_module(model, x):
        return eqx.tree_at(lambda model: model.w, model, model.w * 2)(x)

    @pure(x)
    def equinox_layers_made_inside(x):
        layer = eqx.nn.Linear(3, 2, use_bias=False, key=jax.random.key(0))
        return eqx.nn.Sequential([layer, eqx.nn.Lambda(jax.nn.relu)])(x)

    @pure(x)
    def equinox_filtered_gradient(x):
        model = Affine(x, 1.0)
        loss = eqx.filter_value_and_grad(lambda model: (model(x) ** 2).sum())
        return loss(model)

    @made(x)
    def equinox_bound_method():
        return Affine(x, 2.0).__call__
