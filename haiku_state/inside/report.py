"""What was found in a function: as text for a terminal, as HTML for a notebook, and as JSON."""

import html
import importlib.util
import json
import linecache
import os
import re
import sys
import traceback
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, translated, wrapped
from haiku_state.inside.both import in_both_languages
from haiku_state.inside.reach import library_of
from haiku_state.inside.rewrite import Rewrite

WIDTH = 88

KINDS = {
    "mutation": _("mutation"),
    "hidden input": _("hidden input"),
    "output": _("output"),
    "frozen value": _("frozen value"),
    "leak": _("leak"),
    "retrace": _("retrace"),
    "reference": _("reference"),
}

# What jit does with it: by kind and form, or by kind alone.
EFFECTS = {
    "mutation": _(
        "jit runs this line only while it traces: later calls of the compiled program do not "
        "change `{name}`."
    ),
    "mutation/default": _(
        "A default is made once, when the function is defined, and all calls share it. jit runs "
        "this line only while it traces: later calls do not change `{name}`."
    ),
    "mutation/class attribute": _(
        "All instances share `{name}`. jit runs this line only while it traces: later calls of the "
        "compiled program do not change it."
    ),
    "hidden input": _(
        "The value that is read during tracing becomes a constant of the compiled program: all "
        "later calls use the same value."
    ),
    "hidden input/random": _(
        "The number is drawn during tracing and becomes a constant of the compiled program: all "
        "later calls use the same number."
    ),
    "hidden input/clock": _(
        "The clock is read during tracing, and that time becomes a constant of the compiled "
        "program: for all later calls no time passes."
    ),
    "hidden input/environment": _(
        "The environment variable is read during tracing, and its value becomes a constant of the "
        "compiled program: changing it later has no effect."
    ),
    "hidden input/file": _(
        "The file is read during tracing, and its contents become a constant of the compiled "
        "program: changing the file later has no effect."
    ),
    "hidden input/iterator": _(
        "One item is taken during tracing and becomes a constant of the compiled program: all "
        "later calls use that item again, and the iterator stays where it is."
    ),
    "hidden input/input": _(
        "The question is asked during tracing, and the answer becomes a constant of the compiled "
        "program: later calls do not ask."
    ),
    "output": _("jit runs this line only while it traces: later calls output nothing."),
    "output/print": _(
        "It prints only while jit traces: later calls print nothing. A traced value is shown as a "
        "tracer, without its numbers."
    ),
    "output/log": _("It logs only while jit traces: later calls log nothing."),
    "output/file": _("The file is changed only while jit traces: later calls leave it alone."),
    "frozen value": _(
        "The value at the time of tracing is a constant of the compiled program: a later change of "
        "`{name}` has no effect on it."
    ),
    "frozen value/big array": _(
        "All of `{name}` ({size}) is a constant of the compiled program: compiling takes longer, "
        "its memory is needed a second time, and a later change of `{name}` has no effect."
    ),
    "leak": _(
        "A tracer is stored in `{name}` and outlives its trace. It has no value, and its next use "
        "raises UnexpectedTracerError."
    ),
    "leak/cache": _(
        "`{name}` keeps in its cache what it has returned, and with it a tracer that outlives its "
        "trace. The next call that finds it there raises UnexpectedTracerError."
    ),
    "retrace": _("The two calls differ in `{name}`, so each is traced and compiled."),
    "retrace/shape": _(
        "The two calls differ in the shape of `{name}`: each new shape is traced and compiled."
    ),
    "retrace/dtype": _(
        "The two calls differ in the dtype of `{name}`: each new dtype is traced and compiled."
    ),
    "retrace/weak type": _(
        "A Python number has a weak type, but an array does not: the two calls differ in `{name}`, "
        "and each is traced and compiled."
    ),
    "retrace/static value": _(
        "`{name}` is static, so its value is part of the program: each new value is traced and "
        "compiled."
    ),
    "retrace/new function": _(
        "`{name}` is a new function object in each call. Even if its code is the same, jit traces "
        "and compiles it again."
    ),
    "retrace/structure": _(
        "The two calls differ in the tree structure of `{name}`: each new structure is traced and "
        "compiled."
    ),
    "reference": _(
        "`{name}` is a JAX ref. Every call uses it, so this is not a defect but an effect: what a "
        "call does depends on the calls before it."
    ),
    "reference/read": _(
        "`{name}` is a JAX ref. Every call reads what it holds at that time, so this is not a "
        "defect but an effect. Therefore calls cannot be reordered, and a result cannot be reused "
        "in place of a call."
    ),
    "reference/write": _(
        "`{name}` is a JAX ref. Every call writes to it, so this is not a defect but an effect. "
        "Therefore calls cannot be reordered or left out. Around this function, `jax.vmap` and "
        "`jax.grad` raise an error if what is written depends on their argument and the ref is "
        "not an argument too."
    ),
}

