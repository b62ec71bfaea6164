"""How the line of a finding is written instead: with explicit state, and in Haiku.

Each kind of finding has a function here, which looks for what the finding names in one statement
and rewrites that statement. Where it does not find it, or where the source is not at hand, only
the advice in words remains.
"""

import ast
import contextlib
import dataclasses
import itertools
import json
import linecache
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from haiku_state.errors.language import deferred as _
from haiku_state.inside import statements as syntax
from haiku_state.inside.draws import NUMPY, PYTHON
from haiku_state.inside.statements import base_of, header, last_part, replaced

if TYPE_CHECKING:
    from haiku_state.inside.report import Finding

ADVICE = {
    "thread": _(
        "Take `{new}` as an argument, use it wherever `{name}` was used, and return its new value "
        "along with the output."
    ),
    "thread name": _(
        "Take `{new}` as an argument, delete the line that declares `{name}` as {form}, and return "
        "the new value along with the output."
    ),
    "return": _("Return `{new}` along with the output instead of storing it in `{name}`."),
    "item": _("Return `{new}` along with the output; the caller stores it after the call."),
    "copy": _("Take `{new}` as an argument, change a copy of it, and return the copy."),
    "default": _(
        "Change a copy: the default stays as it is, and each call starts from the same default. "
        "Return what the next call needs and pass it to that call."
    ),
    "array": _(
        "Take `{new}` as an argument and return the updated array along with the output: a JAX "
        "array cannot be changed in place."
    ),
    "outside": _("Do this outside the function."),
    "key": _(
        "Take a random key as the argument `key`; the caller passes a different key to each call."
    ),
    "key branch": _(
        "Take a random key as the argument `key`. The condition is then traced: choose with "
        "`jnp.where` or `jax.lax.cond` instead of `if`."
    ),
    "pass": _("Read it before the call and pass it as the argument `{new}`."),
    "pass many": _(
        "Read all values before the call, one for each iteration of the loop, and pass them as an "
        "array."
    ),
    "pass text": _(
        "Read it before the call and pass it as the argument `{new}`. Text cannot be traced: pass "
        "the numbers made from it, or make it a static argument."
    ),
    "pass time": _(
        "Read the clock before the call and pass the time as the argument `{new}`. Seconds since "
        "1970 are too large for float32: pass the seconds since the program started."
    ),
    "pass drawn": _(
        "Draw it before the call and pass it as the argument `{new}`, or draw it with "
        "`jax.random` from a key that is an argument."
    ),
    "print": _("`jax.debug.print` prints in every call and shows values instead of tracers."),
    "log": _("`jax.debug.callback` calls the function in every call, with values."),
    "write": _("Return what is to be written along with the output, and write it after the call."),
    "frozen": _("Take `{new}` as an argument: each call then uses the value that it is given."),
    "hk": _(
        "Inside a transformed function, use Haiku's version of the transformation, which carries "
        "the state through."
    ),
    "shape": _(
        "Keep one shape: pad the smaller input and pass a mask so that the padding does not count."
    ),
    "dtype": _("Convert the input to one dtype before the call."),
    "weak type": _("Convert it to an array before the call: an array has its own dtype."),
    "static value": _(
        "Pass it as an array if the function only computes with it. If shapes or branches depend "
        "on it, it must be static; then use only a few different values."
    ),
    "new function": _(
        "Define the function once, outside the loop, and pass the same object to each call."
    ),
    "structure": _(
        "Pass containers of the same type, with the same keys and lengths, to each call."
    ),
}

# what an argument is called that holds what was read outside, by the form of the finding
NEW_NAMES = {
    "clock": "now",
    "environment": "setting",
    "file": "content",
    "input": "answer",
    "iterator": "item",
    "random": "drawn",
}
NEW_EACH_TIME = ("clock", "input", "iterator", "random")
PASS_ADVICE = {
    "environment": "pass text",
    "file": "pass text",
    "input": "pass text",
    "random": "pass drawn",
}

