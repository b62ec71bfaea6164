"""A few rows of the table that ``python tests/optimizer_table.py`` prints."""

import inspect

import optimizer_table
import pytest

SAM = inspect.signature(optimizer_table.SPECIAL["optax.contrib.sam"]().update).parameters.values()
takes_more = pytest.mark.skipif(
    all(parameter.kind is not parameter.VAR_KEYWORD for parameter in SAM),
    reason="this Optax's sam refuses what Optax lets every optimizer be given",
)


@pytest.mark.filterwarnings("ignore")  # Optax wants other arguments from version to version
def test_the_table_knows_and_can_make_all_optimizers():
    makers = optimizer_table.optimizers()
    assert len(makers) > 100
    for make in makers.values():
        assert callable(make().update)


# those whose initial state holds an array twice, and one that has them all inside
@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize(
    ("name", "runners"),
    [
        ("optax.contrib.schedule_free_sgd", ["pmap"]),
        pytest.param("optax.scale_by_lbfgs", ["jit"], marks=pytest.mark.slow),
        pytest.param(
            "optax.contrib.sam", ["jit", "shard_map"], marks=[pytest.mark.slow, takes_more]
        ),
    ],
)
def test_an_optimizer_is_no_false_alarm(name, runners):
    assert optimizer_table.row(optimizer_table.optimizers()[name], runners) == dict.fromkeys(
        runners, "ok"
    )
