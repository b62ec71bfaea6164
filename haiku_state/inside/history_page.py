"""The picture of a history: a table with a curve for each leaf, in every language, no scripts."""

import html
import itertools
import math
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

from jax.tree_util import keystr

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, translated
from haiku_state.inside.both import of_the_page
from haiku_state.inside.history_data import LeafSummary

Records = list[dict[str, LeafSummary]]
Keys = dict[str, tuple[Any, ...]]

LABELS = {
    "title": _("History of a train state"),
    "empty": _("Nothing has been recorded yet."),
    "caption": _("{count} records"),
    "steps": _("{count} records, steps {first} to {last}"),
    "leaf": _("leaf"),
    "value": _("last value and change"),
    "curve": _("all records"),
    "changed": _("changed"),
    "moved": _("changed by {norm}"),
    "unchanged": _("unchanged"),
    "first": _("first value"),
    "blank": _("no elements"),
    "mean": _("mean"),
    "std": _("std"),
    "min": _("min"),
    "max": _("max"),
    "range": _("from {low} to {high}"),
    "ticks": _("changed in {changes} of {count} records"),
    "folded": _("{count} leaves, {size} numbers"),
    "legend": _(
        "The curve is the mean of a leaf over all records, and its band reaches from min to max. "
        "The line below it marks the records in which the leaf changed, and the line above it "
        "marks the records with NaN or infinity. Changes are measured by their Euclidean norm."
    ),
}
MOST = 8
"""So many leaves have a row each, whatever they belong to."""
KINDS = ("params", "state", "opt_state", "rng")
WIDTH, HEIGHT = 200, 40
"""Of a curve, in its own units: whole numbers, as many columns as are shown at most."""


def page(records: Records, keys: Keys) -> str:
    """Return a whole HTML page with the picture in it."""
    language = languages()[reader_language()].tag
    title = html.escape(translated(LABELS["title"]))
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{title}</title>\n</head>\n'
        f'<body class="hs-history-page">\n{widget(records, keys)}\n</body>\n</html>\n'
    )


def widget(records: Records, keys: Keys) -> str:
    """Return the picture, to be put anywhere into a page."""
    style = resources.files("haiku_state.inside").joinpath("history.css").read_text("utf-8")
    style += of_the_page(".hs-history-texts", "inline", ".hs-history")
    code = reader_language()
    language = f' lang="{languages()[code].tag}"' * (code != "en")  # or else that of the page
    head = f'<div class="hs-history"{language}><style>{style}</style>'
    if not records:
        return f"{head}<p>{_both('empty')}</p></div>"
    rows = "".join(_rows(records, keys))
    heads = "".join(f"<th scope=col>{_both(name)}</th>" for name in ("leaf", "value", "curve"))
    return (
        f"{head}<table><caption>{_caption(records)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table><p>{_both('legend')}</p></div>"
    )


def _caption(records: Records) -> str:
    steps = [
        summary.values[0]
        for record in records
        if (summary := record.get("train_state.step") or record.get("train_state['step']"))
        and summary.values
    ]
    if len(steps) < len(records):
        return _both("caption", count=len(records))
    return _both("steps", count=len(records), first=steps[0], last=steps[-1])


def _rows(records: Records, keys: Keys) -> Iterator[str]:
    """Write a row for each leaf; of many, one for each module, with its leaves folded below it."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for path, key in keys.items():
        groups.setdefault(_group(key) if len(keys) > MOST else key, []).append(path)
    for group, paths in groups.items():
        leaves = [[record.get(path) for record in records] for path in paths]
        rows = [
            _row(path, _type(_last(series)), keys[path], series)
            for path, series in zip(paths, leaves, strict=True)
        ]
        if len(paths) == 1:
            yield rows[0]
            continue
        name = "train_state" + keystr(group)
        size = sum(math.prod(_last(series).shape) for series in leaves)
        told = _both("folded", count=len(paths), size=f"{size:,}")
        series = [_together([s for s in each if s]) for each in zip(*leaves, strict=True)]
        yield _row(name, "", group, series)
        kind = _kind(group, _last(leaves[0]))
        yield (
            f'<tr class="hs-history-{kind}"><td colspan=3><details><summary>{told}</summary>'
            f"<table>{''.join(rows)}</table></details></td></tr>"
        )


def _group(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a leaf belongs to: its module, or all of the optimizer's state."""
    first = getattr(key[0], "name", getattr(key[0], "key", key[0])) if key else ""
    if first == "metrics" or len(key) < 2:
        return key
    return key[:1] if first == "opt_state" else key[:-1]


def _together(leaves: list[LeafSummary]) -> LeafSummary | None:
    """Put several leaves into one summary, as if they were one array."""
    if not leaves:
        return None
    size = sum(math.prod(leaf.shape) for leaf in leaves)
    finite = [
        (leaf.mean, math.prod(leaf.shape) - leaf.nan - leaf.inf)
        for leaf in leaves
        if leaf.mean is not None
    ]
    count = sum(each for _mean, each in finite)
    edges = [edge for leaf in leaves for edge in (leaf.min, leaf.max) if edge is not None]
    changes = [leaf.change for leaf in leaves if leaf.changed]
    is_known = all(change is not None for change in changes)
    is_first = all(leaf.changed is None for leaf in leaves)
    return leaves[0]._replace(
        shape=(size,),
        mean=sum(mean * each for mean, each in finite) / count if count else None,
        std=None,
        min=min(edges, default=None),
        max=max(edges, default=None),
        nan=sum(leaf.nan for leaf in leaves),
        inf=sum(leaf.inf for leaf in leaves),
        changed=None if is_first else any(leaf.changed for leaf in leaves),
        change=math.hypot(*(change or 0.0 for change in changes)) if is_known else None,
        values=None,
    )


