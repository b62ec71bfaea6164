"""Params and state as plain NumPy arrays, in memory and in files."""

import contextlib
import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state import errors
from haiku_state.errors import arguments
from haiku_state.storage.leaves import differences, kinds_of
from haiku_state.typing import Params, State

Array: TypeAlias = "np.ndarray[Any, Any]"
Arrays: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Array]]]
Path3: TypeAlias = tuple[str, str, str]


def to_numpy(params: Params, state: State) -> dict[str, dict[str, dict[str, Array]]]:
    """Copy params and state into plain nested dicts of NumPy arrays.

    Args:
      params: Haiku's parameters of a single replica.
      state: Haiku's state of a single replica.

    Returns:
      ``{"params": {module: {name: array}}, "state": {module: {name: array}}}``, with the shapes
      and dtypes of the leaves.

    Raises:
      ArgumentError: a module's value is not a dict of arrays, or a leaf is a random key or a
        tracer.
      DonatedBufferError: an update step has already consumed a leaf.
      DeviceStackedError: a leaf has a device axis, with one entry on each device.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state.storage import to_numpy
      >>> to_numpy({"linear": {"b": jnp.zeros(2)}}, {})
      {'params': {'linear': {'b': array([0., 0.], dtype=float32)}}, 'state': {}}

    References:
      `Haiku issue 18 <https://github.com/google-deepmind/dm-haiku/issues/18>`__, on saving and
      loading.
    """
    leaves = _flattened({"params": params, "state": state})
    for path, leaf in leaves.items():
        if isinstance(leaf, jax.core.Tracer):
            raise arguments.unsavable_leaf(_show(path), leaf, True)
        if isinstance(leaf, jax.Array) and leaf.is_deleted():
            raise errors.DonatedBufferError(path=_show(path))
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            raise arguments.key_in_numpy(_show(path))
        _check_one_replica(path, leaf)
    return _nested({path: np.array(leaf) for path, leaf in leaves.items()})


def from_numpy(arrays: Arrays, params: Params, state: State) -> tuple[Params, State]:
    """Load NumPy arrays into a model's params and state.

    Args:
      arrays: the result of :func:`to_numpy` or :func:`load_numpy`.
      params: the parameters that ``init`` returns for the model.
      state: the state that ``init`` returns for the model.

    Returns:
      ``(params, state)`` as JAX arrays on the default device.

    Raises:
      ArgumentError: ``arrays`` is not a dict of the form that :func:`to_numpy` returns.
      SavedMismatchError: the arrays do not fit the model; the error lists every name, shape and
        dtype that differs.
      DeviceStackedError: every array has an additional leading axis, the device axis.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state.storage import from_numpy, to_numpy
      >>> model = {"linear": {"b": jnp.zeros(2)}}
      >>> arrays = to_numpy({"linear": {"b": jnp.ones(2)}}, {})
      >>> from_numpy(arrays, model, {})
      ({'linear': {'b': Array([1., 1.], dtype=float32)}}, {})

    References:
      The inverse of :func:`to_numpy`.
    """
    given = _flattened(arrays)
    wanted = _flattened({"params": params, "state": state})
    common = [path for path in wanted if path in given]
    if common and all(given[p].shape[1:] == np.shape(wanted[p]) != given[p].shape for p in common):
        shape, expected = given[common[0]].shape, np.shape(wanted[common[0]])
        raise errors.DeviceStackedError(path=_show(common[0]), shape=shape, expected=expected)
    saved = kinds_of(**_nested(given))
    loaded = _nested({path: jnp.array(each) for path, each in given.items()})
    # JAX silently narrows 64 bits
    found = differences(saved, kinds_of(**_nested(wanted))) or differences(
        saved, kinds_of(**loaded)
    )
    if found:
        raise errors.SavedMismatchError(
            saved="arrays",
            wanted="params, state",
            differences=errors.as_lines(found),
        )
    return loaded["params"], loaded["state"]


