"""The warnings of other libraries that the tests let pass, each with its set and reason."""

import re
from importlib.metadata import version
from typing import NamedTuple

from packaging.markers import Marker
from support import constraint_files


class AllowedWarning(NamedTuple):
    """One warning that one set of conf/constraints emits."""

    message: str
    category: str
    module: str
    statement: str
    constraints: str
    marker: str
    reason: str

    def applies(self) -> bool:
        """Whether the installed set is the one that emits it."""
        pins = constraint_files.pins(constraint_files.FOLDER / self.constraints)
        return pins["jax"] == version("jax") and Marker(self.marker).evaluate()

    def as_filter(self) -> str:
        """The line for pytest's ``filterwarnings``."""
        return f"ignore:{re.escape(self.message)}$:{self.category}:{re.escape(self.module)}$"


_XLA_EXTENSION = "dm-haiku 0.0.14 reads names that jax 0.6 has moved; 0.0.16 no longer does"
_MAXSPLIT = "dm-haiku 0.0.16 calls re.split as Python 3.13 no longer likes it; 0.0.17 does not"
MODULE = "import haiku; haiku.transform(lambda: haiku.Module(name='a') and None).init(None)"
STATEMENTS = ("import haiku", "import optax", MODULE, "import equinox")

ALLOWED = [
    AllowedWarning(
        f"jax.lib.xla_extension.{name} is deprecated.",
        "DeprecationWarning",
        "haiku._src.transform",
        "import haiku",
        "jax-0.6.txt",
        "python_full_version < '3.13'",
        _XLA_EXTENSION,
    )
    for name in ("PjitFunction", "PmapFunction")
]
ALLOWED += [
    AllowedWarning(
        "'maxsplit' is passed as positional argument",
        "DeprecationWarning",
        "haiku._src.module",
        MODULE,
        f"jax-{jax}.txt",
        "python_full_version >= '3.13'",
        _MAXSPLIT,
    )
    for jax in ("0.4.35", "0.4.38", "0.5", "0.6", "0.7", "0.8", "0.9")
]
ALLOWED += [
    AllowedWarning(
        f"jax.core.{name} is deprecated.",
        "DeprecationWarning",
        "equinox.internal._primitive",
        "import equinox",
        "jax-0.8.txt",
        "python_full_version >= '3.11'",
        "Equinox 0.13.8 asks jax.core first; jax 0.9 has taken the names away",
    )
    for name in ("mapped_aval", "unmapped_aval")
]
