import sys

import numpy as np
import pytest
import sklearn.datasets

import haiku_state as hs
from haiku_state.errors import ArgumentError, BatchDivisionError, MissingExtraError


def raw_digits():
    data = sklearn.datasets.load_digits()
    return data.data / 16, data.target


def raw_diabetes():
    data = sklearn.datasets.load_diabetes(scaled=False)
    return data.data, data.target


SETS = {
    "load_digits": (hs.load_digits, raw_digits, (1437, 360), np.int32),
    "load_diabetes": (hs.load_diabetes, raw_diabetes, (353, 89), np.float32),
}
each_set = pytest.mark.parametrize(("load", "raw", "rows", "dtype"), SETS.values(), ids=SETS.keys())


def sorted_rows(inputs, targets):
    return np.array(sorted(map(tuple, np.column_stack([inputs, targets]).astype(np.float32))))


@each_set
def test_data__the_two_parts_are_the_whole_data(load, raw, rows, dtype):
    train, test = load()
    assert (len(train["inputs"]), len(test["inputs"])) == rows
    for part in (train, test):
        assert set(part) == {"inputs", "targets"}
        assert (part["inputs"].dtype, part["targets"].dtype) == (np.float32, dtype)
        assert part["targets"].shape == part["inputs"].shape[:1]
    together = [np.concatenate([train[name], test[name]]) for name in ("inputs", "targets")]
    np.testing.assert_array_equal(sorted_rows(*together), sorted_rows(*raw()))


@each_set
def test_data__the_seed_decides_the_split(load, raw, rows, dtype):
    same, other = load(seed=0), load(seed=1)
    np.testing.assert_array_equal(load().train["inputs"], same.train["inputs"])
    assert not np.array_equal(same.test["inputs"], other.test["inputs"])


@each_set
def test_data__the_test_fraction_decides_the_sizes(load, raw, rows, dtype):
    train, test = load(test_fraction=0.5)
    assert abs(len(train["targets"]) - len(test["targets"])) <= 1


def test_load_digits__each_digit_keeps_its_share():
    train, test = hs.load_digits()
    shares = [np.bincount(part["targets"]) / len(part["targets"]) for part in (train, test)]
    np.testing.assert_allclose(*shares, atol=1 / 360)  # one row of the test set


def test_load_digits__the_grays_lie_between_zero_and_one():
    inputs = hs.load_digits().train["inputs"]
    assert (inputs.min(), inputs.max()) == (0, 1)


DATA = {"x": np.arange(20, dtype=np.float32).reshape(10, 2), "y": np.arange(10, dtype=np.int32)}

LAST = {
    ("drop", 4): [[0, 1, 2, 3], [4, 5, 6, 7]],
    ("keep", 4): [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]],
    ("pad", 4): [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 8, 8]],
    ("drop", 5): [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]],
    ("keep", 5): [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]],
    ("pad", 5): [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]],
    ("drop", 10): [list(range(10))],
    ("pad", 10): [list(range(10))],
    ("keep", 11): [list(range(10))],
    ("pad", 12): [[*range(10), 0, 0]],
}


@pytest.mark.parametrize(("remainder", "batch_size"), LAST)
def test_batches__the_last_rows_are_dropped_kept_or_padded(remainder, batch_size):
    cut = list(hs.batches(DATA, batch_size, remainder=remainder))
    assert [batch["y"].tolist() for batch in cut] == LAST[remainder, batch_size]
    for batch in cut:
        np.testing.assert_array_equal(batch["x"], DATA["x"][batch["y"]])
        assert (batch["x"].dtype, batch["y"].dtype) == (np.float32, np.int32)
        assert set(batch) - {"mask"} == {"x", "y"}
        assert ("mask" in batch) == (remainder == "pad")


def test_batches__drops_the_remainder_by_default():
    assert [len(batch["y"]) for batch in hs.batches(DATA, 4)] == [4, 4]


def test_batches__the_mask_gives_the_mean_over_the_real_rows():
    cut = list(hs.batches(DATA, 4, seed=3, remainder="pad"))
    masks = np.stack([batch["mask"] for batch in cut])
    assert masks.dtype == np.float32
    weighted = sum((batch["x"] * batch["mask"][:, None]).sum(0) for batch in cut)
    np.testing.assert_allclose(weighted / masks.sum(), DATA["x"].mean(0))


def order(seed):
    return [row for batch in hs.batches(DATA, 5, seed) for row in batch["y"].tolist()]


def test_batches__a_seed_shuffles_whole_rows():
    assert order(None) == list(range(10))
    assert sorted(order(0)) == list(range(10))
    assert len({tuple(order(seed)) for seed in (None, 0, 1, (0, 1), (0, 2), (1, 1))}) == 6
    assert order([0, 1]) == order([0, 1])


