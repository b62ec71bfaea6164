"""From pmap to jit on a mesh."""

# Four devices learn weights for centered inputs together. Each device adds
# noise of its own to its rows, and the state is a running mean.
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    #: mean = jax.lax.pmean(jnp.mean(x, axis=0), "data")
    # <solution>
    mean = jnp.mean(x, axis=0)
    # </solution>
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


#: def step(params, state, rng, batch):
#:     over = {"axis_name": "data", "in_axes": (0, 0, None, 0)}
#:     return jax.pmap(one_step, **over)(params, state, rng, batch)
#:
#:
#: def one_step(params, state, rng, batch):
# <solution>
@jax.jit
def step(params, state, rng, batch):
    # </solution>
    #: rng = jax.random.fold_in(rng, jax.lax.axis_index("data"))
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    #: grads = jax.lax.pmean(grads, "data")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return the three as the step needs them.
    #: def copy(leaf):
    #:     return jnp.stack([leaf] * 4)
    #:
    #: def cut(leaf):
    #:     return jnp.stack(jnp.split(leaf, 4))
    #:
    #: params, state = jax.tree.map(copy, (params, state))
    #: return params, state, jax.tree.map(cut, batch)
    # <solution>
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))
    # </solution>


# The exercise
import numpy as np

import haiku_state as hs
from haiku_state.errors.language import deferred as _
from haiku_state.exercises.counting import is_one_program
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

DEVICE_AXIS = Idea(
    "no device axis",
    _(
        "On a mesh, an array keeps its own shape: nothing is stacked, and nothing is reshaped. A "
        "`NamedSharding` says which device holds which part."
    ),
    "update/meshes#a-mesh-gives-names-to-devices",
)
NOT_CUT = Idea(
    "batch not cut",
    _(
        "Every device holds all rows of the batch, so that each does the whole work. A "
        "`PartitionSpec` names the axis of the mesh that cuts the rows."
    ),
    "update/meshes#a-mesh-gives-names-to-devices",
)
NOT_REPLICATED = Idea(
    "copies",
    _(
        "Params and state are needed by every device, and so each of the four holds a whole copy: "
        "a spec that names no axis."
    ),
    "update/meshes#a-mesh-gives-names-to-devices",
)
COLLECTIVE = Idea(
    "no collectives",
    _(
        "Under `jit`, the function sees whole arrays, and there is no axis of devices to name. A "
        "mean is the mean of all rows, and the compiler inserts the communication."
    ),
    "update/meshes#two-ways-to-think",
)
SAME_NUMBERS = Idea(
    "same numbers",
    _(
        "The step must be the one that a single device takes with the whole batch. Under `jit` "
        "the layout decides where something is computed, and never what."
    ),
    "update/meshes#two-ways-to-think",
)
COMPILED = Idea(
    "compiled step",
    _(
        "The numbers are right, but the step runs op by op: each operation starts on the devices "
        "by itself. The step is to be one compiled program."
    ),
    "update/meshes#two-ways-to-think",
)
ONE_KEY = Idea(
    "one key",
    _(
        "Under `jit`, the noise of all rows is one array, drawn from the key that comes in. No "
        "device needs a key of its own."
    ),
    "update/meshes#two-ways-to-think",
)


def _draw(rng):
    x = (rng.normal(size=(8, 3)) + rng.normal(size=3)).astype(np.float32)
    batch = {"x": x, "y": rng.normal(size=8).astype(np.float32)}
    params = {"w": rng.normal(size=3).astype(np.float32)}
    seed = np.uint32(rng.integers(1, 1000))
    return params, rng.normal(size=3).astype(np.float32), seed, batch


def _placed(answer, params, state, seed, batch):
    mesh = hs.data_mesh(jax.devices()[:4], "data")
    return answer.place(mesh, params, state, batch)


def _layout(answer, params, state, seed, batch):
    params, state, batch = _placed(answer, params, state, seed, batch)
    leaves = {"w": params["w"], "state": state, "x": batch["x"], "y": batch["y"]}
    return {
        "array": {name: np.array(leaf.shape) for name, leaf in leaves.items()},
        "part": {name: _part(leaf) for name, leaf in leaves.items()},
        "places": {name: len(leaf.devices()) for name, leaf in leaves.items()},
    }


def _part(leaf):
    return np.array(leaf.addressable_shards[0].data.shape)


def _wanted(params, state, seed, batch):
    shapes = {"w": (3,), "state": (3,), "x": (8, 3), "y": (8,)}
    parts = {"w": (3,), "state": (3,), "x": (2, 3), "y": (2,)}
    return {
        "array": {name: np.array(shape) for name, shape in shapes.items()},
        "part": {name: np.array(shape) for name, shape in parts.items()},
        "places": dict.fromkeys(shapes, 4),
    }


