"""What the site shows of the first minutes is what a learner sees."""

import pytest
from support.terminal import width
from tools.walk import LANGUAGES, file_of, walk


@pytest.mark.parametrize("language", LANGUAGES)
def test_exercises__the_recorded_walk_is_what_happens(language):
    recorded = file_of(language).read_text(encoding="utf-8")
    assert walk(language) == recorded, "run python tests/tools walk"
    for line in recorded.splitlines():
        assert width(line) <= 80, line
