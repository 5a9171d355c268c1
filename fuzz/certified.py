"""Published figures: regressions that NIST has certified, the problems of Hock and Schittkowski, special functions.

The regressions are solved from both starts with symdiff's residuals, Jacobians and Hessians, to the certified digits.
Values, gradients and Hessians of the problems are compared with the book and with differences in many digits, and so
are values and derivatives of special functions at points that are drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any, TypeAlias

import mpmath as mp
import numpy as np
import numpy.typing as npt
from scipy.optimize import leastsq

import symdiff as sd
from symdiff.frontend.formula import read_formula

from .problems import PROBLEMS
from .regressions import REGRESSIONS

#: ("regression", name, start), ("problem", number, where) or ("special", name, point).
CertifiedCase: TypeAlias = tuple[str, Any, Any]
Numbers: TypeAlias = npt.NDArray[np.float64]

#: Digits that a solution must share with the certified parameters, which have eleven: the normal equations of the
#: worst one lose eight of sixteen.
DIGITS = 7.5
#: Errors that derivatives may have, in units of the last place times the condition.
ULPS = 100.0

#: Functions of one number, their reference, and the ends of the points.
SPECIAL: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "erf": (mp.erf, -5.0, 5.0),
    "erfc": (mp.erfc, -5.0, 25.0),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), -5.0, 25.0),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), -30.0, 30.0),
    "ndtr": (mp.ncdf, -30.0, 6.0),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)), -30.0, 6.0),
    "gamma": (mp.gamma, 0.1, 150.0),
    "gammaln": (mp.loggamma, 0.1, 1e4),
    "digamma": (mp.digamma, 0.1, 1e4),
    "j0": (lambda x: mp.besselj(0, x), 0.0, 40.0),
    "j1": (lambda x: mp.besselj(1, x), 0.0, 40.0),
    "y0": (lambda x: mp.bessely(0, x), 0.1, 20.0),
    "y1": (lambda x: mp.bessely(1, x), 0.1, 20.0),
    "i0": (lambda x: mp.besseli(0, x), -40.0, 40.0),
    "i1": (lambda x: mp.besseli(1, x), -40.0, 40.0),
    "k0": (lambda x: mp.besselk(0, x), 0.1, 15.0),
    "k1": (lambda x: mp.besselk(1, x), 0.1, 15.0),
    "i0e": (lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), 0.1, 200.0),
    "k0e": (lambda x: mp.exp(x) * mp.besselk(0, x), 0.1, 15.0),
    "exp1": (mp.e1, 0.1, 200.0),
    "expi": (mp.ei, 0.5, 200.0),
    "exprel": (lambda x: mp.expm1(x) / x if x else mp.mpf(1), -50.0, 700.0),
    "lambertw": (lambda x: mp.lambertw(x).real, -0.3, 1e4),
}


def draw(rng: random.Random) -> CertifiedCase:
    """Draw a regression and a start, a problem and a point, or a function and a point."""
    way = rng.random()
    if way < 0.1:
        return "regression", rng.choice([*REGRESSIONS]), rng.randrange(2)
    if way < 0.2:
        return "problem", rng.choice([*PROBLEMS]), rng.choice(("start", "solution"))
    name = rng.choice([*SPECIAL])
    _, low, high = SPECIAL[name]
    point = rng.uniform(low, high)
    if rng.random() < 0.5:  # as many near 0 as far out
        point = min(max(point * 10.0 ** rng.uniform(-3.0, 0.0), low), high)
    return "special", name, point


def run(case: CertifiedCase) -> str:
    """Return what differs from the published figures."""
    kind, name, where = case
    runs: dict[str, Callable[..., str]] = {"regression": regression, "problem": problem, "special": special}
    return runs[kind](name, where)


def regression(name: str, start: int) -> str:
    """Solve a regression, first by Levenberg and Marquardt's method, then by Newton's, which the Hessian is for."""
    row = REGRESSIONS[name]
    shapes = {"b": (len(row.parameters),), "x": (len(row.x),), "y": (len(row.y),)}
    data = {"x": np.asarray(row.x), "y": np.asarray(row.y)}
    residual, half = f"{row.model} - y", f"0.5*sum(({row.model} - y)**2)"
    residuals, slopes = sd.compile(residual, shapes=shapes), sd.compile(sd.jacobian(residual, "b", shapes=shapes))
    gradient = sd.compile(sd.gradient(half, "b", shapes=shapes))
    hessian = sd.compile(sd.hessian(half, "b", shapes=shapes))
    tight = {"ftol": 3e-16, "xtol": 3e-16, "gtol": 0.0, "maxfev": 20000}
    b, *_ = leastsq(
        lambda b: residuals(b=b, **data), row.starts[start], Dfun=lambda b: slopes(b=b, **data), factor=1.0,
        full_output=True, **tight)  # fmt: skip
    for _ in range(2):
        bent = hessian(b=b, **data)
        scale = np.sqrt(np.abs(np.diagonal(bent)))
        b = b - np.linalg.solve(bent / np.outer(scale, scale), gradient(b=b, **data) / scale) / scale
    known = np.asarray(row.parameters)
    digits = -np.log10(np.max(np.abs(b / known - 1)) + 1e-16)
    squares = float(np.sum(residuals(b=b, **data) ** 2))
    if not digits >= DIGITS:
        return f"{digits:.1f} digits of {name} are right from start {start + 1}: {b}"
    return "" if abs(squares / row.squares - 1) < 1e-9 else f"sum of squares of {name}: {squares}, not {row.squares}"


def problem(number: int, where: str) -> str:
    """Compare the value with the book, and the derivatives with differences in many digits."""
    row = PROBLEMS[number]
    at, published = (row.start, row.begins) if where == "start" else (row.solution, row.ends)
    n = len(at)
    x = sd.vector("x", n)
    f = row.objective(x, np)
    value, gradient, hessian = sd.compile([f, sd.gradient(f, x), sd.hessian(f, x)], [x])(np.asarray(at, float))
    if not abs(value - published) <= 1e-6 * (1.0 + abs(published)):
        return f"problem {number} at the {where}: {value}, published {published}"
    units = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    with mp.workdps(60):
        slopes = [_partial(row.objective, at, unit) for unit in units]
        orders = [tuple(a + b for a, b in zip(*pair, strict=True)) for pair in product(units, units)]
        bends = [_partial(row.objective, at, each) for each in orders]
    for found, right in ((gradient, np.array(slopes)), (hessian, np.reshape(bends, (n, n)))):
        if not np.allclose(found, right, rtol=1e-13, atol=1e-13 * (1.0 + np.abs(right).max())):
            return f"derivative of problem {number} at the {where}: {found}, expected {right}"
    return ""


def _partial(objective: Callable[[Any, Any], Any], at: tuple[float, ...], orders: tuple[int, ...]) -> float:
    point = tuple(map(mp.mpf, at))
    return float(mp.diff(lambda *x: objective(x, mp), point, orders))


def special(name: str, point: float) -> str:
    """Compare a function and two derivatives with mpmath."""
    reference = SPECIAL[name][0]
    with mp.workdps(25):  # mpmath takes more for differences; Bessel functions of large arguments take it long
        known = [mp.diff(reference, mp.mpf(point), k) if k else reference(mp.mpf(point)) for k in range(4)]
        condition = [float(abs(a) + abs(point * b)) for a, b in pairwise(known)]
        right = [float(a) for a in known[:3]]
    read = read_formula(f"{name}(x)", {"x": ()})
    x = read.inputs["x"]
    found = sd.compile([read.value, sd.derivative(read.value, x), sd.derivative(read.value, x, 2)], [x])(point)
    for order, (a, b, size) in enumerate(zip(found, right, condition, strict=True)):
        if not abs(float(a) - b) <= ULPS * 2.0**-53 * size + 1e-300:
            return f"derivative {order} of {name} at {point!r}: {float(a)!r}, expected {b!r}"
    return ""


def smaller(case: CertifiedCase) -> Iterator[CertifiedCase]:
    """Give points with fewer digits; what is published stays as it is."""
    kind, name, where = case
    if kind == "special":
        low, high = SPECIAL[name][1:]
        for digits in range(4):
            point = round(where, digits)
            if point != where and low <= point <= high:
                yield kind, name, point
