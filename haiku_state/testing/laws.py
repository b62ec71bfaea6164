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
    STRUCTURES,
    Subject,
    copied,
    is_floating,
    is_inexact,
    is_typed_key,
    named,
    unused,
)

CALLS = 3
FAR = 1e4
SHIFT, SAME = 30.0, 1e-2
"""A shift, and the relative difference up to which an output counts as unchanged by it."""

NO_FLAGS = _(
    "no call in evaluation is known: name its flag `is_training`, or pass `train` and `evaluation`"
)
NO_AXIS = _(
    "without a call in evaluation, it is not known whether the rows of the inputs are examples: if "
    'they are, pass `axis_name="devices"`'
)
NO_FLOATS = _("no input is a floating-point number")
ROWS_IN_SHAPES = _("a shape of the params or of the state depends on the number of rows")


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


@law(_("no tracer remains after a trace"), "haiku/jax_inside_haiku")
def no_tracer_is_left(module: Subject) -> Sentence | None:
    try:
        for flags in _modes(module):
            with jax.checking_leaks():
                jax.eval_shape(module.traced(flags), *unused((*module.start, module.inputs)))
    except Exception as error:
        if "eaked trace" not in str(error):
            skip(_("the module cannot be traced: see jit_equals_eager"))
        held = re.search(r"is referred to by ([^<\s].*)", str(error))
        by = held[1] if held else str(error).strip().splitlines()[-1]
        return Sentence(_("a tracer remains, referred to by {by}"), by=by)
    return None


@law(
    _("`apply` returns the same result for the same arguments and does not change them"),
    "pure/index",
)
def apply_is_deterministic(module: Subject) -> Sentence | None:
    results = []
    for _call in range(CALLS):
        given = copied((*module.start, module.inputs))
        before = dict(zip(("params", "state", "inputs"), copied(given), strict=True))
        results.append(named(module.apply(*given)))
        after = dict(zip(("params", "state", "inputs"), given, strict=True))
        if changed := module.difference(after, before, allowed=0):
            return changed
    found = (module.difference(result, results[0], allowed=0) for result in results[1:])
    return next(filter(None, found), None)


@law(
    _("`apply` returns a state with the names, shapes and dtypes of the state that it takes"),
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
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(unused, many))
    mapped = jax.vmap(lambda one: module.apply(params, *one))(stacked)
    looped = [module.apply(params, *copied(one)) for one in many]
    expected = jax.tree.map(lambda *leaves: jnp.stack(leaves), *looped)
    return _compared(module, named(mapped), named(expected))


@law(
    _("the gradient of the sum of all outputs with respect to the params exists and is finite"),
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
        "other rows"
    ),
    "haiku/batch_norm",
)
def examples_are_independent(module: Subject) -> Sentence | None:
    result, rows = _evaluated(module), _rows(module)
    if _moved_by_key(module, result):
        skip(_("the result of a call in evaluation is random"))
    whole = result[0]
    half = rows // 2
    for part in (slice(0, half), slice(rows - half, rows)):
        inputs = jax.tree.map(lambda x: x[part], module.inputs)  # noqa: B023
        _check_shapes_of(module, inputs)
        output = module.apply(*module.trained, inputs, flags=module.evaluation)[0]
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
        "under `pmap` and `shard_map`, devices that share a batch all have the same state, the "
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
    _check_shapes_of(module, jax.tree.map(lambda x: x[0], parts))
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
        "state that is computed from earlier state has at least 32 bits, even for inputs in half "
        "precision"
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
            module.apply(*starts[-1])
        except Exception:
            skip(_("the module does not take inputs in half precision"))
    for params, state, inputs in starts:
        state = module.apply(params, state, inputs)[1]
        other = jax.tree.map(lambda x: 2 * x + 1 if _is_narrow(x) else x, state)
        trees = [state, *(module.apply(params, each, inputs)[1] for each in (state, other))]
        before, after, moved = (leaves_by_path(state=tree) for tree in trees)
        for path, leaf in after.items():
            if _is_narrow(leaf) and _is_computed(before.get(path), leaf, moved.get(path)):
                return Sentence(_("{path}: {kind}"), path=path, kind=jnp.result_type(leaf).name)
    return None


def _is_narrow(leaf: Any) -> bool:
    return is_floating(leaf) and jnp.result_type(leaf).itemsize < 4


def _is_computed(before: Any, after: Any, moved: Any) -> bool:
    """Whether some state depends on earlier state and is more than a number of it, stored."""
    before, after, moved = (np.asarray(leaf, np.float32) for leaf in (before, after, moved))
    return bool(np.any((after != moved) & ~np.isin(after, before)))


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
    try:
        arrays = to_numpy(params, state)
    except ArgumentError as error:
        skip(_("they cannot be saved as NumPy arrays: {problem}"), problem=error.what)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.npz"
        save_numpy(path, arrays)
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


def _modes(module: Subject) -> list[Any]:
    """Return the keyword arguments of a call in training, and of one in evaluation."""
    return [module.train, *([] if module.evaluation is None else [module.evaluation])]


def _moved_by_key(module: Subject, result: tuple[Any, Any]) -> Sentence | None:
    """Return how the result of a call in evaluation differs under another key."""
    other = module.apply(*module.trained, flags=module.evaluation, key=module.other_key)
    return module.difference(named(result), named(other), allowed=0)


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


def _check_shapes_of(module: Subject, inputs: Any) -> None:
    """Leave the law out if a part of the rows has other params or another state."""
    if describe_tree(module.start) != describe_tree(tuple(module.init(inputs))):
        skip(ROWS_IN_SHAPES)


def _not_finite(what: str, tree: Any) -> Sentence | None:
    for path, leaf in leaves_by_path(**{what: tree}).items():
        if is_inexact(leaf) and not bool(jnp.all(jnp.isfinite(leaf))):
            return Sentence(_("{path} is not finite"), path=path)
    return None
