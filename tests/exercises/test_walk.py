"""What the site shows of the first minutes is what a learner sees."""

import unicodedata

import pytest
from tools.walk import LANGUAGES, file_of, walk


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_recorded_walk_is_what_happens(language):
    recorded = file_of(language).read_text(encoding="utf-8")
    assert walk(language) == recorded, "run python tests/tools walk"
    for line in recorded.splitlines():
        assert sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line) <= 80, line
