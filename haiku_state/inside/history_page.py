"""The widget of a history: HTML that needs no network, in both languages.

The numbers and all labels are in the page as JSON. ``history.js`` builds the widget from them, and
the table below the widget takes its place on paper and where scripts do not run.
"""

import html
import math
from importlib import resources
from typing import TYPE_CHECKING, Any

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, translated
from haiku_state.inside.both import as_script, of_the_page

if TYPE_CHECKING:
    from haiku_state.inside.history import LeafSummary

    Records = list[dict[str, LeafSummary]]
    Keys = dict[str, tuple[Any, ...]]

LABELS = {
    "title": _("History of a train state"),
    "empty": _("Nothing has been recorded yet."),
    "play": _("Play"),
    "pause": _("Pause"),
    "slider": _("Record to show"),
    "step": _("step {step}"),
    "position": _("record {index} of {count}"),
    "last": _("The last of {count} records"),
    "summary": _("{changed} of {total} leaves changed since the record before"),
    "start": _("first record: nothing to compare with"),
    "group": _("{changed} of {total} changed"),
    "leaves": _("leaves: {total}"),
    "leaf": _("leaf"),
    "type": _("dtype and shape"),
    "value": _("value"),
    "change": _("change"),
    "changed": _("changed"),
    "moved": _("changed by {norm}"),
    "retyped": _("dtype or shape changed"),
    "unchanged": _("unchanged"),
    "first": _("first value"),
    "absent": _("not recorded"),
    "blank": _("no elements"),
    "mean": _("mean"),
    "std": _("std"),
    "min": _("min"),
    "max": _("max"),
    "curve": _("mean over all records, from {first} to {last}"),
    "ticks": _("it changed at {changes} of {count} records"),
    "strip": _("the array as a strip, from {min} (pale) to {max} (full)"),
    "legend": _(
        "Changes are measured by their Euclidean norm; what changed in a small array is "
        "underlined. The curve is the mean over all records, its band reaches from min "
        "to max, and the vertical line marks this record. The strip is a large array in up to 64 "
        "blocks: pale is low, full is high, and a cross stands for NaN or infinity."
    ),
    "params": _("params"),
    "state": _("state"),
    "opt_state": _("opt_state"),
    "rng": _("rng"),
}
KINDS = ("params", "state", "opt_state", "rng")
LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def page(records: "Records", keys: "Keys") -> str:
    """Return a whole HTML page with the widget in it."""
    language = languages()[reader_language()].tag
    title = html.escape(translated(LABELS["title"]))
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{title}</title>\n</head>\n'
        f'<body class="hs-history-page">\n{widget(records, keys)}\n</body>\n</html>\n'
    )


def widget(records: "Records", keys: "Keys") -> str:
    """Return the widget, to be put anywhere into a page."""
    files = resources.files("haiku_state.inside")
    style, script = (
        files.joinpath(f"history.{suffix}").read_text(encoding="utf-8") for suffix in ("css", "js")
    )
    style += of_the_page(".hs-history-texts", "inline", ".hs-history")
    code = reader_language()
    language = f' lang="{languages()[code].tag}"' * (code != "en")  # or else that of the page
    # JupyterLab would take the arrow keys for itself without the last attribute
    head = f'<div class="hs-history"{language} data-lm-suppress-shortcuts="true">'
    if not records:
        return f"{head}<style>{style}</style><p>{_both('empty')}</p></div>"
    data = as_script(_data(records, keys))
    return (
        f"{head}<style>{style}</style>\n{_table(records, keys)}\n"
        f'<script type="application/json">{data}</script>\n<script>{script}</script></div>'
    )


def _data(records: "Records", keys: "Keys") -> dict[str, Any]:
    return {
        "labels": {
            each.tag: {name: translated(text, each.code) for name, text in LABELS.items()}
            for each in languages().values()
        },
        "count": len(records),
        "steps": _steps(records),
        "leaves": [
            _leaf([record.get(path) for record in records], key) for path, key in keys.items()
        ],
    }


def _leaf(series: "list[LeafSummary | None]", key: tuple[Any, ...]) -> dict[str, Any]:
    """Put a leaf's summaries into columns; a column of equal entries is written once."""
    present = [summary for summary in series if summary is not None]
    blocks = [b for s in present for b in s.strip or () if math.isfinite(b)]
    low, high = min(blocks, default=0.0), max(blocks, default=0.0)
    columns: dict[str, list[Any]] = {
        "type": [s and _type(s) for s in series],
        "changed": [s and s.changed for s in series],
        "retyped": _retyped(series),
        "values": [s and _values(s) for s in series],
        "strip": [s and _levels(s.strip, low, high) for s in series],
        "nan": [s and s.nan for s in series],
        "inf": [s and s.inf for s in series],
    }
    for name in ("mean", "std", "min", "max", "change"):
        columns[name] = [s and _rounded(getattr(s, name)) for s in series]
    return {
        "path": [_part(entry) for entry in key] or ["train_state"],
        "kind": _kind(key, present[0]),
        "range": [_rounded(low), _rounded(high)],
        **{name: column if _differs(column) else column[:1] for name, column in columns.items()},
    }


