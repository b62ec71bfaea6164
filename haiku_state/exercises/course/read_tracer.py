"""Read an error: the value of a tracer

predict, easy, 4 min, pure/thinking_in_jax#an-if-on-an-argument

Read the program and its error without running it. Set `line` to the number of the first line that
must change, and `option` to the letter of the change that repairs the program. `update` should
remain compiled.

- Which lines need to know the value of something while `jit` traces?
- The message names the arguments whose values are missing. Which of the three `if` statements
  depends on the values of these arguments?
- During tracing, shapes and static arguments are known, but a number that is computed from `grads`
  is not.
"""

# %%
# A gradient that is too long is shortened if the caller wants that. The line
# numbers are on the right.
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames="is_clipped")  # 1
def update(w, grads, limit, is_clipped=True):  # 2
    if grads.shape != w.shape:  # 3
        raise ValueError("there is one number for each weight")  # 4
    if is_clipped:  # 5
        size = jnp.sqrt(jnp.sum(grads**2))  # 6
        if size > limit:  # 7
            grads = grads * limit / size  # 8
    return w - grads  # 9


# The error that JAX raises when `update` is called with two arrays and the
# limit 1.0, without the less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# Three possible changes; a change may also replace the line that follows.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

# Set `line` to the number of a line, and `option` to one of the three letters.
#: line = 0
#: option = ""
# <solution>
line = 7
option = "c"
# </solution>


# %% check `line` is the first line that must change; once
def check(answer):
    return {"line": answer.line}


# %% check `option` is the change that repairs the program; once
def check(answer):
    return {"option": str(answer.option).strip().lower()}


# %% idea known shape
# A tracer has a shape, so Python can decide this `if` during tracing. The message is about a value.
line = 3

# %% idea known flag
# A static argument has its value during tracing, and the message does not name `is_clipped`.
line = 5

# %% idea operation
# This line contains only operations, which jit records without knowing any values. The line that
# must change is where Python needs a value to decide something.
line = 6

# %%
line = 8

# %%
line = 9

# %% idea right decorator
# This line is right: `is_clipped` is a flag, and the arrays that the message names have to be
# traced. Without `jit` there would be no error, but also no compiled program.
line = 1

# %% idea a value on demand
# `bool` needs the tracer's value, exactly as `if` does, so the same error is raised.
option = "a"

# %% idea static value
option = "b"

# %% right a capital letter
line, option = 7.0, "C"
