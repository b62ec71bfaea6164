"""Each device draws noise of its own from one key that all of them hold."""

# Noise is added to the inputs on each of several devices. They are the axis
# "devices", and all of them hold the same key.
import jax


def add_noise(rng, x):
    # Return the inputs with noise, and the key for the next step.
    rng, noise_rng = jax.random.split(rng)
    # <solution>
    index = jax.lax.axis_index("devices")
    noise_rng = jax.random.fold_in(noise_rng, index)
    # </solution>
    noise = jax.random.normal(noise_rng, x.shape)
    return x + noise, rng


# The exercise
import numpy as np

import haiku_state as hs
from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

DEVICES = 4
SIZE = 500
STEPS = 2

SAME_NOISE = Idea(
    "same key",
    _(
        "Devices have drawn the same noise: they run the same program with the same key. "
        "A device can draw numbers of its own only if something in its key is its own."
    ),
    "update/pmapped_update#one-key-per-device",
)
OF_DATA = Idea(
    "noise of the data",
    _(
        "For another `x`, the noise is another. Which noise is drawn is said by the key and by the "
        "number of the device, and by nothing else."
    ),
    "update/pmapped_update#one-key-per-device",
)
DRIFTED = Idea(
    "drifted keys",
    _(
        "The key for the next step is no longer the same on all devices. It is a part of the train "
        "state, and the replicas of a train state stay equal. Only the noise may differ."
    ),
    "update/pmapped_update#one-key-per-device",
)
STALE_KEY = Idea(
    "stale key",
    _(
        "The next step draws the same noise as this one. Each step has to leave a new key to the "
        "next one."
    ),
    "haiku/randomness#same-key-same-mask",
)
NOT_NORMAL = Idea(
    "not normal",
    _("What was added to the inputs is not standard normal noise on every device."),
)


def _draw(rng):
    x = rng.normal(size=(DEVICES, SIZE)).astype(np.float32)
    return np.int32(rng.integers(1 << 30)), x


def _mapped(answer):
    # a new function each time, so that each is traced
    return jax.pmap(lambda *arguments: answer.add_noise(*arguments), axis_name="devices")


def _run(add_noise, seed, x):
    rng, noise, keys = hs.replicate(jax.random.key(seed), jax.devices()[:DEVICES]), [], []
    for _step in range(STEPS):
        outputs, rng = add_noise(rng, x)
        noise.append(np.asarray(outputs - x))
        keys.append(np.asarray(jax.random.key_data(rng)))
    return np.stack(noise), np.stack(keys)


def _play(answer, seed, x):
    noise, keys = _run(_mapped(answer), seed, x)
    traced_again = _mapped(answer)
    again, _keys = _run(traced_again, seed, x)
    other, _keys = _run(traced_again, seed + 1, x)
    elsewhere, _keys = _run(traced_again, seed, x + 1)
    of_next_key = jax.random.normal(jax.random.wrap_key_data(keys[0, 0]), (SIZE,))
    # sorted, so that a permutation is not another noise; adding and subtracting x rounds
    rounded = np.sort(noise.round(3))
    correlations = np.corrcoef(noise.reshape(-1, SIZE)) - np.eye(STEPS * DEVICES)
    return {
        "different on the devices": len(np.unique(rounded[0], axis=0)),
        "different in the steps": len(np.unique(rounded[:, 0], axis=0)),
        "different in all": len(np.unique(rounded.reshape(-1, SIZE), axis=0)),
        "different next keys": len(np.unique(keys[-1], axis=0)),
        "next key is new": bool((abs(noise[0] - of_next_key).max(axis=1) > 1e-3).all()),
        "repeatable": bool((noise == again).all()),
        "same for another x": bool(abs(noise - elsewhere).max() < 1e-3),
        "depends on the key": bool((noise != other).any()),
        "standard normal": bool(
            (abs(noise.std(axis=2) - 1) < 0.25).all()
            and (abs(noise.mean(axis=2)) < 0.3).all()
            and (abs(noise).max(axis=2) > 2).all()
        ),
        "independent": bool(abs(correlations).max() < 0.35),
    }


def _expected(seed, x):
    return {
        "different on the devices": DEVICES,
        "different in the steps": STEPS,
        "different in all": STEPS * DEVICES,
        "different next keys": 1,
        "next key is new": True,
        "repeatable": True,
        "same for another x": True,
        "depends on the key": True,
        "standard normal": True,
        "independent": True,
    }


def _is(name, *values):
    return lambda result, *inputs: result[f"['{name}']"] in values


EXERCISE = Exercise(
    title=_("A key for each device"),
    statement=_(
        "The check runs `add_noise(rng, x)` with `jax.pmap` on four devices, with "
        '`axis_name="devices"`. The key `rng` is the same on all of them. Repair `add_noise`, so '
        "that each device adds standard normal noise of its own, in each step another one, and "
        "the key for the next step is again the same on all devices. The same first key always "
        "gives the same noise."
    ),
    lesson="update/pmapped_update#one-key-per-device",
    kind="repair",
    minutes=5,
    hints=(
        _("What does a device know that the others do not?"),
        _("`jax.random.split` makes two keys: one may differ from device to device, one must not."),
        _(
            'Fold `jax.lax.axis_index("devices")` into the key with which the noise is drawn, '
            "and leave the other one as it is."
        ),
    ),
    checks=(
        Check(
            _("Each device has noise of its own, and all keep the same key"),
            inputs=_draw,
            play=_play,
            expected=_expected,
            idea=NOT_NORMAL,
            mistakes=(
                Mistake(ideas.NOT_REPEATABLE, when=_is("repeatable", False)),
                Mistake(ideas.FROZEN_VALUE, when=_is("depends on the key", False)),
                Mistake(OF_DATA, when=_is("same for another x", False)),
                Mistake(SAME_NOISE, when=_is("different on the devices", *range(DEVICES))),
                Mistake(DRIFTED, when=_is("different next keys", *range(2, DEVICES + 1))),
                Mistake(STALE_KEY, when=_is("different in the steps", 1)),
                Mistake(ideas.KEY_REUSED, when=_is("next key is new", False)),
                Mistake(ideas.KEY_REUSED, when=_is("different in all", *range(STEPS * DEVICES))),
            ),
            draws=1,
        ),
    ),
)
