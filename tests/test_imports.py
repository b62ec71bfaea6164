"""The rules of who may import whom, checked on the syntax trees."""

import ast
import sys
from pathlib import Path

import pytest

import haiku_state as hs

PACKAGE = Path(hs.__file__).parent
SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}

LEAVES = {"typing.py", "compat.py", "language.py"}
MODULES_MAY = {"haiku", "jax", "numpy", "math", "collections", "typing"}
MODULES_MAY_OF_OURS = {"haiku_state.errors", "haiku_state.typing", "haiku_state.modules"}
ON_TOP = ("__main__.py", "train/", "exercises/", "doctor/probe.py")
ON_TOP_MAY_OF_OURS = {
    "haiku_state",
    "haiku_state.train",
    "haiku_state.errors",
    "haiku_state.typing",
}
DOCTOR_MAY_OF_OURS = ("haiku_state.doctor", "haiku_state.errors", "haiku_state.language")
OPTAX = ("train_state.py", "update/", "pieces/", "train/", "doctor/probe.py")
DEVICES = (
    "update/", "replicas.py", "devices.py", "distributed.py",
    "pieces/accumulation.py", "compat.py", "doctor/probe.py",
)  # fmt: skip
DEVICE_NAMES = {
    "jit", "pmap", "shard_map", "scan", "sharding", "Mesh", "make_mesh", "NamedSharding",
    "PartitionSpec", "device_put", "Device", "devices", "local_devices", "device_count",
    "local_device_count",
}  # fmt: skip
MOST_LINES = 250


def imports(tree):
    """The full name of each module imported, and of each name taken out of one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def aliases(tree, library):
    """What the library is called in this file."""
    return {
        alias.asname or alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] == library
    }


def dotted(node):
    """The names of an attribute chain, root first; nothing if its root is no name."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def calls_the_doctor(tree):
    """Whether the file imports the doctor where nothing has failed."""
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    rescued = [module for handler in handlers for module in imports(handler)]
    count = [module.startswith("haiku_state.doctor") for module, _ in imports(tree)].count(True)
    return count > [module.startswith("haiku_state.doctor") for module, _ in rescued].count(True)


def names_of(tree, library):
    """Every name of the library that the file mentions."""
    called = aliases(tree, library)
    chains = map(dotted, ast.walk(tree))
    used = {name for chain in chains if chain and chain[0] in called for name in chain[1:]}
    for module, name in imports(tree):
        if module.split(".")[0] == library:
            used |= {*module.split(".")[1:], name}
    return used


def version_reads(tree):
    """The calls and attributes that ask which JAX this is."""
    if "__version__" in names_of(tree, "jax") | names_of(tree, "jaxlib"):
        yield "reads jax.__version__"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in (["hasattr"], ["getattr"]):
            target = dotted(node.args[0])
            if target and target[0] in aliases(tree, "jax"):
                yield f"looks an attribute of {'.'.join(target)} up"


def others_on_top(modules):
    """What stands on top may import itself, and three modules besides the public names."""
    return {
        module
        for module in modules - ON_TOP_MAY_OF_OURS
        if not module.startswith(("haiku_state.train.", "haiku_state.exercises."))
        and module != "haiku_state.doctor"
    }


def foreign_to_the_doctor(tree, name):
    """What the doctor needs besides Python: it must run where nothing else does."""
    own = ast.Module([n for n in tree.body if not isinstance(n, ast.FunctionDef)], [])
    for module, _ in imports(own if name == "doctor/probe.py" else tree):
        known = module.split(".")[0] in sys.stdlib_module_names
        if not known and not module.startswith(DOCTOR_MAY_OF_OURS):
            yield module


def violations(name, source):
    """What the file does against the rules."""
    tree = ast.parse(source)
    modules = {module for module, _ in imports(tree)}
    ours = {module for module in modules if module.split(".")[0] == "haiku_state"}
    if name in LEAVES:
        yield from (f"a leaf imports {module}" for module in ours)
    if name.startswith("errors/"):
        others = {m for m in ours if not m.startswith(("haiku_state.errors", "haiku_state.lang"))}
        yield from (f"errors import {module}" for module in others)
    if name.startswith("modules/"):
        others = {module for module in modules - ours if module.split(".")[0] not in MODULES_MAY}
        others |= {m for m in ours if ".".join(m.split(".")[:2]) not in MODULES_MAY_OF_OURS}
        yield from (f"a module imports {module}" for module in others)
        if any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree)):
            yield "a module prints"
    if name.startswith("doctor/"):
        yield from (f"the doctor needs {m}" for m in foreign_to_the_doctor(tree, name))
    elif name != "__main__.py" and calls_the_doctor(tree):
        yield "calls the doctor before anything has failed"
    if name.startswith(ON_TOP):
        yield from (f"what is on top imports {module}" for module in others_on_top(ours))
        yield from (
            f"{used} is no public name"
            for module, used in imports(tree)
            if module in ours and used and used.startswith("_")
        )
        submodules = {module.split(".")[1] for module in ON_TOP_MAY_OF_OURS if "." in module}
        allowed = {None, *PUBLIC, *submodules}
        used = {
            chain[1] for chain in map(dotted, ast.walk(tree)) if chain[:1] == ["hs"] and chain[1:]
        }
        used |= {taken for module, taken in imports(tree) if module == "haiku_state"}
        yield from (f"hs.{other} is no public name" for other in used - allowed)
    if not name.startswith(OPTAX) and any(module.split(".")[0] == "optax" for module in modules):
        yield "imports optax"
    if not name.startswith(DEVICES):
        named = (names_of(tree, "jax") | names_of(tree, "haiku")) & DEVICE_NAMES
        yield from (f"names {device}" for device in sorted(named))
    if name != "compat.py":
        yield from version_reads(tree)
    if len(source.splitlines()) > MOST_LINES:
        yield f"has more than {MOST_LINES} lines"


