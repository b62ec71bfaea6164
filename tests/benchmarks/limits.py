"""What ``--check`` demands: all limits in one table."""

from typing import Any, NamedTuple

from benchmarks.ratios import paired, summary


class Limit(NamedTuple):
    """A bound of the median ratio of two contenders' times."""

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
    Limit("import", "haiku_state", "jax, haiku", ("",), at_most=1.10),
    Limit("cold", "haiku_state", "by_hand", ("",), at_most=1.15),
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
    ratio = summary(paired(mine["seconds_per_step"], other["seconds_per_step"]))["median"]
    holds = limit.at_least <= ratio <= limit.at_most
    text = f"{name} is {ratio:.3f}, must be {bound}"
    if ratio > limit.at_most:
        text += f": {ratio - limit.at_most:.3f} too much"
    elif not holds:
        text += f": {limit.at_least - ratio:.3f} too little"
    return {"holds": holds, "ratio": ratio, "text": text}
