"""What leads from each page to others: the parts above it, all pages beside it, the footer."""

from typing import Any

from haiku_site import features
from haiku_site.course import contents
from sphinx.application import Sphinx
from sphinx.locale import _


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    context["site_contents"] = contents(app).pages
    # not in the templates themselves, from which Sphinx would extract them into a catalog of pages
    context["site_texts"] = {
        "contents": _("All pages"),
        "parts": _("Parts of the site"),
        "read": _("already read"),
        "changelog": _("Changelog"),
        "license": _("License"),
        "repository": _("Repository"),
        "version": _("Version {version}").format(version=app.config.release),
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Pass the tree of all pages to the templates."""
    app.connect("html-page-context", _page_context)
    return features.add(app, __file__)
