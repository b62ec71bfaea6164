# %% 1
class Fading(NamedTuple):
    hidden: jax.Array
    t: jax.Array


@jax.jit
def fade(state, x):
    state = Fading(0.5 * state.hidden + 0.5 * x, state.t + 1)
    return state.hidden / (1 - 0.5**state.t), state


outputs, _ = run(fade, Fading(jnp.float32(0), jnp.int32(0)), [2.0, 4.0, 6.0, 8.0, 10.0])
says("the outputs are " + ", ".join(f"{output:.5g}" for output in outputs))


# %% 2
class Spread(NamedTuple):
    count: jax.Array
    mean: jax.Array
    squares: jax.Array


@jax.jit
def spread(state, x):
    count = state.count + 1
    mean = state.mean + (x - state.mean) / count
    squares = state.squares + (x - state.mean) * (x - mean)
    return squares / count, Spread(count, mean, squares)


empty = Spread(jnp.int32(0), jnp.float32(0), jnp.float32(0))
variances, states = run(spread, empty, [2.0, 4.0, 6.0, 8.0, 10.0])
says("({:.4g}, {:.4g}, {:.4g})".format(*states[-1]), f"variance of {variances[-1]:.4g}.")


# %% 3
class Rolling(NamedTuple):
    x: jax.Array
    velocity: jax.Array


rerun(
    "def descend(x",
    {
        "def descend(x, learning_rate)": "def descend(state, learning_rate)",
        "jax.value_and_grad(f)(x)": "jax.value_and_grad(f)(state.x)",
        "    return value, x - learning_rate * slope": (
            "    velocity = 0.9 * state.velocity + slope\n"
            "    x = state.x - learning_rate * velocity\n"
            "    return value, Rolling(x, velocity)"
        ),
        "run(descend, start, [0.1] * 5)": (
            "run(descend, Rolling(start, jnp.float32(0)), [0.1] * 5)"
        ),
    },
)
first, *rest = [f"{place.x:.5g}" for place in places]
says(", ".join([f"{places[0].x:.1f}", *rest]))
