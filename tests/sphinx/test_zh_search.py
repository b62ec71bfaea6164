"""The Chinese search: one splitter in two languages, the index, and a browser's results."""

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
import zh_search
from chromium import CHROMIUM, QUIET

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

NODE = shutil.which("node") or shutil.which("nodejs")
NO_BROWSER = "no browser: needs the package playwright, and chromium on the PATH"

EXAMPLES = {
    "": [],
    "，。 -": [],
    "纯": ["纯"],
    "纯函数": ["纯函", "函数"],
    "纯，函数": ["纯", "函数"],
    "Pure functions": ["pure", "functions"],
    "hk.get_state(...)": ["hk", "get_state"],
    "用pmap_update更新BatchNorm": ["用", "pmap_update", "更新", "batchnorm"],
    "第2个，x²": ["第", "2", "个", "x²"],
    "𠮷野家": ["𠮷野", "野家"],
    "人人々〇": ["人人", "人々", "々〇"],
    "Ελλάς Größe naïve": ["ελλάς", "größe", "naïve"],
}
# Every character of the blocks that a page may contain, each between two Han characters.
BLOCKS = [(0x00, 0x500), (0x2000, 0x2C00), (0x3000, 0x3100), (0x3400, 0xA000), (0xF900, 0x10000)]
SWEEP = [f"纯{chr(point)}函" for start, stop in BLOCKS for point in range(start, stop)]

PAGES = {
    "index": "首页\n====\n\n.. toctree::\n   :hidden:\n\n   pure\n   plain\n   api\n   pair\n",
    "pure": "状态\n====\n\n" + "前面的话。" * 60 + "\n\nJAX 变换的是纯函数，不是别的。\n",
    "plain": "其他\n====\n\n这里只说函数，函数有参数。\n",
    "api": "接口\n====\n\n``pmap_update`` 与 ``hk.get_state``，以及 BatchNorm 的 functions。\n",
    "pair": "两者\n====\n\n``pmap_update`` 接受函数。\n",
}
CONF = """
project = "试验"
extensions = ["zh_search"]
language = "zh_CN"
html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}  # the theme logs an error if it is left out
"""


def javascript_terms(texts):
    """Run ``splitQuery`` on each text, in Node or else in a browser."""
    code = zh_search.ChineseSearch.js_splitter_code
    if NODE:
        script = f"{code}\nconst texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        script += "console.log(JSON.stringify(texts.map(splitQuery)));"
        command = [NODE, "-e", script]
        run = subprocess.run(
            command, input=json.dumps(texts), capture_output=True, check=True, encoding="utf-8"
        )
        return json.loads(run.stdout)
    with browser_page("THE TWO SPLITTERS WERE NOT COMPARED: no node on the PATH, and ") as page:
        page.add_script_tag(content=code)
        return page.evaluate("texts => texts.map(splitQuery)", texts)


@contextmanager
def browser_page(without=""):
    """Open a page; if there is no browser, skip, or fail where one is required."""
    if not (sync_playwright and CHROMIUM):
        required = os.environ.get("HAIKU_STATE_REQUIRE_BROWSER")
        (pytest.fail if required else pytest.skip)(without + NO_BROWSER)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        try:
            yield browser.new_page()
        finally:
            browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build a small Chinese site, warnings being errors."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("html")
    (source / "conf.py").write_text(CONF, encoding="utf-8")
    for name, text in PAGES.items():
        (source / f"{name}.rst").write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(Path(zh_search.__file__).parent), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", source, out],
        env=os.environ | {"PYTHONPATH": path, "PYTHONUTF8": "1"},
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stderr
    (out / "favicon.ico").touch()  # a browser asks every server for it
    return out


@pytest.mark.parametrize(("text", "terms"), EXAMPLES.items())
def test_python_splitter(text, terms):
    assert zh_search.split_query(text) == terms


def test_javascript_splitter_equals_python():
    texts = [*EXAMPLES, *SWEEP]
    found = dict(zip(texts, javascript_terms(texts), strict=True))
    assert {t: f for t, f in found.items() if f != zh_search.split_query(t)} == {}


def test_index_holds_pairs_characters_and_names(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    data = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))

    def pages(term):
        hits = data["terms"].get(term, [])
        return {data["docnames"][i] for i in ([hits] if isinstance(hits, int) else hits)}

    assert pages("纯函") == pages("纯") == {"pure"}
    assert pages("函数") == {"pure", "plain", "pair"}
    assert pages("pmap_upd") == {"api", "pair"}  # as the English stemmer leaves it
    assert pages("get_stat") == pages("batchnorm") == pages("function") == {"api"}
    assert "纯函数" not in data["terms"]
    assert set(data["titleterms"]) >= {"状态", "状", "态"}


def test_page_gets_the_splitter_and_a_stemmer(site):
    language_data = (site / "_static/language_data.js").read_text(encoding="utf-8")
    assert zh_search.ChineseSearch.js_splitter_code.strip() in language_data
    assert "window.Stemmer = EnglishStemmer;" in language_data


QUERIES = {
    "纯函数": {"pure"},
    "函数": {"pure", "plain", "pair"},
    "纯": {"pure"},
    "状态": {"pure"},  # a title
    "状态 纯函数": {"pure"},
    "数函": set(),
    "pmap_update": {"api", "pair"},
    "PMAP_update 函数": {"pair"},  # Sphinx alone would find pages with either
    "hk.get_state": {"api"},
    "batchnorm": {"api"},
    "function": {"api"},
    "变换jax": {"pure"},
    "，": set(),
}


@contextmanager
def served(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def test_search_in_a_browser_from_disk_and_from_a_server(site):
    errors = []
    with served(site) as address, browser_page() as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)

        def search(root, query):
            page.goto(f"{root}/search.html?q={quote(query)}")
            page.wait_for_function("Search.status && Search.status.innerText")
            links = page.locator("ul.search > li > a").all()
            return {link.get_attribute("href").split(".html")[0] for link in links}

        for query, expected in QUERIES.items():
            assert search(site.as_uri(), query) == expected, query

        # the search dialog of the theme leads to the same results
        page.goto(f"{site.as_uri()}/plain.html")
        page.keyboard.press("Control+k")
        page.keyboard.type("纯函数")
        page.keyboard.press("Enter")
        page.wait_for_selector("ul.search > li > a[href^='pure.html']")

        # a server's pages are quoted, and the query highlighted there
        assert search(address, "纯函数") == {"pure"}
        quoted = page.wait_for_selector("ul.search .context .highlighted")
        assert quoted.text_content() == "纯函数"
    assert errors == []
