"""What the comparison of the replicas adds to the first step of pmap, beside that step.

python tests/tools benchmarks.first_step                  10 million floats on four devices
python tests/tools benchmarks.first_step 40000000 8       40 million on eight

The first step with the comparison and the one without are taken in turn, by new runners; compiling
is in both. Their difference is the cost of the comparison, which is at most one step.
"""

import argparse
import resource
import statistics
import time

import jax
import jax.numpy as jnp

import haiku_state as hs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("floats", type=int, nargs="?", default=10_000_000)
    parser.add_argument("devices", type=int, nargs="?", default=4)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    devices = hs.use_devices(options.devices)
    train_state = {str(i): jnp.ones(options.floats // 10) for i in range(10)}

    def step(train_state, batch, *, axis_name=None):
        """Six operations on each float, as of an optimizer, and a mean over the devices."""
        mean = jax.lax.pmean(batch.mean(), axis_name)
        grads = jax.lax.pmean(jax.tree.map(lambda w: jnp.sin(w) * mean, train_state), axis_name)
        return jax.tree.map(lambda w, g: w - 0.01 * g, train_state, grads), {"mean": mean}

    def seconds(run, train_state, batch):
        began = time.perf_counter()
        train_state, _ = jax.block_until_ready(run(train_state, batch))
        return time.perf_counter() - began, train_state

    first, second = {True: [], False: []}, []
    for _ in range(options.rounds):
        for check_replicas in (False, True):
            run = hs.pmap_update(step, devices, check_replicas=check_replicas)
            batch = run.feed(jnp.ones(options.devices))
            took, placed = seconds(run, jax.block_until_ready(run.place(train_state)), batch)
            first[check_replicas].append(took)
            second.append(seconds(run, placed, batch)[0])
    added = statistics.median(a - b for a, b in zip(first[True], first[False], strict=True))
    usual = statistics.median(second)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = 4 * options.floats * options.devices
    print(f"second step: {usual:.3f} s; the comparison adds {added:.3f} s to the first")
    print(f"first / second, without compiling: {1 + added / usual:.2f}; memory {peak / size:.1f}x")


if __name__ == "__main__":
    main()