# What turns a thing from outside into a number. It is done outside as well.
CONVERSIONS = {
    "bool", "complex", "float", "int", "len", "str", "json.load", "json.loads", "jnp.array",
    "jnp.asarray", "jnp.load", "np.array", "np.asarray", "np.float32", "np.load", "np.loadtxt",
}  # fmt: skip

AT_METHODS = {ast.Add: "add", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"}
HAIKU_VERSIONS = {"cond", "fori_loop", "map", "scan", "switch", "vmap", "while_loop"}
CODE = ("explicit", "haiku", "outside")
CONTAINERS = ("array", "container", "default", "dict key")
ADDING = ("add", "append", "appendleft", "extend")
ARRAY = re.compile(r"(?:a tracer )?(?:weak )?(bool|(?:u?int|b?float|complex)\d+)\[([\d, ]*)\]$")
NEUTRAL = {"loc": ("0", "0.0"), "scale": ("1", "1.0"), "size": ("None",)}
DTYPES = {bool: "jnp.bool_", int: "jnp.int32", float: "jnp.float32"}


@dataclass(frozen=True)
class Rewrite:
    """A line as it should be written. What does not apply is empty.

    Args:
      explicit: the line in a function that takes what it reads and returns what it changes.
      haiku: the line in a function for ``hk.transform_with_state``.
      outside: what the caller does, before or after the call.
      advice: what to do, in English, marked for translation, with placeholders.
      new: the name of the argument or of the result.
      how: what becomes of it: ``"state"``, an argument and a result; ``"copy"``, the same for a
        container; ``"result"``; ``"item"``, a result that the caller adds; ``"argument"``;
        ``"key"``; or ``"here"``, where the line is all.
      old: what the line calls it, or what it calls to get it.
      at: the line and the column of the statement.

    References:
      :class:`.Report`, which shows it.
    """

    explicit: str = ""
    haiku: str = ""
    outside: str = ""
    advice: str = ""
    new: str = ""
    how: str = "here"
    old: str = ""
    at: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class _Line:
    """A finding, one of the statements of its line, and the function around that."""

    finding: "Finding"
    statement: ast.stmt
    function: ast.AST

    def free(self, name: str, same_as: str = "") -> str:
        """Return the name, or a longer name if the function uses it for something else."""
        taken = syntax.names_in(self.function) - {same_as}
        return f"{name}_state" if same_as and name in taken else _numbered(name, taken)


def rewrite(finding: "Finding") -> Rewrite:
    """Write the line of a finding as it should be.

    Args:
      finding: what was found; its line is read from its file.

    Returns:
      The new line; the advice alone if the line cannot be read, or is written in a way that is
      not known here.

    Example:
      >>> from haiku_state.inside.report import Finding
      >>> from haiku_state.inside.rewrite import rewrite
      >>> rewrite(Finding("retrace", "x", "", 0, "dtype", "float32[3]", "int32[3]")).outside
      'x = jnp.asarray(x, jnp.float32)'

    References:
      `Stateful computations <https://docs.jax.dev/en/latest/101/state.html>`__.
    """
    if finding.kind == "retrace":
        return _retrace(finding)
    if finding.kind not in BY_KIND:
        return Rewrite()
    for statement, function in syntax.statements(finding.file, finding.line):
        found = None
        with contextlib.suppress(Exception):  # a line that is written in a way unheard of
            found = BY_KIND[finding.kind](_Line(finding, statement, function))
        if found is not None:
            code = {name: syntax.double_quoted(getattr(found, name)) for name in CODE}
            at = statement.lineno, statement.col_offset
            return dataclasses.replace(found, at=at, **code)
    return advice_alone(finding)


def in_words(new: Rewrite) -> Rewrite:
    """Return the advice of a rewrite without its code."""
    return Rewrite(advice=new.advice, new=new.new)


def advice_alone(finding: "Finding") -> Rewrite:
    """Return what to do about a finding, in words."""
    advice = "copy" if finding.form in CONTAINERS else WITHOUT_SOURCE[finding.kind]
    new = last_part(base_of(finding.name))
    if finding.kind == "hidden input":
        new = NEW_NAMES.get(finding.form, "value")
    return Rewrite(advice=ADVICE[advice], new=new)


# --- what a function changes ----------------------------------------------------------------------


def _mutation(line: _Line) -> Rewrite | None:
    match line.finding.form:
        case "default":
            return _changed_copy(line, "default")
        case "array":
            return _array(line) or _changed_copy(line, "copy")
        case "container" | "dict key":
            entry = syntax.stored(line.statement, line.finding.name)
            is_entry = (
                isinstance(entry, ast.Subscript) and last_part(ast.unparse(entry)).isidentifier()
            )
            is_number = _shape_and_dtype(line.finding, line.statement) is not None
            if line.finding.form == "dict key" and is_entry and is_number:
                return _threaded(line) or _changed_copy(line, "copy")
            return _moved_item(line) or _changed_copy(line, "copy")
        case _:
            return _threaded(line)


def _threaded(line: _Line) -> Rewrite | None:
    """``self.n += 1`` becomes ``n = n + 1``, with ``n`` an argument and a result."""
    target = syntax.stored(line.statement, line.finding.name)
    if target is None:
        return None
    old = ast.unparse(target)
    new = line.free(last_part(old), same_as=old)
    explicit = syntax.assigned(line.statement, old, new)
    is_declared = line.finding.form in ("global", "nonlocal")
    advice = ADVICE["thread name" if is_declared else "thread"]
    haiku = _state(line, old, new)
    return Rewrite(explicit, haiku, "", advice, new, "state", old) if explicit else None


def _state(line: _Line, old: str, new: str) -> str:
    """Write the statement with a state of Haiku in the place of ``old``; "" if it is no number."""
    finding, name = line.finding, last_part(old)
    kind = _shape_and_dtype(finding, line.statement)
    if kind is None:
        return ""
    start = _number(finding.before)
    init = f"hk.initializers.Constant({start!r})" if start else "jnp.zeros"
    if ARRAY.match(finding.before):  # only the old object knows the numbers in it
        init = f"lambda *_: jnp.asarray({old})"
        new = f"{new}_state" if new == old else new
    lines = [syntax.assigned(line.statement, old, new), f'hk.set_state("{name}", {new})']
    if _is_read(line, old):
        lines.insert(0, f'{new} = hk.get_state("{name}", {kind}, init={init})')
    return "\n".join(lines)


def _is_read(line: _Line, old: str) -> bool:
    """Whether the function reads the old value, in this statement or before it."""
    if isinstance(line.statement, ast.AugAssign):
        return True
    nodes = [n for n in ast.walk(line.function) if isinstance(n, ast.expr)]
    return any(
        syntax.spelling(node) == old and node.lineno <= (line.statement.end_lineno or 0)
        for node in nodes
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Store)
    )


