# right: tuples and arrays
import numpy as np

first = (1, 1, 1)
second = 2
third = np.array([1, 0]).tolist()
fourth = [3, 1]
fifth = (4, 8)

# wrong: forgotten state
first = [1, 2, 3]
second = 2
third = [1, 0]
fourth = [3, 1]
fifth = [4.0, 8.0]

# wrong: state is a value
first = [1, 1, 1]
second = 3
third = [1, 0]
fourth = [3, 1]
fifth = [4.0, 8.0]

# wrong: second name
first = [1, 1, 1]
second = 2
third = [0, 0]
fourth = [3, 1]
fifth = [4.0, 8.0]

# wrong: second name
first = [1, 1, 1]
second = 2
third = [1, 1]
fourth = [3, 1]
fifth = [4.0, 8.0]

# wrong: arrays of jit
first = [1, 1, 1]
second = 2
third = [1, 0]
fourth = [4, 2]
fifth = [4.0, 8.0]

# wrong: hidden average
first = [1, 1, 1]
second = 2
third = [1, 0]
fourth = [3, 1]
fifth = [4.0, 4.0]
