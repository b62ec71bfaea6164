"""Attributes of objects: set, created, deleted, and swapped."""

import contextlib
import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure.made(x)
def attribute_of_a_closed_over_object():
    class Tally:
        def __init__(self):
            self.n = 0

    tally = Tally()

    def forward(x):
        tally.n += 1  # finds: mutation tally.n
        return x * tally.n

    return forward


@impure.made(x)
def bound_method():
    class Model:
        def __init__(self):
            self.steps = 0

        def forward(self, x):
            self.steps += 1  # finds: mutation self.steps
            return x * self.steps

    return Model().forward


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
def setattr_on_self():
    class Bag:
        def __init__(self):
            self.count = 0

        def bump(self, x, name="count"):
            setattr(self, name, getattr(self, name) + 1)  # finds: mutation self.count
            return x

    return Bag().bump


@impure.made(x)
def vars_of_self():
    class Bag:
        count = 0

        def __init__(self):
            self.count = 0

        def bump(self, x):
            vars(self)["count"] = self.count + 1  # finds: mutation self.count
            return x

    return Bag().bump


@impure.made(x)
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


@impure.made(x)
def dict_attr_replaced():
    p = type("P", (), {})()
    p.n = 1

    def f(x):
        p.__dict__ = {"n": 2}  # finds: mutation p.n
        return x

    return f


@impure.made(x)
def attribute_created():
    class Model:
        def forward(self, x):
            self.input_size = x.shape[-1]  # finds: mutation self.input_size
            return x

    return Model().forward


@impure.made(x)
def attribute_deleted():
    model = types.SimpleNamespace(hook="print", scale=2.0)

    def forward(x):
        if hasattr(model, "hook"):
            del model.hook  # finds: mutation model.hook
        return x * model.scale

    return forward


settings = types.ModuleType("settings")
settings.debug = False


@impure(x)
def attribute_of_a_module(x):
    settings.debug = not settings.debug  # finds: mutation settings.debug
    return x


toolbox = types.ModuleType("toolbox")
toolbox.calls = 0


@impure.made(x)
def module_in_a_closure():
    tools = toolbox

    def call(x):
        tools.calls += 1  # finds: mutation tools.calls
        return x

    return call


@impure.made(x)
def chained_assignment():
    class Pair:
        a = b = 0

    pair = Pair()

    def call(x):
        pair.a = pair.b = pair.a + 1  # finds: mutation pair.a; mutation pair.b
        return x * pair.a

    return call


@impure.made(x)
def tuple_unpacking():
    fib = types.SimpleNamespace(a=1, b=2)

    def fibonacci(x):
        fib.a, fib.b = fib.b, fib.a + fib.b  # finds: mutation fib.a; mutation fib.b
        return x * fib.b

    return fibonacci


@impure.made(x)
def for_target():
    cursor = types.SimpleNamespace(position=-1)

    def call(x):
        for cursor.position in range(3):  # finds: mutation cursor.position
            x = x + 1
        return x

    return call


@impure.made(x)
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


@impure.made(x)
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


@impure.made(x)
def named_mangled():
    class M:
        def __init__(self):
            self.__n = 0

        def __call__(self, x):
            self.__n += 1  # finds: mutation self.__n
            return x

    return M()


@pure.made(x)
def bound_method_that_only_reads():
    class Linear:
        def __init__(self, size):
            self.w = np.ones((size, size), np.float32)
            self.b = 0.5

        def __call__(self, x):
            return x @ self.w + self.b

    return Linear(3).__call__


@pure.made(x)
def sequential_of_callables():
    class Sequential:
        def __init__(self, *layers):
            self.layers = layers

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    return Sequential(jnp.tanh, Sequential(jax.nn.relu, lambda x: x * 2))


@pure.made(x)
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