def _array(line: _Line) -> Rewrite | None:
    """``arr[0] = v`` becomes ``arr = arr.at[0].set(v)``."""
    method = "set"
    match line.statement:
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target):
            whole = ast.unparse(target)  # `arr += v` changes the array of NumPy in place
            new = line.free(last_part(whole), same_as=whole)
            changed = syntax.assigned(line.statement, whole, new)
            return Rewrite(changed, "", "", ADVICE["array"], new, "state", whole)
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            pass
        case ast.AugAssign(target=ast.Subscript() as target, op=operator, value=value):
            if type(operator) in AT_METHODS:
                method = AT_METHODS[type(operator)]
            else:
                value = ast.BinOp(target, operator, value)
        case _:
            return None
    old = ast.unparse(target.value)
    if not syntax.same_thing(old, base_of(line.finding.name)):
        return None
    name = last_part(old)
    new = line.free(name, same_as=old)
    state = f"{new}_state" if new == old else new  # the old one is still read below

    def updated(new: str) -> str:
        index, given = (ast.unparse(replaced(node, old, new)) for node in (target.slice, value))
        return f"{new} = {new}.at[{index}].{method}({given})"

    haiku = (
        f'{state} = hk.get_state(\n    "{name}", {old}.shape, init=lambda *_: jnp.asarray({old})\n'
        f')\n{updated(state)}\nhk.set_state("{name}", {state})'
    )
    outside = f"{new} = jnp.asarray({old})"
    return Rewrite(updated(new), haiku, outside, ADVICE["array"], new, "state", old)


