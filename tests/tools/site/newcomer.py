"""The first things that a newcomer wants, on the built site: what each takes.

python tests/tools site.newcomer [--width 360]

Counts the clicks, the keys that are typed, the screens that are scrolled until the answer is seen,
and the seconds that the browser needs. Fails if a way ends at another page.
"""

import argparse
import sys
import time
from typing import Any, NamedTuple

from support.chromium import running
from tools.site.axe import NOT_LOADED
from tools.site.weight import counting_server

from haiku_state.errors.language import languages

HEIGHT = {1280: 800, 360: 740}
LESSON = "state/stateful_computations"


class Task(NamedTuple):
    """What somebody wants, where they are, what they do there, and which pages it may lead to."""

    name: str
    start: str
    clicks: tuple[str, ...] = ()
    queries: dict[str, str] = {}  # noqa: RUF012
    page: str = ""
    answer: str = ":target"


NAV = ".bd-header a[href*='{}']"
TASKS = (
    Task("understand what this is", "index.html", page="index", answer="h1 + p"),
    Task(
        "copy the lines that install it",
        "index.html",
        (".hs-install button.copybtn >> visible=true",),
        page="index",
        answer=".hs-install pre >> visible=true",
    ),
    Task(
        "run the first program of lesson 1",
        "index.html",
        (".hs-buttons a >> nth=0",),
        page="pure/thinking_in_jax",
        answer=".cell_output >> nth=0",
    ),
    Task(
        "why a jitted function stopped counting",
        "index.html",
        queries={
            "en": "counter does not increment under jit",
            "zh_CN": "计数器在 jit 之后不再增加",
        },
        page="pure/thinking_in_jax",
    ),
    Task(
        "BatchNorm under pmap",
        "index.html",
        queries={"en": "BatchNorm under pmap", "zh_CN": "pmap 下的 BatchNorm"},
        page="update/meshes",
    ),
    Task(
        "move off pmap",
        "index.html",
        (NAV.format("how_to/index"), "article a[href$='off_pmap.html']"),
        page="how_to/off_pmap",
        answer="article table",
    ),
    Task(
        "an error text of JAX",
        "index.html",
        queries=dict.fromkeys(languages(), "NameError: Found an unbound axis name: i"),
        page="api/errors",
    ),
    Task(
        "an error text of JAX about donated arrays",
        "index.html",
        queries=dict.fromkeys(languages(), "Array has been deleted with shape=float32[3]."),
        page="update/jitted_update reference/problems",
    ),
    Task(
        "BatchNorm that evaluates badly",
        "index.html",
        queries={"en": "accuracy drops in evaluation mode", "zh_CN": "评估时准确率很低"},
        page="haiku/batch_norm haiku/digits reference/problems reference/bug_gallery",
    ),
    Task(
        "resume after a crash",
        "index.html",
        (NAV.format("how_to/index"), "article a[href$='resume.html']"),
        page="how_to/resume",
        answer="article .cell_input",
    ),
    Task(
        "which versions belong together",
        "index.html",
        queries={"en": "which jax version do I need", "zh_CN": "需要哪个版本的 JAX"},
        page="reference/compatibility",
        answer="article h1",
    ),
    Task(
        "read a first exercise",
        "index.html",
        (NAV.format("exercises/index"), ".hs-exercise summary >> nth=0"),
        page="exercises/index",
        answer=".hs-exercise details[open] p >> nth=0",
    ),
    Task(
        "a message in the list of problems",
        "index.html",
        (
            ".hs-buttons a >> nth=1",
            "article section > details.fold > summary >> nth=0",
            "article a[href$='#problem-21'] >> nth=0",
        ),
        page="reference/problems",
    ),
    Task(
        "hand out exercises to a class",
        "index.html",
        (NAV.format("how_to/index"), "article a[href$='for_a_class.html']"),
        page="how_to/for_a_class",
        answer=".cell_output >> nth=0",
    ),
    Task(
        "download a lesson as a notebook",
        f"{LESSON}.html",
        ("article a[download][href$='.ipynb'] >> nth=0",),
        page=LESSON,
        answer="h1",
    ),
    Task(
        "the same place in the other language",
        f"{LESSON}.html#the-general-strategy",
        ("a.language-switcher >> visible=true >> nth=0",),
        page=LESSON,
    ),
)


def attempt(browser: Any, root: str, language: str, width: int, task: Task) -> tuple[Any, ...]:
    """Do a task in an empty browser; return its clicks, keys, screens, seconds and where it led."""
    size = {"width": width, "height": HEIGHT[width]}
    context = browser.new_context(viewport=size, permissions=["clipboard-write"])
    page = context.new_page()
    clicks = keys = screens = 0
    began = time.perf_counter()
    page.goto(f"{root}/{language}/{task.start}")
    page.wait_for_selector(NOT_LOADED, state="detached")
    if query := task.queries.get(language):
        page.keyboard.press("/")
        page.keyboard.type(query)
        page.wait_for_selector("#hs-found [role=option]")
        page.keyboard.press("Enter")
        keys += len(query) + 2
        page.wait_for_url(f"**/{language}/*/**")
    for selector in task.clicks:
        target = page.locator(selector)
        if not target.first.is_visible():  # behind the menu of a phone
            page.locator(".pst-navbar-icon.sidebar-toggle >> visible=true").first.click()
            clicks += 1
            target = page.locator(selector.replace(".bd-header", ".bd-sidebar-primary"))
        screens += _screens(target.first, HEIGHT[width])
        target.first.click()
        clicks += 1
        page.wait_for_load_state()
    page.wait_for_selector(NOT_LOADED, state="detached")
    answer = page.locator(task.answer).first
    answer.wait_for()
    seconds = time.perf_counter() - began
    screens += _screens(answer, HEIGHT[width])
    where = page.url.removeprefix(root).partition(".html")[0].strip("/").partition("/")[2]
    context.close()
    return clicks, keys, screens, f"{seconds:.1f}", where


def _screens(part: Any, height: int) -> int:
    """Return how many screens further down a part begins."""
    top = part.evaluate("part => part.getBoundingClientRect().top")
    return max(0, int(top // height))


def main() -> None:
    """Print a table for each language; end with a status that says whether each way led there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, choices=[*HEIGHT], default=1280)
    width = parser.parse_args().width
    lost = []
    print("task", "clicks", "keys", "screens", "seconds", sep="\t")
    with running() as browser, counting_server() as (root, _sent):
        for language in languages():
            for task in TASKS:
                *row, where = attempt(browser, root, language, width, task)
                print(f"{language}: {task.name}", *row, sep="\t", flush=True)
                if where not in task.page.split():
                    lost.append(f"{language}: {task.name}: {where}, not {task.page}")
    sys.exit("\n".join(lost) or 0)


if __name__ == "__main__":
    main()
