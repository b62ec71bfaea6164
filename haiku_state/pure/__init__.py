"""Made pure: a class, a module or a function as a pair of pure functions."""

import haiku_state.compat as _compat  # noqa: F401  # names versions that do not match
from haiku_state.pure.check import check_state as check_state
from haiku_state.pure.check import checked as checked
from haiku_state.pure.functionalize import functionalize as functionalize
from haiku_state.pure.pair import pure_pair as pure_pair
