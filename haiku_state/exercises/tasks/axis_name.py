"""BatchNorm on several devices needs the name of their axis."""

# A network with two layers of BatchNorm. It is trained on four devices, and on
# a single one, where there is no axis.
import haiku as hk
import jax

import haiku_state as hs


def make_network(axis_name=None):
    # Return the pair of a network for the devices along this axis, or for a
    # single device if there is no name.
    def network(x, is_training):
        for size in (10, 9):
            #: norm = hs.BatchNorm(True, True, 0.9)
            # <solution>
            norm = hs.BatchNorm(True, True, 0.9, cross_replica_axis=axis_name)
            # </solution>
            x = jax.nn.relu(norm(hk.Linear(size)(x), is_training))
        return x

    return hk.transform_with_state(network)


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

DEVICES = 4
ROWS = 4
DECAY = 0.9
LAYERS = (("", 4, 10), ("_1", 10, 9))

OWN_ROWS = Idea(
    "own rows",
    _(
        "The replicas have different running statistics: BatchNorm has normalized each part of "
        "the batch by the mean and variance of this part. Nothing tells it that there are others."
    ),
    "update/pmapped_update#without-the-name-of-the-axis",
)
NO_AXIS = Idea(
    "unbound axis",
    _(
        "On a single device nothing is mapped, so there is no axis of this name. Whether there is "
        "one is known to the caller of `make_network`."
    ),
    "update/devices#exchange-along-the-axis",
)
OTHER_NAME = Idea(
    "other name",
    _("The devices have no axis of this name. Its name is the one that `make_network` is given."),
    "update/devices#exchange-along-the-axis",
)
EQUAL = Idea(
    "equal, not right",
    _(
        "The replicas are equal, but their statistics are not those of the whole batch. What has "
        "to be averaged are the mean and the squared deviations, and the layer itself does that."
    ),
    "update/pmapped_update#fixing-it-afterwards",
)


def _draw(rng):
    """Draw params, a state after some steps, and the batch, a part for each device."""

    def array(*shape):
        return rng.normal(size=shape).astype(np.float32)

    def average(size):
        steps, hidden = rng.integers(1, 20), rng.uniform(0.2, 2.0, (1, size))
        mean = hidden / (1 - DECAY**steps)
        return {
            "hidden": hidden.astype(np.float32),
            "average": mean.astype(np.float32),
            "counter": np.int32(steps),
        }

    params, state = {}, {}
    for ending, before, size in LAYERS:
        params[f"linear{ending}"] = {"w": array(before, size), "b": array(size)}
        params[f"batch_norm{ending}"] = {"scale": array(1, size), "offset": array(1, size)}
        for name in ("mean_ema", "var_ema"):
            state[f"batch_norm{ending}/~/{name}"] = average(size)
    x = rng.normal(2.0, 3.0, size=(DEVICES, ROWS, 4)) + rng.normal(size=(DEVICES, 1, 4))
    return params, state, x.astype(np.float32)


def _mapped(answer, params, state, x):
    apply = answer.make_network("devices").apply

    def forward(params, state, x):
        return apply(params, state, None, x, True)

    mapped = jax.pmap(forward, axis_name="devices", in_axes=(None, None, 0))
    outputs, state = mapped(params, state, x)
    return _short(outputs, state)


def _short(outputs, state):
    # over all channels, so that what is shown to the learner is a number for each device
    result = {path: leaves["average"].mean(axis=(-2, -1)) for path, leaves in state.items()}
    return {"outputs": outputs.mean(axis=(-2, -1)), "running statistics": result}


def _single(answer, params, state, x):
    apply = jax.jit(answer.make_network().apply, static_argnums=4)
    outputs, state = apply(params, state, None, x.reshape(DEVICES * ROWS, -1), True)
    return _short(outputs, state)


def _evaluation(answer, params, state, x):
    apply = jax.jit(answer.make_network().apply, static_argnums=4)
    return _short(*apply(params, state, None, x[0], False))


