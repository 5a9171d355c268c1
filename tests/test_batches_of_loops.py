"""Few samples of a loop run natively one after the other: as if each were alone, with the same errors and sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd

T = 40
a, q, y = sd.scalar("a"), sd.scalar("q"), sd.vector("y", T)


def likelihood() -> Any:
    """A Kalman filter's."""

    def step(carried: Any, x: Any) -> Any:
        mean, variance, total = carried
        mean, variance = a * mean, a * a * variance + q
        spread, gap = variance + 0.2, x - mean
        gain = variance / spread
        return (mean + gain * gap, (1 - gain) * variance, total - 0.5 * (np.log(spread) + gap * gap / spread)), None

    (_, _, total), _ = sd.scan(step, (0.0, 1.0, 0.0), y)
    return total


ROWS = np.random.default_rng(1).normal(size=(7, T))


@pytest.mark.parametrize("of", ["value", "gradient"])
def test_few_samples_are_those_of_calls_of_one(of: str) -> None:
    formula = likelihood() if of == "value" else sd.gradient(likelihood(), a)
    kernel = sd.compile(formula, [a, q, y])
    found = kernel(0.9, 0.1, ROWS)
    np.testing.assert_array_equal(found, [kernel(0.9, 0.1, row) for row in ROWS])
    assert vars(kernel._runner)["_numpy"] is None  # which would take each step
    rates = np.linspace(0.5, 0.95, len(ROWS))
    pairs = zip(rates, ROWS, strict=True)
    np.testing.assert_array_equal(kernel(rates, 0.1, ROWS), [kernel(rate, 0.1, row) for rate, row in pairs])
    single = kernel(np.float32(0.9), np.float32(0.1), ROWS.astype(np.float32))
    np.testing.assert_allclose(single, found, rtol=2e-5)


def test_sums_over_few_samples() -> None:
    kernel = sd.compile(likelihood(), [a, q, y], reduce="sum")
    alone = sd.compile(likelihood(), [a, q, y])
    np.testing.assert_allclose(kernel(0.9, 0.1, ROWS), alone(0.9, 0.1, ROWS).sum(), rtol=1e-14)


def test_many_samples_agree_with_few() -> None:
    kernel = sd.compile(likelihood(), [a, q, y])
    many = np.tile(ROWS, (100, 1))
    np.testing.assert_allclose(kernel(0.9, 0.1, many)[: len(ROWS)], kernel(0.9, 0.1, ROWS), rtol=1e-13)


def test_reproducible_kernels_give_the_same_bits_for_any_number_of_samples() -> None:
    kernel = sd.compile(likelihood(), [a, q, y], reproducible=True)
    many = np.tile(ROWS, (50, 1))
    np.testing.assert_array_equal(kernel(0.9, 0.1, many), np.tile(kernel(0.9, 0.1, ROWS), 50))


def test_a_singular_matrix_is_told_by_its_sample() -> None:
    x, m = sd.vector("x", 2), sd.matrix("M", 2, 2)
    kernel = sd.compile(sd.iterate(lambda u: np.linalg.solve(m, u), x, 3), [m, x])
    matrices = np.array([np.eye(2), np.zeros((2, 2)), np.eye(2)])
    with pytest.raises(sd.SingularMatrixError) as caught:
        kernel(matrices, np.ones((3, 2)))
    assert caught.value.index == (1,)
