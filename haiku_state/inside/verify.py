"""A rewrite is shown only if it was run: three calls agree with what the program as it is does.

The line is replaced in the function, which is traced three times in a row as one program; so is the
function as it is, whose outer values live as long. The two programs are compared, and what they
leave in the place that is no longer changed. The rewritten function is also traced with its state,
or with what it is given, as an argument.
"""

import ast
import dataclasses
import re
import types
from collections.abc import Callable
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from haiku_state.inside import compat
from haiku_state.inside.calls import Call, is_equal, is_traced, outputs_of
from haiku_state.inside.reach import MISSING, nested_codes
from haiku_state.inside.rewrite import Rewrite, in_words
from haiku_state.inside.statements import Rewritten, replaced, replaced_each
from haiku_state.inside.watch import Stopped, Watch

_BOX = "__haiku_state__"
_MANY = 300
"""A program of more equations is read, not run."""


class _Box:
    """What a program under test is given, and what it gives back."""

    def __init__(self) -> None:
        self.state: Any = None
        self.values: list[Any] = []

    def record(self, value: Any) -> Any:
        self.values.append(value)
        return value

    def give(self, output: Any, state: Any) -> Any:
        self.state = state
        return output


def verified(
    new: Rewrite, file: str, change: Any, call: Call, watch: Watch, is_static: bool
) -> Rewrite:
    """Return a rewrite with the code that was run; its advice in words in any case.

    Args:
      new: the rewrite of a line.
      file: the file of the line.
      change: the form, the name and the key of what the line changes; None for nothing.
      call: the function that was explained, and its arguments.
      watch: of its last trace.
      is_static: whether numbers are passed as they are.
    """
    right = {}
    for field in ("explicit", "haiku"):
        right[field] = False
        if getattr(new, field) or (field == "explicit" and new.outside):
            try:
                trial = _Trial(new, field == "haiku", file, change, call, watch, is_static)
                right[field] = trial.is_right()
            except (Exception, Stopped):  # by code of the user, or by code that does not fit
                continue
    words = in_words(new)
    if right["explicit"]:
        words = dataclasses.replace(new, haiku="")
    return dataclasses.replace(words, haiku=new.haiku) if right["haiku"] else words


