"""The contenders by name: who makes the step, and with which arguments."""

import importlib
from typing import Any

from tools.benchmarks.problem import Contender, NotInstalledError, Size

# name: (module, function)
CONTENDERS = {
    "plain": ("plain", "setup"),
    "plain_lean": ("plain", "setup_lean"),
    "plain_scan": ("plain", "setup_scan"),
    "plain_pmap": ("plain", "setup_pmap"),
    "plain_shard": ("plain", "setup_mesh"),
    "plain_shard_map": ("plain", "setup_shard_map"),
    "jit_update": ("haiku_state_updates", "jit"),
    "scan_update": ("haiku_state_updates", "scan"),
    "pmap_update": ("haiku_state_updates", "pmap"),
    "shard_update": ("haiku_state_updates", "shard"),
    "shard_map_update": ("haiku_state_updates", "shard_map"),
    "vmap_update": ("haiku_state_updates", "vmap"),
    "hk.BatchNorm": ("haiku_state_updates", "haiku_batch_norm"),
    "hs.BatchNorm": ("haiku_state_updates", "jit"),
    "nnx_jit": ("flax_nnx", "setup"),
    "nnx_cached": ("flax_nnx", "setup_cached"),
    "nnx_partial": ("flax_nnx", "setup_partial"),
    "linen": ("flax_linen", "setup"),
    "equinox": ("equinox_mlp", "setup"),
    "torch_eager": ("torch_eager", "setup"),
    "torch_one_thread": ("torch_eager", "setup_one_thread"),
}
FRAMEWORKS = {"flax", "equinox", "torch"}


def set_up(name: str, size: Size, **options: Any) -> Contender:
    """Import a contender and set it up.

    Raises:
      NotInstalledError: its framework is missing.
    """
    module, function = CONTENDERS[name]
    try:
        contender = importlib.import_module(f"tools.benchmarks.contenders.{module}")
    except ModuleNotFoundError as error:
        if error.name in FRAMEWORKS:
            raise NotInstalledError(f"{error.name} is not installed") from error
        raise
    result: Contender = getattr(contender, function)(size, **options)
    return result
