"""SymPy to graph and back: every class by a table, refusals by name, round trips at random."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp
from effort import calls
from hypothesis import HealthCheck, assume, given, settings
from strategies import Formula, formulas, sample
from sympy.codegen import cfunctions
from sympy.matrices.expressions.diagonal import DiagMatrix, DiagonalMatrix, DiagonalOf
from sympy.matrices.expressions.dotproduct import DotProduct
from sympy.tensor.array.expressions import (
    ArrayAdd,
    ArrayContraction,
    ArrayDiagonal,
    ArraySymbol,
    ArrayTensorProduct,
    PermuteDims,
)

import symdiff as sd
from symdiff.calculus.rules import CustomRule
from symdiff.errors import ArgumentError, LimitError, ShapeError, SymdiffError, UnsupportedError
from symdiff.frontend.numpy import indexing, reductions
from symdiff.frontend.numpy import operations as ops
from symdiff.frontend.numpy import shaping as layout
from symdiff.frontend.numpy.linalg import solving
from symdiff.frontend.sympy import Inputs, from_sympy, is_sympy, to_sympy
from symdiff.frontend.sympy.forms import Adjugate, AdjugateDifferential, Definitions
from symdiff.graph import (
    Node,
    constant,
    contract,
    custom,
    delta,
    gather,
    inputs_of,
    label,
    matrix,
    placeholder,
    postorder,
    reduce,
    verify,
)
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS, Partial, apply, compare, where
from symdiff.graph.sizes import named

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
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


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


# ---------------------------------------------------------------------------- graph to SymPy

vector, square, scalar = variable("v", (3,)), variable("A", (3, 3)), variable("x")
symbolic, column = variable("N", (named("n"), named("n"))), variable("u", (named("n"),))

WRITTEN: list[tuple[Node, str]] = [
    (layout.swapaxes(solving.inv(square), 0, 1), "A**(-1).T"),
    (ops.matmul(square, vector), "A*v"),
    (ops.matmul(vector, vector), "(v.T*v)[0, 0]"),
    (ops.outer(vector, vector), "v*v.T"),
    (ops.trace(ops.matmul(square, square)), "Trace(A*A)"),
    (apply("log", ops.det(symbolic)), "log(Determinant(N))"),
    (apply("exp", apply("log", scalar)), "exp(log(x))"),
    (apply("multiply", 0.0, scalar), "0*x"),
    (apply("multiply", 0.5, scalar), "x/2"),
    (apply("multiply", 0.37, scalar), "0.37*x"),
    (apply("sqrt", apply("power", scalar, 2.0)), "sqrt(x**2)"),
    (apply("multiply", 2.0, apply("add", scalar, 1.0)), "2*(x + 1)"),
    (apply("multiply", square, square), "HadamardProduct(A, A)"),
    (apply("maximum", scalar, 0.0), "Max(0, x)"),
    (where(compare("less", scalar, 0.0), scalar, 1.0), "Piecewise((x, x < 0), (1, True))"),
    (indexing.getitem(vector, 1), "v[1, 0]"),
    (indexing.getitem(square, (0, 1)), "A[0, 1]"),
    (layout.stack([scalar, apply("sin", scalar)]), "Matrix([[x], [sin(x)]])"),
    (apply("add", symbolic, symbolic), "N + N"),
    (delta(named("n"), named("n")), "I"),
    (contract([symbolic, symbolic], [(0, 1), (2, 3)], (0, 1, 2, 3)), "ArrayTensorProduct(N, N)"),
]


@pytest.mark.parametrize(("node", "expected"), WRITTEN, ids=[form[1] for form in WRITTEN])
def test_written_forms(node: Node, expected: str) -> None:
    assert str(to_sympy(node)).replace("(A**(-1))", "A**(-1)") == expected


@pytest.mark.parametrize(
    "expr",
    [
        2 * x * y + 1,
        1 - x - 3 * y,
        x**2 / y - sp.sqrt(x),
        sp.exp(-(x**2) / 2),
        sp.sin(x) * sp.cos(y) ** 3 - sp.log(x + y),
        sp.Piecewise((x, x < y), (y**2, True)),
        A * B.T + A,
        sp.Trace(A * B) + sp.Determinant(A),
        sp.Matrix([[sp.sin(x), 0], [x * y, 1]]).as_immutable(),
    ],
    ids=str,
)
def test_what_sympy_would_write_comes_back_equal(expr: Any) -> None:
    registry = Inputs()
    assert to_sympy(from_sympy(expr, registry), registry) == expr


def test_entries_of_functions_are_not_evaluated() -> None:
    node = gather(apply("exp", apply("log", vector)), 0, (0, 0))
    assert str(to_sympy(node)) == "Matrix([[exp(log(v[0, 0]))], [exp(log(v[0, 0]))]])"


def test_conditions_are_arrays_since_matrices_hold_none() -> None:
    for node in (compare("less", vector, 0.0), compare("less", symbolic, column)):
        written = to_sympy(node)
        assert isinstance(written, sp.Basic)
        values = {"v": np.array([1.0, -2.0, 3.0]), "N": VALUES["N"], "u": VALUES["v"][:, 0]}
        np.testing.assert_array_equal(
            np.asarray(
                evaluate([from_sympy(written)], {**values, "v": values["v"][:, None], "u": VALUES["v"]})[0], bool
            ),
            np.asarray(evaluate([node], values)[0], bool),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_sympy(where(compare("less", vector, 0.0), 1.0, vector)).shape == (3, 1)


def test_what_sympy_has_no_class_for_is_one_of_symdiff() -> None:
    assert str(to_sympy(matrix("cholesky", square))) == "LofCholesky(A)"
    written = to_sympy(reductions.accumulate("cumsum", column, 0))
    assert str(written) == "cumsum(u, axis=0)"
    assert written.shape == (n, 1)
    largest = to_sympy(reduce("max", apply("exp", symbolic), (1,)))
    assert str(largest).startswith("max((")
    assert is_sympy(largest)
    _assert_round_trip(reduce("max", apply("exp", symbolic), (1,)), {"N": VALUES["N"]})


@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_adjugates_are_right_at_singular_matrices_too(size: int) -> None:
    point, other = variable("P", (size, size)), variable("E", (size, size))
    values = {"P": np.outer(range(size), range(1, size + 1)).astype(float), "E": RNG.normal(size=(size, size))}
    _assert_round_trip(matrix("adjugate", point), values)
    _assert_round_trip(matrix("adjugate_differential", point, other), values)


@pytest.mark.parametrize("op", ["inv", "det", "adjugate", "logabsdet"])
def test_stacks_of_matrices_are_written_one_by_one(op: str) -> None:
    stack = variable("S", (2, 3, 3))
    _assert_round_trip(matrix(op, stack), {"S": RNG.normal(size=(2, 3, 3))})


def test_adjugates_are_kept() -> None:
    for point, size in ((symbolic, n), (square, 3)):
        node = matrix("adjugate", point)
        written = to_sympy(node)
        assert written == Adjugate(sp.MatrixSymbol(point.payload, size, size))
        values = {point.payload: VALUES[point.payload]}
        _assert_round_trip(node, values)
        _assert_round_trip(matrix("adjugate_differential", point, point), values)
    det = ops.det(ops.matmul(ops.matmul(layout.swapaxes(square, 0, 1), square), square))
    gradient = sd.gradient(sd.Array(det), sd.Array(square)).sympy
    assert sum(1 for _ in sp.preorder_traversal(gradient)) < 100
    assert gradient.has(Adjugate)


def test_adjugates_of_explicit_matrices_are_those_of_sympy() -> None:
    own = sp.ImmutableMatrix(3, 3, sp.symbols("a:9"))
    other = sp.ImmutableMatrix(3, 3, sp.symbols("b:9"))
    assert Adjugate(own).doit() == own.adjugate()
    assert Adjugate(own)[0, 1] == own.cofactor(1, 0)
    step = sp.Symbol("h")
    slope = (own + step * other).adjugate().diff(step).subs(step, 0)
    assert (AdjugateDifferential(own, other).doit() - slope).expand() == sp.zeros(3, 3)


def test_custom_and_named_formulas_are_written_out() -> None:
    parameter = placeholder("argument", ())
    rule = CustomRule("square plus one", (parameter,))
    body = apply("add", apply("power", parameter, 2.0), 1.0)
    assert to_sympy(custom(rule, [label(apply("sin", scalar), "s")], body)) == sp.sin(x) ** 2 + 1


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_survives_the_round_trip(name: str) -> None:
    row = FUNCTIONS[name]
    rng = np.random.default_rng(5)
    symbols = [variable(f"x{i}") for i in range(row.arity)]
    points = [
        {s.payload: rng.uniform(*bounds) for s, bounds in zip(symbols, row.domain, strict=True)} for _ in range(5)
    ]
    args: list[Node] = list(symbols)
    if row.partials[0] is Partial.NONE:
        args[0] = constant(2.0)
    node = apply(name, *args)
    again = from_sympy(to_sympy(node))
    for point in points:
        (value,), (wanted,) = evaluate([again], point), evaluate([node], point)
        np.testing.assert_allclose(np.asarray(value, float), np.asarray(wanted, float), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("value", [0.5, -1.5, 2.5, 3.5, 0.2, -0.7])
def test_rounding_to_even_survives_the_round_trip(value: float) -> None:
    again = from_sympy(to_sympy(apply("rint", scalar)))
    assert evaluate([again], {"x": value})[0] == np.rint(value)


def _values(formula: Formula) -> dict[str, np.ndarray]:
    data = sample(formula.inputs, (1,) * len(formula.inputs), 0)
    return {leaf.payload: array[0] for leaf, array in zip(formula.inputs, data, strict=True)}


def _assert_round_trip(node: Node, values: dict[str, np.ndarray]) -> None:
    again = from_sympy(to_sympy(node))
    shaped = {leaf.payload: values[leaf.payload] for leaf in inputs_of([again])}
    for leaf in inputs_of([again]):  # vectors have come back as columns
        if leaf.ndim > shaped[leaf.payload].ndim:
            shaped[leaf.payload] = shaped[leaf.payload][:, None]
    wanted = np.asarray(evaluate([node], values)[0], float)
    value = np.asarray(evaluate([again], shaped)[0], float).reshape(wanted.shape)
    np.testing.assert_allclose(value, wanted, rtol=1e-7, atol=1e-9)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(formulas())
def test_random_formulas_survive_the_round_trip(formula: Formula) -> None:
    values = _values(formula)
    for root in formula.roots:
        try:
            evaluate([root], values)
        except SymdiffError:
            assume(False)
        _assert_round_trip(root, values)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(formulas(symbolic=True))
def test_formulas_of_symbolic_size_survive(formula: Formula) -> None:
    values = _values(formula)
    for root in formula.roots:
        try:
            evaluate([root], values)
        except SymdiffError:
            continue  # singular, or a size that no input has
        written = to_sympy(root)
        assert isinstance(written, sp.Basic)
        _assert_round_trip(root, values)


def test_the_adjugate_of_any_size_survives_where_the_matrix_is_singular() -> None:
    A = variable("A", (named("n"), named("n")))
    again = from_sympy(to_sympy(matrix("adjugate", A)))
    point = {"A": np.diag([2.0, 3.0, 0.0])}
    np.testing.assert_allclose(evaluate([again], point)[0], np.diag([0.0, 0.0, 6.0]))
    M = sp.MatrixSymbol("M", 3, 3)
    twice = from_sympy(sp.MatMul(sp.Determinant(M), sp.Determinant(M), M, sp.Inverse(M)))
    np.testing.assert_allclose(evaluate([twice], {"M": point["A"]})[0], 0.0)


def _deep(count: int) -> Node:
    node = scalar
    for i in range(count):
        node = apply("sin", node) if i % 2 else apply("add", apply("multiply", node, node), scalar)
    return node


def test_deep_results_come_as_definitions() -> None:
    node = _deep(4_000)
    written = to_sympy(node)
    assert isinstance(written, Definitions)
    values = {"x": 0.3}
    for symbol, expr in written.definitions:
        assert expr.free_symbols <= {x} | {known for known, _ in written.definitions}
        values[symbol.name] = float(expr.subs({s: values[s.name] for s in expr.free_symbols}))
    result = float(written.result.subs({s: values[s.name] for s in written.result.free_symbols}))
    assert result == pytest.approx(float(evaluate([node], {"x": 0.3})[0]), abs=1e-9)
    _assert_round_trip(node, {"x": np.array(0.3)})


def test_definitions_say_what_they_are_and_are_read_back() -> None:
    x = sd.scalar("x")
    f = x
    for _ in range(60):
        f = sd.function("sin")(f) + x
    for made in (f.sympy, sd.parse(str(f), x=()), sd.compile(f, backend="numpy").sympy):
        assert isinstance(made, sd.Definitions)
        definitions, result = made
        assert str(made).splitlines() == [*(f"{symbol} = {value}" for symbol, value in definitions), str(result)]
        assert repr(made).startswith(f"<symdiff.Definitions of {len(definitions)} symbols and a result>")
        again = sd.compile(made, backend="numpy")
        assert again(0.3) == pytest.approx(sd.compile(f, [x], backend="numpy")(0.3), rel=1e-14)
        assert sd.gradient(made, "x").shape == ()


def test_what_sympy_does_not_take_has_another_form() -> None:
    v, a, A = sd.vector("v", 2), sd.matrix("A", 2, 3), sp.MatrixSymbol("A", 2, 3)
    y = sd.matrix("y", 1, 1)
    for f in ((a > 0).T, a > 0, sd.maximum(sd.scalar("x"), y[0] @ y), (a > 0).T[0] ^ (v[0] > 0)):
        assert isinstance(f.sympy, sp.Basic)
    assert str(sd.parse("x % 0")) == "nan"
    chosen = sd.where((a > 0).T[:2, 0], v, 0.0).sympy
    assert chosen.shape == (2, 1)
    assert [piece.args[0][1] for piece in chosen] == [sp.Lt(0, A[0, k], evaluate=False) for k in (0, 1)]


def test_deep_matrix_results_come_as_definitions() -> None:
    node = vector
    for _ in range(200):
        node = apply("tanh", ops.matmul(square, node))
    written = to_sympy(node)
    assert isinstance(written, Definitions)
    assert all(symbol.shape == (3, 1) for symbol, _ in written.definitions)
    _assert_round_trip(node, {"A": VALUES["A"], "v": VALUES["v"][:, 0]})
