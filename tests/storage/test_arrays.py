import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support.laws import law
from support.module_table import CASES
from support.runners import AXIS, four, mesh, two_axes
from support.trees import assert_close, assert_same_bits

import haiku_state as hs
from haiku_state import errors

X = np.random.default_rng(0).normal(1, 2, (32, 4)).astype(np.float32)


def network(norm):
    def call(x, is_training):
        x = hk.Linear(8)(x)
        x = norm(True, True, 0.9, name="batch_norm")(x, is_training)
        return hk.Linear(2)(jax.nn.relu(x))

    return hs.pure_pair(call)


def trained(norm, steps=3):
    """Params and state that no initializer would give."""
    pair = network(norm)
    params, state = pair.init(jax.random.key(0), X, True)
    params = jax.tree.map(
        lambda p: p + 0.1 * jnp.arange(p.size, dtype=p.dtype).reshape(p.shape), params
    )
    for step in range(steps):
        _, state = pair.apply(params, state, None, X + step, True)
    return params, state


@pytest.fixture
def haikus():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield trained(hk.BatchNorm)


def test_from_numpy__loads_a_checkpoint_of_plain_haiku(haikus, tmp_path):
    params, state = haikus
    hs.storage.save_numpy(tmp_path / "haiku.npz", hs.storage.to_numpy(params, state))

    ours = network(hs.BatchNorm)
    loaded = hs.storage.from_numpy(
        hs.storage.load_numpy(tmp_path / "haiku.npz"), *ours.init(jax.random.key(1), X, True)
    )
    assert_same_bits(loaded, (params, state))
    output, _ = ours.apply(*loaded, None, X, False)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        expected, _ = network(hk.BatchNorm).apply(params, state, None, X, False)
    assert_close(output, expected)


def test_save_numpy__a_checkpoint_of_ours_loads_into_plain_haiku(tmp_path):
    params, state = trained(hs.BatchNorm)
    hs.storage.save_numpy(tmp_path / "ours.npz", hs.storage.to_numpy(params, state))
    expected, _ = network(hs.BatchNorm).apply(params, state, None, X, False)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        theirs = network(hk.BatchNorm)
        model = theirs.init(jax.random.key(1), X, True)
        loaded = hs.storage.from_numpy(hs.storage.load_numpy(tmp_path / "ours.npz"), *model)
        output, _ = theirs.apply(*loaded, None, X, False)
    assert_close(output, expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_save_numpy__every_module_comes_back_bit_by_bit(case, tmp_path):
    params, state = case.init()
    _, state = case.pair().apply(params, state, None, *case.inputs(1))
    hs.storage.save_numpy(tmp_path / "model.npz", hs.storage.to_numpy(params, state))
    loaded = hs.storage.from_numpy(hs.storage.load_numpy(tmp_path / "model.npz"), *case.init())
    assert_same_bits(loaded, (params, state))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(loaded))
    hs.check_state(case.init()[1], loaded[1])


def test_save_numpy__numpy_alone_reads_the_file(tmp_path, user):
    hs.storage.save_numpy(
        tmp_path / "model.npz", hs.storage.to_numpy({"linear": {"w": jnp.ones((2, 3))}}, {})
    )
    code = """
import json, sys, numpy as np
with np.load(sys.argv[1], allow_pickle=False) as file:
    print(json.dumps({name: file[name].tolist() for name in file}))
assert not {"jax", "haiku", "haiku_state"} & set(sys.modules)
"""
    ran = user.python("-c", code, tmp_path / "model.npz")
    assert json.loads(ran.stdout) == {"params:linear:w:float32": [[1, 1, 1], [1, 1, 1]]}


def test_to_numpy__the_copy_does_not_change_with_the_original():
    value = np.ones(3, np.float32)
    arrays = hs.storage.to_numpy({"a": {"w": value}}, {})
    loaded, _ = hs.storage.from_numpy(arrays, {"a": {"w": jnp.zeros(3)}}, {})
    value[:] = 2
    arrays["params"]["a"]["w"] += 5
    assert arrays["params"]["a"]["w"].tolist() == [6, 6, 6]
    assert loaded["a"]["w"].tolist() == [1, 1, 1]


