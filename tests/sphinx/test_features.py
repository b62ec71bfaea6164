"""A feature is one folder: what lies in it is loaded without being named elsewhere."""

from haiku_site import SPHINX, features

CONF = f"""
import sys
sys.path[:0] = [{str(SPHINX)!r}, "."]
extensions = ["shout"]
html_additional_pages = {{"extra": "loud.html"}}
html_static_path = ["static"]
html_css_files = ["site.css"]
"""
SETUP = """
from haiku_site import features

def setup(app):
    return features.add(app, __file__, 'class="loud')
"""


def test_features__every_directive_is_of_one():
    site = features.FOLDER.parent
    files = [file for file in site.rglob("*.py") if ".add_directive(" in file.read_text()]
    assert {file.relative_to(site).parts[0] for file in files} == {"features"}


def test_features__a_page_loads_what_lies_in_the_folder_of_one(user):
    written = {
        "conf.py": CONF,
        "static/site.css": "p {}",
        "shout/__init__.py": SETUP,
        "shout/shout.js": "shout()",
        "shout/shout.css": "p { color: red }",
        "shout/loud.html": "a template",
        "index.rst": "Page\n====\n\n.. rst-class:: loud\n\nText.\n",
        "plain.rst": ":orphan:\n\nPlain\n=====\n",
    }
    for name, text in written.items():
        (user.folder / name).parent.mkdir(exist_ok=True)
        (user.folder / name).write_text(text)
    built = user.python("-m", "sphinx", "-W", "-q", ".", "out")
    assert built.returncode == 0, built.stderr
    out = user.folder / "out"
    names = "index", "plain", "extra"
    page, plain, extra = ((out / f"{name}.html").read_text() for name in names)
    assert 'defer="defer" src="_static/shout.js' in page
    assert "shout.js" not in plain
    for text in (page, plain):
        assert text.index("site.css") < text.index("shout.css")
    assert extra == "a template"
    assert {file.name for file in (out / "_static").glob("shout*")} == {"shout.css", "shout.js"}
