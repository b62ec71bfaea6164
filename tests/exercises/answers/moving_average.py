"""Answers to `moving_average`."""

# %% right: a ring buffer and a counter that goes on
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    ring: jax.Array
    count: jax.Array


def init():
    return State(ring=jnp.zeros((4,)), count=jnp.zeros((), jnp.int32))


def update(state, x):
    ring = state.ring.at[state.count % 4].set(x)
    count = state.count + 1
    average = ring.sum() / jnp.minimum(count, 4)
    return average, State(ring, count)


# %% right: only the three values before, each in a field of its own
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    one: jax.Array
    two: jax.Array
    three: jax.Array
    seen: jax.Array


def init():
    zero = jnp.float32(0)
    return State(zero, zero, zero, jnp.int32(0))


@jax.jit
def update(state, x):
    number = jnp.clip(state.seen + 1, 1, 4)
    average = (x + state.one + state.two + state.three) / number
    return average, State(jnp.asarray(x, jnp.float32), state.one, state.two, number)


# %% right since 0.5: a registered dataclass, the newest value first, and a mean with a mask
from dataclasses import dataclass

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    newest_first: jax.Array
    seen: jax.Array


def init():
    return State(jnp.zeros(4, jnp.float32), jnp.array(0, jnp.int32))


def update(state, x):
    values = jnp.roll(state.newest_first, 1).at[0].set(x)
    seen = state.seen + 1
    is_real = jnp.arange(4) < seen
    return values.mean(where=is_real), State(values, seen)


# %% right: a running total, from which the oldest value is subtracted
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    total: jax.Array
    last: jax.Array
    seen: jax.Array


def init():
    return State(jnp.float32(0), jnp.zeros(4, jnp.float32), jnp.int32(0))


def update(state, x):
    oldest = state.last[0]
    total = state.total - oldest + x
    last = jnp.concatenate([state.last[1:], jnp.reshape(x, (1,))])
    seen = jax.lax.min(state.seen + 1, 4)
    return total / seen, State(total=total, last=last, seen=seen)


# %% right: a tuple, a flag for each place, and a NamedTuple as the pair
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Output(NamedTuple):
    average: jax.Array
    state: tuple


def init():
    return jnp.zeros(4), jnp.zeros(4, bool)


def update(state, x):
    values, used = state
    values = jnp.stack([values[1], values[2], values[3], x])
    used = jnp.append(used[1:], True)
    mean = jnp.where(used, values, 0.0).sum() / used.sum()
    return Output(average=mean, state=(values, used))


# %% right: a dict, a zero of Python, and a weight for each place
import jax.numpy as jnp


def init():
    return {"last": jnp.zeros(4), "seen": 0}


def update(state, x):
    state = dict(state)
    state["last"] = jnp.append(state["last"], x)[1:]
    state["seen"] = jnp.minimum(state["seen"] + 1, 4)
    weights = jnp.where(jnp.arange(4) >= 4 - state["seen"], 1.0, 0.0)
    return jnp.average(state["last"], weights=weights), state


# %% right: lax.dynamic_update_slice, and a chain of two helpers
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    seen: jax.Array

    def with_value(self, x):
        value = jnp.asarray(x, self.last.dtype)[None]
        last = jax.lax.dynamic_update_slice(self.last, value, (self.seen % 4,))
        return self._replace(last=last, seen=self.seen + 1)

    def mean(self):
        return jnp.dot(self.last, jnp.ones(4)) / jnp.where(self.seen < 4, self.seen, 4)


init = lambda: State(jnp.zeros(4), jnp.int32(0))


def update(state, x):
    new = state.with_value(x)
    return new.mean(), new


# %% right: the average is part of the state and grows by a share
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    average: jax.Array
    last: jax.Array
    seen: jax.Array


def init():
    return State(jnp.float32(0), jnp.zeros(4, jnp.float32), jnp.int32(0))


def update(state, x):
    start = lambda: state.average + (x - state.average) / (state.seen + 1)
    later = lambda: state.average + (x - state.last[0]) / 4
    average = jax.lax.cond(state.seen < 4, start, later)
    last = jnp.roll(state.last, -1).at[-1].set(x)
    return average, State(average, last, jnp.minimum(state.seen + 1, 4))


# %% wrong: all that is needed | count
from typing import NamedTuple

import jax
import jax.numpy as jnp


# The fields are everything that the average must remember.
class State(NamedTuple):
    total: jax.Array


def init():
    return State(total=jnp.float32(0))


def update(state, x):
    # Return the average, including x, and the new state.
    total = state.total + x
    return total / 4, State(total)


# %% wrong: count
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array


def init():
    return State(last=jnp.zeros(4))


def update(state, x):
    last = jnp.append(state.last[1:], x)
    return last.mean(), State(last)


# %% wrong: count
# a zero counts as an empty place
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array


