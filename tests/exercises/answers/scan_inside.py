"""Answers to `scan_inside`."""


# %% right: the body is a lambda, and the carry a number
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()
    return hk.scan(lambda carry, inflow: (carry, tank(inflow)), jnp.zeros(()), inflows)[1]


model = hk.transform_with_state(forward)


# %% right: the last level is the carry too
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(_, inflow):
        level = tank(inflow)
        return level, level

    last, levels = hk.scan(hour, jnp.float32(0), xs=inflows, length=len(inflows))
    return levels


model = hk.transform_with_state(forward)


# %% right: hk.fori_loop, which writes into an array
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(i, levels):
        return levels.at[i].set(tank(inflows[i]))

    return hk.fori_loop(0, len(inflows), hour, jnp.zeros_like(inflows))


model = hk.transform_with_state(forward)


# %% right: the level is carried by hand, read before the loop and written after it
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level

    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)

    def write(self, level):
        hk.set_state("level", level)


def forward(inflows):
    tank = Tank()

    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    last, levels = jax.lax.scan(hour, tank.read(), inflows)
    tank.write(last)
    return levels


model = hk.transform_with_state(forward)


# %% right: a pure pair of one tank is scanned within a function
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


import haiku_state as hs

one = hs.pure_pair(Tank)


def init(rng, inflows):
    return one.init(rng, inflows[0])


def apply(params, state, rng, inflows):
    def hour(state, inflow):
        level, state = one.apply(params, state, rng, inflow)
        return state, level

    state, levels = jax.lax.scan(hour, state, inflows)
    return levels, state


model = hk.TransformedWithState(init, apply)


# %% right: the package's pair, and a compiled apply
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


import haiku_state as hs


def forward(inflows):
    tank = Tank()

    def hour(carry, inflow):
        return carry, tank(inflow)

    _, levels = hk.scan(hour, None, inflows)
    return levels


pair = hs.pure_pair(forward)

model = hk.TransformedWithState(pair.init, jax.jit(pair.apply))


# %% right: the first hour by the tank, the others by its formula
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level

    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)

    def write(self, level):
        hk.set_state("level", level)


def drained(level, inflow):
    level = level - 0.1 * level + inflow
    return level, level


def forward(inflows):
    tank = Tank()
    first = tank(inflows[0])
    last, later = jax.lax.scan(drained, first, inflows[1:])
    tank.write(last)
    return jnp.append(first, later)


model = hk.transform_with_state(forward)


# %% right: the level of each hour as a sum with weights, without a loop
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level

    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)

    def write(self, level):
        hk.set_state("level", level)


def forward(inflows):
    tank = Tank()
    hours = jnp.arange(len(inflows))
    ages = hours[:, None] - hours
    weights = jnp.where(ages < 0, 0.0, 0.9 ** jnp.maximum(ages, 0))
    levels = weights @ inflows + 0.9 ** (hours + 1) * tank.read()
    tank.write(levels[-1])
    return levels


model = hk.transform_with_state(forward)


# %% right: the tank is called at its index, and init runs it once
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()
    if hk.running_init():
        return tank(inflows[0])[None]
    hour = lambda i, _: (i + 1, tank(inflows[i]))
    return hk.scan(hour, 0, None, length=inflows.shape[0])[1]


model = hk.transform_with_state(forward)


# %% wrong: baked-in state | leak
# the starter code
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(carry, inflow):
        return carry, tank(inflow)

    _, levels = jax.lax.scan(hour, None, inflows)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: baked-in state | leak
# lax.map in place of the scan
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()
    return jax.lax.map(lambda inflow: tank(inflow), inflows)


model = hk.transform_with_state(forward)


# %% wrong: unrolled loop
# a loop of Python
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()
    levels = []
    for inflow in inflows:
        levels.append(tank(inflow))
    return jnp.stack(levels)


model = hk.transform_with_state(forward)


# %% wrong: unrolled loop
# a loop of Python within a compiled function, so the outer program does not grow
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()
    return jnp.stack([tank(inflow) for inflow in inflows])


pair = hk.transform_with_state(forward)

model = hk.TransformedWithState(pair.init, jax.jit(pair.apply))


# %% wrong: not written
# the level is carried, and not written
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level

    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)

    def write(self, level):
        hk.set_state("level", level)


def forward(inflows):
    tank = Tank()

    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    _, levels = jax.lax.scan(hour, tank.read(), inflows)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: not written
# the level is written by one more call, which drains and fills once more
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level

    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)

    def write(self, level):
        hk.set_state("level", level)


def forward(inflows):
    tank = Tank()

    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    _, levels = jax.lax.scan(hour, tank.read(), inflows)
    tank(levels[-1])
    return levels


model = hk.transform_with_state(forward)


# %% wrong: not written
# the first level is written, not the last
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level

    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)

    def write(self, level):
        hk.set_state("level", level)


def forward(inflows):
    tank = Tank()

    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    last, levels = jax.lax.scan(hour, tank.read(), inflows)
    tank.write(levels[0])
    return levels


model = hk.transform_with_state(forward)


# %% wrong: from hour to hour
# each day begins with an empty tank
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level

    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)

    def write(self, level):
        hk.set_state("level", level)


def forward(inflows):
    tank = Tank()

    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    tank(inflows[0])
    last, levels = jax.lax.scan(hour, jnp.zeros(()), inflows)
    tank.write(last)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: from hour to hour
# the hours in reverse order
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(carry, inflow):
        return carry, tank(inflow)

    _, levels = hk.scan(hour, None, inflows, reverse=True)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: baked-in state | from hour to hour | leak
# all hours at once
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()
    return jax.vmap(tank)(inflows)


model = hk.transform_with_state(forward)


# %% wrong: from hour to hour | dropped state
# the tank no longer writes its level
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        return level


def forward(inflows):
    tank = Tank()

    def hour(carry, inflow):
        return carry, tank(inflow)

    _, levels = hk.scan(hour, None, inflows)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: leak
# the levels are collected in a list
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank, levels = Tank(), []

    def hour(carry, inflow):
        levels.append(tank(inflow))
        return carry, None

    hk.scan(hour, None, inflows)
    return jnp.stack(levels)


model = hk.transform_with_state(forward)


# %% wrong: not in the state | dropped state | from hour to hour
# the level is an attribute of the module
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __init__(self):
        super().__init__()
        self.level = jnp.zeros(())

    def __call__(self, inflow):
        return 0.9 * self.level + inflow


def forward(inflows):
    tank = Tank()

    def hour(level, inflow):
        tank.level = level
        level = tank(inflow)
        return level, level

    _, levels = jax.lax.scan(hour, tank.level, inflows)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: -
# the outputs of the scan are taken for the carry
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(carry, inflow):
        return carry, tank(inflow)

    levels, _ = hk.scan(hour, None, inflows)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: -
# only the last level
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(carry, inflow):
        return carry, tank(inflow)

    _, levels = hk.scan(hour, None, inflows)
    return levels[-1]


model = hk.transform_with_state(forward)


# %% wrong: -
# the arguments of the body are swapped
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(inflow, carry):
        return carry, tank(inflow)

    _, levels = hk.scan(hour, None, inflows)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: -
# the levels that are returned have drained once more
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(carry, inflow):
        return carry, 0.9 * tank(inflow)

    _, levels = hk.scan(hour, None, inflows)
    return levels


model = hk.transform_with_state(forward)


# %% wrong: -
# the module is called once with all hours
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()
    return tank(inflows)


model = hk.transform_with_state(forward)