IMPURE = _("`{function}` is impure: {count} findings")
IMPURE_ONCE = _("`{function}` is impure: 1 finding")
EFFECTS_ONLY = _("`{function}` has no defects, only effects on refs: {count}")
PURE = _("No impurity was found in `{function}`.")
ENDED = _("`{function}` ended with an error. No impurity was found before it.")
RETRACED = _("The second call of `{function}` is traced again: {count} differences")
RETRACED_ONCE = _("The second call of `{function}` is traced again: 1 difference")
NOT_RETRACED = _("The second call of `{function}` uses the program of the first call.")
NOT_CALLED = _("`{function}` cannot be called like this.")
NOTES = _("Notes: this call changes none of these values, but a later change is not seen.")
OTHER_NOTES = _("Notes")
RAISED = _("The function raised an error while it was traced; what comes after it was not seen.")
ERROR = _("error")
UNSEEN = _("What could not be seen:")
BRANCHES = _("branches that this call did not take, and what other arguments would do")
EXPLICIT = _("explicit state")
INSTEAD = _("instead")
IN_HAIKU = _("in Haiku")
OUTSIDE = _("by the caller")

STYLES = {"bad": "bold red", "good": "green", "kind": "bold", "muted": "dim", "title": "bold"}


class Sentence(str):
    """An English text that can be shown in the reader's language.

    Args:
      template: the text in the catalog.
      values: the values of its placeholders.
    """

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, **values: object) -> "Sentence":
        sentence = super().__new__(cls, template.format(**values))
        sentence.template, sentence.values = template, values
        return sentence

    def shown(self) -> str:
        """Return it in the reader's language."""
        return translated(self.template).format(**self.values)


@dataclass(frozen=True)
class Finding:
    """One thing that a function does besides computing its result from its arguments.

    Args:
      kind: mutation, hidden input, output, frozen value, leak, retrace or reference.
      name: the object concerned, as the source names it, such as ``counter.n``.
      file: the file of the statement that does it, or the name of a notebook's cell.
      line: the line of that statement.
      form: a more precise description, such as attribute, dict key, random, print or dtype.
      before: the value before, as a short text; empty if it is not known.
      after: the value after.
      size: the bytes of an array that becomes part of the program.
      rewrite: how to write the line instead.

    References:
      :func:`.explain`.
    """

    kind: str
    name: str
    file: str
    line: int
    form: str = ""
    before: str = ""
    after: str = ""
    size: int = 0
    rewrite: Rewrite = field(default=Rewrite(), compare=False)


