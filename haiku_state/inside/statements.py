"""The statement of a line, as a syntax tree, and what is looked for and replaced in it."""

import ast
import copy
import io
import linecache
import re
import tokenize
from collections.abc import Iterator
from typing import Any

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Expr, ast.Return)
LOOPS = (ast.For, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
PLACES = (ast.Name, ast.Attribute, ast.Subscript)


_PARSED: dict[str, tuple[list[str], ast.Module]] = {}


def parsed(file: str) -> ast.Module:
    """Return the syntax tree of a file, or of a notebook's cell; an empty one if there is none."""
    lines = linecache.getlines(file)
    known, tree = _PARSED.get(file, (None, ast.Module([], [])))
    if known is not lines:  # the text has changed, as a notebook's may
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError):
            tree = ast.Module([], [])
        _PARSED[file] = lines, tree
    return tree


def statements(file: str, line: int) -> list[tuple[ast.stmt, ast.AST]]:
    """Return the statements of a line, the innermost first, each with the function around it.

    Args:
      file: a file, or the name of a notebook's cell.
      line: the line, counted from 1.

    Returns:
      The statements, without definitions; nothing if the source cannot be read. Outside of any
      function, the second of each pair is the statement itself.

    Example:
      >>> from haiku_state.inside.statements import statements
      >>> statements("missing.py", 1)
      []

    References:
      Python's documentation of ``ast`` and ``linecache``.
    """
    return [
        (one, function)
        for top in parsed(file).body
        if top.lineno <= line <= (top.end_lineno or top.lineno)
        for one, function in _all_statements(ast.Module([top], []))
        if one.lineno <= line <= (one.end_lineno or one.lineno)
    ]


def _all_statements(node: ast.AST, function: ast.AST | None = None) -> Iterator[Any]:
    """Yield the statements in a node, inner ones first, each with the function around it."""
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, DEFINITIONS[:2])
        yield from _all_statements(child, child if is_function else function)
        if isinstance(child, ast.stmt) and not isinstance(child, DEFINITIONS):
            yield child, function or child


def header(statement: ast.AST) -> str:
    """Write a statement; of one with a body, its first line and ``...``."""
    if hasattr(statement, "body") and isinstance(statement, ast.stmt):
        statement = copy.copy(statement)
        statement.body = [ast.Expr(ast.Constant(...))]  # type: ignore[attr-defined]
        if hasattr(statement, "orelse"):
            statement.orelse = []
    return ast.unparse(ast.fix_missing_locations(statement))


