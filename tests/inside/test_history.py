"""A history: its numbers are NumPy's, what has no numbers is refused, and the widget works."""

import functools
import html.parser
import re

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from support.pages import assert_quiet

import haiku_state as hs
from haiku_state.errors import ArgumentError, DonatedBufferError, LeakedTracerError
from haiku_state.inside import History

HOSTILE = "</script><img src=x onerror=alert(1)>&amp;\u2028'\""
ROUNDED = 1e-12  # a sum of a thousand float64, of a million a hundred times as much
LARGE = np.random.default_rng(0).normal(size=(2, 40, 25))


def recorded(*leaves):
    history = History()
    for leaf in leaves:
        history.record(leaf)
    return history


def summary(*leaves):
    return recorded(*leaves)[-1]["train_state"]


# --- numbers ---


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn", "int32", "uint8", "bool"]
)
@pytest.mark.parametrize("size", [1, 16, 17, 64, 1000])
def test_history__the_statistics_are_those_of_float64(dtype, size):
    before, after = (jnp.asarray(3 + 2 * LARGE[i].reshape(-1)[:size]).astype(dtype) for i in (0, 1))
    found = summary(before, after)
    wide, last = (np.asarray(a).astype(np.float64) for a in (after, before))
    assert (found.dtype, found.shape) == (dtype, (size,))
    expected = (wide.mean(), wide.std(), wide.min(), wide.max(), np.linalg.norm(wide - last))
    assert (*found[2:6], found.change) == pytest.approx(expected, rel=ROUNDED)
    assert found.changed is (not np.array_equal(wide, last))
    assert (found.nan, found.inf) == (0, 0)
    assert (found.values is None) is (size > 16)


def test_history__statistics_of_a_large_float32_are_not_those_of_float32():
    values = np.float32(1e4) + np.random.default_rng(1).normal(size=10**6).astype(np.float32)
    expected = values.astype(float).std()
    assert summary(jnp.asarray(values)).std == pytest.approx(expected, rel=100 * ROUNDED)


def test_history__what_is_not_finite_is_counted_apart():
    first = np.arange(20.0)
    second = first + 1
    second[[3, 4, 5]] = np.nan, np.inf, -np.inf
    found = summary(first, second)
    is_finite = np.isfinite(second)
    assert (found.nan, found.inf) == (1, 2)
    assert found.mean == second[is_finite].mean()
    assert found.change == pytest.approx(np.sqrt(17), rel=ROUNDED)
    assert summary(second, second).changed is False
    nothing = summary(np.full(3, np.nan))
    assert (nothing.mean, nothing.max, nothing.nan) == (None, None, 3)


def test_history__a_random_key_has_data_and_no_statistics():
    key = jax.random.key(3)
    history = recorded(key)
    [new] = jax.random.split(key, 1)  # a key that was recorded can still be used
    history.record(new)
    found = history[1]["train_state"]
    assert (found.dtype, found.changed, found.change, found.mean) == ("key<fry>", True, None, None)
    assert found.values == tuple(np.asarray(jax.random.key_data(new)).tolist())
    assert summary(jax.random.split(jax.random.key(0), 4)).shape == (4,)


def test_history__takes_odd_leaves():
    assert summary(jnp.zeros((0, 3))).values == ()
    assert summary(jnp.zeros((0, 3)), jnp.zeros((0, 3))).changed is False
    assert summary(None, None).changed is False
    assert summary(3).values == (3,)
    assert summary(True).values == (True,)
    assert summary(np.uint32(2**32 - 1)).values == (2**32 - 1,)
    complexes = summary(np.array([3 + 4j, 0]), np.array([3 + 4j, 1j]))
    assert (complexes.max, complexes.change) == (5.0, 1.0)
    assert summary(np.full(100, 1e300)).std is not None


def test_history__a_change_of_dtype_or_shape_is_a_change():
    assert summary(jnp.int32(1), jnp.float32(1)).changed is True
    assert summary(jnp.zeros(2), jnp.zeros((2, 1))).changed is True
    assert summary(jnp.zeros(2), jnp.zeros((2, 1))).change is None


def test_history__takes_an_array_in_parts():
    devices = jax.devices()
    mesh = Mesh(np.array(devices), ("data",))
    rows = np.arange(float(len(devices) * 8)).reshape(len(devices), 8)
    for spec in (PartitionSpec("data"), PartitionSpec()):
        array = jax.device_put(rows, NamedSharding(mesh, spec))
        assert summary(array).mean == rows.mean()


def test_history__a_consumed_train_state_stays_as_it_was_recorded():
    update = jax.jit(lambda count: count + 1, donate_argnums=0)
    history, count = History(), jnp.zeros(8)
    for _ in range(3):
        history.record(count)
        count = update(count)
    assert [record["train_state"].mean for record in history] == [0, 1, 2]
    assert [record["train_state"].changed for record in history] == [None, True, True]


