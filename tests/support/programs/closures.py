"""Cells of closures."""

import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure.made(x)
def nonlocal_counter():
    total = 0

    def add(x):
        nonlocal total
        total += x.shape[0]  # finds: mutation total
        return x * total

    return add


@impure.made(x)
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


@impure.made(x)
def nonlocal_shared_by_two_closures():
    phase = "warmup"

    def finish():
        nonlocal phase
        phase = phase + "!"  # finds: mutation phase

    def scale(x):
        finish()
        return x * 0.1 if phase == "warmup" else x

    return scale


@impure.made(x)
def reference_cell_as_a_list():
    count = [0]

    def call(x):
        count[0] += 1  # finds: mutation count[...]
        return x * count[0]

    return call


@impure.made(x)
def lambda_that_appends():
    calls = []
    return lambda x: (calls.append(1), x * 2)[1]  # finds: mutation calls[...]


@pure.made(x)
def closure_over_constants():
    rate, shape = 0.1, (3,)

    def step(x):
        return x - rate * jnp.ones(shape)

    return step


@pure.made(x)
def closure_over_an_array():
    w = np.ones((3, 3), np.float32)
    return lambda x: x @ w


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
def recursion(x):
    def power(n):
        return x if n == 1 else x * power(n - 1)

    return power(4)
