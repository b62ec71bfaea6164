"""What measures, draws or writes something beside the tests: ``python tests/tools`` lists it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
