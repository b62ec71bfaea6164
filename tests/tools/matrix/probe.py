"""Writes what one environment is: Python, versions, features of JAX, and what its imports warn of.

``python tests/tools matrix.probe build/compat/jax0.6.json`` begins a report of the matrix. The
tests and the lessons of the same environment follow beside it; ``gather`` puts them together.
"""

import json
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tools.matrix.measured_tree import set_hash, tree_hash

LIBRARIES = (
    "jax", "jaxlib", "dm-haiku", "optax", "numpy", "scipy", "ml-dtypes", "chex", "jmp",
    "orbax-checkpoint", "flax", "equinox", "scikit-learn", "matplotlib",
)  # fmt: skip

# what a lesson, the package or a reader's program may rely on
FEATURES = {
    "jax.random.key": "hasattr(jax.random, 'key')",
    "jax.export": "importlib.util.find_spec('jax.export') is not None",
    "jax.make_mesh": "hasattr(jax, 'make_mesh')",
    "jax.make_mesh: Explicit": "'Explicit' in str(jax.make_mesh((1,), ('x',)).axis_types)",
    "jax.shard_map": "hasattr(jax, 'shard_map')",
    "jax.new_ref": "hasattr(jax, 'new_ref')",
    "jax.tree_map": "hasattr(jax, 'tree_map')",
    "jax.device_put_replicated": "hasattr(jax, 'device_put_replicated')",
    "jax.sharding.PmapSharding": "hasattr(jax.sharding, 'PmapSharding')",
    "pmap: xla_pmap": "'xla_pmap' in str(jax.make_jaxpr(jax.pmap(lambda x: x))(jnp.ones(1)))",
    "jax_num_cpu_devices": "'jax_num_cpu_devices' in jax.config.values",
    "jax_threefry_partitionable": "jax.config.jax_threefry_partitionable",
}
ASK = """
import importlib.util, json, sys
import haiku as hk, jax, jax.numpy as jnp

def holds(line):
    try:
        return bool(eval(line))
    except Exception:
        return False

print(json.dumps([holds(line) for line in json.loads(sys.argv[1])]))
"""
RECORD = """
import json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import haiku, optax, haiku_state
print(json.dumps([f"{w.category.__name__}: {w.message}" for w in caught]))
"""


def features() -> dict[str, bool]:
    """Evaluate FEATURES in a fresh process; what fails is false."""
    lines = json.dumps(list(FEATURES.values()))
    command = [sys.executable, "-W", "ignore", "-c", ASK, lines]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(zip(FEATURES, json.loads(ran.stdout), strict=True))


def import_warnings() -> list[str]:
    """Give what the imports of the package and of the libraries below it warn of, each once."""
    ran = subprocess.run([sys.executable, "-c", RECORD], capture_output=True, text=True, check=True)
    return sorted(set(json.loads(ran.stdout)))


def installed(name: str) -> str | None:
    """Give the version of a library, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def report(name: str) -> dict[str, object]:
    """Give all that is known of the environment of a set before its tests run."""
    versions = {name: installed(name) for name in LIBRARIES}
    return {
        "tree": tree_hash(),
        "set": set_hash(name),
        "version": installed("haiku-state"),
        "started": time.time(),
        "python": platform.python_version(),
        "versions": {name: found for name, found in versions.items() if found},
        "features": features(),
        "warnings": import_warnings(),
    }


def main(path: Path) -> None:
    """Begin a report: what an earlier one has left at its place is removed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in (path, path.with_suffix(".xml"), path.with_suffix(".lessons.json")):
        old.unlink(missing_ok=True)
    path.write_text(
        json.dumps(report(path.stem.removeprefix("jax")), indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
