"""What differs between the versions of JAX.

Each branch names its versions. ``tests/test_compat.py`` verifies this on each set, and reports a
branch that no set of ``conf/constraints`` needs anymore. A private name of JAX is imported where it
is needed, so that the loss of one breaks that function alone.
"""

import contextlib
import functools
import inspect
import itertools
import os
import types
from typing import Any

from haiku_state.errors.versions import matched_versions

with matched_versions():
    import haiku  # noqa: F401
    import jax
    import jax.numpy as jnp
    import numpy as np


def is_live(tracer: Any) -> bool:
    """Return whether the transformation that made a tracer is still running.

    Args:
      tracer: a leaf of a PyTree that is a ``jax.core.Tracer``.

    Returns:
      False for a leaked tracer, which can no longer be used.
    """
    if jax.__version_info__ >= (0, 6):  # JAX >= 0.6
        from jax.extend import core as public

        if hasattr(public, "take_current_trace"):  # JAX >= 0.9
            current_trace = public.take_current_trace
        else:  # 0.6 <= JAX < 0.9
            from jax._src import core

            current_trace = core.take_current_trace  # jax.core has it too, and warns in 0.8
        with current_trace() as trace:
            while trace is not None and trace is not tracer._trace:
                trace = getattr(trace, "parent_trace", None)  # each trace knows the one around it
        return trace is not None
    elif jax.__version_info__ >= (0, 4, 36):  # 0.4.36 <= JAX < 0.6
        frame = inspect.currentframe()  # a trace of jit does not know the one around it
        while frame is not None and all(v is not tracer._trace for v in frame.f_locals.values()):
            frame = frame.f_back
        return frame is not None
    else:  # JAX < 0.4.36
        try:  # use the tracer in a throwaway program
            jax.eval_shape(lambda: jnp.expand_dims(tracer, 0))
        except jax.errors.UnexpectedTracerError:
            return False
        return True


_offsets = itertools.count(1 << 20)


