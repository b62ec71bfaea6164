"""Follow the advice of an error: put its right line into the program that raised it, and run again.

In a wrong line, ``…`` stands for what the program has there, and in the right line for the same.
Each place in the package that makes a right line is a *site*; a program runs with a trace that sees
which sites it reached.

python tests/errors/followed.py

runs the program that it reads from its input, for programs that need a process of their own.
"""

import ast
import functools
import importlib.util
import json
import linecache
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(importlib.util.find_spec("haiku_state").origin).parent
SHELL = "#!/bin/sh\n"
"""How a program begins that a shell runs; ``python`` in it runs what it reads from its input."""


class Site(NamedTuple):
    """A statement that makes a right line."""

    file: str
    first: int
    last: int


class Outcome(NamedTuple):
    """What became of a program."""

    answer: Any = None
    wrong: str = ""
    right: str = ""
    sites: tuple[str, ...] = ()


@functools.cache
def sites() -> dict[str, Site]:
    """Return the places in the package that make a right line, by name.

    A name is that of the module and the function, with a number if there are several in it.
    """
    found: dict[str, Site] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if "exercises" not in path.parts:  # there a line is a command or a file
            found |= _sites_of(path)
    return found


def _sites_of(path: Path) -> dict[str, Site]:
    text = path.read_text()
    if "rror" not in text or path.name in ("base.py", "language.py"):
        return {}
    tree, found, named = ast.parse(text), {}, {}
    for owner, node in _owned(tree, ""):
        if _makes_line(node, path):
            named.setdefault(owner, []).append(node)
    for owner, nodes in named.items():
        for i, node in enumerate(sorted(nodes, key=lambda node: node.lineno), 1):
            name = f"{path.stem}.{owner}" + (f" {i}" if len(nodes) > 1 else "")
            found[name] = Site(str(path), node.lineno, node.end_lineno)
    return found


