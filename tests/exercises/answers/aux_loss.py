# right: grad alone, with the loss passed beside
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    def both(params):
        loss, found = loss_fn(params, batch)
        return loss, (loss, found)

    grads, (loss, found) = jax.grad(both, has_aux=True)(params)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# right: the derivative by hand, from vjp
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    loss, pull, found = jax.vjp(
        lambda params: loss_fn(params, batch), params, has_aux=True
    )
    (grads,) = pull(jnp.ones_like(loss))
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: second result
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    (loss, found), grads = jax.value_and_grad(loss_fn)(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: twice
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    grads = jax.grad(lambda p: loss_fn(p, batch)[0])(params)
    loss, found = loss_fn(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: twice
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    grads, found = jax.grad(loss_fn, has_aux=True)(params, batch)
    loss, _ = loss_fn(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: value first
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    value_and_grad = jax.value_and_grad(loss_fn, has_aux=True)
    grads, (loss, found) = value_and_grad(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: value first
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    value_and_grad = jax.value_and_grad(loss_fn, has_aux=True)
    loss, found, grads = value_and_grad(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: side door
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    seen = {}

    def only_loss(params):
        loss, seen["found"] = loss_fn(params, batch)
        return loss

    loss, grads = jax.value_and_grad(only_loss)(params)
    found = seen["found"]
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: three results
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    value_and_grad = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, found), grads = value_and_grad(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, (loss, found)

# wrong: downhill
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    value_and_grad = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, found), grads = value_and_grad(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p + learning_rate * g, params, grads
    )
    return new_params, loss, found

# right: a derivative that is bound outside, and compiled
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


value_and_grad = jax.value_and_grad(loss_fn, has_aux=True)


@jax.jit
def update(params, batch, learning_rate):
    (loss, found), grads = value_and_grad(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: twice
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


grad_fn = jax.jit(jax.grad(loss_fn, has_aux=True))


def update(params, batch, learning_rate):
    loss, found = loss_fn(params, batch)
    grads, _ = grad_fn(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, loss, found

# wrong: late loss
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found



def update(params, batch, learning_rate):
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, batch)
    new_params = jax.tree.map(
        lambda p, g: p - learning_rate * g, params, grads
    )
    return new_params, *loss_fn(new_params, batch)

# wrong: twice
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    return -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))


def look(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    return {"labels": jnp.argmax(logits, axis=1), "largest": jnp.max(jnp.abs(logits))}


def update(params, batch, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    steps = jax.tree.map(lambda g: learning_rate * g, grads)
    return jax.tree.map(jnp.subtract, params, steps), loss, look(params, batch)
