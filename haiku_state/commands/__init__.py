"""The command line: ``train`` and ``doctor``, put together in ``main``."""
