"""Three uses, two modes

repair, easy, 6 min, haiku/batch_norm#tracing-the-mode

Repair the program. `start(x)` returns the first state, `learn(state, x)` returns the normalized
batch and the new state, and `evaluate(state, x)` returns the normalized rows. The module must
remain compiled in `learn` and `evaluate`. A row that is evaluated alone must give the same result
as in a batch.

- In which of the three functions must the module use the batch's statistics?
- One mistake is in the call to `jax.jit`, one is in the call to `pair.init`, and one is in
  `evaluate`. What does `jax.jit` do with an argument that is a bool?
- `jax.jit(pair.apply, static_argnames="is_training")` keeps the mode a Python value.
"""

# %%
# A normalization in its three uses. The mode is chosen wrongly in three
# places.
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
#: apply = jax.jit(pair.apply)
# <solution>
apply = jax.jit(pair.apply, static_argnames="is_training")
# </solution>


def start(x):
    # Return the first state.
    #: _, state = pair.init(None, x, is_training=False)
    # <solution>
    _, state = pair.init(None, x, is_training=True)
    # </solution>
    return state


def learn(state, x):
    # Return the normalized batch and the new state.
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    # Return the normalized rows; the result for a row does not depend on the
    # other rows.
    #: outputs, _ = apply({}, state, None, x, is_training=True)
    # <solution>
    outputs, _ = apply({}, state, None, x, is_training=False)
    # </solution>
    return outputs


# %% setup
import numpy as np
from haiku_state.exercises.counting import counted_runs


# %% inputs
def inputs(rng):
    counter, state = np.int32(rng.integers(3, 9)), {}
    for name in ("mean_ema", "var_ema"):
        hidden = rng.uniform(1, 2, (1, 2))
        average = hidden / (1 - 0.9**counter)
        state[f"norm/~/{name}"] = {"hidden": hidden, "average": average, "counter": counter}
    return state, rng.normal(rng.uniform(-3, 3, 2), rng.uniform(1, 2, 2), (8, 2))


# %% check `start` returns the first statistics, with counters of 0; pure jit once tolerance=1e-4
def check(answer, state, x):
    return answer.start(x)


# %% check `learn` normalizes and returns the new state; pure jit once tolerance=1e-4; output, state
def check(answer, state, x):
    return answer.learn(state, x)


def closed_form(state, x):
    mean, var = x.mean(axis=0, dtype=float), x.var(axis=0, dtype=float)
    new = {}
    for name, value in (("norm/~/mean_ema", mean), ("norm/~/var_ema", var)):
        hidden, counter = 0.9 * state[name]["hidden"] + 0.1 * value, state[name]["counter"] + 1
        average = hidden / (1 - 0.9**counter)
        new[name] = {"hidden": hidden, "average": average, "counter": counter}
    return (x - mean) / np.sqrt(var + 1e-5), new


# %% check `evaluate` gives a single row the same output as in a batch; pure jit once tolerance=1e-4; batch, row
def check(answer, state, x):
    return answer.evaluate(state, x), answer.evaluate(state, x[:1])


# %% check `learn` and `evaluate` are compiled and run no Python code in a second call; once
def check(answer, state, x):
    runs_of = {}
    for name in ("learn", "evaluate"):
        getattr(answer, name)(state, x)
        with counted_runs(hs.BatchNorm.__call__) as runs:
            getattr(answer, name)(state, x + 1)
        runs_of[name] = len(runs)
    return runs_of


# %% idea evaluation
def evaluate(state, x):
    return right.learn(state, x)[0]


# %%
def evaluate(state, x):
    return right.evaluate(state, x) if len(x) == 1 else right.learn(state, x)[0]


# %%
def evaluate(state, x):
    return right.evaluate(right.learn(state, x)[1], x)


# %% idea nothing to read; haiku/batch_norm#initializing-in-evaluation-mode
# The module must be initialized in the mode that creates its running statistics. In evaluation it
# only reads them, but during `init` they do not exist yet.
def start(x):
    return pair.init(None, x, is_training=False)[1]


# %% idea traced mode; haiku/batch_norm#tracing-the-mode
# The mode decides which Python code runs, so it must be known while JAX traces. An ordinary
# argument of a compiled function is a tracer, which has no value at that time.
apply = jax.jit(pair.apply)


# %%
def start(x):
    return jax.jit(pair.init)(None, x, is_training=True)[1]


# %% idea nothing learned; haiku/batch_norm#training-and-evaluation
# The running statistics are the same as before. `learn` must use the mode that updates them, and it
# must return the new state.
def learn(state, x):
    return apply({}, state, None, x, is_training=False)


# %%
def learn(state, x):
    return right.learn(state, x)[0], state


# %% idea not compiled; pure/thinking_in_jax#what-jit-compiles-again
# The module's Python code ran again for a batch of the same shape. The function must be compiled
# once and kept, so that later calls use the compiled program.
apply = pair.apply


# %%
def learn(state, x):
    return pair.apply({}, state, None, x, is_training=True)


# %%
def evaluate(state, x):
    return pair.apply({}, state, None, x, is_training=False)[0]


# %% right two compiled functions, one for each mode
train_mode = jax.jit(lambda state, x: pair.apply({}, state, None, x, True))
test_mode = jax.jit(lambda state, x: pair.apply({}, state, None, x, False)[0])


def learn(state, x):
    return train_mode(state, x)


def evaluate(state, x):
    return test_mode(state, x)
