"""What ties the languages of the site together: the switcher, the alternates, the untranslated.

A page's address differs between the languages in the first folder only, so that relative links
work from a disk and under any sub-path. What is particular to a language is in its record,
``haiku_state/locale/CODE/language.json``; its ``site`` has these entries:

- ``mark``, ``opengraph``, ``search``, ``about``, ``lost``: a character for a button, what Open
  Graph calls the language, the words in the search field, on the way in, and on a lost page;
- ``lags``, ``missing``: what is said of a translation that lags behind, and of one that lacks;
- ``letters``, ``marks``, ``never_first``: ranges of its letters, other characters that it uses,
  and marks that never begin a line, for a script of its own;
- ``column``, ``sound``, ``variants``: its columns of the glossary, and a table of other forms of
  its characters, for the search;
- ``header``, ``gate``: the first line of its catalogs, and what the translation gate asks of them.
"""

from typing import Any

from docutils import nodes
from haiku_site import compat
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from haiku_state.errors.language import languages


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
            "code": each.code,
            "name": each.name,
            "short": each.short,
            "tag": each.tag,
            "current": each.code == here,
            "href": f"{context.get('content_root', './')}../{each.code}/{pagename}.html",
        }
        for each in languages().values()
    ]


def site_of(code: str) -> dict[str, Any]:
    """Return what the site needs to know of a language."""
    return languages()[code].site


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform, the context of the templates, and the switcher's script."""
    app.connect("doctree-read", compat.keep_anchors)
    app.add_transform(KeepFormulas)
    app.connect("html-page-context", _page_context)
    app.add_js_file("languages.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
