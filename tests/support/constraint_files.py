"""Reads conf/constraints."""

from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import ROOT

FOLDER = ROOT / "conf" / "constraints"
JAX_FILES = sorted(FOLDER.glob("jax-*.txt"))


def lines(path: Path) -> list[str]:
    """The lines that are neither empty nor a comment."""
    stripped = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def pins(path: Path) -> dict[str, str]:
    """Name and version of what the file pins on this Python and platform."""
    requirements = map(Requirement, lines(path))
    return {
        canonicalize_name(wanted.name): str(wanted.specifier).removeprefix("==")
        for wanted in requirements
        if wanted.marker is None or wanted.marker.evaluate()
    }
