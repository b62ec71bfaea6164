"""The lines of lessons that may differ between versions of JAX, each with its reason."""

from tools.lessons.compare import Exemption

_THINKING, _STATE = "pure/thinking_in_jax", "state/stateful_computations"
_ARRAYS = "pure/arrays_and_numpy"
_STEPS, _AXES = "update/many_steps", "update/explicit_axes"
_WAYS = "beyond/five_ways"

# what a clock shows, in each run
_MEASURED = (
    Exemption(_ARRAYS, r"^(fast_)?normalize +[\d.]+ ms$", "a time in milliseconds", measured=True),
    Exemption(_STEPS, r"\bfloat +\d+ µs +loop +\d+ µs", "a time in microseconds", measured=True),
    Exemption(_STEPS, r"^steps per call +\d+ +\d+ µs$", "a time in microseconds", measured=True),
    Exemption(
        _STEPS, r"^(un)?rolled .* s$", "a time in seconds, and the size of a jaxpr", measured=True
    ),
)

# what JAX calls a thing, or how it writes it
_WORDS = (
    Exemption(
        _ARRAYS,
        r"^TypeError: .*(immutable|item assignment)",
        "the error names a class of its own in jaxlib",
        jax="<0.5",
    ),
    Exemption(
        _ARRAYS,
        r"^(Type|Value)Error$",
        "an error of the compiler, not yet one of JAX",
        jax="<0.5",
    ),
    Exemption(
        _THINKING,
        r"(JitTracer|Traced<)",
        "how a tracer is printed",
        jax="<0.8",
    ),
    Exemption(
        _THINKING,
        r"= add [ab] 1\.0|\{ lambda ; \. let",
        "how a jaxpr writes literals",
        jax="<0.7",
    ),
    Exemption(_STATE, r"\{ lambda ;", "how a jaxpr writes literals", jax="<0.7"),
    Exemption(
        "update/meshes",
        r"out_specs\[0\] is P(artitionSpec)?\(\)",
        "how an error of shard_map writes a spec",
        jax="<0.10",
    ),
)

# the program in a recorded trace, and what is known of a static argument
_TRACED = (
    *(
        Exemption(lesson, r"^ {9}", "how JAX writes a program, and with which equations")
        for lesson in (
            _STATE,
            _STEPS,
            "haiku/pure_pair",
            "haiku/randomness",
            "state/pytrees",
        )
    ),
    Exemption(_THINKING, r"^Call 2: sign\(", "JAX does not tell what is static", jax="<0.6"),
)

# what a version of JAX, XLA or Haiku does otherwise
_DEEDS = (
    Exemption(
        "update/devices",
        r"^shard_map (True|False)$",
        "pmap is built on shard_map since JAX 0.8: the page says so",
        jax="<0.8",
    ),
    Exemption(
        "haiku/jax_inside_haiku",
        r"^carried by jax\.lax\.scan 0 by hk\.scan \d$",
        "how many arrays Haiku's scan carries is Haiku's own affair; the page asserts two or more",
        jax="<0.7",
    ),
    Exemption(
        "update/mixed_precision",
        r"^steps 44 +taken|^log₂ k: ",
        "which gradients overflow in half precision depends on the order of sums",
        jax="<0.7",
    ),
    Exemption(_AXES, r"", "there is no jax.set_mesh", jax="<0.7.1"),
    Exemption(
        _AXES,
        r"^make_mesh \(|^jnp\.(sort|cumsum)\(x|^total\((y|rows)\)",
        "make_mesh means explicit axes since JAX 0.9: the page says so",
        jax="<0.9",
    ),
    Exemption(
        "update/many_machines",
        r"^exit codes|^  (right|why):",
        "JAX may end the process before the package does",
        jax="<0.5",
        measured=True,
    ),
    Exemption(
        _WAYS,
        r"^(nnx|refs) ",
        "there are no refs before JAX 0.6, and no Flax 0.11 for it",
        jax="<0.6",
    ),
    Exemption(
        f"{_WAYS}_batch_norm", r"\brefs$|^refs ", "there are no refs before JAX 0.6", jax="<0.6"
    ),
)

EXEMPTIONS = (*_MEASURED, *_WORDS, *_TRACED, *_DEEDS)
