"""From pmap to shard_map, and the factor that may come with it."""

# Four devices fit a plane together. The step was written for pmap: each
# device sees its own rows, and has a copy of the params and of the state.
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

#: try:
#:     from jax import shard_map
#: except ImportError:
#:     from jax.experimental.shard_map import shard_map
# <solution>
from haiku_state.compat import shard_map

# </solution>


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    # Return the step for all devices of the mesh.
    #: specs = {"in_axes": (0, 0, 0), "out_axes": 0}
    #: return jax.pmap(step, "data", devices=list(mesh.devices.flat), **specs)
    # <solution>
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)
    # </solution>


# The exercise
import numpy as np

import haiku_state as hs
from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

LESSON = "update/meshes#the-trap-in-porting"
DEVICE_AXIS = Idea(
    "no device axis",
    _(
        "Under `pmap`, every array has a leading axis of devices. Under `shard_map`, arrays keep "
        "their own shapes, and a `PartitionSpec` for each argument says which axis is cut."
    ),
    "update/meshes#two-ways-to-think",
)
SUMMED = Idea(
    "summed gradient",
    _(
        "The gradient is as many times too long as there are devices: it is a sum over them, and "
        "not a mean. Since JAX 0.6, `shard_map` tracks which values vary over the axis, and a "
        "gradient with respect to params that are the same on all devices is already such a sum."
    ),
    LESSON,
)
OWN_ROWS = Idea(
    "own rows only",
    _(
        "The result is that of the rows of one device. What the devices have computed from their "
        "own rows must be averaged before it enters params or state."
    ),
    "update/devices#exchange-along-the-axis",
)
ONE_DEVICE = Idea(
    "one device",
    _(
        "The numbers are right, but the program does not run on the devices of the mesh: only "
        "`shard_map` runs a function on each of them."
    ),
    "update/meshes#two-ways-to-think",
)


ALL_ROWS = Idea(
    "all rows everywhere",
    _(
        "The numbers are right, but the rows are not distributed: each device was given all of "
        "them, and does the whole work."
    ),
    "update/meshes#two-ways-to-think",
)


def _draw(rng):
    params = {"w": rng.normal(size=3).astype(np.float32), "b": np.float32(rng.normal())}
    x = (rng.normal(size=(8, 3)) + rng.normal(size=3)).astype(np.float32)
    batch = {"x": x, "y": rng.normal(3, 2, size=8).astype(np.float32)}
    return params, rng.normal(size=3).astype(np.float32), batch


def _after(params, state, batch, rows=8, state_rows=8, factor=1):
    x, y = np.float64(batch["x"][:rows]), np.float64(batch["y"][:rows])
    error = x @ np.float64(params["w"]) + params["b"] - y
    grads = {"w": 2 * x.T @ error / rows, "b": 2 * error.mean()}
    params = {name: params[name] - 0.1 * factor * grads[name] for name in params}
    mean = np.float64(batch["x"][:state_rows]).mean(axis=0)
    return {"params": params, "state": 0.9 * state + 0.1 * mean}


def _play(answer, params, state, batch):
    mesh = hs.data_mesh(jax.devices()[:4], "data")
    params, state = jax.jit(answer.make_step(mesh))(params, state, batch)
    return {"params": params, "state": state}


def _twice(answer, params, state, batch):
    mesh = hs.data_mesh(jax.devices()[:4], "data")
    step = jax.jit(answer.make_step(mesh))
    for _number in range(2):
        params, state = step(params, state, batch)
    shards = [leaf.addressable_shards for leaf in (params["w"], params["b"], state)]
    values = [[np.asarray(shard.data) for shard in leaf] for leaf in shards]
    program = str(jax.make_jaxpr(step)(params, state, batch))
    return {
        "shard_map": "shard_map" in program,
        "rows are cut": "[2,3]" in program,
        "devices": min(len(leaf) for leaf in shards),
        "equal": all(np.array_equal(one, leaf[0]) for leaf in values for one in leaf),
    }


def _like(**changes):
    return lambda *inputs: _after(*inputs, **changes)


EXERCISE = Exercise(
    title=_("From `pmap` to `shard_map`"),
    statement=_(
        "Change `make_step` so that it uses `shard_map`. The check calls `make_step(mesh)` with a "
        "mesh of four devices whose axis is called `data`, and its result, under `jax.jit`, with "
        "whole arrays, without a device axis: `step(params, state, batch)`. It returns the new "
        "params and the new state.\n\nOne step must be the step of a single device that sees all "
        "rows. You may change `step` and the imports too. `shard_map` takes `mesh`, `in_specs` and "
        "`out_specs`."
    ),
    lesson=LESSON,
    kind="port",
    minutes=8,
    hints=(
        _("Which of the three arguments is cut, and which are the same on every device?"),
        _(
            "Look at `in_specs`, which has one entry for each argument. If the step is four times "
            "too long, look at `jax.grad`: what has the default `shard_map` already done with the "
            "gradient?"
        ),
        _(
            "The specs are `P()` for params and state, and `P('data')` for the batch. Either turn "
            "the tracking off, as `shard_map` of `haiku_state.compat` does, or average the loss "
            "instead of its gradient."
        ),
    ),
    checks=(
        Check(
            _("One step is that of a single device"),
            inputs=_draw,
            play=_play,
            expected=_after,
            idea=DEVICE_AXIS,
            mistakes=(
                Mistake(SUMMED, like=_like(factor=4)),
                Mistake(OWN_ROWS, like=_like(rows=2)),
                Mistake(OWN_ROWS, like=_like(state_rows=2)),
                Mistake(OWN_ROWS, like=_like(rows=2, state_rows=2)),
                Mistake(OWN_ROWS, error="out_specs"),
            ),
        ),
        Check(
            _("Each of the four devices holds the same result"),
            inputs=_draw,
            play=_twice,
            expected=lambda params, state, batch: {
                "shard_map": True,
                "rows are cut": True,
                "devices": 4,
                "equal": True,
            },
            idea=ONE_DEVICE,
            mistakes=(
                Mistake(OWN_ROWS, when=lambda leaves, *inputs: not leaves["['equal']"]),
                Mistake(
                    ALL_ROWS,
                    when=lambda leaves, *inputs: bool(
                        leaves["['devices']"] == 4 and leaves["['shard_map']"]
                    ),
                ),
            ),
            draws=1,
        ),
    ),
)
