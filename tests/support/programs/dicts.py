"""Dicts, sets, and what is built on them."""

import collections
import contextlib
import operator
from collections import Counter, OrderedDict, defaultdict, deque

import jax
import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
progress = {"train": {"steps": 0}}


@impure(x)
def dict_in_a_dict(x):
    progress["train"]["steps"] += 1  # finds: mutation progress['train']['steps']
    return x


cache = {}


@impure(x)
def dict_key(x):
    cache["calls"] = cache.get("calls", 0) + 1  # finds: mutation cache['calls']
    return x * cache["calls"]


by_shape = {}


@impure(x)
def dict_cache_by_shape(x):
    if x.shape not in by_shape:
        by_shape[x.shape] = 1.0 / x.shape[0]  # finds: mutation by_shape[(3,)]
    return x * by_shape[x.shape]


defaults = {}


@impure(x)
def dict_setdefault(x):
    return x * defaults.setdefault("scale", 2.0)  # finds: mutation defaults['scale']


opts = {"rate": 0.1, "size": 3}


@impure(x)
def dict_update(x):
    opts.update(rate=opts["rate"] / 2, n=1)  # finds: mutation opts['rate']; mutation opts['n']
    return x


hparams = {"rate": 0.1, "warmup": True}


@impure(x)
def dict_pop(x):
    warmup = hparams.pop("warmup", False)  # finds: mutation hparams['warmup']
    return x * 0.5 if warmup else x


flags = {"first": True}


@impure(x)
def dict_delete(x):
    with contextlib.suppress(KeyError):
        del flags["first"]  # finds: mutation flags['first']
    return x


merged = {"a": 1}


@impure(x)
def dict_merge_in_place(x):
    global merged
    merged |= {"b": x.ndim}  # finds: mutation merged['b']
    return x


grads = {"w": 1.0}


@impure(x)
def dict_clear(x):
    grads.clear()  # finds: mutation grads['w']
    return x


table = {"row": 0}


@impure(x)
def operator_setitem(x):
    operator.setitem(table, "row", table["row"] + 1)  # finds: mutation table['row']
    return x


class Averages(dict):
    """A subclass of dict, as in many training scripts."""


averages = Averages(loss=0.0)


@impure(x)
def dict_subclass(x):
    averages["loss"] += 0.5  # finds: mutation averages['loss']
    return x


@impure.made(x)
def dict_key_object():
    class Node:
        def __init__(self):
            self.n = 0

    nodes = {Node(): 1}

    def f(x):
        for node in nodes:
            node.n += 1  # finds: mutation node.n
        return x

    return f


mixed_keys = []


@impure(x)
def dict_with_keys_that_cannot_be_sorted(x):
    mixed_keys.append({"a": 1, 2: 3})  # finds: mutation mixed_keys[...]
    return x


names = set()


@impure(x)
def set_add(x):
    names.add(str(x.dtype))  # finds: mutation names
    return x * len(names)


visited = {(3,), (4,)}


@impure(x)
def set_discard(x):
    visited.discard(x.shape)  # finds: mutation visited
    return x


@impure.made(x)
def set_member_object():
    class Node:
        def __init__(self):
            self.n = 0

    nodes = {Node()}

    def f(x):
        for node in nodes:
            node.n += 1  # finds: mutation node.n
        return x

    return f


groups = defaultdict(list)


@impure(x)
def defaultdict_append(x):
    groups[x.ndim].append("call")  # finds: mutation groups[1]
    return x


touched = defaultdict(int)


@impure(x)
def defaultdict_read(x):
    return x * touched["never set"]  # finds: mutation touched['never set']


ops = Counter()


@impure(x)
def counter_key(x):
    ops["relu"] += 1  # finds: mutation ops['relu']
    return jax.nn.relu(x)


words = Counter(a=1)


@impure(x)
def counter_update(x):
    words.update("ab")  # finds: mutation words['a']; mutation words['b']
    return x


lru = OrderedDict(a=1, b=2)


@impure(x)
def ordered_dict_move(x):
    oldest = next(iter(lru))
    lru.move_to_end(oldest)  # finds: mutation lru
    return x


memo = collections.ChainMap({}, {"depth": 3})


@impure(x)
def chain_map_key(x):
    memo["width"] = memo["depth"] + 1  # finds: mutation memo['width']
    return x


@pure(x)
def dict_built_inside(x):
    stats = {}
    stats["mean"] = x.mean()
    stats.update(std=x.std(), size=x.size)
    stats.pop("size")
    return stats


@pure(x)
def nested_containers_built_inside(x):
    log = {"train": {"loss": []}, "seen": set()}
    for name in ("a", "b"):
        log["train"]["loss"].append(x.sum())
        log["seen"].add(name)
    return sum(log["train"]["loss"]) * len(log["seen"])


@pure(x)
def collections_built_inside(x):
    groups, counts = defaultdict(list), Counter()
    window, order = deque(maxlen=2), OrderedDict()
    for index in range(3):
        groups[index % 2].append(x[index])
        counts["calls"] += 1
        window.append(index)
        order[index] = x[index]
    order.move_to_end(0)
    window.rotate(1)
    return sum(groups[0]) * counts["calls"] + sum(window) + next(iter(order.values()))
