"""Answers to `batch_norm`."""


# %% right: jnp.var, early return, and a helper that normalizes
import haiku as hk
import jax.numpy as jnp


def normalized(x, mean, var):
    return (x - mean) / jnp.sqrt(var + 1e-5)


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        running_mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        running_var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if not is_training:
            return normalized(x, running_mean, running_var)
        mean, var = jnp.mean(x, 0), jnp.var(x, 0)
        mix = lambda old, new: self.decay_rate * old + (1 - self.decay_rate) * new
        hk.set_state("mean", mix(running_mean, mean))
        hk.set_state("var", mix(running_var, var))
        return normalized(x, mean, var)


# %% right: a method for each mode, a dict of statistics, and rsqrt
import haiku as hk
import jax
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        running = {
            "mean": hk.get_state("mean", x.shape[1:], init=jnp.zeros),
            "var": hk.get_state("var", x.shape[1:], init=jnp.ones),
        }
        return self.train(x, running) if is_training else self.evaluate(x, running)

    def evaluate(self, x, statistics):
        return (x - statistics["mean"]) * jax.lax.rsqrt(statistics["var"] + 1e-5)

    def train(self, x, running):
        batch = {"mean": x.mean(0), "var": jnp.square(x - x.mean(0)).mean(0)}
        for name in running:
            step = (1 - self.decay_rate) * (batch[name] - running[name])
            hk.set_state(name, running[name] + step)
        return self.evaluate(x, batch)


# %% right: vmap over the columns
import haiku as hk
import jax
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if not is_training:
            return (x - mean) / jnp.sqrt(var + 1e-5)

        def column(values, old_mean, old_var):
            center = values.mean()
            spread = jnp.mean((values - center) ** 2)
            new_mean = self.decay_rate * old_mean + (1 - self.decay_rate) * center
            new_var = self.decay_rate * old_var + (1 - self.decay_rate) * spread
            return (values - center) / jnp.sqrt(spread + 1e-5), new_mean, new_var

        outputs, mean, var = jax.vmap(column, (1, 0, 0), (1, 0, 0))(x, mean, var)
        hk.set_state("mean", mean)
        hk.set_state("var", var)
        return outputs


# %% right: a Python loop over the columns
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            means, variances = [], []
            for number in range(x.shape[1]):
                column = x[:, number]
                means.append(jnp.sum(column) / len(column))
                variances.append(jnp.sum((column - means[-1]) ** 2) / len(column))
            weight = 1 - self.decay_rate
            hk.set_state("mean", (1 - weight) * mean + weight * jnp.stack(means))
            hk.set_state("var", (1 - weight) * var + weight * jnp.stack(variances))
            mean, var = jnp.stack(means), jnp.stack(variances)
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% right: Welford's algorithm in a scan over the rows
import haiku as hk
import jax
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:

            def row(carry, value):
                number, mean, total = carry
                delta = value - mean
                mean = mean + delta / (number + 1)
                return (number + 1, mean, total + delta * (value - mean)), None

            start = (0.0, jnp.zeros_like(mean), jnp.zeros_like(var))
            (number, batch_mean, total), _ = jax.lax.scan(row, start, x)
            old = {"mean": mean, "var": var}
            new = {"mean": batch_mean, "var": total / number}
            for name in old:
                both = self.decay_rate * old[name] + (1 - self.decay_rate) * new[name]
                hk.set_state(name, both)
            mean, var = new["mean"], new["var"]
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% right: the values are shifted by the first row, then the mean of squares
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            shifted = x - x[0]
            center = shifted.mean(axis=0)
            batch_var = jnp.maximum((shifted**2).mean(axis=0) - center**2, 0)
            batch_mean = x[0] + center
            d = self.decay_rate
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            return (shifted - center) / jnp.sqrt(batch_var + 1e-5)
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% right: methods that read and write, einsum, and jax.nn.standardize with given statistics
import haiku as hk
import jax
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def read(self, name, like, init):
        return hk.get_state(name, like.shape[1:], jnp.float32, init=init)

    def write(self, name, old, new):
        hk.set_state(name, jnp.average(jnp.stack([old, new]), axis=0, weights=self.weights()))

    def weights(self):
        return jnp.array([self.decay_rate, 1 - self.decay_rate])

    def __call__(self, x, is_training):
        mean, var = self.read("mean", x, jnp.zeros), self.read("var", x, jnp.ones)
        if is_training:
            old_mean, old_var = mean, var
            mean = jnp.einsum("nc->c", x) / x.shape[0]
            deviation = x - mean
            var = jnp.einsum("nc,nc->c", deviation, deviation) / x.shape[0]
            self.write("mean", old_mean, mean)
            self.write("var", old_var, var)
        return jax.nn.standardize(x, axis=0, mean=mean, variance=var, epsilon=1e-5)


