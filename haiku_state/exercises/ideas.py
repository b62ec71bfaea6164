"""The ideas that more than one exercise teaches, and what tells them."""

import re

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Idea

MUTATION = Idea(
    "mutation",
    _(
        "jit runs such a line only while it traces, so its change happens once and not in every "
        "call. A function must return what it changes as a result."
    ),
    "state/stateful_computations#why-it-stopped-counting",
)
HIDDEN_INPUT = Idea(
    "hidden input",
    _(
        "The value is read while jit traces and is a constant from then on. Everything that a "
        "result depends on must be passed in as an argument."
    ),
    "pure/thinking_in_jax#a-global-is-baked-in",
)
OUTPUT = Idea(
    "output",
    _("A print runs only while jit traces. If a caller needs a value, return it as a result."),
    "pure/thinking_in_jax#what-jit-sees",
)
LEAK = Idea(
    "leak",
    _(
        "A tracer is valid only while its function is traced, so the only way out of the function "
        "is to be returned."
    ),
    "haiku/jax_inside_haiku#a-leaked-tracer-fails-at-its-next-use",
)
FROZEN_VALUE = Idea(
    "frozen value",
    _("What a function reads from outside is a constant of the compiled program."),
    "pure/thinking_in_jax#a-global-is-baked-in",
)
REFERENCE = Idea(
    "reference",
    _("A ref is changed in place, but here the state should be an argument and a result."),
    "state/stateful_computations#the-other-way-a-ref",
)
CHANGED_ARGUMENT = Idea(
    "changed argument",
    _(
        "The caller's own state was changed. A pure function does not change its arguments and "
        "returns a new state."
    ),
    "state/stateful_computations#the-state-as-an-argument-and-a-result",
)
NOT_REPEATABLE = Idea(
    "not repeatable",
    _(
        "The same arguments gave two different results, so the result also depends on something "
        "else."
    ),
    "state/stateful_computations#the-state-as-an-argument-and-a-result",
)
JIT_DIFFERS = Idea(
    "jit differs",
    _(
        "When compiled, the function behaves differently: jit records the operations on arrays and "
        "nothing else that Python does."
    ),
    "pure/thinking_in_jax#what-jit-sees",
)
STATIC_VALUE = Idea(
    "static value",
    _(
        "A static argument is part of the program, so it must be hashable, which an array is not, "
        "and each of its values needs its own program. A value that changes from call to call "
        "should not be static."
    ),
    "update/jitted_update#the-learning-rate-is-not-a-static-argument",
)
NOT_TRACEABLE = Idea(
    "not traceable",
    _(
        "The function cannot be traced: a traced argument has a shape and a dtype, but no value "
        "that Python could use."
    ),
    "pure/thinking_in_jax#an-if-on-an-argument",
)
VMAP_DIFFERS = Idea(
    "vmap differs",
    _(
        "When vectorized, the function behaves differently: each row must depend only on its own "
        "inputs."
    ),
    "pure/transformations#vmap-many-at-once",
)
KEY_REUSED = Idea(
    "key reused",
    _("A key that is used twice gives the same numbers twice: split it, and use each part once."),
    "haiku/randomness#same-key-same-mask",
)
STRUCTURE = Idea(
    "structure",
    _(
        "The result has a different tree structure: a state must keep its structure from step to "
        "step."
    ),
    "state/pytrees#what-is-a-leaf-and-what-is-not",
)
DTYPE = Idea(
    "dtype",
    _(
        "The numbers are right, but their types are different: if the dtype or weak type of a "
        "state changes, the function is traced again and does not fit into a scan."
    ),
    "update/jitted_update#python-numbers-and-weak-types",
)

KEY_DATA = Idea(
    "key data",
    _(
        "A file holds numbers, and a random key is not a number: `jax.random.key_data` returns its "
        "numbers, and `jax.random.wrap_key_data` makes them a key again."
    ),
    "haiku/randomness#same-key-same-mask",
)

IMMUTABLE = Idea(
    "immutable",
    _(
        "The elements of a JAX array cannot be assigned: `x.at[i].set(y)` returns a new array in "
        "which they are changed."
    ),
    "pure/arrays_and_numpy#arrays-that-never-change",
)
SCALAR_LOSS = Idea(
    "scalar loss",
    _(
        "`jax.grad` differentiates a function that returns one number. What else the function "
        "returns must be a second result, declared with `has_aux=True`."
    ),
    "pure/transformations#a-result-beside-the-loss",
)
CARRY = Idea(
    "carry",
    _(
        "The carry of a loop keeps its structure, shapes and dtypes: what the body returns must "
        "be like what it receives."
    ),
    "state/stateful_computations#the-general-strategy",
)
BRANCHES = Idea(
    "branches",
    _("All branches return the same structure, shapes and dtypes, since one program holds both."),
    "pure/thinking_in_jax#an-if-on-an-argument",
)
UNBOUND_AXIS = Idea(
    "unbound axis",
    _("An axis has a name only inside the transformation that is given this name for it."),
    "update/devices#exchange-along-the-axis",
)
DELETED = Idea(
    "donated",
    _("An array that was donated to a compiled program is gone: only what came out is left."),
    "update/jitted_update#the-old-train-state-is-gone",
)
OUTSIDE = Idea(
    "outside of a transform",
    _(
        "Parameters, state and keys of Haiku exist only while `init` or `apply` of a transformed "
        "function runs."
    ),
    "haiku/pure_pair#hktransform_with_state-makes-the-pair",
)
NO_KEY = Idea(
    "no key",
    _("`hk.next_rng_key` splits the key that `init` or `apply` was called with, so it needs one."),
    "haiku/randomness#same-key-same-mask",
)

# of Haiku's modules
NOT_STATE = Idea(
    "not in the state",
    _(
        "`init` and `apply` construct the module again in each run. Whatever must last from one "
        "run to the next belongs in Haiku's state, which a module reads and writes by name."
    ),
    "haiku/pure_pair#a-module-that-counts",
)
NOT_WRITTEN = Idea(
    "dropped state",
    _(
        "What the module computed is not in the state that `apply` returns, because it was not "
        "written."
    ),
    "haiku/pure_pair#a-module-that-counts",
)
INITIAL = Idea(
    "initial value",
    _(
        "The first run finds no state, so the first read must specify the initial state: its "
        "shape, its dtype and its value."
    ),
    "haiku/pure_pair#hktransform_with_state-makes-the-pair",
)
NAME = Idea(
    "name in the state",
    _(
        "The names in the state differ from the expected names. A path consists of the name of "
        "the module and the name under which the module reads and writes the value."
    ),
    "haiku/pure_pair#where-the-names-in-params-and-state-come-from",
)
WEIGHTS = Idea(
    "decay rate",
    _("The decay rate is the weight of the past, and the new value gets the remaining weight."),
    "haiku/batch_norm#an-average-that-starts-right",
)
TRAINING = Idea(
    "batch statistics",
    _(
        "In training, a batch is normalized by its own mean and variance. The running statistics "
        "are updated but not used then: they are for evaluation."
    ),
    "haiku/batch_norm#the-layer-whose-state-matters",
)
EVALUATION = Idea(
    "evaluation",
    _(
        "In evaluation, the output for a row must not depend on the other rows. The statistics "
        "come only from the state."
    ),
    "haiku/batch_norm#training-and-evaluation",
)
UNCHANGED = Idea(
    "evaluation writes",
    _("An evaluation only reads the running statistics: what it sees must not change the model."),
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
    (r"(cond|switch) branch|(true_fun and false_fun|branch \d+ and \d+) output", BRANCHES),
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
