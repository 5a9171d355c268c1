"""Objectives of Hock and Schittkowski, "Test Examples for Nonlinear Programming Codes" (1981).

The values at the start and at the solution are the published ones. Each objective is a function of its numbers and of a
library (NumPy for symbols, mpmath for the reference), and has no derivative written by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, pi, sqrt
from typing import Any, NamedTuple


class Problem(NamedTuple):
    """An objective; the start and the value there; the solution and the value there."""

    objective: Callable[[Any, Any], Any]
    start: tuple[float, ...]
    begins: float
    solution: tuple[float, ...]
    ends: float


def _product(x: Any, m: Any) -> Any:
    return -(x[0] * x[1] * x[2])


def _wood(x: Any, m: Any) -> Any:
    return (
        100 * (x[1] - x[0] ** 2) ** 2
        + (1 - x[0]) ** 2
        + 90 * (x[3] - x[2] ** 2) ** 2
        + (1 - x[2]) ** 2
        + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2)
        + 19.8 * (x[1] - 1) * (x[3] - 1)
    )


def _beale(x: Any, m: Any) -> Any:
    squares = 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
    return 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + squares + 2 * x[0] * x[1] + 2 * x[0] * x[2]


def _rosen_suzuki(x: Any, m: Any) -> Any:
    squares = x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2
    return squares - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3]


#: By number in the book.
PROBLEMS: dict[int, Problem] = {
    1: Problem(lambda x, m: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, (-2, 1), 909, (1, 1), 0),
    3: Problem(lambda x, m: x[1] + 1e-5 * (x[1] - x[0]) ** 2, (10, 1), 1.00081, (0, 0), 0),
    4: Problem(lambda x, m: (x[0] + 1) ** 3 / 3 + x[1], (1.125, 0.125), 3.323567708, (1, 0), 8 / 3),
    5: Problem(
        lambda x, m: m.sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1,
        (0, 0), 1, (-pi / 3 + 0.5, -pi / 3 - 0.5), -sqrt(3) / 2 - pi / 3),
    6: Problem(lambda x, m: (1 - x[0]) ** 2 + 0 * x[1], (-1.2, 1), 4.84, (1, 1), 0),
    7: Problem(lambda x, m: m.log(1 + x[0] ** 2) - x[1], (2, 2), log(5) - 2, (0, sqrt(3)), -sqrt(3)),
    9: Problem(lambda x, m: m.sin(pi * x[0] / 12) * m.cos(pi * x[1] / 16), (0, 0), 0, (-3, -4), -0.5),
    13: Problem(lambda x, m: (x[0] - 2) ** 2 + x[1] ** 2, (-2, -2), 20, (1, 0), 1),
    14: Problem(
        lambda x, m: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
        (2, 2), 1, ((sqrt(7) - 1) / 2, (sqrt(7) + 1) / 4), 9 - 2.875 * sqrt(7)),
    18: Problem(lambda x, m: 0.01 * x[0] ** 2 + x[1] ** 2, (2, 2), 4.04, (sqrt(250), sqrt(2.5)), 5),
    24: Problem(
        lambda x, m: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * sqrt(3)),
        (1, 0.5), -0.01336459, (3, sqrt(3)), -1),
    26: Problem(lambda x, m: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, (-2.6, 2, 2), 21.16, (1, 1, 1), 0),
    28: Problem(lambda x, m: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, (-4, 1, 1), 13, (0.5, -0.5, 0.5), 0),
    29: Problem(_product, (1, 1, 1), -1, (4, 2 * sqrt(2), 2), -16 * sqrt(2)),
    33: Problem(
        lambda x, m: (x[0] - 1) * (x[0] - 2) * (x[0] - 3) + x[2] + 0 * x[1],
        (0, 0, 3), -3, (0, sqrt(2), sqrt(2)), sqrt(2) - 6),
    35: Problem(_beale, (0.5, 0.5, 0.5), 2.25, (4 / 3, 7 / 9, 4 / 9), 1 / 9),
    36: Problem(_product, (10, 10, 10), -1000, (20, 11, 15), -3300),
    38: Problem(_wood, (-3, -1, -3, -1), 19192, (1, 1, 1, 1), 0),
    40: Problem(
        lambda x, m: -(x[0] * x[1] * x[2] * x[3]),
        (0.8, 0.8, 0.8, 0.8), -0.4096, (2 ** (-1 / 3), 2**-0.5, 2 ** (-11 / 12), 2**-0.25), -0.25),
    42: Problem(
        lambda x, m: (x[0] - 1) ** 2 + (x[1] - 2) ** 2 + (x[2] - 3) ** 2 + (x[3] - 4) ** 2,
        (1, 1, 1, 1), 14, (2, 2, 0.6 * sqrt(2), 0.8 * sqrt(2)), 28 - 10 * sqrt(2)),
    43: Problem(_rosen_suzuki, (0, 0, 0, 0), 0, (0, 1, 2, -1), -44),
    45: Problem(lambda x, m: 2 - x[0] * x[1] * x[2] * x[3] * x[4] / 120, (2,) * 5, 2 - 32 / 120, (1, 2, 3, 4, 5), 1),
    48: Problem(
        lambda x, m: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2, (3, 5, -3, 2, -2), 84, (1,) * 5, 0),
    51: Problem(
        lambda x, m: (x[0] - x[1]) ** 2 + (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2,
        (2.5, 0.5, 2, -1, 0.5), 8.5, (1,) * 5, 0),
    80: Problem(
        lambda x, m: m.exp(x[0] * x[1] * x[2] * x[3] * x[4]),
        (-2, 2, 2, -1, -1), exp(-8), (-1.717143, 1.595709, 1.827247, -0.7636413, -0.7636450), 0.0539498478),
}  # fmt: skip
