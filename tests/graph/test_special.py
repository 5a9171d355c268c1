"""Special functions as users call them: SciPy's functions on symbols, what is refused, polynomials of a degree."""

from __future__ import annotations

import time
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
import sympy
from scipy import special

import symdiff as sd
from symdiff._kernels.interpreter import SCALARS
from symdiff.codegen.c.preamble import texts_with
from symdiff.errors import BuildError, NotDifferentiableError, UnsupportedError
from symdiff.frontend.sympy import Inputs, from_sympy, to_sympy
from symdiff.graph.reference.interpret import find_function
from symdiff.graph.scalars.compositions import POLYNOMIALS
from symdiff.graph.scalars.functions import FUNCTIONS, Function, Partial
from symdiff.runtime.toolchain.load import function_address

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
        sd.gradient(sd.function(name)(*taken), symbols[place])


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
    slope = sd.gradient(sd.gradient(sd.special.k1(x), x), x)
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
            sd.special.eval_legendre(degree, x)


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
        kernel = sd.compile(sd.gradient(sd.function(name)(x), x), [x])
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
    value = sd.function(name)(*symbols)
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
    for v, x in [(1e8, 1.5e8), (-1e16, 1e16), (3e299, 1e299)]:
        assert np.isnan(kernel(v, x))
    assert kernel(1e300, 1e100) == -np.inf
    for v, x in [(2.0, 3.0), (1e4, 9e7), (1e5, 9e7)]:
        assert kernel(v, x) == special.yv(v, x)
    for v, x in [(-3.0, 1e10), (1e5, 1e8), (0.5, 2e9)]:  # half a unit of the argument moves SciPy's phase
        assert abs(kernel(v, x) - special.yv(v, x)) <= 1e-15 * x * np.sqrt(0.64 / x)


@pytest.mark.parametrize(("name", "m"), [("poch", 2), ("poch", 3), ("poch", 6), ("poch", -3),
                                         ("binom", 2), ("binom", 3), ("binom", 6)])
def test_products_of_neighbouring_numbers_have_slopes_at_their_zeros(name: str, m: int) -> None:
    x = sd.scalar("x")
    found = [sd.function(name)(x, m)]
    for _ in range(3):
        found.append(sd.gradient(found[-1], x, disconnected="zero"))
    at = np.array([0.0, 1e-9, 1e-300, -1.0, -1 - 1e-12, -2 + 1e-5, -0.5, 0.3, 2.5, -6 - 1e-9])
    got = sd.compile(found[1:], [x], backend="interpreter")(at)

    def exact(z: mpmath.mpf) -> mpmath.mpf:
        if name == "binom":
            return mpmath.rf(z - m + 1, m) / mpmath.factorial(m)
        return mpmath.rf(z, m) if m >= 0 else 1 / mpmath.rf(z + m, -m)

    for order, values in enumerate(got, 1):
        for place, value in zip(at, np.broadcast_to(values, at.shape), strict=True):
            with mpmath.workdps(120):
                want = mpmath.diff(exact, mpmath.mpf(place), order, h=mpmath.mpf(10) ** -30)
            assert abs(value - want) <= 1e-13 * (abs(want) + 1e-6), (order, place, value, want)


@pytest.mark.parametrize("text", ["poch(x, 2)", "poch(x, 3)", "binom(x, 3)", "gamma(x + 2) / gamma(x)"])
def test_printed_slopes_of_such_products_are_the_kernel(text: str) -> None:
    at = np.array([0.0, 1e-12, 1e-4, -1.0, -1 + 1e-9])
    slope = sd.gradient(text, "x", x=())
    for _ in range(2):
        printed = sd.compile(str(slope), ["x"], backend="interpreter", x=())(at)
        np.testing.assert_allclose(printed, sd.compile(slope, ["x"], backend="interpreter")(at), rtol=1e-13, atol=1e-14)
        slope = sd.gradient(slope, "x", disconnected="zero")


