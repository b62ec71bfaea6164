"""The results for people, as tables, and what the file says of the machine."""

import datetime
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

DISTRIBUTIONS = [
    "haiku-state",
    "jax",
    "jaxlib",
    "dm-haiku",
    "optax",
    "numpy",
    "flax",
    "equinox",
    "torch",
]


def machine() -> dict[str, Any]:
    """Say what kind of machine this is, not which."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "cores_of_this_process": _cores_of_this_process(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "os": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Give the version of Python and of each library."""
    return {"python": platform.python_version()} | {name: _version(name) for name in DISTRIBUTIONS}


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def load() -> float:
    """How many processes want the cores: more than one, and somebody else computes too."""
    return round(os.getloadavg()[0], 2)


def print_result(result: dict[str, Any], console: Console) -> None:
    """Print one result as a table."""
    title = f"{result['group']} {result['size']}".strip()
    table = Table(title=title, title_justify="left")
    unit, scale = _unit(result)
    for column in ("", f"{unit} per step", "min – max", "ratio", "quartiles"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    memory = any("memory_bytes" in values for values in result["contenders"].values())
    if memory:
        for column in ("train state + batch", "reused", "scratch", "peak of the process"):
            table.add_column(column, justify="right")
    for name, values in result["contenders"].items():
        if "missing" in values:
            table.add_row(name, values["missing"])
            continue
        time, ratio = values["per_step"], values["ratio"]
        cells = [
            name,
            f"{scale * time['median']:.4g}",
            f"{scale * time['min']:.4g} – {scale * time['max']:.4g}",
            f"{ratio['median']:.3f}",
            f"{ratio['lower_quartile']:.3f} – {ratio['upper_quartile']:.3f}",
        ]
        if memory:
            kinds = ("argument", "alias", "temp", "peak")
            cells += [_mebibytes(values["memory_bytes"].get(kind)) for kind in kinds]
        table.add_row(*cells, style="bold" if name == result["baseline"] else None)
    console.print(table)


def _unit(result: dict[str, Any]) -> tuple[str, float]:
    if result["group"] in ("import", "cold"):
        return "s", 1.0
    return ("µs", 1e6) if result["size"] == "32x32" else ("ms", 1e3)


def _mebibytes(count: int | None) -> str:
    return "" if count is None else f"{count / 2**20:.3g} MiB"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cores_of_this_process() -> int | None:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
