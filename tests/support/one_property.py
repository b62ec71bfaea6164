"""An exercise of which each check asks for one property, and for a result that is easily right."""

from haiku_state.exercises.cells import read

NAMES = ("again", "arguments", "pure", "jit", "vmap", "keys", "types", "weak")

HEAD = '''"""One property each

write, easy, 1 min, index

Add one.

- What?
- Where?
- How?
"""

# %%
import jax
'''
INPUTS = "# %% inputs\ndef inputs(rng):\n    return rng.normal(size=3)\n"
CHECK = "# %% check {0}; {0}\ndef check(answer, x):\n    return answer.{0}(x)\n"

FUNCTIONS = "".join(f"def {name}(x): return x + 1\n" for name in NAMES)
TEXT = HEAD + FUNCTIONS + INPUTS + "".join(map(CHECK.format, NAMES))
RIGHT = f"import jax\n{FUNCTIONS}"
EXERCISE = read("one_property", TEXT)
