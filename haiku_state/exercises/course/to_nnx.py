"""From Haiku to Flax NNX

port, hard, 10 min, beyond/moving_to_nnx#the-same-model-in-nnx, JAX 0.6

Port `Thermometer` to NNX, where a module holds its params and its state itself. Write the class
`NNXThermometer`: `rate` is trained, and `last` is not. `from_haiku(params, state)` gets what
`pair.init` or `pair.apply` has returned, and returns a module that continues from these values when
it is called with `x`. `update(model, x, y)` takes the same step as `haiku_update`, and returns the
module with its new values.

- Which values must the module keep, and which of them does the optimizer change?
- Both values become variables in `__init__`, but only one is an `nnx.Param`. Look at the two `hk.`
  functions that the Haiku module calls: one reads and one writes. The function of NNX that
  corresponds to `jax.grad` has a similar name.
- `nnx.update(self, {"last": last})` writes, `self.last[...]` reads, and `nnx.grad(loss_fn)(model)`
  returns gradients like `nnx.state(model, nnx.Param)`.
"""

# %%
# A thermometer follows the temperature slowly. How fast it does so is learned.
import haiku as hk
import jax
import jax.numpy as jnp
from flax import nnx


class Thermometer(hk.Module):
    def __call__(self, x):
        rate = hk.get_parameter("rate", [], init=jnp.ones)
        last = hk.get_state("last", [], init=jnp.zeros)
        last = last + rate * (x - last)
        hk.set_state("last", last)
        return last


pair = hk.transform_with_state(lambda x: Thermometer()(x))


def haiku_update(params, state, x, y):
    def loss_fn(params):
        output, new_state = pair.apply(params, state, None, x)
        return jnp.square(output - y), new_state

    grads, state = jax.grad(loss_fn, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


class NNXThermometer(nnx.Module):
    def __init__(self, rate, last):
        # Make the variables of the module.
        #: self.rate = nnx.Param(rate)
        # <solution>
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)
        # </solution>

    def __call__(self, x):
        # Return the next reading, and keep it.
        #: return self.rate[...] * x
        # <solution>
        last = self.last[...]
        last = last + self.rate[...] * (x - last)
        nnx.update(self, {"last": last})
        return last
        # </solution>


def from_haiku(params, state):
    # Return a module that continues where the Haiku module has stopped.
    #: return NNXThermometer(jnp.ones(()), jnp.zeros(()))
    # <solution>
    rate = params["thermometer"]["rate"]
    return NNXThermometer(rate, state["thermometer"]["last"])
    # </solution>


def update(model, x, y):
    # Take the same step as haiku_update, and return the module.
    #: model(x)
    #: return model
    # <solution>
    def loss_fn(model):
        return jnp.square(model(x) - y)

    grads = nnx.grad(loss_fn)(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    return model
    # </solution>


# %% setup
import numpy as np


def parts(model):
    _, params, state = nnx.split(model, nnx.Param, ...)
    return {"params": jax.tree.leaves(params), "state": jax.tree.leaves(state)}


# %% inputs
def inputs(rng):
    rate, last = np.float32(rng.uniform((0.2, 10), (0.4, 15)))
    xs = list(np.float32(rng.uniform(16, 18, 2)))
    return {"thermometer": {"rate": rate}}, {"thermometer": {"last": last}}, xs, last + 2


# %% check The compiled module continues from the state of Haiku and keeps its own state;
def check(answer, params, state, xs, y):
    model = answer.from_haiku(params, state)
    call = nnx.jit(lambda model, x: model(x))
    return {"outputs": [call(model, x) for x in xs], **parts(model)}


def closed_form(params, state, xs, y):
    rate, last, outputs = params["thermometer"]["rate"], state["thermometer"]["last"], []
    for x in xs:
        last = last + rate * (x - last)
        outputs.append(last)
    return {"outputs": outputs, "params": [rate], "state": [last]}


# %% check `update` changes the module as `haiku_update` changes params and state; tolerance=0.0001
def check(answer, params, state, xs, y):
    model = answer.from_haiku(params, state)
    for x in xs:
        model = answer.update(model, x, y)
    return parts(model)


def truth(right, params, state, xs, y):
    for x in xs:
        params, state = right.haiku_update(params, state, x, y)
    return {"params": jax.tree.leaves(params), "state": jax.tree.leaves(state)}


# %% idea what is trained
# `nnx.Param` must mark only the variables that an optimizer changes. The last reading is state,
# which only a call to the module changes.
class NNXThermometer(right.NNXThermometer):
    def __init__(self, rate, last):
        self.rate, self.last = nnx.Param(rate), nnx.Param(last)


# %% idea dropped state
# The new reading must be written to the variable of the module, where the next call finds it.
class NNXThermometer(right.NNXThermometer):
    def __call__(self, x):
        return self.last[...] + self.rate[...] * (x - self.last[...])


# %% idea continued run; beyond/moving_to_nnx#moving-a-checkpoint
# The module must continue where Haiku has stopped, so it must begin with Haiku's values and not
# with the values of a new module.
def from_haiku(params, state):
    return NNXThermometer(jnp.ones(()), jnp.zeros(()))


# %%
def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], jnp.zeros(()))


# %% idea params of the module
# The new params must be in the module: `nnx.update` can write values into it.
def update(model, x, y):
    model(x)
    return model


# %% idea one call; beyond/five_ways#flax-nnx
# Each call to the module changes its state, so a step must call the module only once, inside the
# loss.
def update(model, x, y):
    model(x)
    return right.update(model, x, y)


# %% idea a module for JAX; beyond/five_ways#flax-nnx
# For `jax.grad`, a module is only a tree of arrays: each array gets a gradient, and what a call
# writes is lost. The step should use `nnx.grad`, which knows which variables are params and keeps
# what is written.
def update(model, x, y):
    grads = nnx.state(jax.grad(lambda model: jnp.square(model(x) - y))(model))
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(model), grads))
    return model


# %%
def update(model, x, y):
    state = nnx.clone(nnx.state(model, nnx.Not(nnx.Param)))
    model = right.update(model, x, y)
    nnx.update(model, state)
    return model


# %% right a module that is split and merged by hand, around JAX's own grad
def update(model, x, y):
    about, params, state = nnx.split(model, nnx.Param, ...)

    def loss_fn(params):
        model = nnx.merge(about, params, jax.tree.map(jnp.copy, state))
        return jnp.square(model(x) - y), nnx.state(model, nnx.Not(nnx.Param))

    grads, state = jax.grad(loss_fn, has_aux=True)(params)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return nnx.merge(about, params, state)
