"""Choices: what each shows is what JAX or a program said, and who holds what is drawn as it is."""

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from docutils import nodes
from docutils.utils import new_document
from haiku_site.features.choices import ChoiceError, MakeChoices
from haiku_site.features.choices.kernel import choice, layout
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def mean_step(params, batch):
    loss, grads = jax.value_and_grad(lambda params: jnp.mean(batch @ params))(params)
    return params - grads, loss


def laid_out(capsys, shape, axes, params, batch):
    """What is kept of one layout of a step, whose params are 4 by 4 and whose batch is 8 by 4."""
    mesh = Mesh(np.array(jax.devices()[: np.prod(shape)]).reshape(shape), axes)
    arrays = np.ones((4, 4), np.float32), np.ones((8, 4), np.float32)
    layout(mean_step, mesh, params=(arrays[0], params), batch=(arrays[1], batch))
    return json.loads(capsys.readouterr().out)


def test_layout__each_device_of_a_row_holds_its_rows_and_a_copy_of_the_rest(capsys):
    kept = laid_out(capsys, (4,), ("data",), P(), P("data"))
    assert kept["choice"] == {"mesh": "data: 4", "params": "P()", "batch": 'P("data")'}
    assert kept["held"]["params"] == 4 * [[[0, 4, 4], [0, 4, 4]]]
    assert kept["held"]["batch"] == [[[2 * n, 2 * n + 2, 8], [0, 4, 4]] for n in range(4)]
    # the gradient has the shape of the params, and the loss has none
    arrays = [array for _kind, *arrays in kept["sent"] for array in arrays]
    assert {kind for kind, *_ in kept["sent"]} == {"all-reduce"}
    assert sorted(arrays) == ["float32[4,4]", "float32[]"]


def test_layout__a_square_of_devices_holds_blocks_and_copies_send_nothing(capsys):
    kept = laid_out(capsys, (2, 2), ("data", "model"), P("model"), P("data", "model"))
    assert kept["choice"]["mesh"] == "data: 2, model: 2"
    rows, columns = ([0, 4, 8], [4, 8, 8]), ([0, 2, 4], [2, 4, 4])
    assert kept["held"]["batch"] == [[row, column] for row in rows for column in columns]
    assert kept["held"]["params"] == 2 * [[column, [0, 4, 4]] for column in columns]
    assert kept["sent"]
    assert laid_out(capsys, (4,), ("data",), P(), P())["sent"] == []


def test_layout__a_result_in_the_place_of_an_argument_keeps_its_own(capsys):
    mesh = Mesh(np.array(jax.devices()[:4]), ("data",))
    for step in (lambda x: (2 * x,), lambda x: ((2 * x).reshape(2, 4),)):
        layout(step, mesh, x=(np.ones(8, np.float32), P("data")))
    same, copied = map(json.loads, capsys.readouterr().out.splitlines())
    assert same["sent"] == []
    assert {kind for kind, *_arrays in copied["sent"]} == {"all-gather"}


def test_choices__each_keeps_what_is_printed(capsys):
    with choice(rate=0.1, name="sgd"):
        print("first")
        print("second")
    assert json.loads(capsys.readouterr().out) == {
        "choice": {"rate": "0.1", "name": "sgd"}, "output": "first\nsecond",
    }  # fmt: skip


def made(*options):
    """The HTML of a cell that has kept some choices."""
    text = "\n".join(map(json.dumps, options))
    output = nodes.container("", nodes.literal_block(text, text), nb_element="cell_code_output")
    cell = nodes.container("", output, nb_element="cell_code", cell_index=3)
    cell["cell_metadata"] = {"tags": ["choices"]}
    document = new_document("page")
    document += cell
    MakeChoices(document).apply()
    [shown] = document.children
    return shown.astext()


def printing(output, **settings):
    return {"choice": settings, "output": output}


def test_choices__each_setting_has_a_button_for_each_value_and_each_is_shown():
    html = made(*(printing(f"<{a} {b}>", a=a, b=b) for a in "12" for b in "xyz"))
    assert re.findall(r"<legend><code>(\w+)</code>", html) == ["a", "b"]
    assert re.findall(r'<input type="radio" name="choices-3-(\d)" value="(.)"', html) == [
        *[("0", value) for value in "12"], *[("1", value) for value in "xyz"],
    ]  # fmt: skip
    assert html.count("checked") == 2
    assert re.findall(r"<pre>(.*?)</pre>", html) == [
        f"&lt;{a} {b}&gt;" for a in "12" for b in "xyz"
    ]
    first, folded = html.split("<details>")
    assert (first.count('"hs-option"'), folded.count('"hs-option"')) == (1, 5)


def test_choices__what_is_always_the_same_is_no_setting():
    html = made(printing("1", mesh="row", a="1"), printing("2", mesh="row", a="2"))
    assert "mesh" not in html
    assert html.count("<fieldset>") == 1


def test_choices__a_part_is_plain_and_a_copy_is_hatched_and_counted():
    held = {"w": [[[0, 2, 4], [0, 4, 4]], [[0, 2, 4], [0, 4, 4]], [[2, 4, 4], [0, 4, 4]]]}
    html = made(*({"choice": {"a": a}, "held": held, "sent": []} for a in "12"))
    table = html.split("</table>")[0]
    assert (table.count('class="hs-copy"'), table.count('class="hs-part"')) == (2, 1)
    assert re.findall(r"<code>\[(.*?)\]</code>(?:<small>(.*?)</small>)?", table) == [
        ("0:2, :", "× 2"), ("0:2, :", "× 2"), ("2:4, :", ""),
    ]  # fmt: skip
    assert 'class="hs-part" x="0" y="20" width="40" height="20"' in table


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            [printing("1", a="1"), printing("2", b="1")],
            r"not all choices have the settings \['a'\]",
        ),
        ([printing("1", a="1"), printing("2", a="1")], r"two choices of \['a'\] are equal"),
        ([], "not all choices"),
    ],
)
def test_choices__those_that_do_not_hold_stop_the_build(options, said):
    with pytest.raises(ChoiceError, match=said):
        made(*options)
