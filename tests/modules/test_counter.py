import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs

COUNTER = hk.transform_with_state(lambda: hs.Counter()())


def test_counter__starts_at_zero_and_counts_each_call():
    params, state = COUNTER.init(None)
    assert params == {}
    assert state == {"counter": {"count": 0}}
    for expected in (1, 2, 3):
        count, state = COUNTER.apply(params, state, None)
        assert (count, state) == (expected, {"counter": {"count": expected}})


def test_counter__the_same_state_gives_the_same_count():
    params, state = COUNTER.init(None)
    assert [COUNTER.apply(params, state, None)[0] for _ in range(3)] == [1, 1, 1]


def test_counter__one_instance_called_twice_counts_twice():
    def twice():
        counter = hs.Counter()
        return counter(), counter()

    pair = hk.transform_with_state(twice)
    params, state = pair.init(None)
    assert pair.apply(params, state, None) == ((1, 2), {"counter": {"count": 2}})


def test_counter__two_instances_count_for_themselves():
    pair = hk.transform_with_state(lambda: (hs.Counter()(), hs.Counter("other")()))
    params, state = pair.init(None)
    counts, state = pair.apply(params, state, None)
    assert counts == (1, 1)
    assert set(state) == {"counter", "other"}


def test_counter__counts_in_a_compiled_loop():
    params, state = COUNTER.init(None)

    def call(state, _):
        count, state = COUNTER.apply(params, state, None)
        return state, count

    state, counts = jax.lax.scan(call, state, None, length=5)
    assert counts.tolist() == [1, 2, 3, 4, 5]
    assert counts.dtype == jnp.int32
