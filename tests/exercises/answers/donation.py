"""Answers to `donation`."""


# %% right: jnp.array, which copies
import jax
import jax.numpy as jnp


def start(params):
    return {name: {k: jnp.array(leaf) for k, leaf in params.items()} for name in ("params", "average")}


def train(step, train_state, batches):
    best, best_loss = None, jnp.inf
    for batch in batches:
        before = {name: jnp.array(leaf, copy=True) for name, leaf in train_state["params"].items()}
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, float(loss)
    return train_state, best


# %% right: a helper with a method of arrays, and all losses are kept
import jax
import jax.numpy as jnp


def copied(tree):
    return jax.tree.map(lambda leaf: leaf.copy(), tree)


def start(params):
    return {"params": copied(params), "average": copied(params)}


def train(step, train_state, batches):
    candidates, losses = [], []
    for batch in batches:
        candidates.append(copied(train_state["params"]))
        train_state, loss = step(train_state, batch)
        losses.append(float(loss))
    return train_state, candidates[losses.index(min(losses))]


# %% right: a first pass finds the step, and a second one goes up to it
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    first = jax.tree.map(jnp.copy, train_state)
    losses = []
    for batch in batches:
        train_state, loss = step(train_state, batch)
        losses.append(loss)
    best = int(jnp.argmin(jnp.array(losses)))
    for batch in batches[:best]:
        first, _ = step(first, batch)
    return train_state, first["params"]


# %% right: arithmetic makes the new arrays
import jax
import jax.numpy as jnp


def start(params):
    new = jax.tree.map(lambda p: p + 0, params)
    return dict(params=new, average=jax.tree.map(lambda p: p * 1, new))


def train(step, train_state, batches):
    best, smallest = None, None
    for batch in batches:
        before = jax.tree.map(lambda p: p + 0, train_state["params"])
        train_state, loss = step(train_state, batch)
        if smallest is None or smallest > loss:
            best, smallest = before, loss
    return train_state, best


# %% right: the best params are kept as arrays of NumPy
import numpy as np

import jax
import jax.numpy as jnp


def start(params):
    leaves, structure = jax.tree.flatten(params)
    parts = [structure.unflatten([jnp.copy(leaf) for leaf in leaves]) for _ in range(2)]
    return {"params": parts[0], "average": parts[1]}


def train(step, train_state, batches):
    best, best_loss = None, np.inf
    for batch in batches:
        before = jax.tree.map(np.array, train_state["params"])
        train_state, loss = step(train_state, batch)
        if float(loss) < best_loss:
            best, best_loss = before, float(loss)
    return train_state, jax.tree.map(jnp.asarray, best)


# %% right: deepcopy of the whole train state, and a named tuple
import copy
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Trained(NamedTuple):
    train_state: Any
    best: Any


def start(params):
    return {"params": copy.deepcopy(params), "average": copy.deepcopy(params)}


def train(step, train_state, batches):
    history = []
    for batch in batches:
        before = copy.deepcopy(train_state)
        train_state, loss = step(train_state, batch)
        history.append((float(loss), before["params"]))
    _, best = min(history, key=lambda pair: pair[0])
    return Trained(train_state, best)


# %% right: the average is computed from a copy, and a selection without an if
import jax
import jax.numpy as jnp


@jax.jit
def doubled(params):
    return jax.tree.map(lambda p: (jnp.copy(p), jnp.copy(p)), params)


def start(params):
    pairs = doubled(params)
    return {
        "params": {name: jnp.copy(pair[0]) for name, pair in pairs.items()},
        "average": {name: jnp.copy(pair[1]) for name, pair in pairs.items()},
    }


@jax.jit
def better(loss, params, best_loss, best):
    is_better = loss < best_loss
    best = jax.tree.map(lambda new, old: jnp.where(is_better, new, old), params, best)
    return jnp.minimum(loss, best_loss), best