class _Trial:
    """The code of a rewrite, in the function that it is for."""

    def __init__(
        self,
        new: Rewrite,
        in_haiku: bool,
        file: str,
        change: Any,
        call: Call,
        watch: Watch,
        is_static: bool,
    ) -> None:
        self.new, self.in_haiku, self.change, self.call = new, in_haiku, change, call
        self.watch = watch
        self.is_static, self.box, self.outputs = is_static, _Box(), 0
        self.file = file
        around = [
            function
            for code, function in watch.reach.functions.items()
            if code.co_filename == file
            and any(new.at[0] in (line for *_, line in c.co_lines()) for c in nested_codes(code))
        ]
        self.function = max(around, key=lambda function: function.__code__.co_firstlineno)
        self.threads = new.how in ("state", "copy") and change is not None

    def is_right(self) -> bool:
        """Whether the code does what the function does."""
        if self.new.how == "key":
            return self._draws()
        code = self._recording() if self.new.how == "argument" else None
        before, _watch = self._program(code, self._as_it_is)
        values = list(self.box.values)
        after, watch = self._program(self._changed(), self._three)
        lines = [event.place.line for event in watch.events if event.change is None]
        is_left = self.change is None or self.change[2] not in watch.changed.get(
            self.change[:2], ()
        )
        is_alone = is_left and (self.new.how != "here" or self.new.at[0] not in lines)
        is_used = self.in_haiku or not self.box.values
        if not (is_alone and is_used and _is_same(before, after, self.call.traced(self.is_static))):
            return False
        return self.in_haiku or self._can_be_traced(before.out_avals[: self.outputs], values)

    def _draws(self) -> bool:
        """Whether the code draws numbers of the same types; they are others than before."""
        before, _watch = self._program(None, lambda watch, function: outputs_of(function()))

        def step(watch: Watch, function: Any, key: Any) -> list[Any]:
            if self.in_haiku:
                model = hk.transform_with_state(lambda: outputs_of(function()))
                _params, state = model.init(key)
                return list(model.apply({}, state, key)[0])
            self.box.state = key
            return outputs_of(function())

        after, _watch = self._program(self._changed(), step, jax.random.key(0))
        return _types(before.out_avals) == _types(after.out_avals)

    def _can_be_traced(self, outputs: Any, values: list[Any]) -> bool:
        """Whether the function takes its state, or what it is given, as an argument of jit."""

        def step(watch: Watch, function: Any, given: Any) -> list[Any]:
            self.box.state, self.box.values = given, [*given] if isinstance(given, list) else []
            found = outputs_of(function())
            return found + (jax.tree.leaves(self.box.state) if self.threads else [])

        given: Any = values[: len(values) // 3]
        if self.threads:
            given = jax.tree.map(jnp.asarray, self.first)
            tree: Any
            for _again in range(2):  # a number may begin with a different type than it has later
                program, _watch = self._program(self._changed(), step, given)
                result = program.out_avals[len(outputs) :]
                leaves, tree = jax.tree.flatten(given)
                if jax.tree.structure(self.box.state) != tree:
                    return False
                given = tree.unflatten(
                    [jnp.asarray(o, n.dtype) for o, n in zip(leaves, result, strict=True)]
                )
                if _types(leaves) == _types(result):
                    return _types(program.out_avals) == _types([*outputs, *result])
            return False
        if self.new.how != "argument" or not all(map(is_traced, given)):
            return True
        program, _watch = self._program(self._changed(), step, given)
        return _types(program.out_avals) == _types(outputs)

    # --- three calls ------------------------------------------------------------------------------

    def _as_it_is(self, watch: Watch, function: Any) -> list[Any]:
        found = []
        for _call in range(3):
            found += outputs_of(function())
            self.outputs = self.outputs or len(found)
        if self.new.how in ("here", "argument") or self.change is None:
            return found
        before, after = self._contents(watch)
        is_outer = all(not isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(before))
        self.first = before if is_outer else MISSING
        if self.new.how == "item" and isinstance(after, list):
            count = len(after) - len(before)
            after = after[:count][::-1] if "appendleft" in self.new.outside else after[-count:]
        elif self.new.how == "item":
            after = sorted(after - before)
        return found + outputs_of(after)

    def _three(self, watch: Watch, function: Any) -> list[Any]:
        found, results = [], []
        if self.in_haiku:
            model = hk.transform_with_state(lambda: outputs_of(function()))
            _params, state = model.init(None)
            for _call in range(3):
                outputs, state = model.apply({}, state, None)
                found += outputs
            return found + (jax.tree.leaves(state) if self.new.how in ("state", "result") else [])
        state = self._contents(watch)[0] if self.threads else None
        if self.threads and self.new.outside:  # the caller makes an array of it
            state = jnp.asarray(state)
        for _call in range(3):
            self.box.state = state
            found += outputs_of(function())
            state = self.box.state
            results.append(state)
        if self.new.how in ("here", "argument") or self.change is None:
            return found
        if self.new.how == "item" and ".extend(" in self.new.outside:
            results = [item for items in results for item in items]
        return found + outputs_of(results if self.new.how == "item" else results[-1])

    def _contents(self, watch: Watch) -> tuple[Any, Any]:
        """What the changed thing holds, before and now; changed code may not name it any more."""
        form, name, key = self.change
        holders = [*watch.reach.holders, *self.watch.reach.holders]
        found = [one for one in holders if (one.form, one.name) == (form, name)]
        holder = next((one for one in found if key in {**one.saved, **one.read()}), found[0])
        both = holder.saved, holder.read()
        if self.new.how == "copy" and key is not None:
            return both
        before, after = (content.get(key, MISSING) for content in both)
        return (0 if before is MISSING else before), after

    # --- programs ---------------------------------------------------------------------------------

    def _program(self, code: types.CodeType | None, step: Callable[..., Any], *more: Any) -> Any:
        """Trace with ``code`` in the place of the function's; return what was watched, too."""
        own, space = self.function.__code__, self.function.__globals__
        names = {_BOX: self.box, "hk": hk, "jax": jax, "jnp": jnp}  # as the code has them
        new = {name: value for name, value in names.items() if name not in space}
        watch = Watch(self.call.start, self.watch.reach, is_silent=True)

        def body(leaves: list[Any], *more: Any) -> Any:
            return self.call.run(watch, leaves, lambda function: step(watch, function, *more))

        try:
            self.function.__code__ = code or own
            space.update(new)
            with compat.traced_anew():
                return self.call.trace(body, self.is_static, *more), watch
        finally:
            self.function.__code__ = own
            for name in new:
                space.pop(name, None)

    def _recording(self) -> types.CodeType:
        """The function as it is, with what the line asks for recorded."""
        asked = self.new.old.split("\n")
        code = replaced_each(
            self.file, self.new.at, {old: f"{_BOX}.record({old})" for old in asked}
        )
        return self._compiled(Rewritten(self.new.at, code))

    def _changed(self) -> types.CodeType:
        new, at = self.new, self.new.at
        if self.in_haiku:
            state = "".join(re.findall(r"hk\.set_state\(.*, (\w+)\)", new.haiku)[-1:])
            old, code = new.old if new.how in ("state", "result") else "", new.haiku
            if state == old:
                state = f"{old}__"
                code = ast.unparse(replaced(ast.parse(code), old, state))
            return self._compiled(Rewritten(at, code, old, state))
        code, name = new.explicit, new.new
        if name == new.old:  # a variable of another scope
            name = f"{name}__"
            code = ast.unparse(replaced(ast.parse(code), new.old, name))
        match new.how:
            case "argument":
                taken = [f"{one} = {_BOX}.values.pop(0)" for one in name.split(", ")]
                return self._compiled(Rewritten(at, code, before="\n".join(taken)))
            case "key":
                return self._compiled(Rewritten(at, code, before=f"key = {_BOX}.state"))
            case "here":
                return self._compiled(Rewritten(at, code))
        old = new.old
        first = f"{name} = {_BOX}.state" if self.threads else f"{name} = None"
        return self._compiled(Rewritten(at, code, old, name, first, f"{_BOX}.give({{}}, {name})"))

    def _compiled(self, changed: Rewritten) -> types.CodeType:
        own = self.function.__code__
        changed.kept = own.co_firstlineno, own.co_freevars
        compiled = compile(changed.of(self.file), self.file, "exec", dont_inherit=True)
        place = own.co_name, own.co_firstlineno
        (code,) = [c for c in nested_codes(compiled) if (c.co_name, c.co_firstlineno) == place]
        return code


def _types(values: Any) -> list[Any]:
    return [(np.shape(value), value.dtype) for value in values]


def _is_same(one: Any, other: Any, inputs: list[Any]) -> bool:
    """Whether two programs are equal as text, or give equal numbers."""
    if [np.shape(a) for a in one.out_avals] != [np.shape(a) for a in other.out_avals]:
        return False
    texts = [re.sub("0x[0-9a-f]+", "", str(_silent(program.jaxpr))) for program in (one, other)]
    consts = zip(one.consts, other.consts, strict=False)
    if texts[0] == texts[1] and all(is_equal(a, b) for a, b in consts):
        return True
    if max(len(one.eqns), len(other.eqns)) > _MANY:
        return False
    given = [
        jnp.ones(x.shape, x.dtype) if isinstance(x, jax.ShapeDtypeStruct) else x for x in inputs
    ]
    results = zip(*(jaxpr_as_fun(program)(*given) for program in (one, other)), strict=True)
    return all(np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True) for a, b in results)


def _silent(jaxpr: Any) -> Any:
    """A program without what prints."""
    kept = [e for e in jaxpr.eqns if not e.primitive.name.startswith("debug_")]
    return jaxpr.replace(eqns=kept) if len(kept) < len(jaxpr.eqns) else jaxpr
