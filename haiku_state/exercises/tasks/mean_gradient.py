"""One step on four devices that is the step of one device on the whole batch."""

# Each device runs `step` with its own part of the batch. The devices are the
# axis "devices", and all of them hold the same params.
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    # Return the params after one step, and the loss of the whole batch. A
    # gradient that is longer than LONGEST is shortened to this length.
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    # <solution>
    loss, grads = jax.lax.pmean((loss, grads), "devices")
    # </solution>
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

DEVICES = 4
ROWS = 6

ALONE = Idea(
    "alone",
    _(
        "The replicas have different params after the step: each device has followed the gradient "
        "of its own rows only. Devices know of each other what they exchange, and nothing else."
    ),
    "update/devices#exchange-along-the-axis",
)
SAME_STEP = Idea(
    "same step",
    _(
        "Beside the exchange, nothing of the step changes: a single device that sees the whole "
        "batch shortens its gradient by the same rule."
    ),
    "update/devices#the-gradient-of-a-batch",
)
SUMMED = Idea(
    "sum or mean",
    _(
        "The loss is a mean over rows. The sum over four devices of a mean is four times too "
        "large, and so is a gradient that is summed."
    ),
    "update/devices#the-gradient-of-a-batch",
)
TOO_LATE = Idea(
    "average first",
    _(
        "The replicas are equal, and this is not the step of the whole batch: shortening a "
        "gradient is not linear, so the order of shortening and averaging matters."
    ),
    "update/devices#the-gradient-of-a-batch",
)
LOCAL_LOSS = Idea(
    "local loss",
    _("The params are right. The loss that each device returns is that of its own rows."),
    "update/devices#exchange-along-the-axis",
)
AXIS = Idea(
    "unbound axis",
    _(
        "A collective names the axis along which it works. The name must be that of the mapped "
        "axis, and it exists only inside the mapped function."
    ),
    "update/devices#exchange-along-the-axis",
)


def _draw(rng, size):
    w = rng.normal(size=2)
    inputs = rng.normal(size=(DEVICES, ROWS, 2))
    targets = inputs @ w + size * (2 + rng.normal(size=(DEVICES, ROWS)))
    params = {"w": w.astype(np.float32), "b": np.float32(0)}
    batch = {"inputs": inputs, "targets": targets}
    return params, {name: leaf.astype(np.float32) for name, leaf in batch.items()}


def _parts(params, batch):
    """Return the loss of each device, and its gradient."""
    x, y = np.float64(batch["inputs"]), np.float64(batch["targets"])
    errors = x @ np.float64(params["w"]) + params["b"] - y
    grads = np.einsum("drk,dr->dk", x, errors) * 2 / ROWS, errors.mean(axis=1) * 2
    return (errors**2).mean(axis=1), np.concatenate([grads[0], grads[1][:, None]], axis=1)


def _short(grads):
    length = np.sqrt((grads**2).sum(axis=-1, keepdims=True))
    return grads * np.minimum(1.0, 1.0 / length)


def _stepped(params, grads, losses):
    flat = np.append(np.float64(params["w"]), params["b"]) - 0.1 * grads
    return {"w": flat[:, :2], "b": flat[:, 2]}, losses


def _expected(params, batch):
    losses, grads = _parts(params, batch)
    return _stepped(params, _short(_on_all(grads.mean(axis=0))), _on_all(losses.mean()))


def _with_sum(params, batch):
    losses, grads = _parts(params, batch)
    return _stepped(params, _short(_on_all(grads.sum(axis=0))), _on_all(losses.sum()))


def _with_sum_of_grads(params, batch):
    return _with_sum(params, batch)[0], _on_all(_parts(params, batch)[0].mean())


def _short_first(params, batch):
    losses, grads = _parts(params, batch)
    return _stepped(params, _on_all(_short(grads).mean(axis=0)), _on_all(losses.mean()))


def _mean_length(params, batch):
    losses, grads = _parts(params, batch)
    length = np.sqrt((grads**2).sum(axis=-1)).mean()
    mean = _on_all(grads.mean(axis=0) * np.minimum(1.0, 1.0 / length))
    return _stepped(params, mean, _on_all(losses.mean()))


def _local_loss(params, batch):
    return _expected(params, batch)[0], _parts(params, batch)[0]


def _on_all(value):
    return np.broadcast_to(value, (DEVICES, *np.shape(value)))


def _play(answer, params, batch):
    mapped = jax.pmap(
        lambda *arguments: answer.step(*arguments), axis_name="devices", in_axes=(None, 0)
    )
    return mapped(params, batch)


def _replicas_differ(result, *inputs):
    leaves = (result[f"[0]['{name}']"] for name in ("w", "b"))
    return any(np.ptp(leaf, axis=0).max() > 1e-5 for leaf in leaves)


EXERCISE = Exercise(
    title=_("The gradient of the whole batch"),
    statement=_(
        'The check runs `step` with `jax.pmap` on four devices, with `axis_name="devices"`: the '
        "params are the same on all of them, and each gets a quarter of the batch. Repair `step`, "
        "so that every device returns what a single device would compute from the whole batch: "
        "the same new params and the same loss. `loss_fn` stays as it is."
    ),
    lesson="update/devices#the-gradient-of-a-batch",
    kind="repair",
    minutes=6,
    hints=(
        _("Which numbers differ from device to device, and from which line on should they not?"),
        _("The devices have to exchange something between the gradient and its length."),
        _('`jax.lax.pmean(tree, "devices")` takes any tree, the pair of loss and gradient too.'),
    ),
    checks=(
        Check(
            _("A step with a small gradient is that of the whole batch"),
            inputs=lambda rng: _draw(rng, 0.03),  # the sum of the gradients is not shortened either
            play=_play,
            expected=_expected,
            idea=SAME_STEP,
            mistakes=(
                Mistake(AXIS, error="unbound axis"),
                Mistake(AXIS, error="NameError"),
                Mistake(LOCAL_LOSS, like=_local_loss),
                Mistake(SUMMED, like=_with_sum),
                Mistake(SUMMED, like=_with_sum_of_grads),
                Mistake(ALONE, when=_replicas_differ),
            ),
            draws=1,
        ),
        Check(
            _("A step with a large gradient, which is shortened, is so too"),
            inputs=lambda rng: _draw(rng, 2),
            play=_play,
            expected=_expected,
            idea=SAME_STEP,
            mistakes=(
                Mistake(TOO_LATE, like=_short_first),
                Mistake(TOO_LATE, like=_mean_length),
            ),
            draws=1,
        ),
    ),
)
