"""What to do about a finding: one sentence with the user's names, and a worked example.

For what a function changes, one question decides: does the function also read it? Then it must come
in as an argument and go out as a result. If the function only writes it, a result is enough.
"""

import ast
import functools
import inspect
import re
import textwrap
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from haiku_state.errors.language import deferred as _
from haiku_state.inside.reach import nested_codes

WORDS = {
    "state": _(
        "Take `{name}` as an argument and return its new value along with the output; the caller "
        "passes that value to the next call."
    ),
    "state result": _(
        "The function only sets `{name}`. Return the value along with the output; the caller "
        "stores it."
    ),
    "container": _(
        "Take `{name}` as an argument, which may be a list or an array, change a copy, and return "
        "the copy along with the output; the caller passes the copy to the next call. If a list "
        "grows, jit compiles in every call; an array of a fixed size avoids that."
    ),
    "container result": _(
        "The function only adds to `{name}`. Return the added part next to the output; the caller "
        "adds it."
    ),
    "copy": _(
        "The object belongs to the caller. Change a copy instead, which `dict(…)` or `list(…)` can "
        "make, and return the copy along with the output."
    ),
    "default": _(
        "Take `{name}` as an argument without a default, change a copy, and return the copy along "
        "with the output; the caller passes it to the next call."
    ),
    "cache": _(
        "Do not keep a value that is made during tracing: compute the value in each call, or "
        "compute it before the call and pass it as an argument. jit itself keeps constants in the "
        "compiled program."
    ),
    "inner": _(
        "JAX traces the function around this line separately. Return the value from that function: "
        "for `jax.grad`, with `has_aux=True`; for `jax.lax.scan`, as the second output; for "
        "`jax.vmap` or `jax.jit`, as an additional output."
    ),
    "unknown": _(
        "If JAX traces a function separately, return the value from that function: for `jax.grad`, "
        "with `has_aux=True`; for `jax.lax.scan`, as the second output; for `jax.vmap` or "
        "`jax.jit`, as an additional output."
    ),
    "caller": _(
        "Let the caller make this change, in the same order as the function makes it now, and pass "
        "what the function reads of the object as an argument: a number or an array as it is, any "
        "other value as a static argument."
    ),
    "object": _(
        "jit can neither take nor return this object. Make the object in each call, or make it "
        "once before the call, and do not store it during the call."
    ),
    "outside": _("Do this before or after the call, because it is not part of the computation."),
    "random": _(
        "Take a random key as an argument and draw with `jax.random`. The caller passes a "
        "different key to each call: it splits its key and keeps one of the new keys for later."
    ),
    "clock": _(
        "Read the clock outside the function. To time a call, read the clock before the call and "
        "again after `jax.block_until_ready` of the output; if the function computes with a time, "
        "pass the time as an argument."
    ),
    "iterator": _(
        "Get the item before the call, and pass it as an argument: as a static argument if the "
        "item is neither a number nor an array, or if a shape depends on it."
    ),
    "input": _(
        "Read the value before the call, and pass what you make of it as an argument: as a static "
        "argument if that is neither a number nor an array, or if a shape depends on it."
    ),
    "print": _("`jax.debug.print` prints in every call, and shows values instead of tracers."),
    "log": _("`jax.debug.callback` calls a Python function in every call and passes it values."),
    "write": _("Return what is to be written along with the output, and write it after the call."),
    "frozen": _("Take `{name}` as an argument: each call then uses the value that it is given."),
    "shape": _(
        "Keep the shape the same: pad the smaller input, and pass a mask of the real entries."
    ),
    "dtype": _("Convert the input to one dtype before the call, as `jnp.asarray(x, dtype)` does."),
    "rank": _("Give the input the same number of dimensions in each call."),
    "key": _(
        "Make all random keys in the same way, with `jax.random.key` and the same implementation; "
        "`jax.random.wrap_key_data` turns an old-style key into a new-style key."
    ),
    "weak type": _(
        "Give the value a dtype before the call, for example with `jnp.asarray(value, "
        "jnp.float32)`: without a dtype, an array made from a Python number has a weak type too."
    ),
    "static value": _(
        "Pass the argument as an array if the function only computes with it. If shapes or "
        "branches depend on the argument, it must be static: then use only a few different values."
    ),
    "static object": _(
        "Make the object once, outside the loop, and pass the same object to each call, or define "
        "`__eq__` and `__hash__` in its class."
    ),
    "new function": _(
        "Define the function once, outside the loop, and pass the same object to each call."
    ),
    "missing": _("Pass `{name}` in every call, or in none."),
    "structure": _(
        "Pass containers of one type, with the same keys, lengths and static fields, to each call."
    ),
}

