"""Quotients of polynomials in lowest terms, as they are shown.

Sums, products, quotients and whole powers of anything else are a quotient of two polynomials in it, whose greatest
common divisor is taken out: ``y / m - (y a + 1) / (1 + a m)`` is ``(y - m) / (m (1 + a m))``. The square of a root is
what stands under it. Numbers are computed by the form before: on one denominator they may leave their range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from ...graph import Node, constant, elementwise, input, postorder, rebuild, substitute
from ...graph.kinds import INVERSE
from ...graph.scalars.arithmetic import PRODUCTS, SUMS, fraction_of
from ...graph.scalars.functions import FUNCTIONS, scalar_constant
from ...ground.budget import spend
from ...ground.gc_pause import noted, notes
from ..rewriter import READ, make, rule, spread
from ..stability.exponents import linear, ratio
from .monomials import HIGHEST

if TYPE_CHECKING:
    from fractions import Fraction

    from flint import fmpq, fmpq_mpoly

#: Most operations that are looked at, variables, terms of a polynomial, and its degree.
_STEPS, _VARIABLES, _TERMS, _DEGREE = 160, 12, 48, 24
#: The largest whole number in a coefficient.
_LARGEST = 10_000

#: Numerator and denominator.
_Quotient: TypeAlias = "tuple[fmpq_mpoly, fmpq_mpoly]"


@rule("add subtract multiply divide", "y / m - (y a + 1) / (1 + a m), (x**2 - 1) / (x - 1)",
      "(y - m) / (m (1 + a m)), x + 1", "shown", below=(INVERSE,))
def _in_lowest_terms(node: Node) -> Node | None:
    """Divide what is above and below by their greatest common divisor, where that is shorter."""
    found = on_one_denominator(node)
    return None if found is None or _size(found) >= _size(node) else found


@noted
def on_one_denominator(node: Node) -> Node | None:
    """Return the shortest quotient of two polynomials that a formula is, in lowest terms; None if it is none."""
    order = _operations(node)
    opened = None if order is None else _Polynomials.of(order, {})
    if order is None or opened is None:
        return None
    sums: dict[Node, Node] = {}
    same: dict[str, Node] = {}
    for part in order[:-1]:
        if part.op in SUMS and opened.values[part][1].is_constant():
            sums[part] = same.setdefault(str(opened.values[part]), part)
    whole = _Polynomials.of(order, sums) if sums else None  # (x - m)**2 stays a square
    ways = [whole, opened, *(_Polynomials.of(order, {}, by) for by in _pairs_of(opened.variables))]
    found = [made for polynomials in ways if polynomials is not None for made in polynomials.written(node)]
    found += _by_hyperbolic_functions(node, opened.variables)
    return spread(min(found, key=_size), node.shape)


#: Functions whose squares are rational: that of sqrt(x) is x, that of hypot(x, y) is x**2 + y**2.
_ROOTS = ("sqrt", "hypot")


#: Squares of functions by those of others with the same argument: a number, and how often the other's is added.
_SQUARES = {
    "sin": (1, -1, "cos"),
    "sinh": (-1, 1, "cosh"),
    "tanh": (1, -1, "sech"),
    "cos": (1, -1, "sin"),
    "cosh": (1, 1, "sinh"),
    "sech": (1, -1, "tanh"),
}
#: Functions that may cancel beside a cosine of the same argument, and the sine that belongs to it.
_SINES = {"sin": "sin", "sinh": "sinh", "tanh": "tanh", "tan": "sin"}


def _pairs_of(variables: Sequence[Node]) -> list[dict[Node, Node]]:
    """Return sines and cosines of the same arguments, either by the other; a tangent beside one of them has both."""
    known: dict[Node, Node] = {}
    for node in variables:
        if node.op in _SINES:
            sine = elementwise(_SINES[node.op], node.args)
            cosine = elementwise(_SQUARES[sine.op][2], node.args)
            if cosine in variables or (sine is not node and sine in variables):
                known[sine] = cosine
    return [known, {cosine: sine for sine, cosine in known.items()}] if known else []


def _ratio(tangent: Node) -> tuple[Node, Node]:
    """Return the sine and the cosine that a tangent is the ratio of."""
    return elementwise("sin", tangent.args), elementwise("cos", tangent.args)


_U = input("u", ())
_E, _DOUBLED = elementwise("exp", (_U,)), elementwise("exp", (2.0 * _U,))
#: Functions as quotients of polynomials in exponentials. DLMF 4.28
_IN_EXPONENTIALS = {
    "sinh": (_DOUBLED - 1.0) / (2.0 * _E),
    "cosh": (_DOUBLED + 1.0) / (2.0 * _E),
    "tanh": (_DOUBLED - 1.0) / (_DOUBLED + 1.0),
    "sech": 2.0 * _E / (_DOUBLED + 1.0),
    "sigmoid": _E / (1.0 + _E),
}


def _by_hyperbolic_functions(node: Node, variables: Sequence[Node]) -> list[Node]:
    """Return a quotient of polynomials in one exponential by hyperbolic functions, where it is one of these.

    ``1 + 2 / (exp(2 x) - 1)`` is ``1 / tanh(x)``, and ``sech(x)**2 / tanh(x)`` is ``2 / sinh(2 x)``.
    """
    known = [one for one in variables if one.op in _IN_EXPONENTIALS]
    if len(known) < 2 and not any(one.op == "exp" for one in variables):
        return []
    first, *others = [linear(one.args[0]) for one in variables if one.op == "exp" or one in known]
    if not first or not all(ratio(other, first) for other in others):
        return []
    new = {one: substitute([_IN_EXPONENTIALS[one.op]], {_U: one.args[0]})[0] for one in known}
    (opened,) = substitute([node], new) if new else [node]
    order = _operations(opened)
    polynomials = None if order is None else _Polynomials.of(order, {})
    return [] if polynomials is None else polynomials.by_hyperbolic_functions(opened)


def wholes_in_lowest_terms(root: Node) -> Node:
    """Divide what is above and below in the largest parts of a formula that this makes shorter.

    Rules go from parts to wholes, and may turn a part into functions that no longer cancel.
    """
    if len(postorder([root], most=READ)) > READ:
        return root
    new: dict[Node, Node] = {}
    todo = [root]
    while todo:
        node = todo[-1]
        if node not in new:
            found = _in_lowest_terms(node) if node.op in PRODUCTS or node.op in SUMS else None
            if found is not None:
                new[node] = found
            else:
                left = [arg for arg in node.args if arg not in new]
                if left:
                    todo += left
                    continue
                new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        todo.pop()
    return new[root]


def _inside(node: Node) -> tuple[Node, ...]:
    """Return what a node is a sum, product, quotient or whole power of; nothing for a variable."""
    if node.is_power:
        n = scalar_constant(node.args[1])
        return node.args[:1] if n is not None and n.is_integer() and abs(n) <= HIGHEST else ()
    if node.op in SUMS or node.op in PRODUCTS:
        return node.args
    written = _as_written(node)
    return () if written is None else (written,)


@noted
def _as_written(node: Node) -> Node | None:
    """Return what people write for a function without a name in text."""
    row = FUNCTIONS.get(node.op)
    return None if row is None or row.written is None else row.written(*node.args)


@noted
def _size(node: Node) -> int:
    """Return how many operations, variables and numbers a formula is written with."""
    inside = _inside(node)
    own = 1 + node.is_power if not inside or node.is_power or node.op in SUMS or node.op in PRODUCTS else 0
    return own + sum(map(_size, inside))


def _fraction(node: Node) -> Fraction | None:
    """Return a number as a fraction; None for others, which are variables, as sqrt(2 pi) is."""
    number = scalar_constant(node)
    found = None if number is None else fraction_of(number)
    return None if found is None or max(abs(found.numerator), found.denominator) > _LARGEST else found


def _operations(node: Node) -> list[Node] | None:
    """Return the parts of a formula, arguments first; None where nothing may cancel, or of too many.

    Something may where a sum or a root is below, the same variable above and below, or a sine beside its cosine.
    """
    long: set[Node] = notes().setdefault(_operations, set())
    order: dict[Node, None] = {}
    sides: dict[Node, bool] = {}
    todo, steps, divided = [(node, False, False)], 0, False
    while todo:
        part, below, done = todo.pop()
        inside = _inside(part)
        divided = divided or part.op in _ROOTS or (below and part.op in SUMS)
        if not inside and not part.is_constant:
            divided = divided or sides.setdefault(part, below) != below
        if done or part in order:
            order.setdefault(part)
            continue
        steps += 1
        if steps > _STEPS or part in long:
            long.add(node)
            return None
        todo.append((part, below, True))
        inverse = part.is_power and (scalar_constant(part.args[1]) or 0.0) < 0.0
        for place, arg in [*enumerate(inside or (part.args if part.op in _ROOTS else ()))][::-1]:
            todo.append((arg, below != (inverse or (part.is_division and place == 1)), False))
    return list(order) if divided or _pairs_of(list(sides)) else None


@cache
def _ring(variables: int) -> Any:
    """Return polynomials with fractions as coefficients."""
    from flint import Ordering, fmpq_mpoly_ctx  # loaded where a formula is shown

    return fmpq_mpoly_ctx.get(tuple(f"x{place}" for place in range(variables)), Ordering.lex)


class _Polynomials:
    """Parts of a formula as quotients of polynomials, with some sums as variables: one for all that are equal."""

    def __init__(self, variables: Sequence[Node], kept: Mapping[Node, Node], by: Mapping[Node, Node]) -> None:
        self.variables, self.kept = variables, kept
        self.ring = _ring(len(variables))
        self.values: dict[Node, _Quotient] = {}
        #: Square of each root, and of functions that are written by others, by their places.
        self.squares: dict[int, fmpq_mpoly] = {}
        for node, other in by.items():
            number, sign, _ = _SQUARES[node.op]
            self.squares[variables.index(node)] = number + sign * self._variable(other) ** 2
        self.exponentials = _as_powers([part for part in variables if part.op == "exp"])

    @staticmethod
    def of(
        order: Sequence[Node], kept: Mapping[Node, Node], by: Mapping[Node, Node] | None = None
    ) -> _Polynomials | None:
        """Read a formula, with squares of some functions by others; None where a polynomial is too long."""
        variables = [
            part for part in order if kept.get(part) is part or (not _inside(part) and _fraction(part) is None)
        ]
        by = by or {}
        pairs = {frozenset(pair) for pair in by.items()}
        variables = [node for node in variables if node.op != "tan" or frozenset(_ratio(node)) not in pairs]
        variables += [node for pair in by.items() for node in pair if node not in variables]
        if not 0 < len(variables) <= _VARIABLES:
            return None
        found = _Polynomials(variables, kept, by)
        for node in order:
            if not found._is_small(node):
                return None
            spend(_TERMS)
            above, below = found._value(node)
            if not below.is_constant():  # before squares of roots are put in: of s (x + s) the divisor x + s is seen
                common = above.gcd(below)
                above, below = above / common, below / common
            above, below = found._reduced(above, below)
            if not below or any(len(p) > _TERMS or p.total_degree() > _DEGREE for p in (above, below)):
                return None
            found.values[node] = above, below
        return found

    def _is_small(self, node: Node) -> bool:
        """Tell whether a product or a power has few terms before they are multiplied out."""
        longest = [max(map(len, self.values[arg])) for arg in _inside(node) if arg in self.values]
        if node.is_power and longest:
            n = int(abs(scalar_constant(node.args[1]) or 0.0))
            return math.comb(longest[0] + n - 1, n) <= _TERMS**2
        return math.prod(longest) <= _TERMS**2

    def _value(self, node: Node) -> _Quotient:
        one = self.ring.constant(1)
        fraction = _fraction(node)
        if fraction is not None:
            return fraction.numerator * one / fraction.denominator, one
        if node in self.exponentials:
            base, n = self.exponentials[node]
            power = self._variable(base) ** abs(n)
            return (power, one) if n > 0 else (one, power)
        if node.op == "tan" and node not in self.variables:
            sine, cosine = _ratio(node)
            return self._variable(sine), self._variable(cosine)
        inside = () if node in self.kept else _inside(node)
        if not inside:
            is_root = node.op in _ROOTS and node not in self.kept
            own = [self.values[arg] for arg in node.args] if is_root else []
            if own and all(below.is_constant() for _, below in own):
                squares = [(a / b) ** len(own) for a, b in own]
                square, _ = self._reduced(sum(squares[1:], squares[0]), one)
                for place, other in self.squares.items():  # hypot(1, x) beside sqrt(1 + x**2)
                    if other == square and self.variables[place].op in _ROOTS:
                        return self.ring.gen(place), one
                self.squares[self.variables.index(node)] = square
            return self._variable(self.kept.get(node, node)), one
        (a, b), *others = [self.values[arg] for arg in inside]
        if node.is_power:
            n = int(scalar_constant(node.args[1]) or 0.0)
            return (a**n, b**n) if n >= 0 else (b**-n, a**-n)
        if not others:
            return -a if node.is_negation else a, b
        ((c, d),) = others
        if node.is_multiplication:
            return a * c, b * d
        if node.is_division:
            return a * d, b * c
        common = b.gcd(d)
        first, second = a * (d / common), c * (b / common)
        return first + second if node.is_addition else first - second, b * (d / common)

    def _variable(self, node: Node) -> fmpq_mpoly:
        variable: fmpq_mpoly = self.ring.gen(self.variables.index(node))
        return variable

    def _reduced(self, above: fmpq_mpoly, below: fmpq_mpoly) -> _Quotient:
        """Put what squares are, of roots and of functions that are written by others, in their place."""
        for place, square in self.squares.items():
            above, below = (self._without_squares(p, place, square) for p in (above, below))
        return above, below

    def _without_squares(self, p: fmpq_mpoly, place: int, square: fmpq_mpoly) -> fmpq_mpoly:
        if p.degrees()[place] < 2:
            return p
        total: fmpq_mpoly = self.ring.constant(0)
        for powers, c in p.to_dict().items():
            rest = tuple(n % 2 if k == place else n for k, n in enumerate(powers))
            total += self.ring.from_dict({rest: c}) * square ** (powers[place] // 2)
        return total

    def written(self, node: Node) -> Iterator[Node]:
        """Give a formula in lowest terms: what is above as a product, multiplied out, and without roots below."""
        yield from self._in_lowest_terms(*self.values[node])
        above, below = self.values[node]
        for place in self.squares:
            in_all = all(n[place] for n in below.to_dict())
            if below.degrees()[place] == 1 and not in_all and len(above) * len(below) <= _TERMS:
                turned = self.ring.from_dict({n: -c if n[place] else c for n, c in below.to_dict().items()})
                above, below = self._reduced(above * turned, below * turned)
                yield from self._in_lowest_terms(above, below)

    def by_hyperbolic_functions(self, node: Node) -> list[Node]:
        """Give a quotient of products of ``E**n - 1`` and ``E**n + 1``, for E = exp(u), by functions of u.

        ``E**n - 1`` is ``2 exp(n u / 2) sinh(n u / 2)``, and ``E**n + 1`` likewise with a cosine.
        """
        bases = {self.variables.index(base) for base, _ in self.exponentials.values()}
        above, below = self.values[node]
        if len(bases) != 1 or not above:
            return []
        (place,) = bases
        (c, over), (d, under) = above.factor(), below.factor()
        number, halves = c / d, 0
        others: list[tuple[fmpq_mpoly, int]] = []
        sines: dict[int, int] = {}
        cosines: dict[int, int] = {}
        for p, n in (*over, *((p, -n) for p, n in under)):
            degree = int(p.degrees()[place])
            terms = p.to_dict()
            if not degree:
                others.append((p, n))
                continue
            by_power = {powers[place]: value for powers, value in terms.items()}
            if sum(map(int, p.degrees())) != degree or not by_power.keys() <= {0, degree}:
                return []  # other variables, or further powers
            if len(terms) == 1:
                halves += 2 * n * degree
                continue
            if abs(by_power[0]) != abs(by_power[degree]):
                return []
            number *= (2 * by_power[degree]) ** n
            halves += n * degree
            side = sines if by_power[0] * by_power[degree] < 0 else cosines
            side[degree] = side.get(degree, 0) + n
        if halves:
            return []
        for degree in sorted({*sines, *cosines}):  # sinh(x) cosh(x) is sinh(2 x) / 2
            a, b = sines.get(degree, 0), cosines.get(degree, 0)
            if a * b > 0:
                both = min(a, b, key=abs)
                sines[degree], cosines[degree] = a - both, b - both
                sines[2 * degree] = sines.get(2 * degree, 0) + both
                number = number / 2**both if both > 0 else number * 2**-both
        exponent = self.variables[place].args[0]
        functions = [part for degree in {*sines, *cosines} for part in _hyperbolic(
            make("multiply", constant(0.5 * degree), exponent), sines.get(degree, 0), cosines.get(degree, 0))]
        return [self._product(number, others, functions)]

    def _in_lowest_terms(self, above: fmpq_mpoly, below: fmpq_mpoly) -> Iterator[Node]:
        common = above.gcd(below)
        above, below = above / common, below / common
        if not above:
            yield constant(0.0)
            return
        (c, factors), (d, divisors) = above.factor(), below.factor()
        rest = [(p, -n) for p, n in divisors]
        yield self._product(c / d, [*factors, *rest])
        if len(factors) > 1 and len(above) > 1:
            yield self._product(c / d, [(above / c, 1), *rest])

    def _product(
        self, number: fmpq, factors: Sequence[tuple[fmpq_mpoly, int]], functions: Iterable[tuple[Node, int]] = ()
    ) -> Node:
        parts: list[tuple[Node, int]] = [*functions]
        for p, n in sorted(self._with_roots(factors), key=_place):
            turned = number < 0 and n == 1 and _has_both_signs(p)
            number = -number if turned else number
            part, scale = self._factor(-p if turned else p)
            number = number * scale**n if n > 0 else number / scale**-n
            parts.append((part, n))
        above = _times(abs(int(number.numerator)), [(part, n) for part, n in parts if n > 0])
        below = _times(int(number.denominator), [(part, -n) for part, n in parts if n < 0])
        whole = above if scalar_constant(below) == 1.0 else elementwise("divide", (above, below))
        return elementwise("negative", (whole,)) if number < 0 else whole

    def _with_roots(self, factors: Sequence[tuple[fmpq_mpoly, int]]) -> list[tuple[fmpq_mpoly, int]]:
        """Write what a root is of as its square, beside the root itself."""
        found = list(factors)
        for place, square in self.squares.items():
            root = self.ring.gen(place)
            often = sum(n for p, n in found if p == square)
            if often and self.variables[place].op in _ROOTS and any(p == root for p, _ in found):
                found = [(p, n + 2 * often if p == root else n) for p, n in found if p != square]
        return found

    def _factor(self, p: fmpq_mpoly) -> tuple[Node, Any]:
        """Return a node, as it stands in the formula if that is short, and what it is multiplied by in a polynomial."""
        parts = sorted(p.to_dict().items(), key=lambda part: sum(part[0]))  # 1 + x + x**2, as most people write it
        terms = [(c, _times(abs(c), zip(self.variables, n, strict=True))) for n, c in parts]
        terms.sort(key=lambda term: term[0] < 0)
        sign = 1 if terms[0][0] > 0 else -1
        total = terms[0][1]
        for c, term in terms[1:]:
            total = elementwise("add" if sign * c > 0 else "subtract", (total, term))
        for node, (own, below) in self.values.items():
            if node.op in SUMS and below.is_constant() and len(own) == len(p) and _size(node) <= _size(total):
                scale = p.leading_coefficient() / own.leading_coefficient()
                if own * scale == p:
                    return node, scale * below.leading_coefficient()
        return total, sign


def _hyperbolic(x: Node, sines: int, cosines: int) -> list[tuple[Node, int]]:
    """Return ``sinh(x)**sines cosh(x)**cosines`` as powers of the functions that books write."""
    both = min(abs(sines), abs(cosines)) * (1 if sines > 0 else -1) if sines * cosines < 0 else 0
    sines, cosines = sines - both, cosines + both
    cosine = ("cosh", cosines) if cosines > 0 else ("sech", -cosines)
    functions = (("tanh", both), ("sinh", sines), cosine)
    return [(make(name, x), n) for name, n in functions if n]


def _as_powers(exponentials: Sequence[Node]) -> dict[Node, tuple[Node, int]]:
    """Return each exponential as a power of one of them: exp(x b), exp(b x), exp(-2 x b)."""
    exponents = {node: linear(node.args[0]) for node in exponentials}
    found: dict[Node, tuple[Node, int]] = {}
    for node, exponent in sorted(exponents.items(), key=lambda item: sum(map(abs, item[1].values()))):
        powers = ((base, ratio(exponent, exponents[base])) for base, n in found.values() if n == 1 and exponent)
        whole = ((base, int(n)) for base, n in powers if n and n.is_integer() and abs(n) <= HIGHEST)
        found[node] = next(whole, (node, 1))
    return found


def _place(factor: tuple[fmpq_mpoly, int]) -> tuple[bool, list[int]]:
    """Return what factors are sorted by: variables before sums, in the order of the formula."""
    p = factor[0]
    return len(p) > 1, [-n for n in p.monoms()[0]]


def _has_both_signs(p: fmpq_mpoly) -> bool:
    signs = [c > 0 for c in p.coeffs()]
    return any(signs) and not all(signs)


def _times(number: fmpq | int, factors: Iterable[tuple[Node, int]]) -> Node:
    """Multiply a number by powers."""
    product = constant(int(number.numerator) / int(number.denominator))
    for base, n in factors:
        if n:
            power = base if n == 1 else elementwise("power", (base, constant(float(n))))
            product = power if scalar_constant(product) == 1.0 else elementwise("multiply", (product, power))
    return product
