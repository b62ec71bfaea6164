"""Record which module reads and writes which leaf of params and state, and where each leaf goes.

``record_flow`` traces a function while Haiku's own hooks are active: creators, getters, setters and
method interceptors. They hold for every ``init`` and ``apply`` that the function calls, because the
whole trace runs inside of a transformed function of its own. Each value that passes a hook gets a
mark, and the marks are found again in the jaxpr. So a written leaf is known to reach the result of
the function, or to be dropped on the way. Nothing is computed.
"""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import haiku as hk
import jax

from haiku_state.errors import ArgumentError
from haiku_state.errors.language import deferred as _
from haiku_state.inside.flow_data import INPUTS, RESULT, FlowEvent, FlowLeaf, FlowModule
from haiku_state.inside.flow_hooks import Access, Run, Trace, is_key, places, trace
from haiku_state.inside.flow_picture import Flow


def record_flow(function: Callable[..., Any], *args: Any, rng: Any = None, **kwargs: Any) -> Flow:
    """Record where a function's params and state come from and where they go.

    The function is traced but not executed, so only the shapes and dtypes of arrays matter.

    Args:
      function: a function that uses modules, of the kind that ``hk.transform_with_state`` accepts;
        a module class that is constructed without arguments; the result of ``hk.transform``,
        ``hk.transform_with_state`` or :func:`.pure_pair`; or a function that calls the ``apply`` of
        such a result, such as an update step.
      args: the inputs of the function, or all of its arguments if it calls ``apply`` itself. Arrays
        and numbers are traced, and ``jax.ShapeDtypeStruct`` can take the place of an array. Other
        values, such as a Python bool, are passed on unchanged.
      rng: the random key for ``init`` and ``apply``; None stands for a key of the default type. A
        function that calls ``apply`` itself receives its key through ``args``.
      kwargs: more inputs of the function, passed by name.

    Returns:
      A :class:`.Flow`, in which each module is named by its path in params and state. A read is not
      recorded if a custom getter does not call the next getter.

    Raises:
      ArgumentError: ``function`` cannot be called or calls no Haiku module.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import Counter, pure_pair
      >>> from haiku_state.inside import record_flow
      >>> print(record_flow(Counter))
      Counter (params: 0, leaves of state: 1)
      <BLANKLINE>
      init
        counter  __call__  makes   state  count  int32[]
        counter  __call__  writes  state  count  int32[]
      <BLANKLINE>
      apply
        counter  __call__  reads   state  count  int32[]
        counter  __call__  writes  state  count  int32[]
      <BLANKLINE>
      leaves
        state['counter']['count']  int32[]  read, written, returned
      >>> counter = pure_pair(Counter)
      >>> def step(state):
      ...     count, _ = counter.apply({}, state, None)
      ...     return count, state
      >>> record_flow(step, {"counter": {"count": jnp.zeros((), int)}}).leaves[0].end
      'dropped'

    References:
      Haiku's documentation, `Modules, Parameters and State
      <https://dm-haiku.readthedocs.io/en/latest/api.html#modules-parameters-and-state>`__
      and ``hk.to_dot``.
    """
    if all(callable(getattr(function, name, None)) for name in ("init", "apply")):
        pair: Any = function
        if not isinstance(pair, hk.Transformed):
            return _flow_of_pair(_name_of(pair.apply), pair.init, pair.apply, rng, args, kwargs)

        def apply(params: Any, state: Any, rng: Any, *args: Any, **kwargs: Any) -> Any:
            return pair.apply(params, rng, *args, **kwargs), {}

        def init(rng: Any, *args: Any, **kwargs: Any) -> Any:
            return pair.init(rng, *args, **kwargs), {}

        return _flow_of_pair(_name_of(pair.apply), init, apply, rng, args, kwargs)
    if not callable(function):
        raise _function_error(
            _name_of(function),
            _("a function, a module class or a pure pair"),
            _("the function is traced with the arguments that are passed after it"),
        )
    is_module = isinstance(function, type) and issubclass(function, hk.Module)

    def call(*inputs: Any, **named: Any) -> Any:
        return function()(*inputs, **named) if is_module else function(*inputs, **named)

    transformed = hk.transform_with_state(call)
    name = _name_of(function)
    first = _trace_init(transformed.init, rng, args, kwargs)
    if not (is_module or first.results or first.error is not None):
        try:
            return _flow_of_step(name, function, args, kwargs)
        except ValueError as error:  # Haiku does not export the class
            if type(error).__name__ != "MissingRNGError":
                raise
    return _flow_of_pair(name, transformed.init, transformed.apply, rng, args, kwargs, first)


def _trace_init(init: Any, rng: Any, args: Any, kwargs: Any) -> Trace:
    named = {"rng": _key(rng), "inputs": args, "named": kwargs}
    return trace(lambda a: init(a["rng"], *a["inputs"], **a["named"]), named, "init")


