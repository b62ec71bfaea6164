"""What six programs about compiled steps and devices return."""

# Read each program, and set the name below it to the value that the program
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


# The exercise
from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea

WEAK_START = Idea(
    "weak start",
    _(
        "A function is traced once for each type of its arguments, and the type of a Python number "
        "is weak. Follow the type of `total` from call to call."
    ),
    "update/jitted_update#python-numbers-and-weak-types",
)
ALIAS = Idea(
    "alias",
    _("Donation takes an array, and not a name. How many arrays are there, and who holds them?"),
    "update/jitted_update#the-old-train-state-is-gone",
)
WRITTEN_ONCE = Idea(
    "one body",
    _(
        "The loop of a scan is in the compiled program. Python runs while the program is written "
        "down, and not in each iteration."
    ),
    "update/many_steps#why-not-unroll-the-loop",
)
BETWEEN = Idea(
    "variance between",
    _(
        "Each device computes the variance around the mean of its own row, and only then is there "
        "an exchange. What does a device know about the rows of the others at that point?"
    ),
    "update/pmapped_update#fixing-it-afterwards",
)
ONE_KEY = Idea(
    "one key",
    _("What is drawn depends on the key alone. Which device has which key?"),
    "update/pmapped_update#one-key-per-device",
)
COUNTS = Idea(
    "mean of counts",
    _("A mean is a sum divided by a number. Which dtype does such a quotient have?"),
    "update/pmapped_update#check-yourself",
)

EXERCISE = Exercise(
    title=_("Quiz: steps and devices"),
    statement=_(
        "Six short programs. For each, set the name below it (`first` to `sixth`) to the value "
        "that the program returns: numbers, and a string for the last one. Think before you run "
        "anything. `mapped` is `jax.pmap`."
    ),
    lesson="update/pmapped_update#check-yourself",
    kind="quiz",
    minutes=8,
    hints=(
        _("When does Python run each line: once while it is traced, or in each call?"),
        _(
            "For the programs on devices, write down what each device has before the exchange: "
            "its row, its key, its count."
        ),
        _(
            "A weak type is replaced after the first call, a donated array is gone under all of "
            "its names, and `pmean` averages whatever each device has computed until then."
        ),
    ),
    checks=(
        Check(
            _("Traces of a sum"),
            play=lambda answer: answer.first,
            expected=traces_of_a_sum,
            idea=WEAK_START,
            draws=1,
        ),
        Check(
            _("Deleted arrays"),
            play=lambda answer: answer.second,
            expected=deleted_arrays,
            idea=ALIAS,
            draws=1,
        ),
        Check(
            _("Traces of a scan"),
            play=lambda answer: answer.third,
            expected=traces_of_a_scan,
            idea=WRITTEN_ONCE,
            draws=1,
        ),
        Check(
            _("The mean of four variances"),
            play=lambda answer: answer.fourth,
            # the checker may have one device, on which vmap computes the same
            expected=lambda: mean_variance(jax.vmap),
            idea=BETWEEN,
            draws=1,
        ),
        Check(
            _("Draws on four devices"),
            play=lambda answer: answer.fifth,
            expected=lambda: different_draws(jax.vmap),
            idea=ONE_KEY,
            draws=1,
        ),
        Check(
            _("The mean of a count"),
            play=lambda answer: answer.sixth,
            expected=lambda: dtype_of_a_count(jax.vmap),
            idea=COUNTS,
            draws=1,
        ),
    ),
)
