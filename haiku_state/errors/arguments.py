"""Rejected arguments: one function for each case, with its reason, and lines where they are sure.

Most are arguments; the folder of a checkpoint and a process that cannot start are here too, because
the algorithms that reject them hold no texts. A value that is out of range needs no lines, because
the expected range says what to write.
"""

import functools
import inspect
import os
import re
import reprlib
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.compat import has_explicit_axes, is_committed
from haiku_state.errors.base import ArgumentError, HaikuStateError, as_lines
from haiku_state.errors.describe import (
    describe,
    describe_tree,
    division_error,
    leading_axis_error,
    leaves_by_path,
    with_dicts,
)
from haiku_state.errors.functionalize import AttributeKindError, StaticAttributeError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.errors.modules import TracedFlagError
from haiku_state.errors.pairs import UncalledModuleError
from haiku_state.errors.processes import ProcessStartError
from haiku_state.errors.recipes import LossScaleError
from haiku_state.errors.storage import CheckpointDirectoryError
from haiku_state.errors.updates import (
    BatchDivisionError,
    DeviceCountError,
    LeadingAxisError,
    MeshPlacementError,
    ReplicaMismatchError,
)


def _rejected(
    more: str, argument: str, value: Any, expected: Any, why: str, **lines: str
) -> ArgumentError:
    """Make the error for one argument, with the page to read more on."""
    return ArgumentError(
        argument=argument, value=value, expected=expected, why=why, more=more, **lines
    )


AT_LEAST_1 = _("an integer of at least 1")

_of_modules = functools.partial(_rejected, "api/modules")
_of_pure = functools.partial(_rejected, "api/pure")
_of_pair = functools.partial(_rejected, "haiku/pure_pair")
_of_update = functools.partial(_rejected, "api/update")
_of_step = functools.partial(_rejected, "update/jitted_update")
_of_data = functools.partial(_rejected, "api/data")
_of_recipes = functools.partial(_rejected, "api/recipes")
_of_storage = functools.partial(_rejected, "api/storage")
_of_explain = functools.partial(_rejected, "api/explain")
_of_testing = functools.partial(_rejected, "api/testing")
_of_processes = functools.partial(_rejected, "api/processes")


# ---- Modules


def decay_rate(value: float, more: str = "api/modules") -> ArgumentError:
    """A weight of the past that is out of range."""
    why = _(
        "the average so far is weighted by decay_rate and the new value by 1 - decay_rate, so "
        "decay_rate must not be negative and must be less than 1"
    )
    return _rejected(more, "decay_rate", value, _("a number in [0, 1)"), why)


def warmup_length(value: int) -> ArgumentError:
    """A number of calls before the past counts that is negative, or that nothing would use."""
    if value < 0:
        why = _(
            "warmup_length is the number of calls at the beginning in which the average is the "
            "newest value"
        )
        return _of_modules("warmup_length", value, _("a number of at least 0"), why)
    why = _(
        "zero_debias corrects an average that starts at zero, but a warm-up starts the average at "
        "the first values"
    )
    return _of_modules("warmup_length", value, _("0 with zero_debias=True"), why)


def read_flag(name: str, value: Any) -> bool:
    """Read a flag that chooses what is computed; reject what is no bool, or has no value."""
    if not (isinstance(value, int) or hasattr(value, "dtype")):
        why = _(
            "Python treats every value as either true or false, so a mistake would not be noticed: "
            "the string 'False' counts as true, and None as false"
        )
        raise _of_modules(name, repr(value), _("a bool"), why)
    try:
        return bool(value)
    except jax.errors.TracerBoolConversionError as error:
        call = "init" if hk.running_init() else "apply"
        raise TracedFlagError(name=name, call=call) from error


def not_floating(argument: str, value: jax.Array) -> ArgumentError:
    """An array of integers, whose mean is usually not an integer."""
    expected = _("an array of a floating dtype")
    why = _("the mean of integers is usually not an integer, so it would be rounded")
    if not hasattr(value, "dtype"):
        why = _("a normalization module takes one array: pass only this array, not the whole batch")
    return _of_modules(argument, describe_tree(value), expected, why)


def reduced_axes(inputs: jax.Array, axis: Any) -> ArgumentError:
    """Inputs without an axis to average over."""
    if axis is None:
        why = _("the mean of one example is the example itself, so the output would be 0")
        return _of_modules("inputs", describe(inputs), _("an array of rank 2 or more"), why)
    why = _("the mean and the variance are computed over the axes in this tuple")
    expected = _("a tuple of one or more axes of the inputs")
    return _of_modules(f"axis (inputs: {describe(inputs)})", axis, expected, why)


def batch_norm(norm: Any) -> ArgumentError | None:
    """Arguments of a :class:`.BatchNorm` that are out of range, or that nothing would use."""
    if not norm.eps >= 0:
        why = _(
            "eps is added to the variance, which may be 0, and then the square root is taken, so "
            "eps must not be negative"
        )
        return _of_modules("eps", norm.eps, _("a number of at least 0"), why)
    for argument, setting in (
        ("scale_init", "create_scale=False"),
        ("offset_init", "create_offset=False"),
        ("cross_replica_axis_index_groups", "cross_replica_axis=None"),
    ):
        value, is_used = getattr(norm, argument), getattr(norm, setting.partition("=")[0])
        if value is not None and not is_used:
            return _ignored(argument, value, setting)
    return None


def batch_norm_call(
    norm: Any, axis: tuple[int, ...], inputs: Any, scale: Any, offset: Any, mask: Any
) -> ArgumentError | None:
    """Inputs that a :class:`.BatchNorm` cannot normalize, or that do not fit its arguments."""
    if not jnp.issubdtype(inputs.dtype, jnp.floating):
        return not_floating("inputs", inputs)
    if not axis and (norm.axis not in (None, (), []) or not norm.cross_replica_axis):
        return reduced_axes(inputs, norm.axis)
    if norm.create_scale and scale is not None:
        return _ignored("scale", scale, "create_scale=True")
    if norm.create_offset and offset is not None:
        return _ignored("offset", offset, "create_offset=True")
    if mask is not None and mask.shape != inputs.shape[: mask.ndim]:
        why = _("a mask has one entry for each row, 1 for a real row and 0 for a padded row")
        return _of_modules("mask", describe(mask), f"[{inputs.shape[0]}]", why)
    return None


