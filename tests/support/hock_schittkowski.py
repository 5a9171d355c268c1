"""Problems of Hock and Schittkowski, "Test Examples for Nonlinear Programming Codes" (1981), as formulas.

All of 1 to 100; the book has no 58, 82 and 94. Functions take any sequence of numbers, symbols among them, and NumPy.
The least values are the published ones, but for those of 67 and 85, which are less exact. The authors' programs are
followed where the text of the book differs (47, 54).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import asin, exp, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

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


_POSITIVE: Bounds = [(0, None)]
_TEN: Bounds = [(-10, 10)]


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
    "A": np.array([[-16.0, 2, 0, 1, 0], [0, -2, 0, 0.4, 2], [-3.5, 0, 2, 0, 0], [0, -2, 0, -4, -1],
                   [0, -9, -2, 1, -2.8], [2, 0, -4, 0, 0], [-1, -1, -1, -1, -1], [-1, -2, -3, -2, -1],
                   [1, 2, 3, 4, 5], [1, 1, 1, 1, 1]]),
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


#: Contents of chlorine after weeks: the measurements of 57.
_WEEKS = np.repeat(np.arange(8.0, 43.0, 2.0), [2, 4, 4, 3, 3, 2, 3, 3, 3, 3, 2, 3, 2, 1, 2, 2, 1, 1])
_CHLORINE = np.array([
    49, 49, 48, 47, 48, 47, 46, 46, 45, 43, 45, 43, 43, 44, 43, 43, 46, 45, 42, 42, 43, 41, 41, 40, 42, 40, 40, 41, 40,
    41, 41, 40, 40, 40, 38, 41, 40, 40, 41, 38, 40, 40, 39, 39,
]) / 100  # fmt: skip


def _weibull(x: Any) -> Any:
    at = [(k / 100, 25 + (-50 * log(k / 100)) ** (2 / 3)) for k in range(1, 100)]
    return sum((np.exp(-((u - x[1]) ** x[2]) / x[0]) - level) ** 2 for level, u in at)


def _joint(x: Any) -> Any:
    """Return the density of six normal numbers, two of which are correlated, as 54 has it."""
    a, b = (x[0] - 1e4) / 8e3, x[1] - 1
    rest = (x[2] - 2e6) ** 2 / 4.9e13 + (x[3] - 10) ** 2 / 2500 + 400 * (x[4] - 1e-3) ** 2 + (x[5] - 1e8) ** 2 / 2.5e17
    return np.exp(-((a**2 + 0.4 * a * b + b**2) / 0.96 + rest) / 2)


def _surface(x: Any) -> Any:
    a, b = x
    return (
        -75.196 + 3.8112 * a - 0.12694 * a**2 + 2.0567e-3 * a**3 - 1.0345e-5 * a**4
        + b * (6.8306 - 0.030234 * a + 1.28134e-3 * a**2 - 3.5256e-5 * a**3 + 2.266e-7 * a**4)
        + b**2 * (-0.25645 - 3.4054e-4 * a + 5.2375e-6 * a**2 + 6.3e-8 * a**3)
        + b**3 * (3.4604e-3 + 1.6638e-6 * a - 7e-10 * a**3) - 1.3514e-5 * b**4
        + 28.106 / (b + 1) + 2.8673 * np.exp(5e-4 * a * b)
    )  # fmt: skip


def _alkylation(x: Any) -> list[Any]:
    """Return y2 to y8 of 67, the solutions of two quadratic equations that the book iterates."""
    first = (x[1] - x[0]) / x[0]
    slope, level = 1 - 1.22 * 0.13167, first + 1.22 * 1.12
    y6 = (np.sqrt(slope**2 + 4 * 1.22 * 0.006667 * level) - slope) / (2 * 1.22 * 0.006667)
    y2 = x[0] * (y6 - first) / 1.22
    octane = 86.35 + 1.098 * y6 - 0.038 * y6**2 - 0.325 * 89
    most, fall = 35.82 + 0.222 * (133 - 3 * octane), 0.666 * 0.325
    middle = y2 * most + 1000 * x[2]
    y4 = 2 * 98000 * x[2] / (middle + np.sqrt(middle**2 - 4 * y2 * fall * 98000 * x[2]))
    y5 = octane + 0.325 * y4
    y8 = 3 * y5 - 133
    return [y2, 1.22 * y2 - x[0], y4, y5, y6, 35.82 - 0.222 * y8, y8]


def _inspection(a: float, b: float, n: float, least: float) -> Problem:
    def cost(x: Any) -> Any:
        lost = np.exp(x[0]) - 1
        return (a * n - (b * lost - x[2]) * x[3] / (lost + x[3])) / x[0]

    def zero(x: Any) -> list[Any]:
        return [x[2] - 2 * ndtr(-x[1]), x[3] - ndtr(-x[1] + sqrt(n)) - ndtr(-x[1] - sqrt(n))]

    return Problem(cost, (1, 1, 1, 1), least, zero=zero, bounds=[(1e-4, 100), (0, 100), (0, 2), (0, 2)])


_MIXTURE = [
    0.00189, 0.1038, 0.268, 0.506, 0.577, 0.604, 0.725, 0.898, 0.947, 0.845, 0.702, 0.528, 0.385, 0.257, 0.159, 0.0869,
    0.0453, 0.01509, 0.00189,
]  # fmt: skip


def _two_gammas(x: Any) -> Any:
    b, total = x[2] + (1 - x[2]) * x[3], 0.0
    for c, y in zip([0.1, *range(1, 19)], _MIXTURE, strict=True):
        parts = ((x[2], x[1], b), (1 - x[2], x[0], b / x[3]))
        fit = sum(
            part * rate**k * np.sqrt(k / 6.2832) * (c / 7.658) ** (k - 1) * np.exp(k - k * c * rate / 7.658)
            / (1 + 1 / (12 * k)) for part, k, rate in parts)  # fmt: skip
        total = total + (fit - y) ** 2
    return total


#: Rows of 84: the objective and three quantities, as the factors of 1 and of the last four numbers.
_SUGAR = [
    [-8720288.849, 150512.5253, -156.6950325, 476470.3222, 729482.8271],
    [-145421.402, 2931.1506, -40.427932, 5106.192, 15711.36],
    [-155011.1084, 4360.53352, 12.9492344, 10236.884, 13176.786],
    [-326669.5104, 7390.68412, -27.8986976, 16643.076, 30988.146],
]


def _sugar(x: Any) -> list[Any]:
    return [x[0] * (row[0] + sum(a * one for a, one in zip(row[1:], list(x)[1:], strict=True))) for row in _SUGAR]


#: The least and the greatest values of y1 to y17 in 85.
_PULP = [
    (213.1, 405.23), (17.505, 1053.6667), (11.275, 35.03), (214.228, 665.585), (7.458, 584.463), (0.961, 265.916),
    (1.612, 7.046), (0.146, 0.222), (107.99, 273.366), (922.693, 1286.105), (926.832, 1444.046), (18.766, 537.141),
    (1072.163, 3247.039), (8961.448, 26844.086), (0.063, 0.386), (71084.33, 140000), (2802713, 12146108),
]  # fmt: skip


def _pulp(x: Any) -> tuple[list[Any], Any, Any]:
    """Return y1 to y17 of 85, the denominator c12, and y9 and x5 together."""
    y1, y2 = x[1] + x[2] + 41.6, 12.5 / (0.024 * x[3] - 4.62) + 12
    heat = y2 * x[0]
    y3 = (x[0] * (3.535e-4 * x[0] + 0.5311) + 0.08705 * heat) / (0.052 * x[0] + 78 + 2.377e-3 * heat)
    y4, left = 19 * y3, x[0] - y3
    part = left * (0.1956 * left / x[1] + 0.04782) + 0.6376 * y4 + 1.594 * y3
    y5 = (left - y4) * (0.95 - part / (100 * x[1]))
    flow = 0.995 * (y4 + y5)
    y6, y7, y8 = left - y4 - y5, flow / y1, flow / 3798
    y9 = 96.82 / (y7 - 0.0663 * y7 / y8 - 0.3153) + 0.321 * y1
    y10 = 1.29 * y5 + 1.258 * y4 + 2.29 * y3 + 1.71 * y6
    y11 = 1.71 * x[0] - 0.452 * y4 + 0.58 * y3
    c12, both = 0.995 * y10 + 1998, y9 + x[4]
    y12, y13 = 12.3 / 752.3 * x[0] + 1.74125 * heat / c12, c12 - 1.75 * y2
    y14 = 3623 + 64.4 * x[1] + 58.4 * x[2] + 146312 / both
    y15 = y13 / (0.995 * y10 + 60.8 * x[1] + 48 * x[3] - 0.1121 * y14 - 5095)
    y16 = 148000 - 331000 * y15 + 40 * y13 - 61 * y15 * y13
    y17 = 14130000 - 1328 * y10 - 531 * y11 + (2324 * y10 - 28740000 * y2) / c12
    return [y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17], c12, both


def _profit(x: Any) -> Any:
    y, c12, _ = _pulp(x)
    quotient = (y[12] / y[14] - y[12] / 0.52) / (1.104 - 0.72 * y[14])
    return (
        1.17e-4 * y[13] + 0.1365 + 2.358e-5 * y[12] + 1.502e-6 * y[15] + 0.0321 * y[11] + 4.324e-3 * y[4]
        + 1e-4 * quotient + 37.48 * y[1] / c12 - 5.843e-7 * y[16]
    )  # fmt: skip


def _within_pulp(x: Any) -> list[Any]:
    y, c12, both = _pulp(x)
    between = [side for one, (low, high) in zip(y, _PULP, strict=True) for side in (one - low, high - one)]
    return [
        1.5 * x[1] - x[2], *between, y[3] - 0.28 / 0.72 * y[4], 21 - 3496 * y[1] / c12, 62212 / both - 110.6 - y[0]
    ]  # fmt: skip


def _lines(x: Any) -> list[Any]:
    """Return what two nodes of a network of power lines lack, 87: real and reactive power."""
    product, own = x[2] * x[3] / 131.078, 0.90798 / 131.078
    real, other = own * np.cos(1.47588), own * np.sin(1.47588)
    return [
        300 - x[0] - product * np.cos(1.48477 - x[5]) + real * x[2] ** 2,
        -x[1] - product * np.cos(1.48477 + x[5]) + real * x[3] ** 2,
        -x[4] - product * np.sin(1.48477 + x[5]) + other * x[3] ** 2,
        200 - product * np.sin(1.48477 - x[5]) + other * x[2] ** 2,
    ]


def _switched(n: int) -> Problem:
    """Return the control of a heated rod by n switches, 88 to 92: a series over the roots of m * tan(m) = 1."""
    roots = [k * pi + 0.5 for k in range(30)]
    for _ in range(50):  # the fixed point of an arc tangent, which contracts
        roots = [k * pi + np.arctan(1 / root) for k, root in enumerate(roots)]

    def above(x: Any) -> list[Any]:
        sums, total = [sum(x[j] ** 2 for j in range(i, n)) for i in range(n)], 0.0
        for m in roots:
            weight, goal = 2 * np.sin(m) / (m + np.sin(m) * np.cos(m)), (np.sin(m) / m - np.cos(m)) / m**2
            series = (-1.0) ** n + np.exp(-(m**2) * sums[0])
            series = series + sum(2 * (-1.0) ** i * np.exp(-(m**2) * sums[i]) for i in range(1, n))
            total = total + weight * series * (np.sin(m) * series / m + 2 * goal)
        return [1e-4 - 2 / 15 - total]

    return Problem(_squares, (0.5, -0.5) * (n // 2) + (0.5,) * (n % 2), 1.36265681, above, bounds=_TEN)


def _ascent(x: Any) -> tuple[Any, Any, Any]:
    """Return the range's speed, the height and the speed upward of a rocket at the end, 99."""
    push, times = (50, 50, 75, 75, 75, 100, 100), (0, 25, 50, 100, 150, 200, 290, 380)
    along = height = speed = 0.0
    for k, a in enumerate(push):
        t, lift = times[k + 1] - times[k], a * np.sin(x[k]) - 32
        height, speed = height + t * speed + t**2 / 2 * lift, speed + t * lift
        along = along + t * a * np.cos(x[k])
    return along, height, speed


