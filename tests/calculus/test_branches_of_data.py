"""Families of functions, loops and rows of data that a condition leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff import Array
from symdiff.graph import BOOL
from symdiff.graph.scalars.functions import FUNCTIONS, Partial, apply
from tests.calculus.test_branches import SCALARS, compute, derive, is_offered, same

#: Families of functions, whose first argument is an order: its domain is a point.
ORDERED = tuple(name for name, row in FUNCTIONS.items() if row.domain[0][0] == row.domain[0][1])


# ---------------------------------------------------------------------------- orders of families of functions


@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
def test_orders_stay_numbers_through_simplification(backend: str) -> None:
    """A power's slope by its exponent holds an order, which may be repeated or reshaped with the rest."""
    k = sd.compile("hessian((3 - x[0])**(2 - x[0]), x)", x=1, backend=backend)
    x, h = 0.5, 1e-4
    f = [(3 - t) ** (2 - t) for t in (x - h, x, x + h)]
    np.testing.assert_allclose(k([x]), [[(f[0] - 2 * f[1] + f[2]) / h**2]], rtol=1e-6)
    k = sd.compile("hessian(sum([a, (0.5 + abs(b))**y, c]), y)", a=(), b=(), y=(), c=(), backend=backend)
    np.testing.assert_allclose(k(1.0, 2.0, 0.4, 2.0), 2.5**0.4 * np.log(2.5) ** 2)
    k = sd.compile("derivative(cumsum(sinc(x)), x, 2)", x=3, backend=backend)
    second = np.diagonal(np.diagonal(k([0.1, 0.2, 0.3]), axis1=1, axis2=2), axis1=0, axis2=1)
    t = np.array([0.1, 0.2, 0.3])
    want = [(np.sinc(v - h) - 2 * np.sinc(v) + np.sinc(v + h)) / h**2 for v in t]
    np.testing.assert_allclose(second, want, rtol=1e-5)


