# %% 1
class Counter(Counter):
    def __init__(self):
        super().__init__()
        self.resets = 0

    def reset(self):
        super().reset()
        self.resets += 1


init, count, reset = hs.functionalize(Counter)
state = init()
for _ in range(3):
    _, state = jax.jit(count)(state)
_, state = jax.jit(reset)(state)
for _ in range(2):
    _, state = jax.jit(count)(state)
says(f"`n` = {state.n}", f"`resets` = {state.resets}")


# %% 2
def ticket(state, amount):
    return state, state + amount


state, outputs = jnp.int32(0), []
for amount in [3, 4, 5]:
    output, state = jax.jit(ticket)(state, amount)
    outputs.append(int(output))
says("{}, {} and {}".format(*outputs), f"the state is {state}")
# %% 3
traces = []


class Noted(PureCounter):
    def count(self, n):
        traces.append(n)
        return super().count(n)


count, state, outputs = jax.jit(Noted().count), 0, []
for _ in range(3):
    output, state = count(state)
    assert isinstance(state, jax.Array)
    outputs.append(int(output))
assert len(traces) == 1
says("{}, {}, {} with one trace".format(*outputs))
# %% 4
if has_refs:
    rolled = RefCounter()
    count = jax.jit(rolled.count)
    outputs = [int(count())]
    kept, kept_ref = rolled.n[...], rolled.n
    outputs += [int(count()), int(count())]
    assert kept_ref[...] == 3  # the ref itself has moved on
    rolled.n[...] = kept
    outputs.append(int(count()))
    says(", ".join(map(str, outputs)))
