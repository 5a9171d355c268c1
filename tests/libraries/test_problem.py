"""Optimization problems: solutions, multipliers and sensitivities against closed forms and differences of solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog, minimize

import symdiff as sd
from symdiff.errors import ArgumentError, ShapeError, UnsupportedError
from tests.support.hock_schittkowski import PROBLEMS

X, A = sd.vector("x", 4), sd.scalar("a")
V = X[0] * X[3] * (X[0] + X[1] + X[2]) + X[2]
#: Hock and Schittkowski 71 with its right side as a parameter.
HS71 = sd.problem(V, [X[0] * X[1] * X[2] * X[3] >= 25, X @ X == A], bounds={X: (1.0, 5.0)}, parameters=A)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_a_published_problem_has_its_published_solution(method: str) -> None:
    best = HS71.solve([1, 5, 5, 1], {"a": 40.0}, method=method)
    assert best.success
    np.testing.assert_allclose(best.objective, 17.0140173, rtol=1e-5)
    np.testing.assert_allclose(best["x"], [1, 4.742994, 3.8211503, 1.3794082], rtol=1e-4)
    np.testing.assert_allclose([float(m) for m in best.multipliers], [0.5522937, 0.1614686], rtol=2e-3)


def test_text_and_sympy_are_read_as_symbols_are(capfd: pytest.CaptureFixture[str]) -> None:
    """The same problem by each door: its solution by hand, its multipliers, and nothing printed."""
    x, y = sd.scalar("x"), sd.scalar("y")
    p, q = sympy.symbols("x y")
    doors: list[tuple[Any, Any, Any, Any]] = [
        ((x - 1) ** 2 + (y - 2) ** 2, [x + y <= sd.scalar("a"), (x >= -1) & (x <= 9)], [x, y], {x: (0.75, None)}),
        ("(x - 1)**2 + (y - 2)**2", ["x + y <= a", "(-1 <= x) & (x <= 9)"], ["x", "y"], {"x": (0.75, None)}),
        (
            (p - 1) ** 2 + (q - 2) ** 2, [p + q <= sympy.Symbol("a"), sympy.And(p >= -1, p <= 9)], [p, q],
            {p: (0.75, None)},
        ),
    ]  # fmt: skip
    for cost, constraints, variables, bounds in doors:
        best = sd.problem(cost, constraints, variables, bounds).solve(parameters={"a": 2.0})
        np.testing.assert_allclose([best["x"], best["y"], best.fun], [0.75, 1.25, 0.625], atol=1e-6)
        np.testing.assert_allclose(best.multipliers[0], 1.5, atol=1e-5)
        assert len(best.multipliers) == 3  # of a conjunction one for each
    sizes = sd.problem("w @ w", "sum(w) >= c", "w", w=3, c=())
    np.testing.assert_allclose(sizes.solve(parameters={"c": 1.0})["w"], 1 / 3, atol=1e-6)
    functions = sd.problem("cost(w)", "sum(w) >= 1", "w", w=3, functions={"cost": lambda w: w @ w})
    np.testing.assert_allclose(functions.solve()["w"], 1 / 3, atol=1e-6)
    assert capfd.readouterr().out == ""


#: Where solvers end from the book's start: in another minimum than the book's, functions written by hand or not.
LOCAL = {
    2: 4.941229317989187, 16: 3.982060453755461, 20: 40.19872981077807, 25: 32.835, 54: -0.8674088249701,
    59: -6.754566018882571,
}  # fmt: skip
#: The same by Ipopt, of problems that SciPy's solvers do not solve.
BY_IPOPT = {55: 6.666674422, 92: 1.36265681}
#: Relative accuracy of objectives, where the solution has no multipliers, or a barrier's is asked for.
ACCURACY = {13: 1e-5, 33: 1e-5, 88: 1e-5, 90: 1e-5, 92: 1e-5}


@pytest.mark.parametrize("number", PROBLEMS)
def test_the_problems_of_hock_and_schittkowski_are_solved(number: int) -> None:
    """SLSQP on functions of numbers, with differences, is the reference, beside the published value."""
    p = PROBLEMS[number]
    n = len(p.start)
    ends = list(p.bounds) * (n if len(p.bounds) == 1 else 1)
    low, high = (np.array([i if e is None else e for e in column], float) for i, column in zip(
        (-np.inf, np.inf), zip(*ends, strict=True), strict=True))  # fmt: skip
    x = sd.vector("x", n)
    each = [x[k] for k in range(n)]
    constraints = [g >= 0 for g in p.above(each)] + [g == 0 for g in p.zero(each)]
    whole = sd.problem(p.objective(each), constraints, x, {x: (low, high)})
    start = np.clip(np.array(p.start, float), low, high)
    if number in BY_IPOPT:
        pytest.importorskip("ipyopt")
    best = whole.solve(start)
    least = (LOCAL | BY_IPOPT).get(number, p.least)
    assert best.success, best
    accuracy = ACCURACY.get(number, 1e-6)
    np.testing.assert_allclose(best.objective, least, rtol=accuracy, atol=accuracy)
    slopes = [1.0] if whole.constraints is None else np.abs(whole.constraints.jac(best.x))
    assert best.violation <= 1e-6 * max(1.0, np.max(slopes))
    kinds = [("ineq", p.above), ("eq", p.zero)]
    by_hand = [{"type": kind, "fun": lambda x, g=g: np.array(g(x), float)} for kind, g in kinds if len(g(start))]
    options = {"ftol": 1e-12, "maxiter": 1000}
    same = minimize(p.objective, start, method="SLSQP", bounds=ends, constraints=by_hand, options=options)
    assert best.objective <= same.fun + accuracy * max(1.0, abs(same.fun)) or same.status != 0


#: Solutions at which the equations of Karush, Kuhn and Tucker are singular, those not found, and one elsewhere.
SINGULAR, LOST = {13, 26, 46, 49}, {33, 54, 67, 88, 93, 95, 96}
ELSEWHERE = {55: 20 / 3}
#: Problems whose formulas are too long for a loop in a loop: sums of many terms, written out.
LONG = {25, 70, 85, 89, 90, 91, 92}


@pytest.mark.rows(3)
@pytest.mark.parametrize("number", [number for number in PROBLEMS if number not in LONG])
def test_formulas_of_solutions_are_what_solvers_find(number: int) -> None:
    p = PROBLEMS[number]
    ends = list(p.bounds) * (len(p.start) if len(p.bounds) == 1 else 1)
    low, high = (np.array([i if e is None else e for e in column], float) for i, column in zip(
        (-np.inf, np.inf), zip(*ends, strict=True), strict=True))  # fmt: skip
    x = sd.vector("x", len(p.start))
    constraints = [g >= 0 for g in p.above(x)] + [g == 0 for g in p.zero(x)]
    whole = sd.problem(p.objective(x), constraints, x, {x: (low, high)})
    found = sd.compile(whole.formula(np.clip(np.array(p.start, float), low, high))["x"], backend="interpreter")()
    if number in SINGULAR | LOST and np.isnan(found).all():
        return
    least = (LOCAL | ELSEWHERE).get(number, p.least)
    np.testing.assert_allclose(p.objective(found), least, rtol=1e-6, atol=1e-6)
    assert ((low - 1e-9 <= found) & (found <= high + 1e-9)).all()
    values = [*np.minimum(np.array(p.above(found), float), 0.0), *np.array(p.zero(found), float)]
    assert np.abs(values).max(initial=0.0) <= 1e-6 * (1 + np.abs(found).max())


def test_solutions_run_over_batches_and_have_derivatives() -> None:
    point = HS71.formula([1, 5, 5, 1])["x"]
    right = np.linspace(38.0, 60.0, 5)
    values, slopes = sd.compile([point, sd.jacobian(point, A)], [A], backend="interpreter")(right)
    for a, value, slope in zip(right.tolist(), values, slopes, strict=True):
        best = HS71.solve([1, 5, 5, 1], {"a": a})
        np.testing.assert_allclose(value, best["x"], rtol=1e-6)
        np.testing.assert_allclose(slope, HS71.sensitivity(best, A)["x"], atol=1e-6)
    # a constraint whose multiplier is 0, and a bound that is about to be left
    v, b = sd.vector("v", 2), sd.scalar("b")
    for within, bounds in (([v @ v <= 1], None), ([v[0] + v[1] >= -9], {v: (-9.0, [9.0, 1.0])})):
        nearest = sd.problem((v[0] - b) ** 2 + (v[1] - 1) ** 2, within, v, bounds, b).formula()["v"]
        at, moved = sd.compile([nearest, sd.jacobian(nearest, b)], [b], backend="interpreter")([0.0, 0.5])
        np.testing.assert_allclose(at[0], [0.0, 1.0], atol=1e-9)
        assert np.isnan(moved[0]).all()
    w, t = sd.vector("w", 3, simplex=True), sd.vector("t", 3)
    shares = sd.problem(np.sum((w - t) ** 2), [w[0] >= 0.5], w, parameters=t).formula()["w"]
    np.testing.assert_allclose(sd.compile(shares, [t])([0.2, 0.3, 0.5]), [0.5, 0.15, 0.35], atol=1e-9)


def test_a_problem_without_a_minimum_has_no_formula_of_numbers() -> None:
    infeasible = sd.problem(X @ X, [X[0] >= A, X[0] <= -1.0], X, parameters=A).formula()["x"]
    (one, none) = sd.compile(infeasible, [A], backend="interpreter")([-2.0, 1.0])
    np.testing.assert_allclose(one, [-1, 0, 0, 0], atol=1e-9)
    assert np.isnan(none).all()


def test_rows_without_a_feasible_point_are_nan_among_others() -> None:
    """Portfolios whose least return is above all of their assets'; bounds and equations hold in the other rows."""
    w, mu, r = sd.vector("w", 3), sd.vector("mu", 3), sd.scalar("r")
    risk = np.diag([0.04, 0.09, 0.25])
    program = sd.problem(w @ risk @ w / 2, [mu @ w >= r, np.sum(w) == 1], w, {w: (0.0, None)}, [mu, r])
    rng = np.random.default_rng(0)
    returns, least = rng.uniform(0.02, 0.12, (300, 3)), rng.uniform(0.03, 0.1, 300)
    returns[::3] = rng.uniform(0.02, 0.04, (100, 3))
    least[::3] = rng.uniform(0.041, 0.07, 100)
    found = sd.compile(program.formula()["w"], [mu, r], backend="interpreter")(returns, least)
    feasible = returns.max(axis=1) > least
    assert feasible.sum() > 100
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), ~feasible)
    held = found[feasible]
    assert held.min() >= -1e-15
    np.testing.assert_allclose(held.sum(axis=1), 1.0, rtol=1e-14)
    assert (np.sum(returns[feasible] * held, axis=1) - least[feasible]).min() > -1e-15
    for row in np.flatnonzero(feasible)[::20]:
        best = program.solve(parameters={"mu": returns[row], "r": least[row]})
        np.testing.assert_allclose(found[row], best["w"], atol=1e-5)