def _step(answer, params, state, seed, batch):
    params, state, batch = _placed(answer, params, state, seed, batch)
    params, state = answer.step(params, state, jax.random.key(seed), batch)
    return {"params": params, "state": state}


def _after(params, state, seed, batch, factor=1.0, folded=False):
    rng = jax.random.key(seed)
    if folded:
        rng = jax.random.fold_in(rng, 0)
    x = np.float64(batch["x"]) + 0.1 * np.float64(jax.random.normal(rng, (8, 3)))
    mean = x.mean(axis=0)
    error = (x - mean) @ np.float64(params["w"]) - batch["y"]
    grads = 2 * (x - mean).T @ error / 8
    w = params["w"] - 0.1 * factor * grads
    return {"params": {"w": w}, "state": 0.9 * state + 0.1 * mean}


def _result_layout(answer, params, state, seed, batch):
    params, state, batch = _placed(answer, params, state, seed, batch)
    rng = jax.random.key(seed)
    given = params, state, rng, batch
    program = str(jax.make_jaxpr(lambda *given: answer.step(*given))(*given))
    names = ("psum", "all_gather", "axis_index", "shard_map", "pmap")
    params, state = answer.step(*given)
    return {
        "collectives": sum(program.count(name) for name in names),
        "compiled": is_one_program(answer.step, *given),
        "copies": np.array([len(params["w"].devices()), len(state.devices())]),
        "parts": np.array([*_part(params["w"]), *_part(state)]),
    }


def _like(**changes):
    return lambda *inputs: _after(*inputs, **changes)


EXERCISE = Exercise(
    title=_("From `pmap` to `jit` on a mesh"),
    statement=_(
        "Move the step from `pmap` to `jit` with whole arrays. `place(mesh, params, state, batch)` "
        "gets whole arrays and a mesh of four devices whose axis is called `data`, and returns the "
        "three placed on the mesh: the rows of the batch cut, the others as copies. "
        "`step(params, state, rng, batch)` is then the step of a single device with the whole "
        "batch. It returns the new params and the new state, and names no axis any more."
    ),
    lesson="update/meshes#two-ways-to-think",
    kind="port",
    minutes=10,
    hints=(
        _("Which lines are there only because each device sees its own rows and nothing else?"),
        _(
            "Look at every line that contains the axis name `data`: only in `place` is it still "
            "needed, in the layout of the batch."
        ),
        _(
            "`jax.device_put(batch, NamedSharding(mesh, P('data')))` cuts the rows; params and "
            "state get `P()`. In `loss_fn` and `step`, remove `pmean` and `fold_in`, and replace "
            "`pmap` with `jax.jit`."
        ),
    ),
    checks=(
        Check(
            _("`place` cuts the batch, and copies params and state"),
            inputs=_draw,
            play=_layout,
            expected=_wanted,
            idea=DEVICE_AXIS,
            mistakes=(
                Mistake(
                    DEVICE_AXIS, when=lambda leaves, *inputs: len(leaves["['array']['x']"]) != 2
                ),
                Mistake(
                    NOT_CUT,
                    when=lambda leaves, *inputs: leaves["['part']['x']"].tolist() == [8, 3],
                ),
                Mistake(
                    NOT_REPLICATED,
                    when=lambda leaves, *inputs: (
                        leaves["['places']['w']"] < 4 or leaves["['places']['state']"] < 4
                    ),
                ),
                Mistake(NOT_REPLICATED, error="implies that"),
            ),
            draws=1,
        ),
        Check(
            _("One step is that of a single device"),
            inputs=_draw,
            play=_step,
            expected=_after,
            idea=SAME_NUMBERS,
            mistakes=(
                Mistake(COLLECTIVE, error="unbound axis name"),
                Mistake(COLLECTIVE, error="axis name"),
                Mistake(COLLECTIVE, error="NameError"),
                Mistake(COLLECTIVE, like=_like(factor=0.25)),
                Mistake(COLLECTIVE, like=_like(factor=4.0)),
                Mistake(ONE_KEY, like=_like(folded=True)),
            ),
        ),
        Check(
            _("The program names no axis, and its results are copies on all devices"),
            inputs=_draw,
            play=_result_layout,
            expected=lambda params, state, seed, batch: {
                "collectives": 0,
                "compiled": True,
                "copies": np.array([4, 4]),
                "parts": np.array([3, 3]),
            },
            idea=NOT_REPLICATED,
            mistakes=(
                Mistake(COLLECTIVE, when=lambda leaves, *inputs: leaves["['collectives']"] > 0),
                Mistake(COMPILED, when=lambda leaves, *inputs: not leaves["['compiled']"]),
            ),
            draws=1,
        ),
    ),
)
