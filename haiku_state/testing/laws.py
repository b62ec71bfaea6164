"""The laws, each a function of the module under test: what breaks it, or None."""

import functools
import re
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import ArgumentError
from haiku_state.errors.describe import describe, describe_tree, is_key, leaves_by_path
from haiku_state.errors.language import deferred as _
from haiku_state.inside.report import Sentence
from haiku_state.storage import from_numpy, load_numpy, save_numpy, to_numpy
from haiku_state.testing.subject import (
    CALLS,
    STRUCTURES,
    Subject,
    copied,
    is_floating,
    is_inexact,
    is_typed_key,
    named,
    unused,
)

FAR = 1e4
PROBES = ((1.0, 0.0), (2.0, 1.0), (2.0**-10, 0.0), (0.0, 0.0))
"""Other states: those far above 1 would hide what is added to them, as those far below 1 do not."""

SHIFT, SAME = 30.0, 1e-2
"""A shift, and the relative difference up to which an output counts as unchanged by it."""

NO_FLAGS = _("no call in evaluation is known: name its flag `is_training`, or pass `evaluation`")
NO_AXIS = _(
    "without a call in evaluation, it is not known whether the rows of the inputs are examples: if "
    'they are, pass `axis_name="devices"`'
)
NO_FLOATS = _("no input is a floating-point number")
ROWS_IN_SHAPES = _("a shape of the params or of the state depends on the number of rows")
FIXED_ROWS = _("the module does not take fewer rows")
NO_OUTPUT = _("no output is a floating-point number")


class Statement(NamedTuple):
    """What a law says."""

    text: str
    page: str
    """The page that explains it, as a path in the site."""

    broken_by: Callable[[Subject], Sentence | None]


LAWS: dict[str, Statement] = {}


def law(text: str, page: str) -> Callable[[Any], Any]:
    """Add a function to the laws, under its name."""

    def add(broken_by: Callable[[Subject], Sentence | None]) -> Any:
        LAWS[broken_by.__name__] = Statement(text, page, broken_by)
        return broken_by

    return add


def skip(reason: str, **values: Any) -> None:
    """Leave a law out, because it says nothing of this module."""
    raise unittest.SkipTest(Sentence(reason, **values))


@law(_("`init` depends only on its key and its inputs"), "haiku/pure_pair")
def init_is_deterministic(module: Subject) -> Sentence | None:
    one, other = (dict(zip(("params", "state"), module.init(), strict=True)) for _ in range(2))
    return module.difference(one, other, allowed=0)


@law(_("no tracer remains after a trace of `apply`"), "haiku/jax_inside_haiku")
def no_tracer_is_left(module: Subject) -> Sentence | None:
    try:
        for flags in module.modes:
            with jax.checking_leaks():
                jax.eval_shape(module.traced(flags), *unused((*module.start, module.inputs)))
    except Exception as error:
        if "eaked trace" not in str(error):
            skip(_("the module cannot be traced: see jit_equals_eager"))
        held = re.search(r"is referred to by ([^<\s].*)", str(error))
        if held is None:
            return Sentence(_("a tracer remains"))
        return Sentence(_("a tracer remains, referred to by {by}"), by=held[1])
    return None


@law(
    _("`apply` returns the same result for the same arguments and does not change them"),
    "pure/index",
)
def apply_is_deterministic(module: Subject) -> Sentence | None:
    for flags, start in zip(module.modes, (module.start, module.trained), strict=False):
        results = []
        for _call in range(CALLS):
            given = copied((*start, module.inputs))
            before = dict(zip(("params", "state", "inputs"), copied(given), strict=True))
            results.append(named(module.apply(*given, flags=flags)))
            after = dict(zip(("params", "state", "inputs"), given, strict=True))
            if changed := module.difference(after, before, allowed=0):
                return Sentence(_("an argument was changed: {which}"), which=changed)
        found = (module.difference(result, results[0], allowed=0) for result in results[1:])
        if different := next(filter(None, found), None):
            return different
    return None


