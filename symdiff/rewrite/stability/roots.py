"""Roots: of sums of squares, which are lengths, and of powers, which are one power.

Lengths have a derivative by convention at 0, and do not overflow.

Roots and powers of powers are one power in what is differentiated. The slope of ``(x**4)**(2/3)`` is ``2/3
(x**4)**(-1/3) 4 x**3``, which is nan at 0, where that of ``abs(x)**(8/3)`` is 0. So is that of ``cbrt(x)**3``, which
is x. Factors of a product that are powers of one number are one power, too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...graph import Node, concatenate, constant, elementwise, inputs_of, rebuild, reduce, reshape, slicing
from ...graph.kinds import INVERSE, bit_of
from ...graph.scalars.arithmetic import PRODUCTS, factors_of, peel, product_of, terms_of, without_numbers
from ...graph.scalars.functions import scalar_constant
from ..facts import is_positive
from ..rewriter import is_number, make, rule, simplify, spread

#: Most terms of a sum, and nested contractions, that are searched.
_TERMS, _NESTED = 8, 4
#: Highest power that counts as a product.
_HIGHEST = 8.0


def square_of(node: Node) -> Node | None:
    """Return x with node = x**2."""
    if node.is_power and is_number(node.args[1], 2.0):
        return peel(node.args[0])
    if node.is_multiplication and peel(node.args[0]) is peel(node.args[1]):
        return peel(node.args[0])
    return None


def squared_size(node: Node) -> Node | None:
    """Return the square of a multiple of a size without the size."""
    base = square_of(node)
    c, size = (1.0, base) if base is None or not base.is_multiplication else without_numbers(base)
    if size is None or size.op != "abs":
        return None
    square = elementwise("power", (size.args[0], constant(2.0)))
    return square if c == 1.0 else elementwise("multiply", (constant(product_of(c, c)), square))


def length_of(node: Node) -> Node | None:
    """Return sqrt(node) as a length, where the node is a square or a sum of squares; else None.

    A positive number that multiplies or divides the squares is factored out of the root.
    """
    factor, node = _positive_factor(node)
    found = _length(node)
    if found is None or factor is None:
        return found
    op, c = factor
    value = scalar_constant(c)
    root = elementwise("sqrt", (c,)) if value is None else constant(math.sqrt(value))
    return elementwise(op, (found, root) if op == "divide" else (root, found))


def _positive_factor(node: Node) -> tuple[tuple[str, Node] | None, Node]:
    """Return a positive number or a size, whether it multiplies or divides, and what else there is."""
    if node.is_multiplicative:
        for place in (0, 1) if node.is_multiplication else (1,):
            c = node.args[place]
            value = scalar_constant(c)
            if c.is_size or (value is not None and 0.0 < value < math.inf):
                return (node.op, c), peel(node.args[1 - place])
    return None, node


def _length(node: Node) -> Node | None:
    base = square_of(node)
    if base is not None:
        return elementwise("abs", (base,))
    if node.is_power:
        n = scalar_constant(node.args[1])
        if n is not None and n > 0 and n % 2 == 0:  # x**4, abs(x)**3
            base = node.args[0] if n % 4 == 0 else elementwise("abs", (node.args[0],))
            return elementwise("power", (base, constant(n / 2)))
    if node.is_multiplication:
        bases = [square_of(peel(arg)) for arg in node.args]
        if bases[0] is not None and bases[1] is not None:
            return elementwise("abs", (elementwise("multiply", (bases[0], bases[1])),))
        lengths = [_length(peel(arg)) for arg in node.args]
        if lengths[0] is not None and lengths[1] is not None:
            return elementwise("multiply", (lengths[0], lengths[1]))
    if node.is_addition:
        return _length_of_terms(node)
    if node.is_concatenation:
        parts = [length_of(peel(arg)) for arg in node.args]
        known = [part for part in parts if part is not None]
        return rebuild(node, tuple(known)) if len(known) == len(parts) else None
    if node.is_reshape:
        inner = length_of(peel(node.args[0]))
        return None if inner is None else reshape(inner, node.shape)
    if node.is_contraction:
        return _norm(node)
    return None


def _length_of_terms(node: Node) -> Node | None:
    parts, whole = terms_of(node, _TERMS, look=peel)
    single = _of_one([(sign, *_square_of_multiple(term)) for sign, term in parts] if whole else [])
    if single is not None:
        return spread(single, node.shape)
    terms: list[Node] = []
    for sign, term in parts if whole else ():
        base = square_of(term)
        if sign < 0 or base is None or base.is_constant:
            return None
        terms.append(base)
    if not terms:
        return None
    if len(terms) == 2:
        return elementwise("hypot", (terms[0], terms[1]))
    part = _part_of_one(terms)
    if part is not None:
        return reduce("norm", part, (0,))
    columns = [reshape(spread(term, node.shape), (*node.shape, 1)) for term in terms]
    return reduce("norm", concatenate(columns, node.ndim), (node.ndim,))


def _square_of_multiple(term: Node) -> tuple[float, Node | None]:
    """Return (c, x) with term = c x**2, and None for x where it is something else."""
    c, base = without_numbers(term)
    x = square_of(base)
    if x is None:
        return c, None
    inside, x = without_numbers(x)
    return c * inside * inside, x


def _of_one(squares: Sequence[tuple[float, float, Node | None]]) -> Node | None:
    """Return the root of a sum of squares of multiples of one x, sqrt(sum(c)) abs(x); terms are (sign, c, x)."""
    bases = {x for _, _, x in squares}
    total = math.fsum(sign * c for sign, c, _ in squares)
    (x,) = bases if len(bases) == 1 else (None,)
    if x is None or x.is_constant or not all(sign * c > 0.0 for sign, c, _ in squares) or not math.isfinite(total):
        return None
    size = make("abs", x)
    return size if total == 1.0 else elementwise("multiply", (constant(math.sqrt(total)), size))


@rule("hypot", "hypot(x, 2 x), hypot(x, 0)", "sqrt(5) abs(x), abs(x)", "stability")
def _hypot_of_one(node: Node) -> Node | None:
    parts = [peel(arg) for arg in node.args if scalar_constant(arg) != 0.0]
    found = _of_one([(1.0, c * c, x) for c, x in map(without_numbers, parts)])
    return None if found is None else spread(found, node.shape)


@rule("hypot", "hypot(x**2, x**3), hypot(x y, x z)", "x**2 hypot(1, x), abs(x) hypot(y, z)", "differentiated")
def _hypot_of_products(node: Node) -> Node | None:
    """Take out what both arguments have as a factor: where it is 0, second slopes are those of its size."""
    found = _without_common([(1, arg) for arg in node.args], 1)
    if found is None:
        return None
    factor, rests = found
    size = make("hypot", *[rest for _, rest in rests])
    return spread(elementwise("multiply", (make("abs", factor), size)), node.shape)


@rule("norm", "norm([x**2, x**3])", "x**2 norm([1, x])", "differentiated")
def _norm_of_products(node: Node) -> Node | None:
    """Take out what all elements have as a factor."""
    parts = _numbers_in(peel(node.args[0])) if node.shape == () else None
    found = _without_common([(1, part) for part in parts], 1) if parts else None
    if found is None:
        return None
    factor, rests = found
    row = concatenate([reshape(rest, (1,)) for _, rest in rests], 0)
    return elementwise("multiply", (make("abs", factor), reduce("norm", row, (0,))))


def _numbers_in(row: Node) -> list[Node] | None:
    """Return the numbers that a vector is written with; None for other vectors."""
    if not row.is_concatenation and not row.is_reshape:
        return None
    parts = [peel(part) for part in (row.args if row.is_concatenation else (row,))]
    found = [peel(part.args[0]) for part in parts if part.is_reshape and part.args[0].shape == ()]
    return found if len(found) == len(parts) else None


@rule("sqrt", "sqrt(x**4 + x**6)", "x**2 sqrt(1 + x**2)", "differentiated")
def _root_of_products(node: Node) -> Node | None:
    """Take squares out of a root that all terms below it have as a factor."""
    terms = terms_of(peel(node.args[0]), _TERMS, look=peel)
    found = _without_common(terms.parts, 2) if terms.whole and len(terms.parts) > 1 else None
    if found is None:
        return None
    factor, rests = found
    total = constant(0.0)
    for sign, rest in rests:
        total = make("add" if sign > 0 else "subtract", total, rest)
    return spread(elementwise("multiply", (make("abs", factor), elementwise("sqrt", (total,)))), node.shape)


def _without_common(terms: Sequence[tuple[float, Node]], root: int) -> tuple[Node, list[tuple[float, Node]]] | None:
    """Return the largest product c with ``c**root`` in all terms, which have signs, and the terms without it."""
    powers: list[Counter[Node]] = []
    signs = []
    for sign, term in terms:
        found = factors_of(term, _TERMS, powers=_HIGHEST, look=peel)
        if not found.whole:
            return None
        own = Counter[Node]()
        for base, n in found.parts:
            own[base] += int(n)
        powers.append(own)
        signs.append(sign * found.sign)
    common = Counter({
        base: n // root
        for base in powers[0]
        if not base.is_constant and (n := min(own[base] for own in powers)) >= root
    })  # fmt: skip
    if not common:
        return None
    for own in powers:
        own.subtract({base: n * root for base, n in common.items()})
    return _of_powers(common), [(sign, _of_powers(own)) for sign, own in zip(signs, powers, strict=True)]


def _of_powers(powers: Mapping[Node, int]) -> Node:
    """Return a product of powers."""
    found = constant(1.0)
    for base, n in powers.items():
        if n:
            part = base if abs(n) == 1 else make("power", base, constant(float(abs(n))))
            found = make("multiply" if n > 0 else "divide", found, part)
    return found


@rule("norm", "norm([x, 2 x]), norm([x, 0]), norm(x [1, 2])", "sqrt(5) abs(x), abs(x), sqrt(5) abs(x)", "stability")
def _norm_of_one(node: Node) -> Node | None:
    """Write the norm of multiples of one number as a multiple of its size, whose second slopes are known at 0."""
    inside = peel(node.args[0])
    if node.shape != () or inside.ndim != 1:
        return None
    if inside.is_multiplication:
        for x, numbers in (inside.args, inside.args[::-1]):
            if x.shape == () and not x.is_constant and numbers.is_constant and numbers.ndim == 1:
                return _of_one([(1.0, float(c) ** 2, x) for c in numbers.value.ravel()])
        return None
    parts = _numbers_in(inside)
    if parts is None:
        return None
    return _of_one([(1.0, c * c, x) for c, x in map(without_numbers, parts) if scalar_constant(x) != 0.0])


@rule("norm", "norm(x norm(x)), norm(outer(x, x))", "norm(x)**2, norm(x)**2", "stability", inside="multiply contract")
def _norm_of_product(node: Node) -> Node | None:
    """Write the norm of a product without sums of factors that vanish together as the product of their norms."""
    inside = peel(node.args[0])
    if node.shape:
        return None
    out = tuple(range(inside.ndim))
    factors = _apart(inside, out)
    labels = [label for _, own in factors for label in own]
    moving = [inputs_of([arg]) for arg, _ in factors if not arg.is_constant]
    meet = any(not {*one}.isdisjoint(other) for i, one in enumerate(moving) for other in moving[:i])
    repeats = [inside.shape[label] for label in out if label not in labels]
    if len({*labels}) < len(labels) or not moving or not all(isinstance(size, int) for size in repeats):
        return None
    if not meet and (len(moving) > 1 or any(own and not arg.is_constant for arg, own in factors)):
        return None
    found = constant(math.sqrt(math.prod(repeats)))
    sizes = [reduce("norm", arg, tuple(range(arg.ndim))) if arg.ndim else make("abs", arg) for arg, _ in factors]
    for size, n in Counter(sizes).items():
        found = elementwise("multiply", (found, size if n == 1 else make("power", size, constant(float(n)))))
    return found


def _apart(node: Node, own: Sequence[int]) -> list[tuple[Node, Sequence[int]]]:
    """Return the factors of a product that sums nothing, each with the labels that it stands along."""
    node = peel(node)
    for c, x in (node.args, node.args[::-1]) if node.is_multiplication else ():
        if c.ndim == 0 and x.shape == node.shape:
            return [*_apart(c, ()), *_apart(x, own)]
    if node.is_contraction and {label for row in node.payload.labels for label in row} <= {*node.payload.out}:
        names = dict(zip(node.payload.out, own, strict=True))
        rows = [[names[label] for label in row] for row in node.payload.labels]
        return [factor for arg, row in zip(node.args, rows, strict=True) for factor in _apart(arg, row)]
    return [(node, own)]


@rule("multiply", "norm(x) norm(x), hypot(x[0], x[1]) norm(x)", "sum(x**2)", "stability", inside="norm hypot named")
def _product_of_lengths(node: Node) -> Node | None:
    sign, parts, _ = factors_of(node, _TERMS, look=peel)
    places = [i for i, (part, n) in enumerate(parts) if n == 1.0 and part.op in ("norm", "hypot")]
    if len(places) < 2:
        return None
    lengths = simplify([_as_norm(parts[i][0]) for i in places])
    for j, length in enumerate(lengths):
        if length in lengths[:j]:
            gone = {places[j], places[lengths.index(length)]}
            found = make("power", length, constant(2.0))
            for i, (other, n) in enumerate(parts):
                if i not in gone:
                    found = elementwise("multiply" if n > 0.0 else "divide", (found, other))
            return spread(found if sign > 0 else elementwise("negative", (found,)), node.shape)
    return None


def _as_norm(length: Node) -> Node:
    """Return a length of two elements that stand one after the other as a norm, that of deviations from a number."""
    if length.op == "hypot":
        part = _part_of_one([peel(arg) for arg in length.args])
        return length if part is None else reduce("norm", part, (0,))
    (x,) = length.args
    if x.is_additive:
        terms = [reshape(arg, ()) if all(size == 1 for size in arg.shape) else arg for arg in x.args]
        x = spread(elementwise(x.op, tuple(terms)), x.shape)
    return rebuild(length, (x,))


def _norm(node: Node) -> Node | None:
    """Return the root of contractions that sum the squares of an array along some of its axes."""
    count = len(node.payload.out)
    names: tuple[int, ...] = tuple(range(count))
    fresh = count
    part = node
    for _ in range(_NESTED):
        labels, out, repeated = part.payload
        if repeated or len(part.args) > 2:
            return None
        known: dict[int, int] = dict(zip(out, names, strict=True))
        for label in dict.fromkeys(label for own in labels for label in own):
            if label not in known:
                known[label], fresh = fresh, fresh + 1
        rows = [tuple(known[label] for label in own) for own in labels]
        if len(part.args) == 2:
            (x, first), (y, second) = (_upright(arg, row) for arg, row in zip(part.args, rows, strict=True))
            return _length_along(x, first, count) if x is y and first == second else None
        part, names = peel(part.args[0]), rows[0]
        base = square_of(part)
        if base is not None:
            return _length_along(base, names, count) if base.shape == part.shape else None
        if not part.is_contraction:
            return None
    return None


def _part_of_one(terms: list[Node]) -> Node | None:
    """Return the part of a vector whose elements, one after the other, the terms are."""
    x = terms[0].args[0] if terms[0].is_slice else None
    if x is None or x.ndim != 1 or any(not term.is_slice or term.args[0] is not x for term in terms):
        return None
    places = [term.payload.items[0][0] for term in terms]
    if any(term.shape != () for term in terms) or places != [places[0] + i for i in range(len(terms))]:
        return None
    return slicing(x, ((places[0], 1, len(terms)),))


def _upright(node: Node, names: tuple[int, ...]) -> tuple[Node, tuple[int, ...]]:
    """Return an array whose transpose a node is, with the names of its axes."""
    node = peel(node)
    while node.is_contraction and len(node.args) == 1:
        (own,), out, repeated = node.payload
        if repeated or len(set(own)) < len(own) or set(own) != set(out):
            break
        known = dict(zip(out, names, strict=True))
        node, names = peel(node.args[0]), tuple(known[label] for label in own)
    return node, names


def _length_along(x: Node, names: tuple[int, ...], count: int) -> Node | None:
    """Return the norm of ``x`` along its axes whose names are not below ``count``; these are the result's, in order."""
    kept = [name for name in names if name < count]
    if len(set(names)) < len(names) or kept != list(range(count)) or len(kept) == len(names):
        return None
    return reduce("norm", x, tuple(axis for axis, name in enumerate(names) if name >= count))