PUBLIC = {
    alias.asname
    for node in ast.parse(SOURCES["__init__.py"]).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_rules_hold(name):
    assert list(violations(name, SOURCES[name])) == []


PLANTED = [
    ("typing.py", "from haiku_state.errors import HaikuStateError", "a leaf imports"),
    ("language.py", "import haiku_state.typing", "a leaf imports"),
    ("errors/state.py", "import haiku_state.typing", "errors import haiku_state.typing"),
    ("compat.py", "from haiku_state import typing", "a leaf imports"),
    ("modules/counter.py", "import optax", "a module imports optax"),
    ("modules/counter.py", "import time", "a module imports time"),
    ("modules/counter.py", "from haiku_state import Counter", "a module imports haiku_state"),
    ("modules/counter.py", "from haiku_state.update import jit_update", "a module imports"),
    ("modules/counter.py", "print(1)", "a module prints"),
    ("modules/counter.py", "import jax\n@jax.jit\ndef f(x): return x", "names jit"),
    ("modules/counter.py", "import haiku as hk\nhk.scan", "names scan"),
    (
        "train/loop.py",
        "from haiku_state.update import jit_update",
        "on top imports haiku_state.update",
    ),
    (
        "train/loop.py",
        "import haiku_state as hs\nhs.replicas.replicate",
        "hs.replicas is no public",
    ),
    ("train/loop.py", "from haiku_state import replicas", "hs.replicas is no public"),
    ("__main__.py", "from haiku_state.train import _accuracy", "_accuracy is no public name"),
    ("exercises/one.py", "import haiku_state as hs\nhs._secret", "hs._secret is no public"),
    ("doctor/report.py", "import rich", "the doctor needs rich"),
    ("doctor/report.py", "def f():\n    import jax", "the doctor needs jax"),
    ("doctor/trial.py", "from haiku_state.typing import State", "needs haiku_state.typing"),
    ("doctor/trial.py", "from haiku_state import Counter", "the doctor needs haiku_state"),
    ("doctor/probe.py", "import numpy as np", "the doctor needs numpy"),
    ("doctor/probe.py", "def f():\n    import jax\n    jax.__version__", "reads jax.__version__"),
    ("__init__.py", "from haiku_state.doctor import unmatched", "calls the doctor"),
    ("data.py", "import optax.contrib", "imports optax"),
    ("data.py", "from jax import pmap", "names pmap"),
    ("data.py", "import jax as j\nj.local_devices()", "names local_devices"),
    ("data.py", "from jax.sharding import Mesh as M", "names Mesh"),
    ("data.py", "from jax.experimental.shard_map import shard_map", "names shard_map"),
    ("update/step.py", "import jax\njax.__version__", "reads jax.__version__"),
    ("update/step.py", "from jax import __version__", "reads jax.__version__"),
    ("update/step.py", "import jax\nhasattr(jax, 'shard_map')", "looks an attribute of jax up"),
    (
        "update/step.py",
        "import jax\ngetattr(jax.lax, 'x', None)",
        "looks an attribute of jax.lax up",
    ),
    ("update/step.py", "x = 1\n" * 251, "has more than 250 lines"),
]


@pytest.mark.parametrize(("name", "source", "report"), PLANTED)
def test_a_planted_violation_is_reported(name, source, report):
    assert any(report in found for found in violations(name, source))


def test_what_is_allowed_is_not_reported():
    source = 'import jax\nimport optax\ndevices = 3\n"""jax.pmap"""\njax.numpy.ones(devices)\n'
    assert list(violations("train/loop.py", source)) == []
    assert list(violations("compat.py", "import jax\nhasattr(jax, 'shard_map')")) == []
    rescue = "try:\n    import haiku\nexcept Exception:\n    from haiku_state.doctor import doctor"
    assert list(violations("__init__.py", rescue)) == []
    assert list(violations("doctor/probe.py", "def f():\n    import optax")) == []
