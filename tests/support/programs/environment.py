"""The clock, the environment, and identifiers."""

import datetime
import os.path
import secrets
import time
import uuid
from datetime import datetime as clock
from time import perf_counter

import jax
import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure(x)
def time_time(x):
    return x * time.time()  # finds: hidden input time.time


@impure(x)
def time_seed(x):
    key = jax.random.key(int(time.time_ns()) % 1000)  # finds: hidden input time.time_ns
    return x + jax.random.normal(key, x.shape)


@impure(x)
def elapsed_time(x):
    start = perf_counter()  # finds: hidden input perf_counter
    y = x * 2
    y = y + 0.0 * (perf_counter() - start)  # finds: hidden input perf_counter
    return y


@impure(x)
def monotonic_clock(x):
    return x + time.monotonic() % 2  # finds: hidden input time.monotonic


@impure(x)
def datetime_now(x):
    return x * datetime.datetime.now().second  # finds: hidden input datetime.datetime.now


@impure(x)
def datetime_renamed(x):
    return x * clock.now().microsecond  # finds: hidden input clock.now


@impure(x)
def date_today(x):
    weekend = datetime.date.today().weekday() >= 5  # finds: hidden input datetime.date.today
    return x * 2 if weekend else x


@impure(x)
def time_as_text(x):
    return x * len(time.ctime())  # finds: hidden input time.ctime


@impure(x)
def environ_item(x):
    return x * len(os.environ["PATH"])  # finds: hidden input os.environ['PATH']


@impure(x)
def environ_get(x):
    return x * float(os.environ.get("SCALE", "2"))  # finds: hidden input os.environ.get


@impure(x)
def getenv(x):
    if os.getenv("DEBUG"):  # finds: hidden input os.getenv
        x = x * 0
    return x


@impure(x)
def environ_contains(x):
    if "DEBUG" in os.environ:  # finds: hidden input os.environ['DEBUG']
        x = x * 0
    return x


@impure(x)
def environ_copy(x):
    env = dict(os.environ)  # finds: hidden input os.environ
    return x * len(env)


@impure(x)
def environ_items(x):
    n = sum(1 for k in os.environ if k.startswith("JAX"))  # finds: hidden input os.environ
    return x * n


@impure(x)
def branch_on_the_environment(x):
    if os.environ["HOME"] == "1":  # finds: hidden input os.environ['HOME']
        return -x
    return x


@impure(x)
def environ_set(x):
    os.environ["HAIKU_STATE_CORPUS"] = "1"  # finds: mutation os.environ['HAIKU_STATE_CORPUS']
    return x


@impure(x)
def uuid_seed(x):
    return x + uuid.uuid4().int % 7  # finds: hidden input uuid.uuid4


@impure(x)
def secrets_below(x):
    return x + secrets.randbelow(10)  # finds: hidden input secrets.randbelow


@impure(x)
def urandom(x):
    return x + os.urandom(1)[0]  # finds: hidden input os.urandom


@pure(x)
def dates_without_a_clock(x):
    day = datetime.date(2020, 1, 1) + datetime.timedelta(days=3)
    start = datetime.datetime(2020, 1, 1, 12)
    return x * day.day + start.hour


@pure(x)
def time_without_a_clock(x):
    year = time.gmtime(0).tm_year
    return x * year


@pure(x)
def uuid_of_a_name(x):
    return x + uuid.UUID(int=3).int + uuid.uuid5(uuid.NAMESPACE_DNS, "jax").int % 7
