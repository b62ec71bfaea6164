"""A recorded trace as text, and as a widget: HTML that needs no network, in every language."""

import html
import json
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, translated
from haiku_state.inside.both import as_script, of_the_page

if TYPE_CHECKING:
    from haiku_state.inside.trace import Trace, TraceStep

SENTENCES = {
    "call": _("Call {call}: {text}."),
    "threaded": _("Call {call}, with arguments from the previous result: {text}."),
    "first": _("No compiled program fits yet, so Python runs the function."),
    "again": _(
        "No compiled program fits, so Python runs again. New since the last call: {reasons}."
    ),
    "known": _("A compiled program fits, so Python does not run."),
    "line": _("Python is about to run this line."),
    "return": _("{function} returns {text}."),
    "run": _("The compiled program runs and returns {text}."),
    "error": _("The call ends with an error. {text}"),
}
LABELS = {
    "python": _("Python"),
    "program": _("What jit has written"),
    "tracer": _("a tracer"),
    "printed": _("Printed"),
    "back": _("Step back"),
    "next": _("Next step"),
    "returned": _("Returned so far"),
    "step": _("call {call}, step {index} of {count}"),
}


def sentence(trace: "Trace", step: "TraceStep", language: str | None = None) -> str:
    """Say what happens at a step."""
    text, reasons = step.text, "; ".join(step.reasons)
    kinds = [step.kind]
    if step.kind == "call":
        kinds = ["threaded" if step.threaded else "call"]
        kinds.append("known" if not step.traced else "again" if step.reasons else "first")
    said = [
        translated(SENTENCES[kind], language).format(
            call=step.call, function=step.function, text=text, reasons=reasons
        )
        for kind in kinds
    ]
    return ("" if languages()[language or reader_language()].script else " ").join(said)


def as_text(trace: "Trace") -> str:
    """Write the steps one below the other."""
    lines: list[str] = []
    written: dict[int, int] = {}
    tracer, printed = (translated(LABELS[name]) for name in ("tracer", "printed"))
    for step in trace.steps:
        if step.program is not None:
            program = trace.programs[step.program]
            for line in program[written.get(step.program, 0) : step.written]:
                lines.append(f"         + {line}".replace("\n", "\n           "))
            written[step.program] = max(step.written, written.get(step.program, 0))
        if step.printed:
            lines.append(f"         {printed}: {step.printed.strip()}")
        values = "; ".join(_value(value, tracer) for value in step.values)
        if step.kind == "line":
            source = trace.sources[step.source or 0]
            code = f"  {source.first + (step.line or 0):>5}  {source.lines[step.line or 0]}"
            lines.append(f"{code:<44}  # {values}" if values else code)
        else:
            lines.append(f"{'' if step.kind == 'call' else '  '}{sentence(trace, step)}")
            if values and step.kind in ("run", "error"):
                lines.append(f"         {values}")
    return "\n".join(lines)


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
    """Write a list item for each step: what the widget says, and without it the line."""
    for step in trace.steps:
        texts = "".join(
            f'<span lang="{each.tag}">{html.escape(sentence(trace, step, each.code))}</span>'
            for each in languages().values()
        )
        said = f'<span class="hs-trace-texts">{texts}</span>'
        if step.kind == "line":
            said = (
                f"<code>{html.escape(trace.sources[step.source or 0].lines[step.line or 0])}</code>"
            )
        yield f"<li>{said}</li>"


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