def spelling(node: ast.AST) -> str:
    """Write a node as code; ``getattr(a, "n", 0)`` and ``d.get("k", 0)`` as what they read."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
            return f"{ast.unparse(owner)}.{name}"
        case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[key, *_]):
            return f"{ast.unparse(owner)}[{ast.unparse(key)}]"
        case _:
            return ast.unparse(node)


def replaced(node: ast.AST, old: str, new: str, count: int = -1) -> ast.AST:
    """Return a copy in which the expressions that are spelled ``old`` are ``new``.

    An inner function whose argument hides the first name of ``old`` is left as it is.
    """
    first = re.match(r"\w*", old)[0]  # type: ignore[index]

    class Replace(ast.NodeTransformer):
        left = count

        def visit(self, node: ast.AST) -> ast.AST:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and first in {
                one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)
            }:
                return node
            if self.left and isinstance(node, ast.expr) and spelling(node) == old:
                self.left -= 1
                written = ast.parse(new, mode="eval").body
                if hasattr(node, "ctx") and hasattr(written, "ctx"):
                    written.ctx = node.ctx
                return written
            return self.generic_visit(node)

    transformer = Replace()
    copied = copy.deepcopy(node)
    is_definition = isinstance(node, DEFINITIONS[:2])
    changed = transformer.generic_visit(copied) if is_definition else transformer.visit(copied)
    return ast.fix_missing_locations(changed)


def replaced_each(file: str, at: tuple[int, int], new: dict[str, str]) -> str:
    """Write the statement at a line and a column, with one expression after the other replaced."""
    found = [
        one for one, _function in statements(file, at[0]) if (one.lineno, one.col_offset) == at
    ]
    changed: ast.AST = found[0]
    for old, text in new.items():
        changed = replaced(changed, old, text, count=1 if len(new) > 1 else -1)
    return header(changed)


class Rewritten(ast.NodeTransformer):
    """Puts code into the place of a statement, and what it needs into the function around it.

    Args:
      at: the line and the column of the statement.
      code: what is written there; of a statement with a body, its first line.
      old: what is replaced in the rest of the function.
      new: by what.
      before: what is done first in the function.
      output: what a returned expression is wrapped into, a template with ``{}``; "" for nothing.
      kept: the names of a closure that the first line of a function has to mention, by that line.
    """

    def __init__(
        self, at: tuple[int, int], code: str, old: str = "", new: str = "", before: str = "",
        output: str = "", kept: tuple[int, tuple[str, ...]] = (0, ()),
    ) -> None:  # fmt: skip
        self.at, self.code, self.old, self.new = at, code, old, new
        self.before, self.output, self.kept = before, output, kept
        self._functions: list[ast.AST] = []
        self._around: Any = None

    def of(self, file: str) -> ast.Module:
        """Return the part of a file that holds the statement, changed."""
        top = next(
            one for one in parsed(file).body if one.lineno <= self.at[0] <= (one.end_lineno or 0)
        )
        tree = ast.Module([copy.deepcopy(top)], [])
        around = [f for one, f in _all_statements(tree) if (one.lineno, one.col_offset) == self.at]
        self._around = around[0]
        return ast.fix_missing_locations(self.visit(tree))

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, DEFINITIONS[:2]):
            return self._function(node)
        if isinstance(node, ast.stmt) and (node.lineno, node.col_offset) == self.at:
            return self._statement(node)
        is_own = bool(self._functions) and self._functions[-1] is self._around
        if is_own and isinstance(node, ast.Return) and self.output:
            value = ast.unparse(node.value) if node.value else "None"
            return ast.parse(f"return {self.output.format(value)}").body[0]
        if isinstance(node, (ast.Global, ast.Nonlocal)) and self._around in self._functions:
            node.names = [name for name in node.names if name != self.old]
            return node if node.names else ast.Pass()
        return self.generic_visit(node)

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        new = ast.parse(self.code).body or [ast.Pass()]
        if hasattr(node, "body"):
            (one,) = new
            one.body = [self.visit(child) for child in node.body]  # type: ignore[attr-defined]
            one.orelse = [self.visit(child) for child in getattr(node, "orelse", [])]  # type: ignore[attr-defined]
        for one in new:
            for part in ast.walk(one):
                if isinstance(part, (ast.expr, ast.stmt)) and not hasattr(node, "body"):
                    ast.copy_location(part, node)
        return new

    def _function(self, node: Any) -> Any:
        if node is self._around:
            if any(
                isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in ast.walk(node)
            ):
                raise ValueError(node.name)
            if self.old:
                node.body = [replaced(part, self.old, self.new) for part in node.body]
        self._functions.append(node)
        body = [self.visit(part) for part in node.body]
        self._functions.pop()
        node.body = [one for part in body for one in (part if isinstance(part, list) else [part])]
        if node is self._around:
            node.body[:0] = ast.parse(self.before).body
            if self.output:
                node.body += ast.parse(f"return {self.output.format(None)}").body
        first, names = self.kept
        if names and min([node.lineno, *(one.lineno for one in node.decorator_list)]) == first:
            node.body[:0] = ast.parse(f"if 0: ({', '.join(names)},)").body
        return node


def calls_of(statement: ast.AST, name: str) -> list[ast.expr]:
    """Return the calls of a function in a statement, or the expressions of that name.

    The function is found by its whole name, or else by the last part of it.
    """
    nodes = [node for node in _own_nodes(statement) if isinstance(node, ast.expr)]
    name = _normal(name)

    def names(node: ast.expr) -> str:
        return ast.unparse(node.func if isinstance(node, ast.Call) else node)

    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return (
        [node for node in calls if names(node) == name]
        or [node for node in nodes if ast.unparse(node) == name]
        or [node for node in calls if last_part(names(node)) == last_part(name)]
    )


def _own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """Walk through a statement in the order of its text, without the statements inside it."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt):
            yield child
            yield from _own_nodes(child)


