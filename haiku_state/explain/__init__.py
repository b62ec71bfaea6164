"""Why a function is impure, where its state flows, and how the state changed."""
