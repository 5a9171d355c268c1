"""Products and sums of them as a person counts them: a number, and powers of factors.

What :mod:`symdiff.printing.collect` works with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import is_

from ..graph import Node, axes_of, constant, contract, elementwise, number, reduce
from ..graph.scalars.arithmetic import is_leaf
from ..rewrite.facts import is_surely_positive
from ..rewrite.stability.lengths import squares_of

#: Most parts of a sum or product that are compared.
WINDOW = 64


def _cancels(base: Node) -> bool:
    """Tell whether a factor cancels: an input, at whose 0 a derivative may have a value, or what is never 0."""
    c = number(base)
    if c is not None:
        return c != 0.0 and math.isfinite(c)
    if base.is_power and number(base.args[1]) is not None:  # that a power overflows is a matter of how it is computed
        base = base.args[0]
    return base.is_input or (base.args[0] if base.is_root else base).is_size or is_surely_positive(base)


#: Whole numbers whose roots are multiplied as roots.
_SQUARES = {math.sqrt(k): k for k in (2, 3, 5, 6, 7)}


def _surd(c: float) -> int:
    """Return the number of which another one is the square root; 0 for other numbers."""
    return _SQUARES.get(abs(c), 0)


def _squared(base: Node) -> Node | None:
    """Return the square of a root or of the size of a number; lengths stay, which are named."""
    square = _surd(number(base) or 0.0)
    if square:
        return constant(float(square))
    if base.op == "abs":
        return elementwise("power", (base.args[0], constant(2.0)))
    return base.args[0] if base.is_root and not base.args[0].is_contraction else None


def has_roots(product: CollectedProduct, power: int) -> bool:
    """Tell whether an even power of a product has fewer roots than the product."""
    return power % 2 == 0 and any(_squared(base) is not None for base, _ in product.factors())


@dataclass
class CollectedProduct:
    """A number times some factors, divided by others; each with how often it stands there."""

    number: float = 1.0
    over: dict[Node, int] = field(default_factory=dict)
    under: dict[Node, int] = field(default_factory=dict)

    def take(self, base: Node, power: int) -> None:
        """Multiply by ``base**power``; what is cancelled leaves a divisor that was there, but for inputs and sizes."""
        if base.is_reshape and base.args[0].shape == ():
            (base,) = base.args
        c = number(base)
        if c is not None and c.is_integer() and abs(c) > 1.0:
            while power < 0 and self.number.is_integer() and self.number % c == 0.0 != self.number:
                self.number /= c  # 3 / 3**2 is 1 / 3
                power += 1
        if not power or as_number(self, base, power):
            return
        if c is not None and c < 0.0:  # equal numbers cancel, whatever their signs are
            self.number *= (-1.0) ** power
            base = constant(-c)
        side, other = (self.over, self.under) if power > 0 else (self.under, self.over)
        count = abs(power)
        more, less = side.get(base, 0) + count, other.get(base, 0)
        if less and _cancels(base):
            common = min(more, less)
        else:  # f / f stays, and f**2 / f: one divisor remains where there was one
            under, over = (less, more) if power > 0 else (more, less)
            common = over if under > over else 0
        if common:
            side.pop(base, None)
            other.pop(base, None)
            count = more - common
            if less > common:
                other[base] = less - common
        if count:
            side[base] = side.get(base, 0) + count
        inside = _squared(base)
        if inside is not None and side.get(base, 0) > 1:
            pairs, left = divmod(side.pop(base), 2)
            if left:
                side[base] = left
            self.take(inside, (1 if side is self.over else -1) * pairs)

    def merge(self, other: CollectedProduct, power: int = 1) -> None:
        """Multiply by ``other**power``."""
        if other.number != 1.0:
            self.take(constant(other.number), power)
        for base, n in other.factors():
            self.take(base, n * power)

    def gather_numbers(self) -> None:
        """Take numbers among the factors into the number in front, which may have been none that a person writes."""
        for side, sign in ((self.over, 1), (self.under, -1)):
            for base, n in [(base, n) for base, n in side.items() if base.is_constant]:
                if as_number(self, base, sign * n):
                    del side[base]

    def factors(self) -> Iterator[tuple[Node, int]]:
        """Go through the factors, each with its power: below 0 for a divisor."""
        yield from self.over.items()
        for base, n in self.under.items():
            yield base, -n

    def copy(self) -> CollectedProduct:
        """Return a copy, to be changed on its own."""
        return CollectedProduct(self.number, dict(self.over), dict(self.under))

    def apart(self) -> tuple[CollectedProduct, CollectedProduct]:
        """Return the number and the scalars, and the arrays."""
        scalars, arrays = CollectedProduct(self.number), CollectedProduct()
        for base, n in self.factors():
            (arrays if base.shape else scalars).take(base, n)
        return scalars, arrays

    def meets(self, other: CollectedProduct) -> bool:
        """Tell whether a factor of one stands in the other."""
        mine = {*self.over, *self.under}
        return (self.number not in (1.0, -1.0) and other.number not in (1.0, -1.0)) or not mine.isdisjoint(
            (*other.over, *other.under)
        )

    @property
    def is_wide(self) -> bool:
        """True of so many factors that it stays one factor: chains would be copied in every link."""
        return len(self.over) + len(self.under) > WINDOW

    def key(self) -> tuple[object, ...]:
        """Return what two like terms have in common."""
        return frozenset(self.over.items()), frozenset(self.under.items())


def as_number(product: CollectedProduct, base: Node, power: int) -> bool:
    """Take a number into the coefficient if the result is one that a person would write."""
    from fractions import Fraction

    c = number(base)
    if c is None or c == 0.0 or not 1e-100 < abs(c) < 1e100 or abs(power) > 3 or _surd(c):
        return False
    total = product.number * c**power
    if not total or not math.isfinite(total):
        return False
    # 3 * 0.1 is not 0.30000000000000004 to a reader
    if Fraction(repr(total)) != Fraction(repr(product.number)) * Fraction(repr(c)) ** power:
        return False
    product.number = total
    return True


def directed(product: CollectedProduct) -> CollectedProduct:
    """Write lengths times directions as vectors, and vectors over their length twice, beside a direction, as another.

    ``norm(x) * unit(x)`` is ``x``, and ``outer(x, unit(x)) / norm(x)**2`` is ``outer(unit(x), unit(x)) / norm(x)``,
    which is nan at 0, too.
    """
    for length, n in list(product.factors()):
        if length.op != "norm" or length.shape or not (n > 0 or n < -1):
            continue
        (x,) = length.args
        found = _factor(product, partial(_is_direction_of, x))
        if found is None:
            continue
        if n > 0:
            _exchange(product, *found, x)
            _drop(product.over, length)
            return directed(product)
        vector = _factor(product, partial(is_, x))
        if vector is not None:
            _exchange(product, *vector, found[1])
            product.take(length, 1)
            return directed(product)
    for unit in [base for base, n in product.over.items() if n == 1 and base.op == "unit" and is_whole(base)]:
        length = reduce("norm", unit.args[0], axes_of(unit, unit))
        square = next((base for base in squares_of(length) if product.over.get(base) == 1), None)
        if square is not None:
            del product.over[square]
            _exchange(product, unit, unit, unit.args[0])
            product.take(length, 1)
    return product


def without_shares(product: CollectedProduct) -> CollectedProduct:
    """Write shares times the sum that they are shares of as what the sum is of: sum(exp(x)) softmax(x) is exp(x)."""
    for total in [base for base, n in product.over.items() if n == 1 and base.is_contraction and not base.shape]:
        part = total.args[0]
        if part.op != "exp" or len(total.args) > 1:
            continue
        found = _factor(product, partial(_is_share_of, part.args[0]))
        if found is not None:
            _drop(product.over, total)
            _exchange(product, *found, part)
    return product


#: Divisors that with another factor make up a divisor of one function: to which power, and which function.
_COFUNCTIONS = {"tan": (2, "sin"), "tanh": (1, "sinh")}


def by_fewer_functions(product: CollectedProduct) -> CollectedProduct:
    """Write (1 + tan²) / tan² as 1 / sin², sech / tanh as 1 / sinh, x / sqrt(x) as sqrt(x), x² + y² as hypot(x, y)²."""
    for roots, bases, n in ((product.over, product.under, -1), (product.under, product.over, 1)):
        for root in [base for base in roots if base.is_root]:
            if not roots.get(root) or not bases.get(root.args[0]):
                continue
            _drop(roots, root)
            _drop(bases, root.args[0])
            product.take(root, n)
    two = constant(2.0)
    for base in list(product.under):
        if base.op == "hypot":
            squares = [elementwise("power", (x, two)) for x in base.args]
            square = elementwise("add", tuple(squares))
            product.under[base] += 2 * product.under.pop(square, 0)
        elif base.op in _COFUNCTIONS:
            power, name = _COFUNCTIONS[base.op]
            square = elementwise("add", (constant(1.0), elementwise("power", (base, two))))
            other = square if power == 2 else elementwise("sech", base.args)
            if count := min(product.under[base] // power, product.over.get(other, 0)):
                _drop(product.over, other, count)
                _drop(product.under, base, power * count)
                product.take(elementwise(name, base.args), -power * count)
    return product


def _drop(factors: dict[Node, int], factor: Node, count: int = 1) -> None:
    factors[factor] -= count
    if not factors[factor]:
        del factors[factor]


def _is_share_of(x: Node, node: Node) -> bool:
    return node.op == "softmax" and node.args[0] is x and is_whole(node)


def _is_direction_of(x: Node, node: Node) -> bool:
    return node.op == "unit" and node.args[0] is x and is_whole(node)


def is_whole(unit: Node) -> bool:
    """Tell whether an array is divided by the norm, or the sum, of all of it."""
    return len(unit.payload.axes) == unit.ndim


def _factor(product: CollectedProduct, fits: Callable[[Node], bool]) -> tuple[Node, Node] | None:
    """Return a factor that fits, or the product of arrays with the operand that does, and what fits."""
    for base, n in product.over.items():
        if n == 1 and fits(base):
            return base, base
        if n == 1 and base.is_contraction:
            operand = next((arg for arg in base.args if fits(arg)), None)
            if operand is not None:
                return base, operand
    return None


def _exchange(product: CollectedProduct, base: Node, old: Node, new: Node) -> None:
    """Put another node in the place of a factor, or of the first such operand of one."""
    if base is old:
        made = new
    else:
        place = base.args.index(old)
        operands = [new if i == place else arg for i, arg in enumerate(base.args)]
        labels, out, repeated = base.payload
        made = contract(operands, labels, out, dict(repeated))
    del product.over[base]
    product.take(made, 1)


def whole_exponent(exponent: Node) -> int:
    """Return a whole exponent from 2 on or below 0, or 0."""
    n = number(exponent)
    return int(n) if n is not None and n.is_integer() and abs(n) <= WINDOW and n != 1 else 0


def times(factors: Mapping[Node, int]) -> Node | None:
    """Return the product of powers: what is written without operations first, arrays last."""
    factors = with_roots(factors)
    result: Node | None = None
    for base in sorted(factors, key=lambda base: (base.ndim > 0, not is_leaf(base))):
        part, n = base, factors[base]
        if n > 1:
            value = number(part) or 0.0
            is_whole_number = value.is_integer() and 1.0 <= abs(value) <= 2.0 ** (53 / n)
            part = constant(value**n) if is_whole_number else elementwise("power", (part, constant(float(n))))
        result = part if result is None else elementwise("multiply", (result, part))
    return result


def with_roots(factors: Mapping[Node, int]) -> dict[Node, int]:
    """Write a root or power times its base as one power, and a power of a root: x sqrt(x) is x**1.5."""
    groups: dict[Node, list[tuple[Node, float]]] = {}
    for base in [base for base, n in factors.items() if base.op == "cbrt" and n % 3 == 0]:
        factors = {**factors, base.args[0]: factors.get(base.args[0], 0) + factors[base] // 3}
        del factors[base]
    for base in factors:
        exponent = number(base.args[1]) if base.is_power else None
        inner, total = (base, 1.0) if exponent is None else (base.args[0], exponent)
        while inner.is_root:
            inner, total = inner.args[0], 0.5 * total
        groups.setdefault(inner, []).append((base, total * factors[base]))
    found: dict[Node, int] = {}
    for inner, own in groups.items():
        base, total = own[0][0], sum(exponent for _, exponent in own)
        n, below = factors[base], base.args[0] if base.is_power else None
        stays = n == 1 or n % 2 == 0 if base.is_root else below is None or not below.is_root
        if len(own) == 1 and stays:
            found[base] = n
        else:
            found[elementwise("power", (inner, constant(total)))] = 1
    return found


def multiplied_in(
    side: dict[Node, int], terms: Sequence[CollectedProduct], whole: Node
) -> list[CollectedProduct] | None:
    """Multiply a scalar beside a sum into its terms where that is shorter: v (1 + x / v) is v + x."""
    for base in [base for base, n in side.items() if n == 1 and base is not whole and _cancels(base)]:
        below = sum(term.under.get(base, 0) == 1 for term in terms)
        if base.shape or not below or 2 * below < len(terms):
            continue
        del side[base]
        result = [term.copy() for term in terms]
        for term in result:
            term.take(base, 1)
        return result
    return None


def ratio(a: float, b: float) -> float:
    """Return a / b; a whole number from which it differs by rounding."""
    found = a / b if b else 0.0
    return float(round(found)) if math.isclose(found, round(found), rel_tol=2.0**-51) else found


def without(term: CollectedProduct, common: CollectedProduct) -> CollectedProduct:
    """Return a term divided by what it has in common with others."""
    over = {base: n - common.over.get(base, 0) for base, n in term.over.items()}
    under = {base: n - common.under.get(base, 0) for base, n in term.under.items()}
    return CollectedProduct(
        ratio(term.number, common.number),
        {base: n for base, n in over.items() if n},
        {base: n for base, n in under.items() if n},
    )