@dataclass(frozen=True, repr=False)
class Report:
    """What was seen while a function was traced.

    ``print`` shows it as text, a notebook as HTML, both in the reader's language.

    Args:
      function: the name of the function.
      findings: what makes it impure, in the order of the source lines.
      notes: things that do not make it impure but are worth knowing.
      unseen: what could not be watched, such as the inside of a C extension.
      error: what the function raised while it was traced.
      is_retrace: whether two calls are compared, as :func:`.explain_retrace` does.

    Example:
      >>> from haiku_state.inside.report import Finding, Report
      >>> report = Report("f", (Finding("mutation", "total", "", 0, "global", "0", "1"),))
      >>> report.pure
      False
      >>> print(report)
      `f` is impure: 1 finding
      <BLANKLINE>
      mutation: total
        0 → 1
        jit runs this line only while it traces: later calls of the compiled program do not
        change `total`.
      <BLANKLINE>
      What could not be seen:
        - branches that this call did not take, and what other arguments would do

    References:
      :func:`.explain`, which makes it.
    """

    function: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    unseen: tuple[str, ...] = ()
    error: BaseException | None = None
    is_retrace: bool = False

    @property
    def pure(self) -> bool:
        """Whether nothing impure was found, though this does not prove purity."""
        return all(finding.kind == "retrace" for finding in self.findings)

    def __str__(self) -> str:
        return self.text(color=False)

    __repr__ = __str__

    def text(self, color: bool | None = None) -> str:
        """Return the report as text for a terminal, in lines of 88 columns at most.

        Args:
          color: whether to add the codes for colors, which needs rich; None adds them if the
            standard output is a terminal and rich is installed.

        Returns:
          The text in the reader's language. Code and names are not translated.

        Example:
          >>> from haiku_state.inside.report import Report
          >>> print(Report("f").text(color=False))
          No impurity was found in `f`.
          <BLANKLINE>
          What could not be seen:
            - branches that this call did not take, and what other arguments would do

        References:
          The library ``rich``, which produces the colors; set the variable ``NO_COLOR`` to turn
          them off.
        """
        pieces: list[tuple[str, str]] = []
        for index, block in enumerate(_blocks(self)):
            pieces += [("\n", "")] if index else []
            for row in block:
                pieces += _as_text(row)
        pieces[-1] = (pieces[-1][0].rstrip("\n"), pieces[-1][1])
        if color is None:
            has_colors = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            color = has_colors and importlib.util.find_spec("rich") is not None
        return _colored(pieces) if color else "".join(text for text, _style in pieces)

    def to_json(self) -> str:
        """Return the report as JSON, in English, with sorted keys.

        Returns:
          An object with ``function``, ``pure``, ``findings``, ``notes``, ``unseen`` and ``error``.
          Each finding has the fields of :class:`Finding`, and its ``rewrite`` as code.

        Example:
          >>> import json
          >>> from haiku_state.inside.report import Report
          >>> json.loads(Report("f").to_json())["pure"]
          True

        References:
          :func:`.explain`.
        """

        def entry(finding: Finding) -> dict[str, Any]:
            new = finding.rewrite
            code = {"explicit": new.explicit, "haiku": new.haiku, "outside": new.outside}
            return {**asdict(finding), "rewrite": code}

        error = None if self.error is None else _error_line(self.error)
        content = {
            "error": error,
            "findings": [entry(finding) for finding in self.findings],
            "function": self.function,
            "notes": [entry(note) for note in self.notes],
            "pure": self.pure,
            "unseen": list(self.unseen),
        }
        return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)

    def _repr_html_(self) -> str:
        def render() -> str:
            language = languages()[reader_language()].tag
            blocks = ["".join(map(_as_html, block)) for block in _blocks(self)]
            sections = "".join(f'<div class="hs-block">{block}</div>' for block in blocks)
            return f'<div class="hs-report" lang="{language}">{sections}</div>'

        return f"<style>{_style()}</style>{in_both_languages(render)}"


# --- what a report shows: blocks of rows, each with the role that it plays ------------------------


@dataclass(frozen=True)
class _Row:
    role: str
    text: str
    place: str = ""


def _blocks(report: Report) -> list[list[_Row]]:
    blocks = [[_Row("title", _headline(report))]]
    blocks += [_finding_rows(finding) for finding in report.findings]
    if report.notes:
        frozen = all(note.kind == "frozen value" for note in report.notes)
        blocks.append([_Row("title", translated(NOTES if frozen else OTHER_NOTES))])
        blocks += [_finding_rows(note, short=frozen) for note in report.notes]
    if report.error is not None:
        blocks.append(_error_rows(report.error))
    if report.is_retrace:
        return blocks
    unseen = [text.shown() if isinstance(text, Sentence) else text for text in report.unseen]
    unseen.append(translated(BRANCHES))
    rows = [_Row("label", translated(UNSEEN)), *(_Row("item", text) for text in unseen)]
    return [*blocks, rows]


def _headline(report: Report) -> str:
    count = len(report.findings)
    texts = (
        (NOT_RETRACED, RETRACED_ONCE, RETRACED)
        if report.is_retrace
        else (PURE, IMPURE_ONCE, IMPURE)
    )
    text = texts[min(count, 2)]
    if count and all(finding.kind == "reference" for finding in report.findings):
        text = EFFECTS_ONLY
    if not count and report.error is not None:
        text = ENDED if report.error.__traceback__ else NOT_CALLED
    return translated(text).format(function=report.function, count=count)


