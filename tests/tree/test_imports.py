"""The rules of who may import whom, checked on the syntax trees."""

import ast
import sys
from pathlib import Path

import pytest

import haiku_state as hs

PACKAGE = Path(hs.__file__).parent
SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted([*PACKAGE.rglob("*.py"), PACKAGE / "__init__.pyi"])
}

# each room may import itself and those before it; what has no number is below all of them
ROOMS = ("modules", "pure", "update", "recipes", "storage", "processes", "inside", "testing")
BELOW = {"typing", "compat", "data", "errors", "exchange"}
MAY_BELOW = {
    "compat": {"errors"},
    "errors": {"errors", "compat"},
    "exchange": {"errors", "compat"},
    "data": {"errors", "typing"},
}
BESIDE = {
    "exercises": {*BELOW, "exercises"},
    "commands": {*BELOW, "exercises", "commands"},
}
USERS = ("commands", "exercises")
"""They use the package as anyone does, by its public names."""
MODULES_MAY = {"haiku", "jax", "numpy"}
OPTAX = ("update/", "recipes/", "commands/", "exercises/course/")
DEVICES = (
    "update/", "processes/", "compat.py",
    "inside/trace.py", "inside/compare.py", "inside/compat.py",  # what jit does is seen
    "testing/",  # jit and scan do what Python does
    "recipes/accumulation.py",  # it is a scan over microbatches
    "storage/checkpoint.py", "storage/leaves.py",  # arrays are saved and restored where they are
    "commands/doctor/probe.py",  # it lists what JAX finds
    "exercises/course/", "exercises/sandbox/child.py",  # they do what a learner does
)  # fmt: skip
DEVICE_NAMES = {
    "jit", "pmap", "shard_map", "scan", "sharding", "Mesh", "make_mesh", "NamedSharding",
    "PartitionSpec", "device_put", "Device", "devices", "local_devices", "device_count",
    "local_device_count",
}  # fmt: skip
DOCTOR_MAY = ("commands.doctor", "errors.base", "errors.language", "errors.versions")


def imports(tree):
    """The full name of each module imported, and of each name taken out of one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def exports(path):
    """The names that a file offers: those that it takes out of other modules."""
    return {name for _, name in imports(ast.parse(SOURCES[path])) if name and name[0] != "_"}


PUBLIC = exports("__init__.pyi")
OFFERED = {room: exports(f"{room}/__init__.py") for room in (*ROOMS, "errors")}
OFFERED["data"] = {"Dataset"}


def dotted(node):
    """The names of an attribute chain, root first; nothing if its root is not a name."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def names_of(tree, library):
    """Every name of the library that the file mentions."""
    called = {
        alias.asname or alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] == library
    }
    chains = map(dotted, ast.walk(tree))
    used = {name for chain in chains if chain and chain[0] in called for name in chain[1:]}
    for module, name in imports(tree):
        if module.split(".")[0] == library:
            used |= {*module.split(".")[1:], name}
    return used


def version_reads(tree):
    """The calls and attributes that ask which JAX this is."""
    if {"__version__", "__version_info__"} & (names_of(tree, "jax") | names_of(tree, "jaxlib")):
        yield "reads jax.__version__"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in (["hasattr"], ["getattr"]):
            target = dotted(node.args[0])
            if target[:1] == ["jax"]:
                yield f"looks an attribute of {'.'.join(target)} up"


def other_rooms(name, tree):
    """The rooms that a file imports although it must not."""
    room = name.split("/")[0].removesuffix(".py")
    if room in ROOMS:
        allowed = {*BELOW, *ROOMS[: ROOMS.index(room) + 1]}
    elif room in BELOW:
        allowed = MAY_BELOW.get(room, set())
    else:
        allowed = BESIDE[room]
    for module, taken in imports(tree):
        if module == "haiku_state" and room not in USERS and taken not in allowed:
            yield f"{taken} of the whole package"
        elif module.startswith("haiku_state.") and module.split(".")[1] not in allowed:
            yield module


def early_private_imports(tree):
    """Private modules of JAX that are imported with the file, and not where they are needed."""
    early = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for module, _ in imports(ast.Module(early, [])):
        if module.startswith("jax._src"):
            yield module


def private_names(tree):
    """What a command takes from the package that is not a public name."""
    for module, taken in imports(tree):
        if module == "haiku_state" and taken is not None and taken not in PUBLIC:
            yield f"haiku_state.{taken}"
        if module.startswith("haiku_state.") and taken is not None and taken.startswith("_"):
            yield taken
    for chain in map(dotted, ast.walk(tree)):
        if chain[:1] == ["hs"] and len(chain) > 1:
            room, *rest = chain[1:]
            known = room in PUBLIC if room not in OFFERED else not rest or rest[0] in OFFERED[room]
            if not known:
                yield ".".join(chain)


def foreign_to_the_doctor(name, tree):
    """What the doctor needs besides Python: it must run where nothing else does."""
    if name.endswith("probe.py"):  # its functions try what may be broken
        tree = ast.Module([n for n in tree.body if not isinstance(n, ast.FunctionDef)], [])
    for module, _ in imports(tree):
        ours = module.removeprefix("haiku_state.")
        is_python = module.split(".")[0] in sys.stdlib_module_names
        if not is_python and (ours == module or not ours.startswith(DOCTOR_MAY)):
            yield module


