"""Impure functions as newcomers write them, each with what a report about it must find.

The mark at the end of a line says what ``explain`` finds there. The name is the expression of that
line: ``self.n`` in a method, whatever the caller calls the object; a key of a dict is its value.
A case's block is everything between the end of the case before it and its own end, so that classes,
helpers and globals stand above the function that uses them.
"""

import abc
import array
import atexit
import bisect
import collections
import contextlib
import contextvars
import copy
import csv
import dataclasses
import datetime
import functools
import heapq
import inspect
import io
import itertools
import json
import linecache
import logging
import operator
import os
import pickle
import pprint
import random
import re
import secrets
import shutil
import sys
import tempfile
import threading
import time
import traceback
import types
import uuid
import warnings
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import datetime as clock
from pathlib import Path
from random import gauss
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

KINDS = ("mutation", "hidden input", "output", "leak", "frozen value")
MARK = re.compile(r"# finds: (.+)$")

CASES: list[tuple[str, Any, tuple, dict]] = []  # name, function, args, kwargs
BLOCKS: dict[str, tuple[int, int]] = {}  # name: first and last line
RAISES: set[str] = set()  # the cases that raise while they are traced, findings all the same
MAY_RAISE: set[str] = set()  # raise with jax.jit, and on older JAX already with jax.make_jaxpr


def impure(*args, **kwargs):
    """Decorate a case, with the arguments to call it with."""

    def decorate(function):
        _add(function.__name__, function, function, args, kwargs)
        return function

    return decorate


def made(*args, **kwargs):
    """Decorate a function that makes the callable to explain, such as a bound method."""

    def decorate(builder):
        _add(builder.__name__, builder(), builder, args, kwargs)
        return builder

    return decorate


def expected(case):
    """Return what the marks of a case say: a set of (kind, name, line)."""
    first, last = BLOCKS[case[0]]
    findings = set()
    for line in range(first, last + 1):
        if mark := MARK.search(linecache.getline(__file__, line)):
            for finding in mark[1].split("; "):
                kind = next(kind for kind in KINDS if finding.startswith(f"{kind} "))
                findings.add((kind, finding[len(kind) + 1 :], line))
    return findings


def _add(name, function, source, args, kwargs):
    lines, start = inspect.getsourcelines(inspect.unwrap(source))
    first = max((last for _, last in BLOCKS.values()), default=START) + 1
    assert name not in BLOCKS, name
    CASES.append((name, function, args, kwargs))
    BLOCKS[name] = first, start + len(lines) - 1


def _written(name):
    """Return a path that no case may really create."""
    return str(Path(tempfile.gettempdir()) / f"haiku_state-never-{name}")


FILES = Path(tempfile.mkdtemp(prefix="haiku_state-explain-"))  # to read from
atexit.register(shutil.rmtree, FILES, ignore_errors=True)
np.save(FILES / "scale.npy", np.float32(3.0))
(FILES / "scale.json").write_text('{"scale": 3.0}')
(FILES / "scale.txt").write_text("3.0\n")
with open(FILES / "scale.pickle", "wb") as _file:
    pickle.dump({"scale": 3.0}, _file)

x = jnp.arange(3.0)
START = inspect.currentframe().f_lineno


# ---- Mutation: attributes


@made(x)
def attribute_of_a_closed_over_object():
    class Tally:
        def __init__(self):
            self.n = 0

    tally = Tally()

    def forward(x):
        tally.n += 1  # finds: mutation tally.n
        return x * tally.n

    return forward


@made(x)
def bound_method():
    class Model:
        def __init__(self):
            self.steps = 0

        def forward(self, x):
            self.steps += 1  # finds: mutation self.steps
            return x * self.steps

    return Model().forward


@made(x)
def callable_instance():
    class Scale:
        def __init__(self):
            self.calls = 0

        def __call__(self, x):
            self.calls = self.calls + 1  # finds: mutation self.calls
            return 2.0 * x

    return Scale()


class Tracker:
    def __init__(self):
        self.inner = types.SimpleNamespace(n=0, stats=types.SimpleNamespace(seen=0))


tracker = Tracker()


@impure(x)
def nested_attribute_of_a_global(x):
    tracker.inner.n += x.shape[0]  # finds: mutation tracker.inner.n
    return x


@impure(x)
def doubly_nested_attribute(x):
    tracker.inner.stats.seen = len(x)  # finds: mutation tracker.inner.stats.seen
    return x


@made(x)
def through_two_methods():
    class Layer:
        def __init__(self):
            self.n = 0

        def forward(self, x):
            self._count()
            return 2 * x

        def _count(self):
            self.n += 1  # finds: mutation self.layers[0].n; mutation self.layers[1].n

    class Model:
        def __init__(self):
            self.layers = [Layer(), Layer()]

        def __call__(self, x):
            for layer in self.layers:
                x = layer.forward(x)
            return x

    return Model()


@made(x)
def train_mode_like_pytorch():
    class Module:
        def __init__(self, *parts):
            self.parts = parts
            self.training = False

        def train(self, mode=True):
            self.training = mode  # finds: mutation model.training; mutation model.parts[0].training
            for child in self.parts:
                child.train(mode)
            return self

        def __call__(self, x):
            for child in self.parts:
                x = child(x)
            return x * 0.5 if self.training else x

    model = Module(Module())

    def loss(x):
        model.train()
        return model(x).sum()

    return loss


@made(x)
def property_with_setter():
    class Thermostat:
        def __init__(self):
            self._target = 20

        @property
        def target(self):
            return self._target

        @target.setter
        def target(self, value):
            self._target = max(value, 0)  # finds: mutation self._target

    room = Thermostat()

    def heat(x):
        room.target = room.target + 1
        return x + room.target

    return heat


@made(x)
def property_that_counts_its_reads():
    class Config:
        def __init__(self):
            self.reads = 0

        @property
        def scale(self):
            self.reads += 1  # finds: mutation self.reads
            return 2.0

    config = Config()
    return lambda x: x * config.scale


@made(x)
def lazy_property_like_a_cache():
    class Data:
        def __init__(self):
            self._mean = None

        @property
        def mean(self):
            if self._mean is None:
                self._mean = 0.5  # finds: mutation self._mean
            return self._mean

    data = Data()

    def center(x):
        return x - data.mean

    return center


@made(x)
def slots():
    class Point:
        __slots__ = ("steps", "value")

        def __init__(self):
            self.steps = 0
            self.value = 1.0

        def move(self, x):
            self.steps += 1  # finds: mutation self.steps
            return x + self.value

    return Point().move


@made(x)
def slots_in_two_classes():
    class Base:
        __slots__ = ("n",)

    class Derived(Base):
        __slots__ = ("m",)

        def __init__(self):
            self.n = self.m = 0

    pair = Derived()

    def call(x):
        pair.n += 1  # finds: mutation pair.n
        pair.m -= 1  # finds: mutation pair.m
        return x

    return call


@made(x)
def dataclass_field():
    @dataclasses.dataclass
    class State:
        step: int = 0
        lr: float = 0.1

    state = State()

    def update(x):
        state.step += 1  # finds: mutation state.step
        return x * state.step

    return update


@made(x)
def dataclass_with_list():
    @dataclasses.dataclass
    class Metrics:
        losses: list = dataclasses.field(default_factory=list)

        def add(self, loss):
            self.losses.append(loss)  # finds: mutation self.losses[...]

    metrics = Metrics()

    def step(x):
        metrics.add(1.0)
        return x * len(metrics.losses)

    return step


@made(x)
def frozen_dataclass_forced():
    @dataclasses.dataclass(frozen=True)
    class Config:
        step: int = 0

    config = Config()

    def advance(x):
        object.__setattr__(config, "step", config.step + 1)  # finds: mutation config.step
        return x + config.step

    return advance


@made(x)
def setattr_on_self():
    class Bag:
        def __init__(self):
            self.count = 0

        def bump(self, x, name="count"):
            setattr(self, name, getattr(self, name) + 1)  # finds: mutation self.count
            return x

    return Bag().bump


@made(x)
def vars_of_self():
    class Bag:
        count = 0

        def __init__(self):
            self.count = 0

        def bump(self, x):
            vars(self)["count"] = self.count + 1  # finds: mutation self.count
            return x

    return Bag().bump


