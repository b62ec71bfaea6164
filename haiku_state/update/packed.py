"""Small leaves in one array, because the cost of a call comes from its arrays.

A small network has dozens of small arrays, and JAX handles each of them at each call. Between two
calls, those of one dtype lie here behind one another in one array. The program that is compiled
takes them apart, runs the step, and packs them again.
"""

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import arguments
from haiku_state.errors.describe import is_key, leaves_by_path, with_dicts
from haiku_state.typing import R, StepFn, T
from haiku_state.update.runner import Runner


@dataclass(frozen=True)
class PackedState:
    """A train state between two calls; ``run.one`` returns a plain train state.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import jit_update
      >>> def scale(params, batch, *, axis_name=None):
      ...     return {name: 2 * leaf for name, leaf in params.items()}, {}
      >>> run = jit_update(scale, packed_bytes=4096)
      >>> packed, metrics = run(run.place({"b": jnp.ones(2), "w": jnp.ones((2, 2))}), {})
      >>> packed.arrays
      (Array([2., 2., 2., 2., 2., 2.], dtype=float32),)
      >>> run.one(packed)["b"]
      Array([2., 2.], dtype=float32)

    References:
      :func:`.jit_update`.
    """

    arrays: tuple[jax.Array, ...]
    structure: Any
    groups: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    """The index and the shape of each leaf in each array."""


def _with_names(packed: PackedState) -> Any:
    """Name each array after the first of its leaves, as errors about it do."""
    tree = jax.tree.unflatten(packed.structure, range(packed.structure.num_leaves))
    names = list(leaves_by_path(**{"": tree}))
    keys = [names[group[0][0]] for group in packed.groups]
    return list(zip(keys, packed.arrays, strict=True)), (packed.structure, packed.groups)


jax.tree_util.register_pytree_with_keys(
    PackedState,
    _with_names,
    lambda layout, arrays: PackedState(tuple(arrays), *layout),
    lambda packed: (packed.arrays, (packed.structure, packed.groups)),
)


class Packed(Runner[T, R]):
    """What :func:`.jit_update` returns if it packs."""

    def __init__(self, step: StepFn[T, R], largest: int) -> None:
        super().__init__(step)
        self._largest = largest

    def place(self, train_state: T) -> Any:
        return jax.jit(self.pack)(with_dicts(train_state))

    def one(self, train_state: T) -> Any:
        return jax.jit(self.unpack)(train_state)

    def pack(self, train_state: Any) -> PackedState:
        leaves, structure = jax.tree.flatten(train_state)
        groups: dict[Any, list[Any]] = {}
        for index, leaf in enumerate(leaves):
            is_small = not is_key(leaf) and leaf.size * leaf.dtype.itemsize <= self._largest
            groups.setdefault(leaf.dtype if is_small else index, []).append((index, leaf.shape))
        arrays = (
            jnp.concatenate([jnp.ravel(leaves[index]) for index, _ in group])
            if len(group) > 1
            else leaves[group[0][0]]
            for group in groups.values()
        )
        return PackedState(tuple(arrays), structure, tuple(map(tuple, groups.values())))

    def unpack(self, train_state: Any) -> Any:
        if not isinstance(train_state, PackedState):
            raise arguments.not_packed(train_state)
        leaves: dict[int, jax.Array] = {}
        for group, array in zip(train_state.groups, train_state.arrays, strict=True):
            ends = np.cumsum([math.prod(shape) for _, shape in group])
            pieces = jnp.split(array, ends[:-1]) if len(group) > 1 else [array]
            for (index, shape), piece in zip(group, pieces, strict=True):
                leaves[index] = piece.reshape(shape)
        return jax.tree.unflatten(
            train_state.structure, [leaves[index] for index in sorted(leaves)]
        )
