"""What `explain` costs on the train step of a ResNet18, beside one trace of it.

python tests/inside/resnet.py
"""

import time

import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs

MODEL = hk.transform_with_state(lambda images: hk.nets.ResNet18(10)(images, is_training=True))
OPTIMIZER = optax.adam(1e-3)


def train_step(params, state, opt_state, images, labels):
    """One step of Adam on a batch."""

    def loss_fn(params):
        logits, new_state = MODEL.apply(params, state, None, images)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return losses.mean(), new_state

    grads, new_state = jax.grad(loss_fn, has_aux=True)(params)
    updates, opt_state = OPTIMIZER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), new_state, opt_state


def main():
    """Print the seconds of a first trace, and those of `explain`."""
    images, labels = jnp.zeros((2, 32, 32, 3)), jnp.zeros(2, jnp.int32)
    params, state = jax.eval_shape(MODEL.init, jax.random.key(0), images)
    args = params, state, jax.eval_shape(OPTIMIZER.init, params), images, labels
    start = time.perf_counter()
    jax.make_jaxpr(train_step)(*args)
    traced = time.perf_counter()
    report = hs.explain(train_step, *args)
    done = time.perf_counter()
    print(f"JAX {jax.__version__}: trace {traced - start:.2f} s, explain {done - traced:.2f} s")
    print(report.text().splitlines()[0])


if __name__ == "__main__":
    main()