def _ignored(argument: str, value: Any, setting: str) -> ArgumentError:
    """An argument that another argument makes meaningless."""
    shown = describe(value) if hasattr(value, "dtype") else getattr(value, "__name__", value)
    why = _("with this combination of arguments, one of them would be silently ignored")
    return _of_modules(argument, shown, f"None ({setting})", why)


# ---- Pairs and states


def module(given: Any) -> ArgumentError:
    """What :func:`.pure_pair` cannot make a pair of."""
    shown = repr(given)
    why = _("each call to init or apply constructs the module or calls the function")
    if isinstance(given, type):
        shown = given.__name__
        why = _(
            "an ordinary class keeps its state in attributes: use functionalize, which turns the "
            "attributes into an argument and a result"
        )
    expected = _("a module class or a function")
    return _of_pair("module", shown, expected, why)


def uncalled(module: Any) -> UncalledModuleError:
    """A module that a function has constructed but not called."""
    return UncalledModuleError(module=type(module).__name__)


def made_in_loop(names: str) -> ArgumentError:
    """Modules that are made in the body of ``hk.scan`` or ``hk.map``."""
    argument = f"hk.map(f, xs), hk.scan(f, init, xs): f ({names})"
    value = _("a function that creates params")
    expected = _("a function that only uses modules created outside the loop")
    why = _("each iteration of the loop would create its own params under a different name")
    return _rejected("haiku/jax_inside_haiku", argument, value, expected, why)


def mapped_state(path: str) -> ArgumentError:
    """State that ``hk.vmap`` would give one value for each row."""
    why = _(
        "hk.vmap uses the same params and state for all rows, but a module that computes its state "
        "from a single row would give each row a different state: call such a module outside of "
        "hk.vmap, on all rows"
    )
    return _rejected(
        "haiku/jax_inside_haiku",
        path,
        _("one value for each row"),
        _("one value for all rows"),
        why,
    )


# ---- Classes


def functionalized_class(given: Any) -> ArgumentError:
    """What :func:`.functionalize` cannot take apart."""
    name = getattr(given, "__name__", None) or f"{type(given).__name__}(…)"
    why = _(
        "functionalize turns the attributes of a class's instances into state; a Haiku module or a "
        "function keeps its state elsewhere"
    )
    return _of_pure("cls", name, _("an ordinary Python class"), why)


def no_method(name: str, public: list[str]) -> ArgumentError:
    """A name that is not a method of a class, or that is already taken."""
    why = _(
        "each entry must be the name of a public method or property and appear only once; `init` "
        "stands for the constructor"
    )
    return _of_pure("methods", repr(name), ", ".join(public) or "()", why)


def wrapped_method(cls: type, name: str, kind: type) -> ArgumentError:
    """A method that something has wrapped, so that it keeps what it knows elsewhere."""
    why = _(
        "a wrapper may keep results or a compiled program of one instance, but each call runs on a "
        "new instance: apply jit or a cache to the pure function instead"
    )
    shown, expected = f"{kind.__module__}.{kind.__name__}", _("a plain function or a property")
    return _of_pure(f"{cls.__name__}.{name}", shown, expected, why)


def large_number(value: int, path: str) -> ArgumentError:
    """An integer that does not fit into an integer of JAX."""
    range_of = np.iinfo(jnp.result_type(int))
    why = _(
        "a number in an attribute is part of the state, which JAX keeps in 32 bits unless "
        "jax_enable_x64 is set; if no method changes the number, you can name its attribute in "
        "static instead"
    )
    return _of_pure(path, value, f"{range_of.min}–{range_of.max}", why)


def static_names(unknown: Iterable[str]) -> ArgumentError:
    """Names in ``static`` that no number of the instance has."""
    why = _(
        "each name must be that of an attribute of the instance or, as in `buffer.size`, of an "
        "object that the instance holds"
    )
    expected = _("names of attributes that are not arrays")
    return _of_pure("static", ", ".join(map(repr, sorted(unknown))), expected, why)


def kind_of_output(output: Any, method: str) -> AttributeKindError:
    """A method that returns an object of the state, or what runs on after the call."""
    why = _(
        "the pure function already returns the new state, so the method itself must return values: "
        "not an object of the state, and not a generator or a coroutine"
    )
    return AttributeKindError(path=f"{method}()", kind=type(output).__name__, why=why)


def class_attribute(method: str, changed: Sequence[str]) -> StaticAttributeError:
    """A method that assigned attributes of its class."""
    return StaticAttributeError(
        method=method,
        changes=as_lines(changed),
        why=_(
            "all instances share an attribute of the class, so it is not part of the state of a "
            "single instance: create the attribute in the constructor as an attribute of self"
        ),
    )


def skeleton_changed(method: str, before: Any, after: Any, static: type) -> StaticAttributeError:
    """A method has changed what is not state: a static value, a container, or an attribute."""

    def parts(state: Any) -> dict[str, Any]:
        leaves = jax.tree_util.tree_leaves_with_path(state, lambda node: isinstance(node, static))
        return {f"self{jax.tree_util.keystr(path)}": leaf for path, leaf in leaves}

    old, new = parts(before), parts(after)
    changed = [p for p in old if p in new and _skeleton(old[p]) != _skeleton(new[p])]
    lines = [f"{path}: {old[path]!r} -> {new[path]!r}" for path in changed]
    lines += [f"- {path}" for path in old if path not in new]
    lines += [f"+ {path}" for path in new if path not in old]
    lines = lines or [f"- {before!r}", f"+ {after!r}"]
    texts = {}
    if changed and hasattr(new[changed[0]], "dtype"):
        texts["why"] = _(
            "an attribute that is neither an array nor a number is part of the compiled program, "
            "so a method cannot change it: start with an array of the shape and dtype that the "
            "method assigns"
        )
    elif not changed:
        texts["why"] = _(
            "the constructor must create every attribute, and methods must not change the type of "
            "an attribute or the length of a container"
        )
    changes = as_lines(lines)
    return StaticAttributeError(method=method, changes=changes, **texts)