@made(x)
def dict_update_of_self():
    class Params:
        def __init__(self, **values):
            self.__dict__.update(values)

        def set(self, **values):
            self.__dict__.update(values)  # finds: mutation self.rate

    params = Params(rate=0.1, size=3)

    def decay(x):
        params.set(rate=params.rate * 0.5)
        return x * params.rate

    return decay


@made(x)
def own_setattr_hook():
    class Guarded:
        def __init__(self):
            object.__setattr__(self, "n", 0)

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)  # finds: mutation self.n

    guarded = Guarded()

    def call(x):
        guarded.n = guarded.n + 1
        return x

    return call


@made(x)
def inherited_method():
    class Base(abc.ABC):
        def __init__(self):
            self.calls = 0

        def __call__(self, x):
            self.calls += 1  # finds: mutation self.calls
            return self.forward(x)

        @abc.abstractmethod
        def forward(self, x): ...

    class Double(Base):
        def forward(self, x):
            return x * 2

    return Double()


@made(x)
def super_call():
    class Base:
        def __init__(self):
            self.seen = 0

        def forward(self, x):
            self.seen += 1  # finds: mutation self.seen
            return x

    class Child(Base):
        def forward(self, x):
            return super().forward(x) + 1

    return Child().forward


@made(x)
def instance_attribute_named_as_the_class_attribute():
    class Meter:
        n = 0

        def step(self, x):
            self.n += 1  # finds: mutation self.n
            return x * self.n

    return Meter().step


@made(x)
def instance_and_class_attribute_both():
    class Meter:
        n = 0

        def __init__(self):
            self.n = 10

        def step(self, x):
            Meter.n += 1  # finds: mutation Meter.n
            return x * self.n

    return Meter().step


@made(x)
def attribute_created():
    class Model:
        def forward(self, x):
            self.input_size = x.shape[-1]  # finds: mutation self.input_size
            return x

    return Model().forward


@made(x)
def attribute_deleted():
    model = types.SimpleNamespace(hook="print", scale=2.0)

    def forward(x):
        if hasattr(model, "hook"):
            del model.hook  # finds: mutation model.hook
        return x * model.scale

    return forward


class Losses(NamedTuple):
    train: list
    test: list


record = Losses([], [])


@impure(x)
def list_in_a_namedtuple(x):
    record.train.append(0.5)  # finds: mutation record.train[...]
    return x * len(record.train)


settings = types.ModuleType("settings")
settings.debug = False


@impure(x)
def attribute_of_a_module(x):
    settings.debug = not settings.debug  # finds: mutation settings.debug
    return x


@made(x)
def alias_of_an_attribute():
    class Logbook:
        def __init__(self):
            self.entries = []

        def note(self, x):
            entries = self.entries
            entries.append(x.ndim)  # finds: mutation entries[...]
            return x

    return Logbook().note


@made(x)
def chained_assignment():
    class Pair:
        a = b = 0

    pair = Pair()

    def call(x):
        pair.a = pair.b = pair.a + 1  # finds: mutation pair.a; mutation pair.b
        return x * pair.a

    return call


@made(x)
def tuple_unpacking():
    fib = types.SimpleNamespace(a=1, b=2)

    def fibonacci(x):
        fib.a, fib.b = fib.b, fib.a + fib.b  # finds: mutation fib.a; mutation fib.b
        return x * fib.b

    return fibonacci


@made(x)
def for_target():
    cursor = types.SimpleNamespace(position=-1)

    def call(x):
        for cursor.position in range(3):  # finds: mutation cursor.position
            x = x + 1
        return x

    return call


@made(x)
def learning_rate_schedule_object():
    class StepDecay:
        def __init__(self, rate):
            self.rate, self.epoch = rate, 0

        def get(self):
            self.epoch += 1  # finds: mutation self.epoch
            return self.rate / self.epoch

    schedule = StepDecay(0.1)

    def sgd_step(w, g):
        return w - schedule.get() * g

    return functools.partial(sgd_step, g=jnp.ones(3))


@made(x)
def linked_objects_with_a_cycle():
    class Node:
        def __init__(self):
            self.parent = self.child = None
            self.visits = 0

    root, leaf = Node(), Node()
    root.child, leaf.parent = leaf, root

    def visit(x):
        leaf.parent.visits += 1  # finds: mutation leaf.parent.visits
        return x

    return visit


# ---- Mutation: globals, nonlocals, function attributes, classes, defaults

calls = 0


@impure(x)
def count_calls(x):
    global calls
    calls += 1  # finds: mutation calls
    return x * calls


def _next_step():
    global step_number
    step_number = step_number + 1  # finds: mutation step_number
    return step_number


step_number = 0


@impure(x)
def global_through_a_helper(x):
    return x * _next_step()


best_shape = None


@impure(x)
def global_set_from_a_shape(x):
    global best_shape
    if best_shape is None or x.shape > best_shape:
        best_shape = x.shape  # finds: mutation best_shape
    return x


@impure(x)
def global_created(x):
    global created_by_the_call
    created_by_the_call = x.ndim  # finds: mutation created_by_the_call
    return x


epochs_seen = 0


@impure(x)
def globals_function(x):
    globals()["epochs_seen"] += 1  # finds: mutation epochs_seen
    return x


@made(x)
def nonlocal_counter():
    total = 0

    def add(x):
        nonlocal total
        total += x.shape[0]  # finds: mutation total
        return x * total

    return add


@made(x)
def nonlocal_two_levels_deep():
    total = 0

    def outer(x):
        def middle(y):
            def inner(z):
                nonlocal total
                total += 1  # finds: mutation total
                return z * total

            return inner(y)

        return middle(x)

    return outer


@made(x)
def nonlocal_shared_by_two_closures():
    phase = "warmup"

    def finish():
        nonlocal phase
        phase = phase + "!"  # finds: mutation phase

    def scale(x):
        finish()
        return x * 0.1 if phase == "warmup" else x

    return scale


@made(x)
def function_attribute():
    def forward(x):
        forward.calls = getattr(forward, "calls", 0) + 1  # finds: mutation forward.calls
        return x

    return forward


@impure(x)
def own_attribute(x):
    own_attribute.calls += 1  # finds: mutation own_attribute.calls
    return x * own_attribute.calls


own_attribute.calls = 0


def dropout_rate():
    dropout_rate.asked += 1  # finds: mutation dropout_rate.asked
    return 0.5


dropout_rate.asked = 0


@impure(x)
def attribute_of_a_helper_function(x):
    return x * dropout_rate()


@made(x)
def class_attribute_by_name():
    class Layer:
        made = 0

        def __init__(self):
            Layer.made += 1  # finds: mutation Layer.made

        def __call__(self, x):
            return x + 1

    def network(x):
        return Layer()(Layer()(x))

    return network


@made(x)
def class_attribute_through_classmethod():
    class Registry:
        count = 0

        @classmethod
        def register(cls):
            cls.count += 1  # finds: mutation cls.count

        @staticmethod
        def forward(x):
            Registry.register()
            return x

    return Registry.forward


@made(x)
def classmethod_itself():
    class Names:
        names: ClassVar[list] = []

        @classmethod
        def call(cls, x):
            cls.names.append("dense")  # finds: mutation cls.names[...]
            return x * len(cls.names)

    return Names.call


@made(x)
def class_attribute_through_type_of_self():
    class Layer:
        uid = 0

        def __call__(self, x):
            type(self).uid += 1  # finds: mutation type(self).uid
            return x

    return Layer()


@made(x)
def class_list_shared_through_self():
    class Trainer:
        log: ClassVar[list] = []

        def step(self, x):
            self.log.append("step")  # finds: mutation self.log[...]
            return x

    return Trainer().step


@made(x)
def class_attribute_of_the_base():
    class Base:
        total = 0

    class Child(Base):
        def __call__(self, x):
            Base.total += 1  # finds: mutation Base.total
            return x * self.total

    return Child()


@made(x)
def singleton():
    class Context:
        _instance = None

        @classmethod
        def get(cls):
            if cls._instance is None:
                cls._instance = cls()  # finds: mutation cls._instance
            return cls._instance

        scale = 2.0

    return lambda x: x * Context.get().scale


