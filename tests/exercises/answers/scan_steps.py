"""Answers to `scan_steps`."""


# %% right: compiled, and the truth value as an integer
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + (loss > 1).astype(jnp.int32)
    return {"w": w, "large": large}, loss


@jax.jit
def train(train_state, batches):
    train_state, losses = jax.lax.scan(f=step, init=train_state, xs=batches)
    return train_state, losses


# %% right: fori_loop, which writes into an array
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    count = len(batches["x"])

    def body(i, carry):
        train_state, losses = carry
        batch = {name: leaf[i] for name, leaf in batches.items()}
        train_state, loss = step(train_state, batch)
        return train_state, losses.at[i].set(loss)

    return jax.lax.fori_loop(0, count, body, (train_state, jnp.zeros(count)))


# %% right: the carry is a named tuple, and so is the result
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Line(NamedTuple):
    w: jax.Array
    large: jax.Array


class Trained(NamedTuple):
    train_state: dict
    losses: jax.Array


def step(line, batch):
    errors = line.w * batch["x"] - batch["y"]
    loss = jnp.square(errors).mean()
    w = line.w - 0.2 * jnp.mean(errors * batch["x"])
    return Line(w, jax.lax.select(loss > 1, line.large + 1, line.large)), loss


def train(train_state, batches):
    line, losses = jax.lax.scan(step, Line(**train_state), batches)
    return Trained(line._asdict(), losses)


# %% right: the number that is added keeps its type, and the body casts
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1.0, 0.0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    types = jax.tree.map(lambda leaf: leaf.dtype, train_state)

    def body(train_state, batch):
        new, loss = step(train_state, batch)
        return jax.tree.map(lambda leaf, dtype: leaf.astype(dtype), new, types), loss

    return jax.lax.scan(body, train_state, batches)


# %% right: the count is made of the losses, after the scan
import jax
import jax.numpy as jnp


def step(w, batch):
    x, y = batch
    errors = w * x - y
    return w - 0.2 * jnp.mean(errors * x), jnp.mean(errors**2)


def train(train_state, batches):
    w, losses = jax.lax.scan(step, train_state["w"], (batches["x"], batches["y"]))
    large = train_state["large"] + jnp.sum(losses > 1, dtype=jnp.int32)
    return {"w": w, "large": large}, losses


# %% right: a while loop with a counter
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.int32(loss > 1)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    count = batches["x"].shape[0]

    def goes_on(carry):
        return carry[0] < count

    def body(carry):
        i, train_state, losses = carry
        batch = jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, i, keepdims=False), batches)
        train_state, loss = step(train_state, batch)
        return i + 1, train_state, losses.at[i].set(loss)

    start = jnp.int32(0), train_state, jnp.zeros(count, jnp.float32)
    return jax.lax.while_loop(goes_on, body, start)[1:]


# %% right: lax.cond in the step, and a new dict from the old one
import jax
import jax.numpy as jnp


def step(train_state, batch):
    objective = lambda w: jnp.mean(jnp.square(w * batch["x"] - batch["y"]))
    loss, grad = jax.value_and_grad(objective)(train_state["w"])
    large = jax.lax.cond(loss > 1, lambda n: n + 1, lambda n: n, train_state["large"])
    return train_state | {"w": train_state["w"] - 0.1 * grad, "large": large}, loss


train = lambda train_state, batches: jax.lax.scan(step, train_state, batches)


# %% right: a partial of scan, and the losses come out of a dict
import functools

import jax
import jax.numpy as jnp


def step(train_state, batch):
    w, large = train_state["w"], train_state["large"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    new = {
        "w": w - 0.2 * jnp.mean(errors * batch["x"]),
        "large": large + jnp.where(loss > 1, jnp.ones_like(large), jnp.zeros_like(large)),
    }
    return new, {"loss": loss}


scan_steps = functools.partial(jax.lax.scan, step)


def train(train_state, batches):
    last, reported = scan_steps(train_state, batches)
    return last, reported["loss"]


# %% right: a vmap of the losses afterwards, from the params of all steps
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    def body(train_state, batch):
        new, _ = step(train_state, batch)
        return new, train_state

    last, before = jax.lax.scan(body, train_state, batches)
    _, losses = jax.vmap(step)(before, batches)
    return last, losses


# %% wrong: unrolled loop | dtype | carry
# the starter code
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1.0, 0.0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    losses = []
    for i in range(len(batches["x"])):
        batch = jax.tree.map(lambda leaf: leaf[i], batches)
        train_state, loss = step(train_state, batch)
        losses.append(loss)
    return train_state, jnp.stack(losses)


# %% wrong: unrolled loop
# only the count is repaired
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    losses = []
    for i in range(len(batches["x"])):
        batch = jax.tree.map(lambda leaf: leaf[i], batches)
        train_state, loss = step(train_state, batch)
        losses.append(loss)
    return train_state, jnp.stack(losses)


# %% wrong: carry
# the scan without the count: the carry changes its type
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1.0, 0.0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    return jax.lax.scan(step, train_state, batches)


# %% wrong: carry
# the loss comes first
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return loss, {"w": w, "large": large}


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    return jax.lax.scan(step, train_state, batches)


# %% wrong: carry
# the loss is a part of the train state
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large, "loss": loss}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    return jax.lax.scan(step, train_state, batches)


