"""Where the tolerances of the tests come from; float32 rounds by up to 6e-8, relative to a number.

Against jit on one device, after five steps, the params must agree within ``FEW_ROUNDINGS`` and the
state within ``MANY_ROUNDINGS``.
"""

FEW_ROUNDINGS = 1e-6
"""An operation or two, or sums of few terms that do not cancel."""

MANY_ROUNDINGS = 1e-5
"""Sums over the rows of a batch, or a few steps of training."""

CANCELLED = 1e-4
"""Many roundings of terms ten times as large as their sum: a variance, or a normalized row."""