def _linear(params, ending, x):
    linear = params[f"linear{ending}"]
    return x @ np.float64(linear["w"]) + linear["b"]


def _normalized(params, ending, x, mean, variance):
    norm = params[f"batch_norm{ending}"]
    return np.maximum(norm["scale"] * (x - mean) / np.sqrt(variance + 1e-5) + norm["offset"], 0)


def _expected_single(params, state, x, shape=(DEVICES * ROWS, LAYERS[-1][-1])):
    new = {}
    x = np.float64(x).reshape(DEVICES * ROWS, -1)
    for ending, _before, _size in LAYERS:
        x = _linear(params, ending, x)
        mean, variance = x.mean(axis=0), x.var(axis=0)
        x = _normalized(params, ending, x, mean, variance)
        for name, value in (("mean_ema", mean), ("var_ema", variance)):
            path = f"batch_norm{ending}/~/{name}"
            counter = state[path]["counter"] + 1
            before = np.float64(state[path]["hidden"])
            hidden = DECAY * before + (1 - DECAY) * value[None]
            average = hidden / (1 - DECAY ** int(counter))
            new[path] = {"average": average}
    return _short(x.reshape(shape), new)


def _expected(params, state, x):
    result = _expected_single(params, state, x, (DEVICES, ROWS, -1))
    averages = jax.tree.map(lambda mean: np.repeat(mean, DEVICES), result["running statistics"])
    return {**result, "running statistics": averages}


def _expected_evaluation(params, state, x):
    x = np.float64(x[0])
    for ending, _before, _size in LAYERS:
        running = (state[f"batch_norm{ending}/~/{name}"] for name in ("mean_ema", "var_ema"))
        statistics = (np.float64(one["average"]) for one in running)
        x = _normalized(params, ending, _linear(params, ending, x), *statistics)
    return _short(x, state)


def _replicas_differ(result, *inputs):
    leaves = [leaf for path, leaf in result.items() if path.startswith("['running")]
    return any(np.ptp(leaf) > 1e-3 for leaf in leaves)


EXERCISE = Exercise(
    title=_("The name of the axis"),
    statement=_(
        '`make_network("devices")` is used inside `jax.pmap` on four devices, with this name for '
        "their axis, and `make_network()` on a single device. Repair it, so that in training the "
        "four devices together compute what the single one computes from the whole batch: the "
        "same outputs and, on every replica, the same running statistics."
    ),
    lesson="update/pmapped_update#without-the-name-of-the-axis",
    kind="repair",
    minutes=5,
    hints=(
        _("From which rows of the batch does `BatchNorm` compute its mean and variance?"),
        _("`axis_name` comes in, and is not used. Look at what the lesson passes to `BatchNorm`."),
        _("It is the argument `cross_replica_axis`, and on a single device it is `None`."),
    ),
    checks=(
        Check(
            _("Four devices compute what one device computes from the whole batch"),
            inputs=_draw,
            play=_mapped,
            expected=_expected,
            idea=EQUAL,
            mistakes=(
                Mistake(OTHER_NAME, error="UnboundAxisError"),
                Mistake(OTHER_NAME, error="unbound axis"),
                Mistake(OWN_ROWS, when=_replicas_differ),
            ),
            tolerance=1e-4,
            draws=1,
        ),
        Check(
            _("On a single device, the network needs no axis"),
            inputs=_draw,
            play=_single,
            expected=_expected_single,
            idea=NO_AXIS,
            mistakes=(Mistake(NO_AXIS, error="NameError"),),
            tolerance=1e-4,
            draws=1,
        ),
        Check(
            _("In evaluation, the running statistics are used, and stay as they are"),
            inputs=_draw,
            play=_evaluation,
            expected=_expected_evaluation,
            idea=ideas.EVALUATION,
            mistakes=(Mistake(NO_AXIS, error="NameError"),),
            tolerance=1e-4,
            draws=1,
        ),
    ),
)
