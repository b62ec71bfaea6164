"""How the figures of the lessons are drawn: by one matplotlibrc, as SVG, the same on each run.

The kernels warn of nothing but errors: each says that its line, which does not leave this machine,
is not encrypted. XLA logs nothing: what a cell shows is the Python error that follows.
"""

import os
from pathlib import Path
from typing import Any

from haiku_site import ROOT, SPHINX, features
from haiku_site.compat import keep_all_executed
from sphinx.application import Sphinx

SETTINGS = """\
import sys
from importlib.util import module_from_spec, spec_from_file_location
for name, file in {kernels}:  # alone, without the extension of Sphinx beside it
    spec = spec_from_file_location(name, file)
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    c.InteractiveShellApp.extensions.append(name)
c.InlineBackend.figure_formats = {{"svg"}}
c.InlineBackend.print_figure_kwargs = {{"bbox_inches": None, "metadata": {{"Date": None}}}}
c.IPKernelApp.log_level = "ERROR"
"""


def configure_kernels(folder: Path) -> None:
    """Have each kernel that this process starts draw so; ``folder`` becomes its IPython folder."""
    os.environ["MATPLOTLIBRC"] = str(SPHINX / "matplotlibrc")
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    os.environ["IPYTHONDIR"] = str(folder)
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    files = features.FOLDER.glob("*/kernel.py")
    kernels = [(f"{file.parent.name}_kernel", str(file)) for file in sorted(files)]
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(
        SETTINGS.format(kernels=kernels), encoding="utf-8"
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Configure the kernels and their cache before the first page is read."""
    configure_kernels(ROOT / "build/ipython")
    keep_all_executed()
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
