"""What a reader installs: the commands for each system, and those of an extra.

Once ``haiku_state_published`` is true in ``conf.py``, the lines name the package, which ``pip``
finds in its index. Until then they name the wheel that lies in the site: by its address where the
site has one, else by its file, to which there is a link.
"""

from typing import Any

from docutils import nodes
from haiku_site import compat, features
from haiku_site.finish.metadata import address
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from haiku_state.commands.doctor.versions import CORE, PLUGINS, Sets, read_sets

CUDA = next(iter(PLUGINS.values()))
SYSTEMS = {
    "Linux": ("python3 -m venv env", "source env/bin/activate", ""),
    "Linux, GPU": ("python3 -m venv env", "source env/bin/activate", f"[{CUDA}]"),
    "macOS": ("python3 -m venv env", "source env/bin/activate", ""),
    "Windows": ("py -m venv env", r"env\Scripts\activate", ""),
}
"""How each system makes and enters an environment, and which extra JAX needs there."""


class Install(SphinxDirective):
    """For each system and each Python, the commands that install a set that was tested."""

    def run(self) -> list[nodes.Node]:
        """Make the tabs, below a link to the wheel if they need it."""
        newest, systems = newest_sets(read_sets()), {}
        for system, (make, enter, extra) in SYSTEMS.items():
            by_python = {}
            for pythons, pins in newest:
                lines = [make, enter, install_line(requirement(self.config), pins, extra)]
                code = nodes.literal_block("", "\n".join(lines), language="text")
                by_python[f"Python {', '.join(pythons)}"] = code
            systems[system] = _tabs(by_python)
        return [*link_to_wheel(self.config, self.env.docname), _tabs(systems, "hs-install")]


class InstallExtra(SphinxDirective):
    """The command that installs an extra, and below it the commands of the content."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make one block of all commands, below a link to the wheel if they need it."""
        line = f"python -m pip install {requirement(self.config, self.arguments[0])}"
        code = "\n".join(f"$ {command}" for command in (line, *self.content))
        block = nodes.literal_block("", code, language="console", translatable=False)
        return [*link_to_wheel(self.config, self.env.docname), block]


def _tabs(contents: dict[str, nodes.Node], *classes: str) -> nodes.Node:
    """Return a tab for each name."""
    items = []
    for name, content in contents.items():
        label = nodes.rubric(name, name, classes=["sd-tab-label"], translatable=False)
        inside = compat.create_component("tab-content", ["sd-tab-content"], children=[content])
        item = compat.create_component("tab-item", ["sd-tab-item"], children=[label, inside])
        item["selected"] = not items
        items.append(item)
    return compat.create_component("tab-set", ["sd-tab-set", *classes], children=items)


def wheel(config: Config) -> str:
    """Return the name of the wheel that is built with the site."""
    return f"haiku_state-{config.release}-py3-none-any.whl"


def requirement(config: Config, extra: str = "") -> str:
    """Return what ``pip install`` needs, as a shell has to read it."""
    extras = f"[{extra}]" if extra else ""
    if config.haiku_state_published:
        return f'"haiku-state{extras}"' if extras else "haiku-state"
    if address():
        return f'"haiku-state{extras} @ {address()}{wheel(config)}"'
    return f'"./{wheel(config)}{extras}"'


def link_to_wheel(config: Config, docname: str) -> list[nodes.Node]:
    """Return a paragraph with a link to the wheel, if the lines of a page name its file."""
    if config.haiku_state_published or address():
        return []
    name = wheel(config)
    link = f'<a href="{"../" * docname.count("/")}../{name}" download>{name}</a>'
    text = _("Download {wheel}, and run these lines in the folder where it is:")
    before, after = text.split("{wheel}")
    parts = nodes.Text(before), nodes.raw("", link, format="html"), nodes.Text(after)
    return [nodes.paragraph("", "", *parts, translatable=False)]


def newest_sets(sets: Sets) -> list[tuple[list[str], dict[str, str]]]:
    """Return the newest pins of each Python, those of the same JAX together, the newest first."""
    newest: dict[str, tuple[list[str], dict[str, str]]] = {}
    for python in sorted({python for pins in sets.values() for python in pins}, key=_numbers):
        name = [name for name, pins in sets.items() if python in pins][-1]
        newest.setdefault(name, ([], sets[name][python]))[0].append(python)
    return list(newest.values())[::-1]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def install_line(package: str, pins: dict[str, str], extra: str = "") -> str:
    """Return the command that installs the package with the core of a tested set."""
    core = [f"{name}=={pins[name]}" for name in CORE]
    if extra:  # which some shells would take for a pattern
        core[0] = f'"jax{extra}=={pins["jax"]}"'
    return " ".join(["python -m pip install", package, *core])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, and the setting that says that a release is published."""
    app.add_config_value("haiku_state_published", False, "env", bool)
    app.add_directive("install", Install)
    app.add_directive("install-extra", InstallExtra)
    return features.add(app, __file__)
