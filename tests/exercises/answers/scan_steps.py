# right: the body is a function of its own, and the count takes the truth value
import jax
import jax.numpy as jnp


def step(train_state, batch):
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    return {"w": w, "large": train_state["large"] + (loss > 1)}, loss


def train(train_state, batches):
    def body(train_state, index):
        batch = jax.tree.map(lambda leaf: leaf[index], batches)
        return step(train_state, batch)

    return jax.lax.scan(body, train_state, jnp.arange(len(batches["x"])))

# wrong: carry
import jax
import jax.numpy as jnp


def step(train_state, batch):
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1.0, 0.0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches)

# wrong: carry
import jax
import jax.numpy as jnp


def step(train_state, batch):
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return loss, {"w": w, "large": large}


def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches)

# wrong: dtype
import jax
import jax.numpy as jnp


def step(train_state, batch):
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1.0, 0.0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    first = {"w": train_state["w"], "large": jnp.float32(train_state["large"])}
    return jax.lax.scan(step, first, batches)

# wrong: stacked outputs
import jax
import jax.numpy as jnp


def step(train_state, batch):
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    def body(index, carry):
        train_state, _ = carry
        batch = jax.tree.map(lambda leaf: leaf[index], batches)
        return step(train_state, batch)

    steps = len(batches["x"])
    return jax.lax.fori_loop(0, steps, body, (train_state, jnp.float32(0)))

# wrong: stacked outputs
import jax
import jax.numpy as jnp


def step(train_state, batch):
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
        losses.append(0.0)
        return train_state, None

    return jax.lax.scan(body, train_state, batches)[0], losses

# wrong: leak
import jax
import jax.numpy as jnp


def step(train_state, batch):
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
    return train_state, jnp.stack(losses)

# wrong: unrolled loop
import jax
import jax.numpy as jnp


def step(train_state, batch):
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


@jax.jit
def train(train_state, batches):
    losses = []
    for i in range(len(batches["x"])):
        batch = jax.tree.map(lambda leaf: leaf[i], batches)
        train_state, loss = step(train_state, batch)
        losses.append(loss)
    return train_state, jnp.stack(losses)

# wrong: same steps
import jax
import jax.numpy as jnp


def step(train_state, batch):
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    states, losses = jax.vmap(step, in_axes=(None, 0))(train_state, batches)
    return jax.tree.map(lambda leaf: leaf[-1], states), losses

# wrong: unrolled loop
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = train_state["large"] + (loss > 1)
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches, unroll=True)

# right: a scan of two steps at a time
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    large = jax.lax.cond(loss > 1, lambda n: n + 1, lambda n: n, train_state["large"])
    return dict(train_state, w=w, large=large), loss


@jax.jit
def train(train_state, batches):
    return jax.lax.scan(step, train_state, batches, unroll=2)
