"""Numbers as a reader knows them: 1/3 and log(2), not their first sixteen digits; and arrays of numbers by their names.

A spelling is used only where its value is the very same double. Arrays that are too long are not printed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import truediv

import numpy as np

from ...graph.sizes import product
from .reader import Reader, ReadingRules
from .terms import Term, centred

#: Rules for products in derivatives, and for arrays in all formulas.
RULES, ARRAYS = ReadingRules(), ReadingRules()

#: (name, value) of what is recognised, alone, as a multiple and as a divisor.
CONSTANTS = {
    "pi": math.pi,
    "pi ** 2": math.pi**2,
    "e": math.e,
    "log(2)": math.log(2.0),
    "log(10)": math.log(10.0),
    "sqrt(2)": math.sqrt(2.0),
    "sqrt(3)": math.sqrt(3.0),
    "sqrt(5)": math.sqrt(5.0),
    "sqrt(pi)": math.sqrt(math.pi),
    "sqrt(2 / pi)": math.sqrt(2.0 / math.pi),
    "sqrt(pi / 2)": math.sqrt(math.pi / 2.0),
    "sqrt(2 * pi)": math.sqrt(2.0 * math.pi),
}
#: The largest divisor beside a constant, and the largest number that it is multiplied by or divides.
LARGEST, _MULTIPLE = 12, 1000
#: A divisor that is a product of two numbers is rounded once more than the number that it stands for.
_ROUNDED = 2.3e-16


def spelled(value: float) -> tuple[int, str, int]:
    """Return (p, name, q) with ``value == p * name / q`` to the bit, or name "" and q 0 for none.

    The name "/pi" stands for p / (q * pi), where a value that differs by rounding counts, too.

    Examples
    --------
    >>> spelled(1 / 3), spelled(2 * math.pi), spelled(0.5 / math.pi)
    ((1, '', 3), (2, 'pi', 1), (1, '/pi', 2))
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
    for p, (name, known) in itertools.product((1, -1, 2, -2), CONSTANTS.items()):
        if p * known == value:
            return p, name, 1
    for name, known in CONSTANTS.items():
        if " / " in name:  # parts of it are written with another
            continue
        for q in (1, 2, 3, 4, 6):
            ratio = value * q / known
            p = round(ratio) if abs(ratio) < _MULTIPLE else 0
            if p and p * known / q == value:
                return p, name, q
        for q in range(1, LARGEST + 1):
            p = round(value * known * q) if abs(value * known * q) < _MULTIPLE else 0
            if p and math.isclose(p / (known * q), value, rel_tol=_ROUNDED if q > 1 and abs(p) <= LARGEST else 0.0):
                return p, f"/{name}", q
    return 0, "", 0


def in_digits(value: float) -> tuple[int, int] | None:
    """Return p and q for a number that is written as p / q, since it has many digits."""
    p, name, q = spelled(value)
    return (p, q) if q > 1 and not name and p > 0 and len(repr(value)) > 8 else None


@RULES.of("product")
def _one_fraction(reader: Reader, term: Term) -> Term | None:
    """Write numbers first, a fraction as what it multiplies by and what it divides by: 2 / (3 x) and not 2 / 3 / x."""
    over, under = term.factors
    if any(arg.ndim for arg in under):
        return None
    top = next((arg for arg in over if arg.kind == "number"), None)
    below = [arg.data for arg in under if arg.kind == "number"]
    if not all(0.0 < abs(value) < math.inf for value in below):
        return None
    number = 1.0 if top is None else top.data
    above, *divisors = _as_quotient(number)
    divisors += below
    if (exact_product([number]) is None or number.is_integer()) and not all(value.is_integer() for value in below):
        found = _as_quotient(reduce(truediv, below, number))  # 8 pi / (16 pi**2) is 1 / (2 pi)
        above, *divisors = found if len(found) > 1 else (above, *divisors)
    factors = []
    for value in [one for one in divisors if spelled(one)[1].startswith("/")]:
        over_it, *under_it = _as_quotient(value)  # what divides by a quotient multiplies by its divisor
        divisors = [one for one in divisors if one != value] + [over_it] * (over_it != 1.0)
        factors += [one for one in under_it if one != 1.0]
    whole = exact_product([value for value in divisors if value.is_integer()])
    if whole is None:
        return None
    above, whole = _in_lowest_terms(above, whole)
    divisors = [whole] * (whole != 1.0) + [value for value in divisors if not value.is_integer()]
    rest = [arg for arg in under if arg.kind != "number"]
    if not factors and above == number and divisors == [arg.data for arg in under[: len(under) - len(rest)]]:
        return None
    others = over if top is None else exchanged(over, top, [])
    factors = [above] * (above != 1.0) + factors
    return reader.product([*map(reader.number, factors), *others], [*map(reader.number, divisors), *rest], term.shape)


