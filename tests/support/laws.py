"""Laws, which Hypothesis tries on the same examples in every run, however long each takes."""

from hypothesis import settings


def law(examples):
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None)