def _skeleton(node: Any) -> Any:
    return "an array" if hasattr(node, "dtype") else node


def traced_number(names: Iterable[str]) -> TracedFlagError:
    """A number of the state whose value Python needs while JAX traces."""
    why = _(
        "a number in an attribute is part of the state, so JAX passes a tracer in its place, whose "
        "value Python cannot read here. If no method changes it, name it in `static`; if methods "
        "change it, compute with jnp, and choose with jnp.where or jax.lax.cond"
    )
    name = ", ".join(f"self.{name}" for name in names)
    return TracedFlagError(name=name, why=why, more="api/pure")


# ---- Update and evaluation steps


def init_function(given: Any) -> ArgumentError:
    """What is no ``init``, such as the pair that holds one."""
    why = _(
        "init is called with a random key and the inputs; if you have a pure pair, pass its field "
        "init"
    )
    return _of_pair(
        "init", type(given).__name__, _("a function that returns params and state"), why
    )


def uncallable(argument: str, given: Any, *positional: str, **named: Any) -> ArgumentError | None:
    """What cannot be called with these arguments, such as a pair; None if it can.

    Args:
      argument: the name that the caller gives it.
      given: a function, or anything else.
      positional: the names of the arguments of the call.
      named: the arguments that are passed by name.
    """
    try:
        # its own arguments: what it wraps may have others
        inspect.signature(given, follow_wrapped=False).bind(*positional, **named)
    except TypeError:
        shown = type(given).__name__
        if callable(given):
            own = inspect.signature(given, follow_wrapped=False)
            plain = [each.replace(annotation=each.empty) for each in own.parameters.values()]
            shown = f"{_named(given)}{inspect.Signature(plain)}"
        call = ", ".join([*positional, *(f"{name}=…" for name in named)])
        why = _("the function is called with these arguments, in this order")
        return _of_step(argument, shown, f"{argument}({call})", why)
    except ValueError:  # a function of C has no signature
        return None
    return None


def integer_params(params: Any) -> ArgumentError:
    """Params that are not floating, by which no loss can be differentiated."""
    leaves = leaves_by_path(params=params).items()
    path, leaf = next(
        (p, x) for p, x in leaves if not jnp.issubdtype(jnp.result_type(x), jnp.inexact)
    )
    why = _("the loss is differentiated with respect to every parameter: keep integers in state")
    return _of_step(path, describe(leaf), _("an array of a floating dtype"), why)


def train_state(given: Any, expected: str = "TrainState") -> ArgumentError:
    """What is no train state, such as params, a batch, or the whole result of an update."""
    is_pair = isinstance(given, tuple) and len(given) == 2
    why = _(
        "a step takes a train state and a batch, in this order; an update returns a new train "
        "state and the metrics, of which only the train state is passed to the next call"
    )
    shown = "(train_state, metrics)" if is_pair else type(given).__name__
    return _of_step("train_state", shown, expected, why)


def random_key(rng: Any) -> ArgumentError:
    """A value that is not a single random key."""
    lines = {}
    if isinstance(rng, int):
        key = f"jax.random.key({rng})"
        lines = {
            "wrong": f"init_train_state(…, {rng}, …)",
            "right": f"init_train_state(…, {key}, …)",
        }
    value = describe(rng) if hasattr(rng, "dtype") else repr(rng)
    why = _("the train state holds a single random key, which every step splits")
    return _rejected("haiku/randomness", "rng", value, _("a single random key"), why, **lines)


def optimizer(given: Any) -> ArgumentError | None:
    """What is no optimizer, such as the function that makes one; None if it is one."""
    if hasattr(given, "init") and hasattr(given, "update"):
        return None
    why = _("an optimizer is a pair of functions, init and update, such as optax.sgd(0.1) returns")
    return _of_step("optimizer", _named(given), _("an Optax optimizer"), why)


def _named(value: Any) -> str:
    """Write a function or a class by its name, and anything else as a description."""
    return getattr(value, "__name__", None) or describe_tree(value)


def step_result(result: Any) -> ArgumentError:
    """A result of an update step that is not a train state and metrics."""
    why = _(
        "an update step returns a train state and metrics; a step without metrics returns an empty "
        "dict"
    )
    argument, expected = "update(train_state, batch)", "(train_state, metrics)"
    return _of_step(argument, describe_tree(result), expected, why)


def opt_state(optimizer_state: Any, expected: Any, path: str) -> ArgumentError:
    """An opt_state that belongs to a different optimizer."""
    shown, wanted = _structures(optimizer_state, expected)
    why = _("an opt_state fits only the optimizer whose init created it")
    return _of_step(path, shown, wanted, why)


def _structures(*trees: Any) -> list[str]:
    """Write the structures of two PyTrees, of long ones the parts where they begin to differ."""
    texts = [str(jax.tree.structure(with_dicts(tree))) for tree in trees]
    texts = [re.sub(r"^PyTreeDef\((.*)\)$", r"\1", text) for text in texts]
    texts = [re.sub(r"CustomNode\(namedtuple\[(\w+)\], \[", r"\1([", text) for text in texts]
    pairs = enumerate(zip(*texts, strict=False))
    same = next((i for i, (one, other) in pairs if one != other), 0)
    start = max(0, same - 60) if max(map(len, texts)) > 200 else 0
    parts = [text[start:] for text in texts]
    cut = [part if len(part) <= 200 else f"{part[:199]}…" for part in parts]
    return [f"…{part}" for part in cut] if start else cut


def evaluated(result: Any) -> ArgumentError:
    """What an evaluation returns is not its metrics and the state."""
    why = _(
        "the returned state is checked, because evaluation must not learn from the batch: return "
        "the state that apply returns when it is called with is_training=False"
    )
    argument, value = "metrics_fn(params, state, batch)", describe_tree(result)
    return _of_step(argument, value, "(metrics, state)", why)


