"""Answers to `read_carry`."""

# %% right: the program as it was
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 4
option = "b"


# %% right: a capital letter, and both in one line
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line, option = 4, "B"


# %% right: without the program
line = 4
option = "b"


# %% right: found in the text of the options
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 4
option = next(key for key, text in OPTIONS.items() if "float32" in text)


# %% right: the number of an array, and spaces
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = jnp.array([1, 3]).sum()
option = " b "


# %% right: the program repaired as well, and run
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.float32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


line = 4
option = "b"
print(account(jnp.array([50.0, 20.0])))


# %% wrong: where it shows
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 5
option = "b"


# %% wrong: where it shows | not the carry
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 5
option = "d"


# %% wrong: the wanted type | lost cents
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 3
option = "c"


# %% wrong: the wanted type
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 2
option = "b"


# %% wrong: dtype by name
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 4
option = "a"


# %% wrong: lost cents
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 4
option = "c"


# %% wrong: not the carry
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 4
option = "d"


# %% wrong: name in the message
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

line = 1
option = "a"


# %% wrong: -
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

# the stub
line = 0
option = ""


# %% wrong: -
# A savings account: each month brings interest and a deposit. The numbers of
# the lines stand on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# What JAX says when it is called with two deposits, without the less important
# lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# What could stand there instead.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

# a word for the letter
line = 4
option = "start"
