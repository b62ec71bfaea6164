"""Quiz: where to go next

quiz, 7 min, beyond/five_ways#what-threaded-state-can-do

Five short programs: what does each of them return? Set `first` to what `one()` returns, `second` to
what `two()` returns, and so on. Read them first; you may run them afterwards.

- For each program: which value does each call get, and what is assigned to a name afterwards?
- Look at the names on the left of each `=`: a value that is called `_new` is not used again. Also
  look for two names of the same object.
- In `one`, the variable `state` is set once. In `three`, `other` is the ref, and `saved` is a
  number. In `four`, a linear layer has two params and no state.
"""

# %%
# Read the five programs and work out what each of them returns.
import haiku as hk
import jax
import jax.numpy as jnp


def count(state):
    return state + 1, state + 1


def one():
    state, outputs = jnp.int32(0), []
    for _number in range(3):
        output, _new = jax.jit(count)(state)
        outputs.append(int(output))
    return outputs


def two():
    _old, state = count(jnp.int32(0))
    count(state)
    output, _new = count(state)
    return int(output)


def three():
    # A ref needs a newer JAX, but you can read this program with any version.
    ref = jax.new_ref(jnp.int32(0))
    other, saved = ref, ref[...]
    ref[...] = ref[...] + 1
    return [int(other[...]), int(saved)]


def four():
    pair = hk.transform_with_state(lambda x: hk.Linear(1)(x))
    params, state = pair.init(jax.random.key(0), jnp.ones(3))
    jaxpr = jax.make_jaxpr(pair.apply)(params, state, None, jnp.ones(3))
    return [len(jaxpr.in_avals), len(jaxpr.out_avals)]


def five():
    def forward(x):
        return hk.ExponentialMovingAverage(0.5, name="ema")(x)

    pair = hk.transform_with_state(forward)
    params, state = pair.init(None, 0.0)
    _output, state = pair.apply(params, state, None, 8.0)
    return [float(state["ema"][name]) for name in ("hidden", "average")]


# Replace each None with the value that the program returns.
#: first = None
#: second = None
#: third = None
#: fourth = None
#: fifth = None
# <solution>
first = [1, 1, 1]
second = 2
third = [1, 0]
fourth = [3, 1]
fifth = [4.0, 8.0]
# </solution>


# %% setup
from haiku_state.compat import has_new_ref


# %% check `first`: a loop and its state; once; forgotten state
def check(answer):
    return answer.first


def truth(right):
    return right.one()


# %% check `second`: one state, used twice; once; state is a value
def check(answer):
    return answer.second


def truth(right):
    return right.two()


# %% check `third`: a ref, its second name, and what was read; once; second name
def check(answer):
    return answer.third


def truth(right):
    return right.three() if has_new_ref() else [1, 0]


# %% check `fourth`: how many arrays go in, and how many come out; once; arrays of jit
def check(answer):
    return answer.fourth


def truth(right):
    return right.four()


# %% check `fifth`: the two averages after one step; once; hidden average
def check(answer):
    return answer.fifth


def truth(right):
    return right.five()


# %% idea forgotten state; beyond/five_ways#plain-jax
# A call by itself changes nothing. If the loop does not keep what one call returns, it cannot pass
# it to the next call.
first = [1, 2, 3]

# %% idea state is a value
# A state that was kept does not change, however often it has been used since.
second = 3

# %% idea second name; beyond/five_ways#what-a-ref-can-do
# A second name for a ref refers to the same memory. What was read from the ref is a value, which no
# longer changes.
third = [0, 0]

# %%
third = [1, 1]

# %% idea arrays of jit; beyond/five_ways#what-jit-sees
# Count leaves: each array of params and state goes in, and so does the input. The output and the
# state come out. A tree without leaves and a None count as nothing, and `apply` does not return
# params.
fourth = [4, 2]

# %% idea hidden average; beyond/moving_to_nnx#the-built-in-layers
# Haiku keeps two averages. One of them starts at zero and is biased towards zero, but the other is
# corrected for that start; evaluation reads the corrected average.
fifth = [4.0, 4.0]

# %% right a tuple and integers
first, fifth = (1, 1, 1), [4, 8]
