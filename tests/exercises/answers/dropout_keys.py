"""Answers to `dropout_keys`."""


# %% right: an alias of apply
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)
init, apply = model.init, model.apply


def start(rng, x):
    init_rng, rng = jax.random.split(rng)
    return init(init_rng, x), rng


def run(params, rng, xs):
    outputs = []
    for x in xs:
        step_rng, rng = jax.random.split(rng)
        outputs.append(apply(params, step_rng, x))
    return jnp.stack(outputs), rng


# %% right: a scan whose carry is the key
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    def step(rng, x):
        rng, step_rng = jax.random.split(rng)
        return rng, model.apply(params, step_rng, x)

    rng, outputs = jax.lax.scan(step, rng, jnp.stack(xs))
    return outputs, rng


# %% right: vmap over keys and inputs
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    rng, steps_rng = jax.random.split(rng)
    keys = jax.random.split(steps_rng, len(xs))
    outputs = jax.vmap(model.apply, in_axes=(None, 0, 0))(params, keys, jnp.stack(xs))
    return outputs, rng


# %% right: Haiku's sequence of keys
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    keys = hk.PRNGSequence(rng)
    return model.init(next(keys), x), next(keys)


def run(params, rng, xs):
    keys = hk.PRNGSequence(rng)
    outputs = jnp.stack([model.apply(params, next(keys), x) for x in xs])
    return outputs, next(keys)


# %% right: only fold_in, with a number of its own for each key
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    params = model.init(jax.random.fold_in(rng, 0), x)
    return params, jax.random.fold_in(rng, 1)


def run(params, rng, xs):
    outputs = []
    for i, x in enumerate(xs):
        outputs.append(model.apply(params, jax.random.fold_in(rng, i), x))
    return jnp.stack(outputs), jax.random.fold_in(rng, len(xs))


# %% right: a compiled step, which returns the next key, and named tuples
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)
from typing import Any, NamedTuple


class Started(NamedTuple):
    params: Any
    rng: Any


class Ran(NamedTuple):
    outputs: Any
    rng: Any


@jax.jit
def step(params, rng, x):
    rng, step_rng = jax.random.split(rng)
    return model.apply(params, step_rng, x), rng


def start(rng, x):
    first, second = jax.random.split(rng, 2)
    return Started(model.init(second, x), first)


def run(params, rng, xs):
    outputs = []
    for x in xs:
        output, rng = step(params, rng, x)
        outputs.append(output)
    return Ran(jnp.array(outputs), rng)


# %% right: the last key of a split is carried on, and a recursion
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(key, x):
    keys = jax.random.split(key, 3)
    return model.init(keys[1], x), keys[2]


def run(params, rng, xs):
    def rest(rng, xs):
        if not len(xs):
            return [], rng
        now, later = jax.random.split(rng)
        outputs, last = rest(later, xs[1:])
        return [model.apply(params, now, xs[0]), *outputs], last

    outputs, rng = rest(rng, xs)
    return jnp.stack(outputs), rng


# %% right: the mask is drawn by hand, and everything of run is compiled
import functools

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

KEEP = np.float32(0.5)


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    mask = jax.random.bernoulli(hk.next_rng_key(), KEEP, x.shape)
    return jnp.where(mask, x / KEEP, 0)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


@jax.jit
def run(params, rng, xs):
    rng, *step_keys = jax.random.split(rng, 1 + len(xs))
    outputs = [model.apply(params, key, x) for key, x in zip(step_keys, xs, strict=True)]
    return jnp.stack(outputs), rng


# %% right: the model is applied without a sequence of keys
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), rate=0.5, x=x)


model = hk.transform(forward)

def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    key_of_this_run, key_of_the_next_run = jax.random.split(rng)
    keys = jax.random.split(key_of_this_run, len(xs))
    apply = lambda pair: model.apply(params, *pair)
    return jax.lax.map(apply, (keys, jnp.asarray(xs))), key_of_the_next_run


# %% right: fold_in, and the keys are stacked
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    return model.init(jax.random.fold_in(rng, 1), x), jax.random.fold_in(rng, 2)