def test_from_numpy__lists_every_mismatch_at_once():
    params, state = trained(hs.BatchNorm)
    arrays = hs.storage.to_numpy(params, state)
    arrays["params"]["linear"]["w"] = np.zeros((4, 9), np.float32)
    arrays["params"]["linear_1"]["b"] = arrays["params"]["linear_1"]["b"].astype(np.float16)
    arrays["params"]["head"] = {"w": np.zeros(1, np.float32)}
    del arrays["state"]["batch_norm/~/var_ema"]["counter"]
    with pytest.raises(errors.SavedMismatchError) as caught:
        hs.storage.from_numpy(arrays, params, state)
    assert caught.value.what == (
        "arrays does not fit params, state (- missing, + unknown):\n"
        "    - state['batch_norm/~/var_ema']['counter']\n"
        "    + params['head']['w']\n"
        "    params['linear']['w']: float32[4,9] -> float32[4,8]\n"
        "    params['linear_1']['b']: float16[2] -> float32[2]"
    )


def test_from_numpy__a_dtype_that_jax_would_cast_is_a_mismatch():
    model = {"a": {"w": jnp.zeros(2)}}
    arrays = {"params": {"a": {"w": np.ones(2)}}, "state": {}}
    with pytest.raises(errors.SavedMismatchError, match=r"float64\[2\] -> float32\[2\]"):
        hs.storage.from_numpy(arrays, model, {})


def test_to_numpy__a_parameter_spread_over_a_mesh_is_no_stack_of_replicas():
    square = np.arange(64, dtype=np.float32).reshape(8, 8)
    for value, sharding in (
        (square, NamedSharding(mesh(), P(None, AXIS))),
        (square, NamedSharding(mesh(), P(AXIS))),
        (square[:2], NamedSharding(two_axes(), P(AXIS))),  # each row is on two devices
    ):
        arrays = hs.storage.to_numpy({"a": {"w": jax.device_put(value, sharding)}}, {})
        np.testing.assert_array_equal(arrays["params"]["a"]["w"], value)


def test_from_numpy__names_arrays_of_all_devices():
    params, state = trained(hs.BatchNorm)
    stacked = jax.tree.map(lambda leaf: np.stack([leaf] * 4), (params, state))
    arrays = hs.storage.to_numpy(*stacked)
    with pytest.raises(errors.DeviceStackedError) as caught:
        hs.storage.from_numpy(arrays, params, state)
    assert caught.value.what == (
        "params['batch_norm']['offset'] has shape (4, 1, 8) instead of (1, 8): "
        "it has an extra leading axis."
    )


@pytest.mark.parametrize("count", [2, 4])
def test_to_numpy__refuses_a_replicated_model(count):
    params, state = trained(hs.BatchNorm)
    stacked = hs.replicate((params, state), four()[:count])
    with pytest.raises(errors.DeviceStackedError):
        hs.storage.to_numpy(*stacked)
    arrays = hs.storage.to_numpy(*hs.unreplicate(stacked))
    assert_same_bits(hs.storage.from_numpy(arrays, params, state), (params, state))


NOT_ARRAYS = {
    "params alone": ({"linear": {"w": X}}, "linear['w'] is float32[32,4]"),
    "a list": ([X], "arrays is list"),
    "one level": ({"params": {"w": X}, "state": {}}, "params['w'] is float32[32,4]"),
    "three levels": (
        {"params": {"a": {"b": {"w": X}}}, "state": {}},
        "params['a']['b']['w'] is float32[32,4]",
    ),
    "a text": ({"params": {}, "state": {"a": {"b": "3"}}}, "state['a']['b'] is str"),
}


