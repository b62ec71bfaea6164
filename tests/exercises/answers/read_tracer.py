"""Answers to `read_tracer`."""

# %% right: the program as it was
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 7
option = "c"


# %% right: a capital letter, and both in one line
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

(line, option) = (7, "C")


# %% right: without the program
option = "c"
line = 7


# %% right: counted
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = len("grads, ")
option = [*OPTIONS][-1]


# %% right: a float
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 7.0
option = "c"


# %% right: the program repaired as well, and run
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames="is_clipped")
def update(w, grads, limit, is_clipped=True):
    if grads.shape != w.shape:
        raise ValueError("there is one number for each weight")
    if is_clipped:
        size = jnp.sqrt(jnp.sum(grads**2))
        grads = jnp.where(size > limit, grads * limit / size, grads)
    return w - grads


print(update(jnp.ones(3), jnp.ones(3), 1.0))
line, option = 7, "c"


# %% wrong: known shape
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 3
option = "c"


# %% wrong: known flag
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 5
option = "c"


# %% wrong: operation
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 6
option = "c"


# %% wrong: operation
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 8
option = "c"


# %% wrong: right decorator | static value
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 1
option = "b"


# %% wrong: a value on demand
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 7
option = "a"


# %% wrong: static value
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

line = 7
option = "b"


# %% wrong: -
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

# the stub
line = 0
option = ""


# %% wrong: -
# A gradient that is too long is made shorter, if the caller wants that. The
# numbers of the lines stand on the right.
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


# What JAX says when it is called with two arrays and the limit 1.0, without the
# less important lines.
ERROR = """
TracerBoolConversionError: Attempted boolean conversion of traced array with
shape bool[]. [...] This concrete value was not available in Python because it
depends on the values of the arguments grads and limit.
"""

# What could stand there instead, together with the line that follows it.
OPTIONS = {
    "a": "if bool(size > limit):",
    "b": "static_argnames=('grads', 'limit', 'is_clipped')",
    "c": "grads = jnp.where(size > limit, grads * limit / size, grads)",
}

# the line in the file
line = 15
option = "c"
