"""Branches that are not taken, stable forms and free indices: each was once a nan, a crash or a hang."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symdiff as sd

#: A formula, a point, and what is right there.
VALUES = [
    ("gradient(where(x < 0, exp(x), 1), x)", 1000.0, 0.0),
    ("hessian(where(x < 0, exp(x), 1), x)", 1000.0, 0.0),
    ("gradient(where(x > 0, x, exp(x) - 1), x)", -2.0, math.exp(-2.0)),
    ("gradient(where(x > 0, x, exp(-x) - 1), x)", 1000.0, 1.0),
    ("gradient(where(abs(x) < 10, log(cosh(x)), abs(x) - log(2)), x)", 1000.0, 1.0),
    ("hessian(where(x > 0, norm([x, 0*x]), x), x)", 0.0, 0.0),
    ("log(1 - sigmoid(x))", 800.0, -800.0),
    ("log1p(-sigmoid(x))", 800.0, -800.0),
    ("gradient(log1p(-sigmoid(x)), x)", 800.0, -1.0),
    ("x > 0", 2.0, 1.0),
]


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(("text", "x", "right"), VALUES, ids=[text for text, _, _ in VALUES])
def test_value(text: str, x: float, right: float, backend: str) -> None:
    np.testing.assert_allclose(sd.compile(text, backend=backend)(x), right, rtol=1e-14)


def test_a_large_power_is_written_with_its_parts_shared() -> None:
    a = sp.MatrixSymbol("A", 3, 3)
    assert len(str(sd.jacobian(a ** (10**9), a))) < 20_000


@pytest.mark.parametrize("backend", ["auto", "numpy", "native"])
def test_a_free_index_is_refused(backend: str) -> None:
    a, (i, j) = sp.MatrixSymbol("A", 3, 3), sp.symbols("i j", integer=True)
    with pytest.raises(sd.UnsupportedError, match="index i"):
        sd.compile(a[i, j], backend=backend)


@pytest.mark.parametrize("given", [[1.0], {1: 2.0}])
def test_inputs_that_are_no_names_are_refused(given: Any) -> None:
    with pytest.raises(sd.ArgumentError):
        sd.compile("x * 2")(inputs=given)


def test_an_order_beyond_the_limit_is_refused() -> None:
    with pytest.raises(sd.UnsupportedError, match="100"):
        sd.compile("polygamma(101, x)", backend="numpy")(2.5)
