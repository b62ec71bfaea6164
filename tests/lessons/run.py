"""Every cell of every lesson on the JAX that is installed, and what it shows.

python tests/lessons/run.py --out build/compat/jax0.12.lessons.json
python tests/lessons/run.py haiku/batch_norm update/meshes
python tests/lessons/run.py --tasks
"""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
# not this folder, so that an installed haiku_state is run, never the one of this checkout
sys.path[:1] = [str(TESTS), str(TESTS.parent / "conf/sphinx")]

from lessons.driver import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
