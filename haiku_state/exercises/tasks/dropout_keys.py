"""A key for every step."""

# A layer with dropout runs over a list of inputs, and later goes on with
# more of them.
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    # Return the params, and a key for the steps.
    # <solution>
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng
    # </solution>
    #: params = model.init(rng, x)
    #: return params, rng


def run(params, rng, xs):
    # Return the outputs, and a key to go on with.
    outputs = []
    for x in xs:
        #: outputs.append(model.apply(params, rng, x))
        # <solution>
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
        # </solution>
    return jnp.stack(outputs), rng


# The exercise
import inspect
from unittest import mock

import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

SAME_MASK = Idea(
    "same mask",
    _("The same key gives the same mask: in each step of a run, the same units are dropped."),
    "haiku/randomness#a-key-for-every-step",
)
NOT_CARRIED = Idea(
    "key not carried",
    _(
        "The key that a run returns has to be one that no step has used yet: the next run goes on "
        "from it."
    ),
    "haiku/randomness#a-key-for-every-step",
)
HIDDEN_KEY = Idea(
    "hidden key",
    _(
        "The masks have to follow from the key that is passed in, and from nothing else: another "
        "key gives other masks, and the same key the same ones."
    ),
    "haiku/randomness#same-key-same-mask",
)
INIT_KEY = Idea(
    "key of init",
    _(
        "The key that made the params is used up. What is drawn from it later consists of the same "
        "random numbers as the params."
    ),
    "haiku/randomness#the-same-key-for-init-and-apply",
)
STEPS = 3


def _draw(rng):
    return np.uint32(rng.integers(2**31)), rng.normal(0, 1, (STEPS, 4)).astype(np.float32)


def _masks(answer, seed, xs):
    params, rng = answer.start(jax.random.key(seed), xs[0])
    new_key = _differ(rng, jax.random.key(seed))
    with mock.patch.object(answer, "model", _noted(answer.model, used := [])):
        first, rng = answer.run(params, rng, [xs[i] for i in range(STEPS)])
        second, rng = answer.run(params, rng, [xs[i] for i in range(STEPS)])
    whole = xs @ params["layer"]["w"] + params["layer"]["b"]
    dropped = jnp.concatenate([first, second]) == 0
    different = (dropped[:, None] != dropped).any(axis=-1)
    kept_right = jnp.where(first == 0, 0, first - 2 * whole)
    return {
        "key of start is new": new_key,
        "different in a run": different[:STEPS, :STEPS].sum(),
        "different runs": different[:STEPS, STEPS:].all(),
        "key of run is unused": jnp.all(jnp.stack([_differ(rng, key) for key in used])),
        "half are dropped": (dropped.mean() > 0.2) & (dropped.mean() < 0.8),
        "largest error": jnp.round(abs(kept_right).max(), 3),
    }


def _differ(key, other):
    return (jax.random.key_data(key) != jax.random.key_data(other)).any()


def _noted(model, keys):
    """Return the model, with an `apply` that notes the keys that it is given."""

    def apply(*arguments, **keywords):
        given = inspect.signature(model.apply).bind(*arguments, **keywords).arguments
        keys.append(given["rng"])
        return model.apply(*arguments, **keywords)

    return model._replace(apply=apply)


def _expected(seed, xs):
    return {
        "key of start is new": True,
        "different in a run": np.int32(STEPS * (STEPS - 1)),
        "different runs": True,
        "key of run is unused": True,
        "half are dropped": True,
        "largest error": 0.0,
    }


def _repeated(answer, seed, xs):
    def outputs(number):
        params, rng = answer.start(jax.random.key(number), xs[0])
        return answer.run(params, rng, [xs[i] for i in range(STEPS)])[0] == 0

    return {
        "same key, same masks": (outputs(seed) == outputs(seed)).all(),
        "other key, other masks": (outputs(seed) != outputs(seed + 1)).any(),
    }


EXERCISE = Exercise(
    title=_("A key for every step"),
    statement=_(
        "Repair `start` and `run`, so that no key is used twice. `start(rng, x)` returns params "
        "and a key; `run(params, rng, xs)` draws a mask of its own for each step, and returns the "
        "stacked outputs and a key. The check calls `start` once, and then `run` twice: the "
        "second call gets the key that the first one returned."
    ),
    lesson="haiku/randomness#a-key-for-every-step",
    kind="repair",
    minutes=7,
    hints=(
        _("How often is each key used, if `start` is followed by `run`, and `run` by `run`?"),
        _(
            "One line is missing in each function: in `start` before `model.init`, and in `run` "
            "within the loop."
        ),
        _("In the loop: `rng, step_rng = jax.random.split(rng)`, and `apply` gets `step_rng`."),
    ),
    checks=(
        Check(
            _("the masks follow from the key"),
            inputs=_draw,
            play=_repeated,
            expected=lambda seed, xs: {
                "same key, same masks": True,
                "other key, other masks": True,
            },
            idea=HIDDEN_KEY,
            draws=1,
        ),
        Check(
            _("each step of both runs has a mask of its own, and no key is used twice"),
            inputs=_draw,
            play=_masks,
            expected=_expected,
            idea=SAME_MASK,
            mistakes=(
                Mistake(SAME_MASK, when=lambda got, *_: got["['different in a run']"] == 0),
                Mistake(NOT_CARRIED, when=lambda got, *_: not got["['different runs']"]),
                Mistake(NOT_CARRIED, when=lambda got, *_: not got["['key of run is unused']"]),
                Mistake(INIT_KEY, when=lambda got, *_: not got["['key of start is new']"]),
            ),
            properties=("keys",),
            draws=1,
        ),
    ),
)
