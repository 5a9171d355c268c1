"""Symbolic array sizes: polynomials in named, positive, whole sizes.

A shape such as ``("n", "n")`` is known only when a kernel is called. Slices and
concatenations still have to be compared before that (``n - 1`` with ``n - 1``), so a size
is a polynomial with whole coefficients in a canonical form: equal sizes compare equal.
A size without names is always a plain ``int``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple, TypeAlias

from .._kernels.system.scopes import Bound
from ..errors import LimitError, ShapeError, SymbolError
from ..ground.budget import spend
from ..ground.guard import guarded
from ..ground.limits import Limits
from ..ground.names import NAME_PATTERN, is_name

Monomial: TypeAlias = tuple[str, ...]
#: Bounds of one size: factors of a product, bits of a number, terms. No array that could be has more.
_DEGREE, _BITS, _TERMS = 64, 256, 1_000
#: Characters of a size as text, and how such text is made.
_LONGEST = 1_000
_FACTOR = rf"(?:[0-9]+|{NAME_PATTERN}(?:\*\*[1-9])?)"
_TERM = rf"{_FACTOR}(?:\*{_FACTOR})*+"
_IS_SIZE = re.compile(rf"-?{_TERM}(?:[+-]{_TERM})*+").fullmatch
_SPACED = re.compile(r"[ \t]*([*+-])[ \t]*")
_SIGNED = re.compile(rf"([+-]?)({_TERM})").findall


class Size:
    """A polynomial in named sizes; build one with :func:`named` and arithmetic.

    Examples
    --------
    >>> n = named("n")
    >>> (n + 1) * 2 - 2 == n + n
    True
    """

    __slots__ = ("_hash", "terms")

    #: Makes a number of the formula of a size. What has formulas, a later stage, puts it here.
    as_number: ClassVar[Callable[[Size], Any]]

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Size], tuple[object, ...]]:
        return Size, (self.terms,)  # the hash of a name is another one in each process

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int | Size):
            return _formula(operator.add, self, other)
        return _collect([*self.terms, *terms_of(other)])

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int | Size):
            return _formula(operator.mul, self, other)
        spend(len(self.terms) * len(terms_of(other)))
        return _collect([(tuple(sorted(m + k)), c * d) for m, c in self.terms for k, d in terms_of(other)])

    __rmul__ = __mul__

    def __neg__(self) -> Dim:
        return _collect((monomial, -coefficient) for monomial, coefficient in self.terms)

    def __sub__(self, other: Any) -> Any:
        return self + other * -1 if isinstance(other, int | Size) else _formula(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self * -1 + other if isinstance(other, int | Size) else _formula(operator.sub, other, self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and 0 <= other <= _DEGREE:
            return product([self] * other)
        return _formula(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _formula(operator.pow, other, self)

    def __truediv__(self, other: Any) -> Any:
        if type(other) is int and other == 1:  # as np.arange(n) counts
            return self
        return _formula(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _formula(operator.truediv, other, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of NumPy's: of whole numbers a sum or product is a size, anything else a formula."""
        of_sizes = _OF_SIZES.get(ufunc.__name__) if method == "__call__" and not options else None
        if of_sizes is not None and all(isinstance(one, Size) or _is_whole(one) for one in inputs):
            return of_sizes(*(one if isinstance(one, Size) else operator.index(one) for one in inputs))
        return getattr(ufunc, method)(*map(_lifted, inputs), **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Mapping[str, Any]) -> Any:
        """Apply a function of NumPy's to a size in the place of an array: a number of the formula."""
        is_plain = any(isinstance(one, Size) for one in (*args, *options.values()))
        lift = _lifted if is_plain else _lifted_parts  # a shape beside an array keeps its sizes
        return function(*map(lift, args), **{key: lift(one) for key, one in options.items()})

    def _refuse_parts(self, other: object) -> Any:
        """Refuse a part of a size, which is a whole number for some sizes alone."""
        if not isinstance(other, int | float | Size):
            return NotImplemented
        raise SymbolError(
            f"the size {self} divided into whole parts, which may not come out even; sizes are sums and products. As a "
            "number of the formula it is sd.asarray(x.shape[0]) // 2, and / gives a fraction"
        )

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refuse_parts

    def _refuse_order(self, other: object) -> Any:
        """Refuse a comparison, whose truth a call tells."""
        if not isinstance(other, int | float | Size):
            return NotImplemented
        raise SymbolError(
            f"the size {self} compared: it is known at call time only; write where(sd.asarray(x.shape[0]) > 3, a, b), "
            "sd.zeros(shape), sd.arange(n), sd.tri(n) and the like for arrays of this size, or give the size a number"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse_order

    @guarded
    def _refuse_number(self, *_: object) -> Any:
        """Refuse to be a number. No ``TypeError``, which NumPy would put words of its own in the place of."""
        raise ShapeError(told_unknown(str(self)))

    __index__ = __int__ = __float__ = __round__ = __floor__ = __ceil__ = __trunc__ = _refuse_number

    def __abs__(self) -> Any:
        return abs(Size.as_number(self))

    def __format__(self, form: str) -> str:
        return format(str(self), form) if not form or form[-1] in "s<>^0123456789" else self._refuse_number()

    def __repr__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            body = "*".join(monomial)
            magnitude = abs(coefficient)
            term = body if magnitude == 1 and body else f"{magnitude}*{body}" if body else str(magnitude)
            text += (" - " if coefficient < 0 else " + ") + term if text else ("-" if coefficient < 0 else "") + term
        return text

    @property
    def names(self) -> frozenset[str]:
        """The named sizes it depends on."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)


Dim: TypeAlias = int | Size
Shape: TypeAlias = tuple[Dim, ...]

#: Functions of NumPy's that give sizes of sizes.
_OF_SIZES: dict[str, Callable[..., Dim]] = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}


def told_unknown(size: str) -> str:
    """Return what to write where Python asks a size for its number."""
    return (
        f"the size {size} where Python needs a number: it is known at call time only; write symdiff's own "
        "sd.zeros(shape), sd.ones(shape), sd.eye(n), sd.arange(n) and the like for arrays, sd.asarray(x.shape[0]) for "
        "a number of the formula, sd.scan(step, start, x) for a loop, or give the size a number"
    )


def _formula(operation: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    """Return a formula of a size and a number; what symbols do with a size is for them to say."""
    if not all(isinstance(one, int | float | Size) for one in (first, second)):
        return NotImplemented
    return operation(_lifted(first), _lifted(second))


def _lifted(one: Any) -> Any:
    """Return a number of the formula for a size, anything else as it is."""
    return Size.as_number(one) if isinstance(one, Size) else one


def _lifted_parts(one: Any) -> Any:
    """Return lists and tuples with numbers of the formula for sizes."""
    return [_lifted_parts(part) for part in one] if isinstance(one, list | tuple) else _lifted(one)


def _is_whole(number: Any) -> bool:
    """Tell whether something is a whole number of Python's or NumPy's."""
    return hasattr(number, "__index__") and getattr(number, "ndim", 0) == 0


def named(name: str) -> Size:
    """Return the size called ``name``."""
    return Size((((name,), 1),))


def read_size(text: str) -> Dim | None:
    """Return the size that text says, a sum of products of names and whole numbers; None where it says none.

    Examples
    --------
    >>> read_size("2*n - 1"), read_size("m * n**2"), read_size("n!")
    (2*n - 1, m*n*n, None)
    """
    compact = _SPACED.sub(r"\1", text.strip()) if len(text) <= _LONGEST else ""
    if not _IS_SIZE(compact):
        return None
    total: Dim = 0
    for sign, term in _SIGNED(compact):
        part: Dim = -1 if sign == "-" else 1
        for factor in term.replace("**", "^").split("*"):
            base, _, power = factor.partition("^")
            if not (base.isdigit() or is_name(base)):
                return None
            for _ in range(int(power or 1)):
                part = part * (int(base) if base.isdigit() else named(base))
        total = total + part
    return total


def terms_of(size: Dim) -> tuple[tuple[Monomial, int], ...]:
    """Return a size as a polynomial: products of names, and how often each is taken."""
    return size.terms if isinstance(size, Size) else (((), size),)


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        if len(monomial) > _DEGREE or coefficient.bit_length() > _BITS:
            raise LimitError(
                f"a size that is a product of more than {_DEGREE} sizes, or has a number of more than {_BITS} bits, "
                "which are the limits; give smaller sizes, or reshape the array before it grows"
            )
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = sorted(((m, c) for m, c in total.items() if c), key=lambda t: (-len(t[0]), t[0]))
    if len(kept) > _TERMS:
        raise LimitError(f"a size of more than {_TERMS} terms, which is the limit; give sizes as numbers")
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == ():
        return kept[0][1]
    return Size(tuple(kept))


def product(shape: Iterable[Dim]) -> Dim:
    """Return the number of elements of an array of this shape."""
    total: Dim = 1
    for size in shape:
        total = total * size
    return total


def divide(total: Dim, by: Dim) -> Dim | None:
    """Return ``total / by`` when it is exact for every value of the names, else None."""
    if isinstance(total, int) and isinstance(by, int):
        return total // by if by and total % by == 0 else None
    if total == 0:
        return 0
    divisor = terms_of(by)
    if len(divisor) != 1:
        return 1 if total == by else None
    (monomial, coefficient) = divisor[0]
    if coefficient == 0:
        return None
    terms = []
    for names, count in terms_of(total):
        rest = list(names)
        for name in monomial:
            if name not in rest:
                return None
            rest.remove(name)
        if count % coefficient:
            return None
        terms.append((tuple(rest), count // coefficient))
    return _collect(terms)


def value(size: Dim, bindings: Mapping[str, int]) -> int:
    """Return ``size`` with the numbers of ``bindings`` put in for its names.

    Raises
    ------
    ShapeError
        If a name has no number.
    """
    if isinstance(size, int):
        return size
    total = 0
    for names, coefficient in size.terms:
        for name in names:
            if name not in bindings:
                known = sorted(own for own in bindings if own.isidentifier())  # not that of the batch
                raise ShapeError(f"the size {name!r} has no value here; known sizes: {known or 'none'}")
        total += coefficient * math.prod(bindings[name] for name in names)
    return total


def nominal(size: Dim, letter: int) -> int:
    """Return a number for a size, at least 1, to compare costs: each letter counts as ``letter``."""
    return size if isinstance(size, int) else max(1, value(size, dict.fromkeys(size.names, letter)))


def replaced(size: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """Return ``size`` with numbers or other sizes put in for some of its names.

    Examples
    --------
    >>> n = named("n")
    >>> replaced(n * n - 1, {"n": n + 1})
    n*n + 2*n
    """
    if isinstance(size, int):
        return size
    total: Dim = 0
    for names, coefficient in size.terms:
        total = total + product([coefficient, *(sizes.get(name, named(name)) for name in names)])
    return total


#: The least number of each symbolic size for which cuts are in the order that :func:`sign` finds.
LEAST = 16


class Least:
    """Least value of symbolic sizes, and whether an answer of :func:`sign` counted on it."""

    def __init__(self, number: int, outer: Least | None) -> None:
        self.number = number
        self.outer = outer
        self.counted = False

    def count(self) -> None:
        """Note it here, and in every block around this one."""
        least: Least | None = self
        while least is not None:
            least.counted = True
            least = least.outer


_least: ContextVar[Least | None] = ContextVar("least", default=None)


def sizes_from(least: int | None = None) -> Bound[Least]:
    """Let :func:`sign` take each symbolic size as at least such a number, or as before; see :func:`least_size`."""
    outer = _least.get()
    return Bound(_least, Least(least or (LEAST if outer is None else outer.number), outer))


def least_size() -> int:
    """Return the number that symbolic sizes have to be at least for all that :func:`sign` answered; 1 for any."""
    least = _least.get()
    return 1 if least is None or not least.counted else least.number


def sign(size: Dim) -> int:
    """Return 1 for a size that is never negative, -1 for one that always is, 0 if that depends.

    Symbolic sizes count as at least :data:`LEAST`, or as :func:`sizes_from` has it: each is that and something more,
    and if a polynomial in what is more has no negative coefficient, it is never negative.
    """
    if isinstance(size, int):
        return 1 if size >= 0 else -1
    found = _sign_from(size, 1)
    if not found:
        least = _least.get()
        found = _sign_from(size, LEAST if least is None else least.number)
        if found and least is not None:
            least.count()
    return found


def _sign_from(size: Size, least: int) -> int:
    total: Dim = 0
    for names, coefficient in size.terms:
        term: Dim = coefficient
        for name in names:
            term = term * (named(name) + least)
        total = total + term
    coefficients = [c for _, c in total.terms] if isinstance(total, Size) else [total]
    constant = next((c for m, c in total.terms if not m), 0) if isinstance(total, Size) else total
    if all(c >= 0 for c in coefficients):
        return 1
    return -1 if all(c <= 0 for c in coefficients) and constant < 0 else 0


class Span(NamedTuple):
    """Places of an axis of some size: ``start``, ``start + step`` and so on, as many as ``length``, or one (None)."""

    start: Dim
    step: int
    length: Dim | None
    size: Dim

    @property
    def always_fits(self) -> bool:
        """True where the axis has these places whatever numbers letters stand for."""
        last = self.start if self.length is None else self.start + (self.length - 1) * self.step
        low, high = (self.start, last) if self.step > 0 else (last, self.start)
        ends = low, self.size - 1 - high, 0 if self.length is None else self.length
        return all(number >= 0 for end in ends for _, number in terms_of(end))


def fixed(shape: Shape) -> tuple[int, ...] | None:
    """Return the shape as whole numbers, or None when a size of it is symbolic."""
    known: list[int] = []
    for size in shape:
        if not isinstance(size, int):
            return None
        known.append(size)
    return tuple(known)


def show(shape: Sequence[object]) -> str:
    """Return a shape, or axes, as NumPy prints a tuple: ``(2, n)``, ``(3,)``."""
    return f"({shape[0]},)" if len(shape) == 1 else "(" + ", ".join(map(str, shape)) + ")"


def hint_of(a: Dim, b: Dim) -> str:
    """Return what to do about two sizes that differ, where one is a letter; nothing for numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return ""
    return f"; a letter stands for any size: where {a} and {b} are one size, give them the same letter or number"


def check_elements(shape: Shape, limits: Limits) -> None:
    """Refuse an array that is too large; symbolic sizes pass, being known at call time only.

    Raises
    ------
    LimitError
        If the shape is fixed and has too many elements or axes.
    """
    if len(shape) > limits.axes:
        raise LimitError(f"an array of {len(shape)} axes; at most {limits.axes} are offered")
    sizes = fixed(shape)
    total = math.prod(sizes or ())
    if total > limits.elements:
        raise LimitError(f"an array of shape {show(shape):.60} has more than {limits.elements} elements, the limit")


def is_room(size: Dim) -> bool:
    """Tell whether a difference of sizes is not negative, where slices are as large as they say."""
    if isinstance(size, int):
        return size >= 0
    return len(size.names) == 1 and size.terms[0][1] > 0


def same_elements(old: Sequence[Dim], new: Sequence[Dim]) -> list[tuple[list[int], list[int]]]:
    """Return the axes of two shapes in groups that have the same elements, in order."""
    result: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and old[i] == 1:
            ends = (i + 1, j)
        elif j < len(new) and new[j] == 1:
            ends = (i, j + 1)
        else:
            ends = next(
                (
                    (a, b)
                    for a in range(i + 1, len(old) + 1)
                    for b in range(j + 1, len(new) + 1)
                    if product(old[i:a]) == product(new[j:b])
                ),
                (len(old), len(new)),
            )
        result.append((list(range(i, ends[0])), list(range(j, ends[1]))))
        i, j = ends
    return result