def init():
    return State(last=jnp.zeros(4))


def update(state, x):
    last = jnp.append(state.last[1:], x)
    return last.sum() / jnp.maximum(jnp.sum(last != 0), 1), State(last)


# %% wrong: all that is needed
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    total: jax.Array
    seen: jax.Array


def init():
    return State(total=jnp.float32(0), seen=jnp.int32(0))


def update(state, x):
    total = state.total + x
    seen = jnp.minimum(state.seen + 1, 4)
    return total / seen, State(total, seen)


# %% wrong: all that is needed
# the average itself stands for the value that leaves
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    average: jax.Array
    seen: jax.Array


def init():
    return State(average=jnp.float32(0), seen=jnp.int32(0))


def update(state, x):
    seen = jnp.minimum(state.seen + 1, 4)
    average = state.average + (x - state.average) / seen
    return average, State(average, seen)


# %% wrong: kept structure
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array


def init():
    return State(last=jnp.zeros(0))


def update(state, x):
    last = jnp.append(state.last, x)[-4:]
    return jnp.mean(last), State(last)


# %% wrong: order
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    seen: jax.Array


def init():
    return State(last=jnp.zeros(4, jnp.float32), seen=jnp.int32(0))


def update(state, x):
    last = jnp.append(state.last[1:], x)
    seen = jnp.minimum(state.seen + 1, 4)
    return State(last, seen), jnp.sum(last) / seen


# %% wrong: changed argument | not traceable
import jax.numpy as jnp
import numpy as np


def init():
    return {"last": np.zeros(4, np.float32), "seen": 0}


def update(state, x):
    state["last"][state["seen"] % 4] = x
    state["seen"] += 1
    return jnp.float32(state["last"].sum() / min(state["seen"], 4)), state


# %% wrong: changed argument
import jax.numpy as jnp


def init():
    return {"last": jnp.zeros(4), "seen": jnp.int32(0)}


def update(state, x):
    state["last"] = jnp.append(state["last"][1:], x)
    state["seen"] = jnp.minimum(state["seen"] + 1, 4)
    return state["last"].sum() / state["seen"], state


# %% wrong: mutation | hidden input | all that is needed | not repeatable | jit differs
from collections import deque
from typing import NamedTuple

import jax
import jax.numpy as jnp

values = deque(maxlen=4)


class State(NamedTuple):
    seen: jax.Array


def init():
    values.clear()
    return State(seen=jnp.int32(0))


def update(state, x):
    values.append(x)
    return sum(values) / len(values), State(state.seen + 1)


# %% wrong: not traceable
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    seen: jax.Array


def init():
    return State(last=jnp.zeros(4, jnp.float32), seen=jnp.int32(0))


def update(state, x):
    last = jnp.append(state.last[1:], x)
    seen = jnp.minimum(state.seen + 1, 4)
    return jnp.mean(last[4 - int(seen) :]), State(last, seen)


# %% wrong: dtype | kept structure
# the first state is of integers, and the next one is not
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    seen: jax.Array


def init():
    return State(last=jnp.array([0, 0, 0, 0]), seen=jnp.array(0))


def update(state, x):
    last = jnp.append(state.last[1:], x)
    seen = jnp.minimum(state.seen + 1, 4)
    return jnp.sum(last) / seen, State(last, seen)


# %% wrong: -
# once the four places are full, only the last one is replaced
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    seen: jax.Array


def init():
    return State(last=jnp.zeros(4, jnp.float32), seen=jnp.int32(0))


def update(state, x):
    last = state.last.at[state.seen].set(x)
    seen = jnp.minimum(state.seen + 1, 3)
    return jnp.sum(last) / (state.seen + 1), State(last, seen)


# %% wrong: -
# the buffer is of integers, so each value is cut off
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    seen: jax.Array


def init():
    return State(last=jnp.zeros(4, jnp.int32), seen=jnp.int32(0))


def update(state, x):
    last = state.last.at[state.seen % 4].set(jnp.int32(x))
    seen = state.seen + 1
    return jnp.sum(last) / jnp.minimum(seen, 4), State(last, seen)


# %% wrong: -
# the average does not include x
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    seen: jax.Array


def init():
    return State(last=jnp.zeros(4, jnp.float32), seen=jnp.int32(0))


def update(state, x):
    average = jnp.sum(state.last) / jnp.maximum(state.seen, 1)
    last = jnp.append(state.last[1:], x)
    return average, State(last, jnp.minimum(state.seen + 1, 4))


# %% wrong: -
# the counter of eight bits overflows, and after 256 values the average begins again
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    seen: jax.Array


def init():
    return State(last=jnp.zeros(4, jnp.float32), seen=jnp.uint8(0))


def update(state, x):
    last = jnp.append(state.last[1:], x)
    seen = state.seen + 1
    return jnp.sum(last) / jnp.minimum(seen, 4), State(last, seen)