def weight(given: Any) -> ArgumentError:
    """A weight that is no single number, such as a mask that is not summed."""
    why = _("the weight of a device is a single number, such as the number of its examples")
    return _of_update("weight(batch)", describe_tree(given), _("a scalar"), why)


def uncounted_metrics(rows: Any) -> ArgumentError:
    """Metrics without the number of their examples, such as those of an update."""
    why = _(
        "the means are weighted by their numbers of examples, which only an evaluation step returns"
    )
    names = sorted({name for row in rows for name in row})
    return _of_update("metrics", ", ".join(names), _('metrics with "examples"'), why)


def unequal_parts(rows: int, parts: int) -> BatchDivisionError:
    """A batch that cannot be divided among the processes."""
    why = _(
        "each process gets a part of every batch, and all parts must have the same number of rows"
    )
    return BatchDivisionError(rows=rows, parts=parts, kind=_("parts"), why=why)


def example_metrics(values: Any) -> ArgumentError:
    """Metrics of an evaluation that are not one number for each example."""
    why = _(
        "the evaluation step itself averages over the examples of all devices, without padded "
        "rows, so it needs a value for each example"
    )
    argument, expected = (
        "metrics_fn(params, state, batch)",
        _('named arrays with one entry for each row of the batch, none of them named "examples"'),
    )
    return _of_update(argument, describe_tree(values), expected, why)


# ---- Devices and replicas


def device_number(argument: str, count: int, most: int) -> ArgumentError:
    """A number of devices that is out of range."""
    why = _("each simulated device has its own threads, and no machine has that many real devices")
    return _of_update(argument, count, f"1–{most}", why)


def device_count(wanted: int, started: int, variable: str | None) -> DeviceCountError:
    """More devices than there are: JAX has started, or the environment sets their number."""
    if variable is None:
        return DeviceCountError(wanted=wanted, started=started)
    flag = "--xla_force_host_platform_device_count=" if variable == "XLA_FLAGS" else ""
    why = _(
        "the environment sets the number of CPU devices, and use_devices does not change it: set "
        "the variable to a larger number or unset it"
    )
    wrong, right = (f"{variable}={flag}{number}" for number in (started, wanted))
    return DeviceCountError(wanted=wanted, started=started, wrong=wrong, right=right, why=why)


def devices(given: Any, call: str) -> ArgumentError | None:
    """What is no list of devices, such as a name or a number; None if it is one."""
    if given is None or (isinstance(given, Iterable) and not isinstance(given, str)):
        return None
    why = _(
        "in all functions of this package, the argument for the devices comes before the axis name"
    )
    fitting = {str: f'axis_name="{given}"', int: f"jax.devices()[:{given}]"}.get(type(given))
    if given in ("cpu", "gpu", "tpu", "cuda", "rocm"):
        fitting = f'jax.devices("{given}")'
    lines = {}
    if fitting and given != 0:
        shown = f'"{given}"' if isinstance(given, str) else str(given)
        lines = {"wrong": call.format(shown), "right": call.format(fitting)}
    return _of_update("devices", repr(given), _("a list of devices"), why, **lines)


def batches_axis(batch: Any) -> LeadingAxisError | None:
    """Stacked batches whose leaves do not share their leading axis; None if they do."""
    why = _(
        "entry i along the leading axis of every leaf must belong to batch i, as in the results of "
        "`feed_all` and `stack_batches`"
    )
    return leading_axis_error({"batch": batch}, why=why, more="update/many_steps")


def members_axis(train_state: Any, batch: Any) -> LeadingAxisError | None:
    """A train state without members, or a batch that should have members; None if both have them.

    Args:
      train_state: what has the members.
      batch: None where the members share it.
    """
    trees = {"train_state": train_state, "batch": batch}
    why = _(
        "entry i along the leading axis of every leaf must belong to member i, as in the results "
        "of `place` and `feed`"
    )
    return leading_axis_error(trees, why=why, more="update/many_steps")


def members_already(train_state: Any) -> ArgumentError | None:
    """A train state that has members, or copies, already; None if its random keys are single."""
    for path, leaf in leaves_by_path(train_state=train_state).items():
        dtype = jnp.result_type(leaf)
        if jnp.issubdtype(dtype, jax.dtypes.prng_key) and np.ndim(leaf):
            why = _(
                "`place` makes a random key for each member from a single key, so it cannot take a "
                "train state that already has members or copies"
            )
            return _rejected(
                "update/many_steps", path, describe(leaf), _("a single random key"), why
            )
    return None


def devices_axis(train_state: Any, batch: Any, count: int) -> LeadingAxisError | None:
    """A train state or a batch without an entry for each device; None if both have them."""
    trees = {"train_state": train_state, "batch": batch}
    return leading_axis_error(trees, count, why=_BY_PMAP, more="update/pmapped_update")


def replicas_axis(**trees: Any) -> LeadingAxisError | None:
    """A tree, by its name, that has no replicas; None if it has."""
    return leading_axis_error(trees, why=_BY_PMAP, more="update/pmapped_update")


_BY_PMAP = _(
    "pmap gives entry i of the leading axis to device i; `place` and `feed` of a runner add this "
    "axis, and `unreplicate` removes it"
)


def replicas_differ(drifted: dict[str, float], axis_name: str) -> ReplicaMismatchError:
    """Replicas that drifted apart."""
    spreads = (f"{path.lstrip('.')} by {spread:.3g}" for path, spread in drifted.items())
    return ReplicaMismatchError(paths=as_lines(spreads), axis=axis_name)


def processes_differ(different: Iterable[str]) -> ReplicaMismatchError:
    """Train states that are not the same in all processes."""
    why = _(
        "each process creates its own copy of the train state, so all processes must start from "
        "the same seed or the same file"
    )
    return ReplicaMismatchError(paths=as_lines(different), why=why)


