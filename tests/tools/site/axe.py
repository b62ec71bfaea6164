"""Look for what keeps readers out, by axe-core: every page, both languages, themes and two widths.

npm pack axe-core && tar xzf axe-core-*.tgz
python tests/tools site.axe package/axe.min.js [PAGE ...]
"""

import argparse
import itertools
import sys
from pathlib import Path

from support.chromium import running
from tools import ROOT
from tools.site.anchors import NOT_LOADED

from haiku_state.errors.language import languages

SITE = ROOT / "build/site"
RUN = "axe.run({resultTypes: ['violations']})"
VIEWS = [*itertools.product(languages(), ("light", "dark"), (360, 1280))]


def main() -> int:
    """Print each violation once, with the views that have it, and how many views were looked at."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("axe", type=Path, help="axe.min.js")
    parser.add_argument("pages", nargs="*", help="such as haiku/batch_norm.html; all by default")
    options = parser.parse_args()
    every = (str(file.relative_to(SITE / "en")) for file in (SITE / "en").rglob("*.html"))
    pages = options.pages or sorted(page for page in every if "_static" not in page)
    script, found, clean = options.axe.read_text(encoding="utf-8"), {}, 0
    with running() as browser:
        for language, theme, width in VIEWS:
            viewport = {"width": width, "height": 900}
            context = browser.new_context(viewport=viewport, color_scheme=theme, bypass_csp=True)
            tab = context.new_page()
            for page in pages:
                tab.goto((SITE / language / page).as_uri())
                tab.wait_for_selector(NOT_LOADED, state="detached")
                tab.evaluate(script)
                result = tab.evaluate(RUN)
                clean += not result["violations"]
                for violation in result["violations"]:
                    for node in violation["nodes"]:
                        what = violation["id"], page, node["html"][:120]
                        found.setdefault(what, []).append(f"{language} {theme} {width}")
            context.close()
    for (rule, page, element), views in found.items():
        print(f"{rule}: {page}: {element}\n    {', '.join(views)}")
    print(f"{clean} of {len(VIEWS) * len(pages)} views are clean")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
