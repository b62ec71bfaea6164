"""Worked examples: for each kind of finding a wrong and a right function, plain and in Haiku.

The reports show their source. Each is named after what it shows: ``state_wrong`` changes a
variable, ``state_right`` takes it as an argument and returns its new value, ``state_haiku`` is for
``hk.transform_with_state``. The tests run all of them.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import functools
import logging
import os
import time
from pathlib import Path
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

count = 0
losses: list[Any] = []
recent = [0.0, 0.0]
scale = 2.0


def state_wrong(x):
    global count
    count += 1
    return x * count


def state_right(count, x):
    count = count + 1
    return x * count, count


def state_haiku(x):
    count = hk.get_state("count", [], init=jnp.zeros) + 1
    hk.set_state("count", count)
    return x * count


def record_wrong(w, x):
    loss = jnp.sum((w - x) ** 2)
    losses.append(loss)
    return w - 0.1 * (w - x)


def record_right(w, x):
    loss = jnp.sum((w - x) ** 2)
    return w - 0.1 * (w - x), loss  # the caller appends it


def record_haiku(w, x):
    hk.set_state("loss", jnp.sum((w - x) ** 2))
    return w - 0.1 * (w - x)


def container_wrong(x):
    recent[0] = x
    return sum(recent)


def container_right(recent, x):
    recent = [x, *recent[1:]]  # a copy; of an array: `recent.at[0].set(x)`
    return sum(recent), recent


def container_haiku(x):
    recent = hk.get_state("recent", [2], init=jnp.zeros).at[0].set(x)
    hk.set_state("recent", recent)
    return recent.sum()


def random_wrong(x):
    return x + np.random.normal(size=x.shape)


def random_right(key, x):
    return x + jax.random.normal(key, x.shape)  # the caller: key, now = jax.random.split(key)


def random_haiku(x):
    return x + jax.random.normal(hk.next_rng_key(), x.shape)


def input_wrong(x):
    return x * float(os.environ.get("SCALE", "1"))


def input_right(scale, x):
    return x * scale  # the caller: scale = float(os.environ.get("SCALE", "1"))


def clock_wrong(x):
    start = time.perf_counter()
    y = jnp.sin(x)
    return y, time.perf_counter() - start


def clock_right(x):
    return jnp.sin(x)  # the caller reads the clock before and after `jax.block_until_ready`


def print_wrong(x):
    print("x =", x)
    return 2 * x


def print_right(x):
    jax.debug.print("x = {x}", x=x)
    return 2 * x


def log_wrong(x):
    logging.info("x = %s", x)
    return 2 * x


def log_right(x):
    jax.debug.callback(lambda x: logging.info("x = %s", x), x)
    return 2 * x


def write_wrong(x):
    Path("mean.txt").write_text(str(x.mean()))
    return 2 * x


def write_right(x):
    return 2 * x, x.mean()  # the caller writes it


@functools.lru_cache
def table_cache_wrong(n):
    return jnp.arange(n)


def cache_wrong(x):
    return x * table_cache_wrong(x.size)


def table_cache_right(n):
    return jnp.arange(n)


def cache_right(x):
    return x * table_cache_right(x.size)  # jit keeps it in the program


def frozen_wrong(x):
    return scale * x


def frozen_right(scale, x):
    return scale * x
