"""The ``doctor`` command: which versions are installed, what fails with them, and what helps.

It works where ``import jax`` or ``import haiku`` fails: it imports nothing but Python's own
library, reads the metadata of what is installed, and tries the rest in a separate process.
"""