@law(
    _(
        "`apply` returns a state with the names, shapes, dtypes and weak types of the state that "
        "it takes"
    ),
    "update/many_steps",
)
def state_keeps_its_type(module: Subject) -> Sentence | None:
    state = module.start[1]
    has_evaluation = module.evaluation is not None
    for after in [module.trained[1], *([module.evaluated[1]] if has_evaluation else [])]:
        old, new = (
            {path: describe(leaf) for path, leaf in leaves_by_path(state=tree).items()}
            for tree in (state, after)
        )
        for path in dict.fromkeys([*old, *new]):
            kinds = [each.get(path, "—") for each in (old, new)]
            if kinds[0] != kinds[1]:
                return Sentence(
                    _("{path}: {one} → {other}"), path=path, one=kinds[0], other=kinds[1]
                )
        if describe_tree(state) != describe_tree(after):
            return Sentence(STRUCTURES, path="state")
    return None


@law(_("under `jit`, call after call, the module does what it does in Python"), "pure/index")
def jit_equals_eager(module: Subject) -> Sentence | None:
    params, state = module.start
    carried = [state, state]
    jitted = jax.jit(module.traced())
    for call in range(1, CALLS + 1):
        given = [copied((params, each, module.inputs)) for each in carried]
        results = [jitted(*given[0]), module.apply(*given[1])]
        one, other = ({f"call {call}: {n}": x for n, x in named(r).items()} for r in results)
        if found := _compared(module, one, other):
            return found
        carried = [result[1] for result in results]
    if module.evaluation is None:
        return None
    result = jax.jit(module.traced(module.evaluation))(*module.trained, copied(module.inputs))
    one, other = (
        {f"evaluation: {n}": x for n, x in named(r).items()} for r in (result, module.evaluated)
    )
    return _compared(module, one, other)


@law(_("`scan` carries the state as a loop does"), "update/many_steps")
def scan_equals_loop(module: Subject) -> Sentence | None:
    params, state = module.start
    looped = module.start[1]  # another copy, which a call may change
    for _call in range(CALLS):
        looped = module.apply(params, looped)[1]
    batches = jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * CALLS), unused(module.inputs))
    scanned, _nothing = jax.lax.scan(
        lambda carry, batch: (module.apply(params, carry, batch)[1], None), state, batches, CALLS
    )
    return _compared(module, {"state": scanned}, {"state": looped})


@law(_("`vmap` over inputs and states does what a loop over them does"), "pure/transformations")
def vmap_equals_loop(module: Subject) -> Sentence | None:
    params, state = module.start
    twice = jax.tree.map(lambda x: 2 * x if is_inexact(x) else x, module.inputs)
    many = [(state, module.inputs), (module.trained[1], twice)]
    if not jax.tree.leaves(many):
        skip(_("there are no inputs and there is no state"))
    if describe_tree(state) != describe_tree(module.trained[1]):
        skip(_("the state changes its type: see state_keeps_its_type"))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(unused, many))
    mapped = jax.vmap(lambda one: module.apply(params, *one))(stacked)
    looped = [module.apply(params, *copied(one)) for one in many]
    expected = jax.tree.map(lambda *leaves: jnp.stack(leaves), *looped)
    return _compared(module, named(mapped), named(expected))


@law(
    _(
        "the gradient of the sum of all real outputs with respect to the real params exists and is "
        "finite"
    ),
    "haiku/regression",
)
def gradient_is_finite(module: Subject) -> Sentence | None:
    params, state = module.start

    def loss_fn(params: Any) -> tuple[Any, Any]:
        output, after = module.apply(params, state)
        numbers = [jnp.asarray(x, jnp.float32) for x in jax.tree.leaves(output) if is_floating(x)]
        return sum(map(jnp.sum, numbers), jnp.float32(0)), after

    if not any(map(is_floating, jax.tree.leaves(params))):
        skip(_("no param is a floating-point number"))
    grads, _after = jax.grad(loss_fn, has_aux=True, allow_int=True)(params)
    return _not_finite("gradient", grads)


@law(_("evaluation does not change the state"), "haiku/batch_norm")
def evaluation_keeps_state(module: Subject) -> Sentence | None:
    after = _evaluated(module)[1]
    return module.difference({"state": after}, {"state": module.trained[1]}, allowed=0)


@law(_("evaluation does not depend on the random key"), "haiku/randomness")
def evaluation_ignores_the_key(module: Subject) -> Sentence | None:
    return _moved_by_key(module, _evaluated(module))