@pytest.mark.parametrize("name", [n for n in SCALARS if n not in ORDERED])
@pytest.mark.parametrize("way", ["one of a stack", "cumulative sum"])
def test_third_derivatives_of_functions_inside_arrays(name: str, way: str) -> None:
    """What is shaped and stacked around a function has its derivatives, of any order."""
    row = FUNCTIONS[name]
    x = sd.vector("x", 1)
    low, high = row.domain[0]
    args: list[Any] = [x[0], *(0.5 * (a + b) + 0.01 * x[0] for a, b in row.domain[1:])]
    for i, rule in enumerate(row.partials):
        if rule is Partial.ABSENT or not is_offered(name, i, 3):  # a number: there is no derivative with respect to it
            args[i] = sd.asarray(0.5 * sum(row.domain[i]))
    inside = Array(apply(name, *(a.node for a in args)))
    f = {
        "one of a stack": lambda: sd.stack([x[0], inside, x[0]])[1],
        "cumulative sum": lambda: sd.cumsum(sd.stack([0.0 * x[0], inside]))[1],
    }[way]()
    at = [0.3 * low + 0.7 * high]
    got = compute([sd.derivative(f, x, 3, disconnected="zero")], [x], [at])[0]
    want = compute([sd.derivative(inside, x, 3, disconnected="zero")], [x], [at])[0]
    np.testing.assert_allclose(got.ravel(), want.ravel(), rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------------------- data that a condition leaves out


@pytest.mark.parametrize("backend", ["numpy", "interpreter", "native"])
def test_rows_of_data_that_are_left_out_may_be_nan(backend: str) -> None:
    text = "sum(where(m > 0, (X @ w - y)**2, 0))"
    shapes: dict[str, Any] = {"m": 3, "X": (3, 2), "w": 2, "y": 3}
    parts = [text, f"gradient({text}, w)", f"hessian({text}, w)", f"jvp({text}, w, [1, 2])", f"gradient({text}, X)"]
    kernel = sd.compile(parts, **shapes, backend=backend)
    m, w, y = np.array([1.0, 0.0, 1.0]), np.array([1.0, 2.0]), np.array([0.5, np.nan, -1.0])
    X = np.array([[1.0, 2.0], [np.nan, np.inf], [3.0, -1.0]])
    value, slope, curvature, along, data = kernel(m, X, w, y)
    seen, rest = X[[0, 2]], X[[0, 2]] @ w - y[[0, 2]]
    np.testing.assert_allclose(value, rest @ rest, rtol=1e-14)
    np.testing.assert_allclose(slope, 2 * seen.T @ rest, rtol=1e-14)
    np.testing.assert_allclose(curvature, 2 * seen.T @ seen, rtol=1e-14)
    np.testing.assert_allclose(along, 2 * rest @ seen @ [1, 2], rtol=1e-14)
    np.testing.assert_allclose(data, [2 * rest[0] * w, [0, 0], 2 * rest[1] * w], rtol=1e-14)


# ---------------------------------------------------------------------------- data left out, by operation

X_, t_ = sd.matrix("X", 3, 4), sd.vector("t", 3)
#: Functions of the rows of a matrix, each row by itself.
ROWS: dict[str, Callable[[], Array]] = {
    "sort": lambda: sd.sort(X_, axis=1),
    "cumprod": lambda: sd.cumprod(X_, axis=1),
    "cumsum": lambda: sd.cumsum(X_ * X_, axis=1) ** 2,
    "median": lambda: sd.median(X_, axis=1)[:, None],
    "softmax": lambda: sd.softmax(X_, axis=1),
    "logsumexp": lambda: sd.logsumexp(X_, axis=1)[:, None],
    "norm": lambda: sd.norm(X_, axis=1)[:, None],
    "variance": lambda: sd.var(X_, axis=1)[:, None],
    "standardized": lambda: sd.standardize(X_, axis=1),
    "product": lambda: sd.prod(X_, axis=1)[:, None],
    "maximum": lambda: sd.max(X_, axis=1)[:, None],
    "differences": lambda: sd.diff(X_ * X_, axis=1),
    "padded": lambda: sd.pad(X_ * X_, ((0, 0), (1, 1))),
    "trapezoid": lambda: sd.trapezoid(X_ * X_, axis=1)[:, None],
    "columns": lambda: (X_ * X_)[:, [0, 2]],
    "product of matrices": lambda: (X_ * X_) @ np.arange(16.0).reshape(4, 4),
    "square": lambda: sd.einsum("ij,ij->i", X_, X_)[:, None],
    "convolution": lambda: sd.stack([sd.convolve(X_[i], X_[i]) for i in range(3)]),
    "outer products": lambda: sd.stack([sd.kron(X_[i], X_[i]) for i in range(3)]),
    "interpolation": lambda: sd.stack([sd.interp([0.5, 0.6], sd.sort(X_[i]), X_[i]) for i in range(3)]),
    "density": lambda: sd.sum(sd.stats.norm.logpdf(X_, 0.0, X_ + 2.0), axis=1)[:, None],
    "determinant": lambda: sd.det(sd.reshape(X_, (3, 2, 2)))[:, None],
    "inverse": lambda: sd.inv(sd.reshape(X_, (3, 2, 2)))[:, 0],
    "eigenvalues": lambda: sd.eigvalsh(sd.reshape(X_, (3, 2, 2))),
    "matrix product": lambda: sd.reshape(X_, (3, 2, 2))[:, 0] @ np.ones((2, 2)) * X_[:, :2],
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_a_condition_leaves_out_may_be_anything(name: str) -> None:
    """Inputs themselves, not quotients: nan, infinite, and 0 where the function is singular."""
    rows = ROWS[name]()
    f = sd.where(t_[:, None] > 0, rows, sd.sum(t_ * t_))
    results = derive(f, [X_, t_])
    good = np.random.default_rng(5).uniform(0.2, 0.9, (3, 4))
    taken = np.array([1.0, 1.0, -1.0])
    want = compute(list(results.values()), [X_, t_], [good, taken])
    for poison in (np.nan, np.inf, 0.0):
        bad = np.where(taken[:, None] > 0, good, poison)
        same(compute(list(results.values()), [X_, t_], [bad, taken]), want, list(results))


@pytest.mark.parametrize("part", ["last", "rows"])
def test_a_loop_that_is_not_taken_is_not_looked_at(part: str) -> None:
    x, s, c = sd.vector("x", 4), sd.scalar("s"), sd.scalar("c")
    last, rows = sd.scan(lambda h, v: (sd.tanh(h * v) / v, h / v), s, x)
    f, plain = sd.where(c > 0, last if part == "last" else rows, sd.sum(x) * s), sd.sum(x) * s
    plain = plain + sd.zeros(f.shape)
    results, want = derive(f, [x, s]), derive(plain, [x, s])
    for at in (0.0, 2.0):
        values = [np.full(4, at), np.array(3.0), -1.0]
        got = compute(list(results.values()), [x, s, c], values)
        same(got, compute(list(want.values()), [x, s, c], values), list(results))


def test_masks_are_joined_as_logic_has_it() -> None:
    """The conditions of nested branches, joined in any order, hold where logic says."""
    from symdiff.calculus.masking import both, either
    from symdiff.graph import elementwise

    rng = np.random.default_rng(2)
    symbols = [sd.vector(n, 8) for n in "pqr"]
    literals = [(s > 0).node for s in symbols]
    literals += [elementwise("logical_not", (m,), BOOL) for m in literals]
    values = [np.array([1.0 if k >> b & 1 else -1.0 for k in range(8)]) for b in range(3)]
    table = [v > 0 for v in values] + [v <= 0 for v in values]
    for _ in range(400):
        mask, right = None, np.zeros(8, bool)
        for k in range(rng.integers(1, 7)):
            chosen = rng.integers(0, 6, rng.integers(1, 4))
            term = None
            for i in chosen:
                term = both(term, literals[i])
            right |= np.all([table[i] for i in chosen], axis=0)
            mask = term if k == 0 else either(mask, term)
        got = True if mask is None else compute([sd.where(Array(mask), 1.0, 0.0)], symbols, values)[0] > 0
        assert np.array_equal(np.broadcast_to(got, 8), right)
