"""Sphinx settings of all languages; ``build.py`` runs the builds in their order."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from haiku_site import ROOT, features
from haiku_site.execute.cache import cache_path
from haiku_site.finish.metadata import day_of
from haiku_site.translate.languages import sites

project = "haiku_state"
author = "haiku_state"
copyright = f"2026 {author}"
release = version = installed_version("haiku-state")
language = "en"

# the address of the repository, to which the footer links; where it is empty, there is no link
repository = ""
# whether `pip install haiku-state` finds a release; else the pages name the wheel in the site
haiku_state_published = False

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    "haiku_site.compat",
    "haiku_site.execute.figures",
    "haiku_site.translate.cells",
    "haiku_site.translate.lagging",
    "haiku_site.translate.languages",
    "haiku_site.translate.no_break",
    *(f"haiku_site.features.{name}" for name in features.NAMES),
    "haiku_site.notebooks.write",
    "haiku_site.finish.metadata",
    "haiku_site.progress",
]
templates_path = ["templates"]
exclude_patterns = ["locale", "drawings"]
nitpicky = True
# types of other libraries: the prose links to their pages, and the build needs no network
nitpick_ignore_regex = [
    ("py:class", r"(collections|haiku|jax|jaxlib|numpy|optax|os|pathlib|typing)\..+"),
    ("py:(class|obj)", r"haiku_state\.[\w.]+\.(Tree|T|R|F|Function|PureClass)"),
    ("py:class", "P"),
    ("py:class", r"jmp\..*"),
]

# one source, one execution
nb_execution_mode = "cache"
nb_execution_cache_path = str(cache_path(ROOT / "build/executed"))
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_mime_priority_overrides = [("gettext", "image/svg+xml", 10), ("gettext", "text/html", None)]

# several languages
locale_dirs = ["locale"]
gettext_allow_fuzzy_translations = True  # with --lagging; else the gate lets none pass
gettext_compact = False
gettext_uuid = False
gettext_location = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# the dash between a parameter and its description, in Chinese too
smartquotes_excludes = {"languages": [], "builders": ["man", "text"]}
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_math_renderer = "katex"
copybutton_selector = (
    "div.highlight:not(.cell_output *) pre"  # what a cell printed is not run again
)
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_title = "haiku_state"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "haiku_state"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button-field", "language-switcher"],
    "footer_start": ["copyright"],
    "footer_end": ["site-footer.html"],
    "article_footer_items": ["lesson-end.html"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto", "repository": repository, "site_day": day_of(ROOT)}
html_sidebars = {"**": ["sidebar-collapse.html", "course-nav.html"], "index": []}


def show_public_bases(app, name, obj, options, bases):
    """Show the bases of a private base in its place: it has no page to link to."""
    bases[:] = [
        public
        for base in bases
        for public in (base.__bases__ if base.__name__.startswith("_") else [base])
    ]


def setup(app):
    """Show public bases, and translate the theme options that are shown to the reader."""
    app.connect("autodoc-process-bases", show_public_bases)
    app.connect(
        "config-inited",
        lambda app, config: config.html_theme_options.update(
            search_bar_text=sites()[config.language].search_bar
        ),
    )
