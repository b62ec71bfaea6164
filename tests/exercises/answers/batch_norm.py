# right: jnp.var, and one return for each mode
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        if not is_training:
            return (x - mean) / jnp.sqrt(var + 1e-5)
        hk.set_state("mean", mean + (1 - d) * (x.mean(0) - mean))
        hk.set_state("var", var + (1 - d) * (jnp.var(x, 0) - var))
        return (x - x.mean(0)) / jnp.sqrt(jnp.var(x, 0) + 1e-5)

# wrong: batch statistics
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        if is_training:
            mean = d * mean + (1 - d) * x.mean(axis=0)
            var = d * var + (1 - d) * x.var(axis=0)
            hk.set_state("mean", mean)
            hk.set_state("var", var)
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: evaluation
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        running_mean, running_var = mean, var
        mean, var = x.mean(axis=0), x.var(axis=0)
        if is_training:
            hk.set_state("mean", d * running_mean + (1 - d) * mean)
            hk.set_state("var", d * running_var + (1 - d) * var)
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: evaluation writes
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        batch_mean, batch_var = x.mean(axis=0), x.var(axis=0)
        hk.set_state("mean", d * mean + (1 - d) * batch_mean)
        hk.set_state("var", d * var + (1 - d) * batch_var)
        if is_training:
            mean, var = batch_mean, batch_var
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: dropped state
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        if is_training:
            mean, var = x.mean(axis=0), x.var(axis=0)
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: cancellation
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        if is_training:
            running_mean, running_var = mean, var
            mean = x.mean(axis=0)
            var = (x**2).mean(axis=0) - mean**2
            hk.set_state("mean", d * running_mean + (1 - d) * mean)
            hk.set_state("var", d * running_var + (1 - d) * var)
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: decay rate
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        if is_training:
            running_mean, running_var = mean, var
            mean, var = x.mean(axis=0), x.var(axis=0)
            hk.set_state("mean", (1 - d) * running_mean + d * mean)
            hk.set_state("var", (1 - d) * running_var + d * var)
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: variance
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        if is_training:
            running_mean, running_var = mean, var
            mean, var = x.mean(axis=0), x.std(axis=0) ** 2
            hk.set_state("mean", d * running_mean + (1 - d) * mean)
            hk.set_state("var", d * running_var + (1 - d) * x.std(axis=0))
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: one per column
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        if is_training:
            running_mean, running_var = mean, var
            mean, var = x.mean(), x.var()
            hk.set_state("mean", d * running_mean.mean() + (1 - d) * mean)
            hk.set_state("var", d * running_var.mean() + (1 - d) * var)
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: one per column
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        d = self.decay_rate
        if is_training:
            running_mean, running_var = mean, var
            mean, var = x.mean(), x.var()
            hk.set_state("mean", d * running_mean + (1 - d) * mean)
            hk.set_state("var", d * running_var + (1 - d) * var)
        return (x - mean) / jnp.sqrt(var + 1e-5)

# wrong: running statistics
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
            old, kept = mean, self.decay_rate
            mean, var = x.mean(axis=0), x.var(axis=0)
            hk.set_state("mean", kept * old + (1 - kept) * mean)
        return (x - mean) / jnp.sqrt(var + 1e-5)
