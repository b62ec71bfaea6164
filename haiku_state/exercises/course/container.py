"""A container of your own

repair, hard, 8 min, state/pytrees#a-container-of-your-own

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
def shown(swing):
    return {"angle": swing.angle, "speed": swing.speed}


# %% inputs
def inputs(rng):
    return tuple(rng.uniform([0.5, 2.5, 0.1], [1.5, 3.5, 0.3]))


# %% check JAX finds two leaves in a swing; once
def check(answer, angle, speed, seconds):
    leaves = jax.tree.leaves(answer.Swing(angle, speed, "euler"))
    others = [type(leaf).__name__ for leaf in leaves if not isinstance(leaf, jax.Array)]
    return {"arrays": len(leaves) - len(others), "other leaves": ", ".join(others)}


# %% check A swing that is flattened and unflattened keeps all its fields; once
def check(answer, angle, speed, seconds):
    swings = {method: answer.Swing(angle, speed, method) for method in ("euler", "leapfrog")}
    doubled = jax.tree.map(lambda leaf: 2 * leaf, swings)
    return {old: {**shown(swing), "method": swing.method} for old, swing in doubled.items()}


# %% check `step` works with each method and does not change the old swing; pure jit
def check(answer, angle, speed, seconds):
    result = {}
    for method in ("euler", "leapfrog"):
        old = answer.Swing(angle, speed, method)
        new = answer.step(old, seconds)
        result[method] = {"new": shown(new), "keeps its method": new.method == method}
        result[method]["old"] = shown(old)
    return result


def closed_form(angle, speed, seconds):
    old = {"angle": angle, "speed": speed}
    after = angle + seconds * speed
    result = {}
    for method, pulling in (("euler", angle), ("leapfrog", after)):
        new = {"angle": after, "speed": speed - seconds * pulling}
        result[method] = {"new": new, "keeps its method": True, "old": old}
    return result


# %% check A new angle or speed causes no new trace, but a new method does; once
def check(answer, angle, speed, seconds):
    traced = []

    @jax.jit
    def step(swing):
        traced.append(swing.method)
        return answer.step(swing, seconds)

    for factor in (1, 2, 3):
        swing = step(answer.Swing(factor * angle, factor * speed, "euler"))
    step(answer.Swing(angle, speed, "leapfrog"))
    two = jax.tree.map(lambda leaf: jax.numpy.stack([leaf, 2 * leaf]), swing)
    many = jax.vmap(answer.step, (0, None))(two, seconds)
    return {"traced": traced, "two swings at once": shown(many)}


# %% idea unknown class
# If JAX does not know the class of an object, it treats the object as one leaf that is not an
# array. JAX must be told what is inside.
class Swing(right.Swing):  # JAX knows a class, but not those that are derived from it
    pass


# %% idea static field
# A string cannot be an array. A field by which Python chooses what is computed must belong to the
# structure of the tree, not to its leaves.
class Swing(right.Swing):
    pass


jax.tree_util.register_dataclass(Swing, ["angle", "speed", "method"], [])


# %% idea data field
# Numbers that change from call to call must be leaves. The structure becomes part of the compiled
# program, and an array cannot be there because it is not hashable.
class Swing(right.Swing):
    pass


jax.tree_util.register_dataclass(Swing, ["angle"], ["speed", "method"])


# %%
class Swing(right.Swing):
    pass


jax.tree_util.register_dataclass(Swing, [], ["angle", "speed", "method"])


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


# %%
class Swing(right.Swing):
    pass


jax.tree_util.register_pytree_node(
    Swing,
    lambda swing: ((swing.speed, swing.angle), swing.method),
    lambda method, children: Swing(*children, method),
)


# %% idea changed argument
def step(swing, seconds):
    after = right.step(swing, seconds)
    swing.angle, swing.speed = after.angle, after.speed
    return swing


# %% idea method
# A step changes only the angle and the speed, so the new `Swing` must keep the `method` of the old
# swing.
def step(swing, seconds):
    return replace(right.step(swing, seconds), method="euler")


# %% idea same step
# The numbers of a step must not change. Euler's method changes the speed using the old angle, and
# the leapfrog method uses the new angle.
def step(swing, seconds):
    after = right.step(replace(swing, method="euler"), seconds)
    return replace(after, method=swing.method)


# %%
def step(swing, seconds):
    after = right.step(replace(swing, method="leapfrog"), seconds)
    return replace(after, method=swing.method)


# %% right the older way to register a class
@jax.tree_util.register_pytree_node_class
class Swing(right.Swing):
    def tree_flatten(self):
        return (self.angle, self.speed), self.method

    @classmethod
    def tree_unflatten(cls, method, children):
        return cls(*children, method)
