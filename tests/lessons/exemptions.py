"""The lines of lessons that may differ between versions of JAX, each with its reason."""

from lessons.compare import Exemption

EXEMPTIONS: tuple[Exemption, ...] = ()
