"""The part of each batch that a process reads, and what one process does for all."""

import jax


def process_part() -> tuple[int, int]:
    """Return which part of each batch this process reads.

    Returns:
      ``(index, count)``, the id of this process and the number of processes. Pass this pair to
      :func:`.batches` as ``part``: from a batch of ``rows`` rows, the process then takes the rows
      from ``rows * index // count`` up to, but not including, ``rows * (index + 1) // count``.

    Example:
      >>> from haiku_state.processes import process_part
      >>> process_part()
      (0, 1)

    References:
      JAX's documentation, `jax.process_index
      <https://docs.jax.dev/en/latest/_autosummary/jax.process_index.html>`__.
    """
    return jax.process_index(), jax.process_count()


def is_main_process() -> bool:
    """Return whether this process is the one that prints and writes for all processes.

    Metrics and params are the same in every process, so it is enough that one process prints them
    and writes them to its own files. For :func:`.save_checkpoint`, however, this is not enough,
    because every process must call it.

    Returns:
      True in process 0 and False in all other processes.

    Example:
      >>> from haiku_state.processes import is_main_process
      >>> if is_main_process():
      ...     print("loss 0.5")
      loss 0.5

    References:
      JAX's documentation, `jax.process_index
      <https://docs.jax.dev/en/latest/_autosummary/jax.process_index.html>`__.
    """
    return jax.process_index() == 0
