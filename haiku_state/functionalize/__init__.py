"""The general strategy: an ordinary class whose methods change it becomes pure functions."""

from haiku_state.functionalize.pure import functionalize as functionalize
