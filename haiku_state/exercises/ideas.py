"""The ideas that more than one exercise teaches, and what tells them."""

import re

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Idea

MUTATION = Idea(
    "mutation",
    _(
        "A pure function must not change anything outside of itself: under jit, such a change "
        "happens only while the function is traced. Everything that changes must be returned as a "
        "result."
    ),
    "state/stateful_computations#why-it-stopped-counting",
)
HIDDEN_INPUT = Idea(
    "hidden input",
    _(
        "A value from outside is read while jit traces the function and is a constant from then "
        "on. Everything that a result depends on must be passed in as an argument."
    ),
    "pure/thinking_in_jax#a-global-is-baked-in",
)
OUTPUT = Idea(
    "output",
    _(
        "Under jit, a function prints only while it is traced. A value that the caller needs must "
        "be returned as a result."
    ),
    "pure/thinking_in_jax#what-jit-sees",
)
LEAK = Idea(
    "leak",
    _(
        "A tracer is valid only while the function is traced, so a value that is needed afterwards "
        "must be returned as a result."
    ),
    "haiku/jax_inside_haiku#a-leaked-tracer-fails-at-its-next-use",
)
FROZEN_VALUE = Idea(
    "frozen value",
    _(
        "A value that a function reads from outside becomes a constant in the compiled program. A "
        "value that may change must be passed in as an argument."
    ),
    "pure/thinking_in_jax#a-global-is-baked-in",
)
REFERENCE = Idea(
    "reference",
    _(
        "A ref is changed in place, but here the state must be passed in as an argument and "
        "returned as a result."
    ),
    "state/stateful_computations#the-other-way-a-ref",
)
CHANGED_ARGUMENT = Idea(
    "changed argument",
    _(
        "An argument was changed, although it belongs to the caller. A pure function must leave "
        "its arguments as they are and return new values."
    ),
    "state/stateful_computations#the-state-as-an-argument-and-a-result",
)
NOT_REPEATABLE = Idea(
    "not repeatable",
    _(
        "Two calls with the same arguments gave different results, so the result also depends on "
        "something else. It must depend only on the arguments."
    ),
    "state/stateful_computations#the-state-as-an-argument-and-a-result",
)
JIT_DIFFERS = Idea(
    "jit differs",
    _(
        "The function behaves differently when it is compiled. jit records only operations on "
        "arrays, so whatever must happen in every call should be such an operation."
    ),
    "pure/thinking_in_jax#what-jit-sees",
)
STATIC_VALUE = Idea(
    "static value",
    _(
        "The value of a static argument becomes part of the compiled program, so it must be "
        "hashable, which an array is not, and every new value needs another compilation. A value "
        "that changes from call to call should not be static."
    ),
    "update/jitted_update#the-learning-rate-is-not-a-static-argument",
)
NOT_TRACEABLE = Idea(
    "not traceable",
    _(
        "The function cannot be traced because Python needs the value of a tracer, which has only "
        "a shape and a dtype. Python code must depend only on values that are known during tracing."
    ),
    "pure/thinking_in_jax#an-if-on-an-argument",
)
VMAP_DIFFERS = Idea(
    "vmap differs",
    _(
        "The function behaves differently when it is vectorized. The result for a row must depend "
        "only on the inputs of this row."
    ),
    "pure/transformations#vmap-many-at-once",
)
KEY_REUSED = Idea(
    "key reused",
    _(
        "A random key must be used only once, either to draw numbers or to make new keys. If it is "
        "used twice, the results are not independent."
    ),
    "haiku/randomness#same-key-same-mask",
)
STRUCTURE = Idea(
    "structure",
    _(
        "The tree structure of the result is not as expected. A state must keep its structure from "
        "step to step."
    ),
    "state/pytrees#what-is-a-leaf-and-what-is-not",
)
DTYPE = Idea(
    "dtype",
    _(
        "The numbers are right, but their types are not. A state must keep its dtype and its weak "
        "type: if either changes, jit traces the function again, and a scan does not accept a new "
        "dtype."
    ),
    "update/jitted_update#python-numbers-and-weak-types",
)

KEY_DATA = Idea(
    "key data",
    _(
        "A random key is not an array of numbers. Before it is saved, `jax.random.key_data` must "
        "turn it into numbers, and after it is loaded, `jax.random.wrap_key_data` must turn the "
        "numbers into a key again."
    ),
    "haiku/randomness#same-key-same-mask",
)

