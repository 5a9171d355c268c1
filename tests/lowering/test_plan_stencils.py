"""Stencils of stencils: no step of NumPy, whatever the size, and arrays where an element is made of many places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph import pad, postorder
from symdiff.lowering.plan.calls import plan_call
from symdiff.lowering.plan.passes.stencils import PADDED, with_borders_apart
from symdiff.lowering.plan.steps import Call

Grid = Callable[[Any], Any]


def inside(u: Any) -> Any:
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


def around(u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u


def second(v: Any) -> Any:
    return v[2:] - 2.0 * v[1:-1] + v[:-2]


#: Functions of a grid or of a vector, by name, and how many axes it has.
STENCILS: dict[str, tuple[Grid, int]] = {
    "laplacian": (lambda u: np.sum(inside(u) ** 2), 2),
    "biharmonic": (lambda u: np.sum(inside(inside(u)) ** 2), 2),
    "with functions": (lambda u: np.sum(np.exp(-(inside(np.tanh(inside(u))) ** 2))), 2),
    "on a torus": (lambda u: np.sum(around(u) ** 2), 2),
    "second differences": (lambda v: np.sum(second(second(second(v))) ** 2), 1),
    "between functions": (lambda v: np.sum(second(np.tanh(second(np.tanh(second(v))))) ** 2), 1),
    "shifts on a ring": (lambda v: np.sum(np.roll(np.sin(np.roll(np.sin(np.roll(v, 2) - v), -1)), 3) ** 2), 1),
}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(STENCILS)), st.integers(7, 40), st.booleans())
def test_gradients_of_stencils_are_native_and_right(name: str, n: int, letters: bool) -> None:
    function, axes = STENCILS[name]
    shape: tuple[int | str, ...] = ("n", "m")[:axes] if letters else (n, n + 1)[:axes]
    u = sd.array("u", shape)
    gradient = sd.gradient(function(u), u)
    kernel = sd.compile(gradient, [u])
    assert not kernel.stats.get("numpy_steps")
    value = np.random.default_rng(n).normal(size=(n, n + 1)[:axes])
    direction = np.cos(np.arange(value.size)).reshape(value.shape)
    right = np.imag(function(value + 1e-30j * direction)) / 1e-30
    np.testing.assert_allclose(np.sum(kernel(value) * direction), right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [9, 12, 15, 16, 40])
def test_letters_have_plans_at_any_number(n: int) -> None:
    """The plan with letters is for those from 16 on; below, numbers stand for them, in loops where there are many."""
    u = sd.matrix("u", "n", "m")
    kernel = sd.compile(sd.gradient(STENCILS["biharmonic"][0](u), u), [u])
    value = np.random.default_rng(n).normal(size=(n, n))
    kernel(value)
    titles = [line for line in str(kernel.plan).splitlines() if line.startswith("one sample")]
    assert (f"one sample, m = {n}, n = {n}:" in titles) == (n < 16)
    assert not kernel.stats["numpy_steps"]


def test_which_arrays_are_steps_depends_on_what_they_take() -> None:
    """Sums of neighbours are computed again for each place; hyperbolic tangents are not."""
    v = sd.vector("v", "n")

    def steps(name: str) -> list[Any]:
        gradient = sd.gradient(STENCILS[name][0](v), v)
        return list(plan_call([v.node], [gradient.node], [False], 100_000).steps)

    summed, between = steps("second differences"), steps("between functions")
    assert len(summed) == 1
    assert len(between) > 3
    assert not any(isinstance(step, Call) for step in [*summed, *between])


def correlation(image: Any, weights: Any, rows: int, columns: int) -> Any:
    height, width = (size - part + 1 for size, part in zip(image.shape, (rows, columns), strict=True))
    moved = [(weights[i, j], image[i : i + height, j : j + width]) for i in range(rows) for j in range(columns)]
    return sum(weight * part for weight, part in moved)


@settings(max_examples=12, deadline=None)
@given(
    shape=st.tuples(st.integers(6, 40), st.integers(6, 40)),
    kernel=st.sampled_from([(3, 3), (5, 2), (1, 9), (5, 5), (9, 1)]),
    square=st.booleans(),
    single=st.booleans(),
)
def test_gradients_of_correlations(shape: tuple[int, int], kernel: tuple[int, int], square: bool, single: bool) -> None:
    if any(size < part for size, part in zip(shape, kernel, strict=True)):
        return
    x, w = sd.matrix("x", *shape), sd.matrix("w", *kernel)
    made = correlation(x, w, *kernel)
    g = sd.gradient(np.sum(made**2 if square else made), x)
    dtype = np.float32 if single else np.float64
    rng = np.random.default_rng(shape[0])
    a, b = rng.normal(size=(2, *shape)).astype(dtype), rng.normal(size=kernel).astype(dtype)
    kernels = [sd.compile(g, [x, w], backend=backend, batch=["x"]) for backend in ("interpreter", "numpy")]
    found, wanted = (k(a, b) for k in kernels)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=(1e-5 if single else 1e-14) * (1 + np.abs(wanted).max()))
    # by hand: the transpose of a correlation is a convolution
    own = np.zeros((2, *shape))
    value = np.stack([correlation(one.astype(float), b.astype(float), *kernel) for one in a])
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            part = own[:, i : i + value.shape[1], j : j + value.shape[2]]
            part += b[i, j] * (2.0 * value if square else 1.0)
    np.testing.assert_allclose(found, own, rtol=0, atol=(1e-5 if single else 1e-13) * (1 + np.abs(own).max()))


def test_what_is_infinite_stays_where_it_is() -> None:
    x, w = sd.matrix("x", 20, 20), sd.matrix("w", 5, 5)
    k = sd.compile(sd.gradient(np.sum(correlation(x, w, 5, 5)), x), [x, w], backend="interpreter")
    weights = np.ones((5, 5))
    weights[4, 4] = np.inf
    found = k(np.ones((20, 20)), weights)
    assert np.isfinite(found[:4]).all()
    assert np.isinf(found[4:, 4:]).all()


@pytest.mark.parametrize(("count", "apart"), [(PADDED - 1, False), (PADDED, True)])
def test_few_padded_arrays_stay(count: int, apart: bool) -> None:
    x = sd.vector("x", 60).node
    terms = [pad(sd.exp(sd.vector("x", 60) * k).node, ((k, 1, 60),), (80,)) for k in range(1, count + 1)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    (made,) = with_borders_apart([total])
    assert x in postorder([made])
    assert (made.op == "concatenate") == apart


def test_a_stencil_without_an_inside_stays() -> None:
    terms = [pad((sd.vector("x", 4) * k).node, ((4 * k, 1, 4),), (40,)) for k in range(10)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    assert with_borders_apart([total]) == [total]
