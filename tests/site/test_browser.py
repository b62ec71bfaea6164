"""The built site in headless Chromium: offline, on a desk and on a phone, in both languages."""

import functools
import http.server
import os
import sys
import threading
from pathlib import Path

import pytest
from chromium import CHROMIUM, QUIET

sys.path.insert(0, str(Path(__file__).parents[1] / "search"))
from evaluate import measure

SITE = Path(__file__).parents[2] / "build/site"
PAGES = sorted(
    str(file.relative_to(SITE / "en"))
    for file in (SITE / "en").rglob("*.html")
    if "_static" not in file.parts
)
LESSON = "state/stateful_computations.html"


def missing(what):
    if os.environ.get("HAIKU_STATE_REQUIRE_BROWSER"):
        pytest.fail(f"HAIKU_STATE_REQUIRE_BROWSER is set, but {what}")
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser():
    if not PAGES:
        missing("`tox run -e site` builds the site first")
    if CHROMIUM is None:
        missing("there is no Chromium on this machine")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed; the extra dev has it")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Open a page, and note what it asks for and what it complains about."""
    contexts = []

    def open_page(address, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.requests, page.complaints = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                page.complaints.append(message.text)
                if message.type in ("error", "warning")
                else None
            ),
        )
        page.goto(address)
        page.wait_for_load_state("networkidle")
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def server():
    """Serve the folder above the site, so that the site lies under a sub-path."""
    handler = functools.partial(Quiet, directory=str(SITE.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/site"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def url(language, page=LESSON):
    return (SITE / language / page).as_uri()


def test_there_are_pages(browser):
    assert PAGES


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_from_disk(open_page, language, page):
    opened = open_page(url(language, page), color_scheme="light")
    assert_fits(opened, 1280, "light")
    opened.set_viewport_size({"width": 360, "height": 800})
    opened.emulate_media(color_scheme="dark")
    opened.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert_fits(opened, 360, "dark")
    assert opened.evaluate(CUT) == []
    assert opened.complaints == []
    assert [r for r in opened.requests if not r.startswith(("file:", "data:", "blob:"))] == []
    formulas = opened.locator(".math").count()
    assert opened.locator("mjx-container").count() >= formulas


CUT = """() => {
    const text = '.bd-article :is(h1, h2, h3, p, li, dt, dd, code), .prev-next-area p';
    const scrolls = 'pre, table, mjx-container, .cell_output, .sd-tab-set, details:not([open])';
    return [...document.querySelectorAll(text)]
        .filter(e => !e.closest(scrolls))
        .filter(e => [...e.getClientRects()].some(box => box.right > innerWidth + 1))
        .map(e => e.textContent.trim().slice(0, 60));
}"""  # what leaves a phone's page, where nothing scrolls


def assert_fits(page, width, scheme):
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == scheme


@pytest.mark.parametrize("width", [360, 1280])
def test_the_switcher_stays_at_the_place(open_page, width):
    page = open_page(url("en") + "#the-general-strategy", width)
    link = page.locator("a.language-switcher:visible").first
    assert link.inner_text().strip() == ("中文" if width == 360 else "简体中文")
    link.click()
    page.wait_for_url(url("zh_CN") + "#the-general-strategy")
    page.locator("a.language-switcher:visible").first.click()
    page.wait_for_url(url("en") + "#the-general-strategy")


def test_the_switcher_keeps_the_search(open_page):
    page = open_page(url("en", "search.html") + "?q=pmap_update")
    page.locator("a.language-switcher:visible").first.click()
    page.wait_for_url(url("zh_CN", "search.html") + "?q=pmap_update")


def type_query(page, query):
    page.keyboard.press("/")
    page.keyboard.type(query)
    page.wait_for_selector("#hs-found [role=option]")


@pytest.mark.parametrize(
    ("language", "query", "hit"),
    [
        (
            "en",
            "hs.shard_update",
            "api/update.html?*#haiku_state.shard_update",
        ),
        ("en", "jitUpdate", "api/update.html?*#haiku_state.jit_update"),
        ("en", "chekpoint", "*/*.html?*checkpoint*"),
        (
            "en",
            "the predicate matches no leaf",
            "api/errors.html?*#haiku_state.errors.NothingFrozenError",
        ),
        ("zh_CN", "批量归一化", "haiku/batch_norm.html?*"),
        ("zh_CN", "凍結參數", "reference/bug_gallery.html?*#bug-frozen-with-momentum"),
        ("zh_CN", "jit 缓存", "update/jitted_update.html?*"),
    ],
)
def test_search_as_you_type(open_page, language, query, hit):
    page = open_page(url(language), 360)
    assert not any("search-index" in r or "minisearch" in r for r in page.requests)
    type_query(page, query)
    page.wait_for_function("document.querySelector('.hs-search-status').textContent")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{language}/{hit}")
    assert page.evaluate("CSS.highlights.get('hs-searched').size") > 0
    assert page.complaints == []
    assert [r for r in page.requests if not r.startswith(("file:", "data:"))] == []


def test_search_by_keyboard_alone(open_page):
    page = open_page(url("en"))
    page.keyboard.press("Control+k")
    page.keyboard.type("dropout")
    page.wait_for_selector("#hs-found [role=option]")
    field = page.locator("dialog .hs-search input")
    chosen = field.get_attribute("aria-activedescendant")
    page.keyboard.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant") != chosen
    page.keyboard.press("ArrowUp")
    assert field.get_attribute("aria-activedescendant") == chosen
    assert page.locator("#hs-found [aria-selected=true]").get_attribute("id") == chosen
    assert page.locator(".hs-search-status[role=status]").inner_text().split()[1] == "places"
    page.keyboard.press("Escape")
    assert not page.locator("dialog#pst-search-dialog").is_visible()


def test_the_search_page_answers_its_address(open_page, server):
    page = open_page(f"{server}/zh_CN/search.html?q=纯函数")
    page.wait_for_selector("#hs-found [role=option]")
    page.locator("#hs-found [role=option]").first.click()
    page.wait_for_url(f"{server}/zh_CN/*/*.html?highlight=*")


def test_what_nothing_is_found_for(open_page):
    page = open_page(url("en", "search.html") + "?q=xyzzyqwv")
    page.wait_for_function(
        "document.querySelector('.hs-search-status').textContent.includes('xyz')"
    )
    assert page.locator("#hs-found [role=option]").count() == 0


def test_the_search_page_without_scripts_leads_to_the_lists(open_page):
    page = open_page(url("en", "search.html"), java_script_enabled=False)
    links = page.locator(".bd-search-container a")
    assert [link.get_attribute("href") for link in links.all()] == [
        "genindex.html",
        "reference/glossary.html",
        "api/errors.html",
    ]
    assert not page.locator(".hs-search").is_visible()


@pytest.mark.parametrize(
    ("language", "first", "among_three"), [("en", 0.85, 0.96), ("zh_CN", 0.8, 0.94)]
)
def test_the_search_finds_what_was_held_back(open_page, language, first, among_three):
    page = open_page(url(language, "search.html"))
    page.wait_for_function("globalThis.siteSearch")
    result = measure(page, language, held_back=True)
    assert (result["P@1"] >= first, result["P@3"] >= among_three, result["empty"]) == (
        True,
        True,
        0,
    )


@pytest.mark.parametrize(
    ("locale", "language"), [("zh-CN", "zh_CN"), ("en-GB", "en"), ("fr-FR", "en")]
)
def test_the_root_follows_the_browser(open_page, locale, language):
    page = open_page((SITE / "index.html").as_uri(), locale=locale)
    page.wait_for_url(url(language, "index.html"))


def test_the_root_without_scripts_gives_a_choice(open_page):
    page = open_page((SITE / "index.html").as_uri(), java_script_enabled=False)
    assert page.locator("a:visible").all_inner_texts() == ["English", "简体中文"]


def test_under_a_sub_path(open_page, server):
    page = open_page(f"{server}/en/{LESSON}")
    page.locator("a.language-switcher:visible").first.click()
    page.wait_for_url(f"{server}/zh_CN/{LESSON}")
    page.locator(".bd-article a.reference.internal[href*=pure_pair]").first.click()
    page.wait_for_url(f"{server}/zh_CN/haiku/pure_pair.html*")
    assert page.complaints == []
    assert [r for r in page.requests if not r.startswith((server, "data:"))] == []


@pytest.mark.parametrize(
    ("fold", "content"), [("details.sd-dropdown", ".sd-summary-content"), ("details.fold", "pre")]
)
def test_answers_and_checks_are_folded_and_open_without_scripts(open_page, fold, content):
    page = open_page(url("en"), java_script_enabled=False)
    folded = page.locator(fold).first
    assert not folded.locator(content).first.is_visible()
    folded.locator("summary").click()
    assert folded.locator(content).first.is_visible()


@pytest.mark.parametrize(("language", "shown"), [("en", "is impure"), ("zh_CN", "是非纯的")])
def test_what_the_package_draws_belongs_to_the_page(open_page, language, shown):
    page = open_page(url(language, "haiku/see_inside.html"), color_scheme="dark")
    slabs = ".cell_output .text_html:has(.hs-flow, .hs-report, .hs-history)"
    colors = page.eval_on_selector_all(slabs, "all => all.map(e => getComputedStyle(e).background)")
    assert len(colors) >= 4
    assert all("rgba(0, 0, 0, 0)" in color for color in colors)
    assert shown in page.locator(".hs-report:visible").inner_text()
    assert page.locator(".hs-flow svg:visible").count() >= 3
    slider = page.locator(".hs-history input[type=range]:visible")
    before = page.locator(".hs-history").inner_text()
    slider.press("ArrowLeft")
    assert page.locator(".hs-history").inner_text() != before
