"""Translations that lag behind the English: the pages mark them.

The gate lets none pass. ``build.py --lagging`` does, so that a corrected English page need not wait
for its translator: a message whose English has changed is fuzzy in its catalog, a new one is empty.
"""

from pathlib import Path
from typing import Any

from haiku_site.translate.cells import CellProse
from haiku_site.translate.gate.catalog_files import read_catalog
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import extract_messages

LAGS, MISSING = "hs-lags", "hs-not-translated"


class MarkLagging(SphinxTransform):
    """Add a class to what a translation lags behind, before it is translated."""

    default_priority = 15  # Sphinx translates at 20

    def apply(self, **kwargs: Any) -> None:
        """Look each message up."""
        catalog = catalogs(self.env, self.config.language) / f"{self.env.docname}.po"
        if not catalog.exists():
            return
        behind = {
            str(message.id): LAGS if message.string else MISSING
            for message in read_catalog(catalog)
            if message.id and (message.fuzzy or not message.string)
        }
        for node, text in list(extract_messages(self.document)):
            if text in behind:
                if isinstance(node, CellProse):  # the comment of a cell stays English
                    node.parent.remove(node)
                else:
                    node["classes"].append(behind[text])


def catalogs(env: BuildEnvironment, language: str) -> Path:
    """Return the folder with the catalogs of a language."""
    return Path(env.srcdir, env.config.locale_dirs[0], language, "LC_MESSAGES")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(MarkLagging)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
