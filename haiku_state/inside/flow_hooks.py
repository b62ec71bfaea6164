"""Trace a function while Haiku's own hooks note what its modules do."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp

from haiku_state.compat import is_live
from haiku_state.errors import LeakedTracerError
from haiku_state.inside import compat
from haiku_state.inside.dataflow import Dataflow, marked

OUTSIDE = "~"  # Haiku's name for what belongs to no module
LEAKS = (jax.errors.UnexpectedTracerError, LeakedTracerError)


@dataclasses.dataclass(frozen=True)
class Access:
    """One module creates, reads or writes one array; Haiku's names, before they are resolved."""

    phase: str
    module: str
    method: str
    action: str
    kind: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    mark: int
    value: Any = dataclasses.field(compare=False)  # of a constant, which is not marked


@dataclasses.dataclass
class Run:
    """A module whose methods run."""

    kind: str
    methods: list[str] = dataclasses.field(default_factory=list)
    marks: list[int] = dataclasses.field(default_factory=list)  # of the values they return
    given: list[int] = dataclasses.field(default_factory=list)  # of the values they are given
    callers: list[str] = dataclasses.field(default_factory=list)  # the modules that gave them


class Recorder:
    """The hooks, and what they noted.

    Args:
      phase: ``"init"`` or ``"apply"``; empty if Haiku has to be asked each time.
    """

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.accesses: list[Access] = []
        self.runs: dict[str, Run] = {}
        self.leaked: set[tuple[str, str]] = set()
        self.marks = 0
        self._methods: list[tuple[Any, str]] = []

    @contextlib.contextmanager
    def hooks(self) -> Iterator[None]:
        """Set all hooks of Haiku; they hold for the transformed functions inside as well."""
        with contextlib.ExitStack() as stack:
            for kind in ("params", "state"):
                where = {"params": kind == "params", "state": kind == "state"}
                creator = functools.partial(self._create, kind)
                getter = functools.partial(self._read, kind)
                stack.enter_context(hk.custom_creator(creator, **where))
                stack.enter_context(hk.custom_getter(getter, **where))
            stack.enter_context(hk.custom_setter(self._write))
            stack.enter_context(hk.intercept_methods(self._call))
            yield

    def _create(self, kind: str, following: Any, shape: Any, dtype: Any, init: Any, at: Any) -> Any:
        return self._note("create", kind, following(shape, dtype, init), at)

    def _read(self, kind: str, following: Any, value: Any, at: Any) -> Any:
        return self._note("read", kind, following(value), at)

    def _write(self, following: Any, value: Any, at: Any) -> Any:
        known = hk.get_current_state().get(at.module_name, {})
        action = "write" if at.name in known else "create"
        return self._note(action, "state", following(value), at)

    def _note(self, action: str, kind: str, value: Any, at: Any) -> Any:
        """Note each array of a value and return the value with marks on it."""
        module = (at.lifted_prefix_name or "") + at.module_name
        running, method = self._methods[-1] if self._methods else (None, "")
        phase = self.phase or ("init" if hk.running_init() else "apply")

        def note(path: Any, leaf: Any) -> Any:
            if leaf is hk.DO_NOT_STORE or not hasattr(leaf, "dtype"):
                return leaf
            access = Access(
                phase=phase,
                module=module,
                method=method if at.module is running and running is not None else "",
                action=action,
                kind=kind,
                name=at.name + jax.tree_util.keystr(path),
                shape=tuple(leaf.shape),
                dtype=str(leaf.dtype),
                mark=self.marks,
                value=None if isinstance(leaf, jax.core.Tracer) else leaf,
            )
            self.accesses.append(access)
            if not is_usable(leaf):
                self.leaked.add((module, access.name))
            self.marks += 1
            return marked(leaf, access.mark)

        return jax.tree_util.tree_map_with_path(note, value)

    def _call(self, following: Any, args: Any, kwargs: Any, at: Any) -> Any:
        """Run a method, and mark what it returns."""
        caller = self._methods[-1][0].module_name if self._methods else ""
        self._methods.append((at.module, at.method_name))
        run = Run(type(at.module).__name__)
        if at.method_name != "__init__":
            run = self.runs.setdefault(at.module.module_name, run)
            run.given.append(self.marks)
            run.callers.append(caller)
            args, kwargs = self._marked((args, kwargs), kept=is_key)
        try:
            output = following(*args, **kwargs)
        except LEAKS:
            self._find_leaks()
            raise
        finally:
            self._methods.pop()
        if at.method_name == "__init__":
            return output
        if at.method_name not in run.methods:
            run.methods.append(at.method_name)
        run.marks.append(self.marks)
        if not self._methods:
            self._find_leaks()
        return self._marked(output)

    def _marked(self, value: Any, kept: Callable[[Any], bool] = lambda leaf: False) -> Any:
        """Mark each array of a value with a new number, apart from those that are kept."""
        number = self.marks
        self.marks += 1
        try:
            return jax.tree.map(lambda leaf: leaf if kept(leaf) else marked(leaf, number), value)
        except (TypeError, ValueError):  # no PyTree, such as a dict whose keys have no order
            return value

    def _find_leaks(self) -> None:
        """Note the state whose tracers belong to a transformation that has ended."""
        for module, bundle in hk.get_current_state().items():
            for name, value in bundle.items():
                if not all(map(is_usable, jax.tree.leaves(value))):
                    self.leaked.add((module, name))


