"""Symbols of SymPy's that tests read and write, and their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from sympy.tensor.array.expressions import ArraySymbol

x, y, k = sp.symbols("x y k")
n = sp.Symbol("n")
A, B, v = sp.MatrixSymbol("A", 3, 3), sp.MatrixSymbol("B", 3, 3), sp.MatrixSymbol("v", 3, 1)
N, M = sp.MatrixSymbol("N", n, n), sp.MatrixSymbol("M", n, n + 1)
T = ArraySymbol("T", (2, 3, 4))
RNG = np.random.default_rng(11)
VALUES: dict[str, Any] = {
    "x": 0.3,
    "y": 1.7,
    "A": RNG.normal(size=(3, 3)),
    "B": RNG.normal(size=(3, 3)),
    "v": RNG.normal(size=(3, 1)),
    "N": RNG.normal(size=(3, 3)),
    "M": RNG.normal(size=(3, 4)),
    "T": RNG.normal(size=(2, 3, 4)),
}
