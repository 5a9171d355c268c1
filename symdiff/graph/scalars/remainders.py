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
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from .. import BOOL, Node, constant, elementwise
from .series import TERMS, Series, series_of

if TYPE_CHECKING:
    from fractions import Fraction

def _f(name: str, *args: Node) -> Node:
    return elementwise(name, args)


# ---------------------------------------------------------------------------- the functions' own derivatives


def _cycle(*names: str, sign: int = 1) -> Callable[[int, Node], Node]:
    def derivative(n: int, x: Node) -> Node:
        value = _f(names[n % len(names)], x)
        return -value if sign < 0 and (n + (names[0] == "cos")) // 2 % 2 else value

    return derivative


def _log1p(n: int, x: Node) -> Node:
    if n == 0:
        return _f("log1p", x)
    return constant(float((-1) ** (n - 1) * math.factorial(n - 1))) / _power(1.0 + x, n)


def _arctan(n: int, x: Node) -> Node:
    # (n-1)! cos(a)^n sin(n (a + pi/2)) for a = arctan(x); the angle itself would lose the digits of its cosine far out
    if n == 0:
        return _f("arctan", x)
    if n == 1:
        return _f("lorentzian", x)
    one = constant(1.0)
    c, s = _f("direction_cos", one, x), _f("direction_sin", one, x)
    real, imaginary = -s, c
    for _ in range(n - 1):
        real, imaginary = -(s * real + c * imaginary), c * real - s * imaginary
    return constant(float(math.factorial(n - 1))) * _power(c, n) * imaginary


def _arcsin(n: int, x: Node) -> Node:
    if n == 0:
        return _f("arcsin", x)
    rest = _f("one_minus_square", x)
    before, now = _f("arcsin", x), 1.0 / _f("sqrt", rest)
    for k in range(n - 1):  # (1 - x^2) g_(k+2) = (2k+1) x g_(k+1) + k^2 g_k
        step = constant(2.0 * k + 1.0) * (x * now)
        before, now = now, (step + constant(float(k * k)) * before if k else step) / rest
    return now


def _arcsinh(n: int, x: Node) -> Node:
    if n == 0:
        return _f("arcsinh", x)
    root = _f("hypot", constant(1.0), x)
    before, now = _f("arcsinh", x), 1.0 / root
    for k in range(n - 1):  # (1 + x^2) g_(k+2) = -(2k+1) x g_(k+1) - k^2 g_k
        step = constant(2.0 * k + 1.0) * (x / root * now)
        before, now = now, -(step + constant(float(k * k)) * before / root if k else step) / root
    return now


def _arctanh(n: int, x: Node) -> Node:
    if n == 0:
        return _f("arctanh", x)
    rest = _f("one_minus_square", x)
    before, now = _f("arctanh", x), 1.0 / rest
    for k in range(1, n):  # (1 - x^2) g_(k+1) = 2k x g_k + k (k-1) g_(k-1)
        step = constant(2.0 * k) * (x * now)
        before, now = now, (step + constant(float(k * (k - 1))) * before if k > 1 else step) / rest
    return now


def _erf(n: int, x: Node) -> Node:
    # with Hermite's polynomials: erf^(n+1) = (-1)^n H_n(x) 2 / sqrt(pi) exp(-x^2), DLMF 7.10.1
    if n == 0:
        return _f("erf", x)
    before, now = [0], [1]
    for k in range(n - 1):
        longer = [0, *(2 * c for c in now)]
        before, now = now, [c - 2 * k * (before[i] if i < len(before) else 0) for i, c in enumerate(longer)]
    slope = constant(2 / math.sqrt(math.pi)) * _f("exp", -(x * x))
    value = slope * _polynomial(list(map(float, now)), x) if n > 1 else slope
    return value if n % 2 else -value


def _polynomial(coefficients: Sequence[float], x: Node) -> Node:
    """Return a polynomial by Horner's rule, the lowest power first."""
    total = constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x if c == 0.0 else total * x + c
    return total


def _by_polynomials(name: str, change: Sequence[int], n: int, x: Node) -> tuple[Node, list[int]]:
    """Return T = name(x), and P with T^(n) = P(T), for T' = change(T)."""
    found = [0, 1]
    for _ in range(n):
        slope = [i * c for i, c in enumerate(found)][1:]
        found = [0] * (len(slope) + len(change) - 1)
        for i, p in enumerate(slope):
            for j, q in enumerate(change):
                found[i + j] += p * q
    return _f(name, x), found


def _tan(n: int, x: Node) -> Node:
    value, found = _by_polynomials("tan", (1, 0, 1), n, x)
    return value if n == 0 else _polynomial(list(map(float, found)), value)


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
    return _power(_f("sech", x), 2) * _polynomial(list(map(float, quotient)), value)


def _bose(n: int, x: Node) -> Node:
    """Return the derivatives of b(x) = 1 / (exp(x) - 1): b' = b(x) b(-x), and b(-x) = -1 - b(x)."""
    one = constant(1.0)
    value = _f("exp_share", constant(-1.0), one, x)
    if n == 0:
        return value
    other = _f("exp_share", one, constant(-1.0), -x)  # 1 + b(x)
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
    return -(value * other * _polynomial(list(map(float, found)), value))


def _csch(n: int, x: Node) -> Node:
    value = _f("csch", x)
    if n == 0:
        return value
    coth = 1.0 / _f("tanh", x)
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
    return value * _polynomial(list(map(float, found)), coth)


