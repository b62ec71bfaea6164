"""Properties, slots, data classes, descriptors, and the methods that operators call."""

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
def slots_mangled():
    class M:
        __slots__ = ("__n",)

        def __init__(self):
            self.__n = 0

        def __call__(self, x):
            self.__n += 1  # finds: mutation self.__n
            return x

    return M()


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
def frozen_dataclass_forced():
    @dataclasses.dataclass(frozen=True)
    class Config:
        step: int = 0

    config = Config()

    def advance(x):
        object.__setattr__(config, "step", config.step + 1)  # finds: mutation config.step
        return x + config.step

    return advance


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
def operator_of_an_own_class():
    class Tape:
        def __init__(self):
            self.records = []

        def __add__(self, other):
            self.records.append("add")  # finds: mutation self.records[...]
            return other + 1

    tape = Tape()
    return lambda x: tape + x


@impure.made(x)
def getitem_that_counts():
    class Embedding:
        def __init__(self):
            self.hits = {}

        def __getitem__(self, index):
            self.hits[index] = self.hits.get(index, 0) + 1  # finds: mutation self.hits[3]
            return 0.5

    embedding = Embedding()
    return lambda x: x * embedding[3]


@impure.made(x)
def getattr_that_caches():
    class Lazy:
        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            self.__dict__[name] = 2.0  # finds: mutation self.scale
            return 2.0

    lazy = Lazy()
    return lambda x: x * lazy.scale


@pure.made(x)
def property_getter():
    class Schedule:
        def __init__(self):
            self._base = 0.1

        @property
        def rate(self):
            return self._base * 2

    schedule = Schedule()
    return lambda x: x * schedule.rate


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


@pure.made(x)
def sequence_protocol_only():
    class Data:
        def __getitem__(self, index):
            if index >= 3:
                raise IndexError(index)
            return float(index)

    data = Data()
    return lambda x: x + sum(data)


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
