"""The link to the same page in the other language.

A page's address differs between the languages in the first folder only, so that relative links
work from a disk and under any sub-path.
"""

from typing import Any

from haiku_site import features
from sphinx.application import Sphinx

from haiku_state.errors.language import languages


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


def setup(app: Sphinx) -> dict[str, Any]:
    """Name the languages to the templates."""
    app.connect("html-page-context", _page_context)
    return features.add(app, __file__)
