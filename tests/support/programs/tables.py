"""The two tables: impure functions with what a report about each must find, and pure ones.

A case is a function as a newcomer would write it. The mark at the end of a line, such as
``# finds: mutation counter.n``, says what ``explain`` finds there. The name is the expression of
that line: ``self.n`` in a method, whatever the caller calls the object; a key of a dict is its
value. A case's block is everything between the end of the case before it and its own end, so that
classes, helpers and globals stand above the function that uses them.
"""

import collections
import inspect
import linecache
import re

KINDS = ("mutation", "hidden input", "output", "leak", "frozen value")
MARK = re.compile(r"# finds: (.+)$")
_ends = collections.defaultdict(int)  # file: the last line of its latest case


class Table:
    """Cases, and what a report about each must find."""

    def __init__(self):
        self.CASES = []  # name, function, args, kwargs
        self.RAISES = set()  # the cases that raise while they are traced
        self.MAY_RAISE = set()  # with jax.jit, and on older JAX already with make_jaxpr
        self._expected = {}

    def __call__(self, *args, **kwargs):
        """Decorate a case, with the arguments to call it with."""

        def decorate(function):
            self.add(function.__name__, function, *args, **kwargs)
            self._expected[function.__name__] = marks(function)
            return function

        return decorate

    def made(self, *args, **kwargs):
        """Decorate a function that makes the callable to explain, such as a bound method."""

        def decorate(builder):
            self.add(builder.__name__, builder(), *args, **kwargs)
            self._expected[builder.__name__] = marks(builder)
            return builder

        return decorate

    def add(self, name, function, *args, **kwargs):
        """Add a case that is not written here, such as a function that a library has made."""
        assert all(name != case[0] for case in self.CASES), name
        self.CASES.append((name, function, args, kwargs))

    def expected(self, case):
        """Return what the marks of a case say: a set of (kind, name, line)."""
        return self._expected[case[0]]


def marks(function):
    """Return what the marks say in the block that ends with a function."""
    function = inspect.unwrap(function)
    lines, start = inspect.getsourcelines(function)
    file = inspect.getsourcefile(function)
    first, _ends[file] = _ends[file] + 1, start + len(lines) - 1
    found = set()
    for line in range(first, _ends[file] + 1):
        if mark := MARK.search(linecache.getline(file, line)):
            for finding in mark[1].split("; "):
                kind = next(kind for kind in KINDS if finding.startswith(f"{kind} "))
                found.add((kind, finding[len(kind) + 1 :], line))
    return found


impure, pure = Table(), Table()
