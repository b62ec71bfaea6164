"""Rejected arguments: one function for each case, with the wrong line and the right line.

Most are arguments; the folder of a checkpoint and a process that cannot start are here too, because
the algorithms that reject them hold no texts.
"""

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
from haiku_state.errors.base import ArgumentError, as_lines
from haiku_state.errors.describe import (
    describe,
    describe_tree,
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

# ---- Modules


def decay_rate(value: float) -> ArgumentError:
    """A weight of the past that is out of range."""
    why = _(
        "the past is weighted by decay_rate and the new value by 1 - decay_rate: the first weight "
        "must not be negative, and the second must be positive"
    )
    return _out_of_range("decay_rate", value, _("in [0, 1)"), "0.99", why)


def warmup_length(value: int) -> ArgumentError:
    """A number of calls before the past counts that is negative, or that nothing would use."""
    if value < 0:
        why = _("warmup_length is the number of calls for which the average is the last value")
        return _out_of_range("warmup_length", value, _("0 or more"), "0", why)
    why = _(
        "zero_debias corrects for starting at zero, but a warm-up starts at the first values "
        "themselves"
    )
    fitting = f"{value}, zero_debias=False"
    return _out_of_range("warmup_length", value, _("0 with zero_debias=True"), fitting, why)


def eps(value: float) -> ArgumentError:
    """A negative number to add to a variance."""
    why = _(
        "the variance may be 0, and if the sum of the variance and eps is negative, it has no "
        "square root"
    )
    return _out_of_range("eps", value, _("0 or more"), "1e-5", why)


def read_flag(name: str, value: Any) -> bool:
    """Read a flag that chooses what is computed; reject what is no bool, or has no value."""
    if not (isinstance(value, int) or hasattr(value, "dtype")):
        why = _(
            "Python treats every value as true or false: the string 'False' counts as true, and "
            "None as false"
        )
        raise _out_of_range(name, repr(value), _("a bool"), "True", why)
    try:
        return bool(value)
    except jax.errors.TracerBoolConversionError as error:
        call = "init" if hk.running_init() else "apply"
        raise TracedFlagError(name=name, call=call) from error


def _out_of_range(name: str, value: Any, expected: str, fitting: str, why: str) -> ArgumentError:
    return ArgumentError(
        argument=name,
        value=value,
        expected=expected,
        wrong=f"{name}={value}",
        right=f"{name}={fitting}",
        why=why,
        more="api/modules",
    )


def not_floating(argument: str, value: jax.Array) -> ArgumentError:
    """An array of integers, whose mean is usually not an integer."""
    return ArgumentError(
        argument=argument,
        value=describe(value),
        expected=_("an array of a floating dtype"),
        wrong=f"module({argument}, …)",
        right=f"module({argument}.astype(jnp.float32), …)",
        why=_("the mean of integers is usually not an integer, so it would be rounded"),
        more="api/modules",
    )


def reduced_axes(inputs: jax.Array, axis: Any) -> ArgumentError:
    """Inputs without an axis to average over."""
    if axis is None:
        return ArgumentError(
            argument="inputs",
            value=describe(inputs),
            expected=_("an array of rank 2 or more"),
            wrong="BatchNorm(…)(example, is_training)",
            right="BatchNorm(…)(jnp.stack(examples), is_training)",
            why=_("the mean of one example is the example itself, so the output would be 0"),
            more="api/modules",
        )
    return ArgumentError(
        argument=f"axis (inputs: {describe(inputs)})",
        value=axis,
        expected=_("a tuple of one or more axes of the inputs"),
        wrong=f"BatchNorm(…, axis={axis})",
        right="BatchNorm(…, axis=(0,))",
        why=_("the mean and the variance are taken over these axes"),
        more="api/modules",
    )


def batch_norm(norm: Any) -> ArgumentError | None:
    """Arguments of a :class:`.BatchNorm` that are out of range, or that nothing would use."""
    if not norm.eps >= 0:
        return eps(norm.eps)
    groups = "cross_replica_axis_index_groups"
    for argument, is_used, off, on in (
        ("scale_init", norm.create_scale, "create_scale=False", "create_scale=True"),
        ("offset_init", norm.create_offset, "create_offset=False", "create_offset=True"),
        (
            groups,
            norm.cross_replica_axis,
            "cross_replica_axis=None",
            'cross_replica_axis="devices"',
        ),
    ):
        if not is_used and getattr(norm, argument) is not None:
            return _ignored(argument, getattr(norm, argument), off, on)
    return None


def batch_norm_call(
    norm: Any, axis: tuple[int, ...], inputs: Any, scale: Any, offset: Any, mask: Any
) -> ArgumentError | None:
    """Inputs that a :class:`.BatchNorm` cannot normalize, or that do not fit its arguments."""
    if not jnp.issubdtype(inputs.dtype, jnp.floating):
        return not_floating("inputs", inputs)
    if not axis and (norm.axis or not norm.cross_replica_axis):
        return reduced_axes(inputs, norm.axis)
    if norm.create_scale and scale is not None:
        return _ignored("scale", scale, "create_scale=True", "create_scale=False")
    if norm.create_offset and offset is not None:
        return _ignored("offset", offset, "create_offset=True", "create_offset=False")
    if mask is not None and mask.shape != inputs.shape[: mask.ndim]:
        return ArgumentError(
            argument="mask",
            value=describe(mask),
            expected=f"[{inputs.shape[0]}]",
            wrong="norm(inputs, is_training, mask=jnp.ones(inputs.shape[-1]))",
            right="norm(inputs, is_training, mask=jnp.ones(inputs.shape[0]))",
            why=_("a mask has one entry for each row, 1 for a real row and 0 for a padded row"),
            more="api/modules",
        )
    return None


def _ignored(argument: str, value: Any, setting: str, needed: str) -> ArgumentError:
    """An argument that another argument makes meaningless."""
    at_call = argument in ("scale", "offset")
    call = "BatchNorm({}, …)(inputs, is_training, {}={})" if at_call else "BatchNorm({}, {}={}, …)"
    return ArgumentError(
        argument=argument,
        value=describe(value) if hasattr(value, "dtype") else getattr(value, "__name__", value),
        expected=f"None ({setting})",
        wrong=call.format(setting, argument, argument),
        right=call.format(needed, argument, argument),
        why=_("one of the two arguments would be silently ignored"),
        more="api/modules",
    )


# ---- Pairs and states


def module(given: Any) -> ArgumentError:
    """What :func:`.pure_pair` cannot make a pair of."""
    shown, right = repr(given), "pure_pair(hk.Linear, 8)"
    why = _("each call of init or apply constructs the module or calls the function")
    if isinstance(given, type):
        shown, right = given.__name__, f"functionalize({given.__name__})"
        why = _(
            "an ordinary class keeps its state in attributes; functionalize turns them into an "
            "argument and a result"
        )
    return ArgumentError(
        argument="module",
        value=shown,
        expected=_("a module class or a function"),
        wrong=f"pure_pair({shown})",
        right=right,
        why=why,
        more="haiku/pure_pair",
    )


def uncalled(module: Any, takes_inputs: bool) -> UncalledModuleError:
    """A module that a function has constructed but not called."""
    name, inputs = type(module).__name__, "inputs" if takes_inputs else ""
    head = f"pure_pair(lambda{' ' if inputs else ''}{inputs}: {name}(…)"
    return UncalledModuleError(module=name, wrong=f"{head})", right=f"{head}({inputs}))")


def made_in_loop(names: str) -> ArgumentError:
    """Modules that are made in the body of ``hk.scan`` or ``hk.map``."""
    return ArgumentError(
        argument=f"hk.map(f, xs), hk.scan(f, init, xs): f ({names})",
        value=_("a function that creates params"),
        expected=_("a function that uses modules created before"),
        wrong="hk.map(lambda row: hk.Linear(3)(row), inputs)",
        right="linear = hk.Linear(3); hk.map(linear, inputs)",
        why=_("each iteration of the loop would create its own params under a different name"),
        more="haiku/jax_inside_haiku",
    )


def mapped_state(path: str) -> ArgumentError:
    """State that ``hk.vmap`` would give one value for each row."""
    return ArgumentError(
        argument=path,
        value=_("one value for each row"),
        expected=_("one value for all rows"),
        why=_(
            "hk.vmap shares params and state among its rows, but a module that writes state from "
            "one row gives each row a state of its own: call such a module outside of hk.vmap, on "
            "all rows"
        ),
        more="haiku/jax_inside_haiku",
    )


# ---- Classes


def functionalized_class(given: Any) -> ArgumentError:
    """What :func:`.functionalize` cannot take apart."""
    name = getattr(given, "__name__", None) or f"{type(given).__name__}(…)"
    return ArgumentError(
        argument="cls",
        value=name,
        expected=_("an ordinary Python class"),
        wrong=f"functionalize({name})",
        right=f"pure_pair({name})",
        why=_(
            "functionalize turns the attributes of a class's instances into state; a Haiku module "
            "or a function keeps its state elsewhere"
        ),
        more="api/pure",
    )


def no_method(cls: type, name: str, public: list[str]) -> ArgumentError:
    """A name that is not a method of a class, or that is already taken."""
    return ArgumentError(
        argument="methods",
        value=repr(name),
        expected=", ".join(public) or "()",
        wrong=f"functionalize({cls.__name__}, {name!r})",
        right=f"functionalize({cls.__name__})",
        why=_(
            "each entry must be the name of a public method or property and appear only once; "
            "`init` stands for the constructor"
        ),
        more="api/pure",
    )


def wrapped_method(cls: type, name: str, field: str, kind: type) -> ArgumentError:
    """A method that something has wrapped, so that it keeps what it knows elsewhere."""
    is_jitted = kind.__module__.split(".")[0] in ("jax", "jaxlib")
    pure = f"functionalize({cls.__name__}, {name!r}).{field}"
    return ArgumentError(
        argument=f"{cls.__name__}.{name}",
        value=f"{kind.__module__}.{kind.__name__}",
        expected=_("a plain function or a property"),
        wrong=f"@jax.jit def {name}(self, …)" if is_jitted else f"{name} = {kind.__name__}(…)",
        right=f"def {name}(self, …); jax.jit({pure})" if is_jitted else f"def {name}(self, …)",
        why=_(
            "a wrapper may keep results or a compiled program of one instance, but each call runs "
            "on a new instance: jit and caches belong around the pure function"
        ),
        more="api/pure",
    )


def large_number(value: int, path: str) -> ArgumentError:
    """An integer that does not fit into an integer of JAX."""
    range_of = np.iinfo(jnp.result_type(int))
    return ArgumentError(
        argument=path,
        value=value,
        expected=f"{range_of.min}–{range_of.max}",
        wrong=f"{path} = {value}",
        right=f"{path} = {float(value)}",
        why=_(
            "a number is state, which JAX keeps in 32 bits unless jax_enable_x64 is set; a number "
            "that no method changes may also be named in static"
        ),
        more="api/pure",
    )


def static_names(cls: type, unknown: Iterable[str], static: Sequence[str]) -> ArgumentError:
    """Names in ``static`` that no number of the instance has."""
    return ArgumentError(
        argument="static",
        value=", ".join(map(repr, sorted(unknown))),
        expected=_("names of attributes that are not arrays"),
        wrong=f"functionalize({cls.__name__}, static={tuple(static)!r})",
        right=f'functionalize({cls.__name__}, static=("size",))',
        why=_(
            "each name is an attribute of the instance or, as in `buffer.size`, of an object that "
            "the instance holds"
        ),
        more="api/pure",
    )


def kind_of_output(output: Any, method: str) -> AttributeKindError:
    """A method that returns an object of the state, or what runs on after the call."""
    return AttributeKindError(
        path=f"{method}()",
        kind=type(output).__name__,
        wrong="return self",
        right="return self.value",
        why=_("a pure function returns values; the new state is returned along with them"),
    )


def skeleton_changed(method: str, before: Any, after: Any, static: type) -> StaticAttributeError:
    """A method has changed what is not state: a static value, a container, or an attribute."""

    def parts(state: Any) -> dict[str, Any]:
        leaves = jax.tree_util.tree_leaves_with_path(state, lambda node: isinstance(node, static))
        return {f"self{jax.tree_util.keystr(path)}": leaf for path, leaf in leaves}

    old, new = parts(before), parts(after)
    gone, added = [p for p in old if p not in new], [p for p in new if p not in old]
    changed = [p for p in old if p in new and _skeleton(old[p]) != _skeleton(new[p])]
    lines = [f"{path}: {old[path]!r} -> {new[path]!r}" for path in changed]
    lines += [f"- {path}" for path in gone] + [f"+ {path}" for path in added]
    lines = lines or [f"- {before!r}", f"+ {after!r}"]
    cls, texts = method.split(".")[0], {}
    if changed and type(getattr(old[changed[0]], "value", None)) in (bool, int, float, complex):
        texts = {"wrong": f"functionalize({cls}, static=…)", "right": f"functionalize({cls})"}
    elif changed and hasattr(new[changed[0]], "dtype"):
        array = new[changed[0]]
        zeros = f"jnp.zeros({array.shape}, jnp.{array.dtype})"
        texts = {
            "wrong": f"def __init__(self): {changed[0]} = {old[changed[0]]!r}",
            "right": f"def __init__(self): {changed[0]} = {zeros}",
            "why": _(
                "anything that is not an array or a number is part of the compiled program: start "
                "with an array of the shape and dtype that the method assigns"
            ),
        }
    elif not changed:
        texts = {
            "wrong": "def step(self): self.extra = jnp.zeros(3)",
            "right": "def __init__(self): self.extra = jnp.zeros(3)",
            "why": _(
                "the constructor must create every attribute; the kind of an attribute and the "
                "length of a container must not change"
            ),
        }
    return StaticAttributeError(method=method, changes=as_lines(lines), **texts)


def _skeleton(node: Any) -> Any:
    return "an array" if hasattr(node, "dtype") else node


def traced_number(cls: type, static: Sequence[str], names: Sequence[str]) -> TracedFlagError:
    """A number of the state whose value Python needs while JAX traces."""
    shown = ", ".join(f'"{name}"' for name in (*static, *names))
    return TracedFlagError(
        name=", ".join(f"self.{name}" for name in names),
        wrong=f"functionalize({cls.__name__})",
        right=f"functionalize({cls.__name__}, static=({shown},))",
        why=_(
            "a number is state, so jit replaces it with a tracer that has no value; a size or a "
            "flag must be static, but a number that methods change cannot be static: choose with "
            "jnp.where or jax.lax.cond instead"
        ),
        more="api/pure",
    )


# ---- Update and evaluation steps


def init_function(given: Any) -> ArgumentError:
    """What is no ``init``, such as the pair that holds one."""
    return ArgumentError(
        argument="init",
        value=type(given).__name__,
        expected=_("a function that returns params and state"),
        why=_("a pair is two functions: pass its init"),
        more="haiku/pure_pair",
    )


def loss_fn(given: Any) -> ArgumentError:
    """What is no loss function, such as a pair or the result of calling one."""
    return ArgumentError(
        argument="loss_fn",
        value=type(given).__name__,
        expected=_("a function of (params, state, rng, batch)"),
        why=_("the update calls it and differentiates it with respect to the params"),
        more="update/jitted_update",
    )


def train_state(given: Any) -> ArgumentError:
    """What is no train state, such as params, a batch, or the whole result of an update."""
    is_pair = isinstance(given, tuple) and len(given) == 2
    return ArgumentError(
        argument="train_state",
        value="(train_state, metrics)" if is_pair else type(given).__name__,
        expected=_("a TrainState"),
        why=_(
            "a step takes a train state and a batch, in this order; an update returns a new train "
            "state and the metrics, and only the first of them goes into the next call"
        ),
        more="update/jitted_update",
    )


def random_key(rng: Any) -> ArgumentError:
    """A value that is not a single random key."""
    return ArgumentError(
        argument="rng",
        value=describe(rng) if hasattr(rng, "dtype") else repr(rng),
        expected=_("a single random key"),
        wrong="init_train_state(init, optimizer, 42, inputs)",
        right="init_train_state(init, optimizer, jax.random.key(42), inputs)",
        why=_("the train state carries a key, which each step splits"),
        more="haiku/randomness",
    )


def optimizer(given: Any) -> ArgumentError:
    """What is no optimizer: the function that makes one, or what belongs elsewhere."""
    return ArgumentError(
        argument="optimizer",
        value=_named(given),
        expected=_("an Optax optimizer"),
        why=_(
            "an optimizer is what a function such as optax.sgd(0.1) returns: a pair of init and "
            "update"
        ),
        more="update/jitted_update",
    )


def _named(value: Any) -> str:
    """Write a function or a class by its name, and anything else as a description."""
    return getattr(value, "__name__", None) or describe_tree(value)


def step_result(result: Any) -> ArgumentError:
    """A result of an update step that is not a train state and metrics."""
    return ArgumentError(
        argument="update(train_state, batch)",
        value=describe_tree(result),
        expected="(train_state, metrics)",
        wrong="return train_state",
        right="return train_state, {}",
        why=_(
            "an update step returns a train state and metrics; a step without metrics returns an "
            "empty dict"
        ),
        more="update/jitted_update",
    )


def opt_state(optimizer_state: Any, expected: Any, path: str) -> ArgumentError:
    """An opt_state that belongs to a different optimizer."""
    return ArgumentError(
        argument=path,
        value=_structure_of(optimizer_state),
        expected=_structure_of(expected),
        wrong="train_state = train_state._replace(opt_state=other)",
        right="train_state = train_state._replace(opt_state=optimizer.init(train_state.params))",
        why=_("each optimizer keeps its own opt_state, in the named tuples that its init returns"),
        more="update/jitted_update",
    )


def _structure_of(tree: Any) -> str:
    text = re.sub(r"^PyTreeDef\((.*)\)$", r"\1", str(jax.tree.structure(with_dicts(tree))))
    text = re.sub(r"CustomNode\(namedtuple\[(\w+)\], \[", r"\1([", text)
    return text if len(text) < 200 else f"{text[:197]}…"


def example_metrics(values: Any) -> ArgumentError:
    """Metrics of an evaluation that are not one number for each example."""
    return ArgumentError(
        argument="metrics_fn(params, state, batch)",
        value=describe_tree(values),
        expected=_("named arrays with the rows of the batch"),
        wrong='return {"accuracy": jnp.mean(correct)}',
        right='return {"accuracy": correct}',
        why=_(
            "the evaluation step itself averages over the examples of all devices, without padded "
            "rows"
        ),
        more="api/update",
    )


# ---- Devices and replicas


def device_number(argument: str, count: int, most: int, call: str) -> ArgumentError:
    """A number of devices that is out of range."""
    return ArgumentError(
        argument=argument,
        value=count,
        expected=f"1–{most}",
        wrong=call.format(count),
        right=call.format(min(max(count, 1), most)),
        why=_(
            "each simulated device has its own threads, and no machine has that many real devices"
        ),
        more="api/update",
    )


def device_count(wanted: int, started: int, variable: str | None) -> DeviceCountError:
    """More devices than there are: JAX has started, or the environment sets their number."""
    if variable is None:
        return DeviceCountError(wanted=wanted, started=started)
    flag = "--xla_force_host_platform_device_count={}"
    value = flag if variable == "XLA_FLAGS" else "{}"
    return DeviceCountError(
        wanted=wanted,
        started=started,
        wrong=f"{variable}={value.format(started)}",
        right=f"{variable}={value.format(wanted)}",
        why=_(
            "the environment sets the number of CPU devices, and use_devices does not change it: "
            "set the variable to a larger number or unset it"
        ),
    )


def devices(given: Any, call: str) -> ArgumentError | None:
    """A name or a number in the place of the devices; None if it is neither."""
    if not isinstance(given, str | int):
        return None
    is_name = isinstance(given, str)
    return ArgumentError(
        argument="devices",
        value=repr(given),
        expected=_("a list of devices"),
        wrong=call.format(repr(given)),
        right=call.format(f"axis_name={given!r}" if is_name else f"jax.devices()[:{given}]"),
        why=_("in all functions of this package, the devices come before the name of their axis"),
        more="api/update",
    )


def batches_axis(batch: Any) -> LeadingAxisError | None:
    """Stacked batches whose leaves do not share their leading axis; None if they do."""
    return leading_axis_error(
        {"batch": batch},
        {"batch": "run(train_state, next(stack_batches(batches, 8)))"},
        wrong="run(train_state, batch)",
        why=_("entry i along the leading axis of every leaf belongs to batch i"),
        more="update/many_steps",
    )


def members_axis(train_state: Any, batch: Any) -> LeadingAxisError | None:
    """A train state without members, or a batch that should have members; None if both have them.

    Args:
      train_state: what has the members.
      batch: None where the members share it.
    """
    stacked = "jax.vmap(lambda key: init_train_state(init, optimizer, key, x))(keys)"
    return leading_axis_error(
        {"train_state": train_state, "batch": batch},
        {
            "train_state": f"train_state = {stacked}",
            "batch": "batch = jax.tree.map(lambda *rows: jnp.stack(rows), *batches)",
        },
        wrong="vmap_update(update)(train_state, batch)",
        why=_("entry i along the leading axis of every leaf belongs to member i"),
        more="update/many_steps",
    )


def members_already(train_state: Any) -> ArgumentError | None:
    """A train state that has members, or copies, already; None if its random keys are single."""
    for path, leaf in leaves_by_path(train_state=train_state).items():
        dtype = jnp.result_type(leaf)
        if jnp.issubdtype(dtype, jax.dtypes.prng_key) and np.ndim(leaf):
            return ArgumentError(
                argument=path,
                value=describe(leaf),
                expected=_("a single random key"),
                why=_("`place` makes the members of one train state: pass it only once"),
                more="update/many_steps",
            )
    return None


def devices_axis(train_state: Any, batch: Any, count: int) -> LeadingAxisError | None:
    """A train state or a batch without an entry for each device; None if both have them."""
    return leading_axis_error(
        {"train_state": train_state, "batch": batch},
        {
            "train_state": "train_state = replicate(train_state)",
            "batch": f"batch = split_batch(batch, {count})",
        },
        length=count,
        wrong="pmap_update(update)(train_state, batch)",
        why=_("pmap gives entry i of the leading axis to device i"),
        more="update/pmapped_update",
    )


def replicas_axis(tree: Any) -> LeadingAxisError | None:
    """A tree that has no replicas to take one of; None if it has."""
    return leading_axis_error(
        {"tree": tree},
        {"tree": "unreplicate(train_state)"},
        wrong="unreplicate(unreplicate(train_state))",
        why=_("pmap gives entry i of the leading axis to device i"),
        more="update/pmapped_update",
    )


def replicas_differ(drifted: dict[str, float], axis_name: str) -> ReplicaMismatchError:
    """Replicas that drifted apart, with what would have averaged them."""
    paths = as_lines(f"{path} by {spread:.3g}" for path, spread in drifted.items())
    wrong, right = "value = f(rows)", f'value = jax.lax.pmean(f(rows), "{axis_name}")'
    if any(re.match(r"\.(params|opt_state)", path) for path in drifted):
        wrong = "grads = jax.grad(loss_fn)(params)"
        right = f'grads = jax.lax.pmean(jax.grad(loss_fn)(params), "{axis_name}")'
    elif all(re.search(r"/~/(mean|var)_ema'\]", path) for path in drifted):
        wrong = "BatchNorm(True, True, 0.9)"
        right = f'BatchNorm(True, True, 0.9, cross_replica_axis="{axis_name}")'
    elif found := re.search(r"\['(\w+)'\]$", next(iter(drifted))):
        name = found[1]
        wrong = f'hk.set_state("{name}", {name})'
        right = f'hk.set_state("{name}", jax.lax.pmean({name}, "{axis_name}"))'
    return ReplicaMismatchError(paths=paths, wrong=wrong, right=right)


def processes_differ(different: Iterable[str]) -> ReplicaMismatchError:
    """Train states that are not the same in all processes."""
    return ReplicaMismatchError(
        paths=as_lines(different),
        wrong="init_train_state(init, optimizer, jax.random.key(process_id), inputs)",
        right="init_train_state(init, optimizer, jax.random.key(0), inputs)",
        why=_(
            "each process creates its own copy, so all processes must start from the same seed or "
            "the same file"
        ),
    )


def mesh(given: Any, axis_name: str | None) -> ArgumentError | None:
    """What is no mesh, or an axis that it does not have; None if it is a mesh with this axis."""
    if not hasattr(given, "axis_names"):
        return ArgumentError(
            argument="mesh",
            value=describe_tree(given),
            expected=_("a mesh"),
            why=_("a mesh gives the devices an axis with a name; data_mesh makes one"),
            more="api/update",
        )
    if axis_name is not None and axis_name not in given.axis_names:
        return ArgumentError(
            argument="axis_name",
            value=repr(axis_name),
            expected=", ".join(map(repr, given.axis_names)),
            why=_("the batch is split along an axis of the mesh"),
            more="api/update",
        )
    return explicit_mesh(given) if has_explicit_axes(given) else None


def explicit_mesh(mesh: Any) -> ArgumentError:
    """A mesh whose axes are explicit."""
    made = f"jax.make_mesh({mesh.devices.shape}, {mesh.axis_names}"
    auto = f"axis_types={mesh.devices.ndim} * (jax.sharding.AxisType.Auto,)"
    return ArgumentError(
        argument="mesh",
        value=mesh,
        expected=_("a mesh of Auto axes"),
        wrong=f"{made})",
        right=f"{made}, {auto})",
        why=_(
            "along Auto axes the compiler decides where each result lies; along explicit axes the "
            "loss function may have to specify it"
        ),
        more="update/explicit_axes",
    )


def unplaceable(path: str, leaf: Any, spec: Any, mesh: Any) -> MeshPlacementError:
    """A leaf that a mesh cannot hold as a rule says."""
    return MeshPlacementError(
        path=path,
        shape=jnp.shape(leaf),
        found=spec,
        mesh=dict(mesh.shape),
        wrong=f"rule = lambda path, leaf: {spec}",
        right="rule = lambda path, leaf: None",
    )


def other_train_state(given: Any, first: Any) -> ArgumentError | None:
    """A train state of another structure than the first one had; None if it has the same."""
    if jax.tree.structure(given) == first:
        return None
    return ArgumentError(
        argument="train_state",
        value=_structure_of(given),
        expected=_structure_of(jax.tree.unflatten(first, [0] * first.num_leaves)),
        why=_(
            "a step on a mesh is compiled for the structure of its first train state, which "
            "another optimizer or another model changes: make a runner for each"
        ),
        more="api/update",
    )


def batch_elsewhere(batch: Any, place: Any) -> ArgumentError | None:
    """Rows on other devices, or copied to all of them; None if they lie where the step needs them.

    Args:
      batch: what was passed to a runner.
      place: where the runner's ``feed`` puts rows.
    """
    for path, leaf in leaves_by_path(batch=batch).items():
        if is_committed(leaf) and not leaf.sharding.is_equivalent_to(place, leaf.ndim):
            return ArgumentError(
                argument=path,
                value=str(leaf.sharding),
                expected=str(place),
                wrong="run(train_state, batch)",
                right="run(train_state, run.feed(batch))",
                why=_("`feed` sends each device its rows"),
                more="api/update",
            )
    return None


def not_arrays(batch: Any) -> ArgumentError | None:
    """A batch with a leaf that JAX cannot take, such as a string or a generator."""
    for path, leaf in leaves_by_path(batch=batch).items():
        dtype = getattr(leaf, "dtype", np.dtype(type(leaf)))
        if dtype.kind in "OSUM" and not jnp.issubdtype(dtype, jax.dtypes.extended):
            return ArgumentError(
                argument=path,
                value=describe(leaf),
                expected=_("an array of numbers"),
                why=_(
                    "JAX computes with numbers: give each label a number, and take the batches out "
                    "of an iterator in a loop"
                ),
                more="api/data",
            )
    return None


def traced_replicas(path: str) -> ArgumentError:
    """Replicas of which there are no numbers yet, because JAX is tracing."""
    return ArgumentError(
        argument=path,
        value=_("traced"),
        expected=_("an array"),
        why=_(
            "replicas are compared by their numbers, which do not exist while JAX traces: a runner "
            "compiles its step itself, so call it outside of jit, grad and scan, or pass "
            "check_replicas=False"
        ),
        more="api/update",
    )


def compiled_step(step: Any) -> ArgumentError:
    """A step that something has compiled, which can no longer be given the name of an axis."""
    return ArgumentError(
        argument="update",
        value=type(step).__name__,
        expected=_("a step that is not compiled"),
        why=_(
            "the runner compiles the step, with the name of its axis: pass what make_update or "
            "make_evaluate returns"
        ),
        more="api/update",
    )


def copied_already(tree: Any) -> ArgumentError | None:
    """A tree whose parts lie on several devices, as its copies do; None if each leaf is whole."""
    for path, leaf in leaves_by_path(tree=tree).items():
        if not getattr(leaf, "is_fully_replicated", True):
            return ArgumentError(
                argument=path,
                value=str(leaf.sharding),
                expected=_("an array on one device"),
                why=_("copies are made of one replica; the `one` of a runner returns it"),
                more="api/update",
            )
    return None


def misplaced(path: str, leaf: Any, place: Any, mesh: Any) -> MeshPlacementError:
    """A leaf that is not where a step on a mesh needs it."""
    return MeshPlacementError(
        path=path,
        shape=jnp.shape(leaf),
        found=place,
        mesh=dict(mesh.shape),
    )


# ---- Data


def batch_data(data: Any) -> ArgumentError:
    """Arrays without rows, or with different numbers of rows."""
    expected = _("arrays with the same number of rows, at least 1")
    fitting = '{"inputs": inputs, "targets": targets}'
    why = _("row i of every array belongs to the same example")
    value = describe_tree(data)
    return _not_cut("data", value, expected, "batches({}, batch_size)", fitting, why)


def remainder(given: Any) -> ArgumentError:
    """A value that is none of the three ways to treat the last rows."""
    why = _(
        "remainder says what to do with the last rows if batch_size does not divide the number of "
        "rows"
    )
    call = "batches(data, batch_size, remainder={})"
    expected = _('"drop", "keep" or "pad"')
    return _not_cut("remainder", repr(given), expected, call, '"drop"', why)


def unnamed_mask(data: Any) -> ArgumentError:
    """Data without names, among which the mask of the padded rows would have its place."""
    return _not_cut(
        "data",
        describe_tree(data),
        _("named arrays"),
        'batches({}, batch_size, remainder="pad")',
        '{"inputs": inputs, "targets": targets}',
        _("each batch gets a mask of its real rows, which is found by its name"),
    )


def batch_size(given: int, rows: int, drops: bool) -> ArgumentError:
    """A size that gives no batch of so many rows, where the last partial one is dropped or kept."""
    why = _('a batch has at least one row; "drop" drops the rows that do not fill a batch')
    expected = f"1–{rows}" if drops else _("1 or more")
    return _not_cut("batch_size", given, expected, "batches(data, {})", min(rows, 32), why)


def skip(given: int) -> ArgumentError:
    """A negative number of batches to skip."""
    why = _("skip is the number of batches to skip at the beginning")
    return _not_cut("skip", given, _("0 or more"), "batches(data, batch_size, skip={})", 0, why)


def part(given: tuple[int, int]) -> ArgumentError:
    """A part that is not one of as many as it says."""
    why = _("process i of n gets part i, counted from 0")
    fitting, call = (0, max(1, given[1])), "batches(data, batch_size, part={})"
    return _not_cut("part", given, "(i, n), 0 ≤ i < n", call, fitting, why)


def stack_count(given: int) -> ArgumentError:
    """A stack of no batches."""
    why = _("a stack holds at least one batch")
    return _not_cut("count", given, _("1 or more"), "stack_batches(batches, {})", 1, why)


def _not_cut(
    argument: str, value: Any, expected: str, call: str, fitting: Any, why: str
) -> ArgumentError:
    return ArgumentError(
        argument=argument,
        value=value,
        expected=expected,
        wrong=call.format(value),
        right=call.format(fitting),
        why=why,
        more="api/data",
    )


# ---- Recipes


def loss_scale(given: Any) -> ArgumentError:
    """A loss scale that does not come from jmp."""
    return ArgumentError(
        argument="loss_scale",
        value=repr(given),
        expected=_("a jmp loss scale"),
        wrong=f"scale_loss(optimizer, {given!r})",
        right="scale_loss(optimizer, jmp.DynamicLossScale(jnp.float32(2.0**15)))",
        why=_("jmp knows how the scale changes from step to step"),
        more="api/recipes",
    )


def scaled_twice() -> LossScaleError:
    """An optimizer whose loss would be scaled twice."""
    return LossScaleError(
        problem=_("the loss would be scaled twice"),
        wrong="scale_loss(scale_loss(optimizer, scale), scale)",
        right="scale_loss(optimizer, scale)",
    )


def unscaled_gradients() -> LossScaleError:
    """Gradients of a loss that was not scaled."""
    return LossScaleError(
        problem=_("the gradients do not come from a scaled loss"),
        wrong="make_update(loss_fn, optimizer)",
        right="make_scaled_update(loss_fn, optimizer)",
    )


def inner_loss_scale() -> LossScaleError:
    """An optimizer around the optimizer of :func:`.scale_loss`."""
    return LossScaleError(
        problem=_("scale_loss is not the outermost optimizer"),
        wrong="make_scaled_update(loss_fn, optimizer)",
        right="make_scaled_update(loss_fn, scale_loss(optimizer, loss_scale))",
    )


def param_dtypes(wrong: Iterable[str], dtype: Any) -> ArgumentError:
    """Params that are not in the dtype of the policy."""
    return ArgumentError(
        argument="params",
        value=as_lines(wrong).strip(),
        expected=dtype,
        wrong="params = jax.tree.map(lambda x: x.astype(jnp.bfloat16), params)",
        right="params = policy.cast_to_param(params)",
        why=_(
            "the policy sets the dtype in which the params are kept, and the update changes "
            "exactly these params"
        ),
        more="api/recipes",
    )


def microbatches(count: Any, statistics: Any, fits: bool) -> ArgumentError:
    """A number of microbatches or a kind of statistics that is not possible."""
    return ArgumentError(
        argument="statistics" if fits else "count",
        value=repr(statistics if fits else count),
        expected="'each' or 'once'" if fits else _("an integer, at least 1"),
        wrong=f"accumulate(loss_fn, {count!r}, statistics={statistics!r})",
        right="accumulate(loss_fn, 4, statistics='once')",
        why=_(
            "the batch is split into `count` equal parts, and the running statistics count either "
            "each part or the batch once"
        ),
        more="api/recipes",
    )


def uneven_microbatches(rows: int, count: int) -> BatchDivisionError:
    """Rows that do not divide into microbatches."""
    return BatchDivisionError(
        rows=rows,
        parts=count,
        kind=_("microbatches"),
        wrong=f"accumulate(loss_fn, {count}, …)",
        why=_(
            "the mean of the parts' means equals the mean of the batch only if all parts have the "
            "same number of rows"
        ),
    )


def average_decay_rate(decay_rate: float) -> ArgumentError:
    """A weight of the past that is out of range."""
    return ArgumentError(
        argument="decay_rate",
        value=decay_rate,
        expected=_("in [0, 1)"),
        wrong=f"average_params(optimizer, decay_rate={decay_rate})",
        right="average_params(optimizer, decay_rate=0.99)",
        why=_("outside this range the average would never change, or never settle"),
        more="api/recipes",
    )


def missing_params() -> ArgumentError:
    """An update of an average that does not get the params."""
    return ArgumentError(
        argument="params",
        value=None,
        expected="params",
        wrong="optimizer.update(grads, opt_state)",
        right="optimizer.update(grads, opt_state, params)",
        why=_("the average is taken over the params after each update"),
        more="api/recipes",
    )


def several_averages() -> ArgumentError:
    """More than one average in an opt_state."""
    return ArgumentError(
        argument="opt_state",
        value=_("an opt_state with several averages"),
        expected=_("an opt_state with a single average"),
        wrong="average_params(average_params(optimizer, 0.9), 0.99)",
        right="average_params(optimizer, 0.99)",
        why=_(
            "nothing says which average is meant; a single average around the whole optimizer "
            "covers all params"
        ),
        more="api/recipes",
    )


def used_statistics() -> ArgumentError:
    """A state that already holds statistics."""
    return ArgumentError(
        argument="state",
        value=_("a state that already holds statistics"),
        expected=_("a fresh state from init"),
        wrong="reestimate_state(apply, params, train_state.state, batches)",
        right="_, fresh = init(rng, inputs, True); reestimate_state(apply, params, fresh, batches)",
        why=_("the old statistics belong to different params and would be mixed into the average"),
        more="api/recipes",
    )


def no_batches() -> ArgumentError:
    """No batches to estimate from."""
    return ArgumentError(
        argument="batches",
        value=_("empty"),
        expected=_("at least one batch"),
        wrong="reestimate_state(apply, params, state, batches)",
        right="reestimate_state(apply, params, state, list(batches))",
        why=_("the statistics are a mean over batches; an iterator is empty after its first use"),
        more="api/recipes",
    )


# ---- Storage


def unsavable_leaf(path: str, leaf: Any) -> ArgumentError:
    """A leaf that could not be restored unchanged."""
    return ArgumentError(
        argument=path,
        value=describe(leaf),
        expected=_("an array or a random key, under a unique name"),
        wrong='state = {"mean": np.zeros(3)}',
        right='state = {"mean": jnp.zeros(3)}',
        why=_("a checkpoint can hold only dtypes that both JAX and Orbax support"),
        more="api/storage",
    )


def unsavable_array(path: str, names: Any, array: Any) -> ArgumentError:
    """An array that a file cannot hold."""
    return ArgumentError(
        argument=path,
        value=describe(array),
        expected=_("an array of numbers, under names without a colon"),
        wrong=f"{names[1]}:{names[2]}",
        right=f"{names[1]}:{names[2]}".replace(":", "_"),
        why=_("the file has one entry for each array, called params:module:name:dtype"),
        more="api/storage",
    )


def not_params(path: str, leaf: Any, right: str) -> ArgumentError:
    """A value that is not an array where an array is required."""
    return ArgumentError(
        argument=path,
        value=describe(leaf),
        expected=_("an array at params[module][name] or state[module][name]"),
        wrong=f"{path} = {describe(leaf)}",
        right=right,
        why=_("Haiku's params and state are dicts of modules, each a dict of arrays"),
        more="api/storage",
    )


def key_in_numpy(path: str) -> ArgumentError:
    """A random key, which NumPy does not have."""
    return ArgumentError(
        argument=path,
        value=_("a random key"),
        expected=_("an array of numbers"),
        why=_(
            "NumPy has no random keys: keep its numbers, jax.random.key_data(key), from which "
            "jax.random.wrap_key_data makes the key again; save_checkpoint saves keys as they are"
        ),
        more="api/storage",
    )


def checkpoint_step(train_state: Any, step: Any) -> ArgumentError:
    """A train state without a step, which is the name of its checkpoint."""
    path, with_step = "train_state.step", "dataclasses.replace(train_state, step={})"
    if isinstance(train_state, Mapping):
        path, with_step = "train_state['step']", "{{**train_state, 'step': {}}}"
    elif isinstance(train_state, tuple) and "step" in getattr(train_state, "_fields", ()):
        with_step = "train_state._replace(step={})"
    elif not hasattr(train_state, "step"):
        with_step = "{{'train_state': train_state, 'step': {}}}"
    return ArgumentError(
        argument=path,
        value=str(step),
        expected=_("a nonnegative integer"),
        wrong="save_checkpoint(directory, train_state)",
        right=f"save_checkpoint(directory, {with_step.format('jnp.int32(0)')})",
        why=_("a checkpoint is named by its step, and the newest checkpoint has the largest step"),
        more="api/storage",
    )


def checkpoint_url(directory: str, function: str) -> ArgumentError:
    """A bucket, where checkpoints cannot be: its folders have no locks and no renaming."""
    name = directory.rstrip("/").rpartition("/")[2]
    return ArgumentError(
        argument="directory",
        value=repr(directory),
        expected=_("a folder of the file system"),
        wrong=f"{function}({directory!r}, train_state)",
        right=f"{function}({'/mnt/bucket/' + name!r}, train_state)",
        why=_(
            "a checkpoint is complete because its folder is renamed in one step, which a bucket "
            "cannot do: mount the bucket, or copy complete checkpoints there"
        ),
        more="api/storage",
    )


def checkpoint_keep(keep: Any) -> ArgumentError:
    """A number of checkpoints to keep that is not a positive integer."""
    return ArgumentError(
        argument="keep",
        value=keep,
        expected=_("an integer of at least 1"),
        wrong=f"save_checkpoint(directory, train_state, keep={keep})",
        right="save_checkpoint(directory, train_state, keep=1)",
        why=_(
            "older checkpoints are deleted once the new checkpoint is complete; at least one must "
            "remain"
        ),
        more="api/storage",
    )


def checkpoint_position(position: Any) -> ArgumentError:
    """A position that JSON would change."""
    return ArgumentError(
        argument="position",
        value=reprlib.repr(position),
        expected=_("a JSON value that comes back unchanged"),
        wrong="save_checkpoint(directory, train_state, (3, 17))",
        right='save_checkpoint(directory, train_state, {"epoch": 3, "batch": 17})',
        why=_(
            "the position is stored as JSON: dicts with names, lists, strings, numbers, booleans "
            "and None"
        ),
        more="api/storage",
    )


UNWRITABLE = _(
    "`directory` must be a writable folder with enough free space, the same in all processes; the "
    "older checkpoints are untouched"
)
UNREADABLE = _(
    "the checkpoint may be intact, so no older checkpoint was used instead: give this process "
    "access to the folder and enough memory"
)


def checkpoint_failure(
    directory: Any, function: str, error: Exception, why: str
) -> CheckpointDirectoryError:
    """An error of the disk, or of Orbax."""
    text = traceback.format_exception_only(error)[0]
    return CheckpointDirectoryError(
        directory=directory,
        reason=text.splitlines()[0][:200],
        wrong=f'{function}("{directory}", train_state)',
        right=f'{function}("checkpoints", train_state)',
        why=why,
    )


def checkpoints_locked(directory: Any) -> CheckpointDirectoryError:
    """A folder in which another run is saving at this moment."""
    return CheckpointDirectoryError(
        directory=directory,
        reason=translated(_("another run is saving there")),
        wrong=f'save_checkpoint("{directory}", train_state)  # in two runs',
        right=f'save_checkpoint("{directory}-2", train_state)',
        why=_("each run needs its own folder: two runs would replace each other's checkpoints"),
    )


def checkpoints_of_another(directory: Any, step: int, other: int) -> CheckpointDirectoryError:
    """A folder with a step that this run has not reached, or with other leaves."""
    reason = _("it holds a checkpoint of step {step} from a different train state")
    return CheckpointDirectoryError(
        directory=directory,
        reason=translated(reason).format(step=other),
        wrong=f'save_checkpoint("{directory}", train_state)  # step {step}',
        right=f'save_checkpoint("{directory}-new", train_state)',
        why=_(
            "a later restore would read the checkpoint of the other train state; nothing was "
            "written or replaced"
        ),
    )


def checkpoint_format(
    directory: Any, step: int, found: Any, known: int
) -> CheckpointDirectoryError:
    """A checkpoint that a newer version of this package has written."""
    reason = _(
        "step {step} has format {found}, but this haiku_state knows only formats up to {known}"
    )
    return CheckpointDirectoryError(
        directory=directory,
        reason=translated(reason).format(step=step, found=found, known=known),
        wrong=f'restore_checkpoint("{directory}", train_state)',
        right=f'restore_checkpoint("{directory}", train_state)  # in the newer haiku_state',
        why=_(
            "the checkpoint was written by a newer haiku_state; nothing was read, replaced or "
            "deleted"
        ),
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
    shown = reprlib.repr(call)
    return ArgumentError(
        argument="a call",
        value=shown,
        expected=_("a tuple of arguments"),
        wrong=f"record_trace(function, {shown})",
        right=f"record_trace(function, ({shown},))",
        why=_("each call is a tuple, or a function that makes a tuple from the previous result"),
        more="api/explain",
    )


def static_argument(name: str, value: Any) -> ArgumentError:
    """A static argument that cannot be hashed, so that jit cannot look up a program."""
    kinds: dict[type, str] = {list: "tuple", set: "frozenset", bytearray: "bytes"}
    kind = kinds.get(type(value))
    right = f"function({name}={kind}({name}))" if kind else "jax.jit(function)  # not static"
    return ArgumentError(
        argument=name,
        value=reprlib.repr(value),
        expected=_("a value that can be hashed, because it is static"),
        wrong=f"function({name}={reprlib.repr(value)})",
        right=right,
        why=_("jit keeps one compiled program for each value of a static argument, by its hash"),
        more="api/explain",
    )


# ---- Processes


def timeout(given: Any, call: str) -> ArgumentError:
    """A time that a thread cannot wait."""
    return ArgumentError(
        argument="timeout",
        value=repr(given),
        expected=_("a positive number of seconds"),
        wrong=call.format(repr(given)),
        right=call.format(300),
        why=_("after that time without progress the process ends with a message"),
        more="api/processes",
    )


def process_identity(name: str, expected: str, given: Mapping[str, Any]) -> ArgumentError:
    """An address, a number of processes or an id that is not possible."""
    fitting = {"coordinator": "localhost:1234", "num_processes": 2, "process_id": 0}
    return ArgumentError(
        argument=name,
        value=repr(given[name]),
        expected=expected,
        wrong=f"start_processes{tuple(given.values())}",
        right=f"start_processes{tuple({**given, name: fitting[name]}.values())}",
        why=_(
            "every process passes the address at which process 0 listens, the number of "
            "processes, and its own id, counted from 0; under a scheduler, pass nothing"
        ),
        more="api/processes",
    )


def no_scheduler(missing: str) -> ProcessStartError:
    """No arguments, although no scheduler has set the variables."""
    return ProcessStartError(
        what=_(
            "start_processes() was called without arguments, but the environment has no {missing}."
        ),
        missing=missing,
        wrong="start_processes()",
        right="start_processes('localhost:1234', 2, 0)",
        why=_(
            "without arguments, JAX asks the scheduler that started the process (Slurm, Open "
            "MPI, Kubernetes, a TPU pod); without one, pass the arguments"
        ),
    )


def taken_port(address: str, count: int, error: OSError) -> ProcessStartError:
    """A port at which process 0 cannot listen."""
    host, _colon, port = address.rpartition(":")
    return ProcessStartError(
        what=_("process 0 cannot listen at {address}: {reason}."),
        address=address,
        reason=os.strerror(error.errno or 0),
        wrong=f"start_processes{address, count, 0}",
        right=f"start_processes{f'{host}:{int(port) % 65535 + 1}', count, 0}",
        why=_(
            "the port must be free on the machine of process 0, and only one process may have "
            "process_id=0; choose another port in all processes"
        ),
    )


def unjoined(address: str, count: int, index: int) -> ProcessStartError:
    """A process that the others have not joined in time."""
    return ProcessStartError(
        address=address,
        count=count,
        index=index,
        what=_(
            "process {index} of {count} could not join the others at {address}: one of them is "
            "missing or has a different num_processes, or two of them have the same process_id, "
            "such as {index}."
        ),
        wrong=f"start_processes{address, count, index}",
        right=f"start_processes{address, count, 0}; …; start_processes{address, count, count - 1}",
        why=_(
            "start each process once, on a machine that can reach that address, with the same "
            "num_processes and a process_id of its own"
        ),
    )


def settings_differ(everywhere: Sequence[Mapping[str, Any]]) -> ProcessStartError | None:
    """Settings that are not the same in all processes."""
    differences = [
        f"{name}={first} (process_id=0), {name}={other.get(name)} (process_id={index})"
        for name, first in everywhere[0].items()
        for index, other in enumerate(everywhere)
        if other.get(name) != first
    ]
    if not differences:
        return None
    return ProcessStartError(
        what=_("the processes disagree: {differences}."),
        differences="; ".join(differences),
        wrong="start_processes(…, settings={'seed': process_id})",
        right="start_processes(…, settings={'seed': 0})",
        why=_(
            "all processes run one program on one train state: start each process with the same "
            "settings"
        ),
    )


def unconnectable_devices(here: int) -> ProcessStartError:
    """More CPU devices in one process than this JAX can connect to other processes."""
    return ProcessStartError(
        what=_(
            "each process has {devices} CPU devices, but this JAX can connect only one of them."
        ),
        devices=here,
        wrong=f'XLA_FLAGS="--xla_force_host_platform_device_count={here}"',
        right='XLA_FLAGS="--xla_force_host_platform_device_count=1"',
        why=_(
            "before JAX 0.4.33, the devices of a process connected one after the other, while each "
            "of them waited for all the others, so the first update would never end"
        ),
    )
