"""Defects that the fast tests must find: each is put into a copy of the tree, and a test fails.

python tests/defects.py            a line for each: what was broken, and the first test that failed
python tests/defects.py BatchNorm  those whose description has one of the words

Run it after tests were removed: a line that ends in NOTHING names a class of defect that the rest
no longer guards, and the exit code is 1.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COPIED = ("haiku_state", "conf", "tests", "docs", "pyproject.toml", "tox.ini", "README.md")
COPIED += ("README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "toxfile.py", "LICENSE")


class Defect(NamedTuple):
    """One line that is wrong, and the tests that must notice it."""

    what: str
    file: str
    right: str
    wrong: str
    tests: str


PACKAGE = [
    Defect(
        "the update drops the new state",
        "update/step.py",
        "TrainState(params, new_state, opt",
        "TrainState(params, state, opt",
        "update/test_step.py update/test_runners.py",
    ),
    Defect(
        "the update keeps its key",
        "update/step.py",
        "new_state, opt_state, rng, step + 1)",
        "new_state, opt_state, train_state.rng, step + 1)",
        "update/test_step.py update/test_runners.py",
    ),
    Defect(
        "all replicas draw the same numbers",
        "update/step.py",
        "jax.random.fold_in(step_rng, jax.lax.axis_index(axis_name))",
        "step_rng",
        "update/test_step.py update/test_runners.py",
    ),
    Defect(
        "replicas take the sum of the gradients",
        "update/step.py",
        "means = jax.lax.pmean(wide, axis_name)",
        "means = jax.lax.psum(wide, axis_name)",
        "update/test_runners.py",
    ),
    Defect(
        "unequal parts weigh the same",
        "update/step.py",
        "part = count / jnp.where(total > 0, total, 1)",
        "part = 1 / jax.lax.psum(1, axis_name) + 0 * count",
        "update/test_step.py update/test_runners.py",
    ),
    Defect(
        "the train state is not donated",
        "update/runner.py",
        "donate_argnums=donated, keep",
        "keep",
        "update/test_runners.py",
    ),
    Defect(
        "one array twice starts the devices",
        "update/runner.py",
        "and (shared := shared_error(train_state=train_state))",
        "and (shared := None)",
        "update/test_runners.py",
    ),
    Defect(
        "padded rows count in an evaluation",
        "update/evaluate.py",
        'mask = batch.get("mask")',
        "mask = None",
        "update/test_evaluate.py",
    ),
    Defect(
        "tracers are returned as params",
        "pure/check.py",
        "leaked_error(leaves_by_path(params=params, state=state))",
        "leaked_error({})",
        "pure/test_leaks.py",
    ),
    Defect(
        "the variance is computed in one pass",
        "modules/batch_norm.py",
        "_mean(jnp.square(x - mean), axis, self.cross_replica_axis, groups)",
        "_mean(jnp.square(x), axis, self.cross_replica_axis, groups) - jnp.square(mean)",
        "modules/test_batch_norm.py",
    ),
    Defect(
        "BatchNorm computes in half precision",
        "modules/batch_norm.py",
        "dtype = np.promote_types(inputs.dtype, jnp.float32)",
        "dtype = inputs.dtype",
        "modules/test_batch_norm.py",
    ),
    Defect(
        "evaluation normalizes by the batch",
        "modules/batch_norm.py",
        "use_batch = is_training or _flag(",
        "use_batch = True or _flag(",
        "modules/test_batch_norm.py",
    ),
    Defect(
        "the average forgets too fast",
        "modules/moving_average.py",
        "(1 - decay) * value",
        "(1.01 - decay) * value",
        "modules/test_moving_average.py",
    ),
    Defect(
        "the counter counts double",
        "modules/counter.py",
        "jnp.zeros) + 1",
        "jnp.zeros) + 2",
        "modules/test_counter.py",
    ),
    Defect(
        "a changed dtype of the state passes",
        "pure/check.py",
        "if look(old[path]) != look(new[path])]",
        "if False]",
        "pure/test_check.py",
    ),
    Defect(
        "a missing leaf of the state passes",
        "pure/check.py",
        '[f"- {path}" for path in old if path not in new]',
        "[]",
        "pure/test_check.py",
    ),
    Defect(
        "microbatches add up their losses",
        "recipes/accumulation.py",
        "return jnp.mean(leaf, axis=0)",
        "return jnp.sum(leaf, axis=0)",
        "recipes/test_accumulation.py",
    ),
    Defect(
        "the average of params has another weight",
        "recipes/averaging.py",
        "a + (1 - decay_rate) * (p",
        "a + decay_rate * (p",
        "recipes/test_averaging.py",
    ),
    Defect(
        "the state of a step that was skipped is kept",
        "update/step.py",
        "for is_taken in _taken(opt_state):",
        "for is_taken in ():",
        "recipes/test_precision.py",
    ),
    Defect(
        "a resumed run begins its epoch again",
        "commands/train/loop.py",
        "skip=step, part=part",
        "skip=0, part=part",
        "commands/test_train.py",
    ),
    Defect(
        "a run forgets its seed",
        "commands/train/loop.py",
        "pair.init, task.optimizer, jax.random.key(seed)",
        "pair.init, task.optimizer, jax.random.key(0)",
        "commands/test_train.py",
    ),
    Defect(
        "a damaged checkpoint is restored",
        "storage/checkpoint.py",
        "if found[path] != saved[path]]",
        "if False]",
        "storage/test_checkpoint.py",
    ),
    Defect(
        "JAX starts before devices are chosen",
        "processes/watch.py",
        "if has_joined() and jax.process_count() > 1:\n        yield",
        "if jax.process_count() > 1 and has_joined():\n        yield",
        "processes/test_processes.py",
    ),
    Defect(
        "an error cannot be pickled",
        "errors/base.py",
        "v if isinstance(v, plain) else str(v) for n, v",
        "v for n, v",
        "errors/test_errors.py",
    ),
    Defect(
        "wrong and right line are the same",
        "errors/base.py",
        'self._part("right", self.TEXT_RIGHT, values)',
        'self._part("wrong", self.TEXT_WRONG, values)',
        "errors/test_errors.py",
    ),
    Defect(
        "a wrong answer passes its exercise",
        "exercises/judge.py",
        "return np.allclose(one.array, other.array, tolerance, tolerance, equal_nan=True)",
        "return True",
        "exercises/test_judge.py exercises/test_course.py",
    ),
]
TOOLS = [
    Defect(
        "an incomplete matrix is published",
        "tests/matrix/gather.py",
        'if options.publish and not matrix["lacks"]:',
        "if options.publish:",
        "tree/test_matrix.py",
    ),
    Defect(
        "a lesson that differs on another JAX passes",
        "tests/matrix/gather.py",
        "wrong = differences(runs[SITE], run, EXEMPTIONS)",
        "wrong = []",
        "tree/test_matrix.py",
    ),
    Defect(
        "a build hashes what it has built",
        "tests/matrix/measured_tree.py",
        '"--exclude-standard"',
        '"--ignored"',
        "tree/test_matrix.py",
    ),
    Defect(
        "pieces of an output are not joined",
        "conf/sphinx/haiku_site/content/outputs.py",
        "    app.add_transform(JoinStreams)\n",
        "",
        "sphinx/test_outputs.py sphinx/test_pipeline.py",
    ),
    Defect(
        "English on a translated page passes",
        "conf/sphinx/haiku_site/finish/check_site.py",
        'yield f"English on',
        'if False: yield f"English on',
        "sphinx/test_check_site.py",
    ),
    Defect(
        "an edit of styles executes or reads the pages again",
        "conf/sphinx/build.py",
        'files_hash(HERE, "*.py"), repr(titles)',
        'files_hash(HERE, "*.*"), repr(titles)',
        "sphinx/test_build.py",
    ),
    Defect(
        "a test starts a process with the variables of the tests",
        "tests/commands/test_main.py",
        '"""',
        'import subprocess\n"""',
        "tree/test_user.py",
    ),
]
DEFECTS = [each._replace(file=f"haiku_state/{each.file}") for each in PACKAGE] + TOOLS


