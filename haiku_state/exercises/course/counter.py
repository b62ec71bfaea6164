"""A counter as two pure functions

write, easy, 5 min, state/stateful_computations#the-general-strategy

Write `count` and `reset` as pure functions. Each of them takes the state and returns a pair: an
output and the new state. The output of `count` is the increment, and the output of `reset` is
`None`.

- Which two values does a caller need from `count` in order to call it again?
- Look at the line with `return`: the output and the new state appear there as a pair.
- The new state is `state + increment`; write it after the output, separated by a comma.
"""

# %%
# A counter at the door of a shop counts the people who come in, alone or in
# groups. Its state is the count.
#: total = 0


def count(state, increment):
    # Return how many people came in and the new state.
    #: global total
    #: total = total + increment
    #: return total
    # <solution>
    return increment, state + increment
    # </solution>


def reset(state):
    # Return None as the output, and a state of 0.
    #: state = 0
    #: return state
    # <solution>
    return None, state * 0
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    return np.int32(rng.integers(20, 99)), *np.int32(rng.integers(2, 9, 2))


# %% check `count` does not depend on earlier calls; pure jit vmap types; output, state
def check(answer, state, earlier, increment):
    answer.count(state, earlier)
    return answer.count(state, increment)


# %% check `reset` returns `None` and a state of 0; pure jit types; output, state
def check(answer, state, earlier, increment):
    return answer.reset(state)


# %% idea global state
# The count is kept in a global variable. In a pure function, the state must be passed in as an
# argument, and the new state must be returned as a result.
total = 0


def count(state, increment):
    global total
    total = total + increment
    return total


# %%
total = 0


def count(state, increment):
    global total
    total = total + increment
    return increment, total


# %% idea order
# The output must be returned first, and the new state second.
def count(state, increment):
    return state + increment, increment


# %% idea dropped state; state/stateful_computations#the-state-as-an-argument-and-a-result
# The new state must be returned, because otherwise the next call cannot continue from it.
def count(state, increment):
    return increment, state


# %%
def reset(state):
    return None, state


# %%
def reset(state):
    return None


# %% idea output and state
# The function must return two separate values: the output of this call, and the new state, from
# which the next call continues.
def count(state, increment):
    return state + increment, state + increment


# %%
def count(state, increment):
    return state + increment


# %%
def reset(state):
    return 0
