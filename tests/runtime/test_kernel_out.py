"""Results in given arrays: out= is filled, or untouched where something does not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from symdiff.errors import ArgumentError, DtypeError, ShapeError
from tests.runtime.test_kernel import affine, data, pair


@pytest.mark.parametrize(
    ("structure", "out", "message"),
    [
        ("dict", [np.empty(4), np.empty((4, 3))], "keys product, all; got a list of 2"),
        ("dict", {"product": np.empty(4)}, "got a dict with the keys product"),
        ("list", [np.empty(4)], "list of 2 arrays; got a list of 1"),
        ("tuple", np.empty(4), "tuple of 2 arrays; got a ndarray"),
        ("list", [np.empty(4), [1, 2]], "out for all is a list"),
    ],
)
def test_structures_of_out(structure: str, out: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        pair(structure)(np.arange(4.0), 2, out=out)


def frozen(*shape: int) -> npt.NDArray[np.float64]:
    a = np.full(shape, 7.0)
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.full((3, 4), 7.0), ShapeError, r"out has shape \(3, 4\); expected \(4, 2\)"),
        (np.full((4, 2), 7.0, np.float32), DtypeError, "out holds float32; expected float64"),
        (np.full((4, 2), 7), DtypeError, "out holds int64"),
        (frozen(4, 2), ArgumentError, "read-only"),
        (np.lib.stride_tricks.as_strided(np.full(2, 7.0), (4, 2), (0, 8)), ArgumentError, "share memory"),
        (np.lib.stride_tricks.as_strided(np.full(5, 7.0), (4, 2), (8, 8)), ArgumentError, "share memory"),
        (np.lib.stride_tricks.as_strided(np.full(5, 7.0)[3:], (4, 2), (-8, 8)), ArgumentError, "share memory"),
        (np.lib.stride_tricks.as_strided(np.full(9, 7.0), (4, 2), (4, 40)), ArgumentError, "share memory"),
        (np.full((1, 4, 2), 7.0), ShapeError, "expected"),
    ],
)
def test_out_that_does_not_fit_is_untouched(out: Any, error: type[Exception], message: str) -> None:
    A, x, s = data((4,), (4,), (4,))
    before = out.copy()
    with pytest.raises(error, match=message):
        affine()(A, x, s, out=out)
    np.testing.assert_array_equal(out, before)


def test_out_is_untouched_when_inputs_are_wrong() -> None:
    A, x, s = data((4,), (4,), (4,))
    out = np.full((4, 2), 7.0)
    with pytest.raises(ShapeError):
        affine()(A, x[:3], s, out=out)
    with pytest.raises(DtypeError):
        affine()(A, x, s * 1j, out=out)
    assert (out == 7.0).all()


def test_out_of_a_subclass(tmp_path: Path) -> None:
    A, x, s = data((4,), (4,), (4,))
    want = affine()(A, x, s)
    mapped = np.memmap(tmp_path / "out", np.float64, "w+", shape=(4, 2))
    matrix = np.zeros((4, 2)).view(np.recarray)
    for out in (mapped, matrix):
        assert affine()(A, x, s, out=out) is out
        np.testing.assert_array_equal(np.asarray(out), want)
    with pytest.raises(ArgumentError, match="out is a MaskedArray"):
        affine()(A, x, s, out=np.ma.zeros((4, 2)))


@pytest.mark.parametrize("n", [1, 5, 8, 40])
def test_out_may_overlap_the_inputs(n: int) -> None:
    k = affine()
    room = np.random.default_rng(0).uniform(-2, 2, (n + 3, 2, 3))
    _, x, s = data((n,), (n,), (n,))
    for shift in (0, 1, 3):
        views: tuple[Callable[[Any], Any], ...] = (
            lambda a: a[..., 0],
            lambda a: a.reshape(-1)[: 2 * n].reshape(n, 2),
            lambda a: a[::-1][:n, :, 1],
        )
        for view in views:
            memory = room.copy()
            want = k(room[shift : shift + n], x, s)
            out = view(memory)[:n]
            k(memory[shift : shift + n], x, s, out=out)
            np.testing.assert_array_equal(out, want)
    both = np.empty(5)
    with pytest.raises(ArgumentError, match="overlaps another output"):
        pair("list")(1.0, 2.0, out=[both[:1].reshape(()), both[:3]])
