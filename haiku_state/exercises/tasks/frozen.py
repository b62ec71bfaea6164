"""Zero gradients do not freeze."""

# The head of a network is fine-tuned. The encoder must stay as it is: its
# params, and the running mean that it keeps in the state.
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    #: params = {**params, "encoder": jax.lax.stop_gradient(params["encoder"])}
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = optax.adamw(0.1, weight_decay=0.1)


def init(params):
    #: return optimizer.init(params)
    # <solution>
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)
    # </solution>


def update(params, state, opt_state, batch):
    #: grad_fn = jax.grad(loss_fn, has_aux=True)
    #: grads, state = grad_fn(params, state, batch)
    #: updates, opt_state = optimizer.update(grads, opt_state, params)
    #: return optax.apply_updates(params, updates), state, opt_state
    # <solution>
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

LESSON = "update/frozen_parts#three-ways-to-freeze"
DECAY = Idea(
    "weight decay",
    _(
        "A gradient of zero does not mean an update of zero: an optimizer with weight decay or "
        "with momentum moves whatever it is given. What it is not given, it cannot move."
    ),
    LESSON,
)
PASSED_ON = Idea(
    "updates passed on",
    _(
        "What `optax.masked` excludes, it passes on unchanged: the gradient itself becomes the "
        "update. It does not become zero."
    ),
    LESSON,
)
STATISTICS = Idea(
    "frozen statistics",
    _(
        "The running mean of the encoder has moved. It is not a param, and no optimizer moves it: "
        "the forward pass does."
    ),
    LESSON,
)
DROPPED = Idea(
    "dropped state",
    _("Not all of the state is frozen: what belongs to the head must advance."),
    LESSON,
)
MOMENTS = Idea(
    "frozen moments",
    _(
        "The params are right, but the optimizer keeps moments of params that it never moves. It "
        "should not see them at all."
    ),
    "update/frozen_parts#params-by-name",
)
INVERTED = Idea(
    "inverted mask",
    _("The head has stayed, and the encoder has moved: what does True stand for here?"),
    "update/frozen_parts#params-by-name",
)
TRAINED = Idea(
    "trained part",
    _("The head is trained as if it were alone, by the same optimizer."),
    LESSON,
)
RATE, DECAYED, STEPS = 0.1, 0.1, 2


def _draw(rng):
    params = {
        "encoder": {"w": rng.normal(size=(3, 2)).astype(np.float32)},
        "head": {"w": rng.normal(size=2).astype(np.float32)},
    }
    state = {
        "encoder": {"mean": rng.normal(size=3).astype(np.float32)},
        "head": {"count": np.int32(rng.integers(5, 50))},
    }
    x = rng.normal(1, 1, size=(8, 3)).astype(np.float32)
    return params, state, {"x": x, "y": rng.normal(size=8).astype(np.float32)}


def _params(answer, params, state, batch):
    opt_state = answer.init(params)
    for _number in range(STEPS):
        params, state, opt_state = answer.update(params, state, opt_state, batch)
    return params


def _state(answer, params, state, batch):
    update, opt_state = jax.jit(answer.update), answer.init(params)
    for _number in range(STEPS):
        params, state, opt_state = update(params, state, opt_state, batch)
    return state


def _moments(answer, params, state, batch):
    opt_state = jax.jit(answer.init)(params)
    return sum(leaf.size for leaf in jax.tree.leaves(opt_state) if leaf.ndim)


def _trained(params, state, batch, moving=0.0):
    """Adam with decoupled weight decay in float64, for the head alone."""
    x, mean = np.float64(batch["x"]), np.float64(state["encoder"]["mean"])
    w = np.float64(params["head"]["w"])
    first = second = np.zeros_like(w)
    for step in range(1, STEPS + 1):
        hidden = np.tanh((x - mean) @ np.float64(params["encoder"]["w"]))
        mean = (1 - moving) * mean + moving * x.mean(axis=0)
        grads = 2 * hidden.T @ (hidden @ w - batch["y"]) / len(hidden)
        first, second = 0.9 * first + 0.1 * grads, 0.999 * second + 0.001 * grads**2
        scaled = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        w = w - RATE * (scaled + DECAYED * w)
    return {"encoder": {"w": params["encoder"]["w"]}, "head": {"w": w}}


def _shrunk(leaves, params, state, batch):
    factor = (1 - RATE * DECAYED) ** STEPS
    return np.allclose(leaves["['encoder']['w']"], factor * params["encoder"]["w"], 1e-4, 1e-4)


def _head_stayed(leaves, params, state, batch):
    shrunk = (1 - RATE * DECAYED) ** STEPS * params["head"]["w"]
    head = leaves["['head']['w']"]
    return any(np.allclose(head, one, 1e-4, 1e-4) for one in (params["head"]["w"], shrunk))


def _head_right(leaves, params, state, batch):
    """Whether the encoder alone has moved; the head then had other inputs after its first step."""
    return not np.array_equal(leaves["['encoder']['w']"], params["encoder"]["w"])


EXERCISE = Exercise(
    title=_("A frozen encoder"),
    statement=_(
        "`stop_gradient` was meant to freeze the encoder, but its weights shrink. Change the "
        "program so that the params of the encoder and its running mean stay exactly as they are, "
        "and the head is trained as before.\n\nThe check calls `init(params)`, which returns the "
        "`opt_state`, and then `update(params, state, opt_state, batch)` several times, which "
        "returns the new params, state and `opt_state`. The `opt_state` may hold moments only of "
        "what is trained."
    ),
    lesson=LESSON,
    kind="repair",
    minutes=10,
    hints=(
        _("What does the optimizer do with a param whose gradient is zero?"),
        _(
            "Look at `optimizer.init` and `optimizer.update`: both get the params of the encoder "
            "too. And look at the state that `update` returns."
        ),
        _(
            "`hk.data_structures.partition(is_frozen, params)` returns the two halves, and `merge` "
            "puts them together. Give `optimizer` the second half alone. Into the new state, put "
            "the old entry of the encoder."
        ),
    ),
    checks=(
        Check(
            _("The params of the encoder stay, and the head is trained"),
            inputs=_draw,
            play=_params,
            expected=_trained,
            idea=TRAINED,
            mistakes=(
                Mistake(DECAY, when=_shrunk),
                Mistake(
                    STATISTICS,
                    like=lambda params, state, batch: _trained(params, state, batch, moving=0.1),
                ),
                Mistake(INVERTED, when=_head_stayed),
                Mistake(PASSED_ON, when=_head_right),
            ),
            properties=("arguments", "pure", "jit"),
            draws=1,
            tolerance=1e-4,
        ),
        Check(
            _("The running mean stays, and the count of the head advances"),
            inputs=_draw,
            play=_state,
            expected=lambda params, state, batch: {
                "encoder": state["encoder"],
                "head": {"count": state["head"]["count"] + np.int32(STEPS)},
            },
            idea=STATISTICS,
            mistakes=(Mistake(DROPPED, like=lambda params, state, batch: state),),
            draws=1,
            tolerance=0.0,
        ),
        Check(
            _("The optimizer keeps moments of the head alone"),
            inputs=_draw,
            play=_moments,
            expected=lambda params, state, batch: 2 * params["head"]["w"].size,
            idea=MOMENTS,
            draws=1,
        ),
    ),
)
