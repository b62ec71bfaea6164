"""Read an error: the types of a carry

predict, easy, 4 min, update/many_steps#what-the-carry-must-keep

Read the program and its error without running it. The balance should be exact to the cent. Set
`line` to the number of the line that must change, and `option` to the letter of the change that
repairs the program.

- Which two values does `scan` compare, and which line decides the type of each of them?
- "Carry input" is what goes into the body, and "carry output" is what comes out. Which of the two
  has the type that is wanted?
- The balance has cents, so float32 is right, and the first carry must be a float32 number too.
"""

# %%
# A savings account: each month brings interest and a deposit. The line numbers
# are on the right.
import jax
import jax.numpy as jnp


def account(deposits):
    def month(balance, deposit):  # 1
        interest = 0.01 * balance  # 2
        return balance + interest + deposit, interest  # 3

    start = jnp.int32(100)  # 4
    return jax.lax.scan(month, start, deposits)  # 5


# The error that JAX raises when `account` is called with two deposits, without
# the less important lines.
ERROR = """
TypeError: [...] carry input and carry output must have equal types [...] input
carry balance has type int32[] but the corresponding output carry component has
type float32[], so the dtypes do not match
"""

# Four possible changes.
OPTIONS = {
    "a": "start = jnp.int32(100.0)",
    "b": "start = jnp.float32(100)",
    "c": "return jnp.int32(balance + interest + deposit), interest",
    "d": "return jax.lax.scan(month, start, deposits.astype(int))",
}

# Set `line` to the number of a line, and `option` to one of the four letters.
#: line = 0
#: option = ""
# <solution>
line = 4
option = "b"
# </solution>


# %% check `line` is the line that must change; once
def check(answer):
    return {"line": answer.line}


# %% check `option` is the change that repairs the program; once
def check(answer):
    return {"option": str(answer.option).strip().lower()}


# %% idea where it shows
# `scan` compares what goes into its body with what comes out, so the error is raised where `scan`
# is called, although this call is right. The line that must change is where one of the two values
# gets its type.
line = 5

# %% idea the wanted type
# A number with cents is a float32 number, so the body returns the type that is wanted. It is the
# other side of the comparison that must change.
line = 3

# %%
line = 2

# %% idea name in the message
# The message says `balance` because this is the name of the carry in the body. The name is not
# wrong, and this line does not decide which type the carry has.
line = 1

# %% idea dtype by name
# `jnp.int32` makes an int32 number, whatever number it is called with, so the two types would still
# differ.
option = "a"

# %% idea lost cents
# The two types would be equal, but the balance must keep its cents, which this change would cut off
# every month.
option = "c"

# %% idea not the carry
# The deposits are not the carry. The interest alone makes the new balance a float32 number.
option = "d"

# %% right a capital letter
line, option = 2 + 2, "B"
