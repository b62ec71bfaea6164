"""Every cell of every lesson on the JAX that is installed, and what it shows.

python tests/lessons/run.py --out build/compat/jax0.12.lessons.json
python tests/lessons/run.py haiku/batch_norm update/meshes
"""

import sys
from pathlib import Path

# the folder above, so that an installed haiku_state is run, never the one of this checkout
sys.path[0] = str(Path(__file__).parents[1])

from lessons.driver import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
