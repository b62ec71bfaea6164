"""Why a function is impure, where its state flows, and how the state changed."""

from haiku_state.explain.history import History as History
