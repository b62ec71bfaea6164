"""Changes of the source that change no result: ``tests/mutants.py`` does not count them.

For each reason, the file and a regular expression for the lines that differ, as ``-`` and ``+``.
"""

EQUIVALENT: dict[str, list[tuple[str, str]]] = {}
