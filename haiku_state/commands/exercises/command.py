"""The ``exercises`` command: its subcommands, and what each prints."""

import argparse
import functools
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

from haiku_state.commands.parser import NO_FOLDER, OneLineParser
from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, reading, translated, wrapped
from haiku_state.exercises import course, solution
from haiku_state.exercises.cells import read
from haiku_state.exercises.exercise import Exercise, Heading
from haiku_state.exercises.folder import DEFAULT, Folder, text_in
from haiku_state.exercises.notebook import KINDS, write_folder, write_notebooks
from haiku_state.exercises.result import COLUMNS
from haiku_state.exercises.sandbox.server import ask_server

COMMAND = "python -m haiku_state exercises"

STARTED = _("{file} is ready. Read it, change it, and check it:")
CONTINUED = _("{file} already exists, as you left it. Check it:")
NEXT = _("Next: {command}")
ALL_PASSED = _("All exercises are passed.")
STUCK = _("If you are stuck: {command}")
HINT = _("Hint {number} of {count}: {text}")
NO_SOLUTION = _(
    "the solution of {name} is shown only once the exercise has passed or all its hints have been "
    "shown"
)
KEPT = _("What you wrote is now in {file}.")
AFTER_HINTS = _("A solution: {command}")
PART = _("{part}: {count}")
PASSED_COUNT = _("{passed} of {count} passed")
WATCHING = _("Waiting for a file in {folder} to be saved; press Ctrl-C to stop.")
WRITTEN = _("{count} files were written to {folder}.")
BEGUN = _("{file} is a copy of the exercise {model}. Change it and try it:")
PLACE = _("line {line}, {what}")
TRIED = _("{right} of {count} results match the expectations in the file.")
GRADED = _("{count} answers were checked; the table was written to {file}.")
ABOUT = _("{title} ({kind}, {minutes} min)")
NO_FILE = _("{path} is not a file")
TRY = _("{problem}; try: {right}")


def add_arguments(parser: OneLineParser) -> None:
    """Add the subcommands to the parser, and what runs each."""
    title = translated(_("commands"))
    commands = parser.add_subparsers(title=title, required=True, metavar="COMMAND")

    def add(name: str, run: Callable[..., int], text: str, *arguments: str) -> OneLineParser:
        about = translated(text)
        command: OneLineParser = commands.add_parser(name, help=about, description=about)
        command.add_language(_("language of the texts and of new files"))
        if "name" in arguments:
            text = translated(_("which exercise; by default, the exercise that you worked on last"))
            command.add_argument("name", metavar="NAME", nargs="?", help=text)
        if "dir" in arguments:
            text = _(
                "the folder with your answers; by default, the current folder or {folder} in it"
            )
            text = translated(text).format(folder=DEFAULT)
            command.add_option("--dir", type=Path, metavar="DIR", text=text)
        command.set_defaults(run=functools.partial(_run, run, command))
        return command

    add("list", _list, _("list all exercises"), "dir")
    start = add("start", _start, _("create the file of an exercise, or continue with it"), "dir")
    text = translated(_("which exercise; by default, the first exercise that has not passed"))
    start.add_argument("name", metavar="NAME", nargs="?", help=text)
    text = translated(_("the folder to create the file in; {folder} by default")).format(
        folder=DEFAULT
    )
    start.add_argument("place", metavar="DIR", nargs="?", type=Path, help=text)
    add("check", _check, _("check your answer"), "name", "dir")
    add("hint", _hint, _("show one more hint"), "name", "dir")
    add("solution", _solution, _("show a solution"), "name", "dir")
    add("reset", _reset, _("start over; what you wrote is kept in another file"), "name", "dir")
    add("progress", _progress, _("show which exercises have passed"), "dir")
    add("watch", _watch, _("check each answer whenever it is saved"), "dir")
    export = add("export", _export, _("write the files of all exercises, for a class"))
    export.add_argument("dir", metavar="DIR", type=Path, help=translated(_("the folder to write")))
    export.add_option(
        "--format", choices=("notebook", "folder"), default="notebook",
        text=_("notebooks, one for each part, or Python files"),
    )  # fmt: skip
    export.add_option("--solutions", action="store_true", text=_("write the solutions too"))
    new = add("new", _new, _("write the file for an exercise of your own"))
    text = translated(_("the name of the exercise: letters, digits and underscores"))
    new.add_argument("name", metavar="NAME", help=text)
    new.add_option(
        "--from", dest="model", metavar="NAME", default="counter",
        text=_("the exercise of the course whose file is the starting point"),
    )  # fmt: skip
    test = add(
        "test", _test, _("run the solution and all other programs in the file of an exercise")
    )
    test.add_argument(
        "file", metavar="FILE", type=Path, help=translated(_("the file of an exercise"))
    )
    graded = add(
        "grade", _grade, _("check the answers of many learners and write a table of the results")
    )
    text = translated(
        _("a folder that contains one folder for each learner, with files or notebooks")
    )
    graded.add_argument("folder", metavar="FOLDER", type=Path, help=text)
    graded.add_option(
        "--out",
        type=Path,
        metavar="FILE",
        default=Path("grades.csv"),
        text=_("the file for the table"),
    )


