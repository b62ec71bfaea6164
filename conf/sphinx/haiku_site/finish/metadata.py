"""What a page says of itself to search engines, to a chat that previews it, to language models.

What needs the address of the site is left out where it has none: ``SITE`` of the package's errors,
or the environment variable ``HAIKU_STATE_SITE`` for a copy elsewhere.
"""

import csv
import os
import re
import shutil
import subprocess
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from haiku_site import SPHINX
from haiku_site.course import Entry, after_whole_site, contents
from haiku_site.translate.languages import sites
from jinja2 import Template
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

from haiku_state.errors.base import SITE

LENGTH = 160
"""Of a description, in characters: about what a search engine shows."""

UNLISTED = {"search", "genindex", "py-modindex"}
ENTRANCES = ("index.html", "404.html")
"""The pages above all languages."""


def address() -> str:
    """Return where the site is published, with a slash at its end, or nothing."""
    site = os.environ.get("HAIKU_STATE_SITE", SITE)
    return site and f"{site.rstrip('/')}/"


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


class StayEnglish(SphinxTransform):
    """Keep a container of the class ``notranslate`` out of the catalogs."""

    default_priority = 5  # before anything asks what is translated

    def apply(self, **kwargs: Any) -> None:
        """Mark all that is in it."""
        for container in self.document.findall(nodes.container):
            if "notranslate" in container["classes"]:
                for node in container.findall(nodes.Element):
                    node["translatable"] = False
                for heading in container.findall(nodes.rubric):
                    heading["heading-level"] = heading["level"]


SENTENCES = re.compile(r".*(?:[.?!](?=\s|$)|[。？！])")


def describe(document: nodes.document) -> str:
    """Return the beginning of a page's prose: a lesson says there what its reader can do."""
    text = ""
    for paragraph in document.findall(nodes.paragraph):
        above = paragraph.parent
        of_page = isinstance(above, nodes.section | nodes.document) and not paragraph["classes"]
        # no label, and not what leads to a cell or a list
        said = SENTENCES.match(" ".join(paragraph.astext().split()))
        if of_page and said:
            text += f" {said[0]}" if text.endswith((".", "?", "!")) else said[0]
            if len(text) >= LENGTH / 2:
                break
    return shorten(text)


def shorten(text: str) -> str:
    """Return a text that is not too long: whole sentences, or else whole words."""
    if len(text) <= LENGTH:
        return text
    sentences = re.match(rf"(.{{{LENGTH // 3},{LENGTH}}}(?:[.?!](?=\s)|[。？！]))", text)
    if sentences:
        return sentences[1]
    words = re.match(rf".{{,{LENGTH - 1}}}(?=\s|[，；：、])", text)
    return (words[0] if words else text[: LENGTH - 1]).rstrip(",;:") + "…"


def _remember(app: Sphinx, document: nodes.document) -> None:
    app.env.metadata[app.env.docname]["hs_description"] = describe(document)


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    site, here = address(), f"{pagename}.html"
    said = app.env.metadata.get(pagename, {}).get("hs_description")
    title = re.sub("<.*?>", "", context.get("title", "")) or app.config.project
    context["site_about"] = {
        "title": title,
        "description": said or f"{title} · {app.env.titles[app.config.root_doc].astext()}",
        "site": site,
        "language": app.config.language,
        "here": f"{site}{app.config.language}/{here}",
        "locales": _locales(str(app.config.language)),
        "kind": "website" if pagename == "index" else "article",
        # the page that chooses a language knows which one a reader has chosen
        "default": site + ("index.html" if pagename == "index" else f"en/{here}"),
        "found": pagename not in UNLISTED,
    }
    if site:
        for language in context["site_languages"]:
            language["alternate"] = f"{site}{language['code']}/{here}"


def _locales(language: str) -> list[str]:
    """Return what Open Graph calls the languages, that of the page first."""
    return [sites()[code].open_graph for code in sorted(sites(), key=language.__ne__)]