def _hankel(second: bool, v: float, x: float) -> mpmath.mpf:
    """Return J_v(x) or Y_v(x) by DLMF 10.17.3."""
    with mpmath.workdps(60 + int(np.log10(x))):
        parts, term, k = [mpmath.mpf(0), mpmath.mpf(0)], mpmath.mpf(1), 0
        while abs(term) > mpmath.mpf(10) ** -40:
            parts[k % 2] += term if k % 4 < 2 else -term
            k += 1
            term *= (4 * mpmath.mpf(v) ** 2 - (2 * k - 1) ** 2) / (k * 8 * mpmath.mpf(x))
        angle = x - (mpmath.mpf(v) / 2 + mpmath.mpf(1) / 4) * mpmath.pi
        cosine, sine = mpmath.cos(angle), mpmath.sin(angle)
        wave = sine * parts[0] + cosine * parts[1] if second else cosine * parts[0] - sine * parts[1]
        return mpmath.sqrt(2 / (mpmath.pi * x)) * wave


@pytest.mark.parametrize("name", ["jv", "yv", "j0", "j1", "y0", "y1"])
def test_bessel_functions_far_out(name: str) -> None:
    rng = np.random.default_rng(8)
    v, x = sd.scalar("v"), sd.scalar("x")
    far = np.concatenate([10.0 ** rng.uniform(8, 300, 12), rng.uniform(1e8, 1e10, 8), [2e9, 1e16, 1e300]])
    orders = np.where(rng.random(far.size) < 0.5, rng.integers(-40, 80, far.size) / 2, rng.uniform(-20, 20, far.size))
    orders[0], far[0] = 3e3, 3e9
    if name[1] != "v":
        orders = np.full(far.size, float(name[1]))
    value = sd.function(name)(*((v, x) if name[1] == "v" else (x,)))
    got = sd.compile([value, sd.gradient(value, x)], [v, x], backend="interpreter")(orders, far)
    for i, (order, place) in enumerate(zip(orders, far, strict=True)):
        at = [_hankel(name[0] == "y", float(order) + k, float(place)) for k in (-1, 0, 1)]
        size = 1e-13 * mpmath.sqrt(2 / (mpmath.pi * place))
        assert abs(got[0][i] - at[1]) <= size, (order, place)
        assert abs(got[1][i] - (at[0] - at[2]) / 2) <= size, (order, place)


def test_scaled_bessel_functions_far_out() -> None:
    rng = np.random.default_rng(9)
    v, x = sd.scalar("v"), sd.scalar("x")
    far = np.concatenate([10.0 ** rng.uniform(8, 300, 12), [2e9, 1e9, 1.1e9, 1e300]])
    orders = np.where(rng.random(far.size) < 0.5, rng.integers(-40, 80, far.size) / 2, rng.uniform(-200, 200, far.size))
    bessel = sd.compile([sd.special.kve(v, x), sd.special.iv(v, x)], [v, x], backend="interpreter")
    value, infinite = bessel(orders, far)
    assert np.isposinf(infinite).all()
    for order, place, got in zip(orders, far, value, strict=True):
        with mpmath.workdps(40):  # DLMF 10.40.2
            total, term, k = mpmath.mpf(0), mpmath.mpf(1), 0
            while abs(term) > mpmath.mpf(10) ** -30:
                total += term
                k += 1
                term *= (4 * mpmath.mpf(order) ** 2 - (2 * k - 1) ** 2) / (k * 8 * mpmath.mpf(place))
            want = mpmath.sqrt(mpmath.pi / (2 * mpmath.mpf(place))) * total
        assert abs(got - want) <= 1e-13 * want, (order, place)


def test_orders_that_make_up_for_the_exponential_have_values() -> None:
    v, x = sd.scalar("v"), sd.scalar("x")
    at = [(700.0, 650.0), (1300.0, 1100.0), (2000.5, 1500.0), (1e4, 1e4)]
    got = sd.compile(sd.special.kv(v, x), [v, x], backend="interpreter")(*np.array(at).T)
    for (order, place), value in zip(at[:3], got, strict=False):
        with mpmath.workdps(60):  # the integral of DLMF 10.32.9
            peak = mpmath.asinh(mpmath.mpf(order) / place)
            top = order * peak - place * mpmath.cosh(peak)
            want = mpmath.exp(top) / 2 * mpmath.quad(
                lambda t, v=order, z=place, top=top: mpmath.exp(v * t - z * mpmath.cosh(t) - top),
                [peak + mpmath.mpf(k) / 10 for k in range(-10, 11)],
            )
        assert abs(value - want) <= 1e-11 * want, (order, place, value, want)
    assert got[3] == 0


