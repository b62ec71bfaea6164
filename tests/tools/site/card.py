"""Draw the pictures that a chat shows beside a link: the beginning of the home page.

python tests/tools site.card    conf/sphinx/cards/, from build/site; after the home page has changed
"""

from support.chromium import running
from tools import ROOT

from haiku_state.errors.language import languages

SCALE = 0.75  # 1200 by 630, the size of a preview, shows this much more
SIZE = {"width": 1600, "height": 840}
REST = """() => {
    for (const e of document.querySelectorAll(".bd-header, .bd-header-article")) e.remove();
    document.getAnimations().forEach(each => each.finish());
}"""


def main() -> None:
    """Draw one for each language."""
    with running() as browser:
        for language in languages():
            page = browser.new_page(viewport=SIZE, device_scale_factor=SCALE, color_scheme="light")
            page.goto((ROOT / f"build/site/{language}/index.html").as_uri())
            page.wait_for_load_state("networkidle")
            page.evaluate(REST)
            page.wait_for_timeout(500)
            page.screenshot(path=ROOT / f"conf/sphinx/cards/card.{language}.png")


if __name__ == "__main__":
    main()