REFUSED = {
    "no row, and the rest is kept": (
        (DATA, 0, None, "keep"),
        {},
        "batch_size is 0, but it must be an integer of at least 1.",
    ),
    "no row": (
        (DATA, 0),
        {},
        "batch_size is 0, but it must be 1, …, 10.",
    ),
    "too many rows": (
        (DATA, 11),
        {},
        "batch_size is 11, but it must be 1, …, 10.",
    ),
    "no arrays": (
        ({}, 4),
        {},
        "data is {}, but it must be arrays with the same number of rows, at least 1.",
    ),
    "empty arrays": (
        ({"x": np.zeros((0, 2), np.float32)}, 4),
        {},
        "data is {'x': float32[0,2]}, but it must be arrays with the same number of rows, "
        "at least 1.",
    ),
    "a list of records": (
        ([{"x": 1}, {"x": 2}], 1),
        {},
        "data is [{'x': weak int32[]}, {'x': weak int32[]}], but it must be arrays with the same "
        "number of rows, at least 1.",
    ),
    "arrays of different lengths": (
        ({"x": DATA["x"], "y": DATA["y"][:9]}, 4),
        {},
        "data is {'x': float32[10,2], 'y': int32[9]}, but it must be arrays with the same number "
        "of rows, at least 1.",
    ),
    "an unknown rule": (
        (DATA, 4),
        {"remainder": "typo"},
        'remainder is \'typo\', but it must be "drop", "keep" or "pad".',
    ),
    "a negative skip": (
        (DATA, 4),
        {"skip": -1},
        "skip is -1, but it must be an integer of at least 0.",
    ),
    "a size that is no integer": (
        (DATA, 2.0),
        {},
        "batch_size is 2.0, but it must be 1, …, 10.",
    ),
    "half a batch to skip": (
        (DATA, 4),
        {"skip": 0.5},
        "skip is 0.5, but it must be an integer of at least 0.",
    ),
    "a negative seed": (
        (DATA, 4, -1),
        {},
        "seed is -1, but it must be an integer of at least 0, or a list of them.",
    ),
    "a seed with a fraction": (
        (DATA, 4, 0.5),
        {},
        "seed is 0.5, but it must be an integer of at least 0, or a list of them.",
    ),
    "no part": (
        (DATA, 4),
        {"part": None},
        "part is None, but it must be (i, n), 0 ≤ i < n.",
    ),
    "a part beyond the last": (
        (DATA, 4),
        {"part": (2, 2)},
        "part is (2, 2), but it must be (i, n), 0 ≤ i < n.",
    ),
}


@pytest.mark.parametrize(("args", "kwargs", "what"), REFUSED.values(), ids=REFUSED.keys())
def test_batches__refuses_what_does_not_fit_at_the_call(args, kwargs, what):
    with pytest.raises(ArgumentError) as caught:
        hs.batches(*args, **kwargs)
    assert caught.value.what == what


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"seed": -1}, "seed is -1, but it must be 0, …, 2**32 - 1."),
        ({"seed": 2**32}, f"seed is {2**32}, but it must be 0, …, 2**32 - 1."),
        (
            {"test_fraction": 20},
            "test_fraction is 20, but it must be between 0 and 1, with rows for both sets.",
        ),
        (
            {"test_fraction": 0.0},
            "test_fraction is 0.0, but it must be between 0 and 1, with rows for both sets.",
        ),
        (
            {"test_fraction": "a"},
            "test_fraction is 'a', but it must be between 0 and 1, with rows for both sets.",
        ),
        (
            {"test_fraction": 0.999},  # two images to learn ten digits from
            "test_fraction is 0.999, but it must be between 0 and 1, with rows for both sets.",
        ),
    ],
)
def test_load_digits__refuses_a_split_that_is_not_possible(settings, what):
    with pytest.raises(ArgumentError) as caught:
        hs.load_digits(**settings)
    assert caught.value.what == what


def test_load_digits__without_scikit_learn_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtraError) as caught:
        hs.load_digits()
    command = 'python -m pip install "scikit-learn>=1.5.2"'
    assert f"`{command}`" in str(caught.value)


