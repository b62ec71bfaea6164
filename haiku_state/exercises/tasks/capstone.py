"""The whole course in one program."""

# This trainer was inherited. It runs on four devices, but nobody can resume
# it, or get the same numbers twice.
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs

#: steps = 0
#:
#:
#: class Trainer:
#:     def __init__(self, seed):
#:         self.random = np.random.default_rng(seed)
#:         self.w = np.float32(self.random.normal(size=3))
#:         self.velocity = np.zeros(3, np.float32)
#:         self.mean = np.zeros((4, 3), np.float32)
#:         over = {"in_axes": (0, 0, 0, None, None), "out_axes": (0, None, None)}
#:         self.parallel = jax.pmap(self.work, axis_name="data", **over)
#:
#:     def work(self, mean, x, y, w, rate):
#:         batch_mean = jnp.mean(x, axis=0)
#:
#:         def loss_fn(w):
#:             return jnp.mean(jnp.square((x - batch_mean) @ w - y))
#:
#:         loss, grads = jax.value_and_grad(loss_fn)(w)
#:         grads, loss = jax.lax.pmean((grads, loss), "data")
#:         return 0.9 * mean + 0.1 * batch_mean, grads, loss
#:
#:     def train(self, x, y):
#:         global steps
#:         x = x + 0.1 * np.float32(self.random.normal(size=x.shape))
#:         x, y = x.reshape(4, -1, 3), y.reshape(4, -1)
#:         rate = 1 / (10 + steps)
#:         results = self.parallel(self.mean, x, y, self.w, rate)
#:         self.mean, grads, loss = results
#:         self.velocity = 0.9 * self.velocity + grads
#:         self.w = self.w - rate * self.velocity
#:         steps += 1
#:         return float(loss)
#:
#:     def save(self, path):
#:         np.savez(path, w=self.w)


def start(rng):
    # Return the train state of step 0.
    #: return None
    # <solution>
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))
    # </solution>


def update(train_state, batch):
    # Return the next train state, and a dict with the loss.
    #: return None
    # <solution>
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}
    # </solution>


def place(mesh, train_state, batch):
    # Return the train state and the batch, laid out on the mesh.
    #: return None
    # <solution>
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))
    # </solution>


def save(path, train_state):
    # Write the train state to a file.
    #: return None
    # <solution>
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)
    # </solution>


def load(path):
    # Return the train state that was saved.
    #: return None
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

BUNDLE = Idea(
    "one bundle",
    _(
        "Attributes, a global, NumPy's generator, arrays per device: whatever the old trainer "
        "remembers from step to step has its place in one of the five fields of the train state."
    ),
    "update/jitted_update#one-bundle",
)
ALL_ROWS = Idea(
    "all rows",
    _(
        "The old trainer takes its mean over the rows of each device. Now the step sees the whole "
        "batch, and its formulas are those of a single device."
    ),
    "update/meshes#two-ways-to-think",
)
DROPPED = Idea(
    "dropped state",
    _("A field of the train state has come out as it went in, although the step changes it."),
    "state/stateful_computations#state-in-state-out",
)
COLLECTIVE = Idea(
    "no collectives",
    _(
        "The step names an axis of devices that does not exist here. Under `jit`, it sees whole "
        "arrays, and the compiler inserts the communication."
    ),
    "update/meshes#two-ways-to-think",
)
LAYOUT = Idea(
    "layout",
    _(
        "On the mesh, each device holds its own rows of the batch, and a whole copy of everything "
        "that the steps carry on. No shape changes."
    ),
    "update/meshes#a-mesh-gives-names-to-devices",
)
ROUND_TRIP = Idea(
    "round trip",
    _("What `load` returns must be what `save` was given, in every field of the train state."),
    "update/checkpoints#what-a-train-state-must-hold",
)
ONLY_IN_MEMORY = Idea(
    "only in memory",
    _(
        "A process that is killed takes all its variables with it. The next one finds only what is "
        "in the file."
    ),
    "update/checkpoints#kill-it",
)
STEPS = 5


def _draw(rng):
    seed, vectors = np.uint32(rng.integers(1, 1000)), rng.normal(size=(3, 3)).astype(np.float32)
    x = (rng.normal(size=(STEPS, 8, 3)) + rng.normal(size=3)).astype(np.float32)
    y = rng.normal(size=(STEPS, 8)).astype(np.float32)
    return vectors, seed, np.int32(rng.integers(5, 50)), {"x": x, "y": y}


def _begin(vectors, seed, step):
    return hs.TrainState(*jnp.asarray(vectors), jax.random.key(seed), jnp.int32(step))


def _first(batches):
    return {name: leaf[0] for name, leaf in batches.items()}


def _fields(train_state):
    return dict(train_state._asdict())


def _all_fields(pair):
    return {**_fields(pair[0]), "loss": pair[1]["loss"]}


