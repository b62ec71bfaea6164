import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

import haiku_state as hs

PAIR = hk.transform_with_state(lambda x: hs.Classifier([4], 3)(x, is_training=True))
INPUTS = jnp.ones((8, 5))


def make(seed=0):
    return hs.init_train_state(PAIR.init, optax.sgd(0.1, 0.9), jax.random.key(seed), INPUTS)


def test_holds_what_init_and_the_optimizer_gave():
    keys = []

    def init(rng, *inputs):
        keys.append(jax.random.key_data(rng))
        return PAIR.init(rng, *inputs)

    train_state = hs.init_train_state(init, optax.sgd(0.1, 0.9), jax.random.key(0), INPUTS)
    params, state = PAIR.init(jax.random.wrap_key_data(keys[0]), INPUTS)
    expected = (params, state, optax.sgd(0.1, 0.9).init(params))
    jax.tree.map(np.testing.assert_array_equal, train_state[:3], expected)


def test_the_key_of_init_the_carried_key_and_the_given_key_differ():
    keys = [jax.random.key_data(jax.random.key(0)), jax.random.key_data(make().rng)]
    hs.init_train_state(
        lambda rng: (keys.append(jax.random.key_data(rng)), {}), optax.sgd(0.1), jax.random.key(0)
    )
    assert len({tuple(key.tolist()) for key in keys}) == 3


def test_starts_at_step_zero_of_dtype_int32():
    step = make().step
    assert (step, step.shape, step.dtype) == (0, (), jnp.int32)


def test_the_seed_decides():
    jax.tree.map(
        np.testing.assert_array_equal, make()._replace(rng=None), make()._replace(rng=None)
    )
    one, other = (make(seed).params["classifier/linear"]["w"] for seed in (0, 1))
    assert not np.allclose(one, other)


def test_is_a_pytree_with_named_paths():
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(make())]
    assert ".step" in paths
    assert ".params['classifier/linear']['w']" in paths
    assert ".state['classifier/batch_norm/~/mean_ema']['average']" in paths
