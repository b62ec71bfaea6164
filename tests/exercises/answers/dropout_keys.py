# right: all keys of a run at once
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


def run(params, rng, xs):
    rng, *keys = jax.random.split(rng, len(xs) + 1)
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), rng

# right: the number of the step folded into a key of the run
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


def run(params, rng, xs):
    rng, root = jax.random.split(rng)
    outputs = []
    for step, x in enumerate(xs):
        outputs.append(model.apply(params, jax.random.fold_in(root, step), x))
    return jnp.stack(outputs), rng

# wrong: same mask
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


def run(params, rng, xs):
    rng, step_rng = jax.random.split(rng)
    return jnp.stack([model.apply(params, step_rng, x) for x in xs]), rng

# wrong: key not carried
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


def run(params, rng, xs):
    keys = jax.random.split(rng, len(xs))
    return jnp.stack([model.apply(params, k, x) for k, x in zip(keys, xs)]), rng

# wrong: key not carried
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


def run(params, rng, xs):
    outputs = []
    for step, x in enumerate(xs):
        outputs.append(model.apply(params, jax.random.fold_in(rng, step), x))
    return jnp.stack(outputs), rng

# wrong: key of init
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    return model.init(rng, x), rng


def run(params, rng, xs):
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng

# wrong: hidden key
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


keys = hk.PRNGSequence(0)


def run(params, rng, xs):
    return jnp.stack([model.apply(params, next(keys), x) for x in xs]), rng

# wrong: hidden key
import haiku as hk
import jax
import numpy as np
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


def run(params, rng, xs):
    outputs = []
    for x in xs:
        step_rng = jax.random.key(np.random.randint(1000000000))
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng

# wrong: hidden key
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


def run(params, rng, xs):
    rng = jax.random.key(0)
    outputs = []
    for x in xs:
        rng, step_rng = jax.random.split(rng)
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), rng

# wrong: key not carried
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(40, name="layer")(x)
    return hk.dropout(hk.next_rng_key(), 0.5, x)


model = hk.transform(forward)


def start(rng, x):
    rng, init_rng = jax.random.split(rng)
    return model.init(init_rng, x), rng


def run(params, rng, xs):
    outputs = []
    for i, x in enumerate(xs):
        step_rng = jax.random.fold_in(rng, i)
        outputs.append(model.apply(params, step_rng, x))
    return jnp.stack(outputs), step_rng