@impure(x)
def mutable_default(x, acc=[]):  # noqa: B006
    acc.append(len(acc))  # finds: mutation acc[...]
    return x * len(acc)


@impure(x)
def mutable_default_dict(x, *, seen={}):  # noqa: B006
    seen["shape"] = x.shape  # finds: mutation seen['shape']
    return x


def _remember(value, store=set()):  # noqa: B006
    store.add(value)  # finds: mutation store
    return len(store)


@impure(x)
def mutable_default_of_a_helper(x):
    return x * _remember(x.shape)


# ---- Mutation: containers

history = []


@impure(x)
def list_append(x):
    history.append(x.shape[0])  # finds: mutation history[...]
    return x * len(history)


epochs = [1]


@impure(x)
def list_extend(x):
    epochs.extend([2, 3])  # finds: mutation epochs[...]
    return x * len(epochs)


queue = list(range(1000))


@impure(x)
def list_pop(x):
    return x * queue.pop()  # finds: mutation queue[...]


stack = [1.0] * 3


@impure(x)
def list_augmented_assignment(x):
    global stack
    stack += [2.0]  # finds: mutation stack[...]
    return x * len(stack)


@made(x)
def list_augmented_assignment_in_self():
    class Buffer:
        def __init__(self):
            self.items = []

        def push(self, x):
            self.items += [x.ndim]  # finds: mutation self.items[...]
            return x

    return Buffer().push


scores = [3, 1, 2]


@impure(x)
def list_sort(x):
    scores.sort(reverse=scores[0] < scores[-1])  # finds: mutation scores[...]
    return x * scores[0]


window = [0, 0, 0]


@impure(x)
def list_item(x):
    window[x.ndim] = window[x.ndim] + 1  # finds: mutation window[...]
    return x


frames = [1, 2, 3]


@impure(x)
def list_slice(x):
    frames[:] = [*frames[1:], frames[-1] + 1]  # finds: mutation frames[...]
    return x


todo = list(range(100))


@impure(x)
def list_delete(x):
    del todo[0]  # finds: mutation todo[...]
    return x


nested_log = {"train": {"steps": 0, "loss": []}}


@impure(x)
def list_in_a_dict(x):
    nested_log["train"]["loss"].append(0.1)  # finds: mutation nested_log['train']['loss'][...]
    return x


progress = {"train": {"steps": 0}}


@impure(x)
def dict_in_a_dict(x):
    progress["train"]["steps"] += 1  # finds: mutation progress['train']['steps']
    return x


grid = [[0, 0], [0, 0]]


@impure(x)
def list_in_a_list(x):
    grid[0][1] += 1  # finds: mutation grid[0][...]
    return x


cache = {}


@impure(x)
def dict_key(x):
    cache["calls"] = cache.get("calls", 0) + 1  # finds: mutation cache['calls']
    return x * cache["calls"]


by_shape = {}


@impure(x)
def dict_cache_by_shape(x):
    if x.shape not in by_shape:
        by_shape[x.shape] = 1.0 / x.shape[0]  # finds: mutation by_shape[(3,)]
    return x * by_shape[x.shape]


defaults = {}


@impure(x)
def dict_setdefault(x):
    return x * defaults.setdefault("scale", 2.0)  # finds: mutation defaults['scale']


opts = {"rate": 0.1, "size": 3}


@impure(x)
def dict_update(x):
    opts.update(rate=opts["rate"] / 2, n=1)  # finds: mutation opts['rate']; mutation opts['n']
    return x


hparams = {"rate": 0.1, "warmup": True}


@impure(x)
def dict_pop(x):
    warmup = hparams.pop("warmup", False)  # finds: mutation hparams['warmup']
    return x * 0.5 if warmup else x


flags = {"first": True}


@impure(x)
def dict_delete(x):
    with contextlib.suppress(KeyError):
        del flags["first"]  # finds: mutation flags['first']
    return x


merged = {"a": 1}


@impure(x)
def dict_merge_in_place(x):
    global merged
    merged |= {"b": x.ndim}  # finds: mutation merged['b']
    return x


grads = {"w": 1.0}


@impure(x)
def dict_clear(x):
    grads.clear()  # finds: mutation grads['w']
    return x


names = set()


@impure(x)
def set_add(x):
    names.add(str(x.dtype))  # finds: mutation names
    return x * len(names)


visited = {(3,), (4,)}


@impure(x)
def set_discard(x):
    visited.discard(x.shape)  # finds: mutation visited
    return x


recent = deque([1, 2, 3], maxlen=3)


@impure(x)
def deque_append(x):
    recent.append(recent[-1] + 1)  # finds: mutation recent[...]
    return x * recent[0]


ring = deque([1.0, 2.0, 3.0])


@impure(x)
def deque_rotate(x):
    ring.rotate(1)  # finds: mutation ring[...]
    return x * ring[0]


groups = defaultdict(list)


@impure(x)
def defaultdict_append(x):
    groups[x.ndim].append("call")  # finds: mutation groups[1]
    return x


touched = defaultdict(int)


@impure(x)
def defaultdict_read(x):
    return x * touched["never set"]  # finds: mutation touched['never set']


ops = Counter()


@impure(x)
def counter_key(x):
    ops["relu"] += 1  # finds: mutation ops['relu']
    return jax.nn.relu(x)


words = Counter(a=1)


@impure(x)
def counter_update(x):
    words.update("ab")  # finds: mutation words['a']; mutation words['b']
    return x


lru = OrderedDict(a=1, b=2)


@impure(x)
def ordered_dict_move(x):
    oldest = next(iter(lru))
    lru.move_to_end(oldest)  # finds: mutation lru
    return x


memo = collections.ChainMap({}, {"depth": 3})


@impure(x)
def chain_map_key(x):
    memo["width"] = memo["depth"] + 1  # finds: mutation memo['width']
    return x


class Averages(dict):
    """A subclass of dict, as in many training scripts."""


averages = Averages(loss=0.0)


@impure(x)
def dict_subclass(x):
    averages["loss"] += 0.5  # finds: mutation averages['loss']
    return x


heap = [5, 7]


@impure(x)
def heap_push(x):
    heapq.heappush(heap, 1)  # finds: mutation heap[...]
    return x


ordered = [1, 5]


@impure(x)
def bisect_insort(x):
    bisect.insort(ordered, 3)  # finds: mutation ordered[...]
    return x


table = {"row": 0}


@impure(x)
def operator_setitem(x):
    operator.setitem(table, "row", table["row"] + 1)  # finds: mutation table['row']
    return x


packet = bytearray(b"abc")


@impure(x)
def bytearray_item(x):
    packet[0] = (packet[0] + 1) % 256  # finds: mutation packet[...]
    return x


@made(x)
def reference_cell_as_a_list():
    count = [0]

    def call(x):
        count[0] += 1  # finds: mutation count[...]
        return x * count[0]

    return call


sizes = []


@impure(x)
def tree_map_for_its_effect(x):
    tree = {"w": x, "b": x[:1]}
    jax.tree.map(lambda leaf: sizes.append(leaf.size), tree)  # finds: mutation sizes[...]
    return x * sum(sizes)


squares = []


@impure(x)
def comprehension_for_its_effect(x):
    [squares.append(i * i) for i in range(3)]  # finds: mutation squares[...]
    return x


@made(x)
def replay_buffer():
    class ReplayBuffer:
        def __init__(self, size):
            self.data = [None] * size
            self.position = 0

        def push(self, item):
            self.data[self.position] = item  # finds: mutation self.data[...]
            self.position = (self.position + 1) % len(self.data)  # finds: mutation self.position

    buffer = ReplayBuffer(5)

    def act(x):
        buffer.push("observation")
        return jnp.tanh(x)

    return act


# ---- Mutation: NumPy arrays in place

mean = np.zeros(3, np.float32)


@impure(x)
def numpy_augmented_assignment(x):
    global mean
    mean += 1  # finds: mutation mean[...]
    return x


weights = np.ones(3, np.float32)


@impure(x)
def numpy_ellipsis(x):
    weights[...] = weights * 0.5 + 1  # finds: mutation weights[...]
    return x


counts = np.zeros(5, np.int32)


