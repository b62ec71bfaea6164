"""A leak in a tank

repair, medium, 5 min, haiku/jax_inside_haiku#hkscan

`model.apply({}, state, None, inflows)` should return the level after each hour and the state with
the last level. Repair `forward`. `Tank` is correct as it is, and the loop should be traced once,
however many hours there are.

- Which function sees the level change: the function outside the loop, or the body of the loop?
- `hour` is correct. Look at the function that calls it.
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
import numpy as np


# %% inputs
def inputs(rng):
    return np.float32(rng.uniform(20, 40)), rng.uniform(1, 5, 4)


# %% check Each hour continues from the level of the previous hour; pure jit vmap once; levels, state
def check(answer, level, inflows):
    return answer.model.apply({}, {"tank": {"level": level}}, None, inflows)


def closed_form(level, inflows):
    levels = [level.astype(float)]
    for inflow in inflows:
        levels.append(0.9 * levels[-1] + inflow)
    return np.array(levels[1:]), {"tank": {"level": levels[-1]}}


# %% check `init` gives an empty tank, and a second run continues from the first; jit once; first state, second day
def check(answer, level, inflows):
    _, start = answer.model.init(None, inflows)
    _, state = answer.model.apply({}, start, None, inflows)
    return start, answer.model.apply({}, state, None, inflows)


# %% check The program for 24 hours is not much larger than the program for 12 hours; once
def check(answer, level, inflows):
    def size(hours):  # in lines of the lowered program, where each call of jit is written out too
        apply = jax.jit(lambda state, inflows: answer.model.apply({}, state, None, inflows))
        lowered = apply.lower({"tank": {"level": level}}, np.ones(hours, np.float32))
        return lowered.as_text().count(" = ")

    return {"the program grows with the hours": size(24) > 1.5 * size(12)}


# %% idea baked-in state; haiku/jax_inside_haiku#calling-a-module-in-a-loop
# JAX traces the code for an hour only once, as a function of its arguments, and the level is not an
# argument. The level must be passed on from hour to hour, because otherwise each hour starts from
# the same level.
model = hk.transform_with_state(lambda inflows: jax.lax.map(Tank(), inflows))


# %% idea not written
# The loop has the right levels, but the last level must also be in the state that `apply` returns.
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
# These are not the levels of the tank: the first hour must continue from the level in the state,
# and every other hour from the level of the previous hour.
class Tank(right.Tank):
    def empty(self):
        hk.set_state("level", jnp.zeros(()))


def forward(inflows):
    tank = Tank()
    tank.empty()
    return hk.scan(lambda carry, inflow: (carry, tank(inflow)), None, inflows)[1]


model = hk.transform_with_state(forward)


# %%
def forward(inflows):
    hour = lambda level, inflow: (0.9 * level + inflow,) * 2
    return jax.lax.scan(hour, jnp.zeros(()), inflows)[1]


model = hk.transform_with_state(forward)


# %%
class Tank(hk.Module):
    def __call__(self, inflow):
        return 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow


def forward(inflows):
    return jax.lax.map(Tank(), inflows)


model = hk.transform_with_state(forward)


# %%
def forward(inflows):
    tank = Tank()
    return hk.scan(lambda carry, x: (carry, tank(x)), None, inflows, reverse=True)[1]


model = hk.transform_with_state(forward)


# %% idea created in the loop
# The module must be created only once, before the loop. Each new instance has its own path in the
# state, so it does not continue from the level of the previous hour.
def forward(inflows):
    return hk.scan(lambda carry, x: (carry, Tank()(x)), None, inflows)[1]


model = hk.transform_with_state(forward)


# %%
def forward(inflows):
    return jnp.stack([Tank()(inflow) for inflow in inflows])


model = hk.transform_with_state(forward)


# %% idea unrolled loop; haiku/jax_inside_haiku#calling-a-module-in-a-loop
# A Python loop is recorded once for each hour, so the program grows with the inputs. The loop
# should be a scan, whose body is in the program only once.
def forward(inflows):
    tank = Tank()
    return jnp.stack([tank(inflow) for inflow in inflows])


model = hk.transform_with_state(forward)


# %% right a scan over the `apply` of a transformed `Tank`
one = hk.transform_with_state(lambda x: Tank()(x))


def apply(params, state, rng, inflows):
    hour = lambda state, inflow: one.apply(params, state, rng, inflow)[::-1]
    return jax.lax.scan(hour, state, inflows)[::-1]


model = hk.TransformedWithState(lambda rng, inflows: one.init(rng, inflows[0]), apply)
