"""Made pure: a class, a module or a function as a pair of pure functions."""

from haiku_state.pure.check import check_state as check_state
from haiku_state.pure.check import checked as checked
from haiku_state.pure.functionalize import functionalize as functionalize
from haiku_state.pure.pair import PurePair as PurePair
from haiku_state.pure.pair import pure_pair as pure_pair
