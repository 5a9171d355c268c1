"""SymPy's less common classes, and sums over ranges of symbolic size: values against NumPy, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.codegen import cfunctions, matrix_nodes, numpy_nodes, scipy_nodes
from sympy.combinatorics import Permutation
from sympy.matrices.expressions.factorizations import LofCholesky, QofQR, UofCholesky
from sympy.matrices.expressions.permutation import MatrixPermute, PermutationMatrix
from sympy.physics.mechanics import ReferenceFrame
from sympy.tensor.array import ArrayComprehension
from sympy.tensor.array.expressions import ArraySymbol, Reshape
from sympy.vector import CoordSys3D

from symdiff.errors import ShapeError, SymdiffError, UnsupportedError
from symdiff.frontend.sympy import from_sympy, to_sympy
from symdiff.graph import inputs_of
from symdiff.graph.reference.interpret import evaluate

x, y, z = sp.symbols("x y z")
i, j, k = sp.symbols("i j k", integer=True)
n, m = sp.symbols("n m", integer=True, positive=True)
A, v = sp.MatrixSymbol("A", 3, 3), sp.MatrixSymbol("v", 3, 1)
N, M, u = sp.MatrixSymbol("N", n, n), sp.MatrixSymbol("M", n, m), sp.MatrixSymbol("u", n, 1)
T = ArraySymbol("T", (2, 2, 2))
RNG = np.random.default_rng(8)
a = RNG.normal(size=(3, 3))
a = a @ a.T + np.eye(3)
c, b, t = RNG.normal(size=(3, 1)), RNG.normal(size=(3, 4)), RNG.normal(size=(2, 2, 2))
VALUES: dict[str, Any] = {"x": 0.3, "y": 1.7, "z": -0.6, "A": a, "v": c, "N": a, "M": b, "u": c, "T": t}
i_, j_ = np.arange(3)[:, None], np.arange(4)


def value(expr: Any) -> np.ndarray:
    node = from_sympy(expr)
    return np.asarray(evaluate([node], {leaf.payload: VALUES[leaf.payload] for leaf in inputs_of([node])})[0])


READ = [
    (sp.KroneckerDelta(x, y), 0.0),
    (sp.Sum(sp.KroneckerDelta(i, 2) * x**i, (i, 0, 4)), 0.09),
    (sp.Sum(sp.LeviCivita(i, j, k) * A[0, i] * A[1, j] * A[2, k], (i, 0, 2), (j, 0, 2), (k, 0, 2)), np.linalg.det(a)),
    (sp.LeviCivita(x, y, z), 0.5 * 1.4 * -0.9 * -2.3),
    (sp.SingularityFunction(y, 1, 2) + sp.SingularityFunction(x, 1, 2), 0.49),
    (sp.Piecewise((x, sp.Contains(x, sp.Interval(0, 1))), (y, True)), 0.3),
    (sp.Piecewise((x, sp.Equivalent(x > 0, y > 0, z > 0)), (y, True)), 1.7),
    (sp.im(x) + sp.arg(z) + sp.arg(x), np.pi),
    (sp.harmonic(y + 1.3) + sp.RisingFactorial(x, y) / sp.FallingFactorial(y, x), None),
    (cfunctions.isnan(x), False),
    (cfunctions.isinf(x), False),
    (numpy_nodes.logaddexp(x, y) + numpy_nodes.logaddexp2(x, y), np.logaddexp(0.3, 1.7) + np.logaddexp2(0.3, 1.7)),
    (numpy_nodes.maximum(x, y) - numpy_nodes.minimum(x, y), 1.4),
    (numpy_nodes.amax(A), a.max()),
    (scipy_nodes.cosm1(x) + scipy_nodes.powm1(y, x), np.cos(0.3) - 1 + 1.7**0.3 - 1),
    (matrix_nodes.MatrixSolve(A, v), np.linalg.solve(a, c)),
    (LofCholesky(A) * UofCholesky(A), a),
    (PermutationMatrix(Permutation([1, 2, 0])) * A, a[[1, 2, 0]]),
    (MatrixPermute(A, Permutation([1, 2, 0]), 0), a[[1, 2, 0]]),
    (MatrixPermute(A, Permutation([1, 2, 0]), 1), a[:, [1, 2, 0]]),
    (Reshape(T, (4, 2)), t.reshape(4, 2)),
    (ArrayComprehension(i * x + j, (i, 0, 2), (j, 1, 3)), 0.3 * np.arange(3)[:, None] + np.arange(1, 4)),
    (ArrayComprehension(M[i, j] * i + N[i, i], (i, 0, n - 1), (j, 0, m - 1)), b * i_ + np.diag(a)[:, None]),
    (sp.Sum(A**k, (k, 1, 3)), a + a @ a + a @ a @ a),
    (sp.Poly(x**2 + 1, x), 1.09),
    (sp.CRootOf(sp.Symbol("w") ** 5 - sp.Symbol("w") - 1, 0), 1.1673039782614187),
    # ranges of symbolic size
    (sp.Sum(N[i, i], (i, 0, n - 1)), np.trace(a)),
    (sp.Sum(M[i, j] * u[i, 0] * j, (i, 0, n - 1), (j, 0, m - 1)), (b * c * j_).sum()),
    (sp.Sum(u[i, 0] * sp.Sum(M[i, j] ** 2, (j, 0, m - 1)), (i, 0, n - 1)), (c * b**2).sum()),
    (sp.Sum(u[i, 0] - u[i - 1, 0], (i, 1, n - 1)), float((c[2] - c[0])[0])),
    (sp.Sum(x * M[0, 0], (i, 0, n - 1), (j, 1, 2)), 6 * 0.3 * b[0, 0]),
    (sp.Sum(M[i, j] * k, (i, 0, n - 1), (k, 1, 2), (j, 0, m - 1)), 3 * b.sum()),
    (sp.Product(N[i, 0] + 2, (i, 0, n - 1)), np.prod(a[:, 0] + 2)),
    (sp.Product(x, (i, 0, n - 1)) + u[0, 0], 0.027 + c[0, 0]),
    (((M.T * u).T * (M.T * u))[0, 0], float(((b.T @ c) ** 2).sum())),
]


@pytest.mark.parametrize(("expr", "expected"), READ, ids=[str(expr)[:60] for expr, _ in READ])
def test_classes_mean_what_sympy_says(expr: Any, expected: Any) -> None:
    if expected is None:
        expected = float(expr.subs({x: sp.Float(0.3), y: sp.Float(1.7)}).evalf())
    found = value(expr)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    node = from_sympy(expr)
    if node.dtype == "real":
        written = from_sympy(to_sympy(node))
        again = evaluate([written], {leaf.payload: VALUES[str(leaf.payload)] for leaf in inputs_of([written])})[0]
        np.testing.assert_allclose(np.reshape(again, found.shape), found, rtol=1e-9)


C, frame = CoordSys3D("C"), ReferenceFrame("F")
REFUSED = [
    (sp.Sum(i * N, (i, 0, n - 1)), UnsupportedError, "symbolic size"),
    (sp.Sum(sp.Trace(i * N), (i, 0, n - 1)), UnsupportedError, "depends on an index"),
    (sp.Sum(M[i, 0], (i, 0, m - 1)), ShapeError, "takes m places"),
    (sp.Sum(sp.Sum(N[i, j], (j, 0, i)), (i, 0, n - 1)), UnsupportedError, "another index"),
    (sp.Sum(x**i, (i, 0, n)), UnsupportedError, "symbolic size"),
    (sp.Sum(x**i, (i, 0, sp.oo)), UnsupportedError, "infinitely many"),
    (sp.Idx("i") * x, UnsupportedError, "outside of a Sum"),
    (sp.SingularityFunction(x, 1, -1), UnsupportedError, "exponent -1"),
    (QofQR(A), UnsupportedError, "QofQR; write what"),
    (sp.Interval(0, 1), UnsupportedError, "as_relational"),
    (C.x * 2, UnsupportedError, "put a symbol"),
    (C.i, UnsupportedError, "to_matrix"),
    (frame.x, SymdiffError, "to_matrix"),
]


@pytest.mark.parametrize(("expr", "kind", "words"), REFUSED, ids=[str(expr)[:50] for expr, _, _ in REFUSED])
def test_what_is_refused_says_what_to_do(expr: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        from_sympy(expr)
