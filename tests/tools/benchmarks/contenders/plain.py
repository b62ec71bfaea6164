"""Hand-written JAX: no library, nested dicts, one jitted function that donates its train state.

It does the work of the others and carries what they carry, leaf for leaf: the running statistics
corrected for their start at zero (hidden, average, counter), Adam's two moments and count, a
random key that is split, a step count. ``setup_lean`` leaves out what a training step could do
without: the running statistics are one array each, and Adam counts with the step.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from tools.benchmarks import problem
from tools.benchmarks.problem import Contender, Size

HIDDEN = [f"hidden_{i}" for i in range(problem.HIDDEN_LAYERS)]


def debiased_average(past, value):
    counter = past["counter"] + 1
    hidden = problem.DECAY_RATE * past["hidden"] + (1 - problem.DECAY_RATE) * value
    average = hidden / -jnp.expm1(counter * np.float32(np.log(problem.DECAY_RATE)))
    return {"hidden": hidden, "average": average, "counter": counter}


def lean_average(past, value):
    return problem.DECAY_RATE * past + (1 - problem.DECAY_RATE) * value


def over_devices(tree, axis_name):
    return tree if axis_name is None else jax.lax.pmean(tree, axis_name)


def batch_norm(params, state, x, average, axis_name):
    mean = over_devices(jnp.mean(x, axis=0), axis_name)
    var = over_devices(jnp.mean(jnp.square(x - mean), axis=0), axis_name)
    outputs = (x - mean) * (jax.lax.rsqrt(var + problem.EPS) * params["scale"]) + params["offset"]
    return outputs, {"mean": average(state["mean"], mean), "var": average(state["var"], var)}


def forward(params, state, x, average, axis_name):
    new_state = {}
    for name in HIDDEN:
        x = x @ params[name]["w"]
        x, new_state[name] = batch_norm(params[name], state[name], x, average, axis_name)
        x = jax.nn.relu(x)
    return x @ params["output"]["w"] + params["output"]["b"], new_state


def loss_fn(params, state, batch, average, axis_name):
    logits, state = forward(params, state, batch["inputs"], average, axis_name)
    right = jnp.take_along_axis(logits, batch["targets"][:, None], axis=-1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - right), state


def adam(params, grads, moments, count):
    mean = jax.tree.map(
        lambda m, g: problem.BETA_1 * m + (1 - problem.BETA_1) * g, moments["mean"], grads
    )
    square = jax.tree.map(
        lambda v, g: problem.BETA_2 * v + (1 - problem.BETA_2) * g * g, moments["square"], grads
    )
    correct_mean = 1 - problem.BETA_1 ** count.astype(jnp.float32)
    correct_square = 1 - problem.BETA_2 ** count.astype(jnp.float32)

    def moved(p, m, v):
        root = jnp.sqrt(v / correct_square) + problem.ADAM_EPS
        return p - problem.LEARNING_RATE * (m / correct_mean) / root

    return jax.tree.map(moved, params, mean, square), {"mean": mean, "square": square}


def make_step(average, own_count: bool, axis_name: str | None = None):
    def step(train_state, batch):
        (loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(
            train_state["params"], train_state["state"], batch, average, axis_name
        )
        loss, grads = over_devices((loss, grads), axis_name)
        rng, _ = jax.random.split(train_state["rng"])
        new = {"state": state, "rng": rng, "step": train_state["step"] + 1}
        if own_count:
            new["count"] = train_state["count"] + 1
        count = new["count" if own_count else "step"]
        new["params"], new["moments"] = adam(
            train_state["params"], grads, train_state["moments"], count
        )
        return new, loss

    return step


def init(size: Size, lean: bool):
    zero = jnp.zeros((), jnp.int32)
    *hidden, output = map(jnp.asarray, problem.weights(size))
    ones, zeros = jnp.ones(size.width), jnp.zeros(size.width)
    params = {
        name: {"w": w, "scale": ones, "offset": zeros}
        for name, w in zip(HIDDEN, hidden, strict=True)
    }
    params["output"] = {"w": output, "b": jnp.zeros(problem.CLASSES)}
    nothing = zeros if lean else {"hidden": zeros, "average": zeros, "counter": zero}
    unit = ones if lean else nothing
    state = {name: {"mean": nothing, "var": unit} for name in HIDDEN}
    moments = {kind: jax.tree.map(jnp.zeros_like, params) for kind in ("mean", "square")}
    train_state = {
        "params": params,
        "state": state,
        "moments": moments,
        "rng": jax.random.key(0),
        "step": zero,
    }
    return train_state if lean else {**train_state, "count": zero}


def setup(size: Size, lean: bool = False) -> Contender:
    initial = init(size, lean)
    step = make_step(lean_average if lean else debiased_average, own_count=not lean)
    return Contender(
        lambda: jax.tree.map(jnp.copy, initial),
        jax.jit(step, donate_argnums=0),
        jax.device_put(problem.batches(size)),
        jax.block_until_ready,
    )


def setup_lean(size: Size) -> Contender:
    return setup(size, lean=True)


def setup_scan(size: Size, devices: int = 1) -> Contender:
    initial, step = init(size, lean=False), make_step(debiased_average, own_count=True)
    return Contender(
        lambda: jax.tree.map(jnp.copy, initial),
        jax.jit(lambda carry, batches: jax.lax.scan(step, carry, batches), donate_argnums=0),
        [jax.device_put(problem.stacked_batches(size))],
        jax.block_until_ready,
        size.scan_steps,
    )


def setup_pmap(size: Size, devices: int = 1) -> Contender:
    used, initial = jax.devices()[:devices], init(size, lean=False)
    step = make_step(debiased_average, own_count=True, axis_name="devices")

    def cut(leaf):
        return leaf.reshape(devices, len(leaf) // devices, *leaf.shape[1:])

    place = jax.pmap(lambda tree: tree, devices=used)
    copies = jax.pmap(lambda _, tree: tree, in_axes=(0, None), devices=used)
    return Contender(
        lambda: copies(np.arange(devices), initial),
        jax.pmap(step, "devices", out_axes=(0, None), devices=used, donate_argnums=0),
        [place(jax.tree.map(cut, batch)) for batch in problem.batches(size)],
        jax.block_until_ready,
    )


def setup_mesh(size: Size, devices: int = 1, manual: bool = False) -> Contender:
    mesh = Mesh(np.array(jax.devices()[:devices]), ("devices",))
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("devices"))
    initial = init(size, lean=False)
    step = make_step(debiased_average, True, "devices" if manual else None)
    if manual:
        step = jax.shard_map(
            step, mesh=mesh, in_specs=(P(), P("devices")), out_specs=(P(), P()), check_vma=False
        )
    run = jax.jit(
        step, in_shardings=(copies, rows), out_shardings=(copies, copies), donate_argnums=0
    )
    return Contender(
        lambda: jax.device_put(jax.tree.map(jnp.copy, initial), copies),
        run,
        [jax.device_put(batch, rows) for batch in problem.batches(size)],
        jax.block_until_ready,
    )


def setup_shard_map(size: Size, devices: int = 1) -> Contender:
    return setup_mesh(size, devices, manual=True)
