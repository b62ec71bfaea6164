"""The command ``read``: a page of the site, or a section of it, on a terminal and offline."""

import argparse
import sys

from haiku_state.commands.parser import OneLineParser
from haiku_state.commands.read.pages import catalog, pages, section
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import reader_language, translated


def add_arguments(parser: OneLineParser) -> None:
    """Add the argument to the parser, and what runs."""
    text = translated(
        _("a page, such as haiku/batch_norm; to read a single section, add # and its anchor")
    )
    parser.add_argument("page", metavar="PAGE", nargs="?", help=text)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    language = options.lang or reader_language()
    if options.page is None:
        for page, title in pages().items():
            print(f"{page:32} {catalog(page, language).get(title) or title}")
        return 0
    text = section(options.page, language)
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.markdown import Markdown
        except ImportError:
            pass
        else:
            Console().print(Markdown(text))
            return 0
    print(text)
    return 0
