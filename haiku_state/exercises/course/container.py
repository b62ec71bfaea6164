"""A container of your own

repair, 8 min, state/pytrees#a-container-of-your-own

`Swing` should become a container that JAX understands, and `step` a pure function that can be
compiled.

The check makes swings with `Swing(angle, speed, method)`, where the method is `"euler"` or
`"leapfrog"`. It calls `step(swing, seconds)`, also under `jax.jit` and `jax.vmap`. A new angle or
speed must not cause a new trace, but a new method must. `step` does not change the swing that is
passed to it.

- Which of the three fields can be an array, and which cannot?
- Below the class, register it with `jax.tree_util.register_dataclass`, as the lesson does. In
  `step`, look for assignments to `swing.`.
- `data_fields` are `["angle", "speed"]`, and `meta_fields` is a list with the third field.
  `dataclasses.replace(swing, angle=..., speed=...)` makes a new swing.
"""

# %%
# A swing has an angle and a speed, which change from step to step, and a
# method of integration, by which Python chooses the formula.
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


# <solution>
jax.tree_util.register_dataclass(
    Swing,
    data_fields=["angle", "speed"],
    meta_fields=["method"],
)
# </solution>


# Return the swing after a short time.
def step(swing, seconds):
    #: angle = swing.angle + seconds * swing.speed
    #: if swing.method == "euler":
    #:     swing.speed -= seconds * swing.angle
    #: else:
    #:     swing.speed -= seconds * angle
    #: swing.angle = angle
    #: return swing
    # <solution>
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)
    # </solution>


# %% setup
import jax

shown = lambda swing: {"angle": swing.angle, "speed": swing.speed}


# %% inputs
def inputs(rng):
    return tuple(rng.uniform([0.5, 2.5, 0.1], [1.5, 3.5, 0.3]))


# %% check JAX finds two leaves in a swing; ; data field
def check(answer, angle, speed, seconds):
    swing = answer.Swing(angle, speed, "euler")
    leaves = jax.tree.leaves(swing)
    return {"leaves": len(leaves), "known": not any(leaf is swing for leaf in leaves)}


# %% check A swing that is taken apart comes back unchanged; ; round trip
def check(answer, angle, speed, seconds):
    swings = [answer.Swing(angle, speed, method) for method in ("euler", "leapfrog")]
    doubled = jax.tree.map(lambda leaf: 2 * leaf, swings)
    return [{**shown(swing), "method": swing.method} for swing in doubled]


# %% check A step by Euler's method; pure jit; same step
def check(answer, angle, speed, seconds):
    first = answer.Swing(angle, speed, "euler")
    second = answer.step(first, seconds)
    return {"before": shown(first), "after": shown(second)}


def closed_form(angle, speed, seconds):
    after = {"angle": angle + seconds * speed, "speed": speed - seconds * angle}
    return {"before": {"angle": angle, "speed": speed}, "after": after}


# %% check A step by the leapfrog method; pure jit; same step
def check(answer, angle, speed, seconds):
    first = answer.Swing(angle, speed, "leapfrog")
    second = answer.step(first, seconds)
    return {"before": shown(first), "after": shown(second)}


# %% check Three angles share one trace, and each method has its own trace; once; data field
def check(answer, angle, speed, seconds):
    traces = []

    @jax.jit
    def counted(swing):
        traces.append(1)
        return answer.step(swing, seconds)

    for factor in (1, 2, 3):
        swing = counted(answer.Swing(factor * angle, speed, "euler"))
    by_data = len(traces)
    after = counted(answer.Swing(angle, speed, "leapfrog"))
    two = jax.tree.map(lambda leaf: jax.numpy.stack([leaf, 2 * leaf]), swing)
    return {
        "angle": swing.angle,
        "traces for three angles": by_data,
        "traces for two methods": len(traces),
        "keeps its method": after.method == "leapfrog",
        "angles of two swings": jax.vmap(answer.step, (0, None))(two, seconds).angle,
    }


# %% idea unknown class
# If JAX does not know the class of an object, it treats the object as one leaf that is not an
# array. JAX must be told what is inside.
class Swing(right.Swing):  # JAX knows a class, but not those that are derived from it
    pass


# %% idea static field
# A string cannot be an array. A field by which Python chooses what is computed belongs to the
# structure of the tree, not to its leaves.
class Swing(right.Swing):
    pass


jax.tree_util.register_dataclass(Swing, ["angle", "speed", "method"], [])


# %% idea data field
# Numbers that change from call to call must be leaves. Anything in the structure is compiled in,
# and an array cannot even be compared there.
class Swing(right.Swing):
    pass


jax.tree_util.register_dataclass(Swing, ["angle"], ["speed", "method"])


# %% idea round trip; state/pytrees#flatten-and-unflatten
# JAX takes the object apart and puts it together again, so each part must come back to its original
# place.
class Swing(right.Swing):
    pass


jax.tree_util.register_pytree_node(
    Swing,
    lambda swing: ((swing.angle, swing.speed), None),
    lambda _, children: Swing(*children, "euler"),
)


# %% idea changed in place; state/stateful_computations#state-in-state-out
# The swing that was passed in has changed. A pure step does not change it but returns a new swing.
def step(swing, seconds):
    after = right.step(swing, seconds)
    swing.angle, swing.speed = after.angle, after.speed
    return swing


# %% idea method
# A step changes the angle and the speed; the new `Swing` keeps the `method` of the old one.
def step(swing, seconds):
    return replace(right.step(swing, seconds), method="euler")


# %% idea same step
# The numbers of a step must not change. Euler's method changes the speed using the old angle, and
# the leapfrog method uses the new angle.
def step(swing, seconds):
    after = right.step(replace(swing, method="euler"), seconds)
    return replace(after, method=swing.method)


# %% right the older way to register a class
@jax.tree_util.register_pytree_node_class
class Swing(right.Swing):
    def tree_flatten(self):
        return (self.angle, self.speed), self.method

    @classmethod
    def tree_unflatten(cls, method, children):
        return cls(*children, method)
