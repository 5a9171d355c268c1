"""SymPy to graph: every class by a table, refusals by name, symbols, depth and size."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.codegen import cfunctions
from sympy.matrices.expressions.diagonal import DiagMatrix, DiagonalMatrix, DiagonalOf
from sympy.matrices.expressions.dotproduct import DotProduct
from sympy.tensor.array.expressions import ArrayAdd, ArrayContraction, ArrayDiagonal, ArrayTensorProduct, PermuteDims

import symdiff as sd
from symdiff.errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from symdiff.frontend.sympy import Inputs, from_sympy, is_sympy, to_sympy
from symdiff.graph import inputs_of, postorder, verify
from symdiff.graph.reference.interpret import evaluate
from tests.support.effort import calls
from tests.support.sympy_symbols import VALUES, A, B, M, N, T, k, n, v, x, y


def read(expr: Any, inputs: Inputs | None = None) -> np.ndarray:
    node = from_sympy(expr, inputs)
    verify([node])
    return np.asarray(evaluate([node], {leaf.payload: VALUES[leaf.payload] for leaf in inputs_of([node])})[0])


SCALARS = [
    sp.sin(x) + x**2 / y,
    sp.sec(x) + sp.csc(x) + sp.cot(y) + sp.acot(x) + sp.asec(y) + sp.acsc(y),
    sp.sech(x) + sp.csch(x) + sp.coth(y) + sp.asech(x) + sp.acsch(x) + sp.acoth(y),
    sp.Piecewise((x, x > y), (y, x > 0), (x * y, True)),
    sp.Max(x, y, 1) + sp.Min(x, y, 2),
    sp.Mod(-y, x),
    sp.frac(y) + sp.floor(y) + sp.ceiling(x) + sp.sign(-x) + sp.Abs(-y),
    sp.Heaviside(x) + sp.Heaviside(-x, 1),
    sp.sqrt(x) / y**2 + x ** sp.Rational(1, 3) + y ** sp.Rational(-3, 2) + 2**x + 1 / sp.sqrt(y),
    sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi) + sp.E + sp.EulerGamma + sp.GoldenRatio,
    sp.log(x, 3) + sp.log(x, 2),
    sp.loggamma(y) + sp.gamma(y) + sp.digamma(y) + sp.polygamma(1, y) + sp.factorial(y),
    sp.beta(x, y) + sp.binomial(y, x),
    sp.erf(x) + sp.erfc(y) + sp.erf2(x, y),
    sp.atan2(x, y) + sp.asinh(x) + sp.acosh(y) + sp.atanh(x) + sp.asin(x) + sp.acos(x) + sp.atan(x),
    sp.sinc(x) + sp.jn(1, x),
    sp.re(x) + sp.conjugate(y),
    sp.Sum(x**k / sp.factorial(k), (k, 0, 5)),
    sp.Sum(x**k * n, (k, 0, n), (n, 1, 3)),
    sp.Sum(x, (k, 1, 0)),
    sp.Product(x + k, (k, 1, 3)),
    sp.UnevaluatedExpr(x + x) * 2,
    sp.Add(x, sp.Mul(-1, x, evaluate=False), evaluate=False),
]


@pytest.mark.parametrize("expr", SCALARS, ids=str)
def test_scalars_mean_what_sympy_says(expr: Any) -> None:
    plain = expr.doit().subs({x: sp.Float(VALUES["x"], 40), y: sp.Float(VALUES["y"], 40)})
    assert read(expr) == pytest.approx(float(plain.rewrite(sp.erf).rewrite(sp.besselj).evalf(30)), rel=1e-12)


def test_functions_of_code_generation() -> None:
    expr = cfunctions.log1p(x) + cfunctions.expm1(x) + cfunctions.exp2(x) + cfunctions.log2(y) + cfunctions.log10(y)
    wanted = np.log1p(0.3) + np.expm1(0.3) + 2**0.3 + np.log2(1.7) + np.log10(1.7)
    assert read(expr) == pytest.approx(wanted)
    assert read(cfunctions.hypot(x, y) + cfunctions.Cbrt(y) + cfunctions.Sqrt(x)) == pytest.approx(
        np.hypot(0.3, 1.7) + np.cbrt(1.7) + np.sqrt(0.3)
    )


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (sp.And(x > 0, y > 0), True),
        (sp.Or(x > y, sp.Eq(x, y)), False),
        (sp.Not(sp.Ne(x, y)), False),
        (sp.Xor(x > 0, y > 0, x < 1), True),
        (sp.ITE(x > 0, y > 3, y < 3), False),
        (sp.Implies(x > 0, y > 3), False),
        (sp.Ge(x, y), False),
        (sp.true, True),
    ],
    ids=str,
)
def test_conditions(expr: Any, expected: bool) -> None:
    assert bool(read(expr)) is expected


a, b, c = VALUES["A"], VALUES["B"], VALUES["v"]


INVERSE = np.linalg.inv(a)


ARRAYS = [
    (A * B, a @ b),
    (A + 2 * B - A.T, a + 2 * b - a.T),
    (x * A * v * 2, 0.6 * a @ c),
    (A.T * B.inv() * v, a.T @ np.linalg.inv(b) @ c),
    (A**3, a @ a @ a),
    (A**-2, INVERSE @ INVERSE),
    (sp.MatPow(A, 0, evaluate=False), np.eye(3)),
    (sp.Trace(A * B), np.trace(a @ b)),
    (sp.Determinant(A), np.linalg.det(a)),
    (sp.Adjoint(A), a.T),
    (sp.HadamardProduct(A, B, A), a * b * a),
    (sp.HadamardPower(A, 2), a * a),
    (A.applyfunc(sp.Lambda(x, sp.sin(x) + x**2)), np.sin(a) + a * a),
    (A.applyfunc(sp.Lambda(x, sp.Integer(2))), np.full((3, 3), 2.0)),
    (sp.KroneckerProduct(A, B), np.kron(a, b)),
    (sp.BlockMatrix([[A, B], [B, A]]), np.block([[a, b], [b, a]])),
    (sp.BlockDiagMatrix(A, v.T), np.block([[a, np.zeros((3, 3))], [np.zeros((1, 3)), c.T]])),
    (A[:2, 1:], a[:2, 1:]),
    (A[0:2:2, 1:], a[0:2:2, 1:]),
    (A[0, 1] * x, a[0, 1] * 0.3),
    (A[-1, -1], a[2, 2]),
    ((A * B)[0, 1], (a @ b)[0, 1]),
    (sp.Sum(A[k, 0] * B[0, k], (k, 0, 2)), a[:, 0] @ b[0]),
    (DotProduct(v, v), float(c[:, 0] @ c[:, 0])),
    (DotProduct(v.T, v), float(c[:, 0] @ c[:, 0])),
    (DiagMatrix(v), np.diag(c[:, 0])),
    (DiagonalOf(A), np.diag(a)[:, None]),
    (DiagonalMatrix(A), np.diag(np.diag(a))),
    (sp.Identity(3) * A + sp.OneMatrix(3, 3) - sp.ZeroMatrix(3, 3), a + 1),
    (sp.FunctionMatrix(3, 2, sp.Lambda((n, k), n + x * k)), np.arange(3)[:, None] + 0.3 * np.arange(2)),
    (
        sp.FunctionMatrix(n, n, sp.Lambda((k, y), N[y, k] + k * N[0, y])),
        VALUES["N"].T + np.outer(range(3), VALUES["N"][0]),
    ),
    (sp.FunctionMatrix(n, 2, sp.Lambda((k, y), N[k, k])), np.diag(VALUES["N"])[:, None].repeat(2, 1)),
    (sp.Matrix([[sp.sin(x), 0], [0, sp.cos(y)]]), np.diag([np.sin(0.3), np.cos(1.7)])),
    (sp.ImmutableMatrix([[x, y], [1, 2]]), np.array([[0.3, 1.7], [1, 2]])),
    (sp.SparseMatrix(2, 3, {(0, 1): x}), np.array([[0, 0.3, 0], [0, 0, 0]])),
    (sp.Matrix([[1, 2], [3, 4]]), np.array([[1.0, 2], [3, 4]])),
    (sp.Matrix(2, 0, []), np.zeros((2, 0))),
    (sp.Matrix([x, y]), np.array([[0.3], [1.7]])),
    (sp.Matrix([[x, y]]) * A[:2, :2], np.array([[0.3, 1.7]]) @ a[:2, :2]),
    (sp.Array([[[x, 1], [2, y]]]), np.array([[[0.3, 1], [2, 1.7]]])),
    (sp.MutableDenseNDimArray([x, y]), np.array([0.3, 1.7])),
    (sp.ImmutableSparseNDimArray([x, 0]), np.array([0.3, 0.0])),
    (T[0, 1, 2] * x, VALUES["T"][0, 1, 2] * 0.3),
    (ArrayTensorProduct(A, v), np.einsum("ij,kl->ijkl", a, c)),
    (ArrayContraction(ArrayTensorProduct(A, B), (1, 2)), a @ b),
    (ArrayDiagonal(ArrayTensorProduct(A, B), (1, 2)), np.einsum("ij,jk->ikj", a, b)),
    (PermuteDims(T, (2, 0, 1)), VALUES["T"].transpose(2, 0, 1)),
    (ArrayAdd(T, T), 2 * VALUES["T"]),
    (N * M + 0 * M, VALUES["N"] @ VALUES["M"]),
    (sp.Trace(M * M.T) / n, np.trace(VALUES["M"] @ VALUES["M"].T) / 3),
    (M[:, 1], VALUES["M"][:, [1]]),
    (M[n - 1, n], VALUES["M"][2, 3]),
]


@pytest.mark.parametrize(("expr", "expected"), ARRAYS, ids=[str(expr)[:50] for expr, _ in ARRAYS])
def test_matrices_and_arrays_mean_what_sympy_says(expr: Any, expected: Any) -> None:
    value = read(expr)
    assert value.shape == np.shape(expected)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


def test_indexed_bases_of_known_shape() -> None:
    base = sp.IndexedBase("T", shape=(2, 3, 4))
    assert read(sp.Sum(base[0, k, 1], (k, 0, 2))) == pytest.approx(VALUES["T"][0, :, 1].sum())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (sp.Rational(1, 3), 1 / 3),
        (sp.Rational(10**400, 3 * 10**400 + 1), 1 / 3),
        (sp.Float("0.1", 50), 0.1),
        (sp.oo, np.inf),
        (-sp.oo, -np.inf),
        (sp.nan, np.nan),
        (sp.Integer(2) ** 60, 2.0**60),
    ],
)
def test_numbers(value: Any, expected: float) -> None:
    np.testing.assert_equal(float(read(value)), expected)


REFUSED = [
    (sp.Integral(x, (x, 0, 1)), "Integral"),
    (sp.Limit(sp.sin(x) / x, x, 0), "Limit"),
    (sp.Function("f")(x + 1), "f"),
    (sp.I * x, "complex"),
    (sp.zoo, "complex infinity"),
    (sp.LambertW(x, 2), "branch 2"),
    (sp.Ynm(2, 1, x, y), "Ynm"),
    (sp.mathieuc(y, 1, x), "mathieuc"),
    (sp.DiracDelta(x), "DiracDelta"),
    (sp.sin(A), "sin of a matrix"),
    (sp.exp(A), "exp of a matrix"),
    (sp.Add(A, 1), "Add of a matrix"),
    (A ** sp.Rational(1, 2), "power 1/2"),
    (A**k, "power k"),
    (sp.Symbol("z", imaginary=True), "'z'"),
    (sp.Symbol("q", commutative=False), "'q'"),
    (sp.Sum(x**k, (k, 0, n)), "symbolic size"),
    (sp.Sum(x**k, (k, 3, 1)), "reversed"),
    (sp.polygamma(y, x), "order"),
    (sp.IndexedBase("a")[0], "no shape"),
    (A[0:3:2, :], "miscounts slices"),
    (sp.Contains(x, sp.S.Integers), "Contains"),
    (sp.Order(x), "Order"),
    (sp.Matrix([[sp.Function("g")(2)]]), "g"),
]


@pytest.mark.parametrize(("expr", "words"), REFUSED, ids=[str(expr)[:40] for expr, _ in REFUSED])
def test_what_is_not_read_is_refused_by_name(expr: Any, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        from_sympy(expr)


@pytest.mark.parametrize("value", ["x + 1", 3, None, sp.Tuple(x, y), [x, y]])
def test_what_is_no_expression_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError):
        from_sympy(value)


def test_limits_and_ranges() -> None:
    with pytest.raises(LimitError, match="200000 terms"):
        from_sympy(sp.Sum(x**k, (k, 0, 10**7)))
    with pytest.raises(LimitError, match="range of a double"):
        from_sympy(sp.Integer(10) ** 400)
    with pytest.raises(ShapeError, match="out of range"):
        from_sympy(sp.Sum(A[k, 0], (k, 0, 3)))
    with pytest.raises(ShapeError, match="size or index"):
        from_sympy(A[k / 2, 0])


# ---------------------------------------------------------------------------- symbols


def test_symbols_of_any_name_become_inputs() -> None:
    names = ['x; system("rm -rf /")', "lambda", "double", "two words", "größe", "", "x'"]
    registry = Inputs()
    node = from_sympy(sp.Add(*map(sp.Symbol, names)), registry)
    assert {leaf.payload for leaf in inputs_of([node])} == set(names) == set(registry.symbols)


def test_symbols_of_one_name_stay_apart() -> None:
    symbols = [sp.Symbol("x"), sp.Symbol("x", positive=True), sp.Dummy("x"), sp.Dummy("x")]
    symbols.append(sp.MatrixSymbol("x", 2, 2)[0, 0])
    registry = Inputs()
    node = from_sympy(sp.Add(*symbols), registry)
    assert sorted(leaf.name for leaf in inputs_of([node])) == ["x", "x_1", "x_2", "x_3", "x_4"]
    assert set(registry.symbols.values()) == {*symbols[:4], sp.MatrixSymbol("x", 2, 2)}
    assert from_sympy(symbols[1], registry).name == next(k for k, s in registry.symbols.items() if s == symbols[1])


def test_results_use_the_symbols_that_came() -> None:
    symbol, size = sp.Symbol("x", positive=True), sp.Symbol("n", integer=True)
    matrix_ = sp.MatrixSymbol("A", size, size)
    registry = Inputs()
    expr = symbol * sp.Trace(matrix_) / size
    assert to_sympy(from_sympy(expr, registry), registry).free_symbols == expr.free_symbols


def test_a_size_used_as_a_number_is_the_size() -> None:
    expr = n * x + sp.Trace(N)
    assert {leaf.payload for leaf in inputs_of([from_sympy(expr)])} == {"x", "N"}
    assert read(expr) == pytest.approx(0.9 + np.trace(VALUES["N"]))
    registry = Inputs()
    from_sympy(n + x, registry)
    with pytest.raises(ShapeError, match="matrix first"):
        from_sympy(sp.Trace(N), registry)


def test_sympy_objects_are_recognised_without_importing_it() -> None:
    assert is_sympy(x)
    assert is_sympy(sp.Matrix([x]))
    assert not is_sympy("x")
    code = "import sys, symdiff.frontend.sympy as i; i.is_sympy(1); assert 'sympy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


# ---------------------------------------------------------------------------- depth and size


def test_thousands_of_levels_are_read() -> None:
    deep = x
    for _ in range(5_000):
        deep = sp.sin(deep, evaluate=False)
    assert len(postorder([from_sympy(deep)])) == 5_001


@pytest.mark.counted
def test_shared_parts_are_read_once() -> None:
    efforts = []
    for height in (500, 2_000):
        tower = x
        for _ in range(height):
            tower = sp.Add(sp.Mul(tower, tower, evaluate=False), 1, evaluate=False)
        effort, node = calls(from_sympy, tower)
        efforts.append(effort)
        assert len(postorder([node])) == 2 * height + 2
    assert efforts[1] < 5 * efforts[0]


def test_binomials_and_beta_far_out() -> None:
    x, y, k = sp.symbols("x y k")
    value = sd.compile(sp.beta(x, y), inputs=[x, y])
    assert value(100.0, 90.0) == pytest.approx(float(sp.beta(100, 90).evalf(20)), rel=1e-12)
    assert sd.compile(sp.binomial(x, 2))(300.0) == pytest.approx(44850.0, rel=1e-13)
    assert sd.compile(sp.Sum(x * sp.binomial(k, 2), (k, 0, 4)))(1.0) == pytest.approx(10.0, rel=1e-14)
    rising = sp.rf(x, sp.Rational(1, 2))
    assert sd.compile(rising)(300.0) == pytest.approx(float(sp.gamma(300.5) / sp.gamma(300)), rel=1e-12)
    slope = sp.digamma(300.5) - sp.digamma(300)
    expected = float((sp.gamma(sp.Rational(601, 2)) / sp.gamma(300) * slope).evalf(20))
    assert sd.compile(sd.gradient(rising, x))(300.0) == pytest.approx(expected, rel=1e-9)
    assert sd.compile(sp.beta(x, y)).sympy == sp.beta(x, y)
    assert sd.compile(sp.binomial(x, y)).sympy == sp.binomial(x, y)


@pytest.mark.parametrize("text", ["log(i0(x))", "log(k1(x))", "i1(x) / i0(x)", "k1(x) / k0(x)", "log(i1(x))"])
def test_bessel_functions_keep_their_range_through_sympy(text: str) -> None:
    kernels = [sd.compile(text, x=(), backend="interpreter")]
    kernels += [sd.compile(f, backend="interpreter") for f in (sd.parse(text), kernels[0].sympy)]
    values = [float(kernel(900.0)) for kernel in kernels]
    assert np.isfinite(values[0])
    assert values == [values[0]] * 3
