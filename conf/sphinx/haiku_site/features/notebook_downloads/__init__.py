"""Notebooks to download: ``{notebooks} state`` offers those of one part, ``{notebooks}`` all."""

from pathlib import Path
from typing import Any

from docutils import nodes
from haiku_site import features
from haiku_site.course import parts
from haiku_site.features.install import link_to_wheel, requirement
from haiku_site.notebooks.write import archive, download
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective


class Notebooks(SphinxDirective):
    """How to run the lessons of a part, or all, and their downloads."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the commands, and the links."""
        language = str(self.config.language)
        [part] = self.arguments or [""]
        if part and part not in [Path(name).parent.name for name in parts(Path(self.env.srcdir))]:
            raise self.error(f"there is no part {part}")
        options = f" --part {part}" * bool(part) + f" --lang {language}" * (language != "en")
        wanted = requirement(self.config, "lab")
        commands = f"$ python -m pip install {wanted}\n$ python -m haiku_state lab{options}"
        texts = {"": _("all lessons")} | ({part: _("this part")} if part else {})
        links: list[nodes.Node] = [nodes.Text(_("Or download them as notebooks: "))]
        for name in sorted(texts, reverse=True):
            links += [download(self.env.docname, archive(language, name), texts[name])]
            links += [nodes.Text(" · ")]
        return [
            nodes.paragraph("", _("Run the lessons in JupyterLab:"), translatable=False),
            *link_to_wheel(self.config, self.env.docname),
            nodes.literal_block("", commands, language="console", translatable=False),
            nodes.paragraph("", "", *links[:-1], translatable=False),
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("notebooks", Notebooks)
    return features.add(app, __file__)
