"""What a cell shows for each choice of some settings, of which a reader sees one at a time.

In a cell with the tag ``choices``, ``with choice(name=value, …):`` keeps what its block prints, and
``layout(step, mesh, name=(array, spec), …)`` what each device of a mesh holds and what the devices
send each other in one step. Each prints a line of JSON.
"""

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

COLLECTIVE = re.compile(
    r" = (\(.*?\)|\S+) "
    r"(all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)
ARRAY = re.compile(r"\b([a-z]+)(\d+)\[([\d,]*)\]")
DTYPES = {"f": "float", "bf": "bfloat", "s": "int", "u": "uint", "c": "complex"}


@contextlib.contextmanager
def choice(**settings: Any) -> Iterator[None]:
    """Keep what a block prints, for one choice of the settings."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        yield
    texts = {name: str(value) for name, value in settings.items()}
    print(json.dumps({"choice": texts, "output": printed.getvalue().rstrip()}))


def layout(step: Callable[..., Any], mesh: Any, **arguments: tuple[Any, Any]) -> None:
    """Keep who holds what, and what a step sends, for one layout of its arguments.

    A result that has the shape of the argument in its place, such as new params, gets its layout.
    Any other, such as a loss, is copied to each device.
    """
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    arrays = [array for array, _spec in arguments.values()]
    layouts = [NamedSharding(mesh, spec) for _array, spec in arguments.values()]
    copied = NamedSharding(mesh, PartitionSpec())
    shapes = dict(enumerate(array.shape for array in arrays))
    results = tuple(
        layouts[number] if result.shape == shapes.get(number) else copied
        for number, result in enumerate(jax.eval_shape(step, *arrays))
    )
    jitted = jax.jit(step, in_shardings=tuple(layouts), out_shardings=results)
    axes = ", ".join(f"{axis}: {size}" for axis, size in mesh.shape.items())
    specs = {name: _text(spec) for name, (_array, spec) in arguments.items()}
    held = {
        name: _held(mesh, layout, array.shape)
        for name, array, layout in zip(arguments, arrays, layouts, strict=True)
    }
    sent = _sent(jitted.lower(*arrays).compile().as_text())
    print(json.dumps({"choice": {"mesh": axes, **specs}, "held": held, "sent": sent}))


def _text(spec: Any) -> str:
    return f"P({', '.join(json.dumps(axis).replace('null', 'None') for axis in spec)})"


def _held(mesh: Any, layout: Any, shape: tuple[int, ...]) -> list[list[list[int]]]:
    """Return what each device holds: for each axis where its part begins and ends, and of what."""
    parts = layout.devices_indices_map(shape)
    return [
        [[*cut.indices(size)[:2], size] for cut, size in zip(parts[device], shape, strict=True)]
        for device in mesh.devices.flat
    ]


def _sent(program: str) -> list[list[str]]:
    """Return the collectives of a compiled program, each with the arrays that come out."""
    return [
        [kind, *(f"{DTYPES[name]}{bits}[{size}]" for name, bits, size in ARRAY.findall(shapes))]
        for shapes, kind in COLLECTIVE.findall(program)
    ]


def load_ipython_extension(shell: Any) -> None:
    """Give the cells ``choice`` and ``layout``."""
    shell.user_ns |= {"choice": choice, "layout": layout}
