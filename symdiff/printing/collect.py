"""Derivatives as a person writes them: equal factors as powers, like terms added, names used.

A derivative is computed in the form that keeps its numbers right: ``c / r / r / r`` has no
``r**3`` in it that could overflow. A person reads ``c / r**3``. This pass runs before printing
only, and only on what holds a derivative, so that a formula is shown as it was written.

In sums of products like terms are added, and common factors stand in front.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from sys import float_info

from ..graph import (
    Labels,
    Node,
    constant,
    contract,
    elementwise,
    label_sizes,
    matrix,
    number,
    postorder,
    rebuild,
    reshape,
)
from ..graph.deltas.affine import is_identity
from ..graph.deltas.einsum import einsum, is_structured
from ..graph.primitives import NORMALIZATIONS, REDUCTIONS
from ..graph.scalars.arithmetic import COMPLEMENTED, PRODUCTS, SUMS, factors_of, is_leaf, scaled, terms_of
from ..graph.scalars.functions import FUNCTIONS, as_written
from ..graph.sizes import Shape
from ..ground.budget import spend
from ..rewrite.arrays import broadcast_labels
from ..rewrite.inlining import with_names, without_names
from ..rewrite.matrices.symmetry import upright
from ..rewrite.rewriter import make, spread
from ..rewrite.stability.exponents import linear
from ..rewrite.stability.lengths import shown_lengths
from .products import (
    WINDOW,
    CollectedProduct,
    as_number,
    by_fewer_functions,
    directed,
    has_roots,
    multiplied_in,
    ratio,
    times,
    whole_exponent,
    without,
    without_shares,
)


def like_terms(terms: Iterable[CollectedProduct]) -> list[CollectedProduct]:
    """Add terms that differ by a number only, unless they cancel, which could hide a NaN."""
    found: dict[object, CollectedProduct] = {}
    for term in terms:
        whole, bases = _without_numbers(term)
        key: object = bases.key()
        known = found.get(key)
        if known is None:
            found[key] = CollectedProduct(term.number, term.over, term.under)
            continue
        scale, bases = _without_numbers(known)
        total = Fraction(repr(known.number)) * scale + Fraction(repr(term.number)) * whole
        if not total:
            if all(base.op in ("size", "delta", "onehot") or number(base) for base in (*term.over, *term.under)):
                del found[key]
            else:
                found[object()] = term
        elif abs(total) <= float_info.max and Fraction(repr(float(total))) == total:
            found[key] = CollectedProduct(float(total), bases.over, bases.under)
        elif total.denominator <= WINDOW and abs(total.numerator) < 1e15:
            found[key] = CollectedProduct(float(total.numerator), bases.over, dict(bases.under))
            found[key].take(constant(float(total.denominator)), -1)
        else:
            found[object()] = term
    return list(found.values())


def _without_numbers(term: CollectedProduct) -> tuple[Fraction, CollectedProduct]:
    """Return the whole numbers among the factors as a fraction, and the others."""
    scale = Fraction(1)
    rest = CollectedProduct()
    for base, n in term.factors():
        c = number(base)
        if c is not None and c.is_integer() and c and abs(n) <= 3:
            scale *= Fraction(int(c)) ** n
        else:
            (rest.over if n > 0 else rest.under)[base] = abs(n)
    return scale, rest


def regrouped(
    terms: list[CollectedProduct],
    sums: Mapping[Node, Sequence[CollectedProduct]],
    beginning: Mapping[object, Mapping[Node, int]],
    used: Callable[[Node], bool],
) -> list[CollectedProduct]:
    """Write terms that make up a sum which stands in another term as that sum: r - s + a (r - s) by r - s twice.

    Parameters
    ----------
    terms : list of CollectedProduct
    sums : mapping of Node to sequence of CollectedProduct
        Known sums.
    beginning : mapping
        Those that begin with a like term, each with its place among all of them.
    used : callable
        Tells whether a sum is worth it.
    """
    numbers = {term.key(): term.number for term in terms}
    if len(numbers) < len(terms):  # two that cancel stay
        return terms
    places = {whole: place for key in numbers for whole, place in beginning.get(key, {}).items()}
    for whole in sorted(places, key=places.__getitem__):
        inside = sums[whole]
        if not 1 < len(inside) < len(terms) or not used(whole):
            continue
        scale = numbers.get(inside[0].key(), 0.0) / inside[0].number
        if scale and all(numbers.get(part.key()) == scale * part.number for part in inside):
            keys = {part.key() for part in inside}
            rest = [term for term in terms if term.key() not in keys]
            if any(whole in postorder([base]) for term in rest for base in (*term.over, *term.under)):
                return [CollectedProduct(scale, {whole: 1}), *rest]
    return terms


def by_one_share(
    terms: Sequence[CollectedProduct], expanded: Callable[[Sequence[CollectedProduct], bool], list[CollectedProduct]]
) -> list[CollectedProduct] | None:
    """Write sigmoid(-z) beside sigmoid(z) as 1 - sigmoid(z), multiplied out; None where there are not both.

    What then cancels leaves factors of other terms alone, so that a nan stays one. It is for reading: sigmoid(-z) has
    digits that the difference has not.
    """
    if len(terms) > WINDOW:
        return None
    shares = {base for term in terms for base, n in term.over.items() if n == 1 and base.op in COMPLEMENTED}
    if len(shares) < 2:
        return None
    pair = _opposites([base for term in terms for base in term.over if base in shares])
    if pair is None:
        return None
    share, other = pair
    apart: list[CollectedProduct] = []
    for term in terms:
        if term.over.get(other) != 1:
            apart.append(term)
            continue
        for sign in (1.0, -1.0):
            part = CollectedProduct(sign * term.number, dict(term.over), dict(term.under))
            del part.over[other]
            if sign < 0:
                part.take(share, 1)
            apart.append(part)
    return without_opposites(like_terms(expanded(apart, False)))


def by_hyperbolic_functions(
    terms: Sequence[CollectedProduct], expanded: Callable[[Sequence[CollectedProduct], bool], list[CollectedProduct]]
) -> list[CollectedProduct] | None:
    """Write y exp(x) and y exp(-x) in a sum as 2 y cosh(x), or 2 y sinh(x); None where there are not both."""
    if len(terms) > WINDOW:
        return None
    known = {base.args[0]: base for term in terms for base, n in term.over.items() if n == 1 and base.op == "exp"}
    pairs = {base: known[other] for x, base in known.items() if (other := make("negative", x)) in known}
    if not pairs:
        return None
    left = dict(enumerate(like_terms(expanded(terms, False))))
    made = []
    for at, term in [*left.items()]:
        own = next((base for base in term.over if base in pairs), None)
        if own is None or at not in left:
            continue
        opposite = {pairs[own] if base is own else base: n for base, n in term.over.items()}
        twin = next((k for k, one in left.items() if one.over == opposite and one.under == term.under
                     and abs(one.number) == abs(term.number)), None)  # fmt: skip
        if twin is None:
            continue
        x, number = own.args[0], 2.0 * term.number
        if scaled(x)[0] < 0.0:
            x, number = pairs[own].args[0], 2.0 * left[twin].number
        name = "cosh" if left[twin].number == term.number else "sinh"
        over = {base: n for base, n in term.over.items() if base is not own}
        whole = CollectedProduct(number, over, dict(term.under))
        whole.take(elementwise(name, (x,)), 1)
        made.append(whole)
        del left[at], left[twin]
    return [*made, *left.values()] if made else None


def _opposites(shares: Sequence[Node]) -> tuple[Node, Node] | None:
    """Return f(x) and f(-x), the first written without a sign where one is."""
    known: dict[object, Node] = {}
    for share in shares:
        (x,) = share.args
        if other := known.get((share.op, make("negative", x))):
            return (other, share) if scaled(x)[0] < 0 else (share, other)
        known[share.op, x] = share
    return None


def without_opposites(terms: list[CollectedProduct]) -> list[CollectedProduct] | None:
    """Cancel each term with its negative; None unless all factors of such a term stand in a term that is left."""
    left = dict(enumerate(terms))
    places: dict[object, list[int]] = {}
    for place, term in left.items():
        places.setdefault((term.number, term.key()), []).append(place)
    gone: set[Node] = set()
    for place, term in enumerate(terms):
        others = places.get((-term.number, term.key()))
        if others and term.number and place in left:
            del left[place], left[others.pop(0)]
            places[term.number, term.key()].remove(place)
            gone |= {base for base in (*term.over, *term.under) if not number(base)}
    if not left or not gone:
        return list(terms) if left else None
    return list(left.values()) if gone <= {b for each in left.values() for b in (*each.over, *each.under)} else None


def divided_alike(terms: list[CollectedProduct]) -> list[CollectedProduct]:
    """Write a number that is a quotient by the same number as in another term as that: 0.3989... is 1 / sqrt(2 pi)."""
    for base in {base for term in terms for base in term.under if base.is_constant and not base.shape}:
        for at, term in enumerate(terms):
            times = ratio(term.number * (number(base) or 0.0), 1.0)
            if base not in term.under and times.is_integer() and not term.number.is_integer() and abs(times) < _LARGEST:
                terms = [*terms[:at], CollectedProduct(times, term.over, {**term.under, base: 1}), *terms[at + 1 :]]
    return terms


def common_product(terms: Sequence[CollectedProduct]) -> CollectedProduct:
    """Return what all terms have in common: divisors, factors that are no plain variables, a number.

    Plain variables count beside such, and where they and the number are several.
    """
    common = _common(terms, lambda base: not is_leaf(base))
    if common.over or common.under:
        common = _common(terms, lambda base: not is_leaf(base) or _saved_in_front(base, terms) > 0)
    whole = _common(terms, lambda base: True)
    numbers = [abs(term.number) for term in terms]
    if whole.number == 1.0 and all(c.is_integer() and c < _LARGEST for c in numbers):
        whole.number = float(math.gcd(*map(int, numbers)))
    factors = (whole.number != 1.0) + len(whole.over)
    scalars = all(base.shape == () for term in terms for base in (*term.over, *term.under))
    return whole if scalars and factors >= _SEVERAL else common


#: Numbers up to which common divisors are looked for, and factors in common that are written in front of a sum.
_LARGEST, _SEVERAL = 1e9, 3
#: Number of terms from which some of them may be grouped, and the operations by which they are.
_PAIR, _SHARED = 2, frozenset((*FUNCTIONS, *REDUCTIONS, *NORMALIZATIONS))


def _common(terms: Sequence[CollectedProduct], counts: Callable[[Node], bool]) -> CollectedProduct:
    first, *rest = terms
    size = abs(first.number)
    result = CollectedProduct(size if all(ratio(abs(term.number), size) == 1.0 for term in rest) else 1.0)
    if all(term.number < 0 for term in terms):
        result.number *= -1.0
    for base, n in first.under.items():
        least = min([n, *(term.under.get(base, 0) for term in rest)])
        if least:
            result.under[base] = least
    for base, n in first.over.items():
        least = min([n, *(term.over.get(base, 0) for term in rest)])
        if least and counts(base):
            result.over[base] = least
    return result


def _common_number(terms: Sequence[CollectedProduct]) -> float:
    """Return the least of the numbers of terms if all others are multiples of it, else 1."""
    numbers = [abs(term.number) for term in terms]
    least = min(numbers)
    fits = least and (least.is_integer() or 1.0 not in numbers)
    return least if fits and all(ratio(c, least).is_integer() for c in numbers) else 1.0


def _saved_in_front(base: Node, terms: Sequence[CollectedProduct]) -> int:
    """Return how many signs fewer a scalar that all terms have is written with in front of their sum."""
    if base.shape:
        return -1
    powers = [term.over.get(base, 0) for term in terms]
    least = min(powers)
    by_themselves = [len(term.over) == 1 and abs(term.number) == 1 for term in terms]
    alone = sum(n == least and own for n, own in zip(powers, by_themselves, strict=True))
    return sum(min(n, 2) - min(n - least, 2) for n in powers) - min(least, 2) - alone


def _fits_in_front(base: Node, side: Collection[Node], terms: Sequence[CollectedProduct]) -> bool:
    """Tell whether a factor of all terms stands beside their sum already, or is no longer in front of it."""
    return base in side or _saved_in_front(base, terms) >= 0


def _have_more(terms: Sequence[CollectedProduct], others: Sequence[CollectedProduct]) -> bool:
    """Tell whether terms have a divisor in common where others have none, or a function that others have not."""
    own, other = common_product(terms), common_product(others)
    return bool(own.under and not other.under) or any(not is_leaf(base) for base in own.over.keys() - other.over.keys())


#: Formulas of more nodes are shown as they are.
_MOST_NODES = 1_000
#: Terms that sums among factors are multiplied out to, at most, for each node and besides: of a chain of sums that each
#: stand in the next, every link would be written out whole.
_EXPANSIONS, _FREE_EXPANSIONS = 4, 1_000
#: Further passes over a sum that has changed.
_ROUNDS = 3


def collect(root: Node) -> Node:
    """Return the formula with like factors and like terms collected.

    Parameters
    ----------
    root : Node

    Returns
    -------
    Node
        Equal in value, but for rounding and for powers that overflow.
    """
    root = shown_lengths(as_written([root])[0])
    if len(postorder([root])) > _MOST_NODES:
        return root
    plain, names = without_names(root)
    (named,) = with_names([plain], names)
    return _Collector(postorder([named])).run()


class _Collector:
    """One pass over a graph, arguments first."""

    def __init__(self, order: Sequence[Node]) -> None:
        self.order = order
        self.new: dict[Node, Node] = {}
        #: Parts of the nodes that were put together here.
        self.parts: dict[Node, CollectedProduct] = {}
        #: The same, decomposed as far as can be.
        self.deeper: dict[Node, CollectedProduct] = {}
        #: The terms of the sums that were put together here.
        self.sums: dict[Node, Sequence[CollectedProduct]] = {}
        #: Sums that begin with like terms, each with its place among all.
        self.beginning: dict[object, dict[Node, int]] = {}
        #: Number of factors that are written for each.
        self.lengths: dict[Node, int] = {}
        #: Exponents that are sums by their terms.
        self.exponents: dict[object, Node] = {}
        #: Sums of products of arrays by their factors.
        self.dots: dict[object, Node] = {}
        self.users: dict[Node, int] = dict.fromkeys(order, 0)
        self.expansions = _FREE_EXPANSIONS + _EXPANSIONS * len(order)
        #: Sums that only stand in one sum, and products that only stand in one product.
        self.inner = {node for node in order[:-1] if node.op in SUMS or node.op in PRODUCTS}
        for user in order:
            for arg in user.args:
                self.users[arg] += 1
                together = any(arg.op in family and user.op in family for family in (SUMS, PRODUCTS))
                if not together or self.users[arg] > 1:
                    self.inner.discard(arg)

    def run(self) -> Node:
        for node in self.order:
            if node in self.inner:
                continue
            if node.is_additive:
                if node not in self.new:
                    self.new[node] = self.sum(node)
                self.one_way_round(node)
            elif node.op in PRODUCTS or node.is_power:
                self.new[node] = self.written(self.product(node), node.shape)
            else:
                made = rebuild(node, tuple([self.new[arg] for arg in node.args])) if node.args else node
                if made.is_reshape:  # of what was put together it may be a plain number
                    made = self.reshaped(made)
                elif made.op == "solve":
                    made = self.solved(made)
                self.new[node] = self.in_one_order(self.contraction(made)) if made.is_contraction else made
        return self.new[self.order[-1]]

    def one_way_round(self, node: Node) -> None:
        """Write a difference as the negative of the opposite one, of two arrays as that which stands more often."""
        made = self.new[node]
        if not made.is_subtraction:
            return
        if made.shape:
            twin = elementwise("subtract", node.args[::-1])
            if self.users.get(twin, 0) <= self.users[node] - (twin in self.new):
                return
            if twin not in self.new:
                self.new[twin] = self.sum(twin)
            other = self.new[twin]
        else:
            other = elementwise("subtract", made.args[::-1])
        if other is not made and other in self.sums and other not in self.parts:
            self.parts[made] = CollectedProduct(-1.0, {other: 1})

    def in_one_order(self, node: Node) -> Node:
        """Return a dot product with its vectors in the order in which they stood first."""
        if node.shape or not node.is_contraction:
            return node
        labels, _, repeated = node.payload
        operands = Counter(zip(node.args, labels, strict=True))  # sum(x) is not x @ x
        return self.dots.setdefault((frozenset(operands.items()), frozenset(repeated)), node)

    # ------------------------------------------------------------ products

    def product(self, node: Node) -> CollectedProduct:
        """Decompose a product."""
        sign, parts, _ = factors_of(
            node, enter=lambda part, _: part.op in PRODUCTS and (part is node or part in self.inner)
        )
        result = CollectedProduct(float(sign))
        shared: list[tuple[Node, int]] = []
        for part, exponent in parts:
            power = int(exponent)
            if part is not node and part not in self.inner:
                made = self.new[part]
                if made not in self.parts or self.parts[made].is_wide:
                    result.take(made, power)
                elif self.users[part] == 1:
                    result.merge(self.parts[made], power)
                else:
                    shared.append((made, power))
            elif part.is_power:
                base, count = self.new[part.args[0]], whole_exponent(part.args[1])
                several = self.users[part.args[0]] > 1 and base in self.parts and self.parts[base].over
                if count and several:
                    shared.append((base, power * count))
                elif count:
                    result.merge(self.factors(base), power * count)
                else:
                    result.take(self.power(part), power)
            else:  # a sum inside: it stands in this product alone
                result.take(self.sum(part), power)
        for made, power in shared:
            inside = self.parts[made]
            if result.meets(inside) or inside == CollectedProduct(-1.0, inside.over) or has_roots(inside, power):
                result.merge(inside, power)
            else:
                result.take(made, power)
        result.gather_numbers()
        self.spend(result)
        return self.divided(result)

    def power(self, node: Node) -> Node:
        """Rebuild a power; exponents that differ by the order of their terms are one."""
        base, exponent = (self.new[arg] for arg in node.args)
        if exponent.is_additive:
            exponent = self.exponents.setdefault(frozenset(linear(exponent).items()), exponent)
        return rebuild(node, (base, exponent))

    def spend(self, product: CollectedProduct) -> None:
        """Multiply a sum's terms by the number in front of it where that makes shorter numbers."""
        for base in [base for base, n in product.over.items() if n == 1 and base in self.sums]:
            terms = self.sums[base]
            scaled = [term.copy() for term in terms]
            sign = math.copysign(1.0, product.number)
            if all(as_number(term, constant(abs(product.number)), 1) for term in scaled):
                lengths = [
                    (len(repr(new.number)), len(repr(old.number))) for new, old in zip(scaled, terms, strict=True)
                ]
                if all(new <= old for new, old in lengths) and any(new < old for new, old in lengths):
                    del product.over[base]
                    product.number = sign
                    product.take(self.added(scaled, base.shape), 1)
                    continue
        for side, sign in ((product.over, 1), (product.under, -1)):
            for base, n in [(base, n) for base, n in side.items() if base in self.sums]:
                terms = self.sums[base]
                # what stands beside the sum already is written once
                common = _common(terms, partial(_fits_in_front, side=side, terms=terms))
                number = _common_number(terms)
                if common.number in (1.0, -1.0) and (common.over or not number.is_integer()):
                    common.number *= number
                beside = len(product.over) + len(product.under) - 1
                if (common.over or not number.is_integer()) and (abs(product.number) != 1.0 or beside):
                    del side[base]
                    product.merge(self.in_front(common, terms, base.shape), sign * n)
                elif n == 1 and (found := multiplied_in(side, terms, base)):
                    del side[base]
                    product.take(self.added(found, base.shape), sign)

    def divided(self, product: CollectedProduct) -> CollectedProduct:
        """Divide the terms of a sum by the only divisor where that is shorter: (1 + a x) / a is 1 / a + x."""
        divisor = self.deep(CollectedProduct(1.0, {}, product.under)).under
        if len(divisor) == 1 and product.over.keys() <= self.sums.keys() and [*product.over.values()] == [1]:
            ((whole, _),), ((base, n),) = product.over.items(), divisor.items()
            terms = [self.deep(term) for term in self.sums[whole]]
            if any(base in term.over for term in terms):
                together = self.length(terms)
                for term in terms:
                    term.take(base, -n)
                if self.length(terms) <= together:
                    result = CollectedProduct(product.number)
                    result.take(self.added(terms, whole.shape), 1)
                    return result
        return product

    def deep(self, product: CollectedProduct) -> CollectedProduct:
        """Decompose the factors of a product that were put together here."""
        result = CollectedProduct(product.number)
        for base, n in product.factors():
            inside = self.inside(base)
            if inside is None:
                result.take(base, n)
            else:
                result.merge(inside, n)
        return result

    def inside(self, base: Node) -> CollectedProduct | None:
        """Return a factor decomposed, or None where it was not put together here, or of too much."""
        if base in self.parts and base not in self.deeper:
            self.deeper[base] = CollectedProduct(1.0, {base: 1})  # stays where its factors lead back to it
            self.deeper[base] = self.deep(self.parts[base])
        inside = self.deeper.get(base)
        return None if inside is None or inside.is_wide else inside

    def factors(self, node: Node) -> CollectedProduct:
        """Return what a node consists of: itself, if it was not put together here."""
        return self.parts.get(node, CollectedProduct(1.0, {node: 1}))

    def written(self, product: CollectedProduct, shape: Shape | None = None) -> Node:
        """Build a product, repeated to a shape if one is given."""
        product = by_fewer_functions(without_shares(directed(product)))
        made = [base for base in (*product.over, *product.under) if base in self.parts]
        if any(product.meets(part) for base in made for part in (self.parts[base], self.inside(base)) if part):
            product = self.deep(product)
        if any(base.op == "unit" for base in product.over):
            deeper = self.deep(product)
            if directed(deeper.copy()) != deeper:
                product = directed(deeper)
        top = times(product.over)
        c = product.number
        if top is None:
            top = constant(c)
        elif c not in (1.0, -1.0):
            top = elementwise("multiply", (constant(c), top))
        bottom = times(product.under)
        result = top if bottom is None else elementwise("divide", (top, bottom))
        if c == -1.0 and product.over:
            result = elementwise("negative", (result,))
        if shape is not None:
            result = spread(result, shape)
        of_itself = any(result in self.parts[base].over for base in product.over if base in self.parts)
        if (c != 1.0 or product.under or list(product.over.values()) != [1]) and not of_itself:
            self.parts[result] = product
        return result

    def solved(self, node: Node) -> Node:
        """Factor numbers and scalars out of the right side of a solution of linear equations."""
        a, b = node.args
        outside, rest = (
            self.deep(self.parts[b]).apart() if b in self.parts else (CollectedProduct(), CollectedProduct())
        )
        if not rest.over or outside == CollectedProduct():
            return node
        outside.take(matrix("solve", a, self.written(rest, b.shape)), 1)
        return self.written(outside, node.shape)

    def reshaped(self, node: Node) -> Node:
        """Return a reshape that only drops axes of length 1 as something without them, where that is known."""
        (inner,) = node.args
        product = self.parts.get(inner, CollectedProduct())
        arrays = [base for base in product.over if base.shape]
        if len(arrays) != 1 or arrays[0].shape != inner.shape or any(base.shape for base in product.under):
            return node
        (base,) = arrays
        over = {reshape(b, node.shape) if b is base else b: n for b, n in product.over.items()}
        return self.written(CollectedProduct(product.number, over, product.under), node.shape)

    def contraction(self, node: Node) -> Node:
        """Factor numbers and scalars out of a contraction's operands."""
        if node.dtype != node.args[0].dtype:
            return node
        labels, out, repeated = node.payload
        outside = CollectedProduct()
        operands: list[Node] = []
        own: list[tuple[int, ...]] = []
        for arg, places in zip(node.args, labels, strict=True):
            if arg.shape == () and len(node.args) > 1:
                outside.merge(self.factors(arg))
                continue
            scalars, rest = self.deep(self.factors(arg)).apart()
            if arg not in self.parts or not rest.over:
                operands.append(arg)
                own.append(places)
                continue
            outside.merge(scalars)
            several = [(base, broadcast_labels(base, arg)) for base in rest.over]
            covered = {places[axis] for _, axes in several for axis in axes.values()}
            summed = not set(places) <= set(out) and covered == {
                place for place, size in zip(places, arg.shape, strict=True) if size != 1
            }
            if summed and not rest.under and set(rest.over.values()) == {1}:
                for base, axes in several:
                    operands.append(reshape(base, tuple(base.shape[axis] for axis in axes)))
                    own.append(tuple(places[axis] for axis in axes.values()))
            else:
                operands.append(self.written(rest, arg.shape))
                own.append(places)
        if not operands or tuple(operands) == node.args:
            return self.diagonal(upright(node))
        sizes = {**label_sizes(node), **dict(repeated)}
        for group, kept in _components(own, out):
            part = einsum([operands[i] for i in group], [own[i] for i in group], kept, sizes)
            outside.take(self.in_one_order(self.diagonal(upright(part))) if part.is_contraction else part, 1)
        return self.written(outside, node.shape)

    def diagonal(self, node: Node) -> Node:
        """Multiply the vectors on one diagonal: the form in which two diagonals can be added."""
        if not node.is_contraction:
            return node
        labels, out, repeated = node.payload
        first = labels[0]
        if (
            len(node.args) < 2
            or not node.args[0].is_delta
            or not is_identity(node.args[0])
            or any(own not in ((first[0],), (first[1],)) for own in labels[1:])
        ):
            return node
        product = CollectedProduct()
        for arg in node.args[1:]:
            product.merge(self.factors(arg))
        vector = self.written(product, node.args[1].shape)
        return contract([node.args[0], vector], [first, first[:1]], out, dict(repeated))

    # ------------------------------------------------------------ sums

    def sum(self, node: Node) -> Node:
        """Collect the terms of a sum."""
        return self.total(self.terms(node), node.shape)

    def total(self, terms: list[CollectedProduct], shape: Shape) -> Node:
        """Build a sum of terms that may be alike or have something in common."""
        for _ in range(_ROUNDS):
            spend(3 * len(terms))
            before = terms
            plain = [directed(term) for term in self.expanded(terms, alone=True)]
            terms = like_terms(plain)
            deeper = like_terms([directed(self.deep(term)) for term in plain])
            if len(deeper) < len(terms) or (len(terms) > 1 and _have_more(deeper, terms)):
                terms = deeper
            multiplied = [directed(term) for term in self.expanded(terms, alone=False)]
            alike = like_terms(multiplied) if len(multiplied) <= WINDOW else multiplied
            alike = without_opposites(alike) or alike
            if len(alike) < len(multiplied) and self.length(alike) <= self.length(terms):
                terms = alike
            terms = self.linear(self.along(self.in_one_power(terms)))
            if terms == before:
                break
        if (shared := by_one_share(terms, self.expanded)) and self.length(shared) < self.length(terms):
            terms = shared
        if (paired := by_hyperbolic_functions(terms, self.expanded)) and self.length(paired) <= self.length(terms):
            terms = paired
        if len(terms) > 1:
            terms = divided_alike(terms)
            common = common_product(terms)
            if common.over or common.under or common.number != 1.0:
                product = self.in_front(common, terms, shape)
                self.spend(product)
                return self.written(product, shape)
        if len(terms) <= WINDOW:
            terms = self.grouped(terms, shape)
            terms = regrouped(
                terms, self.sums, self.beginning, lambda whole: self.lengths[whole] > 2 and whole.shape == shape
            )
        return self.added(terms, shape)

    def in_front(
        self, common: CollectedProduct, terms: Sequence[CollectedProduct], shape: Shape
    ) -> CollectedProduct:
        """Write what terms have in common in front of the sum of what is left of them."""
        common.take(self.total([without(term, common) for term in terms], shape), 1)
        return common

    def grouped(self, terms: list[CollectedProduct], shape: Shape) -> list[CollectedProduct]:
        """Write the factor of a function, or a divisor, that some terms have in common in front of these."""
        while len(terms) > _PAIR:
            places: dict[tuple[Node, int], list[int]] = {}
            for at, term in enumerate(terms):
                own = [(base, 0) for base in term.over] + list(term.under.items())  # the same power of a divisor
                for base, power in own:
                    if base.op in _SHARED:
                        places.setdefault((base, power), []).append(at)
            several = [found for found in places.values() if 1 < len(found) < len(terms)]
            if not several:
                break
            chosen = max(several, key=len)
            inside = [terms[at] for at in chosen]
            group = self.in_front(common_product(inside), inside, shape)
            terms = [group if at == chosen[0] else term for at, term in enumerate(terms) if at not in chosen[1:]]
        return terms

    def expanded(self, terms: Sequence[CollectedProduct], alone: bool) -> list[CollectedProduct]:
        """Multiply out sums among the factors; only those that stand alone but for a number, if ``alone``."""
        result: list[CollectedProduct] = []
        for term in terms:
            inside = next((base for base, n in term.over.items() if n == 1 and base in self.sums), None)
            if inside is None or (alone and (term.under or len(term.over) > 1 or abs(term.number) != 1.0)):
                result.append(term)
                continue
            self.expansions -= len(self.sums[inside])
            if self.expansions < 0:
                result.append(term)
                continue
            others = term.copy()
            del others.over[inside]
            for part in self.sums[inside]:
                product = part.copy()
                product.merge(others)
                result.append(product)
        return result

    def length(self, terms: Iterable[CollectedProduct]) -> int:
        """Return how many factors are written."""
        total = 0
        for term in terms:
            total += term.number not in (1.0, -1.0)
            for base in (*term.over, *term.under):
                total += self.lengths[base] if base in self.sums else 1
        return total

    def in_one_power(self, terms: list[CollectedProduct]) -> list[CollectedProduct]:
        """Write powers whose exponents differ by whole numbers by the lowest: x**p / x - x**(p - 1) y by x**(p - 1)."""
        exponents: dict[Node, list[tuple[dict[Node | None, float], Node]]] = {}
        for base in dict.fromkeys(base for term in terms for base in term.over if base.is_power):
            if number(base.args[1]) is None:
                exponents.setdefault(base.args[0], []).append((linear(base.args[1]), base))
        lowest: dict[Node, tuple[Node, int]] = {}
        for powers in exponents.values():
            for exponent, power in powers:
                alike = [(exponent.get(None, 0.0) - other.get(None, 0.0), least) for other, least in powers
                         if {**exponent, None: 0.0} == {**other, None: 0.0}]  # fmt: skip
                steps, least = max(alike, key=lambda pair: pair[0])
                if steps and steps.is_integer() and steps <= WINDOW:
                    lowest[power] = least, int(steps)
        if not lowest:
            return terms
        written = []
        for term in terms:
            made = CollectedProduct(term.number, {}, dict(term.under))
            for base, n in term.over.items():
                least, steps = lowest.get(base, (base, 0))
                made.take(least, n)
                made.take(least.args[0] if steps else least, n * steps)
            written.append(made)
        written = like_terms(written)
        return written if self.length_with_powers(written) <= self.length_with_powers(terms) else terms

    def length_with_powers(self, terms: Sequence[CollectedProduct]) -> int:
        """Return how many factors are written, those of the bases of powers too, and once what is in front of all."""
        def extra(base: Node) -> int:
            return self.lengths.get(base.args[0], 0) if base.is_power else 0

        more = sum(extra(base) for term in terms for base in term.over)
        in_front = sum(1 + extra(base) for base in _common(terms, lambda _: True).over)
        return self.length(terms) + more - (len(terms) - 1) * in_front

    def along(self, terms: list[CollectedProduct]) -> list[CollectedProduct]:
        """Multiply out lengths beside directions, where vectors that are like others come of it."""
        if len(terms) < 2 or not any(base.op == "unit" for term in terms for base in term.over):
            return terms
        opened = [
            directed(part)
            for term in terms
            for part in self.expanded([term], alone=not any(base.op == "unit" for base in term.over))
        ]
        alike = like_terms(opened)
        return alike if len(alike) < len(opened) and self.length(alike) <= self.length(terms) else terms

    def linear(self, terms: list[CollectedProduct]) -> list[CollectedProduct]:
        """Add products with deltas that differ in one operand: diag(v) + diag(w) is diag(v + w)."""
        result: list[CollectedProduct] = []
        structured: list[int] = []  # places of those that hold a delta
        for term in terms:
            if any(is_structured(base) for base in term.over):
                for place in structured:
                    both = self.as_one(result[place], term)
                    if both is not None:
                        result[place] = both
                        break
                else:
                    structured.append(len(result))
                    result.append(term)
            else:
                result.append(term)
        return result

    def as_one(self, a: CollectedProduct, b: CollectedProduct) -> CollectedProduct | None:
        """Return a + b as one contraction, if they differ in one operand of one."""
        mine = [(base, n) for base, n in a.over.items() if b.over.get(base) != n]
        other = [(base, n) for base, n in b.over.items() if a.over.get(base) != n]
        if a.under != b.under or len(mine) != 1 or len(other) != 1 or mine[0][1] != 1 or other[0][1] != 1:
            return None
        (x, _), (y, _) = mine[0], other[0]
        if not is_structured(x) or x.op != y.op or x.payload != y.payload or len(x.args) != len(y.args):
            return None
        apart = [i for i, (p, q) in enumerate(zip(x.args, y.args, strict=True)) if p is not q]
        if len(apart) != 1 or x.args[apart[0]].shape != y.args[apart[0]].shape:
            return None
        p, q = x.args[apart[0]], y.args[apart[0]]
        pair = [CollectedProduct(a.number, {p: 1}), CollectedProduct(b.number, {q: 1})]
        common = common_product(pair)
        inside = self.added([without(term, common) for term in pair], p.shape)
        labels, out, repeated = x.payload
        operands = [inside if i == apart[0] else arg for i, arg in enumerate(x.args)]
        whole = einsum(operands, labels, out, {**label_sizes(x), **dict(repeated)})
        result = CollectedProduct(
            common.number, {base: n for base, n in a.over.items() if base is not x}, dict(a.under)
        )
        result.take(whole, 1)
        return result

    def terms(self, node: Node) -> list[CollectedProduct]:
        """Decompose a sum."""
        found: list[CollectedProduct] = []
        for sign, part in terms_of(node, enter=lambda part: part is node or part in self.inner).parts:
            product = CollectedProduct(sign)
            if part in self.inner:
                product.merge(self.product(part))
            else:
                product.merge(self.factors(self.new[part]))
            found.append(product)
        return found

    def added(self, terms: Sequence[CollectedProduct], shape: Shape) -> Node:
        """Build a sum, something positive first."""
        first = next((i for i, term in enumerate(terms) if term.number > 0), 0)
        result: Node | None = None
        for term in (*terms[first : first + 1], *terms[:first], *terms[first + 1 :]):
            if result is None:
                result = self.written(term)
            else:
                size = self.written(CollectedProduct(abs(term.number), term.over, term.under))
                result = elementwise("subtract" if term.number < 0 else "add", (result, size))
        result = spread(constant(0.0) if result is None else result, shape)
        if len(terms) > 1:
            if result in self.sums:
                self.beginning[self.sums[result][0].key()].pop(result)
            self.sums[result] = terms
            self.beginning.setdefault(terms[0].key(), {})[result] = len(self.sums)
            self.lengths[result] = self.length(terms)
        return result


def _components(labels: Sequence[Labels], out: Labels) -> list[tuple[list[int], Labels]]:
    """Return the operands that make up numbers of their own, each group with no labels, and the rest with ``out``."""
    groups: list[tuple[list[int], set[int]]] = []
    for i, own in enumerate(labels):
        joined, places = [i], set(own)
        for group in [group for group in groups if group[1] & places]:
            groups.remove(group)
            joined, places = group[0] + joined, places | group[1]
        groups.append((joined, places))
    numbers: list[tuple[list[int], Labels]] = [(g, ()) for g, places in groups if places and places.isdisjoint(out)]
    rest = sorted(i for g, places in groups if not places or not places.isdisjoint(out) for i in g)
    return [*numbers, (rest, out)] if rest else [(list(range(len(labels))), out)]
