"""What the site says about itself: its version and day, its changes, its license, its repository.

``CHANGELOG.md`` and ``LICENSE`` become pages; they stay in English in both languages.
"""

import html
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from haiku_site import ROOT
from markdown_it import MarkdownIt
from sphinx.application import Sphinx
from sphinx.locale import _


def day_of(sources: Path) -> str:
    """Return the day of ``SOURCE_DATE_EPOCH``, or else of the last commit, if git knows one."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not seconds:
        command = ["git", "log", "-1", "--format=%ct", "--", "."]
        try:
            seconds = subprocess.run(
                command, cwd=sources, capture_output=True, text=True, check=True
            ).stdout.strip()
        except (OSError, subprocess.CalledProcessError):  # no git, or no repository
            return ""
    return datetime.fromtimestamp(int(seconds), timezone.utc).date().isoformat() if seconds else ""


def changes() -> str:
    """Return what has changed, as HTML, without the title of the file."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n")[2]
    return str(MarkdownIt().render(text))


def license_text() -> str:
    """Return the license, as it stands."""
    return f"<pre>{html.escape((ROOT / 'LICENSE').read_text(encoding='utf-8'))}</pre>"


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    for name, title, body in (
        ("changelog", _("Changelog"), changes()),
        ("license", _("License"), license_text()),
    ):
        page = f'<h1>{title}</h1>\n<div class="hs-about" lang="en" translate="no">{body}</div>'
        yield name, {"title": title, "body": page}, "page.html"


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    context["about_texts"] = {
        "changelog": _("Changelog"),
        "license": _("License"),
        "repository": _("Repository"),
        "version": _("Version {version}").format(version=app.config.release),
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the pages, and give the footer its texts."""
    app.connect("html-collect-pages", _pages)
    app.connect("html-page-context", _page_context)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