def batches_differ(everywhere: Sequence[tuple[int, Mapping[str, str]]]) -> ArgumentError | None:
    """Batches whose number, or kind, is not the same in all processes; None if they are."""
    name = translated(_("batch number"))
    first, *others = ({name: number, **kinds} for number, kinds in everywhere)
    differing = [
        f"{path}: {first.get(path)} (process 0), {other.get(path)} (process {i})"
        for i, other in enumerate(others, 1)
        for path in {**first, **other}
        if first.get(path) != other.get(path)
    ]
    why = _("all processes run the same program on equal parts of the same batch")
    expected = _("arrays with the same shapes and dtypes in all processes")
    return _of_processes("batch", "; ".join(differing), expected, why) if differing else None


def mesh(given: Any, axis_name: str | None) -> ArgumentError | None:
    """What is no mesh, or an axis that it does not have; None if it is a mesh with this axis."""
    if not hasattr(given, "axis_names"):
        why = _(
            "a mesh arranges the devices along an axis with a name, and data_mesh creates such a "
            "mesh"
        )
        return _of_update("mesh", describe_tree(given), _("a mesh"), why)
    if axis_name is not None and axis_name not in given.axis_names:
        why = _("the batch is split along this axis, so it must be an axis of the mesh")
        return _of_update("axis_name", repr(axis_name), ", ".join(map(repr, given.axis_names)), why)
    return explicit_mesh(given) if has_explicit_axes(given) else None


def explicit_mesh(mesh: Any) -> ArgumentError:
    """A mesh whose axes are explicit."""
    why = _(
        "along Auto axes, the compiler decides how each result is sharded; along explicit axes, "
        "the loss function may have to specify the sharding"
    )
    expected = _("a mesh with `axis_types=(jax.sharding.AxisType.Auto,) * {axes}`")
    expected = translated(expected).format(axes=mesh.devices.ndim)
    return _rejected("update/explicit_axes", "mesh", mesh, expected, why)


def unplaceable(path: str, leaf: Any, spec: Any, mesh: Any) -> MeshPlacementError:
    """A leaf that a mesh cannot hold as a rule says."""
    why = _(
        "a rule has at most one entry for each axis of the leaf. An entry names axes of the mesh, "
        "and the number of devices along these axes must divide the length of the leaf's axis"
    )
    shape, axes = jnp.shape(leaf), dict(mesh.shape)
    return MeshPlacementError(path=path, shape=shape, found=spec, mesh=axes, why=why)


def other_train_state(given: Any, first: Any) -> ArgumentError | None:
    """A train state of another structure than the first one had; None if it has the same."""
    if jax.tree.structure(given) == first:
        return None
    why = _(
        "a step on a mesh is compiled for the structure of its first train state. A different "
        "optimizer or model changes the structure: make a separate runner for it"
    )
    shown, expected = _structures(given, jax.tree.unflatten(first, [0] * first.num_leaves))
    return _of_update("train_state", shown, expected, why)


def batch_elsewhere(batch: Any, place: Any) -> ArgumentError | None:
    """Rows on other devices, or copied to all of them; None if they lie where the step needs them.

    Args:
      batch: what was passed to a runner.
      place: where the runner's ``feed`` puts rows.
    """
    for path, leaf in leaves_by_path(batch=batch).items():
        if is_committed(leaf) and not leaf.sharding.is_equivalent_to(place, leaf.ndim):
            why = _(
                "a step needs the rows of each device on that device: pass an undivided batch to "
                "`feed`, which puts the rows there"
            )
            return _of_update(path, str(leaf.sharding), str(place), why)
    return None


def traced_replicas(path: str) -> ArgumentError:
    """Replicas of which there are no numbers yet, because JAX is tracing."""
    why = _(
        "replicas are compared by their values, which tracers do not provide: a runner compiles "
        "its step itself, so call it outside of `jit`, `grad` and `scan`, or pass "
        "check_replicas=False"
    )
    return _of_update(path, _("traced"), _("an array"), why)


def compiled_step(step: Any) -> ArgumentError:
    """A step that something has compiled, which can no longer be given the name of an axis."""
    why = _(
        "the runner itself compiles the step, together with the axis name: pass the step that "
        "make_update or make_evaluate returns"
    )
    return _of_update("update", type(step).__name__, _("a step that is not compiled"), why)


def copied_already(tree: Any) -> ArgumentError | None:
    """A tree whose parts lie on several devices, as its copies do; None if none of them do."""
    for path, leaf in leaves_by_path(tree=tree).items():
        if not getattr(leaf, "is_fully_replicated", True):
            why = _("copies are made from a single replica, which the `one` of a runner returns")
            return _of_update(path, str(leaf.sharding), _("an array on one device"), why)
    return None


def misplaced(path: str, leaf: Any, place: Any, mesh: Any) -> MeshPlacementError:
    """A leaf that is not where a step on a mesh needs it."""
    shape, axes = jnp.shape(leaf), dict(mesh.shape)
    return MeshPlacementError(path=path, shape=shape, found=place, mesh=axes)


# ---- Data


def batch_data(data: Any) -> ArgumentError:
    """Arrays without rows, or with different numbers of rows."""
    expected = _("arrays with the same number of rows, at least 1")
    why = _("row i of every array must belong to the same example")
    return _of_data("data", describe_tree(data), expected, why)


def remainder(given: Any) -> ArgumentError:
    """A value that is none of the three ways to treat the last rows."""
    why = _(
        "remainder says what to do with the last rows if batch_size does not divide the number of "
        "rows"
    )
    return _of_data("remainder", repr(given), _('"drop", "keep" or "pad"'), why)


def unnamed_mask(data: Any) -> ArgumentError:
    """Data without names, among which the mask of the padded rows would have its place."""
    why = _(
        "each batch gets a mask of its real rows, which is added under a name, so the data must "
        "have names too"
    )
    return _of_data("data", describe_tree(data), _("named arrays"), why)


def batch_size(given: Any, rows: int, drops: bool) -> ArgumentError:
    """A size that gives no batch of so many rows, where the last partial one is dropped or kept."""
    why = _('a batch has at least one row; "drop" drops the rows that do not fill a batch')
    return _of_data("batch_size", repr(given), f"1, …, {rows}" if drops else AT_LEAST_1, why)


