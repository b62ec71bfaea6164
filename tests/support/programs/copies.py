"""Arguments and values from outside: changed themselves, or in a copy."""

import copy
import random

import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure({"image": x, "label": x})
def argument_pop(batch):
    label = batch.pop("label")  # finds: mutation batch['label']
    return (batch["image"] - label).sum()


@impure({"image": x})
def argument_flag(batch):
    batch["normalized"] = True  # finds: mutation batch['normalized']
    return batch["image"] / 255


@impure({"w": x}, x)
def argument_key_replaced(params, g):
    params["w"] = params["w"] - 0.1 * g  # finds: mutation params['w']
    return params


@impure([x, x])
def argument_list_append(layers):
    layers.append("done")  # finds: mutation layers[...]
    return layers[0] + layers[1]


@impure.made(x)
def deepcopied_too_late():
    state = {"step": 0, "log": []}

    def update(x):
        state["step"] += 1  # finds: mutation state['step']
        fresh = copy.deepcopy(state)
        fresh["log"].append("only the copy")
        return x * fresh["step"]

    return update


@impure.made(x)
def shallow_copy_shares_the_list():
    state = {"step": 0, "log": []}

    def update(x):
        fresh = dict(state)
        fresh["step"] += 1
        fresh["log"].append("step")  # finds: mutation fresh['log'][...]
        return x * fresh["step"]

    return update


@pure(x)
def augmented_assignment_of_the_argument(x):
    x += 1
    x *= 2
    return x


@pure({"w": x, "b": x})
def argument_copied_then_changed(params):
    params = dict(params)
    params["w"] = params["w"] - 0.1
    params.pop("b")
    return params


@pure({"w": x, "b": x})
def argument_merged(params):
    return {**params, "w": params["w"] * 2} | {"step": 1.0}


@pure([x, x + 1])
def argument_list_concatenated(layers):
    layers = [*layers, x]
    layers += [layers[0]]
    return jnp.stack(layers)


config = {"rate": 0.1, "sizes": [3, 4], "nested": {"depth": 2}}
names = ["b", "a", "c"]
order = [3, 1, 2]
offset = jnp.float32(2.0)
table = np.arange(6, dtype=np.float32)
LAYERS = (3, 2)


@pure(x)
def constants_of_the_module(x):
    return x * offset + table[:3] * config["rate"]


@pure(x)
def deepcopy_then_changed(x):
    mine = copy.deepcopy(config)
    mine["sizes"].append(5)
    mine["nested"]["depth"] += 1
    return x * len(mine["sizes"]) * mine["nested"]["depth"]


@pure(x)
def shallow_copy_rebound(x):
    mine = dict(config)
    mine["sizes"] = [*mine["sizes"], 5]
    mine["rate"] = 1.0
    return x * mine["rate"] * sum(mine["sizes"])


@pure(x)
def sorted_copy(x):
    first, *rest = sorted(order)
    reversed_order = order[::-1]
    reversed_order.sort()
    return x * first + len(rest)


@pure(x)
def list_copied_then_shuffled(x):
    mine = list(order)
    random.Random(0).shuffle(mine)
    return x * mine[0]


@pure(x)
def numpy_copied_then_changed(x):
    mine = table.copy()
    mine[:3] += 1
    mine.sort()
    return x + mine[:3]


@pure(x)
def numpy_result_then_changed(x):
    doubled = table * 2
    doubled *= 0.5
    doubled[0] = -1
    return x + doubled[:3]


@pure(x)
def local_name_of_a_global(x):
    table = np.zeros(3, np.float32)
    table[0] = 1
    order = []
    order.append(1)
    return x + table * len(order)


@pure(x)
def loop_over_an_outside_list(x):
    for index, size in enumerate(config["sizes"]):
        x = x * size + index
    for name, value in zip(names, order, strict=True):
        x = x + value * len(name)
    return x


@pure(x)
def iterator_of_an_outside_list(x):
    values = iter(order)
    first = next(values)
    for value in values:
        x = x + value
    return x * first


@pure(x)
def outside_dict_reads(x):
    rate = config.get("rate", 0.0)
    depth = config["nested"].get("width", 1)
    return x * rate * depth if "rate" in config else x


@pure(x)
def outside_set_operations(x):
    known = set(names) | {"d"}
    return x * len(known - {"a"})
