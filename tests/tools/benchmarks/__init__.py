"""How fast the package is, beside hand-written JAX and other libraries."""
