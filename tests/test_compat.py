import ast
import contextlib
import importlib.util
import linecache
import os
import re
import signal
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec
from packaging.specifiers import SpecifierSet
from support import constraint_files

from haiku_state import compat
from haiku_state.compat import is_live
from haiku_state.inside import compat as compat_of_inside

X = jnp.arange(3.0)
HEADER = re.compile(r"^ *(?:(?:if|elif) .+|else):(?:  # (?P<versions>.*))?$")
VERSIONS = re.compile(r"(?:(?P<low>[\d.]+) <= )?JAX(?: (?P<sign><|>=) (?P<bound>[\d.]+))?")
SETS = [constraint_files.pins(path)["jax"] for path in constraint_files.JAX_FILES]


def branches(source):
    """The first line of each branch, and the versions that its header names."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        assert not isinstance(node, ast.IfExp), f"line {node.lineno}: a branch needs a line"
        if not isinstance(node, ast.If):
            continue
        for body in filter(None, (node.body, node.orelse)):
            header = body[0].lineno - 1 if body[0].lineno > node.lineno else node.lineno
            if not HEADER.match(lines[header - 1]):  # an elif is a branch of its own
                header = body[0].lineno
                if lines[header - 1].lstrip().startswith("elif"):
                    continue
            yield body[0].lineno, specifier(lines[header - 1], header)


def specifier(header, line):
    """The versions that a header names, as packaging's specifier."""
    found = HEADER.match(header)
    versions = VERSIONS.fullmatch((found and found["versions"]) or "")
    assert versions, f"line {line} names no version: {header}"
    bounds = [f">={versions['low']}"] if versions["low"] else []
    bounds += [f"{versions['sign']}{versions['bound']}"] if versions["sign"] else []
    assert bounds, f"line {line} names no version: {header}"
    return SpecifierSet(",".join(bounds))


def idle(source, sets):
    """What no set tells apart: a branch for none of them, or for all."""
    for line, versions in branches(source):
        users = [version for version in sets if version in versions]
        if len(users) in (0, len(sets)):
            yield f"line {line}: {versions} is {'every' if users else 'no'} set of {sets}"


def source_of(module):
    return Path(module.__file__).read_text(encoding="utf-8")


def lines_run(module, act):
    """The lines of a fresh copy of a module that run at its import and in ``act(copy)``."""
    spec = importlib.util.spec_from_file_location("copy_of_compat", module.__file__)
    copy, seen = importlib.util.module_from_spec(spec), set()

    def trace(frame, event, argument):
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        spec.loader.exec_module(copy)
        act(copy)
    finally:
        sys.settrace(before)
    return seen


def test_compat__no_branch_is_idle():
    for module, least in ((compat, 7), (compat_of_inside, 2)):
        assert list(idle(source_of(module), SETS)) == []
        assert len(list(branches(source_of(module)))) >= least


def test_compat__a_branch_below_the_floor_is_reported():
    above = [version for version in SETS if version not in SpecifierSet("<0.6")]
    reports = list(idle(source_of(compat), above))
    assert len(reports) >= 7
    assert any("<0.6 is no set" in report for report in reports)
    assert any(">=0.6 is every set" in report for report in reports)


@pytest.mark.parametrize(
    ("planted", "report"),
    [
        ("if a:\n    b = 1\n", "line 1 names no version"),
        ("if a:  # newer\n    b = 1\n", "line 1 names no version"),
        ("if a:  # JAX\n    b = 1\n", "line 1 names no version"),
        ("if a:  # JAX >= 0.6\n    b = 1\nelse:\n    b = 2\n", "line 3 names no version"),
        ("b = 1 if a else 2  # JAX >= 0.6\n", "line 1: a branch needs a line"),
    ],
)
def test_compat__a_branch_that_names_no_version_is_reported(planted, report):
    with pytest.raises(AssertionError, match=report):
        list(branches(planted))


def test_compat__each_kind_of_branch_is_found():
    source = "if a:  # JAX >= 0.9\n  b\nelif c:  # 0.5 <= JAX < 0.9\n  d\nelse:  # JAX < 0.5\n  e\n"
    found = [(line, str(versions)) for line, versions in branches(source)]
    assert sorted(found) == [(2, ">=0.9"), (4, "<0.9,>=0.5"), (6, "<0.5")]


def test_compat__each_branch_runs_on_the_versions_that_it_names(monkeypatch):
    for variable in [name for name in os.environ if name.startswith(("SLURM_", "OMPI_"))]:
        monkeypatch.delenv(variable)
    collectives = "jax_cpu_collectives_implementation"
    before = jax.config.values.get(collectives)
    box = []
    jax.jit(lambda x: box.append(x) or x)(X)

    def act(copy):
        assert not copy.is_live(box[0])
        assert copy.has_started()
        assert copy.scheduler_processes(1) == (None, None, None)
        assert set(copy.process_timeouts(7).values()) == {7}
        assert copy.connectable_cpu_devices() in (None, 1)
        assert copy.is_committed(jax.device_put(X, jax.devices()[1]))
        assert not copy.is_committed(X)
        assert not copy.is_committed(np.ones(2))
        mesh = Mesh(np.array(jax.devices()[:2]), ("data",))
        specs = PartitionSpec("data")
        double = copy.shard_map(lambda x: 2 * x, mesh, in_specs=specs, out_specs=specs)
        np.testing.assert_array_equal(double(jnp.arange(4)), 2 * np.arange(4))
        assert not copy.has_mesh()
        with contextlib.suppress(AttributeError):  # JAX < 0.5
            copy.set_mesh(None).__exit__(None, None, None)
        copy.keep_programs(jax.config.jax_compilation_cache_dir)
        copy.choose_collectives()
        assert jax.config.values[collectives] == "gloo"

    try:
        expect_branches(compat, act)
    finally:
        if collectives in jax.config.values:
            jax.config.update(collectives, before)


