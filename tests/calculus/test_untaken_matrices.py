"""Matrices that need not exist in a branch that is not taken, where a derivative asks which of their elements count."""

from __future__ import annotations

import numpy as np
import pytest

import symdiff as sd

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
