"""Run what measures, draws or writes something; without a name, list it.

python tests/tools
python tests/tools NAME [ARGUMENTS]     such as search.evaluate --held-back
"""

import ast
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# not this folder, so that an installed haiku_state is run, never the one of this checkout
sys.path[:1] = [str(HERE.parent), str(HERE.parents[1] / "conf/sphinx")]


def listed() -> dict[str, str]:
    """Return the first line of each tool by its name."""
    files = {file: file.read_text(encoding="utf-8") for file in sorted(HERE.rglob("*.py"))}
    return {
        ".".join(file.relative_to(HERE).with_suffix("").parts): ast.get_docstring(
            ast.parse(text)
        ).splitlines()[0]
        for file, text in files.items()
        if '\nif __name__ == "__main__":' in text and file != Path(__file__).resolve()
    }


if __name__ == "__main__":
    if len(sys.argv) == 1:
        for name, line in listed().items():
            print(f"{name:24} {line}")
    elif sys.argv[1] not in listed():
        sys.exit(f"{sys.argv[1]} is none of: {', '.join(listed())}")
    else:
        runpy.run_module(f"tools.{sys.argv.pop(1)}", run_name="__main__", alter_sys=True)
