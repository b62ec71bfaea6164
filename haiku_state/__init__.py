"""State in JAX, told through Haiku: impure-looking modules, pure pairs, update steps.

``__init__.pyi`` lists the public names in the order of the lessons, each with its room; the other
names are in the rooms: ``hs.recipes``, ``hs.storage``, ``hs.processes``, ``hs.inside``,
``hs.exercises``, ``hs.errors``. A name is imported when it is first used (PEP 562), so that
``import haiku_state`` needs neither JAX nor Haiku.
"""

import importlib as _importlib
import pathlib as _pathlib
import re as _re
from typing import Any as _Any

import haiku_state.errors.versions as _versions

__version__ = "0.1.0"

_listed = _pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_ROOM_OF = {
    name: room for room, name in _re.findall(r"from haiku_state(\.\w+)? import (\w+) as", _listed)
}

__all__ = [*_ROOM_OF]


def __getattr__(name: str) -> _Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = _ROOM_OF[name] or f".{name}"
    with _versions.matched_versions():
        # before our own modules: importing JAX from a nested import takes a third longer
        _importlib.import_module("haiku_state.compat")
        module = _importlib.import_module(room, __name__)
    value = globals()[name] = getattr(module, name) if _ROOM_OF[name] else module
    return value


def __dir__() -> list[str]:
    return [*globals(), *_ROOM_OF]
