"""How many lines are printed?

predict, easy, 6 min, pure/thinking_in_jax#what-jit-sees

Each of the four functions, from `first_program` to `fourth_program`, calls a jitted function that
prints. Read them without running them, and set `first`, `second`, `third` and `fourth` to the
numbers of lines that they print.

- At which moment does the Python code of a jitted function run?
- For each call, write down the shape and the dtype of the traced arguments and the value of the
  static argument. How many different combinations are there?
- Count the traces first. Multiply their number by the number of lines that the Python code prints
  in one trace, including all iterations of its loop.
"""

# %%
# Each of these functions calls a jitted function several times. How many lines
# does each of them print in total?
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


# Replace each None with a number.
#: first = None
#: second = None
#: third = None
#: fourth = None
# <solution>
first = 1
second = 4
third = 2
fourth = 3
# </solution>

# %% setup
import contextlib
import io


def lines_of(program):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        program()
    return printed.getvalue().count("\n")


# %% check `first` is the number of lines if only the values differ; once
def check(answer):
    return answer.first


def truth(right):
    return lines_of(right.first_program)


# %% check `second` is the number of lines if shapes and dtypes differ; once
def check(answer):
    return answer.second


def truth(right):
    return lines_of(right.second_program)


# %% check `third` is the number of lines with a static argument; once
def check(answer):
    return answer.third


def truth(right):
    return lines_of(right.third_program)


# %% check `fourth` is the number of lines with a loop inside the function; once
def check(answer):
    return answer.fourth


def truth(right):
    return lines_of(right.fourth_program)


# %% idea one trace
# The Python code of a jitted function runs only while jit traces. A later call whose traced
# arguments differ only in their values prints nothing.
first, second, third, fourth = 4, 10, 6, 6

# %%
first = second = third = fourth = 0

# %% idea shape
# The record of a trace fits only one shape, so the function must be traced again for an array of a
# different shape.
second = 1

# %% idea dtype
# Each combination of a shape and a dtype needs its own trace. A combination that was traced before
# is not traced again.
second = 2

# %%
second = 8

# %% idea static argument; pure/thinking_in_jax#an-if-on-an-argument
# The value of a static argument is part of the record, so the function must be traced again for
# each new value. The values of the other arguments are not part of the record.
third = 6

# %%
third = 3

# %%
third = 1

# %% idea unrolled loop; pure/thinking_in_jax#what-jit-compiles-again
# A Python loop runs completely during every trace, so every trace prints a line for each of its
# iterations.
fourth = 1

# %% right a number that is written as a float
third = 2.0
