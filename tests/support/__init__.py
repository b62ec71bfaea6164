"""What tests share: devices and runners, oracles, programs, users' processes, a browser."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