def _owned(node: ast.AST, owner: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes of a tree, each with the class or outermost function that it is in."""
    for child in ast.iter_child_nodes(node):
        is_class, in_function = isinstance(child, ast.ClassDef), owner and not owner[0].isupper()
        is_named = is_class or (isinstance(child, ast.FunctionDef) and not in_function)
        inner = child.name if is_named else owner
        yield inner, child
        yield from _owned(child, inner)


def _makes_line(node: ast.AST, path: Path) -> bool:
    match node:
        case ast.keyword(arg="right", value=value):
            return _is_line(value)
        case ast.Assign(targets=[ast.Name(id="right")]):
            return path.parent.name == "errors" and _is_line(node.value)
        case ast.Assign(targets=[ast.Tuple(elts=names)]) if path.parent.name == "errors":
            values = getattr(node.value, "elts", [node.value] * len(names))
            pairs = zip(_targets(node), values, strict=True)
            return any(name == "right" and _is_line(value) for name, value in pairs)
        case ast.Dict(keys=keys):
            values = [v for k, v in zip(keys, node.values, strict=True) if _is_right(k)]
            return any(map(_is_line, values))
    return False


def _is_line(value: ast.AST) -> bool:
    """Return whether an expression makes a line, and does not only pass it on or leave it out."""
    if isinstance(value, ast.Constant):
        return bool(value.value)
    return not isinstance(value, ast.Attribute | ast.Subscript | ast.Name | ast.pattern)


def _is_right(key: ast.AST | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "right"


def _targets(node: ast.Assign) -> list[str]:
    walked = (each for target in node.targets for each in ast.walk(target))
    return [each.id for each in walked if isinstance(each, ast.Name)]


def run(source: str) -> Outcome:
    """Run a program that ends by setting ``answer``; if an error ends it, return its lines."""
    if source.startswith(SHELL):
        return _in_shell(source)
    from haiku_state.errors import HaikuStateError

    file, reached = f"<program {abs(hash(source))}>", set()
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    code, names = compile(source, file, "exec"), _names()
    files = {site.file for site in sites().values()}

    def in_lines(frame: Any, event: str, _arg: Any) -> Any:
        reached.add((frame.f_code.co_filename, frame.f_lineno))
        return in_lines

    def in_calls(frame: Any, event: str, _arg: Any) -> Any:
        return in_lines if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(in_calls)
    try:
        exec(code, names)
    except HaikuStateError as error:
        return _lines_of(error, reached)
    finally:
        sys.settrace(before)
    return Outcome(names["answer"])


def _names() -> dict[str, Any]:
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    import haiku_state as hs

    public = {name: getattr(hs, name) for name in dir(hs) if name[0] != "_"}
    modules = {"hk": hk, "hs": hs, "jax": jax, "jnp": jnp, "np": np, "optax": optax}
    x = np.float32([[0.5, 1.0, 3.0], [1.5, 1.0, 5.0], [2.5, 1.0, 1.0], [3.5, 5.0, 3.0]])
    return {"__name__": "program", "functools": functools, "X": x, **public, **modules}


def _lines_of(error: Any, reached: set[tuple[str, int]]) -> Outcome:
    found = {
        name
        for name, site in sites().items()
        if any((site.file, line) in reached for line in range(site.first, site.last + 1))
    }
    lines = re.search(r"\n  wrong: (.*)\n  right: (.*)\n", str(error))
    assert lines, f"this error has no right line:\n{error}"
    return Outcome(None, *lines.groups(), tuple(sorted(found)))


def _in_shell(source: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        python, said = Path(folder, "python"), Path(folder, "said")
        python.write_text(f'{SHELL}exec "{sys.executable}" "{__file__}" "{said}"\n')
        python.chmod(0o755)
        kept = {
            name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "NPROC")
        }
        path = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(PACKAGE.parent)}
        ran = subprocess.run(
            ["/bin/sh", "-c", source], env=kept | path, capture_output=True, text=True, timeout=300
        )
        assert said.exists(), ran.stdout + ran.stderr
        return Outcome(*json.loads(said.read_text()))


def applied(source: str, wrong: str, right: str) -> str:
    """Return a program with the right line in the place of the wrong line."""
    pieces = [re.escape(piece).replace(r"\ ", r"\s+") for piece in wrong.split("…")]
    for found in re.compile(pieces[0]).finditer(source):
        end, values = found.end(), []
        for piece in pieces[1:]:
            end, value = _matched(source, end, piece)
            values.append(value)
        if None not in values:
            break
    else:
        raise AssertionError(f"the program has no line {wrong!r}:\n{source}")
    first, *others = right.split("…")
    new = first + "".join(map("".join, zip(values, others, strict=False)))
    assert len(values) >= len(others)
    return source[: found.start()] + new + source[end:]


def _matched(source: str, start: int, piece: str) -> tuple[int, str | None]:
    """Return where a piece ends that follows a whole expression, and that expression."""
    for found in re.compile(piece or r"(?=\n|$)").finditer(source, start):
        value = source[start : found.start()]
        if "\n" in value:
            break
        if all(value.count(a) == value.count(b) for a, b in ("()", "[]", "{}")):
            return found.end(), value
    return start, None


def followed(source: str, mistakes: int = 2) -> tuple[Any, set[str], str]:
    """Run a program, correct it as its errors say, and return its answer.

    Args:
      source: the program.
      mistakes: how many it may have, such as one in ``init`` and one in ``apply``.

    Returns:
      The answer of the corrected program, the sites of all lines that were followed, and the
      corrected program.
    """
    reached: set[str] = set()
    for _ in range(mistakes + 1):
        outcome = run(source)
        if not outcome.right:
            return outcome.answer, reached, source
        reached |= set(outcome.sites)
        source = applied(source, outcome.wrong, outcome.right)
    raise AssertionError(f"the corrected program still fails:\n{source}")


if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    ended = run(sys.stdin.read())
    Path(sys.argv[1]).write_text(json.dumps(ended, default=lambda array: array.tolist()))
