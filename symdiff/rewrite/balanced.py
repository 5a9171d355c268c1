"""Products of what is large or small far out, multiplied in an order in which partial products are neither.

The slope of ``1 / i0(x)`` is ``-i1(x) / i0(x)**2``. Computed as ``1 / i0(x) / i0(x) * i1(x)`` it is 0 wherever the
square overflows, at half the exponents at which the slope is a number. In pairs, ``i1(x) / i0(x) / i0(x)``, it has all
its digits as far as its functions have.

Logarithms of all partial products are computed at points far out. Where one leaves the range of numbers although all
factors and the product are within it, factors are joined anew: always those two whose product is nearest to 1. That is
taken where it is nowhere worse. No rule looks at the order of factors, so this is a pass of its own, behind all rules.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np

from ..graph import Node, constant, elementwise, postorder, rebuild
from ..graph.kinds import INVERSE
from ..graph.scalars.arithmetic import SUMS, factors_of
from ..graph.scalars.functions import FUNCTIONS, scalar_constant
from .kept_range import PRODUCTS, form_of
from .rewriter import spread

__all__ = ["balance_products"]

Points: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

#: Logarithm of the largest number, and of the smallest one with all its digits, less some room.
_LIMIT = 700.0
#: Logarithm below which a number counts as none that is large or small.
_ORDINARY = 150.0
#: Most factors that are looked at, and the highest power that is taken apart.
_FACTORS, _HIGHEST = 16, 8
#: Number of factors from which an order may matter.
_SEVERAL = 3.0
#: How many times more points there are where an order is better than where it is worse.
_FEWER = 8
#: One of how many points is enough to take a sum apart.
_SOME = 32
#: Number of points, and depth to which the form of what may have any size is told apart.
_POINTS, _FORM = 512, 3
#: Number of forms whose sizes are kept between formulas.
_KEPT = 256

#: Sizes of moderate numbers at the points: for exponentials, and for functions that vanish or grow faster.
_SCALES = np.resize([700.0, 175.0], _POINTS)

#: Logarithms of functions that grow or vanish as exponentials do or faster, roughly, by their last argument.
_FAR: dict[str, Callable[[Points], Points]] = {
    "exp": lambda t: t,
    "expm1": lambda t: np.maximum(t, 0.0),
    "cosh": np.abs,
    "sinh": np.abs,
    "sech": lambda t: -np.abs(t),
    "csch": lambda t: -np.abs(t),
    "sigmoid": lambda t: np.minimum(t, 0.0),
    "sigmoid_slope": lambda t: -np.abs(t),
    "expi": lambda t: t,
    "gamma": lambda t: 4.0 * t,
    "erfc": lambda t: -t * np.maximum(t, 0.0),
    **dict.fromkeys(("i0", "i1", "iv"), np.abs),
    **dict.fromkeys(("k0", "k1", "kv", "exp1", "expn"), lambda t: np.where(t > 0.0, -t, np.nan)),
    **dict.fromkeys(("airyai", "airyaiprime"), lambda t: -0.7 * np.maximum(t, 0.0) ** 1.5),
    **dict.fromkeys(("airybi", "airybiprime"), lambda t: 0.7 * np.maximum(t, 0.0) ** 1.5),
}
#: Operations whose sizes and values follow from those of their arguments.
_THROUGH = PRODUCTS | SUMS | {"negative", "named", "abs", "log", "power_log", "exp_share"}


def balance_products(roots: Sequence[Node], derived: Sequence[bool] = ()) -> list[Node]:
    """Order the factors of products in which several overflow or vanish, above and below.

    Parameters
    ----------
    roots : sequence of Node
    derived : sequence of bool
        Which of them are derivatives, whose products nobody wrote. For these an order may be worse at some points, if
        it is better at many more. By default none.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> x = input("x")
    >>> i0, i1 = elementwise("i0", (x,)), elementwise("i1", (x,))
    >>> balance_products([1.0 / i0 / i0 * i1])[0] is i1 / i0 / i0
    True
    """
    order = postorder(roots)
    as_written = order if not any(derived) else postorder(itertools.compress(roots, map(operator.not_, derived)))
    written = set(as_written)
    uses = Counter(arg for node in order for arg in node.args)
    new: dict[Node, Node] = {}
    sizes = _Sizes()
    far_numbers = any(node.is_constant and _is_far(node) for node in order)
    with np.errstate(all="ignore"):  # values far out overflow, and logarithms of them and of 0 are infinite
        for node in order:
            made = node
            for arg in node.args:
                if new[arg] is not arg:
                    made = rebuild(node, tuple([new[arg] for arg in node.args]))
                    break
            grows = made.op in _FAR or made.op == "exp_share" or _is_open_power(made)
            grows = grows or (made.op in _THROUGH and any(arg in sizes.far for arg in made.args))
            if made.is_multiplicative and (grows or far_numbers or made.below & INVERSE):
                made = _balanced(made, sizes, node in written, uses)
            if grows:
                sizes.far.add(made)
            if made is not node:
                uses[made] += uses[node]
            new[node] = made
    return [new[root] for root in roots]


def _is_open_power(node: Node) -> bool:
    """Tell whether a node is a power by what is no number, or one times a power of the logarithm."""
    return node.op == "power_log" or (node.is_power and scalar_constant(node.args[1]) is None)


def _is_product(node: Node) -> bool:
    return node.is_multiplicative or node.is_negation


def _is_far(number: Node) -> bool:
    """Tell whether a number is so large or small that few others may multiply it."""
    c = scalar_constant(number)
    return c is not None and c != 0.0 and math.isfinite(c) and abs(math.log(abs(c))) > _ORDINARY


def _may_leave(parts: Sequence[tuple[Node, float]], sizes: _Sizes) -> bool:
    """Tell whether factors may be large above and below: one of them several times, or several that grow or vanish."""
    far, counts = 0.0, dict[Node, list[float]]()
    for base, n in parts:
        kind = constant(abs(scalar_constant(base) or 0.0)) if base.is_constant else base
        counts.setdefault(kind, []).append(n)
        if base.is_constant:
            far += abs(n) * 2.0 * _is_far(base)
        elif base in sizes.far:
            far += abs(n) * (1 + _is_short_sum(base))
    if far >= _SEVERAL:
        return True
    return any(sum(map(abs, own)) >= _SEVERAL and min(own) < 0.0 < max(own) for own in counts.values())


class _Factor(NamedTuple):
    """A factor or divisor of a product, and the logarithm of what it multiplies the product by."""

    node: Node
    divides: bool
    size: Points

    def times(self, other: _Factor) -> _Factor:
        """Join two of them."""
        if self.divides and not other.divides:
            return other.times(self)
        op = "divide" if other.divides and not self.divides else "multiply"
        return _Factor(elementwise(op, (self.node, other.node)), self.divides, self.size + other.size)


def _balanced(product: Node, sizes: _Sizes, is_written: bool, uses: Mapping[Node, int]) -> Node:
    sign, parts, whole = factors_of(product, _FACTORS, powers=_HIGHEST)
    if not whole or len(parts) < 2 or not _may_leave(parts, sizes):
        return product
    if not is_written and (terms := _distributed(product, parts, sizes)) is not None:
        made = [_balanced(term, sizes, is_written, uses) for term in terms.args]
        return spread(elementwise(terms.op, tuple(made)), product.shape)
    within = np.abs(sizes.of(product))
    for base, _ in parts:
        within = np.maximum(within, np.abs(sizes.of(base)))
    points = np.flatnonzero(within <= _LIMIT)
    written = np.maximum(_reach(product, sizes)[points], _LIMIT)
    if not (written > _LIMIT).any():
        return product
    best, fewest = product, int((written > _LIMIT).sum())
    # products that come several times were written so; taken apart, they may be joined otherwise
    coarse = factors_of(
        product, _FACTORS, enter=lambda part, n: part is product or (_is_product(part) and uses.get(part, 0) < 2)
    )
    for outer, some in ((coarse.sign, coarse.parts), (sign, parts)):
        factors = [factor for base, n in some for factor in _factors(base, n, sizes)]
        if len(factors) < 3:
            continue
        found, reach = _joined(factors, points)
        left, worse = int((reach > _LIMIT).sum()), int((reach > written).sum())
        if left < fewest and _FEWER * worse <= fewest - left and not (worse and is_written):
            result = 1.0 / found.node if found.divides else found.node
            best, fewest = result if outer > 0 else elementwise("negative", (result,)), left
    return spread(best, product.shape)


def _factors(base: Node, n: float, sizes: _Sizes) -> list[_Factor]:
    """Return a power as factors, none for 1."""
    if scalar_constant(base) == 1.0:
        return []
    return [_Factor(base, n < 0, math.copysign(1.0, n) * sizes.of(base))] * int(abs(n))


def _is_short_sum(node: Node) -> bool:
    return node.op in SUMS and not any(arg.op in SUMS for arg in node.args)


def _distributed(product: Node, parts: Sequence[tuple[Node, float]], sizes: _Sizes) -> Node | None:
    """Multiply the terms of a sum by the other factors, where the terms leave the range and the products do not."""
    for total, n in parts:
        if n != 1.0 or not _is_short_sum(total) or sum(base is total for base, _ in parts) > 1:
            continue
        own = [base for term in total.args for base, _ in factors_of(term, _FACTORS, powers=_HIGHEST).parts]
        others = [base for base, _ in parts if base is not total]
        within = np.abs(sizes.of(product))
        for base in (*own, *others):
            within = np.maximum(within, np.abs(sizes.of(base)))
        left = np.abs(sizes.of(total))[within <= _LIMIT] > _LIMIT
        if _SOME * left.sum() > left.size:
            return elementwise(total.op, tuple([_instead(product, total, term) for term in total.args]))
    return None


def _instead(product: Node, total: Node, term: Node) -> Node:
    """Put a term in the place of a sum that is a factor."""
    if product is total:
        return term
    if _is_product(product):
        return elementwise(product.op, tuple([_instead(arg, total, term) for arg in product.args]))
    return product


def _reach(product: Node, sizes: _Sizes) -> Points:
    """Return the largest logarithm of all partial products as they are written, with either sign."""
    found = np.zeros(_POINTS)
    todo = [product]
    while todo:
        node = todo.pop()
        if _is_product(node) or node.is_power:
            found = np.maximum(found, np.abs(sizes.of(node)))
            todo += node.args[: 1 if node.is_power else 2]
    return found


def _joined(factors: list[_Factor], points: Any) -> tuple[_Factor, Points]:
    """Join factors, always the two whose product is nearest to 1, and return the largest logarithm on the way."""
    left = list(factors)
    own = np.array([factor.size[points] for factor in left])
    reach = np.abs(own).max(axis=0)
    far = np.full((len(left), len(left)), np.inf)
    for i in range(len(left)):
        far[i, i + 1 :] = _distances(own[i], own[i + 1 :])
    while len(left) > 1:
        i, j = divmod(int(far.argmin()), len(left))
        own[i] += own[j]
        left[i] = left[i].times(left[j])
        reach = np.maximum(reach, np.abs(own[i]))
        del left[j]
        own = np.delete(own, j, axis=0)
        far = np.delete(np.delete(far, j, axis=0), j, axis=1)
        far[:i, i] = _distances(own[i], own[:i])
        far[i, i + 1 :] = _distances(own[i], own[i + 1 :])
    return left[0], reach


def _distances(one: Points, others: Points) -> Points:
    """Return how far products of one factor with each of others are from 1, in which what is farthest counts most."""
    far = np.square(others + one)
    found: Points = np.square(far, out=far).sum(axis=1)
    return found


class _Sizes:
    """Values of nodes at points far out, and logarithms of their sizes, which go on where values overflow."""

    def __init__(self) -> None:
        self.known: dict[Node, tuple[Points, Points]] = {}
        #: Nodes among whose factors or terms are functions that grow or vanish far out.
        self.far: set[Node] = set()

    def of(self, root: Node) -> Points:
        """Return the logarithms of a node's size."""
        if root not in self.known:
            todo = [root]
            while todo:
                node = todo[-1]
                args = node.args if node.op in _THROUGH or node.op in _FAR else ()
                missing = [arg for arg in args if arg not in self.known]
                todo += missing
                if not missing:
                    self.known[todo.pop()] = _value_of(node, [self.known[arg] for arg in args])
        return self.known[root][1]


