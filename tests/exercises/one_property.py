"""An exercise of which each check asks for one property, and for a result that is easily right."""

import numpy as np

from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import PROPERTIES, Check, Exercise


def _draw(rng):
    return (rng.normal(size=3).astype(np.float32),)


def _play(name):
    def play(answer, x):
        return getattr(answer, name)(x)

    return play


EXERCISE = Exercise(
    title="one property each",
    statement="",
    lesson="index",
    kind="write",
    minutes=1,
    hints=("", "", ""),
    checks=tuple(
        Check(name, _play(name), lambda x: x + 1, ideas.STRUCTURE, _draw, properties=(name,))
        for name in PROPERTIES
    ),
)
