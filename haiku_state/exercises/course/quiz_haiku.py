"""Quiz: modules and their state

quiz, easy, 8 min, haiku/index#haiku-the-plumbing-done-for-you

Predict what each of the six programs returns, and set `first` to `sixth` to these numbers. Think
first; then you may also run the programs.

- For each program: which state goes into the last call, and which key?
- Look at the names to the left of each `=`. A result that is assigned to `_` is lost, and a name
  that is used twice is the same value twice.
- Go through a program line by line and write down the count in the state after each call to `init`
  and `apply`.
"""

# %%
# Before you run the six programs, write down what each of them returns. All
# answers are whole numbers.
import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs


def count_twice():
    counter = hs.Counter()
    counter()
    return counter()


def first_program():
    _, state = hs.pure_pair(count_twice).init(None)
    return state["counter"]["count"]


def second_program():
    pair = hs.pure_pair(count_twice)
    _, state = pair.init(None)
    _, later = pair.apply({}, state, None)
    _, _ = pair.apply({}, later, None)
    output, _ = pair.apply({}, later, None)
    return output


def third_program():
    def count():
        counters = [hs.Counter() for _ in range(3)]
        counters[0]()
        counters[1]()
        return counters[0]()

    _, state = hk.transform_with_state(count).init(None)
    return len(state)


def fourth_program():
    norm = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9)
    x = jnp.array([[1.0], [3.0]])
    _, state = norm.init(None, x, is_training=True)
    for is_training in [True, True, False, False]:
        _, state = norm.apply({}, state, None, x, is_training=is_training)
    return state["batch_norm/~/mean_ema"]["counter"]


def fifth_program():
    def drop(x):
        return hs.Counter()(), hk.dropout(hk.next_rng_key(), 0.5, x)

    pair, masks = hs.pure_pair(drop), set()
    rng, x = jax.random.key(0), jnp.ones(64)
    _, state = pair.init(rng, x)
    for _ in range(3):
        (_, output), state = pair.apply({}, state, rng, x)
        masks.add(tuple(output.tolist()))
    return len(masks)


def sixth_program():
    def count_in_a_loop():
        counter = hs.Counter()
        _, counts = jax.lax.scan(lambda _, x: (_, counter()), None, length=3)
        return counts[-1]

    pair = hk.transform_with_state(count_in_a_loop)
    output, _ = pair.apply({}, {"counter": {"count": jnp.int32(5)}}, None)
    return output


#: first = None
#: second = None
#: third = None
#: fourth = None
#: fifth = None
#: sixth = None
# <solution>
first = 0
second = 4
third = 2
fourth = 2
fifth = 1
sixth = 6
# </solution>


# %% check `first` is the count in the state that `init` returns; once
def check(answer):
    return answer.first


def truth(right):
    return right.first_program()


# %% check `second` is the output of the last call; once
def check(answer):
    return answer.second


def truth(right):
    return right.second_program()


# %% check `third` is the number of paths in the state; once
def check(answer):
    return answer.third


def truth(right):
    return right.third_program()


# %% check `fourth` is the counter after two batches in each mode; once
def check(answer):
    return answer.fourth


def truth(right):
    return right.fourth_program()


# %% check `fifth` is the number of different outputs of the dropout; once
def check(answer):
    return answer.fifth


def truth(right):
    return right.fifth_program()


# %% check `sixth` is the last count of the loop; once
def check(answer):
    return answer.sixth


def truth(right):
    return right.sixth_program()


# %% idea initial state; haiku/pure_pair#check-yourself
# `init` runs the function to find out which params and state are needed. Does the returned state
# hold the values before this run or after it?
first = 2

# %% idea threaded state; haiku/pure_pair#hktransform_with_state-makes-the-pair
# A call to `apply` continues from the state that is passed to it, whatever other calls there were.
# Follow the name of the state from line to line.
second = 6

# %% idea paths; haiku/pure_pair#where-the-names-in-params-and-state-come-from
# The state has a path for each instance that has asked for state. Calling an instance twice creates
# no second path, and an instance that is never called asks for nothing.
third = 3

# %% idea two modes; haiku/batch_norm#training-and-evaluation
# Only one of the two modes updates the running statistics, and `init` does not update them.
fourth = 3

# %% idea key is not state; haiku/randomness#same-key-same-mask
# Within a run, Haiku splits the key that is passed in. The state does not hold this key, so the
# masks of a run depend only on the key with which the run is called.
fifth = 3

# %% idea baked-in state; haiku/jax_inside_haiku#calling-a-module-in-a-loop
# `jax.lax.scan` traces the body once, as a function of its carry and its input. The state of the
# module is neither of the two, so it does not change from one iteration to the next.
sixth = 8

# %% right the numbers alone
first, second, third, fourth, fifth, sixth = 0, 4, 2, 2, 1, 6