@pytest.mark.parametrize("skip", [0, 1, 3, 4])
@pytest.mark.parametrize("remainder", ["drop", "keep", "pad"])
def test_batches__skip_goes_on_where_a_run_has_ended(skip, remainder):
    whole = list(hs.batches(DATA, 3, seed=5, remainder=remainder))
    rest = list(hs.batches(DATA, 3, seed=5, remainder=remainder, skip=skip))
    assert len(rest) == len(whole) - min(skip, len(whole))
    for one, other in zip(rest, whole[skip:], strict=True):
        assert list(one) == list(other)
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("remainder", ["drop", "keep", "pad"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_batches__the_parts_of_all_processes_are_the_whole_batches(count, remainder):
    data = {name: values[:8] for name, values in DATA.items()} if count == 4 else DATA
    whole = list(hs.batches(data, 4, seed=5, remainder=remainder))
    parts = [
        list(hs.batches(data, 4, seed=5, remainder=remainder, part=(i, count)))
        for i in range(count)
    ]
    for batch, *own in zip(whole, *parts, strict=True):
        for name in batch:
            joined = np.concatenate([part[name] for part in own])
            np.testing.assert_array_equal(joined, batch[name])


def test_batches__refuses_parts_that_do_not_divide_a_batch():
    with pytest.raises(BatchDivisionError) as caught:
        hs.batches(DATA, 5, part=(0, 2))
    assert "a batch of 5 rows cannot be divided equally among 2" in str(caught.value)


@pytest.mark.parametrize(("count", "lengths"), [(1, [1] * 3), (2, [2, 1]), (3, [3]), (9, [3])])
def test_stack_batches__holds_the_batches_in_order(count, lengths):
    cut = list(hs.batches(DATA, 3, seed=1))
    stacks = list(hs.stack_batches(iter(cut), count))
    assert [len(stack["y"]) for stack in stacks] == lengths
    for name in DATA:
        joined = np.concatenate([stack[name] for stack in stacks])
        np.testing.assert_array_equal(joined, np.stack([batch[name] for batch in cut]))


def test_stack_batches__a_smaller_last_batch_begins_a_stack_of_its_own():
    stacks = list(hs.stack_batches(hs.batches(DATA, 3, remainder="keep"), 10))
    assert [stack["y"].shape for stack in stacks] == [(3, 3), (1, 1)]


def test_stack_batches__refuses_stacks_of_no_batch_at_the_call():
    with pytest.raises(ArgumentError) as caught:
        hs.stack_batches([], 0)
    assert caught.value.what == ("count is 0, but it must be an integer of at least 1.")
    assert list(hs.stack_batches([], 1)) == []


@pytest.mark.parametrize("dtype", [np.float32, bool, np.int8])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_batches__padding_keeps_a_mask_of_the_user(dtype, shape):
    mask = np.random.default_rng(0).integers(0, 2, (10, *shape)).astype(dtype)
    padded = [*hs.batches({"x": np.arange(10), "mask": mask}, 4, remainder="pad")]
    found = np.concatenate([batch["mask"] for batch in padded])
    assert found.dtype == mask.dtype
    np.testing.assert_array_equal(found[:10], mask)
    np.testing.assert_array_equal(found[10:], np.zeros((2, *shape)))
    halves = [
        [*hs.batches({"mask": mask}, 4, remainder="pad", part=(i, 2))][-1]["mask"] for i in (0, 1)
    ]
    np.testing.assert_array_equal(np.concatenate(halves), found[8:])


def test_batches__parts_of_a_last_batch_are_equal_or_named():
    data = {"x": np.arange(10)}
    with pytest.raises(BatchDivisionError, match="2 rows cannot be divided equally among 4 parts"):
        hs.batches(data, 8, remainder="keep", part=(3, 4))
    assert len([*hs.batches(data, 8, part=(3, 4))]) == 1
    parts = [[*hs.batches(data, 8, remainder="keep", part=(i, 2))] for i in (0, 1)]
    assert [part[-1]["x"].tolist() for part in parts] == [[8], [9]]


def test_batches__a_padded_row_has_a_mask_of_zero():
    data = {"x": np.arange(3), "mask": np.float32([np.nan, 1, -np.inf])}
    _first, last = hs.batches(data, 2, remainder="pad")
    np.testing.assert_array_equal(last["mask"], [-np.inf, 0])


def test_stack_batches__another_dtype_begins_a_stack_of_its_own():
    rows = [{"x": np.int32([1, 2])}, {"x": np.int32([3, 4])}, {"x": np.float32([0.5, 1])}]
    found = [stack["x"] for stack in hs.stack_batches(rows, 3)]
    assert [each.dtype for each in found] == [np.int32, np.float32]
    assert [each.tolist() for each in found] == [[[1, 2], [3, 4]], [[0.5, 1]]]


@pytest.mark.parametrize(
    "given", [DATA, tuple(DATA.values()), DATA["x"], None], ids=["dict", "tuple", "array", "None"]
)
def test_stack_batches__refuses_data_in_the_place_of_batches(given):
    with pytest.raises(ArgumentError, match="it must be an iterable of batches"):
        hs.stack_batches(given, 2)


def test_stack_batches__makes_no_stack_of_no_batches():
    assert [*hs.stack_batches((), 2)] == [*hs.stack_batches([], 2)] == []
