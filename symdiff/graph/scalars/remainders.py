"""Quotients with a removable singularity: ``sin(x) / x``, ``(exp(x) - 1) / x``, ``(1 - cos(x)) / x**2``.

As they are written they are 0 / 0 at 0, and their derivatives subtract numbers that are nearly
equal close to it. Each is ``g(x) / x**m``, where g is a function less the beginning of its Taylor
series. Near 0 a derivative of any order is its Taylor series, elsewhere Leibniz's rule for the
quotient. An even quotient has a second form, in s = x**2, whose derivatives with respect to s are smooth too:
that is what ``sin(norm(w)) / norm(w)`` needs at w = 0, where the norm itself has a kink.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .. import BOOL, Node, constant, elementwise

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


# ---------------------------------------------------------------------------- the quotients


#: 0 for even functions and 1 for odd ones, as their series say; the table is read at import, before any series is.
_PARITY = {
    **dict.fromkeys(("cos", "cosh", "csch"), 0),
    **dict.fromkeys(("sin", "sinh", "tan", "tanh", "arctan", "arcsin", "arcsinh", "arctanh", "erf", "j1", "i1"), 1),
    **dict.fromkeys(("dawsn", "si"), 1),
}


#: From here on exp(x) is a square, in float32 too, which has no number for exp(89).
_LARGE = 80.0

#: Below it each quotient of order one is its first coefficient, in float64 and float32; from it on numerators are far
#: from the least numbers of either, which have fewer digits.
_TINY = 2.0**-54
#: Functions with errors of several units in the last place near 0, whose quotients take their series there.
_ROUGH = frozenset({"dawsn", "j1", "i1"})


class Remainder(NamedTuple):
    """``g(x) / x**order``, with g a function less the terms of its Taylor series below ``order``.

    Parameters
    ----------
    function : str
        A row of the table of functions; "bernoulli" and "csch" stand for x / (exp(x) - 1) and x / sinh(x).
    order : int
        How many powers of x divide g; -1 for these two, which multiply.
    radius : float
        Up to where the Taylor series is taken.
    source : str
        Section of the DLMF with the series.
    """

    function: str
    order: int
    radius: float
    source: str

    @property
    def name(self) -> str:
        """The row's name in the table of functions."""
        return f"{self.function}_remainder_{self.order}" if self.order > 0 else f"{self.function}_quotient"

    @property
    def even(self) -> bool:
        """True of quotients that are even functions."""
        return _PARITY.get(self.function) == max(self.order, 0) % 2

    def divides(self, n: int) -> bool:
        """Tell whether the derivative of order ``n`` is a quotient of two numbers with all their digits, but at 0."""
        return n == 0 and abs(self.order) == 1 and self.function not in _ROUGH

    def coefficients(self) -> Series:
        """Return the Taylor series of the quotient, in all powers of x."""
        return series_of(self.function)[max(self.order, 0) :]

    def numerator(self, n: int, x: Node) -> Node:
        """Return the derivative of order ``n`` of g."""
        start = series_of(self.function)[: max(self.order, 0)]
        if self.order == 1 and self.function == "exp" and n == 0:
            return scalar("expm1", x)
        result = DERIVATIVES[self.function](n, x)
        for i, c in enumerate(start[n:], n):
            if c:
                part = float(c * math.factorial(i) / math.factorial(i - n))
                size = constant(abs(part)) if i == n else _times(abs(part), whole_power(x, i - n))
                result = result - size if part > 0 else result + size
        return result

    @property
    def name_by_square(self) -> str:
        """The name of the row of s = x**2."""
        return f"{self.name}_of_square"

    def written(self, n: int, x: Node) -> Node:
        """Return the derivative of order ``n`` as Leibniz's rule gives it."""
        m = self.order
        total: Node | None = None
        factor = 1
        for k in range(n + 1):
            c = math.comb(n, k) * factor
            factor *= -(m + k)
            if c:
                total = _append(total, float(c), self.numerator(n - k, x), x, m + k)
        assert total is not None
        return total

    def written_by_square(self, n: int, x: Node) -> Node:
        """Return the derivative of order ``n`` by s = x**2."""
        from fractions import Fraction

        found = {0: Fraction(1)}  # of g^(j) / x^(order + 2 n - j)
        for step in range(n):
            new: dict[int, Fraction] = {}
            for j, c in found.items():
                a = self.order + 2 * step - j
                new[j] = new.get(j, Fraction(0)) - c * a / 2
                new[j + 1] = new.get(j + 1, Fraction(0)) + c / 2
            found = new
        total: Node | None = None
        for j, c in sorted(found.items(), reverse=True):
            if c:
                total = _append(total, float(c), self.numerator(j, x), x, self.order + 2 * n - j)
        assert total is not None
        return total

    def near(self, n: int, x: Node) -> Node:
        """Return the Taylor series of the derivative of order ``n``."""
        series = self.coefficients()
        found = [series[i] * math.factorial(i) / math.factorial(i - n) for i in range(n, len(series))]
        if not self.even:
            return polynomial(_enough(found, self.radius), x)
        start = n % 2
        inner = polynomial(_enough(found[start::2], self.radius**2), x * x)
        return inner * x if start else inner

    def near_by_square(self, n: int, s: Node) -> Node:
        """Return the Taylor series of the derivative of order ``n`` by s = x**2."""
        series = self.coefficients()[::2]
        found = [series[i] * math.factorial(i) / math.factorial(i - n) for i in range(n, len(series))]
        return polynomial(_enough(found, self.radius**2), s)

    def expansion(self, n: int, x: Node) -> Node:
        """Return the derivative of order ``n`` as it is computed."""
        size = scalar("abs", x)
        if self.divides(n):
            close = elementwise("less", (size, constant(_TINY)), BOOL)
            return scalar("where", close, constant(float(self.coefficients()[0])), self._far(n, x))
        close = elementwise("less", (size, constant(self.radius)), BOOL)
        return scalar("where", close, self.near(n, x), self._far(n, x))

    def _far(self, n: int, x: Node) -> Node:
        if self.function == "bernoulli" and n == 0:
            # exp(x) - 1 = e (e + 2) for e = exp(x / 2) - 1, which has no overflow where the quotient is a number
            e = scalar("expm1", 0.5 * x)
            return x / e / (e + 2.0)
        if self.function != "exp":
            return self.written(n, x)
        # exp(x) is e * e beyond _LARGE, for e = exp(x / 2): the quotient has numbers where exp(x) has none. The terms
        # of the series have no digits beside exp(x) there, but would have some beside e
        large = elementwise("less", (constant(_LARGE), x), BOOL)
        s = scalar("where", large, 0.5 * x, x)
        e, other = scalar("exp", s), scalar("where", large, constant(0.0), x)
        one = scalar("where", large, constant(0.0), constant(1.0))
        total: Node | None = None
        for k in range(n + 1):
            g = e
            if self.order == 1 and k == n:
                g = scalar("expm1", s)
            for i in range(self.order - n + k if self.order > 1 else 0):
                g = g - (one if i == 0 else _times(1.0 / math.factorial(i), whole_power(other, i)))
            c = math.comb(n, k) * math.perm(self.order + k - 1, k) * (-1) ** k
            total = _append(total, float(c), g, x, self.order + k)
        assert total is not None
        return total * scalar("where", large, g, constant(1.0))  # g is e there

    def expansion_by_square(self, n: int, s: Node) -> Node:
        """Return the derivative of order ``n`` by s = x**2 as it is computed."""
        if self.function in ("sin", "cos"):
            radius = _SHARED_RADIUS if self.order < 4 else self.radius
            return _combined(_by_stumpff(self.order, n), lambda k: _stumpff(k, s, radius))
        far = self.written_by_square(n, scalar("sqrt", s))
        if self.divides(n):
            at_zero = elementwise("equal", (s, constant(0.0)), BOOL)
            return scalar("where", at_zero, constant(float(self.coefficients()[0])), far)
        return scalar("where", _is_close(s, self.radius), self.near_by_square(n, s), far)


