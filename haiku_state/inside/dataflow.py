"""Which values reach which places of a traced program.

A value is marked where it is read or written, and the mark is found again in the jaxpr. JAX has an
operation for this purpose, ``jax.ad_checkpoint.checkpoint_name``: it returns its argument, and
gradients, ``vmap``, ``scan`` and ``jit`` keep it where it is.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

import jax
from jax.ad_checkpoint import checkpoint_name

from haiku_state.inside import compat

PREFIX = "haiku_state.inside/"


def marked(value: Any, number: int) -> Any:
    """Return a traced value with a mark on it, and any other value as it is."""
    if isinstance(value, jax.core.Tracer):
        return checkpoint_name(value, f"{PREFIX}{number}")
    return value


class Dataflow:
    """What reaches each mark and each result of a jaxpr.

    A set of origins is an integer with one bit for each of them: first the inputs of the jaxpr,
    then the marks by their numbers. What passes a mark has that mark as its only origin, so that
    a set names the nearest origins.

    Args:
      closed: what ``jax.make_jaxpr`` returns.

    Example:
      >>> import jax
      >>> from haiku_state.inside.dataflow import Dataflow, marked
      >>> def f(x, y):
      ...     return marked(x + y, 0) * y, x
      >>> flow = Dataflow(jax.make_jaxpr(f)(1.0, 2.0))
      >>> [bin(origins) for origins in flow.results], {n: bin(o) for n, o in flow.into.items()}
      (['0b110', '0b1'], {0: '0b11'})
    """

    def __init__(self, closed: Any) -> None:
        self.inputs = len(closed.jaxpr.invars)
        self.into: dict[int, int] = {}
        """For each mark, the origins of the values that are marked with it."""
        self.results = self._follow(closed.jaxpr, [1 << i for i in range(self.inputs)])
        """For each result, its origins."""

    def marks(self, origins: int) -> list[int]:
        """Return the marks of a set of origins."""
        return _bits(origins >> self.inputs)

    def arguments(self, origins: int) -> list[int]:
        """Return the indices of the inputs of a set of origins."""
        return _bits(origins & ((1 << self.inputs) - 1))

    def behind(self, origins: int, transparent: set[int]) -> int:
        """Replace each transparent mark of a set by the origins behind it."""
        seen: set[int] = set()
        while hidden := (set(self.marks(origins)) & transparent) - seen:
            seen |= hidden
            for number in hidden:
                origins |= self.into.get(number, 0)
        return origins & ~sum(1 << (self.inputs + number) for number in seen)

    def _follow(self, jaxpr: Any, incoming: Sequence[int]) -> list[int]:
        origins = dict(zip(jaxpr.invars, incoming, strict=True))

        def of(atom: Any) -> int:  # a literal has a value, and a constant of the program no origin
            return 0 if hasattr(atom, "val") else origins.get(atom, 0)

        for equation in jaxpr.eqns:
            outgoing = self._through(equation, [of(atom) for atom in equation.invars])
            origins.update(zip(equation.outvars, outgoing, strict=True))
        return [of(atom) for atom in jaxpr.outvars]

    def _through(self, equation: Any, incoming: list[int]) -> list[int]:
        name, params = equation.primitive.name, equation.params
        if name == "name" and params["name"].startswith(PREFIX):
            number = int(params["name"].removeprefix(PREFIX))
            self.into[number] = self.into.get(number, 0) | incoming[0]
            return [1 << (self.inputs + number)]
        if name == "cond":
            chosen, *operands = incoming
            branches = [self._follow(_open(branch), operands) for branch in params["branches"]]
            return [reduce(or_, results, chosen) for results in zip(*branches, strict=True)]
        if name == "while":
            first = params["cond_nconsts"]
            last = first + params["body_nconsts"]
            condition = [*incoming[:first], *incoming[last:]]
            [chosen] = self._follow(_open(params["cond_jaxpr"]), condition)
            carry = [chosen | origins for origins in incoming[last:]]
            return self._repeat(_open(params["body_jaxpr"]), incoming[first:last], carry, [])
        if name == "scan":
            first, carried = compat.scan_sizes(params)
            last = first + carried
            parts = incoming[:first], incoming[first:last], incoming[last:]
            return self._repeat(_open(params["jaxpr"]), *parts)
        return self._inside(equation, incoming)

    def _repeat(
        self, body: Any, constants: list[int], carry: list[int], xs: list[int]
    ) -> list[int]:
        """Follow the body of a loop until its carry has all origins that it can have."""
        while True:
            results = self._follow(body, [*constants, *carry, *xs])
            after = [a | b for a, b in zip(carry, results, strict=False)]
            if after == carry:
                return [*carry, *results[len(carry) :]]
            carry = after

    def _inside(self, equation: Any, incoming: list[int]) -> list[int]:
        """Follow the program that an operation such as ``jit`` contains, if it does."""
        inner = _programs(equation.params)
        shape = len(incoming), len(equation.outvars)
        if len(inner) == 1 and (len(inner[0].invars), len(inner[0].outvars)) == shape:
            return self._follow(inner[0], incoming)
        everything = reduce(or_, incoming, 0)
        for program in inner:  # whose inputs cannot be told apart
            results = self._follow(program, [everything] * len(program.invars))
            everything = reduce(or_, results, everything)
        return [everything] * len(equation.outvars)


def _programs(params: dict[str, Any]) -> list[Any]:
    values = [
        value
        for param in params.values()
        for value in (param if isinstance(param, tuple | list) else (param,))
    ]
    return [program for program in map(_open, values) if hasattr(program, "eqns")]


def _open(program: Any) -> Any:
    """Return a jaxpr without its constants, which have no origin."""
    return getattr(program, "jaxpr", program)


def _bits(number: int) -> list[int]:
    return [i for i in range(number.bit_length()) if number >> i & 1]
