"""A key for every step

repair, 7 min, haiku/randomness#a-key-for-every-step

Repair `start` and `run` so that no key is used twice. `start(rng, x)` returns params and a key;
`run(params, rng, xs)` draws a separate mask for each step and returns the stacked outputs and a
key. The check calls `start` once and then `run` twice: the second call gets the key that the first
call returned.

- How many times is each key used, if `start` is followed by `run`, and `run` by `run`?
- One line is missing in each function: in `start` before `model.init`, and in `run` within the
  loop.
- In the loop: `rng, step_rng = jax.random.split(rng)`, and `apply` gets `step_rng`.
"""

# %%
# A layer with dropout runs over a list of inputs and later continues with more
# inputs.
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    # <solution>
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng
    # </solution>
    #: params = model.init(rng, x)
    #: return params, rng


def run(params, rng, xs):
    # Return the outputs and a key to continue with.
    outputs = []
    for x in xs:
        #: outputs.append(model.apply(params, rng, x))
        # <solution>
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
        # </solution>
    return jnp.stack(outputs), rng


# %% setup
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np


def is_new(key, used):
    """Whether a key is none of those that are used."""
    numbers = jax.random.key_data
    return jnp.stack([(numbers(key) != numbers(one)).any() for one in used]).all()


# %% inputs
def inputs(rng):
    return np.uint32(rng.integers(2**31)), rng.normal(size=(3, 4))


# %% check the masks follow from the key; once; hidden key
def check(answer, seed, xs):
    def masks(seed):
        params, rng = answer.start(jax.random.key(seed), xs[0])
        return answer.run(params, rng, list(xs))[0] == 0

    return {
        "same key, same masks": (masks(seed) == masks(seed)).all(),
        "other key, other masks": (masks(seed) != masks(seed + 1)).any(),
    }


# %% check each step of both runs has its own mask, and no key is used twice; keys once; same mask
def check(answer, seed, xs):
    model, used = answer.model, []

    def apply(params, rng, x):
        used.append(rng)
        return model.apply(params, rng, x)

    params, start_rng = answer.start(jax.random.key(seed), xs[0])
    with mock.patch.object(answer, "model", model._replace(apply=apply)):
        first, rng = answer.run(params, start_rng, list(xs))
        second, rng = answer.run(params, rng, list(xs))
    whole = xs @ params["layer"]["w"] + params["layer"]["b"]
    dropped = jnp.concatenate([first, second]) == 0
    different = (dropped[:, None] != dropped).any(axis=-1)
    return {
        "key of start is new": is_new(start_rng, [jax.random.key(seed)]),
        "different in a run": different[:3, :3].sum(),
        "different runs": different[:3, 3:].all(),
        "key of run is unused": is_new(rng, used),
        "half are dropped": (dropped.mean() > 0.2) & (dropped.mean() < 0.8),
        "largest error": jnp.round(abs(jnp.where(first == 0, 0, first - 2 * whole)).max(), 3),
    }


# %% idea same mask
# The same key gives the same mask, so each step of a run drops the same units.
def run(params, rng, xs):
    rng, step_rng = jax.random.split(rng)
    return jnp.stack([model.apply(params, step_rng, x) for x in xs]), rng


# %%
def run(params, rng, xs):
    return jnp.stack([model.apply(params, rng, x) for x in xs]), rng


# %% idea key not carried
# The key that a run returns must be a key that no step has used yet, because the next run continues
# from it.
def run(params, rng, xs):
    keys = jax.random.split(rng, len(xs))
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), rng


# %%
def run(params, rng, xs):
    keys = [jax.random.fold_in(rng, step) for step in range(len(xs))]
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), keys[-1]


# %% idea hidden key; haiku/randomness#same-key-same-mask
# The masks must depend only on the key that is passed in: a different key gives different masks,
# and the same key gives the same masks.
keys = hk.PRNGSequence(0)


def run(params, rng, xs):
    return jnp.stack([model.apply(params, next(keys), x) for x in xs]), rng


# %%
def run(params, rng, xs):
    return right.run(params, jax.random.key(0), xs)


# %% idea key of init; haiku/randomness#the-same-key-for-init-and-apply
# The key that made the params is used up. Anything that is drawn from it later consists of the same
# random numbers as the params.
def start(rng, x):
    return model.init(rng, x), rng


# %%
def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), init_rng


# %% right all keys of a run at once
def run(params, rng, xs):
    rng, *keys = jax.random.split(rng, len(xs) + 1)
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), rng


# %% right the number of the step folded into a key of the run
def run(params, rng, xs):
    rng, root = jax.random.split(rng)
    keys = [jax.random.fold_in(root, step) for step in range(len(xs))]
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), rng