def _flow_of_pair(
    name: str, init: Any, apply: Any, rng: Any, args: Any, kwargs: Any, first: Any = None
) -> Flow:
    first = first or _trace_init(init, rng, args, kwargs)
    if first.error is not None:  # a leak ended init already
        return _Resolver(name, "init", first).flow()
    is_pair = isinstance(first.output, tuple) and len(first.output) == 2
    if not is_pair or (first.results and not first.recorder.accesses):
        raise _function_error(
            name,
            _("a pair made from a function that uses Haiku's modules"),
            _("Haiku's hooks recorded nothing, although init returned params or state"),
        )
    params, state = first.output
    named = {"params": params, "state": state, "rng": _key(rng), "inputs": args, "named": kwargs}
    second = trace(
        lambda a: apply(a["params"], a["state"], a["rng"], *a["inputs"], **a["named"]),
        named,
        "apply",
    )
    return _Resolver(name, "apply", second, first).flow()


def _flow_of_step(name: str, function: Any, args: Any, kwargs: Any) -> Flow:
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except ValueError:  # a builtin, which has no signature
        bound = inspect.signature(lambda *args, **kwargs: None).bind(*args, **kwargs)

    def call(named: dict[str, Any]) -> Any:
        filled = inspect.BoundArguments(bound.signature, named)
        return function(*filled.args, **filled.kwargs)

    seen = trace(call, dict(bound.arguments), "")
    if not seen.recorder.accesses and not seen.recorder.runs:
        raise _function_error(
            name,
            _("a function that calls Haiku's modules, or their apply"),
            _("no Haiku module ran while the function was traced"),
        )
    return _Resolver(name, name, seen).flow()


