"""Batch normalization from its formula

write, hard, 10 min, haiku/batch_norm#the-layer-whose-state-matters

Complete the module `Normalize`. With `is_training=True` it normalizes each column of `x` by the
mean and the variance of this batch, and updates `mean` and `var` in the state: each becomes
`decay_rate` times its old value plus `1 - decay_rate` times the value of the batch. With
`is_training=False` it normalizes by the state and does not change it.

Both modes add `1e-5` to the variance before they take its root. The outputs must be accurate even
for inputs with a mean of 10,000 and a standard deviation of 1.

- Which statistics does each of the two modes use, and which mode writes the state?
- An `if is_training:` before the `return` can compute the statistics of the batch, write the
  running statistics, and let the last line use the statistics of the batch.
- The variance is `((x - mean) ** 2).mean(axis=0)`, with the mean of the batch; the mean and the
  variance are written with `hk.set_state`, as weighted sums of the old and the new value.
"""

# %%
# Normalize each column of a batch. The module also remembers a typical mean
# and variance, so it can normalize a single row.
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        # So far, the module can only evaluate. Add the training mode.
        # <solution>
        if is_training:
            d, running_mean, running_var = self.decay_rate, mean, var
            mean = x.mean(axis=0)
            var = ((x - mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * running_mean + (1 - d) * mean)
            hk.set_state("var", d * running_var + (1 - d) * var)
        # </solution>
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% setup
import numpy as np


def pair_of(answer, d, is_training):
    return hk.transform_with_state(lambda x: answer.Normalize(d, name="norm")(x, is_training))


# %% inputs
def inputs(rng):
    state = {"mean": rng.normal(size=3), "var": rng.uniform(1, 3, 3)}
    x = rng.normal(rng.uniform(-5, 5, 3), rng.uniform(0.5, 2, 3), (8, 3))
    x[:, 1] = rng.normal(0, 0.003, 8)  # as much variance as is added
    x[:, 2] = 2  # a column without variance
    far = rng.normal(rng.uniform(1e4, 3e4, 2), 1, (16, 2))
    return np.float32(rng.uniform(0.6, 0.9)), state, x, far


# %% check Training uses the statistics of the batch and updates the state; pure jit tolerance=1e-4; outputs, state
def check(answer, decay_rate, state, x, far):
    return pair_of(answer, decay_rate, True).apply({}, {"norm": state}, None, x)


def closed_form(decay_rate, state, x, far):
    d, x = float(decay_rate), x.astype(float)
    mean, var = x.mean(axis=0), x.var(axis=0)
    new = {"mean": d * state["mean"] + (1 - d) * mean, "var": d * state["var"] + (1 - d) * var}
    return (x - mean) / np.sqrt(var + 1e-5), {"norm": new}


# %% check Evaluation only reads the state; pure jit tolerance=1e-4; outputs, one row, state
def check(answer, decay_rate, state, x, far):
    apply = pair_of(answer, decay_rate, False).apply
    outputs, new_state = apply({}, {"norm": state}, None, x)
    return outputs, apply({}, {"norm": state}, None, x[:1])[0], new_state


# %% check The variance is accurate even if the values are far from zero; once
def check(answer, decay_rate, state, x, far):
    pair = pair_of(answer, 0.5, True)
    outputs, _state = pair.apply(*pair.init(None, far), None, far)
    return {"standard deviations are 1": abs(outputs.std(axis=0) - 1) < 0.02}


# %% idea evaluation
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        super().__call__(x, is_training)
        return (x - x.mean(axis=0)) / jnp.sqrt(x.var(axis=0) + 1e-5)


# %% idea dropped state
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        if is_training:
            return (x - x.mean(axis=0)) / jnp.sqrt(x.var(axis=0) + 1e-5)
        return super().__call__(x, is_training)


# %% idea batch statistics
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        return super().__call__(x, False)


# %%
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        super().__call__(x, is_training)
        return super().__call__(x, False)


# %% idea evaluation writes
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        outputs = super().__call__(x, is_training)
        super().__call__(x, not is_training)
        return outputs


# %% idea decay rate
class Normalize(right.Normalize):
    def __init__(self, decay_rate, name=None):
        super().__init__(1 - decay_rate, name)


# %% idea running statistics
# The outputs are right, but both running statistics must be updated, each from its old value and
# from the value of the batch, with the decay rate that was passed to the module.
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        outputs = super().__call__(x, is_training)
        hk.set_state("var", var)
        return outputs


# %%
class Normalize(right.Normalize):
    def __init__(self, decay_rate, name=None):
        super().__init__(0, name)


# %% idea variance; how_to/far_from_zero#how-to-far-from-zero
# The variance must be the mean of the squared deviations over all rows of the batch. It is neither
# a square root nor divided by the number of rows minus one.
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        d, var = self.decay_rate, hk.get_state("var", x.shape[1:], init=jnp.ones)
        outputs = super().__call__(x, is_training)
        if is_training:
            hk.set_state("var", d * var + (1 - d) * x.var(axis=0, ddof=1))
            outputs = (x - x.mean(axis=0)) / jnp.sqrt(x.var(axis=0, ddof=1) + 1e-5)
        return outputs


# %%
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        d, var = self.decay_rate, hk.get_state("var", x.shape[1:], init=jnp.ones)
        outputs = super().__call__(x, is_training)
        hk.set_state("var", d * var + (1 - d) * x.std(axis=0))
        return outputs


# %% idea one per column
# Each column must have its own mean and variance, which are taken over the rows.
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        return super().__call__(x.reshape(-1, 1), is_training).reshape(x.shape)


# %% idea cancellation; how_to/far_from_zero#how-to-far-from-zero
# In float32, the difference of two large and nearly equal numbers has hardly any correct digits, so
# with inputs far from zero, a variance must not be computed as such a difference.
class Normalize(right.Normalize):
    def __call__(self, x, is_training):
        outputs = super().__call__(x, is_training)
        var = (x**2).mean(axis=0) - x.mean(axis=0) ** 2
        return (x - x.mean(axis=0)) / jnp.sqrt(var + 1e-5) if is_training else outputs