def test_history__metrics_may_be_absent():
    history = recorded({"w": jnp.ones(2)})
    history.record({"w": jnp.ones(2)}, metrics={"loss": jnp.float32(2)})
    history.record({"w": jnp.ones(2)})
    history.record({"w": jnp.ones(2)}, metrics={"loss": jnp.float32(1)})
    assert "metrics['loss']" not in history[2]
    assert history[3]["metrics['loss']"].change == 1.0
    [_w, loss] = rows(history)
    assert [command for command in loss["mean"] if command.isalpha()] == ["M", "l", "M", "l"]
    assert len(history) == 4
    assert "4 records with 2 leaves" in repr(history)


# --- what is refused ---


@pytest.mark.parametrize(
    ("after", "change"),
    [
        ({"a": 1}, "- train_state['b']"),
        ({"a": 1, "b": 2, "c": 3}, "+ train_state['c']"),
        ({"a": 1, "b": None}, "None"),
        ({"a": 1, "b": (2,)}, "+ train_state['b'][0]"),
        ([1, 2], "+ train_state[0]"),
    ],
)
def test_history__another_structure_is_refused_with_its_path(after, change):
    history = recorded({"a": 1, "b": 2})
    with pytest.raises(ArgumentError, match=re.escape(change)):
        history.record(after)
    assert len(history) == 1
    history.record({"a": 5, "b": 2})
    assert history[1]["train_state['a']"].change == 4.0


def test_history__metrics_of_another_structure_are_refused():
    history = History()
    history.record(1, metrics={"loss": 1})
    with pytest.raises(ArgumentError, match="accuracy"):
        history.record(1, metrics={"accuracy": 1})


def test_history__a_list_that_became_a_tuple_is_refused():
    with pytest.raises(ArgumentError, match="PyTreeDef"):
        recorded([1], (1,))


def test_history__tracers_are_refused():
    history = History()
    with pytest.raises(ArgumentError, match=r"train_state\['w'\] is a tracer"):
        jax.jit(lambda w: history.record({"w": w}))(1.0)
    leaked = []
    jax.jit(leaked.append)(1.0)
    with pytest.raises(LeakedTracerError):
        history.record(leaked)
    assert len(history) == 0


def test_history__a_consumed_leaf_is_refused():
    consumed = jnp.ones(3)
    consumed.delete()
    with pytest.raises(DonatedBufferError):
        recorded({"w": consumed})


def test_history__parts_of_another_process_are_refused(monkeypatch):
    array = jnp.ones(3)
    monkeypatch.setattr(type(array), "is_fully_addressable", False)
    assert summary(array).mean == 1  # a copy lies here
    monkeypatch.setattr(type(array), "is_fully_replicated", False)
    with pytest.raises(ArgumentError, match=r"train_state\['w'\] is an array with parts on other"):
        recorded({"w": array})


@pytest.mark.parametrize(
    "leaf", ["text", object(), np.array([("a", 1)], [("n", "U1"), ("i", int)])]
)
def test_history__what_is_not_a_number_is_refused(leaf):
    with pytest.raises(ArgumentError, match="must be an array or a number"):
        recorded({"w": leaf})


# --- the page ---


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        tag = self.tags[-1][0] if self.tags else ""
        self.texts.setdefault(tag, []).append(data)


def rows(history):
    """The paths of each leaf's curve, by their classes."""
    found = []
    for tag, attributes in Page(history._repr_html_()).tags:
        if tag == "svg":
            found.append({})
        elif tag == "path":
            found[-1][attributes["class"]] = attributes["d"]
    return found


@functools.cache
def trained(steps=5):
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax.adam
        return trained_anew(steps)


def trained_anew(steps):
    model = hs.pure_pair(hs.Classifier, [8], 3)
    batch = {"x": jnp.asarray(LARGE[0, :, :4], jnp.float32), "y": jnp.arange(40) % 3}

    def loss_fn(params, state, rng, batch):
        logits, state = model.apply(params, state, rng, batch["x"], is_training=True)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"])
        return losses.mean(), (state, {})

    optimizer = optax.adam(0.01)
    train_state = hs.init_train_state(
        model.init, optimizer, jax.random.key(0), batch["x"], is_training=True
    )
    update = hs.jit_update(hs.make_update(loss_fn, optimizer))
    history = recorded(train_state)
    for _ in range(steps):
        train_state, metrics = update(train_state, batch)
        history.record(train_state, metrics=metrics)
    return history


