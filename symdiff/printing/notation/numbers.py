"""Numbers as a reader knows them: 1/3 and log(2), not their first sixteen digits.

A spelling is used only where its value is the very same double.
"""

from __future__ import annotations

import math
from functools import lru_cache

#: (name, value) of what is recognised, alone, as a multiple and as a divisor.
CONSTANTS = {
    "pi": math.pi,
    "e": math.e,
    "log(2)": math.log(2.0),
    "log(10)": math.log(10.0),
    "sqrt(2)": math.sqrt(2.0),
    "sqrt(pi)": math.sqrt(math.pi),
}
LARGEST = 12


def spelled(value: float) -> tuple[int, str, int]:
    """Return (p, name, q) with ``value == p * name / q`` to the bit, or name "" and q 0 for none.

    Examples
    --------
    >>> spelled(1 / 3), spelled(2 * math.pi), spelled(0.1)
    ((1, '', 3), (2, 'pi', 1), (1, '', 10))
    """
    if value == 0.0:  # before the cache, for which 0.0 and -0.0 are one key
        return (0, "", 1) if math.copysign(1.0, value) > 0 else (0, "", 0)
    return _spelled(value)


@lru_cache(maxsize=4096)
def _spelled(value: float) -> tuple[int, str, int]:
    from fractions import Fraction

    if not math.isfinite(value):
        return 0, "", 0
    if value.is_integer():
        return (int(value), "", 1) if abs(value) < 1e15 else (0, "", 0)
    fraction = Fraction(value).limit_denominator(1024)
    if fraction.denominator and fraction.numerator / fraction.denominator == value and abs(fraction.numerator) < 10**6:
        return fraction.numerator, "", fraction.denominator
    for name, known in CONSTANTS.items():
        for q in (1, 2, 3, 4, 6):
            ratio = value * q / known
            p = round(ratio) if abs(ratio) < LARGEST + 0.5 else 0
            if p and p * known / q == value:
                return p, name, q
        p = round(value * known) if abs(value * known) < LARGEST + 0.5 else 0
        if p and p / known == value:
            return p, f"/{name}", 1
    return 0, "", 0
