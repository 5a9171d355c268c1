"""Loops whose length depends on numbers: each sample ends by itself, and derivatives go through the steps taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.errors import ArgumentError, DtypeError, ShapeError
from symdiff.lowering.plan.steps import Repeated

a, b = sd.scalar("a"), sd.scalar("b")


def lengths(start: Any, factor: Any) -> Any:
    """Return how often a number is multiplied until it is above 1, and the product."""
    return sd.while_loop(lambda s: s[0] <= 1.0, lambda s: (s[0] * factor, s[1] + 1.0), (start, 0.0), at_most=300)


def counted(start: float, factor: float) -> tuple[float, int]:
    count = 0
    while start <= 1.0 and count < 300:
        start, count = start * factor, count + 1
    return start, count


BACKENDS: tuple[Any, ...] = ("native", "interpreter", "numpy")
KERNELS = {backend: sd.compile(lengths(a, b), [a, b], backend=backend) for backend in BACKENDS}


@pytest.mark.parametrize("backend", KERNELS)
@settings(max_examples=12, deadline=None)
@given(
    rows=st.lists(st.tuples(st.floats(1e-12, 5), st.floats(1.05, 4)), min_size=0, max_size=40),
    copies=st.sampled_from([1, 3, 97]),
    shared=st.booleans(),
)
def test_samples_end_by_themselves(
    backend: str, rows: list[tuple[float, float]], copies: int, shared: bool
) -> None:
    starts, factors = np.array([*rows, *[(0.5, 2.0)] * (not rows)]).T.repeat(copies, axis=1)
    if not rows:
        starts, factors = starts[:0], factors[:0]
    factor: Any = 1.5 if shared else factors
    ends, counts = KERNELS[backend](starts, factor)
    exact = [counted(*pair) for pair in np.broadcast(starts, factor)]
    np.testing.assert_array_equal(counts, [count for _, count in exact])
    np.testing.assert_array_equal(ends, [end for end, _ in exact])


def test_a_batch_has_one_loop_of_its_samples() -> None:
    plans = vars(KERNELS["native"]._runner)["_patterns"].values()
    KERNELS["native"](np.ones(3), np.ones(3))
    assert any(isinstance(step, Repeated) and step.parts for plan in plans if plan for step in plan.plan.steps)


#: Comparisons of a carried number with a bound, and the same of numbers.
ENDS: dict[str, tuple[Any, float]] = {
    "below": (lambda x: x < 3.0, 1.0), "at most": (lambda x: x <= 3.0, 1.0),
    "above": (lambda x: x > -3.0, -1.0), "at least": (lambda x: x >= -3.0, -1.0),
}  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_number_that_is_compared_with_a_bound_tells_who_goes_on(how: str, dtype: Any) -> None:
    goes_on, step = ENDS[how]

    def turn(s: Any) -> Any:
        return s[0] + np.where(s[2] > 0.5, s[1], 0.0), s[2], s[1]  # every other turn of some samples changes nothing

    end, pace, _ = sd.while_loop(lambda s: goes_on(s[0]), turn, (a, b, step + 0.0 * b), at_most=40)
    loop = sd.compile([end, pace], [a, b], backend="native")
    rng = np.random.default_rng(0)
    starts, paces = rng.integers(-6, 6, 300).astype(dtype), (step * rng.integers(0, 3, 300)).astype(dtype)
    starts[:3] = np.nan, np.inf, -np.inf
    found = loop(starts, paces)
    assert found[0].dtype == dtype
    for k in range(300):
        s = starts[k], paces[k], dtype(step)
        for _ in range(40):
            if not goes_on(s[0]):
                break
            s = s[0] + (s[1] if s[2] > 0.5 else dtype(0.0)), s[2], s[1]
        np.testing.assert_array_equal([found[0][k], found[1][k]], s[:2])
    plans = [plan for plan in vars(loop._runner)["_patterns"].values() if plan]
    loops = [step for plan in plans for step in plan.plan.steps if isinstance(step, Repeated) and step.parts]
    assert [one.lasting is not None and one.lasting.strict for one in loops] == [how in ("below", "above")] * len(loops)
    assert loops


def test_arrays_and_matrices_are_carried() -> None:
    """A power iteration ends for each matrix when its vector stays."""
    m = sd.matrix("m", 3, 3)

    def step(s: Any) -> Any:
        v, _ = s
        w = m @ v
        w = w / np.linalg.norm(w)
        return w, np.max(abs(w - v))

    v, _ = sd.while_loop(lambda s: s[1] > 1e-13, step, (np.ones(3) / np.sqrt(3), 1.0), at_most=2000)
    kernel = sd.compile(v @ m @ v, m)
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(50, 3, 3))
    matrices = roots @ roots.transpose(0, 2, 1)
    np.testing.assert_allclose(kernel(matrices), np.linalg.eigvalsh(matrices)[:, -1], rtol=1e-10)
    np.testing.assert_array_equal(sd.compile(v @ m @ v, m, backend="interpreter")(matrices), kernel(matrices))


def test_loops_within_loops_end_by_themselves() -> None:
    """Multiplication by repeated addition of a number that is added up by ones."""

    def outer(s: Any) -> Any:
        inner = sd.while_loop(lambda t: t < a, lambda t: t + 1.0, 0.0, at_most=20)
        return s[0] + inner, s[1] + 1.0

    total = sd.while_loop(lambda s: s[1] < b, outer, (0.0, 0.0), at_most=20)[0]
    given = np.arange(15.0)
    one, other = (part.ravel() for part in np.meshgrid(given, given))
    for backend in ("native", "interpreter"):
        np.testing.assert_array_equal(sd.compile(total, [a, b], backend=backend)(one, other), one * other)


def test_derivatives_go_through_the_steps_that_were_taken() -> None:
    product, _ = lengths(a, b)
    kernel = sd.compile(
        [sd.gradient(product, a), sd.gradient(product, b), sd.jvp(product, b, 1.0), sd.vjp(product, a, 2.0)], [a, b]
    )
    starts, factors = np.array([0.3, 0.05, 2.0, 1e-9]), np.array([1.5, 3.0, 2.0, 1.1])
    counts = np.array([counted(*pair)[1] for pair in zip(starts, factors, strict=True)])
    by_a, by_b = factors**counts, starts * counts * factors ** (counts - 1.0)
    for found, exact in zip(kernel(starts, factors), (by_a, by_b, by_b, 2 * by_a), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-12)
    second = sd.compile(sd.hessian(product, b), [a, b])(starts, factors)
    np.testing.assert_allclose(second, starts * counts * (counts - 1) * factors ** (counts - 2.0), rtol=1e-12)


def test_steps_that_are_not_taken_are_not_observed() -> None:
    root = sd.while_loop(lambda s: s > 2.0, np.sqrt, a, at_most=10)
    value, slope = sd.compile([root, sd.gradient(root, a)])(np.array([-1.0, 16.0, np.inf]))
    np.testing.assert_array_equal(value[:2], [-1.0, 2.0])
    np.testing.assert_allclose(slope[:2], [1.0, 1 / 32], rtol=1e-14)


def test_text_has_loops() -> None:
    assert sd.compile("while(s -> s**2 < a, s -> s + 1, 0, 100)")(50.0) == 8.0
    loop = sd.while_loop(lambda s: s**2 < a, lambda s: s + 1, 0.0, at_most=100)
    assert str(loop) == "while(s -> s ** 2 < a, s -> s + 1, 0, 100)"
    assert loop.unicode() == "while(s ↦ s² < a, s ↦ s + 1, 0, 100)"


def test_what_comes_wrong_is_refused_by_name() -> None:
    with pytest.raises(ArgumentError, match="condition is"):
        sd.while_loop(True, lambda s: s, 0.0, at_most=3)
    with pytest.raises(DtypeError, match="expected a comparison"):
        sd.while_loop(lambda s: s, lambda s: s, 0.0, at_most=3)
    with pytest.raises(ShapeError, match="expected one, of shape"):
        sd.while_loop(lambda s: s > 0, lambda s: s, np.zeros(2), at_most=3)
    with pytest.raises(ShapeError, match="neither a whole number"):
        sd.while_loop(lambda s: s > 0, lambda s: s, 0.0, at_most=2.5)
    with pytest.raises(ShapeError, match="expected the same shape"):
        sd.while_loop(lambda s: s > 0, lambda s: np.stack([s, s]), 0.0, at_most=3)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_a_singular_matrix_is_told_with_its_sample(backend: Any) -> None:
    """It comes after many samples have ended, and the first of two such samples is told, in whichever step it is."""
    m, steps = sd.matrix("m", 2, 2), sd.scalar("steps")

    def step(s: Any) -> Any:
        shift = s[1] * np.eye(2)
        return np.linalg.solve(m - shift, s[0]), s[1] + 1.0

    last, _ = sd.while_loop(lambda s: s[1] < steps, step, (np.ones(2), 0.0), at_most=40)
    kernel = sd.compile(last, [m, steps], backend=backend)
    count = 200
    matrices = np.broadcast_to(np.diag([-1.0, -2.0]), (count, 2, 2)).copy()
    lengths = np.arange(count) % 7.0
    assert np.isfinite(kernel(matrices, lengths)).all()
    matrices[150], lengths[150] = np.diag([3.0, -1.0]), 20.0
    matrices[90], lengths[90] = np.diag([9.0, -1.0]), 20.0
    with pytest.raises(sd.SingularMatrixError) as caught:
        kernel(matrices, lengths)
    assert caught.value.index == (90,)