def _in_lowest_terms(above: float, below: float) -> tuple[float, float]:
    """Return a quotient of a number by a whole one in whole numbers, where these are what a person reads."""
    if below == 1.0 or exact_product([above]) is None:
        return above, below
    from fractions import Fraction

    ratio = Fraction(above) / Fraction(below)
    return float(ratio.numerator), float(ratio.denominator)


def exchanged(factors: Sequence[Term], one: Term | None, new: Sequence[Term]) -> list[Term]:
    """Put others in the place of a factor, which may stand there again, and stays then."""
    place = next(place for place, factor in enumerate(factors) if factor is one)
    return [*factors[:place], *new, *factors[place + 1 :]]


def _as_quotient(value: float) -> tuple[float, ...]:
    """Return what to multiply by and what to divide by in place of a number."""
    fraction = in_digits(value)
    if fraction is not None:
        return float(fraction[0]), float(fraction[1])
    p, name, q = spelled(value)
    return (float(p), float(q), CONSTANTS[name[1:]]) if p > 0 and name.startswith("/") else (value,)


def exact_product(numbers: Sequence[float]) -> float | None:
    """Return a product of whole numbers and of fractions by powers of 2 that has few digits; None of others."""
    result = 1.0
    for value in numbers:
        if not (value * 64.0).is_integer() or abs(value) > 1e6:
            return None
        result *= value
    return result if (4.0 * result).is_integer() and abs(result) < 1e6 else None


def without_common_number(several: Sequence[Sequence[Term]]) -> tuple[float, list[float]] | None:
    """Return the largest whole number that all products are multiples of, from 2 on, and their numbers without it."""
    numbers = [next((factor.data for factor in factors if factor.kind == "number"), 1.0) for factors in several]
    if not all(value.is_integer() and 0 < value < 1e6 for value in numbers):
        return None
    common = float(math.gcd(*map(int, numbers)))
    return (common, [value / common for value in numbers]) if common > 1.0 else None


@RULES.of("product")
def _by_standard_deviation(reader: Reader, term: Term) -> Term | None:
    """Write sqrt(n) / norm(x - mean(x)) as 1 / std(x)."""
    over, under = term.factors
    for length in under:
        found = centred(length.args[0]) if length.kind == "reduce" and length.data[0] == "norm" else None
        if found is None or length.ndim or length.data[1] != found[1] or len(over) == 1:
            continue
        root = next((arg for arg in over if _is_root_of_count(arg, found[0])), None)
        if root is not None:
            deviation = reader.make("reduce", found[:1], ("std", found[1]), length.shape)
            below = exchanged(under, length, [deviation])
            return reader.product(exchanged(over, root, []), below, term.shape)
    return None


def _is_root_of_count(term: Term, x: Term) -> bool:
    count = product(x.shape)
    if term.kind == "number":
        return isinstance(count, int) and term.data == math.sqrt(count)
    return term.kind == "call" and term.data == "sqrt" and term.args[0].kind == "size" and term.args[0].data == count


# ---------------------------------------------------------------------------- arrays

#: Elements from which on a vector is read as a range or a unit vector.
_LONG = 9
#: Elements beyond which an array is not printed.
MOST = 1_000


@ARRAYS.of("array")
def _known(reader: Reader, term: Term) -> Term | None:
    """Read an array of numbers by its name, if it has one."""
    values: np.ndarray = term.data
    if values.dtype != bool and np.isfinite(values).all():
        if values.ndim == 2 and min(values.shape) >= 3:
            found = _diagonal(reader, values)
        else:
            found = _range(reader, values) if values.ndim == 1 and values.size >= _LONG else None
        if found is not None:
            return found
    return reader.make("elided", (), id(values), term.shape) if values.size > MOST else None