@pytest.mark.parametrize(("arrays", "what"), NOT_ARRAYS.values(), ids=NOT_ARRAYS.keys())
def test_save_numpy__refuses_what_is_no_nested_dict_as_from_numpy_does(arrays, what, tmp_path):
    for call in (
        lambda: hs.storage.from_numpy(arrays, {}, {}),
        lambda: hs.storage.save_numpy(tmp_path / "model.npz", arrays),
    ):
        with pytest.raises(errors.ArgumentError) as caught:
            call()
        assert caught.value.what == (
            f"{what}, but it must be an array at params[module][name] or state[module][name]."
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("params", [[X], {"a": X}, {"a": {"b": "text"}}, None])
def test_to_numpy__takes_nothing_else(params):
    with pytest.raises(errors.ArgumentError):
        hs.storage.to_numpy(params, {})


def half(path):
    hs.storage.save_numpy(path, hs.storage.to_numpy({"a": {"w": jnp.arange(100.0)}}, {}))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def one_array(path):
    with path.open("wb") as file:
        np.save(file, np.ones(3))


def npz(name, values):
    return lambda path: np.savez(path, **{name: values})


# what save_numpy does not write, and what is said of it
OTHER_FILES = {
    "truncated": (half, "no npz file"),
    "empty": (lambda path: path.write_bytes(b""), "no npz file"),
    "text": (lambda path: path.write_text("<html>not found</html>"), "no npz file"),
    "one array": (one_array, "no npz file"),
    "objects": (npz("params:a:w:float32", np.array({}, dtype=object)), "Object arrays cannot be"),
    "of NumPy alone": (npz("x", np.ones(3)), "the entry x is not params"),
    "another kind": (npz("weights:a:w:float64", np.ones(3)), "the entry weights:a:w:float64"),
    "no dtype": (npz("params:a:w:float33", np.ones(3)), "data type 'float33' not understood"),
}


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_load_numpy__names_a_file_of_another_kind(tmp_path, kind):
    write, reason = OTHER_FILES[kind]
    path = tmp_path / "a.npz"
    write(path)
    with pytest.raises(errors.DamagedFileError, match=reason) as caught:
        hs.storage.load_numpy(path)
    assert caught.value.what.startswith(f"{path} is damaged, or was written by something else:")


def test_load_numpy__no_flipped_bit_is_silent(tmp_path):
    path, rng = tmp_path / "model.npz", np.random.default_rng(0)
    values = rng.normal(size=9).astype(np.float32)
    hs.storage.save_numpy(path, {"params": {"a": {"w": values}}, "state": {}})
    content = path.read_bytes()
    refused = 0
    for bit in rng.integers(8 * len(content), size=200):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << int(bit % 8)
        path.write_bytes(flipped)
        try:
            loaded = hs.storage.load_numpy(path)
        except errors.DamagedFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(loaded["params"]["a"]["w"], values)
    assert refused > 100  # the others are in what NumPy does not read


def test_load_numpy__a_missing_file_is_pythons_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        hs.storage.load_numpy(tmp_path / "nothing.npz")


def test_save_numpy__leaves_the_old_file_alone_if_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    hs.storage.save_numpy(path, hs.storage.to_numpy({"a": {"w": jnp.ones(3)}}, {}))
    before = path.read_bytes()

    def fail(file, **entries):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        hs.storage.save_numpy(path, hs.storage.to_numpy({"a": {"w": jnp.zeros(3)}}, {}))
    assert [file.name for file in tmp_path.iterdir()] == ["model.npz"]
    assert path.read_bytes() == before


def test_save_numpy__whoever_reads_the_old_file_reads_it_to_its_end(tmp_path):
    path = tmp_path / "model.npz"
    hs.storage.save_numpy(path, hs.storage.to_numpy({"a": {"w": jnp.ones(3)}}, {}))
    before = path.read_bytes()
    with path.open("rb") as reader:
        hs.storage.save_numpy(path, hs.storage.to_numpy({"a": {"w": jnp.zeros(30)}}, {}))
        assert reader.read() == before
    assert path.read_bytes() != before


@pytest.mark.parametrize(
    ("module", "name", "array", "reason"),
    [
        ("a:b", "w", np.ones(2), "under names without a colon"),
        (1, "w", np.ones(2), "array at params"),
        ("a", None, np.ones(2), "array at params"),
        ("a", "w", np.array([None]), "must be an array of numbers"),
        ("a", "w", np.array(["a", "bcd"]), "must be an array of numbers"),
    ],
    ids=["colon", "number", "None", "objects", "texts"],
)
def test_save_numpy__refuses_what_it_could_not_read_back(tmp_path, module, name, array, reason):
    arrays = {"params": {module: {name: array}}, "state": {}}
    with pytest.raises(errors.ArgumentError, match=reason):
        hs.storage.save_numpy(tmp_path / "model.npz", arrays)
    assert list(tmp_path.iterdir()) == []


names = st.text("abc_~/0", min_size=1, max_size=6)
dtypes = st.sampled_from(["float32", "float16", "bfloat16", "int32", "uint8", "bool"])
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
leaves = st.builds(
    lambda shape, dtype: jnp.asarray(np.ones(shape, jnp.dtype(dtype))), shapes, dtypes
)
trees = st.dictionaries(names, st.dictionaries(names, leaves, min_size=1, max_size=3), max_size=3)


@law(60)
@given(trees, trees)
def test_save_numpy__what_was_saved_is_what_is_loaded(tmp_path_factory, params, state):
    path = tmp_path_factory.mktemp("law") / "model.npz"
    hs.storage.save_numpy(path, hs.storage.to_numpy(params, state))
    loaded = hs.storage.from_numpy(hs.storage.load_numpy(path), params, state)
    assert_same_bits(loaded, (params, state))


def test_save_numpy__stores_bfloat16_as_its_bits(tmp_path):
    values = jnp.array([1.0, -2.5, 3e38], jnp.bfloat16)
    hs.storage.save_numpy(tmp_path / "model.npz", hs.storage.to_numpy({"a": {"w": values}}, {}))
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        stored = file["params:a:w:bfloat16"]
    # bfloat16 is the upper half of float32
    assert stored.dtype == np.uint16
    upper = np.asarray(values.astype(jnp.float32)).view(np.uint32) >> np.uint32(16)
    assert stored.tolist() == upper.tolist()


def test_load_numpy__reads_the_other_order_of_bytes(tmp_path):
    """A file that NumPy has written in the other order of bytes, under the names of this format."""
    foreign = {name: np.arange(1, 4, dtype=f">{name}") for name in ("f4", "f8", "i4", "u2")}
    entries = {
        f"params:m:{a}:{array.dtype.newbyteorder('=')}": array for a, array in foreign.items()
    }
    np.savez(tmp_path / "names.npz", **entries)
    np.savez(tmp_path / "old.npz", **{f"params:m:{a}:{b.dtype}": b for a, b in foreign.items()})
    hs.storage.save_numpy(tmp_path / "ours.npz", {"params": {"m": foreign}, "state": {}})
    for name in ("names", "old", "ours"):
        loaded = hs.storage.load_numpy(tmp_path / f"{name}.npz")["params"]["m"]
        for short, array in loaded.items():
            assert array.dtype == np.dtype(short)
            assert array.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("dtype", "array"),
    [
        ("int32", np.ones(2, np.float32)),
        ("float32", np.ones(2, np.float64)),
        ("float32", np.ones(2, np.float16)),
        ("bfloat16", np.ones(2, np.uint8)),
        ("bfloat16", np.ones(2, np.int16)),
        ("float32", ["a"]),
    ],
)
def test_load_numpy__names_another_dtype_than_the_name_says(tmp_path, dtype, array):
    np.savez(tmp_path / "a.npz", **{f"params:m:w:{dtype}": array})
    with pytest.raises(errors.DamagedFileError, match=f"under the name of {dtype}"):
        hs.storage.load_numpy(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "dtype", ["int4", "uint4", "float8_e4m3fn", "bfloat16", "complex64", "bool"]
)
def test_save_numpy__small_dtypes_come_back(tmp_path, dtype):
    array = np.array([0, 1, 1]).astype(jnp.dtype(dtype))
    hs.storage.save_numpy(tmp_path / "a.npz", {"params": {"m": {"w": array}}, "state": {}})
    loaded = hs.storage.load_numpy(tmp_path / "a.npz")["params"]["m"]["w"]
    assert loaded.dtype == array.dtype
    assert loaded.tobytes() == array.tobytes()


