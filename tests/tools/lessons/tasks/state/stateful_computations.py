# %% 1
@jax.jit
def ticket_and_resets(state):
    n, resets = state
    return n, (n + 1, resets)


@jax.jit
def reset_and_count(state):
    _, resets = state
    return None, (jnp.int32(1), resets + 1)


state = jnp.int32(1), jnp.int32(0)
for call in [ticket_and_resets] * 3 + [reset_and_count] + [ticket_and_resets] * 2:
    _, state = call(state)
says(f"The state is `({state[0]}, {state[1]})`")


# %% 2
def steps(state, number):
    for _ in range(number):
        _, state = step(state, x, y)
    return state


saved = steps((jnp.zeros(2), jnp.zeros(2)), 10)
params, again = steps(saved, 5)[0], steps(saved, 5)[0]
assert (params == again).all()
fresh = steps((saved[0], jnp.zeros(2)), 5)[0]
says(f"the intercept differs by {abs(fresh[1] - params[1]):.2f}")
# %% 3
traces = []


def noted(n):
    traces.append(n)
    return ticket(n)


count, state, outputs = jax.jit(noted), 1, []
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
