"""Answers to `predict_trace`."""

# %% right: plain numbers
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 1
second = 4
third = 2
fourth = 3


# %% right: one line
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first, second, third, fourth = 1, 4, 2, 3


# %% right: worked out as traces times lines
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


sizes, dtypes = {2, 3}, {"float32", "int32"}
first = 1 * 1
second = len(sizes) * len(dtypes) * 1
third = len([2, 3])
fourth = 1 * len(range(3))


# %% right: only the numbers are left in the file
first = 1
second = 4
third = 2
fourth = 3


# %% right: tried afterwards, and the programs still print
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 1
second = 4
third = 2
fourth = 3

if __name__ == "__main__":
    for program in (first_program, second_program, third_program, fourth_program):
        program()


# %% right: a function that returns NumPy's integers
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


import numpy as np


def answers():
    return np.array([1, 4, 2, 3])


first, second, third, fourth = answers()


# %% right: a program was changed to play with it, the answers are those for the original
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(40):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first: int = 1
second: int = 4
third: int = 2
fourth: int = 3


# %% wrong: -
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = None
second = None
third = None
fourth = None


# %% wrong: one trace | static argument
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 4
second = 10
third = 6
fourth = 6


# %% wrong: one trace
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 0
second = 4
third = 2
fourth = 3


# %% wrong: shape | dtype
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 1
second = 1
third = 2
fourth = 3


# %% wrong: shape | dtype
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


# each dtype needs its own program
first = 1
second = 2
third = 2
fourth = 3


# %% wrong: dtype | one trace
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


# whenever the size is not that of the call before, jit traces again
first = 1
second = 8
third = 2
fourth = 3


# %% wrong: static argument
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 1
second = 4
third = 1
fourth = 3


# %% wrong: static argument | one trace
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


# three values of x
first = 1
second = 4
third = 3
fourth = 3


# %% wrong: static argument | one trace
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 1
second = 4
third = 3 * 2
fourth = 3


# %% wrong: unrolled loop
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 1
second = 4
third = 2
fourth = 1


# %% wrong: one trace
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 1
second = 4
third = 2
fourth = 2 * 3


# %% wrong: one trace | unrolled loop
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = 1
second = 4
third = 2
fourth = 2


# %% wrong: -
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


# the sum of the two exponents, and not their number
first = 1
second = 4
third = 2 + 3
fourth = 3


# %% wrong: -
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


first = "one"
second = "four"
third = "two"
fourth = "three"


# %% wrong: -
# Each of these functions calls a jitted function several times. How many lines
# does it print in total?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


First = 1
Second = 4
Third = 2
Fourth = 3
