"""What the pieces ask of a leaf."""

from typing import Any

import jax.numpy as jnp
import numpy as np


def is_float(leaf: Any) -> bool:
    """Say whether a leaf is an array of a floating or complex dtype."""
    return hasattr(leaf, "dtype") and bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def wide_dtype(leaf: Any) -> Any:
    """Give the dtype to sum in: float32 at least for floating leaves, their own for others."""
    return np.promote_types(leaf.dtype, np.float32) if is_float(leaf) else leaf.dtype
