# %% 1
def count_by_scan():
    counter = hs.Counter()
    _, outputs = hk.scan(lambda carry, _: (carry, counter()), None, None, 7)
    return outputs


counting = hs.pure_pair(count_by_scan)
_, counter_state = counting.init(None)
outputs, after = counting.apply({}, counter_state, None)
assert outputs.tolist() == list(range(1, 8))
says(f"the outputs are {outputs[0]} to {outputs[-1]}")
says(f"the count is {after['counter']['count']}")


def count_by_fori_loop():
    counter = hs.Counter()
    return hk.fori_loop(0, 7, lambda i, last: counter(), jnp.int32(0))


counting = hs.pure_pair(count_by_fori_loop)
_, counter_state = counting.init(None)
last, after = counting.apply({}, counter_state, None)
assert last.shape == ()
assert after["counter"]["count"] == last
says(f"only the last count, {last}")
# %% 2
batches = jax.random.normal(jax.random.key(3), (4, 8, 3))


def normalize_by_scan(batches):
    layer = hs.BatchNorm(False, False, 0.9)
    return hk.scan(lambda carry, b: (carry, layer(b, True)), None, batches)[1]


def normalize_by_loop(batches):
    layer = hs.BatchNorm(False, False, 0.9)
    return jnp.stack([layer(batch, True) for batch in batches])


ends = []
for function in (normalize_by_scan, normalize_by_loop):
    two = hs.pure_pair(function)
    _, first = two.init(None, batches)
    outputs, end = two.apply({}, first, None, batches)
    ends.append(end)
apart = jax.tree.map(lambda a, b: float(abs(a - b).max()), *ends)
assert max(jax.tree.leaves(apart)) < 1e-6
says("The two states agree to within 1e-6")
counters = [leaf for path in ends[0].values() for name, leaf in path.items() if name == "counter"]
assert len(counters) == 2
for counter in counters:
    says(f"every `counter` is {counter}")
