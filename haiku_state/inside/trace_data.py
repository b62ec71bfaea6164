"""A recorded trace: as data, as text, and as a widget that needs no network."""

import functools
import html
import json
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any, NamedTuple

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, translated
from haiku_state.inside.both import as_script, of_the_page

SENTENCES = {
    "call": _("Call {call}: {text}."),
    "threaded": _("Call {call}, with arguments from the previous result: {text}."),
    "first": _("No compiled program fits yet, so Python runs the function."),
    "setting": _(
        "No compiled program fits, so Python runs the function again. The arguments are not new, "
        "so something else has changed, such as a setting of JAX."
    ),
    "again": _(
        "No compiled program fits, so Python runs the function again. Compared with the most "
        "similar earlier call, these things are new: {reasons}."
    ),
    "known": _(
        "The function has been traced with such arguments before, so Python does not run it."
    ),
    "line": _("Python is about to run this line."),
    "return": _("{function} returns {text}."),
    "run": _("The compiled program runs and returns {text}."),
    "error": _("The call ends with an error. {text}"),
}
LABELS = {
    "python": _("Python"),
    "program": _("The program that jit records"),
    "tracer": _("a tracer"),
    "printed": _("Printed"),
    "back": _("Step back"),
    "next": _("Next step"),
    "call": _("Next call"),
    "returned": _("Returned so far"),
    "step": _("call {call}, step {index} of {count}"),
}


class TraceSource(NamedTuple):
    """A function whose lines were run, with its source.

    Example:
      >>> import haiku_state as hs
      >>> def double(x):
      ...     return 2 * x
      >>> hs.record_trace(double, (1.0,)).sources[0].lines
      ('def double(x):', '    return 2 * x')

    References:
      :func:`.record_trace`.
    """

    name: str
    """The name of the function."""

    file: str
    """The file that contains the function."""

    first: int
    """The number of the function's first line in the file."""

    lines: tuple[str, ...]
    """The source lines of the function."""


class TraceValue(NamedTuple):
    """The value of a name in the source at one step.

    Example:
      >>> import haiku_state as hs
      >>> def double(x):
      ...     return 2 * x
      >>> hs.record_trace(double, (1.0,)).steps[1].values
      (TraceValue(name='x', text='weak float32[]', is_tracer=True),)

    References:
      :func:`.record_trace`.
    """

    name: str
    """The name, or an attribute such as ``self.n``."""

    text: str
    """The type of the tracer, or the value shortened to a few characters."""

    is_tracer: bool
    """Whether the value is a tracer or contains a tracer."""


class TraceStep(NamedTuple):
    """One step of a recorded call.

    Example:
      >>> import haiku_state as hs
      >>> def double(x):
      ...     return 2 * x
      >>> [step.kind for step in hs.record_trace(double, (1.0,)).steps]
      ['call', 'line', 'return', 'run']

    References:
      :func:`.record_trace`.
    """

    call: int
    """The number of the call, counted from 1."""

    kind: str
    """The kind of step, one of ``"call"``, ``"line"``, ``"return"``, ``"run"`` and ``"error"``."""

    source: int | None = None
    """The function that is running, as an index into ``sources``; None if Python does not run."""

    line: int | None = None
    """The line that is about to run, as an index into the lines of its source."""

    function: str = ""
    """The name of the function that is running, which may be defined inside another function."""

    values: tuple[TraceValue, ...] = ()
    """The values of the names in the function's source, as far as the values are data."""

    program: int | None = None
    """The program of the call, as an index into ``programs``."""

    written: int = 0
    """How many lines of the program have been written so far."""

    text: str = ""
    """The arguments, the results or the error as text, depending on the kind of step."""

    threaded: bool = False
    """Whether the arguments come from the result of the previous call."""

    traced: bool = False
    """Whether Python runs in this call."""

    reasons: tuple[str, ...] = ()
    """If the function is traced again, what differs from the most similar earlier call."""

    printed: str = ""
    """What has been printed since the previous step."""


class Trace(NamedTuple):
    """The result of :func:`.record_trace`, shown as a stepper in notebooks and as text elsewhere.

    Example:
      >>> import haiku_state as hs
      >>> def double(x):
      ...     return 2 * x
      >>> trace = hs.record_trace(double, (1.0,), (2.0,))
      >>> print(str(trace).splitlines()[-1])
        The compiled program runs and returns 4.0.

    References:
      :func:`.record_trace`.
    """

    name: str
    """The name of the function."""

    sources: tuple[TraceSource, ...]
    """The user's functions whose lines were run."""

    programs: tuple[tuple[str, ...], ...]
    """What jit has written for each program, line by line, from its inputs to its results."""

    steps: tuple[TraceStep, ...]
    """The steps of all calls, in order."""

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def to_json(self) -> str:
        """Return the whole trace as JSON."""
        return as_json(self)


def sentence(trace: "Trace", step: "TraceStep", language: str | None = None) -> str:
    """Say what happens at a step."""
    text, reasons = step.text, "; ".join(step.reasons)
    kinds = [step.kind]
    if step.kind == "call":
        kinds = ["threaded" if step.threaded else "call"]
        is_new = all(one.call >= step.call or not one.traced for one in trace.steps)
        if step.traced:
            kinds.append("again" if step.reasons else "first" if is_new else "setting")
        elif step.program is not None:
            kinds.append("known")
    said = [
        translated(SENTENCES[kind], language).format(
            call=step.call, function=step.function, text=text, reasons=reasons
        )
        for kind in kinds
    ]
    return ("" if languages()[language or reader_language()].script else " ").join(said)