_A56, _B56 = asin(sqrt(1 / 4.2)), asin(sqrt(5 / 7.2))
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
    13: Problem(
        lambda x: (x[0] - 2) ** 2 + x[1] ** 2, (-2, -2), 1, lambda x: [(1 - x[0]) ** 3 - x[1]], bounds=_POSITIVE),
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
    25: Problem(_weibull, (100, 12.5, 3), 0, bounds=[(0.1, 100), (0, 25.6), (0, 5)]),
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
    33: Problem(
        lambda x: (x[0] - 1) * (x[0] - 2) * (x[0] - 3) + x[2], (0, 0, 3), sqrt(2) - 6,
        lambda x: [x[2] ** 2 - x[0] ** 2 - x[1] ** 2, _squares(x) - 4], bounds=[(0, None), (0, None), (0, 5)]),
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
    47: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 4,
        (2, sqrt(2), -1, 2 - sqrt(2), 0.5), 0,
        zero=lambda x: [x[0] + x[1] ** 2 + x[2] ** 3 - 3, x[1] - x[2] ** 2 + x[3] - 1, x[0] * x[4] - 1]),
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
    54: Problem(
        lambda x: -_joint(x), (6e3, 1.5, 4e6, 2, 3e-3, 5e7), -exp(-27 / 280),
        zero=lambda x: [x[0] + 4000 * x[1] - 17600],
        bounds=[(0, 2e4), (-10, 10), (0, 1e7), (0, 20), (0, 1), (0, 2e8)]),
    55: Problem(
        lambda x: x[0] + 2 * x[1] + 4 * x[4] + np.exp(x[0] * x[3]), (1, 2, 0, 0, 0, 2), 19 / 3,
        zero=lambda x: [
            x[0] + 2 * x[1] + 5 * x[4] - 6, x[0] + x[1] + x[2] - 3, x[3] + x[4] + x[5] - 2, x[0] + x[3] - 1,
            x[1] + x[4] - 2, x[2] + x[5] - 2],
        bounds=[(0, 1), (0, None), (0, None), (0, 1), (0, None), (0, None)]),
    56: Problem(
        lambda x: -x[0] * x[1] * x[2], (1, 1, 1, _A56, _A56, _A56, _B56), -3.456,
        zero=lambda x: [
            *(x[k] - 4.2 * np.sin(x[3 + k]) ** 2 for k in range(3)),
            x[0] + 2 * x[1] + 2 * x[2] - 7.2 * np.sin(x[6]) ** 2]),
    57: Problem(
        lambda x: sum((b - x[0] - (0.49 - x[0]) * np.exp(-x[1] * (a - 8))) ** 2
                      for a, b in zip(_WEEKS.tolist(), _CHLORINE.tolist(), strict=True)),
        (0.42, 5), 0.0284596697213, lambda x: [0.49 * x[1] - x[0] * x[1] - 0.09], bounds=[(0.4, None), (-4, None)]),
    59: Problem(
        _surface, (90, 10), -7.80422632408,
        lambda x: [x[0] * x[1] - 700, x[1] - 0.008 * x[0] ** 2, (x[1] - 50) ** 2 - 5 * (x[0] - 55)],
        bounds=[(0, 75), (0, 65)]),
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
    67: Problem(
        lambda x: 5.04 * x[0] + 0.035 * x[1] + 10 * x[2] + 3.36 * _alkylation(x)[1]
        - 0.063 * _alkylation(x)[0] * _alkylation(x)[3], (1745, 12000, 110), -1162.02698006,
        lambda x: [
            side for y, low, high in zip(_alkylation(x), (0, 0, 85, 90, 3, 0.01, 145), (5e3, 2e3, 93, 95, 12, 4, 162),
                                         strict=True) for side in (y - low, high - y)],
        bounds=[(1e-5, 2000), (1e-5, 16000), (1e-5, 120)]),
    68: _inspection(1e-4, 1, 24, -0.920425020704),
    69: _inspection(0.1, 1000, 4, -956.712887064),
    70: Problem(
        _two_gammas, (2, 4, 0.04, 2), 0.00749846356143, lambda x: [x[2] + (1 - x[2]) * x[3]],
        bounds=[(1e-5, 100), (1e-5, 100), (1e-5, 1), (1e-5, 100)]),
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
    84: Problem(
        lambda x: 24345 - _sugar(x)[0], (2.52, 2, 37.5, 9.25, 6.8), -5280335.13306,
        lambda x: [side for y, most in zip(_sugar(x)[1:], (294000, 294000, 277200), strict=True)
                   for side in (y, most - y)],
        bounds=[(0, 1000), (1.2, 2.4), (20, 60), (9, 9.3), (6.5, 7)]),
    85: Problem(
        _profit, (900, 80, 115, 267, 27), -1.9051552585, _within_pulp,
        bounds=[(704.4148, 906.3855), (68.6, 288.88), (0, 134.75), (193, 287.0966), (25, 84.1988)]),
    86: Problem(
        _colville, (0, 0, 0, 0, 1), -32.34867897,
        lambda x: [sum(_COLVILLE["A"][i, j] * x[j] for j in range(5)) - _COLVILLE["b"][i] for i in range(10)],
        bounds=_POSITIVE),
    87: Problem(
        lambda x: x[0] * np.where(x[0] < 300, 30.0, 31.0)
        + x[1] * np.where(x[1] < 100, 28.0, np.where(x[1] < 200, 29.0, 30.0)),
        (390, 1000, 419.5, 340.5, 198.175, 0.5), 8927.59773493, zero=_lines,
        bounds=[(0, 400), (0, 1000), (340, 420), (340, 420), (-1000, 1000), (0, 0.5236)]),
    **{86 + n: _switched(n) for n in range(2, 7)},
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
    99: Problem(
        lambda x: -(_ascent(x)[0] ** 2), (0.5,) * 7, -831079891.516,
        zero=lambda x: [_ascent(x)[1] - 1e5, _ascent(x)[2] - 1e3], bounds=[(0, 1.58)]),
    100: Problem(
        lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
        + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6], (1, 2, 0, 4, 0, 1, 1), 680.6300573,
        lambda x: [
            127 - 2 * x[0] ** 2 - 3 * x[1] ** 4 - x[2] - 4 * x[3] ** 2 - 5 * x[4],
            282 - 7 * x[0] - 3 * x[1] - 10 * x[2] ** 2 - x[3] + x[4],
            196 - 23 * x[0] - x[1] ** 2 - 6 * x[5] ** 2 + 8 * x[6],
            -4 * x[0] ** 2 - x[1] ** 2 + 3 * x[0] * x[1] - 2 * x[2] ** 2 - 5 * x[5] + 11 * x[6]]),
}  # fmt: skip
