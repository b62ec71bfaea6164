"""The name of the axis

repair, 5 min, update/pmapped_update#without-the-name-of-the-axis

`make_network("devices")` is used inside `jax.pmap` on four devices whose axis has this name, and
`make_network()` is used on a single device. Repair it so that in training the four devices together
compute what a single device computes from the whole batch: the same outputs and, on every replica,
the same running statistics.

- From which rows of the batch does `BatchNorm` compute its mean and variance?
- `axis_name` is passed in but not used. Look at what the lesson passes to `BatchNorm`.
- Pass it as the argument `cross_replica_axis`, which is `None` on a single device.
"""

# %%
# A network with two layers of BatchNorm. It is trained on four devices and on
# a single device, where there is no axis.
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    # Return the pair of a network for the devices along this axis, or for a
    # single device if no name is given.
    def network(x, is_training):
        for size in (10, 9):
            #: norm = hs.BatchNorm(True, True, 0.9)
            # <solution>
            norm = hs.BatchNorm(True, True, 0.9, cross_replica_axis=axis_name)
            # </solution>
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)


# %% setup
import jax
import numpy as np


def short(outputs, state):
    # means over the channels, so that what is shown to the learner is a number for each device
    averages = {path: leaves["average"].mean(axis=(-2, -1)) for path, leaves in state.items()}
    return {"outputs": outputs.mean(axis=(-2, -1)), "running statistics": averages}


# %% inputs
def inputs(rng):
    params, state = {}, {}
    for end, before, size in (("", 4, 10), ("_1", 10, 9)):
        scale, offset, b = rng.normal(size=(3, 1, size))
        params["linear" + end] = {"w": rng.normal(size=(before, size)), "b": b[0]}
        params["batch_norm" + end] = {"scale": scale, "offset": offset}
        for name in ("mean_ema", "var_ema"):
            average, steps = rng.uniform(0.2, 2, (1, size)), np.int32(rng.integers(1, 20))
            leaves = {"hidden": average * (1 - 0.9**steps), "average": average, "counter": steps}
            state[f"batch_norm{end}/~/{name}"] = leaves
    x = rng.normal(2, 3, (4, 4, 4)) + rng.normal(size=(4, 1, 4))  # a part for each device
    return params, state, x


# %% check Four devices compute what one device computes from the whole batch; once tolerance=0.0001; equal, not right
def check(answer, params, state, x):
    apply = answer.make_network("devices").apply
    forward = lambda x: apply(params, state, None, x, True)
    return short(*jax.pmap(forward, axis_name="devices")(x))


def closed_form(params, state, x):
    x, averages = x.astype(float).reshape(16, 4), {}
    for end in ("", "_1"):
        linear, norm = params["linear" + end], params["batch_norm" + end]
        x = x @ linear["w"] + linear["b"]
        mean, variance = x.mean(axis=0), x.var(axis=0)
        for name, value in (("mean_ema", mean), ("var_ema", variance)):
            leaves = state[f"batch_norm{end}/~/{name}"]
            average = 0.9 * leaves["hidden"] + 0.1 * value
            average = average.mean() / (1 - 0.9 ** (leaves["counter"] + 1))
            averages[f"batch_norm{end}/~/{name}"] = np.full(4, average)
        x = (x - mean) / np.sqrt(variance + 1e-5)
        x = np.maximum(norm["scale"] * x + norm["offset"], 0)
    return {"outputs": x.reshape(4, 4, 9).mean(axis=(1, 2)), "running statistics": averages}


# %% check On a single device, the network needs no axis; once tolerance=0.0001; unbound axis
def check(answer, params, state, x):
    apply = jax.jit(answer.make_network().apply, static_argnums=4)
    return short(*apply(params, state, None, x.reshape(16, 4), True))


# %% check In evaluation, the running statistics are used and do not change; once tolerance=0.0001; evaluation
def check(answer, params, state, x):
    apply = jax.jit(answer.make_network().apply, static_argnums=4)
    return short(*apply(params, state, None, x[0], False))


# %% idea own rows
# The replicas have different running statistics: BatchNorm has normalized each part of the batch by
# the mean and variance of this part, because it does not know about the rest of the batch.
def make_network(axis_name=None):
    return right.make_network()


# %%
def make_network(axis_name=None):
    def network(x, is_training):
        norm = hs.BatchNorm(True, True, 0.9, cross_replica_axis=axis_name)
        x = jax.nn.relu(norm(hk.Linear(10)(x), is_training))
        norm = hs.BatchNorm(True, True, 0.9)
        return jax.nn.relu(norm(hk.Linear(9)(x), is_training))

    return hk.transform_with_state(network)


# %% idea unbound axis; update/devices#exchange-along-the-axis
# On a single device nothing is mapped, so there is no axis with this name. Only the caller of
# `make_network` knows whether there is an axis.
def make_network(axis_name=None):
    return right.make_network("devices")


# %% idea other name; update/devices#exchange-along-the-axis
# The devices have no axis with this name. The name of their axis is passed to `make_network`.
def make_network(axis_name=None):
    return right.make_network("axis_name")


# %% idea equal, not right; update/pmapped_update#fixing-it-afterwards
# The replicas are equal, but their statistics differ from those of the whole batch. The mean and
# the squared deviations must be averaged, which the layer itself can do.
def make_network(axis_name=None):
    init, apply = right.make_network()

    def averaged(*args):
        outputs, state = apply(*args)
        return outputs, jax.lax.pmean(state, axis_name) if axis_name else state

    return hk.TransformedWithState(init, averaged)


# %%
def make_network(axis_name=None):
    init, apply = right.make_network()

    def averaged(params, state, rng, x, is_training):
        x = jax.lax.pmean(x, axis_name) if axis_name else x
        return apply(params, state, rng, x, is_training)

    return hk.TransformedWithState(init, averaged)


# %% idea evaluation
def make_network(axis_name=None):
    init, apply = right.make_network(axis_name)
    return hk.TransformedWithState(init, lambda *args: apply(*args[:4], True))


# %% right Haiku's own layer
def make_network(axis_name=None):
    def network(x, is_training):
        for size in (10, 9):
            norm = hk.BatchNorm(True, True, 0.9, cross_replica_axis=axis_name)
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)