@law(
    _(
        "in evaluation, if each row of the inputs is an example, its output does not depend on the "
        "other rows or on its place among them"
    ),
    "haiku/batch_norm",
)
def examples_are_independent(module: Subject) -> Sentence | None:
    result, rows = _evaluated(module), _rows(module)
    if _moved_by_key(module, result):
        skip(_("the result of a call in evaluation is random"))
    whole = result[0]
    half = rows // 2
    for first in (0, 1, rows - half):  # pairs of rows are not torn apart by halves alone
        part = slice(first, first + half)
        inputs = jax.tree.map(lambda x: x[part], module.inputs)  # noqa: B023
        output = _of_fewer_rows(module, inputs, module.evaluation)[0]
        if str(jax.tree.structure(output)) != str(jax.tree.structure(whole)):
            skip(_("the structure of the output depends on the number of rows"))
        pairs = leaves_by_path(output=whole), leaves_by_path(output=output)
        lengths = {
            path: (np.shape(x)[:1], np.shape(pairs[1][path])[:1]) for path, x in pairs[0].items()
        }
        of_rows = [path for path, both in lengths.items() if both == ((rows,), (half,))]
        if not of_rows:
            skip(_("no part of the output has a row for each example"))
        one, other = {p: pairs[1][p] for p in of_rows}, {p: pairs[0][p][part] for p in of_rows}
        if found := _compared(module, one, other):
            return found
    return None


