"""HTML in each language: a page that is executed once shows the one that it is written in."""

from collections.abc import Callable

from haiku_state.errors.language import Language, languages, reader_language, reading


def translations() -> list[Language]:
    """Return all languages but English."""
    return [each for code, each in languages().items() if code != "en"]


def language_rules(block: str, display: str) -> str:
    """Return CSS that shows, of elements side by side, the one in the language of the page.

    Args:
      block: the selector of what they are in.
      display: ``block`` or ``inline``.
    """
    rules = ""
    for language in translations():
        own, asked = f'[lang="{language.tag}"]', f'[data-language="{language.tag}"]'
        here = f":is(:lang({language.starts}) {block},{block}{asked})"
        rules += f"{block} .hs-said{own}{{display:none}}"
        rules += f"{here} .hs-said{own}{{display:{display}}}"
        rules += f'{here} .hs-said[lang="en"]{{display:none}}'
    return rules


def in_both_languages(render: Callable[[], str]) -> str:
    """Render once for each language; a reader of a translation gets that alone.

    Args:
      render: makes the HTML, in the language of the texts at that time.

    Returns:
      HTML that shows the English, or on a translated page the translation.
    """
    if reader_language() != "en":
        return render()
    said = ""
    for code, language in languages().items():
        with reading(code):
            said += f'<div class="hs-said" lang="{language.tag}">{render()}</div>'
    return f'<style>{language_rules(".hs-both", "block")}</style><div class="hs-both">{said}</div>'