@pytest.mark.parametrize("number", [12, 26, 43, 71, 76, 93, 100])
def test_ipopt_solves_problems_where_it_is_installed(number: int) -> None:
    pytest.importorskip("ipyopt")
    p = PROBLEMS[number]
    n = len(p.start)
    x = sd.vector("x", n)
    each = [x[k] for k in range(n)]
    constraints = [g >= 0 for g in p.above(each)] + [g == 0 for g in p.zero(each)]
    ends = next(iter(p.bounds))
    best = sd.problem(p.objective(each), constraints, x, {x: ends}).solve(p.start, method="ipopt")
    assert best.success
    assert best.message == "solved"
    assert best.iterations > 0
    np.testing.assert_allclose(best.objective, p.least, rtol=1e-6, atol=1e-6)


def of_control(states: Any, slopes: Any, step: Any) -> Any:
    """The trapezoidal rule between neighbours."""
    return [x[1:] - x[:-1] == step / 2 * (f[1:] + f[:-1]) for x, f in zip(states, slopes, strict=True)]


def rocket(n: int) -> Any:
    h, v, m, thrust = (sd.vector(name, n + 1) for name in ("h", "v", "m", "thrust"))
    end, t = sd.scalar("end"), np.linspace(0, 1, n + 1)
    drag = 310 * v**2 * np.exp(-500 * (h - 1))
    rules = of_control((h, v, m), (v, (thrust - drag - m / h**2) / m, -2 * thrust), end / n)
    ends = {h: (1.0, None), v: (0.0, None), m: (0.6, 1.0), thrust: (0.0, 3.5), end: (0.0, None)}
    start = {"h": np.ones(n + 1), "v": t * (1 - t), "m": 1 - 0.4 * t, "thrust": np.full(n + 1, 1.75), "end": 1.0}
    given = [h[0] == 1, v[0] == 0, m[0] == 1, m[-1] == 0.6]
    return sd.problem(-h[-1], [*rules, *given], [h, v, m, thrust, end], ends), start


