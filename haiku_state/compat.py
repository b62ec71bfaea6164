"""What differs between the versions of JAX: each branch names the version that needs it."""

import functools
import inspect
import os
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp

if hasattr(jax, "shard_map"):
    _shard_map: Any = functools.partial(jax.shard_map, check_vma=False)  # JAX 0.6 and newer
else:
    import jax.experimental.shard_map as _module

    _shard_map = functools.partial(_module.shard_map, check_rep=False)  # JAX 0.5 and older

if hasattr(jax.extend, "core") and hasattr(jax.extend.core, "take_current_trace"):
    _current_trace: Any = jax.extend.core.take_current_trace  # JAX 0.8.2 and newer
else:
    _current_trace = getattr(jax.core, "take_current_trace", None)  # 0.4.36; None before


def is_live(tracer: Any) -> bool:
    """Say whether the transformation that made a tracer is still running.

    Args:
      tracer: a leaf of a PyTree that is a ``jax.core.Tracer``.

    Returns:
      False for a leaked tracer, which cannot be used any more.
    """
    if _current_trace is None:  # JAX 0.4.35 and older: try it, in a program that is thrown away
        try:
            jax.eval_shape(lambda: jnp.expand_dims(tracer, 0))
        except jax.errors.UnexpectedTracerError:
            return False
        return True
    with _current_trace() as trace:  # JAX 0.4.36 and newer: each trace knows the one around it
        while trace is not None and trace is not tracer._trace:
            trace = getattr(trace, "parent_trace", None)
    return trace is not None


def shard_map(function: Any, mesh: Any, *, in_specs: Any, out_specs: Any) -> Any:
    """Run a function on each device of a mesh, without the check of replication.

    Args:
      function: what each device runs.
      mesh: the devices.
      in_specs: how each argument is cut.
      out_specs: how the results are put together; what is not cut must be equal on all devices.

    Returns:
      A function of whole arrays.
    """
    return _shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def has_started() -> bool:
    """Say whether JAX has looked for its devices, or for other processes; do not make it look.

    Returns:
      True if it is too late for ``jax.distributed.initialize``.
    """
    from jax._src import distributed, xla_bridge  # jax.distributed.is_initialized: JAX 0.4.36

    return xla_bridge.backends_are_initialized() or distributed.global_state.client is not None


def scheduler_processes(timeout: int) -> tuple[str | None, int | None, int | None]:
    """Ask the scheduler that started this process, as ``jax.distributed.initialize`` does.

    Args:
      timeout: how long a scheduler may take to find process 0, in seconds.

    Returns:
      The address of process 0, the number of processes and the id of this one, or None each.

    Raises:
      KeyError: the scheduler has left a variable out; only on JAX 0.6 and older.
    """
    from jax._src.clusters import ClusterEnv

    detect: Any = ClusterEnv.auto_detect_unset_distributed_params
    newer = "cluster_detection_method" in inspect.signature(detect).parameters
    method = (None,) if newer else ()  # not in JAX 0.4.31 and older
    given = os.environ.get("JAX_COORDINATOR_ADDRESS"), None, None, None
    address, count, index, _ = detect(*given, *method, timeout)
    return address, count, index


def choose_collectives() -> None:
    """Let CPU devices of different processes reach each other; the default on JAX 0.5 and newer."""
    name = "jax_cpu_collectives_implementation"
    if jax.config.values.get(name) in (None, "none"):
        jax.config.update(name, "gloo")


def connectable_cpu_devices() -> int | None:
    """Say how many CPU devices of one process gloo can connect; None: any number.

    JAX 0.4.31 and older connect the devices of a process one after the other, under one lock,
    while each of them waits for all.
    """
    return 1 if jax.__version_info__ < (0, 4, 33) else None


def is_committed(leaf: Any) -> bool:
    """Say whether somebody has chosen the devices of an array.

    Args:
      leaf: a leaf of a PyTree.

    Returns:
      False for what JAX may move without being asked, and for what is no array of JAX.
    """
    # JAX 0.5 and newer: `committed`; JAX 0.4: `_committed`
    return bool(getattr(leaf, "committed", getattr(leaf, "_committed", False)))
