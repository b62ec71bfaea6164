"""The ``lab`` command."""
