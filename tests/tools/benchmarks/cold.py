"""A whole program, from nothing to the end of its first step: by hand, and with the package.

python tests/tools benchmarks.cold by_hand

Both train the same classifier with Haiku's modules and Optax's Adam. By hand, the initialization
is jitted, as one would write it.
"""

import sys

from tools.benchmarks import problem

SIZE = problem.SIZES["32x32"]
HIDDEN = [SIZE.width] * problem.HIDDEN_LAYERS


def by_hand() -> float:
    """Train with Haiku, Optax and ``jax.jit`` alone."""
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import optax

    def forward(x: jax.Array) -> jax.Array:
        for width in HIDDEN:
            x = hk.Linear(width, with_bias=False)(x)
            x = jax.nn.relu(hk.BatchNorm(True, True, problem.DECAY_RATE)(x, True))
        return hk.Linear(problem.CLASSES)(x)

    model, optimizer = hk.transform_with_state(forward), optax.adam(problem.LEARNING_RATE)
    batch = problem.batches(SIZE)[0]

    def loss_fn(params, state, batch):
        logits, state = model.apply(params, state, None, batch["inputs"])
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
        return jnp.mean(losses), state

    @jax.jit
    def init(rng, inputs):
        rng, init_rng = jax.random.split(rng)
        params, state = model.init(init_rng, inputs)
        return params, state, optimizer.init(params), rng, jnp.zeros((), jnp.int32)

    def update(train_state, batch):
        params, state, opt_state, rng, step = train_state
        rng, _ = jax.random.split(rng)
        (loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, batch)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), state, opt_state, rng, step + 1), loss

    train_state = init(jax.random.key(0), batch["inputs"])
    _, loss = jax.jit(update, donate_argnums=0)(train_state, batch)
    return float(loss)


def haiku_state() -> float:
    """Train with the package."""
    import jax
    import jax.numpy as jnp
    import optax

    import haiku_state as hs

    model = hs.pure_pair(hs.Classifier, HIDDEN, problem.CLASSES, problem.DECAY_RATE)
    optimizer = optax.adam(problem.LEARNING_RATE)
    batch = problem.batches(SIZE)[0]

    def loss_fn(params, state, rng, batch):
        logits, state = model.apply(params, state, rng, batch["inputs"], True)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
        return jnp.mean(losses), (state, {})

    train_state = hs.init_train_state(
        model.init, optimizer, jax.random.key(0), batch["inputs"], True
    )
    _, metrics = hs.jit_update(hs.make_update(loss_fn, optimizer))(train_state, batch)
    return float(metrics["loss"])


PROGRAMS = {"by_hand": by_hand, "haiku_state": haiku_state}

if __name__ == "__main__":
    print(PROGRAMS[sys.argv[1]]())
