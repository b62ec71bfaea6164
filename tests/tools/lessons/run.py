"""Every cell of every lesson on the JAX that is installed, and what it shows.

python tests/tools lessons.run --out build/compat/jax0.12.lessons.json
python tests/tools lessons.run haiku/batch_norm update/meshes
python tests/tools lessons.run --tasks
"""

import sys

from tools.lessons.driver import main

if __name__ == "__main__":
    sys.exit(main())
