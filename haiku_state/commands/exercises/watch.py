"""``exercises watch``: an answer is checked when its file is saved."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

from haiku_state.errors import ExerciseError, MissingExtraError
from haiku_state.exercises import course, stub
from haiku_state.exercises.folder import Folder
from haiku_state.exercises.judge import judge
from haiku_state.exercises.sandbox.process import prepare


def watch(
    folder: Folder,
    waiting: str,
    tell: Callable[[str, bool, str], None],
    begin: Callable[[str], None],
) -> None:
    """Check each answer whenever it is saved, until Ctrl-C.

    The fork server has imported everything, so that a check does not wait for it.

    Args:
      folder: the folder of the learner.
      waiting: what to print while nothing happens.
      tell: prints a result.
      begin: makes the file of the next exercise.
    """
    if importlib.util.find_spec("watchfiles") is None:
        raise MissingExtraError(library="watchfiles", extra="exercises")
    import watchfiles

    prepare()

    def check(name: str) -> None:
        path = folder.file_of(name).absolute()
        result = judge(course.load(name), folder.read(name), path)
        tell(name, result.passed, str(result))
        following = folder.next()
        if result.passed and following and not folder.file_of(following).exists():
            print()
            begin(following)

    is_told = False
    for changes in watchfiles.watch(
        folder.path, recursive=False, raise_interrupt=True, rust_timeout=200, yield_on_timeout=True
    ):
        if not is_told:  # what is saved from now on is seen, and what was saved before is not
            print(waiting, flush=True)
            is_told = True
        saved = {Path(path).name for _change, path in changes if Path(path).is_file()}
        added = {Path(path).name for change, path in changes if change == watchfiles.Change.added}
        for name in course.ORDER:
            file = f"{name}.py"
            if file not in saved:
                continue
            try:
                if file in added and folder.read(name) == stub(name):
                    continue  # it was made by start, by reset, or here
                print(flush=True)
                check(name)
            except ExerciseError as error:  # the next save is checked again
                print(error.what)
            print(f"\n{waiting}", flush=True)
