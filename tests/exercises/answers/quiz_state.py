# right: the results of the programs, as lists
first = [1, 9]
second = [3, 3, 3]
third = 1
fourth = 4
fifth = [9, 9, 8]
sixth = [6, 0]

# wrong: state as a value
first = (1, 5)
second = (3, 3, 3)
third = 1
fourth = 4
fifth = (9, 9, 8)
sixth = (6, 0)

# wrong: one object
first = (1, 9)
second = (1, 2, 2)
third = 1
fourth = 4
fifth = (9, 9, 8)
sixth = (6, 0)

# wrong: key as state
first = (1, 9)
second = (3, 3, 3)
third = 4
fourth = 4
fifth = (9, 9, 8)
sixth = (6, 0)

# wrong: leaf or node
first = (1, 9)
second = (3, 3, 3)
third = 1
fourth = 2
fifth = (9, 9, 8)
sixth = (6, 0)

# wrong: read while tracing
first = (1, 9)
second = (3, 3, 3)
third = 1
fourth = 4
fifth = (9, 9, 9)
sixth = (6, 0)

# wrong: dropped state
first = (1, 9)
second = (3, 3, 3)
third = 1
fourth = 4
fifth = (9, 9, 8)
sixth = (10, 6)
