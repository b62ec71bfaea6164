"""What the doctor tries, step by step. The text of this file runs in a process of its own."""

import json
import sys
import time
import traceback
from collections import Counter
from typing import Any

MARK = "haiku_state doctor "


def import_jax() -> str:
    """JAX and its compiled part fit each other."""
    import jax  # noqa: F401

    return ""


def list_devices() -> str:
    """The backend that JAX chooses starts."""
    import jax

    kinds = Counter(device.device_kind for device in jax.devices())
    counts = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
    return f"{jax.default_backend()}: {counts}"


def import_haiku() -> str:
    """Haiku fits JAX."""
    import haiku  # noqa: F401

    return ""


def import_optax() -> str:
    """Optax fits JAX."""
    import optax  # noqa: F401

    return ""


def import_haiku_state() -> str:
    """The package fits all of them."""
    import haiku_state  # noqa: F401

    return ""


def one_update() -> tuple[Any, Any]:
    """A fresh train state of a batch normalization, and one after a jitted update step."""
    import jax
    import numpy as np
    import optax

    import haiku_state as hs

    model = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
    optimizer = optax.sgd(0.1)

    def loss_fn(params: Any, state: Any, rng: Any, batch: Any) -> Any:
        output, state = model.apply(params, state, rng, batch["x"], True)
        return (output**2).mean(), (state, {})

    def fresh() -> hs.TrainState:
        return hs.init_train_state(model.init, optimizer, jax.random.key(0), batch["x"], True)

    batch = {"x": np.array([[1.0], [3.0]], np.float32)}
    update = hs.jit_update(hs.make_update(loss_fn, optimizer))
    return fresh(), update(fresh(), batch)[0]


def jitted_update() -> str:
    """The loss is the square of the scale, so its gradient is 2; the mean of the batch is 2."""
    _, after = one_update()
    scale = after.params["batch_norm"]["scale"].item()
    mean = after.state["batch_norm/~/mean_ema"]["average"].item()
    if not (abs(scale - 0.8) < 1e-3 and abs(mean - 2.0) < 1e-3):  # so that NaN fails too
        raise ArithmeticError(f"scale is {scale}, not 0.8; running mean is {mean}, not 2.0")
    return f"scale {scale:.3f}, running mean {mean:.3f}"


def save_and_restore() -> str:
    """What Orbax wrote comes back bit by bit."""
    import tempfile

    import jax
    import numpy as np

    import haiku_state as hs

    like, after = one_update()
    with tempfile.TemporaryDirectory() as directory:
        hs.save_checkpoint(directory, after)
        restored = hs.restore_checkpoint(directory, like)
    if restored is None:
        raise ArithmeticError("no checkpoint was found")
    saved, back = (jax.tree.leaves(each[:3]) for each in (after, restored.train_state))
    for one, other in zip(saved, back, strict=True):
        np.testing.assert_array_equal(one, other)
    return f"step {restored.train_state.step}"


STEPS = {
    "import jax": (import_jax, ()),
    "jax.devices()": (list_devices, ("import jax",)),
    "import haiku": (import_haiku, ("import jax",)),
    "import optax": (import_optax, ("import jax",)),
    "import haiku_state": (import_haiku_state, ("import haiku",)),
    "jit_update": (jitted_update, ("jax.devices()", "import optax", "import haiku_state")),
    "save_checkpoint": (save_and_restore, ("jit_update",)),
}
"""Each step with the steps that it needs."""


def say(**values: Any) -> None:
    """Tell the parent in one line, whatever else is printed."""
    print("\n" + MARK + json.dumps(values), flush=True)


def main(wanted: list[str]) -> None:
    """Try the steps one after the other, and leave out what needs one that has failed."""
    works = set()
    for name in wanted:
        step, needs = STEPS[name]
        if missing := [need for need in needs if need not in works]:
            say(name=name, status="skip", detail=missing[0])
            continue
        start = time.perf_counter()
        try:
            detail = step()
        except BaseException as error:
            last = traceback.format_exception_only(type(error), error)[-1].strip()
            say(name=name, status="FAIL", detail=last.splitlines()[0])
        else:
            works.add(name)
            say(name=name, status="ok", detail=detail, seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main(sys.argv[1:])
