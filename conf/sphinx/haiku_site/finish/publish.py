"""What the built pages still need before anyone may load them: less weight, and a strict policy.

The pages of all languages load one set of scripts and styles, and each tells the browser to run its
own scripts alone (a content security policy).
"""

import base64
import filecmp
import hashlib
import os
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import imagesize
from haiku_site import compat
from haiku_site.features.parallel import pair
from haiku_site.translate.languages import sites

LEFTOVERS = ("*.map", "*.py", "*.pyc", "webpack-macros.html", ".gitignore", "fontawesome.js*")
LEFTOVERS += compat.UNUSED
HEADERS = """\
# for Netlify, Cloudflare Pages and hosts that read the same file
/*
  Content-Security-Policy: {policy}; frame-ancestors 'self'
  Referrer-Policy: strict-origin-when-cross-origin
  X-Content-Type-Options: nosniff
"""
FROM_DISK = " file:"
"""A page that is opened from a disk has no origin that ``'self'`` could mean."""

ADDRESS = re.compile(
    r'(?<=\s)((?:href|src)=")((?:\.\./)*|(?:{})/)_static/([^"?#]+)'.format("|".join(sites()))
)
SCRIPT_FILE = re.compile(r'<script[^>]*\ssrc="([^"]*)"[^>]*>')
# what comes before the first paint shares a slow line with the style sheet, and delays it;
# a script that came into the body would make a browser compute all styles of the page again
LOAD_SCRIPTS = """<script>
requestAnimationFrame(() => setTimeout(() => {
  for (const later of document.querySelectorAll("script[data-src]")) {
    const script = document.createElement("script");
    script.src = later.dataset.src;
    script.async = false;
    script.onload = () => later.removeAttribute("data-src");
    document.head.append(script);
  }
}));
</script>
"""
IMAGE = re.compile(r'<img(?=[^>]*\ssrc="([^":]+)")(?![^>]*\s(?:width|loading)=)')
SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)(?![^>]*\stype=)[^>]*>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)
# a signature with a line for each parameter is a list that HTML does not allow where it stands
SIGNATURE = re.compile(r'(?<=<dt class="sig ).*?(?=</dt>)', re.DOTALL)
LINK = re.compile(r' *<link(?=[^>]*\srel="stylesheet")[^>]*\shref="([^"?]*)[^>]*>\n?')
IMPORT = re.compile(r"""@import\s+["']([^"']+)["'];""")
LOADED = re.compile(r"""url\(\s*["']?(?!data:|#)([^"')]+)["']?\s*\)""")


def publish(site: Path) -> list[str]:
    """Prepare all pages of a site, whose languages lie in folders named by their codes.

    Returns:
      the pages of which the languages do not correspond.
    """
    _remove_leftovers(site)
    pages = {
        page: page.read_text(encoding="utf-8")
        for page in sorted(site.rglob("*.html"))
        if "_static" not in page.parts
    }
    for page, text in pages.items():
        pages[page] = _once(SIGNATURE.sub(_as_lines, text))
    _share(site, pages)
    _load_later(pages)
    _join_sheets(site, pages)
    problems = pair(site, pages)
    for page, text in pages.items():
        meta = policy(*_hashes([text]), FROM_DISK)
        head = f'<meta http-equiv="Content-Security-Policy" content="{meta}">'
        page.write_text(
            re.sub("<meta charset=[^>]*>", rf"\g<0>\n{head}", text, count=1), encoding="utf-8"
        )
    header = HEADERS.format(policy=policy(*_hashes(pages.values())))
    (site / "_headers").write_text(header, encoding="utf-8")
    return problems


def policy(scripts: list[str], styles: list[str], more: str = "") -> str:
    """Return a policy: nothing from elsewhere, and of what is inline only what has these hashes."""
    own = f"'self'{more}"
    return "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src", own, *scripts]),
            " ".join(["style-src", own, *styles]),
            "style-src-attr 'unsafe-inline'",  # a formula of KaTeX has hundreds of such styles
            f"img-src {own} data:",
            f"font-src {own}",
            "connect-src 'self'",
            f"form-action {own}",
            "base-uri 'none'",
        ]
    )