def save_numpy(path: str | os.PathLike[str], arrays: Arrays) -> None:
    """Write arrays to an ``.npz`` file atomically: completely or not at all.

    The file can be read by ``numpy.load`` without this package and without pickle. Each entry is
    named ``params:module path:name:dtype`` or, for the state, ``state:module path:name:dtype``. A
    dtype that NumPy does not have, such as bfloat16, is stored as unsigned integers with the same
    bits.

    Args:
      path: the path of the file; an existing file is replaced only when the new file is complete.
      arrays: the result of :func:`to_numpy`.

    Raises:
      ArgumentError: ``arrays`` is not a dict of the form that :func:`to_numpy` returns, a name
        contains a colon, or an array contains something other than numbers.

    Example:
      >>> import pathlib, tempfile, jax.numpy as jnp
      >>> from haiku_state.storage import load_numpy, save_numpy, to_numpy
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
    for names, array in _flattened(arrays).items():
        array = _native(np.asarray(array))
        entry = ":".join((*names, str(array.dtype)))
        is_number = array.dtype == bool or jnp.issubdtype(array.dtype, np.number)
        if entry.count(":") != 3 or not is_number:
            raise arguments.unsavable_array(_show(names), array)
        known = array.dtype.isbuiltin == 1
        entries[entry] = array if known else array.view(f"u{array.dtype.itemsize}")
    target = Path(os.path.realpath(os.fsdecode(path)))  # a link stays one
    part = target.with_name(f".{secrets.token_hex(8)}.part")  # another process may save there too
    try:
        with part.open("wb") as file:
            np.savez(file, **entries)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    except OSError as error:
        if error.filename is None:
            raise
        # not the name of the part
        raise OSError(error.errno, error.strerror, os.fsdecode(path)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def load_numpy(path: str | os.PathLike[str]) -> dict[str, dict[str, dict[str, Array]]]:
    """Read a file that :func:`save_numpy` wrote.

    Args:
      path: the path of the file.

    Returns:
      The arrays that were saved, in the form that :func:`to_numpy` returns.

    Raises:
      FileNotFoundError: the file does not exist.
      DamagedFileError: the file is damaged or was not written by :func:`save_numpy`.

    Example:
      >>> from haiku_state.storage import load_numpy
      >>> load_numpy("no-such-file.npz")
      Traceback (most recent call last):
        ...
      FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.npz'

    References:
      NumPy's documentation, `numpy.load
      <https://numpy.org/doc/stable/reference/generated/numpy.load.html>`__.
    """
    leaves = {}
    with open(path, "rb") as stream:
        try:
            if not zipfile.is_zipfile(stream):  # else NumPy speaks of pickles
                raise ValueError("no npz file")
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as file:
                for entry, array in file.items():
                    kind, *names = entry.split(":")
                    if kind not in ("params", "state") or len(names) != 3:
                        raise ValueError(f"the entry {entry} is not params:… or state:…")
                    module, name, dtype = names
                    leaves[kind, module, name] = _as_dtype(array, np.dtype(jnp.dtype(dtype)))
            return _nested(leaves)
        # the libraries that read damaged files raise errors of all kinds
        except Exception as error:
            raise errors.DamagedFileError(
                path=path,
                damage=errors.as_lines([f"{type(error).__name__}: {error}"]),
            ) from error


def _native(array: Array) -> Array:
    """Return an array in the order of bytes of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _as_dtype(array: Array, dtype: Any) -> Array:
    """Return what a file has under the name of a dtype."""
    dtype = dtype.newbyteorder("=")
    native = _native(array)
    if native.dtype == dtype or (dtype.isbuiltin != 1 and native.dtype == f"u{dtype.itemsize}"):
        return native.view(dtype)
    raise ValueError(f"{native.dtype} under the name of {dtype}")


def _flattened(arrays: Any) -> dict[Path3, Any]:
    """Return the arrays by kind, module and name."""
    leaves = dict(_leaves(arrays))
    for path, leaf in leaves.items():
        is_named = len(path) == 3 and all(isinstance(name, str) for name in path)
        if not is_named or path[0] not in ("params", "state") or not _is_array(leaf):
            raise arguments.not_params(_show(path), leaf)
    return leaves


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


def _leaves(tree: Any, *path: str) -> Iterator[tuple[Any, Any]]:
    """Yield what nested dicts hold, with the path of each leaf."""
    if isinstance(tree, Mapping):
        for name, inner in tree.items():
            yield from _leaves(inner, *path, name)
    else:
        yield path, tree


def _nested(leaves: Mapping[Path3, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Put the arrays into nested dicts, by kind, module and name."""
    nested: dict[str, dict[str, dict[str, Any]]] = {"params": {}, "state": {}}
    for (kind, module, name), leaf in leaves.items():
        nested[kind].setdefault(module, {})[name] = leaf
    return nested


def _check_one_replica(path: Path3, leaf: Any) -> None:
    shards = getattr(leaf, "addressable_shards", [])
    one_row_each = len(shards) > 1 and leaf.shape[:1] == (len(leaf.sharding.device_set),)
    # pmap's shards lose the device axis on some versions of JAX; those of a mesh keep it
    if one_row_each and shards[0].data.shape in (leaf.shape[1:], (1, *leaf.shape[1:])):
        at = {"path": _show(path), "shape": leaf.shape, "expected": leaf.shape[1:]}
        raise errors.DeviceStackedError(**at)


def _show(path: tuple[str, ...]) -> str:
    root, *names = path or ("arrays",)
    return root + "".join(f"[{name!r}]" for name in names)
