"""SymPy as its users write it: assumptions, matrices of variables, indexed bases, special functions, sums by index."""

from __future__ import annotations

import pickle
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import symdiff as sd
from symdiff.errors import UnsupportedError
from symdiff.graph.scalars.functions import FUNCTIONS, Partial

x, y, k = sp.symbols("x y k")

# ---------------------------------------------------------------------------- symbols keep their identity


@st.composite
def symbols(draw: st.DrawFn) -> list[Any]:
    facts = st.sampled_from([{}, *({fact: True} for fact in ("real", "positive", "integer", "nonzero", "finite"))])
    found: list[Any] = [sp.Symbol(name, **draw(facts)) for name in ("a", "b")]
    time = sp.Symbol("t", **draw(facts))
    found.append(draw(st.sampled_from([sp.Function("q")(time), sp.Function("q")(time).diff(time), sp.Dummy("z")])))
    return found


@settings(max_examples=40, deadline=None)
@given(symbols())
def test_what_is_written_has_the_symbols_that_were_read(own: list[Any]) -> None:
    a, b, q = own
    value = a**2 * b + sp.sin(q) * a
    slope = sd.gradient(value, a)
    for shown in (slope, slope * 2, pickle.loads(pickle.dumps(slope)), sd.compile(slope), sd.hessian(value, a)):
        assert shown.sympy.free_symbols <= value.free_symbols
    assert slope.sympy == 2 * a * b + sp.sin(q)
    kernel = sd.compile(slope)
    assert pickle.loads(pickle.dumps(kernel)).sympy == kernel.sympy


def test_sizes_of_matrices_keep_their_assumptions() -> None:
    m, n = sp.symbols("m n", integer=True, positive=True)
    A = sp.MatrixSymbol("A", m, n)
    assert sd.gradient(sp.Trace(A * A.T), A).sympy == 2 * A


def test_indexed_bases_come_back_as_they_were() -> None:
    b, B = sp.IndexedBase("b", shape=(3,)), sp.IndexedBase("B", shape=(2, 3))
    total = sp.Sum(b[k] ** 2, (k, 0, 2)) + b[0] * sp.sin(B[1, 2])
    assert sd.compile(total).sympy == b[0] ** 2 + b[1] ** 2 + b[2] ** 2 + b[0] * sp.sin(B[1, 2])
    slopes = sd.gradient(total, b).sympy
    assert slopes == sp.Matrix([2 * b[0] + sp.sin(B[1, 2]), 2 * b[1], 2 * b[2]])
    assert sd.gradient(total, B).sympy[1, 2] == b[0] * sp.cos(B[1, 2])


# ---------------------------------------------------------------------------- matrices of variables


def test_a_matrix_of_symbols_stands_for_its_variables() -> None:
    f, both = sp.Matrix([x * y, x**2]), sp.Matrix([x, y])
    assert sd.jacobian(f, both).sympy == f.jacobian(both)
    value = x * y**2 + sp.exp(x)
    assert sd.gradient(value, both).sympy == sp.Matrix([value.diff(x), value.diff(y)])
    assert sd.jacobian(value, both).sympy == sp.Matrix([value]).jacobian(both)
    assert sd.hessian(value, both).sympy == sp.hessian(value, [x, y])
    assert sd.gradient(value, sp.Tuple(x, y)).sympy == sd.gradient(value, both).sympy
    direction = sp.Matrix([1, y])
    assert sp.expand(sd.jvp(value, both, direction).sympy - value.diff(x) - y * value.diff(y)) == 0
    assert [one.name for one in sd.compile(value, inputs=sp.Matrix([y, x])).inputs] == ["y", "x"]


@pytest.mark.parametrize("make", [sp.Matrix, sp.ImmutableMatrix, sp.Array])
def test_a_gradient_has_the_shape_of_its_matrix_of_symbols(make: Any) -> None:
    X = make([[x, y, k], list(sp.symbols("a b c"))])
    value = sum(sp.sin(one) * (k + 1) for k, one in enumerate(sp.flatten(X.tolist())))
    slope = sd.gradient(value, X)
    assert slope.shape == (2, 3)
    assert slope.sympy == sp.Matrix(2, 3, [value.diff(one) for one in sp.flatten(X.tolist())])
    same, also = sd.value_and_gradient(value, X)
    assert (same.shape, also.shape, also.sympy) == ((), (2, 3), slope.sympy)
    assert sd.value_and_gradient(x * y**2, sp.Matrix([x, y]))[1].sympy == sp.Matrix([y**2, 2 * x * y])
    assert sd.gradient(x * y**2, sp.Matrix([[x, y]])).shape == (2,)


