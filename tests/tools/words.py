"""What the errors of the catalogue print, in each language, as one file that is read as a diff.

python tests/tools words --write

writes ``words.txt``, and without ``--write`` prints it. Other versions of JAX may say a few of the
values in another way, so the first line names the one that the file is of.
"""

import os
import sys
import tempfile

if __name__ == "__main__":  # before JAX starts
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"


import jax
from haiku_site.features.error_cards.calls import all_raised
from tools import ROOT

FILE = ROOT / "tests/errors/words.txt"


def head():
    """Return the first line of the file."""
    return f"JAX {'.'.join(jax.__version__.split('.')[:2])}"


def words(raised):
    """Return the whole file, from what each call has raised in each language."""
    parts = [head()]
    for title, by_language in raised:
        [kind] = {type(error).__name__ for error in by_language.values()}
        parts += ["", f"# {title or '…'}: {kind}", *map(str, by_language.values())]
    return "\n".join(parts).replace(f"{os.getcwd()}/", "") + "\n"


def main():
    """Run the calls in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        text = words(all_raised())
        os.chdir(FILE.parent)
    if "--write" in sys.argv:
        FILE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
