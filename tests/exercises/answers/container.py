"""Answers to `container`."""

# %% right since 0.5: the fields say themselves what is static
from dataclasses import dataclass, field, replace

import jax


@jax.tree_util.register_dataclass
@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str = field(metadata={"static": True})


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    pulling = swing.angle if swing.method == "euler" else angle
    return replace(swing, angle=angle, speed=swing.speed - seconds * pulling)


# %% right: functools.partial as a decorator, frozen, and step compiled
import functools
from dataclasses import dataclass

import jax


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=("angle", "speed"), meta_fields=("method",)
)
@dataclass(frozen=True)
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


@jax.jit
def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        return Swing(angle, swing.speed - seconds * swing.angle, swing.method)
    return Swing(angle, swing.speed - seconds * angle, swing.method)


# %% right: an ordinary class with tree_flatten, and a method that steps
import jax


@jax.tree_util.register_pytree_node_class
class Swing:
    def __init__(self, angle, speed, method):
        self.angle = angle
        self.speed = speed
        self.method = method

    def tree_flatten(self):
        return [self.angle, self.speed], self.method

    @classmethod
    def tree_unflatten(cls, method, children):
        angle, speed = children
        return cls(angle, speed, method)

    def after(self, seconds):
        angle = self.angle + seconds * self.speed
        old = {"euler": self.angle, "leapfrog": angle}[self.method]
        return Swing(angle, self.speed - seconds * old, self.method)


step = Swing.after


# %% right: leaves with names, and a table of formulas
from dataclasses import dataclass

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


def flatten(swing):
    return (swing.angle, swing.speed), (swing.method,)


def flatten_with_keys(swing):
    key = jax.tree_util.GetAttrKey
    return ((key("angle"), swing.angle), (key("speed"), swing.speed)), (swing.method,)


def unflatten(aux, children):
    return Swing(*children, *aux)


jax.tree_util.register_pytree_with_keys(Swing, flatten_with_keys, unflatten, flatten)

SPEEDS = {
    "euler": lambda swing, angle, dt: swing.speed - dt * swing.angle,
    "leapfrog": lambda swing, angle, dt: swing.speed - dt * angle,
}


def step(swing, dt):
    angle = swing.angle + dt * swing.speed
    return Swing(angle, SPEEDS[swing.method](swing, angle, dt), swing.method)


# %% right: a copy whose fields are assigned
import copy
from dataclasses import dataclass

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, ["angle", "speed"], ["method"])


def step(swing, seconds):
    new = copy.copy(swing)
    new.angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        new.speed = swing.speed - seconds * swing.angle
    else:
        new.speed = swing.speed - seconds * new.angle
    return new


# %% right: jnp.where on a Python bool, and speed before angle among the leaves
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_pytree_node(
    Swing,
    lambda swing: ((swing.speed, swing.angle), swing.method),
    lambda method, leaves: Swing(angle=leaves[1], speed=leaves[0], method=method),
)


def step(swing, seconds):
    angle = jnp.add(swing.angle, jnp.multiply(seconds, swing.speed))
    acting = jnp.where(swing.method == "euler", swing.angle, angle)
    return replace(swing, angle=angle, speed=swing.speed - seconds * acting)


# %% right: match, lax.cond, and an unflatten without the constructor
from dataclasses import dataclass

import jax


@dataclass(eq=False, slots=True)
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


def made(method, leaves):
    swing = object.__new__(Swing)
    swing.angle, swing.speed = leaves
    swing.method = method
    return swing


jax.tree_util.register_pytree_node(Swing, lambda s: ((s.angle, s.speed), s.method), made)


def step(s, dt):
    def euler(angle, speed):
        return angle + dt * speed, speed - dt * angle

    def leapfrog(angle, speed):
        angle = angle + dt * speed
        return angle, speed - dt * angle

    angle, speed = jax.lax.cond(s.method == "euler", euler, leapfrog, s.angle, s.speed)
    return made(s.method, (angle, speed))


# %% right: NumPy-like names, taken apart by tree_flatten
from dataclasses import dataclass

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, meta_fields=["method"], data_fields=["angle", "speed"])


def step(swing, seconds):
    (angle, speed), structure = jax.tree.flatten(swing)
    moved = angle + seconds * speed
    pulled = speed - seconds * (angle if swing.method == "euler" else moved)
    return jax.tree.unflatten(structure, [moved, pulled])


# %% wrong: unknown class | changed argument
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


# Return the swing after a short time.
def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        swing.speed -= seconds * swing.angle
    else:
        swing.speed -= seconds * angle
    swing.angle = angle
    return swing


# %% wrong: changed argument
from dataclasses import dataclass

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, data_fields=["angle", "speed"], meta_fields=["method"])


def step(swing, seconds):
    new = swing
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        new.speed = swing.speed - seconds * swing.angle
    else:
        new.speed = swing.speed - seconds * angle
    new.angle = angle
    return new


# %% wrong: unknown class
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)


# %% wrong: static field
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, data_fields=["angle", "speed", "method"], meta_fields=[])


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)


# %% wrong: data field
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, data_fields=[], meta_fields=["angle", "speed", "method"])


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)


# %% wrong: round trip
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_pytree_node(
    Swing,
    lambda swing: ((swing.speed, swing.angle), swing.method),
    lambda method, children: Swing(*children, method),
)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)


# %% wrong: round trip
from dataclasses import dataclass, replace

import jax


@jax.tree_util.register_pytree_node_class
@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str = "euler"

    def tree_flatten(self):
        return (self.angle, self.speed), None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        return cls(*children)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)


# %% wrong: method
from dataclasses import dataclass

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str = "euler"


jax.tree_util.register_dataclass(Swing, data_fields=["angle", "speed"], meta_fields=["method"])


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return Swing(angle=angle, speed=speed)


# %% wrong: same step
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, data_fields=["angle", "speed"], meta_fields=["method"])


def step(swing, seconds):
    swing = replace(swing, angle=swing.angle + seconds * swing.speed)
    if swing.method == "euler":
        return replace(swing, speed=swing.speed - seconds * swing.angle)
    return replace(swing, speed=swing.speed - seconds * swing.angle)


# %% wrong: not traceable
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, data_fields=["angle", "speed"], meta_fields=["method"])


def step(swing, seconds):
    if seconds <= 0:
        raise ValueError("seconds must be positive")
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)


# %% wrong: static value | unknown class | data field
import functools
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


@functools.partial(jax.jit, static_argnames="swing")
def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)


# %% wrong: data field
# the whole swing is the auxiliary data, so its numbers are in the structure too
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_pytree_node(
    Swing,
    lambda swing: ((swing.angle, swing.speed), swing),
    lambda swing, children: replace(swing, angle=children[0], speed=children[1]),
)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)


# %% wrong: -
# a pair comes back, and not a swing
from dataclasses import dataclass

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, data_fields=["angle", "speed"], meta_fields=["method"])


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return angle, speed


# %% wrong: -
# the new angle and speed are swapped in the constructor
from dataclasses import dataclass

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, data_fields=["angle", "speed"], meta_fields=["method"])


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return Swing(speed, angle, swing.method)


# %% wrong: -
# a typing error: `second`
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(Swing, data_fields=["angle", "speed"], meta_fields=["method"])


def step(swing, seconds):
    angle = swing.angle + second * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)
