"""What a learner's code may not do while it is checked, by Python's own audit hooks.

A hook cannot be taken away again. This keeps a mistake from doing harm; it is no prison for a
program that is written to break out.
"""

import os
import sys
import types
from pathlib import Path
from typing import Any

from haiku_state.errors.language import deferred as _

REFUSES = "not allowed while an exercise is checked"

PROCESSES = _("started or ended a process ({what})")
WRITES = _("wrote to a file ({what})")
READS = _("read the files of the exercises ({what})")
NETWORK = _("opened a network connection ({what})")
IMPORTS = _("imported a module from another folder ({what})")
REPLACED = _("replaced something in a library ({what})")
LOOKS = _("looked into the running program ({what})")

_PROCESSES = {
    "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn",
    "subprocess.Popen", "_winapi.CreateProcess", "os.kill", "os.killpg", "signal.pthread_kill",
}  # fmt: skip
_WRITES = {
    "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
    "os.truncate", "os.utime", "shutil.rmtree", "sqlite3.connect",
}  # fmt: skip
_NETWORK = {"socket.bind", "socket.connect", "urllib.Request"}
_LOOKS = {
    "compile", "ctypes.dlopen", "ctypes.string_at", "exec", "gc.get_objects", "gc.get_referents",
    "gc.get_referrers", "object.__getattr__", "object.__setattr__", "sys._current_frames",
    "sys._getframe", "sys.addaudithook", "sys.setprofile", "sys.settrace",
}  # fmt: skip
"""What a teacher may want to look at, where a line of the answer itself does it."""
_LISTS = {"os.listdir", "os.scandir"}
_STARTERS = ("multiprocessing.popen_", "_posixsubprocess")


class Guard:
    """Refuses what is not allowed, and remembers it.

    Args:
      folders: the only ones that may be written to.
      path: the file of the learner; modules may be imported from its folder.
      course: the folder of the exercises, which may not be read.
    """

    def __init__(self, folders: list[Path], path: Path, course: Path) -> None:
        self.refused: list[tuple[str, str]] = []
        self.looked: dict[str, None] = {}
        self._folders = {folder.resolve() for folder in folders}
        self._path, self._home, self._course = str(path), path.parent.resolve(), course.resolve()
        self._is_looking = False
        self._known = set(sys.modules)
        self._libraries = {
            name: dict(vars(module))
            for name, module in sys.modules.items()
            if isinstance(module, types.ModuleType) and _is_watched(name)
        }
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _PROCESSES:
            self._refuse(PROCESSES, event)
        elif event in _NETWORK:
            self._refuse(NETWORK, event)
        elif event == "import" and str(arguments[0]).startswith(_STARTERS):
            self._refuse(PROCESSES, "multiprocessing")
        elif event in _WRITES or (event == "open" and _writes(arguments[1], arguments[2])):
            self._check_written(arguments[0])
        elif event == "open" or event in _LISTS:
            self._check_read(arguments[0])
        elif event in _LOOKS and not self._is_looking:
            self._note(event)

    def _note(self, event: str) -> None:
        self._is_looking = True  # to look who does it is to look, too
        if sys._getframe(2).f_code.co_filename == self._path:
            self.looked[event] = None
        self._is_looking = False

    def _check_written(self, path: Any) -> None:
        place = _place(path)
        if place and place != Path(os.devnull) and not self._is_in(self._folders, place):
            self._refuse(WRITES, os.fsdecode(path))

    def _check_read(self, path: Any) -> None:
        place = _place(path)
        if place and self._is_in({self._course}, place):
            self._refuse(READS, place.name)

    def _is_in(self, folders: set[Path], place: Path) -> bool:
        return not folders.isdisjoint((place, *place.parents))

    def _refuse(self, kind: str, what: str) -> None:
        self.refused.append((kind, what))
        raise PermissionError(f"{REFUSES}: {what}")

    def imported(self) -> list[str]:
        """Return the files of modules from other folders that were imported since the start."""
        bases = {sys.prefix, sys.base_prefix, sys.exec_prefix}
        inside = [*(Path(base).resolve() for base in bases), _package_folder()]
        files = [
            Path(file).resolve()
            for name, module in list(sys.modules.items())
            if name not in (*self._known, "answer") and (file := getattr(module, "__file__", None))
        ]
        return [
            str(file)
            for file in files
            if not any(folder in file.parents for folder in inside)
            and "site-packages" not in file.parts
        ]

    def replaced(self) -> list[str]:
        """Return the names in libraries that are not what they were."""
        return [
            f"{library}.{name}"
            for library, before in self._libraries.items()
            for name, value in before.items()
            if vars(sys.modules.get(library, types.ModuleType(""))).get(name) is not value
            and not name.startswith("__")
        ]


def _is_watched(name: str) -> bool:
    public = ("builtins", "jax", "numpy", "haiku", "optax", "jax.numpy", "jax.lax", "jax.random")
    more = ("jax.tree", "jax.tree_util", "jax.nn", "jax.sharding", "numpy.random", "json", "base64")
    return name in public + more or name.split(".")[0] == "haiku_state"


def _package_folder() -> Path:
    return Path(__file__).resolve().parents[3]


def _place(path: Any) -> Path | None:
    if isinstance(path, int) or path is None:
        return None
    return Path(os.path.realpath(os.fsdecode(path)))


def _writes(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
