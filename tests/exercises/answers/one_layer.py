"""Answers to `one_layer`."""


# %% right: a sequence with the layer and tanh
import haiku as hk
import jax.numpy as jnp


def functions():
    encode = hk.Sequential([hk.Linear(4, name="encoder"), jnp.tanh])
    distance = lambda a, b: jnp.sum(jnp.square(encode(a) - encode(b)), axis=-1)
    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% right: the layer is a subclass with tanh in it
import haiku as hk
import jax.numpy as jnp


class Encoder(hk.Linear):
    def __call__(self, x):
        return jnp.tanh(super().__call__(x))


def functions():
    encoder = Encoder(output_size=4, name="encoder")

    def distance(a, b):
        difference = encoder(a) - encoder(b)
        return (difference * difference).sum(axis=-1)

    return distance, (encoder, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% right: a module of its own with the same params
import haiku as hk
import jax.numpy as jnp


class Encoder(hk.Module):
    def __call__(self, x):
        init = hk.initializers.TruncatedNormal(x.shape[-1] ** -0.5)
        w = hk.get_parameter("w", (x.shape[-1], 4), init=init)
        b = hk.get_parameter("b", (4,), init=jnp.zeros)
        return jnp.tanh(x @ w + b)


def functions():
    encode = Encoder(name="encoder")

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% right: the layer is made at its first call, and kept within the run
import haiku as hk
import jax.numpy as jnp


import functools as tools


def functions():
    encoder = tools.cache(lambda: hk.Linear(4, name="encoder"))

    def encode(x):
        return jnp.tanh(encoder()(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% right: a named tuple of functions, and one pass for both
import haiku as hk
import jax.numpy as jnp


from typing import Any, NamedTuple


class Functions(NamedTuple):
    encode: Any
    distance: Any


def functions():
    layer = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(layer(x))

    def distance(a, b):
        codes = encode(jnp.stack([a, b]))
        return jnp.sum((codes[0] - codes[1]) ** 2, axis=-1)

    return distance, Functions(encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% right: each function makes one instance of its own, and runs alone
# one instance in each run
import haiku as hk
import jax.numpy as jnp


def functions():
    def encode(x):
        encoder = hk.Linear(4, name="encoder")
        return jnp.tanh(encoder(x))

    def distance(a, b):
        encoder = hk.Linear(4, name="encoder")
        return jnp.sum((jnp.tanh(encoder(a)) - jnp.tanh(encoder(b))) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% right: an attribute of a class that is no module
import haiku as hk
import jax.numpy as jnp


class Comparison:
    def __init__(self):
        self.encoder = hk.Linear(4, name="encoder")

    def encode(self, x):
        return jnp.tanh(self.encoder(x))

    def distance(self, a, b):
        return jnp.linalg.norm(self.encode(a) - self.encode(b), axis=-1) ** 2


def functions():
    both = Comparison()
    template = lambda *batches: both.distance(*batches)
    return template, (both.encode, both.distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% right: vmap of Haiku over the rows
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(encoder(x))

    def one(a, b):
        difference = encode(a) - encode(b)
        return jnp.dot(difference, difference)

    def distance(a, b):
        return hk.vmap(one, split_rng=False)(a, b)

    def template(a, b):
        encode(a)
        return encode(b)

    return template, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% right: the encoder is passed to the helpers, which are made by partial
import haiku as hk
import jax.numpy as jnp


from functools import partial


def encoded(encoder, x):
    return jnp.tanh(encoder(x))


def compared(encoder, a, b):
    return jnp.einsum("ij,ij->i", *[encoded(encoder, a) - encoded(encoder, b)] * 2)


def functions():
    encoder = hk.Linear(4, name="encoder")
    encode = partial(encoded, encoder)
    distance = partial(compared, encoder)
    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: two instances
# the starter code
import haiku as hk
import jax.numpy as jnp


def functions():
    def encode(x):
        encoder = hk.Linear(4, name="encoder")
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: two instances
# one outside and, by the same name, one inside
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(encoder(x))

    def distance(a, b):
        encoder = hk.Linear(4, name="encoder")
        return jnp.sum((encode(a) - jnp.tanh(encoder(b))) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: two instances
# two instances before the functions
import haiku as hk
import jax.numpy as jnp


def functions():
    first = hk.Linear(4, name="encoder")
    second = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(first(x))

    def distance(a, b):
        return jnp.sum((encode(a) - jnp.tanh(second(b))) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: two instances
# a factory outside, which is called each time
import haiku as hk
import jax.numpy as jnp


def encoder():
    return hk.Sequential([hk.Linear(4, name="encoder"), jnp.tanh])


def functions():
    encode = lambda x: encoder()(x)
    distance = lambda a, b: jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)
    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: path
# the name is lost
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4)

    def encode(x):
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: path
# the sequence has the name, and the layer has the params
import haiku as hk
import jax.numpy as jnp


def functions():
    encode = hk.Sequential([hk.Linear(4), jnp.tanh], name="encoder")

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: path
# a layer within a module
import haiku as hk
import jax.numpy as jnp


class Encoder(hk.Module):
    def __init__(self, name="encoder"):
        super().__init__(name=name)
        self.layer = hk.Linear(4)

    def __call__(self, x):
        return jnp.tanh(self.layer(x))


def functions():
    encode = Encoder()

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: same functions
# tanh is lost
import haiku as hk
import jax.numpy as jnp


def functions():
    encode = hk.Linear(4, name="encoder")

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: same functions
# one of the two is encoded without tanh
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encoder(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: same functions
# the root of the sum
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.linalg.norm(encode(a) - encode(b), axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: same functions
# one distance for the whole batch
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: same functions
# the other order
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (distance, encode)


model = hk.multi_transform(functions)
distance, encode = model.apply


# %% wrong: outside of a transform
# made where no transform runs
import haiku as hk
import jax.numpy as jnp


encoder = hk.Linear(4, name="encoder")


def functions():
    def encode(x):
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: -
# the result is not returned
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(encoder(x))

    def distance(a, b):
        jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: -
# a slip in a name
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")

    def encode(x):
        return jnp.tanh(encodr(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# %% wrong: -
# one function, where the transform wants two
import haiku as hk
import jax.numpy as jnp


def functions(a, b):
    encoder = hk.Linear(4, name="encoder")
    first, second = jnp.tanh(encoder(a)), jnp.tanh(encoder(b))
    return jnp.sum((first - second) ** 2, axis=-1)


model = hk.transform(functions)
encode = distance = model.apply
