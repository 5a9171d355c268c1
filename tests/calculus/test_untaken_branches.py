"""Branches that are not taken, and rows that are left out: nothing of them comes through, nan or singular."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff import Array

#: A formula, a point, and what is right there.
VALUES = [
    ("gradient(where(x < 0, exp(x), 1), x)", 1000.0, 0.0),
    ("hessian(where(x < 0, exp(x), 1), x)", 1000.0, 0.0),
    ("gradient(where(x > 0, x, exp(x) - 1), x)", -2.0, math.exp(-2.0)),
    ("gradient(where(x > 0, x, exp(-x) - 1), x)", 1000.0, 1.0),
    ("gradient(where(abs(x) < 10, log(cosh(x)), abs(x) - log(2)), x)", 1000.0, 1.0),
    ("hessian(where(x > 0, norm([x, 0*x]), x), x)", 0.0, 0.0),
    ("log(1 - sigmoid(x))", 800.0, -800.0),
    ("log1p(-sigmoid(x))", 800.0, -800.0),
    ("gradient(log1p(-sigmoid(x)), x)", 800.0, -1.0),
    ("x > 0", 2.0, 1.0),
]


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(("text", "x", "right"), VALUES, ids=[text for text, _, _ in VALUES])
def test_value(text: str, x: float, right: float, backend: str) -> None:
    np.testing.assert_allclose(sd.compile(text, backend=backend)(x), right, rtol=1e-14)


def test_a_large_power_is_written_with_its_parts_shared() -> None:
    a = sp.MatrixSymbol("A", 3, 3)
    assert len(str(sd.jacobian(a ** (10**9), a))) < 20_000


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["auto", "numpy", "native"])
def test_a_free_index_is_refused(backend: str) -> None:
    a, (i, j) = sp.MatrixSymbol("A", 3, 3), sp.symbols("i j", integer=True)
    with pytest.raises(sd.UnsupportedError, match="index i"):
        sd.compile(a[i, j], backend=backend)


@pytest.mark.parametrize("given", [[1.0], {1: 2.0}])
def test_inputs_that_are_no_names_are_refused(given: Any) -> None:
    with pytest.raises(sd.ArgumentError):
        sd.compile("x * 2")(inputs=given)


def test_an_order_beyond_the_limit_is_refused() -> None:
    with pytest.raises(sd.UnsupportedError, match="100"):
        sd.compile("polygamma(101, x)", backend="numpy")(2.5)


# ---------------------------------------------------------------------------- untaken matrices
# Matrices that need not exist in a branch that is not taken, where a derivative asks which of their elements count.


FORMS = [
    "cond(A, 1)",
    "cond(A, -1)",
    "cond(A, inf)",
    "max(sum(abs(inv(A)), axis=0)) * max(solve(A, x))",
    "max(inv(A) @ inv(A + eye(3) * 0) @ x)",
    "norm(inv(A), 1)",
    "norm(inv(A), inf)",
    "max(abs(inv(A)))",
    "min(inv(A) @ x)",
    "sum(maximum(inv(A) @ x, 0))",
    "sum(clip(solve(A, x), -1, 1))",
    "sum(where(inv(A) > 0, inv(A)**2, 0))",
]


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
@pytest.mark.parametrize("form", FORMS)
def test_a_singular_matrix_in_a_branch_not_taken(form: str, backend: str) -> None:
    text = f"where(t > 0, {form}, sum(A))"
    shapes = {"A": (3, 3), "x": 3, "t": ()}
    parts = [text, f"gradient({text}, A)", f"gradient(gradient({text}, A)[0, 1], A)"]
    kernel = sd.compile(parts, inputs=["A", "x", "t"], backend=backend, **shapes)
    rng = np.random.default_rng(2)
    A, x = rng.normal(size=(3, 3)), np.array([0.4, -1.0, 0.7])
    taken = kernel(A, x, 1.0)
    assert all(np.isfinite(part).all() for part in taken)
    assert np.abs(taken[1]).max() > 0
    for singular in (np.zeros((3, 3)), np.ones((3, 3)), np.full((3, 3), np.nan)):
        value, slope, *second = kernel(singular, x, -1.0)
        np.testing.assert_array_equal(value, singular.sum())
        np.testing.assert_array_equal(slope, np.ones((3, 3)))
        assert not np.any(second)
    with pytest.raises(sd.SingularMatrixError):
        kernel(np.zeros((3, 3)), x, 1.0)
    mixed = kernel(np.stack([np.zeros((3, 3)), A]), x, np.array([-1.0, 1.0]))
    for part, own in zip(mixed, taken, strict=True):
        np.testing.assert_allclose(part[1], own, rtol=1e-12)
        assert np.isfinite(part[0]).all()


PARTS = {
    "cond": "cond(A, 1)",
    "inverse": "sum(inv(A)**2)",
    "norm": "norm(inv(A) @ x)",
    "logdet": "logdet(A @ A.T)",
    "power": "trace(matrix_power(A, -2))",
    "least squares": "sum(pinv(A)**2)",
    "spectrum": "sum(svdvals(A)**3)",
}


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("outer", ["maximum", "minimum"])
@pytest.mark.parametrize("first", PARTS)
def test_products_of_maxima_over_branches_not_taken(first: str, outer: str, backend: str) -> None:
    """The condition of such a gradient is that of one maximum or of the other: both stand in the branch."""
    for second in PARTS.values():
        one, other = (f"{outer}({k} * t, where(t > 0, {form}, -1.0))" for k, form in ((1, PARTS[first]), (2, second)))
        text = f"{one} * {other}"
        parts = [text, f"gradient({text}, A)", f"gradient(gradient({text}, A)[0, 1], A)", f"gradient({text}, t)"]
        kernel = sd.compile(parts, inputs=["A", "x", "t"], A=(3, 3), x=3, t=(), backend=backend)
        expected = (1.0, 0.0) if outer == "maximum" else (4.5, 6.0)
        for singular in (np.zeros((3, 3)), np.full((3, 3), np.nan), np.full((3, 3), np.inf)):
            value, slope, bend, rate = kernel(singular, np.zeros(3), -1.5)
            assert (value, rate) == (expected[0], -expected[1])
            assert not slope.any()
            assert not bend.any()


#: What chooses among elements, some of which are of a branch.
CHOOSING = {
    "clip": "sum(clip({}, 0, 1))",
    "max": "max({})",
    "maximum": "sum(maximum({}, 0.1))",
    "sort": "sort({})[2]",
    "median": "median({})",
    "norm": "norm({}, ord=inf)",
    "running": "cummax({})[2]",
}


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize(
    "made", ["inv(A) @ p", "solve(A, p)", "pinv(A) @ p", "cholesky(A) @ p", "solve_triangular(A, p)"]
)
@pytest.mark.parametrize("choosing", CHOOSING)
def test_a_choice_among_elements_of_a_branch(choosing: str, made: str, backend: str) -> None:
    text = CHOOSING[choosing].format(f"where(r > 0, {made}, 2 * p)")
    parts = [text, f"gradient({text}, A)", f"gradient({text}, p)", f"gradient(gradient({text}, p) @ [1, 2, 3], p)"]
    kernel = sd.compile(parts, inputs=["A", "p", "r"], A=(3, 3), p=3, r=3, backend=backend)
    p = np.array([0.3, 0.45, 0.2])
    value, by_matrix, *others = kernel(np.zeros((3, 3)), p, np.zeros(3))
    assert np.isfinite(value)
    np.testing.assert_array_equal(by_matrix, 0.0)
    assert all(np.isfinite(part).all() for part in others)
    A, r = np.array([[1.3, 0.2, 0.1], [0.2, 1.1, 0.3], [0.1, 0.3, 0.9]]), np.array([1.0, -1.0, 1.0])
    _, by_matrix, by_p, _ = kernel(A, p, r)
    h = 1e-6
    for i in range(3):
        step = np.zeros(3)
        step[i] = h
        assert by_p[i] == pytest.approx((kernel(A, p + step, r)[0] - kernel(A, p - step, r)[0]) / (2 * h), abs=1e-7)
        move = np.zeros((3, 3))
        move[i] = move[:, i] = h  # symmetric, since cholesky reads one triangle
        change = (kernel(A + move, p, r)[0] - kernel(A - move, p, r)[0]) / (2 * h)
        assert (by_matrix * move).sum() / h == pytest.approx(change, abs=1e-6)


# ---------------------------------------------------------------------------- untaken rows
# Rows that a condition leaves out, through random chains of operations: they may be nan, infinite or singular.


X, Z, W = sd.matrix("X", 3, 4), sd.matrix("Z", 3, 4), sd.matrix("W", 4, 4)
w, m = sd.vector("w", 4), sd.vector("m", 3)


def four(h: Array) -> Array:
    """Return four columns of what may have others, the first ones again where it has fewer."""
    k = int(h.shape[1])
    return h[:, :4] if k >= 4 else sd.concatenate([h] + [h[:, :1]] * (4 - k), axis=1)


def matrices(h: Array) -> Array:
    return sd.reshape(h, (3, 2, 2))


def row_by_row(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda h: sd.stack([f(h[i]) for i in range(3)])


def in_a_loop(step: Callable[[Array], Array], reverse: bool = False) -> Callable[[Array], Array]:
    return lambda h: sd.scan(lambda c, v: (c, step(v)), 0.0 * w[0], h, reverse=reverse)[1]


#: Functions of a matrix with four columns, each row by itself.
STEPS: dict[str, Callable[[Array], Array]] = {
    "square": lambda h: h * h,
    "logarithm": lambda h: sd.log(h * h + 0.3),
    "quotient": lambda h: w / (h * h + 0.5),
    "power": lambda h: (h * h + 0.1) ** w,
    "product": lambda h: h @ W,
    "two products": lambda h: (h @ W) * (h @ W.T),
    "columns": lambda h: four(h[:, 1:3]),
    "every other column": lambda h: four(h[:, ::2]),
    "turned": lambda h: h[:, ::-1],
    "padded": lambda h: four(sd.pad(h, ((0, 0), (1, 1)))),
    "taken": lambda h: h[:, [0, 2, 2, 1]],
    "repeated": lambda h: four(sd.repeat(h, 2, axis=1)),
    "tiled": lambda h: four(sd.tile(h, (1, 2))[:, 3:]),
    "differences": lambda h: four(sd.diff(h, axis=1)),
    "joined": lambda h: four(sd.concatenate([h, h * h], axis=1)[:, 2:]),
    "cumsum": lambda h: sd.cumsum(h, axis=1),
    "cumprod": lambda h: sd.cumprod(h, axis=1),
    "softmax": lambda h: sd.softmax(h, axis=1),
    "sorted": lambda h: sd.sort(h, axis=1),
    "unit": lambda h: h / sd.norm(h, axis=1)[:, None],
    "sum": lambda h: h * sd.sum(h, axis=1)[:, None],
    "logsumexp": lambda h: h - sd.logsumexp(h, axis=1)[:, None],
    "maximum": lambda h: h / (1.0 + sd.max(h, axis=1)[:, None] ** 2),
    "prod": lambda h: h + sd.prod(h, axis=1)[:, None],
    "standardized": lambda h: sd.standardize(h + w, axis=1),
    "quadratic form": lambda h: h * sd.einsum("ij,jk,ik->i", h, W, h)[:, None],
    "outer": lambda h: sd.reshape(h[:, :2, None] * h[:, None, 2:], (3, 4)),
    "matrices": lambda h: sd.reshape(matrices(h) @ W[:2, :2], (3, 4)),
    "inverses": lambda h: sd.reshape(sd.inv(matrices(h) + 3.0 * np.eye(2)), (3, 4)),
    "triangles": lambda h: sd.reshape(sd.triu(matrices(h) @ matrices(h)), (3, 4)),
    "determinants": lambda h: h * sd.det(matrices(h))[:, None],
    "eigenvalues": lambda h: four(sd.eigvalsh(matrices(h))),
    "loop": in_a_loop(lambda v: v * v / (1.0 + sd.sum(v * v))),
    "loop back": in_a_loop(lambda v: sd.tanh(v @ W), reverse=True),
    "stack": row_by_row(lambda v: v * v.sum()),
    "covariance": row_by_row(lambda v: sd.cov(v, v + w)[0, 0] * v),
    "kron": row_by_row(lambda v: sd.kron(v[:2], v[2:])),
    "convolution": row_by_row(lambda v: sd.convolve(v, w)[:4]),
    "diagonal": row_by_row(lambda v: sd.diag(v) @ w),
    "interpolation": row_by_row(lambda v: sd.interp(w, np.arange(4.0), v)),
    "branch": lambda h: sd.where(h > 0.5, h * h, h / (h + 2.0)),
    "clip": lambda h: sd.clip(h, 0.2, 0.8),
    "transposes": lambda h: (h.T * h.T).T,
}
#: What is made of the rows, and which are left out.
ENDS: list[tuple[Callable[[Array], Array], int]] = [(lambda f: f, 2), (lambda f: f @ W, 1), (lambda f: f[1:], 2)]
SYMBOLS = [X, w, W, m, Z]


def numbers(shape: Sequence[Any], rng: np.random.Generator) -> Any:
    return rng.uniform(0.2, 0.9, [int(n) for n in shape])


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
def test_rows_left_out_are_not_looked_at_through_chains(backend: str) -> None:
    rng = np.random.default_rng(20 if backend == "numpy" else 19)
    order = [name for _ in range(2 if backend == "numpy" else 3) for name in rng.permutation(list(STEPS))]
    while order:
        chain, order = order[:3], order[3:]
        h = X
        for name in chain:
            h = STEPS[name](h)
        end, left = ENDS[rng.integers(len(ENDS))]
        f = end(sd.where(m[:, None] > 0, h, sd.sin(w) + Z))
        total = sd.sum(sd.sin(f))
        results = {"value": f}
        for x in (X, w, W):
            results[f"gradient {x}"] = sd.gradient(total, x, disconnected="zero")
            kind = rng.integers(4)
            if kind == 0:
                results[f"jacobian {x}"] = sd.jacobian(f, x, disconnected="zero")
            elif kind == 1:
                results[f"jvp {x}"] = sd.jvp(f, x, numbers(x.shape, rng), disconnected="zero")
            elif kind == 2:
                results[f"vjp {x}"] = sd.vjp(f, x, numbers(f.shape, rng), disconnected="zero")
            else:
                results[f"hvp {x}"] = sd.hvp(total, x, numbers(x.shape, rng), disconnected="zero")
        kernel = sd.compile(list(results.values()), SYMBOLS, backend=backend)
        good, *rest = (numbers(s.shape, rng) for s in SYMBOLS)
        out = np.arange(3) == left
        rest[2] = np.where(out, -1.0, 1.0)
        want = kernel(good, *rest)
        for poison in (0.0, np.nan, np.inf):
            got = kernel(np.where(out[:, None], poison, good), *rest)
            for name, a, b in zip(results, got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11, err_msg=f"{chain} {name} {poison}")


def test_elements_of_states_that_a_condition_leaves_out() -> None:
    """Of several chains in one loop, one is left out from some step on: its start and its rows do not count."""
    start, rows, gain, counts = sd.vector("s", 2), sd.matrix("R", 4, 2), sd.vector("g", 2), sd.matrix("C", 4, 2)
    written = sd.scan(lambda h, v: (gain * h + v * v,) * 2, start, rows)[1]
    f = sd.where(counts > 0, written, 0.0)
    symbols = [start, rows, gain, counts]
    wanted = [sd.gradient(sd.sum(f * f), x) for x in symbols[:3]]
    wanted += [sd.jvp(f, x, np.ones([int(n) for n in x.shape])) for x in symbols[:3]]
    wanted += [sd.hvp(sd.sum(f * f), rows, np.ones((4, 2)))]
    rng = np.random.default_rng(3)
    good = [numbers(s.shape, rng) for s in symbols[:3]]
    taken = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, -1.0], [-1.0, -1.0]])
    for backend in ("interpreter", "numpy"):
        kernel = sd.compile(wanted, symbols, backend=backend)
        want = kernel(*good, taken)
        bad = np.where(taken > 0, good[1], np.nan)
        for a, b in zip(kernel(good[0], bad, good[2], taken), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        nothing = np.where([[True, False]] * 4, taken, -1.0)
        want = kernel(*good, nothing)
        worse = [np.where([True, False], x, np.inf) for x in good]
        for a, b in zip(kernel(*worse, nothing), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_tangents_through_a_loop_count_where_their_branch_is_taken() -> None:
    """A constant in the branch that is taken, where the loop is singular: the tangent is a strong zero."""
    x = sd.vector("x", 3)
    f = sd.scan(lambda c, v: (c + 1.0 / v, 1.0 / v), 0.0, sd.where(x > 0, x, 0.0))[1]
    for slope in (sd.jvp(f, x, np.ones(3)), sd.vjp(f, x, np.ones(3)), np.diagonal(sd.jacobian(f, x))):
        np.testing.assert_array_equal(sd.compile(slope, [x])([1.0, -1.0, 2.0]), [-1.0, 0.0, -0.25])


@pytest.mark.parametrize("length", [40, 700])
def test_loops_in_segments_leave_steps_out(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from symdiff.calculus import recurrence

    monkeypatch.setattr(recurrence, "KEPT", 30)
    x, s, c = sd.vector("x", length), sd.scalar("s"), sd.vector("c", length)
    written = sd.scan(lambda h, v: (sd.sin(h) + v * v,) * 2, s, x)[1]
    total = sd.sum(sd.where(c > 0, written, 0.0) ** 2)
    rng = np.random.default_rng(1)
    values, counts = rng.uniform(0.1, 0.9, length), np.where(np.arange(length) < length - 3, 1.0, -1.0)
    bad = np.where(counts > 0, values, np.nan)
    kernel = sd.compile([sd.gradient(total, x), sd.gradient(total, s)], [x, s, c])
    for a, b in zip(kernel(bad, 0.3, counts), kernel(values, 0.3, counts), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


# ---------------------------------------------------------------------------- unobserved parts
# What a slice leaves out, and what an order does not choose, is not observed: no nan of it comes through.


#: Functions whose slope at 0 is infinite.
STEEP: dict[str, Callable[[Any], Any]] = {
    "root": np.sqrt,
    "power": lambda x: x**0.3,
    "arc": lambda x: np.arcsin(1 - x),
    "length": lambda x: np.sqrt(x**2 + x),
    "quotient": lambda x: 1 / (1 + np.log1p(x) ** 0.5),
}
#: Numbers made of all but the first of some, each with what it is made of.
UNOBSERVED: dict[str, Callable[[Any], Any]] = {
    "slice": lambda y: y[1:].sum(),
    "element": lambda y: y[1] * y[2],
    "squares": lambda y: (y[1:] ** 2).sum(),
    "neighbours": lambda y: (y[1:-1] * y[2:]).sum(),
    "product": lambda y: y[1:] @ np.cos(y[1:]),
    "gathered": lambda y: y[np.array([1, 2, 2])].sum(),
    "rolled": lambda y: np.roll(y, -1)[:-1].sum(),
    "turned": lambda y: y[::-1][:-1].sum(),
    "padded": lambda y: np.pad(y[1:], 1).sum(),
    "running": lambda y: np.cumsum(y[1:])[-1],
    "rows": lambda y: (np.ones((2, 3)) @ y[1:4]).sum(),
    "row of a product": lambda y: np.outer(y, y)[1, 1:3].sum(),
    "column of a product": lambda y: (y[:, None] * np.cos(y))[1:, 2].sum(),
    "part times an element": lambda y: y[1:].sum() * y[2],
    "part and an element": lambda y: (y[1:] * np.cos(y[2])).sum() + y[3] ** 2,
    "part of a product": lambda y: np.outer(y, y)[1:3, 2:].sum(),
}
#: Numbers that the smallest of some does not reach.
CHOSEN: dict[str, Callable[[Any], Any]] = {
    "sort": lambda y: np.sort(y)[2],
    "several": lambda y: (np.sort(y)[1:] * 2).sum(),
    "weights": lambda y: np.sort(y)[:3] @ np.array([0.0, 1.0, 2.0]),
    "from the top": lambda y: np.sort(y)[::-1][:2].sum(),
    "partition": lambda y: np.partition(y, 2)[2],
    "median": np.median,
    "quantile": lambda y: np.quantile(y, 0.5),
    "largest so far": lambda y: sd.cummax(y)[2] if isinstance(y, sd.Array) else np.maximum.accumulate(y)[2],
}


def check(formula: Callable[[Any], Any], size: Any, backend: Any, at: Any) -> None:
    x = sd.vector("x", size)
    value = sd.asarray(formula(x))
    way = sd.vector("way", size)
    outputs = [sd.gradient(value, x), sd.vjp(value, x, 2.0), sd.hvp(value, x, way)]
    gradient, pulled, curved = sd.compile(outputs, [x, way], backend=backend)(at, np.ones(at.size))
    h = 1e-6
    wanted = np.zeros(at.size)
    for i in range(1, at.size):  # the first does not count, and differences cannot go below 0
        step = np.zeros(at.size)
        step[i] = h
        wanted[i] = (formula(at + step) - formula(at - step)) / (2 * h)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(pulled, 2 * gradient, rtol=1e-12)
    assert gradient[0] == 0.0
    assert curved[0] == 0.0
    assert np.isfinite(curved).all()


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("size", [5, "n", 40])
@pytest.mark.parametrize("steep", STEEP)
def test_what_a_slice_leaves_out(steep: str, size: Any, backend: Any) -> None:
    at = np.r_[0.0, np.linspace(0.3, 0.9, (40 if size == 40 else 5) - 1)]
    for part in UNOBSERVED.values():
        check(lambda x, part=part: part(STEEP[steep](x)), size, backend, at)  # type: ignore[misc]


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("size", [5, "n"])
@pytest.mark.parametrize("steep", ["root", "power", "length"])
def test_what_an_order_does_not_choose(steep: str, size: Any, backend: Any) -> None:
    at = np.array([0.0, 0.5, 0.7, 0.9, 0.3])
    for name, choice in CHOSEN.items():
        if size == "n" and name in ("weights", "from the top"):
            continue
        check(lambda x, choice=choice: choice(STEEP[steep](x)), size, backend, at)  # type: ignore[misc]


@pytest.mark.exhaustive
def test_rows_of_data_that_are_left_out_may_be_nan() -> None:
    A, x = sd.matrix("A", 4, 3), sd.vector("x", 3)
    kernel = sd.compile(sd.gradient(((A @ x)[1:] ** 2).sum(), x), [A, x], backend="numpy")
    data = np.arange(12.0).reshape(4, 3)
    data[0] = np.nan
    at = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(kernel(data, at), 2 * data[1:].T @ (data[1:] @ at))


def test_what_is_left_of_a_derivative_is_shorter() -> None:
    assert str(sd.gradient("sum(sqrt(x)[1:])", "x", x="n")) == "pad((0.5 / sqrt(x))[1:], (1, 0))"
