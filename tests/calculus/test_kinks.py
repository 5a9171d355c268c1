"""Derivatives at kinks and ties, in branches that are not taken, and beside large shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy import linalg

import symdiff as sd
from symdiff import Array, graph
from symdiff.errors import NotDifferentiableError, UnsupportedError
from tests.support.rule_tables import AT, M33, compute, draw, spd


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("mode", ["reverse", "forward", "jacobian"])
def test_ties_share_equally(op: str, mode: str) -> None:
    x = sd.vector("x", 4)
    f = sd.function(op)(x)
    value = np.array([1.0, 3.0, 3.0, 2.0]) * (1 if op == "max" else -1)
    if mode == "forward":
        got = np.array([float(compute(sd.jvp(f, x, row), x=value)) for row in np.eye(4)])
    elif mode == "reverse":
        got = compute(sd.gradient(f, x), x=value)
    else:
        got = compute(sd.jacobian(f.reshape(1), x), x=value)[0]
    np.testing.assert_array_equal(got, [0, 0.5, 0.5, 0])


def test_ties_along_an_axis() -> None:
    X = sd.matrix("X", 2, 3)
    got = compute(sd.gradient(X.max(axis=1).sum(), X), X=[[1.0, 1.0, 1.0], [0.0, 2.0, 2.0]])
    np.testing.assert_allclose(got, [[1 / 3] * 3, [0, 0.5, 0.5]])


def test_ties_at_infinity_share_too() -> None:
    x = sd.vector("x", 3)
    np.testing.assert_array_equal(compute(sd.gradient(sd.max(x), x), x=[np.inf, 0.0, np.inf]), [0.5, 0, 0.5])


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_norm_at_zero(shape: tuple[int, ...]) -> None:
    x = sd.array("x", shape)
    zero = np.zeros(shape)
    assert compute(sd.norm(x), x=zero) == 0
    np.testing.assert_array_equal(compute(sd.gradient(sd.norm(x), x), x=zero), zero)
    assert compute(sd.jvp(sd.norm(x), x, np.ones(shape)), x=zero) == 0
    np.testing.assert_array_equal(compute(sd.gradient(sd.norm(x) ** 2, x), x=zero), zero)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_products_with_zeros(zeros: int) -> None:
    x = sd.vector("x", 4)
    value = np.array([2.0, -3.0, 0.5, 4.0])
    value[:zeros] = 0
    want = [np.prod(np.delete(value, i)) for i in range(4)]
    np.testing.assert_array_equal(compute(sd.gradient(sd.prod(x), x), x=value), want)
    hessian = compute(sd.hessian(sd.prod(x), x), x=value)
    second = [[0.0 if i == j else np.prod(np.delete(value, [i, j])) for j in range(4)] for i in range(4)]
    np.testing.assert_array_equal(hessian, second)


# ---------------------------------------------------------------------------- branches not taken


class Branch(NamedTuple):
    """A formula of x (3,) and the index where something not taken is infinite or undefined."""

    name: str
    build: Callable[[Array], Array]
    value: tuple[float, float, float]
    gradient: tuple[float, float, float]
    second: tuple[float, float, float]


BRANCHES = [
    Branch("log", lambda x: sd.where(x > 0, np.log(x), 0.0), (0.0, 0.0, np.log(2)), (0, 0, 0.5), (0, 0, -0.25)),
    Branch(
        "sqrt",
        lambda x: sd.where(x > 0, np.sqrt(x), 0.0),
        (0.0, 0.0, np.sqrt(2)),
        (0, 0, 0.5**1.5),
        (0, 0, -0.25 * 0.5**1.5),
    ),
    Branch("division", lambda x: sd.where(x != 0, 1 / x, 3.0), (3.0, -1.0, 0.5), (0, -1, -0.25), (0, -2, 0.25)),
    Branch(
        "x log x",
        lambda x: sd.where(x > 0, x * np.log(x), 0.0),
        (0, 0, 2 * np.log(2)),
        (0, 0, np.log(2) + 1),
        (0, 0, 0.5),
    ),
    Branch(
        "overflow", lambda x: sd.where(x < 1, x**2, np.exp(1e4 * np.abs(x) - 2e4)), (0, 1, 1), (0, -2, 1e4), (2, 2, 1e8)
    ),
    Branch(
        "nested",
        lambda x: sd.where(x > 0, sd.where(x > 1, np.log(x - 1), np.sqrt(x)), x * 2),
        (0, -2, 0),
        (2, 2, 1),
        (0, 0, -1),
    ),
    Branch(
        "maximum",
        lambda x: np.log(np.maximum(x, 0.5)),
        (np.log(0.5), np.log(0.5), np.log(2)),
        (0, 0, 0.5),
        (0, 0, -0.25),
    ),
    Branch("clip infinite", lambda x: np.clip(1 / x, -0.5, 0.25), (0.25, -0.5, 0.25), (0, 0, 0), (0, 0, 0)),
    Branch(
        "minimum infinite",
        lambda x: np.minimum(-np.log(np.abs(x)), 5.0),
        (5, 0, -np.log(2)),
        (0, 1, -0.5),
        (0, 1, 0.25),
    ),
    Branch(
        "sqrt outside",
        lambda x: np.sqrt(sd.where(x > 0, x, 1.0)),
        (1, 1, np.sqrt(2)),
        (0, 0, 0.5**1.5),
        (0, 0, -0.25 * 0.5**1.5),
    ),
    Branch(
        "sqrt outside at zero",
        lambda x: np.sqrt(sd.where(x > 0, x, 0.0)),
        (0, 0, np.sqrt(2)),
        (0, 0, 0.5**1.5),
        (0, 0, -0.25 * 0.5**1.5),
    ),
    Branch(
        "log outside",
        lambda x: sd.where(x > 1, np.log(sd.where(x > 1, x, 0.0)), 0.0),
        (0, 0, np.log(2)),
        (0, 0, 0.5),
        (0, 0, -0.25),
    ),
    Branch(
        "safe quotient",
        lambda x: sd.where(x == 0, 1.0, np.sin(x) / x),
        (1, np.sin(1), np.sin(2) / 2),
        (0, -(np.cos(1) - np.sin(1)), (2 * np.cos(2) - np.sin(2)) / 4),
        (0, np.sin(1) - 2 * np.cos(1), (-4 * np.sin(2) - 4 * np.cos(2) + 2 * np.sin(2)) / 8),
    ),
]


@pytest.mark.rows(1)
@pytest.mark.parametrize("branch", BRANCHES, ids=lambda b: b.name)
def test_untaken_branches_never_show(branch: Branch) -> None:
    x = sd.vector("x", 3)
    f = branch.build(x)
    same = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(compute(f, x=AT), branch.value, **same)
    # element by element, through a sum, a product with a matrix, and a weighted square
    weights = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
    np.testing.assert_allclose(compute(sd.gradient(f.sum(), x), x=AT), branch.gradient, **same)
    np.testing.assert_allclose(
        compute(sd.vjp(weights @ f, x, [2.0, -1.0]), x=AT), np.array([2.0, -1.0]) @ weights * branch.gradient, **same
    )
    for way in np.eye(3):
        np.testing.assert_allclose(compute(sd.jvp(f, x, way), x=AT), way * branch.gradient, **same)
        np.testing.assert_allclose(
            compute(sd.jvp(weights @ f, x, way), x=AT), weights @ (way * branch.gradient), **same
        )
    np.testing.assert_allclose(compute(sd.jacobian(f, x), x=AT), np.diag(branch.gradient), **same)
    np.testing.assert_allclose(compute(sd.jacobian(weights @ f, x), x=AT), weights * branch.gradient, **same)
    np.testing.assert_allclose(compute(sd.hessian(f.sum(), x), x=AT), np.diag(branch.second), **same)
    square = np.diag(np.square(branch.gradient) + np.array(branch.value) * branch.second)
    np.testing.assert_allclose(compute(sd.hessian(0.5 * f @ f, x), x=AT), square, **same)
    np.testing.assert_allclose(
        compute(sd.hvp(f.sum(), x, [1.0, 2.0, 3.0]), x=AT), np.array(branch.second) * [1, 2, 3], **same
    )


def test_branches_by_a_scalar_condition() -> None:
    s, v = sd.scalar("s"), sd.vector("v", 2)
    f = sd.where(s > 0, np.log(s) * v, v).sum()
    np.testing.assert_array_equal(compute(sd.gradient(f, v), s=0.0, v=[1.0, 2.0]), [1.0, 1.0])
    assert compute(sd.gradient(f, s), s=0.0, v=[1.0, 2.0]) == 0
    assert compute(sd.derivative(f, s, 2), s=0.0, v=[1.0, 2.0]) == 0


def test_a_matrix_inverted_in_one_branch_only() -> None:
    A, t = sd.matrix("A", 2, 2), sd.scalar("t")
    f = sd.where(t > 0, sd.logdet(A), 0.0)
    got = compute(sd.gradient(f, t, disconnected="zero"), t=-1.0, A=-np.eye(2))
    assert got == 0


def test_broadcast_branches() -> None:
    x, y = sd.vector("x", 2), sd.matrix("Y", 2, 2)
    f = sd.where(y > 0, np.sqrt(x) * y, 0.0).sum()
    got = compute(sd.gradient(f, x), x=[0.0, 4.0], Y=[[-1.0, 1.0], [-2.0, 3.0]])
    np.testing.assert_array_equal(got, [0.0, 1.0])


LINEAR_WAYS: dict[str, Callable[[Any], Any]] = {
    "scale": lambda r: r * 2.0,
    "reverse twice": lambda r: r[::-1][::-1],
    "stack": lambda r: sd.stack([r[0], r[1], r[2]]),
    "repeat": lambda r: np.repeat(r, 2)[::2],
    "gather": lambda r: r[[2, 1, 0]][[2, 1, 0]],
    "diagonal": lambda r: np.diag(sd.diag(r)),
    "triangle": lambda r: sd.tril(sd.eye(3) * r).sum(axis=0),
    "pad": lambda r: sd.concatenate([r, np.zeros(2)])[:3],
    "reshape": lambda r: r.reshape(3, 1).reshape(3),
    "max": lambda r: sd.max(sd.stack([r, r - 1]), axis=0),
    "norm": lambda r: sd.norm(r.reshape(3, 1), axis=1),
    "prod": lambda r: sd.prod(sd.stack([r, np.ones(3)]), axis=0),
    "logsumexp": lambda r: sd.logsumexp(r.reshape(3, 1), axis=1),
}


@pytest.mark.rows(1)
@pytest.mark.parametrize("way", LINEAR_WAYS)
def test_strong_zeros_pass_through_array_operations(way: str) -> None:
    """sqrt has an infinite slope at 0; a where behind other operations still silences it."""
    x = sd.vector("x", 3)
    f = sd.where(x > 0, LINEAR_WAYS[way](np.sqrt(x)), 0.0)
    want = np.array([0.0, 0.5, 0.25]) * (2.0 if way == "scale" else 1.0)
    at = [0.0, 1.0, 4.0]
    np.testing.assert_allclose(compute(sd.gradient(f.sum(), x), x=at), want)
    np.testing.assert_allclose(compute(sd.jacobian(f, x), x=at), np.diag(want))
    for i, direction in enumerate(np.eye(3)):
        np.testing.assert_allclose(compute(sd.jvp(f, x, direction), x=at)[i], want[i])


@pytest.mark.rows(1)
@pytest.mark.parametrize("outer", ["sqrt", "norm", "log", "divide"])
def test_a_branch_outside_which_something_is_infinite(outer: str) -> None:
    """Where no element is taken, the sum does not depend on x, whatever the slope outside is."""
    x = sd.vector("x", 3)
    taken = sd.where(x > 0, x, 0.0)
    total = (taken * np.array([1.0, 2.0, 3.0])).sum()
    choices: dict[str, Any] = {
        "sqrt": lambda: np.sqrt(total),
        "norm": lambda: sd.norm(sd.stack([np.sqrt(total), np.sqrt(total)])),
        "log": lambda: np.log(total),
        "divide": lambda: 1 / total,
    }
    f = choices[outer]()
    at = [0.0, -1.0, -2.0]
    np.testing.assert_array_equal(compute(sd.gradient(f, x), x=at), np.zeros(3))
    assert compute(sd.jvp(f, x, [1.0, 2.0, 3.0]), x=at) == 0
    np.testing.assert_array_equal(compute(sd.hessian(f, x), x=at), np.zeros((3, 3)))


@pytest.mark.parametrize("op", ["max", "min"])
def test_what_a_maximum_passes_over_does_not_show(op: str) -> None:
    x = sd.vector("x", 3)
    sign = 1.0 if op == "max" else -1.0
    f = sd.function(op)(sign * np.sqrt(x))
    np.testing.assert_allclose(compute(sd.gradient(f, x), x=[0.0, 1.0, 4.0]), [0, 0, sign * 0.25])
    assert compute(sd.jvp(f, x, [1.0, 1.0, 1.0]), x=[0.0, 1.0, 4.0]) == sign * 0.25
    np.testing.assert_allclose(compute(sd.hessian(f, x), x=[0.0, 1.0, 4.0]), np.diag([0, 0, -sign / 32]))


GAPS = [(0.0, -30.0, -31.0), (1.0, 31.0, 2.0), (-700.0, 0.0, -650.0), (0.0, -36.0, -36.0), (5.0, 5.0, 4.0)]


@pytest.mark.parametrize("at", GAPS, ids=str)
def test_what_stands_beside_a_large_share_keeps_its_digits(at: tuple[float, ...]) -> None:
    """log(softmax) is -1e-13 where a gap is 30, and 1 - softmax is 1e-13: not what 1 rounds to."""
    x = sd.vector("x", 3)
    with mpmath.workdps(700):
        powers = [mpmath.exp(v) for v in at]
        s = [power / mpmath.fsum(powers) for power in powers]
        rest = [mpmath.fsum(powers[:i] + powers[i + 1 :]) / mpmath.fsum(powers) for i in range(3)]
        logs = [float(mpmath.log(v)) for v in s]
        total = float(mpmath.log(mpmath.fsum(powers)))
        left = [[float(rest[i] if i == j else -s[j]) for j in range(3)] for i in range(3)]
        slope = [[float(s[i] * (rest[i] if i == j else -s[j])) for j in range(3)] for i in range(3)]
    for backend in ("numpy", "native"):
        values = sd.compile([sd.log(sd.softmax(x)), sd.log_softmax(x), sd.logsumexp(x)], [x], backend=backend)(at)
        for got, want in zip(values, (logs, logs, total), strict=True):
            np.testing.assert_allclose(got, want, rtol=4e-15, atol=0)
    native = sd.compile(
        [sd.jacobian(sd.log(sd.softmax(x)), x), sd.jacobian(sd.softmax(x), x), sd.hessian(sd.logsumexp(x), x)],
        [x],
        backend="native",
    )
    for got, want in zip(native(at), (left, slope, slope), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=0)


def test_log_of_softmax_is_exact_in_every_spelling() -> None:
    a, b, c = sp.symbols("a b c")
    X, y = sd.matrix("X", 2, 4), sd.vector("y", 4)
    data = (np.array([[1.0, 2, 3, 4], [0.5, -1, 2, -3]]), np.array([3.0, 2, 4, 2.5]))
    gap = float(data[0][1] @ data[1] - data[0][0] @ data[1])
    for formula in ("log(softmax(X @ y))", sd.log(sd.softmax(X @ y)), lambda X, y: np.log(sd.softmax(X @ y))):
        kernel = sd.compile(formula, X=(2, 4), y=4) if not isinstance(formula, Array) else sd.compile(formula, [X, y])
        np.testing.assert_allclose(kernel(*data)[0], -np.log1p(np.exp(gap)), rtol=1e-14)
    two = sp.log(sp.exp(a) / (sp.exp(a) + sp.exp(b)))
    np.testing.assert_allclose(sd.compile(two)(0.0, -30.0), -np.log1p(np.exp(-30.0)), rtol=1e-14)
    three = sp.log(sp.exp(a) / (sp.exp(a) + sp.exp(b) + sp.exp(c)))
    want = -np.log1p(np.exp(-30.0) + np.exp(-31.0))
    np.testing.assert_allclose(sd.compile(three)(0.0, -30.0, -31.0), want, rtol=1e-14)


def test_a_kink_is_the_mean_of_the_sides() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    assert compute(sd.gradient(abs(x), x), x=0.0) == 0
    assert compute(sd.gradient(np.maximum(x, y), x), x=1.0, y=1.0) == 0.5
    assert compute(sd.gradient(np.minimum(x, y), y), x=1.0, y=1.0) == 0.5
    assert compute(sd.gradient(sd.relu(x), x), x=0.0) == 0.5
    assert compute(sd.gradient(np.clip(x, 0.0, 1.0), x), x=1.0) == 0.5
    assert compute(sd.gradient(sd.where(x >= 0, x, 3 * x), x), x=0.0) == 1.0


def test_what_is_not_offered_is_refused_by_name() -> None:
    A = sd.matrix("A", 3, 3)
    with pytest.raises(UnsupportedError, match="norm with ord=3"):
        sd.norm(A, ord=3)
    with pytest.raises(UnsupportedError, match="eigenvalues"):
        np.linalg.eigvals(A)
    x = sd.scalar("x")
    with pytest.raises(NotDifferentiableError, match="polygamma"):
        sd.gradient(Array(graph.elementwise("polygamma", (x.node, graph.constant(2.0)))), x)


def test_cholesky_reads_what_its_derivative_says() -> None:
    """Value and derivative read the lower triangle alone, whatever stands above it."""
    A = sd.matrix("A", 3, 3)
    e = draw(M33, 50)
    got = compute(sd.jvp(sd.cholesky(A), A, e), A=spd)
    h = 1e-6
    want = (linalg.cholesky(spd + h * e, lower=True) - linalg.cholesky(spd - h * e, lower=True)) / (2 * h)
    np.testing.assert_allclose(got, want, atol=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_high_powers_of_norms_are_smooth_at_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = [2.5, 3, 4, 5, 6, 7, 49][rng.integers(7)]
    q = p * [1, 1.5, 2, 1.25][rng.integers(4)]
    weights, scale, other = rng.uniform(0.5, 2.0, 3), rng.uniform(-2, 2), rng.normal(size=3)
    x = sd.vector("x", 3)
    f = scale * sd.norm(weights * x, p) ** q + sd.sum(other * x)
    gradient = sd.compile(sd.gradient(f, x))
    np.testing.assert_allclose(gradient(np.zeros(3)), other, rtol=1e-14)
    point = rng.normal(size=3)
    size = np.abs(weights * point)
    slope = scale * q * np.sum(size**p) ** (q / p - 1) * size ** (p - 1) * np.sign(point) * weights
    np.testing.assert_allclose(gradient(point), slope + other, rtol=1e-11)


def test_roots_of_what_may_be_negative_keep_their_domain() -> None:
    x = sd.scalar("x")
    for f in ((x**3) ** 0.5, x**0.5):
        assert np.isnan(sd.compile(f**4)(-2.0))


IMPOSSIBLE = [
    "logsumexp([-inf, -inf + x[0]])", "logsumexp(a + x)", "logsumexp([logsumexp(a + x), 1])",
    "logsumexp(concatenate([a + x, a - x]))", "exp(logsumexp(a*2 + x)) + logsumexp([x[0] + a[0], 0])",
]  # fmt: skip


@pytest.mark.parametrize("text", IMPOSSIBLE)
@pytest.mark.parametrize("size", [2, 3, 40])
@pytest.mark.parametrize("backend", ["interpreter", "native", "numpy"])
def test_what_is_impossible_has_no_share(text: str, size: int, backend: Any) -> None:
    """Logarithms of probabilities that are all 0, as of a path in a hidden Markov model that no transition leads to."""
    for wanted in (f"gradient({text}, x)", f"hessian({text}, x)"):
        kernel = sd.compile([wanted, "0*sum(a)"], ["a", "x"], a=size, x=size, backend=backend)
        assert not np.any(kernel(np.full(size, -np.inf), np.linspace(0.5, 1.0, size))[0])
