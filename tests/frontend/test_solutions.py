"""Roots, fixed points and minimizers: values, derivatives of the implicit function theorem, samples that end alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_are
from scipy.optimize import _tstutils, brentq, least_squares, minimize_scalar

import symdiff as sd
from symdiff.errors import ArgumentError, DtypeError, NonfiniteError, ParseError, ShapeError, UnsupportedError

x, a, b = sd.scalar("x"), sd.scalar("a"), sd.scalar("b")

#: The classical functions that ask for the truth of a number, as formulas.
BRANCHED: dict[str, Callable[..., Any]] = {
    "13": lambda x: np.where(x * x < 1 / 700, 0.0, x / np.exp(np.minimum(1 / (x * x), 700.0))),
    "14": lambda x, n: np.where(x <= 0, -n / 20.0, n / 20.0 * (x / 1.5 + np.sin(x) - 1)),
    "15": lambda x, n: np.where(
        x < 0, -0.859, np.where(x > 2e-3 / (1 + n), np.e - 1.859, np.exp((n + 1) * x / 2 * 1000) - 1.859)
    ),
}
CLASSICAL = [problem for k, problem in enumerate(_tstutils.get_tests("aps")) if k % 3 == 0]


@pytest.mark.parametrize("problem", CLASSICAL, ids=lambda problem: problem["ID"])
def test_classical_equations_with_brackets_are_solved(problem: dict[str, Any]) -> None:
    """Alefeld, Potra and Shi's problems (TOMS 748), SciPy's own set: poles, steps, flat roots."""
    f, args = problem["f"], problem["args"]
    formula = BRANCHED.get(problem["ID"][4:6], f)(x, *args)
    root = sd.root(formula, x, bracket=tuple(map(float, problem["bracket"])))
    found = float(sd.compile(root, backend="interpreter")())
    assert problem["a"] <= found <= problem["b"]
    reference = brentq(f, problem["a"], problem["b"], args=args, xtol=1e-300, rtol=1e-14)
    assert abs(found - reference) <= 1e-9 * max(1.0, abs(reference)) or abs(f(found, *args)) <= 1e-14


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_keplers_equation(backend: Any) -> None:
    e, m, anomaly = sd.scalar("e"), sd.scalar("m"), sd.scalar("E")
    root = sd.root(anomaly - e * np.sin(anomaly) - m, anomaly, start=m + e * np.sin(m))
    assert str(sd.gradient(root, m)).startswith("1 / (1 - e * cos(root(E -> E - e * sin(E) - m")
    kernel = sd.compile([root, sd.gradient(root, e)], [e, m], backend=backend)
    rng = np.random.default_rng(0)
    es, ms = rng.uniform(0, 0.97, 200), rng.uniform(0, np.pi, 200)
    found, slopes = kernel(es, ms)
    with mp.workdps(40):
        for k in range(0, 200, 7):
            ecc, mean = mp.mpf(es[k]), mp.mpf(ms[k])
            exact = mp.findroot(lambda v, ecc=ecc, mean=mean: v - ecc * mp.sin(v) - mean, (found[k], found[k] + 1e-9))
            slope = mp.sin(exact) / (1 - es[k] * mp.cos(exact))
            assert abs(found[k] - exact) <= 1e-14 * abs(exact) / (1 - es[k])
            assert abs(slopes[k] - slope) <= 1e-12 * abs(slope) / (1 - es[k]) ** 2


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.1, 3), st.floats(0, 3), st.floats(-20, 20), st.sampled_from(["start", "bracket", "both"])
)
def test_increasing_functions_have_one_root_and_its_derivatives(c: float, d: float, level: float, how: str) -> None:
    p, q, r = sd.scalar("p"), sd.scalar("q"), sd.scalar("r")
    g = p * x + q * np.sinh(x) - r
    ends = {} if how == "start" else {"bracket": (-500, 500)}
    root = sd.root(g, x, **ends, **({} if how == "bracket" else {"start": 0.5}))
    kernel = _compiled(how, lambda: [root, sd.gradient(root, r), sd.hessian(root, r), sd.gradient(root, q)])
    value, slope, curvature, other = kernel(p=c, q=d, r=level)
    with mp.workdps(40):
        exact = mp.findroot(lambda v: c * v + d * mp.sinh(v) - level, value, verify=False)
        first = 1 / (c + d * mp.cosh(exact))
        np.testing.assert_allclose(value, float(exact), rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(slope, float(first), rtol=1e-12)
        np.testing.assert_allclose(curvature, float(-d * mp.sinh(exact) * first**3), rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(other, float(-mp.sinh(exact) * first), rtol=1e-11, atol=1e-14)


_KERNELS: dict[str, Any] = {}


def _compiled(key: str, make: Callable[[], Any]) -> Any:
    if key not in _KERNELS:
        _KERNELS[key] = sd.compile(make(), backend="interpreter")
    return _KERNELS[key]


def test_second_derivatives_of_systems_are_those_of_differences_in_multiprecision() -> None:
    """200 random systems of two equations, all in one call; each entry of the second derivative by each parameter."""
    v, m, w = sd.vector("v", 2), sd.matrix("m", 2, 2), sd.vector("w", 2)
    root = sd.root(m @ v + 0.3 * np.sin(v) + 0.1 * v[0] * v - w, v, start=np.zeros(2))
    kernel = sd.compile([root, sd.jacobian(root, w), sd.jacobian(sd.jacobian(root, w), w)], [m, w])
    rng = np.random.default_rng(1)
    ms = 2 * np.eye(2) + rng.uniform(-0.7, 0.7, (200, 2, 2))
    ws = rng.normal(size=(200, 2))
    values, slopes, curvatures = kernel(ms, ws)
    assert np.isfinite(curvatures).all()
    with mp.workdps(60):
        h = mp.mpf(10) ** -15

        def exact(k: int, shift: Any) -> Any:
            def g(p: Any, q: Any) -> Any:
                rows = [ms[k, i, 0] * p + ms[k, i, 1] * q for i in range(2)]
                return [
                    rows[i] + mp.mpf(0.3) * mp.sin(u) + mp.mpf(0.1) * p * u - ws[k, i] - shift[i]
                    for i, u in enumerate((p, q))
                ]

            return mp.findroot(g, tuple(values[k]), tol=1e-100)

        for k in range(0, 200, 9):
            zero, plus, minus = (exact(k, (t * h, 0)) for t in (0, 1, -1))
            for i in range(2):
                assert abs(values[k, i] - zero[i]) < 1e-14
                assert abs(slopes[k, i, 0] - (plus[i] - minus[i]) / (2 * h)) < 1e-12
                assert abs(curvatures[k, i, 0, 0] - (plus[i] - 2 * zero[i] + minus[i]) / h**2) < 1e-9


def test_roots_without_a_slope_have_no_derivative() -> None:
    root = sd.root(x**3 - a, x, bracket=(-2, 3))
    kernel = sd.compile([root, sd.gradient(root, a), sd.hessian(root, a)])
    value, slope, curvature = kernel(np.array([0.0, 1.0, 8.0, 30.0]))
    np.testing.assert_allclose(value, [0, 1, 2, np.nan], atol=1e-15)
    np.testing.assert_allclose(slope, [np.nan, 1 / 3, 1 / 12, np.nan], rtol=1e-13)
    np.testing.assert_allclose(curvature, [np.nan, -2 / 9, -1 / 144, np.nan], rtol=1e-12)
    # twice the same root, up to rounding, and a system with a singular matrix there
    double = sd.root((x - 1) ** 3 * (x + 2) + a, x, bracket=(0, 3))
    assert np.isnan(sd.compile(sd.gradient(double, a))(0.0))
    v = sd.vector("v", 2)
    touching = sd.root(np.stack([v[0] ** 2 + v[1] ** 2 - 2, v[0] + v[1] - b]), v, start=np.array([1.2, 0.9]))
    assert np.isnan(sd.compile(sd.jacobian(touching, b))(2.0)).all()
    assert np.isfinite(sd.compile(sd.jacobian(touching, b))(1.9)).all()
    assert np.isnan(sd.compile(sd.gradient(sd.root(b * x - a, x, 1.0), a))(a=1.0, b=0.0))


def test_a_start_without_a_value_is_no_solution() -> None:
    """Equations that have no value at the start, by their data or by the start itself; the first row is solved."""
    v, w = sd.vector("v", 2), sd.vector("w", 2)
    rows, good = np.array([[1.0, 2.0], [1.0, np.nan], [1.0, np.inf], [1.0, -np.inf]]), np.array([1.0, 2.0])
    squares, minimum = np.sum((v * v - w) ** 2), np.sum((v - w) ** 2)
    cases: dict[str, tuple[Any, Any]] = {
        "system": (sd.root(v + 0.1 * v**3 - w - 0.1 * w**3, v, np.zeros(2)), good),
        "begun there": (sd.root(v + 0.1 * v**3 - 1.1, v, w), np.ones(2)),
        "fixed point": (sd.fixed_point(0.5 * np.cos(v) + w - 0.5 * np.cos(w), v, np.zeros(2)), good),
        "minimizer": (sd.minimizer(minimum, v, np.zeros(2)), good),
        "quartic": (sd.minimizer(minimum + np.sum((v - w) ** 4), v, np.zeros(2)), good),
        "within bounds": (sd.minimizer(minimum, v, np.zeros(2), bounds=(-9.0, 9.0)), good),
        "squares": (sd.minimizer(squares, v, np.ones(2), method="levenberg-marquardt"), np.sqrt(good)),
        "scalar": (sd.root(x + x**3 - 2.0, x, w[1]), 1.0),
        "scalar within bounds": (sd.minimizer((x - w[1]) ** 2, x, 0.0, bounds=(-9.0, 9.0)), 2.0),
        "scalar squares": (sd.minimizer((x * x - w[1]) ** 2, x, 1.0, method="levenberg-marquardt"), np.sqrt(2.0)),
    }
    for name, (solution, value) in cases.items():
        found, *none = sd.compile(solution, [w], backend="interpreter")(rows)
        np.testing.assert_allclose(found, value, rtol=1e-8, err_msg=name)
        assert np.isnan(none).all(), name
    with pytest.raises(NonfiniteError, match="sample 1"):
        sd.compile(cases["system"][0], [w], nonfinite="raise", backend="interpreter")(rows)


def test_what_is_not_solved_has_no_derivative_of_any_order_in_either_mode() -> None:
    """Equations whose slope is a constant, so that derivatives are numbers wherever there is a solution."""
    v, w = sd.vector("v", 2), sd.vector("w", 2)
    line = sd.root(b * x - a, x, bracket=(0.0, 1.0))
    parts = [line, *(sd.derivative(line, a, k) for k in (1, 2, 3)), sd.hessian(line, b)]
    none, one = np.array(sd.compile(parts, [a, b])(np.array([2.0, 0.5]), 1.0)).T
    assert np.isnan(none).all()
    np.testing.assert_allclose(one, [0.5, 1, 0, 0, 1], atol=1e-15)
    total = sd.root(2 * x - np.sum(w), x, bracket=(0.0, 1.0))
    plane = sd.root(np.stack([v[0] + v[1] - w[0], v[0] - v[1] - w[1]]), v, np.zeros(2))
    for solution, good in ((total, [0.25, 0.5]), (plane, [1.0, 2.0])):
        seed = sd.array("seed", solution.shape)
        gradient = sd.vjp(solution, w, seed)
        slopes = [sd.jacobian(solution, w), gradient, sd.jacobian(gradient, w), sd.hvp(np.sum(solution), w, w)]
        kernel = sd.compile(slopes, [w, seed])
        here = np.ones(solution.shape)
        for slope in kernel([9.0, np.nan], here):
            assert np.isnan(slope).all()
        first, back, *others = kernel(good, here)
        np.testing.assert_allclose(first, np.full(2, 0.5) if solution is total else [[0.5, 0.5], [0.5, -0.5]])
        np.testing.assert_allclose(back, [0.5, 0.5] if solution is total else [1, 0], atol=1e-15)
        assert not any(np.any(slope) for slope in others)


def test_a_double_root_in_expanded_form_has_no_derivative() -> None:
    root = sd.root(x**2 - 2 * x + 1 - a, x, bracket=(1.0, 3.0))
    slope = sd.compile(sd.gradient(root, a))
    np.testing.assert_allclose(slope(np.array([0.25, 1e-6])), [1.0, 500.0], rtol=1e-6)
    assert np.isnan(slope(0.0))


@settings(max_examples=20, deadline=None)
@given(power=st.integers(2, 5), at=st.floats(-3, 3), kind=st.sampled_from(["power", "sine", "vector"]))
def test_multiple_roots_have_no_derivative_where_their_slope_cancels(power: int, at: float, kind: str) -> None:
    v, w = sd.vector("v", 2), sd.vector("w", 2)
    root: Any = {
        "power": lambda: sd.root((x - a) ** power, x, a + 1.0, at_most=300),
        "sine": lambda: sd.root(np.sin(x - a) ** power, x, a + 0.5, at_most=300),
        "vector": lambda: sd.root((v - w) ** power, v, w + 1.0, at_most=300),
    }[kind]()
    slope = sd.compile(sd.jacobian(root, w if kind == "vector" else a), backend="interpreter")
    found = slope(np.array([at, 1.0]) if kind == "vector" else at)
    assert np.isnan(np.diagonal(found) if kind == "vector" else found).all()


def test_parameters_of_which_some_leave_the_solution_out_of_their_slope() -> None:
    root = sd.root(b * x - a, x, 1.0)
    kernel = sd.compile([sd.gradient(root, a), sd.gradient(root, b)], [a, b])
    np.testing.assert_allclose(kernel(6.0, 2.0), [0.5, -1.5], rtol=1e-15)
    assert np.isnan(kernel(0.0, 0.0)).all()


@pytest.mark.exhaustive
def test_what_has_no_root_is_nan_and_told() -> None:
    kernel = sd.compile(sd.root(x**2 + a, x, 1.0), full_output=True)
    value, told = kernel(np.array([-4.0, 1.0]))
    np.testing.assert_array_equal(np.isnan(value), [False, True])
    np.testing.assert_array_equal(told["converged"][0], [1.0, 0.0])
    assert told["iterations"][0][0] < 10
    assert told["iterations"][0][1] == 50
    assert told["residuals"][0][0] == 0.0
    pole = sd.compile(sd.root(1 / (x - a), x, bracket=(0.0, 5.0)))
    assert np.isnan(pole(2.0))
    strict = sd.compile(sd.root(x**2 + a, x, 1.0), nonfinite="raise")
    with pytest.raises(NonfiniteError, match="sample 1"):
        strict(np.array([-4.0, 1.0]))


@pytest.mark.rows(1)
@pytest.mark.parametrize("kind", ["damped", "bracketed", "system", "minimizer"])
def test_samples_have_the_bits_that_they_have_alone_in_both_backends(kind: str) -> None:
    v, w = sd.vector("v", 3), sd.vector("w", 3)
    formula = {
        "damped": lambda: sd.root(x**3 + x - np.sum(w**3), x, 1.0),
        "bracketed": lambda: sd.root(np.exp(x) - 3 + abs(w[0]) * x, x, bracket=(-1e9, 60)),
        "system": lambda: sd.root(v + 0.3 * np.sin(w * np.sum(v)) - w, v, w),
        "minimizer": lambda: sd.minimizer(np.sum((v - w) ** 4) + (v[0] * v[1]) ** 2 + v @ v, v, w),
    }[kind]()
    native, interpreter = sd.compile(formula, backend="native"), sd.compile(formula, backend="interpreter")
    rows = np.random.default_rng(2).normal(size=(300, 3)) * np.logspace(-3, 2, 300)[:, None]
    found = native(rows)
    assert np.isfinite(found).mean() > 0.9
    np.testing.assert_array_equal(interpreter(rows), found)
    np.testing.assert_array_equal(native(rows[::-1])[::-1], found)
    np.testing.assert_allclose([native(row) for row in rows[::29]], found[::29], rtol=1e-12)
    np.testing.assert_array_equal(sd.compile(formula, backend="native", threads=2)(np.tile(rows, (40, 1)))[:300], found)


def test_single_precision_ends_at_its_own_rounding() -> None:
    kernel = sd.compile(sd.root(np.exp(x) - a, x, 0.0), backend="native")
    given = np.linspace(0.5, 50, 64, dtype=np.float32)
    found = kernel(given)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.log(given), rtol=1e-5, atol=1e-6)


def test_shared_inputs_and_batches_of_solutions() -> None:
    root = sd.root(np.exp(x) * a - b, x, 0.0)
    kernel = sd.compile(root, [a, b])
    np.testing.assert_allclose(kernel(2.0, np.linspace(1, 9, 50)), np.log(np.linspace(1, 9, 50) / 2), atol=1e-14)
    total = sd.compile(root, [a, b], batch=[b], reduce="sum")
    np.testing.assert_allclose(total(2.0, np.linspace(1, 9, 50)), np.log(np.linspace(1, 9, 50) / 2).sum(), rtol=1e-13)
    assert kernel(np.zeros(0), np.zeros(0)).shape == (0,)


def test_fixed_points() -> None:
    c = sd.scalar("c")
    found = sd.fixed_point(c * np.cos(x), x, 1.0)
    value, slope = sd.compile([found, sd.gradient(found, c)])(1.0)
    with mp.workdps(30):
        exact = mp.findroot(lambda v: v - mp.cos(v), 1)
        assert abs(value - exact) < 1e-15
        assert abs(slope - mp.cos(exact) / (1 + mp.sin(exact))) < 1e-15
    assert str(found) == "fixed_point(x -> c * cos(x), 1)"


LEFT: list[Callable[..., Any]] = [
    lambda x, p: np.arctan2((x + 1) * np.sin(x + 1), x[::-1] + 2 * p + x) + 10 * x - 3 * p,
    lambda x, p: np.arctan2(p, np.hypot(x, 1.0)) + x - np.linalg.norm(p) * x[::-1] / 4,
    lambda x, p: np.sin(x) @ p * x + 3 * x - p[::-1],
]


@pytest.mark.parametrize("f", LEFT)
@pytest.mark.parametrize("find", [sd.root, lambda g, x, start: sd.fixed_point(x - g / 12, x, start)])
def test_slopes_of_systems_of_any_size_are_those_of_a_size(f: Callable[..., Any], find: Callable[..., Any]) -> None:
    """Residuals, their lengths and a solution are sums of the same rows: a plan adds them up in one loop."""
    found = []
    for n in (3, "n"):
        u, p, s = sd.vector("u", n), sd.vector("p", n), sd.scalar("s")
        solution = find(f(u, p), u, p)
        slopes = sd.jacobian(solution, p), sd.vjp(solution, p, p)
        kernels = [sd.compile(slope, [p, s], backend="interpreter") for slope in slopes]
        found.append([k(np.array([0.5, 0.2, -0.3]), 1.0) for k in kernels])
    for own, other in zip(*found, strict=True):
        assert np.isfinite(own).all()
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.0])
@pytest.mark.parametrize("start", [0.0, 1.0, 10.0])
def test_fixed_points_of_riccati_equations_are_those_that_steps_lead_to(start: float, scale: float) -> None:
    """Each has several solutions; the one of the steps makes the closed loop stable, as SciPy's does."""
    P, A, B = sd.matrix("P", 2, 2), sd.matrix("A", 2, 2), sd.matrix("B", 2, 1)
    gain = np.linalg.solve(np.eye(1) + B.T @ P @ B, B.T @ P @ A)
    solve = sd.compile(sd.fixed_point(A.T @ P @ (A - B @ gain) + np.eye(2), P, start * np.eye(2)), [A, B])
    rng = np.random.default_rng(int(10 * scale))
    systems = [(scale * rng.normal(size=(2, 2)), rng.normal(size=(2, 1))) for _ in range(30)]
    systems.append((np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])))
    found = solve(*map(np.array, zip(*systems, strict=True)))
    for own, (left, right) in zip(found, systems, strict=True):
        np.testing.assert_allclose(own, solve_discrete_are(left, right, np.eye(2), np.eye(1)), rtol=1e-6)