def _started(vectors, seed, step, batches):
    rng, init_rng = jax.random.split(jax.random.key(seed))
    zeros = np.zeros(3, np.float32)
    w = np.asarray(jax.random.normal(init_rng, (3,)))
    return {"params": w, "state": zeros, "opt_state": zeros, "rng": rng, "step": np.int32(0)}


def _advanced(fields, batch, parts=1):
    rng, noise_rng = jax.random.split(fields["rng"])
    fields = {name: np.asarray(leaf) for name, leaf in fields.items() if name != "rng"}
    noise = np.float64(jax.random.normal(noise_rng, batch["x"].shape))
    x = np.float64(batch["x"]) + 0.1 * noise
    mean = x.mean(axis=0)
    centers = np.repeat(x.reshape(parts, -1, 3).mean(axis=1), len(x) // parts, axis=0)
    error = (x - centers) @ np.float64(fields["params"]) - batch["y"]
    velocity = 0.9 * fields["opt_state"] + 2 * (x - centers).T @ error / len(x)
    return {
        "params": np.float32(fields["params"] - velocity / (10 + fields["step"])),
        "state": np.float32(0.9 * fields["state"] + 0.1 * mean),
        "opt_state": np.float32(velocity),
        "rng": rng,
        "step": np.int32(fields["step"] + 1),
        "loss": np.float32(np.mean(error**2)),
    }


def _one(vectors, seed, step, batches, parts=1):
    return _advanced(_fields(_begin(vectors, seed, step)), _first(batches), parts)


def _five(vectors, seed, step, batches):
    return _from(_fields(_begin(vectors, seed, step)), batches)


def _from(fields, batches):
    for number in range(STEPS):
        fields = _advanced(fields, {name: leaf[number] for name, leaf in batches.items()})
    return {name: leaf for name, leaf in fields.items() if name != "loss"}


def _update(answer, vectors, seed, step, batches):
    vectors = jnp.asarray(vectors)
    rng = jax.random.key(seed)
    train_state = hs.TrainState(vectors[0], vectors[1], vectors[2], rng, step)
    batch = {"x": batches["x"][0], "y": batches["y"][0]}
    after, metrics = answer.update(train_state, batch)
    return {
        "params": after.params,
        "state": after.state,
        "opt_state": after.opt_state,
        "rng": after.rng,
        "step": after.step,
        "loss": metrics["loss"],
    }


def _scanned(answer, vectors, seed, step, batches):
    train_state, _metrics = jax.lax.scan(answer.update, _begin(vectors, seed, step), batches)
    return _fields(train_state)


def _layout(answer, vectors, seed, step, batches):
    mesh = hs.data_mesh(jax.devices()[:4], "data")
    begin = _begin(vectors, seed, step)
    train_state, batch = answer.place(mesh, begin, _first(batches))
    facts = {
        "x": _part(batch["x"]),
        "y": _part(batch["y"]),
        "params": _part(train_state.params),
        "devices": np.array([len(leaf.devices()) for leaf in (*batch.values(), *train_state[:3])]),
    }
    after, metrics = jax.jit(answer.update)(train_state, batch)
    return {"placed": facts, "copies": _part(after.params), "step": _all_fields((after, metrics))}


def _part(leaf):
    return np.array(leaf.addressable_shards[0].data.shape)


def _laid_out(vectors, seed, step, batches):
    placed = {"x": np.array([2, 3]), "y": np.array([2]), "params": np.array([3])}
    placed["devices"] = np.full(5, 4)
    return {"placed": placed, "copies": np.array([3]), "step": _one(vectors, seed, step, batches)}


def _path(name):
    return os.path.join(os.environ["HAIKU_STATE_WORK"], name)


def _there_and_back(answer, vectors, seed, step, batches):
    answer.save(_path("once.npz"), _begin(vectors, seed, step))
    return _fields(answer.load(_path("once.npz")))


def _on_the_mesh(answer, train_state, batches, numbers):
    mesh, run = hs.data_mesh(jax.devices()[:4], "data"), jax.jit(answer.update)
    for number in numbers:
        batch = {name: jnp.asarray(leaf[number]) for name, leaf in batches.items()}
        train_state, _metrics = run(*answer.place(mesh, train_state, batch))
    return train_state


def _killed(answer, vectors, seed, step, batches):
    try:
        train_state = answer.start(jax.random.key(seed))
        answer.save(_path("run.npz"), _on_the_mesh(answer, train_state, batches, range(3)))
    finally:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _resumed(answer, vectors, seed, step, batches):
    resumed = _on_the_mesh(answer, answer.load(_path("run.npz")), batches, range(3, STEPS))
    whole = _on_the_mesh(answer, answer.start(jax.random.key(seed)), batches, range(STEPS))
    pairs = zip(_numbers(resumed), _numbers(whole), strict=True)
    return {
        "end": _fields(resumed),
        "bit for bit": all(np.array_equal(one, other) for one, other in pairs),
    }


def _numbers(train_state):
    return jax.device_get(
        jax.tree.leaves(train_state._replace(rng=jax.random.key_data(train_state.rng)))
    )


def _uninterrupted(vectors, seed, step, batches):
    return {"end": _from(_started(vectors, seed, step, batches), batches), "bit for bit": True}


def _same_key(leaves, vectors, seed, *rest):
    return np.array_equal(leaves["['rng']"], jax.random.key_data(jax.random.key(seed)))


def _unchanged(leaves, vectors, seed, step, batches):
    state, opt_state = leaves["['state']"], leaves["['opt_state']"]
    dropped = np.array_equal(state, vectors[1]) or np.array_equal(opt_state, vectors[2])
    return dropped or leaves["['step']"] == step


def _like(**changes):
    return lambda *inputs: _one(*inputs, **changes)


EXERCISE = Exercise(
    title=_("Capstone: an inherited trainer"),
    statement=_(
        "Replace `Trainer` with five functions. The train state is an `hs.TrainState`: the params "
        "are `w`, the state is `mean` of shape `(3,)`, and the `opt_state` is `velocity`. The "
        "numbers are those of the old trainer, but for two things: noise is drawn from keys, and "
        "every mean over rows is a mean over all rows of the batch.\n\n`start(rng)` returns the "
        "first train state. It splits the key by `jax.random.split(rng)`: the first part goes into "
        "the train state, and from the second one, `jax.random.normal` draws `w`.\n\n"
        "`update(train_state, batch)` returns the next train state and `{'loss': …}`. A batch is a "
        "dict of `x` and `y`. It splits the key in the same way, and draws the noise from the "
        "second part. The step size `1 / (10 + step)` uses the step before it is counted.\n\n"
        "`place(mesh, train_state, batch)` returns both for `jax.jit(update)` on a mesh of four "
        "devices with the axis `data`. `save(path, train_state)` and `load(path)` write and read a "
        "file. The check kills a run after three steps, resumes it in another process, and "
        "compares. The checks come in the order of the functions, so you can do one after the "
        "other."
    ),
    lesson="update/checkpoints#why-this-belongs-in-a-course-on-state",
    kind="capstone",
    minutes=40,
    hints=(
        _("Which five things does the old trainer remember from step to step, and where?"),
        _(
            "Begin with `start` and `update`: move the body of `train` and of `work` into one "
            "function, and give each `self.…` its field. `place` needs no `reshape`, and `update` "
            "no `pmean`. In `save`, the key needs `jax.random.key_data`."
        ),
        _(
            "`update` begins with `w, state, opt_state, rng, step = train_state` and "
            "`rng, noise_rng = jax.random.split(rng)`. It ends with "
            "`return hs.TrainState(w, state, opt_state, rng, step + 1), {'loss': loss}`. The specs "
            "in `place` are `P()` and `P('data')`."
        ),
    ),
    seconds=90,
    checks=(
        Check(
            _("`start` makes the whole train state from a key"),
            inputs=_draw,
            play=lambda answer, vectors, seed, step, batches: _fields(
                answer.start(jax.random.key(seed))
            ),
            expected=_started,
            idea=BUNDLE,
            mistakes=(Mistake(ideas.KEY_REUSED, when=_same_key),),
            properties=("again",),
            draws=1,
            types=True,
        ),
        Check(
            _("`update` is pure, and takes the step"),
            inputs=_draw,
            play=_update,
            expected=_one,
            idea=BUNDLE,
            mistakes=(
                Mistake(ideas.KEY_REUSED, when=_same_key),
                Mistake(ALL_ROWS, like=_like(parts=4)),
                Mistake(DROPPED, when=_unchanged),
                Mistake(COLLECTIVE, error="axis name"),
            ),
            properties=("again", "arguments", "pure", "jit", "keys"),
            draws=1,
            types=True,
            tolerance=1e-4,
        ),
        Check(
            _("Five steps run in one scan"),
            inputs=_draw,
            play=_scanned,
            expected=_five,
            idea=ideas.STRUCTURE,
            draws=1,
            types=True,
            tolerance=1e-4,
        ),
        Check(
            _("`place` and `update` run on a mesh of four devices"),
            inputs=_draw,
            play=_layout,
            expected=_laid_out,
            idea=LAYOUT,
            draws=1,
            tolerance=1e-4,
        ),
        Check(
            _("What `load` returns is what `save` was given"),
            inputs=_draw,
            play=_there_and_back,
            expected=lambda vectors, seed, step, batches: _fields(_begin(vectors, seed, step)),
            idea=ROUND_TRIP,
            mistakes=(
                Mistake(ideas.KEY_DATA, error="key"),
                Mistake(ideas.KEY_DATA, error="pickle"),
            ),
            draws=1,
            types=True,
            tolerance=0.0,
        ),
        Check(
            _("A killed run is resumed, and ends with the numbers of a run that was not"),
            inputs=_draw,
            killed=_killed,
            play=_resumed,
            expected=_uninterrupted,
            idea=ONLY_IN_MEMORY,
            draws=1,
            tolerance=1e-4,
        ),
    ),
)
