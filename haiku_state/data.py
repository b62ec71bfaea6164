"""Real data that ships inside scikit-learn, split by seed and cut into batches."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import MissingExtraError, arguments
from haiku_state.errors.language import deferred as _
from haiku_state.typing import Batch


class Dataset(NamedTuple):
    """A data set in two parts, ``train`` and ``test``, each ``{"inputs": …, "targets": …}``.

    Example:
      >>> from haiku_state import load_digits
      >>> data = load_digits()
      >>> len(data.train["targets"]), len(data.test["targets"])
      (1437, 360)
    """

    train: Batch
    """The training set, from which the model learns."""

    test: Batch
    """The test set, on which the model is evaluated."""


def load_digits(seed: int = 0, test_fraction: float = 0.2) -> Dataset:
    """Load 1797 images of handwritten digits.

    Args:
      seed: determines which rows go to the test set; the proportions of the classes are about the
        same in both parts.
      test_fraction: the fraction of the rows that go to the test set, in (0, 1).

    Returns:
      The training set and the test set, each with ``inputs``, the 8 × 8 gray values scaled from
      0–16 to 0–1, float32 of shape (rows, 64), and ``targets``, the digits 0–9, int32 of shape
      (rows,).

    Raises:
      MissingExtraError: scikit-learn is not installed.
      ArgumentError: ``seed`` or ``test_fraction`` is out of range.

    Example:
      >>> from haiku_state import load_digits
      >>> train, test = load_digits(seed=0)
      >>> train["inputs"].shape, test["inputs"].shape
      ((1437, 64), (360, 64))

    References:
      Alpaydin and Kaynak, *Optical Recognition of Handwritten Digits*, UCI, 1998.
    """
    raw = _sklearn("datasets").load_digits()
    inputs, targets = raw.data.astype(np.float32) / np.float32(16), raw.target.astype(np.int32)
    return _split(inputs, targets, seed, test_fraction, stratify=targets)


def load_diabetes(seed: int = 0, test_fraction: float = 0.2) -> Dataset:
    """Load ten measurements of 442 diabetes patients and the progression of their disease.

    Args:
      seed: determines which rows go to the test set.
      test_fraction: the fraction of the rows that go to the test set, in (0, 1).

    Returns:
      The training set and the test set, each with ``inputs``, float32 of shape (rows, 10), unscaled
      (age in years, sex as 1 or 2, body mass index in kg/m², mean blood pressure, six blood serum
      values), and ``targets``, float32 of shape (rows,), the score of progression after one year,
      25–346.

    Raises:
      MissingExtraError: scikit-learn is not installed.
      ArgumentError: ``seed`` or ``test_fraction`` is out of range.

    Example:
      >>> from haiku_state import load_diabetes
      >>> train, test = load_diabetes(seed=0)
      >>> train["inputs"].shape, test["inputs"].shape
      ((353, 10), (89, 10))

    References:
      Efron, Hastie, Johnstone and Tibshirani, *Least Angle Regression*, 2004.
    """
    raw = _sklearn("datasets").load_diabetes(scaled=False)
    inputs, targets = raw.data.astype(np.float32), raw.target.astype(np.float32)
    return _split(inputs, targets, seed, test_fraction, stratify=None)


def batches(
    data: Batch,
    batch_size: int,
    seed: int | Sequence[int] | None = None,
    remainder: Literal["drop", "keep", "pad"] = "drop",
    *,
    skip: int = 0,
    part: tuple[int, int] = (0, 1),
) -> Iterator[Batch]:
    """Split the data of one epoch into batches.

    Args:
      data: a PyTree of arrays of shape (rows, …), such as a dict of arrays or a tuple
        ``(inputs, targets)``. A list or a range counts as one array of rows, so pass several arrays
        in a tuple or a dict.
      batch_size: the number of rows per batch, at least 1; with ``"drop"``, at most the number of
        rows in ``data``.
      seed: the seed for shuffling the rows; pass ``[seed, epoch]`` to shuffle them differently in
        each epoch, or None to keep their order.
      remainder: what to do with the last rows if ``batch_size`` does not divide the number of rows.
        ``"drop"`` drops these rows, so that all batches have the same shape and weight, which suits
        training. ``"keep"`` puts them into a smaller last batch. ``"pad"`` fills the last batch
        with copies of its first row and adds a float32 ``mask`` to every batch, 1 for each real row
        and 0 for each padded row; it is meant for evaluation on many devices and requires ``data``
        to be a dict. If ``data`` already contains a ``mask``, its values for real rows are kept.
      skip: the number of batches to skip at the beginning, in order to resume a run where it
        stopped.
      part: ``(i, n)`` splits every batch into n equal parts and returns only part i, counted from
        0, for process i of n processes.

    Returns:
      An iterator over batches with the structure and dtypes of ``data``.

    Raises:
      ArgumentError: ``data`` has no rows, or its arrays have different lengths; ``batch_size`` is
        below 1 or, with ``"drop"``, above the number of rows; ``remainder`` is not one of the three
        options, or it is ``"pad"`` and ``data`` is not a dict; ``seed`` or ``skip`` is negative or
        not an integer; or ``part`` is out of range.
      BatchDivisionError: the number of parts in ``part`` does not divide ``batch_size`` or, with
        ``"keep"``, the number of rows in the last batch.

    Example:
      >>> import numpy as np
      >>> from haiku_state import batches
      >>> data = {"x": np.arange(5)}
      >>> [b["x"].tolist() for b in batches(data, 2)]
      [[0, 1], [2, 3]]
      >>> [b["x"].tolist() for b in batches(data, 2, remainder="keep")]
      [[0, 1], [2, 3], [4]]
      >>> [(b["x"].tolist(), b["mask"].tolist()) for b in batches(data, 4, remainder="pad")]
      [([0, 1, 2, 3], [1.0, 1.0, 1.0, 1.0]), ([4, 4, 4, 4], [1.0, 0.0, 0.0, 0.0])]
      >>> [b["x"].tolist() for b in batches(data, 2, skip=1, part=(1, 2))]
      [[3]]

    References:
      NumPy's documentation, `Random generator
      <https://numpy.org/doc/stable/reference/random/generator.html>`__, on the generator that
      shuffles the rows.
    """
    # a list or a range is rows, whereas a tuple or a dict has parts
    arrays = jax.tree.map(_as_array, data, is_leaf=lambda part: isinstance(part, list | range))
    lengths = {len(values) if np.ndim(values) else 0 for values in jax.tree.leaves(arrays)}
    if len(lengths) != 1 or lengths == {0}:
        raise arguments.batch_data(data)
    [rows] = lengths
    if remainder not in ("drop", "keep", "pad"):
        raise arguments.remainder(remainder)
    if remainder == "pad" and not isinstance(data, Mapping):
        raise arguments.unnamed_mask(data)
    if not _is_whole(batch_size, 1) or (batch_size > rows and remainder == "drop"):
        raise arguments.batch_size(batch_size, rows, remainder == "drop")
    if not _is_whole(skip, 0):
        raise arguments.skip(skip)
    i, n = _part(part)
    last = rows % batch_size if remainder == "keep" else 0
    for size in (batch_size, last):
        if size % n:
            raise arguments.unequal_parts(size, n)
    order = np.arange(rows) if seed is None else _permuted(rows, seed)

    def cut() -> Iterator[Batch]:
        for start in range(skip * batch_size, rows, batch_size):
            index = order[start : start + batch_size]
            real = len(index)
            if real < batch_size and remainder == "drop":
                return
            if remainder == "pad":
                index = np.concatenate([index, np.repeat(index[:1], batch_size - real)])
            own = slice(len(index) * i // n, len(index) * (i + 1) // n)
            batch = jax.tree.map(lambda values: values[index[own]], arrays)  # noqa: B023
            if remainder == "pad":
                is_real = np.arange(batch_size)[own] < real
                mask = batch.get("mask", np.ones(len(is_real), np.float32))
                is_real = is_real.reshape(-1, *[1] * (mask.ndim - 1))
                batch["mask"] = np.where(is_real, mask, np.zeros((), mask.dtype))
            yield batch

    return cut()


def stack_batches(batches: Iterable[Batch], count: int) -> Iterator[Batch]:
    """Group batches into stacks, for :func:`scan_update`.

    Args:
      batches: an iterable of batches, such as the result of :func:`batches`.
      count: the number of batches in a stack, at least 1; if there are fewer batches, all of them
        form one stack.

    Returns:
      An iterator over stacks, whose leaves have the shape (count, rows, …). The last stack contains
      the batches that are left, and a batch with a different shape or dtype begins a new stack.

    Raises:
      ArgumentError: ``count`` is below 1, or ``batches`` is a single batch instead of several
        batches.

    Example:
      >>> import numpy as np
      >>> from haiku_state import batches, stack_batches
      >>> data = {"x": np.arange(7)}
      >>> [stack["x"].tolist() for stack in stack_batches(batches(data, 2), 2)]
      [[[0, 1], [2, 3]], [[4, 5]]]

    References:
      :func:`scan_update`, which runs an update step on every batch of a stack.
    """
    if not _is_whole(count, 1):
        raise arguments.stack_count(count)
    if not isinstance(batches, Iterable) or _is_batch(batches):
        raise arguments.no_batches_to_stack(batches)

    def stacks() -> Iterator[Batch]:
        for _same, alike in itertools.groupby(batches, _shapes):
            while stack := list(itertools.islice(alike, count)):
                yield jax.tree.map(_stacked, *stack)

    return stacks()


def _is_batch(batches: Any) -> bool:
    """Return whether it is one batch, or data, in the place of several batches."""
    if isinstance(batches, tuple) and batches:
        return all(hasattr(each, "shape") for each in batches)
    return isinstance(batches, Mapping) or hasattr(batches, "shape")


def _is_whole(number: Any, at_least: int) -> bool:
    return isinstance(number, int | np.integer) and bool(number >= at_least)


def _part(given: Any) -> tuple[int, int]:
    try:
        i, n = given
    except (TypeError, ValueError):
        raise arguments.part(given) from None
    if not (_is_whole(i, 0) and _is_whole(n, i + 1)):
        raise arguments.part(given)
    return i, n


def _permuted(rows: int, seed: Any) -> np.ndarray[Any, Any]:
    try:
        return np.random.default_rng(seed).permutation(rows)
    except (TypeError, ValueError) as error:
        expected = _("an integer of at least 0, or a list of them")
        raise arguments.seed(seed, expected) from error


def _stacked(*rows: Any) -> Any:
    """Stack arrays where they are: on the device, or in NumPy."""
    return (jnp if isinstance(rows[0], jax.Array) else np).stack(rows)


def _as_array(values: Any) -> Any:
    """Make an array of a list or a range; NumPy's and JAX's stay as they are."""
    if hasattr(values, "shape"):
        return values
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        return np.zeros(())
    return np.zeros(()) if array.dtype == object else array  # a list of dicts, for example


def _shapes(batch: Batch) -> Any:
    leaves = jax.tree.leaves(batch)
    kinds = [(np.shape(leaf), getattr(leaf, "dtype", type(leaf))) for leaf in leaves]
    return jax.tree.structure(batch), kinds


def _split(inputs: Any, targets: Any, seed: int, test_fraction: float, stratify: Any) -> Dataset:
    split = _sklearn("model_selection").train_test_split
    if not _is_whole(seed, 0) or seed >= 2**32:
        raise arguments.seed(seed, "0, …, 2**32 - 1")
    try:
        if not 0 < test_fraction < 1:  # 20 would be a number of rows
            raise ValueError
        parts = split(
            inputs, targets, test_size=test_fraction, random_state=seed, stratify=stratify
        )
    except (TypeError, ValueError) as error:
        raise arguments.test_fraction(test_fraction) from error
    train_inputs, test_inputs, train_targets, test_targets = parts
    return Dataset(
        {"inputs": train_inputs, "targets": train_targets},
        {"inputs": test_inputs, "targets": test_targets},
    )


def _sklearn(module: str) -> Any:
    try:
        import sklearn.datasets
        import sklearn.model_selection
    except ImportError as error:
        raise MissingExtraError(library="scikit-learn", extra="data") from error
    return getattr(sklearn, module)