def _differs(column: list[Any]) -> bool:
    return any(entry != column[0] or type(entry) is not type(column[0]) for entry in column)


def _part(entry: Any) -> str:
    """Name one step of a path as the source does: ``w`` of a dict or a tuple, else ``[0]``."""
    name = getattr(entry, "name", getattr(entry, "key", entry))
    return name if isinstance(name, str) else f"[{getattr(entry, 'idx', name)}]"


def _kind(key: tuple[Any, ...], summary: "LeafSummary") -> str:
    field = _part(key[0]) if key else ""
    if field in KINDS:
        return field
    return "rng" if summary.dtype.startswith("key<") else "other"


def _type(summary: "LeafSummary") -> str:
    return summary.dtype + (f"[{','.join(map(str, summary.shape))}]" if summary.shape else "")


def _retyped(series: "list[LeafSummary | None]") -> list[bool]:
    """Return for each record whether its dtype or shape differs from the record before."""
    types = [None if summary is None else _type(summary) for summary in series]
    retyped, before = [], None
    for now in types:
        retyped.append(None not in (before, now) and before != now)
        before = now or before
    return retyped


def _values(summary: "LeafSummary") -> list[str] | None:
    return None if summary.values is None else [_number(value) for value in summary.values]


def _number(value: Any) -> str:
    if isinstance(value, complex):
        return f"{value:.4g}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _rounded(value: float | None) -> float | None:
    # JSON knows neither NaN nor infinity
    return None if value is None or not math.isfinite(value) else float(f"{value:.4g}")


def _levels(strip: tuple[float, ...] | None, low: float, high: float) -> str | None:
    """Write a strip with one of 64 letters for each block, and a dot for what is not finite."""
    if strip is None:
        return None
    scale = (len(LEVELS) - 1) / (high - low) if 0 < high - low < math.inf else 0.0
    return "".join(
        LEVELS[round((block - low) * scale)] if math.isfinite(block) else "." for block in strip
    )


def _steps(records: "Records") -> list[str] | None:
    """Return the counts of the updates, if the train states have them."""
    steps = []
    for record in records:
        step = record.get("train_state.step") or record.get("train_state['step']")
        if step is None or step.values is None or len(step.values) != 1:
            return None
        steps.append(_number(step.values[0]))
    return steps


def _both(name: str, **values: Any) -> str:
    """Write a label in every language; the style sheet shows that of the page."""
    texts = (
        (each.tag, html.escape(translated(LABELS[name], each.code).format(**values)))
        for each in languages().values()
    )
    spans = "".join(f'<span lang="{tag}">{text}</span>' for tag, text in texts)
    return f'<span class="hs-history-texts">{spans}</span>'


def _table(records: "Records", keys: "Keys") -> str:
    """Show the last record, where scripts do not run and on paper."""
    rows = []
    for path, summary in records[-1].items():
        name = path.removeprefix("train_state").removeprefix(".") or path
        rows.append(
            f"<tr><th scope=row><code>{html.escape(name)}</code></th>"
            f"<td><code>{html.escape(_type(summary))}</code></td>"
            f"<td>{_shown(summary)}</td><td>{_change(summary)}</td></tr>"
        )
    heads = "".join(
        f"<th scope=col>{_both(name)}</th>" for name in ("leaf", "type", "value", "change")
    )
    return (
        f'<div class="hs-history-last"><table><caption>{_both("last", count=len(records))}'
        f"</caption><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _shown(summary: "LeafSummary") -> str:
    if summary.dtype == "None":
        return "None"
    if summary.values is not None:
        return html.escape(" ".join(_values(summary) or [])) or _both("blank")
    parts = [
        f"{_both(name)} {_rounded(getattr(summary, name)):g}"
        for name in ("mean", "std", "min", "max")
        if _rounded(getattr(summary, name)) is not None
    ]
    parts += [
        f"{name} {count}" for name, count in (("NaN", summary.nan), ("Inf", summary.inf)) if count
    ]
    return ", ".join(parts)


def _change(summary: "LeafSummary") -> str:
    if summary.changed is None:
        return _both("first")
    if not summary.changed:
        return _both("unchanged")
    norm = _rounded(summary.change)
    return _both("moved", norm=f"{norm:g}") if norm else _both("changed")
