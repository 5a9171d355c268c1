"""Special functions as users call them: SciPy's functions on symbols, what is refused, polynomials of a degree."""

from __future__ import annotations

import time

import mpmath
import numpy as np
import pytest
import sympy
from scipy import special

import symdiff as sd
from symdiff._kernels.interpreter import SCALARS
from symdiff.codegen.c.texts import texts_with
from symdiff.errors import BuildError, NotDifferentiableError, UnsupportedError
from symdiff.frontend.sympy import Inputs, from_sympy, to_sympy
from symdiff.graph.reference.interpret import find_function
from symdiff.graph.scalars.functions import FUNCTIONS, Function, Partial
from symdiff.graph.scalars.polynomials import POLYNOMIALS
from symdiff.runtime.toolchain.host import function_address

#: Rows whose C text is symdiff's own.
OWN = [row for row in FUNCTIONS.values() if row.special]
FROM_SCIPY = [row for row in FUNCTIONS.values() if row.library]


@pytest.mark.parametrize("row", FROM_SCIPY, ids=lambda row: row.name)
def test_scipy_has_each_function_that_a_row_names(row: Function) -> None:
    assert function_address(f"scipy:{row.library}:{row.arity}")


@pytest.mark.parametrize("row", OWN, ids=lambda row: row.name)
def test_function_of_own_text_has_every_piece(row: Function) -> None:
    assert f" {row.special}(" in texts_with(row.special)[-1]  # a header of symdiff/_kernels/functions
    assert row.c in SCALARS  # a row of sd_scalars in symdiff/_kernels/machine/interpreter.h
    assert callable(find_function(row.numpy))  # SciPy's, or symdiff/_kernels/functions/special.pyx


def test_a_function_that_scipy_lacks_is_named() -> None:
    with pytest.raises(BuildError, match=r"cython_special of SciPy .* has no curl of 2 numbers"):
        function_address("scipy:curl:2")


NAMES = [name for name, row in FUNCTIONS.items() if row.numpy.startswith("special.") and row.numpy[8:] == name]


@pytest.mark.parametrize("name", [*NAMES, "betaln", "beta", "zeta", "iv", "kv"])
def test_functions_of_scipy_take_symbols(name: str) -> None:
    row, rng = FUNCTIONS[name], np.random.default_rng(0)
    numbers = [low if low == high else rng.uniform(low, high) for low, high in row.domain]
    symbols = [sd.scalar(f"x{i}") for i in range(row.arity)]
    taken = [n if row.orders and not i else x for i, (n, x) in enumerate(zip(numbers, symbols, strict=True))]
    formula = getattr(special, name)(*taken)
    text = sd.compile(f"{name}({', '.join(map(str, taken))})", backend="numpy")
    got = sd.compile(formula, symbols, backend="native")(*numbers)
    want = getattr(special, name)(*numbers)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    np.testing.assert_allclose(text(*numbers[row.orders > 0 :]), want, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "place"),
    [(r.name, i) for r in FUNCTIONS.values() if not r.written for i, p in enumerate(r.partials) if p is Partial.ABSENT],
)
def test_derivatives_that_are_not_offered_are_refused_by_name(name: str, place: int) -> None:
    symbols = [sd.scalar(f"x{i}") for i in range(FUNCTIONS[name].arity)]
    taken = [1.0, *symbols[1:]] if FUNCTIONS[name].orders else symbols
    with pytest.raises(NotDifferentiableError, match=f"{name} with respect to its argument {place + 1} is not offered"):
        sd.gradient(getattr(sd, name)(*taken), symbols[place])


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_slopes_of_gammainc_at_large_parameters_and_beside_0(backend: str) -> None:
    a, x = sd.scalar("a"), sd.scalar("x")
    slope = sd.gradient(special.gammainc(a, x), x)
    kernel = sd.compile([slope, sd.gradient(slope, x)], [a, x], backend=backend)
    rng = np.random.default_rng(6)
    middle = [(10**p, 10**p + rng.uniform(1, 3) * 10 ** (p / 2)) for p in rng.uniform(0, 12, 20)]
    small = [(q, 10 ** rng.uniform(-250, -190)) for q in rng.uniform(1, 2.1, 8)]
    for first, second in [*middle, *small]:
        with mpmath.workdps(60):
            p, at = mpmath.mpf(first), mpmath.mpf(second)
            density = mpmath.exp((p - 1) * mpmath.log(at) - at - mpmath.loggamma(p))
            once, twice = kernel(first, second)
            assert abs(once - density) <= 1e-13 * density + 1e-307, (first, second)
            further = density * ((p - 1) / at - 1)
            rounded = 1e-15 * density * p / at  # of the argument, beside the zero
            assert abs(twice - further) <= 2e-13 * abs(further) + rounded + 1e-307, (first, second)
    assert [kernel(1.0, 0.0)[1], kernel(2.0, 0.0)[1], kernel(30.0, 0.0)[1]] == [-1.0, 1.0, 0.0]


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_the_mixed_derivative_of_beta_keeps_digits_near_its_poles(backend: str) -> None:
    a, b = sd.scalar("a"), sd.scalar("b")
    f = sd.beta(a, b)
    kernel = sd.compile([sd.gradient(sd.gradient(f, a), b), sd.gradient(sd.gradient(f, b), a)], [a, b], backend=backend)
    rng = np.random.default_rng(7)
    for first, second in 10 ** rng.uniform(-8, 1, (20, 2)):
        with mpmath.workdps(60):
            p, q = mpmath.mpf(first), mpmath.mpf(second)
            whole = mpmath.digamma(p + q)
            product = (mpmath.digamma(p) - whole) * (mpmath.digamma(q) - whole)
            want = mpmath.beta(p, q) * (product - mpmath.psi(1, p + q))
            for got in kernel(first, second):
                assert abs(got - want) <= (1e-13 + 1e-15 / min(p, q)) * abs(want), (first, second)