class _Resolver:
    """Turns what the hooks noted into events and leaves.

    Haiku names a leaf by the module that runs, and a nested transform such as ``hk.layer_stack``
    names it from a top of its own. Which leaf it is follows from the argument that its value comes
    from; the names decide where it comes from none.
    """

    def __init__(self, function: str, frame: str, seen: Trace, first: Trace | None = None) -> None:
        self.function, self.frame, self.seen, self.first = function, frame, seen, first
        self.dataflow = seen.dataflow
        runs = seen.recorder.runs.values()
        self.inputs = {mark for run in runs for mark in run.given}
        self.outputs = {mark for run in runs for mark in run.marks} | self.inputs
        self.leaves: dict[str, FlowLeaf] = {}
        self.events: list[FlowEvent] = []
        self.latest: dict[tuple[str, str, str], list[str]] = {}  # the places last meant by a name
        self.written: dict[int, str] = {}  # the marks of written values, and the places they mean
        self.paths: dict[str, str] = {}  # what nested transforms call a module: its path
        self.arguments: dict[int, str] = {}  # the arguments that are leaves, and their places

    def flow(self) -> Flow:
        """Return what the traces say together."""
        if self.first is not None:
            self._resolve_init(self.first)
        for access in self._accesses():
            found = self._origin_of(access) if access.action == "read" else self._target_of(access)
            self._note(access, found)
        for place, leaf in self.leaves.items():
            self.leaves[place] = self._with_end(leaf)
        modules = self._modules()
        return Flow(
            function=self.function,
            frame=self.frame,
            events=tuple(self.events),
            modules=modules,
            leaves=tuple(self.leaves.values()),
            wires=self._wires([module.path for module in modules]),
            draws=self._is_random(*self.dataflow.into.values(), *self._outputs()),
            drawn_into=(
                *self._drawn_into(),
                *((RESULT,) if self._is_random(*self._outputs()) else ()),
            ),
            error="" if self.seen.error is None else str(self.seen.error),
        )

    def _accesses(self) -> list[Access]:
        """Return what was noted, without the traces that JAX made and did not use."""
        used = {
            dataclasses.replace(access, mark=0)
            for access in self.seen.recorder.accesses
            if access.mark in self.dataflow.into
        }
        return [
            access
            for access in self.seen.recorder.accesses
            if access.mark in self.dataflow.into or dataclasses.replace(access, mark=0) not in used
        ]

    def _outputs(self) -> list[int]:
        """Return what the output of ``apply`` depends on, apart from the new state."""
        pairs = zip(self.seen.results, self.dataflow.results, strict=True)
        return [origins for path, origins in pairs if self.first is not None and path[0].idx == 0]

    def _resolve_init(self, first: Trace) -> None:
        """Note the leaves that ``init`` returns, and what it does with them."""
        for index, path in enumerate(self.seen.arguments):
            if path[0].key in ("params", "state"):
                self._argument(index, path[0].key, *places(path)[1])
        for access in first.recorder.accesses:
            suffix = f"/{access.module}"
            found = [
                leaf
                for leaf in self.leaves.values()
                if (leaf.kind, leaf.name) == (access.kind, access.name)
                if leaf.module == access.module or leaf.module.endswith(suffix)
            ]
            if found:  # what init does not return is no leaf
                leaf = min(found, key=lambda leaf: len(leaf.module))
                event = _event(access, leaf)
                made = {(each.leaf, each.action) for each in self.events}
                if event.action != "read" or (leaf.place, "create") not in made:
                    self.events.append(event)  # what it has just made, it knows

    def _argument(self, index: int, kind: str, module: str, name: str) -> str:
        """Return the place of an argument that is a leaf."""
        path, value = self.seen.arguments[index], self.seen.types[index]
        place = _place(path)
        leaf = FlowLeaf(kind, module, name, place, tuple(value.shape), str(value.dtype))
        self.leaves.setdefault(place, leaf)
        self.arguments[index] = place
        return place

    def _origin_of(self, access: Access) -> list[str]:
        """Return the places of the leaves whose values are read."""
        origins = self.dataflow.behind(self.dataflow.into.get(access.mark, 0), self.outputs)
        known = {
            index: self.seen.arguments[index]
            for index in self.dataflow.arguments(origins)
            # the other arguments of apply are inputs, of which state may be computed
            if self.first is None or index in self.arguments
        }
        named = [
            (module != access.module, access.kind not in _keys(path), index, module)
            for index, path in known.items()
            for module, name in places(path)
            if name == access.name and f"/{module}".endswith(f"/{access.module}")
        ]
        if named:  # the optimizer's arrays have the names of the params; the path tells them apart
            _other, _unlike, index, module = min(named)
            place = self.arguments.get(index)
            return [place or self._argument(index, access.kind, module, access.name)]
        written = [
            self.written[mark] for mark in self.dataflow.marks(origins) if mark in self.written
        ]
        stacked = [  # of several leaves, as a transparent hk.layer_stack does it
            self.arguments[index]
            for index in known
            if index in self.arguments and self.leaves[self.arguments[index]].kind == access.kind
        ]
        if written or stacked:
            return written[:1] or stacked
        is_constant = access.value is not None or access.mark in self.dataflow.into
        is_leaked = (access.module, access.name) in self.seen.recorder.leaked
        if is_constant and not origins and not is_leaked:
            return self._by_name(access, frozen=True)
        return self._target_of(access)

    def _target_of(self, access: Access) -> list[str]:
        """Return the place of the leaf that is written."""
        names = access.module, access.name
        if found := self.latest.get((access.kind, *names)):
            return found[:1]
        trees = {
            _tree_of(leaf)
            for leaf in self.leaves.values()
            if (leaf.kind, leaf.module) == (access.kind, access.module)
        }
        for index, path in enumerate(self.seen.arguments):
            # one that is not read is where the module's other leaves are
            tree = _place(path).rpartition(f"[{access.module!r}]")[0]
            if names in places(path) and tree in trees:
                return [self._argument(index, access.kind, *names)]
        return self._by_name(access)

    def _by_name(self, access: Access, frozen: bool = False) -> list[str]:
        """Return the place of a leaf that is not among the arguments."""
        place = f"{access.kind}: {access.module}/{access.name}"
        made = access.phase if access.action == "create" else ""
        leaf = FlowLeaf(
            access.kind, access.module, access.name, place, access.shape, access.dtype, made,
            frozen=frozen,
        )  # fmt: skip
        self.leaves.setdefault(place, leaf)
        return [place]

    def _note(self, access: Access, found: list[str]) -> None:
        """Note an event for each of the leaves that it means."""
        self.latest[access.kind, access.module, access.name] = found
        for place in found:
            leaf = self.leaves[place]
            self.events.append(_event(access, leaf))
            self.paths.setdefault(access.module, leaf.module)
            if access.action != "read":
                self.written[access.mark] = place
            if access.phase == "apply" or self.frame == "init":
                self.leaves[place] = dataclasses.replace(
                    leaf,
                    read=leaf.read or access.action == "read",
                    written=leaf.written or access.action == "write",
                )

    def _with_end(self, leaf: FlowLeaf) -> FlowLeaf:
        """Return the leaf; if it is state, with what becomes of it."""
        if leaf.kind == "params":
            return leaf
        if (leaf.module, leaf.name) in self.seen.recorder.leaked:
            return dataclasses.replace(leaf, end="leaked")
        marks = {mark for mark, place in self.written.items() if place == leaf.place}
        if not marks:
            return dataclasses.replace(leaf, end="" if leaf.frozen else "unchanged")
        if self.seen.error is not None:
            return dataclasses.replace(leaf, end="unknown")
        constants = [
            access.value
            for access in self.seen.recorder.accesses
            if access.mark in marks and access.value is not None
        ]
        reached = [
            path
            for path, origins, value in zip(
                self.seen.results, self.dataflow.results, self.seen.values, strict=True
            )
            if marks & set(self.dataflow.marks(origins)) or any(value is c for c in constants)
        ]
        named = [path for path in reached if (leaf.module, leaf.name) in places(path)]
        # what goes out in its place may be the old value, although the new one is used
        is_replaced = not named and any(
            (leaf.module, leaf.name) in places(path) for path in self.seen.results
        )
        if not reached or is_replaced:
            return dataclasses.replace(leaf, end="unknown" if constants else "dropped")
        result = jax.tree_util.keystr((named or reached)[0])
        return dataclasses.replace(leaf, end="returned", result=result)

    def _modules(self) -> tuple[FlowModule, ...]:
        into = self.dataflow.into

        def first(item: tuple[str, Run]) -> int:
            # without what depends on nothing, such as the initial state of a recurrent core
            marks = item[1].marks
            computed = [m for m in marks if self.dataflow.behind(into.get(m, 0), self.outputs)]
            return min(computed or marks)

        finished = [item for item in self.seen.recorder.runs.items() if item[1].marks]
        runs = sorted(finished, key=first)
        return tuple(
            FlowModule(
                self.paths.get(path, path),
                run.kind,
                tuple(run.methods),
                self._is_random(*(self.dataflow.into.get(mark, 0) for mark in run.marks))
                or bool(self._drawn_into(path)),
            )
            for path, run in runs
            if run.kind != "LiftingModule"  # no module of the user's: hk.lift reads params with it
        )

    def _is_random(self, *origins: int) -> bool:
        """Return whether a random key is among the origins."""
        indices = {index for each in origins for index in self.dataflow.arguments(each)}
        return any(is_key(self.seen.types[index]) for index in indices)

    def _drawn_into(self, caller: str = "") -> tuple[str, ...]:
        """Return the modules that are given what a module draws, or the code outside of all."""
        into = self.dataflow.into
        return tuple(
            self.paths.get(path, path)
            for path, run in self.seen.recorder.runs.items()
            if self._is_random(
                *(
                    into.get(mark, 0)
                    for mark, who in zip(run.given, run.callers, strict=True)
                    if who == caller
                )
            )
        )

    def _wires(self, paths: list[str]) -> tuple[tuple[str, str], ...]:
        """Return which module's output goes where."""
        runs = self.seen.recorder.runs
        owner = {
            mark: self.paths.get(path, path) for path, run in runs.items() for mark in run.marks
        }
        wires = []

        def connect(origins: int, to: str) -> None:
            origins = self.dataflow.behind(origins, self.inputs)
            for mark in self.dataflow.marks(origins):
                if mark in owner:
                    wires.append((owner[mark], to))
            for index in self.dataflow.arguments(origins):
                if index not in self.arguments and not is_key(self.seen.types[index]):
                    wires.append((INPUTS, to))

        for mark, path in owner.items():
            connect(self.dataflow.into.get(mark, 0), path)
        for origins in self._outputs():
            connect(origins, RESULT)
        order = {path: index for index, path in enumerate([INPUTS, *paths, RESULT])}
        return tuple(
            (start, end)
            for start, end in dict.fromkeys(wires)
            if order.get(start, len(order)) < order.get(end, -1)
        )