#: Depth to which powers are looked for, and most factors of a product.
_DEPTH, _FACTORS = 6, 12
#: Functions that are never negative, and vanish where their arguments do.
_LENGTHS = ("norm", "hypot")


class Power(NamedTuple):
    """``abs(x)**n``, times the sign of x where it is odd."""

    x: Node
    n: float
    odd: bool

    def written(self) -> Node:
        """Return the power as a node."""
        x, n, odd = self
        if n % 2.0 == float(odd):
            return x if n == 1.0 else elementwise("power", (x, constant(n)))
        size = x if x.op in _LENGTHS else elementwise("abs", (x,))
        power = size if n == 1.0 else elementwise("power", (size, constant(n)))
        return elementwise("multiply", (elementwise("sign", (x,)), power)) if odd else power


def power_of(node: Node, depth: int = _DEPTH) -> Power | None:
    """Return a node as a power; None where it is none of a real number.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> x = input("x")
    >>> power_of(elementwise("cbrt", (x * x,)))[1:], power_of(x)[1:]
    ((0.6666666666666666, False), (1.0, True))
    """
    node = peel(node)
    if node.op in _LENGTHS or depth == 0:
        return Power(node, 1.0, depth == 0)
    exponent = {"abs": 1.0, "sqrt": 0.5, "cbrt": 1.0 / 3.0}.get(node.op)
    if node.is_power:
        exponent = scalar_constant(node.args[1])
    base: Node | None = node.args[0] if exponent is not None else square_of(node)
    if base is None and (node.is_addition or node.is_contraction):
        base = length_of(node)
        base = None if base is not None and base.is_multiplicative else base
    if base is None:
        return Power(node, 1.0, True)
    found = power_of(base, depth - 1) if base.shape == node.shape else None
    if found is None:
        return None
    n = 2.0 if exponent is None else exponent
    if node.is_root or not (n.is_integer() or node.op == "cbrt"):
        return None if found.odd else _times(found, n, False)
    return _times(found, n, found.odd and node.op != "abs" and n % 2.0 != 0.0)


