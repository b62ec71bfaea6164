"""Count the lines of code of a package: blank lines, comments and docstrings are left out.

python tests/code_lines.py [FOLDER]

A second column counts those among them that only say what went wrong: the texts of error classes,
and the calls, of several lines each, that make an error.
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "haiku_state"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Count the lines that hold code."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        # a string that stands alone documents a module, a class, a function or a field
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                lines.difference_update(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def error_lines(source: str) -> int:
    """Count the lines that hold the texts of errors."""
    lines = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith(("TEXT_", "MORE")):
                lines.update(range(node.lineno, node.end_lineno + 1))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
                name.endswith("Error") and node.end_lineno > node.lineno
            ):
                lines.update(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def by_file(package: Path = PACKAGE) -> dict[Path, tuple[int, int]]:
    """Count for each file the lines of code, and those of errors among them."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    return {
        path.relative_to(package): (code_lines(source), error_lines(source))
        for path, source in sources.items()
    }


if __name__ == "__main__":
    counts = by_file(*map(Path, sys.argv[1:]))
    for path, (count, of_errors) in counts.items():
        print(f"{count:6}{of_errors:6}  {path}")
    print("{:6}{:6}  in all".format(*map(sum, zip(*counts.values(), strict=True))))