def awkward():
    history = History()
    for i in range(3):
        history.record(
            {
                HOSTILE: jnp.bfloat16(i),
                "empty": jnp.zeros((0, 3)),
                "huge": 2**62 + i,
                "key": jax.random.key(i),
                "large": np.where(np.arange(100) < 5 * i, np.nan, 1.0),
                "none": None,
                "numbers": jnp.array([i, np.nan, np.inf, -np.inf]),
            }
        )
    return history


def points(path):
    """The points of one line, of the path's first one and its steps."""
    numbers = np.array(re.findall(r"-?\d+", path), int).reshape(-1, 2)
    return numbers.cumsum(0)


def test_history__a_curve_is_the_mean_in_the_band_of_all_records():
    values = np.random.default_rng(2).normal(size=(30, 50)).cumsum(0)
    [drawn] = rows(recorded(*values))
    low, high = values.min(), values.max()
    heights = 32 - (values.mean(1) - low) / (high - low) * 28
    in_whole_units = points(drawn["mean"])[:, 1]
    assert np.abs(in_whole_units - heights).max() <= 0.5 + 1e-9
    assert points(drawn["mean"])[[0, -1], 0].tolist() == [0, 200]
    band = points(drawn["band"].rstrip("z"))[:, 1]
    assert (band.min(), band.max()) == (4, 32)


def test_history__what_changed_and_what_is_not_finite_is_marked():
    leaves = [0.0, 0.0, 1.0, np.nan, np.nan, 2.0]
    [drawn] = rows(recorded(*leaves))
    assert re.findall(r"M(-?\d+) 37h(\d+)", drawn["changed"]) == [("79", "42"), ("199", "2")]
    assert re.findall(r"M(-?\d+) 0h(\d+)", drawn["bad"]) == [("119", "42")]
    assert drawn["mean"].count("M") == 2  # with a gap


def test_history__a_long_one_is_drawn_in_as_many_columns_as_can_be_seen():
    [drawn] = rows(recorded(*np.sin(np.arange(1000) / 50)))
    assert len(points(drawn["mean"])) == 200
    assert points(drawn["band"].rstrip("z"))[:, 1].min() == 4


def test_history__the_table_has_exact_values_kinds_and_steps():
    text = awkward()._repr_html_()
    for value in (str(2**62 + 2), "2 nan inf -inf", "None", "no elements", "NaN 10"):
        assert value in text
    text = trained()._repr_html_()
    kinds = [attributes.get("class") for tag, attributes in Page(text).tags if tag == "tr"][1:]
    assert set(kinds) == {
        f"hs-history-{k}" for k in ("params", "state", "opt_state", "rng", "other")
    }
    assert "6 records, steps 0 to 5" in text
    assert "6 条记录" in text


def mlp(count=4):
    """A history of an MLP with Adam: 6 leaves of params, 13 of the optimizer, a key and a step."""
    pair = hs.pure_pair(lambda x: hk.nets.MLP([8, 8, 2])(x))
    batch = {"x": jnp.ones((4, 3))}

    def loss_fn(params, state, rng, batch):
        output, state = pair.apply(params, state, rng, batch["x"])
        return jnp.mean(output**2), (state, {})

    optimizer, history = optax.adam(0.1), History()
    train_state = hs.init_train_state(pair.init, optimizer, jax.random.key(0), batch["x"])
    update = jax.jit(hs.make_update(loss_fn, optimizer))
    history.record(train_state)
    states = [train_state]
    for _ in range(count - 1):
        train_state, _metrics = update(train_state, batch)
        history.record(train_state)
        states.append(train_state)
    return history, states


def test_history__of_many_leaves_each_module_has_a_row_and_the_optimizer_one(standard_promotion):
    history, states = mlp()
    text = history._repr_html_()
    names = re.findall(r"<tr class=[^>]*><th scope=row><code>([^<]*)</code></th>", text)
    groups = [f"params['mlp/~/linear_{n}']" for n in range(3)]
    assert [name.replace("&#x27;", "'") for name in names] == [*groups, "opt_state"]
    for name, group in zip(groups, (["b", "w"],) * 3, strict=True):
        module = name.partition("'")[2].removesuffix("']")
        change = np.sqrt(
            sum(
                np.linalg.norm(
                    np.float64(states[-1].params[module][leaf])
                    - np.float64(states[-2].params[module][leaf])
                )
                ** 2
                for leaf in group
            )
        )
        row = text.replace("&#x27;", "'").partition(f"<code>{name}</code></th>")[2]
        assert f"changed by {change:.4g}" in row.partition("</tr>")[0]
    assert "2 leaves, 32 numbers" in text  # 3 x 8 and 8
    assert text.count("<details>") == 4
    assert len(re.findall("<tr class", text)) == len(history[0]) + 4 + 4


