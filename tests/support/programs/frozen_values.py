"""Values that are read into the program and change afterwards."""

import math

import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
temperature = 1.0


@impure(x)
def frozen_global(x):
    global temperature
    y = x / temperature  # finds: frozen value temperature
    temperature *= 0.9  # finds: mutation temperature
    return y


@impure.made(x)
def frozen_attribute():
    class Optimizer:
        def __init__(self):
            self.rate = 0.1

        def update(self, x):
            y = x * self.rate  # finds: frozen value self.rate
            self.rate = self.rate / 2  # finds: mutation self.rate
            return y

    return Optimizer().update


@impure.made(x)
def frozen_closure():
    scale = 2.0

    def grow():
        nonlocal scale
        scale *= 1.5  # finds: mutation scale

    def call(x):
        y = x * scale  # finds: frozen value scale
        grow()
        return y

    return call


offsets = np.ones(3, np.float32)


@impure(x)
def frozen_array(x):
    y = x + offsets  # finds: frozen value offsets
    offsets[0] += 1  # finds: mutation offsets[...]
    return y


@pure(x)
def host_math_on_shapes(x):
    history = [math.prod(x.shape)]
    while history[-1] < 20:
        history.append(history[-1] * 2)
    return x * history[-1]
