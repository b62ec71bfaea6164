"""A leak in a tank

repair, 5 min, haiku/jax_inside_haiku#hkscan

`model.apply({}, state, None, inflows)` should return the level after each hour and the state with
the last level. Repair `forward`. `Tank` is correct as it is, and the loop should be traced once,
however many hours there are.

- Which function sees the level change: the function outside the loop, or the body of the loop?
- `hour` is correct. Look at who calls it.
- Haiku has its own scan with the same arguments, which carries the state along.
"""

# %%
# Water flows into a tank for some hours. In each hour, a tenth of the water in
# it drains out.
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

    #: _, levels = jax.lax.scan(hour, None, inflows)
    # <solution>
    _, levels = hk.scan(hour, None, inflows)
    # </solution>
    return levels


model = hk.transform_with_state(forward)

# %% setup
import jax
import numpy as np


# %% inputs
def inputs(rng):
    return np.float32(rng.uniform(20, 40)), rng.uniform(1, 5, 4)


# %% check each hour continues from the level of the previous hour; pure jit vmap; from hour to hour
def check(answer, level, inflows):
    return answer.model.apply({}, {"tank": {"level": level}}, None, inflows)


def closed_form(level, inflows):
    levels = [level.astype(float)]
    for inflow in inflows:
        levels.append(0.9 * levels[-1] + inflow)
    return np.array(levels[1:]), {"tank": {"level": levels[-1]}}


# %% check `init` returns an empty tank, and a second day continues from the first; pure jit; not written
def check(answer, level, inflows):
    _, start = answer.model.init(None, inflows)
    _, state = answer.model.apply({}, start, None, inflows)
    return start, answer.model.apply({}, state, None, inflows)


# %% check the body of the loop is traced once, for 10 hours as well as for 30; ; unrolled loop
def check(answer, level, inflows):
    def equations(hours):
        apply = lambda state, inflows: answer.model.apply({}, state, None, inflows)
        state, long = {"tank": {"level": level}}, np.ones(hours, np.float32)
        return len(jax.make_jaxpr(apply)(state, long).eqns)

    return {"the program grows": equations(30) > equations(10)}


# %% idea baked-in state; haiku/jax_inside_haiku#calling-a-module-in-a-loop
# JAX traces the body of the loop once, as a function of the carry and the input. The level is
# neither of the two, so each hour starts from the same level.
model = hk.transform_with_state(lambda inflows: jax.lax.map(Tank(), inflows))


# %% idea not written
# The loop has the right levels, but the state that `apply` returns is not the last level.
class Tank(right.Tank):
    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)


def forward(inflows):
    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    return jax.lax.scan(hour, Tank().read(), inflows)[1]


model = hk.transform_with_state(forward)


# %% idea from hour to hour
# These are not the levels of the tank: the first hour continues from the level in the state, and
# every other hour continues from the level of the previous hour.
def forward(inflows):
    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    Tank()(inflows[-1])
    return jax.lax.scan(hour, jnp.zeros(()), inflows)[1]


model = hk.transform_with_state(forward)


# %% idea unrolled loop; haiku/jax_inside_haiku#calling-a-module-in-a-loop
# A Python loop is traced once for each hour, so the program grows with the inputs. A scan is traced
# once, however many inputs there are.
def forward(inflows):
    tank = Tank()
    return jnp.stack([tank(inflow) for inflow in inflows])


model = hk.transform_with_state(forward)


# %% idea leak
class Tank(right.Tank):
    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)


def forward(inflows):
    tank = Tank()

    def hour(level, inflow):
        tank(inflow)
        level = 0.9 * level + inflow
        return level, level

    return jax.lax.scan(hour, tank.read(), inflows)[1]


model = hk.transform_with_state(forward)


# %% right the pair outside, and a scan over its apply
one = hk.transform_with_state(lambda x: Tank()(x))


def apply(params, state, rng, inflows):
    hour = lambda state, inflow: one.apply(params, state, rng, inflow)[::-1]
    return jax.lax.scan(hour, state, inflows)[::-1]


model = hk.TransformedWithState(lambda rng, inflows: one.init(rng, inflows[0]), apply)


# %% right the level carried by hand, read before the loop and written after it
class Tank(right.Tank):
    def read(self):
        return hk.get_state("level", (), init=jnp.zeros)

    def write(self, level):
        hk.set_state("level", level)


def forward(inflows):
    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    tank = Tank()
    level, levels = jax.lax.scan(hour, tank.read(), inflows)
    tank.write(level)
    return levels


model = hk.transform_with_state(forward)
