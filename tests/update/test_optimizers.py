"""A few rows of the table that ``python tests/tools optimizer_table`` prints."""

import pytest
from tools import optimizer_table


@pytest.mark.filterwarnings("ignore")  # Optax wants other arguments from version to version
def test_optimizer_table__can_make_all_optimizers():
    makers = optimizer_table.optimizers()
    assert len(makers) > 100
    for make in makers.values():
        assert callable(make().update)


# those whose initial state holds an array twice, and one that has them all inside
@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize(
    ("name", "runners"),
    [
        ("optax.contrib.schedule_free_sgd", ["pmap_update"]),
        pytest.param("optax.scale_by_lbfgs", ["jit_update"], marks=pytest.mark.slow),
        pytest.param(
            "optax.contrib.sam", ["jit_update", "shard_map_update"], marks=pytest.mark.slow
        ),
    ],
)
def test_optimizer_table__an_optimizer_is_no_false_alarm(name, runners):
    assert optimizer_table.row(optimizer_table.optimizers()[name], runners) == dict.fromkeys(
        runners, "ok"
    )
