"""Sums and products decomposed: the terms of a sum, the factors of a product, the number in front of a node.

``a - (b + c)`` has the terms a, -b and -c, and ``a**2 / (-b c)`` the sign -1 and the factors a**2, b**-1 and
c**-1. Passes differ in how far they look and what they pass through, which they say in the options; what they
put together of the parts is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .. import Node, elementwise, number

if TYPE_CHECKING:
    from fractions import Fraction
from .functions import scalar_constant

#: Operations that a sum, and a product, is made of.
SUMS = frozenset({"add", "subtract", "negative"})
PRODUCTS = frozenset({"multiply", "divide", "negative"})
ARITHMETIC = SUMS | PRODUCTS
#: Operations that multiply no argument by another: the value of one does not enter the derivative of another.
APART = SUMS | {"where", "concatenate"}
#: Functions with f(-x) = 1 - f(x).
COMPLEMENTED = frozenset({"sigmoid", "ndtr"})
#: Numbers up to which a double is told to be the square root of a whole number.
_ROOT = 2.0**16
#: Nodes that are looked at for each term or factor, where no number is named: signs may stand on signs.
_NODES = 4


#: Makes a named tuple without a call of Python's own code.
_new = tuple.__new__


class Terms(NamedTuple):
    """Coefficients and terms, from left to right; ``whole`` where no limit has left a sum as one term."""

    parts: list[tuple[float, Node]]
    whole: bool


class Factors(NamedTuple):
    """A sign, and factors with their powers from left to right; ``whole`` where no limit has left a product as one."""

    sign: int
    parts: list[tuple[Node, float]]
    whole: bool


def terms_of(
    node: Node,
    most: int | None = None,
    *,
    steps: int | None = None,
    enter: Callable[[Node], bool] | None = None,
    look: Callable[[Node], Node] | None = None,
    multiple: Callable[[Node], tuple[float, Node] | None] | None = None,
) -> Terms:
    """Decompose a sum.

    Parameters
    ----------
    node : Node
        Anything else than a sum is its own only term.
    most : int, optional
        How many terms there may be; sums that would make more are terms.
    steps : int, optional
        How many nodes are looked at; what comes behind them is a term as it is.
    enter : callable, optional
        Tells which sums below are decomposed: those that stand nowhere else, say.
    look : callable, optional
        What to see in place of a part: what stands behind its name, say.
    multiple : callable, optional
        Gives (c, x) for a part that is c times x, which is then looked at in its place.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> a, b, c = map(input, "abc")
    >>> [(sign, term.payload) for sign, term in terms_of(a - (b - c)).parts]
    [(1.0, 'a'), (-1.0, 'b'), (1.0, 'c')]
    """
    longest = steps if steps is not None else -1 if most is None else _NODES * most
    return _terms(node, -1 if most is None else most, longest, enter, look, multiple)


def _terms(
    node: Node,
    most: int,
    longest: int,
    enter: Callable[[Node], bool] | None,
    look: Callable[[Node], Node] | None,
    multiple: Callable[[Node], tuple[float, Node] | None] | None,
) -> Terms:
    """Decompose a sum; limits that are -1 are none."""
    found: list[tuple[float, Node]] = []
    todo: list[Node] = [node]
    signs: list[float] = [1.0]
    whole = True
    count = 0
    while todo:
        part, sign = todo.pop(), signs.pop()
        if look is not None:
            part = peel(part) if look is peel else look(part)
        count += 1
        op = part.op
        more = op in {"add", "subtract"}
        if (more or op == "negative") and (enter is None or enter(part)):
            many = more and most >= 0 and len(found) + len(todo) + 2 > most
            if not many and (longest < 0 or count <= longest):
                if more:
                    todo.append(part.second)
                    signs.append(-sign if op == "subtract" else sign)
                    todo.append(part.first)
                    signs.append(sign)
                else:
                    todo.append(part.first)
                    signs.append(-sign)
                continue
            whole = False
        elif multiple is not None and (longest < 0 or count <= longest):
            scaled = multiple(part)
            if scaled is not None:
                todo.append(scaled[1])
                signs.append(sign * scaled[0])
                continue
        found.append((sign, part))
    return _new(Terms, (found, whole))


def factors_of(
    node: Node,
    most: int | None = None,
    *,
    steps: int | None = None,
    powers: float = 0.0,
    enter: Callable[[Node, float], bool] | None = None,
    look: Callable[[Node], Node] | None = None,
) -> Factors:
    """Decompose a product.

    Parameters
    ----------
    node : Node
        Anything else than a product is its own only factor.
    most : int, optional
        How many factors there may be; products that would make more are factors.
    steps : int, optional
        How many nodes are looked at. There is more to a product that has more, whatever they are.
    powers : float
        The largest whole number, with either sign, powers by which are decomposed.
    enter : callable, optional
        Takes a part and the power it stands in, tells whether it is decomposed. By default, products, quotients and
        signs are, and ``powers``; other powers by a number and square roots are where it says so.
    look : callable, optional
        What to see in place of a part: what stands behind its name, say.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> a, b, c = map(input, "abc")
    >>> sign, parts, _ = factors_of(-a / (b * c))
    >>> sign, [(factor.payload, power) for factor, power in parts]
    (-1, [('a', 1.0), ('b', -1.0), ('c', -1.0)])
    """
    return _factors(node, -1 if most is None else most, -1 if steps is None else steps, powers, enter, look)


def _factors(
    node: Node,
    most: int,
    steps: int,
    powers: float,
    enter: Callable[[Node, float], bool] | None,
    look: Callable[[Node], Node] | None,
) -> Factors:
    """Decompose a product; limits that are -1 are none."""
    sign = 1
    found: list[tuple[Node, float]] = []
    todo: list[Node] = [node]
    exponents: list[float] = [1.0]
    whole = True
    count = 0
    while todo:
        part, power = todo.pop(), exponents.pop()
        if look is not None:
            part = peel(part) if look is peel else look(part)
        count += 1
        op = part.op
        two = op in {"multiply", "divide"}
        if enter is not None:
            inside = enter(part, power)
        elif op == "power" and powers:
            exponent = scalar_constant(part.second)
            inside = exponent is not None and 0.0 < abs(exponent) <= powers and exponent.is_integer()
        else:
            inside = two or op == "negative"
        long = 0 <= steps < count
        if inside and two and most >= 0:
            long = long or len(found) + len(todo) + 2 > most
        if long or not inside:
            whole = whole and not long
            found.append((part, power))
        elif two:
            todo.append(part.second)
            exponents.append(-power if op == "divide" else power)
            todo.append(part.first)
            exponents.append(power)
        else:
            todo.append(part.first)
            if op == "negative":
                sign = -sign if power % 2 else sign
            elif op == "power":
                power *= scalar_constant(part.second) or 0.0
            else:
                power /= 2
            exponents.append(power)
    return _new(Factors, (sign, found, whole))


class PowerProduct:
    """A number times powers of nodes.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> a, b = input("a"), input("b")
    >>> found = PowerProduct(2.0, {a: 1, b: -1}).times(PowerProduct(3.0, {b: 1}))
    >>> found.number, [(base.payload, n) for base, n in found.powers.items()]
    (6.0, [('a', 1)])
    """

    __slots__ = ("number", "powers")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, number: float, powers: dict[Node, int]) -> None:
        self.number = number
        self.powers = powers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerProduct) and (self.number, self.powers) == (other.number, other.powers)

    def scaled(self, by: float) -> PowerProduct:
        """Return it times a number."""
        return PowerProduct(by * self.number, self.powers)

    def times(self, other: PowerProduct) -> PowerProduct:
        """Return the product of two."""
        powers = dict(self.powers)
        for base, n in other.powers.items():
            powers[base] = powers.get(base, 0) + n
        return PowerProduct(product_of(self.number, other.number), {base: n for base, n in powers.items() if n})

    def inverse(self) -> PowerProduct:
        """Return 1 over it."""
        return PowerProduct(1.0 / self.number, {base: -n for base, n in self.powers.items()})

    def take(self, node: Node, power: int) -> None:
        """Multiply it by ``node**power``; b - a is taken for a - b where it has that."""
        if node.is_subtraction and node not in self.powers:
            turned = elementwise("subtract", node.args[::-1])
            if turned in self.powers:
                node = turned
                self.number *= -1.0 if power % 2 else 1.0
        total = self.powers.get(node, 0) + power
        if total:
            self.powers[node] = total
        else:
            del self.powers[node]


def powers_of(product: Node, most: int) -> dict[Node, float] | None:
    """Return the powers of the factors of a product that are no numbers; None where there may be more factors."""
    powers: dict[Node, float] = {}
    _, parts, whole = factors_of(product, most)
    for base, n in parts:
        if number(base) is None:
            powers[base] = powers.get(base, 0.0) + n
    return powers if whole else None


def has_one_more(many: dict[Node, float] | None, few: dict[Node, float] | None) -> bool:
    """Tell whether a product, by its powers, has those of another and one factor once more; False where one is None.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> a, b = input("a"), input("b")
    >>> has_one_more(powers_of(a * b, 9), powers_of(a / a, 9)), has_one_more(powers_of(a, 9), powers_of(a / b, 9))
    (False, True)
    """
    if many is None or few is None:
        return False
    more = 0
    for base, n in many.items():
        left = n - few.get(base, 0.0)
        if left:
            if left != 1.0 or more:
                return False
            more = 1
    for base, n in few.items():
        if n and base not in many:
            if n != -1.0 or more:
                return False
            more = 1
    return more == 1


def peel(node: Node) -> Node:
    """Look through names at what is named."""
    while node.is_named:
        node = node.args[0]
    return node


def scaled(node: Node) -> tuple[float, Node]:
    """Return (c, x) with node = c x, for a sign or a number in front."""
    if node.is_multiplication:
        c = number(node.args[0])
        if c is not None:
            return c, node.args[1]
    if node.is_negation:
        return -1.0, node.args[0]
    return 1.0, node


def without_numbers(part: Node, most: int = -1) -> tuple[float, Node]:
    """Return (c, x) with part = c x, through products, quotients, signs and names, so many at most; c is not 0."""
    scale = 1.0
    while part.op in PRODUCTS and most:
        most -= 1
        value = -1.0 if part.is_negation else scalar_constant(part.args[part.is_division])
        if value is None or value == 0:
            break
        scale = scale / value if part.is_division else scale * value
        part = peel(part.args[part.is_multiplication])
    return scale, part


#: The largest denominator of a number that is taken for a fraction.
_DENOMINATOR = 1024


@lru_cache(maxsize=4096)
def fraction_of(value: float) -> Fraction | None:
    """Return the fraction that a person means by a double, which is the nearest to it; None where that is not short.

    Examples
    --------
    >>> fraction_of(2 / 3), fraction_of(0.1), fraction_of(2**0.5)
    (Fraction(2, 3), Fraction(1, 10), None)
    """
    from fractions import Fraction  # not needed by most programs

    if not math.isfinite(value):
        return None
    found = Fraction(value).limit_denominator(_DENOMINATOR)
    return found if found.numerator / found.denominator == value else None


def one_less(value: float) -> float:
    """Return value - 1, for a fraction the double nearest to the fraction: -1/3 for 2/3."""
    found = None if value.is_integer() else fraction_of(value)
    return value - 1.0 if found is None else float(found - 1)


def product_of(a: float, b: float) -> float:
    """Return a b, for fractions the double nearest to their product: 0.3 for 3 and 0.1; 3 for sqrt(3) twice."""
    if a.is_integer() and b.is_integer():
        return a * b
    if abs(a) == abs(b) < _ROOT and math.sqrt(whole := round(a * a)) == abs(a):
        return math.copysign(float(whole), a * b)
    p, q = fraction_of(a), fraction_of(b)
    plain = a * b
    return plain if p is None or q is None or not plain or not math.isfinite(plain) else float(p * q)


def times_power(number: float, base: float, power: float) -> float:
    """Return ``number * base**power``, infinite where that is beyond the range of numbers."""
    try:
        return float(number * base**power)
    except (OverflowError, ZeroDivisionError):
        return math.inf


#: Operations of what may be written without operations.
LEAVES = frozenset(("slice", "reshape", "contract", "named", "input", "constant", "size", "delta", "onehot"))


def is_leaf(node: Node) -> bool:
    """Tell whether a node is written without operations: it comes first in a product."""
    while node.op in ("slice", "reshape") or (node.is_contraction and len(node.args) == 1):
        node = node.args[0]
    return not node.args or node.is_named
