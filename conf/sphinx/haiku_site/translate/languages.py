"""What the site does differently in each language: its records, of which each has a part."""

import functools
from dataclasses import dataclass, field
from typing import Any

from docutils import nodes
from haiku_site import compat
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from haiku_state.errors.language import Language, languages


@dataclass(frozen=True)
class Site:
    """What the site does differently in a language: ``site`` in its record.

    Args:
      of: the language.
      open_graph: its name in the Open Graph protocol.
      glossary: its column in ``docs/glossary.csv``.
      about: what the site is, for the page above all languages.
      lost: title, text, and the names of two links, for an address without a page.
      mark: the button that shows a paragraph in this language.
      search_bar: what an empty search says.
      lags: what stands below a translation whose English has changed.
      missing: what stands below a paragraph without a translation.
      title_prefix: the pattern of what a title has before it and a link to it has not.
      sound: the column of the glossary by which terms are sorted, if they are not by their letters.
      tones: the combining marks of a syllable's tones, in their order.
      notes: the column of the glossary that names translations that are wrong.
      lesson: what a lesson is called in a query, by its ``{number}``.
      numerals: the signs for one to ten, if numbers are written with them.
      no_ideas: words that say nothing in a query.
      negations: letters after which a term means the opposite.
      same_letters: the file with another letter for each that is searched like it.
      header: the first line of a catalog.
      letters: the punctuation of a catalog, beside ASCII.
      not_at_line_start: marks that stay with the code before them.
      full_stops: how a text may end, by the end of the English.
      brackets: what opens and what may end a gloss.
      formatter: the module whose ``format`` writes a text as it should be typeset.
      rules: what is wrong in a text, by its pattern, where ``{script}`` is that of the language.
      word_rules: what is wrong in the translation of some English.
    """

    of: Language
    open_graph: str
    glossary: str
    about: str
    lost: list[str]
    mark: str
    search_bar: str
    lags: str = ""
    missing: str = ""
    title_prefix: str = ""
    sound: str = ""
    tones: str = ""
    notes: str = ""
    lesson: str = ""
    numerals: str = ""
    no_ideas: str = ""
    negations: str = ""
    same_letters: str = ""
    header: str = ""
    letters: str = ""
    not_at_line_start: str = ""
    full_stops: dict[str, str] = field(default_factory=dict)
    brackets: tuple[str, str] = ("(", r"[,)]")
    formatter: str = ""
    rules: dict[str, str] = field(default_factory=dict)
    word_rules: list[dict[str, str]] = field(default_factory=list)


@functools.cache
def sites() -> dict[str, Site]:
    """Return what the site does differently in each language, English first."""
    return {code: Site(each, **each.site) for code, each in languages().items()}


def translations() -> list[Site]:
    """Return the languages that the site is translated into."""
    return list(sites().values())[1:]


def scripts() -> str:
    """Return the ranges of the characters of all languages that have no spaces between words."""
    return "".join(each.script for each in languages().values())


class KeepFormulas(SphinxTransform):
    """Keep block formulas out of the catalogs: a translated one renders as ``::``."""

    default_priority = 4  # before anything is extracted

    def apply(self, **kwargs: Any) -> None:
        """Mark every block formula as not translatable."""
        for formula in self.document.findall(nodes.math_block):
            formula["translatable"] = False


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform, and keep the anchors that a translation would lose."""
    app.connect("doctree-read", compat.keep_anchors)
    app.add_transform(KeepFormulas)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
