from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.exhaustive
def test_work_is_linear_where_it_is_counted() -> None:
    """Compiled passes make calls that nobody sees, so the tests that count calls run on the sources."""
    files = [file for file in sorted((ROOT / "tests").rglob("test_*.py")) if "mark.counted" in file.read_text("utf-8")]
    assert len(files) > 3
    # in one process, since each more collects the tests anew
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "tests.support.sources", "-p", "no:cacheprovider"]
    command += ["-m", "counted", *map(str, files)]
    run = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
