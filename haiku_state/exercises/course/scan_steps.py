"""From a loop to a scan

port, medium, 8 min, update/many_steps#scanning-the-update-step

`train` takes many steps in one call. Its results are right, but its program grows with the number
of steps. Rewrite it with `jax.lax.scan`. `train(train_state, batches)` gets batches that are
already stacked, with the steps along the first axis of each leaf. It returns the last train state
and an array with the losses of all steps. Each leaf of the train state keeps its dtype: the count
is an integer.

- Which value does each iteration pass on to the next, and which value is only an output?
- The signature of `step` already fits the body of a scan. Only one of its lines changes a type.
- `jax.lax.scan(step, train_state, batches)` returns both results. In `step`, the number that is
  added to the count must be an integer.
"""

# %%
# A line through zero is fitted batch by batch. The train state counts the
# batches whose loss was large.
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    #: large = train_state["large"] + jnp.where(loss > 1, 1.0, 0.0)
    # <solution>
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    # </solution>
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    #: losses = []
    #: for i in range(len(batches["x"])):
    #:     batch = jax.tree.map(lambda leaf: leaf[i], batches)
    #:     train_state, loss = step(train_state, batch)
    #:     losses.append(loss)
    #: return train_state, jnp.stack(losses)
    # <solution>
    return jax.lax.scan(step, train_state, batches)
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    train_state = {"w": np.float32(rng.normal(2, 0.3)), "large": np.int32(rng.integers(1, 9))}
    x, noise = rng.normal(size=(2, 5, 8))
    sizes = rng.permutation([0.2, 0.3, 0.4, 2, 3])  # two of the losses are large
    return train_state, {"x": x, "y": 2 * x + noise * sizes[:, None]}


# %% check `train` takes all steps and keeps the types; pure jit weak once; train state, losses
def check(answer, train_state, batches):
    return answer.train(train_state, batches)


def closed_form(train_state, batches):
    w, large, losses = float(train_state["w"]), train_state["large"], []
    for x, y in zip(batches["x"].astype(float), batches["y"].astype(float)):
        errors = w * x - y
        losses.append((errors**2).mean())
        w, large = w - 0.2 * (errors * x).mean(), large + (losses[-1] > 1)
    return {"w": w, "large": large}, np.array(losses)


# %% check The program has the same size for any number of steps; once
def check(answer, train_state, batches):
    def repeated(times):
        return jax.tree.map(lambda leaf: jnp.tile(leaf, (times, 1)), batches)

    def size(batches):  # in lines of the lowered program, where an unrolled scan is written out too
        program = jax.jit(answer.train).lower(train_state, batches)
        return program.as_text().count(" = ")

    _, losses = jax.eval_shape(answer.train, train_state, repeated(2))
    is_larger = size(repeated(16)) > 1.5 * size(repeated(8))
    return {"losses of 10 steps": len(losses), "the program grows with the steps": is_larger}


# %% idea stacked outputs; update/many_steps#a-loop-inside-the-compiled-program
# The loss of every step must be returned. The body of a scan returns its carry and an output, and
# the outputs of all iterations come back stacked.
def train(train_state, batches):
    train_state, losses = right.train(train_state, batches)
    return train_state, losses[-1]


# %%
def train(train_state, batches):
    return right.train(train_state, batches)[0]


# %% idea unrolled loop; update/many_steps#why-not-unroll-the-loop
# The results are right, but the program must not grow with the number of steps. Each iteration of a
# Python loop is recorded separately, and so is each iteration of a scan that is unrolled.
def train(train_state, batches):
    losses = []
    for i in range(len(batches["x"])):
        train_state, loss = step(train_state, jax.tree.map(lambda leaf: leaf[i], batches))
        losses.append(loss)
    return train_state, jnp.stack(losses)


# %%
def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches, unroll=True)


# %% idea same steps
# Whether a loop runs in Python or in the compiled program, the steps must be the same: each step
# must take the next batch and the result of the previous step.
def train(train_state, batches):
    states, losses = jax.vmap(step, in_axes=(None, 0))(train_state, batches)
    return jax.tree.map(lambda leaf: leaf[-1], states), losses


# %%
def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches, reverse=True)


# %% right a separate function as the body, and a count that adds the truth value
def step(train_state, batch):
    new, loss = right.step(train_state, batch)
    return new | {"large": train_state["large"] + (loss > 1)}, loss


def train(train_state, batches):
    def body(train_state, index):
        return step(train_state, jax.tree.map(lambda leaf: leaf[index], batches))

    return jax.lax.scan(body, train_state, jnp.arange(len(batches["x"])))


# %% right a scan that takes two steps at a time
@jax.jit
def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches, unroll=2)
