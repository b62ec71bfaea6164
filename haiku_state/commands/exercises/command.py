"""The ``exercises`` command: its subcommands, and what each prints."""

import argparse
import functools
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from haiku_state.commands.parser import NO_FOLDER, OneLineParser
from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, reading, translated, wrapped
from haiku_state.exercises.cells import read
from haiku_state.exercises.courses import Course, ours
from haiku_state.exercises.exercise import Exercise, Heading
from haiku_state.exercises.folder import DEFAULT, Folder, text_in
from haiku_state.exercises.notebook import KINDS, LEVELS, write_folder, write_notebooks
from haiku_state.exercises.result import COLUMNS, Result

COMMAND = "python -m haiku_state exercises"

STARTED = _("{file} is ready. Read the file, change it, and then check it:")
CONTINUED = _("{file} already exists and was not changed. Check it:")
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
WRITTEN = _("Files written to {folder}: {count}")
BEGUN = _(
    "{file} is a copy of the exercise {model}. Change its docstring (title, kind, level, minutes, "
    "lesson, statement, three hints), its program with the solution, its checks, and the wrong "
    "programs with their ideas. Then try it:"
)
OTHERS = _("Another right answer, {title}:")
PLACE = _("line {line}, {what}")
TRIED = _("{right} of {count} results match the expectations in the file.")
GRADED = _("Answers in the table {file}: {count}. The feedback for each learner is in {folder}.")
LISTED = _("{title} ({kind}, {level})")
ABOUT = _("{title} ({kind}, {level}, {minutes} min)")
NO_FILE = _("{path} is not a file")
TRY = _("{problem}; try: {right}")


def add_arguments(parser: OneLineParser) -> None:
    """Add the subcommands to the parser, and what runs each."""
    title = translated(_("commands"))
    commands = parser.add_subparsers(title=title, metavar="COMMAND")

    def add(name: str, run: Callable[..., int], text: str, *arguments: str) -> OneLineParser:
        about = translated(text)
        command: OneLineParser = commands.add_parser(name, help=about, description=about)
        command.add_language(_("language of the texts and of new files"))
        return prepare(command, run, *arguments)

    def prepare(command: OneLineParser, run: Callable[..., int], *arguments: str) -> OneLineParser:
        if "own" not in arguments:
            text = _("the folder of a course; by default, the course of this package")
            given: dict[str, Any] = {"type": Path, "metavar": "DIR", "default": argparse.SUPPRESS}
            command.add_option("--course", text=text, **given)
        if "name" in arguments:
            text = translated(_("which exercise; by default, the exercise that you worked on last"))
            command.add_argument("name", metavar="NAME", nargs="?", help=text)
        if "dir" in arguments:
            text = _(
                "the folder with your answers; by default, the current folder or {folder} in it"
            )
            text = translated(text).format(folder=DEFAULT)
            command.add_option("--dir", text=text, **given)
        is_in_folder = "dir" in arguments
        command.set_defaults(run=functools.partial(_run, run, command, is_in_folder))
        return command

    prepare(parser, _stay, "dir")
    parser.set_defaults(course=None, dir=None)
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
    export = add("export", _export, _("write the files of all exercises, for a class"))
    export.add_argument(
        "dir", metavar="DIR", type=Path, help=translated(_("the folder to write the files to"))
    )
    export.add_option(
        "--format", choices=("notebook", "folder"), default="notebook",
        text=_("notebooks, one for each part, or Python files"),
    )  # fmt: skip
    export.add_option("--solutions", action="store_true", text=_("also write the solutions"))
    new = add("new", _new, _("write the file for an exercise of your own"), "own")
    text = translated(_("the name of the exercise: letters, digits and underscores"))
    new.add_argument("name", metavar="NAME", help=text)
    new.add_option(
        "--from", dest="model", metavar="NAME", default="counter",
        text=_("the exercise of the course whose file is the starting point"),
    )  # fmt: skip
    test = add(
        "test",
        _test,
        _("run the solution and all other programs in the file of an exercise"),
        "own",
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
        text=_("the file for the table of results"),
    )


