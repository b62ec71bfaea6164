"""What ties the two languages of the site together: the switcher, the alternates, the untranslated.

A page's address differs between the languages in the first folder only, so that relative links
work from a disk and under any sub-path.
"""

from typing import Any

from docutils import nodes
from haiku_site import compat
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

NAMES = {"en": ("English", "EN", "en"), "zh_CN": ("简体中文", "中文", "zh-CN")}


class KeepFormulas(SphinxTransform):
    """Keep block formulas out of the catalogs: a translated one renders as ``::``."""

    default_priority = 4  # before anything is extracted

    def apply(self, **kwargs: Any) -> None:
        """Mark every block formula as not translatable."""
        for formula in self.document.findall(nodes.math_block):
            formula["translatable"] = False


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    here = app.config.language
    context["site_languages"] = [
        {
            "code": code,
            "name": name,
            "short": short,
            "tag": tag,
            "current": code == here,
            "href": f"{context.get('content_root', './')}../{code}/{pagename}.html",
        }
        for code, (name, short, tag) in NAMES.items()
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform, the context of the templates, and the switcher's script."""
    app.connect("doctree-read", compat.keep_anchors)
    app.add_transform(KeepFormulas)
    app.connect("html-page-context", _page_context)
    app.add_js_file("languages.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