def _is_close(s: Node, radius: float) -> Node:
    """Return whether s is at most the square of a radius; from 0 on: there is no root of a negative s."""
    half = radius**2 / 2
    return elementwise("less_equal", (scalar("abs", s - half), constant(half)), BOOL)


# Remainders of sine and cosine, by s = x**2, are Stumpff's functions c_k(s) = sum of (-s)^i / (k + 2i)!,
# with signs. Their derivatives are made of two others, so that values and first derivatives share one series:
# c_k' = (k c_(k+2) - c_(k+1)) / 2 and c_k = 1/k! - s c_(k+2) (Danby, Fundamentals of Celestial Mechanics, 6.9).
_SHARED_RADIUS = 2.0
#: Functions c_k one after the other that are begun from the same last terms.
_TOGETHER = 6


def _by_stumpff(k: int, n: int) -> dict[int, Fraction]:
    """Return the derivative of order ``n`` of a remainder of sine or cosine: a factor for each c_k."""
    from fractions import Fraction

    found = {k: Fraction((-1) ** (k // 2))}
    for _ in range(n):
        new: dict[int, Fraction] = {}
        for each, c in found.items():
            new[each + 2] = new.get(each + 2, Fraction(0)) + c * each / 2
            new[each + 1] = new.get(each + 1, Fraction(0)) - c / 2
        found = new
    return {each: c for each, c in found.items() if c}


def _combined(terms: dict[int, Fraction], one: Callable[[int], Node]) -> Node:
    total: Node | None = None
    for k, c in sorted(terms.items()):
        part = _times(abs(float(c)), one(k))
        total = (part if c > 0 else -part) if total is None else total + part if c > 0 else total - part
    assert total is not None
    return total


def _stumpff(k: int, s: Node, radius: float) -> Node:
    """Return c_k: the first three by each other and the fourth, the others by their series near 0."""
    if k == 1:
        root = scalar("sqrt", s)
        at_zero = elementwise("equal", (s, constant(0.0)), BOOL)
        return scalar("where", at_zero, constant(1.0), scalar("sin", root) / root)
    if k == 2:  # 1 - c_0 = s c_2 and 1 - c_0**2 = s c_1**2, for c_0 = cos(x)
        one, cosine = _stumpff(1, s, radius), scalar("cos", scalar("sqrt", s))
        return _chosen(_is_close(s, _SHARED_RADIUS), (one * one, 1.0 + cosine), (1.0 - cosine, s))
    close = _is_close(s, radius)
    if k == 3:  # 1 - c_1 = s c_3 and 1 - c_1**2 = s (c_2**2 + 2 c_4)
        one, two = _stumpff(1, s, radius), _stumpff(2, s, radius)
        return _chosen(close, (two * two + 2.0 * _stumpff_near(4, s, radius), 1.0 + one), (1.0 - one, s))
    far = (constant(1.0 / math.factorial(k - 2)) - _stumpff(k - 2, s, radius)) / s
    return scalar("where", close, _stumpff_near(k, s, radius), far)


def _chosen(condition: Node, near: tuple[Node, Node], far: tuple[Node, Node]) -> Node:
    """Choose a quotient by its numerator and its denominator: one division serves both."""
    top, bottom = (scalar("where", condition, a, b) for a, b in zip(near, far, strict=True))
    return top / bottom


def _stumpff_near(k: int, s: Node, radius: float) -> Node:
    """Return c_k by its series, whose inner part by Horner's rule is that of c_(k+2)."""
    from fractions import Fraction

    first = k - (k - 3) % _TOGETHER // 2 * 2
    series = [Fraction(1, math.factorial(first + 2 * i)) for i in range(TERMS // 2)]
    last = first + 2 * (len(_enough(series, radius**2)) - 1)
    total = constant(1.0 / math.factorial(last))
    for each in range(last - 2, k - 1, -2):
        total = constant(1.0 / math.factorial(each)) - s * total
    return total


def _times(c: float, x: Node) -> Node:
    return x if c == 1.0 else c * x


def _append(total: Node | None, c: float, g: Node, x: Node, power: int) -> Node:
    part = _times(abs(c), g)
    part = part / whole_power(x, power) if power > 0 else part * whole_power(x, -power) if power < 0 else part
    if total is None:
        return part if c > 0 else -part
    return total + part if c > 0 else total - part


def _enough(series: Sequence[Fraction], radius: float) -> list[float]:
    """Return the coefficients that a double can tell from 0 within a radius."""
    first = max(abs(float(c)) for c in series[:2])
    last = max(i for i, c in enumerate(series) if abs(float(c)) * radius**i > first * 2.0**-58)
    return [float(c) for c in series[: last + 1]]


#: The quotients that are recognized: function, order, radius of the series, source.
REMAINDERS: tuple[Remainder, ...] = (
    *(Remainder("sin", m, r, "4.19.1") for m, r in ((1, 1.0), (3, 2.0), (5, 3.0))),
    *(Remainder("cos", m, r, "4.19.2") for m, r in ((2, 1.5), (4, 2.5))),
    *(Remainder("sinh", m, r, "4.33.1") for m, r in ((1, 1.0), (3, 2.0))),
    *(Remainder("cosh", m, r, "4.33.2") for m, r in ((2, 1.5), (4, 2.5))),
    *(Remainder("exp", m, r, "4.2.19") for m, r in ((1, 1.0), (2, 1.5), (3, 2.0))),
    *(Remainder("log1p", m, r, "4.6.1") for m, r in ((1, 0.125), (2, 0.25))),
    *(Remainder("arctan", m, r, "4.24.3") for m, r in ((1, 0.25), (3, 0.4))),
    *(Remainder("arcsin", m, r, "4.24.1") for m, r in ((1, 0.25), (3, 0.4))),
    *(Remainder("arcsinh", m, r, "4.38.1") for m, r in ((1, 0.25), (3, 0.4))),
    *(Remainder("arctanh", m, r, "4.38.5") for m, r in ((1, 0.25), (3, 0.4))),
    Remainder("erf", 1, 0.5, "7.6.1"),
    *(Remainder("dawsn", m, r, "7.10.3") for m, r in ((1, 1.0), (3, 1.5))),
    *(Remainder("si", m, r, "6.6.5") for m, r in ((1, 1.0), (3, 2.0))),
    *(Remainder(name, 1, 2.0, source) for name, source in (("j1", "10.2.2"), ("i1", "10.25.2"))),
    *(Remainder("tan", m, r, "4.19.3") for m, r in ((1, 0.4), (3, 0.6))),
    *(Remainder("tanh", m, r, "4.33.3") for m, r in ((1, 0.4), (3, 0.6))),
    Remainder("bernoulli", -1, 1.0, "24.2.1"),
    Remainder("csch", -1, 1.0, "4.33.4"),
)