def _event(access: Access, leaf: FlowLeaf) -> FlowEvent:
    return FlowEvent(
        phase=access.phase,
        module=leaf.module,
        method=access.method,
        action=access.action,
        leaf=leaf.place,
        shape=access.shape,
        dtype=access.dtype,
    )


def _place(path: tuple[Any, ...]) -> str:
    """Return an argument as code."""
    return f"{path[0].key}{jax.tree_util.keystr(path[1:])}"


def _tree_of(leaf: FlowLeaf) -> str:
    """Return the params or the state that a leaf belongs to, as code."""
    return leaf.place.rpartition(f"[{leaf.module!r}]")[0]


def _keys(path: tuple[Any, ...]) -> list[Any]:
    return [getattr(entry, "key", getattr(entry, "name", None)) for entry in path]


def _key(rng: Any) -> Any:
    """Return a key as a shape and a dtype."""
    return jax.eval_shape(lambda: jax.random.key(0)) if rng is None else rng


def _name_of(function: Any) -> str:
    """Return what a reader calls the function."""
    original = getattr(function, "_original_fn", function)  # Haiku notes it at init and apply
    name = getattr(inspect.unwrap(original), "__name__", type(original).__name__)
    return "apply" if name in ("apply_fn", "call") else name


def _function_error(value: str, expected: str, why: str) -> ArgumentError:
    return ArgumentError(
        argument="function",
        value=value,
        expected=expected,
        why=why,
        more="api/explain",
    )