def _finding_rows(finding: Finding, short: bool = False) -> list[_Row]:
    kind = translated(KINDS.get(finding.kind, finding.kind))
    is_wrong = not short and finding.kind != "reference"
    rows = _head(kind, finding.name, finding.file, finding.line, "bad" if is_wrong else "source")
    values = dict.fromkeys(filter(None, (finding.before, finding.after)))
    if len(values) == 1 and finding.kind != "frozen value":
        values = dict.fromkeys((finding.before or "?", finding.after or "?"))
    if values:
        rows.append(_Row("change", " → ".join(values)))
    if short and finding.form != "big array":
        return rows
    form = f"{finding.kind}/{finding.form}"
    effect = EFFECTS.get(form) or EFFECTS.get(finding.kind)
    new = finding.rewrite
    words = {
        "name": finding.name,
        "form": finding.form,
        "size": _size(finding.size),
        "new": new.new,
    }
    rows += [_Row("prose", translated(t).format(**words)) for t in (effect, new.advice) if t]
    plain = EXPLICIT if new.haiku or finding.kind in ("mutation", "leak") else INSTEAD
    for label, code in ((plain, new.explicit), (IN_HAIKU, new.haiku), (OUTSIDE, new.outside)):
        if code and not short:
            rows += [_Row("label", translated(label)), _Row("good", code)]
    return rows


def _head(kind: str, name: str, file: str, line: int, role: str) -> list[_Row]:
    """Return what it is, where it is, and the line of source."""
    place = f"{Path(file).name}:{line}"
    if "ipykernel_" in file or file.startswith("<ipython-input"):
        place = translated(_("line {line}")).format(line=line)
    rows = [_Row("kind", kind), _Row("name", name, place if line else "")]
    source = linecache.getline(file, line).strip()
    return [*rows, _Row(role, source, str(line))] if source else rows


def _error_rows(error: BaseException) -> list[_Row]:
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not library_of(frame.filename)]
    file, line = (users[-1].filename, users[-1].lineno or 0) if users else ("", 0)
    rows = _head(translated(ERROR), type(error).__name__, file, line, "bad")
    message = str(error).strip().partition("\n")[0]
    rows += [_Row("error", message)] if message else []
    return rows + ([_Row("prose", translated(RAISED))] if error.__traceback__ else [])


def _error_line(error: BaseException) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}".rstrip(": ")


def _size(count: int) -> str:
    for unit, bytes_of_it in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= bytes_of_it:
            return f"{count / bytes_of_it:.3g} {unit}"
    return f"{count} B"


# --- as text --------------------------------------------------------------------------------------


def _as_text(row: _Row) -> list[tuple[str, str]]:
    """Return the lines of a row, in pieces with a style."""
    match row.role:
        case "title":
            return [(wrapped(row.text, WIDTH) + "\n", "title")]
        case "kind":
            return [(row.text, "kind"), (languages()[reader_language()].colon, "")]
        case "name":
            return [(row.text, "title"), (f"  {row.place}".rstrip() + "\n", "muted")]
        case "bad" | "source":
            return [(f"  {row.place} | ", "muted"), (f"{row.text}\n", row.role)]
        case "good":
            return [("".join(f"    {line}\n" for line in row.text.splitlines()), "good")]
        case "item":
            return [(f"  - {wrapped(row.text, WIDTH, '    ').lstrip()}\n", "")]
        case "label":
            indent = "" if row.text == translated(UNSEEN) else "  "
            return [(f"{indent}{row.text}\n", "muted")]
        case _:
            return [(wrapped(row.text, WIDTH, "  ") + "\n", "")]


def _colored(pieces: list[tuple[str, str]]) -> str:
    import io

    from rich.console import Console
    from rich.text import Text

    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="standard", soft_wrap=True
    )
    with console.capture() as captured:
        text = Text.assemble(*((text, STYLES.get(style, "")) for text, style in pieces))
        console.print(text, end="", soft_wrap=True)
    return captured.get()


# --- as HTML --------------------------------------------------------------------------------------


def _as_html(row: _Row) -> str:
    """Return a row as HTML; nothing of its text can be read as HTML."""
    text, place = html.escape(row.text), html.escape(row.place)
    prose = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
    match row.role:
        case "kind":
            return f'<p class="hs-head"><span class="hs-kind">{text}</span> '
        case "name":
            return f'<code class="hs-name">{text}</code> <span class="hs-place">{place}</span></p>'
        case "bad" | "good" | "error" | "source":
            sign = {"bad": "−", "good": "+", "error": "!", "source": ""}[row.role]
            return (
                f'<pre class="hs-{row.role}"><span class="hs-sign" aria-hidden="true">{sign}</span>'
                f"<code>{text}</code></pre>"
            )
        case "change":
            return f'<p class="hs-change"><code>{text}</code></p>'
        case _:
            return f'<p class="hs-{row.role}">{prose}</p>'


@cache
def _style() -> str:
    return Path(__file__).with_name("report.css").read_text(encoding="utf-8")
