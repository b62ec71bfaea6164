"""What `explain` costs beside one trace of the same function: CPU time, everything traced anew.

``python tests/tools benchmarks.explained`` prints the seconds, those of a history of 100
records, the memory that an array of 80 MB costs which is changed in place, and what advice the
tests' impure cases get. With ``PYTHONPATH`` it does so for another tree.
"""

import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support.programs import impure

import haiku_state as hs

MODULES = 200


def resnet18() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """One step of Adam on a ResNet18."""
    model = hk.transform_with_state(lambda images: hk.nets.ResNet18(10)(images, is_training=True))
    optimizer = optax.adam(1e-3)

    def train_step(params, state, opt_state, images, labels):
        def loss_fn(params):
            logits, new_state = model.apply(params, state, None, images)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return losses.mean(), new_state

        grads, new_state = jax.grad(loss_fn, has_aux=True)(params)
        updates, new_opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), new_state, new_opt_state

    images, labels = jnp.zeros((2, 32, 32, 3)), jnp.zeros(2, jnp.int32)
    params, state = jax.eval_shape(model.init, jax.random.key(0), images)
    return train_step, (params, state, jax.eval_shape(optimizer.init, params), images, labels)


def resnet18_that_counts() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The same step, which counts its calls outside."""
    return counted(*resnet18())


def sgd_that_counts() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """SGD that counts its calls outside."""
    return counted(*sgd())


def counted(
    function: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Add a line that makes a function impure."""
    calls = {"n": 0}

    def step(*args):
        calls["n"] += 1
        return function(*args)

    return step, args


def in_place() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function that changes an array of 80 MB around it."""
    table = np.ones(20_000_000, np.float32)

    def look_up(x):
        table[0] += 1
        return x * table[0]

    return look_up, (jnp.ones(3),)


def sgd() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """One step of SGD with momentum, by hand, on the trees of 200 modules."""

    def update(params, grads, moments):
        new_params, new_moments = {}, {}
        for name, module in params.items():
            new_params[name], new_moments[name] = {}, {}
            for key, value in module.items():
                new_moments[name][key] = 0.9 * moments[name][key] + grads[name][key]
                new_params[name][key] = value - 0.1 * new_moments[name][key]
        return new_params, new_moments

    return update, trees()


def sgd_in_place() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The same, which changes the trees that it is given."""

    def update(params, grads, moments):
        for name, module in params.items():
            for key, value in module.items():
                moments[name][key] = 0.9 * moments[name][key] + grads[name][key]
                module[key] = value - 0.1 * moments[name][key]
        return params

    return update, trees()


def trees() -> tuple[Any, ...]:
    """Give three trees of 200 modules with three leaves each."""
    leaves = {"w": np.ones((2, 2), np.float32), "b": np.ones(2, np.float32), "s": np.float32(1)}
    return tuple({f"module_{i}": dict(leaves) for i in range(MODULES)} for _tree in range(3))


def in_a_tree() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function that changes one of 2,000 dicts around it."""
    tree = [{"calls": 0, "w": 1.0} for _ in range(2000)]

    def update(x):
        tree[7]["calls"] += 1
        return x * sum(one["w"] for one in tree)

    return update, (jnp.ones(3),)


def history() -> Callable[[], str]:
    """Record a state of 41 leaves 100 times, and show it."""
    states = [
        {f"leaf_{i}": np.full(3, step * i, np.float32) for i in range(41)} for step in range(100)
    ]

    def show() -> str:
        records = hs.History()
        for state in states:
            records.record(state)
        return records._repr_html_()

    return show


FUNCTIONS = (resnet18, resnet18_that_counts, sgd, sgd_that_counts, sgd_in_place)


def explain_runs() -> Iterator[tuple[str, dict[str, Callable[[], float]]]]:
    """Yield each function with what is timed of it; a new function object each time."""
    for make in FUNCTIONS:
        jax.make_jaxpr(make()[0])(*make()[1])  # what is traced once in a process

        def trace(make=make) -> float:
            function, args = make()
            start = time.process_time()
            jax.make_jaxpr(function)(*args)
            return time.process_time() - start

        def explain(make=make) -> float:
            function, args = make()
            start = time.process_time()
            hs.explain(function, *args)
            return time.process_time() - start

        yield make.__name__, {"trace": trace, "explain": explain}


def main() -> None:
    """Print the CPU seconds of each."""
    for make in (in_place, *FUNCTIONS, in_a_tree):  # what needs most memory before it is used
        function, args = make()
        traced = _seconds(lambda: jax.make_jaxpr(function)(*args))  # noqa: B023
        function, args = make()
        before = _peak()
        explained = _seconds(lambda: hs.explain(function, *args))  # noqa: B023
        print(
            f"{make.__name__:20} trace {traced:6.2f} s   explain {explained:6.2f} s"
            f"   {_peak() - before:.2f} GB more",
            flush=True,
        )
    pages: list[str] = []
    show = history()
    seconds = _seconds(lambda: pages.append(show()))
    print(f"history        record and show {seconds:.2f} s   {len(pages[0])} B")
    reports = [hs.explain(function, *args, **kwargs) for _, function, args, kwargs in impure.CASES]
    told = [finding.advice for report in reports for finding in report.findings]
    words, examples = (
        sum(map(bool, each)) for each in zip(*((a.words, a.example) for a in told), strict=True)
    )
    carried = Counter((a.is_argument, a.is_result) for a in told if a.is_result)
    print(f"advice         {words} of {len(told)} findings have words, {examples} an example")
    print(f"changes        {carried[True, True]} in and out, {carried[False, True]} out only")


def _peak() -> float:
    """Return the most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
