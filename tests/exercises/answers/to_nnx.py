"""Answers to `to_nnx`."""

# %% right: assigned by index, and a batch statistic
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
        self.rate = nnx.Param(rate)
        self.last = nnx.BatchStat(last)

    def __call__(self, x):
        self.last[...] = self.last[...] + self.rate[...] * (x - self.last[...])
        return self.last[...]


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    grads = nnx.grad(lambda model: jnp.square(model(x) - y))(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    return model


# %% right: a compiled step with the value as well
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


@nnx.jit
def step(model, x, y):
    value, grads = nnx.value_and_grad(lambda model: (model(x) - y) ** 2)(model)
    rate = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, rate, grads))
    return value


def update(model, x, y):
    step(model, x, y)
    return model


# %% right: an own kind of variable, and the gradient by hand
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


class Reading(nnx.Variable):
    pass


class NNXThermometer(nnx.Module):
    def __init__(self, rate, last):
        self.rate = nnx.Param(rate)
        self.last = Reading(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    rate, before = model.rate[...], model.last[...]
    error = model(x) - y
    nnx.update(model, {"rate": rate - 0.1 * 2 * error * (x - before)})
    return model


# %% right: params written one by one, other names for the arguments
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
    def __init__(self, start, speed):
        self.last = nnx.Variable(start)
        self.rate = nnx.Param(speed)

    def __call__(self, temperature):
        speed = self.rate[...]
        reading = (1 - speed) * self.last[...] + speed * temperature
        self.last[...] = reading
        return reading


def from_haiku(params, state):
    [speed], [start] = jax.tree.leaves(params), jax.tree.leaves(state)
    return NNXThermometer(start, speed)


def update(thermometer, x, y):
    def loss(thermometer):
        return jnp.square(thermometer(x) - y)

    grads = nnx.grad(loss)(thermometer)
    thermometer.rate[...] = thermometer.rate[...] - 0.1 * grads["rate"][...]
    return thermometer


# %% right: a new module from split and merge
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    about, params, state = nnx.split(model, nnx.Param, ...)

    def loss_fn(params):
        twin = nnx.merge(about, params, jax.tree.map(jnp.copy, state))
        output = twin(x)
        return jnp.square(output - y), twin.last[...]

    grads, last = jax.grad(loss_fn, has_aux=True)(params)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    model = nnx.merge(about, params, state)
    model.last[...] = last
    return model


# %% right: the step of Haiku itself, and its numbers written into the module
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    params = {"thermometer": {"rate": model.rate[...]}}
    state = {"thermometer": {"last": model.last[...]}}
    params, state = haiku_update(params, state, x, y)
    return from_haiku(params, state)


# %% wrong: what is trained
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Param(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    grads = nnx.grad(lambda model: jnp.square(model(x) - y))(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    return model


# %% wrong: dropped state
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    grads = nnx.grad(lambda model: jnp.square(model(x) - y))(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    return model


# %% wrong: continued run
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(
        params["thermometer"]["rate"], jnp.zeros_like(params["thermometer"]["rate"])
    )


def update(model, x, y):
    grads = nnx.grad(lambda model: jnp.square(model(x) - y))(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    return model


# %% wrong: params of the module
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    grads = nnx.grad(lambda model: jnp.square(model(x) - y))(model)
    params = nnx.state(model, nnx.Param)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return model


# %% wrong: one call
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    output = model(x)
    grads = nnx.grad(lambda model: jnp.square(model(x) - y))(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    return model


# %% wrong: a module for JAX
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    grads = jax.grad(lambda model: jnp.square(model(x) - y))(model)
    nnx.update(
        model,
        jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(model), nnx.state(grads)),
    )
    return model


# %% wrong: a module for JAX
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    grads = jax.grad(lambda model: jnp.square(model(x) - y))(model)
    model.rate[...] = model.rate[...] - 0.1 * grads.rate[...]
    return model


# %% wrong: -
# uphill
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    grads = nnx.grad(lambda model: jnp.square(model(x) - y))(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p + 0.1 * g, params, grads))
    return model


# %% wrong: -
# nothing is returned
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
        self.rate = nnx.Param(rate)
        self.last = nnx.Variable(last)

    def __call__(self, x):
        last = self.last[...] + self.rate[...] * (x - self.last[...])
        nnx.update(self, {"last": last})
        return last


def from_haiku(params, state):
    return NNXThermometer(params["thermometer"]["rate"], state["thermometer"]["last"])


def update(model, x, y):
    grads = nnx.grad(lambda model: jnp.square(model(x) - y))(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
