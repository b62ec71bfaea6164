"""Haiku: state, attributes of modules, transforms."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


def filled(function, *args):
    """Return arrays of the shapes that a function would return, without compiling it."""

    def fill(leaf):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        return jnp.full(leaf.shape, 1 if leaf.ndim else 0, leaf.dtype)

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        return jax.tree.map(fill, jax.eval_shape(function, *args))


matrix = jnp.ones((4, 3))
key = jax.random.key(0)


def _summed(x):
    class Sum(hk.Module):
        def __call__(self, x):
            total = hk.get_state("total", (), init=jnp.zeros)

            def body(carry, value):
                carry = carry + value
                hk.set_state("total", carry)  # finds: leak hk.set_state('total')
                return carry, None

            return jax.lax.scan(body, total, x)[0]

    return Sum()(x)


@impure.made({}, {"sum": {"total": jnp.zeros(())}}, None, x)
def haiku_set_state_in_scan():
    return hk.transform_with_state(_summed).apply


impure.MAY_RAISE.add("haiku_set_state_in_scan")  # the returned state holds a tracer of the scan


@impure.made({}, {}, None, x)
def haiku_attribute_in_scan():
    class Walk(hk.Module):
        def __call__(self, x):
            def body(carry, value):
                self.last = carry  # finds: leak self.last
                return carry + value, None

            total, _ = jax.lax.scan(body, 0.0, x)
            return total + self.last

    return hk.transform_with_state(lambda x: Walk()(x)).apply


impure.MAY_RAISE.add("haiku_attribute_in_scan")  # the call uses a tracer of the scan


@impure.made({}, {}, None, x)
def haiku_set_state_in_vmap():
    class Norm(hk.Module):
        def __call__(self, x):
            def one(value):
                hk.set_state("last", value)  # finds: leak hk.set_state('last')
                return value * 2

            return jax.vmap(one)(x)

    return hk.transform_with_state(lambda x: Norm()(x)).apply


impure.MAY_RAISE.add("haiku_set_state_in_vmap")
features = []


@impure.made({"linear": {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}}, None, jnp.ones((1, 3)))
def haiku_module_keeps_an_activation():
    def network(x):
        h = hk.Linear(2)(x)
        features.append(h)  # finds: leak features[...]
        return h

    return hk.transform(network).apply


@impure.made({}, None, x)
def haiku_module_counts_in_its_class():
    class Layer(hk.Module):
        calls = 0

        def __call__(self, x):
            Layer.calls += 1  # finds: mutation Layer.calls
            return x

    return hk.transform(lambda x: Layer()(x)).apply


@impure.made({}, None, x)
def haiku_module_draws_from_numpy():
    class Noise(hk.Module):
        def __call__(self, x):
            return x + np.random.uniform()  # finds: hidden input np.random.uniform

    return hk.without_apply_rng(hk.transform(lambda _, x: Noise()(x))).apply


@impure.made({}, None, x)
def haiku_print_in_init_and_call():
    class Layer(hk.Module):
        def __init__(self, name=None):
            super().__init__(name)
            print("made", self.module_name)  # finds: output print

        def __call__(self, x):
            return x

    return hk.transform(lambda x: Layer()(x)).apply


def _transformed(function, *args):
    """Return a pair, with params and state of ones."""
    pair = hk.transform_with_state(function)
    return pair, *filled(pair.init, key, *args)


mlp = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([4, 2])(x)))
mlp_params = filled(mlp.init, key, matrix)
pure.add("haiku_mlp_apply", mlp.apply, mlp_params, matrix)
pure.add("haiku_mlp_init", mlp.init, key, matrix)


class Tally(hk.Module):
    """Counts its calls in Haiku's state."""

    def __call__(self, x):
        n = hk.get_state("n", (), init=jnp.zeros)
        hk.set_state("n", n + 1)
        return x * n


tally, *tally_trees = _transformed(lambda x: Tally()(x), x)
pure.add("haiku_get_and_set_state", tally.apply, *tally_trees, None, x)
pure.add("haiku_state_init", tally.init, None, x)
pure.add("haiku_apply_jitted", jax.jit(tally.apply), *tally_trees, None, x)


def _normalized(x):
    return hk.BatchNorm(True, True, 0.9)(hk.Linear(3)(x), is_training=True)