@dataclasses.dataclass
class Trace:
    """What was seen of one function."""

    recorder: Recorder
    arguments: list[tuple[Any, ...]]
    """The path of each traced argument; its first key is the name of the argument."""
    types: list[Any]
    """The shape and the dtype of each traced argument."""
    results: list[tuple[Any, ...]]
    """The path of each result that is an array."""
    values: list[Any]
    """The same results: constants as they are, and None for what was traced."""
    output: Any
    """The results as a PyTree of shapes and dtypes, where all of them are arrays."""
    dataflow: Dataflow
    """How they depend on each other; empty if the trace ended early."""
    error: BaseException | None


def trace(function: Callable[[dict[str, Any]], Any], named: dict[str, Any], phase: str) -> Trace:
    """Trace a function of named arguments, with the hooks active.

    Args:
      function: takes the arguments as one dictionary.
      named: the arguments; arrays and numbers in them are traced, at any depth.
      phase: as for :class:`Recorder`.

    Raises:
      Exception: what the function raises, unless it is the consequence of a leak that was found.
    """
    recorder = Recorder(phase)
    pairs, structure = jax.tree_util.tree_flatten_with_path(named)
    arguments = [path for path, leaf in pairs if is_traced(leaf)]
    leaves = [leaf for _, leaf in pairs if is_traced(leaf)]
    types = list(jax.eval_shape(lambda *each: each, *leaves))
    results: list[tuple[Any, ...]] = []
    values: list[Any] = []
    structures: list[Any] = []

    def run(*tracers: Any) -> Any:
        waiting = iter(tracers)
        filled = [next(waiting) if is_traced(leaf) else leaf for _, leaf in pairs]
        with recorder.hooks():
            output = function(jax.tree_util.tree_unflatten(structure, filled))
        found, _ = jax.tree_util.tree_flatten_with_path(output)
        found = [(path, leaf) for path, leaf in found if hasattr(leaf, "dtype")]
        results.extend(path for path, _ in found)
        values.extend(None if isinstance(leaf, jax.core.Tracer) else leaf for _, leaf in found)
        dead = [path for path, leaf in found if not is_usable(leaf)]
        recorder.leaked.update(pair for path in dead for pair in places(path))
        alive = [
            leaf if is_usable(leaf) else jnp.zeros(leaf.shape, leaf.dtype) for _, leaf in found
        ]
        structures.append(jax.tree.structure(output))
        return alive

    # the hooks may be set inside of a transformed function only; this one has no modules itself
    shell = hk.transform_with_state(run)
    try:
        with compat.traced_anew():
            make = jax.make_jaxpr(lambda *a: shell.apply({}, {}, None, *a)[0], return_shape=True)
            closed, shapes = make(*leaves)
    except LEAKS as error:
        recorder.leaked |= {  # where nothing else told, pure_pair's own error does
            (access.module, access.name)
            for access in recorder.accesses
            if f"state[{access.module!r}][{access.name!r}]" in str(error)
        }
        if not recorder.leaked:
            raise
        nothing = Dataflow(jax.make_jaxpr(lambda: ())())
        return Trace(recorder, arguments, types, [], [], None, nothing, error)
    whole = structures[-1].num_leaves == len(shapes)
    output = jax.tree.unflatten(structures[-1], shapes) if whole else None
    return Trace(recorder, arguments, types, results, values, output, Dataflow(closed), None)


def is_traced(leaf: Any) -> bool:
    """Return whether a leaf of an argument is an array or a number, but not a flag."""
    is_number = isinstance(leaf, int | float | complex) and not isinstance(leaf, bool)
    return is_number or (hasattr(leaf, "dtype") and hasattr(leaf, "shape"))


def is_key(value: Any) -> bool:
    """Return whether a value is a random key, also one of two numbers."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return False
    return (dtype == jnp.uint32 and value.shape == (2,)) or jnp.issubdtype(
        dtype, jax.dtypes.prng_key
    )


def is_usable(leaf: Any) -> bool:
    """Return False for a tracer whose transformation has ended."""
    return not isinstance(leaf, jax.core.Tracer) or is_live(leaf)


def places(path: tuple[Any, ...]) -> list[tuple[str, str]]:
    """Return the modules and names that a path can mean: two string keys, and what follows.

    Example:
      >>> import jax
      >>> from haiku_state.inside.flow_hooks import places
      >>> [(path, _)], _ = jax.tree_util.tree_flatten_with_path([{"counter": {"count": 1}}])
      >>> places(path)
      [('counter', 'count')]
    """
    keys = [getattr(entry, "key", None) for entry in path]
    return [
        (module, name + jax.tree_util.keystr(path[i + 2 :]))
        for i, (module, name) in enumerate(itertools.pairwise(keys))
        if isinstance(module, str) and isinstance(name, str)
    ]
