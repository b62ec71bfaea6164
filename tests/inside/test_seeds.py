"""What is found does not depend on the order of sets: the tables, under several seeds of hashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TABLES = Path(__file__).parent / "test_purity.py"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_explain__the_tables_are_found_under_each_seed_of_hashes(seed, request):
    root = request.config.rootpath
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-c", root / "pyproject.toml"]
    command += ["--rootdir", root, "-k", "has_its_findings or has_no_finding", TABLES]
    result = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout[-3000:]
