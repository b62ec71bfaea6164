"""What differs between the versions of JAX.

Each branch names its versions. ``tests/test_compat.py`` holds it to that on each set, and reports a
branch that no set of ``conf/constraints`` needs any more.
"""

import functools
import inspect
import os
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
from jax._src import core, distributed, xla_bridge
from jax._src.clusters import ClusterEnv

_shard_map: Any
if hasattr(jax, "shard_map"):  # JAX >= 0.6
    _shard_map = functools.partial(jax.shard_map, check_vma=False)
else:  # JAX < 0.6
    import jax.experimental.shard_map as _module

    _shard_map = functools.partial(_module.shard_map, check_rep=False)

_current_trace: Any
if hasattr(jax.extend.core, "take_current_trace"):  # JAX >= 0.9
    _current_trace = jax.extend.core.take_current_trace
elif jax.__version_info__ >= (0, 6):  # 0.6 <= JAX < 0.9
    _current_trace = core.take_current_trace  # jax.core has it too, and warns in 0.8
else:  # JAX < 0.6
    _current_trace = None

if hasattr(jax.Array, "committed"):  # JAX >= 0.4.31
    _COMMITTED = "committed"
else:  # JAX < 0.4.31
    _COMMITTED = "_committed"

_detect: Any = ClusterEnv.auto_detect_unset_distributed_params
_method: tuple[None, ...]
if "cluster_detection_method" in inspect.signature(_detect).parameters:  # JAX >= 0.4.32
    _method = (None,)
else:  # JAX < 0.4.32
    _method = ()


def is_live(tracer: Any) -> bool:
    """Say whether the transformation that made a tracer is still running.

    Args:
      tracer: a leaf of a PyTree that is a ``jax.core.Tracer``.

    Returns:
      False for a leaked tracer, which cannot be used any more.
    """
    if _current_trace is not None:  # JAX >= 0.6
        with _current_trace() as trace:  # each trace knows the one around it
            while trace is not None and trace is not tracer._trace:
                trace = getattr(trace, "parent_trace", None)
        return trace is not None
    elif jax.__version_info__ >= (0, 4, 36):  # 0.4.36 <= JAX < 0.6
        frame = inspect.currentframe()  # a trace of jit does not know the one around it
        while frame is not None and all(v is not tracer._trace for v in frame.f_locals.values()):
            frame = frame.f_back
        return frame is not None
    else:  # JAX < 0.4.36
        try:  # it, in a program that is thrown away
            jax.eval_shape(lambda: jnp.expand_dims(tracer, 0))
        except jax.errors.UnexpectedTracerError:
            return False
        return True


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
    given = os.environ.get("JAX_COORDINATOR_ADDRESS"), None, None, None
    address, count, index, _ = _detect(*given, *_method, timeout)
    return address, count, index


def choose_collectives() -> None:
    """Let CPU devices of different processes reach each other."""
    name = "jax_cpu_collectives_implementation"
    if jax.config.values.get(name) in (None, "none"):  # JAX < 0.6
        jax.config.update(name, "gloo")


def connectable_cpu_devices() -> int | None:
    """Say how many CPU devices of one process gloo can connect; None: any number.

    Old versions connect the devices of a process one after the other, under one lock, while each
    of them waits for all.
    """
    if jax.__version_info__ < (0, 4, 33):  # JAX < 0.4.33
        return 1
    else:  # JAX >= 0.4.33
        return None


def is_committed(leaf: Any) -> bool:
    """Say whether somebody has chosen the devices of an array.

    Args:
      leaf: a leaf of a PyTree.

    Returns:
      False for what JAX may move without being asked, and for what is no array of JAX.
    """
    return bool(getattr(leaf, _COMMITTED, False))