def test_history__a_hundred_records_of_forty_leaves_are_small():
    history = History()
    noise = np.random.default_rng(3).normal(size=(100, 41, 64))
    for values in noise:
        history.record(list(values))
    assert len(history._repr_html_().encode()) < 100_000


def test_history__a_hostile_name_stays_a_name():
    text = awkward()._repr_html_()
    page = Page(text)
    assert not any(tag == "img" for tag, _ in page.tags)
    assert not any(tag == "script" for tag, _ in page.tags)
    assert any("<img src=x" in code for code in page.texts["code"])


def test_history__a_file_is_a_whole_page(tmp_path):
    recorded(1).save(tmp_path / "history.html")
    assert (tmp_path / "history.html").read_text(encoding="utf-8").endswith("</html>\n")
    assert "Nothing has been recorded" in History()._repr_html_()


def test_history__the_page_asks_for_nothing():
    page = Page(trained()._repr_html_())
    assert not any({"src", "href"} & set(attributes) for _, attributes in page.tags)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", trained()._repr_html_())


# --- in Chromium ---


def saved(history, tmp_path):
    history.save(tmp_path / "saved.html")
    return (tmp_path / "saved.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    ("lang", "shown"),
    [("en", "last value and change"), ("zh-CN", "最后的值和变化")],
)
def test_history__several_on_a_page_have_its_language_and_theme(open_page, width, lang, shown):
    pictures = trained()._repr_html_() + awkward()._repr_html_() + History()._repr_html_()
    text = f'<!doctype html><html lang="{lang}" data-theme="dark">{pictures}'
    page = open_page(text, width, java_script_enabled=False)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heads = [head for head in page.get_by_text(shown, exact=True).all() if head.is_visible()]
    assert len(heads) == (2 if width > 600 else 0)
    colour = "view => getComputedStyle(view).backgroundColor"
    assert page.locator(".hs-history").first.evaluate(colour) == "rgb(27, 30, 37)"
    assert page.locator("svg").first.evaluate("e => e.getBoundingClientRect().width") >= 180
    assert page.locator("img").count() == 0
    assert_quiet(page)


def test_history__without_a_page_the_language_of_the_rendering_counts(
    open_page, tmp_path, monkeypatch
):
    monkeypatch.setenv("HAIKU_STATE_LANG", "zh")
    text = saved(trained(1), tmp_path)
    assert '<html lang="zh-CN">' in text
    page = open_page(text.replace('<html lang="zh-CN">', "<html>"))
    assert page.get_by_text("最后的值和变化").first.is_visible()


def test_history__a_row_of_several_leaves_is_that_of_one_array():
    rng = np.random.default_rng(0)
    first = {
        f"layer_{n}": {"w": rng.normal(size=(5, 2)), "b": rng.normal(size=5)} for n in range(5)
    }
    second = {n: {k: v + rng.normal(size=v.shape) for k, v in m.items()} for n, m in first.items()}
    second["layer_0"]["w"][0] = [np.nan, np.inf]
    second["layer_1"]["w"] = rng.normal(size=(6, 2))
    text = recorded(first, second)._repr_html_().replace("&#x27;", "'")
    for name, module in second.items():
        row = text.partition(f"<code>['{name}']</code></th>")[2].partition("</tr>")[0]
        every = np.concatenate([module["w"].ravel(), module["b"]])
        finite = every[np.isfinite(every)]
        assert f"{finite.mean():.4g}" in row
        assert f"{finite.min():.4g}" in row
        assert f"{finite.max():.4g}" in row
        assert ("NaN 1" in row) == (name == "layer_0")
        if name == "layer_1":  # of another shape there is no change to measure
            assert "changed by" not in row
        elif name != "layer_0":
            change = every - np.concatenate([first[name]["w"].ravel(), first[name]["b"]])
            assert f"changed by {np.linalg.norm(change):.4g}" in row


@pytest.mark.parametrize("width", [360, 1280])
def test_history__one_of_a_net_fits_on_a_screen_or_two(open_page, width, standard_promotion):
    history, _states = mlp()
    page = open_page(f"<!doctype html>{history._repr_html_()}", width, java_script_enabled=False)
    assert page.locator(".hs-history").evaluate("e => e.scrollHeight") < (
        900 if width > 600 else 1300
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("summary").first.click()
    assert page.get_by_text("params['mlp/~/linear_0']['w']").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_history__on_paper_it_is_light(open_page):
    page = open_page(f'<!doctype html><html data-theme="dark">{trained()._repr_html_()}')
    page.emulate_media(media="print")
    assert page.locator(".hs-history").evaluate("e => getComputedStyle(e).colorScheme") == "light"