norm, *norm_trees = _transformed(_normalized, matrix)
pure.add("haiku_batch_norm", norm.apply, *norm_trees, None, matrix)
pure.add("haiku_batch_norm_init", norm.init, key, matrix)


@pure.made(*norm_trees, matrix)
def haiku_train_step():
    def loss_fn(params, state, x):
        y, state = norm.apply(params, state, None, x)
        return (y**2).mean(), state

    def step(params, state, x):
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state

    return step


def _unrolled(x):
    core = hk.LSTM(4)
    return hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))[0]


lstm, *lstm_trees = _transformed(_unrolled, jnp.ones((5, 2, 3)))
pure.add("haiku_lstm", lstm.apply, *lstm_trees, None, jnp.ones((5, 2, 3)))


def _dropped(x):
    return hk.dropout(hk.next_rng_key(), 0.5, x) + jax.random.normal(hk.next_rng_key(), x.shape)


dropout = hk.transform(_dropped)
pure.add("haiku_next_rng_key", dropout.apply, {}, key, x)


def _scanned(x):
    tally = Tally()
    start = tally(x[0])  # hk.scan wants the state to exist before

    def body(carry, value):
        return carry + tally(value), None

    return hk.scan(body, start, x)[0]


scanned, *scanned_trees = _transformed(_scanned, x)
pure.add("haiku_scan", scanned.apply, *scanned_trees, None, x)


def _mapped(x):
    return hk.vmap(hk.Linear(2), split_rng=not hk.running_init())(x)


mapped, *mapped_trees = _transformed(_mapped, matrix)
pure.add("haiku_vmap", mapped.apply, *mapped_trees, key, matrix)


def _rematerialized(x):
    block = hk.Linear(3)
    return hk.remat(lambda value: jnp.tanh(block(value)))(x)


remat, *remat_trees = _transformed(_rematerialized, matrix)
pure.add("haiku_remat", remat.apply, *remat_trees, None, matrix)


class Caching(hk.Module):
    """Keeps its input and a count in attributes, of a module that each call makes anew."""

    def __init__(self, name=None):
        super().__init__(name)
        self.calls, self.history = 0, []

    def __call__(self, x):
        self.cache = x
        self.calls += 1
        self.history.append(self.cache)
        return sum(self.history) * self.calls


def _cached_twice(x):
    module = Caching()
    return module(x) + module(x)


pure.add("haiku_attribute_of_a_module", hk.transform(_cached_twice).apply, {}, None, x)


def _control_flow(x):
    linear = hk.Linear(3)
    y = hk.cond(x.sum() > 0, linear, lambda value: value, linear(x))
    return hk.fori_loop(0, 2, lambda _, value: value * 2, y)


control, *control_trees = _transformed(_control_flow, x)
pure.add("haiku_control_flow", control.apply, *control_trees, None, x)


def _intercepted(x):
    seen = []

    def interceptor(next_f, args, kwargs, context):
        seen.append(context.method_name)
        return next_f(*args, **kwargs)

    with hk.intercept_methods(interceptor):
        y = hk.Linear(2)(x)
    return y * len(seen)


intercepted, *intercepted_trees = _transformed(_intercepted, matrix)
pure.add("haiku_interceptor", intercepted.apply, *intercepted_trees, None, matrix)


def _lifted(x):
    inner = hk.transform(lambda value: hk.Linear(2)(value))
    init = hk.lift(inner.init, name="lifted")
    params = init(hk.next_rng_key() if hk.running_init() else None, x)
    return inner.apply(params, None, x)


lifted, *lifted_trees = _transformed(_lifted, matrix)
pure.add("haiku_lift", lifted.apply, *lifted_trees, None, matrix)


@pure(mlp_params)
def haiku_data_structures(params):
    wide, narrow = hk.data_structures.partition(lambda _, name, __: name == "w", params)
    return hk.data_structures.merge(wide, narrow)


@pure(x)
def haiku_transform_made_inside(x):
    pair = hk.transform_with_state(lambda value: Tally()(value))
    params, state = pair.init(None, x)
    y, state = pair.apply(params, state, None, x)
    y, state = pair.apply(params, state, None, y)
    return y, state
