"""Forms that are 0 / 0, or cancel, far out or at 0, and the functions that they are: tails, areas, Bessel functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd

BACKENDS = ("interpreter", "numpy", "native")


def _compare(
    text: str, f: Callable[[Any], Any], points: list[float], backend: str, rtol: float, atol: float = 1e-290
) -> None:
    """Compare a formula of x and two derivatives with differences of 60 digits."""
    kernels = [sd.compile(f"derivative({text}, x, {n})" if n else text, backend=backend, x=()) for n in range(3)]
    for point in points:
        with mp.workdps(200):
            at = mp.mpf(point) + (mp.mpf(10) ** -60 if point == 0 else 0)
            right = [float(c * mp.factorial(n)) for n, c in enumerate(mp.taylor(f, at, 2))]
        got = [float(kernel(point)) for kernel in kernels]
        np.testing.assert_allclose(got, right, rtol=rtol, atol=atol, err_msg=f"{text} at {point}")


def _number(rng: np.random.Generator) -> float:
    return float(rng.integers(1, 9)) / float(rng.choice([1.0, 2.0, 4.0]))


def _root_beside(rng: np.random.Generator) -> tuple[str, Callable[[Any], Any], list[float]]:
    c, k = _number(rng), _number(rng)
    u = str(rng.choice(["x", f"{k} * x", f"x / {k}"]))
    factor = {"x": 1.0, f"{k} * x": k, f"x / {k}": 1 / k}[u]
    square = str(rng.choice([f"({u})**2", f"({u}) * ({u})"]))
    side, minus = rng.choice([1, -1]), rng.random() < 0.3
    inside = f"{square} - {c}" if minus else str(rng.choice([f"{square} + {c}", f"{c} + {square}"]))
    root = str(rng.choice([f"sqrt({inside})", f"({inside})**0.5"]))
    text = f"log({u} + {root})" if side > 0 else f"log({root} - ({u}))" if rng.random() < 0.6 else f"log({u} - {root})"
    minus_root = text.endswith(f"- {root})")

    def f(x: Any) -> Any:
        a = x * mp.mpf(factor)
        b = mp.sqrt(a * a + (-c if minus else c))
        return mp.log(a + b if side > 0 else a - b if minus_root else b - a)

    if minus:
        return text, f, [100.0, 1e3, 1e12] if side > 0 or minus_root else [-100.0, -1e3, -1e12]
    return text, f, [] if minus_root else [3.0, -2.0, 1e5, -1e7, 1e12, -1e12, 1e-9]


@pytest.mark.parametrize("seed", range(24))
def test_logarithms_of_a_root_beside_what_it_is_of(seed: int) -> None:
    text, f, points = _root_beside(np.random.default_rng(seed))
    _compare(text, f, points, BACKENDS[seed % 3], rtol=1e-10, atol=1e-15)


def _tail(rng: np.random.Generator) -> tuple[str, Callable[[Any], Any], list[float]]:
    s, m = _number(rng), _number(rng)
    u = str(rng.choice(["x", f"(x - {m}) / {s}", f"{s} * x"]))
    number: Callable[[Any], Any] = {"x": lambda x: x, f"{s} * x": lambda x: s * x}.get(u, lambda x: (x - m) / s)
    extra = str(rng.choice(["", " + x / 8"]))
    kind = int(rng.integers(0, 5))
    a, b = f"-({u})**2 / 2{extra}", f"({u})**2{extra}"
    text = [
        f"exp({a}) / ndtr({u})",
        f"exp({a}) / sqrt(2 * pi) / (1 - ndtr({u}))",
        f"3 * exp({b}) * erfc({u})",
        f"exp(-({u})**2) / erfc({u})",
        f"ndtr(-({u})) * exp(({u})**2 / 2)",
    ][kind]

    def add(x: Any) -> Any:
        return x / 8 if extra else mp.mpf(0)

    def f(x: Any) -> Any:
        t = number(x)
        cdf = mp.erfc(-t / mp.sqrt(2)) / 2
        return [
            lambda: mp.exp(-t * t / 2 + add(x)) / cdf,
            lambda: mp.exp(-t * t / 2 + add(x)) / mp.sqrt(2 * mp.pi) / (mp.erfc(t / mp.sqrt(2)) / 2),
            lambda: 3 * mp.exp(t * t + add(x)) * mp.erfc(t),
            lambda: mp.exp(-t * t) / mp.erfc(t),
            lambda: mp.erfc(t / mp.sqrt(2)) / 2 * mp.exp(t * t / 2),
        ][kind]()

    far = [-1.0, -8.0, -60.0] if kind == 0 else [1.0, 8.0, 60.0]
    return text, f, [0.3, *far]


@pytest.mark.rows(1)
@pytest.mark.parametrize("seed", range(20))
def test_tails_beside_their_densities(seed: int) -> None:
    text, f, points = _tail(np.random.default_rng(seed))
    _compare(text, f, points, BACKENDS[seed % 3], rtol=1e-8)


def test_the_inverse_mills_ratio_of_densities() -> None:
    x = sd.scalar("x")
    ratio = sd.stats.norm.pdf(x) / sd.stats.norm.cdf(x)
    values = sd.compile([ratio, sd.gradient(ratio, x)], [x], backend="interpreter")(-1e4)
    np.testing.assert_allclose(values, [1e4, -1.0], rtol=1e-7)
    a, t = sd.scalar("a"), sd.scalar("t")
    heat = np.exp(a * a * t) * sd.erfc(a * np.sqrt(t))  # the root of a number squared
    assert abs(float(sd.compile(heat)(3.0, 1e4)) - 1 / (300 * np.sqrt(np.pi))) < 1e-7


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("text", "f"),
    [
        ("j1(x) / x", lambda x: mp.besselj(1, x) / x),
        ("(2 * j1(3 * x) / (3 * x))**2", lambda x: (2 * mp.besselj(1, 3 * x) / (3 * x)) ** 2),
        ("i1(x) / x", lambda x: mp.besseli(1, x) / x),
        ("x / i1(2 * x)", lambda x: x / mp.besseli(1, 2 * x)),
        ("j1(x) / sin(x)", lambda x: mp.besselj(1, x) / mp.sin(x)),
    ],
)
def test_bessel_functions_over_what_they_vanish_with(text: str, f: Callable[[Any], Any], backend: str) -> None:
    _compare(text, f, [0.5, -1.1, 1e-3, -2.5], backend, rtol=2e-10)
    value, slope, bend = (sd.compile(f"derivative({text}, x, {n})" if n else text, backend=backend) for n in range(3))
    with mp.workdps(200):
        right = [float(c * mp.factorial(n)) for n, c in enumerate(mp.taylor(f, mp.mpf(10) ** -60, 2))]
    np.testing.assert_allclose([value(0.0), slope(1e-20), bend(1e-9)], right, rtol=1e-12, atol=1e-18)


#: Functions of a length r that have a second derivative where r is 0, and their value there.
SMOOTH: list[Callable[[Any], Any]] = [
    lambda r: (1 + np.sqrt(3.0) * r) * np.exp(-np.sqrt(3.0) * r),
    lambda r: (1 + 2 * r) * np.exp(-2 * r),
    lambda r: (1 + np.sqrt(5.0) * r + 5 / 3 * r**2) * np.exp(-np.sqrt(5.0) * r),
    lambda r: (3 + 3 * r + r**2) * np.exp(-r),
    lambda r: r**3,
    lambda r: r * r * np.log1p(r),
    lambda r: r**4 - r**3,
]


@pytest.mark.parametrize("which", range(len(SMOOTH)))
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
def test_second_derivatives_of_lengths_of_rows_at_0(which: int, backend: str) -> None:
    """A kernel of distances has a diagonal of zeros, whatever the points are."""
    rng = np.random.default_rng(which)
    X = sd.matrix("X", 4, 3)
    for lengths in (np.linalg.norm(X[:, None] - X[None], axis=-1), np.sqrt(np.sum(X**2, axis=1))):
        total = np.sum(SMOOTH[which](lengths) * rng.normal(size=lengths.shape))
        f = sd.compile([sd.gradient(total, X), sd.hessian(total, X)], [X], backend=backend)
        points = rng.normal(size=(4, 3))
        points[0] = 0.0
        points[2] = points[1]
        along = rng.normal(size=(4, 3))
        slopes = [f(points + side * 1e-5 * along)[0] for side in (1, -1)]
        hessian = np.tensordot(f(points)[1], along, 2)
        np.testing.assert_allclose(hessian, (slopes[0] - slopes[1]) / 2e-5, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("symmetric", [True, False])
def test_products_of_equal_eigenvalues_have_derivatives(n: int, symmetric: bool) -> None:
    rng = np.random.default_rng(n)
    for size in (n, "n"):
        A = sd.matrix("A", size, size, symmetric=symmetric)
        product = np.prod(np.linalg.eigvalsh(A))
        f = sd.compile([product, sd.gradient(product, A), sd.hessian(product, A)], [A], backend="interpreter")
        for point in (2.0 * np.eye(n), np.diag([3.0] * (n - 1) + [1.0]), np.ones((n, n))):
            along = rng.normal(size=(n, n))
            along = along + along.T if symmetric else along
            value, slope, bend = f(point)
            np.testing.assert_allclose(value, np.prod(np.linalg.eigvalsh(point)), rtol=1e-9, atol=1e-12)
            ends = [f(point + side * 1e-5 * along) for side in (1, -1)]
            right = [(ends[0][k] - ends[1][k]) / 2e-5 for k in (0, 1)]
            np.testing.assert_allclose((slope * along).sum(), right[0], rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(np.tensordot(bend, along, 2), right[1], rtol=1e-6, atol=1e-6)
