"""What is installed, compared with the sets of versions that were tested."""

import importlib.util
import json
import re
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

CORE = ("jax", "jaxlib", "dm-haiku", "optax")
PLUGINS = {"jax-cuda12-plugin": "cuda12", "jax-cuda13-plugin": "cuda13"}
"""Packages that come with an extra of JAX, in the version of jaxlib."""
NAMES = (
    *(*CORE, *PLUGINS, "numpy", "scipy", "ml-dtypes", "chex", "flax", "equinox"),
    *("orbax-checkpoint", "scikit-learn", "matplotlib"),
)

Versions = dict[str, str]
Sets = dict[str, dict[str, Versions]]
"""The pins of each set for each Python that it supports, the oldest set first."""


class Findings(NamedTuple):
    """What is installed, and the tested set to compare it with."""

    python: str
    found: Versions
    """Version of each package that is installed."""

    nearest: str | None
    """Name of the set that is nearest to the installed JAX; None if none supports this Python."""

    pins: Versions
    """What that set has on this Python."""

    pythons: list[str]
    """The Pythons that some set supports."""

    @property
    def differing(self) -> list[str]:
        """Return what the set has in a different version, and what is missing from the core."""
        return [
            name
            for name, version in self.pins.items()
            if (name in CORE or name in self.found) and self.found.get(name) != version
        ]

    @property
    def tested(self) -> bool:
        """Whether the core is the same as in a tested set."""
        return self.nearest is not None and not set(CORE).intersection(self.differing)


def read_sets() -> Sets:
    """Read the sets that the package ships."""
    text = Path(__file__).with_name("sets.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def installed() -> Versions:
    """Read the metadata; a package without metadata is not installed."""
    found = {}
    for name in NAMES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def compare(found: Versions, sets: Sets, python: str) -> Findings:
    """Find the newest set for this Python that is not newer than JAX; otherwise, the oldest set."""
    minor = ".".join(python.split(".")[:2])
    known = {name: pins[minor] for name, pins in sets.items() if minor in pins}
    jax = _numbers(found.get("jax", "9999"))  # where JAX is missing, the newest set is wanted
    not_newer = [name for name in known if _numbers(name) <= jax]
    nearest = not_newer[-1] if not_newer else next(iter(known), None)
    pins = dict(known[nearest]) if nearest else {}
    if pins:
        pins |= dict.fromkeys(PLUGINS, pins["jaxlib"])
    pythons = sorted({each for pins in sets.values() for each in pins}, key=_numbers)
    return Findings(python, found, nearest, pins, pythons)


def _numbers(version: str) -> list[int]:
    """Return the first three numbers of a version: 0, 7 and 0 of ``0.7.0.dev3``."""
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def install_line(findings: Findings) -> str:
    """Return the command that installs the nearest set on this Python.

    Besides the core, it pins each installed package whose version differs from the version in the
    set.
    """
    found, pins, differing = findings.found, findings.pins, findings.differing
    extras = "".join(f"[{extra}]" for plugin, extra in PLUGINS.items() if plugin in found)
    # JAX's extra brings the plugin
    others = [name for name in differing if name not in CORE and name not in PLUGINS]
    wanted = [f'"jax{extras}=={pins["jax"]}"']
    wanted += [f'"{name}=={pins[name]}"' for name in [*CORE[1:], *others]]
    again = [] if differing else ["--force-reinstall"]
    # an environment that uv has made has no pip
    pip = "python -m pip" if importlib.util.find_spec("pip") else "uv pip"
    return " ".join([pip, "install", *again, *wanted])
