"""The part of each batch that a process reads, and what one process does for all."""

import jax


def process_part() -> tuple[int, int]:
    """Return which part of each batch this process reads.

    Returns:
      ``(index, count)``, the id of this process and the number of processes. Pass it to
      :func:`.batches` as ``part``: from a batch of ``rows`` rows it takes the rows from
      ``rows * index // count`` up to ``rows * (index + 1) // count``.

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
    """Return whether this is the process that writes for all processes.

    Metrics and params are the same on every process, so one process prints them, and writes them
    to files of its own. :func:`.save_checkpoint` is not one of its tasks: each process calls it.

    Returns:
      True in process 0.

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
