"""What the doctor tries, step by step. The text of this file runs in a separate process."""

import importlib
import json
import sys
from typing import Any

MARK = "haiku_state doctor "


def import_library(name: str) -> str:
    """The library of a step such as ``import jax`` is imported."""
    importlib.import_module(name.removeprefix("import "))
    return ""


def list_devices(name: str) -> str:
    """The backend that JAX chooses starts."""
    import jax

    return f"{jax.default_backend()}: {jax.device_count()} x {jax.devices()[0].device_kind}"


def one_update() -> Any:
    """The train state of a batch normalization after a jitted update step."""
    import jax
    import numpy as np
    import optax

    import haiku_state as hs

    model = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
    optimizer = optax.sgd(0.1)

    def loss_fn(params: Any, state: Any, rng: Any, batch: Any) -> Any:
        output, state = model.apply(params, state, rng, batch["x"], True)
        return (output**2).mean(), (state, {})

    batch = {"x": np.array([[1.0], [3.0]], np.float32)}
    update = hs.jit_update(hs.make_update(loss_fn, optimizer))
    before = hs.init_train_state(model.init, optimizer, jax.random.key(0), batch["x"], True)
    after, _ = update(before, batch)
    return after


def jitted_update(name: str) -> str:
    """The loss is the square of the scale, so its gradient is 2; the mean of the batch is 2."""
    after = one_update()
    scale = after.params["batch_norm"]["scale"].item()
    mean = after.state["batch_norm/~/mean_ema"]["average"].item()
    if not (abs(scale - 0.8) < 1e-3 and abs(mean - 2.0) < 1e-3):  # so that NaN fails too
        raise ArithmeticError(f"scale is {scale}, not 0.8; running mean is {mean}, not 2.0")
    return f"scale {scale:.3f}, running mean {mean:.3f}"


def save_and_restore(name: str) -> str:
    """What Orbax wrote comes back; the checksums in it are compared on the way."""
    import tempfile

    import haiku_state as hs

    after = one_update()
    with tempfile.TemporaryDirectory() as directory:
        hs.storage.save_checkpoint(directory, after)
        restored: Any = hs.storage.restore_checkpoint(directory, after)
    return f"step {restored.train_state.step}"


STEPS = {
    "import jax": import_library,
    "import haiku": import_library,
    "import optax": import_library,
    "import haiku_state": import_library,
    "jax.devices()": list_devices,
    "jit_update": jitted_update,
    "save_checkpoint": save_and_restore,
}
"""Each step needs those before it."""


def main(names: list[str]) -> None:
    """Try the steps until one fails, and tell the parent of each in one line."""
    status = "ok"
    for name in names:
        try:
            detail = STEPS[name](name)
        except BaseException as error:
            said = f"{type(error).__name__}: {error}".strip(": ")
            detail, status = said.splitlines()[0], "FAIL"
        print("\n" + MARK + json.dumps([name, status, detail]), flush=True)
        if status == "FAIL":
            break


if __name__ == "__main__":
    main(sys.argv[1:])
