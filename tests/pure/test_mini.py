"""``haiku_state.pure.mini`` against Haiku: the same code on both, and the same bits out of both."""

import copy
import dataclasses
import graphlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import haiku
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import module_table
from support.laws import law
from support.tolerances import MANY_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs
from haiku_state import errors
from haiku_state.pure import mini

FOLDER = Path(hs.__file__).parent


# ---- our modules, loaded a second time, with mini in the place of Haiku


class Linear(mini.Module):
    """``hk.Linear``, as far as the classifier needs it."""

    def __init__(self, output_size, with_bias=True, name=None):
        super().__init__(name=name)
        self.output_size = output_size
        self.with_bias = with_bias

    def __call__(self, inputs):
        stddev = jnp.asarray(1 / np.sqrt(inputs.shape[-1]), inputs.dtype)

        def init(shape, dtype):
            return stddev * jax.random.truncated_normal(
                mini.next_rng_key(), -2.0, 2.0, shape, dtype
            )

        shape = (inputs.shape[-1], self.output_size)
        outputs = inputs @ mini.get_parameter("w", shape, inputs.dtype, init)
        if not self.with_bias:
            return outputs
        b = mini.get_parameter("b", shape[1:], inputs.dtype, jnp.zeros)
        return outputs + jnp.broadcast_to(b, outputs.shape)


NAMES = [
    "Module",
    "transform_with_state",
    "transform",
    "get_parameter",
    "get_state",
    "set_state",
    "next_rng_key",
    "running_init",
]
HK = SimpleNamespace(
    **{**vars(haiku), **{name: getattr(mini, name) for name in NAMES}, "Linear": Linear}
)


def module_files():
    """The files of our modules, each after those that it imports."""
    sources = {
        path.stem: path.read_text(encoding="utf-8")
        for path in (FOLDER / "modules").glob("*.py")
        if path.stem != "__init__"
    }
    needs = {
        name: re.findall(r"^from haiku_state\.modules\.(\w+) import", source, re.M)
        for name, source in sources.items()
    }
    return list(graphlib.TopologicalSorter(needs).static_order())


def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_on_mini():
    """Our modules, and the table of cases, both on mini."""
    with mock.patch.dict(sys.modules, {"haiku": HK}):
        modules = [
            loaded(f"haiku_state.modules.{name}", FOLDER / "modules" / f"{name}.py")
            for name in module_files()
        ]
        classes = {
            name: value
            for module in modules
            for name, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, mini.Module | haiku.Module)
        }
        sys.modules["haiku_state"] = SimpleNamespace(**classes)
        return classes, loaded("module_table", module_table.__file__).CASES


CLASSES, CASES = load_on_mini()


def test_mini__has_loaded_every_module():
    ours = {
        name
        for name, value in vars(hs.modules).items()
        if isinstance(value, type) and issubclass(value, haiku.Module)
    }
    assert set(CLASSES) >= ours
    assert ours
    assert all(issubclass(value, mini.Module) for value in CLASSES.values())
    assert not any(issubclass(value, haiku.Module) for value in CLASSES.values())
    assert sys.modules["haiku"] is haiku
    assert sys.modules["haiku_state"] is hs


# ---- what "the same" means


def describe(leaf):
    """All that there is to a leaf: kind, shape, dtype and bits."""
    if not isinstance(leaf, jax.Array):
        return type(leaf), leaf
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return "key", leaf.shape, jax.random.key_data(leaf).tobytes()
    return leaf.weak_type, leaf.shape, leaf.dtype, np.asarray(leaf).tobytes()


def assert_same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert list(map(describe, jax.tree.leaves(one))) == list(map(describe, jax.tree.leaves(other)))


def history(pair, inputs=lambda step: (), keys=True):
    """What init returns, and three applies with the state threaded."""
    params, state = pair.init(jax.random.key(0), *inputs(0))
    record = [(params, state)]
    for step in (1, 2, 3):
        rng = jax.random.key(step) if keys else None
        output, state = pair.apply(params, state, rng, *inputs(step))
        record.append((output, state))
    return record


def of_haiku(call):
    """What Haiku gives; it refuses a name that is taken, such as that of a class ``_0``."""
    try:
        return call()
    except ValueError as error:
        assume("is not unique" not in str(error))  # mini does not refuse it
        raise