@impure(x)
def numpy_add_at(x):
    np.add.at(counts, [0, 0, 2], 1)  # finds: mutation counts[...]
    return x


scratch = np.ones(3, np.float32)


@impure(x)
def numpy_out(x):
    np.multiply(scratch, 2, out=scratch)  # finds: mutation scratch[...]
    return x


@made(x)
def numpy_item_in_self():
    class Histogram:
        def __init__(self):
            self.bins = np.zeros(4, np.int32)

        def add(self, x):
            self.bins[x.ndim] += 1  # finds: mutation self.bins[...]
            return x

    return Histogram().add


image = np.arange(6.0, dtype=np.float32)


@impure(x)
def numpy_fill(x):
    image.fill(image[0] + 1)  # finds: mutation image[...]
    return x


rank = np.array([3.0, 1.0, 2.0], np.float32)


@impure(x)
def numpy_sort(x):
    rank.sort()  # finds: mutation rank[...]
    return x


@made(x)
def numpy_closed_over():
    momentum = np.zeros(3, np.float32)

    def update(x):
        momentum[:] = 0.9 * momentum + 1  # finds: mutation momentum[...]
        return x

    return update


accumulated = {"w": np.zeros(2, np.float32)}


@impure(x)
def numpy_in_a_dict(x):
    accumulated["w"][0] += 1  # finds: mutation accumulated['w'][...]
    return x


# ---- Mutation: arguments


@impure({"image": x, "label": x})
def argument_pop(batch):
    label = batch.pop("label")  # finds: mutation batch['label']
    return (batch["image"] - label).sum()


@impure({"image": x})
def argument_flag(batch):
    batch["normalized"] = True  # finds: mutation batch['normalized']
    return batch["image"] / 255


@impure({"w": x}, x)
def argument_key_replaced(params, g):
    params["w"] = params["w"] - 0.1 * g  # finds: mutation params['w']
    return params


@impure([x, x])
def argument_list_append(layers):
    layers.append("done")  # finds: mutation layers[...]
    return layers[0] + layers[1]


# ---- Hidden input: random numbers


@impure(x)
def random_random(x):
    return x * random.random()  # finds: hidden input random.random


@impure(x)
def random_from_import(x):
    noise = gauss(0, 1)  # finds: hidden input gauss
    return x + noise


@impure(x)
def random_choice(x):
    if random.choice([True, False]):  # finds: hidden input random.choice
        return x[::-1]
    return x


dice = random.Random(0)


@impure(x)
def own_random_instance(x):
    return x + dice.randint(1, 6)  # finds: hidden input dice.randint


order = list(range(20))


@impure(x)
def shuffle_outside_list(x):
    random.shuffle(order)  # finds: hidden input random.shuffle; mutation order[...]
    return x


@made(x)
def random_instance_in_self():
    class Augment:
        def __init__(self):
            self.random = random.Random(1)

        def __call__(self, x):
            return x * self.random.uniform(0.5, 1.5)  # finds: hidden input self.random.uniform

    return Augment()


@impure(x)
def random_unseeded_instance(x):
    dice = random.Random()  # finds: hidden input random.Random
    return x + dice.random()


@impure(x)
def numpy_rand(x):
    return x + np.random.rand(3).astype(np.float32)  # finds: hidden input np.random.rand


@impure(x)
def numpy_normal(x):
    eps = np.random.normal()  # finds: hidden input np.random.normal
    return x + eps


@impure(x)
def numpy_dropout(x):
    keep = np.random.binomial(1, 0.5, size=3)  # finds: hidden input np.random.binomial
    return x * keep.astype(np.float32)


rng = np.random.default_rng(0)


@impure(x)
def numpy_generator(x):
    return x + float(rng.normal())  # finds: hidden input rng.normal


@made(x)
def numpy_generator_in_self():
    class Dropout:
        def __init__(self, rate, seed=0):
            self.rate = rate
            self.rng = np.random.default_rng(seed)

        def mask(self, shape):
            return self.rng.random(shape) >= self.rate  # finds: hidden input self.rng.random

        def __call__(self, x):
            return jnp.where(self.mask(x.shape), x, 0.0)

    return Dropout(0.5)


legacy = np.random.RandomState(0)


@impure(x)
def numpy_random_state(x):
    return x * legacy.uniform()  # finds: hidden input legacy.uniform


rows = np.arange(20)


@impure(x)
def numpy_shuffle(x):
    np.random.shuffle(rows)  # finds: hidden input np.random.shuffle; mutation rows[...]
    return x


@impure(x)
def numpy_unseeded_generator(x):
    generator = np.random.default_rng()  # finds: hidden input np.random.default_rng
    return x + float(generator.normal())


# ---- Hidden input: clock, environment, identifiers


@impure(x)
def time_time(x):
    return x * time.time()  # finds: hidden input time.time


@impure(x)
def time_seed(x):
    key = jax.random.key(int(time.time_ns()) % 1000)  # finds: hidden input time.time_ns
    return x + jax.random.normal(key, x.shape)


@impure(x)
def elapsed_time(x):
    start = perf_counter()  # finds: hidden input perf_counter
    y = x * 2
    y = y + 0.0 * (perf_counter() - start)  # finds: hidden input perf_counter
    return y


@impure(x)
def monotonic_clock(x):
    return x + time.monotonic() % 2  # finds: hidden input time.monotonic


@impure(x)
def datetime_now(x):
    return x * datetime.datetime.now().second  # finds: hidden input datetime.datetime.now


@impure(x)
def datetime_renamed(x):
    return x * clock.now().microsecond  # finds: hidden input clock.now


@impure(x)
def date_today(x):
    weekend = datetime.date.today().weekday() >= 5  # finds: hidden input datetime.date.today
    return x * 2 if weekend else x


@impure(x)
def time_as_text(x):
    return x * len(time.ctime())  # finds: hidden input time.ctime


@impure(x)
def environ_item(x):
    return x * len(os.environ["PATH"])  # finds: hidden input os.environ['PATH']


@impure(x)
def environ_get(x):
    return x * float(os.environ.get("SCALE", "2"))  # finds: hidden input os.environ.get


@impure(x)
def getenv(x):
    if os.getenv("DEBUG"):  # finds: hidden input os.getenv
        x = x * 0
    return x


@impure(x)
def environ_contains(x):
    if "DEBUG" in os.environ:  # finds: hidden input os.environ['DEBUG']
        x = x * 0
    return x


@impure(x)
def environ_set(x):
    os.environ["HAIKU_STATE_CORPUS"] = "1"  # finds: mutation os.environ['HAIKU_STATE_CORPUS']
    return x


@impure(x)
def uuid_seed(x):
    return x + uuid.uuid4().int % 7  # finds: hidden input uuid.uuid4


@impure(x)
def secrets_below(x):
    return x + secrets.randbelow(10)  # finds: hidden input secrets.randbelow


@impure(x)
def urandom(x):
    return x + os.urandom(1)[0]  # finds: hidden input os.urandom


# ---- Hidden input: files


@impure(x)
def file_open(x):
    with open(FILES / "scale.txt") as file:  # finds: hidden input open
        return x * float(file.read())


@impure(x)
def file_read_text(x):
    path = FILES / "scale.txt"
    return x * float(path.read_text())  # finds: hidden input path.read_text


@impure(x)
def file_json(x):
    with open(FILES / "scale.json") as file:  # finds: hidden input open
        config = json.load(file)
    return x * config["scale"]


@impure(x)
def file_numpy(x):
    return x * float(np.load(FILES / "scale.npy"))  # finds: hidden input np.load


@impure(x)
def file_pickle(x):
    path = FILES / "scale.pickle"
    with path.open("rb") as file:  # finds: hidden input path.open
        return x * pickle.load(file)["scale"]


@impure(x)
def file_loadtxt(x):
    scale = np.loadtxt(FILES / "scale.txt")  # finds: hidden input np.loadtxt
    return x * float(scale)


def _read_config(name):
    with open(FILES / f"{name}.json") as file:  # finds: hidden input open
        return json.load(file)


@impure(x)
def file_in_a_helper(x):
    return x * _read_config("scale")["scale"]


@impure(x)
def directory_listing(x):
    return x * len(os.listdir(FILES))  # finds: hidden input os.listdir