def particle(n: int) -> Any:
    x, y, p, q, u = (sd.vector(name, n + 1) for name in ("x", "y", "p", "q", "u"))
    end, t = sd.scalar("end"), np.linspace(0, 1, n + 1)
    rules = of_control((x, y, p, q), (p, q, 100 * np.cos(u), 100 * np.sin(u)), end / n)
    given = [*(one[0] == 0 for one in (x, y, p, q)), y[-1] == 5, p[-1] == 45, q[-1] == 0]
    ends = {u: (-np.pi / 2, np.pi / 2), end: (0.0, None)}
    return sd.problem(end, [*rules, *given], [x, y, p, q, u, end], ends), {"y": 5 * t, "p": 45 * t, "end": 1.0}


def robot_arm(n: int) -> Any:
    rho, theta, phi, *speeds = (sd.vector(name, n + 1) for name in ("rho", "theta", "phi", "a", "b", "c"))
    pushes, end, t = [sd.vector(name, n + 1) for name in ("u", "v", "w")], sd.scalar("end"), np.linspace(0, 1, n + 1)
    mass = ((5 - rho) ** 3 + rho**3) / 3
    turns = (pushes[0] / 5, pushes[1] / (mass * np.sin(phi) ** 2), pushes[2] / mass)
    rules = of_control((rho, theta, phi, *speeds), (*speeds, *turns), end / n)
    places = ((rho, 4.5, 4.5), (theta, 0, 2 * np.pi / 3), (phi, np.pi / 4, np.pi / 4), *((one, 0, 0) for one in speeds))
    given = [one[k] == value for one, *values in places for k, value in zip((0, -1), values, strict=True)]
    ends = {rho: (0.0, 5.0), theta: (-np.pi, np.pi), phi: (0.0, np.pi), end: (0.0, None)}
    ends |= dict.fromkeys(pushes, (-1.0, 1.0))
    start = {"rho": np.full(n + 1, 4.5), "theta": 2 * np.pi / 3 * t**2, "phi": np.full(n + 1, np.pi / 4), "end": 1.0}
    start["b"] = 4 * np.pi / 3 * t
    return sd.problem(end, [*rules, *given], [rho, theta, phi, *speeds, *pushes, end], ends), start


