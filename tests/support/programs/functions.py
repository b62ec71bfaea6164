"""Attributes and defaults of functions, partials, and decorators."""

import functools
import inspect
import operator
import time
import typing

import jax
import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure.made(x)
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


@impure.made(x)
def partial_of_a_list():
    def step(log, x):
        log.append("step")  # finds: mutation log[...]
        return x

    return functools.partial(step, [])


@impure.made(x)
def partial_keyword():
    def step(x, stats=None):
        stats["n"] += 1  # finds: mutation stats['n']
        return x

    return functools.partial(step, stats={"n": 0})


@impure.made(x)
def partial_of_a_partial_of_a_method():
    class Meter:
        def __init__(self):
            self.total = 0

        def add(self, amount, factor, x):
            self.total += amount  # finds: mutation self.total
            return x * factor

    return functools.partial(functools.partial(Meter().add, 2), 3.0)


pushed = []
push = pushed.append


@impure(x)
def bound_builtin_method(x):
    push(1)  # finds: mutation push.__self__[...]
    return x


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


remat_log = []


@impure(x)
def checkpointed(x):
    @jax.checkpoint
    def block(value):
        remat_log.append("block")  # finds: mutation remat_log[...]
        return jnp.sin(value)

    return block(x)


wrapped_calls = 0


@impure.made(x)
def below_functools_wraps():
    def counted(x):
        global wrapped_calls
        wrapped_calls += 1  # finds: mutation wrapped_calls
        return x * wrapped_calls

    @functools.wraps(counted)
    def wrapper(*args):
        return counted(*args)

    return wrapper


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


@pure.made(x)
def partial_of_constants():
    def dense(size, activation, x):
        return activation(x) * size

    return functools.partial(functools.partial(dense, 3), "relu" and jax.nn.relu)


@pure.made(x)
def keyword_partial_with_static_values():
    def scale(x, *, mode, training):
        assert mode in {"sum", "mean"}
        return getattr(x, mode)() if training else x

    return functools.partial(scale, mode="mean", training=True)


@pure(x)
def star_arguments(x):
    def total(*values, **weights):
        weights.setdefault("scale", 1.0)
        return sum(values) * weights.pop("scale")

    return total(x, x, scale=2.0)


@pure(x)
def list_of_callables(x):
    layers = []
    for factor in (1, 2, 3):
        layers.append(lambda value, factor=factor: value * factor)
    return functools.reduce(lambda value, layer: layer(value), layers, x)


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


@pure.made(x)
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