def test_an_objective_takes_a_matrix_of_symbols() -> None:
    f = sd.objective((x - 1) ** 2 + 10 * (y - x**2) ** 2, sp.Matrix([x, y]))
    found = minimize(f.fun, [0.0, 0.0], jac=f.jac, hess=f.hess, method="trust-exact")
    assert np.allclose(found.x, 1.0, atol=1e-3)


def test_structures_of_derivatives_are_shown_as_single_ones_are() -> None:
    slopes = sd.gradient(x * y**2, [x, y])
    assert slopes.sympy == (y**2, 2 * x * y)
    assert slopes.unicode().splitlines()[0].split() == ["[0]", "y\N{SUPERSCRIPT TWO}"]
    assert "y^{2}" in slopes.latex()
    assert f"$\\displaystyle {slopes.latex()}$" == slopes._repr_latex_()
    named = sd.gradient("x*y**2", {"a": "x", "b": "y"})
    assert named.sympy == {"a": y**2, "b": 2 * x * y}
    seconds = sd.hessian("x*y**2", ["x", "y"])
    assert seconds.sympy == ((0, 2 * y), (2 * y, 2 * x))
    assert len(seconds.unicode().splitlines()) == 4


# ---------------------------------------------------------------------------- special functions, both ways

READ = [
    (sp.Ei(x), mpmath.ei),
    (sp.expint(2, x), lambda v: mpmath.expint(2, v)),
    (sp.E1(x), mpmath.e1),
    (sp.li(x + 2), lambda v: mpmath.li(v + 2)),
    (sp.Li(x + 2), lambda v: mpmath.li(v + 2, offset=True)),
    (sp.zeta(2, x), lambda v: mpmath.zeta(2, v)),
    (sp.polylog(2, x), lambda v: mpmath.polylog(2, v)),
    (sp.lowergamma(1.5, x), lambda v: mpmath.gammainc(1.5, 0, v)),
    (sp.uppergamma(1.5, x), lambda v: mpmath.gammainc(1.5, v)),
    (sp.betainc(2, 3, 0, x), lambda v: mpmath.betainc(2, 3, 0, v)),
    (sp.betainc_regularized(2, 3, 0.1, x), lambda v: mpmath.betainc(2, 3, 0.1, v, regularized=True)),
    (sp.erf2inv(0, x), mpmath.erfinv),
    (sp.erfinv(x), mpmath.erfinv),
    (sp.besselk(2, x), lambda v: mpmath.besselk(2, v)),
]


@pytest.mark.parametrize(("expr", "reference"), READ, ids=[str(expr) for expr, _ in READ])
@pytest.mark.parametrize("at", [0.3, 0.62])
def test_special_functions_are_read_and_written(expr: Any, reference: Any, at: float) -> None:
    kernel = sd.compile(expr)
    assert kernel(at) == pytest.approx(float(reference(mpmath.mpf(at))), rel=1e-12)
    back = kernel.sympy
    assert not back.has(sp.matrices.expressions.matexpr.MatrixElement)
    assert sd.compile(back)(at) == pytest.approx(kernel(at), rel=1e-12)
    slope = float(mpmath.diff(reference, mpmath.mpf(at)))
    assert sd.compile(sd.gradient(expr, x))(at) == pytest.approx(slope, rel=1e-9)


#: What is written as an operation by its text: internal forms, and what SymPy has no class for.
PUBLIC = [
    *("j0", "j1", "y0", "y1", "i0", "i1", "k0", "k1", "i0e", "i1e", "k0e", "k1e", "erfcx", "erfinv", "erfcinv"),
    *("ndtr", "log_ndtr", "ndtri", "expi", "exp1", "spence", "logit", "entr", "soft_sign", "betaln", "gammainc"),
    *("gammaincc", "rel_entr", "kl_div", "xlog1py", "zeta", "beta", "binom", "poch"),
]


