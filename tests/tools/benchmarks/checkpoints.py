"""To save and to restore 100 MB: by Orbax alone, and by the package."""

import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LEAVES, SIDE = 25, 1024  # 25 matrices of 4 MB


def checkpoint_runs(numbers: str) -> Iterator[tuple[str, Callable[[], float]]]:
    """Give what each one takes, in seconds, by name; both keep the newest checkpoint alone.

    Args:
      numbers: ``"random"``, which no store compresses, or ``"equal"``, of which little is written.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    import orbax.checkpoint as ocp

    import haiku_state as hs

    rng, shape = np.random.default_rng(0), (SIDE, SIDE)

    def draw() -> np.ndarray:
        drawn = rng.normal(size=shape) if numbers == "random" else np.full(shape, rng.normal())
        return drawn.astype(np.float32)

    params = {f"layer_{i}": {"w": jnp.asarray(draw())} for i in range(LEAVES)}
    train_state = hs.TrainState(params, {}, (), jax.random.key(0), jnp.int32(0))
    plain = {"params": params, "rng": jax.random.key_data(train_state.rng), "step": jnp.int32(0)}
    folder, checkpointer = Path(tempfile.mkdtemp()), ocp.PyTreeCheckpointer()
    steps, newest = itertools.count(), [0]

    def timed(call: Callable[[], Any]) -> Callable[[], float]:
        def run() -> float:
            start = time.perf_counter()
            jax.block_until_ready(call())
            return time.perf_counter() - start

        return run

    def save_by_orbax() -> None:
        newest[0] += 1
        checkpointer.save(folder / f"orbax/{newest[0]}", plain)
        shutil.rmtree(folder / f"orbax/{newest[0] - 1}", ignore_errors=True)

    def restore_by_orbax() -> Any:
        arguments = ocp.checkpoint_utils.construct_restore_args(plain)
        return checkpointer.restore(
            folder / f"orbax/{newest[0]}", item=plain, restore_args=arguments
        )

    def save() -> None:
        stepped = train_state._replace(step=jnp.int32(next(steps)))
        hs.storage.save_checkpoint(folder / "ours", stepped, keep=1)

    def restore() -> Any:
        return hs.storage.restore_checkpoint(folder / "ours", train_state).train_state

    yield "orbax save", timed(save_by_orbax)
    yield "save_checkpoint", timed(save)
    yield "orbax restore", timed(restore_by_orbax)
    yield "restore_checkpoint", timed(restore)
