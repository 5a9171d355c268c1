"""Functions whose quotients with a removable singularity are rows: Taylor series at 0, derivatives of every order.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

from .. import Node, constant, elementwise

if TYPE_CHECKING:
    from fractions import Fraction

#: Coefficients of a power series.
Series: TypeAlias = "tuple[Fraction, ...]"
#: Terms of the series that are known; what a double needs is far fewer.
TERMS = 120
#: Terms that are compared with those of polynomials, whose degrees are below.
_BEGINNING = 32


@cache
def _tangent_numbers() -> list[int]:
    """Return 0 and the derivatives of odd order of tan(x) at 0.

    The method is that of Brent and Harvey, Fast computation of Bernoulli, tangent and secant numbers (2011),
    section 4: it takes whole numbers alone, where a division of series takes fractions.
    """
    count = TERMS // 2
    found = [0, *(math.factorial(n - 1) for n in range(1, count + 1))]
    for k in range(2, count + 1):
        for j in range(k, count + 1):
            found[j] = (j - k) * found[j - 1] + (j - k + 2) * found[j]
    return found


@cache
def _bernoulli_numbers() -> Series:
    """Return Bernoulli's numbers, by the tangent numbers: DLMF 24.15.4."""
    from fractions import Fraction

    found = [Fraction(0)] * TERMS
    found[:2] = [Fraction(1), Fraction(-1, 2)]
    for n, tangent in enumerate(_tangent_numbers()[: TERMS // 2]):
        if n:
            found[2 * n] = Fraction((-1) ** (n - 1) * 2 * n * tangent, 4**n * (4**n - 1))
    return tuple(found)


@cache
def series_of(name: str) -> Series:
    """Return the Taylor series of a function at 0, in all powers of x."""
    from fractions import Fraction

    k = range(TERMS)
    if name in ("exp", "sinh", "cosh", "sin", "cos"):
        every = [Fraction(1, math.factorial(i)) for i in k]
        if name == "exp":
            return tuple(every)
        odd = name in ("sin", "sinh")
        sign = -1 if name in ("sin", "cos") else 1
        return tuple(every[i] * sign ** (i // 2) if i % 2 == odd else Fraction(0) for i in k)
    if name in ("j1", "i1"):
        sign = -1 if name == "j1" else 1
        halves = [Fraction(sign ** (i // 2), 2**i * math.factorial(i // 2) * math.factorial(i // 2 + 1)) for i in k]
        return tuple(halves[i] if i % 2 else Fraction(0) for i in k)
    if name == "dawsn":
        return tuple(Fraction((-2) ** (i // 2), math.prod(range(1, i + 1, 2))) if i % 2 else Fraction(0) for i in k)
    if name == "si":
        return tuple(c / i if i else c for i, c in enumerate(series_of("sin")))
    if name == "log1p":
        return tuple(Fraction((-1) ** (i + 1), i) if i else Fraction(0) for i in k)
    if name == "arctan":
        return tuple(Fraction((-1) ** (i // 2), i) if i % 2 else Fraction(0) for i in k)
    if name == "arctanh":
        return tuple(Fraction(1, i) if i % 2 else Fraction(0) for i in k)
    if name == "erf":  # its factor 2 / sqrt(pi) is irrational, and taken as the nearest double
        factor = Fraction(2 / math.sqrt(math.pi))
        terms = (factor * (-1) ** (i // 2) / (math.factorial(i // 2) * i) if i % 2 else Fraction(0) for i in k)
        return tuple(terms)
    if name in ("arcsin", "arcsinh"):
        sign = -1 if name == "arcsinh" else 1
        return tuple(
            Fraction(math.comb(i - 1, i // 2) * sign ** (i // 2), 4 ** (i // 2) * i) if i % 2 else Fraction(0)
            for i in k
        )
    if name in ("tan", "tanh"):  # DLMF 4.19.3, 4.33.3
        sign, numbers = -1 if name == "tanh" else 1, _tangent_numbers()
        return tuple(
            Fraction(sign ** (i // 2) * numbers[i // 2 + 1], math.factorial(i)) if i % 2 else Fraction(0) for i in k
        )
    # x / (exp(x) - 1), DLMF 24.2.1, and x / sinh(x), DLMF 4.19.4 with 4.28.11
    scale = [1 if name == "bernoulli" else 2 - 2**i for i in k]
    return tuple(scale[i] * number / math.factorial(i) for i, number in enumerate(_bernoulli_numbers()))


@cache
def beginning_of(name: str) -> tuple[float, ...]:
    """Return the first coefficients of the series of a function, as doubles: exact ones take Python long to round."""
    return tuple(map(float, series_of(name)[:_BEGINNING]))


# ---------------------------------------------------------------------------- derivatives


def scalar(name: str, *args: Node) -> Node:
    """Return a function of the table."""
    return elementwise(name, args)


def _cycle(*names: str, sign: int = 1) -> Callable[[int, Node], Node]:
    def derivative(n: int, x: Node) -> Node:
        value = scalar(names[n % len(names)], x)
        return -value if sign < 0 and (n + (names[0] == "cos")) // 2 % 2 else value

    return derivative


def _log1p(n: int, x: Node) -> Node:
    if n == 0:
        return scalar("log1p", x)
    return constant(float((-1) ** (n - 1) * math.factorial(n - 1))) / whole_power(1.0 + x, n)


def _arctan(n: int, x: Node) -> Node:
    # (n-1)! cos(a)^n sin(n (a + pi/2)) for a = arctan(x); the angle itself would lose the digits of its cosine far out
    if n == 0:
        return scalar("arctan", x)
    if n == 1:
        return scalar("lorentzian", x)
    one = constant(1.0)
    c, s = scalar("direction_cos", one, x), scalar("direction_sin", one, x)
    real, imaginary = -s, c
    for _ in range(n - 1):
        real, imaginary = -(s * real + c * imaginary), c * real - s * imaginary
    return constant(float(math.factorial(n - 1))) * whole_power(c, n) * imaginary


def _arcsin(n: int, x: Node) -> Node:
    if n == 0:
        return scalar("arcsin", x)
    rest = scalar("one_minus_square", x)
    before, now = scalar("arcsin", x), 1.0 / scalar("sqrt", rest)
    for k in range(n - 1):  # (1 - x^2) g_(k+2) = (2k+1) x g_(k+1) + k^2 g_k
        step = constant(2.0 * k + 1.0) * (x * now)
        before, now = now, (step + constant(float(k * k)) * before if k else step) / rest
    return now


def _arcsinh(n: int, x: Node) -> Node:
    if n == 0:
        return scalar("arcsinh", x)
    root = scalar("hypot", constant(1.0), x)
    before, now = scalar("arcsinh", x), 1.0 / root
    for k in range(n - 1):  # (1 + x^2) g_(k+2) = -(2k+1) x g_(k+1) - k^2 g_k
        step = constant(2.0 * k + 1.0) * (x / root * now)
        before, now = now, -(step + constant(float(k * k)) * before / root if k else step) / root
    return now


def _arctanh(n: int, x: Node) -> Node:
    if n == 0:
        return scalar("arctanh", x)
    rest = scalar("one_minus_square", x)
    before, now = scalar("arctanh", x), 1.0 / rest
    for k in range(1, n):  # (1 - x^2) g_(k+1) = 2k x g_k + k (k-1) g_(k-1)
        step = constant(2.0 * k) * (x * now)
        before, now = now, (step + constant(float(k * (k - 1))) * before if k > 1 else step) / rest
    return now


def _erf(n: int, x: Node) -> Node:
    # with Hermite's polynomials: erf^(n+1) = (-1)^n H_n(x) 2 / sqrt(pi) exp(-x^2), DLMF 7.10.1
    if n == 0:
        return scalar("erf", x)
    before, now = [0], [1]
    for k in range(n - 1):
        longer = [0, *(2 * c for c in now)]
        before, now = now, [c - 2 * k * (before[i] if i < len(before) else 0) for i, c in enumerate(longer)]
    slope = constant(2 / math.sqrt(math.pi)) * scalar("exp", -(x * x))
    value = slope * polynomial(list(map(float, now)), x) if n > 1 else slope
    return value if n % 2 else -value


def polynomial(coefficients: Sequence[float], x: Node) -> Node:
    """Return a polynomial by Horner's rule, the lowest power first; where two powers are apart, in their square."""
    total = constant(coefficients[-1])
    gap = 0
    for c in reversed(coefficients[:-1]):
        gap += 1
        if c != 0.0:
            total = total * whole_power(x, gap) + c
            gap = 0
    return total * whole_power(x, gap) if gap else total


def _by_polynomials(name: str, change: Sequence[int], n: int, x: Node) -> tuple[Node, list[int]]:
    """Return T = name(x), and P with T^(n) = P(T), for T' = change(T)."""
    found = [0, 1]
    for _ in range(n):
        slope = [i * c for i, c in enumerate(found)][1:]
        found = [0] * (len(slope) + len(change) - 1)
        for i, p in enumerate(slope):
            for j, q in enumerate(change):
                found[i + j] += p * q
    return scalar(name, x), found


def _tan(n: int, x: Node) -> Node:
    value, found = _by_polynomials("tan", (1, 0, 1), n, x)
    return value if n == 0 else polynomial(list(map(float, found)), value)


def _tanh(n: int, x: Node) -> Node:
    value, found = _by_polynomials("tanh", (1, 0, -1), n, x)
    if n == 0:
        return value
    # each is a product with 1 - T^2 = sech(x)^2
    quotient: list[int] = []
    rest = list(found)
    for i in range(len(found) - 2):
        quotient.append(rest[i])
        rest[i + 2] += rest[i]
    return whole_power(scalar("sech", x), 2) * polynomial(list(map(float, quotient)), value)


def _bose(n: int, x: Node) -> Node:
    """Return the derivatives of b(x) = 1 / (exp(x) - 1): b' = b(x) b(-x), and b(-x) = -1 - b(x)."""
    one = constant(1.0)
    value = scalar("exp_share", constant(-1.0), one, x)
    if n == 0:
        return value
    other = scalar("exp_share", one, constant(-1.0), -x)  # 1 + b(x)
    found = [1]
    for _ in range(n - 1):
        # (b (1 + b) P(b))' = -b (1 + b) ((1 + 2 b) P + b (1 + b) P')
        slope = [i * c for i, c in enumerate(found)][1:]
        new = [0] * (len(found) + 1)
        for i, c in enumerate(found):
            new[i] -= c
            new[i + 1] -= 2 * c
        for i, c in enumerate(slope):
            new[i + 1] -= c
            new[i + 2] -= c
        found = new
    return -(value * other * polynomial(list(map(float, found)), value))


def _csch(n: int, x: Node) -> Node:
    value = scalar("csch", x)
    if n == 0:
        return value
    coth = 1.0 / scalar("tanh", x)
    found = [1]
    for _ in range(n):
        # (csch P(C))' = -csch (C P + (C^2 - 1) P')
        slope = [i * c for i, c in enumerate(found)][1:]
        new = [0] * (len(found) + 1)
        for i, c in enumerate(found):
            new[i + 1] -= c
        for i, c in enumerate(slope):
            new[i] += c
            new[i + 2] -= c
        found = new
    return value * polynomial(list(map(float, found)), coth)


def _bessel(name: str, n: int, x: Node) -> Node:
    from .bessel import of_order_one  # its table is made with this one

    return of_order_one(name, n, x)


def _dawson(n: int, x: Node) -> Node:
    return scalar("dawsn_derivative", constant(float(n)), x) if n else scalar("dawsn", x)


def _sine_integral(n: int, x: Node) -> Node:
    return scalar("sin_remainder_1", constant(float(n - 1)), x) if n else scalar("si", x)


DERIVATIVES: dict[str, Callable[[int, Node], Node]] = {
    "sin": _cycle("sin", "cos", sign=-1),
    "cos": _cycle("cos", "sin", sign=-1),
    "sinh": _cycle("sinh", "cosh"),
    "cosh": _cycle("cosh", "sinh"),
    "exp": _cycle("exp"),
    "log1p": _log1p,
    "arctan": _arctan,
    "arcsin": _arcsin,
    "arcsinh": _arcsinh,
    "arctanh": _arctanh,
    "erf": _erf,
    "dawsn": _dawson,
    "si": _sine_integral,
    "tan": _tan,
    "tanh": _tanh,
    "bernoulli": _bose,
    "csch": _csch,
    **{"j1": partial(_bessel, "j"), "i1": partial(_bessel, "i")},
}


def whole_power(x: Node, n: int) -> Node:
    """Return ``x**n``, for n from 0 on."""
    if n == 0:
        return constant(1.0)
    return x if n == 1 else scalar("power", x, constant(float(n)))
