"""How a train state changes over the steps of a training run, leaf by leaf."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from haiku_state.errors import ArgumentError
from haiku_state.errors.base import as_lines
from haiku_state.errors.describe import Leaves, consumed_error, leaked_error
from haiku_state.errors.language import deferred as _
from haiku_state.inside.history_data import LeafSummary, is_key, summary_of
from haiku_state.inside.history_page import page, widget


class History:
    """Record a train state after each step and show how every leaf changes.

    A notebook shows a history as a table of leaves: the last value, the last change, and a curve
    over all records. :meth:`save` writes the same table to a file that needs no network and no
    scripts.

    Each record keeps only small summaries. A copy of the last train state is kept in the host's
    memory, so that a later update may consume the arrays. In a long training run, record only every
    tenth or hundredth step.

    Example:
      >>> import jax, jax.numpy as jnp, optax
      >>> import haiku_state as hs
      >>> from haiku_state.inside import History
      >>> model = hs.pure_pair(hs.LinearRegression)
      >>> batch = {"x": jnp.eye(3), "y": jnp.arange(3.0)}
      >>> def loss_fn(params, state, rng, batch):
      ...     output, state = model.apply(params, state, rng, batch["x"], is_training=True)
      ...     return jnp.mean((output - batch["y"]) ** 2), (state, {})
      >>> optimizer = optax.sgd(0.5)
      >>> train_state = hs.init_train_state(
      ...     model.init, optimizer, jax.random.key(0), batch["x"], is_training=True)
      >>> update = hs.jit_update(hs.make_update(loss_fn, optimizer))
      >>> history = History()
      >>> history.record(train_state)
      >>> for step in range(3):
      ...     train_state, metrics = update(train_state, batch)
      ...     history.record(train_state, metrics=metrics)
      >>> history
      <History of 4 records with 5 leaves>
      >>> history[3]["train_state.step"].values
      (3,)

    References:
      The lesson *Find lost state*.
    """

    def __init__(self) -> None:
        self._records: list[dict[str, LeafSummary]] = []
        self._structures: dict[str, Any] = {}
        self._last: dict[str, np.ndarray | None] = {}
        self._keys: dict[str, tuple[Any, ...]] = {}

    def record(self, train_state: Any, *, metrics: Any = None) -> None:
        """Add a record of the current values of a train state and of the metrics of its step.

        Args:
          train_state: a train state, or any other PyTree of arrays and numbers, on one device,
            replicated, or sharded over the devices of this process. Its structure must be the same
            as in the first record. Shapes and dtypes may change, which counts as a change of the
            leaf.
          metrics: a PyTree of metrics; None if this record has no metrics, such as the initial
            record.

        Raises:
          ArgumentError: the structure of the tree has changed, or a leaf is a tracer, is not a
            number or an array of numbers, or has parts on the devices of another process. In that
            case, nothing is recorded.
          LeakedTracerError: a leaf is a tracer of a transformation that has ended.
          DonatedBufferError: an update has consumed a leaf.

        Example:
          >>> import jax.numpy as jnp
          >>> from haiku_state.inside import History
          >>> history = History()
          >>> for count in range(3):
          ...     history.record({"counter": {"count": jnp.int32(count)}})
          >>> history[2]["train_state['counter']['count']"].changed
          True

        References:
          :func:`.jit_update`, which consumes the train state that it is given.
        """
        trees = {"train_state": train_state} | ({} if metrics is None else {"metrics": metrics})
        leaves: Leaves = {}
        keys = {}
        for name, tree in trees.items():
            for path, leaf in jax.tree_util.tree_leaves_with_path(tree, is_leaf=_is_none):
                full = f"{name}{jax.tree_util.keystr(path)}"
                leaves[full] = leaf
                keys[full] = path if name == "train_state" else (name, *path)
        self._check(trees, leaves)
        arrays = {path: _on_host(path, leaf) for path, leaf in leaves.items()}
        record = {
            path: summary_of(leaf, arrays[path], self._last.get(path), self._latest(path))
            for path, leaf in leaves.items()
        }
        self._structures |= {name: jax.tree.structure(tree) for name, tree in trees.items()}
        self._records.append(record)
        self._last |= arrays
        self._keys |= keys

    def save(self, path: "str | Path") -> None:
        """Write the table to a single HTML file, which a browser can open offline.

        Args:
          path: the file to write; an existing file is replaced.

        Raises:
          OSError: the file cannot be written.

        Example:
          >>> import pathlib, tempfile
          >>> from haiku_state.inside import History
          >>> history = History()
          >>> history.record({"count": 1})
          >>> with tempfile.TemporaryDirectory() as folder:
          ...     history.save(f"{folder}/history.html")
          ...     print(pathlib.Path(folder, "history.html").read_text(encoding="utf-8")[:15])
          <!doctype html>

        References:
          The file needs only a browser, because it contains its style and its curves and has no
          script.
        """
        Path(path).write_text(page(self._records, self._keys), encoding="utf-8")

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: int) -> dict[str, LeafSummary]:
        return dict(self._records[index])

    def __repr__(self) -> str:
        return f"<History of {len(self)} records with {len(self._keys)} leaves>"

    def _repr_html_(self) -> str:
        return widget(self._records, self._keys)

    def _latest(self, path: str) -> LeafSummary | None:
        records = (record[path] for record in reversed(self._records) if path in record)
        return next(records, None)

    def _check(self, trees: dict[str, Any], leaves: Leaves) -> None:
        """Reject what has no values, and a tree that is not the tree of the first record."""
        if leaked := leaked_error(leaves):
            raise leaked
        if consumed := consumed_error(**trees):
            raise consumed
        for path, leaf in leaves.items():
            if isinstance(leaf, jax.core.Tracer):
                raise ArgumentError(
                    argument=path,
                    value=_("a tracer"),
                    expected=_("an array with values"),
                    why=_(
                        "record needs values, but a function that is traced receives tracers: call "
                        "record with what the compiled function returns"
                    ),
                    more="api/explain",
                )
        for name, tree in trees.items():
            structure = jax.tree.structure(tree)
            first = self._structures.get(name, structure)
            if structure != first:
                known = {path for path in self._keys if path.startswith(name)}
                now = {path for path in leaves if path.startswith(name)}
                changes = [f"- {path}" for path in self._keys if path in known - now]
                changes += [f"+ {path}" for path in leaves if path in now - known]
                raise ArgumentError(
                    argument=name,
                    value=as_lines(changes or [f"- {first}", f"+ {structure}"]),
                    expected=_("a tree with the structure of the first record"),
                    why=_(
                        "the table shows one tree and compares each leaf with the previous record"
                    ),
                    more="api/explain",
                )


def _is_none(leaf: Any) -> bool:
    return leaf is None


def _on_host(path: str, leaf: Any) -> "np.ndarray | None":
    """Copy a leaf into the host's memory: an update may consume it afterwards."""
    if leaf is None:
        return None
    if isinstance(leaf, jax.Array):
        if not leaf.is_fully_addressable and not leaf.is_fully_replicated:
            raise ArgumentError(
                argument=path,
                value=_("an array with parts on other processes"),
                expected=_("an array of this process, or an array with a copy on each process"),
                why=_("a process can only read what is on its own devices"),
                more="api/explain",
            )
        if is_key(leaf):
            leaf = jax.random.key_data(leaf)
    array = np.array(leaf)
    if array.dtype.kind in "OSUMm" or array.dtype.names:
        raise ArgumentError(
            argument=path,
            value=type(leaf).__name__,
            expected=_("an array or a number"),
            why=_("a mean and a change can be computed only for numbers"),
            more="api/explain",
        )
    return array