def seed(given: Any, expected: str) -> ArgumentError:
    """A seed that NumPy or scikit-learn does not take."""
    why = _(
        "the seed determines the order of the rows: the same seed gives the same rows in the same "
        "order"
    )
    return _of_data("seed", repr(given), expected, why)


def test_fraction(given: Any) -> ArgumentError:
    """A fraction that leaves no rows, or not one of each class, to one of the two sets."""
    why = _(
        "the training set and the test set both need rows, and with the digits at least one row of "
        "each class"
    )
    return _of_data(
        "test_fraction", repr(given), _("between 0 and 1, with rows for both sets"), why
    )


def skip(given: Any) -> ArgumentError:
    """A negative number of batches to skip."""
    why = _("skip is the number of batches to skip at the beginning")
    return _of_data("skip", repr(given), _("an integer of at least 0"), why)


def part(given: Any) -> ArgumentError:
    """A part that is not one of as many as it says."""
    why = _("process i of n gets part i, counted from 0")
    return _of_data("part", repr(given), "(i, n), 0 ≤ i < n", why)


def no_batches_to_stack(given: Any) -> ArgumentError:
    """Data, or one batch, in the place of batches."""
    why = _("batches(data, batch_size) makes batches from data; put a single batch in a list")
    return _of_data("batches", describe_tree(given), _("an iterable of batches"), why)


def stack_count(given: Any) -> ArgumentError:
    """A stack of no batches."""
    return _of_data("count", repr(given), AT_LEAST_1, _("a stack must hold at least one batch"))


# ---- Recipes


def loss_scale(given: Any) -> ArgumentError:
    """A loss scale that does not come from jmp."""
    why = _("an object of jmp also determines how the scale changes from step to step")
    return _of_recipes("loss_scale", repr(given), _("a jmp loss scale"), why)


def scaled_twice() -> LossScaleError:
    """An optimizer whose loss would be scaled twice."""
    return LossScaleError(problem=_("the loss would be scaled twice"))


def unscaled_gradients() -> LossScaleError:
    """Gradients of a loss that was not scaled."""
    return LossScaleError(problem=_("the gradients do not come from a scaled loss"))


def inner_loss_scale() -> LossScaleError:
    """An optimizer around the optimizer of :func:`.scale_loss`."""
    problem = _("the opt_state does not come from scale_loss as the outermost optimizer")
    return LossScaleError(problem=problem)


def param_dtypes(wrong: Iterable[str], dtype: Any) -> ArgumentError:
    """Params that are not in the dtype of the policy."""
    why = _(
        "the jmp policy determines the dtype of the params, which the update must not change: "
        "convert the params with the method `cast_to_param` of the policy"
    )
    return _of_recipes("params", as_lines(wrong).strip(), dtype, why)


def microbatches(count: Any, statistics: Any, fits: bool) -> ArgumentError:
    """A number of microbatches or a kind of statistics that is not possible."""
    why = _(
        "the batch is split into `count` equal parts, and the running statistics are updated "
        'either once for each part ("each") or once for the whole batch ("once")'
    )
    if fits:
        return _of_recipes("statistics", repr(statistics), _('"each" or "once"'), why)
    return _of_recipes("count", repr(count), AT_LEAST_1, why)


def uneven_microbatches(batch: Any, count: int) -> HaikuStateError | None:
    """Rows that do not divide into microbatches; None if they do."""
    why = _(
        "the mean of the parts' means equals the mean of the batch only if all parts have the same "
        "number of rows"
    )
    return division_error(batch, count, kind=_("microbatches"), why=why)


def missing_params() -> ArgumentError:
    """An update of an average that does not get the params."""
    why = _(
        "the average is computed from the params after each update: pass the params to the update "
        "function of the optimizer, after the opt_state"
    )
    return _of_recipes("params", None, "params", why)


def several_averages() -> ArgumentError:
    """More than one average in an opt_state."""
    value, expected = (
        _("an opt_state with several averages"),
        _("an opt_state with a single average"),
    )
    why = _(
        "the opt_state does not tell which average is meant; a single average around the whole "
        "optimizer covers all params"
    )
    return _of_recipes("opt_state", value, expected, why)


def used_statistics() -> ArgumentError:
    """A state that already holds statistics."""
    value, expected = _("a state that already holds statistics"), _("a fresh state from init")
    why = _("the old statistics belong to different params and would be mixed into the average")
    return _of_recipes("state", value, expected, why)


def no_batches() -> ArgumentError:
    """No batches to estimate from."""
    why = _("the statistics are a mean over batches; an iterator is empty after its first use")
    return _of_recipes("batches", _("empty"), _("at least one batch"), why)


# ---- Storage


def unsavable_leaf(path: str, leaf: Any, is_alone: bool) -> ArgumentError:
    """A leaf that could not be restored unchanged, or that has the name of another."""
    is_array = isinstance(leaf, jax.Array | np.ndarray | np.generic)
    value = describe(leaf) if is_array else reprlib.repr(leaf)
    if not is_alone:
        why = _(
            "Orbax joins the names along a path with dots, so only one of two leaves with the same "
            "joined name would be saved"
        )
        return _of_storage(path, value, _("a leaf with a unique name"), why)
    if isinstance(leaf, jax.core.Tracer):
        why = _(
            "a tracer only stands in for an array and cannot be saved: save outside of `jit` and "
            "`scan`"
        )
        return _of_storage(path, _("traced"), _("an array"), why)
    expected = _("a random key, or an array with a dtype that both JAX and Orbax preserve")
    why = _(
        "a checkpoint must return every value unchanged, but without jax_enable_x64, JAX does not "
        "keep 64-bit numbers, and Orbax does not store every small dtype"
    )
    return _of_storage(path, value, expected, why)


def unsavable_array(path: str, array: Any) -> ArgumentError:
    """An array that a file cannot hold."""
    expected = _("an array of numbers, under names without a colon")
    why = _(
        "the file has one entry for each array, with a name of the form params:module:name:dtype"
    )
    return _of_storage(path, describe(array), expected, why)


def not_params(path: str, leaf: Any) -> ArgumentError:
    """A value that is not an array where an array is required."""
    expected = _("an array at params[module][name] or state[module][name]")
    why = _("Haiku's params and state are dicts of modules, each a dict of arrays")
    return _of_storage(path, describe(leaf), expected, why)


