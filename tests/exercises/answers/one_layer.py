# right: a sequence that ends with tanh, and one pass for both
import haiku as hk
import jax.numpy as jnp


def functions():
    encoder = hk.Linear(4, name="encoder")
    encode = hk.Sequential([encoder, jnp.tanh])

    def distance(a, b):
        first, second = jnp.split(encode(jnp.concatenate([a, b])), 2)
        return jnp.square(first - second).sum(-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)

# wrong: two instances
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

# wrong: two instances
import haiku as hk
import jax.numpy as jnp


def functions():
    def encode(x, name="encoder"):
        return jnp.tanh(hk.Linear(4, name=name)(x))

    def distance(a, b):
        return jnp.sum((encode(a, "first") - encode(b, "second")) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)

# wrong: path
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

# wrong: distance to itself
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

# wrong: two instances
import haiku as hk
import jax.numpy as jnp


def functions():
    def encode(x):
        return jnp.tanh(hk.Linear(4, name="encoder")(x))

    def distance(a, b):
        encoder = hk.Linear(4, name="encoder")
        return jnp.sum((jnp.tanh(encoder(a)) - jnp.tanh(encoder(b))) ** 2, axis=-1)

    def both(a, b):
        return encode(a), distance(a, b)

    return both, (encode, distance)


model = hk.multi_transform(functions)

# wrong: same functions
import haiku as hk
import jax.numpy as jnp


def functions():
    encode = hk.Linear(4, name="encoder")

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply
