# right: the numbers alone
first = 0
second = 4
third = 2
fourth = 2
fifth = 1
sixth = 6

# wrong: initial state
first = 2
second = 4
third = 2
fourth = 2
fifth = 1
sixth = 6

# wrong: threaded state
first = 0
second = 6
third = 2
fourth = 2
fifth = 1
sixth = 6

# wrong: paths
first = 0
second = 4
third = 3
fourth = 2
fifth = 1
sixth = 6

# wrong: two modes
first = 0
second = 4
third = 2
fourth = 3
fifth = 1
sixth = 6

# wrong: key is not state
first = 0
second = 4
third = 2
fourth = 2
fifth = 3
sixth = 6

# wrong: baked-in state
first = 0
second = 4
third = 2
fourth = 2
fifth = 1
sixth = 8
