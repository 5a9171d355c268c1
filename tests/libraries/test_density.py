"""Log densities of free numbers, free entries of declared matrices, and Laplace's approximation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

import symdiff as sd
from symdiff.errors import ArgumentError, ShapeError, UnsupportedError
from symdiff.libraries.density import Density

#: What may be declared, with the shape and the number of free numbers.
DECLARED: list[tuple[dict[str, Any], tuple[int, ...], int]] = [
    ({}, (2, 3), 6),
    ({"positive": True}, (3,), 3),
    ({"between": (0, 1)}, (3,), 3),
    ({"between": (-1.5, 2.0)}, (), 1),
    ({"between": (0.5, None)}, (2,), 2),
    ({"between": (None, -1)}, (2,), 2),
    ({"simplex": True}, (4,), 3),
    ({"simplex": True}, (2, 3), 4),
    ({"ordered": True}, (4,), 4),
    ({"ordered": True}, (2, 3), 6),
    ({"ordered": True, "positive": True}, (3,), 3),
    ({"positive_definite": True}, (3, 3), 6),
    ({"positive_definite": True}, (2, 2, 2), 6),
    ({"positive_definite": True, "diagonal": True}, (3, 3), 3),
    ({"correlation": True}, (1, 1), 0),
    ({"correlation": True}, (4, 4), 6),
    ({"correlation": True}, (2, 3, 3), 6),
    ({"symmetric": True}, (3, 3), 6),
    ({"symmetric": True, "positive": True}, (2, 2), 3),
    ({"skew": True}, (3, 3), 3),
    ({"lower": True}, (3, 3), 6),
    ({"upper": True}, (2, 2, 2), 6),
    ({"diagonal": True}, (3, 3), 3),
]


def density_of(facts: dict[str, Any], shape: tuple[int, ...]) -> Density:
    """Return the density that is 1 everywhere: what is left is the Jacobian."""
    v = sd.symbol("v", shape, **facts)
    return sd.density(np.sum(0 * v), v)


def free_elements(facts: dict[str, Any], values: np.ndarray) -> np.ndarray:
    """Return the elements with respect to which a density is one."""
    if facts.get("simplex"):
        return values[..., :-1].ravel()
    n = values.shape[-1] if values.ndim else 0
    keep: dict[str, Any] = {
        **dict.fromkeys(("positive_definite", "symmetric", "lower"), lambda i, j: i >= j),
        **dict.fromkeys(("correlation", "skew"), lambda i, j: i > j),
        "upper": lambda i, j: i <= j,
        "diagonal": lambda i, j: i == j,
    }
    for name in ("diagonal", *keep):
        if facts.get(name):
            mask = np.asarray(keep[name](*np.ogrid[:n, :n]))
            return values[..., mask].ravel()
    return values.ravel()


@pytest.mark.parametrize(("facts", "shape", "count"), DECLARED, ids=str)
def test_jacobians_are_those_of_differences(facts: dict[str, Any], shape: tuple[int, ...], count: int) -> None:
    d = density_of(facts, shape)
    assert len(d.names) == count
    rng = np.random.default_rng(3)
    for _ in range(3):
        x = rng.normal(size=count)
        h = 1e-5 * np.eye(count)
        ahead, behind = (
            np.reshape([free_elements(facts, d.constrain(x + step)["v"]) for step in sign * h], (count, count))
            for sign in (1, -1)
        )
        determinant = np.linalg.slogdet((ahead - behind) / 2e-5)[1] if count else 0.0
        np.testing.assert_allclose(d.logp(x), determinant, rtol=1e-7, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DECLARED), st.integers(0, 2**32 - 1), st.sampled_from([(), (3,), (2, 2)]))
def test_free_numbers_lead_to_what_is_declared_and_back(
    declared: tuple[dict[str, Any], tuple[int, ...], int], seed: int, lead: tuple[int, ...]
) -> None:
    facts, shape, count = declared
    d = density_of(facts, shape)
    x = np.random.default_rng(seed).normal(size=(*lead, count))
    found = d.constrain(x)
    assert found["v"].shape == lead + shape
    # a kernel checks what is declared
    v = sd.symbol("v", shape, **facts)
    sd.compile(2 * v, [v], backend="interpreter", validate=True)(found["v"])
    np.testing.assert_allclose(d.unconstrain(found), x, rtol=1e-6, atol=1e-6)


def _mass(d: Density, ends: float, points: int) -> float:
    """Return the integral over all free numbers, by the trapezoidal rule, whose error is exponentially small."""
    axis = np.linspace(-ends, ends, points)
    grid = np.stack(np.meshgrid(*[axis] * len(d.names), indexing="ij"), -1)
    return float(np.exp(d.logp(grid)).sum() * (axis[1] - axis[0]) ** len(d.names))


@pytest.mark.parametrize(
    ("facts", "shape", "log_p", "ends", "mass"),
    [
        ({"positive": True}, (), lambda v: sd.stats.gamma.logpdf(v, 2.5), 30.0, 1.0),
        ({"between": (0, 1)}, (), lambda v: sd.stats.beta.logpdf(v, 2, 3), 40.0, 1.0),
        ({"between": (-2, 3)}, (), lambda v: 0 * v, 60.0, 5.0),
        ({"simplex": True}, (3,), lambda v: np.sum(np.log(v) * np.array([1.0, 2.0, 0.5])), 30.0,
         math.gamma(2) * math.gamma(3) * math.gamma(1.5) / math.gamma(6.5)),
        ({"ordered": True}, (2,), lambda v: -np.sum(v**2) / 2, 12.0, math.pi),
        ({"positive_definite": True}, (2, 2), lambda v: -np.trace(v), 8.0, math.pi / 2),
        ({"correlation": True}, (3, 3), lambda v: 0 * v[0, 0], 16.0, math.pi**2 / 2),
    ],
)  # fmt: skip
def test_the_mass_of_a_density_is_the_known_one(
    facts: dict[str, Any], shape: tuple[int, ...], log_p: Callable[[Any], Any], ends: float, mass: float
) -> None:
    v = sd.symbol("v", shape, **facts)
    d = sd.density(log_p(v), v)
    np.testing.assert_allclose(_mass(d, ends, 401 if len(d.names) < 3 else 97), mass, rtol=1e-5)


Y, MU, TAU = sd.vector("y", "n"), sd.scalar("mu"), sd.scalar("tau", positive=True)
R = sd.matrix("R", 2, 2, correlation=True)
NORMAL = sd.density(
    -np.sum((Y - MU) ** 2) / (2 * TAU**2) - Y.shape[0] * np.log(TAU) + sd.logdet(R), {"first": MU, "others": [TAU, R]}
)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_values_and_derivatives_are_those_of_hand_written_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=3), rng.normal(size=5)
    mu, tau, r = x[0], math.exp(x[1]), math.tanh(x[2])
    # the determinant of the correlation is 1 - r², and so is the Jacobian
    by_hand = stats.norm.logpdf(y, mu, tau).sum() + 2.5 * math.log(2 * math.pi) + x[1] + 2 * math.log(1 - r * r)
    value, slope = NORMAL.value_and_gradient(x, y)
    np.testing.assert_allclose([value, NORMAL.logp(x, y=y)], by_hand, rtol=1e-12, atol=1e-12)
    first = [np.sum(y - mu) / tau**2, np.sum((y - mu) ** 2) / tau**2 - 5 + 1, -4 * r]
    np.testing.assert_allclose([slope, NORMAL.gradient(x, y)], [first, first], rtol=1e-10, atol=1e-12)
    mixed = -2 * np.sum(y - mu) / tau**2
    second = [[-5 / tau**2, mixed, 0], [mixed, -2 * np.sum((y - mu) ** 2) / tau**2, 0], [0, 0, -4 * (1 - r * r)]]
    np.testing.assert_allclose(NORMAL.hessian(x, y), second, rtol=1e-10, atol=1e-12)


def test_axes_in_front_are_draws() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 2, 3)), rng.normal(size=6)
    assert NORMAL.names == ("mu", "tau", "R[0]")
    assert NORMAL.hessian(x, y).shape == (4, 2, 3, 3)
    for function in (NORMAL.logp, NORMAL.gradient):
        np.testing.assert_allclose(function(x, y), [[function(one, y) for one in row] for row in x], rtol=1e-13)


def test_numbers_far_out_stay_finite() -> None:
    """The logarithm of a probability near 1 is that of the free number, and not of what rounding left."""
    p = sd.scalar("p", between=(0, 1))
    d = sd.density(3 * np.log(p) + 2 * np.log(1 - p), p)
    # log sigmoid(x) is 0 here, and log sigmoid(-x) is -x
    np.testing.assert_allclose(d.logp([[50.0], [800.0]]), [-150.0, -2400.0], rtol=1e-14)
    np.testing.assert_allclose(d.gradient([[50.0], [800.0], [-800.0]]), [[-3.0], [-3.0], [4.0]], rtol=1e-14)


def test_text_and_sympy_are_log_densities_too() -> None:
    import sympy

    p = sd.density("beta_logpdf(p, 2, 3) + 0 * q[0]", ["p", "q"], p=sd.scalar("p", between=(0, 1)), q=2)
    np.testing.assert_allclose(p.logp([0.0, 0.0, 0.0]), math.log(12 * 0.5 * 0.25 * 0.25))
    x = sympy.Symbol("x", positive=True)
    for d in (sd.density("3 * log(x) - x", "x", x=sd.positive()), sd.density(3 * sympy.log(x) - x, x)):
        np.testing.assert_allclose(d.logp([0.5]), 4 * 0.5 - math.exp(0.5), rtol=1e-14)
        np.testing.assert_allclose(d.unconstrain({"x": 2.0}), [math.log(2.0)])


def test_the_eight_schools_have_their_published_means() -> None:
    """The posterior of Rubin (1981) as posteriordb has it, whose reference draws have these means and errors.

    Effects are integrated by hand: what is measured is normal around the mean of all schools.
    """
    y, sigma = sd.vector("y", 8), sd.vector("sigma", 8)
    log_p = (
        sd.stats.norm.logpdf(y, MU, np.sqrt(sigma**2 + TAU**2)).sum()
        + sd.stats.norm.logpdf(MU, 0, 5) + sd.stats.cauchy.logpdf(TAU, 0, 5)
    )  # fmt: skip
    d = sd.density(log_p, [MU, TAU])
    effects, errors = [28.0, 8, -3, 7, -1, 1, 18, 12], [15.0, 10, 16, 11, 9, 11, 10, 18]
    grid = np.stack(np.meshgrid(np.linspace(-20, 30, 201), np.linspace(-12, 7, 201), indexing="ij"), -1)
    weights = np.exp(d.logp(grid, effects, sigma=errors))
    found = d.constrain(grid)
    means = [float(np.sum(found[name] * weights) / weights.sum()) for name in ("mu", "tau")]
    np.testing.assert_allclose(means, [4.41051833695493, 3.60205952364059], atol=3 * 0.033)


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: sd.density(MU * TAU, []), ArgumentError, "without variables"),
        (lambda: sd.density(MU, TAU), ArgumentError, "does not depend on tau; its inputs: mu"),
        (lambda: sd.density(MU, MU**2), ArgumentError, "inputs of its formula, each once"),
        (lambda: sd.density([MU, TAU], MU), ArgumentError, "several formulas"),
        (lambda: sd.density(Y, Y), ShapeError, r"shape \(n,\); expected a scalar"),
        (lambda: sd.density(np.sum(Y), Y), ShapeError, "expected numbers for the sizes"),
        (lambda: density_of({"orthogonal": True}, (2, 2)), UnsupportedError, "declared orthogonal, for which"),
        (lambda: density_of({"positive_definite": True, "positive": True}, (2, 2)), UnsupportedError, "positive def"),
        (lambda: NORMAL.unconstrain({"mu": 1.0, "R": np.eye(2)}), ArgumentError, "mu, R; expected mu, tau, R"),
        (lambda: NORMAL.unconstrain([1.0]), ArgumentError, "expected a dict: mu, tau, R"),
        (lambda: NORMAL.unconstrain({"mu": 1.0, "tau": -1.0, "R": np.eye(2)}), ArgumentError, "tau is declared pos"),
        (lambda: NORMAL.logp([1.0, 2.0], [1.0]), ShapeError, r"x has shape \(2,\); expected \(3,\)"),
        (lambda: NORMAL.logp([1.0, 2.0, 3.0]), ArgumentError, "missing y"),
    ],
)
def test_what_is_no_density_is_refused(make: Callable[[], Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        make()


# ---------------------------------------------------------------------------- free entries
# Free entries of declared matrices as the variables of an optimizer: derivatives are those by these numbers.


KINDS: dict[str, tuple[Any, Any]] = {
    "lower": (lambda v, n: fill(v, n, "lower"), lambda n: n * (n + 1) // 2),
    "upper": (lambda v, n: fill(v, n, "upper"), lambda n: n * (n + 1) // 2),
    "symmetric": (lambda v, n: fill(v, n, "lower") + np.tril(fill(v, n, "lower"), -1).T, lambda n: n * (n + 1) // 2),
    "diagonal": (lambda v, n: np.diag(v), lambda n: n),
    "skew": (lambda v, n: fill(v, n, "strict") - fill(v, n, "strict").T, lambda n: n * (n - 1) // 2),
}


def fill(v: Any, n: int, which: str) -> Any:
    """Return a matrix with numbers in one triangle, row by row."""
    matrix = np.zeros((n, n))
    places = {"lower": np.tril_indices(n), "upper": np.triu_indices(n), "strict": np.tril_indices(n, -1)}[which]
    matrix[places] = v
    return matrix


@pytest.mark.exhaustive
@given(st.sampled_from(sorted(KINDS)), st.integers(2, 4), st.booleans(), st.booleans())
@settings(max_examples=40)
def test_derivatives_by_free_entries_are_differences_in_them(kind: str, n: int, letters: bool, sparse: bool) -> None:
    matrix_of, count_of = KINDS[kind]
    A = sd.matrix("A", *(("n", "n") if letters else (n, n)), **{kind: True})
    c, x = sd.symbol("C", A.shape), sd.vector("x", 2)
    f = sd.objective(
        np.sum(np.sin(A) * c) + np.trace(A @ A @ c) * x[0] + x[1] ** 3,
        (A, x),
        free=True,
        sparse="csr" if sparse else None,
    )
    rng = np.random.default_rng(n)
    v, C = np.asarray(rng.normal(size=count_of(n) + 2)), rng.normal(size=(n, n))
    A0, x0 = f.split(v, C)
    np.testing.assert_array_equal(A0, matrix_of(v[:-2], n))
    np.testing.assert_array_equal(f.join((A0, x0)), v)

    def plain(v: Any) -> Any:
        A, x = matrix_of(v[:-2], n), v[-2:]
        return np.sum(np.sin(A) * C) + np.trace(A @ A @ C) * x[0] + x[1] ** 3

    def differences(g: Any) -> Any:
        steps = 1e-5 * np.eye(len(v))
        return np.array([(g(v + step) - g(v - step)) / 2e-5 for step in steps])

    assert f.fun(v, C) == pytest.approx(plain(v), rel=1e-12)
    slope, curvature = f.jac(v, C), f.hess(v, C)
    np.testing.assert_allclose(slope, differences(plain), rtol=1e-6, atol=1e-7)
    curvature = curvature.toarray() if sparse else curvature
    np.testing.assert_allclose(curvature, differences(lambda v: f.jac(v, C)), rtol=1e-6, atol=1e-6)
    p = np.asarray(rng.normal(size=len(v)))
    np.testing.assert_allclose(f.hessp(v, p, C), curvature @ p, rtol=1e-10, atol=1e-10)


@pytest.mark.exhaustive
def test_jacobians_by_free_entries_and_stacks() -> None:
    A = sd.symbol("A", (2, 3, 3), lower=True)
    f = sd.objective(A @ np.ones(3), A, free=True)
    v = np.arange(12.0)
    np.testing.assert_array_equal(f.split(v)[1], fill(v[6:], 3, "lower"))
    jacobian = f.jac(v)
    assert jacobian.shape == (6, 12)
    np.testing.assert_array_equal(jacobian @ v, f.fun(v))
    sparse = sd.objective(A @ np.ones(3), A, free=True, sparse="csc")
    assert sparse.jac(v).format == "csc"
    np.testing.assert_array_equal(sparse.jac(v).toarray(), jacobian)


def test_a_factor_is_fitted_by_its_free_entries() -> None:
    target = np.array([[4.0, 2.0, 0.6], [2.0, 2.0, 0.5], [0.6, 0.5, 1.0]])
    f = sd.objective("sum((L @ L.T - S)**2)", "L", L=sd.lower(3), S=(3, 3), free=True)
    found = minimize(f.fun, np.ones(6), args=(target,), jac=f.jac, hess=f.hess, method="trust-exact")
    L = f.split(found.x, target)
    np.testing.assert_allclose(L @ L.T, target, atol=1e-6)
    assert not np.triu(L, 1).any()


def test_what_does_not_fit_is_refused() -> None:
    f = sd.objective("sum(L**2)", "L", L=sd.lower(3), free=True)
    with pytest.raises(sd.ShapeError, match=r"x has 9 elements; expected 6, those of the free entries of L \(3, 3\)"):
        f.fun(np.ones(9))
    with pytest.raises(sd.ArgumentError, match="free=1; expected True or False"):
        sd.objective("sum(L**2)", "L", L=sd.lower(3), free=1)
    with pytest.raises(sd.UnsupportedError, match="Ipopt of free entries"):
        f.ipopt(np.ones(6))
    assert sd.objective("x @ x", "x", x=3, free=True).jac([1.0, 2.0, 3.0]).tolist() == [2, 4, 6]


# ---------------------------------------------------------------------------- laplace
# Laplace's approximation: exact for Gaussian integrals, by its own definition in multiprecision for others.


V, A, B = sd.vector("v", 3), sd.matrix("A", 3, 3), sd.vector("b", 3)
GAUSS = sd.laplace(V @ A @ V / 2 - B @ V, V)
GAUSS_KERNEL = sd.compile([GAUSS, sd.gradient(GAUSS, B), sd.gradient(GAUSS, A)], [A, B], backend="interpreter")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10))
def test_gaussian_integrals_are_exact_and_so_are_their_gradients(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    matrix, right = scale * (root @ root.T + np.eye(3)), rng.normal(size=3)
    mean = np.linalg.solve(matrix, right)
    value, by_right, by_matrix = GAUSS_KERNEL(matrix, right)
    exact = -right @ mean / 2 + np.linalg.slogdet(matrix)[1] / 2 - 1.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(value, exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_right, -mean, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(by_matrix, (np.outer(mean, mean) + np.linalg.inv(matrix)) / 2, rtol=1e-10, atol=1e-12)


def _binomial() -> tuple[Any, list[Any]]:
    u, y, x = sd.scalar("u"), sd.vector("y", 6), sd.vector("x", 6)
    beta, tau = sd.scalar("beta"), sd.scalar("tau")
    eta = beta * x + u
    f = np.sum(sd.softplus(eta) - y * eta) + u**2 / (2 * tau**2) + np.log(tau) + np.log(2 * np.pi) / 2
    integral = sd.laplace(f, u)
    wanted = [integral, sd.gradient(integral, beta), sd.gradient(integral, tau), sd.hessian(integral, tau)]
    return integral, [wanted, [y, x, beta, tau]]


def test_a_binomial_mixed_model_is_its_definition_in_multiprecision() -> None:
    _, (wanted, inputs) = _binomial()
    rng = np.random.default_rng(0)
    ys, xs = (rng.random((300, 6)) < 0.5) * 1.0, rng.normal(size=(300, 6))
    found = sd.compile(wanted, inputs)(ys, xs, 0.7, 1.3)
    total = sd.compile(wanted, inputs, batch=inputs[:2], reduce="sum")(ys, xs, 0.7, 1.3)
    np.testing.assert_allclose(total, [one.sum() for one in found], rtol=1e-12)
    with mp.workdps(40):

        def exact(beta: Any, tau: Any, k: int) -> Any:
            def f(u: Any) -> Any:
                etas = [beta * mp.mpf(x) + u for x in xs[k]]
                data = sum(mp.log(1 + mp.exp(eta)) - y * eta for eta, y in zip(etas, ys[k], strict=True))
                return data + u * u / (2 * tau**2) + mp.log(tau) + mp.log(2 * mp.pi) / 2

            u = mp.findroot(lambda u: mp.diff(f, u), 0)
            return f(u) + mp.log(mp.diff(f, u, 2)) / 2 - mp.log(2 * mp.pi) / 2

        beta, tau = mp.mpf(0.7), mp.mpf(1.3)
        for k in (0, 7, 150):
            assert abs(found[0][k] - exact(beta, tau, k)) < 1e-13
            assert abs(found[1][k] - mp.diff(lambda b, k=k: exact(b, tau, k), beta)) < 1e-12
            assert abs(found[2][k] - mp.diff(lambda t, k=k: exact(beta, t, k), tau)) < 1e-12
            assert abs(found[3][k] - mp.diff(lambda t, k=k: exact(beta, t, k), tau, 2)) < 1e-10


@pytest.mark.exhaustive
def test_check_certifies_an_approximation() -> None:
    integral, _ = _binomial()
    rng = np.random.default_rng(1)
    at = {"y": (rng.random(6) < 0.5) * 1.0, "x": rng.normal(size=6), "beta": 0.3, "tau": 0.8}
    assert str(sd.check(integral, at=at)).startswith("ok")


def test_what_has_no_minimum_is_nan() -> None:
    u, s = sd.scalar("u"), sd.scalar("s")
    integral = sd.laplace(s * u**2 + u, u)
    value, slope = sd.compile([integral, sd.gradient(integral, s)])(np.array([1.0, -1.0]))
    assert np.isfinite([value[0], slope[0]]).all()
    assert np.isnan([value[1], slope[1]]).all()


def test_what_comes_wrong_is_refused_by_name() -> None:
    with pytest.raises(ShapeError, match="f of laplace has shape"):
        sd.laplace(V, V)
    with pytest.raises(ArgumentError, match="the unknown of laplace"):
        sd.laplace(V @ V, V + 1)


def test_data_may_be_called_x() -> None:
    x, s = sd.vector("x", "n"), sd.scalar("s", positive=True)
    d = sd.density(sd.stats.norm(0, s).logpdf(x).sum(), s)
    data = np.array([0.5, -1.0])
    assert d.logp(np.zeros(1), x=data) == d.logp(np.zeros(1), data)
    np.testing.assert_array_equal(d.gradient(np.zeros(1), x=data), d.gradient(np.zeros(1), data))
