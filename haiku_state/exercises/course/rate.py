"""Static or not

repair, 5 min, state/practice#should-the-learning-rate-be-static

`descend` is compiled again for each learning rate and does not notice when the weight decay in
`settings` changes. Make it `descend(x, learning_rate, weight_decay, steps)`. It must remain
compiled with `jax.jit`.

The check calls it with many learning rates and values of the weight decay, and counts how often it
calls `loss_fn`, which you should not change.

- Which of the three numbers must Python itself know in order to run the function?
- Look at `static_argnames` and at everything in the loop that is not an argument.
- Only `steps` remains static. The weight decay becomes an argument, like the learning rate.
"""

# %%
# Some steps of gradient descent, with a weight decay that pulls x towards 0.
import functools

import jax


def loss_fn(x):
    return (x - 3.0) ** 2


#: settings = {"weight_decay": 0.1}
#:
#:
#: @functools.partial(jax.jit, static_argnames=("learning_rate", "steps"))
#: def descend(x, learning_rate, steps):
#:     for _step in range(steps):
#:         slope = jax.grad(loss_fn)(x) + settings["weight_decay"] * x
#:         x = x - learning_rate * slope
#:     return x
# <solution>
@functools.partial(jax.jit, static_argnames="steps")
def descend(x, learning_rate, weight_decay, steps):
    for _step in range(steps):
        slope = jax.grad(loss_fn)(x) + weight_decay * x
        x = x - learning_rate * slope
    return x


# </solution>

# %% setup
import jax.numpy as jnp
import numpy as np

from haiku_state.exercises.counting import counted_runs, is_one_program


# %% inputs
def inputs(rng):
    rates, decays = rng.uniform(0.05, 0.2, 4), rng.uniform(0.2, 0.6, 4)
    return np.float32(rng.uniform(-5, 5)), rates.tolist(), decays.tolist()


# %% check Each call uses its own learning rate and weight decay; again; argument
def check(answer, x, rates, decays):
    return [answer.descend(x, rate, decay, 3) for rate, decay in zip(rates, decays)]


def closed_form(x, rates, decays):
    places = np.full(4, float(x))
    for _step in range(3):
        places -= rates * (2 * (places - 3) + decays * places)
    return list(places)


# %% check Other values are not traced again; once; static value
def check(answer, x, rates, decays):
    with counted_runs(answer.loss_fn) as runs:
        answer.descend(x, rates[0], decays[0], 2)
        first = len(runs)
        for rate, decay in zip(rates, decays):
            answer.descend(x, rate, decay, 2)
    again = len(runs) > first
    if not again:  # an array cannot be static, whatever function gives the slope
        answer.descend(x, jnp.float32(rates[0]), jnp.float32(decays[0]), 2)
    program = lambda *given: answer.descend(*given, 2)
    return {
        "compiled": is_one_program(program, x, rates[0], decays[0]),
        "traced again for other values": again,
    }


# %% check The number of steps can be chosen; pure once; static length
def check(answer, x, rates, decays):
    return answer.descend(x, 0.1, 0.2, steps=5)


# %% idea frozen value; state/practice#a-learning-rate-in-a-global-variable
# The weight decay does not have the value that the check passes. A value that is read from outside
# while jit traces does not change afterwards, so what the caller chooses must be an argument.
settings = {"weight_decay": 0.1}


def descend(x, learning_rate, weight_decay, steps):
    return right.descend(x, learning_rate, settings["weight_decay"], steps)


# %%
settings = {"weight_decay": 0.1}


@functools.partial(jax.jit, static_argnames="steps")
def inner(x, learning_rate, steps):
    return right.descend(x, learning_rate, settings["weight_decay"], steps)


def descend(x, learning_rate, weight_decay, steps):
    settings["weight_decay"] = weight_decay
    return inner(x, learning_rate, steps)


# %%
@functools.partial(jax.jit, static_argnames=("learning_rate", "steps"))
def descend(x, learning_rate, steps):
    return right.descend(x, learning_rate, 0.1, steps)


# %% idea static value; state/practice#the-learning-rate-as-a-static-argument
# A static argument is part of the program, so the function is traced and
# compiled again for each new value. A number
# that is only used in arithmetic does not need its own program.
@functools.partial(jax.jit, static_argnames=("learning_rate", "weight_decay", "steps"))
def descend(x, learning_rate, weight_decay, steps):
    for _step in range(steps):
        x = x - learning_rate * (jax.grad(loss_fn)(x) + weight_decay * x)
    return x


# %%
@functools.partial(jax.jit, static_argnames=("learning_rate", "steps"))
def descend(x, learning_rate, weight_decay, steps):
    for _step in range(steps):
        x = x - learning_rate * (2 * (x - 3.0) + weight_decay * x)
    return x


# %% idea static length; state/practice#what-should-be-static-then
# Python must know while it traces how many times a Python loop runs. A traced number has no value
# that `range` could use.
@jax.jit
def descend(x, learning_rate, weight_decay, steps):
    for _step in range(steps):
        x = right.descend(x, learning_rate, weight_decay, 1)
    return x


# %% idea not compiled; state/practice#what-should-be-static-then
# A call of `descend` runs op by op or in more than one program.
def descend(x, learning_rate, weight_decay, steps):
    for _step in range(steps):
        x = x - learning_rate * (jax.grad(loss_fn)(x) + weight_decay * x)
    return x


# %%
def descend(x, learning_rate, weight_decay, steps):
    for _step in range(steps):
        x = right.descend(x, learning_rate, weight_decay, 1)
    return x


# %% idea argument; state/practice#the-learning-rate-as-an-ordinary-argument
# Numbers that change from call to call are ordinary arguments: they are traced once.


# %% idea leak
settings = {"weight_decay": 0.1}


@functools.partial(jax.jit, static_argnames="steps")
def descend(x, learning_rate, weight_decay, steps):
    settings["weight_decay"] = weight_decay
    return right.descend(x, learning_rate, settings["weight_decay"], steps)


# %% right a compiled loop, which needs nothing static
@jax.jit
def descend(x, learning_rate, weight_decay, steps):
    def step(_, x):
        return x - learning_rate * (jax.grad(loss_fn)(x) + weight_decay * x)

    return jax.lax.fori_loop(0, steps, step, x)


# %% right a function that calls the compiled one
def descend(x, learning_rate, weight_decay, steps):
    return right.descend(x, learning_rate, weight_decay, steps)
