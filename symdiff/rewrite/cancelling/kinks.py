"""Kinks and ties in what is differentiated again: signs and directions that cancel, multiples, shares.

**Signs and directions.** The slope of f(|x|) is ``f'(|x|) sign(x)``, and the slope of that is f''(|x|) from both
sides of 0, also at 0, where sign(x)**2 is 0. The slope of f(r) for r = norm(x) is ``f'(r) unit(x)``; where f'(0) is 0
it is x times a smooth quotient, f'(r) / r. So a formula with such products is written in another way before it is
differentiated. What else divides by a length and has one limit there, as derivatives of ``x[0]**2 * norm(x)`` and
``norm(x) * norm(sin(x))`` do, is computed beside the zero, where it has the numbers of its limit.

**Multiples.** Elements of an array may be multiples of one another, as those of ``[x, -x]`` and of ``x - x[::-1]``.
Such elements vanish together, so that their signs jump together: the product of two of them is no product of means.

**Shares of a tie**: of maximum(x, y) and minimum(x, y), where both are equal. The slope of F(maximum(x, y)) by x is
F' times a share of x, which is 1 where x is larger, 0 where it is less and a half where both are equal. The slope of
that has the product of two shares, whose mean over both sides of a tie is no product of means: it is a half again for
two shares of x, and 0 for one of x and one of y.

**Opposites**: sums with f(z) and f(-z) = 1 - f(z). The slope of a logistic loss is ``y sigmoid(-z) - (1 - y)
sigmoid(z)``, which keeps the digits that ``y - sigmoid(z)`` loses where the two are nearly equal. Its own derivative
does not depend on y, and loses nothing: so a slope is differentiated in the short form, and computed in the other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...errors import SymdiffError
from ...graph import (
    BOOL,
    REAL,
    Node,
    axes_of,
    constant,
    contract,
    elementwise,
    inputs_of,
    number,
    placeholder,
    postorder,
    rebuild,
    reduce,
    reshape,
    slicing,
    substitute,
)
from ...graph.kinds import ABSOLUTE, BRANCHING, CHOICE, DIRECTION
from ...graph.reference.interpret import evaluate
from ...graph.scalars.arithmetic import APART, COMPLEMENTED, SUMS, factors_of, peel, scaled, terms_of, without_numbers
from ...graph.scalars.functions import FUNCTIONS, scalar_constant, where
from ...graph.sizes import Shape, nominal
from ...graph.traversal import dependents
from ...ground.budget import uncounted
from ..facts import has_sign_of_argument, is_positive
from ..rewriter import make, spread, stabilize
from ..stability.lengths import joined_operands, squares_of
from .monomials import FACTORS, TERMS, total_of

__all__ = [
    "Tie",
    "Zero",
    "beside_zeros",
    "by_ties",
    "has_multiples",
    "lengths_of_one",
    "multiples_of_first",
    "named_signs",
    "on_a_side",
    "opened_shares",
    "paired_signs",
    "smooth_directions",
    "tie_of",
    "ties_in",
    "vanishes_with",
    "without_limits",
    "zero_of",
    "zeros_of_lengths",
]


#: Most operations that are looked through to a sum.
_LEVELS = 12


def opened_shares(node: Node, wrt: Sequence[Node]) -> Node:
    """Write a f(-z) + b f(z) as a + (b - a) f(z) where b - a is a number, and no derivative has the sum as a factor.

    Parameters
    ----------
    node : Node
    wrt : sequence of Node
        The inputs by which it will be differentiated.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> y, z = input("y"), input("z")
    >>> near, far = (elementwise("sigmoid", (x,)) for x in (z, -z))
    >>> opened_shares(y * far + (y - 1) * near, [z]) is y - near
    True
    """
    if not any(part.op in COMPLEMENTED for part in postorder([node])):
        return node
    known: dict[Node, bool] = {}
    for part in postorder([node]):
        known[part] = part in wrt or any(known[arg] for arg in part.args)
    return _linear(node, known, _LEVELS)


def _linear(node: Node, moves: dict[Node, bool], levels: int) -> Node:
    """Rewrite sums below operations that are linear in them."""
    if levels == 0 or not moves[node]:
        return node
    if node.is_additive:
        found = _opened(node)
        if found is not None:
            return found
        places = [place for place, arg in enumerate(node.args) if arg.shape == node.shape]
    elif node.op in ("negative", "reshape"):
        places = [0]
    elif node.op in ("multiply", "contract", "divide"):
        places = [place for place, arg in enumerate(node.args) if moves[arg]]
        if len(places) > 1 or (node.is_division and places != [0]):
            return node
    else:
        return node
    args = [_linear(arg, moves, levels - 1) if place in places else arg for place, arg in enumerate(node.args)]
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    return make(node.op, *args) if node.op in SUMS else rebuild(node, tuple(args))


def _opened(node: Node) -> Node | None:
    """Return a sum with two such terms as one with one of them."""
    terms = terms_of(node, TERMS)
    if not terms.whole:
        return None
    shares = {place: found for place, (sign, term) in enumerate(terms.parts) if (found := _share_in(sign, term))}
    for i, (a, far) in shares.items():
        for j, (b, near) in shares.items():
            if far.op != near.op or scaled(far.args[0]) != (-1.0, near.args[0]):
                continue
            common = a & b
            first = _product_of(a - common)
            c = _difference(_product_of(b - common), first)
            if c is None or far.shape != node.shape:
                continue
            rest = [part for place, part in enumerate(terms.parts) if place not in (i, j)]
            share = make("multiply", constant(abs(c)), near)
            both = _product_of(common, total_of([(1.0, first), (1.0 if c > 0 else -1.0, share)]))
            return spread(total_of([*rest, (1.0, both)]), node.shape)
    return None


def _share_in(sign: float, term: Node) -> tuple[Counter[tuple[Node, float]], Node] | None:
    """Return the coefficient, by its factors, and f(z) of a term."""
    found = factors_of(term, FACTORS)
    shares = [base for base, n in found.parts if base.op in COMPLEMENTED and n == 1.0]
    if len(shares) != 1 or not found.whole or any(n not in (1.0, -1.0) for _, n in found.parts):
        return None
    factors = Counter(part for part in found.parts if part[0] is not shares[0])
    if sign * found.sign < 0:
        factors[constant(-1.0), 1.0] += 1
    return factors, shares[0]


def _product_of(factors: Counter[tuple[Node, float]], start: Node | None = None) -> Node:
    result = constant(1.0) if start is None else start
    for base, n in factors.elements():
        result = make("multiply" if n > 0 else "divide", result, base)
    return result


def _difference(b: Node, a: Node) -> float | None:
    """Return b - a where it is a number other than 0: what differs in them is numbers."""
    left: Counter[Node] = Counter()
    total = 0.0
    for way, side in ((1.0, b), (-1.0, a)):
        for sign, term in terms_of(side, TERMS).parts:
            c, x = scaled(term)
            value = number(term)
            if value is not None:
                total += way * sign * value
            else:
                left[x] += way * sign * c  # type: ignore[assignment]
    return total if total and not any(left.values()) else None


#: A sum of nodes with their coefficients, and a number under None.
_Sum: TypeAlias = frozenset[tuple[Node | None, float]]
#: Most terms of the difference of two nodes.
_TERMS = 40


class Tie(NamedTuple):
    """A difference that may be 0, and the sign that it has where the share is 1."""

    difference: _Sum
    side: float


def tie_of(node: Node) -> Tie | None:
    """Return the tie that a node is a share of, as the slopes of maximum and minimum write it; None for other nodes.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> from symdiff.graph.scalars.functions import FUNCTIONS
    >>> x, y = input("x"), input("y")
    >>> tied = elementwise("maximum", (x, y))
    >>> first, second = (by(x, y, tied) for by in FUNCTIONS["maximum"].partials)
    >>> tie_of(first) == ({(x, 1.0), (y, -1.0)}, 1.0), tie_of(second) == ({(y, 1.0), (x, -1.0)}, 1.0)
    (True, True)
    """
    if not node.is_choice or scalar_constant(node.args[1]) != 0.5:
        return None
    condition, _, rest = node.args
    condition = peel(condition)
    if condition.op != "equal" or peel(rest).op != "unless_nan":
        return None
    whole, own = peel(peel(rest).args[0]), [peel(arg) for arg in condition.args]
    if whole.op in ("maximum", "minimum"):
        first, second = (peel(arg) for arg in whole.args)
        if own in ([first, second], [second, first]) or any(_is_zero_of(part, own) for part in (first, second)):
            return _between(first, second, 1.0 if whole.op == "maximum" else -1.0)
    if whole in own:  # of maximum(x, number), that of x
        return _between(whole, own[0] if own[1] is whole else own[1], 1.0)
    return _between(whole, constant(0.0), 1.0) if _is_zero_of(whole, own) else None


def _is_zero_of(node: Node, own: Sequence[Node]) -> bool:
    """Tell whether x and 0 are compared, where the node is -x."""
    return node.is_negation and peel(node.args[0]) in own and 0.0 in map(scalar_constant, own)


def _between(first: Node, second: Node, side: float) -> Tie | None:
    """Return the tie of two nodes as the sum that their difference is, up to a positive factor."""
    terms: dict[Node | None, float] = {}
    one, other = _unbounded(first, scalar_constant(second)), _unbounded(second, scalar_constant(first))
    stack = [(one, 1.0), (other, -1.0)]
    for _ in range(_TERMS):
        if not stack:
            break
        node, times = stack.pop()
        node = peel(node)
        number = scalar_constant(node)
        scale, rest = without_numbers(node)
        if number is not None:
            terms[None] = terms.get(None, 0.0) + times * number
        elif node.is_additive:
            stack += [(node.args[1], -times if node.is_subtraction else times), (node.args[0], times)]
        elif node.is_negation:
            stack.append((node.args[0], -times))
        elif rest is not node and 0.0 < abs(scale) < math.inf:
            stack.append((rest, times * scale))
        else:
            terms[node] = terms.get(node, 0.0) + times
    kept = {node: times for node, times in terms.items() if times != 0.0}
    size = max(map(abs, kept.values()), default=0.0)
    if stack or not 0.0 < size < math.inf:
        return None
    return Tie(frozenset((node, times / size) for node, times in kept.items()), side)


def _unbounded(node: Node, number: float | None) -> Node:
    """Leave out bounds that are not reached near a number: maximum(x, -1) is x near 0."""
    node = peel(node)
    while number is not None and node.op in ("maximum", "minimum"):
        bounds = [(x, bound) for x, bound in (node.args, node.args[::-1]) if scalar_constant(bound) is not None]
        if len(bounds) != 1:
            break
        ((x, bound),) = bounds
        limit = scalar_constant(bound)
        if limit is None or not (limit < number if node.op == "maximum" else limit > number):
            break
        node = peel(x)
    return node


def ties_in(roots: Sequence[Node]) -> dict[Node, Tie]:
    """Return the shares below some nodes, each tie in the order of its first share."""
    found: dict[Node, Tie] = {}
    known: set[_Sum] = set()
    for part in postorder(roots):
        tie = tie_of(part)
        if tie is not None:
            turned = frozenset((node, -times) for node, times in tie.difference)
            found[part] = Tie(turned, -tie.side) if turned in known else tie
            known.add(found[part].difference)
    return found


def by_ties(roots: Sequence[Node], shares: Collection[Node]) -> list[Node]:
    """Write shares of the same ties, of the same side and shape, as those that are known."""
    known = {(tie, share.shape): share for share, tie in ties_in([*shares, *roots]).items() if share in shares}
    new = {part: known.get((tie, part.shape), part) for part, tie in ties_in([*shares, *roots]).items()}
    new = {part: share for part, share in new.items() if part is not share}
    return substitute(roots, new) if new else list(roots)


def on_a_side(share: Node, tie: Tie, side: float) -> Node:
    """Return a share on one side of its tie."""
    return where(share.args[0], 1.0 if tie.side == side else 0.0, share.args[2])


#: Most nodes and elements of a formula that is computed, and at how many points.
_COMPUTED_NODES, _ELEMENTS, _POINTS = 400, 4096, 4
#: Digits to which ratios agree.
_DIGITS = 8


def has_multiples(x: Node) -> bool:
    """Tell whether two elements are multiples of one another, none of them constant; False where sizes are letters.

    Examples
    --------
    >>> from symdiff.graph import constant, input
    >>> x, y = input("x", (3,)), input("y")
    >>> has_multiples(x * x), has_multiples(y * constant(np.ones(2)))
    (False, True)
    """
    order = postorder([x], most=_COMPUTED_NODES)
    is_apart = any(node.shape == x.shape for node in order if node.is_input)
    if is_apart and all(node.op in FUNCTIONS or not node.args for node in order):
        return False
    values = _values(x)
    if values is None:
        return False
    values = values[:, np.isfinite(values).all(axis=0)]
    values = values[:, np.ptp(values, axis=0) > 1e-9]
    return len({*map(tuple, np.round(values / values[0], _DIGITS).T.tolist())}) < len(values[0])


def multiples_of_first(x: Node) -> list[float] | None:
    """Return c with ``x[k] = c[k] * x[0]``; None where elements of a vector are no multiples of the first one."""
    values = _values(x)
    if values is None or not np.isfinite(values).all() or not values[:, 0].all():
        return None
    ratios = values / values[:, :1]
    return np.round(ratios[0], 12).tolist() if np.allclose(ratios, ratios[0], rtol=0.1**_DIGITS) else None


def _values(x: Node) -> np.ndarray[Any, Any] | None:
    """Return the elements at some points, one in a row; None where they are too many or cannot be computed."""
    inputs = inputs_of([x])
    sizes = [size for node in (x, *inputs) for size in node.shape]
    if not x.shape or not all(isinstance(size, int) for size in sizes) or math.prod(x.shape) > _ELEMENTS:
        return None
    if len(postorder([x], most=_COMPUTED_NODES)) > _COMPUTED_NODES or any(node.dtype is not REAL for node in inputs):
        return None
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(_POINTS):
        drawn = {node: constant(rng.uniform(0.5, 2.0, node.shape)) for node in inputs}
        try:
            with uncounted(), np.errstate(all="ignore"):
                rows.append(np.asarray(evaluate(substitute([x], drawn), {})[0], dtype=float).ravel())
        except SymdiffError:  # a matrix that has no inverse
            return None
    return np.array(rows)


#: Most factors of a product that are searched, and how deep a factor is looked for below sums and choices.
_FACTORS, _DEPTH = 12, 12
#: Most nodes in the factor of a direction.
_NODES = 400
#: Random points, with a length of 0, at which a factor of a direction is computed.
_DRAWS = 8
#: Most passes over a derivative: what one pass leaves of a product may hold another pair.
_PASSES = 8
#: Lengths of vectors whose elements are compared.
_FEW = range(2, 9)
ONE = constant(1.0)


# ---------------------------------------------------------------------------- signs


def named_signs(node: Node, was_mean: bool = False) -> tuple[Node, dict[Node, Node]]:
    """Put a constant in the place of each sign(x) beside abs(x), and return these with what they stand for.

    So are shares of ties, as the slope of maximum(x, y) has them, and all signs of what was a mean of both sides.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> x = input("x")
    >>> size, sign = (elementwise(name, (x,)) for name in ("abs", "sign"))
    >>> named, back = named_signs(sign * elementwise("sin", (size,)))
    >>> list(back.values()) == [sign]
    True
    """
    if not node.below & (ABSOLUTE | CHOICE):
        return node, {}
    kinks = ("abs", "sign") if was_mean else ("abs",)
    sizes = {zero_of(part.args[0])[1] for part in postorder([node]) if part.op in kinks}
    (plain,) = _by_zeros([node], sizes) if sizes else [node]
    signs = [part for part in postorder([plain]) if part.op == "sign" and part.args[0] in sizes] if sizes else []
    signs += ties_in([plain])
    if not signs:
        return node, {}
    new = {sign: placeholder(("sign", k), sign.shape) for k, sign in enumerate(signs)}
    (named,) = substitute([plain], new)
    return named, {stand: sign for sign, stand in new.items()}


def zero_of(node: Node) -> tuple[float, Node]:
    """Return (s, x) with sign(node) = s sign(x), for the simplest x: of multiples, odd powers, tanh(x) and its kind."""
    side, x = 1.0, peel(node)
    while True:
        exponent = scalar_constant(x.args[1]) if x.is_power else None
        scale, inner = without_numbers(x)
        if x.is_subtraction and x.args[0].is_constant and not x.args[1].is_constant:
            return -side, elementwise("subtract", x.args[::-1])
        if has_sign_of_argument(x) or (exponent is not None and exponent > 0 and exponent % 2 == 1):
            inner = x.args[0]
        elif inner is x:
            inner = _beside_positive(x)
            if inner is x:
                return side, x
        elif not 0.0 < abs(scale) < math.inf:
            return side, x
        if peel(inner).shape != x.shape:
            return side, x
        side, x = math.copysign(side, side * scale), peel(inner)


def _beside_positive(x: Node) -> Node:
    """Return the factor of a product beside one that is above 0, what is divided by one, or the node itself."""
    if x.is_multiplicative and is_positive(x.args[1]):
        return x.args[0]
    return x.args[1] if x.is_multiplication and is_positive(x.args[0]) else x


def _by_zeros(roots: Sequence[Node], known: Collection[Node]) -> list[Node]:
    """Write signs of what vanishes with one of the nodes as its sign."""
    new: dict[Node, Node] = {}
    for part in postorder(roots):
        if part.op == "sign":
            side, x = zero_of(part.args[0])
            if x in known and x is not part.args[0]:
                sign = elementwise("sign", (x,))
                new[part] = sign if side > 0 else elementwise("negative", (sign,))
    return substitute(roots, new) if new else list(roots)


def paired_signs(results: Sequence[Node], back: Mapping[Node, Node]) -> list[Node]:
    """Cancel each constant of :func:`named_signs` with the sign of the same x beside it, and put the signs back.

    A product of both is sign(x)**2, which is 1 from both sides of 0. That of two shares of one tie is that share.
    """
    if not back:
        return list(results)
    shares = [sign for sign in back.values() if tie_of(sign) is not None]
    found = _by_zeros(results, {sign.args[0] for sign in back.values() if sign.op == "sign"})
    found = by_ties(found, shares)
    pairs = {**back, **{sign: stand for stand, sign in back.items()}}
    for _ in range(_PASSES):
        new: dict[Node, Node] = {}
        for node in postorder(found):
            made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
            new[node] = _paired(made, pairs) if made.op in ("multiply", "contract") else made
        before, found = found, [new[one] for one in found]
        if found == before:
            break
    ties = ties_in([*shares, *found])
    plain = [sign for sign in back.values() if sign not in ties]
    turns = _turns_with(plain, found) if plain else {}
    stands = {stand: ties.get(sign, sign) for stand, sign in back.items()} | turns
    signs = {sign: sign for sign in plain} | ties | turns
    mixed = _mixed(found, stands, signs)
    if mixed:
        sides = [substitute(found, _on_a_side(mixed, back, side)) for side in (1.0, -1.0)]
        half = constant(0.5)
        found = [elementwise("multiply", (half, elementwise("add", pair))) for pair in zip(*sides, strict=True)]
    return substitute(found, back)


class _Turn(NamedTuple):
    """A condition, x < 0 or another, that turns where a sign jumps, and the side of x on which it holds."""

    sign: Node
    side: float


#: What jumps at a zero: a sign, a share of a tie, a condition.
_Jump: TypeAlias = "Node | Tie | _Turn"


def _turns_with(signs: Sequence[Node], results: Sequence[Node]) -> dict[Node, _Turn]:
    """Return the conditions below some nodes that turn where one of the signs jumps."""
    by_zero = {sign.args[0]: sign for sign in signs}
    turns = {}
    for part in postorder(results):
        if part.op in ("less", "less_equal"):
            low, high = part.args
            ways = ((1.0, (high, low)), (-1.0, (low, high)))
            for way, (one, other) in ways:
                side, x = zero_of(one if scalar_constant(other) == 0.0 else elementwise("subtract", (one, other)))
                if x in by_zero:
                    turns[part] = _Turn(by_zero[x], way * side)
    return turns


def _mixed(
    results: Sequence[Node], stands: Mapping[Node, _Jump], signs: Mapping[Node, _Jump]
) -> dict[Node, _Jump]:
    """Return the constants and signs that still meet in a product, in one that is not expanded."""
    places = {_place(what): 1 << k for k, what in enumerate(stands.values())}
    left_bits = {stand: places[_place(what)] for stand, what in stands.items()}
    right_bits = {sign: places.get(_place(what), 0) for sign, what in signs.items()}
    below: dict[Node, tuple[int, int]] = {}
    mixed = 0
    for node in postorder(results):
        left, right = left_bits.get(node, 0), right_bits.get(node, 0)
        for arg in node.args if not right else ():
            a, b = below[arg]
            if node.op not in APART:
                mixed |= (left & b) | (a & right) | (a & b if node.is_power else 0)
            left, right = left | a, right | b
        below[node] = left, right
    both = {**stands, **signs}
    return {node: what for node, what in both.items() if places.get(_place(what), 0) & mixed}


def _place(what: _Jump) -> object:
    """Return what is 0 where a sign or a share jumps; shares of one tie have it in common."""
    if isinstance(what, Tie):
        return what.difference
    return what.sign if isinstance(what, _Turn) else what


def _on_a_side(mixed: Mapping[Node, _Jump], back: Mapping[Node, Node], side: float) -> dict[Node, Node]:
    """Return what replaces signs and shares and their constants on one side: 1 or -1 at 0, the sign elsewhere."""
    new: dict[Node, Node] = {}
    for node, what in mixed.items():
        sign = back.get(node, node)
        if isinstance(what, Tie):
            new[node] = on_a_side(sign, what, side)
        elif isinstance(what, _Turn):
            new[node] = elementwise("less_equal" if what.side == side else "less", node.args, BOOL)
        else:
            at_zero = elementwise("equal", (sign.args[0], constant(0.0)), BOOL)
            new[node] = where(at_zero, side, sign)
    return new


def _paired(node: Node, pairs: Mapping[Node, Node]) -> Node:
    parts = node.args if node.is_contraction else [part for part, n in factors_of(node, _FACTORS).parts if n == 1.0]
    for one in dict.fromkeys(parts):
        if one in pairs:
            other = pairs[one]
            is_share = other.is_choice or one.is_choice
            pair = _paired_operands if node.is_contraction else _paired_factors
            found = pair(node, one, other, is_share)
            if found is not None:
                return found
    return node


def _paired_operands(node: Node, one: Node, other: Node, is_share: bool) -> Node | None:
    labels, out, repeated = node.payload
    for i, arg in enumerate(node.args):
        for j, factor in enumerate(node.args) if arg is one else ():
            split = _split(factor, other) if j != i and labels[j] == labels[i] else None
            if split is not None:
                total = []
                gone = arg if is_share else spread(ONE, arg.shape)
                for left, right in ((gone, split.times), (arg, split.rest)):
                    if right is not None:
                        args = [left if k == i else right if k == j else own for k, own in enumerate(node.args)]
                        total.append(contract(args, labels, out, dict(repeated)))
                return _added(total, node.shape)
    return None


def _paired_factors(node: Node, one: Node, other: Node, is_share: bool) -> Node | None:
    parts = factors_of(node, _FACTORS).parts
    if not any(part is one and n == 1.0 for part, n in parts):
        return None
    for factor, n in parts:
        split = _split(factor, other) if n == 1.0 and factor is not one else None
        if split is not None:
            total = [_exchanged(node, {factor: split.times} if is_share else {one: ONE, factor: split.times})]
            if split.rest is not None:
                total.append(_exchanged(node, {factor: split.rest}))
            return _added(total, node.shape)
    return None


def _added(terms: Sequence[Node], shape: Shape) -> Node:
    first, *more = [spread(term, shape) for term in terms]
    return elementwise("add", (first, more[0])) if more else first


class _Split(NamedTuple):
    """A node as ``times * factor + rest``; without a rest where that is 0."""

    times: Node
    rest: Node | None


def _split(node: Node, factor: Node, depth: int = _DEPTH) -> _Split | None:
    """Factor out of the terms that have the factor, below sums and choices too; None where no term has it."""
    if node is factor:
        return _Split(spread(ONE, node.shape), None)
    if depth == 0 or node.shape != factor.shape:
        return None
    if node.is_named:
        return _split(node.args[0], factor, depth)
    if node.op in ("add", "subtract", "negative", "where"):
        return _split_each(node, factor, depth)
    if node.op not in ("multiply", "divide", "contract"):
        return None
    for i, arg in enumerate(node.args[:1] if node.is_division else node.args):
        if node.is_contraction and node.payload.labels[i] != node.payload.out:
            continue
        found = _split(arg, factor, depth - 1)
        if found is not None:
            return _Split(_with(node, i, found.times), None if found.rest is None else _with(node, i, found.rest))
    return None


def _split_each(node: Node, factor: Node, depth: int) -> _Split | None:
    """Factor out of the terms of a sum, or of both branches of a choice."""
    first = 1 if node.is_choice else 0
    splits = [_split(arg, factor, depth - 1) for arg in node.args[first:]]
    if not any(splits):
        return None
    zero = constant(0.0)
    times = [zero if split is None else split.times for split in splits]
    rest = [arg if split is None else split.rest for arg, split in zip(node.args[first:], splits, strict=True)]
    gone = all(part is None or scalar_constant(part) == 0.0 for part in rest)
    return _Split(_of(node, times), None if gone else _of(node, [zero if part is None else part for part in rest]))


def _of(node: Node, parts: Sequence[Node]) -> Node:
    """Return a sum or a choice of other parts; of a sum those that are not 0."""
    if node.is_choice:
        return spread(rebuild(node, (node.args[0], *parts)), node.shape)
    if len(parts) == 2 and scalar_constant(parts[1]) == 0.0:
        return spread(parts[0], node.shape)
    if len(parts) == 2 and scalar_constant(parts[0]) == 0.0:
        return spread(parts[1] if node.is_addition else elementwise("negative", (parts[1],)), node.shape)
    return spread(rebuild(node, tuple(parts)), node.shape)


def _with(node: Node, place: int, part: Node) -> Node:
    args = tuple([spread(part, arg.shape) if k == place else arg for k, arg in enumerate(node.args)])
    return spread(rebuild(node, args), node.shape)


def _exchanged(node: Node, new: dict[Node, Node]) -> Node:
    """Put other factors of a product in the place of some, each once."""
    if node in new:
        return new.pop(node)
    if node.is_division:
        return elementwise("divide", (_exchanged(node.args[0], new), node.args[1]))
    if node.op in ("negative", "multiply"):
        return elementwise(node.op, tuple([_exchanged(arg, new) for arg in node.args]))
    return node


# ---------------------------------------------------------------------------- directions


def lengths_of_one(node: Node) -> Node:
    """Write lengths of multiples of one number as its size, where other kinks may meet them."""
    if not node.below & (ABSOLUTE | BRANCHING):
        return node
    new: dict[Node, Node] = {}
    for part in postorder([node]):
        if part.op != "norm" or part.shape or part.args[0].ndim != 1 or part.args[0].shape[0] not in _FEW:
            continue
        (x,) = part.args
        multiples = multiples_of_first(x)
        if multiples is not None:
            first = elementwise("abs", (reshape(slicing(x, ((0, 1, 1),)), ()),))
            new[part] = elementwise("multiply", (constant(math.hypot(*multiples)), first))
    return substitute([node], new)[0] if new else node


def smooth_directions(node: Node, slope: Callable[[Node, Node], Node | None]) -> Node:
    """Write c(r) unit(x), with c(0) = 0 and r the length of x, as x times c(r) / r, which is c'(0) at 0.

    Parameters
    ----------
    node : Node
    slope : callable
        Gives the derivative of an elementwise formula by a variable in it.
    """
    if not node.below & DIRECTION:
        return node
    order = postorder([node])
    new: dict[Node, Node] = {}
    for part in order:
        made = rebuild(part, tuple([new[arg] for arg in part.args])) if part.args else part
        if made.is_multiplication:
            made = _smooth_product(made, slope)
        elif made.is_contraction:
            made = _smooth_contraction(made, slope)
        new[part] = made
    return new[node]


def _smooth_product(node: Node, slope: Callable[[Node, Node], Node | None]) -> Node:
    parts = factors_of(node, _FACTORS).parts
    for direction, n in parts:
        found = _length_of(direction) if n == 1.0 else None
        if found is None:
            continue
        x, length, shapes = found
        moving = {part: m for part, m in parts if part is not direction and _depends(part, length)}
        if not moving or not all(part.shape in shapes for part in moving):
            continue
        c: Node = ONE
        for part, m in parts:
            if part in moving:
                c = elementwise("divide" if m < 0 else "multiply", (c, part))
        quotient = _over_length(c, length, slope, sometimes=True)
        if quotient is None:
            continue
        rest = _dropped(node, {direction, *moving})
        smooth = spread(elementwise("multiply", (rest, elementwise("multiply", (quotient, x)))), node.shape)
        if _vanishes(*_by_length(c, length)):
            return smooth
        # arctan2(norm(x), w) is 0 with x for a positive w alone
        jumps = elementwise("not_equal", (c, constant(0.0)), BOOL)
        return where(elementwise("logical_and", (_is_zero(length), jumps), BOOL), node, smooth)
    return node


def _length_of(direction: Node) -> tuple[Node, Node, list[Shape]] | None:
    """Return what a direction is of, its length, and the shapes that a function of the length may have."""
    if direction.op in ("direction_cos", "direction_sin"):
        return direction.args[direction.op == "direction_sin"], elementwise("hypot", direction.args), [direction.shape]
    if direction.op != "unit":
        return None
    (x,) = direction.args
    axes = axes_of(direction, x)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    shapes = [kept[k:] for k in range(len(kept) + 1) if all(size == 1 for size in kept[:k])]
    return x, reduce("norm", x, axes), shapes


def _dropped(node: Node, gone: set[Node]) -> Node:
    """Put 1 in the place of some factors and divisors."""
    if node in gone:
        return ONE
    if node.op in ("negative", "multiply", "divide"):
        return elementwise(node.op, tuple([_dropped(arg, gone) for arg in node.args]))
    return node


def _smooth_contraction(node: Node, slope: Callable[[Node, Node], Node | None]) -> Node:
    def over(c: Node, length: Node) -> Node | None:
        quotient = _over_length(c, length, slope) if _depends(c, length) else None
        return None if quotient is None else spread(quotient, c.shape)

    return joined_operands(node, over) or node


def _depends(node: Node, length: Node) -> bool:
    """Tell whether a length, or its square, is in a formula."""
    return not {length, *squares_of(length)}.isdisjoint(postorder([node]))


def _by_length(c: Node, length: Node) -> tuple[Node, Node]:
    """Return a formula of a length as one of a variable, and that."""
    r = placeholder(("length",), length.shape)
    (plain,) = substitute([c], {length: r, **{square: r * r for square in squares_of(length) if square is not r}})
    return plain, r


def _is_zero(node: Node) -> Node:
    return elementwise("equal", (node, constant(0.0)), BOOL)


def _over_length(
    c: Node, length: Node, slope: Callable[[Node, Node], Node | None], sometimes: bool = False
) -> Node | None:
    """Return c / length with the slope at 0; None where c is seen not to vanish there, or to be no function of it."""
    plain, r = _by_length(c, length)
    if not (_vanishes(plain, r) or (sometimes and _vanishes(plain, r, sometimes=True))):
        return None
    (whole,) = stabilize([elementwise("divide", (plain, r))])
    values = _values_at_zero(whole, r)
    if values and all(map(math.isfinite, values)):
        return spread(substitute([whole], {r: length})[0], c.shape)
    rising = slope(plain, r)
    if rising is None:
        return None
    (rising,) = substitute([spread(rising, c.shape)], {r: length})
    r = reshape(length, c.shape) if c.shape != length.shape else length
    at_zero = _is_zero(r)
    return where(at_zero, rising, c / where(at_zero, 1.0, r))


#: Distance from the zero of a length at which a result with a limit is computed: a number that nobody writes, and whose
#: square float32 has.
_BESIDE = 2.0**-60
#: The same to both sides of the zero, for what loses digits nearer to it: the mean has an error of the square of that.
_BOTH_SIDES = (2.0**-13, -(2.0**-13))
#: Distances at which a limit is looked for, and the largest quotient of what is missing to it at both.
_NEAR, _CLOSER = (2.0**-10, 2.0**-16), 0.1
#: Change of a slope, at the second of these distances, that is a jump.
_JUMP = 1e-2
#: Points at which a limit is looked for, the directions there, and the number that stands for letters of sizes.
_PLACES, _SIDES, _LETTER = 2, 4, 3
#: Newton's steps to the zero of a length, for most elements, and the length that is 0.
_STEPS, _MOST, _TINY = 5, 24, 1e-12
#: Numbers for inputs, by their names.
_Point: TypeAlias = Mapping[Any, np.ndarray[Any, Any]]


class Zero(NamedTuple):
    """Points at which a length is 0, and the arrays that vanish with it."""

    points: list[_Point]
    bases: list[Node]
    length: Node

    def beside(self, distance: float) -> dict[Node, Node]:
        """Return what stands for the arrays: themselves, and the distance where the length is 0."""
        zero = _is_zero(rebuild(self.length, tuple(self.bases)))
        if self.length.op == "norm":
            (base,) = self.bases
            axes = axes_of(self.length, base)
            zero = reshape(zero, tuple(1 if axis in axes else size for axis, size in enumerate(base.shape)))
        return {base: spread(where(zero, distance, base), base.shape) for base in self.bases}

    def at(self, number: float) -> dict[Node, Node]:
        """Return a number for each of their elements."""
        return {base: spread(constant(number), base.shape) for base in self.bases}


def zeros_of_lengths(slope: Node) -> list[Zero]:
    """Return the zeros of lengths at which a slope has directions of them, and does not jump."""
    if not slope.below & DIRECTION or len(postorder([slope], most=_COMPUTED_NODES)) > _COMPUTED_NODES:
        return []
    lengths = [each[1] for part in postorder([slope]) if (each := _length_of(part)) is not None]
    return [zero for length in dict.fromkeys(lengths) if (zero := _zero_of_length(length, slope)) is not None]


def beside_zeros(results: Sequence[Node], zeros: Sequence[Zero]) -> list[Node]:
    """Write derivatives that divide by a length so that they have their limit where it is 0, if there is one.

    They are computed for elements of 2**-60 there, or as the mean of both sides a little further away. That is done
    where they are nan at a zero, and go to what is so computed from all sides, with random numbers for all else.

    Parameters
    ----------
    results : sequence of Node
    zeros : sequence of Zero
        Of lengths in what they are derivatives of, from :func:`zeros_of_lengths`.
    """
    found = list(results)
    moved: set[Node] = set()
    for zero in zeros:
        fits = moved.isdisjoint(zero.bases) and len(postorder(found, most=_COMPUTED_NODES)) <= _COMPUTED_NODES
        for places in ((_BESIDE,), _BOTH_SIDES) if fits else ():
            if all(_has_limit(found, zero, point, places) for point in zero.points):
                sides = [substitute(found, zero.beside(distance)) for distance in places]
                found = [_mean(each) for each in zip(*sides, strict=True)]
                moved.update(zero.bases)
                break
    return found


def _mean(sides: Sequence[Node]) -> Node:
    if len({*sides}) == 1:
        return sides[0]
    return elementwise("multiply", (constant(0.5), elementwise("add", tuple(sides))))


def without_limits(node: Node) -> Node:
    """Undo :func:`beside_zeros`, so that a further derivative is taken of the formula itself."""
    new = {part: part.args[2] for part in postorder([node]) if _is_beside(part)} if node.below & CHOICE else {}
    for part, arg in new.items():
        new[part] = substitute([arg], new)[0]
    return substitute([node], new)[0] if new else node


def _is_beside(node: Node) -> bool:
    return node.is_choice and scalar_constant(node.args[1]) in (_BESIDE, *_BOTH_SIDES)


def _zero_of_length(length: Node, slope: Node) -> Zero | None:
    """Return the zeros of a length by each input, or by all at once; None where the slope jumps at one of them."""
    inputs = inputs_of([slope])
    if any(node.dtype is not REAL for node in inputs) or any(arg.is_constant for arg in length.args):
        return None
    points: list[_Point] = []
    bases: list[Node] = []
    for k in range(_PLACES):
        drawn = _drawn_for(inputs, k)
        own = inputs_of([length])
        for moving in [*([w] for w in own), own][: len(own) + (len(own) > 1 and not points)]:
            point = _with_zero(length, moving, drawn)
            if point is None:
                continue
            one, other = (_numbers([slope], each) for (each,) in _points_beside(point, 2, _NEAR[1:]))
            if not (np.abs(one - other) <= _JUMP).all():
                return None
            points.append(point)
            bases = bases or [_base(arg, point) for arg in length.args]
    return Zero(points, bases, length) if points else None


def _drawn_for(inputs: Sequence[Node], seed: int) -> dict[Any, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return {node.name: rng.uniform(0.25, 0.75, [nominal(size, _LETTER) for size in node.shape]) for node in inputs}


def _with_zero(length: Node, moving: Sequence[Node], point: _Point) -> _Point | None:
    """Return the point with some inputs moved to where a length is 0; None where it is found nowhere."""
    ends = np.cumsum([point[w.name].size for w in moving])

    def at(x: np.ndarray[Any, Any]) -> _Point:
        parts = zip(moving, np.split(x, ends[:-1]), strict=True)
        return {**point, **{w.name: part.reshape(point[w.name].shape) for w, part in parts}}

    def vector(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return _numbers(length.args, at(x))

    def is_zero(x: np.ndarray[Any, Any]) -> bool:
        return bool((np.abs(vector(x)) <= _TINY).all())

    x = np.concatenate([point[w.name].ravel() for w in moving])
    v = vector(x)
    if v.size == x.size:
        for step in (v, -v):
            if is_zero(x - step):
                return at(x - step)
    for _ in range(_STEPS if x.size <= _MOST else 0):
        v = vector(x)
        rows = [(vector(x + 2.0**-20 * row) - v) * 2.0**20 for row in np.eye(x.size)]
        if not np.isfinite(rows).all():
            return None
        x = x - np.linalg.lstsq(np.transpose(rows), v, rcond=1e-6)[0]
        if is_zero(x):
            return at(x)
    return None


def _has_limit(results: Sequence[Node], zero: Zero, point: _Point, places: Sequence[float]) -> bool:
    """Tell whether results that are nan at the zero of a length go to what they are beside it, from all sides."""
    inputs = inputs_of(results)
    if any(node.dtype is not REAL for node in inputs):
        return False
    point = {**_drawn_for(inputs, 0), **point}  # a direction, too
    there, *sides = (_numbers(substitute(results, zero.at(number)), point, inputs) for number in (0.0, *places))
    limit = np.mean(sides, axis=0)
    if np.isfinite(there).all() or not np.isfinite(limit).all():
        return False
    for points in _points_beside(point, _SIDES, _NEAR):
        far, near = (np.abs(_numbers(results, each) - limit) for each in points)
        if not (near <= _CLOSER * far + 0.1**_DIGITS * (1.0 + np.abs(limit))).all():
            return False
    return True


def _points_beside(point: _Point, sides: int, distances: Sequence[float]) -> list[list[_Point]]:
    """Return points at some distances in random directions, a list for each direction."""
    rng = np.random.default_rng(1)
    ways = [{name: rng.normal(size=x.shape) for name, x in point.items()} for _ in range(sides)]
    return [[{name: x + h * way[name] for name, x in point.items()} for h in distances] for way in ways]


def _base(x: Node, point: _Point) -> Node:
    """Return the lowest node with which the elements of x vanish: that of ``sin(x) + x**3`` is x."""
    order = postorder([x])
    for base in order:
        if base.shape != x.shape or base.is_constant or (np.abs(_numbers([base], point)) > _TINY).any():
            continue
        above = dependents(order, inputs_of([base])).difference(postorder([base]))
        if all(part.op in FUNCTIONS for part in above):
            return base
    return x


def _numbers(results: Sequence[Node], point: _Point, inputs: Sequence[Node] = ()) -> np.ndarray[Any, Any]:
    """Return all elements of some formulas; nan where a matrix has no inverse."""
    try:
        with uncounted(), np.errstate(all="ignore"):
            return np.concatenate([np.ravel(value) for value in evaluate(results, point, inputs)]).astype(float)
    except SymdiffError:
        return np.array([math.nan])


def vanishes_with(c: Node, x: Node) -> bool:
    """Tell whether an elementwise formula of x is 0 wherever x is.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> x = input("x")
    >>> vanishes_with(elementwise("sin", (x,)), x), vanishes_with(elementwise("cos", (x,)), x)
    (True, False)
    """
    if x.is_constant or c.shape != x.shape or x not in postorder([c]):
        return False
    r = placeholder(("length",), x.shape)
    (plain,) = substitute([c], {x: r})
    return _vanishes(plain, r)


def _vanishes(c: Node, r: Node, sometimes: bool = False) -> bool:
    """Tell whether an elementwise formula is 0 at r = 0, whatever else is in it, or for some of that."""
    values = _values_at_zero(c, r)
    return 0.0 in values and (sometimes or all(value == 0.0 or math.isnan(value) for value in values))


def _values_at_zero(c: Node, r: Node) -> list[float]:
    """Return values of an elementwise formula at r = 0, with random numbers in the place of all else."""
    from ...graph.reference.interpret import evaluate  # not needed by an import

    order = postorder([c])
    if len(order) > _NODES:
        return []
    moving = dependents(order, [r])
    values = []
    rng = np.random.default_rng(0)
    for _ in range(_DRAWS):
        new: dict[Node, Node] = {}
        for node in order:
            if node not in moving:
                known = scalar_constant(node)
                new[node] = constant(_drawn(rng) if known is None else known)
            elif node is r:
                new[node] = constant(0.0)
            elif node.op in FUNCTIONS:
                new[node] = rebuild(node, tuple([new[arg] for arg in node.args]))
            elif node.op in ("reshape", "named"):
                new[node] = new[node.args[0]]
            elif node.is_contraction and _is_product(node):
                total = ONE
                for arg in node.args:
                    total = elementwise("multiply", (total, new[arg]))
                new[node] = total
            else:
                return []
        values.append(float(evaluate([new[c]], {})[0]))
    return values


def _drawn(rng: np.random.Generator) -> float:
    return float(rng.choice((-1.0, 1.0)) * 10.0 ** rng.uniform(-3.0, 3.0))


def _is_product(node: Node) -> bool:
    """Tell whether a contraction multiplies element by element, and repeats."""
    labels, out, _ = node.payload
    return all(len(set(own)) == len(own) and set(own) <= set(out) for own in labels)
