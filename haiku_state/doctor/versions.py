"""What is installed, against the sets of versions that were measured."""

import importlib.util
import json
import platform
import re
from collections.abc import Iterable, Mapping
from importlib import metadata, resources
from itertools import zip_longest
from typing import Any, NamedTuple

from haiku_state.language import deferred as _
from haiku_state.language import translated

CORE = ("jax", "jaxlib", "dm-haiku", "optax")
COMPANIONS = ("chex", "flax", "equinox", "orbax-checkpoint")
"""What asks for certain versions of JAX: a set pins it where it is installed."""
PLUGINS = {"jax-cuda12-plugin": "cuda12", "jax-cuda13-plugin": "cuda13"}
EXTRAS = {
    "orbax-checkpoint": "checkpoint",
    "scikit-learn": "data",
    "matplotlib": "data",
    "rich": "data",
}
NAMES = (
    *(*CORE, "numpy", "scipy", "ml-dtypes", "chex", "orbax-checkpoint", "flax", "equinox"),
    *("scikit-learn", "matplotlib", "rich", *PLUGINS),
)

Versions = Mapping[str, str]


class Table(NamedTuple):
    """The sets of ``compat.json``, in ascending order."""

    date: str
    sets: Mapping[str, Any]

    @classmethod
    def read(cls) -> "Table":
        """Read the file that the package ships."""
        text = resources.files("haiku_state").joinpath("compat.json").read_text(encoding="utf-8")
        compat = json.loads(text)
        return cls(compat["date"], compat["sets"])

    def pythons(self, sets: Iterable[str] | None = None) -> list[str]:
        """The Pythons that some of the sets support, in ascending order."""
        names = self.sets if sets is None else sets
        return sorted({python for name in names for python in self.sets[name]["pins"]}, key=numbers)

    def oldest(self, package: str) -> str:
        """The oldest version of a package in any set."""
        return min((p[package] for p in self._pins()), key=numbers)

    def newest(self, package: str) -> str:
        """The newest version of a package in any set."""
        return max((p[package] for p in self._pins()), key=numbers)

    def _pins(self) -> list[Versions]:
        return [pins for each in self.sets.values() for pins in each["pins"].values()]


class Findings(NamedTuple):
    """What the versions alone say."""

    table: Table
    python: str
    found: Versions
    """Version of each package that is installed."""

    nearest: str | None
    """Name of the set to compare with; None if no set supports this Python."""

    pins: Versions
    """What that set has on this Python."""

    @property
    def differing(self) -> list[str]:
        """The packages of the core that differ from the nearest set."""
        return [name for name in CORE if self.found.get(name) != self.pins.get(name)]

    @property
    def beside(self) -> list[str]:
        """The other packages that do not go with that set, or are newer than it knows."""
        return [
            name
            for name, version in self.found.items()
            if name not in CORE
            and self.pins.get(name, version) != version
            and (name in COMPANIONS or numbers(version) > numbers(self.pins[name]))
        ]

    @property
    def too_old(self) -> list[str]:
        """The packages of the core that are older than in any set: the package asks for more."""
        return [
            name
            for name in CORE
            if name in self.found and numbers(self.found[name]) < numbers(self.table.oldest(name))
        ]

    @property
    def measured(self) -> bool:
        """Whether the core is that of a measured set."""
        return self.nearest is not None and not self.differing


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: 0, 7 and 0 of ``0.7.0.dev3``."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def installed() -> dict[str, str]:
    """Ask the metadata; what cannot be asked is not installed."""
    found = {}
    for name in NAMES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {name: version for name, version in found.items() if version}


def nearest_set(table: Table, python: str, jax: str | None) -> str | None:
    """Choose the set whose JAX is nearest, among those for this Python; without JAX the newest."""
    minor = _minor(python)
    known = {
        name: numbers(each["pins"][minor]["jax"])
        for name, each in table.sets.items()
        if minor in each["pins"]
    }
    if not known:
        return None
    newest = max(known, key=lambda name: known[name])
    if jax is None or numbers(jax) >= known[newest]:
        return newest
    if numbers(jax) <= min(known.values()):
        return min(known, key=lambda name: known[name])

    def distance(name: str) -> list[int]:
        return [abs(a - b) for a, b in zip_longest(known[name], numbers(jax), fillvalue=0)]

    return min(known, key=distance)


