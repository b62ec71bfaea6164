"""Attributes of classes, and methods that are inherited."""

import abc
import collections
import enum
import types
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
def instance_attribute_named_as_the_class_attribute():
    class Meter:
        n = 0

        def step(self, x):
            self.n += 1  # finds: mutation self.n
            return x * self.n

    return Meter().step


@impure.made(x)
def instance_and_class_attribute_both():
    class Meter:
        n = 0

        def __init__(self):
            self.n = 10

        def step(self, x):
            Meter.n += 1  # finds: mutation Meter.n
            return x * self.n

    return Meter().step


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
def classmethod_itself():
    class Names:
        names: ClassVar[list] = []

        @classmethod
        def call(cls, x):
            cls.names.append("dense")  # finds: mutation cls.names[...]
            return x * len(cls.names)

    return Names.call


@impure.made(x)
def class_attribute_through_type_of_self():
    class Layer:
        uid = 0

        def __call__(self, x):
            type(self).uid += 1  # finds: mutation type(self).uid
            return x

    return Layer()


@impure.made(x)
def class_list_shared_through_self():
    class Trainer:
        log: ClassVar[list] = []

        def step(self, x):
            self.log.append("step")  # finds: mutation self.log[...]
            return x

    return Trainer().step


@impure.made(x)
def class_attribute_of_the_base():
    class Base:
        total = 0

    class Child(Base):
        def __call__(self, x):
            Base.total += 1  # finds: mutation Base.total
            return x * self.total

    return Child()


@impure.made(x)
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


@impure.made(x)
def staticmethod_with_a_global():
    class Ops:
        used = types.SimpleNamespace(times=0)

        @staticmethod
        def double(x):
            Ops.used.times += 1  # finds: mutation Ops.used.times
            return x * 2

    return Ops.double


class Patched:
    def forward(self, x):
        return x


@impure(x)
def monkeypatch_a_class(x):
    Patched.forward = lambda self, x: x * 2  # finds: mutation Patched.forward
    return Patched().forward(x)


class Settings:
    rate = 0.1
    sizes: ClassVar[tuple] = (3, 4)
    names: ClassVar[list] = ["w", "b"]


@pure(x)
def class_with_only_constants(x):
    return x * Settings.rate * Settings.sizes[0] + len(Settings.names)


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


class TrainState(NamedTuple):
    w: Any
    step: Any


@pure(TrainState(x, jnp.int32(0)))
def namedtuple_replace(state):
    return state._replace(w=state.w * 0.9, step=state.step + 1)
