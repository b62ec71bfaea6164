"""A module that counts

write, easy, 6 min, haiku/pure_pair#a-module-that-counts

Write the module `Door`. Its state is one number, `count`: int32, of shape `()`, 0 at first.
`Door()(people)` adds the number `people` to the count and returns the new count. `reset()` sets the
count to 0 and returns the old count. The check transforms the module and calls it in several runs,
with states such as `{"door": {"count": 12}}`.

- Which function reads a number from the state, and which function writes it?
- Both methods begin with `hk.get_state` and end with `hk.set_state` and `return`. Where does the
  initial value come from?
- Read with `hk.get_state("count", (), jnp.int32, init=jnp.zeros)` and write with
  `hk.set_state("count", …)`.
"""

# %%
# A door counts the people in a room. The module keeps the count as Haiku's
# state.
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        # Let these people in and return how many are in the room then.
        #: return None
        # <solution>
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count
        # </solution>

    def reset(self):
        # Set the count to 0 and return how many people were in the room
        # before.
        #: return None
        # <solution>
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count
        # </solution>


# %% setup
import numpy as np


def initial(method, *arguments):
    params, state = hk.transform_with_state(method).init(None, *arguments)
    return {"params": params, "state": state}


# %% inputs
def inputs(rng):
    return np.int32(rng.integers(10, 99)), np.int32(rng.integers(1, 9, 3))


# %% check `init` returns a count of 0 if the module is called; types
def check(answer, count, people):
    return [initial(lambda number: answer.Door()(number), number) for number in people[:2]]


# %% check `init` returns a count of 0 if `reset` is called; types once
def check(answer, count, people):
    return initial(lambda: answer.Door().reset())


# %% check Each run continues from the state of the previous run; pure jit vmap types
def check(answer, count, people):
    def functions():
        door = answer.Door()
        return door.reset, (door, door.reset)

    _init, (enter, reset) = hk.multi_transform_with_state(functions)
    state, counts = {"door": {"count": count}}, []
    for number in people:
        output, state = enter({}, state, None, number)
        counts.append(output)
    before, empty = reset({}, state, None)
    after, _state = enter({}, empty, None, people[0])
    return {
        "counts": counts,
        "state": state,
        "before the reset": before,
        "state after the reset": empty,
        "count after the reset": after,
    }


# %% idea initial value
class Door(right.Door):
    def __call__(self, people):
        hk.set_state("count", hk.get_state("count") + people)
        return hk.get_state("count")

    def reset(self):
        count = hk.get_state("count")
        hk.set_state("count", jnp.zeros_like(count))
        return count


# %%
class Door(right.Door):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=lambda *_: people) + people
        hk.set_state("count", count)
        return count


# %% idea name in the state
class Door(right.Door):
    def __call__(self, people):
        inside = hk.get_state("people", (), jnp.int32, init=jnp.zeros)
        hk.set_state("people", inside + people)
        return inside + people

    def reset(self):
        inside = hk.get_state("people", (), jnp.int32, init=jnp.zeros)
        hk.set_state("people", 0 * inside)
        return inside


# %%
class Door(right.Door):
    def __init__(self):
        super().__init__(name="entrance")


# %% idea not in the state
class Door(right.Door):
    count = 0

    def __call__(self, people):
        self.count += people
        return self.count


# %%
class Door(right.Door):
    def __call__(self, people):
        return hk.get_parameter("count", (), jnp.int32, init=jnp.zeros) + people


# %%
count = 0


class Door(right.Door):
    def __call__(self, people):
        global count
        count = count + people
        hk.set_state("count", count)
        return count


# %% idea dropped state
class Door(right.Door):
    def __call__(self, people):
        return hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people


# %%
class Door(right.Door):
    def reset(self):
        return hk.get_state("count", (), jnp.int32, init=jnp.zeros)


# %% idea constructor; haiku/your_own_modules#check-yourself
# The constructor must not write the state, because it runs again in each run and would overwrite
# the state of the previous run.
class Door(right.Door):
    def __init__(self):
        super().__init__()
        hk.set_state("count", jnp.int32(0))


# %% idea before or after; haiku/pure_pair#hktransform_with_state-makes-the-pair
# During a run, the count has two values. Calling the module must return the value that is written,
# and `reset` must return the value that was read.
class Door(right.Door):
    def __call__(self, people):
        return super().__call__(people) - people


# %%
class Door(right.Door):
    def reset(self):
        super().reset()
        return hk.get_state("count")


# %% right a helper that reads the count, zeros from a lambda, and a constructor of its own
class Door(hk.Module):
    def __init__(self, name="door"):
        super().__init__(name=name)

    def _read(self):
        return hk.get_state("count", [], init=lambda *_: jnp.int32(0))

    def __call__(self, people):
        hk.set_state("count", self._read() + people)
        return hk.get_state("count")

    def reset(self):
        count = self._read()
        hk.set_state("count", jnp.int32(0))
        return count