def _times(power: Power, n: float, odd: bool) -> Power:
    total = power.n * n
    whole = round(total)
    return Power(power.x, float(whole) if abs(total - whole) < 1e-12 else total, odd)  # 6 (1 / 3) is 2


@rule("power sqrt cbrt", "cbrt(x)**3, (x**4)**(2/3), sum(x**2)**(3/4), (s x**2)**n, s > 0",
      "x, abs(x)**(8/3), norm(x)**(3/2), s**n abs(x)**(2 n)",
      "differentiated")
def _power_of_power(node: Node) -> Node | None:
    n = {"sqrt": 0.5, "cbrt": 1.0 / 3.0}.get(node.op) or scalar_constant(node.args[1])
    if n is not None and not n.is_integer() and peel(node.args[0]).op in PRODUCTS:
        multiple = _power_of_multiple(node, n)
        if multiple is not None:
            return multiple
    inner = power_of(node.args[0])
    if inner is None or inner.n == 1.0 or inner.x.is_constant or inner.x.shape != node.shape:
        return None
    if n is None:  # a square to a power that is an input
        if inner.n != 2.0 or inner.odd or inner.x.op in _LENGTHS:
            return None
        twice = elementwise("multiply", (constant(2.0), node.args[1]))
        return spread(elementwise("power", (elementwise("abs", (inner.x,)), twice)), node.shape)
    found = power_of(node)
    # slopes of whole powers are right at 0, and both of squares to more than 2 and of the square of a length
    most = 1.0 if inner.x.op in _LENGTHS else 2.0
    if found is None or (n.is_integer() and inner.n.is_integer()) or (inner.n == 2.0 and not 0.0 < n < most):
        return None
    is_root_left = inner.odd and not found.n.is_integer()
    return None if is_root_left else spread(found.written(), node.shape)


