"""Tested: the laws that a module with state keeps."""

import haiku_state.compat as _compat  # noqa: F401  # names versions that do not match
from haiku_state.testing.check import Law as Law
from haiku_state.testing.check import LawReport as LawReport
from haiku_state.testing.check import LawResult as LawResult
from haiku_state.testing.check import check_module as check_module
from haiku_state.testing.check import laws_of as laws_of
