"""Trees of arrays, compared leaf by leaf."""

import jax
import numpy as np
from support.tolerances import FEW_ROUNDINGS


def assert_close(one, other, tolerance=FEW_ROUNDINGS):
    """Compare the numbers of two trees, relative to 1 or to the larger number."""

    def compare(a, b):
        np.testing.assert_allclose(np.float64(a), np.float64(b), rtol=tolerance, atol=tolerance)

    jax.tree.map(compare, one, other)


def distance(one, other):
    """The largest difference of two trees of numbers."""
    return max(
        float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max(initial=0))
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def bits(tree):
    """The structure of a tree; dtype, shape and bytes of each leaf, of a random key those below."""

    def of(leaf):
        is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        data = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
        return str(leaf.dtype), leaf.shape, data.tobytes()

    leaves = jax.tree_util.tree_leaves_with_path(tree)
    found = {jax.tree_util.keystr(path): of(leaf) for path, leaf in leaves}
    return jax.tree.structure(tree), found


def assert_same_bits(one, other):
    """Compare two trees bit by bit, random keys too."""
    assert bits(one) == bits(other)