@law(
    _(
        "devices that share a batch, for which `vmap` stands in, all have the same state, the "
        "state of the whole batch"
    ),
    "update/meshes",
)
def devices_agree(module: Subject) -> Sentence | None:
    if module.evaluation is None and module.axis_name is None:
        skip(NO_AXIS)
    rows = _rows(module)
    if module.is_per_device:
        skip(_("each device is meant to keep its own state"))
    if not jax.tree.leaves(module.start[1]):
        skip(_("there is no state"))
    params, state = module.start
    count = next(n for n in (4, 3, 2, rows) if rows % n == 0)
    parts = jax.tree.map(
        lambda x: jnp.reshape(x, (count, rows // count, *np.shape(x)[1:])), module.inputs
    )
    _of_fewer_rows(module, jax.tree.map(lambda x: x[0], parts), module.train)
    apply = functools.partial(module.apply, params, state, has_axis=False)
    _output, states = jax.vmap(apply, axis_name=module.axis_name or "devices")(parts)
    first = jax.tree.map(lambda x: x[0], states)
    for device in range(1, count):
        other = jax.tree.map(lambda x: x[device], states)  # noqa: B023
        if drift := _compared(module, {"state": other}, {"state": first}):
            return drift
    if module.is_random:
        skip(
            _(
                "the devices agree, but their state is random, so it cannot be compared with that "
                "of the whole batch"
            )
        )
    return _compared(module, {"state": first}, {"state": module.trained[1]})


@law(
    _(
        "floating-point state that is computed from earlier state has at least 32 bits, even for "
        "inputs in half precision"
    ),
    "update/mixed_precision",
)
def state_stays_float32(module: Subject) -> Sentence | None:
    if not any(map(is_floating, jax.tree.leaves(module.start[1]))):
        skip(_("no state is a floating-point number"))
    starts = [(*module.start, module.inputs)]
    if any(map(is_floating, jax.tree.leaves(module.inputs))):
        inputs = jax.tree.map(
            lambda x: jnp.asarray(x, jnp.bfloat16) if is_floating(x) else x, module.inputs
        )
        try:
            starts.append((*module.init(inputs), inputs))
            module.apply(*copied(starts[-1]))
        except Exception:
            skip(_("the module does not take inputs in half precision"))
    for params, state, inputs in starts:
        state = module.apply(*copied((params, state, inputs)))[1]
        given = [
            jax.tree.map(lambda x: scale * x + by if _is_narrow(x) else x, state)  # noqa: B023
            for scale, by in PROBES
        ]
        made = [module.apply(*copied((params, each, inputs)))[1] for each in given]
        before, after = ([leaves_by_path(state=tree) for tree in trees] for trees in (given, made))
        for path, leaf in after[0].items():
            values = ([each.get(path) for each in trees] for trees in (before, after))
            if _is_narrow(leaf) and _is_computed(*values):
                return Sentence(_("{path}: {kind}"), path=path, kind=jnp.result_type(leaf).name)
    return None


def _is_narrow(leaf: Any) -> bool:
    return is_floating(leaf) and jnp.result_type(leaf).itemsize < 4


def _is_computed(before: list[Any], after: list[Any]) -> bool:
    """Whether some state depends on earlier state and is more than a number of it, stored.

    A maximum gives a number of the state, or another one that does not depend on the state.
    """
    pairs = zip(np.asarray(before, np.float32), np.asarray(after, np.float32), strict=True)
    new = [np.where(np.isin(made, given), np.nan, made) for given, made in pairs]
    return bool(np.any(functools.reduce(np.fmax, new) > functools.reduce(np.fmin, new)))


@law(
    _(
        "if a shift of all inputs by the same number does not change the output, inputs with a "
        "mean of 1e4 give finite results"
    ),
    "how_to/far_from_zero",
)
def far_from_zero_is_finite(module: Subject) -> Sentence | None:
    if not any(map(is_floating, jax.tree.leaves(module.inputs))):
        skip(NO_FLOATS)
    near, shifted, far = (
        named(module.apply(*module.start, _shifted(module.inputs, by))) for by in (0.0, SHIFT, FAR)
    )
    if not any(map(is_floating, jax.tree.leaves(near["output"]))):
        skip(NO_OUTPUT)
    if any(_not_finite(name, near[name]) for name in near):
        skip(_("the result is not finite for the inputs as they are"))
    one, other = ({"output": each["output"]} for each in (near, shifted))
    if module.difference(one, other, allowed=SAME):
        skip(_("the output changes if all inputs are shifted by the same number"))
    return next(filter(None, (_not_finite(name, far[name]) for name in far)), None)


def _shifted(tree: Any, by: float) -> Any:
    return jax.tree.map(lambda x: x + by if is_floating(x) else x, copied(tree))


@law(_("params and state are the same after they have been saved and loaded"), "update/checkpoints")
def saving_keeps_everything(module: Subject) -> Sentence | None:
    params, state = module.start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.npz"
        try:
            save_numpy(path, to_numpy(params, state))
        except ArgumentError as error:
            skip(_("they cannot be saved as NumPy arrays: {problem}"), problem=error.what)
        loaded = from_numpy(load_numpy(path), params, state)
    one, other = (
        dict(zip(("params", "state"), each, strict=True)) for each in (loaded, (params, state))
    )
    return module.difference(one, other, allowed=0)


def _compared(module: Subject, one: Any, other: Any) -> Sentence | None:
    """Return how two results differ; leave the law out if rounding alone may do that."""
    if found := module.difference(one, other):
        return found
    if module.allowed == np.inf:
        skip(_("rounding alone changes the result too much"))
    return None


def _moved_by_key(module: Subject, result: tuple[Any, Any]) -> Sentence | None:
    """Return how the result of a call in evaluation differs under another key."""
    others = (named(module.evaluate(key)) for key in (module.key, module.other_key))
    again, other = (module.difference(named(result), each, allowed=0) for each in others)
    if again:
        skip(_("the same call gives another result each time: see apply_is_deterministic"))
    return other


def _evaluated(module: Subject) -> tuple[Any, Any]:
    if module.evaluation is None:
        skip(NO_FLAGS)
    return module.evaluated


def _rows(module: Subject) -> int:
    """Return the length of the leading axis, which all inputs share."""
    leaves = jax.tree.leaves(module.inputs)
    if any(is_key(x) and np.shape(x) == (() if is_typed_key(x) else (2,)) for x in leaves):
        skip(_("an input looks like one random key for all rows"))
    lengths = {np.shape(leaf)[:1] for leaf in leaves}
    rows = next(iter(lengths), ())
    if len(lengths) != 1 or not rows or rows[0] < 2:
        skip(_("the inputs do not share a leading axis of at least two rows"))
    return int(rows[0])


def _of_fewer_rows(module: Subject, inputs: Any, flags: Any) -> Any:
    """Call the module with a part of the rows; leave the law out if it is not made for that."""
    try:
        if describe_tree(module.start) != describe_tree(tuple(module.init(inputs))):
            skip(ROWS_IN_SHAPES)
        return module.apply(*module.trained, inputs, flags=flags)
    except unittest.SkipTest:
        raise
    except Exception:
        module.apply(*module.trained, flags=flags)  # what fails here too is not about the rows
        skip(FIXED_ROWS)


def _not_finite(what: str, tree: Any) -> Sentence | None:
    for path, leaf in leaves_by_path(**{what: tree}).items():
        if is_inexact(leaf) and not bool(jnp.all(jnp.isfinite(leaf))):
            return Sentence(_("{path} is not finite"), path=path)
    return None