INNER = _(
    "JAX traces the function around this line separately. In that function, `{name}` must also be "
    "passed in as an argument and out as a result: for `jax.lax.scan`, as a part of the carry; for "
    "`jax.grad`, with `has_aux=True`."
)
INNER_RESULT = _(
    "JAX traces the function around this line separately, so that function must return the value: "
    "for `jax.lax.scan`, as the second output; for `jax.grad`, with `has_aux=True`."
)
INNER_KEY = _(
    "JAX traces the function around this line only once, however often it runs: give each step its "
    "own key, for example with a `jax.lax.scan` over `jax.random.split(key, steps)`."
)
BRANCH = _(
    "Where an `if` or a `while` depends on this value, use `jnp.where` or `jax.lax.cond` instead, "
    "because jit does not know the value while it traces."
)

_EXAMPLES = {
    "state result": "record", "container result": "record", "default": "container",
    "iterator": "input",
}  # fmt: skip
_BY_FORM = {
    "hidden input": {
        "random": "random", "seed": "random", "clock": "clock", "iterator": "iterator",
    },
    "output": {"print": "print", "log": "log", "system": "outside"},
    "mutation": {
        "argument": "copy", "cache": "cache", "caller": "caller", "default": "default",
        "object": "object", "setting": "outside", "environment": "outside",
    },
    "leak": {"cache": "cache", "tracer": "inner", "unknown": "unknown"},
    "retrace": {form: form for form in WORDS},
}  # fmt: skip
_BY_KIND = {"hidden input": "input", "output": "write", "frozen value": "frozen"}
_CONTAINERS = ("array", "container", "argument")
_ADDING = {"add", "append", "appendleft", "extend"}
_UNLIKE_STATE = ("caller", "inner", "object", "outside", "unknown")
_WITHOUT_EXAMPLE = (*_UNLIKE_STATE, "copy")
_HIDING = {"__dict__", "eval", "exec", "getattr", "globals", "hasattr", "vars"}


@dataclass(frozen=True)
class Advice:
    """Advice on what to do about a finding.

    Example:
      >>> from haiku_state.inside.advice import advice
      >>> told = advice("mutation", "attribute", "self.n")
      >>> told.is_argument, told.is_result, told.example
      (True, True, 'state')

    Args:
      words: the advice as an English sentence, marked for translation, with a placeholder for the
        name.
      is_argument: whether the function should take the object that the finding names as an
        argument.
      is_result: whether the function should return the object, or return what it adds to the
        object.
      example: the name of a worked example; empty if there is none.
      further: more sentences of advice for this particular case, in the same form as ``words``.

    References:
      :func:`.explain`.
    """

    words: str = ""
    is_argument: bool = False
    is_result: bool = False
    example: str = ""
    further: tuple[str, ...] = ()


def advice(
    kind: str,
    form: str,
    name: str,
    is_read: bool = True,
    is_inner: bool = False,
    is_branched: bool = False,
) -> Advice:
    """Return what to do about a finding.

    Args:
      kind: that of the finding.
      form: that of the finding.
      name: that of the finding.
      is_read: for what is changed: whether the function reads it too.
      is_inner: whether the line is in a function that JAX traces on its own, such as the body of a
        scan.
      is_branched: whether an ``if`` depends on it.
    """
    topic = _BY_FORM.get(kind, {}).get(form) or _BY_KIND.get(kind, "")
    if kind in ("mutation", "leak") and not topic:
        topic = "container" if name.endswith("[...]") or form in _CONTAINERS else "state"
        topic += "" if is_read else " result"
    if not topic or topic not in WORDS:
        return Advice()
    is_result = kind in ("mutation", "leak") and topic not in ("cache", *_UNLIKE_STATE)
    is_argument = (is_result and is_read) or kind in ("hidden input", "frozen value")
    is_shown = kind != "retrace" and topic not in _WITHOUT_EXAMPLE
    example = _EXAMPLES.get(topic, topic) if is_shown else ""
    inner = INNER_KEY if topic == "random" else INNER if is_argument else INNER_RESULT
    further = {
        inner: is_inner and (is_result or topic == "random"),
        BRANCH: is_branched and is_argument and topic not in ("iterator", "input"),
    }
    return Advice(
        WORDS[topic],
        is_argument,
        is_result,
        example,
        tuple(sentence for sentence, is_said in further.items() if is_said),
    )


