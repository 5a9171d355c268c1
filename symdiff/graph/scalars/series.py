"""Taylor series at 0 of the functions whose quotients with a removable singularity have rows of their own.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

#: Coefficients of a power series.
Series: TypeAlias = "tuple[Fraction, ...]"
#: Terms of the series that are known; what a double needs is far fewer.
TERMS = 120


def _product(a: Sequence[Fraction], b: Sequence[Fraction]) -> Series:
    from fractions import Fraction

    return tuple(sum((a[i] * b[k - i] for i in range(k + 1)), Fraction(0)) for k in range(min(len(a), len(b))))


def _inverse(a: Sequence[Fraction]) -> Series:
    """Return the series of 1 / a."""
    from fractions import Fraction

    found = [1 / a[0]]
    for k in range(1, len(a)):
        found.append(-sum((a[i] * found[k - i] for i in range(1, k + 1)), Fraction(0)) / a[0])
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
    if name in ("tan", "tanh"):
        top, bottom = ("sin", "cos") if name == "tan" else ("sinh", "cosh")
        return _product(series_of(top), _inverse(series_of(bottom)))
    inner = series_of("exp" if name == "bernoulli" else "sinh")
    return (*_inverse(inner[1:]), Fraction(0))
