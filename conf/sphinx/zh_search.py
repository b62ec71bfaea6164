"""Full-text search of the Chinese pages, without a dictionary.

Chinese has no spaces between words, so a run of Han characters is indexed as its overlapping
pairs: 纯函数 becomes 纯函 and 函数. A query is cut by the same rules, in ``zh_search.js``, and
finds the pages that hold all of its pairs. What is not Han is searched as on the English pages.

Sphinx's own Chinese search never cuts the query, and in Sphinx 9.0 it does not load at all
(https://github.com/sphinx-doc/sphinx/issues/14229).
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
RUN = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")


def split_query(text: str) -> list[str]:
    """Cut lower-cased text into search terms, as ``splitQuery`` of ``zh_search.js`` does.

    >>> split_query("JAX 的 hk.get_state 是纯函数")
    ['jax', '的', 'hk', 'get_state', '是纯', '纯函', '函数']
    """
    terms = []
    for run in RUN.findall(text.lower()):
        pairs = [run[i : i + 2] for i in range(len(run) - 1)] if re.match(f"[{HAN}]", run) else []
        terms += pairs or [run]
    return terms


class ChineseSearch(SearchEnglish):
    """Pairs of Han characters, and the English search's stemmer and stop words for the rest.

    ``language_name`` stays ``English``: it names the stemmer that Sphinx 9.0 loads.
    """

    lang = "zh"
    js_splitter_code = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")

    def split(self, input: str) -> list[str]:
        """Return the terms of a text, and each single Han character, for queries of only one."""
        return split_query(input) + re.findall(f"[{HAN}]", input)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make this the search of every language ``zh`` and ``zh_*``."""
    app.add_search_language(ChineseSearch)
    # a new env_version makes Sphinx drop an index that was built with older rules
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
