"""The subsections of a section as tabs.

```{tabs}
```

turns the subsections that follow into tabs of sphinx-design, whose own directives cannot hold a
cell: MyST-NB executes cells at the top level of a page. A tab keeps the anchor of its section.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx_design.shared import create_component


class TabsHere(nodes.Element):
    """The place of the tabs, before the subsections."""


class Tabs(SphinxDirective):
    """Marks the place."""

    def run(self) -> list[nodes.Node]:
        """Return the mark."""
        return [TabsHere()]


class SectionTabs(SphinxTransform):
    """Move the subsections into tabs, after their titles were translated."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        """Replace each mark, and the subsections after it."""
        for here in list(self.document.findall(TabsHere)):
            parent = here.parent
            after = parent.children[parent.index(here) + 1 :]
            sections = [node for node in after if isinstance(node, nodes.section)]
            for section in sections:
                parent.remove(section)
            tabs = [_tab(section) for section in sections]
            here.replace_self(create_component("tab-set", ["sd-tab-set"], children=tabs))


def _tab(section: nodes.section) -> nodes.container:
    title, *body = section.children
    label = nodes.rubric(title.astext(), "", *title.children, classes=["sd-tab-label"])
    label.source, label.line = title.source, title.line  # without them it is not extracted
    content = create_component("tab-content", ["sd-tab-content"], children=body)
    content["ids"] = section["ids"]
    return create_component("tab-item", ["sd-tab-item"], children=[label, content])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the transform."""
    app.add_directive("tabs", Tabs)
    app.add_transform(SectionTabs)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