def _moved_item(line: _Line) -> Rewrite | None:
    """``history.append(v)`` becomes ``item = v``, and the caller appends it."""
    match line.statement:
        case ast.Expr(
            ast.Call(func=ast.Attribute(value=owner, attr=method), args=[value], keywords=[])
        ) if method in ADDING:
            new = line.free("items" if method == "extend" else "item")
            outside = f"{ast.unparse(owner)}.{method}({new})"
        case ast.AugAssign(target=owner, op=ast.Add(), value=ast.List() as value):
            new = line.free("items")
            outside = f"{ast.unparse(owner)} += {new}"
        case _:
            return None
    if not syntax.same_thing(ast.unparse(owner), base_of(line.finding.name)):
        return None
    return Rewrite(f"{new} = {ast.unparse(value)}", "", outside, ADVICE["item"], new, "item")


def _changed_copy(line: _Line, advice: str) -> Rewrite | None:
    """``cache["k"] = v`` changes a copy of ``cache``; in Haiku, the key is the name of a state."""
    name, statement = line.finding.name, line.statement
    places = [ast.unparse(n) for n in ast.walk(statement) if isinstance(n, syntax.PLACES)]
    old = next((text for text in places if syntax.same_thing(text, base_of(name))), None)
    if old is None or not isinstance(statement, syntax.SIMPLE):
        return None
    new = line.free(last_part(old), same_as=old)
    if isinstance(statement, ast.AugAssign) and ast.unparse(statement.target) == old:
        changed = syntax.assigned(statement, old, new)
        return Rewrite(changed, "", "", ADVICE[advice], new, "copy", old)
    explicit = f"{new} = {new}.copy()\n{ast.unparse(replaced(statement, old, new))}"
    return Rewrite(explicit, "", "", ADVICE[advice], new, "copy", old)


def _leak(line: _Line) -> Rewrite | None:
    """What is stored outside is returned; in Haiku, it is a state."""
    found = _haiku_version(line) or _moved_item(line)
    target = syntax.stored(line.statement, line.finding.name)
    if found or target is None:
        return found
    old = ast.unparse(target)
    name = last_part(old)
    if isinstance(target, ast.Subscript) and not name.isidentifier():
        name = "item"
    new = line.free(name, same_as=old)
    explicit = syntax.assigned(line.statement, old, new)
    if not explicit:
        return None
    if isinstance(target, ast.Subscript):
        return Rewrite(explicit, "", f"{old} = {new}", ADVICE["item"], new, "result")
    if _is_read(line, old):  # then it is needed as an argument, too
        return _threaded(line)
    haiku = f'{explicit}\nhk.set_state("{name}", {new})'
    return Rewrite(explicit, haiku, "", ADVICE["return"], new, "result", old)


def _haiku_version(line: _Line) -> Rewrite | None:
    """``jax.lax.scan`` becomes ``hk.scan``, where a module's state leaks out of it."""
    changed: ast.AST = line.statement
    for node in ast.walk(line.statement):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name) as function) if (
                name in HAIKU_VERSIONS and ast.unparse(owner) in ("jax", "jax.lax", "lax")
            ):
                if name == "vmap":  # hk.vmap has to be told what becomes of the key
                    given = [*node.keywords, ast.keyword("split_rng", ast.Constant(False))]
                    call = ast.Call(ast.parse("hk.vmap", mode="eval").body, node.args, given)
                    changed = replaced(changed, ast.unparse(node), ast.unparse(call))
                else:
                    changed = replaced(changed, ast.unparse(function), f"hk.{name}")
    if changed is line.statement:
        return None
    return Rewrite("", header(changed), advice=ADVICE["hk"])