def key_in_numpy(path: str) -> ArgumentError:
    """A random key, which NumPy does not have."""
    why = _(
        "NumPy has no type for random keys: save the numbers that jax.random.key_data(key) "
        "returns, from which jax.random.wrap_key_data makes the key again, or use save_checkpoint, "
        "which saves keys as they are"
    )
    return _of_storage(path, _("a random key"), _("an array of numbers"), why)


def checkpoint_step(train_state: Any, step: Any) -> ArgumentError:
    """A train state without a step, which is the name of its checkpoint."""
    path = "train_state['step']" if isinstance(train_state, Mapping) else "train_state.step"
    why = _("a checkpoint is named by its step, and the newest checkpoint has the largest step")
    return _of_storage(path, str(step), _("a nonnegative integer"), why)


def checkpoint_directory(given: Any) -> ArgumentError:
    """A value that is no path, such as the train state in its place."""
    why = _("the folder is the first argument, and the train state is the second")
    return _of_storage("directory", reprlib.repr(given), _("a folder in the file system"), why)


def checkpoint_url(directory: str) -> ArgumentError:
    """A bucket, where checkpoints cannot be: its folders have no locks and no renaming."""
    why = _(
        "a checkpoint becomes complete when its folder is renamed in a single step, which is "
        "impossible in a storage bucket: mount the bucket, or copy complete checkpoints there"
    )
    return _of_storage("directory", repr(directory), _("a folder in the file system"), why)


def checkpoint_name(directory: str) -> ArgumentError:
    """A path that the file system takes, and the library that writes the arrays does not."""
    why = _(
        "Orbax writes arrays with TensorStore, which needs a path in UTF-8, without a backslash "
        "and without a folder whose name ends in .__lock"
    )
    return _of_storage("directory", ascii(directory), _("a path that TensorStore accepts"), why)


def checkpoint_keep(keep: Any) -> ArgumentError:
    """A number of checkpoints to keep that is not a positive integer."""
    why = _(
        "older checkpoints are deleted once the new checkpoint is complete; at least one must "
        "remain"
    )
    return _of_storage("keep", repr(keep), AT_LEAST_1, why)


def checkpoint_position(position: Any) -> ArgumentError:
    """A position that JSON would change."""
    why = _(
        "the position is stored as JSON, which knows only dicts with string keys, lists, strings, "
        "numbers, booleans and None"
    )
    expected = _("a JSON value that comes back unchanged")
    return _of_storage("position", reprlib.repr(position), expected, why)


UNWRITABLE = (
    _("the older checkpoints are untouched"),
    _(
        "saving needs a writable folder with enough free space, which must be the same folder in "
        "all processes; the older checkpoints are untouched"
    ),
)
"""What is true of any error in a save, and what to add if it comes from the file system."""
UNREADABLE = (
    _("the checkpoint may be intact, so no older checkpoint was used instead"),
    _(
        "the checkpoint may be intact, so no older checkpoint was used instead; restoring needs "
        "access to the folder"
    ),
)


def checkpoint_failure(
    directory: Any, error: Exception, whys: tuple[str, str]
) -> CheckpointDirectoryError:
    """An error of the file system, which TensorStore quotes in its own errors, or of Orbax."""
    reason = traceback.format_exception_only(error)[0].splitlines()[0]
    # TensorStore tells it after long paths; its last release for Python 3.10 in the second form.
    found = re.search(r"(?:os_error_code='|\[OS error )(\d+)", str(error))
    if found:
        reason = os.strerror(int(found[1]))
    reason = reason[:200]
    why = whys[isinstance(error, OSError) or found is not None]
    return CheckpointDirectoryError(directory=directory, reason=reason, why=why)


def checkpoints_locked(directory: Any) -> CheckpointDirectoryError:
    """A folder in which another run is saving at this moment."""
    reason = translated(_("another run is saving there"))
    why = _("each run needs its own folder: two runs would replace each other's checkpoints")
    return CheckpointDirectoryError(directory=directory, reason=reason, why=why)


def checkpoints_of_another(directory: Any, other: int) -> CheckpointDirectoryError:
    """A folder with a step that this run has not reached, or with other leaves."""
    reason = _("the folder holds a checkpoint of step {step} from a different train state")
    why = _(
        "otherwise, a later restore could read the checkpoint of the other train state; nothing "
        "was written or replaced"
    )
    reason = translated(reason).format(step=other)
    return CheckpointDirectoryError(directory=directory, reason=reason, why=why)


def checkpoint_format(
    directory: Any, step: int, found: Any, known: int
) -> CheckpointDirectoryError:
    """A checkpoint that a newer version of this package has written."""
    reason = _(
        "step {step} has format {found}, but this haiku_state knows only formats up to {known}"
    )
    reason = translated(reason).format(step=step, found=found, known=known)
    why = _(
        "the checkpoint was written by a newer haiku_state; nothing was read, replaced or deleted"
    )
    return CheckpointDirectoryError(directory=directory, reason=reason, why=why)


def folder_is_checkpoint(directory: Any) -> ArgumentError:
    """A checkpoint in the place of the folder that holds it."""
    why = _("pass the folder that contains the checkpoints, not a single checkpoint in it")
    expected = _("the folder that contains this checkpoint")
    return _of_storage("directory", repr(str(directory)), expected, why)


def renamed_checkpoint(step: int, saved: Any) -> str:
    """Say why a checkpoint is damaged: it has the name of another step."""
    return translated(_("the folder {step} holds the checkpoint of step {saved}")).format(
        step=step, saved=saved
    )


def missing_file(path: str) -> str:
    """Say why a checkpoint is damaged: a file is missing."""
    return translated(_("{path} is missing")).format(path=path)


def changed_file(path: str) -> str:
    """Say why a checkpoint is damaged: a file, or an array, is not what was written."""
    return translated(_("{path} has changed since it was written")).format(path=path)


# ---- See inside