def run_both(program):
    return [history(hk.transform_with_state(program(hk))) for hk in (haiku, mini)]


# ---- our modules


@pytest.mark.parametrize(
    ("real", "ours"),
    list(zip(module_table.CASES, CASES, strict=True)),
    ids=[case.name for case in CASES],
)
def test_mini__a_module_gives_the_bits_that_it_gives_on_haiku(real, ours):
    assert real.name == ours.name
    expected, actual = (history(case.pair(), case.inputs, keys=False) for case in (real, ours))
    assert_same(actual, expected)
    assert all(type(state) is dict for _, state in actual)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mini__a_module_can_be_compiled(case):
    pair = case.pair()
    params, state = jax.jit(pair.init)(jax.random.key(0), *case.inputs())
    assert jax.tree.structure((params, state)) == jax.tree.structure(case.init())
    params, state = case.init()
    expected = pair.apply(params, state, None, *case.inputs(1))
    with jax.checking_leaks():
        actual = jax.jit(pair.apply)(params, state, None, *case.inputs(1))
    # compiled, half precision is rounded in other places
    half = 2 * float(jnp.finfo(jnp.bfloat16).eps)
    assert_close(actual, expected, half if case.dtype == jnp.bfloat16 else MANY_ROUNDINGS)


# ---- names


PROGRAMS = []


def program(f):
    """List a function of ``hk`` that returns what is to be transformed."""
    PROGRAMS.append(f)
    return f


