# right: Haiku's own layer
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    def network(x, is_training):
        for size in (10, 9):
            norm = hk.BatchNorm(True, True, 0.9, cross_replica_axis=axis_name)
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)

# wrong: unbound axis
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    def network(x, is_training):
        for size in (10, 9):
            norm = hs.BatchNorm(True, True, 0.9, cross_replica_axis="devices")
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)

# wrong: own rows
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    def network(x, is_training):
        for size in (10, 9):
            norm = hs.BatchNorm(True, True, 0.9, name="batch_norm")
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)

# wrong: own rows
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    def network(x, is_training):
        for size in (10, 9):
            norm = hs.BatchNorm(True, True, 0.9, cross_replica_axis=axis_name if size == 10 else None)
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)

# wrong: equal, not right
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    def network(x, is_training):
        for size in (10, 9):
            norm = hs.BatchNorm(True, True, 0.9)
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    init, apply = hk.transform_with_state(network)

    def apply_and_average(*args):
        outputs, state = apply(*args)
        if axis_name:
            averages = jax.lax.pmean(state, axis_name)
            state = jax.tree.map(
                lambda s, a: a.astype(s.dtype), state, averages
            )
        return outputs, state

    return hk.TransformedWithState(init, apply_and_average)

# wrong: equal, not right
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    def network(x, is_training):
        if axis_name:
            x = jax.lax.pmean(x, axis_name)
        for size in (10, 9):
            norm = hs.BatchNorm(True, True, 0.9)
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)

# wrong: evaluation
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    def network(x, is_training):
        for size in (10, 9):
            norm = hs.BatchNorm(True, True, 0.9, cross_replica_axis=axis_name)
            x = jax.nn.relu(norm(hk.Linear(size)(x), True))
        return x

    return hk.transform_with_state(network)

# wrong: other name
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    def network(x, is_training):
        for size in (10, 9):
            norm = hs.BatchNorm(True, True, 0.9, cross_replica_axis="axis_name")
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)
