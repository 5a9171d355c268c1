"""Kernels that promise a sample the same bits alone and in any batch, and what kernels say of their bits."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff._kernels.matrix.batches import MOST, USUAL
from symdiff.errors import ArgumentError, UnsupportedError

#: Formulas, shapes, and the inputs that have the batch.
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("W @ x", {"W": (40, 30), "x": 30}, "x"),
    ("W @ x", {"W": (3, 5), "x": 5}, "x"),
    ("tanh(W @ x + b)", {"W": (40, 30), "x": 30, "b": 40}, "x"),
    ("gradient(sum(tanh(W @ x)), W)", {"W": (40, 30), "x": 30}, "x"),
    ("x @ A @ x", {"x": 130, "A": (130, 130)}, "x"),
    ("x @ A @ x", {"x": "n", "A": ("n", "n")}, "x"),
    ("x @ y", {"x": 100, "y": 100}, "xy"),
    ("A @ B", {"A": (40, 30), "B": (30, 20)}, "B"),
    ("x @ solve(S, x) + logdet(S)", {"S": (30, 30), "x": 30}, "Sx"),
    ("solve(S, x)", {"S": (90, 90), "x": 90}, "x"),
    ("inv(S)", {"S": ("n", "n")}, "S"),
    ("eigvalsh(S)", {"S": (17, 17)}, "S"),
    ("softmax(x) * cumsum(x)", {"x": "n"}, "x"),
    ("exp(a) * sin(b) * x", {"a": (), "b": (), "x": 7}, "x"),
]


def arrays(kernel: sd.Kernel, batched: str, count: int, n: int = 100) -> dict[str, Any]:
    rng = np.random.default_rng(count)
    found = {}
    for parameter in kernel.inputs:
        shape = tuple(size if isinstance(size, int) else n for size in parameter.shape)
        array = rng.normal(size=(count, *shape) if parameter.name in batched else shape)
        if parameter.name == "S":
            array = array @ np.swapaxes(array, -1, -2) / n + np.eye(shape[-1])
        found[parameter.name] = array
    return found


@pytest.mark.parametrize("backend", ["interpreter", "auto"])
@pytest.mark.parametrize(("text", "shapes", "batched"), CASES)
def test_a_sample_has_its_bits_alone_and_in_any_batch(
    text: str, shapes: dict[str, Any], batched: str, backend: Any
) -> None:
    options: dict[str, Any] = {"shapes": shapes, "batch": list(batched), "reproducible": True, "backend": backend}
    kernel = sd.compile(text, **options)
    several = sd.compile(text, threads=3, **options)
    behind = sd.compile(text, batch_axis=-1, **options)
    assert kernel.stats["bits"] == "sample"
    given = arrays(kernel, batched, 37)
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 1e-3)):
        cast = {name: array.astype(dtype) for name, array in given.items()}
        whole = kernel(**cast)
        wanted = sd.compile(text, shapes=shapes, backend="numpy")(**{name: a.astype(float) for name, a in cast.items()})
        np.testing.assert_allclose(whole, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())
        np.testing.assert_array_equal(several(**cast), whole)
        turned = {name: np.moveaxis(a, 0, -1) if name in batched else a for name, a in cast.items()}
        np.testing.assert_array_equal(np.moveaxis(behind(**turned), -1, 0), whole)
        for first, count in ((0, 1), (36, 1), (5, 2), (7, 30)):
            part = {name: a[first : first + count] if name in batched else a for name, a in cast.items()}
            np.testing.assert_array_equal(kernel(**part), whole[first : first + count])
        for place in (0, 17):
            alone = {name: a[place] if name in batched else a for name, a in cast.items()}
            np.testing.assert_array_equal(kernel(**alone), whole[place])


def test_what_a_kernel_says_of_its_bits() -> None:
    assert sd.compile("sin(x)", x=()).stats["bits"] == "sample"
    assert sd.compile("sum(exp(x))", x="n").stats["bits"] == "sharing"
    assert sd.compile("inv(A)", A=(USUAL, USUAL)).stats["bits"] == "sharing"
    assert sd.compile("inv(A)", A=(USUAL + 1, USUAL + 1)).stats["bits"] == "library"
    assert sd.compile("inv(A)", A=("n", "n")).stats["bits"] == "library"
    assert sd.compile("sin(x)", x=(), backend="numpy").stats["bits"] == "library"
    assert sd.compile("eigvalsh(A)", A=(32, 32)).stats["bits"] == "sharing"
    assert sd.compile("eigvalsh(A)", A=(33, 33)).stats["bits"] == "library"
    for n, bits in ((25, "sharing"), (26, "library")):
        x = sd.matrix("x", n, n)
        assert sd.compile(sd.xp.linalg.eigh(x).eigenvectors, [x]).stats["bits"] == bits


def test_sums_over_the_batch_and_pickles_keep_it() -> None:
    options: dict[str, Any] = {"W": (40, 30), "x": 30, "reduce": "sum", "reproducible": True, "batch": ["x"]}
    kernel = sd.compile("tanh(W @ x)", **options)
    given = arrays(kernel, "x", 700)
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again(**given), kernel(**given))
    np.testing.assert_array_equal(sd.compile("tanh(W @ x)", threads=2, **options)(**given), kernel(**given))
    np.testing.assert_allclose(kernel(**given), np.tanh(given["x"] @ given["W"].T).sum(0), rtol=1e-11)
    assert again.stats["bits"] == "sample"


def test_sizes_too_small_for_a_plan_are_computed_one_sample_at_a_time() -> None:
    for text in ("gradient(sum((x[1:] - x[:-1]**2)**2), x)", "x[1:] @ x[:-1]"):
        kernel = sd.compile(text, x="n", reproducible=True)
        for n in (1, 2, 3, 4):
            x = np.random.default_rng(n).normal(size=(9, n))
            whole = kernel(x)
            np.testing.assert_allclose(whole, sd.compile(text, x="n", backend="numpy")(x), rtol=1e-12)
            for k in range(9):
                np.testing.assert_array_equal(kernel(x[k]), whole[k])
        total = sd.compile(text, x="n", reproducible=True, reduce="sum")
        np.testing.assert_allclose(total(x), whole.sum(0), rtol=1e-12)


def test_what_libraries_compute_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"reproducible=True.*eigenvalues by LAPACK"):
        sd.compile("eigvalsh(A)", A=(33, 33), reproducible=True)
    with pytest.raises(UnsupportedError, match=f"inv of matrices of {MOST + 1} rows by LAPACK"):
        sd.compile("inv(A)", A=(MOST + 1, MOST + 1), reproducible=True)
    letters = sd.compile("inv(A)", A=("n", "n"), reproducible=True)
    assert letters(np.eye(3)).shape == (3, 3)
    with pytest.raises(UnsupportedError, match="inv of matrices of n rows by LAPACK"):
        letters(np.eye(MOST + 1))
    with pytest.raises(UnsupportedError, match="reproducible=True, and NumPy is what computes"):
        sd.compile("sin(x)", x=(), reproducible=True, backend="numpy")
    with pytest.raises(ArgumentError, match="reproducible='yes'; expected True or False"):
        sd.compile("sin(x)", x=(), reproducible="yes")