def test_zeta_where_terms_underflow_and_near_its_pole() -> None:
    s, q = sd.scalar("s"), sd.scalar("q")
    kernel = sd.compile(special.zeta(s, q), [s, q])
    for first, second in [(3.5, 1e111), (4.0, 5e79), (1 + 1e-7, 1e-20), (1 + 1e-9, 1e-12), (1.5, 3.0)]:
        with mpmath.workdps(60):
            p, at = mpmath.mpf(first), mpmath.mpf(second)
            want = at ** (1 - p) / (p - 1) if second > 1e20 else mpmath.zeta(p, at)
            assert abs(kernel(first, second) - want) <= 2e-15 * want, (first, second)


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_modified_bessel_functions_beside_0_and_far_out(backend: str) -> None:
    v, x = sd.scalar("v"), sd.scalar("x")
    slope = sd.gradient(sd.gradient(sd.k1(x), x), x)
    kernel = sd.compile([special.iv(v, x), special.kv(v, x), slope], [v, x], backend=backend)
    rng = np.random.default_rng(5)
    near, far = 10 ** rng.uniform(-100, -3, 12), rng.uniform(690, 704, 12)
    orders = np.concatenate([rng.uniform(-1.9, 2.5, 6), [0, 1, 2, -1, -2, 3]])
    for order, at in [*zip(orders, near, strict=True), *zip(orders, far, strict=True)]:
        got = kernel(order, at)
        with mpmath.workdps(40):
            large, small = mpmath.besseli(order, at), mpmath.besselk(order, at)
            twice = (mpmath.besselk(3, at) + 3 * mpmath.besselk(1, at)) / 4
            for own, want in zip(got, (large, small, twice), strict=True):
                if 1e-300 < abs(want) < 1e300:
                    assert abs(own - want) <= 2e-13 * abs(want), (order, at)
    assert list(kernel(1.0, np.inf)[1:]) == [0.0, 0.0]


