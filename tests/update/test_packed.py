"""Small leaves in one array between two calls; tests/update/test_runners.py has the rest."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import haiku_state as hs
from haiku_state.errors import ArgumentError, DonatedBufferError
from haiku_state.storage import restore_checkpoint, save_checkpoint


def count(train_state, batch, *, axis_name=None):
    return train_state._replace(step=train_state.step + 1), {}


def packing(largest):
    return hs.jit_update(count, packed_bytes=largest)


def state_with(params):
    return hs.TrainState(params, {}, (), jax.random.key(0), jnp.int32(0))


leaves = st.builds(
    lambda dtype, shape: np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype),
    st.sampled_from(["float32", "float16", "int32", "bool"]),
    st.lists(st.integers(0, 3), max_size=3),
)
trees = st.recursive(
    leaves, lambda tree: st.dictionaries(st.text("ab"), tree) | st.tuples(tree, tree)
)


@settings(deadline=None, max_examples=25)  # each compiles two programs
@given(trees, st.sampled_from([1, 16, 4096]))
def test_a_packed_tree_comes_back_as_it_was(tree, largest):
    run = packing(largest)
    back = run.one(run.place(tree))
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for leaf, other in zip(jax.tree.leaves(back), jax.tree.leaves(tree), strict=True):
        assert leaf.dtype == other.dtype
        np.testing.assert_array_equal(leaf, other)


def test_leaves_of_one_dtype_share_an_array_and_keys_and_large_leaves_do_not():
    params = {"b": jnp.ones(3), "half": jnp.ones(3, jnp.float16), "w": jnp.ones((2, 2))}
    train_state = state_with({**params, "large": jnp.ones((3, 2))})
    train_state = train_state._replace(opt_state=(jax.random.key(1), jax.random.PRNGKey(2)))
    arrays = packing(16).place(train_state).arrays
    assert sorted(f"{array.dtype}{list(array.shape)}" for array in arrays) == [
        "float16[3]",
        "float32[3, 2]",
        "float32[7]",
        "int32[]",
        "key<fry>[]",
        "key<fry>[]",
        "uint32[2]",
    ]


def test_a_plain_train_state_is_told_to_be_placed():
    train_state = state_with({"w": jnp.ones(2)})
    with pytest.raises(
        ArgumentError, match=r"^train_state is TrainState, .* the result of run\.place"
    ):
        packing(16)(train_state, {})


def test_a_consumed_leaf_is_named_by_its_path():
    run = packing(16)
    used = run.place(state_with({"linear": {"b": jnp.ones(2)}}))
    run(used, {})
    with (
        jax.debug_key_reuse(False),
        pytest.raises(DonatedBufferError, match=r"^train_state\.params\['linear'\]\['b'\]"),
    ):
        run(used, {})


def test_a_checkpoint_holds_the_leaves_and_never_the_arrays(tmp_path):
    run = packing(16)
    train_state, _ = run(run.place(state_with({"b": jnp.ones(2)})), {})
    for call in (save_checkpoint, restore_checkpoint):
        with pytest.raises(ArgumentError, match=r"right: \w+\(directory, run.one\(train_state\)\)"):
            call(tmp_path, train_state)
    save_checkpoint(tmp_path, run.one(train_state))
    like = state_with({"b": jnp.zeros(2)})
    back = restore_checkpoint(tmp_path, like).train_state
    assert (back.step, back.params["b"].tolist()) == (1, [1.0, 1.0])
