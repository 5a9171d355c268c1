"""Digamma and trigamma in ordinary operations, which run on whole vectors of samples.

No vector library has them, and lane by lane they are most of the time of any likelihood with a
gamma function. Below 10 the recurrence takes ten steps at once, as one quotient of polynomials
in s = x (x + 9), since (x + k)(x + 9 - k) = s + k (9 - k); above stands the asymptotic expansion.
A value and its derivative share most of this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .builder import ProgramBuilder

__all__ = ["digamma", "polygamma"]

#: From here on the expansions are exact to rounding.
_FAR = 10.0
#: The products of the ten steps' factors, in pairs: s + c.
_PAIRS = (0, 8, 14, 18, 20)
#: B(2k) / 2k, DLMF 5.11.2, and B(2k), DLMF 5.15.8, from k = 1 on; signs alternate.
_DIGAMMA = (1 / 12, 1 / 120, 1 / 252, 1 / 240, 1 / 132, 691 / 32760, 1 / 12, 3617 / 8160)
_TRIGAMMA = (1 / 6, 1 / 30, 1 / 42, 1 / 30, 5 / 66, 691 / 2730, 7 / 6, 3617 / 510)
#: The zero of digamma above 0 and what float32 leaves of it, digamma there, and how far the Taylor series is taken.
_ZERO, _REST = float.fromhex("0x1.762d86p+0"), float.fromhex("0x1.ab5f1f8000000p-27")
_AT_ZERO, _NEAR = -9.241265521729427e-17, 0.25
#: The series: (-1)^(k+1) zeta(k+1, zero), DLMF 5.15.1.
_TAYLOR = tuple(
    map(
        float.fromhex,
        (
            *("0x1.ef72bc8ee38acp-1", "-0x1.c563b54aa1a37p-2", "0x1.08b4294d50382p-2", "-0x1.4fc1317257daap-3"),
            *("0x1.b9a5b6370f3aep-4", "-0x1.27baba261cc2ep-4", "0x1.8fce02b239caap-5", "-0x1.0fa7ec36a7d91p-5"),
            *("0x1.723d6807edcc4p-6", "-0x1.f970508e1b6a8p-7", "0x1.5955caaa962f8p-7", "-0x1.d828079282ebfp-8"),
            *("0x1.42e1acf81d8e1p-8", "-0x1.b9afc7cee8a1bp-9", "0x1.2e23345f79ab4p-9", "-0x1.9d626f71d1f82p-10"),
            *("0x1.1acebbd76108ep-10", "-0x1.82f6345c65b3dp-11", "0x1.08bdae1a261dbp-11", "-0x1.6a3fddea1130dp-12"),
            *("0x1.efacab6fb8991p-13", "-0x1.531f5dc5eb56cp-13", "0x1.d0080f810fac2p-14", "-0x1.3d7972688af70p-14"),
        ),
    )
)


def digamma(builder: ProgramBuilder, x: int) -> int:
    """Return digamma; relative error below 1e-14, beside its zeros below 0 that of its terms."""
    x = builder.real(x)
    argument = _Argument(builder, x)
    r = builder.divide(builder.number(1.0), argument.far)
    series = builder.multiply(argument.inverse_square, _alternating(builder, _DIGAMMA, argument.inverse_square))
    body = builder.subtract(builder.emit("log", argument.far), builder.multiply(builder.number(0.5), r))
    body = builder.subtract(builder.subtract(body, series), argument.less(_slopes(builder, argument)))
    offset = builder.subtract(builder.subtract(x, builder.number(_ZERO)), builder.number(_REST))
    taylor = builder.add(builder.multiply(offset, _horner(builder, _TAYLOR, offset)), builder.number(_AT_ZERO))
    body = builder.where(builder.emit("less", builder.emit("abs", offset), builder.number(_NEAR)), taylor, body)
    # reflection, DLMF 5.5.4; no number where it has a pole
    cotangent = builder.multiply(builder.number(math.pi), argument.cotangent)
    pole = builder.emit("equal", argument.fraction, builder.number(0.0))
    mirrored = builder.where(pole, builder.number(math.nan), builder.subtract(body, cotangent))
    return builder.where(argument.negative, mirrored, body)


def polygamma(builder: ProgramBuilder, order: int, x: int) -> int:
    """Return polygamma; orders above 1 are left to a function of one lane."""
    n, x = builder.consts[order], builder.real(x)
    if n == 0.0:
        return digamma(builder, x)
    return trigamma(builder, x) if n == 1.0 else builder.emit("polygamma", order, x)


def trigamma(builder: ProgramBuilder, x: int) -> int:
    """Return the derivative of digamma; relative error below 1e-14 above 0."""
    argument = _Argument(builder, x)
    r = builder.divide(builder.number(1.0), argument.far)
    w = argument.inverse_square
    series = builder.multiply(builder.multiply(r, w), _alternating(builder, _TRIGAMMA, w))
    body = builder.add(r, builder.add(builder.multiply(builder.number(0.5), w), series))
    body = builder.add(body, argument.less(_curvatures(builder, argument)))
    # reflection, DLMF 5.15.6
    one, cotangent = builder.number(1.0), argument.cotangent
    ends = builder.multiply(builder.number(math.pi**2), builder.add(one, builder.multiply(cotangent, cotangent)))
    return builder.where(argument.negative, builder.subtract(ends, body), body)


class _Argument:
    """Common parts of digamma and trigamma of one argument; equal operations are one value."""

    def __init__(self, builder: ProgramBuilder, x: int) -> None:
        self.builder = builder
        number, one = builder.number, builder.number(1.0)
        self.negative = builder.emit("less", x, number(0.0))
        #: The argument on the side where there are no poles.
        self.near = builder.where(self.negative, builder.subtract(one, x), x)
        self.small = builder.emit("less", self.near, number(_FAR))
        self.far = builder.where(self.small, builder.add(self.near, number(_FAR)), self.near)
        self.inverse_square = builder.divide(one, builder.multiply(self.far, self.far))
        self.square = builder.multiply(self.near, builder.add(self.near, number(_FAR - 1.0)))
        self.product = builder.add(self.square, number(float(_PAIRS[-1])))
        for c in _PAIRS[-2::-1]:
            factor = builder.add(self.square, number(float(c))) if c else self.square
            self.product = builder.multiply(self.product, factor)
        #: The distance to the nearest whole number, and the cotangent of pi times it, exactly 0 at a half.
        self.fraction = builder.subtract(x, builder.emit("rint", x))
        size = builder.emit("abs", self.fraction)
        close = builder.emit("less_equal", size, number(0.25))
        angle = builder.where(close, size, builder.subtract(number(0.5), size))
        tangent = builder.emit("tan", builder.multiply(number(math.pi), angle))
        cotangent = builder.where(close, builder.divide(one, tangent), tangent)
        self.cotangent = builder.emit("copysign", cotangent, self.fraction)

    def less(self, steps: int) -> int:
        """Return what the recurrence adds, where it is used."""
        return self.builder.where(self.small, steps, self.builder.number(0.0))


def _slopes(builder: ProgramBuilder, argument: _Argument) -> int:
    """Return the sum of 1 / (x + k), k = 0 to 9: the logarithmic derivative of their product."""
    derivative = [k * c for k, c in enumerate(_polynomial(_PAIRS))][1:]
    twice = builder.add(builder.multiply(builder.number(2.0), argument.near), builder.number(_FAR - 1.0))
    return builder.divide(builder.multiply(twice, _horner(builder, derivative, argument.square)), argument.product)


def _curvatures(builder: ProgramBuilder, argument: _Argument) -> int:
    """Return the sum of 1 / (x + k)^2, k = 0 to 9: for a pair (2 s + 81 - 2 c) / (s + c)^2."""
    total = [0] * (2 * len(_PAIRS))
    for i, c in enumerate(_PAIRS):
        rest = _polynomial(_PAIRS[:i] + _PAIRS[i + 1 :])
        for k, coefficient in enumerate(_times(_times(rest, rest), [81 - 2 * c, 2])):
            total[k] += coefficient
    below = builder.multiply(argument.product, argument.product)
    return builder.divide(_horner(builder, total, argument.square), below)


def _polynomial(roots: Sequence[int]) -> list[int]:
    """Return the coefficients of the product of s + c, the constant first."""
    result = [1]
    for c in roots:
        result = _times(result, [c, 1])
    return result


def _times(a: Sequence[int], b: Sequence[int]) -> list[int]:
    result = [0] * (len(a) + len(b) - 1)
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            result[i + j] += p * q
    return result


def _horner(builder: ProgramBuilder, coefficients: Sequence[float], x: int) -> int:
    """Return a polynomial, the constant first; nobody reads its products, so they need no rounding of their own."""
    result = builder.number(float(coefficients[-1]))
    for c in coefficients[-2::-1]:
        result = builder.emit("fma", result, x, builder.number(float(c)))
    return result


def _alternating(builder: ProgramBuilder, coefficients: Sequence[float], x: int) -> int:
    """Return a polynomial whose signs alternate."""
    return _horner(builder, [-c if k % 2 else c for k, c in enumerate(coefficients)], x)
