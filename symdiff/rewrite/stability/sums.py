"""Sums of exponentials, by logsumexp and softmax of the exponents; logarithms of sums and products.

Quotients of sums along axes have such terms: ``sum(w * exp(x)) / sum(exp(x))``. Above and below the line the
exponentials are divided by their sum, so that softmax stands in their place: nothing overflows, and where they were
all there was below, the line is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...graph import (
    Node,
    axes_of,
    concatenate,
    constant,
    elementwise,
    normalize,
    rebuild,
    reduce,
    reshape,
    slicing,
    stop_gradient,
)
from ...graph.kinds import EXPONENTIAL, LOG_SUM
from ...graph.scalars.arithmetic import peel
from ...graph.scalars.functions import FUNCTIONS, scalar_constant
from ...graph.sizes import Shape
from ..facts import is_positive
from ..rewriter import is_number, rule, spread, stabilize
from .exponents import (
    ONE,
    ExponentialProduct,
    Linear,
    Sum,
    added,
    as_node,
    as_product,
    as_sum,
    exponential_terms,
    is_sum_along_axes,
    may_hold_exponentials,
    multiple,
    multiplied,
    raised,
    ratio,
    scaled_node,
    sum_of,
)


def wide_form(p: ExponentialProduct, shape: Shape) -> Node | None:
    """Return a quotient with sums of many exponentials, by logsumexp and softmax of the exponents."""
    tops = [(found, power) for found, power in p.sums.items() if power > 0]
    bottoms = [(found, -power) for found, power in p.sums.items() if power < 0]
    if any(_is_scaled(found) for found, _ in bottoms):
        return None
    if len(tops) > 1 or any(power != 1.0 for _, power in tops):
        return None
    parts: list[tuple[Node, Linear]] = [(ONE, {})]
    for top, _ in tops:
        parts = top.parts()
    if not bottoms:
        if not p.exponent:
            return None
        total = sum_of([(c, added(e, p.exponent)) for c, e in parts])
        return multiplied(p, p.number, [total], shape)
    wide = [(wide_sum(found, shape), power) for found, power in bottoms]
    shifted = [(c, added(e, p.exponent)) for c, e in parts]
    if len(wide) == 1:
        whole = wide[0][0].together(shifted, wide[0][1])
        if whole is not None:
            return multiplied(p, p.number, [whole, raised(wide[0][0].weight(), -wide[0][1])], shape)
    difference = _difference_of(parts)
    if difference:
        shifted = [(constant(1.0), e) for _, e in shifted]
    terms = []
    for coefficient, e in shifted:
        share = wide[0][0].share(e) if len(wide) == 1 and wide[0][1] == 1.0 else None
        if share is None:
            logarithm = as_node(e)
            for each, power in wide:
                logarithm = logarithm - scaled_node(power, each.logarithm())
            share = elementwise("exp", (logarithm,))
        terms.append(share if scalar_constant(coefficient) == 1.0 else coefficient * share)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    weights = [raised(each.weight(), -power) for each, power in wide if not each.positive]
    return multiplied(p, p.number, [*difference, total, *weights], shape)


def _is_scaled(found: Sum) -> bool:
    """Tell whether all exponents are less a logarithm of the sum of their exponentials.

    A logarithm behind a barrier is one that :class:`Wide` made. One exponent with it is enough: coefficients that are
    too long to be taken apart hide theirs, and such a sum would be scaled again without end.
    """
    if any(node is not None and node.is_barrier and _is_scale(node) for e in found.exponents for node in e):
        return True
    first = found.exponents[0]
    scales = [node for node, c in first.items() if node is not None and c == -1.0 and _is_scale(node)]
    return any(all(e.get(node) == -1.0 for e in found.exponents) for node in scales)


def _is_scale(node: Node) -> bool:
    inner = node.args[0] if node.is_barrier else node
    return inner.op == "logsumexp"


def _difference_of(parts: list[tuple[Node, Linear]]) -> tuple[Node, ...]:
    """Return c tanh((l - m) / 2) for c exp(l) - c exp(m), which is that times the sum of the two; () for others."""
    if len(parts) != 2:
        return ()
    (c, up), (d, down) = parts
    first, second = scalar_constant(c), scalar_constant(d)
    if first is None or second is None or first != -second or not first:
        return ()
    return constant(first), elementwise("tanh", (as_node(multiple(added(up, down, -1.0), 0.5)),))


class AroundCosh:
    """A sum ``exp(l) (a exp(t) + b exp(-t) + c)`` as ``exp(l) cosh(t)`` times ``a + b + (a - b) tanh(t) + c sech(t)``.

    Parts that are odd keep their digits near 0, which they lose as differences of exponentials.

    Parameters
    ----------
    level, t : Linear
    up, down : float
        The numbers of exp(t) and exp(-t).
    rest : Node
        The coefficient of the third.
    """

    positive = False

    def __init__(self, level: Linear, t: Linear, up: float, down: float, rest: Node) -> None:
        self.level, self.t = level, t
        self.argument = as_node(t)
        self.sum = self._part(up, down, rest)

    def _part(self, up: float, down: float, rest: Node) -> Node:
        """Return (up exp(t) + down exp(-t) + rest) / cosh(t)."""
        terms = []
        if up + down:
            terms.append(constant(up + down))
        if up - down:
            terms.append((up - down) * elementwise("tanh", (self.argument,)))
        if scalar_constant(rest) != 0.0:
            terms.append(rest * elementwise("sech", (self.argument,)))
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def logarithm(self) -> Node:
        """Return l + log(cosh(t))."""
        large = elementwise("log_cosh", (self.argument,))
        return as_node(self.level) + large if self.level else large

    def together(self, parts: list[tuple[Node, Linear]], power: float) -> Node | None:
        """Return a sum over a power of exp(l) cosh(t), of exp(l) times exp(t), exp(-t) and 1; None for another."""
        if not power.is_integer():
            return None
        numbers, rest = {1.0: 0.0, -1.0: 0.0}, constant(0.0)
        for coefficient, exponent in parts:
            left = added(exponent, self.level, -power)
            place = ratio(left, self.t) if left else 0.0
            number = scalar_constant(coefficient)
            if place == 0.0:
                rest = coefficient if scalar_constant(rest) == 0.0 else rest + coefficient
            elif place in numbers and number is not None:
                numbers[place] += number
            else:
                return None
        whole = self._part(numbers[1.0], numbers[-1.0], rest)
        return whole if power == 1.0 else whole * raised(elementwise("sech", (self.argument,)), power - 1.0)

    def share(self, exponent: Linear) -> Node | None:
        """Return exp(exponent) over exp(l) cosh(t), where it moves with one of the two exponentials."""
        left = added(exponent, self.level, -1.0)
        ways = [(added(left, t, -1.0), t) for t in (self.t, multiple(self.t, -1.0))]
        rest, t = min(ways, key=lambda way: len(way[0]))
        if len(rest) >= len(left):
            return None
        # 2 sigmoid(2 t) is exp(t) over cosh(t)
        logarithm = elementwise("log_sigmoid", (as_node(multiple(t, 2.0)),))
        return elementwise("exp", (as_node(added(rest, {None: math.log(2.0)})) + logarithm,))

    def weight(self) -> Node:
        """Return what is multiplied by exp(l) cosh(t)."""
        return self.sum


def wide_sum(found: Sum, shape: Shape) -> Wide | AroundCosh:
    """Return a sum of many exponentials in the form that suits it."""
    parts = found.parts()
    for k, (rest, level) in enumerate(parts if len(parts) == 3 else ()):
        (c, up), (d, down) = [part for place, part in enumerate(parts) if place != k]
        t = added(up, level, -1.0)
        numbers = scalar_constant(c), scalar_constant(d)
        if t and t == multiple(added(down, level, -1.0), -1.0) and numbers[0] is not None and numbers[1] is not None:
            if next(iter(t.values())) < 0:
                t, numbers = multiple(t, -1.0), numbers[::-1]
            return AroundCosh(level, t, numbers[0] or 0.0, numbers[1] or 0.0, rest)
    return Wide(found, shape)


class Wide:
    """A sum of many exponentials as the sum of ``exp(l)`` times a mean of the coefficients.

    Where all coefficients are positive numbers, they are part of the exponents and the mean is 1. Otherwise the sum of
    ``exp(l)`` only scales: any number would do in its place, so no derivative goes through it. That would be
    differences of shares, which lose the digits that a derivative of the sum itself has.
    """

    def __init__(self, found: Sum, shape: Shape) -> None:
        self.positive = found.sign() == 1
        self.coefficients = found.coefficients
        self.exponents = [e for _, e in found.parts()]
        shifts = [math.log(scalar_constant(c) or 1.0) if self.positive else 0.0 for c in self.coefficients]
        self.shape = shape
        nodes = [as_node(added(e, {None: s} if s else {})) for e, s in zip(self.exponents, shifts, strict=True)]
        self.stacked = concatenate([reshape(spread(n, shape), (*shape, 1)) for n in nodes], len(shape))
        self.total = reduce("logsumexp", self.stacked, (len(shape),))
        self.scale = self.total if self.positive else stop_gradient(self.total)

    def logarithm(self) -> Node:
        """Return log(sum(exp(l)))."""
        return self.scale

    def _part(self, place: int) -> Node:
        if not self.positive:
            return elementwise("exp", (as_node(added(self.exponents[place], {self.scale: -1.0})),))
        shares = normalize("softmax", self.stacked, (len(self.shape),))
        return slicing(shares, (*((0, 1, n) for n in self.shape), (place, 1, None)))

    def together(self, parts: list[tuple[Node, Linear]], power: float) -> Node | None:
        """Return None: shares are computed one by one."""
        return None

    def _logarithm_of_part(self, place: int) -> Node:
        if not self.positive:
            return as_node(added(self.exponents[place], {self.scale: -1.0}))
        shares = normalize("log_softmax", self.stacked, (len(self.shape),))
        own = slicing(shares, (*((0, 1, n) for n in self.shape), (place, 1, None)))
        c = scalar_constant(self.coefficients[place]) if self.positive else 1.0
        return own - math.log(c) if c is not None and c != 1.0 else own

    def share(self, exponent: Linear) -> Node | None:
        """Return exp(exponent) over the sum of exp(l), where it is one of these, or moves with one."""
        if exponent not in self.exponents:
            nearest = min(self.exponents, key=lambda e: len(added(exponent, e, -1.0)))
            left = added(exponent, nearest, -1.0)
            if not nearest or len(left) >= len(exponent):
                return None
            # the exponent less the logarithm of the sum would lose the digits of what is left
            return elementwise("exp", (as_node(left) + self._logarithm_of_part(self.exponents.index(nearest)),))
        place = self.exponents.index(exponent)
        c = scalar_constant(self.coefficients[place]) if self.positive else 1.0
        return self._part(place) if c == 1.0 or c is None else constant(1.0 / c) * self._part(place)

    def weight(self) -> Node:
        """Return the mean of the coefficients by the shares."""
        total: Node | None = None
        for place, c in enumerate(self.coefficients):
            number = scalar_constant(c)
            part = self._part(place) if number == 1.0 else c * self._part(place)
            total = part if total is None else total + part
        assert total is not None
        return total


def _log_softmax(node: Node) -> Node:
    return normalize("log_softmax", node.args[0], axes_of(node, node))


def _by_name(node: Node) -> Node:
    return elementwise(FUNCTIONS[node.op].logarithm, node.args)


def _by_equation(node: Node) -> Node:
    return stabilize([elementwise("log", (node,))])[0]


#: Quotients whose logarithms have equations; they are functions with an order, which is 0.
_QUOTIENTS = frozenset(("sinh_remainder_1", "csch_quotient", "exp_remainder_1", "bernoulli_quotient"))
#: Functions that overflow or vanish where their logarithm, which has a name, is finite.
_LOGARITHMS: dict[str, Callable[[Node], Node]] = {
    "softmax": _log_softmax,
    **dict.fromkeys(("ndtr", "erfc", "gamma", "beta", "i0", "k0", "k1", "kv", "iv", "exp1", "expi"), _by_name),
    **dict.fromkeys(_QUOTIENTS, _by_equation),
}
#: Functions that are positive only where their arguments are.
_OF_POSITIVE = frozenset(("gamma", "beta"))


def _has_logarithm(node: Node) -> bool:
    if node.op in _QUOTIENTS:
        return scalar_constant(node.args[0]) == 0.0
    return node.op in _LOGARITHMS and (node.op not in _OF_POSITIVE or all(map(is_positive, node.args)))


def logarithm(node: Node, shape: Shape) -> Node | None:
    """Return the logarithm of a sum of exponentials, or of a product with exponentials; None for anything else."""
    inside = peel(node)
    if inside.op == "sech":
        return elementwise("negative", (elementwise("log_cosh", inside.args),))
    if inside.op in ("add", "subtract", "cosh", "sinh", "expm1"):
        found = as_sum(inside)
        return None if found is None else log_of_sum(found, shape)
    if inside.op not in ("multiply", "divide", "power", "negative") or not may_hold_exponentials(inside, _LOGARITHMS):
        return None
    product = as_product(inside)
    if product is None:
        return None
    along = {part: power for part, power in product.others.items() if is_sum_along_axes(part)}
    small = {part: power for part, power in product.others.items() if _has_logarithm(part)}
    if not (product.exponentials or product.sums or along or small):
        return None
    total = as_node(product.exponent)
    for along_axes, power in along.items():
        total = total + scaled_node(power, _log_along(along_axes))
    for factor, power in small.items():
        total = total + scaled_node(power, _LOGARITHMS[factor.op](factor))
    rest_of_it = {part: power for part, power in product.others.items() if part not in along and part not in small}
    others = ExponentialProduct(product.number)
    others.others = rest_of_it
    rest_is_positive = not rest_of_it and product.number > 0.0
    for found, power in product.sums.items():
        # a number times what may be negative has a logarithm where that has one
        if found.sign() != 1 and not (rest_is_positive and len(product.sums) == 1 and abs(power) == 1.0):
            return None
        part = log_of_sum(found, shape)
        if part is None:
            return None
        total = total + scaled_node(power, part)
    if scalar_constant(total) == 0.0:
        return None
    rest = multiplied(others, others.number, [], shape)
    return total if is_number(rest, 1.0) else total + elementwise("log", (rest,))


def _log_along(total: Node) -> Node:
    """Return the logarithm of a sum of exponentials along axes."""
    terms = exponential_terms(total)
    assert terms is not None
    return as_node(terms[0].exponent)


def log_of_sum(found: Sum, shape: Shape) -> Node | None:
    """Return the logarithm of a sum of exponentials; None where its sign is not known."""
    parts = sorted(found.parts(), key=lambda part: bool(part[1]))
    sign = found.sign()
    if len(parts) == 2:
        (b, l1), (c, l2) = parts
        if sign == 1:
            first, second = scalar_constant(b) or 1.0, scalar_constant(c) or 1.0
            if first == second and l1 == multiple(l2, -1.0):
                up = l2 if next(iter(l2.values())) > 0 else l1
                return _plus(elementwise("log_cosh", (as_node(up),)), 2.0 * first)
            if first == second and not l1:
                return _plus(elementwise("softplus", (as_node(l2),)), first)
            pairs = ((l1, first), (l2, second))
            shifted = tuple(as_node(added(e, {None: math.log(n)} if n != 1.0 else {})) for e, n in pairs)
            return elementwise("logaddexp", shifted)
        if sign == -1:
            if (scalar_constant(b) or 0.0) < 0:
                (b, l1), (c, l2) = (c, l2), (b, l1)
            rest = -elementwise("expm1", (as_node(added(l2, l1, -1.0)),))
            inner = elementwise("log", (rest,))
            return _plus(as_node(l1) + inner if l1 else inner, scalar_constant(b) or 1.0)
    if sign == 0 and not all(e for _, e in parts) and len(parts) == 2:
        return elementwise("log_exp_sum", (parts[0][0], parts[1][0], as_node(parts[1][1])))
    if _is_scaled(found):
        return None
    wide = wide_sum(found, shape)
    if isinstance(wide, AroundCosh) and wide.level and found.sign() == 1:
        wide = Wide(found, shape)  # whose logarithm is no difference of what moves with the level
    total = wide.logarithm()
    return total if wide.positive else total + elementwise("log", (wide.weight(),))


def _plus(x: Node, factor: float) -> Node:
    """Return x + log(factor)."""
    return x if factor == 1.0 else x + math.log(factor)


#: Most operations above and below the line that are searched.
_LOOK = 16
#: Operations that pass a factor along: ``f(a, b)`` times s is ``f(s a, b)``.
_FACTORS = frozenset(("multiply", "named", "negative", "contract", "reshape", "divide"))


def find_exponential(node: Node) -> Node | None:
    """Return the exponential that is a factor of each term of a sum along axes."""
    todo = [node]
    steps = 0
    while todo and steps < _LOOK:
        part = todo.pop()
        steps += 1
        if part.op == "exp":
            return part
        if part.op in _FACTORS:
            todo.extend(part.args[:1] if part.is_division else part.args[::-1])
    return None


def summed_axes(node: Node, factor: Node) -> tuple[int, ...] | None:
    """Return the axes of ``factor`` that are summed on the way to ``node``; None where it is not one factor of it."""
    places = _places(node, factor)
    return None if places is None else tuple(axis for axis in range(factor.ndim) if axis not in places)


def _places(node: Node, factor: Node) -> dict[int, int] | None:
    """Return, for each axis of ``factor`` that is left, its axis of ``node``."""
    if node is factor:
        return {axis: axis for axis in range(factor.ndim)}
    if node.op in ("named", "negative"):
        return _places(node.args[0], factor)
    if node.is_multiplicative:
        for arg in node.args[: 1 if node.is_division else 2]:
            below = _places(arg, factor) if find_exponential(arg) is factor else None
            if below is not None:
                shift = node.ndim - arg.ndim
                if any(arg.shape[axis] != node.shape[axis + shift] for axis in below.values()):
                    return None
                return {own: axis + shift for own, axis in below.items()}
        return None
    if node.is_contraction:
        labels, out, repeated = node.payload
        for arg, own_labels in zip(node.args, labels, strict=True):
            below = _places(arg, factor) if find_exponential(arg) is factor else None
            if below is not None:
                if repeated or len(set(own_labels)) < len(own_labels):
                    return None
                kept = {own: own_labels[axis] for own, axis in below.items()}
                return {own: out.index(label) for own, label in kept.items() if label in out}
        return None
    if node.is_reshape:
        below = _places(node.args[0], factor)
        wide = [axis for axis, size in enumerate(node.shape) if size != 1]
        old = [axis for axis, size in enumerate(node.args[0].shape) if size != 1]
        if below is None or [node.shape[a] for a in wide] != [node.args[0].shape[a] for a in old]:
            return None
        if any(axis not in old for axis in below.values()):
            return None
        return {own: wide[old.index(axis)] for own, axis in below.items()}
    return None


def exchange(node: Node, factor: Node, other: Node) -> Node:
    """Put ``other`` in the place of one factor."""
    if node is factor:
        return other
    args = list(node.args)
    for i, arg in enumerate(args):
        if find_exponential(arg) is factor and (i == 0 or not node.is_division):
            args[i] = exchange(arg, factor, other)
            break
    return rebuild(node, tuple(args))


def softmax_form(top: Node, bottom: Node, shape: Shape) -> Node | None:
    """Return a quotient whose divisor sums exponentials along axes, by softmax; None for any other."""
    below = find_exponential(bottom)
    if below is None:
        return None
    axes = summed_axes(bottom, below)
    if not axes:
        return None
    x = below.args[0]
    shares = normalize("softmax", x, axes)
    lone = _is_plain_sum(bottom, below)
    above = find_exponential(top)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    if above is below and _lined_up(top, bottom, below, axes, kept, shape):
        result = exchange(top, below, shares)
        return spread(result if lone else result / exchange(bottom, below, shares), shape)
    total = reduce("logsumexp", x, axes)
    where = _places(bottom, below)
    if where is None or [where[axis] for axis in kept] != sorted(where[axis] for axis in kept):
        return None
    total = reshape(total, tuple(bottom.shape[a] if a in where.values() else 1 for a in range(bottom.ndim)))
    if peel(top).op == "exp":
        result = elementwise("exp", (peel(top).args[0] - total,))
    elif scalar_constant(top) is not None or above is None:
        power = elementwise("exp", (-total,))
        result = power if scalar_constant(top) == 1.0 else top * power
    else:
        return None
    return spread(result if lone else result / exchange(bottom, below, shares), shape)


def _is_plain_sum(bottom: Node, below: Node) -> bool:
    """Tell whether a divisor is nothing but the sum of the exponentials."""
    while bottom is not below:
        if bottom.op not in ("named", "contract", "reshape") or len(bottom.args) != 1:
            return False
        bottom = bottom.args[0]
    return True


def _lined_up(
    top: Node, bottom: Node, factor: Node, axes: tuple[int, ...], kept: list[int], shape: Shape
) -> bool:
    """Tell whether the divisor belongs to each element above the line, and is the same in each sum there."""
    above, below = _places(top, factor), _places(bottom, factor)
    if above is None or below is None or any(axis not in above for axis in kept):
        return False
    return all(above[axis] - top.ndim == below[axis] - bottom.ndim for axis in kept) and (
        all(size == 1 for a, size in enumerate(bottom.shape) if a not in below.values())
    )


# ---------------------------------------------------------------------------- exponentials beside their sum


@rule("multiply contract", "exp(-logsumexp(x)) * f(exp(x)), f linear", "f(softmax(x))", "stability",
      below=(EXPONENTIAL, LOG_SUM))
def _exponentials_over_their_sum(node: Node) -> Node | None:
    """Write exponentials that are multiplied with one over their sum as softmax, so that neither overflows."""
    for k, scale in enumerate(node.args):
        one = _over_sum(scale) if scale.below & LOG_SUM else None
        if one is None:
            continue
        (x,) = one.args[0].args[0].args
        rest = exchanged(scale, one, constant(1.0))
        if rest is None:
            continue
        exponential = elementwise("exp", (x,))
        for j, arg in enumerate(node.args):
            found = None if j == k else exchanged(arg, exponential, _shares(x))
            if found is not None:
                args = list(node.args)
                args[j], args[k] = found, rest
                return rebuild(node, tuple(args))
    return None


@rule("exp", "exp(x - logsumexp(x))", "softmax(x)", "stability", inside="subtract")
def _share(node: Node) -> Node | None:
    (inside,) = node.args
    if not inside.is_subtraction:
        return None
    x, total = inside.args
    total = peel(total)
    whole = total.op == "logsumexp" and total.args[0] is x and not total.shape
    return _shares(x) if whole and x.shape == node.shape else None


def _over_sum(node: Node) -> Node | None:
    """Return a number exp(-logsumexp(x)) among the factors of a node."""
    todo = [node]
    for _ in range(_LOOK):
        if not todo:
            break
        part = todo.pop()
        if part.op in _FACTORS:
            todo.extend(part.args[:1] if part.is_division else part.args)
        elif part.op == "exp" and not part.shape and _is_less_sum(part.args[0]):
            return part
    return None


def _is_less_sum(node: Node) -> bool:
    return node.is_negation and node.args[0].op == "logsumexp"


def _shares(x: Node) -> Node:
    return normalize("softmax", x, tuple(range(x.ndim)))


def exchanged(node: Node, factor: Node, other: Node, depth: int = _LOOK) -> Node | None:
    """Put ``other`` in the place of a factor of each term; None where a term has it not."""
    if node is factor:
        return other
    if depth == 0 or not node.args:
        return None
    if node.op in ("add", "subtract"):
        parts = [exchanged(arg, factor, other, depth // 2) for arg in node.args]
        return rebuild(node, tuple(part for part in parts if part is not None)) if None not in parts else None
    if node.op not in _FACTORS:
        return None
    for k, arg in enumerate(node.args[:1] if node.is_division else node.args):
        found = exchanged(arg, factor, other, depth - 1)
        if found is not None:
            return rebuild(node, (*node.args[:k], found, *node.args[k + 1 :]))
    return None
