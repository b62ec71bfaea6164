"""Read an error: a value that escaped

predict, medium, 4 min, reference/bug_gallery#a-list-of-losses-has-one-entry

Read the program and its error without running it. Set `raised` to the number of the line in which
Python stops with the error, `line` to the number of the line that lets the value escape, and
`option` to the letter of the change that repairs the program. `step` should remain compiled.

- What is `loss` while `jit` traces `step`, and where is it after the trace?
- A list can hold anything. Which line computes something with the values in the list?
- The message names the line where the value was created. Look for the line that keeps it, and for
  the first line after the trace that needs a number.
"""

# %%
# The function should return the mean of the losses of all steps. The line
# numbers are on the right.
import jax
import jax.numpy as jnp


def mean_loss(w, batches):
    losses = []  # 1

    @jax.jit  # 2
    def step(w, x):  # 3
        error = x @ w  # 4
        loss = jnp.mean(error**2)  # 5
        losses.append(loss)  # 6
        return w - 0.1 * x.T @ error  # 7

    for x in batches:  # 8
        w = step(w, x)  # 9
    number = len(losses)  # 10
    return sum(losses) / number  # 11


# The error that JAX raises, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# Three possible changes.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

# Set `raised` and `line` to the numbers of lines, and `option` to one of the
# three letters.
#: raised = 0
#: line = 0
#: option = ""
# <solution>
raised = 11
line = 6
option = "c"
# </solution>


# %% check `raised` is the line in which Python stops; once
def check(answer):
    return {"raised": answer.raised}


# %% check `line` is the line that lets the value escape; once
def check(answer):
    return {"line": answer.line}


# %% check `option` is the change that repairs the program; once
def check(answer):
    return {"option": str(answer.option).strip().lower()}


# %% idea kept in silence
# During the trace, this line works: a tracer can be computed, and a list can hold it. The error is
# raised only when the trace has ended and a line computes with the tracer.
raised = 6

# %%
raised = 5

# %%
raised = 7

# %% idea no use
# This line runs without an error, because it does not compute with what the list holds.
raised = 10

# %%
raised = 9

# %% idea the use
# Here the error is raised, but by then the list already holds a tracer, and every use of it would
# fail. The cause is the line that put it there.
line = 11

# %%
line = 10

# %% idea created
# The message names this line because the value was created there. A compiled function should do
# exactly that: the mistake is to keep the value.
line = 5

# %%
line = 4

# %% idea a list outside
# A list outside of the function is harmless as long as only code outside of the function adds to
# it.
line = 1

# %% idea compiled
# Without `jit`, each call would append a number, but `step` should remain compiled.
line = 2

# %% idea no number yet
# While jit traces, the loss is a tracer without a value, so Python cannot turn it into a number. An
# error would only be raised earlier.
option = "a"

# %% idea a copy of a tracer
# A copy is one more operation that jit records, and its result is a tracer as well, so the list
# would still hold a tracer.
option = "b"

# %% right a capital letter
raised, line, option = 11, 6.0, "C"
