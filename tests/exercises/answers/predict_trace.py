# wrong: one trace
first = 4
second = 4
third = 2
fourth = 3

# wrong: one trace
first = 0
second = 0
third = 0
fourth = 0

# wrong: dtype
first = 1
second = 2
third = 2
fourth = 3

# wrong: shape
first = 1
second = 1
third = 2
fourth = 3

# wrong: one trace
first = 1
second = 10
third = 6
fourth = 6

# wrong: static argument
first = 1
second = 4
third = 6
fourth = 3

# wrong: static argument
first = 1
second = 4
third = 1
fourth = 3

# wrong: unrolled loop
first = 1
second = 4
third = 2
fourth = 1

# wrong: one trace
first = 1
second = 4
third = 2
fourth = 6

# right: only the numbers, one of them a float
first, second, third, fourth = 1, 4, 2.0, 3