@pytest.mark.parametrize("name", PUBLIC)
def test_functions_are_written_by_sympys_names(name: str) -> None:
    row = FUNCTIONS[name]
    places = [low + 0.37 * (high - low) for low, high in row.domain]
    letters = [chr(ord("a") + place) for place in range(len(places))]
    kernel = sd.compile(f"{name}({', '.join(letters)})")
    written = kernel.sympy
    assert not written.has(sp.matrices.expressions.matexpr.MatrixElement), written
    at = {sp.Symbol(letter): sp.Float(value, 30) for letter, value in zip(letters, places, strict=True)}
    exact = written.subs(at)
    assert kernel(*places) == pytest.approx(float(exact.evalf(20)), rel=1e-11)
    assert all(partial is not Partial.NONE for partial in row.partials)


# ---------------------------------------------------------------------------- sums over indices


def test_what_a_delta_takes_away_is_not_computed() -> None:
    total = sp.Sum(sp.KroneckerDelta(k, 1) * sp.log(x - k), (k, 0, 3))
    assert sd.compile(total)(2.5) == pytest.approx(np.log(1.5), rel=1e-15)
    assert sd.compile(sd.gradient(total, x))(2.5) == pytest.approx(1 / 1.5, rel=1e-15)
    assert sd.compile(sp.Sum(k * sp.log(x - k) * (k - 3), (k, 0, 3)))(2.5) == pytest.approx(
        -2 * np.log(1.5) - 2 * np.log(0.5), rel=1e-14
    )


def test_a_delta_of_indices_over_letters_leaves_a_diagonal() -> None:
    n = sp.Symbol("n", integer=True, positive=True)
    i, j = sp.symbols("i j")
    v, A = sp.MatrixSymbol("v", n, 1), sp.MatrixSymbol("A", n, n)
    ranges = (i, 0, n - 1), (j, 0, n - 1)
    assert str(sd.gradient(sp.Sum(sp.KroneckerDelta(i, j) * A[i, j], *ranges), A)) == "eye(n)"
    assert str(sd.gradient(sp.Sum(sp.KroneckerDelta(i, j) * v[i, 0] * v[j, 0], *ranges), v)) == "2 * v"
    kernel = sd.compile(sp.Sum(sp.KroneckerDelta(i, j) * A[i, j] * sp.log(v[i, 0]), *ranges))
    entries, values = np.arange(9.0).reshape(3, 3), np.array([0.5, 2.0, 3.0])
    np.testing.assert_allclose(kernel(A=entries, v=values[:, None]), np.diag(entries) @ np.log(values))


@pytest.mark.parametrize(
    "term",
    [
        *(sp.fibonacci(k) * x, sp.bernoulli(k) * x**k, sp.harmonic(k) * x, sp.catalan(k) * x, sp.binomial(5, k) * x**k),
        *(sp.legendre(k, x), sp.hermite(k, x), sp.laguerre(k, x), sp.chebyshevt(k, x), sp.assoc_laguerre(k, 2, x)),
    ],
    ids=str,
)
def test_sums_of_what_is_closed_for_numbers_alone(term: Any) -> None:
    total = sp.Sum(term, (k, 0, 5))
    for at in (-0.7, 0.4, 1.9):
        exact = total.doit()
        assert sd.compile(total)(at) == pytest.approx(float(exact.subs(x, at)), rel=1e-12)
        slope = float(exact.diff(x).subs(x, at))
        assert sd.compile(sd.gradient(total, x), inputs=[x])(at) == pytest.approx(slope, rel=1e-11)


# ---------------------------------------------------------------------------- numbers that are not real, no branch

COMPLEX = [
    sp.Pow(-8, sp.Rational(1, 3)), sp.asin(2), sp.acos(-3), sp.atanh(3), (-2) ** sp.pi, sp.LambertW(-1), sp.acsc(0.5),
    sp.sqrt(sp.cos(3), evaluate=False), sp.expint(1, -2), sp.erfinv(2, evaluate=False),
]


