"""What Chromium loads, compressed: a lesson at first, the next one, then the other language.

python tests/tools site.weight            a table of all files, without images
python tests/tools site.weight LESSON     of another lesson, as haiku/regression
"""

import gzip
import http.server
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.chromium import running
from tools import ROOT

from haiku_state.errors.language import languages

SITE = ROOT / "build/site"
LESSON = "haiku/batch_norm"
COMPRESSED = (".html", ".css", ".js", ".json", ".svg")
IMAGES = (".svg", ".png", ".webp", ".ico")


@contextmanager
def counting_server(site: Path = SITE) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Serve a site as a host does, compressed and to be cached; list what was asked for."""
    sent: list[tuple[str, int]] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            file = Path(self.translate_path(self.path))
            content = file.read_bytes() if file.is_file() else b""
            self.send_response(200 if file.is_file() else 404)
            if file.suffix in COMPRESSED:
                content = gzip.compress(content, 9)
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Type", self.guess_type(str(file)))
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "max-age=600")
            self.end_headers()
            with suppress(ConnectionError):  # the browser has closed the page
                self.wfile.write(content)
            if file.suffix not in IMAGES:
                sent.append((self.path, len(content)))

        def log_message(self, *args: Any) -> None:
            pass

    def folder(*args: Any) -> Handler:
        return Handler(*args, directory=str(site))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", sent
        server.shutdown()


def visit(browser: Any, lesson: str = LESSON, language: str = "en") -> dict[str, dict[str, int]]:
    """Open a lesson in an empty browser, go to the next one, and then to the other language."""
    loads, context = {}, browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    with counting_server() as (address, sent):
        steps = {
            "first": lambda: page.goto(f"{address}/{language}/{lesson}.html"),
            "next": page.locator(".hs-lesson-end a[rel=next]").click,
            "language": page.locator("a.language-switcher:visible").first.click,
        }
        for name, step in steps.items():
            sent.clear()
            step()
            page.wait_for_load_state("load")
            page.evaluate("scrollTo(0, document.body.scrollHeight)")
            page.wait_for_load_state("networkidle")
            loads[name] = dict(sent)
    context.close()
    return loads


def main() -> None:
    """Print a table for each language."""
    with running() as browser:
        for language in languages():
            for name, files in visit(browser, *(sys.argv[1:2] or [LESSON]), language).items():
                print(f"{language} {name}: {sum(files.values()) / 1024:.1f} KiB")
                for path, size in sorted(files.items(), key=lambda item: -item[1]):
                    print(f"  {size / 1024:7.1f}  {path}")


if __name__ == "__main__":
    main()
