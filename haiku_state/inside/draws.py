"""The functions of ``random`` and of NumPy that draw, and what they are called in ``jax.random``.

Each has the names of its parameters, and a template for each choice of them that a call may make;
``size`` may be missing in all. In a template ``{size}`` is the shape with a comma before it, or
nothing, ``{shape}`` is the shape itself, ``{seq}`` is an array, and
``{after_b}`` is one more than ``b``.
"""

from typing import NamedTuple


class Draw(NamedTuple):
    """A function that draws."""

    parameters: str
    templates: dict[str, str]
    """The rewritten call, by the names of the arguments that were passed, other than ``size``."""


def _scaled(name: str) -> dict[str, str]:
    draw = f"jax.random.{name}({{key}}{{size}})"
    return {
        "": draw,
        "loc": f"{{loc}} + {draw}",
        "scale": f"{{scale}} * {draw}",
        "loc scale": f"{{loc}} + {{scale}} * {draw}",
    }


UNIFORM = {"": "jax.random.uniform({key}{size})"}
NORMAL = {"": "jax.random.normal({key}{size})"}
INTEGERS = {
    "low": "jax.random.randint({key}, {shape}, 0, {low})",
    "low high": "jax.random.randint({key}, {shape}, {low}, {high})",
}
PYTHON = {
    "choice": Draw("seq", {"seq": "jax.random.choice({key}, {seq})"}),
    "choices": Draw(
        "seq weights cum_weights k", {"seq k": "jax.random.choice({key}, {seq}, ({k},))"}
    ),
    "expovariate": Draw("rate", {"rate": "jax.random.exponential({key}) / {rate}"}),
    "gauss": Draw("loc scale", _scaled("normal")),
    "normalvariate": Draw("loc scale", _scaled("normal")),
    "randbelow": Draw("n", {"n": "jax.random.randint({key}, (), 0, {n})"}),
    "randint": Draw("a b", {"a b": "jax.random.randint({key}, (), {a}, {after_b})"}),
    "random": Draw("", {"": "jax.random.uniform({key})"}),
    "randrange": Draw("low high", INTEGERS),
    "sample": Draw("seq k", {"seq k": "jax.random.choice({key}, {seq}, ({k},), replace=False)"}),
    "shuffle": Draw("seq", {"seq": "jax.random.permutation({key}, {seq})"}),
    "uniform": Draw("a b", {"a b": "jax.random.uniform({key}, minval={a}, maxval={b})"}),
}

NUMPY = {
    "choice": Draw(
        "seq size replace p",
        {
            "seq": "jax.random.choice({key}, {seq}{size})",
            "seq replace": "jax.random.choice({key}, {seq}, {shape}, replace={replace})",
            "seq p": "jax.random.choice({key}, {seq}, {shape}, p={p})",
            "seq replace p": "jax.random.choice({key}, {seq}, {shape}, replace={replace}, p={p})",
        },
    ),
    "exponential": Draw("scale size", _scaled("exponential")),
    "integers": Draw("low high size", INTEGERS),
    "laplace": Draw("loc scale size", _scaled("laplace")),
    "logistic": Draw("loc scale size", _scaled("logistic")),
    "normal": Draw("loc scale size", _scaled("normal")),
    "permutation": Draw("seq", {"seq": "jax.random.permutation({key}, {seq})"}),
    "poisson": Draw("lam size", {"lam": "jax.random.poisson({key}, {lam}{size})"}),
    "rand": Draw("*", UNIFORM),
    "randbelow": PYTHON["randbelow"],
    "randint": Draw("low high size", INTEGERS),
    "randn": Draw("*", NORMAL),
    "random": Draw("size", UNIFORM),
    "random_sample": Draw("size", UNIFORM),
    "shuffle": Draw("seq", {"seq": "jax.random.permutation({key}, {seq})"}),
    "standard_normal": Draw("size", NORMAL),
    "uniform": Draw(
        "low high size",
        {
            "": "jax.random.uniform({key}{size})",
            "low high": "jax.random.uniform({key}, {shape}, minval={low}, maxval={high})",
        },
    ),
}