def test_gauss_function_has_its_digits_or_is_nan() -> None:
    rng = np.random.default_rng(21)
    halves = rng.integers(-120, 121, (150, 3)) / 2
    parameters = np.where(rng.random((150, 3)) < 0.5, rng.uniform(-60, 60, (150, 3)), halves)
    at = np.where(rng.random(150) < 0.5, rng.uniform(-50, 1, 150), 1 - 10.0 ** rng.uniform(-6, 0.3, 150))
    parameters[0], at[0] = (50, 60, 2), -0.9
    parameters[1], at[1] = (0.5, 30, 0.5), -10
    parameters[2], at[2] = (9.650462838693556, -2.0, 1.5885066082445292), 0.9971177813034082
    symbols = [sd.scalar(name) for name in "abcx"]
    got = sd.compile(sd.special.hyp2f1(*symbols), symbols, backend="interpreter")(*parameters.T, at)
    assert np.isfinite(got[:3]).all()
    assert np.isnan(got).sum() < 20
    for numbers, x, value in zip(parameters, at, got, strict=True):
        with mpmath.workdps(60):
            want = mpmath.mpf("inf") if np.isinf(value) else mpmath.hyp2f1(*numbers.tolist(), x)
        assert np.isnan(value) or np.isinf(value) or abs(value - want) <= 1e-10 * abs(want), (numbers, x, value, want)


def _student(df: mpmath.mpf, t: mpmath.mpf) -> mpmath.mpf:
    tail = mpmath.betainc(df / 2, 0.5, 0, df / (df + t * t), regularized=True) / 2
    return tail if t < 0 else 1 - tail


Form = tuple[Callable[..., mpmath.mpf], list[tuple[float, float]], float]

#: Functions with several forms: text, reference, intervals of arguments, and the size below which errors are absolute.
FORMS: dict[str, Form] = {
    "si(a)": (mpmath.si, [(0, 30)], 0.0),
    "ci(a)": (mpmath.ci, [(0.1, 30)], 0.1),
    "fresnels(a)": (mpmath.fresnels, [(0, 8)], 0.0),
    "fresnelc(a)": (mpmath.fresnelc, [(0, 8)], 0.0),
    "beta(a, b)": (mpmath.beta, [(0.01, 10), (0.01, 10)], 0.0),
    "betaln(a, b)": (lambda a, b: mpmath.log(mpmath.beta(a, b)), [(0.01, 30), (0.01, 30)], 1.0),
    "stdtr(a, b)": (_student, [(0.05, 60), (-6, 6)], 0.0),
    "hyp0f1(a, b)": (mpmath.hyp0f1, [(0.1, 6), (-9, 30)], 0.0),
    "hyp1f1(a, b, c)": (mpmath.hyp1f1, [(-4, 5), (0.1, 5), (-20, 20)], 0.0),
    "hyp2f1(a, b, c, d)": (mpmath.hyp2f1, [(-4, 5), (-4, 5), (0.1, 5), (-3, 0.95)], 0.0),
    "voigt_profile(a, 1, b)": (
        lambda x, g: (mpmath.exp(-(z := mpmath.mpc(x, g) / mpmath.sqrt(2)) ** 2) * mpmath.erfc(-1j * z)).real
        / mpmath.sqrt(2 * mpmath.pi),
        [(-8, 8), (0.01, 5)],
        0.0,
    ),
}


@pytest.mark.rows(1000)
@pytest.mark.parametrize("text", FORMS)
def test_forms_of_a_function_have_its_digits(text: str) -> None:
    exact, intervals, least = FORMS[text]
    rng = np.random.default_rng(len(text))
    points = np.array([rng.uniform(*interval, 60) for interval in intervals])
    kernel = sd.compile(text, **dict.fromkeys("abcd"[: len(intervals)], ()), backend="interpreter")
    with mpmath.workdps(40):
        for point, got in zip(points.T, kernel(*points), strict=True):
            want = exact(*map(mpmath.mpf, point))
            assert abs(got - want) <= 2e-14 * max(abs(want), least), (point, got)
