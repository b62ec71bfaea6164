"""An average that hardly moves

repair, medium, 5 min, haiku/batch_norm#an-average-that-starts-right

`update` should keep the part `decay` of the old average and take the rest from the new value, so that a
decay near 1 gives a slow average. It is the other way round: repair it.

- What should `update` return with a decay of 1, and what does it return?
- The two weights are `decay` and `1 - decay`; which of them belongs to the old average?
- `decay * average + (1 - decay) * value` is the new average.
"""

# %%
# The moving average of a layer's inputs.


def update(average, value, decay):
    # Return the new average.
    #: return (1 - decay) * average + decay * value
    # <solution>
    return decay * average + (1 - decay) * value
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    average, value = rng.normal(size=(2, 3)).astype(np.float32)
    return average, value, np.float32(rng.uniform(0.7, 0.95))


# %% check one update; pure jit vmap types weak draws=5 tolerance=1e-4
def check(answer, average, value, decay):
    return answer.update(average, value, decay)


# %% check ten updates with the same value; pure jit draws=5 tolerance=1e-4
def check(answer, average, value, decay):
    for _ in range(10):
        average = answer.update(average, value, decay)
    return average


def closed_form(average, value, decay):
    return value + decay**10 * (average - value)


# %% idea swapped weights; haiku/batch_norm#an-average-that-starts-right
# The old average has the weight `decay`. With the weights swapped, a decay of 0.9 forgets nine tenths.
def update(average, value, decay):
    return (1 - decay) * average + decay * value


# %% idea weights
# The weights of the old average and of the new value add up to 1.
def update(average, value, decay):
    return decay * average + value


# %%
def update(average, value, decay):
    return average + (1 - decay) * value


# %% idea no memory
# The new average has to depend on the old one, or it is the last value and no average.
def update(average, value, decay):
    return value


# %% right the step toward the value
def update(average, value, decay):
    return average + (1 - decay) * (value - average)
