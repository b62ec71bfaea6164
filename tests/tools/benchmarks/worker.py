"""One contender in a process of its own, which computes only when it is told to.

The driver writes one JSON object per line to its standard input, and reads one per line from its
standard output: ``{"steps": 100}`` makes one repeat, ``{"memory": true}`` says what it needed.
"""

import json
import os
import resource
import sys
import time
from typing import Any

from tools.benchmarks.contenders import set_up
from tools.benchmarks.problem import Contender, NotInstalledError, Size, last_loss

_compilations: list[str] = []


def watch_compilations() -> None:
    """Note from now on what JAX compiles, if this process uses JAX."""

    def note(event: str, *_: Any, **__: Any) -> None:
        if "backend_compile" in event:
            _compilations.append(event)

    if "jax" in sys.modules:
        sys.modules["jax"].monitoring.register_event_duration_secs_listener(note)


def advance(contender: Contender, carry: Any, steps: int) -> tuple[Any, Any]:
    calls, rest = divmod(steps, contender.steps_per_call)
    assert not rest, "the contenders would make different numbers of steps"
    loss = None
    for i in range(calls):
        carry, loss = contender.step(carry, contender.batches[i % len(contender.batches)])
    contender.wait((carry, loss))
    return carry, loss


def repeat(contender: Contender, steps: int) -> dict[str, float]:
    """Train from the initial params for so many steps, and take the time."""
    # its caches and clocks are cold: the other processes have computed in the meantime; and the
    # second step of a pmap gets what the first one returns, for which it may compile again
    advance(contender, contender.fresh(), 2 * contender.steps_per_call)
    carry = contender.fresh()
    contender.wait((carry, None))
    before = len(_compilations)
    start = time.perf_counter()
    _, loss = advance(contender, carry, steps)
    seconds = time.perf_counter() - start
    assert len(_compilations) == before, "it has compiled, and the time is that of the compiler"
    return {"seconds": seconds, "loss": last_loss(loss)}


def devices_of(carry: Any) -> int:
    """Count the devices that the carry lies on."""
    if "jax" not in sys.modules:
        return 1
    jax = sys.modules["jax"]
    arrays = [leaf for leaf in jax.tree.leaves(carry) if isinstance(leaf, jax.Array)]
    return max((len(array.sharding.device_set) for array in arrays), default=1)


def peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory(contender: Contender, before: int) -> dict[str, int]:
    compiled = contender.memory() if contender.memory else {}
    return {**compiled, "peak_before_first_step": before}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the libraries print is no answer

    def answer(**values: Any) -> None:
        answers.write(json.dumps(values) + "\n")

    task = json.loads(sys.argv[1])
    try:
        contender = set_up(task["contender"], Size(**task["size"]), **task["options"])
    except NotInstalledError as error:
        return answer(missing=str(error))
    watch_compilations()
    before = peak_bytes()
    repeat(contender, contender.steps_per_call)  # compiles
    answer(devices=devices_of(contender.fresh()))
    for line in sys.stdin:
        command = json.loads(line)
        if "steps" in command:
            answer(**repeat(contender, command["steps"]))
        else:
            # the peak first: to look at the program compiles it once more
            peak = peak_bytes()
            answer(**memory(contender, before), peak=peak)


if __name__ == "__main__":
    main()