#: Problems of Dolan, More and Munson, Benchmarking optimization software with COPS 3.0 (2004), and their objectives.
CONTROL = {"rocket": (rocket, -1.01283), "particle": (particle, 0.55457), "robot arm": (robot_arm, 9.14093)}


@pytest.mark.parametrize("name", CONTROL)
def test_problems_of_control_have_their_published_objectives(name: str) -> None:
    pytest.importorskip("ipyopt")
    make, published = CONTROL[name]
    for n, accuracy in ((50, 2e-3), (200, 1e-4)):
        given, start = make(n)
        best = given.solve(start, method="ipopt")
        assert best.success
        np.testing.assert_allclose(best.objective, published, rtol=accuracy)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_least_squares_have_the_solution_of_a_linear_regression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, right, sigma = rng.normal(size=(6, 4)), rng.normal(size=6), rng.uniform(0.5, 2)
    best = _REGRESSION.solve(parameters={"F": rows, "y": right, "sigma": sigma}, method="least_squares")
    exact = np.linalg.lstsq(np.vstack([rows / sigma, 0.1 * np.eye(4)]), np.append(right / sigma, np.zeros(4)))[0]
    np.testing.assert_allclose(best["x"], exact, rtol=1e-7, atol=1e-9)
    by_right = np.linalg.solve(rows.T @ rows / sigma**2 + 0.01 * np.eye(4), rows.T / sigma**2)
    np.testing.assert_allclose(_REGRESSION.sensitivity(best, "y")["x"], by_right, rtol=1e-6, atol=1e-9)


_F, _Y, _SIGMA = sd.matrix("F", 6, 4), sd.vector("y", 6), sd.scalar("sigma")
_REGRESSION = sd.problem(
    np.sum((_F @ X - _Y) ** 2) / _SIGMA**2 / 2 + 0.005 * X @ X, variables=X, parameters=[_F, _Y, _SIGMA]
)


