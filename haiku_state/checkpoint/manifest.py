"""The two files of a checkpoint: its arrays, and a manifest that says what they must be."""

import errno
import functools
import hashlib
import importlib.metadata
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from haiku_state.checkpoint.leaves import kind_of
from haiku_state.checkpoint.processes import Array, as_bytes
from haiku_state.errors.checkpoints import (
    CHANGED,
    CHANGED_MANIFEST,
    MISSING,
    UNKNOWN_FORMAT,
    UNREADABLE,
)
from haiku_state.language import translated

FORMAT = 1

ARRAYS, MANIFEST = "arrays.npz", "manifest.json"

Manifest = dict[str, Any]

# a file that cannot be read for one of these reasons may be whole
_NOT_THEIR_FAULT = {
    getattr(errno, name) for name in ("EACCES", "EPERM", "EIO", "EMFILE", "ENFILE", "ENOMEM")
}

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Checkpoint(NamedTuple):
    """What the two files hold."""

    manifest: Manifest
    """What :func:`manifest_of` gave."""

    data: dict[str, Array]
    """The data of the leaves by path."""


class BrokenError(Exception):
    """A checkpoint is not whole, for the reason given."""


def broken(text: str, **values: Any) -> BrokenError:
    """Make the error, in the reader's language."""
    return BrokenError(translated(text).format(**values))


def in_one_line(error: Exception) -> str:
    """Give the kind of an error, and the beginning of its text."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:160]}" if lines else type(error).__name__


def manifest_of(step: int, leaves: Mapping[str, Any], data: list[Array], position: Any) -> Manifest:
    """Describe a train state.

    Args:
      step: its step.
      leaves: its leaves by path.
      data: the same on the host.
      position: a JSON value.

    Returns:
      A JSON value, sealed by the SHA-256 of all the rest.
    """
    manifest = {
        "format": FORMAT,
        "step": step,
        "leaves": [
            {
                "path": path,
                **kind_of(leaf, array)._asdict(),
                "shape": list(array.shape),
                "weak": bool(getattr(leaf, "weak_type", False)),
                "sha256": _sha256(as_bytes(array).data),
            }
            for (path, leaf), array in zip(leaves.items(), data, strict=True)
        ],
        "position": position,
        "versions": _versions(),
    }
    return {**manifest, "sha256": _seal(manifest)}


def write_files(folder: Path, manifest: Manifest, data: list[Array]) -> None:
    """Write both files, and wait until the disk has them.

    ``numpy.load`` reads the arrays without this package and without pickle. A dtype that NumPy
    does not have, bfloat16 say, is stored as unsigned integers with the same bits.
    """
    entries = {
        _name(entry["path"]): array.view(_word(array.dtype))
        for entry, array in zip(manifest["leaves"], data, strict=True)
    }
    with (folder / ARRAYS).open("wb") as file:
        np.savez(file, **entries)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    with (folder / MANIFEST).open("w", encoding="ascii") as text:
        text.write(json.dumps(manifest))
        text.flush()
        os.fsync(text.fileno())


def read_files(folder: Path, step: int) -> Checkpoint:
    """Read both files, and verify every byte that matters.

    Raises:
      BrokenError: they are not those that were written for this step.
      OSError: they may be, but cannot be read.
      MemoryError: there is no room for them.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="ascii"))
        _check_manifest(manifest, step)
        data = {}
        with zipfile.ZipFile(folder / ARRAYS) as file:
            names = set(file.namelist())
            for entry in manifest["leaves"]:
                path, name = entry["path"], f"{_name(entry['path'])}.npy"
                if name not in names:
                    raise broken(MISSING, path=path)
                # read whole, and compared with a checksum of the zip file, before it is looked into
                raw = io.BytesIO(file.read(name))
                data[path] = _checked(entry, np.load(raw, allow_pickle=False))
    except (BrokenError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NOT_THEIR_FAULT:
            raise
        raise broken(UNREADABLE, error=in_one_line(error)) from error
    return Checkpoint(manifest, data)


def _check_manifest(manifest: Any, step: int) -> None:
    if not isinstance(manifest, dict) or "sha256" not in manifest:
        raise broken(UNKNOWN_FORMAT)
    if manifest["sha256"] != _seal(manifest):
        raise broken(CHANGED_MANIFEST)
    if (manifest.get("format"), manifest.get("step")) != (FORMAT, step):
        raise broken(UNKNOWN_FORMAT)


def _checked(entry: dict[str, Any], array: Array) -> Array:
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    if (array.dtype, array.shape) != (_word(dtype), shape):
        raise broken(CHANGED, path=entry["path"])
    if _sha256(as_bytes(array).data) != entry["sha256"]:
        raise broken(CHANGED, path=entry["path"])
    return array.view(dtype)


def _word(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.isbuiltin == 1 else np.dtype(_WORDS[dtype.itemsize])


def _name(path: str) -> str:
    # a zip file takes no lone surrogates and no zeros, which a dict of Python may have in its names
    return quote(path, safe="/[]'.,()<>~: ", errors="surrogatepass")


def _seal(manifest: Manifest) -> str:
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    return _sha256(json.dumps(rest, sort_keys=True).encode())


def _sha256(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()


@functools.cache
def _versions() -> dict[str, str]:
    from haiku_state import __version__

    others = {name: importlib.metadata.version(name) for name in ("jax", "orbax-checkpoint")}
    return {"haiku-state": __version__, **others}
