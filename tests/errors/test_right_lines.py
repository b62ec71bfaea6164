"""The right line of an error, put into the program that raised it, makes it right.

In a wrong line, ``…`` stands for what the program has there, and in the right line for the same.
"""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.tolerances import FEW_ROUNDINGS

import haiku_state as hs
from haiku_state.errors import HaikuStateError

PACKAGE = Path(importlib.util.find_spec("haiku_state").origin).parent
NAMES = {
    "hk": hk,
    "hs": hs,
    "jax": jax,
    "jnp": jnp,
    "np": np,
    "optax": optax,
    "pure_pair": hs.pure_pair,
}
ROWS = np.float32([0.5, 1.5, 2.5, 3.5])

CLASS = """
class Double(hk.Module):
    def __call__(self, x):
        return 2 * x
model = hk.transform_with_state(Double)
train_state = hs.init_train_state(model.init, optax.sgd(0.1), jax.random.key(0), rows)
answer, state = model.apply(train_state.params, train_state.state, None, rows)
"""
SEED = """
model = hs.pure_pair(hk.Linear, 2)
train_state = hs.init_train_state(model.init, optax.sgd(0.1), 42, rows[:, None])
answer = jax.random.key_data(train_state.rng)
"""
# one step to the mean of the rows: w - 0.5 (2 w - 2 mean)
STEP = """
def loss_fn(params, state, rng, batch):
    return params["w"] ** 2 - 2 * params["w"] * jnp.mean(batch), (state, {{}})
update = hs.make_update(loss_fn, optax.sgd(0.5))
train_state = hs.init_train_state(
    lambda rng: ({{"w": jnp.float32(0)}}, {{}}), optax.sgd(0.5), jax.random.key(0))
run = hs.{}
train_state, metrics = run(run.place(train_state), run.feed(np.tile(rows, 2)))
answer = run.one(train_state).params["w"]
"""
REPLICAS = """
answer = hs.replicate({{"w": rows}}, {})["w"][0]
"""
DEVICES = """{}=2 {} -c '
import haiku_state as hs
print(len(hs.use_devices(4)))
'"""
ANOTHER_KEY = jax.random.key_data(jax.random.split(jax.random.key(42))[0])
PROGRAMS = {
    "diagnosis._class_transformed": [(CLASS, 2 * ROWS)],
    "arguments.random_key": [(SEED, ANOTHER_KEY)],
    "arguments.device_count": [
        (DEVICES.format("XLA_FLAGS=--xla_force_host_platform_device_count", sys.executable), 4),
    ],
    "arguments.devices": [
        (STEP.format('pmap_update(update, "devices")'), 2),
        (STEP.format('pmap_update(update, "cpu")'), 2),
        (STEP.format("pmap_update(update, 2)"), 2),
        (STEP.format("shard_map_update(update, hs.data_mesh(4))"), 2),
        (REPLICAS.format('"devices"'), ROWS),
    ],
}
if "jax_num_cpu_devices" in jax.config.values:
    PROGRAMS["arguments.device_count"] += [
        (DEVICES.format("JAX_NUM_CPU_DEVICES", sys.executable), 4)
    ]


@pytest.fixture(autouse=True)
def as_a_user_runs_it():
    with (
        jax.debug_key_reuse(False),
        jax.legacy_prng_key("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        yield


def run(source, user):
    """Return what a program sets as its answer, and the text of the error that has ended it."""
    if "-c" in source:
        ran = user.run("sh", "-c", source)
        return int(ran.stdout or -1), ran.stderr
    names = {**NAMES, "rows": ROWS}
    try:
        exec(source, names)
    except HaikuStateError as error:
        return None, str(error)
    return names["answer"], ""


def corrected(source, text):
    """Return a program with the right line of an error in the place of the wrong line."""
    wrong, right = re.search(r"\n  wrong: (.*)\n  right: (.*)\n", text).groups()
    found = re.search("(.*?)".join(map(re.escape, wrong.split("…"))), source)
    values = iter(found.groups())
    return source.replace(found.group(), re.sub("…", lambda _: next(values), right))


def test_errors__each_right_line_has_a_program():
    made = set()
    for path in PACKAGE.rglob("*.py"):
        if "exercises" in path.parts:  # there a line is a command or a file
            continue
        for function in ast.parse(path.read_text("utf-8")).body:
            if isinstance(function, ast.FunctionDef) and any(map(is_right, ast.walk(function))):
                made.add(f"{path.stem}.{function.name}")
    assert made == {*PROGRAMS}


def is_right(node):
    """Return whether a node gives an error its right line."""
    match node:
        case ast.keyword(arg="right") | ast.Dict(keys=[*_, ast.Constant("right")]):
            return True
    return False


@pytest.mark.parametrize(
    ("name", "source", "truth"), [(name, *each) for name in PROGRAMS for each in PROGRAMS[name]]
)
def test_errors__the_right_line_makes_the_program_right(name, source, truth, user):
    _, text = run(source, user)
    answer, text = run(corrected(source, text), user)
    assert not text, text
    np.testing.assert_allclose(np.float64(answer), np.float64(truth), rtol=FEW_ROUNDINGS)