def test_fixed_points_that_steps_leave_are_found_where_no_other_is() -> None:
    k = sd.compile(sd.fixed_point(a * x * (1 - x), x, 0.01))
    np.testing.assert_allclose(k(np.array([0.5, 1.5, 2.0, 2.9])), [0.0, 1 / 3, 0.5, 1 - 1 / 2.9], atol=1e-12)
    assert sd.compile(sd.fixed_point(3 * x - a, x, 0.0))(4.0) == 2.0
    v, w = sd.vector("v", 2), sd.vector("w", 2)
    np.testing.assert_allclose(sd.compile(sd.fixed_point(-5 * v + w, v, w))([6.0, 12.0]), [1, 2], rtol=1e-15)


def test_ends_of_brackets_may_be_roots_and_poles() -> None:
    low, high = sd.scalar("low"), sd.scalar("high")
    poles = (1 / x - a, 4.0), (np.log(x) - a, np.exp(0.25)), (x**-2 - a, 2.0)
    for f, root in (*poles, (x - a, 0.25), (x * x - x / 4, 0)):
        for first, last in ((0.0, 5.0), (5.0, 0.0)):
            ends = sd.compile(sd.root(f, x, bracket=(low, high)), [a, low, high])
            np.testing.assert_allclose(ends(0.25, first, last), root, rtol=1e-14)
            np.testing.assert_allclose(ends(0.25, root, 5.0), root, rtol=1e-14)
        np.testing.assert_allclose(sd.compile(sd.root(f, x, bracket=(0, 5)), [a])(0.25), root, rtol=1e-14)


