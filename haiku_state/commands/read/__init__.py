"""The command ``read``."""
