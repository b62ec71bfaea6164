"""HTML in every language: a page that is executed once shows the language that it is written in."""

import json
from collections.abc import Callable
from typing import Any

from haiku_state.errors.language import languages, reader_language, reading


def of_the_page(container: str, shown: str, page: str = "html") -> str:
    """Return styles that show the children of a container that are in the page's language.

    Args:
      container: the selector of what has a child in each language, English first.
      shown: how a child is displayed that is shown.
      page: the selector of what says the language.
    """
    return "".join(
        f'{container}>[lang="{each.tag}"]{{display:none}}'
        f'{page}:lang({each.base}) {container}>[lang="{each.tag}"]{{display:{shown}}}'
        f'{page}:lang({each.base}) {container}>[lang="en"]{{display:none}}'
        for each in list(languages().values())[1:]
    )


def as_script(data: Any) -> str:
    """Return data as JSON that can be put into a ``<script>`` without ending it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":  # which could end it, or open a comment
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def in_both_languages(render: Callable[[], str]) -> str:
    """Render once for each language; a reader of another than English gets that alone.

    Args:
      render: makes the HTML, in the language of the texts at that time.

    Returns:
      HTML that shows the language of the page, or else the English.
    """
    if reader_language() != "en":
        return render()
    rendered = []
    for language in languages().values():
        with reading(language.code):
            rendered.append(f'<div lang="{language.tag}">{render()}</div>')
    style = of_the_page(".hs-both", "block")
    return f'<style>{style}</style><div class="hs-both">{"".join(rendered)}</div>'
