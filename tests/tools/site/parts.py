"""What each part of publish is worth: Lighthouse's performance of the site without it.

npm install lighthouse
python tests/tools site.parts node_modules/.bin/lighthouse [PAGE ...]     after a build of the site

The whole site and those without one part each take turns, three rounds; a row has the medians.
"""

import argparse
import shutil
import statistics
from collections.abc import Callable
from contextlib import nullcontext
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
WITHOUT: dict[str, Callable[..., Any]] = {
    "_share": lambda site, pages: None,
    "_once": lambda text: text,
    "_load_later": lambda pages: None,
    "_join_sheets": lambda site, pages: None,
}


def published(name: str) -> Path:
    """Publish what Sphinx has written, without one part."""
    site = PARTS / (name or "whole")
    shutil.rmtree(site, ignore_errors=True)
    for language in languages():
        shutil.copytree(BUILT / language / "html", site / language)
    add_entrances(site)
    with mock.patch.object(publish, name, WITHOUT[name]) if name else nullcontext():
        publish.publish(site)
    return site


def main() -> None:
    """Print a line for each page and part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lighthouse", type=Path)
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    sites = {name: published(name) for name in ("", *WITHOUT)}
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
