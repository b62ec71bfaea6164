"""What a type checker says to a user, in mypy's strict mode, in a folder of the user's own."""

import re
from pathlib import Path

import pytest

pytest.importorskip("mypy")

ROOT = Path(__file__).parents[2]
README = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)

PROGRAM = """
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

import haiku_state as hs

model = hs.pure_pair(hs.Classifier, [32], 10)
counter = hs.pure_pair(hs.Counter)
params, state = counter.init(None)
count, state = counter.apply(params, state, None)


def loss_fn(
    params: hk.Params, state: hk.State, rng: jax.Array | None, batch: hs.typing.Batch
) -> tuple[jax.Array, tuple[hk.State, dict[str, jax.Array]]]:
    logits, state = model.apply(params, state, rng, batch["inputs"], True)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
    return jnp.mean(loss), (state, {})


def metrics_fn(
    params: hk.Params, state: hk.State, batch: hs.typing.Batch
) -> tuple[dict[str, jax.Array], hk.State]:
    logits, state = model.apply(params, state, None, batch["inputs"], False)
    return {"accuracy": jnp.argmax(logits, axis=-1) == batch["targets"]}, state


optimizer = optax.adam(1e-3)
data = hs.load_digits()
first = next(hs.batches(data.train, 32))
train_state = hs.init_train_state(model.init, optimizer, jax.random.key(0), first["inputs"], True)
run = hs.jit_update(hs.make_update(loss_fn, optimizer))
evaluate = hs.jit_update(hs.make_evaluate(metrics_fn))
train_state = run.place(train_state)
for batch in run.feed_all(hs.batches(data.train, 32, seed=0)):
    train_state, metrics = run(train_state, batch)
padded = evaluate.feed_all(hs.batches(data.test, 32, remainder="pad"))
means = hs.mean_metrics(evaluate(train_state, batch) for batch in padded)
print(means["accuracy"], run.one(train_state).step)


class Tally:
    def __init__(self, count: int) -> None:
        self.count = count

    def add(self, number: int) -> int:
        self.count += number
        return self.count


init, add = hs.functionalize(Tally, "add")
count, tally = add(init(3), 2)
total, tally = hs.functionalize(Tally).apply(hs.functionalize(Tally).init(3), 2)
print(hs.checked(loss_fn)(params, state, None, {})[0].dtype)
"""

# a line after the program, and what mypy says of it
WRONG = {
    "train_state.parameters": '"TrainState" has no attribute "parameters"',
    "evaluate(train_state, batch)[0]": 'Invalid index type "int" for "Mapping[str, Array]"',
    "run(batch)": "Too few arguments",
    "hs.functionalize(Tally).init('3')": 'Argument 1 to "init" of "PureClass" has',
    "run(metrics, batch)": "Argument 1 to",
    "hs.Count()": 'Module has no attribute "Count"',
    "hs.make_update(metrics_fn, optimizer)": 'Argument 1 to "make_update" has incompatible type',
}


def checked(folder, user, programs):
    for index, program in enumerate(programs):
        (folder / f"program_{index}.py").write_text(program, "utf-8")
    return user.python("-m", "mypy", "--strict", *sorted(folder.glob("program_*.py")), cwd=folder)


def test_types__what_the_readme_shows_and_a_typed_program_pass(tmp_path, user):
    ran = checked(tmp_path, user, [*README, PROGRAM])
    assert ran.returncode == 0, ran.stdout
    assert README


def test_types__what_a_program_does_wrong_is_found(tmp_path, user):
    lines = [PROGRAM + line + "\n" for line in WRONG]
    ran = checked(tmp_path, user, lines)
    for index, said in enumerate(WRONG.values()):
        assert re.search(rf"program_{index}\.py:\d+: error: {re.escape(said)}", ran.stdout), said
