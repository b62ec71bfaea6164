# right: a dtype's name is not the only way to write it
import jax

first = 2
second = 2
third = 1
fourth = 0.0
fifth = 1
sixth = str(jax.numpy.float32.dtype)

# wrong: weak start
first = 1
second = 2
third = 1
fourth = 0.0
fifth = 1
sixth = "float32"

# wrong: weak start
first = 4
second = 2
third = 1
fourth = 0.0
fifth = 1
sixth = "float32"

# wrong: alias
first = 2
second = 1
third = 1
fourth = 0.0
fifth = 1
sixth = "float32"

# wrong: one body
first = 2
second = 2
third = 10
fourth = 0.0
fifth = 1
sixth = "float32"

# wrong: variance between
first = 2
second = 2
third = 1
fourth = 5.0
fifth = 1
sixth = "float32"

# wrong: one key
first = 2
second = 2
third = 1
fourth = 0.0
fifth = 4
sixth = "float32"

# wrong: mean of counts
first = 2
second = 2
third = 1
fourth = 0.0
fifth = 1
sixth = "int32"