def examine(table: Table, python: str | None = None, found: Versions | None = None) -> Findings:
    """Compare what is installed with the nearest set."""
    python = python or platform.python_version()
    found = installed() if found is None else found
    nearest = nearest_set(table, python, found.get("jax"))
    pins = table.sets[nearest]["pins"][_minor(python)] if nearest else {}
    return Findings(table, python, found, nearest, pins)


def notes(findings: Findings) -> list[str]:
    """What may be the cause of a failure, a sentence each."""
    table, python, found, nearest, pins = findings
    lines = [translated(_("{library} is not installed.")).format(library=name)
             for name in CORE if name not in found]  # fmt: skip
    if nearest is None:
        text = _("No measured set is for Python {python}; they are for {pythons}.")
        lines.append(translated(text).format(python=python, pythons=", ".join(table.pythons())))
    jax, jaxlib = found.get("jax"), found.get("jaxlib")
    if jax and nearest:
        alike = [name for name, each in table.sets.items()
                 if jax in {p["jax"] for p in each["pins"].values()}]  # fmt: skip
        if alike and _minor(python) not in table.pythons(alike):
            text = _("The set of JAX {jax} is for Python {pythons}; this is Python {python}.")
            pythons = ", ".join(table.pythons(alike))
            lines.append(translated(text).format(jax=jax, pythons=pythons, python=python))
    if jax and numbers(jax) > numbers(table.newest("jax")):
        text = _("JAX {jax} is newer than {newest}, the newest that was measured.")
        lines.append(translated(text).format(jax=jax, newest=table.newest("jax")))
    if jax and jaxlib and jax != jaxlib:
        text = _("jax {jax} and jaxlib {jaxlib} differ; in each measured set they are alike.")
        lines.append(translated(text).format(jax=jax, jaxlib=jaxlib))
    for plugin in PLUGINS:
        if plugin in found and found[plugin] != jaxlib:
            text = _("{plugin} {found} and jaxlib {jaxlib} differ: JAX then uses the CPU.")
            lines.append(
                translated(text).format(plugin=plugin, found=found[plugin], jaxlib=jaxlib or "-")
            )
    newer = _("{name} {found} is newer than {pin}, which was measured with JAX {jax}.")
    older = _("{name} {found} is older than {pin}, which was measured with JAX {jax}.")
    for name in [*findings.differing, *findings.beside]:
        known = name in found and name in pins and name not in findings.too_old
        if known and name not in ("jax", "jaxlib"):
            text = newer if numbers(found[name]) > numbers(pins[name]) else older
            values = {"found": found[name], "pin": pins[name], "jax": pins["jax"]}
            lines.append(translated(text).format(name=name, **values))
    return lines


def install_line(findings: Findings, works: bool) -> str | None:
    """The line that gives the nearest set on this Python; None if there is none.

    Besides the core it pins what is installed in a version that does not go with the set: what
    asks for certain versions of JAX, and any foundation that is newer than the measured one.
    """
    found, pins = findings.found, findings.pins
    if not pins:
        return None
    extras = "".join(f"[{extra}]" for plugin, extra in PLUGINS.items() if plugin in found)
    words = [f'"jax{extras}=={pins["jax"]}"', *(f'"{name}=={pins[name]}"' for name in CORE[1:])]
    words += [f'"{name}=={pins[name]}"' for name in findings.beside]
    changed = findings.differing or findings.beside
    again = [] if changed or works else ["--force-reinstall"]
    return " ".join([*_installer(), *again, *words])


def _installer() -> list[str]:
    if importlib.util.find_spec("pip") is None:  # as in an environment that uv has made
        return ["uv", "pip", "install"]
    return ["python", "-m", "pip", "install"]


def _minor(python: str) -> str:
    return ".".join(python.split(".")[:2])
