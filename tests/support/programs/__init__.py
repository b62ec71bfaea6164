"""Programs that ``explain`` is asked about, a file for each mechanism, in two tables."""

import importlib
import pkgutil

from support.programs.tables import impure, pure

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["impure", "pure"]
