"""Where a link into a page lands: each anchor of each page, both languages, phone and desk.

python tests/tools site.anchors [PAGE ...]
"""

import argparse
import itertools
import sys

from support.chromium import running
from tools import ROOT

from haiku_state.errors.language import languages

SITE = ROOT / "build/site"
NOT_LOADED = "script[data-src]"
WIDTHS = (390, 1280)
TARGETS = """() => [...document.querySelectorAll('.bd-article a.headerlink')]
    .map(link => decodeURIComponent(link.hash.slice(1)))"""
RESTS = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    for (let last = -1, still = 0; still < 5; await frame()) {
        still = last === scrollY ? still + 1 : 0;
        last = scrollY;
    }
}"""
MISSED = """name => {
    const box = document.getElementById(name).getBoundingClientRect();
    const header = document.querySelector('.bd-header').getBoundingClientRect().bottom;
    // the last screen, to which a script may have added a button below
    const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 120;
    const seen = box.top >= header - 1 && box.top < (end ? innerHeight : header + 120);
    return seen && box.height ? null : Math.round(box.top - header);
}"""


def targets(page, address):
    """Return the names that a page's headings, cards and signatures link to."""
    page.goto(address)
    return page.evaluate(TARGETS)


def missed(page, address, name):
    """Open a page at a name as a visitor does; return by how many pixels it misses, or None."""
    page.goto("about:blank")
    page.goto(f"{address}#{name}")
    page.wait_for_selector(NOT_LOADED, state="detached")
    page.evaluate(RESTS)
    return page.evaluate(MISSED, name)


def main() -> int:
    """Print each anchor that is missed, and how many were opened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as api/errors.html; all by default")
    options = parser.parse_args()
    opened = misses = 0
    with running() as browser:
        for language, width in itertools.product(languages(), WIDTHS):
            page = browser.new_page(viewport={"width": width, "height": 800})
            folder = SITE / language
            files = [folder / name for name in options.pages] or [
                file
                for file in sorted(folder.rglob("*.html"))
                if 'class="bd-article' in file.read_text(encoding="utf-8")  # not what leads on
            ]
            for file in files:
                for name in targets(page, file.as_uri()):
                    opened += 1
                    if (far := missed(page, file.as_uri(), name)) is not None:
                        misses += 1
                        print(f"{language} {width} {file.relative_to(folder)}#{name}: {far} px")
            page.close()
    print(f"{misses} of {opened} anchors are missed")
    return int(bool(misses))


if __name__ == "__main__":
    sys.exit(main())
