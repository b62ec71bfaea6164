"""Context managers, and errors that are raised or caught."""

import contextlib

import jax
import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure.made(x)
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


@impure.made(x)
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


impure.RAISES.add("error_after_a_change")  # float() of a tracer
errors_so_far = []


@impure(x)
def error_raised_by_the_function(x):
    errors_so_far.append(x.shape)  # finds: mutation errors_so_far[...]
    raise ValueError("not implemented yet")


impure.RAISES.add("error_raised_by_the_function")


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
def suppressed_error(x):
    with contextlib.suppress(ZeroDivisionError):
        return x * (1 // 0)
    return x


@pure(x)
def assertion(x):
    assert x.ndim == 1, f"expected a vector, got {x.shape}"
    return x
