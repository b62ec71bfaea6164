"""Params and state as plain NumPy arrays, in memory and in files."""

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.contract import describe
from haiku_state.errors import ArrayFileError, ArrayMismatchError, DeviceStackedError
from haiku_state.errors.base import as_lines
from haiku_state.typing import Params, State

Array: TypeAlias = "np.ndarray[Any, Any]"
Arrays: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Array]]]
Flat: TypeAlias = dict[tuple[str, str, str], Any]

_KINDS = ("params", "state")
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def to_numpy(params: Params, state: State) -> dict[str, dict[str, dict[str, Array]]]:
    """Copy params and state into plain nested dicts of NumPy arrays.

    Args:
      params: Haiku's parameters, of one replica.
      state: Haiku's state, of one replica.

    Returns:
      ``{"params": {module: {name: array}}, "state": {module: {name: array}}}``, with the shapes
      and dtypes of the leaves.

    Raises:
      ArrayFileError: a module's value is no dict of arrays.
      DeviceStackedError: a leaf is spread over devices.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import to_numpy
      >>> to_numpy({"linear": {"b": jnp.zeros(2)}}, {})
      {'params': {'linear': {'b': array([0., 0.], dtype=float32)}}, 'state': {}}

    References:
      Haiku's documentation, `How can I save and load parameters?
      <https://dm-haiku.readthedocs.io/en/latest/index.html>`__.
    """
    arrays: dict[str, dict[str, dict[str, Array]]] = {}
    for kind, tree in zip(_KINDS, (params, state), strict=True):
        if not isinstance(tree, Mapping):
            raise _format_error(kind, type(tree).__name__, "{'module': {'name': array}}")
        arrays[kind] = {module: {} for module in tree}
    for (kind, module, name), leaf in _flatten({"params": params, "state": state}).items():
        _expect_one_replica(kind, module, name, leaf)
        arrays[kind][module][name] = np.array(leaf)
    return arrays


def from_numpy(arrays: Arrays, params: Params, state: State) -> tuple[Params, State]:
    """Put NumPy arrays in the place of a model's params and state.

    Args:
      arrays: what :func:`to_numpy` or :func:`load_numpy` gave.
      params: the parameters that ``init`` gives for the model.
      state: the state that ``init`` gives for the model.

    Returns:
      ``(params, state)`` as JAX arrays on the default device.

    Raises:
      ArrayFileError: ``arrays`` is no such dict.
      ArrayMismatchError: it lists every name, shape and dtype that differs.
      DeviceStackedError: every array has one axis more, the device axis.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import from_numpy, to_numpy
      >>> model = {"linear": {"b": jnp.zeros(2)}}
      >>> arrays = to_numpy({"linear": {"b": jnp.ones(2)}}, {})
      >>> from_numpy(arrays, model, {})
      ({'linear': {'b': Array([1., 1.], dtype=float32)}}, {})

    References:
      The inverse of :func:`to_numpy`.
    """
    given, wanted = _flatten(arrays), _flatten({"params": params, "state": state})
    differences = [f"- {_show(path)}" for path in wanted if path not in given]
    differences += [f"+ {_show(path)}" for path in given if path not in wanted]
    common = [path for path in wanted if path in given]
    differences += [
        f"{_show(path)}: {describe(given[path])} -> {describe(wanted[path])}"
        for path in common
        if describe(given[path]) != describe(wanted[path])
    ]
    if common and all(given[p].shape[1:] == np.shape(wanted[p]) != given[p].shape for p in common):
        raise _stacked(common[0], given[common[0]].shape, np.shape(wanted[common[0]]))
    if differences:
        raise ArrayMismatchError(differences=as_lines(differences))
    loaded: dict[str, dict[str, dict[str, jax.Array]]] = {
        kind: {module: {} for module in tree}
        for kind, tree in zip(_KINDS, (params, state), strict=True)
    }
    for kind, module, name in wanted:
        loaded[kind][module][name] = jnp.array(given[kind, module, name])
    return loaded["params"], loaded["state"]


