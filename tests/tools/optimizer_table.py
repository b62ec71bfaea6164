"""Every optimizer of Optax through ``init_train_state`` and every runner, against a step by hand.

python tests/tools optimizer_table            # all, fifteen to thirty minutes
python tests/tools optimizer_table sam lbfgs  # those with one of these words in their name

``ok``: three steps reach the params of the step written by hand, without donation, up to rounding.
Where an optimizer magnifies rounding, as ``scale_by_lbfgs`` does, the measure is four times the
distance between the step by hand compiled and not. ``needs more``:
the step by hand fails as well, since ``optimizer.update`` takes more than gradients and params, or
since the optimizer takes params of its own kind.
"""

import functools
import inspect
import os
import sys

if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
from support.runners import RUNNERS, axis_of

import haiku_state as hs

# what the optimizers need to be made, by the names of their parameters
ARGUMENTS = {
    "learning_rate": 0.01,
    "clipping": 0.1,
    "eta": 0.01,
    "gamma": 0.55,
    "decay": 0.9,
    "max_delta": 1.0,
    "threshold": 1.0,
    "max_norm": 1.0,
    "step_size": 0.1,
    "slow_step_size": 0.5,
    "sync_period": 2,
    "max_consecutive_errors": 2,
    "max_backtracking_steps": 3,
    "max_linesearch_steps": 3,
    "l2_norm_clip": 1.0,
    "noise_multiplier": 0.1,
    "seed": 0,
    "step_size_fn": lambda step: 0.1,
    "should_transform_fn": lambda step, **extra: step % 2 == 0,
    "mask": True,
    "freeze_mask": False,
    "transforms": {"a": optax.adam(0.01)},
    "param_labels": "a",
    "measure": lambda params, **extra: optax.tree_utils.tree_sum(params),
    "measure_name": "norm",
    "f": lambda updates, params: updates,
}
SPECIAL = {
    "optax.chain": lambda: optax.chain(optax.clip(1.0), optax.adam(0.01)),
    "optax.named_chain": lambda: optax.named_chain(("a", optax.clip(1.0)), ("b", optax.adam(0.01))),
    "optax.inject_hyperparams": lambda: optax.inject_hyperparams(optax.adam)(0.01),
    "optax.inject_stateful_hyperparams": lambda: optax.inject_stateful_hyperparams(optax.adam)(
        0.01
    ),
    "optax.stateless_with_tree_map": lambda: optax.stateless_with_tree_map(lambda g, p: -g),
    "optax.MultiSteps": lambda: optax.MultiSteps(optax.adam(0.01), 2),
    "optax.contrib.sam": lambda: optax.contrib.sam(optax.sgd(0.01), optax.sgd(0.05)),
    "optax.contrib.sam(opaque_mode)": lambda: optax.contrib.sam(
        optax.sgd(0.01), optax.sgd(0.05), opaque_mode=True
    ),
}
STEPS = 3
MODEL = hs.pure_pair(hs.LinearRegression, True, cross_replica_axis="devices")
ALONE = hs.pure_pair(hs.LinearRegression, True)
INIT = jax.jit(functools.partial(ALONE.init, is_training=True))
RNG = np.random.default_rng(0)
INPUTS = RNG.normal(1, 2, (STEPS, 8, 4)).astype(np.float32)
BATCHES = [{"x": x, "y": x.sum(1) + 1} for x in INPUTS]


def optimizers():
    """Makers of all of them, by name: the functions that return a GradientTransformation."""
    makers = {}
    for module in (optax, optax.contrib):
        for name, function in sorted(vars(module).items()):
            if (
                name[0] != "_"
                and inspect.isfunction(function)
                and "GradientTransformation" in str(inspect.signature(function).return_annotation)
            ):
                makers[f"{module.__name__}.{name}"] = functools.partial(_make, function)
    known = {name: make for name, make in SPECIAL.items() if "(" in name or "Multi" in name}
    return {name: SPECIAL.get(name, make) for name, make in (makers | known).items()}


def _make(function):
    parameters = inspect.signature(function).parameters.values()
    needed = {
        p.name: ARGUMENTS.get(p.name, optax.adam(0.01))  # the others take an optimizer
        for p in parameters
        if p.default is p.empty and p.kind is not p.VAR_KEYWORD and p.kind is not p.VAR_POSITIONAL
    }
    return function(**needed)


def loss_of(model):
    def loss_fn(params, state, rng, batch):
        prediction, state = model.apply(params, state, rng, batch["x"], True)
        return jnp.mean(jnp.square(prediction - batch["y"])), (state, {})

    return loss_fn


def by_hand(optimizer, compile=jax.jit):
    """The params after all steps, by Haiku and Optax alone."""
    params, state = INIT(jax.random.key(0), INPUTS[0])
    opt_state = optimizer.init(params)

    @compile
    def step(params, state, opt_state, batch):
        grads, (state, _) = jax.grad(loss_of(ALONE), has_aux=True)(params, state, None, batch)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), state, opt_state

    for batch in BATCHES:
        params, state, opt_state = step(params, state, opt_state, batch)
    return params


def _said(error):
    return f"{type(error).__name__}: {error}".splitlines()[0]


def row(make, runners=RUNNERS):
    """What each runner makes of an optimizer: ``ok``, or what it says."""
    optimizer = make()
    try:
        expected = by_hand(optimizer)
    except Exception as error:
        return dict.fromkeys(runners, f"needs more by hand too: {_said(error)}")
    return {name: _outcome(optimizer, RUNNERS[name], expected) for name in runners}


def _outcome(optimizer, runner, expected):
    model = MODEL if axis_of(runner) else ALONE
    run = runner(hs.make_update(loss_of(model), optimizer))
    try:
        train_state = hs.init_train_state(INIT, optimizer, jax.random.key(0), INPUTS[0])
        train_state = run.place(train_state)
        for batch in BATCHES:
            train_state, _ = run(train_state, run.feed(batch))
        params = run.one(train_state).params
    except Exception as error:
        return _said(error)
    worst = _distance(params, expected)
    size = max(1.0, *(float(np.abs(leaf).max()) for leaf in jax.tree.leaves(expected)))
    if worst < 1e-5 * size:
        return "ok"
    uncompiled = by_hand(optimizer, compile=lambda step: step)
    return "ok" if worst < 4 * _distance(uncompiled, expected) else f"differs by {worst:.1e}"


def _distance(params, expected):
    leaves = zip(jax.tree.leaves(params), jax.tree.leaves(expected), strict=True)
    return max(float(np.abs(one - other).max()) for one, other in leaves)


def main(words):
    """Print the table, row by row; the exit status says whether all rows are as they should be."""
    failures = 0
    print(f"JAX {jax.__version__}, Optax {optax.__version__}; runners: {', '.join(RUNNERS)}")
    for name, make in optimizers().items():
        if words and not any(word in name for word in words):
            continue
        told = row(make)
        failures += sum(text != "ok" and not text.startswith("needs") for text in told.values())
        shown = {", ".join(r for r in told if told[r] == text): text for text in told.values()}
        same = len(shown) == 1
        for runners, text in shown.items():
            print(f"{name:46}{'' if same else runners + ': '}{text}", flush=True)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
