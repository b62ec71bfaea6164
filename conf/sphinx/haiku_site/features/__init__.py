"""What a page can do: a folder for each feature, which is all that a new one needs.

``NAME/__init__.py`` is an extension of Sphinx, whose ``setup`` ends in :func:`add`. Beside it lie,
if the feature has them, its script ``NAME.js``, its styles ``NAME.css``, its templates, and
``kernel.py``, an extension of IPython: what it gives the cells of the pages.
"""

import os
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FOLDER = Path(__file__).parent
NAMES = sorted(file.parent.name for file in FOLDER.glob("*/__init__.py"))


def add(app: Sphinx, file: str, *marks: str) -> dict[str, Any]:
    """Register the script, the styles and the templates of a feature; return what Sphinx asks for.

    Args:
      app: the build.
      file: ``__file__`` of the feature.
      marks: a page loads the script if its HTML has one of them; without marks, each page does.
    """
    folder, config = Path(file).parent, app.config
    script, style = f"{folder.name}.js", f"{folder.name}.css"
    config.templates_path = [*config.templates_path, os.path.relpath(folder, app.confdir)]
    own = [str(path) for path in folder.iterdir() if path.suffix in (".js", ".css")]
    config.html_static_path = [*config.html_static_path, *sorted(own)]
    if (folder / style).exists():
        app.add_css_file(style, priority=900)  # after site.css

    def load(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
        if any(mark in context.get("body", "") for mark in marks):
            app.add_js_file(script, loading_method="defer")

    if marks:
        app.connect("html-page-context", load)
    elif (folder / script).exists():
        app.add_js_file(script, priority=900, loading_method="defer")  # after the page's own
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