def _hashes(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    found: tuple[set[str], set[str]] = (set(), set())
    for text in texts:
        for pattern, hashes in zip((SCRIPT, STYLE), found, strict=True):
            for content in pattern.findall(text):
                digest = hashlib.sha256(content.encode()).digest()
                hashes.add(f"'sha256-{base64.b64encode(digest).decode()}'")
    return sorted(found[0]), sorted(found[1])


def _remove_leftovers(site: Path) -> None:
    """Remove what no page uses, what asks for it, and what the policy forbids."""
    for pattern in LEFTOVERS:
        for file in site.rglob(pattern):
            file.unlink()
    for file in [*site.rglob("*.css"), *site.rglob("*.js")]:
        text = file.read_text(encoding="utf-8")
        without = re.sub(r"/[/*]# sourceMappingURL=[^\s*]*(?:\s*\*/)?", "", text)
        if without != text:
            file.write_text(without, encoding="utf-8")


def _share(site: Path, pages: dict[Path, str]) -> None:
    """Move what the pages of all languages load to one place, where a browser loads it once.

    A script that loads others from where it lies itself stays there.
    """
    english, *others = (site / code / "_static" for code in sites())
    shared_folder = site / "_static"
    names = {name for text in pages.values() for _, _, name in ADDRESS.findall(text)}
    todo, shared = sorted(names), set()
    while todo:
        name = todo.pop()
        one, copies = english / name, [other / name for other in others]
        if name in shared or not all(file.is_file() for file in (one, *copies)):
            continue
        equal = all(filecmp.cmp(one, copy, shallow=False) for copy in copies)
        if equal and b"currentScript.src" not in one.read_bytes():
            shared.add(name)
            if one.suffix == ".css":
                for address in re.findall(r"(?:url\(|@import )\s*[\"']?([^\"')]+)", _text(one)):
                    file = (one.parent / re.split("[?#]", address)[0]).resolve()
                    if file.is_relative_to(english):
                        todo.append(str(file.relative_to(english)))
    for name in shared:
        (shared_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (english / name).rename(shared_folder / name)
        for other in others:
            (other / name).unlink()

    def shared_address(match: re.Match[str]) -> str:
        attribute, folder, name = match.groups()
        if name in shared:
            folder = "" if folder.removesuffix("/") in sites() else f"../{folder}"
        return f"{attribute}{folder}_static/{name}"

    for page, text in pages.items():
        pages[page] = ADDRESS.sub(shared_address, text)


def _once(text: str) -> str:
    """Keep one of equal scripts and styles, which each drawing of the package brings with it.

    The first style is kept, and the last script, for then all drawings are there.
    """
    for pattern, is_last in ((STYLE, False), (SCRIPT, True)):
        found = list(pattern.finditer(text))
        kept = {each[0]: each.start() for each in (found if is_last else reversed(found))}
        for each in reversed(found):
            if each.start() != kept[each[0]]:
                text = text[: each.start()] + text[each.end() :]
    return text


def _as_lines(signature: re.Match[str]) -> str:
    opened = signature[0].replace("<dl>", '<span class="hs-lines">').replace("<dd>", "<span>")
    return re.sub("</d[ld]>", "</span>", opened)


def _load_later(pages: dict[Path, str]) -> None:
    """Load scripts after the first paint, and a figure, which has its size, when it comes near."""

    def script(page: Path, tag: re.Match[str]) -> str:
        text = _text(page.parent / tag[1].partition("?")[0])
        if "DOMContentLoaded" in text and "readyState" not in text:  # it would wait in vain
            return tag[0] if " defer" in tag[0] else tag[0].replace("<script", "<script defer")
        return f'<script type="text/plain" data-src="{tag[1]}">'

    def image(page: Path, tag: re.Match[str]) -> str:
        width, height = map(round, imagesize.get(page.parent / tag[1]))
        return f'<img width="{width}" height="{height}" loading="lazy"'

    for page, text in pages.items():
        changed = SCRIPT_FILE.sub(partial(script, page), IMAGE.sub(partial(image, page), text))
        if "data-src" in changed:
            changed = changed.replace("</body>", f"{LOAD_SCRIPTS}</body>", 1)
        pages[page] = changed


def _join_sheets(site: Path, pages: dict[Path, str]) -> None:
    """Join the style sheets into one: a browser waits for one file before it shows anything.

    Args:
      site: the folder with both languages.
      pages: the text of each page, which is changed.

    Raises:
      ValueError: two pages have the same sheets in different orders.
    """
    sheets = {
        page: [(page.parent / address).resolve() for address in LINK.findall(text)]
        for page, text in pages.items()
    }
    order: list[Path] = []
    for found in sorted(sheets.values(), key=len, reverse=True):
        order += [sheet for sheet in found if sheet not in order]
    for page, found in sheets.items():
        if found != sorted(found, key=order.index):
            raise ValueError(f"{page}: its style sheets are in another order than elsewhere")
    folder = (site / "_static").resolve()
    folder.mkdir(exist_ok=True)

    def take(sheet: Path) -> str:
        def from_folder(match: re.Match[str]) -> str:
            return f'url("{os.path.relpath(sheet.parent / match[1], folder)}")'

        rules = LOADED.sub(from_folder, _text(sheet))
        sheet.unlink()
        return IMPORT.sub(lambda match: take(sheet.parent / match[1]), rules)

    joined = "\n".join(map(take, order))
    name = f"styles.{hashlib.sha256(joined.encode()).hexdigest()[:8]}.css"
    (folder / name).write_text(joined, encoding="utf-8")
    for page in [page for page, found in sheets.items() if found]:
        root = "../" * (len(page.relative_to(site).parts) - 1)
        link = f'<link rel="stylesheet" href="{root}_static/{name}">\n'
        links = iter([link])
        pages[page] = LINK.sub(lambda _link, links=links: next(links, ""), pages[page])


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
