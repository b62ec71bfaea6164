"""Settings to choose, and what a program did for each choice: who holds what, and what is printed.

    ```{code-cell} ipython3
    :tags: [choices]
    for rate in (0.1, 1.0):
        with choice(rate=rate):
            print(train(rate))
    ```

The cell shows a line of JSON for each choice (see ``kernel.py``). Its code is
not shown. A reader sees one choice at a time, which ``choices.js`` finds; without scripts
the first is shown, and the others are folded.
"""

import html
import json
from typing import Any

from docutils import nodes
from haiku_site import compat, features
from haiku_site.features.outputs import printed
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.transforms import SphinxTransform

SIZE = 40
"""The width of a drawn array, in pixels."""

HATCH = """\
<svg width="0" height="0" aria-hidden="true"><pattern id="hs-hatch" width="6" height="6" \
patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M1.5 0V6"/></pattern></svg>
"""


class ChoiceError(ExtensionError):
    """The choices do not hold: not all of them have the same settings, or two are equal."""


class MakeChoices(SphinxTransform):
    """Make radio buttons of the settings, after what cells print is in one piece."""

    default_priority = 295

    def apply(self, **kwargs: Any) -> None:
        """Replace each cell by its choices."""
        for cell in list(compat.parts_of_cells(self.document, "cell_code")):
            if "choices" in compat.tags(cell):
                options = [json.loads(line) for line in printed(cell).splitlines()]
                name = f"choices-{compat.number(cell)}"
                cell.replace_self(nodes.raw("", HATCH + _choices(name, options), format="html"))


def _choices(name: str, options: list[dict[str, Any]]) -> str:
    """Return the radio buttons, and what is shown for each choice."""
    settings = list(options[0]["choice"]) if options else []
    if not settings or any(list(option["choice"]) != settings for option in options):
        raise ChoiceError(f"not all choices have the settings {settings}")
    if len({str(option["choice"]) for option in options}) < len(options):
        raise ChoiceError(f"two choices of {settings} are equal")
    for setting in list(settings):  # there is nothing to choose of what is always the same
        if len({option["choice"][setting] for option in options}) == 1:
            settings.remove(setting)
            for option in options:
                del option["choice"][setting]
    known = [list(option["choice"].values()) for option in options]
    fields = []
    for number, setting in enumerate(settings):
        values = list(dict.fromkeys(choice[number] for choice in known))
        buttons = "".join(
            f'<label><input type="radio" name="{name}-{number}" value="{html.escape(value)}"'
            f"{' checked' * (value == known[0][number])}><code>{html.escape(value)}</code></label>"
            for value in values
        )
        fields.append(f"<fieldset><legend><code>{setting}</code></legend>{buttons}</fieldset>")
    first, *others = map(_option, options)
    title = _("All {count} choices").format(count=len(options))
    folded = f"<details><summary>{html.escape(title)}</summary>{''.join(others)}</details>"
    return (
        f'<div class="hs-choices"><form hidden>{"".join(fields)}</form>'
        f'<div class="hs-options">{first}{folded}</div>'
        '<p class="visually-hidden" role="status"></p></div>'
    )


def _option(option: dict[str, Any]) -> str:
    names = "".join(
        f"<dt><code>{name}</code></dt><dd><code>{html.escape(value)}</code></dd>"
        for name, value in option["choice"].items()
    )
    shown = (
        _held(option["held"]) + _sent(option["sent"])
        if "held" in option
        else f"<pre>{html.escape(option['output'])}</pre>"
    )
    return f'<section class="hs-option"><dl>{names}</dl>{shown}</section>'


def _held(held: dict[str, list[list[list[int]]]]) -> str:
    """Return a table of what each device holds of each array, drawn and as a slice."""
    count = len(next(iter(held.values())))
    heads = "".join(f'<th scope="col">{number}</th>' for number in range(count))
    rows = [f'<tr><th scope="row">{html.escape(_("device"))}</th>{heads}</tr>']
    for name, parts in held.items():
        cells = []
        for part in parts:
            copies = parts.count(part)
            slices = ", ".join(
                f"{begin}:{end}" if end - begin < size else ":" for begin, end, size in part
            )
            note = f"<small>× {copies}</small>" if copies > 1 else ""
            cells.append(f"<td>{_drawn(part, copies)}<code>[{slices}]</code>{note}</td>")
        rows.append(f'<tr><th scope="row"><code>{name}</code></th>{"".join(cells)}</tr>')
    note = _("Hatched: a copy that several devices hold. Plain: a part that only one device holds.")
    return (
        f'<div class="hs-held"><table>{"".join(rows)}</table></div>'
        f"<p><small>{html.escape(note)}</small></p>"
    )


def _drawn(part: list[list[int]], copies: int) -> str:
    """Draw an array of one or two axes, and the part of it that a device holds."""
    (top, bottom, rows), (left, right, columns) = part if len(part) == 2 else [[0, 1, 4], *part]
    high, wide = SIZE // rows, SIZE // columns
    whole = high if len(part) == 1 else SIZE
    kind = "hs-copy" if copies > 1 else "hs-part"
    return (
        f'<svg aria-hidden="true" width="{SIZE + 2}" height="{whole + 2}" '
        f'viewBox="-1 -1 {SIZE + 2} {whole + 2}"><rect class="hs-whole" width="{SIZE}" '
        f'height="{whole}"/><rect class="{kind}" x="{left * wide}" y="{top * high}" '
        f'width="{(right - left) * wide}" height="{(bottom - top) * high}"/></svg>'
    )


def _sent(sent: list[list[str]]) -> str:
    """Return what the devices send each other in one step."""
    if not sent:
        return f"<p>{html.escape(_('The devices exchange no data in a step.'))}</p>"
    meant = {
        "all-reduce": _("each device gets the sum"),
        "all-gather": _("each device gets all parts"),
        "reduce-scatter": _("each device gets a part of the sum"),
        "all-to-all": _("each device sends a part to every other device"),
        "collective-permute": _("each device sends its part to one other device"),
    }
    items = "".join(
        f"<li><code>{kind}</code> {', '.join(f'<code>{array}</code>' for array in arrays)}"
        f"<br><small>{html.escape(meant[kind])}</small></li>"
        for kind, *arrays in sent
    )
    text = _("The devices exchange these arrays in a step:")
    return f"<p>{html.escape(text)}</p><ul>{items}</ul>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(MakeChoices)
    return features.add(app, __file__, 'class="hs-choices"')