def _last(series: Sequence[LeafSummary | None]) -> LeafSummary:
    return next(summary for summary in reversed(series) if summary is not None)


def _row(path: str, what: str, key: tuple[Any, ...], series: Sequence[LeafSummary | None]) -> str:
    last = _last(series)
    name = path.removeprefix("train_state").removeprefix(".") or path
    told = f" <small>{html.escape(what)}</small>" * bool(what)
    return (
        f'<tr class="hs-history-{_kind(key, last)}"><th scope=row><code>{html.escape(name)}</code>'
        f"{told}</th>"
        f"<td>{_value(last)} <small>{_change(last)}</small></td><td>{_curve(series)}</td></tr>"
    )


def _curve(series: Sequence[LeafSummary | None]) -> str:
    """Draw a leaf over all records, in columns of as many records as there have to be."""
    size = -(-len(series) // WIDTH)
    columns = [
        [summary for summary in series[start : start + size] if summary is not None]
        for start in range(0, len(series), size)
    ]
    numbers = [e for s in itertools.chain(*columns) for e in (s.min, s.max)]
    edges = [edge for edge in numbers if edge is not None and math.isfinite(edge)]
    low, high = min(edges, default=0.0), max(edges, default=0.0)
    scale = (HEIGHT - 12) / (high - low) if 0 < high - low < math.inf else 0.0
    across = WIDTH / max(len(columns) - 1, 1)

    def points(of: str, pick: Any) -> list[tuple[int, int] | None]:
        found = []
        for index, column in enumerate(columns):
            values = [v for s in column if _is_number(v := getattr(s, of))]
            y = round(HEIGHT - 8 - (pick(values) - low) * scale) if values else 0
            found.append((round(index * across), y) if values else None)
        return found

    bottom, top = points("min", min), points("max", max)
    middle = points("mean", lambda values: sum(values) / len(values))
    band = "".join(
        f"M{_line([*(p for p in upper if p), *(p for p in reversed(lower) if p)])}z"
        for upper, lower in zip(_runs(top), _runs(bottom), strict=True)
    )
    mean = "".join(f"M{_line([p for p in run if p])}" for run in _runs(middle))

    def marked(y: int, is_marked: Any) -> str:
        marks = [
            (round(i * across), y) if any(map(is_marked, c)) else None
            for i, c in enumerate(columns)
        ]
        return "".join(f"M{run[0][0] - 1} {y}h{run[-1][0] - run[0][0] + 2}" for run in _runs(marks))

    changes = sum(bool(s.changed) for s in itertools.chain(*columns))
    label = _both("ticks", changes=changes, count=len(series))
    if edges:
        label = f"{_both('range', low=f'{low:.3g}', high=f'{high:.3g}')}, {label}"
    changed, bad = marked(HEIGHT - 3, lambda s: s.changed), marked(0, lambda s: s.nan or s.inf)
    paths = (("band", band), ("mean", mean), ("changed", changed), ("bad", bad))
    drawn = "".join(f'<path class="{name}" d="{path}"/>' for name, path in paths if path)
    return (
        f'<svg viewBox="-1 -1 {WIDTH + 2} {HEIGHT + 2}" aria-hidden="true">{drawn}</svg>'
        f"<small>{label}</small>"
    )


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _runs(points: Sequence[tuple[int, int] | None]) -> Iterator[list[tuple[int, int]]]:
    """Yield the parts between gaps."""
    for is_there, run in itertools.groupby(points, lambda point: point is not None):
        if is_there:
            yield list(run)  # type: ignore[arg-type]


def _line(points: Sequence[tuple[int, int]]) -> str:
    """Write a line as its first point and the steps from one point to the next."""
    steps = (f"{x - left} {y - above}" for (left, above), (x, y) in itertools.pairwise(points))
    text = f"{points[0][0]} {points[0][1]}l{' '.join(steps) or '0 0'}"
    return text.replace(" -", "-")


def _kind(key: tuple[Any, ...], summary: LeafSummary) -> str:
    first = getattr(key[0], "name", getattr(key[0], "key", key[0])) if key else ""
    if first in KINDS:
        return str(first)
    return "rng" if summary.dtype.startswith("key<") else "other"


def _type(summary: LeafSummary) -> str:
    return summary.dtype + (f"[{','.join(map(str, summary.shape))}]" if summary.shape else "")


def _number(value: Any) -> str:
    if isinstance(value, complex):
        return f"{value:.4g}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(summary: LeafSummary) -> str:
    if summary.dtype == "None":
        return "None"
    if summary.values is not None:
        return html.escape(" ".join(map(_number, summary.values))) or _both("blank")
    parts = [
        f"{_both(name)} {value:.4g}"
        for name in ("mean", "std", "min", "max")
        if _is_number(value := getattr(summary, name))
    ]
    counts = (("NaN", summary.nan), ("Inf", summary.inf))
    return ", ".join(parts + [f"{name} {count}" for name, count in counts if count])


def _change(summary: LeafSummary) -> str:
    if summary.changed is None:
        return _both("first")
    if not summary.changed:
        return _both("unchanged")
    is_told = _is_number(summary.change) and summary.change
    return _both("moved", norm=f"{summary.change:.4g}") if is_told else _both("changed")


def _both(name: str, **values: Any) -> str:
    """Write a label in every language; the style sheet shows that of the page."""
    texts = {
        each.tag: html.escape(translated(LABELS[name], each.code).format(**values))
        for each in languages().values()
    }
    if len({*texts.values()}) == 1:
        return next(iter(texts.values()))
    spans = "".join(f'<span lang="{tag}">{text}</span>' for tag, text in texts.items())
    return f'<span class="hs-history-texts">{spans}</span>'
