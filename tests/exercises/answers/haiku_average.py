# right: the weights written out, the counter as a float in the power
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        d = self.decay_rate
        hk.set_state("counter", hk.get_state("counter", (), jnp.int32, jnp.zeros) + 1)
        old = hk.get_state("hidden", gradient.shape, init=jnp.zeros)
        new = d * old + (1 - d) * jnp.square(gradient)
        hk.set_state("hidden", new)
        share = 1 - d ** hk.get_state("counter").astype(jnp.float32)
        return new / share

# wrong: start at zero
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        hidden = hk.get_state("hidden", gradient.shape, init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros)
        hidden = self.decay_rate * hidden + (1 - self.decay_rate) * gradient**2
        hk.set_state("hidden", hidden)
        hk.set_state("counter", counter + 1)
        return hidden

# wrong: counted first
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        hidden = hk.get_state("hidden", gradient.shape, init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros)
        hidden = self.decay_rate * hidden + (1 - self.decay_rate) * gradient**2
        hk.set_state("hidden", hidden)
        hk.set_state("counter", counter + 1)
        return hidden / (1 - self.decay_rate**counter)

# wrong: decay rate
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        hidden = hk.get_state("hidden", gradient.shape, init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros) + 1
        hidden = (1 - self.decay_rate) * hidden + self.decay_rate * gradient**2
        hk.set_state("hidden", hidden)
        hk.set_state("counter", counter)
        return hidden / (1 - self.decay_rate**counter)

# wrong: corrected twice
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        hidden = hk.get_state("hidden", gradient.shape, init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros) + 1
        hidden = self.decay_rate * hidden + (1 - self.decay_rate) * gradient**2
        hidden = hidden / (1 - self.decay_rate**counter)
        hk.set_state("hidden", hidden)
        hk.set_state("counter", counter)
        return hidden

# wrong: dropped state
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        hidden = hk.get_state("hidden", gradient.shape, init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros) + 1
        hidden = self.decay_rate * hidden + (1 - self.decay_rate) * gradient**2
        hk.set_state("hidden", hidden)
        return hidden / (1 - self.decay_rate**counter)

# wrong: not in the state
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate
        self.hidden, self.counter = 0, 0

    def __call__(self, gradient):
        self.counter += 1
        self.hidden = self.decay_rate * self.hidden + (1 - self.decay_rate) * gradient**2
        return self.hidden / (1 - self.decay_rate**self.counter)

# wrong: initial value
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        hidden = hk.get_state("hidden", (), init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros) + 1
        new_part = (1 - self.decay_rate) * jnp.mean(gradient**2)
        hidden = self.decay_rate * hidden + new_part
        hk.set_state("hidden", hidden)
        hk.set_state("counter", counter)
        return hidden / (1 - self.decay_rate**counter)

# wrong: not in the state
import haiku as hk
import jax
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        d = self.decay_rate
        hidden = hk.get_parameter("hidden", gradient.shape, gradient.dtype, init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros) + 1
        hidden = d * hidden + (1 - d) * gradient**2
        hk.set_state("hidden", hidden)
        hk.set_state("counter", counter)
        return hidden / (1 - d**counter)