# ---- Hidden input: iterators

steps = itertools.count(1)


@impure(x)
def itertools_count(x):
    return x * next(steps)  # finds: hidden input next(steps)


train_iter = iter(range(1_000_000))


@impure(x)
def list_iterator(x):
    batch = next(train_iter)  # finds: hidden input next(train_iter)
    return x + batch


def _batches():
    index = 0
    while True:
        yield float(index)
        index += 1


stream = _batches()


@impure(x)
def generator_from_outside(x):
    return x + next(stream)  # finds: hidden input next(stream)


feed = _batches()


@impure(x)
def for_loop_over_a_generator(x):
    for batch in feed:  # finds: hidden input next(feed)
        x = x + batch
        break
    return x


pages = _batches()


@impure(x)
def zip_with_a_generator(x):
    for _, page in zip(range(2), pages, strict=False):  # finds: hidden input next(pages)
        x = x + page
    return x


numbered = enumerate(itertools.count())


@impure(x)
def enumerate_from_outside(x):
    index, value = next(numbered)  # finds: hidden input next(numbered)
    return x + index + value


source = _batches()


@impure(x)
def enumerate_a_generator(x):
    for index, value in enumerate(source):  # finds: hidden input next(source)
        x = x + value
        if index == 1:
            break
    return x


tokens = itertools.cycle([1.0, 2.0])


@impure(x)
def islice_of_a_cycle(x):
    first = list(itertools.islice(tokens, 3))  # finds: hidden input next(tokens)
    return x * first[0]


@made(x)
def iterator_in_self():
    class Trainer:
        def __init__(self, data):
            self.batches = itertools.cycle(data)

        def step(self, x):
            return x + next(self.batches)  # finds: hidden input next(self.batches)

    return Trainer([1.0, 2.0, 3.0]).step


@made(x)
def iterator_in_a_partial():
    def step(batches, x):
        return x * next(batches)  # finds: hidden input next(batches)

    return functools.partial(step, itertools.count(1))


@made(x)
def dataloader_with_own_next():
    class Loader:
        def __init__(self, data):
            self.data, self.i = data, 0

        def __iter__(self):
            return self

        def __next__(self):
            self.i = (self.i + 1) % len(self.data)  # finds: mutation self.i
            return self.data[self.i]

    loader = Loader([1.0, 2.0, 3.0, 4.0, 5.0])

    def train(x):
        for batch in loader:
            return x + batch

    return train


@made(x)
def dataloader_that_shuffles():
    class Loader:
        def __init__(self, data):
            self.data = data
            self.rng = np.random.default_rng(0)

        def __iter__(self):
            order = self.rng.permutation(3)  # finds: hidden input self.rng.permutation
            yield from (self.data[index] for index in order)

    loader = Loader([1.0, 2.0, 3.0])

    def train(x):
        for batch in loader:
            x = x * 0.5 + batch
        return x

    return train


mapped = map(float, itertools.count(1))


@impure(x)
def map_object(x):
    return x * next(mapped)  # finds: hidden input next(mapped)


# ---- Output


@impure(x)
def print_the_value(x):
    print("x =", x)  # finds: output print
    return x


@impure(x)
def print_formatted(x):
    y = x * 2
    print(f"shape {y.shape}, dtype {y.dtype}", end="\n")  # finds: output print
    return y


@impure(x)
def print_to_stderr(x):
    print("debug", file=sys.stderr)  # finds: output print
    return x


@impure(x)
def logging_module(x):
    logging.warning("forward on %s", x.shape)  # finds: output logging.warning
    return x


log = logging.getLogger("haiku_state.tests.explain")
log.setLevel(logging.INFO)
log.propagate = False
log.addHandler(logging.StreamHandler(io.StringIO()))


@impure(x)
def logger(x):
    log.info("loss %s", x.sum())  # finds: output log.info
    return x


@made(x)
def logger_in_self():
    class Trainer:
        def __init__(self):
            self.log = logging.getLogger("haiku_state.tests.explain.trainer")

        def step(self, x):
            self.log.error("step")  # finds: output self.log.error
            return x

    return Trainer().step


@impure(x)
def stdout_write(x):
    sys.stdout.write("step\n")  # finds: output sys.stdout.write
    return x


@impure(x)
def pretty_print(x):
    pprint.pprint({"shape": x.shape})  # finds: output pprint.pprint
    return x


