"""Random examples and numbers are those of every other run, whatever this process did before."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

rng = np.random.default_rng(0)
FIRST = np.random.default_rng(0).random(3).tolist()


@pytest.mark.parametrize("turn", range(2))
def test_each_test_draws_the_first_numbers(turn: int) -> None:
    assert rng.random(3).tolist() == FIRST


def drawn() -> list[tuple[int, float, str]]:
    found: list[tuple[int, float, str]] = []

    @settings(max_examples=200, derandomize=True, database=None)
    @given(st.integers(), st.floats(allow_nan=False), st.text(max_size=20))
    def draw(number: int, value: float, text: str) -> None:
        found.append((number, value, text))

    draw()
    return found


def test_what_was_imported_before_changes_no_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn()
    assert drawn() == before
    path = tmp_path / "numbers.py"
    path.write_text("".join(f"a{k} = {1000003 * k}, {k}.0625, 'text {k}'\n" for k in range(1, 100)), encoding="ascii")
    spec = spec_from_file_location("some_numbers", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "some_numbers", module)
    spec.loader.exec_module(module)
    assert drawn() == before
