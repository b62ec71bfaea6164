"""HTML in both languages: a page that is executed once shows the one that it is written in."""

from collections.abc import Callable

from haiku_state.errors.language import reader_language, reading

STYLE = (
    '.hs-both>[lang="zh-CN"]{display:none}'
    'html:lang(zh) .hs-both>[lang="zh-CN"]{display:block}'
    'html:lang(zh) .hs-both>[lang="en"]{display:none}'
)


def in_both_languages(render: Callable[[], str]) -> str:
    """Render once for each language; a reader of Chinese gets the Chinese alone.

    Args:
      render: makes the HTML, in the language of the texts at that time.

    Returns:
      HTML that shows the English, or on a Chinese page the Chinese.
    """
    if reader_language() != "en":
        return render()
    with reading("zh_CN"):
        chinese = render()
    return (
        f'<style>{STYLE}</style><div class="hs-both">'
        f'<div lang="en">{render()}</div><div lang="zh-CN">{chinese}</div></div>'
    )
