# right: one helper that reads, zeros by a lambda, and a constructor of its own
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __init__(self, name="door"):
        super().__init__(name=name)

    def _read(self):
        return hk.get_state("count", [], init=lambda *_: jnp.int32(0))

    def __call__(self, people):
        hk.set_state("count", self._read() + people)
        return hk.get_state("count")

    def reset(self):
        count = self._read()
        hk.set_state("count", jnp.int32(0))
        return count

# wrong: not in the state
import haiku as hk


class Door(hk.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __call__(self, people):
        self.count += people
        return self.count

    def reset(self):
        count, self.count = self.count, 0
        return count

# wrong: not in the state
import haiku as hk

count = 0


class Door(hk.Module):
    def __call__(self, people):
        global count
        count += people
        return count

    def reset(self):
        global count
        before, count = count, 0
        return before

# wrong: dropped state
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        return count + people

    def reset(self):
        return hk.get_state("count", (), jnp.int32, init=jnp.zeros)

# wrong: initial value
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count") + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count")
        hk.set_state("count", jnp.int32(0))
        return count

# wrong: constructor
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __init__(self):
        super().__init__()
        hk.set_state("count", jnp.int32(0))

    def __call__(self, people):
        hk.set_state("count", hk.get_state("count") + people)
        return hk.get_state("count")

    def reset(self):
        count = hk.get_state("count")
        hk.set_state("count", jnp.int32(0))
        return count

# wrong: before or after
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        hk.set_state("count", jnp.int32(0))
        return hk.get_state("count")

# wrong: dtype
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), init=jnp.zeros)
        hk.set_state("count", jnp.int32(0))
        return count

# wrong: name in the state
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        inside = hk.get_state("people", (), jnp.int32, init=jnp.zeros)
        hk.set_state("people", inside + people)
        return inside + people

    def reset(self):
        inside = hk.get_state("people", (), jnp.int32, init=jnp.zeros)
        hk.set_state("people", jnp.zeros_like(inside))
        return inside

# wrong: initial value
import haiku as hk
import jax
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count")
        hk.set_state("count", jnp.zeros_like(count))
        return count

# wrong: not in the state
import haiku as hk
import jax
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        count = hk.get_parameter("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count

    def reset(self):
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count
