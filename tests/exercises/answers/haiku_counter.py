"""Answers to `haiku_counter`."""


# %% right: a constant as the initial value, and add
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        init = hk.initializers.Constant(0)
        inside = hk.get_state("count", shape=[], dtype=jnp.int32, init=init)
        now = jnp.add(inside, people)
        hk.set_state("count", now)
        return now

    def reset(self):
        init = hk.initializers.Constant(0)
        before = hk.get_state("count", shape=[], dtype=jnp.int32, init=init)
        hk.set_state("count", before - before)
        return before


# %% right: helpers outside of the class, and the count is read again after writing
import haiku as hk
import jax.numpy as jnp


def read():
    return hk.get_state("count", (), "int32", lambda shape, dtype: jnp.zeros(shape, dtype))


def write(count):
    hk.set_state("count", jnp.asarray(count, jnp.int32))


class Door(hk.Module):
    def __call__(self, people):
        write(read() + people)
        return read()

    def reset(self):
        before = read()
        write(0)
        return before


# %% right: a property with a setter
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    @property
    def count(self):
        return hk.get_state("count", (), jnp.int32, init=jnp.zeros)

    @count.setter
    def count(self, number):
        hk.set_state("count", number)

    def __call__(self, people):
        self.count = self.count + people
        return self.count

    def reset(self):
        before, self.count = self.count, jnp.int32(0)
        return before


# %% right: each method in terms of another
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def reset(self):
        return self._change(lambda count: jnp.zeros((), jnp.int32))[0]

    def __call__(self, people):
        return self._change(lambda count: count + people)[1]

    def _change(self, change):
        old = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        new = change(old)
        hk.set_state("count", new)
        return old, new


# %% right: reset lets everybody out through the door
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        count += people
        hk.set_state("count", count)
        return count

    def reset(self):
        before = self(0)
        self(-before)
        return before


# %% right: a dataclass, and functools.partial of get_state
import dataclasses
import functools

import haiku as hk
import jax.numpy as jnp


get_count = functools.partial(
    hk.get_state, "count", shape=(), dtype=jnp.int32, init=hk.initializers.Constant(0)
)


@dataclasses.dataclass
class Door(hk.Module):
    name: str | None = None

    def __call__(self, people):
        count = people + get_count()
        hk.set_state("count", count)
        return count

    def reset(self):
        count = get_count()
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% right: a constructor with a function that reads, and a sum
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.read = lambda: hk.get_state("count", (), jnp.int32, init=jnp.zeros)

    def __call__(self, people):
        count = jnp.sum(jnp.stack([self.read(), jnp.asarray(people, jnp.int32)]))
        count = count.astype(jnp.int32)
        hk.set_state("count", count)
        return count

    def reset(self):
        count = self.read()
        hk.set_state("count", 0 * count)
        return count


# %% right: a pure step that is compiled, and a dict
import haiku as hk
import jax
import jax.numpy as jnp


@jax.jit
def step(count, people):
    return count + people


class Door(hk.Module):
    def __call__(self, people):
        state = {"count": hk.get_state("count", (), jnp.int32, init=jnp.zeros)}
        state["count"] = step(state["count"], people)
        for name, value in state.items():
            hk.set_state(name, value)
        return state["count"]

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.array(0, dtype=count.dtype))
        return count


# %% wrong: dropped state | not in the state
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        # Let these people in and return how many are in the room then.
        return None

    def reset(self):
        # Set the count to 0 and return how many people were in the room
        # before.
        return None


# %% wrong: not in the state
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.count = jnp.int32(0)

    def __call__(self, people):
        self.count = self.count + people
        return self.count

    def reset(self):
        count = self.count
        self.count = jnp.int32(0)
        return count


# %% wrong: not in the state | mutation | hidden input | not repeatable | leak | jit differs
import haiku as hk
import jax.numpy as jnp


count = 0


class Door(hk.Module):
    def __call__(self, people):
        global count
        count = count + people
        hk.set_state("count", count)
        return count

    def reset(self):
        global count
        before, count = count, 0
        hk.set_state("count", jnp.int32(0))
        return before


# %% wrong: not in the state
# a parameter holds the count
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_parameter("count", (), jnp.int32, init=jnp.zeros)
        return count + people

    def reset(self):
        return hk.get_parameter("count", (), jnp.int32, init=jnp.zeros)


# %% wrong: initial value
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count") + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count")
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: initial value | dtype
# the dtype is the default one, of floats
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: initial value
# only reset does not say what the first count is
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count")
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: initial value
# the first people are the initial value
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=lambda shape, dtype: people)
        count += people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: dropped state
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: dropped state
# a variable is set to zero, but not the state
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        before = count
        count = jnp.zeros_like(count)
        return before


# %% wrong: name in the state
# reset has its own name
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("people", (), jnp.int32, init=jnp.zeros)
        hk.set_state("people", jnp.zeros_like(count))
        return count


# %% wrong: name in the state
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __init__(self, name="entrance"):
        super().__init__(name=name)

    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: constructor
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        hk.set_state("count", jnp.zeros((), jnp.int32))

    def __call__(self, people):
        hk.set_state("count", hk.get_state("count") + people)
        return hk.get_state("count")

    def reset(self):
        count = hk.get_state("count")
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: before or after
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", count + people)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: before or after
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return hk.get_state("count")


# %% wrong: not traceable
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        if people < 0:
            raise ValueError("nobody leaves through this door")
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: -
# each call adds 1 and not the number of people
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + 1
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: -
# the new number takes the place of the count
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", people)
        return hk.get_state("count")

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %% wrong: -
# reset subtracts one
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", count - 1)
        return count