def traced_call(call: Any) -> ArgumentError:
    """A value that is not a tuple with the arguments of a call."""
    why = _(
        "each call is written as a tuple of arguments, or as a function that makes such a tuple "
        "from the previous result"
    )
    return _of_explain("a call", reprlib.repr(call), _("a tuple of arguments"), why)


def static_argument(name: str, value: Any) -> ArgumentError:
    """A static argument that cannot be hashed, so that jit cannot look up a program."""
    expected = _("a hashable value, because the argument is static")
    why = _(
        "jit keeps one compiled program for each value of a static argument and finds it by the "
        "hash of the value"
    )
    return _of_explain(name, reprlib.repr(value), expected, why)


# ---- Testing


def under_test(given: Any) -> ArgumentError:
    """What is neither a function nor a pair of a module with state."""
    expected = _("a function, a module class, or what hk.transform_with_state returns")
    why = _("the laws call apply(params, state, key, *inputs), which returns an output and a state")
    return _of_testing("make", reprlib.repr(given), expected, why)


def flags(name: str, given: Any) -> ArgumentError:
    """Keyword arguments of a call that are no mapping."""
    why = _("these are the keyword arguments of a call, by their names")
    return _of_testing(name, repr(given), '{"is_training": …}', why)


def tested_input(given: Any) -> ArgumentError:
    """An input of a module that is not an array."""
    why = _(
        "the laws trace, stack and split the inputs; whatever chooses between two programs is a "
        "keyword argument of train and evaluation"
    )
    return _of_testing("an input", reprlib.repr(given), _("an array or a number"), why)


def no_axis(given: Any) -> ArgumentError:
    """What is not the name of an axis."""
    why = _("the laws bind one device axis, under this name")
    return _of_testing("axis_name", repr(given), _("a name"), why)


def tested_axes(given: Any) -> ArgumentError:
    """A module that uses more axes than the laws bind."""
    expected = _("a module that uses at most one device axis")
    return _of_testing("make", reprlib.repr(given), expected, _("the laws bind one axis"))


def tested_axis(given: Any, used: str) -> ArgumentError:
    """A device axis that a module uses, and that no argument names."""
    why = _("the module uses this device axis, and the laws bind only the axis that is named here")
    return _of_testing("axis_name", repr(given), repr(used), why)


def law(given: Any, known: Iterable[str]) -> ArgumentError:
    """A name of a law to leave out that no law has."""
    why = _("only a law can be left out")
    return _of_testing("exclude", repr(given), " · ".join(known), why)


# ---- Processes


def timeout(given: Any) -> ArgumentError:
    """A time that a thread cannot wait."""
    why = _("if a process makes no progress for this long, it ends with a message")
    return _of_processes("timeout", repr(given), _("a positive number of seconds"), why)


def process_identity(name: str, value: Any, expected: str) -> ArgumentError:
    """An address, a number of processes or an id that is not possible."""
    why = _(
        "every process must pass the address at which process 0 listens, the number of processes, "
        "and its own id, counted from 0; if a scheduler starts the processes, pass nothing"
    )
    return _of_processes(name, repr(value), expected, why)


def no_scheduler(error: Exception | None) -> ProcessStartError:
    """No arguments, although no scheduler tells them; what JAX raised when it asked one, if so."""
    what = _(
        "no address was given, and JAX could not get information about the processes from a "
        "scheduler: {reason}."
    )
    why = _(
        "without an address, JAX reads the environment variables of the scheduler that started the "
        "process (Slurm, Open MPI, Kubernetes, a TPU pod); if there is no scheduler, pass the "
        "address, the number of processes and the id of this process"
    )
    reason = translated(_("JAX does not recognize a scheduler here"))
    if isinstance(error, KeyError):
        reason = translated(_("{variable} is not set")).format(variable=error.args[0])
    elif error:
        reason = traceback.format_exception_only(error)[0].strip().rstrip(".")
        if names := [name for name, value in os.environ.items() if repr(value) in reason]:
            reason = f"{', '.join(names)}: {reason}"
    return ProcessStartError(what=what, reason=reason, why=why)


def taken_port(address: str, error: OSError) -> ProcessStartError:
    """A port at which process 0 cannot listen."""
    what = _("process 0 cannot listen at {address}: {reason}.")
    why = _(
        "the port must be free on the machine of process 0, and only one process may have "
        "process_id=0; choose a different port in all processes"
    )
    reason = os.strerror(error.errno or 0)
    return ProcessStartError(what=what, address=address, reason=reason, why=why)


def unjoined(address: str, count: int, index: int) -> ProcessStartError:
    """A process that the others have not joined in time."""
    what = _(
        "process {index} of {count} could not join the others at {address}: one of them is missing "
        "or has a different num_processes, or two of them have the same process_id, such as "
        "{index}."
    )
    why = _(
        "start each process once, on a machine that can reach this address, and give all processes "
        "the same num_processes but different values of process_id"
    )
    return ProcessStartError(what=what, address=address, count=count, index=index, why=why)


def settings_differ(everywhere: Sequence[Mapping[str, Any]]) -> ProcessStartError | None:
    """Settings that are not the same in all processes."""
    first, *others = everywhere
    differences = [
        f"{name}={first.get(name)} (process_id=0), {name}={other.get(name)} (process_id={index})"
        for index, other in enumerate(others, 1)
        for name in {**first, **other}
        if repr(other.get(name)) != repr(first.get(name))
    ]
    if not differences:
        return None
    what = _("the processes have different settings: {differences}.")
    why = _(
        "all processes run the same program on the same train state: start each process with the "
        "same settings"
    )
    return ProcessStartError(what=what, differences="; ".join(differences), why=why)


def unconnectable_devices(here: int) -> ProcessStartError:
    """More CPU devices in one process than this JAX can connect to other processes."""
    what = _(
        "each process has {devices} CPU devices, but this version of JAX can connect only one of "
        "them."
    )
    why = _(
        "before JAX 0.4.33, the devices of a process connect one after the other, although each of "
        "them waits for all the others, so the first update would never end: use one device in "
        "each process, or install a newer JAX"
    )
    return ProcessStartError(what=what, devices=here, why=why)
