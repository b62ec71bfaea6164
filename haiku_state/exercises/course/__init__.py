"""The exercises, one file each, in the order of the lessons."""

import difflib
import functools
from pathlib import Path

from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.exercises.cells import heading, read
from haiku_state.exercises.exercise import Exercise, Heading

PARTS = (
    (
        _("Why functions must be pure"),
        (
            "predict_trace", "no_assignment", "static_shape", "branch", "example_gradients",
            "aux_loss", "quiz_pure",
        ),
    ),
    (
        _("State in, state out"),
        (
            "counter", "strategy", "key_in_key_out", "a_ref", "tree_update", "container",
            "line_fit", "momentum", "moving_average", "rate", "quiz_state",
        ),
    ),
    (
        _("Haiku: the plumbing done for you"),
        (
            "haiku_counter", "haiku_average", "batch_norm", "dropped_state", "is_training",
            "dropout_keys", "one_layer", "scan_inside", "find_impurity", "quiz_haiku",
        ),
    ),
    (
        _("Update steps"),
        (
            "train_step", "retracing", "donation", "scan_steps", "mean_gradient", "axis_name",
            "device_keys", "sync", "last_batch", "quiz_devices", "to_shard_map", "to_mesh",
            "explicit_axes", "resume", "frozen", "averaged", "accumulate", "capstone",
        ),
    ),
    (_("When something goes wrong, and where to go next"), ("from_haiku", "quiz_next")),
)  # fmt: skip
"""The parts of the course, and the names of the files of each, in the order to work them in."""

ORDER = tuple(name for _title, names in PARTS for name in names)


UNKNOWN = _("there is no exercise {name}")
WHY_UNKNOWN = _("the command `exercises list` shows all names")


def known(name: str) -> str:
    """Return the name of an exercise as it is.

    Raises:
      ExerciseError: if there is none of that name.
    """
    if name not in ORDER:
        close = difflib.get_close_matches(name, ORDER, 1, 0.0)
        problem = translated(UNKNOWN).format(name=name)
        raise ExerciseError(problem=problem, wrong=name, right=close[0], why=WHY_UNKNOWN)
    return name


def source_of(name: str) -> str:
    """Return the text of the file of an exercise."""
    return (Path(__file__).parent / f"{known(name)}.py").read_text(encoding="utf-8")


def heading_of(name: str) -> Heading:
    """Return what an exercise says of itself, which takes less time than to read it all."""
    return heading(name, source_of(name))


@functools.cache
def load(name: str) -> Exercise:
    """Return an exercise."""
    return read(name, source_of(name))
