"""Runs the notebooks once, and keeps their outputs."""
