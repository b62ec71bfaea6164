"""Lists, deques and heaps."""

import bisect
import heapq
from collections import deque
from typing import NamedTuple

import jax
import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
history = []


@impure(x)
def list_append(x):
    history.append(x.shape[0])  # finds: mutation history[...]
    return x * len(history)


epochs = [1]


@impure(x)
def list_extend(x):
    epochs.extend([2, 3])  # finds: mutation epochs[...]
    return x * len(epochs)


queue = list(range(1000))


@impure(x)
def list_pop(x):
    return x * queue.pop()  # finds: mutation queue[...]


stack = [1.0] * 3


@impure(x)
def list_augmented_assignment(x):
    global stack
    stack += [2.0]  # finds: mutation stack[...]
    return x * len(stack)


@impure.made(x)
def list_augmented_assignment_in_self():
    class Buffer:
        def __init__(self):
            self.items = []

        def push(self, x):
            self.items += [x.ndim]  # finds: mutation self.items[...]
            return x

    return Buffer().push


scores = [3, 1, 2]


@impure(x)
def list_sort(x):
    scores.sort(reverse=scores[0] < scores[-1])  # finds: mutation scores[...]
    return x * scores[0]


window = [0, 0, 0]


@impure(x)
def list_item(x):
    window[x.ndim] = window[x.ndim] + 1  # finds: mutation window[...]
    return x


frames = [1, 2, 3]


@impure(x)
def list_slice(x):
    frames[:] = [*frames[1:], frames[-1] + 1]  # finds: mutation frames[...]
    return x


todo = list(range(100))


@impure(x)
def list_delete(x):
    del todo[0]  # finds: mutation todo[...]
    return x


nested_log = {"train": {"steps": 0, "loss": []}}


@impure(x)
def list_in_a_dict(x):
    nested_log["train"]["loss"].append(0.1)  # finds: mutation nested_log['train']['loss'][...]
    return x


grid = [[0, 0], [0, 0]]


@impure(x)
def list_in_a_list(x):
    grid[0][1] += 1  # finds: mutation grid[0][...]
    return x


class Losses(NamedTuple):
    train: list
    test: list


record = Losses([], [])


@impure(x)
def list_in_a_namedtuple(x):
    record.train.append(0.5)  # finds: mutation record.train[...]
    return x * len(record.train)


@impure.made(x)
def alias_of_an_attribute():
    class Logbook:
        def __init__(self):
            self.entries = []

        def note(self, x):
            entries = self.entries
            entries.append(x.ndim)  # finds: mutation entries[...]
            return x

    return Logbook().note


recent = deque([1, 2, 3], maxlen=3)


@impure(x)
def deque_append(x):
    recent.append(recent[-1] + 1)  # finds: mutation recent[...]
    return x * recent[0]


ring = deque([1.0, 2.0, 3.0])


@impure(x)
def deque_rotate(x):
    ring.rotate(1)  # finds: mutation ring[...]
    return x * ring[0]


heap = [5, 7]


@impure(x)
def heap_push(x):
    heapq.heappush(heap, 1)  # finds: mutation heap[...]
    return x


ordered = [1, 5]


@impure(x)
def bisect_insort(x):
    bisect.insort(ordered, 3)  # finds: mutation ordered[...]
    return x


sizes = []


@impure(x)
def tree_map_for_its_effect(x):
    tree = {"w": x, "b": x[:1]}
    jax.tree.map(lambda leaf: sizes.append(leaf.size), tree)  # finds: mutation sizes[...]
    return x * sum(sizes)


squares = []


@impure(x)
def comprehension_for_its_effect(x):
    [squares.append(i * i) for i in range(3)]  # finds: mutation squares[...]
    return x


@impure.made(x)
def replay_buffer():
    class ReplayBuffer:
        def __init__(self, size):
            self.data = [None] * size
            self.position = 0

        def push(self, item):
            self.data[self.position] = item  # finds: mutation self.data[...]
            self.position = (self.position + 1) % len(self.data)  # finds: mutation self.position

    buffer = ReplayBuffer(5)

    def act(x):
        buffer.push("observation")
        return jnp.tanh(x)

    return act


@pure(x)
def list_built_inside(x):
    outputs = []
    for scale in (1.0, 2.0, 3.0):
        outputs.append(x * scale)
    return jnp.stack(outputs)


@pure(x)
def heap_and_bisect_inside(x):
    heap, ordered = [3, 1, 2], []
    heapq.heapify(heap)
    while heap:
        bisect.insort(ordered, heapq.heappop(heap))
    return x * ordered[0]


@pure(x)
def list_passed_to_a_helper(x):
    def collect(store, value):
        store.append(value)
        return store

    return sum(collect(collect([], x), x + 1))


@pure(x)
def comprehensions(x):
    squares = [i * i for i in range(3)]
    by_name = {f"layer{i}": x * i for i in squares}
    names = {name for name in by_name if not name.endswith("0")}
    return sum(by_name[name] for name in sorted(names))


@pure(x)
def walrus(x):
    values = []
    while (n := len(values)) < 3:
        values.append(x * n)
    return sum(values) if (total := sum(values)) is not None else total
