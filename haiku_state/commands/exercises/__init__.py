"""The ``exercises`` command."""