def test_inside_compat__each_branch_runs_on_the_versions_that_it_names():
    def act(copy):
        scan = jax.make_jaxpr(lambda x, y: jax.lax.scan(lambda c, z: (c + y, z), x, X))(1.0, 2.0)
        [params] = [each.params for each in scan.eqns if each.primitive.name == "scan"]
        assert copy.scan_sizes(params) == (1, 1)
        file, line = copy.place_of(scan.eqns[0])
        assert file == __file__
        assert "jax.make_jaxpr" in linecache.getline(file, line)

    expect_branches(compat_of_inside, act)


def expect_branches(module, act):
    run, found = lines_run(module, act), list(branches(source_of(module)))
    ran = {line: line in run for line, _ in found}
    assert ran == {line: jax.__version__ in versions for line, versions in found}


def leaks():
    """Each transformation with a function that lets its tracer out."""

    def through(transformed):
        box = []

        def body(*values):
            box.append(values[-1] * 2)
            return values[0], values[-1]

        transformed(body)
        return box[-1]

    return {
        "scan": lambda: through(lambda f: jax.lax.scan(f, jnp.zeros(()), X)),
        "vmap": lambda: through(lambda f: jax.vmap(f)(X)),
        "jit": lambda: through(lambda f: jax.jit(f)(X)),
        "grad": lambda: through(lambda f: jax.grad(lambda x: f(x)[0])(X[0])),
        "checkpoint": lambda: through(lambda f: jax.checkpoint(f)(X)),
        "cond": lambda: through(lambda f: jax.lax.cond(True, f, f, X)),
        "pmap": lambda: through(lambda f: jax.pmap(f)(X)),
        "eval_shape": lambda: through(lambda f: jax.eval_shape(f, X)),
    }


@pytest.mark.parametrize("leak", leaks().values(), ids=leaks().keys())
def test_is_live__no_tracer_is_when_its_transformation_has_ended(leak):
    assert not is_live(leak())

    def inside(x):
        assert not is_live(leak())
        return x

    jax.jit(inside)(X)
    jax.vmap(inside)(X)
    jax.grad(lambda x: inside(x))(1.0)
    jax.jit(jax.grad(lambda x: inside(x)))(1.0)


@pytest.mark.parametrize(
    "outer",
    [
        lambda f: jax.jit(f)(X),
        lambda f: jax.vmap(f)(X),
        lambda f: jax.pmap(f)(X),
        lambda f: jax.jit(jax.vmap(f))(X),
        lambda f: jax.grad(lambda x: f(x).sum())(X),
        lambda f: jax.value_and_grad(lambda x: (f(x).sum(), x), has_aux=True)(X),
        lambda f: jax.lax.scan(lambda carry, x: (carry, f(x)), 0, X),
        lambda f: jax.checkpoint(f)(X),
        lambda f: jax.jit(jax.checkpoint(f))(X),
        lambda f: jax.jacfwd(f)(X),
        lambda f: jax.eval_shape(f, X),
        lambda f: jax.jit(jax.grad(lambda x: jax.vmap(f)(x).sum()))(X),
    ],
)
def test_is_live__a_tracer_is_as_long_as_its_transformation_runs(outer):
    seen = []

    def check(x):
        y = x * 2
        seen.append((is_live(x), is_live(y)))

        def inner(z):
            seen.append((is_live(z), is_live(x), is_live(y), is_live(z + 1)))
            return z

        jax.jit(inner)(jnp.ones(2))
        jax.vmap(inner)(jnp.ones(2))
        jax.grad(lambda z: inner(z))(1.0)
        jax.lax.scan(lambda carry, z: (carry, inner(z)), 0, jnp.ones(2))
        jax.checkpoint(inner)(x)
        assert is_live(x)
        return y

    outer(check)
    assert len(seen) >= 6
    assert all(map(all, seen))


def test_is_live__adds_nothing_to_the_program():
    def ask(x):
        y = x * 2
        assert is_live(x)
        assert is_live(y)
        return y

    assert str(jax.make_jaxpr(ask)(X)) == str(jax.make_jaxpr(lambda x: x * 2)(X))


def test_traced_anew__what_was_traced_before_is_traced_anew_and_forgotten():
    traced = []
    double = jax.jit(lambda x: traced.append(x) or 2 * x)

    def count():
        before = len(traced)
        jax.make_jaxpr(lambda x: double(x))(X)
        return len(traced) - before

    assert [count(), count()] == [1, 0]
    for _ in range(2):
        with compat_of_inside.traced_anew():
            assert count() == 1
    assert count() == 0
    assert jax.random.key_data(jax.random.key(3))[-1] == 3


WITHOUT_ELEMENTS = """
import jax, numpy as np
full, empty = np.ones((2, 1), np.float32), np.ones((2, 0), np.float32)
print([x.shape for x in jax.pmap(lambda x, y: (x, y), devices=jax.devices()[:2])(full, empty)])
"""


def test_compat__jax_0_11_ends_the_process_for_an_array_without_elements(user):
    two = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = user.python("-W", "ignore", "-c", WITHOUT_ELEMENTS, env=two)
    if jax.__version__ in SpecifierSet(">=0.11,<0.12"):  # the page on compatibility says so
        assert done.returncode == -signal.SIGSEGV
    else:
        assert done.stdout == "[(2, 1), (2, 0)]\n"