def _value_of(node: Node, args: Sequence[tuple[Points, Points]]) -> tuple[Points, Points]:
    """Return the value and the logarithm of the size of a node by those of its arguments."""
    op, c = node.op, scalar_constant(node)
    values = [value for value, _ in args]
    logs = [size for _, size in args]
    if c is not None:
        return np.full(_POINTS, c), np.full(_POINTS, math.log(abs(c)) if c and math.isfinite(c) else 0.0)
    if op == "multiply":
        return values[0] * values[1], logs[0] + logs[1]
    if op == "divide":
        return values[0] / values[1], logs[0] - logs[1]
    if op in ("negative", "named"):
        return -values[0] if op == "negative" else values[0], logs[0]
    if op == "abs":
        return np.abs(values[0]), logs[0]
    if op in SUMS:
        value = values[0] + values[1] if op == "add" else values[0] - values[1]
        return value, np.maximum(logs[0], logs[1])
    if op == "sqrt":
        return np.sqrt(np.abs(values[0])), 0.5 * logs[0]
    if node.is_power:
        n = scalar_constant(node.args[1])
        size = logs[0] * (values[1] if n is None else n)
        return np.exp(size), size
    if op == "power_log":
        size = logs[1] * values[2]
        return np.exp(size), size
    if op == "exp_share":  # 1 / (a + b exp(t))
        size = -np.maximum(logs[0], logs[1] + values[2])
        return np.exp(size), size
    if op in _FAR:
        size = _FAR[op](np.nan_to_num(values[-1], posinf=1e300, neginf=-1e300))
        return np.exp(size), size
    if op == "log":
        return logs[0], np.log(np.abs(logs[0]) + 1.0)
    return (np.ones(_POINTS), np.zeros(_POINTS)) if op in FUNCTIONS else _drawn(node)


def _drawn(node: Node) -> tuple[Points, Points]:
    """Return numbers that depend on the form of a node alone."""
    return _of_any_size(crc32(form_of(node, _FORM).encode()))


@lru_cache(_KEPT)
def _of_any_size(key: int) -> tuple[Points, Points]:
    """Return numbers and the logarithms of their sizes: half of them up to some hundred, others of any size."""
    way, size, sign = (_random(key + k * 0x9E3779B1) for k in range(3))
    rest = np.where(way < 0.6, 6.0 - 8.0 * size, 690.0 * (2.0 * size - 1.0))
    logs = np.where(way < 0.5, np.log(_SCALES * size), rest)
    return np.where(sign < 0.4, -1.0, 1.0) * np.exp(logs), logs


def _random(seed: int) -> Points:
    """Return numbers between 0 and 1, the same ones on every machine. Splitmix64, by Steele, Lea and Flood."""
    state = np.arange(1, _POINTS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state += np.uint64(seed * 0x2545F4914F6CDD1D % 2**64)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Points = ((state ^ (state >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return found