def test_minimizers_and_their_derivatives() -> None:
    v = sd.vector("v", 2)
    rosenbrock = (a - v[0]) ** 2 + b * (v[1] - v[0] ** 2) ** 2
    found = sd.minimizer(rosenbrock, v, np.array([-1.2, 1.0]))
    value, slope, other = sd.compile([found, sd.jacobian(found, a), sd.jacobian(found, b)])(a=1.5, b=100.0)
    np.testing.assert_allclose(value, [1.5, 2.25], rtol=1e-12)
    np.testing.assert_allclose(slope, [1.0, 3.0], rtol=1e-10)
    np.testing.assert_allclose(other, [0.0, 0.0], atol=1e-10)
    # a saddle and a maximum are no minima
    assert np.isnan(sd.compile(sd.minimizer(a * v[0] ** 2 - v[1] ** 2, v, np.zeros(2)))(1.0)).all()


_V, _W, _Z = sd.vector("v", 3), sd.vector("w", 4), sd.vector("z", 4)


def _curve(v: Any, z: Any) -> Any:
    return v[0] * np.exp(-(v[1] ** 2) * z) + v[2] * z


#: The same sum of squares as people write it.
SQUARES: dict[str, Callable[[Any], Any]] = {
    "powers": lambda r: np.sum(r**2),
    "inner product": lambda r: 0.5 * (r @ r),
    "norm": lambda r: np.linalg.norm(r) ** 2,
    "products": lambda r: np.mean(r * r),
    "each": lambda r: 2 * (r[0] ** 2 + r[1] ** 2 + r[2] ** 2 + r[3] ** 2),
}