def _bessel(name: str, n: int, x: Node) -> Node:
    from .bessel import of_order_one  # its table is made with this one

    return of_order_one(name, n, x)


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
    "tan": _tan,
    "tanh": _tanh,
    "bernoulli": _bose,
    "csch": _csch,
    **{"j1": partial(_bessel, "j"), "i1": partial(_bessel, "i")},
}


def _power(x: Node, n: int) -> Node:
    if n == 0:
        return constant(1.0)
    return x if n == 1 else _f("power", x, constant(float(n)))


# ---------------------------------------------------------------------------- the quotients


#: 0 for even functions and 1 for odd ones, as their series say; the table is read at import, before any series is.
_PARITY = {
    **dict.fromkeys(("cos", "cosh", "csch"), 0),
    **dict.fromkeys(("sin", "sinh", "tan", "tanh", "arctan", "arcsin", "arcsinh", "arctanh", "erf", "j1", "i1"), 1),
}


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
        """Whether the quotient is an even function."""
        return _PARITY.get(self.function) == max(self.order, 0) % 2

    def coefficients(self) -> Series:
        """Return the Taylor series of the quotient, in all powers of x."""
        return series_of(self.function)[max(self.order, 0) :]

    def numerator(self, n: int, x: Node) -> Node:
        """Return the derivative of order ``n`` of g."""
        start = series_of(self.function)[: max(self.order, 0)]
        if self.order == 1 and self.function == "exp" and n == 0:
            return _f("expm1", x)
        result = DERIVATIVES[self.function](n, x)
        for i, c in enumerate(start[n:], n):
            if c:
                part = float(c * math.factorial(i) / math.factorial(i - n))
                size = constant(abs(part)) if i == n else _times(abs(part), _power(x, i - n))
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
            return _polynomial(_enough(found, self.radius), x)
        start = n % 2
        inner = _polynomial(_enough(found[start::2], self.radius**2), x * x)
        return inner * x if start else inner

    def near_by_square(self, n: int, s: Node) -> Node:
        """Return the Taylor series of the derivative of order ``n`` by s = x**2."""
        series = self.coefficients()[::2]
        found = [series[i] * math.factorial(i) / math.factorial(i - n) for i in range(n, len(series))]
        return _polynomial(_enough(found, self.radius**2), s)

    def expansion(self, n: int, x: Node) -> Node:
        """Return the derivative of order ``n`` as it is computed."""
        close = elementwise("less", (_f("abs", x), constant(self.radius)), BOOL)
        return _f("where", close, self.near(n, x), self.written(n, x))

    def expansion_by_square(self, n: int, s: Node) -> Node:
        """Return the derivative of order ``n`` by s = x**2 as it is computed."""
        if self.function in ("sin", "cos"):
            radius = _SHARED_RADIUS if self.order < 4 else self.radius
            return _combined(_by_stumpff(self.order, n), lambda k: _stumpff(k, s, radius))
        near, far = self.near_by_square(n, s), self.written_by_square(n, _f("sqrt", s))
        return _f("where", _is_close(s, self.radius), near, far)


def _is_close(s: Node, radius: float) -> Node:
    """Return whether s is at most the square of a radius; from 0 on: there is no root of a negative s."""
    half = radius**2 / 2
    return elementwise("less_equal", (_f("abs", s - half), constant(half)), BOOL)


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
        root = _f("sqrt", s)
        return _f("where", elementwise("equal", (s, constant(0.0)), BOOL), constant(1.0), _f("sin", root) / root)
    if k == 2:  # 1 - c_0 = s c_2 and 1 - c_0**2 = s c_1**2, for c_0 = cos(x)
        one, cosine = _stumpff(1, s, radius), _f("cos", _f("sqrt", s))
        return _chosen(_is_close(s, _SHARED_RADIUS), (one * one, 1.0 + cosine), (1.0 - cosine, s))
    close = _is_close(s, radius)
    if k == 3:  # 1 - c_1 = s c_3 and 1 - c_1**2 = s (c_2**2 + 2 c_4)
        one, two = _stumpff(1, s, radius), _stumpff(2, s, radius)
        return _chosen(close, (two * two + 2.0 * _stumpff_near(4, s, radius), 1.0 + one), (1.0 - one, s))
    far = (constant(1.0 / math.factorial(k - 2)) - _stumpff(k - 2, s, radius)) / s
    return _f("where", close, _stumpff_near(k, s, radius), far)


def _chosen(condition: Node, near: tuple[Node, Node], far: tuple[Node, Node]) -> Node:
    """Choose a quotient by its numerator and its denominator: one division serves both."""
    top, bottom = (_f("where", condition, a, b) for a, b in zip(near, far, strict=True))
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
    part = part / _power(x, power) if power > 0 else part * _power(x, -power) if power < 0 else part
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
    *(Remainder(name, 1, 2.0, source) for name, source in (("j1", "10.2.2"), ("i1", "10.25.2"))),
    *(Remainder("tan", m, r, "4.19.3") for m, r in ((1, 0.4), (3, 0.6))),
    *(Remainder("tanh", m, r, "4.33.3") for m, r in ((1, 0.4), (3, 0.6))),
    Remainder("bernoulli", -1, 1.0, "24.2.1"),
    Remainder("csch", -1, 1.0, "4.33.4"),
)