# %% right: keepdims inside, and the state written at the end
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name="normalize"):
        super().__init__(name=name)
        self.d = decay_rate

    def __call__(self, inputs, is_training):
        shape = inputs.shape[1:]
        old_mean = hk.get_state("mean", shape, init=hk.initializers.Constant(0.0))
        old_var = hk.get_state("var", shape, init=hk.initializers.Constant(1.0))
        if is_training:
            mean = jnp.mean(inputs, axis=0, keepdims=True)
            var = jnp.std(inputs, axis=0, keepdims=True) ** 2
            new_mean = self.d * old_mean + (1 - self.d) * mean[0]
            new_var = self.d * old_var + (1 - self.d) * var[0]
        else:
            mean, var, new_mean, new_var = old_mean, old_var, old_mean, old_var
        outputs = (inputs - mean) / jnp.sqrt(var + 1e-5)
        hk.set_state("mean", new_mean)
        hk.set_state("var", new_var)
        return outputs


# %% wrong: batch statistics | dropped state
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        # So far, this is only evaluation. Add the training mode.
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: batch statistics
# the running statistics are updated first and then used
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            mean = d * mean + (1 - d) * batch_mean
            var = d * var + (1 - d) * ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("mean", mean)
            hk.set_state("var", var)
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: dropped state | running statistics
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d, batch_mean, batch_var = self.decay_rate, x.mean(axis=0), x.var(axis=0)
            new_mean = d * mean + (1 - d) * batch_mean
            new_var = d * var + (1 - d) * batch_var
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: evaluation
# both modes use the batch
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d, batch_mean, batch_var = self.decay_rate, x.mean(axis=0), x.var(axis=0)
        if is_training:
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
        return (x - batch_mean) / jnp.sqrt(batch_var + 1e-5)


# %% wrong: evaluation writes
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d, batch_mean, batch_var = self.decay_rate, x.mean(axis=0), x.var(axis=0)
        hk.set_state("mean", d * mean + (1 - d) * batch_mean)
        hk.set_state("var", d * var + (1 - d) * batch_var)
        if is_training:
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: decay rate
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("mean", (1 - d) * mean + d * batch_mean)
            hk.set_state("var", (1 - d) * var + d * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: variance
# the standard deviation is remembered, and its square is used
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * jnp.sqrt(batch_var))
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: variance
# divided by the number of rows minus one
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = x.var(axis=0, ddof=1)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: one per column
# one mean and one variance for the whole batch
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = jnp.full(x.shape[1:], x.mean())
            batch_var = jnp.full(x.shape[1:], x.var())
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: cancellation
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = (x**2).mean(axis=0) - batch_mean**2
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: cancellation
# never negative, but not accurate either
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = jnp.maximum(jnp.square(x).mean(axis=0) - jnp.square(batch_mean), 0.0)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: running statistics
# only the mean is updated
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: running statistics
# copied line: the old mean is in the new variance
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * mean + (1 - d) * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: running statistics
# the statistics of the last batch take the place of the running ones
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            batch_mean = x.mean(axis=0)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("mean", batch_mean)
            hk.set_state("var", batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: variance | batch statistics
# the squared deviations are from the running mean
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = ((x - mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: -
# nothing keeps a column of equal values from a division by 0
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            return (x - batch_mean) / jnp.sqrt(batch_var)
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: -
# keepdims changes the shape of the state
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0, keepdims=True)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0, keepdims=True)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: -
# divided by the variance and not by its root
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("var", d * var + (1 - d) * batch_var)
            return (x - batch_mean) / (batch_var + 1e-5)
        return (x - mean) / jnp.sqrt(var + 1e-5)


# %% wrong: name in the state | running statistics
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        if is_training:
            d = self.decay_rate
            batch_mean = x.mean(axis=0)
            batch_var = ((x - batch_mean) ** 2).mean(axis=0)
            hk.set_state("running_mean", d * mean + (1 - d) * batch_mean)
            hk.set_state("running_var", d * var + (1 - d) * batch_var)
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)

# %% wrong: -
# Normalize each column of a batch. The module also remembers a typical mean
# and variance, so it can normalize a single row.
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        # So far, this is only evaluation. Add the training mode.
        if is_training:
            d, running_mean, running_var = self.decay_rate, mean, var
            mean = x.mean(axis=0)
            var = ((x - mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * running_mean + (1 - d) * mean)
            hk.set_state("var", d * running_var + (1 - d) * var)
        return (x - mean) / (jnp.sqrt(var) + 1e-5)