def first_failure(defect: Defect) -> str:
    """Break a copy of the tree, and return the name of the first test that fails."""
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, tree / name)
        (tree / "build").mkdir()
        (tree / "build/programs").symlink_to(ROOT / "build/programs")  # what JAX has compiled
        user = tree / "tests/user.py"  # whose processes use the copy too
        user.write_text(
            user.read_text("utf-8").replace('("PATH",', '("PATH", "PYTHONPATH",'), "utf-8"
        )
        subprocess.run(["git", "init", "-q", place], check=True)
        file = tree / defect.file
        text = file.read_text(encoding="utf-8")
        if text.count(defect.right) < 1:
            raise ValueError(f"{defect.file} has no {defect.right!r}")
        file.write_text(text.replace(defect.right, defect.wrong, 1), encoding="utf-8")
        tests = [f"tests/{word}" for word in defect.tests.split()]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", *tests]
        environment = {**os.environ, "PYTHONPATH": place}
        ran = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, encoding="utf-8"
        )
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    if not failed and ran.returncode not in (0, 1):  # XLA has ended the whole process
        return f"pytest died, {ran.returncode}"
    return failed[0] if failed else "NOTHING"


def main(words: list[str]) -> int:
    """Print a line for each defect."""
    found = []
    for defect in DEFECTS:
        if not words or any(word in defect.what for word in words):
            found.append(first_failure(defect))
            print(f"{defect.what:55}{found[-1]}", flush=True)
    return int("NOTHING" in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