def _write_llms(app: Sphinx) -> None:
    """List all pages with what they are about, as language models read it (llmstxt.org)."""
    root = contents(app)
    folder = f"{address()}{app.config.language}/"

    def lines(entry: Entry) -> list[str]:
        about = app.env.metadata[entry.name].get("hs_description", "")
        line = f"- [{entry.title}]({folder}{entry.name}.html): {about}"
        return [line, *(line for page in entry.pages for line in lines(page))]

    text = [f"# {root.title}", "", f"> {app.env.metadata['index']['hs_description']}"]
    for part in root.pages:
        text += ["", f"## {part.title}", "", *lines(part)]
    Path(app.outdir, "llms.txt").write_text("\n".join([*text, ""]), encoding="utf-8")


def add_entrances(site: Path) -> None:
    """Add what is above all languages: the choice of one, the lost page, lists of pages."""
    base = address()
    for name in ENTRANCES:
        text = (SPHINX / "templates" / name.replace("index", "root")).read_text(encoding="utf-8")
        page = Template(text, keep_trailing_newline=True)
        text = page.render(site=escape(base), languages=list(sites().values()))
        (site / name).write_text(text, encoding="utf-8")
    lists = [(site / code / "llms.txt").read_text(encoding="utf-8") for code in sites()]
    (site / "llms.txt").write_text("\n".join(lists), encoding="utf-8")
    for code in sites():
        (site / code / "llms.txt").unlink()
    if base:
        _list_pages(site, base)
    _lead_on(site)


def _list_pages(site: Path, base: str) -> None:
    """Write what search engines read."""
    for card in (SPHINX / "cards").glob("*.png"):
        shutil.copy(card, site)
    pages = sorted(
        page.relative_to(site / "en").as_posix()
        for page in (site / "en").rglob("*.html")
        if "_static" not in page.parts and page.stem not in UNLISTED
    )
    entries = "".join(_entry(base, page) for page in pages)
    (site / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        f' xmlns:xhtml="http://www.w3.org/1999/xhtml">\n{entries}</urlset>\n',
        encoding="utf-8",
    )
    robots = f"User-agent: *\nAllow: /\nSitemap: {base}sitemap.xml\n"
    (site / "robots.txt").write_text(robots, encoding="utf-8")


def _lead_on(site: Path) -> None:
    """Put a page at each address that a page once had, which leads to its place today."""
    page = Template((SPHINX / "templates/moved.html").read_text(encoding="utf-8"))
    with (SPHINX / "moved.csv").open(encoding="utf-8", newline="") as file:
        moved = list(csv.DictReader(file))
    for code, language in sites().items():
        for row in moved:
            old, new = (site / code / f"{row[name]}.html" for name in ("old", "new"))
            if new.exists():
                title = re.search("<title>(.*?)</title>", new.read_text(encoding="utf-8"))
                there = "../" * row["old"].count("/") + f"{row['new']}.html"
                text = page.render(language=language, there=there, title=title and title[1])
                old.write_text(text, encoding="utf-8")


def _entry(base: str, page: str) -> str:
    """Return a page of all languages, each with its alternates."""
    links = "".join(
        f'<xhtml:link rel="alternate" hreflang="{each.of.tag}" href="{escape(base)}{code}/{page}"/>'
        for code, each in sites().items()
    )
    return "".join(
        f"<url><loc>{escape(base)}{code}/{page}</loc>{links}</url>\n" for code in sites()
    )


def _set_base(app: Sphinx, config: Config) -> None:
    config.html_baseurl = address() and f"{address()}{config.language}/"


def setup(app: Sphinx) -> dict[str, Any]:
    """Collect the descriptions, and give them to the templates."""
    app.add_transform(StayEnglish)
    app.connect("config-inited", _set_base)
    app.connect("doctree-read", _remember)
    app.connect("html-page-context", _page_context, priority=600)  # after that of languages.py
    after_whole_site(app, _write_llms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
