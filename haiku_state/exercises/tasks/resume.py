"""All that the next step needs."""

# A run must be able to go on after its process was killed. Each step adds
# noise to its batch, the optimizer has momentum, and the state is a running
# mean.
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    #: np.savez(path, params=train_state.params)
    # <solution>
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)
    # </solution>


def load(path):
    #: with np.load(path) as file:
    #:     params = jnp.asarray(file["params"])
    #: return start()._replace(params=params)
    # <solution>
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)
    # </solution>


# The exercise
import os
import signal

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

LESSON = "update/checkpoints#what-a-train-state-must-hold"
OPT_STATE = Idea(
    "optimizer state",
    _(
        "Momentum begins again from zero. The first loss after the resume is still the same, and "
        "from the second one on it is a different run."
    ),
    LESSON,
)
RANDOM_KEY = Idea(
    "random key",
    _("The key is the state of the random numbers: without it, the noise of the first steps comes "
      "back."),
    LESSON,
)  # fmt: skip
STATE = Idea(
    "running statistics",
    _(
        "The state is not restored. No training loss would show it, but an evaluation would use a "
        "running mean that has seen nothing."
    ),
    LESSON,
)
STEP = Idea(
    "step count",
    _("What depends on the number of steps, such as the size of a step, begins again."),
    LESSON,
)
ONLY_IN_MEMORY = Idea(
    "only in memory",
    _(
        "A process that is killed takes all its variables with it. The next one finds only what is "
        "in the file."
    ),
    "update/checkpoints#kill-it",
)
ROUND_TRIP = Idea(
    "round trip",
    _("What `load` returns must be what `save` was given, in every field of the train state."),
    "update/checkpoints#one-save-one-restore",
)


def _draw(rng):
    vectors = rng.normal(size=(3, 3)).astype(np.float32)
    seed, step = rng.integers(1, 1000), rng.integers(5, 50)
    batches = rng.normal(2, 1, size=(6, 4, 3)).astype(np.float32)
    return vectors, np.uint32(seed), np.int32(step), batches


def _begin(vectors, seed, step):
    return hs.TrainState(*jnp.asarray(vectors), jax.random.key(seed), jnp.int32(step))


def _path(name):
    return os.path.join(os.environ["HAIKU_STATE_WORK"], name)


def _fields(train_state):
    return dict(train_state._asdict())


def _there_and_back(answer, vectors, seed, step, batches):
    path = _path("once.npz")
    answer.save(path, _begin(vectors, seed, step))
    return _fields(answer.load(path))


def _killed(answer, vectors, seed, step, batches):
    try:
        train_state = _begin(vectors, seed, step)
        for batch in batches[:3]:
            train_state = answer.update(train_state, jnp.asarray(batch))
        answer.save(_path("run.npz"), train_state)
    finally:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _resumed(answer, vectors, seed, step, batches):
    restored = answer.load(_path("run.npz"))
    train_state = restored
    for batch in batches[3:]:
        train_state = answer.update(train_state, batch)
    return {"resumed": _fields(restored), "end": _fields(train_state)}


def _run(vectors, seed, step, batches):
    (params, state, opt_state), rng = np.float64(vectors), jax.random.key(seed)
    after = []
    for batch in batches:
        rng, noise_rng = jax.random.split(rng)
        mean = (batch + np.float64(jax.random.normal(noise_rng, batch.shape))).mean(axis=0)
        opt_state = 0.9 * opt_state + (params - mean)
        params, state = params - opt_state / (step + 10), 0.9 * state + 0.1 * mean
        step = step + np.int32(1)
        after.append(_fields(hs.TrainState(params, state, opt_state, rng, step)))
    return {"resumed": after[2], "end": after[5]}


def _zero(name):
    return lambda leaves, *inputs: not leaves[name].any()


EXERCISE = Exercise(
    title=_("Exact resume"),
    statement=_(
        "`save(path, train_state)` keeps only the params, so a resumed run is a different run. "
        "Change `save` and `load` so that `load(path)` returns the whole train state, with the "
        "same dtypes. The rest of the program stays as it is.\n\nThe check trains three steps in a "
        "first process, calls `save`, and kills the process. A second process calls `load` and "
        "trains three more steps. They must be those of a run that was never interrupted."
    ),
    lesson=LESSON,
    kind="repair",
    minutes=8,
    hints=(
        _("What does `update` read besides the batch?"),
        _(
            "Look at the five fields of the train state. `np.savez` takes arrays by name, and one "
            "of the five is not an array of numbers: its numbers are `jax.random.key_data(rng)`."
        ),
        _(
            "In `load`, `hs.TrainState(params=…, state=…, opt_state=…, rng=…, step=…)` takes the "
            "arrays of the file, and the key is `jax.random.wrap_key_data(jnp.asarray(…))`."
        ),
    ),
    checks=(
        Check(
            _("What `load` returns is what `save` was given"),
            inputs=_draw,
            play=_there_and_back,
            expected=lambda vectors, seed, step, batches: _fields(_begin(vectors, seed, step)),
            idea=ROUND_TRIP,
            mistakes=(
                Mistake(OPT_STATE, when=_zero("['opt_state']")),
                Mistake(RANDOM_KEY, when=_zero("['rng']")),
                Mistake(STATE, when=_zero("['state']")),
                Mistake(STEP, when=_zero("['step']")),
                Mistake(ideas.KEY_DATA, error="key"),
                Mistake(ideas.KEY_DATA, error="pickle"),
            ),
            draws=1,
            types=True,
            tolerance=0.0,
        ),
        Check(
            _("A killed run is resumed, and goes on with the same numbers"),
            inputs=_draw,
            killed=_killed,
            play=_resumed,
            expected=_run,
            idea=ONLY_IN_MEMORY,
            mistakes=(
                Mistake(
                    ideas.DTYPE,
                    when=lambda leaves, *inputs: leaves["['end']['params']"].dtype != np.float32,
                ),
            ),
            draws=1,
        ),
    ),
)
