"""Iterators and generators."""

import functools
import itertools

import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
steps = itertools.count(1)


@impure(x)
def itertools_count(x):
    return x * next(steps)  # finds: hidden input next(steps)


train_iter = iter(range(1_000_000))


@impure(x)
def list_iterator(x):
    batch = next(train_iter)  # finds: hidden input next(train_iter)
    return x + batch


def _batches():
    index = 0
    while True:
        yield float(index)
        index += 1


stream = _batches()


@impure(x)
def generator_from_outside(x):
    return x + next(stream)  # finds: hidden input next(stream)


feed = _batches()


@impure(x)
def for_loop_over_a_generator(x):
    for batch in feed:  # finds: hidden input next(feed)
        x = x + batch
        break
    return x


pages = _batches()


@impure(x)
def zip_with_a_generator(x):
    for _, page in zip(range(2), pages, strict=False):  # finds: hidden input next(pages)
        x = x + page
    return x


numbered = enumerate(itertools.count())


@impure(x)
def enumerate_from_outside(x):
    index, value = next(numbered)  # finds: hidden input next(numbered)
    return x + index + value


source = _batches()


@impure(x)
def enumerate_a_generator(x):
    for index, value in enumerate(source):  # finds: hidden input next(source)
        x = x + value
        if index == 1:
            break
    return x


tokens = itertools.cycle([1.0, 2.0])


@impure(x)
def islice_of_a_cycle(x):
    first = list(itertools.islice(tokens, 3))  # finds: hidden input next(tokens)
    return x * first[0]


mapped = map(float, itertools.count(1))


@impure(x)
def map_object(x):
    return x * next(mapped)  # finds: hidden input next(mapped)


@impure.made(x)
def iterator_in_self():
    class Trainer:
        def __init__(self, data):
            self.batches = itertools.cycle(data)

        def step(self, x):
            return x + next(self.batches)  # finds: hidden input next(self.batches)

    return Trainer([1.0, 2.0, 3.0]).step


@impure.made(x)
def iterator_in_a_partial():
    def step(batches, x):
        return x * next(batches)  # finds: hidden input next(batches)

    return functools.partial(step, itertools.count(1))


it_dict = {"train": iter([1.0, 2.0])}


@impure(x)
def iterator_in_a_dict(x):
    return x * next(it_dict["train"])  # finds: hidden input next(it_dict['train'])


it_list = [iter([1.0, 2.0])]


@impure(x)
def iterator_in_a_list(x):
    return x * next(it_list[0])  # finds: hidden input next(it_list[0])


gen_default = (float(i) for i in range(10))


@impure(x)
def generator_default_argument(x, it=gen_default):
    return x * next(it)  # finds: hidden input next(it)


def _sender():
    total = 0.0
    while True:
        got = yield total
        total += got or 1.0


it_send = _sender()
next(it_send)


@impure(x)
def generator_send(x):
    return x * it_send.send(1.0)  # finds: hidden input it_send.send


produced = []


def _layers(x):
    for factor in (1, 2, 3):
        produced.append(factor)  # finds: mutation produced[...]
        yield x * factor


@impure(x)
def generator_function_used_inside(x):
    return sum(_layers(x))


@impure.made(x)
def dataloader_with_own_next():
    class Loader:
        def __init__(self, data):
            self.data, self.i = data, 0

        def __iter__(self):
            return self

        def __next__(self):
            self.i = (self.i + 1) % len(self.data)  # finds: mutation self.i
            return self.data[self.i]

    loader = Loader([1.0, 2.0, 3.0, 4.0, 5.0])

    def train(x):
        for batch in loader:
            return x + batch

    return train


@impure.made(x)
def dataloader_that_shuffles():
    class Loader:
        def __init__(self, data):
            self.data = data
            self.rng = np.random.default_rng(0)

        def __iter__(self):
            order = self.rng.permutation(3)  # finds: hidden input self.rng.permutation
            yield from (self.data[index] for index in order)

    loader = Loader([1.0, 2.0, 3.0])

    def train(x):
        for batch in loader:
            x = x * 0.5 + batch
        return x

    return train


@pure.made(x)
def dataloader_with_a_fresh_iterator():
    class Loader:
        def __init__(self, data):
            self.data = data

        def __len__(self):
            return len(self.data)

        def __iter__(self):
            for index in range(len(self)):
                yield self.data[index]

    loader = Loader([1.0, 2.0, 3.0])

    def total(x):
        for batch in loader:
            x = x + batch
        return x / len(loader)

    return total


@pure(x)
def local_generator(x):
    def layers():
        for factor in (1, 2, 3):
            yield x * factor

    return sum(layers())


@pure(x)
def local_generator_with_send(x):
    def running_sum():
        total = 0.0
        while True:
            total = total + (yield total)

    sums = running_sum()
    next(sums)
    sums.send(x)
    return sums.send(x)


def _chunks(sequence, size):
    for start in range(0, len(sequence), size):
        yield sequence[start : start + size]


@pure(jnp.arange(6.0))
def generator_function_of_the_module(x):
    return jnp.stack(list(_chunks(x, 2)))


@pure(x)
def local_itertools(x):
    steps = itertools.count(1)
    colors = itertools.cycle("ab")
    total = x
    for color, value in zip(colors, itertools.islice(steps, 3), strict=False):
        total = total + value * (color == "a")
    return total * next(steps)


@pure(x)
def local_zip_map_filter(x):
    pairs = zip(range(3), x, strict=True)
    doubled = map(lambda pair: pair[0] * pair[1], pairs)
    first = next(doubled)
    return first + sum(doubled) + sum(filter(None, [1, 0, 2]))
