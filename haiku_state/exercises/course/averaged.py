"""An average of the params

write, 7 min, update/averaged_params#the-last-steps-jump-around

Complete the three functions. A train state is a dict of `params`, `average` and `state`, and the
average has the structure of the params. `start(params, state)` returns the first train state.
`update(train_state, batch, decay)` returns the next train state: after the step, the average
consists of the old average, with the weight `decay`, and of the new params, with the remaining
weight. `evaluate(train_state, x)` returns the prediction of the averaged params with the state.

- Which two trees does the new average depend on, and which of them has just been computed?
- Look at the line that computes the new params: a `jax.tree.map` over two trees. The average is
  computed in the same way, from the old average and these params.
- For each leaf it is `decay * a + (1 - decay) * p`. At the start, `a` is `p`.
"""

# %%
# The weights of a linear model fluctuate from step to step. An average of them
# is kept in the train state and used for evaluation.
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
    # Return the train state with which training begins.
    #: return {"params": params, "average": None, "state": state}
    # <solution>
    return {"params": params, "average": params, "state": state}
    # </solution>


def update(train_state, batch, decay):
    # Take one step and return the new train state.
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    #: return {"params": params, "average": None, "state": state}
    # <solution>

    def blend(a, p):
        return decay * a + (1 - decay) * p

    average = jax.tree.map(blend, train_state["average"], params)
    return {"params": params, "average": average, "state": state}
    # </solution>


def evaluate(train_state, x):
    # Return the prediction of the averaged params.
    #: return predict(train_state["params"], train_state["state"], x)
    # <solution>
    return predict(train_state["average"], train_state["state"], x)
    # </solution>


# %% setup
import jax
import numpy as np


# %% inputs
def inputs(rng):
    train_state = {
        "params": {"w": rng.normal(size=3)},
        "average": {"w": rng.normal(size=3)},
        "state": {"mean": rng.normal(size=3)},
    }
    batch = {"x": rng.normal(1, 1, size=(4, 3)), "y": rng.normal(size=4)}
    return train_state, batch, np.float32(rng.uniform(0.6, 0.9))


# %% check `start` sets the average to the params; pure weak; beside the params
def check(answer, train_state, batch, decay):
    return answer.start(train_state["params"], train_state["state"])


# %% check `update` returns the new params, average and state; pure jit tolerance=0.0001; beside the params
def check(answer, train_state, batch, decay):
    return answer.update(train_state, batch, decay)


def closed_form(train_state, batch, decay):
    x, w = batch["x"].astype(float), train_state["params"]["w"].astype(float)
    mean = 0.9 * train_state["state"]["mean"] + 0.1 * x.mean(axis=0)
    w = w - 0.1 * 2 * (x - mean).T @ ((x - mean) @ w - batch["y"]) / len(x)
    average = decay * train_state["average"]["w"] + (1 - decay) * w
    return {"params": {"w": w}, "average": {"w": average}, "state": {"mean": mean}}


# %% check Five steps in a scan keep the structure, shapes and dtypes of the train state; once tolerance=0.0001; structure
def check(answer, train_state, batch, decay):
    train_state = answer.start(train_state["params"], train_state["state"])
    step = lambda train_state, _: (answer.update(train_state, batch, decay), None)
    return jax.lax.scan(step, train_state, length=5)[0]


# %% check `evaluate` uses the average; pure jit tolerance=0.0001; averaged params
def check(answer, train_state, batch, decay):
    return answer.evaluate(train_state, batch["x"])


# %% idea beside the params
# The average is one more part of the train state: it comes in with the train state, and a new
# average goes out with it.
def update(train_state, batch, decay):
    new = right.update(train_state, batch, decay)
    return new, new.pop("average")


# %%
def start(params, state):
    return {"params": params, "state": state}


# %% idea start of the average
# An average that starts at zero is too small for many steps, so here it starts at the initial
# params.
def start(params, state):
    return {"params": params, "average": jax.tree.map(jnp.zeros_like, params), "state": state}


# %% idea swapped rates
# The decay rate is the weight of the old average, and it is close to 1.
def update(train_state, batch, decay):
    return right.update(train_state, batch, 1 - decay)


# %% idea one step behind
# The average takes in the params that the step has just computed, not the params before it.
def update(train_state, batch, decay):
    w, average = train_state["params"]["w"], train_state["average"]["w"]
    average = {"w": decay * average + (1 - decay) * w}
    return {**right.update(train_state, batch, decay), "average": average}


# %% idea params replaced
# Training must continue from the params themselves. The average is only for evaluation and must not
# change what the next step does.
def update(train_state, batch, decay):
    new = right.update(train_state, batch, decay)
    return {**new, "params": new["average"]}


# %% idea dropped state; update/jitted_update#a-loss-that-returns-the-state
# The loss function returns a new running mean, which also belongs to the new train state.
def update(train_state, batch, decay):
    return {**right.update(train_state, batch, decay), "state": train_state["state"]}


# %% idea averaged params
# The average is kept for evaluation, so the prediction uses the average and not the params of the
# last step.
def evaluate(train_state, x):
    return predict(train_state["params"], train_state["state"], x)


# %% idea changed argument
def update(train_state, batch, decay):
    train_state.update(right.update(train_state, batch, decay))
    return train_state


# %% right by the difference, and a changed copy of the dict
def update(train_state, batch, decay):
    new = right.update(train_state, batch, decay)
    blend = lambda a, p: a + (1 - decay) * (p - a)
    average = jax.tree.map(blend, train_state["average"], new["params"])
    return {**train_state, "params": new["params"], "average": average, "state": new["state"]}
