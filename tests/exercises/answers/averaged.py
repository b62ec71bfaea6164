# right: by the difference, and a changed copy of the dict
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": params, "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: a + (1 - decay) * (p - a), train_state["average"], new
    )
    return {**train_state, "params": new, "average": average, "state": state}


def evaluate(train_state, x):
    return predict(train_state["average"], train_state["state"], x)

# wrong: start of the average
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": jax.tree.map(jnp.zeros_like, params), "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: decay * a + (1 - decay) * p, train_state["average"], new
    )
    return {"params": new, "average": average, "state": state}


def evaluate(train_state, x):
    return predict(train_state["average"], train_state["state"], x)

# wrong: one step behind
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": params, "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: decay * a + (1 - decay) * p, train_state["average"], params
    )
    return {"params": new, "average": average, "state": state}


def evaluate(train_state, x):
    return predict(train_state["average"], train_state["state"], x)

# wrong: swapped rates
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": params, "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: (1 - decay) * a + decay * p, train_state["average"], new
    )
    return {"params": new, "average": average, "state": state}


def evaluate(train_state, x):
    return predict(train_state["average"], train_state["state"], x)

# wrong: params replaced
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": params, "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: decay * a + (1 - decay) * p, train_state["average"], new
    )
    return {"params": average, "average": average, "state": state}


def evaluate(train_state, x):
    return predict(train_state["average"], train_state["state"], x)

# wrong: dropped state
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": params, "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: decay * a + (1 - decay) * p, train_state["average"], new
    )
    return {"params": new, "average": average, "state": state}


def evaluate(train_state, x):
    return predict(train_state["average"], train_state["state"], x)

# wrong: averaged params
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": params, "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: decay * a + (1 - decay) * p, train_state["average"], new
    )
    return {"params": new, "average": average, "state": state}


def evaluate(train_state, x):
    return predict(train_state["params"], train_state["state"], x)

# wrong: beside the params
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": params, "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: decay * a + (1 - decay) * p, train_state["average"], new
    )
    return {"params": new, "state": state}, average


def evaluate(train_state, x):
    return predict(train_state["average"], train_state["state"], x)

# wrong: mutation
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    return {"params": params, "average": params, "state": state}


def update(train_state, batch, decay):
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    average = jax.tree.map(
        lambda a, p: decay * a + (1 - decay) * p, train_state["average"], new
    )
    train_state.update(params=new, average=average, state=state)
    return train_state


def evaluate(train_state, x):
    return predict(train_state["average"], train_state["state"], x)