@pytest.mark.parametrize("value", [np.int64(2**40 + 1), np.float64(1) / 3])
def test_from_numpy__what_jax_would_narrow_is_a_mismatch(value):
    arrays = {"params": {}, "state": {"c": {"n": np.array([value])}}}
    with pytest.raises(
        errors.SavedMismatchError, match=rf"{value.dtype}\[1\] -> {value.dtype.kind}"
    ):
        hs.storage.from_numpy(arrays, {}, {"c": {"n": np.zeros(1, value.dtype)}})


def test_save_numpy__names_a_file_that_cannot_be_written_as_the_user_wrote_it(tmp_path):
    path = tmp_path / "missing" / "a.npz"
    with pytest.raises(FileNotFoundError) as caught:
        hs.storage.save_numpy(path, {"params": {"linear": {"b": np.ones(2)}}, "state": {}})
    assert caught.value.filename == str(path)
    assert str(caught.value) == f"[Errno 2] No such file or directory: '{path}'"


def test_save_numpy__a_link_stays_a_link_and_a_file_keeps_its_mode(tmp_path):
    real, link = tmp_path / "disk" / "a.npz", tmp_path / "a.npz"
    real.parent.mkdir()
    hs.storage.save_numpy(real, {"params": {"linear": {"b": np.ones(2)}}, "state": {}})
    real.chmod(0o640)
    link.symlink_to(real)
    new = {"params": {"linear": {"b": np.full(2, 7.0)}}, "state": {}}
    hs.storage.save_numpy(link, new)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert hs.storage.load_numpy(real)["params"]["linear"]["b"].tolist() == [7.0, 7.0]


