"""A rewrite is shown only if three calls agree with the function as it is; a wrong one is not."""

import dataclasses

import jax.numpy as jnp
import pytest
from inside import impure

import haiku_state as hs
from haiku_state.inside import purity
from haiku_state.inside.rewrite import rewrite

x = jnp.arange(3.0)


class Counter:
    def __init__(self):
        self.n = 1.0
        self.inner = [0]

    def count(self, x):
        self.n *= 2.0
        return x * self.n

    def count_and_square(self, x):
        self.n *= 2.0
        return sum(map(lambda n: n * n, [x * self.n]))

    def choose(self, x):
        self.n = self.n + 1
        return x if self.n > 2 else -x


def tampered(monkeypatch, **code):
    monkeypatch.setattr(
        purity, "rewrite", lambda finding: dataclasses.replace(rewrite(finding), **code)
    )


def test_what_is_right_is_shown():
    (finding,) = hs.explain(Counter().count, x).findings
    assert finding.rewrite.explicit == "n = n * 2.0"
    assert "hk.initializers.Constant(1.0)" in finding.rewrite.haiku
    (finding,) = hs.explain(Counter().count_and_square, x).findings
    assert (finding.rewrite.explicit, finding.rewrite.new) == ("n_state = n_state * 2.0", "n_state")


HAIKU = 'n = hk.get_state("n", [], jnp.float32, init={})\nn = n * {}\nhk.set_state("n", n)'
WRONG = {
    "another number": {"explicit": "n = n * 3.0"},
    "a constant": {"explicit": "n = 2.0"},
    "a name that nothing has": {"explicit": "n = m * 2.0"},
    "no Python": {"explicit": "0 = 0.copy()"},
    "an array of the caller's that is gone": {"explicit": "n = jnp.ones(3)"},
    "zeros for ones": {"haiku": HAIKU.format("jnp.zeros", "2.0")},
    "a state that is not stored": {"haiku": HAIKU.format("jnp.ones", "2.0").rpartition("\n")[0]},
}


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_in_words(code, monkeypatch):
    tampered(monkeypatch, **code)
    (finding,) = hs.explain(Counter().count, x).findings
    (field,) = code
    assert getattr(finding.rewrite, field) == ""
    assert finding.rewrite.advice
    assert "Take `n` as an argument" in str(hs.explain(Counter().count, x))


def test_a_state_that_the_function_branches_on_is_no_argument_of_jit():
    (finding,) = hs.explain(Counter().choose, x).findings
    assert (finding.rewrite.explicit, finding.rewrite.haiku) == ("", "")


def test_trying_leaves_nothing_behind(standard_promotion):
    counter, before = Counter(), {**globals()}
    code = Counter.count.__code__
    hs.explain(counter.count, x)
    assert (counter.n, Counter.count.__code__) == (1.0, code)
    assert globals() == before


def test_most_of_the_table_has_code(standard_promotion):
    with_code = 0
    for _name, function, args, kwargs in impure.CASES[::6]:
        report = hs.explain(function, *args, **kwargs)
        rewrites = [finding.rewrite for finding in report.findings]
        with_code += any(new.explicit or new.haiku or new.outside for new in rewrites)
    assert with_code >= len(impure.CASES[::6]) // 2
