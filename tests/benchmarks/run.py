"""How fast the update steps are, beside hand-written JAX and other libraries.

python tests/benchmarks/run.py                  all groups, about a quarter of an hour
python tests/benchmarks/run.py steps --quick    a smoke run
python tests/benchmarks/run.py --check          exit code 1 if a limit of limits.py fails
"""

import sys
from pathlib import Path

# the folder above, so that an installed haiku_state is measured, never the one of this checkout
sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.driver import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
