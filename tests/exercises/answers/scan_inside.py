# right: the pair outside, and a scan over its apply
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def init(rng, inflows):
    return {}, {"tank": {"level": jnp.zeros(())}}


one = hk.transform_with_state(lambda x: Tank(name="tank")(x))


def apply(params, state, rng, inflows):
    def hour(state, inflow):
        level, state = one.apply(params, state, rng, inflow)
        return state, level

    state, levels = jax.lax.scan(hour, state, inflows)
    return levels, state


model = hk.TransformedWithState(init, apply)

# wrong: baked-in state
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
    return jax.lax.map(tank, inflows)


model = hk.transform_with_state(forward)

# wrong: baked-in state
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    return jax.vmap(Tank())(inflows)


model = hk.transform_with_state(forward)

# wrong: leak
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
        tank(inflow)
        level = 0.9 * level + inflow
        return level, level

    return jax.lax.scan(hour, tank.read(), inflows)[1]


model = hk.transform_with_state(forward)

# wrong: unrolled loop
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


model = hk.transform_with_state(forward)

# wrong: not written
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

    level = tank.read()
    return jax.lax.scan(hour, level, inflows)[1]


model = hk.transform_with_state(forward)

# right: the level carried by hand, read before the loop and written after it
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

    level = tank.read()
    level, levels = jax.lax.scan(hour, level, inflows)
    tank.write(level)
    return levels


model = hk.transform_with_state(forward)

# wrong: from hour to hour
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

    def hour(level, inflow):
        level = 0.9 * level + inflow
        return level, level

    _, levels = jax.lax.scan(hour, jnp.zeros(()), inflows)
    tank(inflows[-1])
    return levels


model = hk.transform_with_state(forward)
