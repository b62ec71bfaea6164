"""Two inputs, one encoder

repair, easy, 5 min, haiku/pure_pair#where-the-names-in-params-and-state-come-from

`distance(a, b)` compares two batches, and `encode(x)` encodes a single batch. Both should use the
same encoder. Repair `functions`: `model.init` makes the params of one module, `encoder`, and each
of the two functions in `model.apply` works with them.

- How many instances of `hk.Linear` are made when `distance` runs once?
- Look at where the instance is made. How many times does that line run?
- Make `encoder` in `functions`, before `encode`, which then only calls it.
"""

# %%
# Two pictures of the same person should be close to each other. The distance
# is computed between the outputs of an encoder.
import haiku as hk
import jax.numpy as jnp


def functions():
    # <solution>
    encoder = hk.Linear(4, name="encoder")

    # </solution>
    def encode(x):
        #: encoder = hk.Linear(4, name="encoder")
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply

# %% setup
import jax
import numpy as np


# %% inputs
def inputs(rng):
    params = {"encoder": {"w": rng.normal(0, 0.5, (3, 4)), "b": rng.normal(size=4)}}
    return params, *rng.normal(size=(2, 5, 3))


# %% check `init` creates the params of only one encoder; once
def check(answer, params, a, b):
    params = answer.model.init(jax.random.key(0), a, b)
    return jax.tree.map(lambda leaf: np.int32(leaf.shape), params)


# %% check `encode` and `distance` use the params of this encoder; pure jit; encode, distance
def check(answer, params, a, b):
    encode, distance = answer.model.apply
    return encode(params, None, a), distance(params, None, a, b)


def closed_form(params, a, b):
    w, bias = params["encoder"]["w"].astype(float), params["encoder"]["b"]
    first, second = np.tanh(a @ w + bias), np.tanh(b @ w + bias)
    return first, ((first - second) ** 2).sum(axis=-1)


# %% idea two instances
# Each new instance gets its own params, whatever its name is, because Haiku numbers instances with
# the same name. To share params, the program must call the same instance again.
def functions():
    _, (first, _) = right.functions()
    _, (second, _) = right.functions()
    distance = lambda a, b: jnp.sum((first(a) - second(b)) ** 2, axis=-1)
    return distance, (first, distance)


model = hk.multi_transform(functions)


# %%
def functions():
    encode = lambda x, name="encoder": jnp.tanh(hk.Linear(4, name=name)(x))
    distance = lambda a, b: jnp.sum((encode(a, "first") - encode(b, "second")) ** 2, axis=-1)
    return distance, (encode, distance)


model = hk.multi_transform(functions)


# %%
def functions():
    distance, _ = right.functions()
    _, (encode, _) = right.functions()
    return distance, (encode, distance)


model = hk.multi_transform(functions)


# %% idea path
# The params must be at the path that the exercise asks for. A path comes from the name of the
# module and from where the module is created.
def functions():
    encode = hk.Sequential([hk.Linear(4), jnp.tanh])
    distance = lambda a, b: jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)
    return distance, (encode, distance)


model = hk.multi_transform(functions)


# %% idea same functions
# Only where the encoder is created has to change. `encode` and `distance` must compute what they
# did before, and `model.apply` must hold them in this order.
def functions():
    encode = hk.Linear(4, name="encoder")
    distance = lambda a, b: jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)
    return distance, (encode, distance)


model = hk.multi_transform(functions)


# %%
def functions():
    encoder = hk.Linear(4, name="encoder")
    distance = lambda a, b: jnp.sum((jnp.tanh(encoder(a)) - encoder(b)) ** 2, axis=-1)
    return distance, (lambda x: jnp.tanh(encoder(x)), distance)


model = hk.multi_transform(functions)


# %%
def functions():
    distance, (encode, _) = right.functions()
    return distance, (distance, encode)


model = hk.multi_transform(functions)


# %% right an `hk.Sequential` that ends with tanh, and one pass for both inputs
def functions():
    encode = hk.Sequential([hk.Linear(4, name="encoder"), jnp.tanh])

    def distance(a, b):
        first, second = jnp.split(encode(jnp.concatenate([a, b])), 2)
        return jnp.square(first - second).sum(-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