@pytest.mark.parametrize("name", ["airy", "sici", "fresnel"])
def test_functions_of_several_values(name: str) -> None:
    x, at = sd.scalar("x"), np.array([0.3, 1.7, 6.0])
    values = getattr(special, name)(x)
    got = sd.compile(list(values), [x])(at)
    for own, want in zip(got, getattr(special, name)(at), strict=True):
        np.testing.assert_allclose(own, want, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("k", [0, -1])
def test_the_real_branches_of_lambert(k: int) -> None:
    x, at = sd.scalar("x"), np.array([-0.36, -0.1, -1e-5])
    for formula in (special.lambertw(x, k), sd.lambertw(x, k), sd.compile(f"lambertw(x, {k})")):
        kernel = formula if isinstance(formula, sd.Kernel) else sd.compile(formula, [x])
        np.testing.assert_allclose(kernel(at), special.lambertw(at, k).real, rtol=1e-14)
    w = sd.compile(sd.lambertw(x, k), [x])
    assert np.isnan(w(-0.4))
    assert w(-np.exp(-1.0)) == pytest.approx(-1.0, abs=1e-7)
    with pytest.raises(UnsupportedError, match="lambertw of a branch 2; the branches that are real are 0 and -1"):
        sd.lambertw(x, 2)


X = sympy.Symbol("x")
OF_SYMPY = [sympy.elliptic_k(X), sympy.elliptic_e(X), sympy.Si(X), sympy.Ci(X), sympy.fresnels(X), sympy.fresnelc(X),
            sympy.airyai(X), sympy.airyaiprime(X), sympy.airybi(X), sympy.airybiprime(X), sympy.LambertW(X),
            sympy.LambertW(-X, -1)]  # fmt: skip


@pytest.mark.parametrize("formula", OF_SYMPY, ids=str)
def test_sympy_reads_and_is_read(formula: sympy.Expr) -> None:
    kernel = sd.compile(formula)
    assert kernel(0.3) == pytest.approx(float(formula.subs(X, 0.3).evalf()), rel=1e-14)
    assert to_sympy(from_sympy(formula, registry := Inputs()), registry) == formula


@pytest.mark.parametrize("name", sorted(POLYNOMIALS))
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_polynomials_and_their_slopes(name: str, n: int) -> None:
    more = [0.5] * (POLYNOMIALS[name][1] - 1)
    x, at = sd.scalar("x"), np.array([-1.0, -0.3, 0.0, 0.8, 1.0])
    function = getattr(special, name)
    f = function(n, *more, x)
    np.testing.assert_allclose(sd.compile(f, [x])(at), function(n, *more, at), rtol=1e-12, atol=1e-12)
    slope = sd.compile(sd.gradient(f, x, disconnected="zero"), [x])(at)
    hermite = {"eval_hermite": np.polynomial.Hermite, "eval_hermitenorm": np.polynomial.HermiteE}
    if name in hermite:  # SciPy takes no complex numbers there
        want = hermite[name].basis(n).deriv()(at)
    else:
        want = np.imag(function(n, *more, at + 1e-30j)) / 1e-30
    np.testing.assert_allclose(slope, want, rtol=1e-11, atol=1e-11)


def test_a_degree_is_a_number() -> None:
    x = sd.scalar("x")
    for degree in (x, -1, 2.5, 1000):
        with pytest.raises(UnsupportedError, match="eval_legendre of a degree"):
            sd.eval_legendre(degree, x)


def test_factorial_and_multigammaln() -> None:
    x = sd.scalar("x")
    np.testing.assert_allclose(sd.compile(sd.factorial(x), [x])(4.5), special.factorial(4.5), rtol=1e-14)
    f = sd.multigammaln(x, 3)
    np.testing.assert_allclose(sd.compile(f, [x])(4.5), special.multigammaln(4.5, 3), rtol=1e-14)
    want = sum(special.digamma(4.5 - 0.5 * j) for j in range(3))
    np.testing.assert_allclose(sd.compile(sd.gradient(f, x), [x])(4.5), want, rtol=1e-14)


@pytest.mark.parametrize(("a", "b"), [(1e5, 0.5), (1e10, 3.0), (1e-10, 7.0), (300.0, 200.0)])
def test_the_slope_of_betaln_where_digammas_cancel(a: float, b: float) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    got = sd.compile(sd.gradient(sd.betaln(x, y), x), [x, y])(a, b)
    with mpmath.workdps(60):
        want = mpmath.digamma(mpmath.mpf(a)) - mpmath.digamma(mpmath.mpf(a) + b)
        assert abs(got - want) <= 1e-14 * abs(want)


def test_nan_and_infinity() -> None:
    x = sd.scalar("x")
    for name in ("ndtr", "log_ndtr", "erfcx", "ndtri", "i0e", "i1e", "j0", "k0", "exp1", "spence"):
        kernel = sd.compile(sd.gradient(getattr(sd, name)(x), x), [x])
        assert np.isnan(kernel(np.nan)), name
    f = sd.compile([sd.ndtr(x), sd.log_ndtr(x), sd.gradient(sd.log_ndtr(x), x)], [x])
    np.testing.assert_array_equal(f(np.inf), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(f(-np.inf)[:2], [0.0, -np.inf])


#: Functions in whose rows SciPy's are called, by the names that users write; orders that are constants have bounds.
IN_SCIPY = sorted({row.written.__name__ if row.written else row.name for row in FROM_SCIPY if not row.orders})
EXTREME = [0.5, 3.0, 1e4, 1e5 + 1, 1e8, 1e8 + 0.5, 1e9, 1e16, 1e300, 1e-300]


@pytest.mark.parametrize("name", IN_SCIPY)
def test_a_hundred_extreme_elements_take_no_second(name: str) -> None:
    row, draw = FUNCTIONS[name], np.random.default_rng(0)
    symbols = [sd.symbol(letter) for letter in "abc"[: row.arity]]
    value = getattr(sd, name)(*symbols)
    slope = value if row.partials[-1] in (Partial.NONE, Partial.ABSENT) else sd.derivative(value, symbols[-1])
    kernel = sd.compile([value, slope], backend="interpreter")
    elements = draw.choice(EXTREME, (100, row.arity)) * draw.choice([-1.0, 1.0, 1.0], (100, row.arity))
    elements[0] = [1e8] * (row.arity - 1) + [1e16]  # where a whole order is recurred to, in seconds
    begin = time.process_time()
    for element in elements:
        kernel(*element.tolist())
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_yv_is_nan_only_where_its_order_and_argument_are_large(backend: str) -> None:
    kernel = sd.compile("yv(v, x)", backend=backend)
    for v, x in [(1e8, 1e16), (-1e8, 1e300), (10001.0, 2e9), (1e5 + 0.5, 1e10)]:
        assert np.isnan(kernel(v, x))
    for v, x in [(2.0, 3.0), (-3.0, 1e10), (1e4, 1e9), (1e4, 1e10), (1e5, 1e8), (0.5, 2e9)]:
        assert kernel(v, x) == special.yv(v, x)