def save_numpy(path: str | os.PathLike[str], arrays: Arrays) -> None:
    """Write arrays to an ``.npz`` file, whole or not at all.

    ``numpy.load`` reads it without this package and without pickle. An entry is called
    ``params:module path:name:dtype``; a dtype that NumPy does not have, bfloat16 say, is stored
    as unsigned integers with the same bits.

    Args:
      path: the file; one that is there already is replaced when the new one is complete.
      arrays: what :func:`to_numpy` gave.

    Raises:
      ArrayFileError: ``arrays`` is no such dict, or a name contains a colon, or an array objects.

    Example:
      >>> import pathlib, tempfile, jax.numpy as jnp
      >>> from haiku_state import load_numpy, save_numpy, to_numpy
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     path = pathlib.Path(folder) / "model.npz"
      ...     save_numpy(path, to_numpy({"linear": {"b": jnp.ones(2)}}, {}))
      ...     load_numpy(path)["params"]
      {'linear': {'b': array([1., 1.], dtype=float32)}}

    References:
      NumPy's documentation, `numpy.savez
      <https://numpy.org/doc/stable/reference/generated/numpy.savez.html>`__.
    """
    entries: dict[str, Any] = {}
    for names, array in _flatten(arrays).items():
        array = np.asarray(array)
        entry = ":".join((*names, str(array.dtype)))
        if entry.count(":") != 3 or array.dtype.hasobject:
            raise _format_error(_show(names), entry, "params:module:name:dtype")
        known = array.dtype.isbuiltin == 1
        entries[entry] = array if known else array.view(_WORDS[array.dtype.itemsize])
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            np.savez(file, **entries)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load_numpy(path: str | os.PathLike[str]) -> dict[str, dict[str, dict[str, Array]]]:
    """Read a file that :func:`save_numpy` wrote.

    Args:
      path: the file.

    Returns:
      What :func:`to_numpy` gave.

    Raises:
      FileNotFoundError: there is no such file.
      ArrayFileError: it is another kind of file, damaged, or holds objects.

    Example:
      >>> from haiku_state import load_numpy
      >>> load_numpy("no-such-file.npz")
      Traceback (most recent call last):
        ...
      FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.npz'

    References:
      NumPy's documentation, `numpy.load
      <https://numpy.org/doc/stable/reference/generated/numpy.load.html>`__.
    """
    arrays: dict[str, dict[str, dict[str, Array]]] = {kind: {} for kind in _KINDS}
    expected = "params:module:name:dtype"
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            entries = {tuple(entry.split(":")): array for entry, array in file.items()}
        for (kind, module, name, dtype), array in entries.items():
            arrays.get(kind, {}).setdefault(module, {})[name] = array.view(jnp.dtype(dtype))
    except (ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise _format_error(str(path), type(error).__name__, ".npz") from error
    for kind, *_ in entries:
        if kind not in _KINDS:
            raise _format_error(str(path), kind, expected)
    return arrays


def _flatten(arrays: Any) -> Flat:
    return {(kind, module, name): leaf for kind, module, name, leaf in _walk(arrays)}


def _walk(arrays: Any) -> Iterator[tuple[str, str, str, Any]]:
    if not isinstance(arrays, Mapping) or set(arrays) != set(_KINDS):
        found = list(arrays) if isinstance(arrays, Mapping) else type(arrays).__name__
        raise _format_error("arrays", found, "{'params': …, 'state': …}")
    for kind in _KINDS:
        for module, values in arrays[kind].items():
            if not isinstance(values, Mapping):
                raise _format_error(f"{kind}[{module!r}]", type(values).__name__, "{'name': array}")
            for name, leaf in values.items():
                if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
                    raise _format_error(_show((kind, module, name)), type(leaf).__name__, "array")
                yield kind, module, name, leaf


def _expect_one_replica(kind: str, module: str, name: str, leaf: Any) -> None:
    shards = getattr(leaf, "addressable_shards", [])
    one_row_each = len(shards) > 1 and leaf.shape[:1] == (len(leaf.sharding.device_set),)
    # pmap's shards lose the device axis on some JAX; those of a mesh keep it
    if one_row_each and shards[0].data.shape in (leaf.shape[1:], (1, *leaf.shape[1:])):
        raise _stacked((kind, module, name), leaf.shape, leaf.shape[1:])


def _stacked(
    path: tuple[str, str, str], shape: tuple[int, ...], expected: tuple[int, ...]
) -> DeviceStackedError:
    return DeviceStackedError(
        path=_show(path),
        shape=shape,
        expected=expected,
        wrong="to_numpy(params, state)",
        right="to_numpy(unreplicate(params), unreplicate(state))",
    )


def _show(path: tuple[str, str, str]) -> str:
    return "{}[{!r}][{!r}]".format(*path)


def _format_error(where: str, found: object, expected: str) -> ArrayFileError:
    return ArrayFileError(where=where, found=found, expected=expected)
