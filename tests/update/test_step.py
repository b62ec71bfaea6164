"""How long the way is from the caller of a compiled update step to the module."""

import traceback

import haiku as hk
import jax
import jax.numpy as jnp
import optax
import pytest

import haiku_state as hs
from haiku_state.errors import LossFunctionError


class Reporting(hk.Module):
    """Reports the frames of this package that called it, at trace time."""

    def __call__(self, inputs, frames):
        frames += [
            f"{frame.f_globals['__name__']}.{frame.f_code.co_name}"
            for frame, _ in traceback.walk_stack(None)
            if frame.f_globals["__name__"].startswith("haiku_state.")
        ]
        return inputs * hk.get_parameter("w", (), init=jnp.ones)


def test_at_most_five_frames_of_ours_lie_between_the_caller_and_the_module():
    frames = []
    model = hs.pure_pair(Reporting)

    def loss_fn(params, state, rng, batch):
        outputs, state = model.apply(params, state, rng, batch["x"], frames)
        return jnp.mean(outputs), (state, {})

    batch = {"x": jnp.ones(2)}
    train_state = hs.init_train_state(model.init, optax.sgd(0.1), jax.random.key(0), batch["x"], [])
    hs.jit_update(hs.make_update(loss_fn, optax.sgd(0.1)))(train_state, batch)
    assert 0 < len(frames) <= 5, "\n".join(frames)


# what is made of the loss and the state, and how the error shows it
WRONG_RESULTS = {
    "the loss alone": (lambda loss, state: loss, "float32[]"),
    "no metrics": (lambda loss, state: (loss, state), "(float32[], {'s': float32[2]})"),
    "flat": (lambda loss, state: (loss, state, {}), "(float32[], {'s': float32[2]}, {})"),
    "metrics first": (
        lambda loss, state: ((state, {}), loss),
        "(({'s': float32[2]}, {}), float32[])",
    ),
    "one loss per row": (
        lambda loss, state: (loss[None], (state, {})),
        "(float32[1], ({'s': float32[2]}, {}))",
    ),
    "an integer loss": (
        lambda loss, state: (loss.astype(jnp.int32), (state, {})),
        "(int32[], ({'s': float32[2]}, {}))",
    ),
    "metrics no dict": (
        lambda loss, state: (loss, (state, [loss])),
        "(float32[], ({'s': float32[2]}, [float32[]]))",
    ),
    "the loss as a metric": (
        lambda loss, state: (loss, (state, {"loss": loss})),
        "(float32[], ({'s': float32[2]}, {'loss': float32[]}))",
    ),
}


def square(make_result):
    """A step and a train state; the loss function returns what is made of loss and state."""
    update = hs.make_update(
        lambda params, state, rng, batch: make_result(params["w"] ** 2, state), optax.sgd(0.1)
    )
    return update, hs.init_train_state(
        lambda rng: ({"w": jnp.ones(())}, {"s": jnp.ones(2)}), optax.sgd(0.1), jax.random.key(0)
    )


@pytest.mark.parametrize(("give", "returned"), WRONG_RESULTS.values(), ids=WRONG_RESULTS)
def test_a_wrong_result_of_the_loss_function_is_named(give, returned):
    update, train_state = square(give)
    wrong = '(state, {"loss": loss})' if "'loss'" in returned else "state"
    with pytest.raises(LossFunctionError) as caught:
        hs.jit_update(update)(train_state, {})
    assert str(caught.value) == (
        f"loss_fn returned {returned} (dtypes and shapes).\n"
        f"  wrong: return loss, {wrong}\n"
        '  right: return loss, (state, {"accuracy": accuracy})\n'
        "  why:   the gradient needs one scalar loss of a floating dtype; the new state and the "
        'metrics ride along, and the update itself adds the metric "loss"\n'
        "  more:  en/update/jitted_update.html"
    )
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))


def test_the_update_itself_is_pure():
    update, train_state = square(lambda loss, state: (loss, (state, {})))
    with jax.debug_key_reuse(False):
        results = [update(train_state, {}) for _ in range(2)]
    first, second = ([str(leaf) for leaf in jax.tree.leaves(result)] for result in results)
    assert first == second
    assert (train_state.step, train_state.params["w"]) == (0, 1)


def test_a_step_is_lowered_for_plain_numbers_too_and_traces_as_a_call_does():
    def loss_fn(params, state, rng, batch):
        return params["w"] * batch["f"], (state, {})

    train_state = hs.init_train_state(
        lambda rng: ({"w": jnp.ones(())}, {}), optax.sgd(0.5), jax.random.key(0)
    )
    run = hs.jit_update(hs.make_update(loss_fn, optax.sgd(0.5)))
    compiled = run.lower(train_state, {"f": 2.0}).compile()
    new, metrics = compiled(train_state, {"f": 2.0})
    assert (new.params["w"], metrics["loss"]) == (0.0, 2.0)


def test_a_state_is_checked_once_in_each_call(monkeypatch):
    calls = []
    model = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
    check_state = hs.check_state

    def counting(*args, **kwargs):
        calls.append(args)
        check_state(*args, **kwargs)

    def loss_fn(params, state, rng, batch):
        outputs, state = model.apply(params, state, rng, batch["x"], True)
        return jnp.mean(outputs), (state, {})

    batch = {"x": jnp.ones((4, 3))}
    train_state = hs.init_train_state(
        model.init, optax.sgd(0.1), jax.random.key(0), batch["x"], True
    )
    monkeypatch.setattr("haiku_state.pure.pair.check_state", counting)
    monkeypatch.setattr("haiku_state.update.step.check_state", counting)
    hs.make_update(loss_fn, optax.sgd(0.1))(train_state, batch)
    assert len(calls) == 1
    model.apply(train_state.params, train_state.state, None, batch["x"], True)
    assert len(calls) == 2
