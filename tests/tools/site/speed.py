"""How soon a reader sees a page on a slow line and a slow machine, and what Lighthouse says of it.

python tests/tools site.speed              the largest contentful paint: 4 × CPU, 1.6 Mbit/s
npm install lighthouse
python tests/tools site.speed node_modules/.bin/lighthouse     its scores too: medians of three runs
"""

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path
from typing import Any

from support.chromium import CHROMIUM, QUIET, running
from tools.site.weight import counting_server

from haiku_state.errors.language import languages

PAGES = (
    "index",
    "get_started",
    "state/stateful_computations",
    "haiku/batch_norm",
    "update/pmapped_update",
    "how_to/resume",
    "exercises/index",
    "reference/bug_gallery",
    "api/update",
    "api/errors",
)
LANGUAGES = tuple(languages())
ROUNDS = 3
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
LINE = {"offline": False, "latency": 0, "downloadThroughput": 2e5, "uploadThroughput": 2e5}
LARGEST = """() => new Promise(done => new PerformanceObserver(
    list => done(list.getEntries().at(-1).startTime)
).observe({type: "largest-contentful-paint", buffered: true}))"""


def largest_paint(browser: Any, address: str) -> float:
    """Return after how many seconds the largest part of a page is seen, in an empty browser."""
    context = browser.new_context(viewport={"width": 412, "height": 823})
    page = context.new_page()
    tools = context.new_cdp_session(page)
    tools.send("Network.enable")
    tools.send("Network.emulateNetworkConditions", LINE)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(address)
    page.wait_for_load_state("networkidle")
    milliseconds = float(page.evaluate(LARGEST))
    context.close()
    return milliseconds / 1000


def scores(lighthouse: Path, address: str) -> list[int]:
    """Return what Lighthouse says of a page on a phone."""
    command = [str(lighthouse), address, "--quiet", "--output=json"]
    command += [f"--chrome-flags=--headless=new {' '.join(QUIET)}"]
    ran = subprocess.run(
        command, capture_output=True, check=True, env=os.environ | {"CHROME_PATH": str(CHROMIUM)}
    )
    categories = json.loads(ran.stdout)["categories"]
    return [round(100 * categories[name]["score"]) for name in CATEGORIES]


def main() -> None:
    """Print a line for each page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lighthouse", type=Path, nargs="?")
    parser.add_argument("--pages", nargs="+", default=PAGES)
    options = parser.parse_args()
    names = CATEGORIES if options.lighthouse else ()
    print("page", "LCP, s", *names, sep="\t")
    with running() as browser, counting_server() as (root, _sent):
        for language in LANGUAGES:
            for page in options.pages:
                address = f"{root}/{language}/{page}.html"
                seconds = [largest_paint(browser, address) for _ in range(ROUNDS)]
                row = [f"{language}/{page}", f"{statistics.median(seconds):.2f}"]
                if options.lighthouse:
                    runs = [scores(options.lighthouse, address) for _ in range(ROUNDS)]
                    row += [str(statistics.median(each)) for each in zip(*runs, strict=True)]
                print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    main()