def train(step, train_state, batches):
    best = jax.tree.map(jnp.zeros_like, train_state["params"])
    best_loss = jnp.float32(jnp.inf)
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        best_loss, best = better(loss, before, best_loss, best)
    return train_state, best


# %% right: the step gets a copy, and the old train state stays alive
import functools

import jax
import jax.numpy as jnp


copied = functools.partial(jax.tree.map, jnp.copy)


def start(params):
    return copied({"params": params, "average": params})


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        new, loss = step(copied(train_state), batch)
        if loss < best_loss:
            best, best_loss = train_state["params"], loss
        train_state = new
    return train_state, best


# %% right: a while loop, and a copy of the best one
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    batches = list(batches)
    best, best_loss = None, float("inf")
    while batches:
        batch = batches.pop(0)
        params = {**train_state["params"]}
        for name in params:
            params[name] = jnp.copy(params[name])
        train_state, loss = step(train_state, batch)
        if not best_loss <= loss:
            best, best_loss = params, loss
    return train_state, best


# %% wrong: shared buffer | caller's params | donated
# the starter code
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    return {"params": params, "average": params}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = train_state["params"]
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: shared buffer
# one copy for both parts
import jax
import jax.numpy as jnp


def start(params):
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": params}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: shared buffer
# the second copy is only a new dict
import jax
import jax.numpy as jnp


def start(params):
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": dict(params)}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: shared buffer | caller's params | donated
# asarray makes no new array
import jax
import jax.numpy as jnp


def start(params):
    return {
        "params": jax.tree.map(jnp.asarray, params),
        "average": jax.tree.map(jnp.asarray, params),
    }


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: caller's params | donated
# only the average is a copy
import jax
import jax.numpy as jnp


def start(params):
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: caller's params | donated
# only the params are a copy
import jax
import jax.numpy as jnp


def start(params):
    return {"params": jax.tree.map(jnp.copy, params), "average": params}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: caller's params | donated
# one leaf is not copied
import jax
import jax.numpy as jnp


def start(params):
    w, b = params["w"], params["b"]
    return {
        "params": {"w": jnp.copy(w), "b": b},
        "average": {"w": jnp.copy(w), "b": jnp.copy(b)},
    }


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: donated
# `train` is as it was
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = train_state["params"]
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: donated
# a shallow copy of the dict
import copy

import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = copy.copy(train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: donated
# copied after the step
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        before = train_state["params"]
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = jax.tree.map(jnp.copy, before), loss
    return train_state, best


# %% wrong: donated
# each train state is kept in a list
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    states, losses = [train_state], []
    for batch in batches:
        train_state, loss = step(states[-1], batch)
        states.append(train_state)
        losses.append(float(loss))
    return states[-1], states[losses.index(min(losses))]["params"]


# %% wrong: before the step
# the params that came out
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = jax.tree.map(jnp.copy, train_state["params"]), loss
    return train_state, best


# %% wrong: -
# the best train state comes out in place of the last
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state)
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return best, best["params"]


# %% wrong: both parts
# the average begins with zeros
import jax
import jax.numpy as jnp


def start(params):
    return {
        "params": jax.tree.map(jnp.copy, params),
        "average": jax.tree.map(jnp.zeros_like, params),
    }


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: both parts
# the params are ones
import jax
import jax.numpy as jnp


def start(params):
    return {
        "params": jax.tree.map(jnp.ones_like, params),
        "average": jax.tree.map(jnp.copy, params),
    }


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: -
# swapped results
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return best, train_state


# %% wrong: -
# the smallest loss so far is never stored
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best = before
    return train_state, best


# %% wrong: -
# it begins with the loss 0
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, 0.0
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: -
# a slip in a name of the train state
import jax
import jax.numpy as jnp


def start(params):
    params, average = jax.tree.map(jnp.copy, (params, params))
    return {"params": params, "averages": average}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# %% wrong: -
# it returns after the first step
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts are equal to the params.
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    # Return the last train state and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
        return train_state, best