def _run(
    command: Callable[..., int],
    parser: OneLineParser,
    is_in_folder: bool,
    options: argparse.Namespace,
) -> int:
    language = options.lang or reader_language()
    try:
        with reading(language):
            folder = None
            if is_in_folder:
                folder = _folder(parser, command, options)
                language = options.lang or folder.language or language
        with reading(language):
            if folder and not folder.exists and command not in (_list, _start, _stay):
                raise folder.none_started()
            return command(parser, options, folder)
    except ExerciseError as error:
        problem, right = error.what.rstrip(".。"), error.values["right"]
        with reading(language):
            parser.reject(TRY if right else "{problem}", problem=problem, right=right)


def _folder(
    parser: OneLineParser, command: Callable[..., int], options: argparse.Namespace
) -> Folder:
    path = options.dir or vars(options).get("place")
    folder = Folder.find(path, options.course)
    if command is not _list:
        _check_folder(parser, folder.path)
    return folder


def _course(options: argparse.Namespace) -> Course:
    return Course(options.course) if options.course else ours()


def _stay(_parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    from haiku_state.commands.exercises.session import stay

    return stay(folder, options.lang)


def _list(_parser: OneLineParser, _options: argparse.Namespace, folder: Folder) -> int:
    course = folder.course
    width = max(map(len, course.names))
    for title, names in course.parts:
        print(f"{translated(title)}")
        for name in names:
            mark = "✓" if folder.passed(name) else " "
            about = _about(course.heading(name), LISTED)
            print(f" {mark} {course.number(name):2} {name:{width}} {about}")
    return 0


def _start(_parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = folder.course.known(options.name) if options.name else folder.next()
    if name is None:
        print(translated(ALL_PASSED))
        return 0
    is_new = folder.start(name, options.lang)
    print(described(folder.course.load(name)))
    print()
    _print(translated(STARTED if is_new else CONTINUED).format(file=folder.file_of(name)))
    print(f"  {COMMAND} check {name}")
    return 0


def described(exercise: Exercise) -> str:
    """Return title, kind, level, minutes and statement of an exercise."""
    statement = translated(exercise.statement).split("\n")
    return "\n".join([_about(exercise), "", *(wrapped(text, COLUMNS - 1) for text in statement)])


def _about(exercise: Heading, template: str = ABOUT) -> str:
    return translated(template).format(
        title=translated(exercise.title),
        kind=translated(KINDS[exercise.kind]),
        level=translated(LEVELS[exercise.level]),
        minutes=exercise.minutes,
    )


def _check(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    from haiku_state.exercises.judge import judge

    name = _chosen(parser, options, folder)
    exercise = folder.course.load(name)
    result = judge(exercise, folder.read(name), folder.file_of(name).absolute())
    folder.note_check(name, result.passed)
    print(told(result))
    print()
    following = folder.next()
    if result.passed and following is None:
        print(translated(ALL_PASSED))
    elif result.passed:
        print(translated(NEXT).format(command=f"{COMMAND} start {following}"))
    else:
        print(translated(STUCK).format(command=f"{COMMAND} hint {name}"))
    return 0 if result.passed else 1


def told(result: Result) -> str:
    """Return the text of a result, and the other right answers below it if it has passed."""
    others = [one for one in result.exercise.programs if one.title and result.passed]
    texts = [
        translated(OTHERS).format(title=translated(one.title))
        + "\n\n"
        + textwrap.indent(one.code.strip("\n"), "  ")
        for one in others
    ]
    return "\n\n".join([str(result), *texts])


def _chosen(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> str:
    name = options.name or folder.current
    if name is None:
        parser.reject(_("no exercise was named; the command `list` shows all exercises"))
    return folder.course.known(name)


def _hint(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = _chosen(parser, options, folder)
    _print(next_hint(folder, name))
    if folder.may_see_solution(name):
        print("\n" + translated(AFTER_HINTS).format(command=f"{COMMAND} solution {name}"))
    return 0


def next_hint(folder: Folder, name: str) -> str:
    """Return one more hint of an exercise, or the last one, and record that it was shown."""
    hints = folder.course.load(name).hints
    number = min(folder.hints(name) + 1, len(hints))
    folder.note_hint(name)
    text = translated(hints[number - 1])
    return translated(HINT).format(number=number, count=len(hints), text=text)


def _solution(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = _chosen(parser, options, folder)
    if not folder.may_see_solution(name):
        parser.reject(NO_SOLUTION, name=name)
    print(folder.course.solution(name), end="")
    return 0


def _reset(parser: OneLineParser, options: argparse.Namespace, folder: Folder) -> int:
    name = _chosen(parser, options, folder)
    kept = folder.reset(name)
    if kept:
        _print(translated(KEPT).format(file=kept))
    _print(translated(STARTED).format(file=folder.file_of(name)))
    print(f"  {COMMAND} check {name}")
    return 0


def _progress(_parser: OneLineParser, _options: argparse.Namespace, folder: Folder) -> int:
    for title, names in folder.course.parts:
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


def _export(parser: OneLineParser, options: argparse.Namespace, _none: None) -> int:
    _check_folder(parser, options.dir)
    write = write_notebooks if options.format == "notebook" else write_folder
    if options.dir.exists() and any(options.dir.iterdir()):
        parser.reject(
            _(
                "{folder} is not empty, and this command does not overwrite files; choose a new or "
                "empty folder"
            ),
            folder=options.dir,
        )
    files = write(_course(options), options.dir, reader_language(), options.solutions)
    print(translated(WRITTEN).format(count=len(files), folder=options.dir))
    return 0


def _new(parser: OneLineParser, options: argparse.Namespace, _none: None) -> int:
    if not options.name.isidentifier():
        close = re.sub(r"[^0-9A-Za-z]+", "_", options.name).strip("_") or "my_exercise"
        problem = translated(_("{name} cannot be the name of an exercise")).format(
            name=options.name
        )
        parser.reject(TRY, problem=problem, right=close)
    file = Path(f"{options.name}.py")
    text = ours().source(options.model)
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        parser.reject(_("{file} already exists; choose a different name"), file=file)
    _print(translated(BEGUN).format(file=file, model=options.model))
    print(f"  {COMMAND} test {file}")
    return 0


def _test(parser: OneLineParser, options: argparse.Namespace, _none: None) -> int:
    from haiku_state.exercises.judge import missing_for
    from haiku_state.exercises.trial import tried

    if not options.file.is_file():
        parser.reject(NO_FILE, path=options.file)
    exercise = read(options.file.stem, text_in(options.file), options.file.absolute().parent)
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
    from haiku_state.exercises.grade import grade, is_table

    if not options.folder.is_dir():
        parser.reject(NO_FOLDER, path=options.folder)
    if not options.out.parent.is_dir():
        parser.reject(NO_FOLDER, path=options.out.parent)
    if options.out.exists() and not is_table(options.out):
        text = _(
            "{file} already exists and is not a table of grades; choose a different file with --out"
        )
        parser.reject(text, file=options.out)
    show = functools.partial(show_bar, stream=sys.stderr)
    count = grade(_course(options), options.folder, options.out, show)
    told = {"count": count, "file": options.out, "folder": options.out.with_suffix("")}
    _print(translated(GRADED).format(**told))
    return 0


def bar(done: int, count: int, width: int = 16) -> str:
    """Return a bar of progress, as text."""
    full = width * done // max(count, 1)
    return f"[{'#' * full}{'-' * (width - full)}] {done}/{count}"


def show_bar(done: int, count: int, stream: TextIO) -> None:
    """Show on a terminal how far something is, on one line."""
    if stream.isatty():
        print(f"\r{bar(done, count)}", end="\n" * (done == count), file=stream, flush=True)


def _check_folder(parser: OneLineParser, path: Path) -> None:
    """End the command where a folder cannot be made."""
    existing = next((each for each in (path, *path.parents) if each.exists()), path)
    if not existing.is_dir():
        parser.reject(NO_FOLDER, path=path)


def _print(text: str) -> None:
    for paragraph in text.split("\n"):
        print(wrapped(paragraph, COLUMNS - 1))