@functools.cache
def worked(example: str) -> dict[str, str]:
    """Return the source of a worked example: ``wrong``, ``right`` and, where it fits, ``haiku``."""
    from haiku_state.inside import examples

    found = {}
    for how in ("wrong", "right", "haiku"):
        name = f"{example}_{how}"
        # what it calls stands before it, as `table_cache_wrong`
        sources = [
            inspect.getsource(function).replace(f"_{name}", "").replace(name, "step")
            for key, function in vars(examples).items()
            if key.endswith(name)
        ]
        if sources:
            found[how] = "".join(sources).rstrip()
    return found


def is_read(
    names: Iterable[str], codes: Iterable[types.CodeType], is_replaced: bool = False
) -> bool:
    """Return whether code reads a thing that it changes.

    To store into a container, or to add to it, is not to read it. Where the source is not at hand,
    where it hides what it reads, or where it is not the source that changes the thing, the answer
    is True: an argument and a result are always right.

    Args:
      names: what the source calls the thing, such as ``self.n`` or ``losses[...]``.
      codes: the code of all functions of the user that the call reaches.
      is_replaced: whether an item that is stored replaces another one, which is to read the others.
    """
    wanted = frozenset(re.findall(r"\w+", re.sub(r"\[.*", "", name))[-1] for name in names)
    uses = {use for code in codes for use in _uses(code, wanted, is_replaced)}
    return uses != {"written"}


def is_branched(name: str, codes: Iterable[types.CodeType], lines: Iterable[int] = ()) -> bool:
    """Return whether an ``if`` or a ``while`` depends on a thing by its name.

    Args:
      name: what the source calls the thing; empty for what a call gives.
      codes: the code of all functions of the user that the call reaches.
      lines: the lines that make it, whose variables are looked for too.
    """
    wanted = frozenset(re.findall(r"\w+", re.sub(r"\[.*", "", name))[-1:])
    return any(_has_branch(code, wanted, frozenset(lines)) for code in codes)


@functools.lru_cache(maxsize=1024)
def _has_branch(code: types.CodeType, wanted: frozenset[str], made: frozenset[int]) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):
        return False
    nodes = list(ast.walk(ast.increment_lineno(tree, code.co_firstlineno - 1)))
    targets = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and made.intersection(_lines_of(node))
        for target in ast.walk(ast.Tuple(node.targets))
        if isinstance(target, ast.Name)
    }
    tests = [node.test for node in nodes if isinstance(node, (ast.If, ast.While, ast.IfExp))]
    parts = [part for test in tests for part in ast.walk(test)]
    names = {getattr(part, "id", getattr(part, "attr", "")) for part in parts}
    is_in_test = any(made.intersection(_lines_of(test)) for test in tests)
    return is_in_test or not names.isdisjoint(wanted | targets)


def _lines_of(node: Any) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _whole(thing: Any) -> Any:
    """Return what an item belongs to: of ``losses["train"]``, ``losses``."""
    while isinstance(thing, ast.Subscript) or (
        isinstance(thing, ast.Call) and getattr(thing.func, "attr", "") == "setdefault"
    ):
        thing = thing.value if isinstance(thing, ast.Subscript) else thing.func.value  # type: ignore[attr-defined]
    return thing


@functools.lru_cache(maxsize=1024)
def _uses(code: types.CodeType, wanted: frozenset[str], is_replaced: bool) -> frozenset[str]:
    """What code does with variables or attributes of some names: ``"read"``, ``"written"``."""
    codes = [*nested_codes(code)]
    names = {name for one in codes for name in (*one.co_names, *one.co_varnames, *one.co_freevars)}
    if not _HIDING.isdisjoint(names):
        return frozenset({"read"})
    if not any(name.endswith(tuple(wanted)) for name in names):  # the end of a mangled name
        return frozenset()
    try:
        nodes = list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code)))))
    except (OSError, SyntaxError):
        return frozenset({"read"})
    augmented = {node.target for node in nodes if isinstance(node, ast.AugAssign)}
    added_to: set[Any] = set()
    for node in nodes:
        match node:
            case ast.Subscript(value=thing, ctx=ast.Store()) if node not in augmented:
                added_to |= set() if is_replaced else {thing}
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=thing, attr=name))):
                added_to |= {_whole(thing)} if name in _ADDING else set()
    named = [
        node
        for node in nodes
        if (isinstance(node, ast.Name) and node.id in wanted)
        or (isinstance(node, ast.Attribute) and node.attr in wanted)
    ]
    is_written = [n in added_to or isinstance(n.ctx, ast.Store) for n in named]
    return frozenset(
        "written" if is_written and node not in augmented else "read"
        for node, is_written in zip(named, is_written, strict=True)
    )