def traced_anew(again: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Make JAX trace again what it has traced before, and make it forget these traces afterwards.

    JAX looks its traces up by the settings under which they were made. One of these settings is an
    offset to all seeds; inside this context, it has a value that is never used again.

    Args:
      again: False to look for no leaks, and do nothing else.

    Returns:
      A context manager, for this thread. A seed that is used inside gives different numbers, and no
      leaks are looked for.
    """
    from jax._src import config

    stack = contextlib.ExitStack()
    stack.enter_context(config.check_tracer_leaks(False))
    # never a sum with the value outside: sums repeat
    offset = (config.random_seed_offset.value, next(_offsets))[again]
    stack.enter_context(config.random_seed_offset(offset))
    return stack


def scan_sizes(params: dict[str, Any]) -> tuple[int, int]:
    """Return how many inputs of a ``scan`` equation are constants, and how many are carried.

    Args:
      params: those of the equation.

    Returns:
      The two numbers; the inputs that follow are scanned over.
    """
    if "ft_in" in params:  # JAX >= 0.11
        constants, carry, _scanned = params["ft_in"].unpack()
        return len(list(constants)), len(list(carry))
    else:  # JAX < 0.11
        return params["num_consts"], params["num_carry"]


def shard_map(function: Any, mesh: Any, *, in_specs: Any, out_specs: Any) -> Any:
    """Run a function on each device of a mesh, with the replication check turned off.

    Args:
      function: what each device runs.
      mesh: the devices.
      in_specs: how each argument is partitioned.
      out_specs: how the results are put together; what is not split must be equal on all devices.

    Returns:
      A function of whole arrays.
    """
    specs = {"mesh": mesh, "in_specs": in_specs, "out_specs": out_specs}
    mapped: Any
    if hasattr(jax, "shard_map"):  # JAX >= 0.6
        mapped = jax.shard_map(function, check_vma=False, **specs)
    else:  # JAX < 0.6
        from jax.experimental.shard_map import shard_map as old_shard_map

        mapped = old_shard_map(function, check_rep=False, **specs)
    return mapped


def has_explicit_axes(mesh: Any) -> bool:
    """Return whether a mesh has explicit axes, as ``jax.make_mesh`` makes them since JAX 0.9.

    Args:
      mesh: a mesh of devices.

    Returns:
      False where all axes are Auto, and where JAX knows no other kind.
    """
    return "Explicit" in str(getattr(mesh, "axis_types", None))


def has_set_mesh() -> bool:
    """Return whether ``jax.set_mesh`` exists, with which explicit axes are used."""
    return hasattr(jax, "set_mesh")


def has_mesh() -> bool:
    """Return whether ``jax.set_mesh``, or ``use_mesh`` before it, has put a mesh in the context."""
    if jax.__version_info__ >= (0, 6):  # JAX >= 0.6
        return not jax.sharding.get_abstract_mesh().empty
    else:  # JAX < 0.6
        return False  # it has none, or its set_mesh is for all threads


def set_mesh(mesh: Any) -> contextlib.AbstractContextManager[Any]:
    """Replace the mesh in the context until the context manager ends.

    Args:
      mesh: the new mesh; None for no mesh.

    Returns:
      A context manager, for this thread.
    """
    if hasattr(jax, "set_mesh"):  # JAX >= 0.7.1
        return jax.set_mesh(mesh or jax.sharding.Mesh(np.empty((), object), ()))
    else:  # JAX < 0.7.1
        stack = contextlib.ExitStack()
        before: Any = jax.sharding.set_mesh(mesh)
        stack.callback(jax.sharding.set_mesh, before)
        return stack


def has_new_ref() -> bool:
    """Return whether ``jax.new_ref`` exists, which makes a mutable cell."""
    return hasattr(jax, "new_ref")


def has_started() -> bool:
    """Return whether JAX has already looked for its devices or for other processes.

    Returns:
      True if it is too late for ``jax.distributed.initialize``.
    """
    from jax._src import xla_bridge

    return xla_bridge.backends_are_initialized() or has_joined()


def has_joined() -> bool:
    """Return whether this process is connected to other processes, without starting JAX.

    ``jax.process_count()`` looks for the devices, after which their number cannot be chosen.

    Returns:
      True after ``jax.distributed.initialize``.
    """
    from jax._src import distributed

    return distributed.global_state.client is not None


def scheduler_processes(timeout: int) -> tuple[str | None, int | None, int | None]:
    """Ask the scheduler that started this process, as ``jax.distributed.initialize`` does.

    Args:
      timeout: how long a scheduler may take to find process 0, in seconds.

    Returns:
      The address of process 0, the number of processes and the id of this process; any may be None.

    Raises:
      KeyError: the scheduler has left a variable out; only on JAX 0.6 and older.
    """
    from jax._src.clusters import ClusterEnv

    detect: Any = ClusterEnv.auto_detect_unset_distributed_params
    given = [os.environ.get("JAX_COORDINATOR_ADDRESS"), None, None, None]
    if "cluster_detection_method" in inspect.signature(detect).parameters:  # JAX >= 0.4.32
        given.append(None)
    address, count, index, _ = detect(*given, timeout)
    return address, count, index


def process_timeouts(seconds: int) -> dict[str, Any]:
    """Return the timeouts that this JAX lets ``jax.distributed.initialize`` take.

    Args:
      seconds: how long JAX waits for other processes to join, to be heard of, and to finish. Where
        it cannot be told, it is 100 seconds to be heard of, and 300 to finish.

    Returns:
      Keyword arguments.
    """
    known = inspect.signature(jax.distributed.initialize).parameters
    timeouts = {"initialization_timeout": seconds}
    if "heartbeat_timeout_seconds" in known:  # JAX >= 0.7
        timeouts["heartbeat_timeout_seconds"] = seconds
    if "shutdown_timeout_seconds" in known:  # JAX >= 0.8.1
        timeouts["shutdown_timeout_seconds"] = seconds
    return timeouts


def key_value_store() -> tuple[Any, int]:
    """Return the store that JAX keeps for all processes, and the id of this process.

    Returns:
      The client, None if this process is alone; and the index, from 0.
    """
    from jax._src import distributed

    return distributed.global_state.client, distributed.global_state.process_id


def reference_accesses() -> dict[Any, str]:
    """Return the code of the functions through which JAX reads and writes a mutable cell.

    Returns:
      ``"read"`` or ``"write"`` for each of them.
    """
    from jax._src.state import primitives

    names = {"ref_get": "read", "ref_set": "write", "ref_swap": "write", "ref_addupdate": "write"}
    functions = {inspect.unwrap(getattr(primitives, name)): how for name, how in names.items()}
    return {function.__code__: how for function, how in functions.items()}


def jit_codes() -> list[Any]:
    """Return the code of ``jax.jit``, after the code of the functions that JAX wraps around it."""
    functions: list[Any] = [jax.jit]
    while hasattr(functions[-1], "__wrapped__"):
        functions.append(functions[-1].__wrapped__)
    return [function.__code__ for function in functions]


def is_jitted(function: Any) -> bool:
    """Return whether a function was made by ``jax.jit`` and not by another wrapper of JAX."""
    return type(function) is type(jax.jit(is_jitted))


def static_arguments(function: Any) -> tuple[Any, ...]:
    """Return what ``jax.jit`` was told is static.

    Args:
      function: a jitted function, or any other.

    Returns:
      The positions and the names of the parameters together; none where JAX does not tell.
    """
    info = getattr(function, "_jit_info", None)
    return (*getattr(info, "static_argnums", ()), *getattr(info, "static_argnames", ()))


def place_of(equation: Any) -> tuple[str, int] | None:
    """Return the file and the line that an equation of a jaxpr was traced from.

    Args:
      equation: one of ``jaxpr.eqns``.

    Returns:
      None if no line outside of JAX is known.
    """
    from jax._src import source_info_util

    frame: Any
    if jax.__version_info__ >= (0, 7):  # JAX >= 0.7
        frame = source_info_util.user_frame(equation.source_info.traceback)
    else:  # JAX < 0.7
        frame = source_info_util.user_frame(equation.source_info)
    return frame and (frame.file_name, frame.start_line)


@functools.lru_cache
def equation_code() -> types.CodeType:
    """Return the code that adds an equation to the program that is traced, its ``eqn``."""
    from jax._src.interpreters.partial_eval import JaxprStackFrame

    return JaxprStackFrame.add_eqn.__code__


def keep_programs(folder: str) -> None:
    """Let JAX keep the programs that it compiles in a folder, for later processes.

    JAX 0.5 keeps none: a program that it has kept may give wrong numbers, such as the line search
    of ``optax.lbfgs``.
    """
    if jax.__version_info__[:2] == (0, 5):  # 0.5 <= JAX < 0.6
        return
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def choose_collectives() -> None:
    """Let CPU devices of different processes communicate."""
    name = "jax_cpu_collectives_implementation"
    if jax.config.values.get(name) in (None, "none"):  # JAX < 0.6
        jax.config.update(name, "gloo")


def connectable_cpu_devices() -> int | None:
    """Return how many CPU devices of one process gloo can connect; None means any number.

    Old versions connect the devices of a process one after the other, under one lock, while each
    of them waits for all.
    """
    if jax.__version_info__ < (0, 4, 33):  # JAX < 0.4.33
        return 1
    else:  # JAX >= 0.4.33
        return None


def is_committed(leaf: Any) -> bool:
    """Return whether an array is committed to its devices.

    Args:
      leaf: a leaf of a PyTree.

    Returns:
      False for an array that JAX may move on its own, and for anything that is not a JAX array.
    """
    return bool(getattr(leaf, "_committed", False))
