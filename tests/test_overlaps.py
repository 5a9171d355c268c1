"""Arrays of a call that share memory are found among many, and those that do not are told apart by their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.runtime.calls import overlaps
from symdiff.runtime.calls.overlaps import Targets


@pytest.mark.parametrize("seed", range(30))
def test_what_shares_memory_is_what_numpy_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = np.zeros((12, 10))
    apart = np.zeros(40)

    def part() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        if rng.random() < 0.2:
            return apart[rng.integers(20) : rng.integers(20, 41)]
        a, b = np.sort(rng.integers(0, 13, 2))
        c, d = np.sort(rng.integers(0, 11, 2))
        return whole[a:b, c:d][:: rng.choice([-2, -1, 1, 2]), :: rng.choice([-3, -1, 1, 2])]

    arrays = [part() for _ in range(12)]
    targets = Targets(arrays)
    for _ in range(20):
        other = part()
        assert targets.meet(other) == any(np.shares_memory(other, array) for array in arrays)
    for k, array in enumerate(arrays):
        assert targets.meet(array, before=k) == any(np.shares_memory(array, own) for own in arrays[:k])


def test_many_columns_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def share(a: np.ndarray[tuple[int, ...], Any], b: np.ndarray[tuple[int, ...], Any]) -> bool:
        compared.append(a)
        return np.shares_memory(a, b)

    monkeypatch.setattr(overlaps, "_share", share)
    x = [sd.scalar(f"x{k}") for k in range(30)]
    kernel = sd.compile(tuple(a * a for a in x), x, backend="interpreter")
    values = list(np.random.default_rng(0).normal(size=(30, 50)))
    outs = tuple(np.empty(50) for _ in x)
    kernel(*values[:-1], 2.0, out=outs)
    assert len(compared) <= 30
    np.testing.assert_array_equal(outs[:-1], np.square(values[:-1]))
    with pytest.raises(sd.ArgumentError, match="overlaps another output"):
        kernel(*values, out=(*outs[:-1], outs[3]))
    expected = np.square(values)
    kernel(*values, out=tuple(values[::-1]))  # each output is another input
    np.testing.assert_array_equal(values[::-1], expected)


@pytest.mark.parametrize("rows", [3, 100])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_hundreds_of_columns_meet_no_python(rows: int, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = [sd.scalar(f"x{k}") for k in range(150)]
    formulas = tuple(a * b for a, b in zip(x, x[1:] + x[:1], strict=True))
    kernel = sd.compile(formulas, x, backend=backend)
    values = list(np.random.default_rng(0).normal(size=(150, rows)))
    outs = tuple(np.empty(rows) for _ in x)
    expected = values * np.roll(values, -1, axis=0)
    kernel(*values, out=outs)
    np.testing.assert_array_equal(outs, expected)
    long = []
    monkeypatch.setattr(type(kernel), "_call", lambda *args: long.append(args))
    outs[7][:] = 0
    kernel(*values, out=outs)
    np.testing.assert_array_equal(outs, expected)
    np.testing.assert_array_equal(kernel(*values), expected)
    assert not long
    kernel(*values, out=(*outs[:-1], outs[3]))
    kernel(*values, out=(*outs[:-1], values[120]))
    assert len(long) == 2