# --- what a function reads ------------------------------------------------------------------------


def _hidden_input(line: _Line) -> Rewrite | None:
    if line.finding.form == "iterator" and isinstance(line.statement, ast.For):
        return _passed_items(line.statement, line)
    return _drawn(line) or _passed(line)


def _drawn(line: _Line) -> Rewrite | None:
    """``random.random()`` becomes ``jax.random.uniform(key)``, or uses ``hk.next_rng_key()``."""
    found = syntax.calls_of(line.statement, line.finding.name)
    calls = [node for node in found if isinstance(node, ast.Call)]
    if not calls:
        return None
    haiku = _with_keys(line, calls, ["hk.next_rng_key()"] * len(calls))
    if not haiku:
        return None
    if len(calls) == 1 and not _draws_again(line):
        explicit = _with_keys(line, calls, ["key"])
    else:  # each draw needs a key of its own
        keys = [f"subkey{i}" for i in range(1, len(calls) + 1)] if len(calls) > 1 else ["subkey"]
        how_many = f", {len(calls) + 1}" if len(calls) > 1 else ""
        explicit = f"key, {', '.join(keys)} = jax.random.split(key{how_many})\n"
        explicit += _with_keys(line, calls, keys)
    is_branch = isinstance(line.statement, (ast.If, ast.While))
    advice = ADVICE["key branch" if is_branch else "key"]
    return Rewrite(explicit, haiku, "", advice, "key", "key")


def _with_keys(line: _Line, calls: list[ast.Call], keys: list[str]) -> str:
    """Replace each call by JAX's, with its key; "" where JAX has none, or one key is not enough."""
    changed: ast.AST = line.statement
    if any(isinstance(node, syntax.COMPREHENSIONS) for node in ast.walk(changed)):
        return ""
    for call, key in zip(calls, keys, strict=True):
        draw = _jax_draw(line.finding.file, call, key)
        if not draw:
            return ""
        if isinstance(line.statement, ast.Expr) and line.statement.value is call:
            is_shuffle = last_part(ast.unparse(call.func)) == "shuffle"
            return f"{ast.unparse(call.args[0])} = {draw}" if is_shuffle else ""
        is_converted = f"float({ast.unparse(call)})" in map(ast.unparse, ast.walk(changed))
        old = f"float({ast.unparse(call)})" if is_converted else ast.unparse(call)
        changed = replaced(changed, old, draw, count=1)
    if isinstance(changed, (ast.If, ast.While)):
        return f"{line.free('is_chosen')} = {ast.unparse(changed.test)}"
    return header(_Where().visit(changed)) if calls else ""


