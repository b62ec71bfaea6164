"""A key for every step

repair, medium, 7 min, haiku/randomness#a-key-for-every-step

Repair `start` and `run` so that no key is used twice. `start(rng, x)` returns params and a key;
`run(params, rng, xs)` draws a separate mask for each step and returns the stacked outputs and a
key. The first run gets the key that `start` returned, and each later run gets the key that the
previous run returned.

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
import numpy as np


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def numbered(rows):
    """Number the rows of an array; equal rows get the number of the first of them."""
    return (rows[:, None] == rows).all(axis=-1).argmax(axis=-1) + 1


# %% inputs
def inputs(rng):
    return np.uint32(rng.integers(2**31)), rng.normal(size=(3, 4))


# %% check The params and masks depend only on the keys, and no key is used twice; once
def check(answer, seed, xs):
    key, other = jax.random.key(seed), jax.random.key(seed + 1)
    starts = [answer.start(one, xs[0]) for one in (key, key, other)]
    (params, start_key), (_, same_key), (_, other_key) = starts
    first, next_key = answer.run(params, start_key, list(xs))
    second, last_key = answer.run(params, next_key, list(xs))
    again, _ = answer.run(params, same_key, list(xs))
    with_other, _ = answer.run(params, other_key, list(xs))
    masks = jnp.concatenate([first, second, again, with_other]).reshape(-1, 40) == 0
    number = numbered(masks)
    handed = [key, start_key, next_key, last_key]
    drawn = jnp.stack([model.apply(params, one, xs[0]) == 0 for one in handed])
    used = (masks[:6, None] == drawn).all(axis=-1).sum(axis=0)
    made = [params for params, _ in starts] + [model.init(one, xs[0]) for one in handed[:2]]
    whole = xs @ params["layer"]["w"] + params["layer"]["b"]
    error = jnp.where(first == 0, 0, first - 2 * whole)
    return {
        "masks of run 1, numbered": number[:3],
        "masks of run 2": number[3:6],
        "masks of run 1 again": number[6:9],
        "masks of a run with another key": number[9:],
        "params, numbered": numbered(jnp.stack([one["layer"]["w"][0] for one in made])),
        "keys of the caller, numbered": numbered(drawn),
        "steps that draw with these keys": used,
        "largest error": jnp.round(abs(error).max(), 3),
    }


# %% idea same mask
# Each step must have a key of its own. The same key gives the same mask, so each step of this run
# drops the same units.
def run(params, rng, xs):
    rng, step_rng = jax.random.split(rng)
    return jnp.stack([model.apply(params, step_rng, x) for x in xs]), rng


# %%
def run(params, rng, xs):
    return jnp.stack([model.apply(params, rng, x) for x in xs]), rng


# %%
def start(rng, x):
    return model.init(rng, x), rng


def run(params, rng, xs):
    return jnp.stack([model.apply(params, rng, x) for x in xs]), rng


# %% idea key not carried
# The key that a run returns must be a new key that no step has used, because the next run continues
# from it.
def run(params, rng, xs):
    keys = jax.random.split(rng, len(xs))
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), rng


# %%
def run(params, rng, xs):
    rng, *keys = jax.random.split(rng, len(xs) + 1)
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), keys[-1]


# %% idea key reused
def run(params, rng, xs):
    outputs = []
    for x in xs:
        outputs.append(model.apply(params, rng, x))
        rng, _ = jax.random.split(rng)
    return jnp.stack(outputs), rng


# %% idea hidden key; haiku/randomness#same-key-same-mask
# The masks must depend only on the key that is passed in: a different key gives different masks,
# and the same key gives the same masks.
keys = hk.PRNGSequence(0)


def start(rng, x):
    return model.init(next(keys), x), next(keys)


def run(params, rng, xs):
    return jnp.stack([model.apply(params, next(keys), x) for x in xs]), next(keys)


# %%
def run(params, rng, xs):
    outputs, _ = right.run(params, jax.random.key(0), xs)
    return outputs, jax.random.split(rng)[0]


# %% idea key of init; haiku/randomness#the-same-key-for-init-and-apply
# The key that made the params must not be used again, because whatever is drawn from it later is
# not independent of the params.
def start(rng, x):
    return model.init(rng, x), rng


# %%
def start(rng, x):
    return model.init(rng, x), jax.random.split(rng)[0]


# %%
def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), init_rng


# %% right the number of the step, folded into a key of the run
def run(params, rng, xs):
    rng, root = jax.random.split(rng)
    keys = [jax.random.fold_in(root, step) for step in range(len(xs))]
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), rng
