"""Quiz: pure functions

quiz, easy, 8 min, pure/transformations#what-purity-buys

Read the five programs without running them, and set `first`, `second`, `third`, `fourth` and
`fifth` to what `first_program()` and the other programs return. Where a program returns a tuple,
write a tuple.

- Which lines of each program run during a trace, and how many traces are there?
- For each call, ask what a tracer stands for, and which of its properties are known. For each
  assignment, ask whether a new array is made.
- In the first program, two shapes are traced, at two different moments. In the fourth program,
  `height` is already a number when `grad` begins.
"""

# %%
# Five programs. What does each of them return?
import jax
import jax.numpy as jnp


def first_program():
    settings = {"factor": 2.0}
    scale = jax.jit(lambda x: settings["factor"] * x)
    scale(jnp.ones(3))
    settings["factor"] = 10.0
    return float(scale(jnp.ones(3))[0]), float(scale(jnp.ones(4))[0])


def second_program():
    x = jnp.zeros(3)
    y = x
    y += 1
    y.at[0].set(5)
    return float(x[0]), float(y[0])


def third_program():
    seen = []

    def square(x):
        seen.append(x)
        return x**2

    for start in [0.0, 5.0]:
        jax.vmap(square)(start + jnp.arange(5.0))
    return len(seen)


def fourth_program():
    width = 3.0
    height = 2 * width

    def area(width):
        return width * height

    return float(jax.grad(area)(width))


def fifth_program():
    @jax.jit
    def by_shape(x):
        return x[0] if x.shape[0] > 2 else x[1]

    @jax.jit
    def by_value(x):
        return x[0] if x[0] > 2 else x[1]

    results = []
    for f in [by_shape, by_value]:
        try:
            results.append(float(f(jnp.array([7.0, 8.0, 9.0]))))
        except jax.errors.TracerBoolConversionError:
            results.append("error")
    return tuple(results)


# Replace each None with the value: a number, or a tuple of two values, one of
# which may be the text "error".
#: first = None
#: second = None
#: third = None
#: fourth = None
#: fifth = None
# <solution>
first = (2.0, 10.0)
second = (0.0, 1.0)
third = 2
fourth = 6.0
fifth = (7.0, "error")
# </solution>


# %% check `first` is what `first_program` returns; once
def check(answer):
    return answer.first


def truth(right):
    return right.first_program()


# %% check `second` is what `second_program` returns; once
def check(answer):
    return answer.second


def truth(right):
    return right.second_program()


# %% check `third` is what `third_program` returns; once
def check(answer):
    return answer.third


def truth(right):
    return right.third_program()


# %% check `fourth` is what `fourth_program` returns; once
def check(answer):
    return answer.fourth


def truth(right):
    return right.fourth_program()


# %% check `fifth` is what `fifth_program` returns; once
def check(answer):
    return answer.fifth


def truth(right):
    return right.fifth_program()


# %% idea until the next trace; pure/thinking_in_jax#a-global-is-baked-in
# A compiled function reads a value from outside in each trace and not in each call, so the answer
# must take into account which calls are traced.
first = (2.0, 2.0)

# %%
first = 2.0

# %% idea frozen value
first = (10.0, 10.0)

# %% idea arrays never change; pure/arrays_and_numpy#arrays-that-never-change
# The values of a JAX array never change. Each line that seems to change an array makes a new array,
# so ask which names, if any, refer to the new array afterwards.
second = (1.0, 1.0)

# %%
second = (0.0, 5.0)

# %%
second = (5.0, 5.0)

# %% idea all at once; pure/transformations#vmap-many-at-once
# `vmap` does not call the function once for each row. It calls the function a single time, with a
# tracer that stands for all rows.
third = 10

# %% idea traced again
# Only `jit` keeps its record for later calls. `vmap` without `jit` traces the function in each
# call.
third = 1

# %% idea argument alone
# `grad` differentiates with respect to the argument of the function. A value that was computed
# outside of the function must be treated as a constant, wherever it came from.
fourth = 12.0

# %% idea shape is known; pure/thinking_in_jax#static-and-traced-operations
# Under jit, a tracer has a shape but no value. For each `if`, ask whether a shape or a value
# decides it.
fifth = ("error", "error")

# %%
fifth = (7.0, 7.0)

# %% right lists and integers with the same values
first, second, fourth = [2, 10], [0, 1], 6