def _run(command: Callable[..., int], parser: OneLineParser, options: argparse.Namespace) -> int:
    language = options.lang or reader_language()
    try:
        with reading(language):
            folder = None
            if "dir" in options and command is not _export:
                folder = Folder.find(options.dir or vars(options).get("place"))
                if command is not _list:
                    _check_folder(parser, folder.path)
            if folder and not folder.exists and command not in (_list, _start):
                raise folder.none_started()
        language = options.lang or (folder and folder.language) or language
        with reading(language):
            return command(parser, options, folder)
    except ExerciseError as error:
        problem, right = error.what.rstrip(".。"), error.values["right"]
        with reading(language):
            parser.reject(TRY if right else "{problem}", problem=problem, right=right)


def _list(_parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    width = max(map(len, course.ORDER))
    for title, names in course.PARTS:
        print(f"{translated(title)}")
        for name in names:
            mark = "✓" if folder.passed(name) else " "
            print(f"  {mark} {name:{width}}  {_about(course.heading_of(name))}")
    return 0


def _start(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = options.name or folder.next()
    if name is None:
        print(translated(ALL_PASSED))
        return 0
    _begin(folder, course.known(name), options.lang)
    return 0


def _begin(folder: Folder, name: str, language: str | None = None) -> None:
    is_new = folder.start(name, language)
    exercise = course.load(name)
    print(_about(exercise))
    print()
    _print(translated(exercise.statement))
    print()
    _print(translated(STARTED if is_new else CONTINUED).format(file=folder.file_of(name)))
    print(f"  {COMMAND} check {name}")


def _about(exercise: Heading) -> str:
    kind = translated(KINDS[exercise.kind])
    return translated(ABOUT).format(
        title=translated(exercise.title), kind=kind, minutes=exercise.minutes
    )


def _check(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = _chosen(parser, options, folder)
    file = folder.file_of(name).absolute()
    passed, text = _judged(course.load(name), folder.read(name), file, options.can_fork)
    _tell(folder, name, passed, text)
    return 0 if passed else 1


def _judged(exercise: Exercise, source: str, file: Path, can_fork: bool) -> tuple[bool, str]:
    """Let the server check an answer, or this process where there is no server."""
    request = {
        "name": exercise.name,
        "text": exercise.text,
        "source": source,
        "path": str(file),
        "language": reader_language(),
    }
    if can_fork and (answer := ask_server(request)) is not None:
        return answer["passed"], answer["text"]
    from haiku_state.exercises.judge import judge

    result = judge(exercise, source, file, can_fork)
    return result.passed, str(result)


def _tell(folder: Folder, name: str, passed: bool, text: str) -> None:
    folder.note_check(name, passed)
    print(text)
    print()
    following = folder.next()
    if passed and following is None:
        print(translated(ALL_PASSED))
    elif passed:
        print(translated(NEXT).format(command=f"{COMMAND} start {following}"))
    else:
        print(translated(STUCK).format(command=f"{COMMAND} hint {name}"))


def _chosen(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> str:
    name = options.name or folder.current
    if name is None:
        parser.reject(_("which exercise? the command `list` shows them"))
    return course.known(name)


def _hint(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = _chosen(parser, options, folder)
    hints = course.load(name).hints
    number = min(folder.hints(name) + 1, len(hints))
    folder.note_hint(name)
    text = translated(hints[number - 1])
    _print(translated(HINT).format(number=number, count=len(hints), text=text))
    if number == len(hints):
        print("\n" + translated(AFTER_HINTS).format(command=f"{COMMAND} solution {name}"))
    return 0


def _solution(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = _chosen(parser, options, folder)
    if not folder.passed(name) and folder.hints(name) < len(course.load(name).hints):
        parser.reject(NO_SOLUTION, name=name)
    print(solution(name), end="")
    return 0


def _reset(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = _chosen(parser, options, folder)
    kept = folder.reset(name)
    if kept:
        _print(translated(KEPT).format(file=kept))
    _print(translated(STARTED).format(file=folder.file_of(name)))
    print(f"  {COMMAND} check {name}")
    return 0


def _progress(_parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    for title, names in course.PARTS:
        passed = sum(map(folder.passed, names))
        count = translated(PASSED_COUNT).format(passed=passed, count=len(names))
        print(translated(PART).format(part=translated(title), count=count))
        started = [name for name in names if folder.file_of(name).exists()]
        for name in started:
            mark = "✓" if folder.passed(name) else " "
            print(f"  {mark} {name}")
    following = folder.next()
    if following:
        print("\n" + translated(NEXT).format(command=f"{COMMAND} start {following}"))
    return 0


def _watch(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    from haiku_state.commands.exercises.watch import watch

    waiting = translated(WATCHING).format(folder=folder.path.absolute())
    watch(folder, waiting, functools.partial(_tell, folder), functools.partial(_begin, folder))
    return 0


def _export(parser: OneLineParser, options: argparse.Namespace, _none: None) -> int:
    _check_folder(parser, options.dir)
    write = write_notebooks if options.format == "notebook" else write_folder
    if options.dir.exists() and any(options.dir.iterdir()):
        parser.reject(
            _("{folder} is not empty, and nothing in it is overwritten"), folder=options.dir
        )
    files = write(options.dir, reader_language(), options.solutions)
    print(translated(WRITTEN).format(count=len(files), folder=options.dir))
    return 0


def _new(parser: OneLineParser, options: argparse.Namespace, _none: None) -> int:
    if not options.name.isidentifier():
        close = re.sub(r"[^0-9A-Za-z]+", "_", options.name).strip("_") or "my_exercise"
        problem = translated(_("{name} is not a valid name")).format(name=options.name)
        parser.reject(TRY, problem=problem, right=close)
    file = Path(f"{options.name}.py")
    text = course.source_of(options.model)
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        parser.reject(_("{file} exists; choose another name"), file=file)
    _print(translated(BEGUN).format(file=file, model=options.model))
    print(f"  {COMMAND} test {file}")
    return 0


def _test(parser: OneLineParser, options: argparse.Namespace, _none: None) -> int:
    from haiku_state.exercises.judge import missing_for
    from haiku_state.exercises.trial import tried

    if not options.file.is_file():
        parser.reject(NO_FILE, path=options.file)
    exercise = read(options.file.stem, text_in(options.file))
    print(_about(exercise))
    if missing := missing_for(exercise):
        parser.error(missing)
    right = wrong = 0
    colon = languages()[reader_language()].colon
    for one in tried(exercise):
        right, wrong = right + (not one.problem), wrong + bool(one.problem)
        place = translated(PLACE).format(line=one.line, what=one.what)
        text = f"✗ {place}{colon}{one.problem}" if one.problem else f"✓ {place}"
        print(wrapped(text, COLUMNS - 1, "  "))
        if one.problem and one.result is not None:
            print(textwrap.indent(str(one.result), "      "))
    print(translated(TRIED).format(right=right, count=right + wrong))
    return 1 if wrong else 0


def _grade(parser: OneLineParser, options: argparse.Namespace, _none: None) -> int:
    from haiku_state.exercises.grade import grade

    if not options.folder.is_dir():
        parser.reject(NO_FOLDER, path=options.folder)
    if not options.out.parent.is_dir():
        parser.reject(NO_FOLDER, path=options.out.parent)
    if options.out.exists():
        parser.reject(_("{file} exists; choose another file with --out"), file=options.out)
    count = grade(options.folder, options.out)
    print(translated(GRADED).format(count=count, file=options.out))
    return 0


def _check_folder(parser: OneLineParser, path: Path) -> None:
    """End the command where a folder cannot be made."""
    existing = next((each for each in (path, *path.parents) if each.exists()), path)
    if not existing.is_dir():
        parser.reject(NO_FOLDER, path=path)


def _print(text: str) -> None:
    for paragraph in text.split("\n"):
        print(wrapped(paragraph, COLUMNS - 1))