IMMUTABLE = Idea(
    "immutable",
    _(
        "The elements of a JAX array cannot be assigned. The program should use `x.at[i].set(y)`, "
        "which returns a new array with the changed elements."
    ),
    "pure/arrays_and_numpy#arrays-that-never-change",
)
SCALAR_LOSS = Idea(
    "scalar loss",
    _(
        "`jax.grad` differentiates a function that returns a single number. Everything else that "
        "the function returns must be in a second result, which is declared with `has_aux=True`."
    ),
    "pure/transformations#a-result-beside-the-loss",
)
CARRY = Idea(
    "carry",
    _(
        "The carry of a loop must keep its structure, shapes and dtypes, so the body must return a "
        "carry of the same form as the carry that it receives."
    ),
    "state/stateful_computations#the-general-strategy",
)
BRANCHES = Idea(
    "branches",
    _(
        "All branches must return the same structure, shapes and dtypes, because the compiled "
        "program contains all of them."
    ),
    "pure/thinking_in_jax#an-if-on-an-argument",
)
UNBOUND_AXIS = Idea(
    "unbound axis",
    _(
        "The name of an axis exists only inside the transformation that defines it, so every "
        "operation that uses the name must run there."
    ),
    "update/devices#exchange-along-the-axis",
)
DELETED = Idea(
    "donated",
    _(
        "A call deletes the arrays that are donated to it. Afterwards, the program must use only "
        "the results of the call, or copies that were made before it."
    ),
    "update/jitted_update#the-old-train-state-is-gone",
)
OUTSIDE = Idea(
    "outside of a transform",
    _(
        "Params, state and keys of Haiku exist only while `init` or `apply` of a transformed "
        "function runs, so modules must be created and called inside such a function."
    ),
    "haiku/pure_pair#hktransform_with_state-makes-the-pair",
)
NO_KEY = Idea(
    "no key",
    _(
        "`hk.next_rng_key` splits the key that is passed to `init` or `apply`, so a key must be "
        "passed to them."
    ),
    "haiku/randomness#same-key-same-mask",
)

# of Haiku's modules
NOT_STATE = Idea(
    "not in the state",
    _(
        "`init` and `apply` construct the module again in each run. A value that must last from "
        "one run to the next must be kept in Haiku's state, which a module reads and writes by "
        "name."
    ),
    "haiku/pure_pair#a-module-that-counts",
)
NOT_WRITTEN = Idea(
    "dropped state",
    _(
        "The new value that the module computed is not in the state that `apply` returns. The "
        "module must write every new value to the state."
    ),
    "haiku/pure_pair#a-module-that-counts",
)
INITIAL = Idea(
    "initial value",
    _(
        "In the first run, the state does not exist yet, so the first read must specify the "
        "initial state: its shape, its dtype and its value."
    ),
    "haiku/pure_pair#hktransform_with_state-makes-the-pair",
)
NAME = Idea(
    "name in the state",
    _(
        "The names in the state must be the names that the exercise asks for. The path of a value "
        "consists of the name of the module and the name under which the module reads and writes "
        "the value."
    ),
    "haiku/pure_pair#where-the-names-in-params-and-state-come-from",
)
WEIGHTS = Idea(
    "decay rate",
    _(
        "The old value must be multiplied by the decay rate, and the new value by 1 minus the "
        "decay rate."
    ),
    "haiku/batch_norm#an-average-that-starts-right",
)
TRAINING = Idea(
    "batch statistics",
    _(
        "In training, a batch must be normalized by its own mean and variance. The running "
        "statistics are updated in training but used only in evaluation."
    ),
    "haiku/batch_norm#the-layer-whose-state-matters",
)
EVALUATION = Idea(
    "evaluation",
    _(
        "In evaluation, the output for a row must not depend on the other rows, so the statistics "
        "must come only from the state."
    ),
    "haiku/batch_norm#training-and-evaluation",
)
UNCHANGED = Idea(
    "evaluation writes",
    _(
        "An evaluation must only read the running statistics, because the data in an evaluation "
        "must not change the model."
    ),
    "haiku/batch_norm#training-and-evaluation",
)

BY_FINDING = {
    idea.name: idea for idea in (MUTATION, HIDDEN_INPUT, OUTPUT, LEAK, FROZEN_VALUE, REFERENCE)
}
"""The idea behind each kind of finding of :func:`.explain`."""

BY_PROPERTY = {
    "again": NOT_REPEATABLE,
    "arguments": CHANGED_ARGUMENT,
    "jit": JIT_DIFFERS,
    "vmap": VMAP_DIFFERS,
}
"""The idea behind a property that a result lacks, if nothing more is known."""

MESSAGES = (
    (r"Non-hashable static arguments", STATIC_VALUE),
    (r"JAX arrays are immutable", IMMUTABLE),
    (r"Gradient only defined for scalar-output functions", SCALAR_LOSS),
    (r"carry input and carry output must|body_fun output and input must", CARRY),
    (r"(cond|switch) branch|(true_fun|branch \d+)( and (false_fun|\d+))? output", BRANCHES),
    (r"unbound axis name|is used, but it is not bound here", UNBOUND_AXIS),
    (r"(Array|[Bb]uffer) has been deleted", DELETED),
    (r"must be (initialized|used|called) (inside|as part of) an? `hk.transform", OUTSIDE),
    (r"pass a non-None PRNGKey", NO_KEY),
    (r"^Tracer(Bool|Integer|Array)ConversionError|^ConcretizationTypeError", NOT_TRACEABLE),
    (r"^NonConcreteBooleanIndexError|sequences of concrete values", NOT_TRACEABLE),
    (r"^UnexpectedTracerError", LEAK),
    (r"^KeyReuseError", KEY_REUSED),
)
"""The idea behind a message that has no other cause."""


def of_message(kind: str, text: str) -> Idea | None:
    """Return the idea behind an error of a library; None if it may have several causes.

    Args:
      kind: the name of its class.
      text: its message.
    """
    said = f"{kind}: {text}"
    return next((idea for pattern, idea in MESSAGES if re.search(pattern, said, re.DOTALL)), None)