def violations(name, source):
    """What the file does against the rules."""
    tree = ast.parse(source)
    modules = {module.split(".")[0] for module, _ in imports(tree)}
    if name not in ("__init__.py", "__init__.pyi", "__main__.py"):
        yield from (f"imports {other}" for other in other_rooms(name, tree))
    if name.startswith("modules/"):
        known = {*MODULES_MAY, "haiku_state", *sys.stdlib_module_names} - {"time", "random"}
        yield from (f"a module imports {module}" for module in modules - known)
        if any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree)):
            yield "a module prints"
    if name.startswith("commands/doctor/"):
        yield from (f"the doctor needs {other}" for other in foreign_to_the_doctor(name, tree))
    if name.startswith(("commands/", "exercises/")):
        yield from (f"{other} is not a public name" for other in private_names(tree))
    if not name.startswith(OPTAX) and "optax" in modules:
        yield "imports optax"
    if not name.startswith(DEVICES):
        named = (names_of(tree, "jax") | names_of(tree, "haiku")) & DEVICE_NAMES
        yield from (f"names {device}" for device in sorted(named))
    if name not in ("compat.py", "inside/compat.py"):
        yield from version_reads(tree)
    yield from (f"imports {module} too early" for module in early_private_imports(tree))


@pytest.mark.parametrize("name", SOURCES)
def test_imports__the_rules_hold(name):
    assert list(violations(name, SOURCES[name])) == []


PLANTED = [
    ("typing.py", "from haiku_state.errors import HaikuStateError", "imports haiku_state.errors"),
    ("compat.py", "from haiku_state import typing", "imports typing of the whole package"),
    ("compat.py", "from jax._src import core", "imports jax._src too early"),
    ("errors/state.py", "import haiku_state.typing", "imports haiku_state.typing"),
    ("modules/counter.py", "import optax", "a module imports optax"),
    ("modules/counter.py", "import time", "a module imports time"),
    ("modules/counter.py", "from haiku_state import Counter", "imports Counter of the whole"),
    ("modules/counter.py", "from haiku_state.pure import pure_pair", "imports haiku_state.pure"),
    ("modules/counter.py", "print(1)", "a module prints"),
    ("modules/counter.py", "import jax\n@jax.jit\ndef f(x): return x", "names jit"),
    ("modules/counter.py", "import haiku as hk\nhk.scan", "names scan"),
    ("pure/pair.py", "from haiku_state.update import jit_update", "imports haiku_state.update"),
    ("update/step.py", "import haiku_state.recipes.loss_scale", "imports haiku_state.recipes"),
    ("recipes/freezing.py", "import haiku_state.storage", "imports haiku_state.storage"),
    ("commands/train/loop.py", "from haiku_state.update import jit_update", "haiku_state.update"),
    ("commands/train/loop.py", "import haiku_state as hs\nhs.replicas.x", "hs.replicas.x is not"),
    ("commands/train/loop.py", "hs.recipes.secret(1)", "hs.recipes.secret is not a public name"),
    ("commands/train/loop.py", "from haiku_state import replicas", "haiku_state.replicas is not"),
    ("commands/main.py", "from haiku_state.commands.train import _x", "_x is not a public name"),
    ("exercises/judge.py", "from haiku_state.update import jit_update", "haiku_state.update"),
    ("exercises/course/sync.py", "import haiku_state as hs\nhs.replicas.x", "hs.replicas.x is not"),
    ("commands/doctor/report.py", "import rich", "the doctor needs rich"),
    ("commands/doctor/report.py", "def f():\n    import jax", "the doctor needs jax"),
    ("commands/doctor/trial.py", "from haiku_state.typing import State", "needs haiku_state.typ"),
    ("commands/doctor/trial.py", "from haiku_state import Counter", "the doctor needs haiku_stat"),
    ("commands/doctor/probe.py", "import numpy as np", "the doctor needs numpy"),
    ("data.py", "import optax.contrib", "imports optax"),
    ("data.py", "from jax import pmap", "names pmap"),
    ("data.py", "import jax as j\nj.local_devices()", "names local_devices"),
    ("data.py", "from jax.sharding import Mesh as M", "names Mesh"),
    ("data.py", "from jax.experimental.shard_map import shard_map", "names shard_map"),
    ("update/step.py", "import jax\njax.__version__", "reads jax.__version__"),
    ("update/step.py", "import jax\njax.__version_info__", "reads jax.__version__"),
    ("update/step.py", "from jax import __version__", "reads jax.__version__"),
    ("update/step.py", "import jax\nhasattr(jax, 'shard_map')", "looks an attribute of jax up"),
    ("update/step.py", "import jax\ngetattr(jax.lax, 'x', None)", "attribute of jax.lax up"),
]


@pytest.mark.parametrize(("name", "source", "report"), PLANTED)
def test_imports__a_planted_violation_is_reported(name, source, report):
    assert any(report in found for found in violations(name, source))


def test_imports__what_is_allowed_is_not_reported():
    source = 'import optax\nimport haiku_state as hs\nhs.recipes.accumulate\n"""jax.pmap"""\n'
    assert list(violations("commands/train/loop.py", source)) == []
    assert list(violations("compat.py", "import jax\nhasattr(jax, 'shard_map')")) == []
    assert list(violations("commands/doctor/probe.py", "def f():\n    import optax")) == []


def test_arguments__every_one_is_refused_somewhere():
    texts = "errors/arguments.py"
    names = [one.name for one in ast.parse(SOURCES[texts]).body if isinstance(one, ast.FunctionDef)]
    used = {
        getattr(node, "attr", getattr(node, "id", None))
        for source in SOURCES.values()
        for node in ast.walk(ast.parse(source))
    }
    assert [name for name in names if name not in used] == []
