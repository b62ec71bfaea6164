# right: the older way to register a class
from dataclasses import dataclass

import jax


@jax.tree_util.register_pytree_node_class
@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str

    def tree_flatten(self):
        return (self.angle, self.speed), self.method

    @classmethod
    def tree_unflatten(cls, method, children):
        return cls(*children, method)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    used = swing.angle if swing.method == "euler" else angle
    return Swing(angle, swing.speed - seconds * used, swing.method)

# wrong: unknown class
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    used = swing.angle if swing.method == "euler" else angle
    return replace(swing, angle=angle, speed=swing.speed - seconds * used)

# wrong: static field
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(
    Swing, data_fields=["angle", "speed", "method"], meta_fields=[]
)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    used = swing.angle if swing.method == "euler" else angle
    return replace(swing, angle=angle, speed=swing.speed - seconds * used)

# wrong: static field
from typing import NamedTuple

import jax


class Swing(NamedTuple):
    angle: jax.Array
    speed: jax.Array
    method: str


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    used = swing.angle if swing.method == "euler" else angle
    return swing._replace(angle=angle, speed=swing.speed - seconds * used)

# wrong: data field
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(
    Swing, data_fields=["angle"], meta_fields=["speed", "method"]
)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    used = swing.angle if swing.method == "euler" else angle
    return replace(swing, angle=angle, speed=swing.speed - seconds * used)

# wrong: round trip
from dataclasses import dataclass

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
    used = swing.angle if swing.method == "euler" else angle
    return Swing(angle, swing.speed - seconds * used, swing.method)

# wrong: changed in place
from dataclasses import dataclass

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


jax.tree_util.register_dataclass(
    Swing, data_fields=["angle", "speed"], meta_fields=["method"]
)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    used = swing.angle if swing.method == "euler" else angle
    swing.speed -= seconds * used
    swing.angle = angle
    return swing

# wrong: round trip
import jax


@jax.tree_util.register_pytree_node_class
class Swing:
    def __init__(self, angle, speed, method="euler"):
        self.angle, self.speed, self.method = angle, speed, method

    def tree_flatten(self):
        return (self.angle, self.speed), None

    @classmethod
    def tree_unflatten(cls, method, numbers):
        return cls(*numbers)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    pull = swing.angle if swing.method == "euler" else angle
    return Swing(angle, swing.speed - seconds * pull, swing.method)

# wrong: same step
import jax


@jax.tree_util.register_pytree_node_class
class Swing:
    def __init__(self, angle, speed, method="euler"):
        self.angle, self.speed, self.method = angle, speed, method

    def tree_flatten(self):
        return (self.angle, self.speed), self.method

    @classmethod
    def tree_unflatten(cls, method, numbers):
        return cls(*numbers, method)


def step(swing, seconds):
    angle = swing.angle + seconds * swing.speed
    pull = swing.angle
    return Swing(angle, swing.speed - seconds * pull, swing.method)

# wrong: method
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
    used = swing.angle if swing.method == "euler" else angle
    return Swing(angle, swing.speed - seconds * used, "euler")
