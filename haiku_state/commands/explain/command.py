"""The ``explain`` command: its arguments, and the run."""

import argparse
import contextlib
import functools
import sys

import haiku_state as hs
from haiku_state.commands.explain.target import check_fit, evaluated, find, imported
from haiku_state.commands.parser import OneLineParser, in_one_line, problem_line
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated

MORE = _(
    "The command imports the file and evaluates the arguments, both as Python code on this "
    "machine, but it only traces the function. Exit code: 0 if nothing is found; 1 if something is "
    "found or the function raises an error; 2 if the command line is wrong."
)


def add_arguments(parser: OneLineParser) -> None:
    """Add the arguments of the command to the parser, and what runs it."""
    # fmt: off
    parser.add_argument(
        "target", metavar="FILE.py:FUNCTION", help=translated(_(
            "the function to explain; write a method as CLASS.METHOD; instead of a file, you can "
            "name a module that can be imported")))
    add = parser.add_option
    add("--args", metavar="LIST",
        text=_(
            "the arguments of the call, as in Python, for example jnp.ones(3), flag=True; all "
            "names in the file can be used, as well as jnp, np, jax and hk; f32[3,4] stands for an "
            "array of that shape, without data (also f16, bf16, i8, i32, u8, u32)"
        ))
    add("--init", metavar="LIST", text=_(
        "for a method: the arguments with which its class is constructed"
    ))
    add("--json", action="store_true", text=_("print the report as JSON"))
    # fmt: on
    parser.epilog = translated(MORE)
    parser.set_defaults(run=functools.partial(run, parser))


def run(parser: OneLineParser, options: argparse.Namespace) -> int:
    """Find the function, and print its report.

    Returns:
      0 if the function is pure, 1 if it is not, or if it raised an error while it was traced, as
      for `assert_pure`. What is wrong with the command line raises ``SystemExit`` with code 2,
      after one line on stderr.
    """
    # with --json, stdout is for the report alone
    prints = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with prints, imported(parser, options.target) as (module, name):
        function = find(parser, module, name, options.init)
        args, kwargs = given = evaluated(parser, "--args", options.args, module)
        check_fit(parser, name, function, given)
        try:
            report = hs.explain(function, *args, **kwargs)
        except SystemExit as error:
            told = translated(_("{name} raises {error} while it is traced"))
            problem = told.format(name=name, error=in_one_line(error))
            parser.exit(1, problem_line(problem, parser.prog))
    print(report.to_json() if options.json else report.text())
    return 0 if report.pure and report.error is None else 1