class _Where(ast.NodeTransformer):
    """Write ``a if drawn else b`` with ``jnp.where``, which takes a traced condition."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if "jax.random" not in ast.unparse(node.test):
            return node
        where = ast.parse("jnp.where", mode="eval").body
        return ast.Call(where, [node.test, node.body, node.orelse], [])


def _jax_draw(file: str, call: ast.Call, key: str) -> str:
    """Write a call with ``jax.random``; "" where it has no such function."""
    owner, _dot, name = ast.unparse(call.func).rpartition(".")
    draw = (PYTHON if _is_python_random(file, owner, name) else NUMPY).get(name)
    if draw is None:
        return ""
    texts = [ast.unparse(argument) for argument in call.args]
    parameters = draw.parameters.split()
    given = dict(zip(parameters, texts, strict=False))
    if parameters == ["*"]:  # np.random.rand(2, 3)
        given = {"size": f"({', '.join(texts)},)"} if texts else {}
    elif any(isinstance(argument, ast.Starred) for argument in call.args):
        return ""
    given |= {str(keyword.arg): ast.unparse(keyword.value) for keyword in call.keywords}
    given = {name: text for name, text in given.items() if text not in NEUTRAL.get(name, ())}
    size = given.pop("size", "")
    template = draw.templates.get(" ".join(sorted(given, key=draw.parameters.find)))
    if template is None:
        return ""
    values = {name: f"({text})" for name, text in given.items()}
    if not values.get("seq", "").strip("()").isdigit():
        values["seq"] = f"jnp.asarray{values.get('seq')}"
    if (last := given.get("b", "")).isdigit():
        values["after_b"] = str(int(last) + 1)
    else:
        values["after_b"] = f"({last}) + 1"
    shape = f"({size},)" if size.isidentifier() or size.isdigit() else size
    comma = f", {shape}" if shape else ""
    text = template.format(key=key, shape=shape or "()", size=comma, **values)
    return ast.unparse(ast.parse(text))


def _is_python_random(file: str, owner: str, name: str) -> bool:
    """Whether a function that draws is Python's own, and not one of NumPy's."""
    source = "".join(linecache.getlines(file))
    if owner == "random":
        return not re.search(r"from numpy import .*\brandom\b", source)
    made = rf"\b{re.escape(owner)} *= *random\.Random\(" if owner else r"from random import .*\b"
    return bool(re.search(made if owner else rf"{made}{name}\b", source))


def _draws_again(line: _Line) -> bool:
    """Whether the function draws more than once: in a loop, or elsewhere."""
    if _is_in_loop(line):
        return True
    calls = [node for node in ast.walk(line.function) if isinstance(node, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]
    draws = [name for name in names if last_part(name) in {*PYTHON, *NUMPY}]
    return len([name for name in draws if not name.startswith(("jax.", "jnp."))]) > 1


def _is_in_loop(line: _Line) -> bool:
    loops = [n for n in ast.walk(line.function) if isinstance(n, syntax.LOOPS)]
    in_a_body = any(n is line.statement for loop in loops for n in ast.walk(loop))
    own = ast.walk(line.statement)
    return in_a_body or any(isinstance(node, syntax.COMPREHENSIONS) for node in own)


def _passed(line: _Line) -> Rewrite | None:
    """``time.time()`` becomes ``now``, which the caller passes."""
    form, statement = line.finding.form, line.statement
    nodes = syntax.calls_of(statement, line.finding.name)
    if not nodes:
        return None
    if form in NEW_EACH_TIME and _is_in_loop(line):
        return Rewrite(advice=ADVICE["pass many"])
    advice = ADVICE[PASS_ADVICE.get(form, "pass")]
    if "time.time()" in ast.unparse(nodes[0]):
        advice = ADVICE["pass time"]
    if isinstance(statement, ast.With):  # what it reads, its body assigns to
        made = [syntax.stored_names(part) for part in statement.body]
        return Rewrite(advice=advice, new=[NEW_NAMES["file"], *itertools.chain(*made)][-1])
    node = syntax.widened(statement, nodes[0], CONVERSIONS)
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if value is node:
            old = ast.unparse(node)
            return Rewrite("", "", ast.unparse(statement), advice, target, "argument", old)
        case ast.Expr(value=value) if value is node:
            return Rewrite("", "", ast.unparse(statement), ADVICE["outside"])
    key = re.search(r"""environ.*['"](\w+)['"]""", ast.unparse(node))
    new = line.free(key[1].lower() if key else NEW_NAMES.get(form, "value"))
    if len(nodes) == 1 or form not in NEW_EACH_TIME:
        changed = replaced(statement, ast.unparse(node), new)
        old = ast.unparse(node)
        return Rewrite(header(changed), "", f"{new} = {old}", advice, new, "argument", old)
    return _passed_one_by_one(line, nodes, advice)


def _passed_one_by_one(line: _Line, nodes: list[ast.expr], advice: str) -> Rewrite:
    """``next(it) - next(it)`` needs two arguments."""
    changed: ast.AST = line.statement
    names, outside, spelled = [], [], []
    for number, node in enumerate(nodes, 1):
        wide = ast.unparse(syntax.widened(line.statement, node, CONVERSIONS))
        names.append(line.free(f"{NEW_NAMES.get(line.finding.form, 'value')}{number}"))
        outside.append(f"{names[-1]} = {wide}")
        spelled.append(wide)
        changed = replaced(changed, wide, names[-1], count=1)
    explicit, new, old = header(changed), ", ".join(names), "\n".join(spelled)
    return Rewrite(explicit, "", "\n".join(outside), advice, new, "argument", old)