def test_sensitivities_are_differences_of_solutions() -> None:
    by: Any = A
    best = HS71.solve([1, 5, 5, 1], {by: 40.0})
    after, before = (np.asarray(HS71.solve(best, {by: 40.0 + h})["x"]) for h in (1e-3, -1e-3))
    np.testing.assert_allclose(HS71.sensitivity(best, A)["x"], (after - before) / 2e-3, atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_quadratic_programs_have_their_closed_form(seed: int) -> None:
    """A strictly convex objective under equations: the solution, multipliers and derivatives are linear algebra."""
    rng = np.random.default_rng(seed)
    root, rows = rng.normal(size=(4, 4)), rng.normal(size=(2, 4))
    matrix = root @ root.T + np.eye(4)
    point, right = rng.normal(size=4), rng.normal(size=2)
    kkt = np.block([[matrix, rows.T], [rows, np.zeros((2, 2))]])
    exact = np.linalg.solve(kkt, np.concatenate([point, right]))
    best = _PROGRAM.solve(parameters={"Q": matrix, "C": rows, "c": point, "d": right})
    np.testing.assert_allclose(best["x"], exact[:4], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(best.multipliers[0], exact[4:], rtol=1e-4, atol=1e-4)
    by_right = _PROGRAM.sensitivity(best, "d")["x"]
    np.testing.assert_allclose(by_right, np.linalg.inv(kkt)[:4, 4:], rtol=1e-6, atol=1e-7)
    by_point = _PROGRAM.sensitivity(best, "c")["x"]
    np.testing.assert_allclose(by_point, np.linalg.inv(kkt)[:4, :4], rtol=1e-6, atol=1e-7)


_Q, _C, _P, _D = sd.matrix("Q", 4, 4), sd.matrix("C", 2, 4), sd.vector("c", 4), sd.vector("d", 2)
_PROGRAM = sd.problem(X @ _Q @ X / 2 - _P @ X, _C @ X == _D, variables=X, parameters=[_Q, _C, _P, _D])


def test_linear_problems_go_to_highs() -> None:
    c, rows = sd.vector("c", 4), sd.matrix("R", 3, 4)
    linear = sd.problem(c @ X, [rows @ X >= 1.0, np.sum(X) <= 10], X, {"x": (0.0, None)}, [c, rows])
    rng = np.random.default_rng(0)
    for _ in range(5):
        cost, matrix = rng.uniform(0.1, 1, 4), rng.uniform(0, 1, (3, 4))
        best = linear.solve(parameters={"c": cost, "R": matrix})
        exact = linprog(cost, A_ub=np.vstack([-matrix, np.ones(4)]), b_ub=[-1, -1, -1, 10])
        assert best.method == "highs"
        np.testing.assert_allclose(best.objective, exact.fun, rtol=1e-9)
        np.testing.assert_allclose(best.multipliers[0], -exact.ineqlin.marginals[:3], atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_quadratic_programs_go_to_highs_where_it_is_installed(seed: int) -> None:
    """Bounds, inequalities and equations hold, and the equations of Karush, Kuhn and Tucker."""
    pytest.importorskip("highspy")
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    values = {"Q": root @ root.T + 0.1 * np.eye(4), "C": rng.normal(size=(2, 4)), "c": rng.normal(size=4)}
    constraints = [_C[0] @ X <= 0.2, np.sum(X) == 1.0, _C[1] @ X >= -0.3]
    whole = sd.problem(X @ _Q @ X / 2 - _P @ X, constraints, X, {X: (-1.0, 2.0)}, [_Q, _C, _P])
    best = whole.solve(parameters=values)
    assert (best.method, best.success) == ("highs", True)
    x: Any = best["x"]
    rows = [values["C"][0], np.ones(4), -values["C"][1]]
    slope = values["Q"] @ x - values["c"] + sum(m * row for m, row in zip(best.multipliers, rows, strict=True))
    inside = (x > -1 + 1e-6) & (x < 2 - 1e-6)
    np.testing.assert_allclose(slope[inside], 0.0, atol=1e-6)
    assert (slope[x < -1 + 1e-6] > -1e-6).all()
    assert (slope[x > 2 - 1e-6] < 1e-6).all()
    assert min(best.multipliers[0], best.multipliers[2]) > -1e-9
    assert best.objective <= whole.solve(parameters=values, method="SLSQP").objective + 1e-8
    concave = sd.problem(-X @ X, np.sum(X) == 1.0, X, {X: (-1.0, 2.0)})
    assert not concave.solve(method="highs").success


def test_sparse_matrices_are_parameters() -> None:
    rng = np.random.default_rng(2)
    matrix, point = sd.matrix("M", 6, 4, sparse=True), sd.vector("y", 6)
    whole = sd.problem(np.sum((matrix @ X - point) ** 2), [np.sum(X) <= 0.1], X, parameters=[matrix, point])
    dense = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.7)
    values = {"M": sparse.csr_array(dense), "y": rng.normal(size=6)}
    best = whole.solve(parameters=values)
    at = sd.problem(np.sum((dense @ X - values["y"]) ** 2), [np.sum(X) <= 0.1], X).solve()
    np.testing.assert_allclose(best["x"], at["x"], atol=1e-6)
    slope: Any = whole.sensitivity(best, matrix)["x"]
    assert slope.shape == (4, values["M"].nnz)
    for k in range(0, values["M"].nnz, 5):
        moved: list[Any] = []
        for h in (1e-3, -1e-3):
            other = values["M"].copy()
            other.data[k] += h
            exact = {"method": "SLSQP", "options": {"ftol": 1e-16}}  # the usual solution has 7 digits
            moved.append(whole.solve(best, {"M": other, "y": values["y"]}, **exact)["x"])
        np.testing.assert_allclose((moved[0] - moved[1]) / 2e-3, slope[:, k], atol=1e-4)
    with pytest.raises(ArgumentError, match="is ndarray of shape"):
        whole.solve(parameters={"M": dense, "y": values["y"]})
    with pytest.raises(ArgumentError, match="the sparse matrix M is among no parameters"):
        sd.problem(np.sum((matrix @ X - point) ** 2), parameters=[point])


def test_variables_may_be_several_and_need_not_all_be_there() -> None:
    u, v, w = sd.vector("u", 2), sd.matrix("v", 2, 2), sd.scalar("w")
    whole = sd.problem(np.sum((u - 1) ** 2) + np.sum(v**2), [v[0, 0] >= u[0]], variables=[u, v, w])
    best = whole.solve(start={"u": np.array([0.5, 0.5]), w: 3.0})
    np.testing.assert_allclose(best["u"], [0.5, 1.0], atol=1e-6)
    np.testing.assert_allclose(best[v], [[0.5, 0], [0, 0]], atol=1e-6)
    assert best["w"] == 3.0


def test_bounds_alone_hold_elements_in_sensitivities() -> None:
    y, p = sd.vector("y", 3), sd.vector("p", 3)
    inside = sd.problem(np.sum((y - p) ** 2) + y[0] * y[1], bounds={y: (0.0, 2.0)}, parameters=p)
    best = inside.solve(parameters={"p": np.array([1.0, -1.0, 9.0])})
    np.testing.assert_allclose(best["y"], [1, 0, 2], atol=1e-7)
    np.testing.assert_allclose(inside.sensitivity(best, p)["y"], np.diag([1.0, 0, 0]), atol=1e-9)


@pytest.mark.parametrize("number", [93, 100])
def test_rounding_of_a_start_does_not_decide_if_a_problem_is_solved(number: int) -> None:
    p, rng, x = PROBLEMS[number], np.random.default_rng(0), sd.vector("x", len(PROBLEMS[number].start))
    whole = sd.problem(p.objective(x), [g >= 0 for g in p.above(x)], x, {x: (p.bounds[0])})
    for _ in range(8):
        best = whole.solve(np.array(p.start) + 1e-13 * rng.uniform(0, 1, len(p.start)))
        assert best.success
        assert best.method == "SLSQP"
        np.testing.assert_allclose(best.objective, p.least, rtol=1e-6)


def test_what_has_no_solution_is_told() -> None:
    none = sd.problem(X @ X, [X[0] >= 1, X[0] <= 0]).solve()
    assert not none.success
    assert "constraint" in none.message
    unbounded = sd.problem(-np.sum(X), X[0] <= 1, bounds={X: (0, None)}).solve()
    assert not unbounded.success
    assert "unbounded" in unbounded.message


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("method", [None, "SLSQP", "trust-constr"])
def test_a_start_at_a_saddle_is_told_and_a_minimum_is_not(method: str | None, seed: int) -> None:
    """0 is stationary for quadratic forms with quartic walls, with and without constraints through it."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    for sizes in (np.array([-1.0, 2.0, 3.0, 4.0]) * 10.0 ** rng.integers(-3, 4), np.array([1.0, 2, 3, 4])):
        f = X @ (q * sizes @ q.T) @ X + np.sum(X**4)
        # the saddle falls along the first of the eigenvectors, which two of these constraints leave, and one forbids
        for constraints, free in (([], True), ([q[:, 1] @ X == 0], True), ([q[:, 0] @ X == 0], False)):
            best = sd.problem(f, constraints, X).solve(np.zeros(4), method=method)
            is_saddle = bool(sizes[0] < 0.0 and free)
            assert best.success is not is_saddle, best
            assert ("stationary and no minimum" in best.message) is is_saddle, best


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("shape", "is_minimum"), [
    (lambda v: v[0] ** 2 + v[1] ** 2 + v[2] ** 2 - v[3] ** 4, False), (lambda v: np.sum(v[:3] ** 2) + v[3] ** 3, False),
    (lambda v: np.sum(v[:3] ** 2) - v[3] ** 6 + v[0] * v[3] ** 4, False), (lambda v: np.sum(v**4), True),
    (lambda v: np.sum(v[:2] ** 2) + np.sum(v[2:] ** 10), True), (lambda v: v[0] ** 2 + v[1] ** 2 * v[2] ** 2, True),
    (lambda v: (v[0] + 10 * v[1]) ** 2 + 5 * (v[2] - v[3]) ** 2 + (v[1] - 2 * v[2]) ** 4, True),
    (lambda v: v[0] ** 2 + v[1] ** 4 - 100 * v[1] ** 6 + v[2] ** 2, True),
])  # fmt: skip
@pytest.mark.rows(1000)
def test_points_without_curvature_are_minima_where_nothing_falls(shape: Any, is_minimum: bool, seed: int) -> None:
    """0 is stationary, and second derivatives do not tell; a minimum stays one where a search ends beside it."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    problem = sd.problem(shape(q @ X), variables=X)
    starts = [np.zeros(4), *(rng.normal(size=(3, 4)) * 0.01)] if is_minimum else [np.zeros(4)]
    for start in starts:
        best = problem.solve(start)
        assert best.success is is_minimum, best
        assert ("stationary and no minimum" in best.message) is not is_minimum, best


@pytest.mark.parametrize(
    ("number", "message"), [(84, "not stationary"), (55, "not stationary"), (33, "stationary and no minimum")]
)
def test_a_point_from_which_the_objective_falls_is_no_solution(number: int, message: str) -> None:
    """SLSQP calls these points solutions: a start, dependent equations, and a bound that may be left."""
    p = PROBLEMS[number]
    x = sd.vector("x", len(p.start))
    low, high = (np.array([i if e is None else e for e in column], float) for i, column in zip(
        (-np.inf, np.inf), zip(*p.bounds, strict=True), strict=True))  # fmt: skip
    constraints = [g >= 0 for g in p.above(x)] + [g == 0 for g in p.zero(x)]
    best = sd.problem(p.objective(x), constraints, x, {x: (low, high)}).solve(p.start, method="SLSQP")
    assert best.violation < 1e-8
    assert not best.success
    assert message in best.message


def test_a_point_at_a_kink_is_a_solution() -> None:
    """Slopes at kinks are means, which need not be 0 at a minimum; that is at 1, 0 and 0, or at equal elements."""
    w = sd.vector("w", 3)
    folded = sd.problem(abs(w[0] - 1) + 0.5 * w[0] + w[1] ** 2 + abs(w[2])).solve([0.3, 0.2, 0.1])
    assert folded.success, folded
    np.testing.assert_allclose(folded.objective, 0.5, atol=1e-3)
    most = sd.problem(np.max(w), [w @ w <= 1.0]).solve([0.3, 0.2, 0.1])
    assert most.success, most
    np.testing.assert_allclose(most.objective, -np.sqrt(1 / 3), atol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [-X @ X, X[0] * X[1], -np.sum(X**4), -np.exp(X[0]) + X[1] ** 2, -np.cosh(X[0])])
def test_what_falls_without_bound_is_told(f: sd.Array) -> None:
    for method in (None, "SLSQP", "trust-constr"):
        best = sd.problem(f, variables=X).solve([0.3, -0.2, 0.1, 0.0], method=method)
        assert not best.success, best
        assert "expected bounds or constraints" in best.message, best


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_objective_without_a_value_is_told() -> None:
    """A parameter that is none, and a start at which a logarithm is infinite."""
    v = sd.vector("v", 2)
    for f, data in ((np.sum((v - A) ** 2), {"a": np.nan}), (-np.sum(np.log(v)), {})):
        best = sd.problem(f, [np.sum(v) <= 3], v).solve(parameters=data, method="SLSQP")
        assert not best.success
        assert "expected parameters and a start with which it has a value" in best.message


def test_stationary_points_that_are_no_minima_have_no_formula_of_numbers() -> None:
    """A form that falls along a half line, and in a disc; the other sign has a minimum."""
    b, v = sd.scalar("b"), sd.vector("v", 2)
    half = sd.problem(b * v[0] ** 2 + v[1] ** 2, [v[0] >= 0], v, parameters=b).formula([1.0, 1.0])["v"]
    one, none = sd.compile(half, [b], backend="interpreter")([1.0, -1.0])
    np.testing.assert_allclose(one, 0.0, atol=1e-8)
    assert np.isnan(none).all()
    disc = sd.problem(b * v[0] * v[1], [v @ v <= 1], v, parameters=b).formula([0.5, 0.4])["v"]
    found = sd.compile(disc, [b], backend="interpreter")([1.0, -1.0])
    np.testing.assert_allclose(found[:, 0] * found[:, 1], [-0.5, 0.5])


def test_what_comes_wrong_is_refused_by_name() -> None:
    refused: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (ArgumentError, "constraint 1 is", lambda: sd.problem(X @ X, [X[0]])),
        (ArgumentError, "constraint 2 is", lambda: sd.problem(X @ X, [X[0] > 0, (X[0] > 0) | (X[1] > 0)])),
        (ArgumentError, "among the variables", lambda: sd.problem(X @ X, variables=2 * X)),
        (ArgumentError, "'z' is no input", lambda: sd.problem("x @ x", variables="z", x=2)),
        (ArgumentError, "no input 'z'", lambda: sd.problem("x @ x", x=2, z=2)),
        (ArgumentError, "minimize=-f", lambda: sd.problem("x @ x", x=2, maximize=True)),
        (ArgumentError, "expected a dict, such as {'x'", lambda: sd.problem(X @ X, bounds=[(0, 1)] * 4)),
        (ArgumentError, "bounds of 'z'", lambda: sd.problem(X @ X, bounds={"z": (0, 1)})),
        (ArgumentError, "least first", lambda: sd.problem(X @ X, bounds={X: (1, 0)})),
        (ShapeError, "expected a scalar", lambda: sd.problem(X)),
        (ShapeError, "numbers for the sizes", lambda: sd.problem(np.sum(sd.vector("q", "n") ** 2))),
        (ArgumentError, "parameters missing: a", HS71.solve),
        (ArgumentError, "parameters unknown: b", lambda: HS71.solve(parameters={"a": 40, "b": 1})),
        (ArgumentError, "outside of the bounds: element 2", lambda: HS71.solve([1, 1, 9, 1], {"a": 40})),
        (ShapeError, "a start of 3 numbers", lambda: HS71.solve([1, 1, 1], {"a": 40})),
        (ArgumentError, "method='bfgs'", lambda: HS71.solve([1, 1, 1, 1], {"a": 40}, method="bfgs")),
        (ArgumentError, "with constraints", lambda: HS71.solve([1, 1, 1, 1], {"a": 40}, method="least_squares")),
        (ArgumentError, "no sum of squares", lambda: sd.problem(np.sum(np.exp(X))).solve(method="least_squares")),
        (UnsupportedError, "not linear", lambda: HS71.solve([1, 1, 1, 1], {"a": 40}, method="highs")),
        (ArgumentError, "no parameter 'b'", lambda: HS71.sensitivity(HS71.solve([1, 5, 5, 1], {"a": 40}), "b")),
    ]
    for error, message, call in refused:
        with pytest.raises(error, match=message):
            call()


def test_parameters_may_be_positions_and_have_letters() -> None:
    t, y, i = sd.vector("t", "n"), sd.vector("y", "n"), sd.indices("i", "n")
    g = sd.vector("g", 3)
    p = sd.problem(np.sum((g[i] * np.exp(-t) - y) ** 2), parameters=[t, y, i])
    at, groups, levels = np.linspace(0.0, 1.0, 12), np.arange(12) % 3, np.array([1.0, -2.0, 0.5])
    data = {"t": at, "y": levels[groups] * np.exp(-at), "i": groups}
    for method in (None, "least_squares", "slsqp", "l-bfgs-b"):
        np.testing.assert_allclose(p.solve(parameters=data, method=method)["g"], levels, rtol=1e-5)
    best = p.solve(parameters=data, method="least_squares")
    moved = p.sensitivity(best, "y")["g"]
    assert moved.shape == (3, 12)
    np.testing.assert_allclose(moved @ np.exp(-at), 1.0, rtol=1e-6)
    with pytest.raises(sd.ArgumentError, match="i are positions"):
        p.sensitivity(best, i)
    with pytest.raises(sd.ArgumentError, match="parameter i has dtype float64; expected positions"):
        p.solve(parameters={**data, "i": groups + 0.5})
    with pytest.raises(sd.ShapeError, match=r"w has shape .* sizes of a variable"):
        sd.problem(np.sum(sd.vector("w", "n") ** 2))


#: Declarations, with a shape and a member drawn.
MEMBERS: dict[str, tuple[dict[str, Any], tuple[int, ...], Callable[[Any], Any]]] = {
    "positive": ({"positive": True}, (3,), lambda m: np.abs(m[0]) + 0.2),
    "between": ({"between": (-1, 2)}, (3,), lambda m: np.tanh(m[0])),
    "simplex": ({"simplex": True}, (3,), lambda m: np.exp(m[0]) / np.exp(m[0]).sum()),
    "ordered": ({"ordered": True}, (3,), lambda m: np.cumsum(np.abs(m[0]) + 0.2)),
    "definite": ({"positive_definite": True}, (3, 3), lambda m: m @ m.T + np.eye(3)),
    "symmetric": ({"symmetric": True}, (3, 3), lambda m: m + m.T),
    "skew": ({"skew": True}, (3, 3), lambda m: m - m.T),
    "lower": ({"lower": True}, (3, 3), np.tril),
    "diagonal": ({"diagonal": True}, (3, 3), lambda m: np.diag(np.diag(m))),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_declared_variables_stay_what_they_are(name: str) -> None:
    facts, shape, member = MEMBERS[name]
    rng = np.random.default_rng(7)
    goal, begin = member(rng.normal(size=(3, 3))), member(rng.normal(size=(3, 3)))
    v, target, w = sd.symbol("v", shape, **facts), sd.array("target", shape), sd.scalar("w")
    nearest = sd.problem(np.sum((v - target) ** 2) + (w - np.sum(v * v)) ** 2, variables=[v, w])
    for start in (None, {"v": begin}, np.append(begin.ravel(), 1.0)):
        best = nearest.solve(start, {"target": goal})
        assert best.success
        assert best["v"].shape == shape
        np.testing.assert_allclose(best["v"], goal, atol=2e-5)
        np.testing.assert_allclose(best["w"], (goal**2).sum(), rtol=1e-4)
    way = member(rng.normal(size=(3, 3))) - goal  # along the members, so that the solution follows
    slope = nearest.sensitivity(best, target)["v"]
    if name not in ("simplex", "definite"):
        np.testing.assert_allclose(np.tensordot(slope, way, len(shape)), way, atol=1e-4)
    step = 1e-3
    moved = [nearest.solve(best, {"target": goal + side * step * way})["v"] for side in (1, -1)]
    np.testing.assert_allclose(np.tensordot(slope, way, len(shape)), (moved[0] - moved[1]) / (2 * step), atol=2e-3)


def test_declared_variables_with_constraints_bounds_and_starts() -> None:
    w, C = sd.vector("w", 3, simplex=True), np.diag([0.04, 0.09, 0.25])
    mu, r = sd.vector("mu", 3), sd.scalar("r")
    best = sd.problem(w @ C @ w / 2, [mu @ w >= r], w).solve(parameters={"mu": [0.03, 0.05, 0.12], "r": 0.06})
    np.testing.assert_allclose(best["w"], [0.4254, 0.3102, 0.2644], atol=1e-4)
    s = sd.matrix("s", 2, 2, symmetric=True)
    held = sd.problem(np.sum((s - 2 * np.eye(2)) ** 2), [], s, {s: (None, 1.0)}).solve()
    np.testing.assert_allclose(held["s"], np.eye(2), atol=1e-6)
    with pytest.raises(ArgumentError, match="bounds of w, which is declared a simplex"):
        sd.problem(w @ w, [], w, {w: (0, 1)})
    with pytest.raises(ArgumentError, match="declared"):
        sd.problem(w @ w, [], w).solve([1.0, 1.0, 1.0])
    with pytest.raises(ShapeError, match="expected 3"):
        sd.problem(w @ w, [], w).solve([1.0, 1.0])
