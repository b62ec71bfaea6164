"""Writes what calls of the installed JAX say that differ between versions, for a page to show.

``python tests/tools matrix.messages docs/reference/messages.json`` puts the row of the installed
set into the file, and leaves the others.
"""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

# four devices; the name is the group that a page shows, and the calls have the order of the page
CALLS = {
    "pmap": [
        "jax.pmap(lambda s: s)(jnp.float32(1))",
        "jax.pmap(lambda x, s: s * x)(jnp.ones((4, 2)), jnp.float32(1))",
        "jax.pmap(lambda x, y: x)(jnp.ones((4, 2)), jnp.ones((3, 2)))",
        "jax.pmap(lambda x: x)(jnp.ones((8, 2)))",
        "jax.pmap(lambda x: x, in_axes=None)(jnp.ones((4, 2)))",
        "jax.device_put_replicated(1.0, jax.devices())",
    ],
}
ASK = r"""
import json, os, re, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp

def said(line):
    try:
        eval(line)
        return "✓"
    except Exception as error:
        first = re.sub(r"NamedSharding\(mesh=.*", "…", str(error).strip().splitlines()[0])
        if len(first) > 120:
            first = first[:120].rsplit(" ", 1)[0] + " …"
        return f"{type(error).__name__}: {first}"

print("ANSWER" + json.dumps({line: said(line) for line in json.loads(sys.argv[1])}))
"""


def messages() -> dict[str, dict[str, str]]:
    """Evaluate CALLS in a fresh process: of each call ✓, or the error's first line."""
    lines = json.dumps([line for calls in CALLS.values() for line in calls])
    command = [sys.executable, "-W", "ignore", "-c", ASK, lines]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(ran.stdout.split("ANSWER")[1])  # JAX 0.12 prints before some errors
    return {group: {line: said[line] for line in calls} for group, calls in CALLS.items()}


def main(path: Path) -> None:
    """Write the row of the installed JAX."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows[version("jax")] = messages()
    ordered = sorted(rows, key=lambda name: [*map(int, name.split("."))])
    text = json.dumps({name: rows[name] for name in ordered}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
