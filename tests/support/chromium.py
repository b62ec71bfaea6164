"""The browser that the tests and the measurements drive."""

import contextlib
import os
import shutil

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextlib.contextmanager
def running():
    """Run the Chromium of this machine, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


def missing(what):
    """Skip what needs a browser, or fail where one is required."""
    if os.environ.get("HAIKU_STATE_REQUIRE_BROWSER"):
        pytest.fail(f"HAIKU_STATE_REQUIRE_BROWSER is set, but {what}")
    pytest.skip(what)


def watched(context):
    """Open a page, and note what it asks for and what it complains about."""
    page = context.new_page()
    page.requests, page.complaints = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on(
        "console",
        lambda message: (
            page.complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    return page