def _passed_items(statement: ast.For, line: _Line) -> Rewrite | None:
    """``for item in stream`` becomes ``for item in items``, which the caller took out of it."""
    stream = re.sub(r"^next\((.*)\)$", r"\1", line.finding.name)
    new = line.free("items")
    changed = replaced(statement.iter, stream, new)
    if ast.unparse(changed) == ast.unparse(statement.iter):
        return None
    explicit = f"for {ast.unparse(statement.target)} in {ast.unparse(changed)}:\n    ..."
    outside = f"{new} = list({stream})"
    return Rewrite(explicit, "", outside, ADVICE["pass"], new, "argument", stream)


def _frozen(line: _Line) -> Rewrite | None:
    """``x * self.rate`` becomes ``x * rate``, with ``rate`` an argument."""
    finding = line.finding
    places = [ast.unparse(n) for n in ast.walk(line.statement) if isinstance(n, syntax.PLACES)]
    old = next((text for text in places if syntax.same_thing(text, finding.name)), None)
    if old is None:
        return None
    new = line.free(last_part(old), same_as=old)
    explicit = header(replaced(line.statement, old, new))
    number = _number(finding.before or finding.after)
    if number is None and not ARRAY.match(finding.before or finding.after):
        return Rewrite(explicit, "", "", ADVICE["frozen"], new, "argument", old)
    state = f"{new}_state" if new == old else new  # the old one is still read below
    if number is None:
        given = f"{old}.shape, init=lambda *_: jnp.asarray({old})"
    else:
        given = f"[], {DTYPES[type(number)]}, init=hk.initializers.Constant({number!r})"
    haiku = f'{state} = hk.get_state("{last_part(old)}", {given})\n'
    haiku += header(replaced(line.statement, old, state))
    return Rewrite(explicit, haiku, "", ADVICE["frozen"], new, "argument", old)


# --- what a function puts out ---------------------------------------------------------------------


def _output(line: _Line) -> Rewrite | None:
    """``print(x)`` becomes ``jax.debug.print("{}", x)``; a file is written by the caller."""
    found = syntax.calls_of(line.statement, line.finding.name)
    if not found:
        return None
    call, form = found[0], line.finding.form or line.finding.name
    if form not in ("print", "log") or not isinstance(call, ast.Call):
        return Rewrite(advice=ADVICE["write"])
    printed = _debug_print(call) if form == "print" else ""
    new = printed or _callback(call, syntax.local_names(line.function))
    advice = ADVICE["print" if printed else "log"]
    return Rewrite(header(replaced(line.statement, ast.unparse(call), new)), advice=advice)


def _debug_print(call: ast.Call) -> str:
    """Write ``print`` as ``jax.debug.print``; "" where that lacks what the call uses."""
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    separator = options.pop("sep", ast.Constant(" "))
    options.pop("flush", None)
    parts = [_template(argument) for argument in call.args]
    if options or not isinstance(separator, ast.Constant) or ("", []) in parts:
        return ""
    template = str(separator.value).join(text for text, _values in parts)
    values = [ast.unparse(value) for _text, values in parts for value in values]
    return f"jax.debug.print({', '.join([json.dumps(template), *values])})"


