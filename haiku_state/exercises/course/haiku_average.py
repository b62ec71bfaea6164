"""An average of squares that starts right

write, 10 min, haiku/batch_norm#an-average-that-starts-right

Write `SquaredAverage(decay_rate)(gradient)`: it returns the zero-debiased moving average of
`gradient**2`. Its state has two leaves. `hidden` is the average before the correction: it has the
shape and dtype of `gradient` and starts as zeros. `counter` is the number of steps so far: int32,
of shape `()`.

- Which two values does a step need from the step before it?
- Read both with `hk.get_state`, compute both new values, and write both with `hk.set_state`; only
  the value after `return` is corrected.
- The new `hidden` is `decay_rate * hidden + (1 - decay_rate) * gradient**2`, and the output is
  `hidden / (1 - decay_rate**counter)` with the new counter.
"""

# %%
# The Adam optimizer divides each step by the root of an average of squared
# gradients. The module keeps that average and corrects for its start at zero.
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        # Update the average and return it, corrected for its start at zero.
        #: hidden = jnp.zeros(gradient.shape)
        #: return hidden
        # <solution>
        shape, dtype = gradient.shape, gradient.dtype
        hidden = hk.get_state("hidden", shape, dtype, init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros) + 1
        hidden += (1 - self.decay_rate) * (gradient**2 - hidden)
        hk.set_state("hidden", hidden)
        hk.set_state("counter", counter)
        return hidden / (1 - self.decay_rate**counter)
        # </solution>


# %% setup
import haiku as hk
import numpy as np


def pair_of(answer, decay_rate):
    return hk.transform_with_state(lambda x: answer.SquaredAverage(decay_rate, name="v")(x))


def steps(answer, decay_rate, gradients, state):
    outputs = []
    for gradient in gradients:
        output, state = pair_of(answer, decay_rate).apply({}, state, None, gradient)
        outputs.append(output)
    return outputs, state


# %% inputs
def inputs(rng):
    gradients, hidden = rng.normal(0, 3, (3, 2)), rng.uniform(1, 5, 2)
    return np.float32(rng.uniform(0.4, 0.9)), gradients, hidden, np.int32(rng.integers(2, 5))


# %% check `init` returns zeros in the required shapes and dtypes; types; not in the state
def check(answer, decay_rate, gradients, hidden, counter):
    return pair_of(answer, decay_rate).init(None, gradients[0])


# %% check the first steps are averaged and corrected; ; moving average
def check(answer, decay_rate, gradients, hidden, counter):
    _, state = pair_of(answer, decay_rate).init(None, gradients[0])
    return steps(answer, decay_rate, gradients, state)


# %% check it continues from any state and returns the next state; pure jit vmap; moving average
def check(answer, decay_rate, gradients, hidden, counter):
    state = {"v": {"hidden": hidden, "counter": counter}}
    return steps(answer, decay_rate, gradients, state)


def closed_form(decay_rate, gradients, hidden, counter):
    d, outputs = float(decay_rate), []
    for gradient in gradients.astype(float):
        hidden, counter = d * hidden + (1 - d) * gradient**2, counter + 1
        outputs.append(hidden / (1 - d**counter))
    return outputs, {"v": {"hidden": hidden, "counter": counter}}


# %% idea initial value
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        hk.get_state("hidden", (), init=jnp.zeros)
        return super().__call__(gradient)


# %%
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        hk.get_state("hidden")
        return super().__call__(gradient)


# %% idea not in the state
class SquaredAverage(right.SquaredAverage):
    hidden, counter = 0, 0

    def __call__(self, gradient):
        self.counter += 1
        self.hidden += (1 - self.decay_rate) * (gradient**2 - self.hidden)
        return self.hidden / (1 - self.decay_rate**self.counter)


# %%
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        hidden = hk.get_parameter("hidden", gradient.shape, init=jnp.zeros)
        hk.set_state("hidden", hidden + (1 - self.decay_rate) * (gradient**2 - hidden))
        return super().__call__(gradient)


# %% idea dropped state
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros)
        output = super().__call__(gradient)
        hk.set_state("counter", counter)
        return output


# %%
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        hidden = hk.get_state("hidden", gradient.shape, init=jnp.zeros)
        output = super().__call__(gradient)
        hk.set_state("hidden", hidden)
        return output


# %% idea decay rate
class SquaredAverage(right.SquaredAverage):
    def __init__(self, decay_rate, name=None):
        super().__init__(1 - decay_rate, name)

    def __call__(self, gradient):
        super().__call__(gradient)
        return hk.get_state("hidden") / (1 - (1 - self.decay_rate) ** hk.get_state("counter"))


# %% idea start at zero
# After t steps from zero, the moving average is only a fraction of a full average, so the output is
# still too small in the first steps.
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        super().__call__(gradient)
        return hk.get_state("hidden")


# %% idea counted first
# The divisor is the fraction that the average has reached *after* this step, so this step is
# counted too.
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        super().__call__(gradient)
        return hk.get_state("hidden") / (1 - self.decay_rate ** (hk.get_state("counter") - 1))


# %% idea corrected twice
# The next step continues from what is kept in the state. If that value is already corrected, the
# correction is applied again at every step.
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        output = super().__call__(gradient)
        hk.set_state("hidden", output)
        return output


# %% idea moving average
# In each step, the average keeps a part of itself and takes the remainder from the new value, which
# here is the square of the gradient.
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        return super().__call__(jnp.sqrt(jnp.abs(gradient)))


# %% right the weights written out, the counter as a float in the power
class SquaredAverage(right.SquaredAverage):
    def __call__(self, gradient):
        d = self.decay_rate
        hk.set_state("counter", hk.get_state("counter", (), jnp.int32, jnp.zeros) + 1)
        old = hk.get_state("hidden", gradient.shape, init=jnp.zeros)
        hk.set_state("hidden", d * old + (1 - d) * jnp.square(gradient))
        share = 1 - d ** hk.get_state("counter").astype(jnp.float32)
        return hk.get_state("hidden") / share
