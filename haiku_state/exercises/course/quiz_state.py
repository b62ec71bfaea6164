"""Six programs with state

quiz, easy, 8 min, state/practice#check-yourself

Read the six functions, and set `first` to `sixth` to what they return: a number, or a tuple of
numbers. Think before you run them. The check runs them and compares the results.

- For each call: which state goes in, and what happens to the state that comes out?
- Pay attention to the names on the left of `=`: a result that is assigned to `_` is dropped. In
  `from_outside`, pay attention to the shapes of the arguments.
- `list_as_state` makes one list. `different_numbers` splits the same key four times. In
  `from_outside`, only the third call is traced again.
"""

# %%
# What does each of these functions return? Write the value below it: a
# number, or a tuple of numbers.
import jax
import jax.numpy as jnp


def old_state():
    def sell(stock, number):
        return number, stock - number

    start = jnp.int32(10)
    _, later = sell(start, 4)
    sold, later = sell(start, 1)
    return int(sold), int(later)


#: first = None
# <solution>
first = (1, 9)
# </solution>


def list_as_state():
    def push(stack, x):
        stack.append(x)
        return len(stack), stack

    start = [1]
    _, one = push(start, 2)
    _, two = push(start, 3)
    return len(start), len(one), len(two)


#: second = None
# <solution>
second = (3, 3, 3)
# </solution>


def different_numbers():
    key = jax.random.key(7)
    drawn = []
    while len(drawn) < 4:
        _, draw_key = jax.random.split(key)
        drawn.append(float(jax.random.normal(draw_key)))
    return len(set(drawn))


#: third = None
# <solution>
third = 1
# </solution>


def leaves():
    state = {
        "w": jnp.zeros((4, 5)),
        "shape": (4, 5),
        "velocity": None,
        "name": "w",
    }
    return len(jax.tree.leaves(state))


#: fourth = None
# <solution>
fourth = 4
# </solution>


def from_outside():
    settings = {"rate": 1}

    @jax.jit
    def step(x):
        return x - settings["rate"]

    one = step(jnp.int32(10))
    settings["rate"] = 2
    two = step(jnp.int32(10))
    three = step(jnp.array([10, 10]))[0]
    return int(one), int(two), int(three)


#: fifth = None
# <solution>
fifth = (9, 9, 8)
# </solution>


def dropped():
    def update(params, velocity, grad):
        velocity = velocity + grad
        return params + velocity, velocity

    params, velocity = 0, 0
    for grad in (1, 2, 3):
        params, _ = update(params, velocity, grad)
    return params, velocity


#: sixth = None
# <solution>
sixth = (6, 0)
# </solution>


# %% check `first` is what `old_state` returns; once
def check(answer):
    return answer.first


def truth(right):
    return right.old_state()


# %% check `second` is what `list_as_state` returns; once
def check(answer):
    return answer.second


def truth(right):
    return right.list_as_state()


# %% check `third` is what `different_numbers` returns; once
def check(answer):
    return answer.third


def truth(right):
    return right.different_numbers()


# %% check `fourth` is what `leaves` returns; once
def check(answer):
    return answer.fourth


def truth(right):
    return right.leaves()


# %% check `fifth` is what `from_outside` returns; once
def check(answer):
    return answer.fifth


def truth(right):
    return right.from_outside()


# %% check `sixth` is what `dropped` returns; once
def check(answer):
    return answer.sixth


def truth(right):
    return right.dropped()


# %% idea state as a value; state/stateful_computations#the-general-strategy
# A call does not change the state that is passed to it. Which state goes into the second call: the
# result of the first call, or the state from which the first call began?
first = (1, 5)

# %% idea one object; state/stateful_computations#the-state-as-an-argument-and-a-result
# `push` has the form of a pure function, but it changes the list that is passed to it. How many
# lists are made, and which names refer to them?
second = (1, 2, 2)

# %% idea key as state; state/stateful_computations#you-have-met-this-before-random-keys
# The output of `split` has two parts: the key to draw with, and the key to continue with. Look at
# where each of them goes.
third = 4

# %% idea leaf or node; state/pytrees#what-is-a-leaf-and-what-is-not
# Every part that is not a container is a leaf, whether it is an array or not. A tuple is a
# container, whatever is in it, but a string is not, and `None` is an empty container.
fourth = 2

# %% idea read while tracing; pure/thinking_in_jax#a-global-is-baked-in
# A value from outside is read each time the function is traced, and at no other time. For each
# call, ask whether it needs a new trace.
fifth = (9, 9, 9)

# %% idea dropped state; state/regression_by_hand#forgetting-the-optimizers-state
# Follow the velocity through the loop: with which value does each call begin, and what happens to
# the new value?
sixth = (10, 6)

# %% right lists in place of the tuples
first, second, fifth, sixth = [1, 9], [3, 3, 3], [9, 9, 8], [6, 0]