def _power_of_multiple(node: Node, n: float) -> Node | None:
    """Return ``s**n * abs(x)**(m n)`` for ``(s * x**m)**n``, m even and s above 0."""
    sign, parts, _ = factors_of(node.args[0], _FACTORS, look=peel)
    positive = [(part, times) for part, times in parts if is_positive(part)]
    rest = [(part, times) for part, times in parts if not is_positive(part)]
    power = power_of(rest[0][0]) if len(rest) == 1 and sign > 0 else None
    if power is None:
        return None
    times = rest[0][1]
    total, is_length = _times(power, times, False), power.x.op in _LENGTHS
    if power.x.shape != node.shape or total.n <= 0.0 or (total.n % 2.0 and not is_length) or not positive:
        return None
    raised = [(elementwise("power", (part, constant(n))), times) for part, times in positive]
    whole = total.written() if is_length and n > 1.0 else None
    size = _times(total, n, False).written() if whole is None else elementwise("power", (whole, constant(n)))
    return spread(_product(1, size, raised), node.shape)


@rule("multiply divide", "abs(x)**1.5 abs(x)**0.5, x cbrt(x)", "x**2, abs(x)**(4/3)", "differentiated")
def _product_of_powers(node: Node) -> Node | None:
    sign, parts, _ = factors_of(node, _FACTORS, look=peel)
    powers = [power_of(part) for part, _ in parts]
    for first in powers:
        if first is None or first.x.is_constant or first.x.shape != node.shape:
            continue
        own = [(part, power, n) for (part, n), power in zip(parts, powers, strict=True) if power and power.x is first.x]
        total = sum(power.n * n for _, power, n in own)
        if len(own) > 1 and total > 0.0 and any(_is_fractional(part) for part, _, _ in own):
            odd = sum(power.odd for _, power, _ in own) % 2 == 1
            joined = _times(Power(first.x, total, odd), 1.0, odd).written()
            gone = {part for part, _, _ in own}
            return spread(_product(sign, joined, [(part, n) for part, n in parts if part not in gone]), node.shape)
    return None


