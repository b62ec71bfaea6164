"""Lines whose result has more than one layout."""

# A monitor keeps the second moments of what it has seen, and a few rows of
# the newest batch. It was written for a mesh with Auto axes.
import jax
import jax.numpy as jnp

# <solution>
from jax.sharding import PartitionSpec as P

# </solution>


def moments(x):
    #: return x.T @ x / len(x)
    # <solution>
    return jnp.matmul(x.T, x, out_sharding=P()) / len(x)
    # </solution>


def watched(x, rows):
    #: return x[rows]
    # <solution>
    return x.at[rows].get(out_sharding=P())
    # </solution>


@jax.jit
def update(state, x, rows):
    scale = jnp.sqrt(jnp.mean(jnp.square(x)))
    averaged = 0.9 * state["moments"] + 0.1 * moments(x)
    return {"moments": averaged, "rows": watched(x, rows), "scale": scale}


# The exercise
import numpy as np

from haiku_state.compat import has_set_mesh
from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

REFUSED = "update/explicit_axes#what-explicit-axes-refuse"
NAMING = "update/explicit_axes#naming-the-layout-of-a-result"
AMBIGUOUS = Idea(
    "ambiguous layout",
    _(
        "With explicit axes, the layout is part of the type. Where an operation could leave its "
        "result in more than one layout, JAX does not choose: the line has to name one."
    ),
    REFUSED,
)
STATE_LAYOUT = Idea(
    "layout of the state",
    _(
        "The state comes out with another layout than it went in with, so its type changes from "
        "step to step. Every device needs the whole of it."
    ),
    NAMING,
)
MOVED_ROWS = Idea(
    "rows moved",
    _(
        "All rows are sent to all devices before the product is computed, and each device does "
        "the whole work. It is enough to say where the small result belongs."
    ),
    NAMING,
)
ROWS = Idea(
    "other numbers",
    _("The layout decides where an array lies. The numbers stay those of a single device."),
    "update/explicit_axes#what-runs-unchanged-on-explicit-axes",
)


def _draw(rng):
    state = {
        "moments": rng.normal(size=(4, 4)).astype(np.float32),
        "rows": rng.normal(size=(2, 4)).astype(np.float32),
        "scale": np.float32(rng.normal()),
    }
    x = rng.normal(1, 2, size=(8, 4)).astype(np.float32)
    return state, x, rng.integers(0, 8, size=2).astype(np.int32)


def _mesh():
    kinds = (jax.sharding.AxisType.Explicit,)
    return jax.make_mesh((4,), ("data",), kinds, devices=jax.devices()[:4])


def _update(answer, state, x, rows):
    from jax.sharding import PartitionSpec as P

    with jax.set_mesh(_mesh()):
        state, rows = jax.device_put((state, rows), P())
        x = jax.device_put(x, P("data"))
        for _number in range(2):
            state = answer.update(state, x, rows)
        return jax.device_get(state)


def _after(state, x, rows):
    x = np.float64(x)
    averaged = np.float64(state["moments"])
    for _number in range(2):
        averaged = 0.9 * averaged + 0.1 * x.T @ x / len(x)
    return {"moments": averaged, "rows": x[rows], "scale": np.sqrt(np.square(x).mean())}


def _layouts(answer, state, x, rows):
    from jax.sharding import PartitionSpec as P

    with jax.set_mesh(_mesh()):
        state, rows = jax.device_put((state, rows), P())
        x = jax.device_put(x, P("data"))
        after = answer.update(state, x, rows)
        whole = {name: leaf.sharding.is_fully_replicated for name, leaf in after.items()}
        program = jax.jit(lambda x: answer.moments(x)).lower(x).compile().as_text()
        return {"whole": whole, "gathered": program.count(" all-gather(") > 0}


EXERCISE = Exercise(
    title=_("A mesh with explicit axes"),
    statement=_(
        "The mesh has been changed to one with explicit axes, and the program fails. Change "
        "`moments` and `watched` so that it runs again. The check makes a mesh of four devices "
        "with an explicit axis `data`, and calls `update(state, x, rows)` several times, where "
        "`rows` are two indices. The rows of `x` are distributed along `data`; everything else is "
        "replicated, and so must the new state be. `moments` may not send all rows to all devices."
    ),
    lesson=NAMING,
    kind="repair",
    minutes=6,
    hints=(
        _("Which two operations have a result that could lie on the devices in several ways?"),
        _(
            "Look at the product in `moments`, which sums over distributed rows, and at the "
            "indices in `watched`. Which keyword names the layout of a result?"
        ),
        _(
            "`jnp.matmul` takes `out_sharding=P()`, and so does `get`: `x.at[…].get(…)` reads what "
            "`x[…]` reads."
        ),
    ),
    checks=(
        Check(
            _("`update` runs on explicit axes, with the numbers of a single device"),
            inputs=_draw,
            play=_update,
            expected=_after,
            idea=ROWS,
            mistakes=(
                Mistake(AMBIGUOUS, error="ShardingTypeError"),
                Mistake(STATE_LAYOUT, error="add got incompatible shardings"),
            ),
        ),
        Check(
            _("The state stays replicated, and no rows are gathered"),
            inputs=_draw,
            play=_layouts,
            expected=lambda state, x, rows: {
                "whole": dict.fromkeys(("moments", "rows", "scale"), True),
                "gathered": False,
            },
            idea=STATE_LAYOUT,
            mistakes=(
                Mistake(
                    MOVED_ROWS,
                    when=lambda leaves, *inputs: bool(
                        leaves["['gathered']"] and leaves["['whole']['moments']"]
                    ),
                ),
            ),
            draws=1,
        ),
    ),
    needs=lambda: "" if has_set_mesh() else _("explicit axes need JAX 0.7.1 or newer"),
)
