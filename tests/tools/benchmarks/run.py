"""How fast the update steps are, beside hand-written JAX and other libraries.

python tests/tools benchmarks.run                  all groups, about a quarter of an hour
python tests/tools benchmarks.run steps --quick    a smoke run
python tests/tools benchmarks.run --check          exit code 1 if a limit of limits.py fails
"""

import sys

from tools.benchmarks.driver import main

if __name__ == "__main__":
    sys.exit(main())
