"""An average of the last four values

write, medium, 10 min, state/practice#task-2-a-moving-average

Write `init()`, which returns the first state, and `update(state, x)`, which returns the average and
the new state. The average is the mean of the last four values, including `x`; at the start, there
are fewer values.

Find out which fields `State` needs. The check passes the state from call to call, goes back to an
earlier state, and carries the state in a `lax.scan`.

- Besides `x`, what must `update` know to compute the next average, and the average after that?
- Keep the last four values in one array whose shape never changes, and also keep how many of them
  are real. Start with zeros.
- `jnp.append(state.last[1:], x)` drops the oldest value and adds the new one. Divide the sum by
  `jnp.minimum(state.seen + 1, 4)`.
"""

# %%
# A moving average over the last four values. As long as there are fewer
# values, it is the mean of those values.
from typing import NamedTuple

import jax
import jax.numpy as jnp


# The fields are everything that the average must remember.
class State(NamedTuple):
    #: total: jax.Array
    # <solution>
    last: jax.Array
    seen: jax.Array
    # </solution>


def init():
    #: return State(total=jnp.float32(0))
    # <solution>
    return State(last=jnp.zeros(4, jnp.float32), seen=jnp.int32(0))
    # </solution>


def update(state, x):
    # Return the average, including x, and the new state.
    #: total = state.total + x
    #: return total / 4, State(total)
    # <solution>
    last = jnp.append(state.last[1:], x)
    seen = jnp.minimum(state.seen + 1, 4)
    return jnp.sum(last) / seen, State(last, seen)
    # </solution>


# %% inputs
def inputs(rng):
    xs = rng.uniform(1, 9, 20)
    xs[rng.integers(1, 7)] = 0  # a value like any other
    return xs


# %% check `update` returns the averages of seven values; pure
def check(answer, xs):
    state, averages = answer.init(), []
    for x in xs[:7]:
        average, state = answer.update(state, x)
        averages.append(average)
    return averages


def closed_form(xs):
    return [xs[max(0, index - 3) : index + 1].astype(float).mean() for index in range(7)]


# %% check An earlier state can still be used; once
def check(answer, xs):
    state = answer.init()
    for x in xs[:5]:
        _average, state = answer.update(state, x)
    return [answer.update(state, x)[0] for x in (xs[5], xs[6], xs[5])]


# %% check A scan carries the state through 300 values; once tolerance=0.0001
def check(answer, xs):
    def step(state, x):
        average, state = answer.update(state, x)
        return state, average

    return jax.lax.scan(step, answer.init(), jnp.tile(xs, 15))[1]


# %% idea count
# As long as there are fewer than four values, the mean must be taken over these values only, so the
# number of values so far must be part of the state.
def update(state, x):
    _, state = right.update(state, x)
    return state.last.mean(), state


# %%
def update(state, x):
    _, state = right.update(state, x)
    return state.last.sum() / jnp.count_nonzero(state.last), state


# %% idea all that is needed
# A state must hold everything on which later results depend. A total alone does not tell which
# value to drop when a new value is added.
def update(state, x):
    total, seen = state.last + x, jnp.minimum(state.seen + 1, 4)  # four times the same total
    return total[0] / seen, State(total, seen)


# %%
def update(state, x):
    total = state.last + x
    return total[0] / 4, State(total, state.seen)


# %%
def update(state, x):
    seen = jnp.minimum(state.seen + 1, 4)
    average = state.last + (x - state.last) / seen
    return average[0], State(average, seen)


# %%
def update(state, x):
    total, seen = state.last + x, state.seen + 1
    return total[0] / seen, State(total, seen)


# %% idea order; state/stateful_computations#the-general-strategy
# The output must be returned first, and the new state second.
def update(state, x):
    return right.update(state, x)[::-1]


# %%
def update(state, x):
    last, seen = state
    return right.update(State(last, seen), x)[::-1]


# %% idea kept structure; state/pytrees#what-is-a-leaf-and-what-is-not
# A state must keep its structure, and the shape and dtype of each leaf, from the first step to the
# last. If a state grows, every new size needs a new program.
def init():
    return []


def update(state, x):
    state = [*state, x][-4:]
    return sum(state) / len(state), state


# %%
def init():
    return jnp.zeros(0)


def update(state, x):
    state = jnp.append(state, x)[-4:]
    return state.mean(), state


# %% idea changed argument
def init():
    return right.init()._asdict()


def update(state, x):
    average, new = right.update(State(**state), x)
    state.update(new._asdict())
    return average, state


# %% right a dict, with NaN in the places that are empty
def init():
    return {"last": jnp.full(4, jnp.nan)}


def update(state, x):
    last = jnp.roll(state["last"], -1).at[-1].set(x)
    return jnp.nanmean(last), {"last": last}
