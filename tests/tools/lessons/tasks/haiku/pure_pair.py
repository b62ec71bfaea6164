# %% 1
average = hs.pure_pair(hs.MovingAverage)
params, state = average.init(None, jnp.float32(0))
averages = []
for x in [2.0, 4.0, 6.0, 8.0, 10.0]:
    output, state = average.apply(params, state, None, jnp.float32(x))
    averages.append(f"{output:.0f}")
[leaves] = state.values()
says(f"The averages are {', '.join(averages)},")
says(f"the sum {leaves['sum']:.0f} and the count {leaves['count']}.")

# %% 2
rerun(
    "def two_counters",
    {"first, second = hs.Counter(), hs.Counter()": "first = second = hs.Counter()"},
)
says("returns {} and {},".format(*outputs))
[path] = state
says(f"the state has only the path `{path}`.")


# %% 3
def shared_counter(read_count):
    def build():
        counter = hs.Counter()

        def tick():
            return counter()

        def read():
            return read_count(counter)

        return tick, (tick, read)

    multi = hk.multi_transform_with_state(build)
    tick, read = multi.apply
    params, state = multi.init(None)
    for _ in range(3):
        _, state = tick(params, state, None)
    return read(params, state, None)


naive = 'hk.get_state("count", (), jnp.int32, jnp.zeros)'
says(naive)
count, state = shared_counter(lambda counter: eval(naive))
paths = " and ".join(f"`{path}`" for path in state)
says(f"the value is {count}, and the state has the paths {paths}.")
found, state = shared_counter(lambda counter: counter.state_dict())
[(name, count)] = found.items()
[path] = state
says(f"`{name}` is {count}, and the state has only the path `{path}`.")
