"""Exponentials of matrices that are not symmetric: mpmath's to 40 digits, and derivatives by block matrices of it."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd

A = sd.matrix("A", 3, 3)
RNG = np.random.default_rng(11)
WEIGHTS = RNG.normal(size=(3, 3))
JORDAN = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])
MATRICES: dict[str, Any] = {
    **{f"random times {scale:g}": RNG.normal(size=(3, 3)) * scale for scale in (1e-200, 1e-9, 0.3, 2.0, 10.0, 60.0)},
    "zero": np.zeros((3, 3)),
    "identity": np.eye(3),
    "one Jordan block": JORDAN,
    "nilpotent": JORDAN - 2 * np.eye(3),
    "nearly one block": JORDAN + 1e-9 * np.diag([0.0, 1.0, 2.0]),
    "turning": np.array([[0.0, -9.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
    "stiff": np.diag([-1.0, -300.0, -5e3]) + np.triu(np.ones((3, 3)), 1),
    "beside a halving": np.eye(3) * 5.371920351148152,
}


def exact(a: Any) -> Any:
    """Return the exponential by Taylor's series of a matrix scaled below 1, in digits that squaring does not reach."""
    halvings = max(0, int(np.ceil(np.log2(1 + float(max(map(abs, a)))))) + 3)
    with mp.workdps(mp.mp.dps + 3 * halvings + 20):
        x = a / mp.mpf(2) ** halvings
        total = term = mp.eye(a.rows)
        for k in range(1, 80):
            term = term * x / k
            total = total + term
        for _ in range(halvings):
            total = total * total
        return total


def slopes(a: Any, directions: list[Any]) -> Any:
    """Return the derivative of the exponential along matrices: the corner of that of [[a, e], [0, a]], and so on."""
    n = a.rows
    for k, e in enumerate(directions):
        size = a.rows
        both = mp.zeros(2 * size, 2 * size)
        both[:size, :size] = both[size:, size:] = a
        for block in range(2**k):
            at = block * n
            both[at : at + n, size + at : size + at + n] = e
        a = both
    return exact(a)[:n, a.rows - n :]


@pytest.mark.parametrize("name", MATRICES)
def test_values_and_derivatives_to_second_order(name: str) -> None:
    at = MATRICES[name]
    f = sd.expm(A)
    total = np.sum(f * WEIGHTS)
    kernel = sd.compile([f, sd.gradient(total, A), sd.jvp(f, A, WEIGHTS)], [A], backend="interpreter")
    assert not kernel.stats.get("numpy_steps")
    value, slope, along = kernel(at)
    curve = sd.compile(sd.hessian(total, A), [A], backend="numpy")(at)
    units = [mp.matrix(np.eye(9)[k].reshape(3, 3).tolist()) for k in range(9)]
    with mp.workdps(40):
        a, w = mp.matrix(at.tolist()), mp.matrix(WEIGHTS.tolist())

        def weighed(x: Any) -> float:
            return float(mp.fsum(x[i, j] * w[i, j] for i in range(3) for j in range(3)))

        want = np.array(exact(a).tolist(), dtype=float)
        firsts = np.array([weighed(slopes(a, [e])) for e in units]).reshape(3, 3)
        seconds = np.array([[weighed(slopes(a, [e, d])) for e in units[:3]] for d in units[4:6]])
        direction = np.array(slopes(a, [w]).tolist(), dtype=float)
    # a unit of the last place of the matrix moves the value by its slope, times the norm
    scale = 1e-14 * max(1.0, float(abs(at).sum(axis=0).max()))
    for got, wanted in ((value, want), (slope, firsts), (along, direction)):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=scale * abs(wanted).max() + 1e-300)
    found = curve.reshape(9, 9)[4:6, :3]
    np.testing.assert_allclose(found, seconds, rtol=0, atol=10 * scale * abs(curve).max() + 1e-300)


def test_third_derivatives() -> None:
    """Along one direction the derivatives of exp(t E) are powers of E times it."""
    t = sd.scalar("t")
    e = RNG.normal(size=(3, 3))
    third = sd.compile(sd.derivative(sd.expm(t * e), t, 3), [t])(0.7)
    wanted = np.linalg.matrix_power(e, 3) @ sd.compile(sd.expm(A), [A])(0.7 * e)
    np.testing.assert_allclose(third, wanted, rtol=1e-12, atol=1e-12)


def test_stacks_batches_and_letters() -> None:
    stack = RNG.normal(size=(40, 2, 3, 3))
    f = sd.compile(sd.expm(sd.array("X", (2, 3, 3))), x := [sd.array("X", (2, 3, 3))])
    one = sd.compile(sd.expm(A), [A])
    want = np.array([[one(m) for m in pair] for pair in stack])
    np.testing.assert_allclose(f(stack), want, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(f(stack[0]), want[0], rtol=1e-12)
    assert [str(own) for own in x] == ["X"]
    m = sd.matrix("M", "n", "n")
    big = RNG.normal(size=(30, 30))
    slope = sd.compile(sd.gradient(np.trace(sd.expm(m)), m), [m])(big)
    want = sd.compile(sd.expm(m), [m])(big).T
    np.testing.assert_allclose(slope, want, rtol=1e-10, atol=1e-11 * abs(want).max())


def test_a_norm_beyond_the_squarings_is_nan_and_not_another_number() -> None:
    kernel = sd.compile([sd.expm(A), sd.gradient(np.trace(sd.expm(A)), A)], [A])
    for at in (-3e4 * np.eye(3), np.full((3, 3), np.nan), np.diag([np.inf, 1.0, 2.0])):
        for got in kernel(at):
            assert np.isnan(got).all()
    np.testing.assert_array_equal(kernel(-2e4 * np.eye(3))[0], np.zeros((3, 3)))


def test_what_is_known_to_be_symmetric_goes_by_its_eigenvalues() -> None:
    s = sd.matrix("S", 3, 3, symmetric=True)
    assert str(sd.expm(s)) == "expm(S)"
    at = np.diag([1.0, 1.0, 2.0]) + 0.5
    both = sd.compile([sd.expm(s), sd.expm(A)], [s, A])(at, at)
    np.testing.assert_allclose(both[0], both[1], rtol=1e-13)
