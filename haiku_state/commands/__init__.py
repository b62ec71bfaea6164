"""The command line: ``train``, ``explain`` and ``doctor``, put together in ``main``."""