@rule("multiply divide", "x sign(x) / sqrt(abs(x))", "sqrt(abs(x))", "derived", below=(INVERSE, bit_of("sign")))
def _size_over_root(node: Node) -> Node | None:
    sign, parts, _ = factors_of(node, _FACTORS, look=peel)
    for part, n in parts:
        if part.op != "sign" or n != 1.0 or (part.args[0], 1.0) not in parts:
            continue
        for divisor, m in parts:
            power = power_of(divisor)
            if power is not None and power.x is part.args[0] and not power.odd and -1.0 < power.n * m < 0.0:
                size = _times(Power(power.x, 1.0 + power.n * m, False), 1.0, False).written()
                gone = (part, part.args[0], divisor)
                return spread(_product(sign, size, [own for own in parts if own[0] not in gone]), node.shape)
    return None


def _is_fractional(part: Node) -> bool:
    """Tell whether a power has a root in it."""
    if part.is_power:
        n = scalar_constant(part.args[1])
        return n is None or not n.is_integer() or _is_fractional(peel(part.args[0]))
    return part.op in ("sqrt", "cbrt")


def _product(sign: int, first: Node, rest: Sequence[tuple[Node, float]]) -> Node:
    found = first if sign > 0 else elementwise("negative", (first,))
    for part, n in rest:
        found = elementwise("multiply" if n > 0.0 else "divide", (found, part))
    return found
