"""Where does the velocity go?

repair, easy, 6 min, state/regression_by_hand#forgetting-the-optimizers-state

The loss falls no faster than without momentum, because the velocity is lost in three places. Repair
`update(params, velocity, points)` and the loop, and change `train` into `train(params, velocity,
batches)`, which returns a pair: the params and the velocity.

The check calls `update` and then `train` with several batches. It also trains on two of the batches
and resumes on the others, which must give the same result as training on all of them.

- With which velocity does the second step begin?
- Follow the name `velocity` from line to line: where does it get a value that does not come from
  the step before, and where is the new value dropped?
- `update` does not need to call `init`. In the loop, use both results: `params, velocity =
  update(...)`. The caller of `train` calls `init`.
"""

# %%
# The center of many points is found by gradient descent with momentum: the
# old velocity is multiplied by 0.9, and the gradient is added to it.
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    #: velocity = init(params)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


#: def train(params, batches):
#:     velocity = init(params)
#:     for points in batches:
#:         params, _ = update(params, velocity, points)
#:     return params
# <solution>
def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity


# </solution>


# %% inputs
def inputs(rng):
    params, velocity = {"center": rng.normal(size=2)}, {"center": rng.uniform(1, 3, 2)}
    return params, velocity, rng.normal(size=(4, 3, 2))


# %% check `update` continues from the velocity it is given; pure jit types; params, velocity
def check(answer, params, velocity, batches):
    return answer.update(params, velocity, batches[0])


def closed_form(params, velocity, batches):
    center, velocity = params["center"].astype(float), velocity["center"].astype(float)
    velocity = 0.9 * velocity + 2 * (center - batches[0].mean(axis=0))
    return {"center": center - 0.02 * velocity}, {"center": velocity}


# %% check `train` passes the velocity on from batch to batch; pure jit; params, velocity
def check(answer, params, velocity, batches):
    return answer.train(params, velocity, batches)


# %% check Resumed training gives the same results as uninterrupted training; once; params, velocity
def check(answer, params, velocity, batches):
    return answer.train(*answer.train(params, velocity, batches[:2]), batches[2:])


def truth(right, params, velocity, batches):
    return right.train(params, velocity, batches)


# %% idea fresh velocity
# Training must continue from the velocity that is passed in, but here it begins with a velocity of
# zero. With a velocity of zero, a step with momentum is the same as a step of plain gradient
# descent.
def update(params, velocity, points):
    return right.update(params, init(params), points)


# %%
def train(params, velocity, batches):
    return right.train(params, init(params), batches)


# %% idea dropped velocity
# The velocity of one step does not reach the next step. The optimizer's state must be threaded like
# the params: into each step and out of it.
def update(params, velocity, points):
    return right.update(params, velocity, points)[0], velocity


# %%
def train(params, velocity, batches):
    start = velocity
    for points in batches:
        params, velocity = update(params, start, points)
    return params, velocity


# %% idea velocity lost at the end; state/regression_by_hand#forgetting-the-optimizers-state
# To continue later, training needs the velocity as well as the params. Everything that the next
# call needs must be returned and passed in again.
def update(params, velocity, points):
    return right.update(params, velocity, points)[0]


# %%
def train(params, velocity, batches):
    return right.train(params, velocity, batches)[0]


# %%
def train(params, velocity, batches):
    params, velocity = right.train(params, velocity, batches)
    return params, init(velocity)


# %%
def train(params, batches):
    return right.train(params, init(params), batches)


# %% idea order
# The params must come first and the velocity second, both as arguments and as results.
def update(params, velocity, points):
    return right.update(params, velocity, points)[::-1]


# %%
def train(params, velocity, batches):
    return right.train(params, velocity, batches)[::-1]


# %% idea formula
# The new velocity must be 0.9 times the old velocity plus the gradient, and the step must follow
# the new velocity. Only the origin of the old velocity has to change.
def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    new = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity), new


# %%
def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + 0.1 * g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity), velocity


# %% idea leak
memory = {"velocity": None}


def train(params, velocity, batches):
    memory["velocity"] = velocity
    for points in batches:
        params, memory["velocity"] = update(params, memory["velocity"], points)
    return params, memory["velocity"]


# %% right a scan in place of the loop
def train(params, velocity, batches):
    step = lambda carry, points: (update(*carry, points), None)
    return jax.lax.scan(step, (params, velocity), batches)[0]
