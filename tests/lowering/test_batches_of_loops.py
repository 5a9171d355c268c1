"""Few samples of a loop run natively one after the other: as if each were alone, with the same errors and sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.lowering.plan.steps import Repeated, nested
from symdiff.runtime.runners import plans as one_by_one

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


def system(t: Any, x: Any) -> Any:
    """A product of matrices, a solution, a branch, an outer product, and rows that are written."""

    def step(carried: Any, row: Any) -> Any:
        v, m = carried
        m = np.tanh(m @ t) + 0.1 * np.outer(v, row)
        v = np.linalg.solve(3 * np.eye(2) + m, v + row)
        v = np.where(v > 0.1, v, np.sin(v))
        return (v, m), v * row

    (v, m), rows = sd.scan(step, (x[0], 0 * t), x)
    return np.sum(v * v) + np.sum(m) + np.sum(np.cos(rows)) + sd.sum_over("k", 5, lambda k: np.exp(-k * v[0]))


t, x = sd.matrix("t", 2, 2), sd.matrix("x", "n", 2)
SYSTEMS: dict[str, Callable[[], Any]] = {
    "value": lambda: system(t, x),
    "gradients": lambda: [sd.gradient(system(t, x), t), sd.gradient(system(t, x), x)],
    "second": lambda: sd.hvp(system(t, x), t, np.array([[1.0, 0.5], [-0.3, 2.0]])),
    "jacobian": lambda: sd.jacobian(sd.scan(lambda s, r: (np.tanh(t @ s + r), None), x[0], x)[0], t),
    "repeated": lambda: sd.iterate(lambda s: s - 0.1 * np.sin(t @ s), x[1], "n"),
}


@pytest.mark.parametrize("shared", ["none", "t", "x"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_samples_that_are_computed_together_are_those_that_are_computed_alone(name: str, shared: str) -> None:
    """Each step of a loop goes over all samples, in groups where they are many; no step is NumPy's."""
    kernel = sd.compile(SYSTEMS[name](), [t, x])
    rng = np.random.default_rng(3)
    count = 37
    given = [0.4 * rng.normal(size=(count, 2, 2)), rng.normal(size=(count, 9, 2))]
    samples = [[one if shared == own else one[k] for one, own in zip(given, "tx", strict=True)] for k in range(count)]
    if shared != "none":
        given["tx".index(shared)] = given["tx".index(shared)][0]
        samples = [[given[0] if shared == "t" else one[0], given[1] if shared == "x" else one[1]] for one in samples]
    found = kernel(*given)
    runner = vars(kernel._runner)
    assert runner["_numpy"] is None
    patterns = [*runner["_patterns"].values(), *runner["_sized"].values()]
    steps = [step for pattern in patterns if pattern is not None for step in nested(pattern.plan.steps)]
    by_sample = any(isinstance(step, Repeated) and step.parts for step in steps)
    assert by_sample or any(pattern is not None for pattern in runner["_together"].patterns.values())
    alone = [kernel(*one) for one in samples]
    wanted = list(zip(*alone, strict=True)) if isinstance(found, list) else [alone]
    for got, want in zip(found if isinstance(found, list) else [found], wanted, strict=True):
        np.testing.assert_allclose(got, np.stack(want), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("single", [False, True])
def test_groups_of_samples_and_their_sums(single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups as large as what is kept of their steps allows, of either precision, and sums over all of them."""
    monkeypatch.setattr(one_by_one, "ROOM", 1)
    monkeypatch.setattr(one_by_one, "AT_ONCE", 50)
    formula = [likelihood(), sd.gradient(likelihood(), a), q + a]
    many = np.random.default_rng(2).normal(size=(203, T))
    numbers: list[Any] = [np.float64(0.9), np.float64(0.1), many]
    if single:
        numbers = [one.astype(np.float32) for one in numbers]
    found = sd.compile(formula, [a, q, y])(*numbers)
    total = sd.compile(formula, [a, q, y], reduce="sum")(*numbers)
    alone = sd.compile(formula, [a, q, y])
    tolerance = 3e-4 if single else 1e-12
    for k in (0, 1, 101, 202):
        for got, want in zip(found, alone(0.9, 0.1, many[k]), strict=True):
            np.testing.assert_allclose(np.broadcast_to(got, 203)[k], want, rtol=tolerance, atol=tolerance)
    for one, got in zip(total, found, strict=True):
        np.testing.assert_allclose(one, np.broadcast_to(got, 203).sum(), rtol=tolerance)
    assert total[0].dtype == (np.float32 if single else np.float64)


def test_of_many_samples_the_first_that_fails_is_told() -> None:
    x, m = sd.vector("x", 2), sd.matrix("M", 2, 2)
    kernel = sd.compile(sd.iterate(lambda u: np.linalg.solve(m, u), x, 3), [m, x])
    matrices = np.tile(np.eye(2), (40, 1, 1))
    matrices[[29, 31]] = 0.0
    with pytest.raises(sd.SingularMatrixError) as caught:
        kernel(matrices, np.ones((40, 2)))
    assert caught.value.index == (29,)
    np.testing.assert_array_equal(kernel(matrices[:29], np.ones((29, 2))), 1.0)


def test_a_singular_matrix_is_told_by_its_sample() -> None:
    x, m = sd.vector("x", 2), sd.matrix("M", 2, 2)
    kernel = sd.compile(sd.iterate(lambda u: np.linalg.solve(m, u), x, 3), [m, x])
    matrices = np.array([np.eye(2), np.zeros((2, 2)), np.eye(2)])
    with pytest.raises(sd.SingularMatrixError) as caught:
        kernel(matrices, np.ones((3, 2)))
    assert caught.value.index == (1,)


def _models() -> dict[str, tuple[Any, list[Any], list[Any], Callable[[int], Any]]]:
    """Loops whose samples share a model: value, inputs, the shared numbers, and rows of so many samples."""
    rng = np.random.default_rng(8)
    p, mu = sd.matrix("p", 3, 3), sd.vector("mu", 3)
    w, u, z = sd.matrix("w", 5, 5), sd.matrix("u", 5, 2), sd.matrix("z", "n", 2)

    def forward(carried: Any, x: Any) -> Any:
        state, total = carried
        state = (state @ p) * np.exp(-0.5 * (x - mu) ** 2)
        size = state.sum()
        return (state / size, total + np.log(size)), None

    (_, hidden), _ = sd.scan(forward, (np.ones(3) / 3, 0.0), y)
    net, _ = sd.scan(lambda c, x: (np.tanh(w @ c + u @ x), None), np.zeros(5), z)
    return {
        "Kalman": (likelihood(), [a, q, y], [0.9, 0.1], lambda count: rng.normal(size=(count, T))),
        "hidden": (
            hidden,
            [p, mu, y],
            [np.full((3, 3), 1 / 3), [-1.0, 0, 1]],
            lambda count: rng.normal(size=(count, T)),
        ),
        "net": (
            (net**2).sum(),
            [w, u, z],
            [rng.normal(size=(5, 5)) / 3, rng.normal(size=(5, 2))],
            lambda count: rng.normal(size=(count, 9, 2)),
        ),
    }


@pytest.mark.parametrize("reduce", [None, "sum"])
@pytest.mark.parametrize("of", ["value", "gradient"])
@pytest.mark.parametrize("model", ["Kalman", "hidden", "net"])
def test_a_batch_that_is_told_runs_as_one_that_comes_with_a_call(model: str, of: str, reduce: Any) -> None:
    formula, inputs, shared, rows = _models()[model]
    formula = formula if of == "value" else sd.gradient(formula, inputs[0])
    told = sd.compile(formula, inputs, batch=[inputs[-1]], reduce=reduce, backend="interpreter")
    free = sd.compile(formula, inputs, reduce=reduce, backend="interpreter")
    alone = sd.compile(formula, inputs, backend="interpreter")
    for count in (3, 70, 300):
        data = rows(count)
        want = np.array([alone(*shared, row) for row in data])
        found = told(*shared, data)
        np.testing.assert_allclose(found, want if reduce is None else want.sum(axis=0), rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(found, free(*shared, data))
    assert vars(told._runner)["_numpy"] is None
