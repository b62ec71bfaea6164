"""Count the lines of code of each room: blank lines, comments and docstrings are left out.

python tests/tools code_lines [--files] [FOLDER]

The lines are split into what computes, what guards it, and what words an error has: a guard is an
``if`` that only raises, a handler that raises, or a ``with`` that names errors.
"""

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

from tools import ROOT

PACKAGE = ROOT / "haiku_state"
KINDS = ("algorithm", "guard", "text")
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def lines_of(*nodes: ast.AST) -> set[int]:
    """Return the numbers of the lines that nodes of the syntax tree span."""
    return {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}


def split(source: str) -> Counter[str]:
    """Count the lines of a file by their kind."""
    tree, code = ast.parse(source), set[int]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    text, guard = set[int](), set[int]()
    for node in ast.walk(tree):
        match node:
            # a string that stands alone documents a module, a class, a function or a field
            case ast.Expr(value=ast.Constant(value=str())):
                code -= lines_of(node)
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith(("TEXT_", "MORE")):
                text |= lines_of(node)
            case ast.Call(func=ast.Name(id="_")):
                text |= lines_of(node)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
                name.endswith("Error") and node.end_lineno > node.lineno
            ):
                text |= lines_of(node)
            case ast.Raise() | ast.If(body=[ast.Raise()], orelse=[]):
                guard |= lines_of(node)
            case ast.ExceptHandler(body=[*_, ast.Raise()]):
                guard |= lines_of(node)
            case ast.With(items=[*items]) if any("error" in ast.unparse(item) for item in items):
                guard |= lines_of(*(item.context_expr for item in items))
    return Counter(
        text=len(code & text), guard=len(code & guard - text), algorithm=len(code - guard - text)
    )


def code_lines(source: str) -> int:
    """Count the lines that hold code."""
    return split(source).total()


def by_room(package: Path = PACKAGE, files: bool = False) -> dict[str, Counter[str]]:
    """Count the lines of each room by kind, or of each file."""
    counts: dict[str, Counter[str]] = {}
    for path in sorted(package.rglob("*.py")):
        inner = path.relative_to(package)
        room = str(inner) if files or len(inner.parts) == 1 else f"{inner.parts[0]}/"
        counts.setdefault(room, Counter()).update(split(path.read_text(encoding="utf-8")))
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=PACKAGE)
    parser.add_argument("--files", action="store_true", help="count each file")
    args = parser.parse_args()
    counts = by_room(args.folder, args.files)
    row = "{:>8}" + 3 * "{:>10}" + "  {}"
    print(row.format("lines", *KINDS, ""))
    for room, count in {**counts, "in all": sum(counts.values(), Counter())}.items():
        print(row.format(count.total(), *(count[kind] for kind in KINDS), room))
