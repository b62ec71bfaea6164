"""Practised: exercises whose checks ask whether a program is right, and whether it is pure.

What is imported here is imported late, for those who import the package and want none of it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haiku_state.exercises.result import Result


def names() -> tuple[str, ...]:
    """Return the names of all exercises, in the order in which to work on them.

    Example:
      >>> from haiku_state import exercises
      >>> exercises.names()[:2]
      ('counter', 'predict_trace')
    """
    from haiku_state.exercises.courses import ours

    return ours().names


def stub(name: str) -> str:
    """Return the starter code of an exercise, with its comments in the reader's language.

    Args:
      name: the name of the exercise.

    Raises:
      ExerciseError: if there is no exercise with this name.

    Example:
      >>> from haiku_state import exercises
      >>> "def count(state, increment):" in exercises.stub("counter")
      True
    """
    from haiku_state.exercises.courses import ours

    return ours().stub(name)


def solution(name: str) -> str:
    """Return the solution of an exercise, which is an answer that passes all checks.

    Args:
      name: the name of the exercise.

    Raises:
      ExerciseError: if there is no exercise with this name.

    Example:
      >>> from haiku_state import exercises
      >>> "return increment, state + increment" in exercises.solution("counter")
      True
    """
    from haiku_state.exercises.courses import ours

    return ours().solution(name)


def check(name: str, source: str, file: str = "") -> "Result":
    """Check an answer in a separate process, on inputs that are not known in advance.

    Args:
      name: the name of the exercise.
      source: the answer, as Python code.
      file: the path of the answer's file, which the result shows.

    Returns:
      The result, even if the answer never ends, crashes or cannot be parsed. ``print`` shows the
      result as text.

    Raises:
      ExerciseError: if there is no exercise with this name.

    Example:
      >>> from haiku_state import exercises
      >>> exercises.check("counter", exercises.solution("counter")).passed
      True
    """
    from pathlib import Path

    from haiku_state.exercises.courses import ours
    from haiku_state.exercises.judge import judge

    return judge(ours().load(name), source, Path(file or f"{name}.py").absolute())


def load_ipython_extension(shell: Any) -> None:
    """Let ``%load_ext haiku_state.exercises`` add ``%%exercise NAME``, which checks a cell.

    Args:
      shell: the IPython shell.
    """
    from haiku_state.exercises.notebook import exercise_magic

    shell.register_magic_function(exercise_magic(shell), "cell", "exercise")
