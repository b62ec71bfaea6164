# right: lists and integers, where the value is the same
first = [2, 10]
second = [0, 1]
third = 2
fourth = 6
fifth = (7.0, "error")

# wrong: frozen value
first = (10.0, 10.0)
second = (0.0, 1.0)
third = 2
fourth = 6.0
fifth = (7.0, "error")

# wrong: until the next trace
first = (2.0, 2.0)
second = (0.0, 1.0)
third = 2
fourth = 6.0
fifth = (7.0, "error")

# wrong: until the next trace
first = 2.0
second = (0.0, 1.0)
third = 2
fourth = 6.0
fifth = (7.0, "error")

# wrong: arrays never change
first = (2.0, 10.0)
second = (1.0, 1.0)
third = 2
fourth = 6.0
fifth = (7.0, "error")

# wrong: arrays never change
first = (2.0, 10.0)
second = (0.0, 5.0)
third = 2
fourth = 6.0
fifth = (7.0, "error")

# wrong: arrays never change
first = (2.0, 10.0)
second = (5.0, 5.0)
third = 2
fourth = 6.0
fifth = (7.0, "error")

# wrong: all at once
first = (2.0, 10.0)
second = (0.0, 1.0)
third = 10
fourth = 6.0
fifth = (7.0, "error")

# wrong: traced again
first = (2.0, 10.0)
second = (0.0, 1.0)
third = 1
fourth = 6.0
fifth = (7.0, "error")

# wrong: argument alone
first = (2.0, 10.0)
second = (0.0, 1.0)
third = 2
fourth = 12.0
fifth = (7.0, "error")

# wrong: shape is known
first = (2.0, 10.0)
second = (0.0, 1.0)
third = 2
fourth = 6.0
fifth = ("error", "error")

# wrong: shape is known
first = (2.0, 10.0)
second = (0.0, 1.0)
third = 2
fourth = 6.0
fifth = (7.0, 7.0)