def widened(statement: ast.AST, node: ast.expr, conversions: set[str]) -> ast.expr:
    """Return the largest part around a node that only converts it or takes something out of it."""
    for parent in ast.walk(statement):
        match parent:
            case ast.Attribute(value=inner) | ast.Call(func=inner) if inner is node:
                return widened(statement, parent, conversions)
            case ast.Subscript(value=inner, slice=ast.Constant()) if inner is node:
                return widened(statement, parent, conversions)
            case ast.BinOp(left=inner, right=ast.Constant()) if inner is node:
                return widened(statement, parent, conversions)
            case ast.Call(func=function, args=[inner, *_]) if inner is node:
                if ast.unparse(function) in conversions:
                    return widened(statement, parent, conversions)
    return node


def stored(statement: ast.AST, name: str) -> ast.expr | None:
    """Return what a statement stores in: the thing of that name, as the statement spells it."""
    found: list[ast.expr] = [
        node
        for node in _own_nodes(statement)
        if isinstance(node, PLACES) and isinstance(node.ctx, ast.Store)
    ]
    match statement:
        case ast.Expr(ast.Call(func=function, args=[owner, ast.Constant(value=str(key)), _])):
            if ast.unparse(function).endswith(("setattr", "__setattr__")):
                found.append(ast.Attribute(owner, key, ast.Store()))
    name = _normal(name)
    exact = [node for node in found if ast.unparse(node) == name]
    alike = [node for node in found if same_thing(ast.unparse(node), name)]
    return next(iter(exact + alike), None)


def assigned(statement: ast.stmt, old: str, new: str) -> str:
    """Write an assignment to ``old`` as one to ``new``; "" if the statement is none."""
    match statement:
        case ast.Expr(ast.Call(args=[_owner, _name, value])):
            return f"{new} = {ast.unparse(replaced(value, old, new))}"
        case ast.AugAssign(target=target, op=op, value=value) if ast.unparse(target) == old:
            now = ast.BinOp(ast.Name(new), op, replaced(value, old, new))  # type: ignore[arg-type]
            return f"{new} = {ast.unparse(now)}"
        case ast.Assign() | ast.AnnAssign(value=ast.expr()):
            return ast.unparse(replaced(statement, old, new))
        case _:
            return ""


def same_thing(text: str, name: str) -> bool:
    """Whether both name one thing: ``self.n`` is that which the caller calls ``counter.n``."""
    if text == name:
        return True
    return (
        ("." in text or "[" in text)
        and "." in name
        and text[-1] == name[-1]
        and (_after_owner(text) == _after_owner(name))
    )


def _after_owner(text: str) -> str:
    """Return the last attribute, with a key behind it."""
    before, bracket, key = text.partition("[")
    return before.rpartition(".")[2] + bracket + key


def last_part(text: str) -> str:
    """Return the name of an attribute or variable, or the word in a key, without underscores."""
    words = re.findall(r"\w+", text)
    return (words[-1].strip("_") or "value") if words else "value"


def base_of(name: str) -> str:
    """Return ``history`` of ``history[...]`` and ``cache`` of ``cache['k']``."""
    return re.sub(r"\[[^\[\]]*\]$", "", name)


def names_in(node: ast.AST) -> set[str]:
    """Return the names of variables and arguments."""
    variables = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return variables | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}


def local_names(function: ast.AST) -> set[str]:
    """Return the names of a function's arguments and of the variables that it assigns to."""
    arguments = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return arguments | set(stored_names(function))


def stored_names(node: ast.AST) -> list[str]:
    """Return the names of the variables that a piece of code assigns to."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


def double_quoted(code: str) -> str:
    """Put strings into double quotes, which ``ast.unparse`` does not."""
    lines = code.splitlines()
    tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    for token in reversed(tokens):
        if token.type == tokenize.STRING and re.fullmatch(r"'[^'\"\\]*'", token.string):
            (row, start), (_row, end) = token.start, token.end
            line = lines[row - 1]
            lines[row - 1] = f'{line[:start]}"{line[start + 1 : end - 1]}"{line[end:]}'
    return "\n".join(lines)


def _normal(name: str) -> str:
    """Write a name with the quotes and blanks that ``ast.unparse`` writes."""
    try:
        return ast.unparse(ast.parse(name, mode="eval"))
    except SyntaxError:
        return name
