from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import memory


def has_sanitizers() -> bool:
    gcc = shutil.which("gcc")
    if gcc is None:
        return False
    place = subprocess.run([gcc, "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    return Path(place.stdout.strip()).is_absolute()


@pytest.mark.exhaustive
@pytest.mark.skipif(not has_sanitizers(), reason="gcc has no sanitizers here; tests/support/memory.py has them")
def test_generated_code_under_the_sanitizers(tmp_path: Path) -> None:
    status, text = memory.sanitizers(["elementwise", "solve"], str(tmp_path), compiled=False)
    assert status == 0, text
    assert text.split() == ["elementwise", "solve", "finished"]
    # That they say nothing means something only where they would.
    status, text = memory.sanitizers(["overrun"], str(tmp_path), compiled=False)
    assert status != 0
    assert "heap-buffer-overflow" in text
