"""Answers to `read_leak`."""

# %% right: the program as it was
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 11
line = 6
option = "c"


# %% right: capital letter, all in one line
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised, line, option = 11, 6, "C"


# %% right: without the program
option = "c"
line = 6
raised = 11


# %% right: from a dict
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

found = {"raised": 11, "line": 6, "option": "c"}
globals().update(found)


# %% right: by arithmetic
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

line = 6
raised = line + 5
option = max(OPTIONS)


# %% right: the program repaired as well, and run
import jax
import jax.numpy as jnp


def mean_loss(w, batches):
    losses = []

    @jax.jit
    def step(w, x):
        error = x @ w
        return w - 0.1 * x.T @ error, jnp.mean(error**2)

    for x in batches:
        w, loss = step(w, x)
        losses.append(loss)
    return sum(losses) / len(losses)


print(mean_loss(jnp.ones(2), jnp.ones((4, 3, 2))))
raised = 11
line = 6
option = "c"


# %% wrong: kept in silence
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 6
line = 6
option = "c"


# %% wrong: kept in silence
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 5
line = 6
option = "c"


# %% wrong: no use
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 10
line = 6
option = "c"


# %% wrong: the use
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 11
line = 11
option = "c"


# %% wrong: created
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 11
line = 5
option = "c"


# %% wrong: a list outside
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 11
line = 1
option = "c"


# %% wrong: no number yet
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 11
line = 6
option = "a"


# %% wrong: a copy of a tracer
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 11
line = 6
option = "b"


# %% wrong: compiled
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

raised = 11
line = 2
option = "a"


# %% wrong: -
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

# the stub
raised = 0
line = 0
option = ""


# %% wrong: -
# The mean of the losses of all steps should be known. The numbers of the lines
# stand on the right.
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


# What JAX says, without the less important lines.
ERROR = """
UnexpectedTracerError: Encountered an unexpected tracer. A function transformed
by JAX had a side effect, allowing for a reference to an intermediate value
with type float32[] [...] to escape [...]. The function being traced when the
value leaked was step [...]. The leaked intermediate value was created on line
5 [...].
"""

# What could be changed.
OPTIONS = {
    "a": "losses.append(float(loss))",
    "b": "losses.append(jnp.copy(loss))",
    "c": "step returns the loss too, and the loop appends it",
}

# the line with the loop
raised = 8
line = 6
option = "c"