def run(params, rng, xs):
    *keys, rng = (jax.random.fold_in(rng, i) for i in range(len(xs) + 1))
    return jax.vmap(model.apply, (None, 0, 0))(params, jnp.stack(keys), jnp.stack(xs)), rng


# %% wrong: same mask | key not carried | key of init | key reused
# the starter code
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    params = model.init(rng, x)
    return params, rng


def run(params, rng, xs):
    # Return the outputs and a key to continue with.
    outputs = []
    for x in xs:
        outputs.append(model.apply(params, rng, x))
    return jnp.stack(outputs), rng


# %% wrong: same mask | key not carried | key reused
# only `start` is repaired
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for x in xs:
        outputs.append(model.apply(params, rng, x))
    return jnp.stack(outputs), rng


# %% wrong: key of init | key reused
# only `run` is repaired
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    params = model.init(rng, x)
    return params, rng



def run(params, rng, xs):
    # Return the outputs and a key to continue with.
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng


# %% wrong: key of init | key reused
# the key is split after it was used
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    params = model.init(rng, x)
    rng, _ = jax.random.split(rng)
    return params, rng



def run(params, rng, xs):
    # Return the outputs and a key to continue with.
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng


# %% wrong: key of init | key reused
# a slip between the two names
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    params = model.init(rng, x)
    return params, rng



def run(params, rng, xs):
    # Return the outputs and a key to continue with.
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng


# %% wrong: same mask | key reused
# one split for the whole run
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    rng, step_rng = jax.random.split(rng)
    for x in xs:
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng


# %% wrong: key not carried | key reused
# all masks of a run are different, but the next run has them again
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for x, step_rng in zip(xs, jax.random.split(rng, len(xs))):
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng


# %% wrong: key not carried | key reused
# the step gets the key that is carried on
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, rng, x))
    return jnp.stack(outputs), rng


# %% wrong: key not carried | key reused
# the key of the last step comes out
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), step_rng


# %% wrong: key reused
# used, and then split
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for x in xs:
        outputs.append(model.apply(params, rng, x))
        rng, _ = jax.random.split(rng)
    return jnp.stack(outputs), rng


# %% wrong: key reused
# used, and then folded
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for step, x in enumerate(xs):
        outputs.append(model.apply(params, rng, x))
        rng = jax.random.fold_in(rng, step)
    return jnp.stack(outputs), rng


# %% wrong since 0.5: key not carried | key reused
# the first part of a split is what fold_in gives for 0, so the first step has used it
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for step, x in enumerate(xs):
        outputs.append(model.apply(params, jax.random.fold_in(rng, step), x))
    rng, _ = jax.random.split(rng)
    return jnp.stack(outputs), rng


# %% wrong: hidden key | key reused
# the number of the step as the seed
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for step, x in enumerate(xs):
        outputs.append(model.apply(params, jax.random.key(step), x))
    rng, _ = jax.random.split(rng)
    return jnp.stack(outputs), rng


# %% wrong: hidden key | not repeatable
# a sequence of keys outside the functions
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)
keys = hk.PRNGSequence(42)


def start(rng, x):
    return model.init(next(keys), x), next(keys)


def run(params, rng, xs):
    outputs = [model.apply(params, next(keys), x) for x in xs]
    return jnp.stack(outputs), next(keys)


# %% wrong: -
# swapped results
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
    return rng, jnp.stack(outputs)


# %% wrong: -
# the outputs are added and not stacked
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = 0
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs += model.apply(params, step_rng, x)
    return outputs, rng


# %% wrong: -
# nothing is dropped any more: then all masks are the same for another reason
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.0, x)


model = hk.transform(forward)

def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng


def run(params, rng, xs):
    # Return the outputs and a key to continue with.
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng


# %% wrong: -
# a name that does not exist
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params and a key for the steps.
    rng, init_rng = jax.random.split(rng)
    params = model.init(init_rng, x)
    return params, rng



def run(params, rng, xs):
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_key, x))
    return jnp.stack(outputs), rng
