"""What each part of publish is worth: Lighthouse's performance of the site without it.

npm install lighthouse
python tests/tools site.parts node_modules/.bin/lighthouse [PAGE ...]     after a build of the site

The whole site and those without one part each take turns, three rounds; a row has the medians.
"""

import argparse
import shutil
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from haiku_site.finish import publish
from haiku_site.finish.metadata import add_entrances
from tools import ROOT
from tools.site.speed import scores
from tools.site.weight import counting_server

from haiku_state.errors.language import languages

BUILT, PARTS = ROOT / "build/sphinx", ROOT / "build/parts"
PAGES = ("zh_CN/haiku/batch_norm", "en/exercises/index", "en/api/update")
ROUNDS = 3
POLICY = publish.policy


def _unjoined(site: Path, pages: dict[Path, str], last: str) -> None:
    (site / "_static").mkdir(exist_ok=True)
    (site / "_static/classes.css").write_text(last, encoding="utf-8")
    for page, text in pages.items():
        root = "../" * (len(page.relative_to(site).parts) - 1)
        link = f'<link rel="stylesheet" href="{root}_static/classes.css">'
        pages[page] = text.replace("</head>", f"{link}</head>", 1)


def _inline(*args: Any) -> str:
    return POLICY(*args) + "; style-src-attr 'unsafe-inline'"


WITHOUT: dict[str, dict[str, Callable[..., Any]]] = {
    "": {},
    "_share": {"_share": lambda site, pages: None},
    "_once": {"_once": lambda text: text},
    "_load_later": {"_load_later": lambda pages: None},
    "_style_by_classes": {"_style_by_classes": lambda pages: "", "policy": _inline},
    "_join_sheets": {"_join_sheets": _unjoined},
}


def published(name: str) -> Path:
    """Publish what Sphinx has written, without one part."""
    site = PARTS / (name or "whole")
    shutil.rmtree(site, ignore_errors=True)
    for language in languages():
        shutil.copytree(BUILT / language / "html", site / language)
    with ExitStack() as stack:
        for part, other in WITHOUT[name].items():
            stack.enter_context(mock.patch.object(publish, part, other))
        add_entrances(site)
        publish.publish(site)
    return site


def main() -> None:
    """Print a line for each page and part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lighthouse", type=Path)
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    sites = {name: published(name) for name in WITHOUT}
    found: dict[tuple[str, str], list[int]] = {}
    for _round in range(ROUNDS):
        for page in options.pages:
            for name, site in sites.items():
                with counting_server(site) as (root, _sent):
                    score = scores(options.lighthouse, f"{root}/{page}.html")[0]
                found.setdefault((page, name), []).append(score)
    print("page", "without", "median", "runs", sep="\t")
    for (page, name), runs in found.items():
        print(page, name or "—", statistics.median(runs), runs, sep="\t")


if __name__ == "__main__":
    main()