def test_to_numpy__refuses_what_holds_no_numbers():
    run = hs.jit_update(lambda params, batch, *, axis_name=None: (params, {}))
    params = {"linear": {"b": jnp.ones(2)}}
    run(params, {})  # which consumes them
    with pytest.raises(errors.DonatedBufferError, match="'b'"):
        hs.storage.to_numpy(params, {})
    with pytest.raises(errors.ArgumentError, match="is traced"):
        jax.jit(lambda b: hs.storage.to_numpy({"linear": {"b": b}}, {}))(jnp.ones(2))
    shapes = jax.eval_shape(lambda: {"linear": {"b": jnp.ones(2)}})
    with pytest.raises(errors.ArgumentError, match="must be an array at params"):
        hs.storage.to_numpy(shapes, {})


def test_save_numpy__two_may_save_at_once(tmp_path):
    path, size = tmp_path / "a.npz", 200_000

    def save(number):
        for _ in range(15):
            arrays = {"params": {"m": {"w": np.full(size, number, np.float32)}}, "state": {}}
            hs.storage.save_numpy(path, arrays)
            found = hs.storage.load_numpy(path)["params"]["m"]["w"]
            assert found.shape == (size,)
            assert set(found) <= {1.0} or set(found) <= {2.0}

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(save, [1.0, 2.0]))
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_save_numpy__takes_a_name_as_long_as_the_file_system_does(tmp_path):
    path = tmp_path / ("n" * 251 + ".npz")
    hs.storage.save_numpy(path, {"params": {}, "state": {}})
    assert path.exists()


def test_save_numpy__is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Without it, a power cut may leave an empty file in the place of the last one."""
    done, fsync, replace = [], os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("fsync"), fsync(file)))
    monkeypatch.setattr(Path, "replace", lambda *of: (done.append("replace"), replace(*of)))
    hs.storage.save_numpy(tmp_path / "a.npz", {"params": {"m": {"w": np.ones(2)}}, "state": {}})
    assert done == ["fsync", "replace"]


def test_load_numpy__unpickles_nothing(tmp_path):
    class Hostile:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    np.savez(tmp_path / "a.npz", **{"params:linear:b:float32": np.array([Hostile()], object)})
    with pytest.raises(errors.DamagedFileError):
        hs.storage.load_numpy(tmp_path / "a.npz")
    assert not (tmp_path / "made").exists()
