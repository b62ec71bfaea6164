"""The lessons as notebooks."""
