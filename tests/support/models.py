"""What tests train: rows, models, their loss functions, and train states to begin with."""

import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs

FLOAT16 = "params=float32,compute=float16,output=float32"


def rows(count=16, seed=0, mean=0.0, spread=1.0):
    """Normal inputs of three features, and targets."""
    rng = np.random.default_rng(seed)
    return {
        "inputs": rng.normal(mean, spread, (count, 3)).astype(np.float32),
        "targets": rng.normal(size=count).astype(np.float32),
    }


def padded(batch, size, fill=0.0):
    """Add rows that are filled up with a number, and the mask of the real ones."""
    count = len(jax.tree.leaves(batch)[0])

    def pad(values):
        extra = np.full((size - count, *values.shape[1:]), fill, values.dtype)
        return np.concatenate([values, extra])

    return {**jax.tree.map(pad, batch), "mask": np.float32(np.arange(size) < count)}


def real_rows(batch):
    """The weight of a padded batch."""
    return batch["mask"].sum()


def line(normalized=False, axis=None, is_training=True):
    """A linear regression, of decay rate 0.9."""
    return hs.pure_pair(
        lambda x: hs.LinearRegression(normalized, 0.9, cross_replica_axis=axis)(x, is_training)
    )


def squared_error(pair):
    """The loss function of a regression, with one metric."""

    def loss_fn(params, state, rng, batch):
        prediction, state = pair.apply(params, state, rng, batch["inputs"])
        loss = jnp.mean(jnp.square(prediction - batch["targets"]))
        return loss, (state, {"twice": 2 * loss})

    return loss_fn


def cross_entropy(pair):
    """The loss function of a classifier."""

    def loss_fn(params, state, rng, batch):
        logits, state = pair.apply(params, state, rng, batch["inputs"])
        scores = jax.nn.log_softmax(logits.astype(jnp.float32))
        labels = jax.nn.one_hot(batch["targets"], logits.shape[-1])
        return -jnp.mean(jnp.sum(scores * labels, axis=-1)), (state, {})

    return loss_fn


def start(pair, optimizer, batch, seed=0):
    """The train state of a model, for batches like this one."""
    return hs.init_train_state(pair.init, optimizer, jax.random.key(seed), batch["inputs"])


def start_from(params, state, optimizer):
    """A train state with these params and this state."""
    return hs.init_train_state(lambda rng: (params, state), optimizer, jax.random.key(0))