def _template(argument: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return the text of an argument of ``print``, and its values; nothing if unknown."""
    match argument:
        case ast.Starred() | ast.BinOp(op=ast.Mod()) | ast.Constant(value=""):
            return "", []
        case ast.Constant(value=str(text)):
            return "" if {"{", "}"} & {*text} else text, []  # JAX prints `{{` as it stands
        case ast.JoinedStr(values=pieces):
            parts = [_template(piece) for piece in pieces]
            if ("", []) in parts:
                return "", []
            return "".join(t for t, _ in parts), [v for _, values in parts for v in values]
        case ast.FormattedValue(value=value, format_spec=ast.JoinedStr(values=[ast.Constant(c)])):
            return "{:" + str(c) + "}", [value]
        case ast.FormattedValue(value=value):
            return "{}", [value]
        case ast.Call(func=ast.Attribute(value=ast.Constant(str(text)), attr="format")):
            return "" if "{{" in text else text, argument.args
        case _:
            return "{}", [argument]


def _callback(call: ast.Call, own: set[str]) -> str:
    """``log.info(x)`` becomes ``jax.debug.callback(lambda x: log.info(x), x)``."""
    names = [node.id for node in ast.walk(call) if isinstance(node, ast.Name) and node.id in own]
    given = ", ".join(dict.fromkeys(names))
    function = f"lambda {given}: {ast.unparse(call)}" if given else f"lambda: {ast.unparse(call)}"
    return f"jax.debug.callback({', '.join(filter(None, [function, given]))})"


# --- two calls that need two compilations ---------------------------------------------------------


def _retrace(finding: "Finding") -> Rewrite:
    """Return what the caller does so that both calls fit one program."""
    advice = ADVICE.get(finding.form, ADVICE["shape"])
    before, after = (ARRAY.match(text) for text in (finding.before, finding.after))
    name, new = finding.name, last_part(finding.name)
    outside = ""
    if finding.form == "shape" and before and after:
        sizes = [[int(n) for n in m[2].split(",") if n.strip()] for m in (before, after)]
        if sizes[0] and len(sizes[0]) == len(sizes[1]):
            largest = [max(pair) for pair in zip(*sizes, strict=True)]
            widths = [f"(0, {n} - {name}.shape[{axis}])" for axis, n in enumerate(largest)]
            outside = f"{name} = jnp.pad({name}, [{', '.join(widths)}])"
    elif finding.form in ("dtype", "weak type") and before:
        outside = f"{name} = jnp.asarray({name}, {_jnp(before[1])})"
    elif finding.form == "static value" and _number(finding.before) is not None:
        outside = f"{name} = jnp.asarray({name})"
    return Rewrite("", "", outside, advice, new)


# --- values, as a finding tells them --------------------------------------------------------------


def _number(text: str) -> bool | int | float | None:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, (bool, int, float)) else None


def _shape_and_dtype(finding: "Finding", statement: ast.stmt) -> str | None:
    """Return shape and dtype of a state that holds what the finding tells; None if none can."""
    if array := ARRAY.match(finding.after) or ARRAY.match(finding.before):
        return f"[{array[2]}], {_jnp(array[1])}"
    kinds = [type(n) for n in map(_number, (finding.before, finding.after)) if n is not None]
    if not kinds and not (finding.before or finding.after):
        added = getattr(statement, "value", None)
        is_count = isinstance(added, ast.Constant) and isinstance(added.value, int)
        kinds = [int if is_count else float]
    return next((f"[], {DTYPES[kind]}" for kind in (float, int, bool) if kind in kinds), None)


def _jnp(dtype: str) -> str:
    """Return the dtype that JAX has unless ``jax_enable_x64`` is set."""
    narrow = {"bool": "bool_", "complex128": "complex64"}
    narrow |= {f"{kind}64": f"{kind}32" for kind in ("float", "int", "uint")}
    return f"jnp.{narrow.get(dtype, dtype)}"


def _numbered(name: str, taken: set[str]) -> str:
    number = 2
    new = name
    while new in taken:
        new, number = f"{name}_{number}", number + 1
    return new


BY_KIND = {
    "mutation": _mutation,
    "hidden input": _hidden_input,
    "output": _output,
    "frozen value": _frozen,
    "leak": _leak,
}

WITHOUT_SOURCE = {
    "mutation": "thread",
    "hidden input": "pass",
    "output": "write",
    "frozen value": "frozen",
    "leak": "return",
}
