# %% 1
def three_calls():
    pair = transform_with_state(count_calls(ours))
    params, state = pair.init(None)
    return " ".join(str(pair.apply(params, state, None)[0]) for _ in range(3))


with_copy = three_calls()
rerun("def transform_with_state(f):", {"Frame(params, copy,": "Frame(params, state,"})
without_copy = three_calls()
says(f"the counter returns {with_copy}, and without it {without_copy}.")


# %% 2
def transform(f):
    pair = transform_with_state(f)

    def init(rng, *args):
        return pair.init(rng, *args)[0]

    def apply(params, rng, *args):
        return pair.apply(params, {}, rng, *args)[0]

    return Pair(init, apply)


x = jnp.arange(6.0).reshape(2, 3)
stateless = transform(line(ours))
low, high = stateless.apply(stateless.init(None, x), None, x)
says(f"The two outputs are {low:.0f} and {high:.0f}.")


# %% 3
def fails():
    set_state("count", 7)
    raise RuntimeError("after the count")


def failed_run():
    frames.clear()
    try:
        transform_with_state(fails).init(None)
    except RuntimeError:
        return len(frames)


with_finally = failed_run()
try:
    get_state("count")
    found = "nothing raised"
except IndexError as error:
    found = type(error).__name__
rerun(
    "def run(frame, f, *args, **kwargs):",
    {
        "    try:\n        return f(*args, **kwargs)\n    finally:\n        frames.pop()": (
            "    output = f(*args, **kwargs)\n    frames.pop()\n    return output"
        )
    },
)
without_finally = failed_run()
says(f"`len(frames)` is {without_finally} instead of {with_finally},")
says(f"returns {get_state('count')} instead of raising an `{found}`.")
frames.clear()


# %% 4
def difference(lib):
    def f():
        first = jax.random.normal(lib.next_rng_key(), (3,))
        return first - jax.random.normal(lib.next_rng_key(), (3,))

    return f


assert history(ours, difference)[2].all()
rerun("def next_rng_key():", {"rng[0], key = jax": "_, key = jax"})
zeros = history(ours, difference)[2]
assert (zeros == zeros[0]).all()
says(f"The difference is {zeros[0]:.0f} everywhere")