@pytest.mark.parametrize("number", COMPLEX, ids=str)
def test_numbers_that_are_not_real_are_refused(number: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"not real|complex"):
        sd.compile(sp.Mul(x, number, evaluate=False))


def test_an_index_decides_which_branch_is_read() -> None:
    roots = sp.Piecewise((sp.sqrt(k) * x, k >= 0), (0, True))
    assert sd.compile(sp.Sum(roots, (k, -1, 2)))(3.0) == pytest.approx(3 * (1 + np.sqrt(2)))


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_a_formula_has_no_slope_where_it_has_no_value(backend: str) -> None:
    f = sp.Piecewise((x**2 * y, x > 0)) + y
    for order in (1, 2):
        found = sd.compile(sd.derivative(f, x, order), inputs=[x, y], backend=backend)
        np.testing.assert_array_equal(found([-1.0, 3.0], [2.0, 2.0]), [np.nan, 12.0 if order == 1 else 4.0])
    choice = "where(x > 0, where(x > 2.5, nan, x**2), 7)"
    for written in (f"gradient(sum({choice}), x)", f"jvp({choice}, x, ones(3))", f"vjp({choice}, x, ones(3))"):
        kernel = sd.compile(written, x=3, backend=backend)
        np.testing.assert_array_equal(kernel([-1.0, 2.0, 3.0]), [0.0, 4.0, np.nan])
    whole = sd.compile(f"jacobian({choice}, x)", x=3, backend=backend)([-1.0, 2.0, 3.0])
    np.testing.assert_array_equal(whole, np.diag([0.0, 4.0, np.nan]))


@pytest.mark.parametrize("top", ["1", "-3", "0.5"])
def test_the_inverse_cotangent_has_a_slope_at_zero(top: str) -> None:
    c = float(top)
    slope = sd.compile(sd.gradient(f"arctan({top}/x)", "x"))
    for at in (0.0, 1e-200, -1e-30, 0.3, 1e100):
        assert slope(at) == pytest.approx(-c / (c * c + at * at), rel=1e-14)
    if c == 1:
        assert str(sd.gradient(sp.acot(x), x)) == "-1 / (x ** 2 + 1)"


# ---------------------------------------------------------------------------- explicit matrices, densities


def test_derivatives_of_explicit_matrices_are_explicit() -> None:
    t = sp.Symbol("t")
    R = sp.Matrix([[sp.cos(t), -sp.sin(t)], [sp.sin(t), sp.cos(t)]])
    assert str(sd.derivative(R, t)) == "[[-sin(t), -cos(t)], [cos(t), -sin(t)]]"
    assert sd.derivative(R, t).sympy == R.diff(t)
    column = sp.Matrix([x * y, x**2, sp.sin(y)])
    assert str(sd.jacobian(column, x)) == "[y, 2 * x, 0][:, None]"
    three = sp.Matrix(2, 3, [x, 1, x * y, 0, sp.exp(x), y])
    assert str(sd.derivative(three, x)) == "[[1, 0, y], [0, exp(x), 0]]"
    at = {"x": 0.3, "y": -0.7}
    exact = np.array(three.diff(x).subs(at), float)
    kernel = sd.compile(sd.derivative(three, x))
    np.testing.assert_allclose(kernel(**{one.name: at[one.name] for one in kernel.inputs}), exact, rtol=1e-15)


def test_numbers_that_a_reader_knows_are_one() -> None:
    m, s = sp.symbols("m s")
    density = sp.exp(-((x - m) ** 2) / (2 * s**2)) / (s * sp.sqrt(2 * sp.pi))
    shown = "exp(-0.5 * (x - m) ** 2 / s ** 2) * ((x - m) ** 2 / s ** 2 - 1) / (sqrt(2 * pi) * s ** 2)"
    assert str(sd.gradient(density, s)) == shown
    assert sp.simplify(sd.compile(density).sympy - density) == 0
    slope = sd.compile(sd.gradient(density, s))
    at = {"x": 0.3, "m": 0.1, "s": 0.8}
    exact = float(density.diff(s).subs(at).evalf(20))
    assert slope(**at) == pytest.approx(exact, rel=1e-14)