# %% wrong: unrolled loop
# a scan that is unrolled
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches, unroll=len(batches["x"]))


# %% wrong: unrolled loop
# the loop is compiled
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


@jax.jit
def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    losses = []
    for i in range(len(batches["x"])):
        batch = jax.tree.map(lambda leaf: leaf[i], batches)
        train_state, loss = step(train_state, batch)
        losses.append(loss)
    return train_state, jnp.stack(losses)


# %% wrong: stacked outputs
# the loss of the last step
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    def body(carry, batch):
        train_state, _ = carry
        return step(train_state, batch), None

    return jax.lax.scan(body, (train_state, jnp.float32(0)), batches)[0]


# %% wrong: stacked outputs
# only the train state comes out
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    train_state, losses = jax.lax.scan(step, train_state, batches)
    return train_state


# %% wrong: leak
# the losses are appended in the body
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    losses = []

    def body(train_state, batch):
        train_state, loss = step(train_state, batch)
        losses.append(loss)
        return train_state, None

    train_state, _ = jax.lax.scan(body, train_state, batches)
    return train_state, jnp.array(losses)


# %% wrong: same steps
# every step begins with the first train state
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    def body(carry, batch):
        return step(train_state, batch)

    return jax.lax.scan(body, train_state, batches)


# %% wrong: same steps
# all steps at once
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    states, losses = jax.vmap(step, in_axes=(None, 0))(train_state, batches)
    return {"w": states["w"][-1], "large": train_state["large"] + jnp.sum(losses > 1)}, losses


# %% wrong: same steps
# from the last batch to the first
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches, reverse=True)


# %% wrong: same steps
# the first batch in each step
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    first = jax.tree.map(lambda leaf: leaf[0], batches)
    return jax.lax.scan(lambda state, _: step(state, first), train_state, None, length=len(batches["x"]))


# %% wrong: dtype
# the count is a float from the beginning to the end
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1.0, 0.0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    train_state = train_state | {"large": train_state["large"].astype(float)}
    return jax.lax.scan(step, train_state, batches)


# %% wrong: dtype
# a count of the losses, which is a float
import jax
import jax.numpy as jnp


def step(w, batch):
    errors = w * batch["x"] - batch["y"]
    return w - 0.2 * jnp.mean(errors * batch["x"]), jnp.mean(jnp.square(errors))


def train(train_state, batches):
    w, losses = jax.lax.scan(step, train_state["w"], batches)
    large = train_state["large"] + jnp.sum(jnp.where(losses > 1, 1.0, 0.0))
    return {"w": w, "large": large}, losses


# %% wrong: -
# as many steps as the batches of a first try had
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    losses = []
    for i in range(6):
        batch = jax.tree.map(lambda leaf: leaf[i], batches)
        train_state, loss = step(train_state, batch)
        losses.append(loss)
    return train_state, jnp.stack(losses)


# %% wrong: -
# swapped results
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    train_state, losses = jax.lax.scan(step, train_state, batches)
    return losses, train_state


# %% wrong: -
# a slip in the comparison
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss < 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    return jax.lax.scan(step, train_state, batches)


# %% wrong: -
# the wrong sign
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w + 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    return jax.lax.scan(step, train_state, batches)


# %% wrong: -
# the loss of the new w
import jax
import jax.numpy as jnp


def step(train_state, batch):
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    loss = jnp.mean(jnp.square(w * batch["x"] - batch["y"]))
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state and the losses of all steps in one array.
    return jax.lax.scan(step, train_state, batches)


# %% wrong: -
# the arguments of scan in another order
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    return jax.lax.scan(train_state, step, batches)
