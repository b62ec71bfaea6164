"""What ``--check`` demands: all limits in one table.

A limit is exceeded if three quarters of the rounds exceed it. So the room for noise is measured on
the machine itself: the more the ratio spreads, the farther its quartile lies from the median.
"""

from typing import Any, NamedTuple

from tools.benchmarks.ratios import paired, summary


class Limit(NamedTuple):
    """A bound of the ratio of two contenders' times."""

    group: str
    contender: str
    against: str
    sizes: tuple[str, ...]
    at_most: float = float("inf")
    at_least: float = 0.0


EVERY = ("32x32", "128x256", "512x1024")
SMALL, LARGER = EVERY[:1], EVERY[1:]

LIMITS = [
    Limit("steps", "jit_update", "plain", EVERY, at_most=1.05),
    Limit("steps", "scan_update", "plain", SMALL, at_most=0.35),
    Limit("steps", "scan_update", "plain", LARGER, at_most=1.05),
    Limit("steps", "nnx_cached", "jit_update", SMALL, at_least=2.0),
    Limit("steps", "equinox", "jit_update", SMALL, at_least=2.0),
    Limit("batch_norm", "hs.BatchNorm", "hk.BatchNorm", EVERY, at_most=1.05),
    *(
        Limit("by_hand", f"{name}_update", f"plain_{name}", EVERY, at_most=1.05)
        for name in ("scan", "pmap", "shard", "shard_map")
    ),
    Limit("checkpoints", "save_checkpoint", "orbax save", ("save random",), at_most=1.25),
    # Not 1.25: the checksums take 0.03 s per 100 MB, and Orbax only 0.12 s where it compresses.
    Limit("checkpoints", "save_checkpoint", "orbax save", ("save equal",), at_most=1.3),
    # Not 1.25: per 100 MB, 0.06 s for the copy that storage/leaves.py explains, 0.03 s for the
    # checksums. Without the copy it takes as long: the memory is then not used again. Orbax reads
    # compressed numbers in 0.09 s, so the same seconds weigh more.
    Limit("checkpoints", "restore_checkpoint", "orbax restore", ("restore random",), at_most=1.6),
    Limit("checkpoints", "restore_checkpoint", "orbax restore", ("restore equal",), at_most=2.1),
    Limit("import", "haiku_state.update", "jax, haiku", ("",), at_most=1.10),
    Limit("cold", "haiku_state", "by_hand", ("",), at_most=1.15),
    Limit("explain", "explain", "trace", ("resnet18",), at_most=2.0),
    Limit("explain", "explain", "trace", ("resnet18_that_counts",), at_most=5.0),
    Limit("explain", "explain", "trace", ("sgd",), at_most=6.0),
    Limit("explain", "explain", "trace", ("sgd_that_counts", "sgd_in_place"), at_most=8.0),
]


def check(results: list[dict[str, Any]], limits: list[Limit]) -> list[dict[str, Any]]:
    """Compare the results with the limits that are about them.

    Args:
      results: the entries of ``"results"`` in the JSON file.
      limits: what they must keep.

    Returns:
      One entry per limit and size, with ``"holds"`` and ``"text"``. A limit whose contender could
      not run does not hold; one whose contender was not asked for is left out.
    """
    return [
        _check(result, limit)
        for result in results
        for limit in limits
        if limit.group == result["group"]
        and result["size"] in limit.sizes
        and {limit.contender, limit.against} <= set(result["contenders"])
    ]


def _check(result: dict[str, Any], limit: Limit) -> dict[str, Any]:
    mine, other = (result["contenders"][name] for name in (limit.contender, limit.against))
    name = f"{limit.group} {result['size']}".strip() + f": {limit.contender} / {limit.against}"
    bound = f"at most {limit.at_most}" if limit.at_least == 0 else f"at least {limit.at_least}"
    for entry in (mine, other):
        if "missing" in entry:
            return {"holds": False, "ratio": None, "text": f"{name}: {entry['missing']}"}
    ratio = summary(paired(mine["seconds_per_step"], other["seconds_per_step"]))
    median, low, high = (ratio[key] for key in ("median", "lower_quartile", "upper_quartile"))
    beyond = max(low - limit.at_most, limit.at_least - high, 0.0)
    text = f"{name} is {median:.3f} ({low:.3f} – {high:.3f}), must be {bound}"
    if beyond:
        text += f": beyond it by {beyond:.3f} in three of four rounds"
    return {"holds": not beyond, "ratio": median, "text": text}
