"""Arrays of a call that share memory are found among many, and those that do not are told apart by their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.runtime.calls import arguments as overlaps
from symdiff.runtime.calls.arguments import Targets


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


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_outputs_in_any_order_of_memory(seed: int, backend: str) -> None:
    """Outputs that lie among inputs are written, in any order; one that meets an input waits for it."""
    rng = np.random.default_rng(seed)
    x = [sd.scalar(f"x{k}") for k in range(9)]
    kernel = sd.compile(tuple(x[k % 9] + float(k) for k in range(23)), x, backend=backend)
    memory = np.zeros(32 * 8)
    pieces = [memory[8 * k : 8 * k + 8] for k in rng.permutation(32)]
    values, outs = pieces[:9], pieces[9:]
    for value in values:
        value[:] = rng.normal(size=8)
    expected = [values[k % 9] + k for k in range(23)]
    for got, want in zip(kernel(*values, out=tuple(outs)), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    a, b = rng.integers(9), rng.integers(23)
    kept = outs[b]
    start = (kept.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // 8
    outs[b] = memory[max(0, start - 3) : max(0, start - 3) + 8] if start else kept
    near = [own for k, own in enumerate([*outs, *values]) if k != b and np.shares_memory(own, outs[b])]
    if any(np.shares_memory(own, outs[b]) for k, own in enumerate(outs) if k != b):
        with pytest.raises(sd.ArgumentError, match="overlaps"):
            kernel(*values, out=tuple(outs))
    else:
        for got, want in zip(kernel(*values, out=outs), expected, strict=True):
            np.testing.assert_array_equal(got, want)
    outs[b] = values[a]
    expected = [values[k % 9] + k for k in range(23)]
    for got, want in zip(kernel(*values, out=tuple(outs)), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    assert len(near) < 3