def parts(hk):
    """Modules to build programs from. Each call of one draws, reads and writes."""

    class Leaf(hk.Module):
        def __call__(self):
            def init(shape, dtype):
                return jax.random.normal(hk.next_rng_key(), shape, dtype)

            w = hk.get_parameter("w", (2,), init=init)
            count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
            hk.set_state("count", count + 1)
            return w * count.astype(w.dtype)

    class InCall(hk.Module):
        def __call__(self):
            return Leaf()() + Leaf()()

    class InInit(hk.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            self.one, self.other = Leaf(), Leaf()
            self.scale = hk.get_parameter("scale", (), init=jnp.ones)

        def __call__(self):
            return self.one() + self.other() + Leaf()()

    class InMethods(hk.Module):
        def __call__(self):
            return self.encode() + self._decode() + self.total

        def encode(self):
            return Leaf()() + Leaf()()

        def _decode(self):
            return Leaf()() + InInit()()

        @property
        def total(self):
            return Leaf()() + hk.get_parameter("total", (2,), init=jnp.ones)

    class OfBase(InInit):
        def __init__(self, name=None):
            super().__init__(name=name)
            self.third = Leaf()

        def __call__(self):
            return super().__call__() + self.third()

    class Inherited(OfBase):
        pass

    class Shared(hk.Module):
        def __init__(self, inner, name=None):
            super().__init__(name=name)
            self.inner = inner

        def __call__(self):
            return self.inner() + Leaf()()

    return SimpleNamespace(**{k: v for k, v in locals().items() if k != "hk"})


@program
def same_class_thrice(hk):
    p = parts(hk)
    return lambda: [p.Leaf()() for _ in range(3)]


@program
def explicit_names(hk):
    p = parts(hk)
    names = ("epochs", None, "epochs", "steps", "x", "linear_x")
    return lambda: [p.Leaf(name=name)() for name in names]


@program
def explicit_numbers(hk):
    p = parts(hk)
    names = ("a_1", "a", "a", "b", "b_0", "b", "c_7", "c_2", "c")
    names += ("d_007", "d", "e__1", "e_", "g_0", "g")
    return lambda: [p.Leaf(name=name)() for name in names]


@program
def created_in_call(hk):
    p = parts(hk)
    return lambda: [p.InCall()() for _ in range(2)]


@program
def created_in_init(hk):
    p = parts(hk)
    return lambda: [p.InInit()(), p.InInit(name="named")()]


@program
def created_in_methods(hk):
    p = parts(hk)

    def f():
        module = p.InMethods()
        return module(), module.encode(), module.total

    return f


@program
def subclass_of_a_subclass(hk):
    p = parts(hk)
    return lambda: [p.OfBase()(), p.Inherited()(), p.Inherited()()]


@program
def one_of_a_subclass(hk):
    p = parts(hk)
    return lambda: p.OfBase()()


@program
def called_twice(hk):
    p = parts(hk)

    def f():
        module = p.InCall()
        return module(), module()

    return f


@program
def shared_instance(hk):
    p = parts(hk)

    def f():
        inner = p.InInit()
        return p.Shared(inner)(), p.Shared(inner)(), inner()

    return f


@program
def created_in_the_arguments(hk):
    p = parts(hk)
    return lambda: p.Shared(p.Shared(p.Leaf(), name="within"))()


@program
def never_called(hk):
    p = parts(hk)

    def f():
        p.Leaf(), p.InInit()
        return p.Leaf()()

    return f


@program
def function_within_a_method(hk):
    p = parts(hk)

    class Outer(hk.Module):
        def __call__(self):
            def inner():
                return p.Leaf()() + hk.get_parameter("within", (2,), init=jnp.ones)

            return [inner() for _ in range(2)]

    return lambda: Outer()()


@program
def recursion(hk):
    p = parts(hk)

    class Tree(hk.Module):
        def __call__(self, depth):
            leaf = p.Leaf()()
            return leaf if depth == 0 else leaf + Tree()(depth - 1) + Tree()(depth - 1)

    class Again(hk.Module):
        def __call__(self, depth):
            leaf = p.Leaf()()
            return leaf if depth == 0 else leaf + self(depth - 1)

    return lambda: [Tree()(2), Again()(2)]


@program
def methods_that_are_not_entered(hk):
    p = parts(hk)

    class Plain(hk.Module):
        def __len__(self):
            return hk.get_parameter("length", (), jnp.int32, init=jnp.ones).shape == ()

        @staticmethod
        def static():
            return p.Leaf()()

        @classmethod
        def of_class(cls):
            return p.Leaf()()

        def __call__(self):
            return len(self), self.static(), self.of_class()

    def f():
        module = Plain()
        return len(module), module.static(), module.of_class(), module()

    return f


@program
def methods_given_as_functions(hk):
    p = parts(hk)

    class Odd(hk.Module):
        quick = lambda self: p.Leaf()()  # noqa: E731
        alias = quick
        value = property(lambda self: p.Leaf()())

    def f():
        module = Odd()
        return module.quick(), module.alias(), module.value

    return f


@program
def mixin(hk):
    p = parts(hk)

    class Twice:
        def twice(self):
            return [p.Leaf()(), self()]

    class Mixed(Twice, p.InCall):
        pass

    return lambda: Mixed()().sum() + Mixed().twice()[1]


@program
def keyword_arguments_of_any_name(hk):
    class Odd(hk.Module):
        def __init__(self, f, frame=1, name=None, **kwargs):
            super().__init__(name)
            self.values = (f, frame, kwargs)

        def __call__(self, f, /, frame, **kwargs):
            return self.values, f, frame, kwargs

    return lambda: Odd(f=1, method=3, args=4)(5, frame=6, f=7, kwargs=8)


@program
def attributes(hk):
    p = parts(hk)

    class Outer(hk.Module):
        def __init__(self):
            super().__init__("explicit")
            self.inner = p.Leaf()
            self.seen = self.inner.name, self.inner.module_name

        def other(self):
            return p.Leaf().name, p.Leaf(name="x").module_name

    def f():
        one, other = Outer(), Outer()
        return [(m.name, m.module_name, m.seen, m.other()) for m in (one, other)]

    return f


@program
def caught_exception(hk):
    p = parts(hk)

    class Fails(hk.Module):
        def __init__(self):
            super().__init__()
            self.inner = p.Leaf()

        def __call__(self):
            p.Leaf()()
            raise KeyError("in the middle")

    class FailsAtOnce(hk.Module):
        def __init__(self):
            super().__init__()
            raise KeyError("at once")

    def attempt(make):
        try:
            make()
        except KeyError:
            return p.Leaf()()

    def f():
        return [attempt(lambda: Fails()()), attempt(FailsAtOnce), p.InInit()(), Fails().inner()]

    return f


@program
def outside_of_modules(hk):
    def f():
        w = hk.get_parameter("w", [3], jnp.bfloat16, init=jnp.ones)
        hk.set_state("w", w + w)
        return w, hk.get_state("w"), hk.running_init()

    return f


# ---- state


@program
def set_without_get(hk):
    def f():
        hk.set_state("x", jnp.float32(1))
        hk.set_state("x", jnp.float32(2))
        return hk.get_state("x")

    return f


@program
def set_after_get(hk):
    def f():
        before = hk.get_state("x", (2,), jnp.float32, init=jnp.zeros)
        hk.set_state("x", before + 1)
        again = hk.get_state("x", (2,), jnp.float32, init=jnp.ones)
        return before, again, hk.get_state("x")

    return f


@program
def set_before_get(hk):
    def f():
        hk.set_state("x", jnp.ones(2))
        return hk.get_state("x", (2,), jnp.float32, init=jnp.zeros)

    return f


@program
def only_read(hk):
    return lambda: hk.get_state("x", [], jnp.int32, init=jnp.ones)


@program
def tree_as_state(hk):
    def f():
        hk.set_state("x", {"a": (jnp.ones(2), jnp.zeros(3)), "b": 1})
        return hk.get_state("x")

    return f


@program
def made_in_apply(hk):
    def f():
        if hk.running_init():
            hk.set_state("init", jnp.int32(0))
        else:
            late = hk.get_state("late", (), jnp.int32, init=jnp.zeros)
            hk.set_state("late", late + 1)

    return f


@program
def untouched_in_apply(hk):
    def f():
        if hk.running_init():
            hk.set_state("x", jnp.float32(3))
            hk.set_state("x", jnp.float32(4))

    return f


@program
def state_and_parameter_of_one_name(hk):
    def f():
        hk.set_state("x", hk.get_parameter("x", (), init=jnp.ones) + 1)
        return hk.get_parameter("x", ()), hk.get_state("x")

    return f


@program
def state_whose_init_draws_and_reads(hk):
    def init(shape, dtype):
        other = hk.get_state("other", shape, dtype, init=jnp.ones)
        return other + jax.random.normal(hk.next_rng_key(), shape, dtype)

    return lambda: hk.get_state("x", (2,), jnp.float32, init=init)


@program
def keys(hk):
    return lambda: [hk.next_rng_key() for _ in range(5)]


@program
def keys_between_modules(hk):
    p = parts(hk)
    return lambda: [hk.next_rng_key(), p.InInit()(), hk.next_rng_key(), p.Leaf()()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_mini__a_program_gives_what_it_gives_on_haiku(program):
    expected, actual = run_both(program)
    assert_same(actual, expected)
    assert jax.tree.leaves(actual)


@given(st.from_regex(r"[A-Z_a-z][A-Za-z0-9_]{0,9}", fullmatch=True))
@law(300)
def test_mini__makes_the_name_of_a_class_that_haiku_makes(name):
    def program(hk):
        module = type(name, (hk.Module,), {"__call__": lambda self: self.module_name})
        return lambda: [module()(), module()()]

    real, ours = (hk.transform_with_state(program(hk)).init for hk in (haiku, mini))
    assert_same(ours(None), of_haiku(lambda: real(None)))
    names = [hk.transform_with_state(program(hk)).apply({}, {}, None) for hk in (haiku, mini)]
    assert names[0] == names[1]


# ---- random programs


@dataclasses.dataclass(frozen=True)
class Node:
    """A module to make: its class, its name, what it makes where, and how it is called."""

    kind: str
    name: str | None
    calls: tuple[str, ...]
    in_init: tuple["Node", ...] = ()
    in_call: tuple["Node", ...] = ()
    in_other: tuple["Node", ...] = ()


def nodes(children=None):
    few = st.just(()) if children is None else st.lists(children, max_size=2).map(tuple)
    return st.builds(
        Node,
        st.sampled_from(["Left", "Right", "RightHand2"]),
        st.sampled_from([None, None, None, "left", "epochs", "left_1", "right_hand2_3"]),
        st.lists(st.sampled_from(["__call__", "other", "value"]), max_size=3).map(tuple),
        few,
        few,
        few,
    )


def run_nodes(hk, top):
    class Base(hk.Module):
        def __init__(self, node):
            super().__init__(name=node.name)
            self.node = node
            self.made = [(KINDS[inner.kind](inner), inner.calls) for inner in node.in_init]

        def __call__(self):
            x = hk.get_parameter("w", (), init=draw) + hk.get_state("x", (), init=draw)
            hk.set_state("x", x)
            x = x + run(self.node.in_call)
            return x + sum((call(*made) for made in self.made), jnp.float32(0))

        def other(self):
            hk.set_state("other", run(self.node.in_other))
            return hk.get_state("other")

        @property
        def value(self):
            return hk.get_parameter("v", (), init=draw) + run(self.node.in_other)

    class Left(Base):
        pass

    class Right(Base):
        def __init__(self, node):
            super().__init__(node)
            self.one_more = Left(Node("Left", None, ()))

    class RightHand2(Right):
        def other(self):
            return super().other() + self.one_more()

    KINDS = {"Left": Left, "Right": Right, "RightHand2": RightHand2}  # noqa: N806

    def draw(shape, dtype):
        return jax.random.uniform(hk.next_rng_key(), shape, dtype)

    def call(module, calls):
        total = jnp.float32(0)
        for name in calls:
            value = getattr(module, name)
            total = total + (value if name == "value" else value())
        return total

    def run(nodes):
        return sum((call(KINDS[n.kind](n), n.calls) for n in nodes), jnp.float32(0))

    return history(hk.transform_with_state(lambda: run(top)))


@given(st.lists(st.recursive(nodes(), nodes, max_leaves=6), min_size=1, max_size=3))
@law(60)
def test_mini__a_random_program_gives_what_it_gives_on_haiku(program):
    assert_same(run_nodes(mini, program), of_haiku(lambda: run_nodes(haiku, program)))


# ---- purity


def test_mini__what_is_passed_in_stays_as_it_is():
    init, apply = mini.transform_with_state(created_in_methods(mini))
    params, state = init(jax.random.key(0))
    before = copy.deepcopy((params, state))
    _, new = apply(params, state, None)
    assert_same((params, state), before)
    assert new is not state
    assert all(new[path] is not state[path] for path in state)

    _, other = apply(params, state, None)
    assert_same(other, new)


def test_mini__what_is_passed_in_stays_as_it_is_when_apply_fails():
    def f():
        x = mini.get_state("x", (), init=jnp.zeros)
        mini.set_state("x", x + 1)
        mini.get_parameter("absent", (), init=jnp.ones)

    params, state = {}, {"~": {"x": jnp.zeros(())}}
    with pytest.raises(errors.UninitializedParameterError):
        mini.transform_with_state(f).apply(params, state, None)
    assert_same((params, state), ({}, {"~": {"x": jnp.zeros(())}}))


def test_mini__a_frame_does_not_outlive_an_exception():
    class Fails(mini.Module):
        def __init__(self):
            super().__init__()
            raise KeyError("a test")

    class Outer(mini.Module):
        def __call__(self):
            Fails()

    def f():
        mini.set_state("x", 1)
        Outer()()

    init, apply = mini.transform_with_state(f)
    with pytest.raises(KeyError, match="a test"):
        init(None)
    with pytest.raises(KeyError, match="a test"):
        apply({}, {}, None)
    assert mini._frames == []
    with pytest.raises(errors.OutsideTransformError):
        mini.get_state("x")
    assert mini.transform_with_state(only_read(mini)).init(None)[1].keys() == {"~"}


def test_mini__a_transform_within_a_transform_has_a_frame_of_its_own():
    def program(hk):
        inner = hk.transform_with_state(keys_between_modules(hk))

        def f():
            leaf = parts(hk).Leaf
            return leaf()(), inner.init(hk.next_rng_key()), leaf()(), hk.running_init()

        return f

    expected, actual = run_both(program)
    assert_same(actual, expected)


def test_mini__the_pair_unpacks_and_has_names():
    pair = mini.transform_with_state(lambda: None)
    init, apply = pair
    assert (pair.init, pair.apply) == (init, apply)
    assert isinstance(mini.transform(lambda: None), mini.Pair)


# ---- JAX's transformations around the pair


def model(hk):
    p = parts(hk)

    def f(x):
        scale = hk.get_parameter("scale", (), init=jnp.ones)
        noise = jax.random.normal(hk.next_rng_key(), x.shape)
        hk.set_state("last", x)
        return scale * jnp.sum((x + noise) * p.InInit()())

    return f


def test_mini__vmap_gives_what_the_loop_gives():
    xs = jnp.arange(6.0).reshape(3, 2)
    init, apply = mini.transform_with_state(model(mini))
    params, state = init(jax.random.key(0), xs[0])
    _, state = apply(params, state, jax.random.key(1), xs[0])
    loop = [
        apply(params, state, rng, x)
        for rng, x in zip(jax.random.split(jax.random.key(2), 3), xs, strict=True)
    ]
    rngs = jax.random.split(jax.random.key(2), 3)
    mapped = jax.vmap(apply, in_axes=(None, None, 0, 0))(params, state, rngs, xs)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *loop)
    assert_close(mapped, stacked)


def test_mini__grad_is_the_one_of_closed_form():
    def f(x):
        w = mini.get_parameter("w", (2,), init=jnp.ones)
        seen = mini.get_state("seen", (), jnp.int32, init=jnp.zeros)
        mini.set_state("seen", seen + 1)
        return jnp.sum(w**2 * x)

    init, apply = mini.transform_with_state(f)
    x = jnp.array([3.0, 5.0])
    params, state = init(None, x)
    grads, state = jax.grad(apply, has_aux=True)(params, state, None, x)
    assert_same(grads, {"~": {"w": 2 * x}})
    assert_same(state, {"~": {"seen": jnp.int32(1)}})


# ---- transform


def test_mini__transform_gives_what_it_gives_on_haiku():
    def program(hk):
        class Draw(hk.Module):
            def __call__(self, x, *, factor):
                w = hk.get_parameter("w", x.shape, x.dtype, init=jnp.ones)
                return factor * w * x + jax.random.normal(hk.next_rng_key(), x.shape)

        return lambda x, factor: Draw()(x, factor=factor) + Draw()(x, factor=factor)

    x = jnp.arange(3.0)
    records = []
    for hk in (haiku, mini):
        pair = hk.transform(program(hk))
        params = pair.init(rng=jax.random.key(0), x=x, factor=2.0)
        records.append([params, pair.apply(params=params, rng=jax.random.key(1), x=x, factor=2.0)])
    assert_same(*records)


# ---- errors


def leaked(hk):
    class Kept(hk.Module):
        def __call__(self):
            return 1

        @property
        def value(self):
            return 2

    kept = []
    hk.transform_with_state(lambda: kept.append(Kept())).init(None)
    return kept[0]


def constructed(hk):
    type("Kept", (hk.Module,), {})()


def absent_in_module(hk):
    class Reader(hk.Module):
        def __call__(self):
            return hk.get_parameter("w", (), init=jnp.ones)

    hk.transform_with_state(lambda: Reader()()).apply({"other": {}}, {}, None)


def stateless(hk):
    return hk.transform(lambda: hk.set_state("x", 1))


def init(f):
    return lambda hk: hk.transform_with_state(lambda: f(hk)).init(None)


def apply(f):
    return lambda hk: hk.transform_with_state(lambda: f(hk)).apply({}, {"~": {"y": 1}}, None)


def parameter(hk):
    return hk.get_parameter("w", (), init=jnp.ones)


def random_parameter(hk):
    return hk.get_parameter("w", (), init=lambda shape, dtype: hk.next_rng_key())


def key(hk):
    return hk.next_rng_key()


NO_FRAME, NO_KEPT = (
    (errors.OutsideTransformError, f"`{name}` was used outside a transformed function.")
    for name in ("Module", "Kept")
)
NO_KEY = (errors.MissingKeyError, "random numbers are drawn, but rng is None.")
NO_PARAMETER = (errors.UninitializedParameterError, "params['~']['w'] is not in params.")
NO_STATE = (
    errors.UninitializedStateError,
    "state['~']['x'] is read before it has been written.",
)
NO_PLACE = (
    errors.StatelessTransformError,
    "the function was transformed without support for state, for example by hk.transform.",
)
ERRORS = {
    "constructed": (constructed, *NO_KEPT, "the init or apply that is running"),
    "called": (lambda hk: leaked(hk)(), *NO_KEPT, "the init or apply that is running"),
    "property": (lambda hk: leaked(hk).value, *NO_KEPT, "the init or apply that is running"),
    "get_parameter": (parameter, *NO_FRAME, "the init or apply that is running"),
    "get_state": (lambda hk: hk.get_state("x", (), init=jnp.ones), *NO_FRAME, "none is running"),
    "set_state": (lambda hk: hk.set_state("x", 1), *NO_FRAME, "the init or apply that is running"),
    "next_rng_key": (key, *NO_FRAME, "the init or apply that is running"),
    "running_init": (lambda hk: hk.running_init(), *NO_FRAME, "the init or apply that is running"),
    "no key in init": (init(key), *NO_KEY, "from the key that it is given"),
    "no key in apply": (apply(key), *NO_KEY, "from the key that it is given"),
    "no key for a parameter": (init(random_parameter), *NO_KEY, "from the key that it is given"),
    "no parameter": (apply(parameter), *NO_PARAMETER, "init creates"),
    "no parameter, nor key": (apply(random_parameter), *NO_PARAMETER, "init creates"),
    "no parameter of a module": (
        absent_in_module,
        errors.UninitializedParameterError,
        "params['reader']['w'] is not in params.",
        "init creates",
    ),
    "parameter without init": (
        init(lambda hk: hk.get_parameter("w", ())),
        *NO_PARAMETER,
        "init creates",
    ),
    "state without init": (
        apply(lambda hk: hk.get_state("x")),
        *NO_STATE,
        "only reads a value that was written",
    ),
    "the same in init": (
        init(lambda hk: hk.get_state("x", (2,))),
        *NO_STATE,
        "only reads a value that was written",
    ),
    "state without shape": (
        init(lambda hk: hk.get_state("x", init=jnp.ones)),
        *NO_STATE,
        "only reads a value that was written",
    ),
    "stateless init": (
        lambda hk: stateless(hk).init(None),
        *NO_PLACE,
        "pure_pair",
    ),
    "stateless apply": (
        lambda hk: stateless(hk).apply({}, None),
        *NO_PLACE,
        "hk.transform_with_state",
    ),
}


@pytest.fixture
def english(monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")


@pytest.mark.usefixtures("english")
@pytest.mark.parametrize(("act", "kind", "what", "part"), ERRORS.values(), ids=ERRORS)
def test_mini__what_is_a_value_error_on_haiku_is_one_of_ours(act, kind, what, part):
    with pytest.raises(ValueError, match=r"."):
        act(haiku)
    with pytest.raises(ValueError, match=r".") as caught:
        act(mini)
    assert type(caught.value) is kind
    assert caught.value.what == what
    assert part in str(caught.value)
    assert mini._frames == []


def test_mini__a_missing_key_is_missed_at_every_draw():
    def f():
        for _ in range(2):
            with pytest.raises(errors.MissingKeyError):
                mini.next_rng_key()
        return "done"

    assert mini.transform(f).apply({}, None) == "done"


# ---- what the docstring says that Haiku does, and mini does not


def other_shape(hk):
    hk.transform(lambda: hk.get_parameter("w", (3,))).apply({"~": {"w": jnp.ones(2)}}, None)


def none_as_value(hk):
    hk.transform(lambda: hk.get_parameter("w", (), init=lambda shape, dtype: None)).init(None)


def one_name_twice(hk):
    p = parts(hk)
    hk.transform(lambda: [p.Leaf("a_1"), p.Leaf("a_1")]).init(None)


def no_identifier(hk):
    p = parts(hk)
    hk.transform(lambda: p.Leaf("a b")).init(None)


def no_super(hk):
    class Bare(hk.Module):
        def __init__(self):
            pass

    hk.transform(Bare).init(None)


REFUSED_BY_HAIKU = [other_shape, none_as_value, one_name_twice, no_identifier, no_super]


@pytest.mark.parametrize("act", REFUSED_BY_HAIKU, ids=lambda act: act.__name__)
def test_mini__haiku_refuses_more(act):
    with pytest.raises(ValueError, match=r"."):
        act(haiku)
    act(mini)


def integer_as_rng(hk):
    hk.transform(lambda: jax.random.normal(hk.next_rng_key())).apply({}, 3)


def none_as_state(hk):
    hk.transform_with_state(lambda: hk.set_state("x", 1)).apply({}, None, None)


def dataclass_as_module(hk):
    @dataclasses.dataclass
    class Sized(hk.Module):
        size: int

        def __call__(self):
            return hk.get_parameter("w", (self.size,), init=jnp.ones)

    assert "sized" in hk.transform(lambda: Sized(3)()).init(None)


def module_itself(hk):
    assert hk.transform(lambda: hk.Module().name).apply({}, None) == "module"


def setter(hk):
    class Holds(hk.Module):
        @property
        def value(self):
            return hk.get_state("value")

        @value.setter
        def value(self, value):
            hk.set_state("value", value)

    def f():
        Holds().value = 1

    assert hk.transform_with_state(f).init(None)[1] == {"holds": {"value": 1}}


def transparent(hk):
    p = parts(hk)

    class Inner(hk.Module):
        @hk.transparent
        def __call__(self):
            hk.set_state("x", 1)
            return p.Leaf()() + hk.get_parameter("w", (), init=jnp.ones)

    class Outer(hk.Module):
        def __call__(self):
            return Inner()()

    params, state = hk.transform_with_state(lambda: Outer()()).init(jax.random.key(0))
    assert set(params) == set(state) == {"outer", "outer/leaf"}


def name_like(hk):
    p = parts(hk)

    class Outer(hk.Module):
        @hk.name_like("__call__")
        def encode(self):
            hk.set_state("x", 1)
            return p.Leaf()()

    params, state = hk.transform_with_state(lambda: Outer().encode()).init(jax.random.key(0))
    assert set(params) == {"outer/leaf"}
    assert set(state) == {"outer", "outer/leaf"}


def params_dict(hk):
    p = parts(hk)

    def f():
        module = p.InInit()
        module()
        return set(module.params_dict()), set(module.state_dict())

    (params, state), _ = hk.transform_with_state(f).apply(
        *hk.transform_with_state(f).init(jax.random.key(0)), None
    )
    leaves = {"in_init/~/leaf", "in_init/~/leaf_1", "in_init/leaf"}
    assert state == {f"{leaf}/count" for leaf in leaves}
    assert params == {"in_init/scale", *(f"{leaf}/w" for leaf in leaves)}


def do_not_store(hk):
    def f():
        state = hk.get_state("x", (), init=lambda shape, dtype: hk.DO_NOT_STORE)
        with hk.custom_getter(lambda next_getter, value, context: jnp.ones(())):
            hk.get_parameter("w", (), init=lambda shape, dtype: hk.DO_NOT_STORE)
        with hk.custom_setter(lambda next_setter, value, context: hk.DO_NOT_STORE):
            hk.set_state("y", 1)
        assert state is hk.DO_NOT_STORE

    assert jax.tree.leaves(hk.transform_with_state(f).init(None)) == []


@pytest.fixture
def legacy_keys():
    jax.config.update("jax_legacy_prng_key", "allow")  # what Haiku makes of an integer
    yield
    jax.config.update("jax_legacy_prng_key", "error")


GIVEN_BY_HAIKU = [
    *(integer_as_rng, none_as_state, dataclass_as_module, module_itself, setter),
    *(transparent, name_like, params_dict, do_not_store),
]


@pytest.mark.usefixtures("legacy_keys")
@pytest.mark.parametrize("act", GIVEN_BY_HAIKU, ids=lambda act: act.__name__)
def test_mini__haiku_can_do_more(act):
    act(haiku)
    with pytest.raises((AttributeError, TypeError, AssertionError, ValueError)):
        act(mini)
    assert mini._frames == []


def test_mini__what_its_end_says_to_be_left_out_is_in_haiku_only():
    left_out = inspect.getsource(mini).partition("# And it has more")[2]
    names = set(re.findall(r"`hk\.(\w+)`", left_out)) - {"Module"}
    assert names >= {"transparent", "name_like", "DO_NOT_STORE", "scan"}
    assert all(hasattr(haiku, name) and not hasattr(mini, name) for name in names)