def _verbose(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        print("calling", fn.__name__)  # finds: output print
        return fn(*args, **kwargs)

    return wrapper


@impure(x)
@_verbose
def print_in_a_decorator(x):
    return x + 1


log_file = io.StringIO()


@impure(x)
def write_to_an_open_file(x):
    log_file.write("step\n")  # finds: output log_file.write
    return x


rows_of_log = csv.writer(io.StringIO())


@impure(x)
def csv_row(x):
    rows_of_log.writerow([1, "loss"])  # finds: output rows_of_log.writerow
    return x


@impure(x)
def file_write(x):
    with open(_written("open.txt"), "w") as file:  # finds: output open
        file.write("loss\n")
    return x


@impure(x)
def file_append(x):
    with open(_written("append.txt"), "a") as file:  # finds: output open
        print("loss", file=file)
    return x


@impure(x)
def file_write_text(x):
    path = Path(_written("text.txt"))
    path.write_text(str(x.shape))  # finds: output path.write_text
    return x


@impure(x)
def file_json_dump(x):
    with open(_written("dump.json"), mode="w", encoding="utf-8") as file:  # finds: output open
        json.dump({"shape": x.shape}, file)
    return x


@impure(x)
def file_numpy_save(x):
    np.save(_written("array.npy"), np.zeros(3))  # finds: output np.save
    return x


@impure(x)
def file_remove(x):
    with contextlib.suppress(FileNotFoundError):
        os.remove(_written("removed.txt"))  # finds: output os.remove
    return x


@impure(x)
def directory_make(x):
    os.makedirs(_written("folder"), exist_ok=True)  # finds: output os.makedirs
    return x


# ---- Leaks

activations = []


@impure(x)
def leak_in_a_list(x):
    h = jnp.tanh(x)
    activations.append(h)  # finds: leak activations[...]
    return h.sum()


@made(x)
def leak_in_self():
    class Layer:
        def __call__(self, x):
            self.last = x  # finds: leak self.last
            return x * 2

    return Layer()


last_loss = None


@impure(x)
def leak_in_a_global(x):
    global last_loss
    last_loss = (x**2).sum()  # finds: leak last_loss
    return last_loss


losses = {}


@impure(x)
def leak_in_a_dict(x):
    losses["train"] = x.mean()  # finds: leak losses['train']
    return x


@made(x)
def leak_in_a_nonlocal():
    previous = jnp.zeros(3)

    def difference(x):
        nonlocal previous
        result = x - jnp.roll(x, 1)
        previous = x  # finds: leak previous
        return result

    return difference


@made(x)
def leak_in_a_running_mean():
    class BatchNorm:
        def __init__(self):
            self.running_mean = jnp.zeros(())
            self.batches = 0

        def forward(self, x):
            mean = x.mean()
            self.running_mean = 0.9 * mean + 0.1  # finds: leak self.running_mean
            self.batches += 1  # finds: mutation self.batches
            return x - mean

    return BatchNorm().forward


metrics = []


@impure(x)
def leak_inside_a_tuple(x):
    loss = x.sum()
    metrics.append({"step": 1, "loss": (loss, "train")})  # finds: leak metrics[...]
    return loss


masks = {}


@impure(x)
def leak_of_a_constant_made_in_the_trace(x):
    if x.shape not in masks:
        masks[x.shape] = jnp.ones(x.shape)  # finds: leak masks[(3,)]
    return x * masks[x.shape]


def _memoize(fn):
    results = {}

    @functools.wraps(fn)
    def wrapper(x):
        if x.ndim not in results:
            results[x.ndim] = fn(x)  # finds: leak results[1]
        return results[x.ndim]

    return wrapper


@impure(x)
@_memoize
def leak_in_a_memo(x):
    return jnp.sin(x)


trajectory = []


@impure(x)
def leak_from_scan(x):
    def body(carry, value):
        trajectory.append(carry)  # finds: leak trajectory[...]
        return carry + value, carry

    total, _ = jax.lax.scan(body, 0.0, x)
    return total


per_example = []


@impure(x)
def leak_from_vmap(x):
    def one(value):
        per_example.append(value * 2)  # finds: leak per_example[...]
        return value + 1

    return jax.vmap(one)(x)


branches = {}


@impure(x)
def leak_from_cond(x):
    def positive(value):
        branches["positive"] = value  # finds: leak branches['positive']
        return value

    return jax.lax.cond(x.sum() > 0, positive, lambda value: -value, x)


@made(x)
def leak_from_fori_loop():
    class Solver:
        iterate = None

        def step(self, i, value):
            self.iterate = value  # finds: leak self.iterate
            return value * 0.5 + i

        def solve(self, x):
            return jax.lax.fori_loop(0, 3, self.step, x)

    return Solver().solve


inner_losses = deque(maxlen=10)


@impure(x)
def leak_from_grad(x):
    def loss(w):
        value = (w**2).sum()
        inner_losses.append(value)  # finds: leak inner_losses[...]
        return value

    return jax.grad(loss)(x)


kept_by_jit = []


@impure(x)
@jax.jit
def leak_from_jit(x):
    kept_by_jit.append(x)  # finds: leak kept_by_jit[...]
    return x


@impure(x)
def leak_in_a_function_attribute(x):
    leak_in_a_function_attribute.last = x * 1  # finds: leak leak_in_a_function_attribute.last
    return x


@impure(x)
def leak_in_a_default(x, acc=[]):  # noqa: B006
    acc.append(x)  # finds: leak acc[...]
    return x


@made(x)
def leak_of_a_closure():
    callbacks = []

    def call(x):
        callbacks.append(lambda: x.sum())  # finds: leak callbacks[...]
        return x

    return call


@made(x)
def leak_in_a_class_attribute():
    class Loss:
        last: ClassVar[Any] = None

        @classmethod
        def compute(cls, x):
            cls.last = x.mean()  # finds: leak cls.last
            return x.sum()

    return Loss.compute


objects = np.empty(2, object)


@impure(x)
def leak_in_an_object_array(x):
    objects[0] = x  # finds: leak objects[...]
    return x


# ---- Leaks and mutations inside Haiku


def _summed(x):
    class Sum(hk.Module):
        def __call__(self, x):
            total = hk.get_state("total", (), init=jnp.zeros)

            def body(carry, value):
                carry = carry + value
                hk.set_state("total", carry)  # finds: leak hk.set_state('total')
                return carry, None

            return jax.lax.scan(body, total, x)[0]

    return Sum()(x)


@made({}, {"sum": {"total": jnp.zeros(())}}, None, x)
def haiku_set_state_in_scan():
    return hk.transform_with_state(_summed).apply


MAY_RAISE.add("haiku_set_state_in_scan")  # the state that apply returns holds a tracer of the scan


@made({}, {}, None, x)
def haiku_attribute_in_scan():
    class Walk(hk.Module):
        def __call__(self, x):
            def body(carry, value):
                self.last = carry  # finds: leak self.last
                return carry + value, None

            total, _ = jax.lax.scan(body, 0.0, x)
            return total + self.last

    return hk.transform_with_state(lambda x: Walk()(x)).apply


MAY_RAISE.add("haiku_attribute_in_scan")  # the call uses a tracer of the scan


@made({}, {}, None, x)
def haiku_set_state_in_vmap():
    class Norm(hk.Module):
        def __call__(self, x):
            def one(value):
                hk.set_state("last", value)  # finds: leak hk.set_state('last')
                return value * 2

            return jax.vmap(one)(x)

    return hk.transform_with_state(lambda x: Norm()(x)).apply


MAY_RAISE.add("haiku_set_state_in_vmap")

features = []


@made({"linear": {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}}, None, jnp.ones((1, 3)))
def haiku_module_keeps_an_activation():
    def network(x):
        h = hk.Linear(2)(x)
        features.append(h)  # finds: leak features[...]
        return h

    return hk.transform(network).apply


@made({}, None, x)
def haiku_module_counts_in_its_class():
    class Layer(hk.Module):
        calls = 0

        def __call__(self, x):
            Layer.calls += 1  # finds: mutation Layer.calls
            return x

    return hk.transform(lambda x: Layer()(x)).apply


@made({}, None, x)
def haiku_module_draws_from_numpy():
    class Noise(hk.Module):
        def __call__(self, x):
            return x + np.random.uniform()  # finds: hidden input np.random.uniform

    return hk.without_apply_rng(hk.transform(lambda _, x: Noise()(x))).apply


@made({}, None, x)
def haiku_print_in_init_and_call():
    class Layer(hk.Module):
        def __init__(self, name=None):
            super().__init__(name)
            print("made", self.module_name)  # finds: output print

        def __call__(self, x):
            return x

    return hk.transform(lambda x: Layer()(x)).apply


# ---- Wrapped


@made(x)
def partial_of_a_list():
    def step(log, x):
        log.append("step")  # finds: mutation log[...]
        return x

    return functools.partial(step, [])


@made(x)
def partial_keyword():
    def step(x, stats=None):
        stats["n"] += 1  # finds: mutation stats['n']
        return x

    return functools.partial(step, stats={"n": 0})


@made(x)
def partial_of_a_partial_of_a_method():
    class Meter:
        def __init__(self):
            self.total = 0

        def add(self, amount, factor, x):
            self.total += amount  # finds: mutation self.total
            return x * factor

    return functools.partial(functools.partial(Meter().add, 2), 3.0)


def _counted(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        wrapper.calls += 1  # finds: mutation wrapper.calls
        return fn(*args)

    wrapper.calls = 0
    return wrapper


@impure(x)
@_counted
def decorator_with_wraps(x):
    return x**2


class CountCalls:
    def __init__(self, fn):
        functools.update_wrapper(self, fn)
        self.fn, self.count = fn, 0

    def __call__(self, *args):
        self.count += 1  # finds: mutation self.count
        return self.fn(*args)


@impure(x)
@CountCalls
def decorator_class(x):
    return x**2


def _timed(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        start = time.time()  # finds: hidden input time.time
        result = fn(*args)
        print(time.time() - start)  # finds: hidden input time.time; output print
        return result

    return wrapper


@impure(x)
@_timed
def decorator_that_times(x):
    return x**2


compiled_calls = []


@impure(x)
@jax.jit
def jitted(x):
    compiled_calls.append(1)  # finds: mutation compiled_calls[...]
    return x * 2


@made(x)
def calls_a_jitted_method():
    class Model:
        def __init__(self):
            self.traces = 0
            self.step = jax.jit(self._step)

        def _step(self, x):
            self.traces += 1  # finds: mutation self.traces
            return x * 2

        def __call__(self, x):
            return self.step(x) + 1

    return Model()


gradient_calls = {"n": 0}


@impure(x)
def grad_of_an_impure_function(x):
    def loss(w):
        gradient_calls["n"] += 1  # finds: mutation gradient_calls['n']
        return (w**2).sum()

    return jax.grad(loss)(x)


@made(x)
def value_and_grad_itself():
    evaluations = []

    def loss(w):
        evaluations.append("loss")  # finds: mutation evaluations[...]
        return (w**2).sum()

    return jax.value_and_grad(loss)


@made(x)
def vmap_of_a_method():
    class Scorer:
        def __init__(self):
            self.batches = 0

        def score(self, value):
            self.batches += 1  # finds: mutation self.batches
            return value * 2

    return jax.vmap(Scorer().score)


body_traces = [0]


@impure(x)
def while_loop_body(x):
    def body(value):
        body_traces[0] += 1  # finds: mutation body_traces[...]
        return value * 2

    return jax.lax.while_loop(lambda value: value.sum() < 10, body, x + 1)


remat_log = []


@impure(x)
def checkpointed(x):
    @jax.checkpoint
    def block(value):
        remat_log.append("block")  # finds: mutation remat_log[...]
        return jnp.sin(value)

    return block(x)


def _log_loss(value):
    loss_log.append(value)  # finds: mutation loss_log[...]


loss_log = []


@impure(x)
def helper_of_the_same_file(x):
    _log_loss("loss")
    return x.sum()


def _record(store, value):
    store.append(value)  # finds: mutation store[...]


kept_values = []


@impure(x)
def helper_that_gets_the_list(x):
    _record(kept_values, 1.0)
    return x


@made(x)
def lambda_that_appends():
    calls = []
    return lambda x: (calls.append(1), x * 2)[1]  # finds: mutation calls[...]


@made(x)
def staticmethod_with_a_global():
    class Ops:
        used = types.SimpleNamespace(times=0)

        @staticmethod
        def double(x):
            Ops.used.times += 1  # finds: mutation Ops.used.times
            return x * 2

    return Ops.double


produced = []


def _layers(x):
    for factor in (1, 2, 3):
        produced.append(factor)  # finds: mutation produced[...]
        yield x * factor


@impure(x)
def generator_function_used_inside(x):
    return sum(_layers(x))


@made(x)
def own_context_manager():
    class Timer:
        def __init__(self):
            self.entered = 0

        def __enter__(self):
            self.entered += 1  # finds: mutation self.entered
            return self

        def __exit__(self, *error):
            return False

    timer = Timer()

    def call(x):
        with timer:
            return x * 2

    return call


scopes = []


@contextlib.contextmanager
def _scope(name):
    scopes.append(name)  # finds: mutation scopes[...]
    yield


@impure(x)
def contextmanager_function(x):
    with _scope("layer"):
        return x + 1


finished = []


@impure(x)
def in_finally(x):
    try:
        return x * 2
    finally:
        finished.append("step")  # finds: mutation finished[...]


failures = {"n": 0}


@impure(x)
def in_except(x):
    try:
        return x.reshape(7)
    except TypeError:
        failures["n"] += 1  # finds: mutation failures['n']
        return x


@made(x)
def operator_of_an_own_class():
    class Tape:
        def __init__(self):
            self.records = []

        def __add__(self, other):
            self.records.append("add")  # finds: mutation self.records[...]
            return other + 1

    tape = Tape()
    return lambda x: tape + x


@made(x)
def getitem_that_counts():
    class Embedding:
        def __init__(self):
            self.hits = {}

        def __getitem__(self, index):
            self.hits[index] = self.hits.get(index, 0) + 1  # finds: mutation self.hits[3]
            return 0.5

    embedding = Embedding()
    return lambda x: x * embedding[3]


@made(x)
def getattr_that_caches():
    class Lazy:
        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            self.__dict__[name] = 2.0  # finds: mutation self.scale
            return 2.0

    lazy = Lazy()
    return lambda x: x * lazy.scale


@made(x)
def deepcopied_too_late():
    state = {"step": 0, "log": []}

    def update(x):
        state["step"] += 1  # finds: mutation state['step']
        fresh = copy.deepcopy(state)
        fresh["log"].append("only the copy")
        return x * fresh["step"]

    return update


@made(x)
def shallow_copy_shares_the_list():
    state = {"step": 0, "log": []}

    def update(x):
        fresh = dict(state)
        fresh["step"] += 1
        fresh["log"].append("step")  # finds: mutation fresh['log'][...]
        return x * fresh["step"]

    return update


@made(x)
def training_loop():
    class Trainer:
        def __init__(self):
            self.step = 0
            self.log = defaultdict(list)
            self.rng = random.Random(0)

        def train_step(self, w):
            self.step += 1  # finds: mutation self.step
            noise = self.rng.gauss(0, 1)  # finds: hidden input self.rng.gauss
            loss, grad = jax.value_and_grad(self.loss)(w + noise)
            self.log["loss"].append(loss)  # finds: leak self.log['loss']
            if self.step % 1 == 0:
                print("step", self.step)  # finds: output print
            return w - 0.1 * grad

        @staticmethod
        def loss(w):
            return (w**2).sum()

    return Trainer().train_step


@made(x)
def error_after_a_change():
    class Stopper:
        def __init__(self):
            self.patience = 3
            self.best = None

        def check(self, x):
            self.patience -= 1  # finds: mutation self.patience
            if float(x.sum()) < 1.0:
                self.best = 0.0
            return x

    return Stopper().check


RAISES.add("error_after_a_change")  # float() of a tracer

errors_so_far = []


@impure(x)
def error_raised_by_the_function(x):
    errors_so_far.append(x.shape)  # finds: mutation errors_so_far[...]
    raise ValueError("not implemented yet")


RAISES.add("error_raised_by_the_function")


# ---- A frozen value that something in the call changes afterwards

temperature = 1.0


@impure(x)
def frozen_global(x):
    global temperature
    y = x / temperature  # finds: frozen value temperature
    temperature *= 0.9  # finds: mutation temperature
    return y


@made(x)
def frozen_attribute():
    class Optimizer:
        def __init__(self):
            self.rate = 0.1

        def update(self, x):
            y = x * self.rate  # finds: frozen value self.rate
            self.rate = self.rate / 2  # finds: mutation self.rate
            return y

    return Optimizer().update


@made(x)
def frozen_closure():
    scale = 2.0

    def grow():
        nonlocal scale
        scale *= 1.5  # finds: mutation scale

    def call(x):
        y = x * scale  # finds: frozen value scale
        grow()
        return y

    return call


offsets = np.ones(3, np.float32)


@impure(x)
def frozen_array(x):
    y = x + offsets  # finds: frozen value offsets
    offsets[0] += 1  # finds: mutation offsets[...]
    return y


# ---- Found by an attack on the tables above


@made(x)
def descriptor_stores_in_itself():
    class Shared:
        def __init__(self):
            self.value = 0

        def __get__(self, obj, cls=None):
            return self.value

        def __set__(self, obj, value):
            self.value = value  # finds: mutation self.value

    class Opt:
        rate = Shared()

    opt = Opt()

    def step(x):
        opt.rate = 3
        return x

    return step


arr = array.array("d", [1.0, 2.0])


@impure(x)
def array_module(x):
    arr.append(3.0)  # finds: mutation arr[...]
    return x * arr[0]


pushed = []
push = pushed.append


@impure(x)
def bound_builtin_method(x):
    push(1)  # finds: mutation push.__self__[...]
    return x


class Patched:
    def forward(self, x):
        return x


@impure(x)
def monkeypatch_a_class(x):
    Patched.forward = lambda self, x: x * 2  # finds: mutation Patched.forward
    return Patched().forward(x)


@made(x)
def set_member_object():
    class Node:
        def __init__(self):
            self.n = 0

    nodes = {Node()}

    def f(x):
        for node in nodes:
            node.n += 1  # finds: mutation node.n
        return x

    return f


@made(x)
def dict_key_object():
    class Node:
        def __init__(self):
            self.n = 0

    nodes = {Node(): 1}

    def f(x):
        for node in nodes:
            node.n += 1  # finds: mutation node.n
        return x

    return f


@made(x)
def named_mangled():
    class M:
        def __init__(self):
            self.__n = 0

        def __call__(self, x):
            self.__n += 1  # finds: mutation self.__n
            return x

    return M()


@made(x)
def slots_mangled():
    class M:
        __slots__ = ("__n",)

        def __init__(self):
            self.__n = 0

        def __call__(self, x):
            self.__n += 1  # finds: mutation self.__n
            return x

    return M()


@made(x)
def dict_attr_replaced():
    p = type("P", (), {})()
    p.n = 1

    def f(x):
        p.__dict__ = {"n": 2}  # finds: mutation p.n
        return x

    return f


thunks = []


@impure(x)
def leak_partial(x):
    thunks.append(functools.partial(jnp.add, x))  # finds: leak thunks[...]
    return x


@made(x)
def leak_bound_method():
    class Rec:
        def __init__(self, v):
            self.v = v

        def get(self):
            return self.v

    cbs = []

    def f(x):
        cbs.append(Rec(x).get)  # finds: leak cbs[...]
        return x

    return f


@made(x)
def leak_from_custom_vjp_fwd():
    saved = {}

    @jax.custom_vjp
    def clip(v):
        return v

    def fwd(v):
        saved["v"] = v  # finds: leak saved['v']
        return v, None

    clip.defvjp(fwd, lambda _, g: (g,))
    return lambda x: jax.grad(lambda v: clip(v).sum())(x)


@made(x)
def leak_inner_jit_self():
    class M:
        def __init__(self):
            self.h = None

        def inner(self, v):
            self.h = v + 1  # finds: leak self.h
            return v

        def __call__(self, x):
            y = jax.jit(self.inner)(x)
            return y + self.h

    return M()


MAY_RAISE.add("leak_inner_jit_self")


@impure(x)
def system_random(x):
    return x * random.SystemRandom().random()  # finds: hidden input random.SystemRandom().random


sysrand = random.SystemRandom()


@impure(x)
def system_random_instance(x):
    return x * sysrand.random()  # finds: hidden input sysrand.random


@impure(x)
def path_exists(x):
    if Path("some_file_never").exists():  # finds: hidden input Path('some_file_never').exists
        return x
    return x + 1


@impure(x)
def environ_copy(x):
    env = dict(os.environ)  # finds: hidden input os.environ
    return x * len(env)


@impure(x)
def environ_items(x):
    n = sum(1 for k in os.environ if k.startswith("JAX"))  # finds: hidden input os.environ
    return x * n


text_file = io.StringIO("1.0\n2.0\n")


@impure(x)
def stringio_readline(x):
    return x * float(text_file.readline())  # finds: hidden input text_file.readline


real_file = open(FILES / "scale.txt")  # noqa: SIM115
atexit.register(real_file.close)


@impure(x)
def open_file_read(x):
    return x * float(real_file.read())  # finds: hidden input real_file.read


gen_default = (float(i) for i in range(10))


@impure(x)
def generator_default_argument(x, it=gen_default):
    return x * next(it)  # finds: hidden input next(it)


it_dict = {"train": iter([1.0, 2.0])}


@impure(x)
def iterator_in_a_dict(x):
    return x * next(it_dict["train"])  # finds: hidden input next(it_dict['train'])


it_list = [iter([1.0, 2.0])]


@impure(x)
def iterator_in_a_list(x):
    return x * next(it_list[0])  # finds: hidden input next(it_list[0])


def _sender():
    total = 0.0
    while True:
        got = yield total
        total += got or 1.0


it_send = _sender()


next(it_send)


@impure(x)
def generator_send(x):
    return x * it_send.send(1.0)  # finds: hidden input it_send.send


@impure(x)
def warn(x):
    warnings.warn("careful", stacklevel=2)  # finds: output warnings.warn
    return x


@impure(x)
def traceback_print(x):
    try:
        x.reshape(7)
    except TypeError:
        traceback.print_exc()  # finds: output traceback.print_exc
    return x


@impure(x)
def path_touch(x):
    Path(
        "haiku_state-never-touched"
    ).touch()  # finds: output Path('haiku_state-never-touched').touch
    return x


@impure(x)
def path_mkdir(x):
    Path("haiku_state-never-made").mkdir()  # finds: output Path('haiku_state-never-made').mkdir
    return x


cached_calls = []


@jax.jit
def _jit_helper(v):
    cached_calls.append(1)  # finds: mutation cached_calls[...]
    return v * 2


_jit_helper(x)


@impure(x)
def jit_helper_traced_before(x):
    return _jit_helper(x)


scan_calls = []


def _scan_body(c, v):
    scan_calls.append(1)  # finds: mutation scan_calls[...]
    return c + v, c


jax.lax.scan(_scan_body, jnp.float32(0), x)


@impure(x)
def scan_body_traced_before(x):
    return jax.lax.scan(_scan_body, jnp.float32(0), x)


@made(x)
def jit_static_method_called():
    class M:
        def __init__(self):
            self.n = 0

        @functools.partial(jax.jit, static_argnums=0)
        def f(self, x):
            self.n += 1  # finds: mutation self.n
            return x

    m = M()
    m.f(x)
    m.n = 0
    return m.f


@made(x, 2)
def static_number_needed_for_tile():
    log_ = []

    def f(x, n):
        log_.append("f")  # finds: mutation log_[...]
        return jnp.tile(x, n)

    return f


@made(3)
def static_number_needed_for_zeros():
    log_ = []

    def f(n):
        log_.append("f")  # finds: mutation log_[...]
        return jnp.zeros(n)

    return f


@made(x, 2)
def number_as_dict_key():
    log_ = []

    def f(x, n):
        log_.append("f")  # finds: mutation log_[...]
        return {1: jnp.sin, 2: jnp.cos}[n](x)

    return f


mixed_keys = []


@impure(x)
def dict_with_keys_that_cannot_be_sorted(x):
    mixed_keys.append({"a": 1, 2: 3})  # finds: mutation mixed_keys[...]
    return x


@made(x)
def leak_from_grad_computed_with():
    def call(x):
        acts = None

        def loss(v):
            nonlocal acts
            acts = jnp.tanh(v)  # finds: leak acts
            return acts.sum()

        return jax.grad(loss)(x) + acts

    return call


MAY_RAISE.add("leak_from_grad_computed_with")


# ---- State inside C and framework objects, and of libraries


@functools.lru_cache
def cached_table(n):
    return jnp.arange(n)


@impure(x)
def helper_with_a_cache(x):
    return x * cached_table(3)  # finds: leak cached_table


@made(x)
def helper_with_a_cache_without_a_bound():
    @functools.cache
    def table(n):
        return jnp.arange(n)

    def call(x):
        y = table(3)  # finds: leak table
        return x * y

    return call


keys = hk.PRNGSequence(jax.random.key(0))


@impure(x)
def take_of_a_sequence_of_keys(x):
    (drawn,) = keys.take(1)  # finds: hidden input keys.take
    return x + jax.random.normal(drawn)


depth = contextvars.ContextVar("depth", default=0)


@impure(x)
def context_variable(x):
    depth.set(depth.get() + 1)  # finds: mutation depth
    return x * depth.get()


latest = contextvars.ContextVar("latest", default=None)


@impure(x)
def context_variable_with_a_tracer(x):
    latest.set(x * 2)  # finds: leak latest
    return x


@impure(x)
def function_of_jax_replaced(x):
    jnp.sin = jnp.cos  # finds: mutation jnp.sin
    return jnp.sin(x)


@impure(x)
def setting_of_jax(x):
    update, name = jax.config.update, "jax_default_matmul_precision"
    update(name, "float32")  # finds: mutation jax.config.jax_default_matmul_precision
    return x


@impure(x)
def search_path(x):
    sys.path.append("nowhere")  # finds: mutation sys.path[...]
    return x


worker = threading.local()


@impure(x)
def variable_of_a_thread(x):
    worker.calls = getattr(worker, "calls", 0) + 1  # finds: mutation worker.calls
    return x


class Sized:
    pass


sized, widths = Sized(), weakref.WeakKeyDictionary()


@impure(x)
def weak_key(x):
    widths[sized] = x.size  # finds: mutation widths[sized]
    return x


@jax.jit
def tick(x):
    tick.calls = getattr(tick, "calls", 0) + 1  # finds: mutation tick.calls
    return x


@made(x)
def attribute_of_a_jitted_function():
    return tick


toolbox = types.ModuleType("toolbox")
toolbox.calls = 0


@made(x)
def module_in_a_closure():
    tools = toolbox

    def call(x):
        tools.calls += 1  # finds: mutation tools.calls
        return x

    return call


pmapped_calls = 0


def counts_its_calls(x):
    global pmapped_calls
    pmapped_calls += 1  # finds: mutation pmapped_calls
    return x * pmapped_calls


@made(x[None])
def below_pmap():
    return jax.pmap(counts_its_calls)


wrapped_calls = 0


@made(x)
def below_functools_wraps():
    def counted(x):
        global wrapped_calls
        wrapped_calls += 1  # finds: mutation wrapped_calls
        return x * wrapped_calls

    @functools.wraps(counted)
    def wrapper(*args):
        return counted(*args)

    return wrapper


helped = 0


def second_helper(x):
    global helped
    helped += 1  # finds: mutation helped
    return x * helped


def first_helper(x):
    return second_helper(x)


@impure(x)
def global_of_the_helper_of_a_helper(x):
    return first_helper(x)


@impure(x)
def branch_on_the_environment(x):
    if os.environ["HOME"] == "1":  # finds: hidden input os.environ['HOME']
        return -x
    return x
