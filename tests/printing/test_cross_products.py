"""Derivatives of cross products are shown by cross products and their matrices, and are what is shown."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from tests.printing.test_shown import compare

u, v, w = (sd.vector(name, 3) for name in "uvw")
R = sd.matrix("R", 3, 3)
s = sd.scalar("s")
SYMBOLS = [u, v, w, R]

#: Formulas of vectors, what they are differentiated by, and what books print.
SHOWN = [
    (np.cross(u, v), u, "-skew(v)"),
    (np.cross(u, v), v, "skew(u)"),
    (np.cross(u, np.cross(u, v)), u, "-(skew(cross(u, v)) + skew(u) @ skew(v))"),
    (np.cross(u, np.cross(u, v)), v, "skew(u) @ skew(u)"),
    (np.cross(np.cross(u, v), w), u, "skew(w) @ skew(v)"),
    (np.cross(u, np.cross(v, u)), v, "-skew(u) @ skew(u)"),
    (R @ np.cross(u, v), u, "-R @ skew(v)"),
    (np.cross(u, R @ v), v, "skew(u) @ R"),
    (np.cross(u, R @ u), u, "skew(u) @ R - skew(R @ u)"),
    (np.cross(R @ u, R @ v), u, "-skew(R @ v) @ R"),
    (np.cross(w, v) + np.cross(w, np.cross(w, v)), w, "-(skew(cross(w, v)) + skew(w) @ skew(v) + skew(v))"),
    (v + 2 * s * np.cross(u, v) + 2 * np.cross(u, np.cross(u, v)), u,
     "-2 * (skew(cross(u, v)) + s * skew(v) + skew(u) @ skew(v))"),
    (2 * np.cross(u, v) + 2 * np.cross(u, np.cross(u, v)), u, "-2 * (skew(cross(u, v) + v) + skew(u) @ skew(v))"),
    (np.linalg.solve(R, v - np.cross(u, R @ u)), u, "solve(R, skew(R @ u) - skew(u) @ R)"),
    (v + np.cross(w, v) + np.cross(w, np.cross(w, v)), v, "eye(3) + skew(w) + skew(w) @ skew(w)"),
]


@pytest.mark.parametrize(("formula", "wrt", "shown"), SHOWN, ids=[shown for _, _, shown in SHOWN])
def test_jacobians_are_matrices_of_cross_products(formula: sd.Array, wrt: sd.Array, shown: str) -> None:
    assert str(sd.jacobian(formula, wrt)) == shown


def test_rotation_by_a_vector_is_rodrigues_formula() -> None:
    angle = np.linalg.norm(u)
    turned = v + np.sin(angle) / angle * np.cross(u, v)
    turned = turned + (1 - np.cos(angle)) / angle**2 * np.cross(u, np.cross(u, v))
    assert str(sd.jacobian(turned, v)).splitlines()[-1] == (
        "eye(3) + sin(s) * skew(u) / s - (cos(s) - 1) * (skew(u) @ skew(u)) / s ** 2"
    )


def test_a_length_that_divides_twice_is_left_out_once() -> None:
    shown = sd.gradient(np.sum(np.cross(v / np.linalg.norm(u), R @ u) ** 2), R)
    assert str(shown) == "2 * outer(cross(cross(v, R @ u), v), unit(u)) / norm(u)"


def test_gradient_of_the_length_of_a_double_product() -> None:
    shown = sd.gradient(np.sum(np.cross(u, np.cross(u, v)) ** 2), u)
    assert str(shown) == "2 * (cross(cross(u, v), cross(u, cross(u, v))) + cross(v, cross(cross(u, cross(u, v)), u)))"


def drawn(rng: random.Random, depth: int) -> Any:
    """Draw a vector made of cross products, products with a matrix, sums and multiples."""
    if depth == 0:
        return rng.choice([u, v, w])
    kind = rng.randrange(6)
    if kind < 3:
        return np.cross(drawn(rng, depth - 1), drawn(rng, depth - 1))
    if kind == 3:
        return R @ drawn(rng, depth - 1)
    if kind == 4:
        return drawn(rng, depth - 1) - rng.choice([1, 2, 0.5]) * drawn(rng, depth - 1)
    return drawn(rng, depth - 1) * (u @ drawn(rng, depth - 1))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_printed_has_the_values_of_the_derivative(seed: int) -> None:
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    for _ in range(4):
        formula = drawn(rng, rng.randint(1, 3))
        given = [numbers.normal(size=3) for _ in "uvw"] + [numbers.normal(size=(3, 3))]
        wrt = rng.choice([u, v, w])
        compare(sd.jacobian(formula, wrt, disconnected="zero"), SYMBOLS, given)
        compare(sd.gradient(np.sum(formula**2), wrt, disconnected="zero"), SYMBOLS, given)


@pytest.mark.parametrize("seed", range(6))
def test_jacobians_are_those_of_differences(seed: int) -> None:
    rng = random.Random(100 + seed)
    numbers = np.random.default_rng(seed)
    formula = drawn(rng, 2)
    given = [numbers.normal(size=3) for _ in "uvw"] + [numbers.normal(size=(3, 3))]
    value = sd.compile(formula, inputs=SYMBOLS)
    step = 1e-6
    for place, wrt in enumerate((u, v, w)):
        ways = [sign * step * e for sign in (1, -1) for e in np.eye(3)]
        values = [value(*(g + way if i == place else g for i, g in enumerate(given))) for way in ways]
        differences = np.transpose([(values[k] - values[k + 3]) / (2 * step) for k in range(3)])
        jacobian = sd.compile(sd.jacobian(formula, wrt, disconnected="zero"), inputs=SYMBOLS)(*given)
        np.testing.assert_allclose(jacobian, differences, rtol=1e-5, atol=1e-6)


def test_a_turned_constant_is_shown_by_its_entries() -> None:
    t, q = sd.scalar("t"), sd.vector("q", 2)

    def turn(angle: Any) -> Any:
        return sd.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    first = np.array([1.0, 0.0])
    assert str(sd.derivative(turn(t) @ first, t)) == "[-sin(t), cos(t)]"
    hand = turn(q[0]) @ (first + turn(q[1]) @ first)
    a, b = 0.3, 0.5
    wanted = [[-np.sin(a) - np.sin(a + b), -np.sin(a + b)], [np.cos(a) + np.cos(a + b), np.cos(a + b)]]
    np.testing.assert_allclose(sd.compile(sd.jacobian(hand, q))([a, b]), wanted, rtol=1e-14)


def test_parts_of_products_are_products_of_parts() -> None:
    x, y, A = sd.vector("x", "n"), sd.vector("y", "n"), sd.matrix("A", "n", "n")
    shown = sd.gradient(np.sum(np.outer(x, y)[0] * np.outer(x, y)[1]), x)
    given = [np.array([0.3, -1.2, 0.7]), np.array([1.1, 0.4, -0.6])]
    value = sd.compile(shown, [x, y])(*given)
    inner = given[1] @ given[1]
    np.testing.assert_allclose(value, [given[0][1] * inner, given[0][0] * inner, 0.0], rtol=1e-14)
    matrix = np.arange(9.0).reshape(3, 3) + np.eye(3)
    part = sd.compile((A[:, 1] * x[:, None] * 2)[1:, 0], [A, x])(matrix, given[0])
    np.testing.assert_allclose(part, (matrix[:, 1] * given[0][:, None] * 2)[1:, 0], rtol=1e-15)
