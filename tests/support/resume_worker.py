"""What the processes of test_resume.py and test_checkpoint.py run; no test stands here."""

import contextlib
import json
import math
import os
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PRELOAD = ["jax", "haiku", "optax", "orbax.checkpoint", "haiku_state"]

ROWS, FEATURES, CLASSES, BATCH = 60, 8, 3, 20


def data():
    """Rows of three classes, always the same."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(2, 3, (ROWS, FEATURES)).astype(np.float32)
    return {"inputs": inputs, "targets": rng.integers(0, CLASSES, ROWS).astype(np.int32)}


def training():
    """Give ``init() -> train_state`` and ``run(train_state, batch)``, of a small classifier."""
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import optax

    import haiku_state as hs

    pair = hk.transform_with_state(lambda x: hs.Classifier([8], CLASSES)(x, is_training=True))
    optimizer = optax.adam(0.01)

    def loss_fn(params, state, rng, batch):
        noise = 0.1 * jax.random.normal(rng, batch["inputs"].shape)
        logits, state = pair.apply(params, state, None, batch["inputs"] + noise)
        labels = jax.nn.one_hot(batch["targets"], CLASSES)
        loss = -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1))
        return loss, (state, {})

    @jax.jit
    def init():
        example = jnp.zeros((BATCH, FEATURES))
        return hs.init_train_state(pair.init, optimizer, jax.random.key(0), example)

    return init, hs.jit_update(hs.make_update(loss_fn, optimizer))


def epoch_of(epoch):
    """Cut one epoch into batches, in an order of its own."""
    import haiku_state as hs

    return list(hs.batches(data(), BATCH, seed=[0, epoch]))


def train(directory, report, steps, every, cache):
    """Train until ``steps``, from the newest checkpoint on, and write down how it went.

    Args:
      directory: where the checkpoints lie; None trains without any.
      report: a path without suffix: ``.starts`` gets a line per start, ``.npz`` the result.
      steps: the number of steps in all.
      every: how many steps lie between two checkpoints.
      cache: a folder that saves the next process the compilation.
    """
    with reported(report):
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=1"
        import jax

        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        from haiku_state.storage import restore_checkpoint, save_checkpoint

        init, run = training()
        train_state, position = init(), {"epoch": 0, "batch": 0, "losses": []}
        restored = restore_checkpoint(directory, train_state) if directory else None
        if restored:
            train_state, position = restored.train_state, restored.position
        step = int(train_state.step)
        with open(f"{report}.starts", "a", encoding="utf-8") as file:
            file.write(f"{json.dumps([step, len(restored.skipped) if restored else 0])}\n")
        epoch, batch, losses = position["epoch"], position["batch"], position["losses"]
        batches = epoch_of(epoch)
        while step < steps:
            train_state, metrics = run(train_state, batches[batch])
            losses.append(float(metrics["loss"]))
            step, batch = step + 1, batch + 1
            if batch == len(batches):
                epoch, batch = epoch + 1, 0
                batches = epoch_of(epoch)
            if directory and step % every == 0:
                position = {"epoch": epoch, "batch": batch, "losses": losses}
                save_checkpoint(directory, train_state, position)
        part = f"{report}.part.npz"
        np.savez(part, **plain(train_state), losses=np.array(losses))
        os.replace(part, f"{report}.npz")
        if not directory:  # what a save and a restore compile goes into the cache too
            save_checkpoint(f"{report}.scratch", train_state)
            restore_checkpoint(f"{report}.scratch", train_state)


def plain(train_state):
    """Give the leaves by path as NumPy arrays, random keys as their data."""
    import jax

    def data(leaf):
        is_key = jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    leaves = jax.tree_util.tree_leaves_with_path(train_state)
    return {jax.tree_util.keystr(path): data(leaf) for path, leaf in leaves}


@contextlib.contextmanager
def reported(report):
    """Write an error, and the standard error, beside the report."""
    with open(f"{report}.stderr", "a", encoding="utf-8") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    except BaseException:
        Path(f"{report}.error").write_text(traceback.format_exc(), encoding="utf-8")
        raise


def distribute(process, port, directory, report):
    """Be one of two processes, and write down what each call gave.

    Args:
      process: 0 or 1.
      port: a free port of this machine.
      directory: a folder that both processes use.
      report: a path without suffix: ``.json`` gets the results by name.
    """
    with reported(report):
        # gloo of jaxlib 0.4.30 locks itself up where two devices each meet their like elsewhere
        devices = 1 if version("jax").startswith("0.4.") else 2
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
        import jax

        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"localhost:{port}", 2, process)
        results = dict(calls(process, Path(directory)))
        Path(f"{report}.json").write_text(json.dumps(results), encoding="utf-8")
        jax.distributed.shutdown()


def calls(process, directory):
    """Give the name and the result of each call that both processes make."""
    import jax
    import jax.numpy as jnp

    from haiku_state.storage import checkpoint, restore_checkpoint, save_checkpoint

    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("rows",))
    over_rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows"))
    on_each = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def place(array, sharding):
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])

    def tree(value, step, rows=8):
        many = np.arange(3.0 * rows, dtype=np.float32).reshape(rows, 3) * value
        many[0] = [-0.0, np.nan, np.inf]
        key = place(np.array([7, 9], np.uint32) * np.uint32(value), on_each)
        return Leaves(
            place(many, over_rows),
            place(np.array([-0.0, value, 1 / 3], jnp.bfloat16), on_each),
            jax.random.wrap_key_data(key),
            jnp.full((2,), value > 0),
            jnp.zeros((0, 3), jnp.int8),
            place(np.array(step, np.int32), on_each),
        )

    def shards(leaf):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        parts = [[str(part.index), np.asarray(part.data)] for part in leaf.addressable_shards]
        return [str(leaf.dtype), [[index, part.tobytes().hex()] for index, part in parts]]

    def restore(like):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            restored = restore_checkpoint(directory, like)
        names = sorted({warning.category.__name__ for warning in caught})
        if restored is None:
            return None
        leaves = [shards(leaf) for leaf in restored.train_state]
        pairs = zip(restored.train_state, like, strict=True)
        same = [new.sharding == old.sharding for new, old in pairs]
        return [leaves, same, restored.position, restored.skipped, names]

    def outcome(function, *args, **kwargs):
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            return [type(error).__name__, str(error).replace(str(directory), "DIR")]
        return result.name if isinstance(result, Path) else result

    def damage(step):
        if process == 0:
            (directory / str(step) / "manifest" / "metadata").unlink()

    @contextlib.contextmanager
    def failing(name):
        """Let the second process alone meet an error, in the middle of a call."""

        def fail(*args):
            raise OSError(28, "No space left on device")

        function = getattr(checkpoint, name)
        if process == 1:
            setattr(checkpoint, name, fail)
        yield
        setattr(checkpoint, name, function)

    first, second, fresh = tree(1, 3), tree(2, 4), tree(0, 0)
    yield "nothing there", outcome(restore, fresh)
    yield "expected", [shards(leaf) for leaf in first]
    yield "a tuple as position", outcome(save_checkpoint, directory, first, (1, 2))
    yield "keep in one process", outcome(save_checkpoint, directory, first, keep=1 - process)
    yield "not written", sorted(path.name for path in directory.glob("*"))
    with failing("_nested"):
        yield "a full disk in one process", outcome(save_checkpoint, directory, first)
    yield "saved", outcome(save_checkpoint, directory, first, {"losses": [0.1, math.nan]})
    folders = (directory / "3" / "train_state").glob("ocdbt.process_*")
    yield "wrote arrays", sorted(path.name for path in folders)
    yield (
        "another train state",
        outcome(save_checkpoint, directory, second._replace(step=first.step)),
    )
    yield "restored", outcome(restore, fresh)
    with failing("_read"):
        yield "unreadable in one process", outcome(restore, fresh)
    yield "other shape", outcome(restore, tree(0, 0, rows=4))
    yield "other shape in one process", outcome(restore, tree(0, 0, rows=8 - 4 * process))
    yield "saved again", outcome(save_checkpoint, directory, second, keep=2)
    damage(4)
    yield "skipped", outcome(restore, fresh)
    damage(3)
    yield "none whole", outcome(restore, fresh)
    yield "written", sorted(path.name for path in directory.glob("*"))


class Leaves(NamedTuple):
    """Leaves across processes, on each device, and of one device."""

    many: Any
    few: Any
    key: Any
    flags: Any
    none: Any
    step: Any
