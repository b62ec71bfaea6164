"""What is made of the raw times. Every ratio is taken within one round, where both sides met the
same machine, and only then are the rounds summed up."""

import statistics
from collections.abc import Callable, Iterable, Sequence


def rotated(labels: Sequence[str], round_number: int) -> list[str]:
    """Give the order of one round: each label comes first, second … equally often."""
    first = round_number % len(labels)
    return [*labels[first:], *labels[:first]]


def interleave(
    repeats: dict[str, Callable[[], float]], rounds: int, done: Callable[[], None] = lambda: None
) -> dict[str, list[float]]:
    """Make each repeat once per round, one at a time; give the seconds by label and round."""
    seconds: dict[str, list[float]] = {label: [] for label in repeats}
    for round_number in range(rounds):
        for label in rotated(list(repeats), round_number):
            seconds[label].append(repeats[label]())
            done()
    return seconds


def paired(seconds: Sequence[float], baseline: Sequence[float]) -> list[float]:
    """Give the ratio of each round."""
    return [mine / other for mine, other in zip(seconds, baseline, strict=True)]


def summary(values: Iterable[float]) -> dict[str, float]:
    """Give the median and how far the values spread around it."""
    ordered = sorted(values)
    if len(ordered) == 1:
        lower = median = upper = ordered[0]
    else:
        lower, median, upper = statistics.quantiles(ordered, n=4, method="inclusive")
    return {
        "median": median,
        "min": ordered[0],
        "lower_quartile": lower,
        "upper_quartile": upper,
        "max": ordered[-1],
    }
