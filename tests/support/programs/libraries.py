"""This package, Optax, and Equinox."""

import dataclasses
import functools
import importlib.util

import jax
import jax.numpy as jnp
import jmp
import optax
from support.programs.haiku_ import filled, key, matrix, tally, tally_trees
from support.programs.tables import pure

import haiku_state as hs

x = jnp.arange(3.0)
weights = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
adam = optax.adam(1e-3)


def _quadratic(params):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(params))


@pure(weights, adam.init(weights))
def optax_adam(params, opt_state):
    grads = jax.grad(_quadratic)(params)
    updates, opt_state = adam.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state


@pure(weights)
def optax_chain_made_inside(params):
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 10)
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.trace(0.9),
        optax.add_decayed_weights(1e-4),
        optax.scale_by_learning_rate(schedule),
    )
    opt_state = optimizer.init(params)
    for _ in range(2):
        updates, opt_state = optimizer.update(jax.grad(_quadratic)(params), opt_state, params)
        params = optax.apply_updates(params, updates)
    return params


@pure(weights)
def optax_injected_hyperparameters(params):
    optimizer = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)
    opt_state = optimizer.init(params)
    opt_state.hyperparams["learning_rate"] = jnp.float32(0.01)
    updates, opt_state = optimizer.update(params, opt_state, params)
    return updates, opt_state.hyperparams


@pure(weights)
def optax_multi_transform(params):
    optimizer = optax.multi_transform(
        {"train": optax.sgd(0.1), "freeze": optax.set_to_zero()}, {"w": "train", "b": "freeze"}
    )
    return optimizer.update(params, optimizer.init(params), params)[0]


counter = hs.pure_pair(hs.Counter)
pure.add("pure_pair_init", counter.init, None)
pure.add("pure_pair_counter", counter.apply, *counter.init(None), None)
classifier = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
classifier_trees = filled(
    functools.partial(classifier.init, is_training=True), key, jnp.ones((4, 3))
)


@pure(*classifier_trees, matrix)
def pure_pair_batch_norm(params, state, x):
    return classifier.apply(params, state, None, x, is_training=True)


class Ledger:
    def __init__(self):
        self.total = 0.0
        self.entries = [0, 0]

    def add(self, amount):
        self.total = self.total + amount
        self.entries[0] += 1
        return self.total


ledger = hs.functionalize(Ledger, "add")
pure.add("functionalize_init", ledger.init)
pure.add("functionalize_apply", ledger.apply, ledger.init(), jnp.float32(2))


@dataclasses.dataclass
class Ema:
    decay: float = 0.9
    value: float = 0.0
    steps: float = 0.0

    @property
    def corrected(self):
        return self.value / (1 - self.decay ** (self.steps + 1))

    def update(self, x):
        self.value = self.decay * self.value + (1 - self.decay) * x
        self.steps += 1
        return self.value


ema = hs.functionalize(Ema)
pure.add("functionalize_dataclass", ema.update, ema.init(), jnp.float32(2))
pure.add("functionalize_property", ema.corrected, ema.init())
regression = hs.pure_pair(hs.LinearRegression)
batch = {"x": matrix, "y": jnp.ones(4)}
sgd = optax.sgd(0.1)


def _loss_fn(params, state, rng, batch):
    prediction, state = regression.apply(params, state, rng, batch["x"], True)
    return jnp.mean((prediction - batch["y"]) ** 2), (state, {"mean": prediction.mean()})


def _train_state(optimizer):
    def initialized(rng):
        params, state = regression.init(rng, batch["x"], True)
        return hs.TrainState(params, state, optimizer.init(params), rng, jnp.int32(0))

    return filled(initialized, key)


train_state = _train_state(sgd)
pure.add("make_update", hs.make_update(_loss_fn, sgd), train_state, batch)


@pure.made(train_state, jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), batch))
def update_in_a_scan():
    update = hs.make_update(_loss_fn, sgd)
    return lambda train_state, batches: jax.lax.scan(update, train_state, batches)


@pure.made(train_state, batch)
def recipe_accumulate():
    loss_fn = hs.recipes.accumulate(_loss_fn, 2, statistics="each")
    return hs.make_update(loss_fn, sgd)


averaging = hs.recipes.average_params(sgd, 0.9)


@pure.made(_train_state(averaging), batch)
def recipe_average_params():
    update = hs.make_update(_loss_fn, averaging)

    def step(train_state, batch):
        train_state, metrics = update(train_state, batch)
        return hs.recipes.averaged_params(train_state), metrics

    return step


@pure.made(train_state.params, train_state.state, key, batch)
def recipe_mixed_precision():
    def loss_fn(params, state, rng, batch):
        loss = (params["linear_regression"]["w"] * batch["x"][0]).sum()
        return loss, (state, {})

    return hs.recipes.mixed_precision(loss_fn, "params=float32,compute=bfloat16,output=float32")


freezing = hs.recipes.freeze_params(sgd, lambda module, name, value: name == "b")


@pure(weights)
def recipe_freeze_params(params):
    params = {"linear": params}
    return freezing.update(params, freezing.init(params), params)[0]


@pure.made(train_state.params, train_state.state, key, batch)
def recipe_freeze_state():
    def loss_fn(params, state, rng, batch):
        return jnp.float32(0), (jax.tree.map(lambda leaf: leaf + 1, {"m": {"n": x}}), {})

    frozen = hs.recipes.freeze_state(loss_fn, lambda module, name, value: name == "n")
    return lambda params, state, rng, batch: frozen(params, {"m": {"n": x}}, rng, batch)


scaled = hs.recipes.scale_loss(sgd, jmp.DynamicLossScale(jnp.float32(8)))


@pure.made(_train_state(scaled)._replace(state={}), batch)
def recipe_scaled_update():
    def loss_fn(params, state, rng, batch):
        loss = (params["linear_regression"]["w"] * batch["x"][0]).sum()
        return loss, (state, {})

    return hs.recipes.make_scaled_update(loss_fn, scaled)


@pure(*tally_trees)
def check_state(params, state):
    hs.check_state(state, jax.tree.map(lambda leaf: leaf + 1, state))
    return state


@pure(*tally_trees, x)
def checked_apply(params, state, x):
    return hs.checked(tally.apply)(params, state, None, x)


@pure(jnp.ones(4), jnp.array([1.0, 1.0, 1.0, 0.0]))
def example_mean(values, mask):
    return hs.example_mean(values, mask)


if importlib.util.find_spec("equinox"):
    import equinox as eqx

    class Affine(eqx.Module):
        """A module of Equinox: a frozen dataclass that is a PyTree."""

        w: jax.Array
        b: float

        def __call__(self, x):
            return self.w * x + self.b

    @pure(Affine(x, 1.0), x)
    def equinox_module(model, x):
        return eqx.tree_at(lambda model: model.w, model, model.w * 2)(x)

    @pure(x)
    def equinox_layers_made_inside(x):
        layer = eqx.nn.Linear(3, 2, use_bias=False, key=jax.random.key(0))
        return eqx.nn.Sequential([layer, eqx.nn.Lambda(jax.nn.relu)])(x)

    @pure(x)
    def equinox_filtered_gradient(x):
        model = Affine(x, 1.0)
        loss = eqx.filter_value_and_grad(lambda model: (model(x) ** 2).sum())
        return loss(model)

    @pure.made(x)
    def equinox_bound_method():
        return Affine(x, 2.0).__call__
