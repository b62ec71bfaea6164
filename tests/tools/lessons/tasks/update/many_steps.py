# %% 1
def keep_larger(largest, x):
    largest = jnp.maximum(largest, x)
    return largest, largest


last, outputs = jax.lax.scan(keep_larger, jnp.int32(0), jnp.array([3, 1, 4, 1, 5]))
says(f"The outputs are {', '.join(map(str, outputs.tolist()))}", f"the last carry is {last}")
# %% 2
rerun("pair, update, start = make(32)")
run = hs.scan_update(update)
train_state, sizes = start(), []
for chunk in hs.stack_batches(hs.batches(data.train, 16, seed=0), 20):
    train_state, metrics = run(train_state, chunk)
    sizes.append(len(metrics["loss"]))
assert train_state.step == 89
says(f"There are {len(sizes)} calls, the last of which has {sizes[-1]} steps")
says(f"the trace count is {run.trace_count}")
# %% 3
pair, update, start = make(8)
before = len(jax.tree.leaves(start()))
rerun("def make(", {"optax.sgd(0.1)": "optax.adam(0.01)"})
pair, update, start = make(8)
after = len(jax.tree.leaves(start()))
says(f"Adam adds {after - before} leaves to the train state, which then has {after}")
per_step = measure(
    {
        "loop": loop(hs.jit_update(update), on_device),
        "scan": loop(hs.scan_update(update), [whole]),
    },
    start,
)
for name, us in per_step.items():
    print(f"{name} {us:.0f} µs")
