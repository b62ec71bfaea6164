# right: the copies are made by deepcopy, and the best params by one more step back
import copy


def start(params):
    return {"params": copy.deepcopy(params), "average": copy.deepcopy(params)}


def train(step, train_state, batches):
    best, best_loss = None, None
    for batch in batches:
        before = copy.deepcopy(train_state)
        train_state, loss = step(train_state, batch)
        if best is None or loss < best_loss:
            best, best_loss = before["params"], float(loss)
    return train_state, best

# wrong: shared buffer
import jax
import jax.numpy as jnp


def start(params):
    copy = jax.tree.map(jnp.copy, params)
    return {"params": copy, "average": copy}


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best

# wrong: shared buffer
import jax
import jax.numpy as jnp


def start(params):
    return {"params": params, "average": dict(params)}


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best

# wrong: caller's params
import jax
import jax.numpy as jnp


def start(params):
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best

# wrong: donated buffer
import jax
import jax.numpy as jnp


def start(params):
    return jax.tree.map(jnp.copy, {"params": params, "average": params})


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        before = dict(train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best

# wrong: donated buffer
import jax
import jax.numpy as jnp


def start(params):
    return jax.tree.map(jnp.copy, {"params": params, "average": params})


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        before = train_state["params"]
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = jax.tree.map(jnp.copy, before), loss
    return train_state, best

# wrong: before the step
import jax
import jax.numpy as jnp


def start(params):
    return jax.tree.map(jnp.copy, {"params": params, "average": params})


def train(step, train_state, batches):
    best, best_loss = None, float("inf")
    for batch in batches:
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best = jax.tree.map(jnp.copy, train_state["params"])
            best_loss = loss
    return train_state, best

# wrong: both parts
import jax
import jax.numpy as jnp


def train(step, train_state, batches):
    # Return the last train state, and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


def start(params):
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"params": jax.tree.map(jnp.copy, params), "average": zeros}

# wrong: before the step
import jax
import jax.numpy as jnp


def start(params):
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def train(step, train_state, batches):
    best, best_loss = None, float("-inf")
    for batch in batches:
        before = jax.tree.map(jnp.copy, train_state["params"])
        train_state, loss = step(train_state, batch)
        if loss > best_loss:
            best, best_loss = before, loss
    return train_state, best
