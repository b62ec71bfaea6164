"""What is printed, logged, and warned of."""

import functools
import io
import logging
import pprint
import re
import sys
import textwrap
import traceback
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


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


@impure.made(x)
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


@pure.made(x)
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
def warnings_caught(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("old name", DeprecationWarning, stacklevel=1)
    return x * len(caught)


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