def _diagonal(reader: Reader, values: np.ndarray) -> Term | None:
    rows, columns = np.nonzero(values)
    if rows.size == 0 or np.signbit(values[values == 0]).any():
        return None
    offset = int(columns[0] - rows[0])
    length = len(np.diagonal(values, offset))
    numbers = values[rows, columns]
    if (columns - rows != offset).any() or rows.size != length:
        return None
    if (numbers == numbers[0]).all():
        eye = reader.make("eye", (), (offset, 1), values.shape)
        return reader.product([*([] if numbers[0] == 1 else [reader.number(float(numbers[0]))]), eye], [], values.shape)
    if offset or values.shape[0] != values.shape[1]:
        return None
    return reader.make("diag", (reader.make("array", (), numbers, numbers.shape),), None, values.shape)


def _range(reader: Reader, values: np.ndarray) -> Term | None:
    places = np.flatnonzero(values)
    if places.size == 1 and values[places[0]] == 1 and not np.signbit(values).any():
        return reader.make("onehot", (), int(places[0]), values.shape)
    first, step = float(values[0]), float(values[1] - values[0])
    stop = first + step * values.size
    again = first + step * np.arange(values.size)
    if step == 0 or not np.array_equal(again, values) or not all(v.is_integer() for v in (first, step)):
        return None
    return reader.make("arange", (), (first, stop, step), values.shape)


@RULES.of("sum")
def _numbers_together(reader: Reader, term: Term) -> Term | None:
    """Write 1 + 2 (1 - x) as 3 - 2 x, in whole numbers."""
    alone = [k for k, arg in enumerate(term.args) if arg.kind == "number"]
    if len(alone) != 1:
        return None
    for k, (arg, minus) in enumerate(term.pairs[:_MOST]):
        plain = arg.kind == "product" and len(arg.args) == 2 and not any(arg.data)
        if not plain or arg.args[0].kind != "number" or arg.args[1].kind != "sum" or len(arg.args[1].args) != 2:
            continue
        times, inner = arg.args
        held = next((pair for pair in inner.pairs if pair[0].kind == "number"), None)
        other = next((pair for pair in inner.pairs if pair[0].kind != "number"), None)
        if held is None or other is None or other[0].shape != term.shape:
            continue
        own, negative = term.pairs[alone[0]]
        whole = [one.data for one in (own, times, held[0])]
        if not all(value.is_integer() and abs(value) < 1e6 for value in whole):
            continue
        total = (-1) ** negative * own.data + (-1) ** (minus + held[1]) * times.data * held[0].data
        multiple = reader.product([times, other[0]], [], other[0].shape)
        rest = [pair for at, pair in enumerate(term.pairs) if at not in (alone[0], k)]
        numbers = [(reader.number(abs(total)), total < 0)] if total else []
        return reader.sum([*numbers, (multiple, minus != other[1]), *rest], term.shape)
    return None


#: Pairs of functions whose squares add up to 1, the second with this sign.
_SQUARES = {("cos", "sin"): False, ("cosh", "sinh"): True, ("tanh", "sech"): False, ("sech", "tanh"): False}


@RULES.of("sum")
def _sum_of_squares(reader: Reader, term: Term) -> Term | None:
    """Write r sin(x)**2 + r cos(x)**2 as r."""
    squares = [(k, found) for k, arg in enumerate(term.args[:_MOST]) if (found := _square_in(arg)) is not None]
    for i, (one, others) in squares:
        for j, (other, beside) in squares:
            opposite = _SQUARES.get((one.data, other.data))
            if opposite is None or one.args[0] is not other.args[0] or others != beside:
                continue
            if (term.data[i] != term.data[j]) is opposite:
                rest = [part for k, part in enumerate(term.pairs) if k not in (i, j)]
                whole = reader.product(others or [reader.number(1.0)], [], term.shape)
                if whole.shape != term.shape:
                    return None
                return reader.sum([(whole, term.data[i]), *rest], term.shape)
    return None


#: Most terms of a sum that are compared.
_MOST = 16


def _square_in(term: Term) -> tuple[Term, list[Term]] | None:
    """Return the function whose square is a factor, and the other factors."""
    over = term.factors[0] if term.kind == "product" and not any(term.data) else [term]
    for place, factor in enumerate(over):
        is_power = factor.kind == "power" and factor.args[0].kind == "call" and factor.args[1].kind == "number"
        if is_power and factor.args[1].data == 2.0:
            return factor.args[0], [*over[:place], *over[place + 1 :]]
    return None


@RULES.of("product")
def _without_ones(reader: Reader, term: Term) -> Term | None:
    """Leave a factor of 1 out."""
    over, under = term.factors
    kept = [arg for arg in over if arg.kind != "number" or arg.data != 1.0]
    return reader.product(kept, under, term.shape) if kept and len(kept) < len(over) else None
