"""Globals, also through helpers of the file."""

import math
import string

import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
calls = 0


@impure(x)
def count_calls(x):
    global calls
    calls += 1  # finds: mutation calls
    return x * calls


def _next_step():
    global step_number
    step_number = step_number + 1  # finds: mutation step_number
    return step_number


step_number = 0


@impure(x)
def global_through_a_helper(x):
    return x * _next_step()


best_shape = None


@impure(x)
def global_set_from_a_shape(x):
    global best_shape
    if best_shape is None or x.shape > best_shape:
        best_shape = x.shape  # finds: mutation best_shape
    return x


@impure(x)
def global_created(x):
    global created_by_the_call
    created_by_the_call = x.ndim  # finds: mutation created_by_the_call
    return x


epochs_seen = 0


@impure(x)
def globals_function(x):
    globals()["epochs_seen"] += 1  # finds: mutation epochs_seen
    return x


def _log_loss(value):
    loss_log.append(value)  # finds: mutation loss_log[...]


loss_log = []


@impure(x)
def helper_of_the_same_file(x):
    _log_loss("loss")
    return x.sum()


def _record(store, value):
    store.append(value)  # finds: mutation store[...]


kept_values = []


@impure(x)
def helper_that_gets_the_list(x):
    _record(kept_values, 1.0)
    return x


helped = 0


def second_helper(x):
    global helped
    helped += 1  # finds: mutation helped
    return x * helped


def first_helper(x):
    return second_helper(x)


@impure(x)
def global_of_the_helper_of_a_helper(x):
    return first_helper(x)


@pure(x)
def module_constants(x):
    return x * math.pi + np.e * len(string.ascii_letters)


@pure(x)
def names_deleted(x):
    scratch = [x]
    y = scratch.pop()
    del scratch
    return y


@pure(x)
def locals_and_exec_free_scope(x):
    namespace = {}
    exec("scale = 2.0\nscale += 1", namespace)
    return x * namespace["scale"]
