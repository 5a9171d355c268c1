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
