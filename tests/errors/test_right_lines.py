"""The right line of an error, put into the program that raised it, makes it right."""

import jax
import numpy as np
import pytest
from followed import followed, sites
from programs import PROGRAMS


@pytest.fixture(autouse=True)
def as_a_user_runs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (
        jax.debug_key_reuse(False),
        jax.legacy_prng_key("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        yield


def site_of(name):
    return name.partition(", ")[0]


COUNTS = f"{len(sites())} lines, {len(PROGRAMS)} programs"


@pytest.mark.parametrize("site", sites(), ids=[f"{site} of {COUNTS}" for site in sites()])
def test_each_right_line_has_a_program(site):
    assert site in {site_of(name) for name in PROGRAMS}


def test_each_program_follows_a_line_that_exists():
    assert {site_of(name) for name in PROGRAMS} <= set(sites())


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_right_line_makes_the_program_right(name):
    source, truth = PROGRAMS[name]
    answer, reached, corrected = followed(source)
    assert corrected != source, "nothing was raised"
    assert site_of(name) in reached, f"it reached {sorted(reached)}"
    if isinstance(truth, str):
        assert answer == truth
    else:
        np.testing.assert_allclose(np.float64(answer), np.float64(truth), rtol=1e-4)
