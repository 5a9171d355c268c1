"""Problems of Hock and Schittkowski, "Test Examples for Nonlinear Programming Codes" (1981), as formulas.

Functions take any sequence of numbers, symbols among them, and NumPy. The least values are the published ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import asin, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

Function = Callable[[Any], Any]
#: The least and the greatest value of each number, None for none; one pair for all.
Bounds = Sequence[tuple[float | None, float | None]]


class Problem(NamedTuple):
    """An objective, a start, the least value, what is at least 0, what is 0, and bounds."""

    objective: Function
    start: tuple[float, ...]
    least: float
    above: Function = lambda x: []
    zero: Function = lambda x: []
    bounds: Bounds = ((None, None),)


def _rosenbrock(x: Any) -> Any:
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def _wood(x: Any) -> Any:
    return (
        100 * (x[1] - x[0] ** 2) ** 2
        + (1 - x[0]) ** 2
        + 90 * (x[3] - x[2] ** 2) ** 2
        + (1 - x[2]) ** 2
        + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2)
        + 19.8 * (x[1] - 1) * (x[3] - 1)
    )


def _product(x: Any) -> Any:
    total = x[0]
    for one in list(x)[1:]:
        total = total * one
    return total


def _squares(x: Any) -> Any:
    return sum(one**2 for one in x)


def _on_sphere(x: Any) -> list[Any]:
    return [_squares(x) - 10, x[1] * x[2] - 5 * x[3] * x[4], x[0] ** 3 + x[1] ** 3 + 1]


def _three_planes(x: Any) -> list[Any]:
    return [x[0] + 3 * x[1], x[2] + x[3] - 2 * x[4], x[1] - x[4]]


def _two_lines(x: Any) -> Any:
    return (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2


def _powers(x: Any) -> Any:
    return (x[2] - 1) ** 2 + (x[3] - 1) ** 4 + (x[4] - 1) ** 6


def _power_flow(a: float, least: float) -> Problem:
    def zero(x: Any) -> list[Any]:
        return [
            1000 * np.sin(-x[2] - 0.25) + 1000 * np.sin(-x[3] - 0.25) + 894.8 - x[0],
            1000 * np.sin(x[2] - 0.25) + 1000 * np.sin(x[2] - x[3] - 0.25) + 894.8 - x[1],
            1000 * np.sin(x[3] - 0.25) + 1000 * np.sin(x[3] - x[2] - 0.25) + 1294.8,
        ]

    return Problem(
        lambda x: 3 * x[0] + 1e-6 * x[0] ** 3 + 2 * x[1] + 2e-6 / 3 * x[1] ** 3, (0, 0, 0, 0), least,
        lambda x: [x[3] - x[2] + a, x[2] - x[3] + a], zero, [(0, 1200), (0, 1200), (-a, a), (-a, a)],
    )  # fmt: skip


_FEED = [
    [17.1, 38.2, 204.2, 212.3, 623.4, 1495.5],
    [17.9, 36.8, 113.9, 169.7, 337.8, 1385.2],
    [0, -273, 0, -70, -819, 0],
    [159.9, -311, 0, 587, 391, 2198],
]


def _feed(sides: Sequence[float], least: float) -> Problem:
    def above(x: Any) -> list[Any]:
        a, b, c, d = (sum(k * one for k, one in zip(row, x, strict=True)) for row in _FEED)
        return [
            a - 169 * x[0] * x[2] - 3580 * x[2] * x[4] - 3810 * x[3] * x[4] - 18500 * x[3] * x[5]
            - 24300 * x[4] * x[5] - sides[0],
            b - 139 * x[0] * x[2] - 2450 * x[3] * x[4] - 16600 * x[3] * x[5] - 17200 * x[4] * x[5] - sides[1],
            c + 26000 * x[3] * x[4] - sides[2],
            d - 14000 * x[0] * x[5] - sides[3],
        ]  # fmt: skip

    return Problem(
        lambda x: 4.3 * x[0] + 31.8 * x[1] + 63.3 * x[2] + 15.8 * x[3] + 68.5 * x[4] + 4.7 * x[5], (0,) * 6, least,
        above, bounds=[(0, 0.31), (0, 0.046), (0, 0.068), (0, 0.042), (0, 0.028), (0, 0.0134)],
    )  # fmt: skip


_COLVILLE = {
    "e": np.array([-15.0, -27, -36, -18, -12]),
    "C": np.array([[30.0, -20, -10, 32, -10], [-20, 39, -6, -31, 32], [-10, -6, 10, -6, -10], [32, -31, -6, 39, -20],
                   [-10, 32, -10, -20, 30]]),
    "d": np.array([4.0, 8, 10, 6, 2]),
    "A": np.array([[-16.0, 2, 0, 1, 0], [0, -2, 0, 4, 2], [-3.5, 0, 2, 0, 0], [0, -2, 0, -4, -1], [0, -9, -2, 1, -2.8],
                   [2, 0, -4, 0, 0], [-1, -1, -1, -1, -1], [-1, -2, -3, -2, -1], [1, 2, 3, 4, 5], [1, 1, 1, 1, 1]]),
    "b": np.array([-40.0, -2, -0.25, -4, -4, -1, -40, -60, 5, 1]),
}  # fmt: skip


def _colville(x: Any) -> Any:
    e, c, d = (_COLVILLE[name] for name in "eCd")
    square = sum(c[i, j] * x[i] * x[j] for i in range(5) for j in range(5))
    return sum(e[i] * x[i] + d[i] * x[i] ** 3 for i in range(5)) + square


def _heat(x: Any) -> list[Any]:
    return [
        85.334407 + 0.0056858 * x[1] * x[4] + 0.0006262 * x[0] * x[3] - 0.0022053 * x[2] * x[4],
        80.51249 + 0.0071317 * x[1] * x[4] + 0.0029955 * x[0] * x[1] + 0.0021813 * x[2] ** 2 - 90,
        9.300961 + 0.0047026 * x[2] * x[4] + 0.0012547 * x[0] * x[2] + 0.0019085 * x[2] * x[3] - 20,
    ]


def _transformer(x: Any) -> tuple[Any, Any]:
    return x[0] * x[3] * (x[0] + x[1] + x[2]), x[1] * x[2] * (x[0] + 1.57 * x[1] + x[3])


_A56, _B56 = asin(sqrt(1 / 4.2)), asin(sqrt(5 / 7.2))
_POSITIVE: Bounds = [(0, None)]
_TEN: Bounds = [(-10, 10)]
#: By number in the book.
PROBLEMS: dict[int, Problem] = {
    1: Problem(_rosenbrock, (-2, 1), 0, bounds=[(None, None), (-1.5, None)]),
    2: Problem(_rosenbrock, (-2, 1), 0.0504261879, bounds=[(None, None), (1.5, None)]),
    3: Problem(lambda x: x[1] + 1e-5 * (x[1] - x[0]) ** 2, (10, 1), 0, bounds=[(None, None), (0, None)]),
    4: Problem(lambda x: (x[0] + 1) ** 3 / 3 + x[1], (1.125, 0.125), 8 / 3, bounds=[(1, None), (0, None)]),
    5: Problem(
        lambda x: np.sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1, (0, 0), -sqrt(3) / 2 - pi / 3,
        bounds=[(-1.5, 4), (-3, 3)]),
    6: Problem(lambda x: (1 - x[0]) ** 2, (-1.2, 1), 0, zero=lambda x: [10 * (x[1] - x[0] ** 2)]),
    7: Problem(
        lambda x: np.log(1 + x[0] ** 2) - x[1], (2, 2), -sqrt(3),
        zero=lambda x: [(1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4]),
    8: Problem(lambda x: 0 * x[0] - 1, (2, 1), -1, zero=lambda x: [x[0] ** 2 + x[1] ** 2 - 25, x[0] * x[1] - 9]),
    9: Problem(
        lambda x: np.sin(pi * x[0] / 12) * np.cos(pi * x[1] / 16), (0, 0), -0.5, zero=lambda x: [4 * x[0] - 3 * x[1]]),
    10: Problem(
        lambda x: x[0] - x[1], (-10, 10), -1, lambda x: [-3 * x[0] ** 2 + 2 * x[0] * x[1] - x[1] ** 2 + 1]),
    11: Problem(lambda x: (x[0] - 5) ** 2 + x[1] ** 2 - 25, (4.9, 0.1), -8.498464223, lambda x: [x[1] - x[0] ** 2]),
    12: Problem(
        lambda x: 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1], (0, 0), -30,
        lambda x: [25 - 4 * x[0] ** 2 - x[1] ** 2]),
    14: Problem(
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, (2, 2), 9 - 2.875 * sqrt(7),
        lambda x: [1 - 0.25 * x[0] ** 2 - x[1] ** 2], lambda x: [x[0] - 2 * x[1] + 1]),
    15: Problem(
        _rosenbrock, (-2, 1), 306.5, lambda x: [x[0] * x[1] - 1, x[0] + x[1] ** 2], bounds=[(None, 0.5), (None, None)]),
    16: Problem(
        _rosenbrock, (-2, 1), 0.25, lambda x: [x[0] + x[1] ** 2, x[0] ** 2 + x[1]], bounds=[(-2, 0.5), (None, 1)]),
    17: Problem(
        _rosenbrock, (-2, 1), 1, lambda x: [x[1] ** 2 - x[0], x[0] ** 2 - x[1]], bounds=[(-0.5, 0.5), (None, 1)]),
    18: Problem(
        lambda x: 0.01 * x[0] ** 2 + x[1] ** 2, (2, 2), 5, lambda x: [x[0] * x[1] - 25, x[0] ** 2 + x[1] ** 2 - 25],
        bounds=[(2, 50), (0, 50)]),
    19: Problem(
        lambda x: (x[0] - 10) ** 3 + (x[1] - 20) ** 3, (20.1, 5.84), -6961.81381,
        lambda x: [(x[0] - 5) ** 2 + (x[1] - 5) ** 2 - 100, 82.81 - (x[1] - 5) ** 2 - (x[0] - 6) ** 2],
        bounds=[(13, 100), (0, 100)]),
    20: Problem(
        _rosenbrock, (-2, 1), 81.5 - 25 * sqrt(3),
        lambda x: [x[0] + x[1] ** 2, x[0] ** 2 + x[1], x[0] ** 2 + x[1] ** 2 - 1], bounds=[(-0.5, 0.5), (None, None)]),
    21: Problem(
        lambda x: 0.01 * x[0] ** 2 + x[1] ** 2 - 100, (-1, -1), -99.96, lambda x: [10 * x[0] - x[1] - 10],
        bounds=[(2, 50), (-50, 50)]),
    22: Problem(
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, (2, 2), 1, lambda x: [2 - x[0] - x[1], x[1] - x[0] ** 2]),
    23: Problem(
        _squares, (3, 1), 2,
        lambda x: [x[0] + x[1] - 1, x[0] ** 2 + x[1] ** 2 - 1, 9 * x[0] ** 2 + x[1] ** 2 - 9, x[0] ** 2 - x[1],
                   x[1] ** 2 - x[0]], bounds=[(-50, 50)]),
    24: Problem(
        lambda x: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * sqrt(3)), (1, 0.5), -1,
        lambda x: [x[0] / sqrt(3) - x[1], x[0] + sqrt(3) * x[1], 6 - x[0] - sqrt(3) * x[1]], bounds=_POSITIVE),
    26: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, (-2.6, 2, 2), 0,
        zero=lambda x: [(1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3]),
    27: Problem(
        lambda x: 0.01 * (x[0] - 1) ** 2 + (x[1] - x[0] ** 2) ** 2, (2, 2, 2), 0.04,
        zero=lambda x: [x[0] + x[2] ** 2 + 1]),
    28: Problem(
        lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, (-4, 1, 1), 0,
        zero=lambda x: [x[0] + 2 * x[1] + 3 * x[2] - 1]),
    29: Problem(
        lambda x: -_product(x), (1, 1, 1), -16 * sqrt(2),
        lambda x: [48 - x[0] ** 2 - 2 * x[1] ** 2 - 4 * x[2] ** 2]),
    30: Problem(
        _squares, (1, 1, 1), 1, lambda x: [x[0] ** 2 + x[1] ** 2 - 1], bounds=[(1, 10), (-10, 10), (-10, 10)]),
    31: Problem(
        lambda x: 9 * x[0] ** 2 + x[1] ** 2 + 9 * x[2] ** 2, (1, 1, 1), 6, lambda x: [x[0] * x[1] - 1],
        bounds=[(-10, 10), (1, 10), (-10, 1)]),
    32: Problem(
        lambda x: (x[0] + 3 * x[1] + x[2]) ** 2 + 4 * (x[0] - x[1]) ** 2, (0.1, 0.7, 0.2), 1,
        lambda x: [6 * x[1] + 4 * x[2] - x[0] ** 3 - 3], lambda x: [1 - x[0] - x[1] - x[2]], _POSITIVE),
    34: Problem(
        lambda x: -x[0], (0, 1.05, 2.9), -log(log(10)), lambda x: [x[1] - np.exp(x[0]), x[2] - np.exp(x[1])],
        bounds=[(0, 100), (0, 100), (0, 10)]),
    35: Problem(
        lambda x: 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[0] * x[1]
        + 2 * x[0] * x[2], (0.5, 0.5, 0.5), 1 / 9, lambda x: [3 - x[0] - x[1] - 2 * x[2]], bounds=_POSITIVE),
    36: Problem(
        lambda x: -_product(x), (10, 10, 10), -3300, lambda x: [72 - x[0] - 2 * x[1] - 2 * x[2]],
        bounds=[(0, 20), (0, 11), (0, 42)]),
    37: Problem(
        lambda x: -_product(x), (10, 10, 10), -3456,
        lambda x: [72 - x[0] - 2 * x[1] - 2 * x[2], x[0] + 2 * x[1] + 2 * x[2]], bounds=[(0, 42)]),
    38: Problem(_wood, (-3, -1, -3, -1), 0, bounds=_TEN),
    39: Problem(
        lambda x: -x[0], (2, 2, 2, 2), -1, zero=lambda x: [x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2]),
    40: Problem(
        lambda x: -_product(x), (0.8,) * 4, -0.25,
        zero=lambda x: [x[0] ** 3 + x[1] ** 2 - 1, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]]),
    41: Problem(
        lambda x: 2 - x[0] * x[1] * x[2], (2, 2, 2, 2), 52 / 27, zero=lambda x: [x[0] + 2 * x[1] + 2 * x[2] - x[3]],
        bounds=[(0, 1), (0, 1), (0, 1), (0, 2)]),
    42: Problem(
        lambda x: sum((x[i] - i - 1) ** 2 for i in range(4)), (1, 1, 1, 1), 28 - 10 * sqrt(2),
        zero=lambda x: [x[0] - 2, x[2] ** 2 + x[3] ** 2 - 2]),
    43: Problem(
        lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
        (0, 0, 0, 0), -44,
        lambda x: [
            8 - _squares(x) - x[0] + x[1] - x[2] + x[3],
            10 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - 2 * x[3] ** 2 + x[0] + x[3],
            5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3]]),
    44: Problem(
        lambda x: x[0] - x[1] - x[2] - x[0] * x[2] + x[0] * x[3] + x[1] * x[2] - x[1] * x[3], (0, 0, 0, 0), -15,
        lambda x: [8 - x[0] - 2 * x[1], 12 - 4 * x[0] - x[1], 12 - 3 * x[0] - 4 * x[1], 8 - 2 * x[2] - x[3],
                   8 - x[2] - 2 * x[3], 5 - x[2] - x[3]], bounds=_POSITIVE),
    45: Problem(lambda x: 2 - _product(x) / 120, (2,) * 5, 1, bounds=[(0, k) for k in range(1, 6)]),
    46: Problem(
        lambda x: (x[0] - x[1]) ** 2 + _powers(x), (sqrt(0.5), 1.75, 0.5, 2, 2), 0,
        zero=lambda x: [x[0] ** 2 * x[3] + np.sin(x[3] - x[4]) - 1, x[1] + x[2] ** 4 * x[3] ** 2 - 2]),
    48: Problem(
        lambda x: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2, (3, 5, -3, 2, -2), 0,
        zero=lambda x: [x[0] + x[1] + x[2] + x[3] + x[4] - 5, x[2] - 2 * (x[3] + x[4]) + 3]),
    49: Problem(
        lambda x: (x[0] - x[1]) ** 2 + _powers(x), (10, 7, 2, -3, 0.8), 0,
        zero=lambda x: [x[0] + x[1] + x[2] + 4 * x[3] - 7, x[2] + 5 * x[4] - 6]),
    50: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 2,
        (35, -31, 11, 5, -5), 0, zero=lambda x: [x[k] + 2 * x[k + 1] + 3 * x[k + 2] - 6 for k in range(3)]),
    51: Problem(
        lambda x: (x[0] - x[1]) ** 2 + _two_lines(x), (2.5, 0.5, 2, -1, 0.5), 0,
        zero=lambda x: [x[0] + 3 * x[1] - 4, *_three_planes(x)[1:]]),
    52: Problem(lambda x: (4 * x[0] - x[1]) ** 2 + _two_lines(x), (2,) * 5, 1859 / 349, zero=_three_planes),
    53: Problem(
        lambda x: (x[0] - x[1]) ** 2 + _two_lines(x), (2,) * 5, 176 / 43, zero=_three_planes, bounds=_TEN),
    56: Problem(
        lambda x: -x[0] * x[1] * x[2], (1, 1, 1, _A56, _A56, _A56, _B56), -3.456,
        zero=lambda x: [
            *(x[k] - 4.2 * np.sin(x[3 + k]) ** 2 for k in range(3)),
            x[0] + 2 * x[1] + 2 * x[2] - 7.2 * np.sin(x[6]) ** 2]),
    60: Problem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, (2, 2, 2), 0.03256820025,
        zero=lambda x: [x[0] * (1 + x[1] ** 2) + x[2] ** 4 - 4 - 3 * sqrt(2)], bounds=_TEN),
    61: Problem(
        lambda x: 4 * x[0] ** 2 + 2 * x[1] ** 2 + 2 * x[2] ** 2 - 33 * x[0] + 16 * x[1] - 24 * x[2], (0, 0, 0),
        -143.6461422, zero=lambda x: [3 * x[0] - 2 * x[1] ** 2 - 7, 4 * x[0] - x[2] ** 2 - 11]),
    62: Problem(
        lambda x: -32.174 * (
            255 * np.log((x[0] + x[1] + x[2] + 0.03) / (0.09 * x[0] + x[1] + x[2] + 0.03))
            + 280 * np.log((x[1] + x[2] + 0.03) / (0.07 * x[1] + x[2] + 0.03))
            + 290 * np.log((x[2] + 0.03) / (0.13 * x[2] + 0.03))),
        (0.7, 0.2, 0.1), -26272.51448, zero=lambda x: [x[0] + x[1] + x[2] - 1], bounds=[(0, 1)]),
    63: Problem(
        lambda x: 1000 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - x[0] * x[1] - x[0] * x[2], (2, 2, 2), 961.7151721,
        zero=lambda x: [8 * x[0] + 14 * x[1] + 7 * x[2] - 56, _squares(x) - 25], bounds=_POSITIVE),
    64: Problem(
        lambda x: 5 * x[0] + 5e4 / x[0] + 20 * x[1] + 7.2e4 / x[1] + 10 * x[2] + 1.44e5 / x[2], (1, 1, 1), 6299.842428,
        lambda x: [1 - 4 / x[0] - 32 / x[1] - 120 / x[2]], bounds=[(1e-5, None)]),
    65: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[0] + x[1] - 10) ** 2 / 9 + (x[2] - 5) ** 2, (-5, 5, 0), 0.9535288567,
        lambda x: [48 - _squares(x)], bounds=[(-4.5, 4.5), (-4.5, 4.5), (-5, 5)]),
    66: Problem(
        lambda x: 0.2 * x[2] - 0.8 * x[0], (0, 1.05, 2.9), 0.5181632741,
        lambda x: [x[1] - np.exp(x[0]), x[2] - np.exp(x[1])], bounds=[(0, 100), (0, 100), (0, 10)]),
    71: Problem(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], (1, 5, 5, 1), 17.0140173, lambda x: [_product(x) - 25],
        lambda x: [_squares(x) - 40], [(1, 5)]),
    72: Problem(
        lambda x: 1 + x[0] + x[1] + x[2] + x[3], (1, 1, 1, 1), 727.67937,
        lambda x: [0.0401 - 4 / x[0] - 2.25 / x[1] - 1 / x[2] - 0.25 / x[3],
                   0.010085 - 0.16 / x[0] - 0.36 / x[1] - 0.64 / x[2] - 0.64 / x[3]],
        bounds=[(1e-3, k * 1e5) for k in (4, 3, 2, 1)]),
    73: Problem(
        lambda x: 24.55 * x[0] + 26.75 * x[1] + 39 * x[2] + 40.5 * x[3], (1, 1, 1, 1), 29.894378,
        lambda x: [
            2.3 * x[0] + 5.6 * x[1] + 11.1 * x[2] + 1.3 * x[3] - 5,
            12 * x[0] + 11.9 * x[1] + 41.8 * x[2] + 52.1 * x[3] - 21
            - 1.645 * np.sqrt(0.28 * x[0] ** 2 + 0.19 * x[1] ** 2 + 20.5 * x[2] ** 2 + 0.62 * x[3] ** 2)],
        lambda x: [x[0] + x[1] + x[2] + x[3] - 1], _POSITIVE),
    74: _power_flow(0.55, 5126.4981),
    75: _power_flow(0.48, 5174.4129),
    76: Problem(
        lambda x: x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3] - x[0]
        - 3 * x[1] + x[2] - x[3], (0.5,) * 4, -4.681818181,
        lambda x: [5 - x[0] - 2 * x[1] - x[2] - x[3], 4 - 3 * x[0] - x[1] - 2 * x[2] + x[3], x[1] + 4 * x[2] - 1.5],
        bounds=_POSITIVE),
    77: Problem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + _powers(x), (2,) * 5, 0.24150513,
        zero=lambda x: [x[0] ** 2 * x[3] + np.sin(x[3] - x[4]) - 2 * sqrt(2),
                        x[1] + x[2] ** 4 * x[3] ** 2 - 8 - sqrt(2)]),
    78: Problem(_product, (-2, 1.5, 2, -1, -1), -2.91970041, zero=_on_sphere),
    79: Problem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 4,
        (2,) * 5, 0.0787768209,
        zero=lambda x: [x[0] + x[1] ** 2 + x[2] ** 3 - 2 - 3 * sqrt(2), x[1] - x[2] ** 2 + x[3] + 2 - 2 * sqrt(2),
                        x[0] * x[4] - 2]),
    80: Problem(
        lambda x: np.exp(_product(x)), (-2, 2, 2, -1, -1), 0.0539498478, zero=_on_sphere,
        bounds=[(-2.3, 2.3)] * 2 + [(-3.2, 3.2)] * 3),
    81: Problem(
        lambda x: np.exp(_product(x)) - 0.5 * (x[0] ** 3 + x[1] ** 3 + 1) ** 2, (-2, 2, 2, -1, -1), 0.0539498478,
        zero=_on_sphere, bounds=[(-2.3, 2.3)] * 2 + [(-3.2, 3.2)] * 3),
    83: Problem(
        lambda x: 5.3578547 * x[2] ** 2 + 0.8356891 * x[0] * x[4] + 37.293239 * x[0] - 40792.141, (78, 33, 27, 27, 27),
        -30665.53867,
        lambda x: [*_heat(x), *(most - one for most, one in zip((92, 20, 5), _heat(x), strict=True))],
        bounds=[(78, 102), (33, 45), (27, 45), (27, 45), (27, 45)]),
    86: Problem(
        _colville, (0, 0, 0, 0, 1), -32.34867897,
        lambda x: [sum(_COLVILLE["A"][i, j] * x[j] for j in range(5)) - _COLVILLE["b"][i] for i in range(10)],
        bounds=_POSITIVE),
    93: Problem(
        lambda x: 0.0204 * _transformer(x)[0] + 0.0187 * _transformer(x)[1] + 0.0607 * _transformer(x)[0] * x[4] ** 2
        + 0.0437 * _transformer(x)[1] * x[5] ** 2, (5.54, 4.4, 12.02, 11.82, 0.702, 0.852), 135.075961,
        lambda x: [0.001 * _product(x) - 2.07,
                   1 - 0.00062 * _transformer(x)[0] * x[4] ** 2 - 0.00058 * _transformer(x)[1] * x[5] ** 2],
        bounds=_POSITIVE),
    95: _feed((4.97, -1.88, -29.08, -78.02), 0.015619514),
    96: _feed((4.97, -1.88, -69.08, -118.02), 0.015619514),
    97: _feed((32.97, 25.12, -29.08, -78.02), 3.1358091),
    98: _feed((32.97, 25.12, -124.08, -173.02), 3.1358091),
    100: Problem(
        lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
        + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6], (1, 2, 0, 4, 0, 1, 1), 680.6300573,
        lambda x: [
            127 - 2 * x[0] ** 2 - 3 * x[1] ** 4 - x[2] - 4 * x[3] ** 2 - 5 * x[4],
            282 - 7 * x[0] - 3 * x[1] - 10 * x[2] ** 2 - x[3] + x[4],
            196 - 23 * x[0] - x[1] ** 2 - 6 * x[5] ** 2 + 8 * x[6],
            -4 * x[0] ** 2 - x[1] ** 2 + 3 * x[0] * x[1] - 2 * x[2] ** 2 - 5 * x[5] + 11 * x[6]]),
}  # fmt: skip
