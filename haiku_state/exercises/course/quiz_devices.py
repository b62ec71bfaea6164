"""Quiz: steps and devices

quiz, easy, 8 min, update/pmapped_update#check-yourself

Read the six short programs, and set the name below each of them (`first` to `sixth`) to the value
that the program returns: numbers, and a string for the last program. Think before you run anything.
`mapped` is `jax.pmap`.

- When does Python run each line: once while it is traced, or in each call?
- For the programs on devices, write down what each device has before the exchange: its row, its
  key, its count.
- A weak type is replaced after the first call, a donated array is deleted no matter which name
  refers to it, and `pmean` averages what each device has computed up to that point.
"""

# %%
# Read each program and set the name below it to the value that the program
# returns. There are four devices.
import jax
import jax.numpy as jnp


def traces_of_a_sum():
    traces = []

    @jax.jit
    def add(total, loss):
        traces.append("add")
        return total + loss

    total = 0.0
    for loss in jnp.array([3.0, 2.0, 1.0, 0.5]):
        total = add(total, loss)
    return len(traces)


#: first = None
# <solution>
first = 2
# </solution>


def deleted_arrays():
    step = jax.jit(lambda params: 0.9 * params, donate_argnums=0)
    params = jnp.ones(3)
    alias = params
    copy = jnp.copy(params)
    step(params)
    return sum(array.is_deleted() for array in (params, alias, copy))


#: second = None
# <solution>
second = 2
# </solution>


def traces_of_a_scan():
    traces = []

    def add(total, loss):
        traces.append("add")
        return total + loss, total

    jax.lax.scan(add, jnp.float32(0), jnp.ones(10))
    return len(traces)


#: third = None
# <solution>
third = 1
# </solution>


def variance(row):
    return jax.lax.pmean(jnp.var(row), "devices")


def mean_variance(mapped=jax.pmap):
    rows = jnp.array([[1.0, 1.0], [3.0, 3.0], [5.0, 5.0], [7.0, 7.0]])
    return float(mapped(variance, axis_name="devices")(rows)[0])


#: fourth = None
# <solution>
fourth = 0.0
# </solution>


def draw(rng, x):
    return x + jax.random.normal(rng)


def different_draws(mapped=jax.pmap):
    rng = jax.random.key(0)
    draws = mapped(draw, in_axes=(None, 0))(rng, jnp.zeros(4))
    return len(jnp.unique(draws))


#: fifth = None
# <solution>
fifth = 1
# </solution>


def average(counter):
    return jax.lax.pmean(counter, "devices")


def dtype_of_a_count(mapped=jax.pmap):
    counters = jnp.array([5, 5, 5, 5], jnp.int32)
    return str(mapped(average, axis_name="devices")(counters).dtype)


#: sixth = None
# <solution>
sixth = "float32"
# </solution>


# %% check `first` is the number of traces of the sum; once
def check(answer):
    return answer.first


def truth(right):
    return right.traces_of_a_sum()


# %% check `second` is the number of deleted arrays; once
def check(answer):
    return answer.second


def truth(right):
    return right.deleted_arrays()


# %% check `third` is the number of traces of the body of the scan; once
def check(answer):
    return answer.third


def truth(right):
    return right.traces_of_a_scan()


# %% check `fourth` is the mean of the four variances; once
def check(answer):
    return answer.fourth


def truth(right):
    return right.mean_variance()


# %% check `fifth` is the number of different draws on the four devices; once
def check(answer):
    return answer.fifth


def truth(right):
    return right.different_draws()


# %% check `sixth` is the dtype of the mean of the count; once
def check(answer):
    return answer.sixth


def truth(right):
    return right.dtype_of_a_count()


# %% idea weak start; update/jitted_update#python-numbers-and-weak-types
# A function is traced once for each type of its arguments, and the type of a Python number is weak.
# Follow the type of `total` from call to call.
first = 1

# %% idea alias; update/jitted_update#the-old-train-state-is-gone
# A call donates an array, not a name, so an array that has two names is deleted under both. How
# many arrays are there, and which names refer to them?
second = 1

# %% idea one body; update/many_steps#why-not-unroll-the-loop
# The loop of a scan runs in the compiled program. The Python code of the body runs only while it is
# traced, not in each iteration.
third = 10

# %% idea variance between; update/meshes#fixing-it-afterwards
# Each device computes the variance around the mean of its own row, and only then do the devices
# exchange anything. What does a device know about the rows of the other devices at that point?
fourth = 5.0

# %% idea one key; update/pmapped_update#one-key-per-device
# The numbers depend only on the key. Which device has which key?
fifth = 4

# %% idea mean of counts
# A mean is a sum divided by a number. Which dtype does such a quotient have?
sixth = "int32"
