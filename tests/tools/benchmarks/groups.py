"""What is compared with what: each group gives its results, one entry per size."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tools.benchmarks.checkpoints import checkpoint_runs
from tools.benchmarks.problem import SIZES
from tools.benchmarks.processes import Worker, seconds_of_program, seconds_to_import, started
from tools.benchmarks.ratios import interleave, paired, summary

Result = dict[str, Any]


class Options(NamedTuple):
    """How long and how much to measure."""

    rounds: int
    seconds: float
    sizes: list[str]
    contenders: list[str] | None
    devices: list[int]
    done: Callable[[str], None] = lambda text: None


STEPS = [
    "plain",
    "plain_lean",
    "jit_update",
    "scan_update",
    "nnx_jit",
    "nnx_cached",
    "nnx_partial",
    "linen",
    "equinox",
    "torch_eager",
    "torch_one_thread",
]
ONE_DEVICE = [
    "jit_update",
    "scan_update",
    "vmap_update",
    "pmap_update",
    "shard_update",
    "shard_map_update",
]
MANY_DEVICES = ONE_DEVICE[3:]
BY_HAND = {"scan_update": "plain_scan"} | {
    f"{name}_update": f"plain_{name}" for name in ("pmap", "shard", "shard_map")
}
"""The same transformation of the step by hand; that of jit_update is ``plain``."""
COLD = ["by_hand", "haiku_state"]
CHECKPOINTS = ["orbax save", "save_checkpoint", "orbax restore", "restore_checkpoint"]
NUMBERS = ["random", "equal"]
IMPORTS = ["jax, haiku", "jax", "jax, haiku, optax", "haiku_state.update"]


def steps(options: Options) -> Iterator[Result]:
    """One training step, in every framework."""
    for size in options.sizes:
        yield compare("steps", size, {name: {"contender": name} for name in STEPS}, options)


def ways(options: Options) -> Iterator[Result]:
    """One training step, in every way to run it, on one device and on two; and its memory."""
    table: dict[str, dict[str, Any]] = {name: {"contender": name} for name in ONE_DEVICE} | {
        f"{name}, 2 devices": {"contender": name, "devices": 2} for name in MANY_DEVICES
    }
    for size in [size for size in options.sizes if size != "512x1024"]:
        yield compare("ways", size, table, options, memory=True)


def by_hand(options: Options) -> Iterator[Result]:
    """One training step by each runner, and by hand with the same transformation."""
    for size in options.sizes:
        for name, plain in BY_HAND.items():
            many = {} if name == "scan_update" else {"devices": 2}
            table = {who: {"contender": who, **many} for who in (plain, name)}
            if all(_wanted(who, options) for who in table):
                yield compare("by_hand", size, table, options)


def checkpoints(options: Options) -> Iterator[Result]:
    """To save and to restore 100 MB, by Orbax alone and by the package, in one process."""
    for numbers in NUMBERS:
        runs = dict(checkpoint_runs(numbers))
        for names in (CHECKPOINTS[:2], CHECKPOINTS[2:]):
            kind = f"{names[1].removesuffix('_checkpoint')} {numbers}"
            seconds = interleave(
                {name: runs[name] for name in names},
                options.rounds,
                lambda kind=kind: options.done(kind),
            )
            entries = {name: entry(seconds[name], 1) for name in names}
            yield result("checkpoints", kind, names[0], entries)


def devices(options: Options) -> Iterator[Result]:
    """One training step with the same global batch, on more and more devices of one CPU."""
    table: dict[str, dict[str, Any]] = {"jit_update": {"contender": "jit_update"}} | {
        f"{name}, {count} device{'s' * (count > 1)}": {"contender": name, "devices": count}
        for name in MANY_DEVICES
        for count in options.devices
    }
    for size in [size for size in options.sizes if size != "32x32"]:
        yield compare("devices", size, table, options)


def batch_norm(options: Options) -> Iterator[Result]:
    """One training step with ``hk.BatchNorm``, and with ours."""
    names = ["hk.BatchNorm", "hs.BatchNorm"]
    for size in options.sizes:
        yield compare("batch_norm", size, {name: {"contender": name} for name in names}, options)


def imports(options: Options) -> Iterator[Result]:
    """To import the package, and what it is built on, in fresh processes."""
    names = [name for name in IMPORTS if _wanted(name, options)]
    for name in names:
        seconds_to_import(name)  # writes the bytecode
    seconds = interleave(
        {name: lambda name=name: seconds_to_import(name) for name in names},
        options.rounds,
        lambda: options.done("import"),
    )
    yield result("import", "", names[0], {name: entry(seconds[name], 1) for name in names})


def cold(options: Options) -> Iterator[Result]:
    """A whole program in a fresh process, from its start to the end of its first step."""
    names = [name for name in COLD if _wanted(name, options)]
    losses = {name: seconds_of_program(name)[1] for name in names}  # writes the bytecode
    seconds = interleave(
        {name: lambda name=name: seconds_of_program(name)[0] for name in names},
        options.rounds,
        lambda: options.done("cold"),
    )
    entries = {name: entry(seconds[name], 1, losses[name]) for name in names}
    yield result("cold", "", names[0], entries)


def explain(options: Options) -> Iterator[Result]:
    """To explain a function, and to trace it once, in one process."""
    from tools.benchmarks.explained import explain_runs  # imports JAX

    for name, runs in explain_runs():
        seconds = interleave(runs, options.rounds, lambda name=name: options.done(name))
        yield result("explain", name, "trace", {who: entry(seconds[who], 1) for who in runs})


GROUPS: dict[str, Callable[[Options], Iterator[Result]]] = {
    "steps": steps,
    "ways": ways,
    "devices": devices,
    "by_hand": by_hand,
    "checkpoints": checkpoints,
    "batch_norm": batch_norm,
    "import": imports,
    "cold": cold,
    "explain": explain,
}


def compare(
    group: str,
    size: str,
    table: dict[str, dict[str, Any]],
    options: Options,
    memory: bool = False,
) -> Result:
    """Measure contenders that compute the same; the first one is the baseline.

    Args:
      group: the name of the group.
      size: a key of ``SIZES``.
      table: the arguments of :class:`Worker` by label.
      options: how long and how much to measure.
      memory: whether to ask for the memory too.
    """
    table = {
        label: {**arguments, "size": SIZES[size]}
        for label, arguments in table.items()
        if _wanted(arguments["contender"], options)
    }
    contenders: dict[str, Any] = {}
    with started(table) as workers:
        contenders |= {
            label: worker.ready for label, worker in workers.items() if "missing" in worker.ready
        }
        present = {name: worker for name, worker in workers.items() if name not in contenders}
        baseline, *_ = present
        count = calibrate(present[baseline], SIZES[size].scan_steps, options.seconds)
        losses: dict[str, float] = {}

        def make(label: str) -> Callable[[], float]:
            def repeat() -> float:
                answer = present[label].ask(steps=count)
                losses[label] = answer["loss"]
                return float(answer["seconds"])

            return repeat

        seconds = interleave(
            {label: make(label) for label in present},
            options.rounds,
            lambda: options.done(f"{group} {size}"),
        )
        for label, worker in present.items():
            contenders[label] = entry(seconds[label], count, losses[label])
            contenders[label] |= worker.ready
            if memory:
                contenders[label]["memory_bytes"] = worker.ask(memory=True)
    return result(group, size, baseline, {label: contenders[label] for label in table})


def calibrate(worker: Worker, unit: int, seconds: float) -> int:
    """Find how many steps take about so many seconds, a multiple of ``unit``."""
    units = 1
    while (taken := worker.ask(steps=units * unit)["seconds"]) < seconds / 4:
        units *= 2
    return unit * max(1, math.ceil(units * seconds / taken))


def entry(seconds: list[float], count: int, loss: float | None = None) -> dict[str, Any]:
    """Give what the file says of one contender."""
    per_step = [value / count for value in seconds]
    return {
        "steps": count,
        "seconds_per_step": per_step,
        "per_step": summary(per_step),
        **({} if loss is None else {"last_loss": loss}),
    }


def result(group: str, size: str, baseline: str, contenders: dict[str, Any]) -> Result:
    """Add the ratios to the baseline."""
    base = contenders[baseline]["seconds_per_step"]
    for values in contenders.values():
        if "missing" not in values:
            values["ratio"] = summary(paired(values["seconds_per_step"], base))
    return {"group": group, "size": size, "baseline": baseline, "contenders": contenders}


def _wanted(name: str, options: Options) -> bool:
    return options.contenders is None or name in options.contenders