def _news(trace: "Trace") -> Iterator[tuple["TraceStep", tuple[str, ...]]]:
    """Yield each step with the lines of its program that were written since the one before."""
    written: dict[int | None, int] = {}
    for step in trace.steps:
        program = () if step.program is None else trace.programs[step.program]
        known = written.get(step.program, 0)
        yield step, program[known : step.written]
        written[step.program] = max(step.written, known)


def as_text(trace: "Trace") -> str:
    """Write the steps one below the other."""
    lines: list[str] = []
    for step, news in _news(trace):
        written = [f"         + {line}".replace("\n", "\n           ") for line in news]
        lines += written if step.kind != "call" else []
        if step.printed:
            lines.append(f"         {_printed(step)}".replace("\n", "\n           "))
        values = _told(step)
        if step.kind == "line":
            code = f"  {_number(trace, step):>5}  {_code(trace, step)}"
            lines.append(f"{code:<44}  # {values}" if values else code)
        else:
            lines.append(f"{'' if step.kind == 'call' else '  '}{sentence(trace, step)}")
            if values and step.kind != "call":
                lines.append(f"         {values}")
            lines += written if step.kind == "call" else []
    return "\n".join(lines)


def _number(trace: "Trace", step: "TraceStep") -> int:
    return trace.sources[step.source or 0].first + (step.line or 0)


def _code(trace: "Trace", step: "TraceStep") -> str:
    return trace.sources[step.source or 0].lines[step.line or 0]


def _value(value: Any, tracer: str) -> str:
    return f"{value.name} = {value.text}" + f" ({tracer})" * value.is_tracer


def as_json(trace: "Trace") -> str:
    """Return the fields by name."""
    return json.dumps(
        {
            "name": trace.name,
            "sources": [source._asdict() for source in trace.sources],
            "programs": trace.programs,
            "steps": [
                {**step._asdict(), "values": [value._asdict() for value in step.values]}
                for step in trace.steps
            ],
        },
        ensure_ascii=False,
    )


def as_html(trace: "Trace") -> str:
    """Return the widget; without scripts and on paper, its list of steps is shown."""
    files = resources.files("haiku_state.inside")
    style, script = (
        files.joinpath(f"trace.{suffix}").read_text(encoding="utf-8") for suffix in ("css", "js")
    )
    style += of_the_page(".hs-trace-texts", "inline", ".hs-trace")
    code = reader_language()
    language = f' lang="{languages()[code].tag}"' * (code != "en")  # or else that of the page
    # JupyterLab would take the arrow keys for itself without the last attribute
    return (
        f'<div class="hs-trace"{language} data-lm-suppress-shortcuts="true">'
        f"<style>{style}</style><ol>{''.join(_items(trace))}</ol>"
        f'<script type="application/json">{as_script(_data(trace))}</script>'
        f"<script>{script}</script></div>"
    )


def _items(trace: "Trace") -> Iterator[str]:
    """Write a list item for each step: what the widget says, and without it what the text says."""
    for step, news in _news(trace):
        written = "\n".join(f"+ {line}".replace("\n", "\n  ") for line in news)
        is_line = step.kind == "line"
        said = "" if is_line else _in_each("said", functools.partial(sentence, trace, step))
        parts = [
            f"<pre>{html.escape(written)}</pre>" * bool(news),
            _in_each("told", functools.partial(_printed, step)) * bool(step.printed),
            f"<code>{html.escape(_code(trace, step))}</code>" if is_line else said,
            _in_each("told", functools.partial(_told, step)) * (step.kind != "call"),
        ]
        yield f"<li>{''.join(parts)}</li>"


def _printed(step: "TraceStep", language: str | None = None) -> str:
    """Say what was printed."""
    return f"{translated(LABELS['printed'], language)}: {step.printed.rstrip()}"


def _told(step: "TraceStep", language: str | None = None) -> str:
    """Say what the names stand for."""
    tracer = translated(LABELS["tracer"], language)
    return "; ".join(_value(value, tracer) for value in step.values)


def _in_each(role: str, text_in: Callable[[str], str]) -> str:
    """Say something in each language; the styles show one."""
    texts = "".join(
        f'<span lang="{each.tag}">{html.escape(text_in(each.code))}</span>'
        for each in languages().values()
    )
    return f'<span class="hs-trace-texts hs-trace-{role}">{texts}</span>'


def _data(trace: "Trace") -> dict[str, Any]:
    return {
        "labels": {
            each.tag: {
                name: translated(text, each.code)
                for name, text in {**LABELS, "line": SENTENCES["line"]}.items()
            }
            for each in languages().values()
        },
        "name": trace.name,
        "sources": [source.lines for source in trace.sources],
        "programs": trace.programs,
        "steps": [
            [
                step.call,
                step.source,
                step.line,
                step.program,
                step.written,
                [(value.name, value.text, int(value.is_tracer)) for value in step.values],
                step.printed,
                step.text if step.kind == "run" else "",
            ]
            for step in trace.steps
        ],
    }