@pytest.mark.rows(1)
@pytest.mark.parametrize("written", SQUARES)
def test_sums_of_squares_have_the_minimum_that_scipy_finds(written: str) -> None:
    least = SQUARES[written](_curve(_V, _Z) - _W) + 0.1 * np.sum((_V - 1) ** 2)
    found = sd.minimizer(least, _V, np.ones(3), method="levenberg-marquardt")
    newton = sd.minimizer(least, _V, np.ones(3))
    kernel = sd.compile([found, sd.jacobian(found, _W), newton, sd.jacobian(newton, _W)], [_W, _Z])
    rng = np.random.default_rng(5)
    ws, zs = 1 + 0.3 * rng.normal(size=(40, 4)), rng.uniform(0.1, 2, (40, 4))
    value, slope, other, other_slope = kernel(ws, zs)
    assert np.isfinite(value).all()
    factor = {"powers": 1, "inner product": 0.5, "norm": 1, "products": 0.25, "each": 2}[written]
    for w, z, each in list(zip(ws, zs, value, strict=True))[::7]:
        def residuals(v: Any, w: Any = w, z: Any = z) -> Any:
            return np.concatenate([factor**0.5 * (_curve(v, z) - w), 0.1**0.5 * (v - 1)])

        best = least_squares(residuals, np.ones(3), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        np.testing.assert_allclose(each, best.x, atol=1e-7)
    # the derivative is that of the minimum, by whichever way it was found
    assert np.isfinite(slope).all()
    both = np.isfinite(other).all(axis=1) & (abs(value - other) < 1e-9).all(axis=1)
    assert both.mean() > 0.5
    np.testing.assert_allclose(slope[both], other_slope[both], atol=1e-7)


def test_more_unknowns_than_squares_are_solved() -> None:
    """Angles of an arm with more joints than its end has coordinates: any of many solutions."""
    q, target = sd.vector("q", 5), sd.vector("t", 2)
    angles = np.cumsum(q)
    end = np.stack([np.sum(np.cos(angles)), np.sum(np.sin(angles))])
    bent = sd.minimizer(np.sum((end - target) ** 2), q, np.full(5, 0.3), method="levenberg-marquardt")
    kernel, at = sd.compile(bent, backend="interpreter"), sd.compile(end)
    rng = np.random.default_rng(6)
    radius, turn = rng.uniform(0.5, 4.8, 100), rng.uniform(-3, 3, 100)
    targets = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    np.testing.assert_allclose(at(kernel(targets)), targets, atol=1e-12)


def test_bounds_hold_elements_of_a_minimizer() -> None:
    v, c = sd.vector("v", 2), sd.vector("c", 2)
    found = sd.minimizer(np.sum((v - c) ** 2) + v[0] * v[1], v, np.zeros(2), bounds=(0.0, np.array([3.0, np.inf])))
    kernel = sd.compile([found, sd.jacobian(found, c)])
    value, slope = kernel(np.array([[1.0, -2.0], [2.0, 2.0], [9.0, -1.0], [1.0, 2.0]]))
    np.testing.assert_allclose(value, [[1, 0], [4 / 3, 4 / 3], [3, 0], [0, 2]], atol=1e-14)
    np.testing.assert_allclose(slope[0], [[1, 0], [0, 0]], atol=1e-14)
    np.testing.assert_allclose(slope[1], np.array([[4, -2], [-2, 4]]) / 3, atol=1e-14)
    np.testing.assert_allclose(slope[2], np.zeros((2, 2)), atol=1e-14)
    assert np.isnan(slope[3]).all()  # the first element is about to leave its bound


def test_steps_name_the_theorem_and_check_certifies() -> None:
    root = sd.root(x**3 + a * x - b, x, 1.0)
    assert "implicit function theorem" in str(sd.steps(root * a, a))
    assert str(sd.check(root, at={"a": 1.3, "b": 2.1})).startswith("ok")
    v, w = sd.vector("v", 2), sd.vector("w", 2)
    system = sd.root(v + 0.2 * v**3 - w, v, w)
    assert str(sd.check(system, at={"w": np.array([0.4, 1.1])})).startswith("ok")


TEXTS = [
    "root(x -> x ** 3 - a * x - 1, 0, 5)",
    "root(x -> exp(x) - a, 1)",
    "root(x -> exp(x) - a, 1, 0, 5)",
    "root(x -> exp(x) - a, 0, 5, at_most=60)",
    "fixed_point(x -> a * cos(x), 1)",
    "minimizer(x -> x ** 4 - a * x, 1)",
    "minimizer(x -> x ** 2 - a * x, 1, 0, 3)",
    "root(x -> root(y -> y ** 3 + y - x - a, 1) + x - 2, 1)",
    "while(s -> s ** 2 < a, s -> s + 1, 0, 100)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_read_and_written(text: str) -> None:
    assert sd.compile(text, backend="interpreter")._origin.texts() == [text]
    derivative = sd.gradient(f"a * {text}", "a")
    again = sd.compile(str(derivative), a=(), backend="interpreter")
    np.testing.assert_allclose(again(2.5), sd.compile(derivative, backend="interpreter")(2.5), rtol=1e-13)


def test_every_door_leads_to_the_same_solution() -> None:
    sympy = pytest.importorskip("sympy")
    p, q = sympy.symbols("x a")
    want = "root(x -> x ** 3 - a, 1)"
    assert str(sd.root(x**3 - a, x, 1.0)) == want
    assert str(sd.root(lambda x: x**3 - a, "x", 1.0)) == want
    assert str(sd.root("x**3 - a", "x", 1.0)) == want
    assert str(sd.root(p**3 - q, p, 1.0)) == want
    assert str(sd.minimizer(p**4 - q * p, p, 1.0)) == "minimizer(x -> x ** 4 - a * x, 1)"
    with pytest.raises(ArgumentError, match="'z' is no input"):
        sd.root("x**3 - a", "z", 1.0)


def test_letters_of_text_have_the_shape_of_the_start() -> None:
    kernel = sd.compile("root(v -> A @ v + 0.1 * v**3 - w, w)", A=(2, 2), w=2)
    found = kernel(np.eye(2), np.array([1.0, 2.0]))
    np.testing.assert_allclose(found + 0.1 * found**3, [1.0, 2.0], rtol=1e-14)


@pytest.mark.parametrize(("text", "same"), [
    ("f(p) = root(x -> x**3 + x - p, p)\nf(a) + sum(f(w))",
     "root(x -> x**3 + x - a, a) + sum(root(x -> x**3 + x - w, w))"),
    ("f(p) = root(x -> x - p, 1)\nf(f(a)) * sum(w)", "a * sum(w)"),
    ("f(p, s) = root(x -> 2 * x - p, s)\nsum(f(f(a, 1) * w, w)) + f(a, 1)", "sum(a * w) / 4 + a / 2"),
    ("f(p) = root(x -> x**3 - p, p)\ng(y) = f(y) + sum(f(y * w))\nroot(x -> g(x) - a, 1)",
     "a**3 / (1 + sum(w**(1 / 3)))**3"),
    ("f(p) = while(s -> sum(s) < 9, s -> s + p, p, 20)\nf(a) + sum(f(w))",
     "while(s -> s < 9, s -> s + a, a, 20) + sum(while(s -> sum(s) < 9, s -> s + w, w, 20))"),
])  # fmt: skip
def test_functions_of_text_hold_solutions_of_several_shapes(text: str, same: str) -> None:
    values = {"a": 2.0, "w": np.array([1.5, 1.0, 4.0])}
    found, expected = (sd.compile(one, a=(), w=3, backend="interpreter")(**values) for one in (text, same))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_forms_that_solutions_have_not_are_refused_by_name() -> None:
    root = sd.root(x**3 + x - a, x, 1.0)
    with pytest.raises(UnsupportedError, match=r"no form for root\(\.\.\.\)"):
        (2 * root).sympy()
    with pytest.raises(UnsupportedError, match="no root, fixed_point"):
        sd.compile(root).source("cython")


def test_what_comes_wrong_is_refused_by_name() -> None:
    v = sd.vector("v", 2)
    refused: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (ArgumentError, "without a start", lambda: sd.root(x - a, x)),
        (ArgumentError, "lower end below", lambda: sd.root(x - a, x, bracket=(2, 1))),
        (ArgumentError, "two numbers", lambda: sd.root(x - a, x, bracket=3)),
        (ArgumentError, "unknown of root", lambda: sd.root(x - a, 2 * x, 1.0)),
        (ArgumentError, "bracket for an unknown", lambda: sd.root(v, v, bracket=(0, 1))),
        (ArgumentError, "at_most", lambda: sd.root(x - a, x, 1.0, at_most=0)),
        (ArgumentError, "tol", lambda: sd.root(x - a, x, 1.0, tol=-1.0)),
        (ShapeError, "as many equations", lambda: sd.root(v[0] - a, v, np.zeros(2))),
        (ShapeError, "the start of root", lambda: sd.root(v - a, v, np.zeros(3))),
        (ShapeError, "expected a scalar", lambda: sd.minimizer(v, v, np.zeros(2))),
        (ArgumentError, "minimizer, .0. 5.., is outside", lambda: sd.minimizer(v @ v, v, [0.0, 5.0], bounds=(0, 1))),
        (ArgumentError, "start of root, 5", lambda: sd.root(x - a, x, 5.0, bracket=(0, 1))),
        (ArgumentError, "no x is between", lambda: sd.minimizer(v @ v, v, 0.0, bounds=(1, 0))),
        (ArgumentError, "method", lambda: sd.minimizer(v @ v, v, 0.0, method="bfgs")),
        (ShapeError, "the unknown of root, z, has shape .0,. and no elements", lambda: sd.root(
            sd.vector("z", 0) - 1, sd.vector("z", 0), 0.0)),
        (ArgumentError, "no sum of squares", lambda: sd.minimizer(
            np.sum(np.exp(v)), v, 0.0, method="levenberg-marquardt")),
        (DtypeError, "condition", lambda: sd.root(x < a, x, 1.0)),
        (ArgumentError, "without solutions", lambda: sd.compile(x**2, full_output=True)),
        (ParseError, "expected root", lambda: sd.compile("root(x**2 - a, 1)")),
        (ParseError, "no argument", lambda: sd.compile("root(x -> x - a, 1, tols=2)")),
    ]
    for error, message, call in refused:
        with pytest.raises(error, match=message):
            call()


def test_rows_without_a_solution_tell_why() -> None:
    rows = np.array([0.5, 4.0, 0.25])
    told = [
        (sd.root(x**2 - a, x, bracket=(0, 1)), "sample 1: .* is nan.*-4 and -3 at 0 and 1, the ends of the bracket"),
        (sd.root(x**2 + a - 3, x, 1.0), "sample 1: .* is nan.*did not converge in 50 iterations"),
        (sd.minimizer(x**4 + (2 - a) * x**2, x, 0.0), "sample 1: .* is nan.*ended where there is no minimum"),
        (sd.minimizer((3 - a) * x, x, 0.0), "sample 0: .* is .*no minimum|did not converge"),
    ]
    for formula, message in told:
        with pytest.raises(sd.NonfiniteError, match="(?s)" + message):
            sd.compile(formula, nonfinite="raise")(rows)


def test_implied_volatilities_have_the_slope_one_over_vega() -> None:
    s, k, t, price, sigma = map(sd.scalar, ("S", "K", "T", "price", "sigma"))
    d = np.log(s / k) / (sigma * np.sqrt(t)) + sigma * np.sqrt(t) / 2
    call = s * sd.ndtr(d) - k * sd.ndtr(d - sigma * np.sqrt(t))
    implied = sd.root(call - price, sigma, start=np.sqrt(2 * abs(np.log(s / k)) / t + 0.01))
    vega = sd.gradient(call, sigma)
    kernel = sd.compile([implied, sd.gradient(implied, price)], [s, k, t, price])
    rng = np.random.default_rng(4)
    n = 4000
    strikes, times, sigmas = rng.uniform(70, 140, n), rng.uniform(0.1, 3, n), rng.uniform(0.1, 0.8, n)
    prices = sd.compile(call, [s, k, t, sigma])(100.0, strikes, times, sigmas)
    found, slope = kernel(100.0, strikes, times, prices)
    np.testing.assert_allclose(sd.compile(call, [s, k, t, sigma])(100.0, strikes, times, found), prices, rtol=1e-10)
    expected = 1 / sd.compile(vega, [s, k, t, sigma])(100.0, strikes, times, found)
    known = np.isfinite(slope)
    assert known.mean() > 0.99
    np.testing.assert_allclose(slope[known], expected[known], rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_minima_of_one_unknown_are_those_that_scipy_finds(seed: int) -> None:
    """Convex functions, whose slope alone is followed, and others, whose start lies beside a maximum."""
    rng, u = np.random.default_rng(seed), sd.scalar("u")
    z, y, s = rng.normal(size=5), (rng.random(5) < 0.5).astype(float), rng.uniform(0.3, 3)
    eta = 1.5 * z + a * u
    shapes = {
        "logistic": np.sum(sd.softplus(eta) - y * eta) + u**2 / (2 * s**2),
        "poisson": np.sum(np.exp(eta) - y * eta) + u**2 / (2 * s**2),
        "cosh": np.cosh(u - a) + 0.1 * u**4,
        "wells": u**4 / 4 - s * u**2 / 2 + 0.02 * a * u,
    }
    for name, f in shapes.items():
        found = sd.compile(sd.minimizer(f, u, 0.05))(0.7)
        slope = sd.gradient(f, u)
        value, g, h = sd.compile([f, slope, sd.gradient(slope, u)], [u, a])(found, 0.7)
        assert abs(g) <= 1e-9 * (1 + abs(h))
        assert h > 0
        if name != "wells":
            kernel = sd.compile(f, [u, a])
            best = minimize_scalar(lambda x, kernel=kernel: float(kernel(x, 0.7)), bracket=(0.05, 0.06))
            np.testing.assert_allclose(found, best.x, atol=1e-6)
            assert value <= best.fun + 1e-12 * abs(best.fun)
