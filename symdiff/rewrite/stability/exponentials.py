"""Quotients of exponentials in one normal form, which neither overflows nor loses its derivative.

A product is decomposed into a number, one exponent, sums of exponentials with powers, and the
rest. An exponent and a sum belong together: ``exp(x) / (1 + exp(x))**2`` is ``inf / inf`` far out,
and the same as ``sigmoid(x) * sigmoid(-x)``. With ``F(t) = 1 / (b + c exp(t))``, what is one exponent
further on is ``exp(t) F(t) = 1 / (b exp(-t) + c)``, a function of the same kind: so an exponent is
taken into the functions as far as it reaches, and what is left over cannot meet a 0 with an inf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...graph import Node, constant, elementwise, postorder
from ...graph.scalars.functions import scalar_constant
from ...graph.sizes import Shape
from .exponents import (
    TERMS,
    ExponentialProduct,
    Linear,
    Sum,
    added,
    as_node,
    may_hold_exponentials,
    multiple,
    multiplied,
    product_that_meets,
    raised,
    ratio,
    scaled_node,
    sum_of,
)
from .sums import wide_form


class Share(NamedTuple):
    """``(b + c exp(t))**-power``."""

    b: Node
    c: Node
    t: Linear
    power: float = 1.0

    @property
    def kind(self) -> int:
        """1 where b = c > 0, -1 where b = -c, 2 where both are positive numbers, else 0."""
        b, c = scalar_constant(self.b), scalar_constant(self.c)
        if b is None or c is None:
            return 0
        return 1 if b == c > 0 else -1 if b == -c else 2 if b > 0 and c > 0 else 0


def normal_form(node: Node) -> Node | None:
    """Return a product or quotient with exponentials in its normal form; None where it has it, or none is known."""
    if not may_hold_exponentials(node):
        return None
    product = product_that_meets(node)
    if product is None or not _wants_form(product) or _goes_together(product):
        return None
    try:
        result = _build(product, node.shape)
    except OverflowError:  # a number of the form is none that there is
        return None
    return None if result is None or result is node else result


def _wants_form(p: ExponentialProduct) -> bool:
    """Tell whether a product holds what may meet as 0 and inf."""
    if p.exponentials > 1 or (p.raw and not p.sums and p.exponentials):
        return True
    if any(power < 0 for power in p.sums.values()) and (p.under or p.exponentials or p.raw):
        return True
    return bool(p.exponentials and p.sums)


def _goes_together(p: ExponentialProduct) -> bool:
    """Tell whether one exponential stands beside differences exp(t) - 1, or roots of sums, that grow where it grows.

    Then neither is 0 where the other is infinite, and the product is right and short as it is; within a root, an
    exponential would have a multiple of its exponent.
    """
    if p.exponentials != 1 or p.raw > len(p.sums) or not p.sums:
        return False
    for found, power in p.sums.items():
        parts = sorted(found.parts(), key=lambda part: bool(part[1]))
        if power < 0 or len(parts) != 2 or parts[0][1] or not parts[1][1]:  # exp(0 x) - exp(-0 x) has no exponents
            return False
        (b, _), (c, t) = parts
        reach = ratio(p.exponent, t)
        if (Share(b, c, t).kind != -1 and power >= 1.0) or reach is None or reach <= 0:
            return False
    return True


def _build(p: ExponentialProduct, shape: Shape) -> Node | None:
    """Return the product in its normal form."""
    number, exponent = p.number, dict(p.exponent)
    shares: dict[tuple[Node, Node, frozenset[tuple[Node | None, float]]], Share] = {}
    tops: list[tuple[Share, float]] = []
    wide: list[tuple[Sum, float]] = []
    for found, power in p.sums.items():
        if len(found.coefficients) > 2:
            wide.append((found, power))
            continue
        (b, l1), (c, l2) = sorted(found.parts(), key=lambda part: bool(part[1]))
        t = added(l2, l1, -1.0)
        if not t:
            return None  # what moved has cancelled
        exponent = added(exponent, l1, power)
        b, c, t, exponent, number = _upright(b, c, t, exponent, number, power)
        if power > 0:
            tops.append((Share(b, c, t), power))
        else:
            key = (b, c, frozenset(t.items()))
            before = shares[key].power if key in shares else 0.0
            shares[key] = Share(b, c, t, before - power)
    directions = [exponent, *(share.t for share in shares.values()), *(top.t for top, _ in tops)]
    seen = {node for t in directions for node in t}
    lost = [] if wide else [node for node in p.moving if node not in seen]
    for node in lost:  # it cancels, but leaves a nan where it is nan or infinite
        exponent[node - node] = 1.0
    if wide or len(shares) + len(tops) > 4:
        return wide_form(p, shape) if len(p.sums) <= 2 else None
    if exponent and not shares and [(top.kind, power) for top, power in tops] == [(-1, 1.0)] and _stands_apart(
        tops[0][0].t, p
    ):
        return _gap(p, number * (scalar_constant(tops[0][0].c) or 1.0), exponent, tops[0][0].t, shape)
    factors, tops = _without_differences(shares, tops)
    rest: list[tuple[Share, float]] = []
    for top, power in tops:
        key = (top.b, top.c, frozenset(top.t.items()))
        common = 0.0
        if key in shares and top.kind == 1:  # (1 + exp(t)) / (1 + exp(t))
            common = min(power, shares[key].power)
            shares[key] = shares[key]._replace(power=shares[key].power - common)
        if power > common:
            rest.append((top, power - common))
    below = [share for share in shares.values() if share.power]
    return _with_tops(p, number, exponent, below, rest, factors, shape)


def _stands_apart(t: Linear, p: ExponentialProduct) -> bool:
    """Tell whether no divisor depends on what an exponent depends on, so that none vanishes where it is 0."""
    divisors = [base for base, n in p.others.items() if n < 0]
    inputs = {node for node in postorder([node for node in t if node is not None]) if node.is_input}
    return not any(node in inputs for node in postorder(divisors))


def _gap(p: ExponentialProduct, number: float, exponent: Linear, t: Linear, shape: Shape) -> Node | None:
    """Return exp(l) (exp(t) - 1), or -exp(l + t) (exp(-t) - 1), of which one has the shorter exponent."""
    other = added(exponent, t)
    if len(other) < len(exponent):
        number, exponent, t = -number, other, multiple(t, -1.0)
    gap = elementwise("exp_gap", (as_node(exponent), as_node(t))) if exponent else elementwise("expm1", (as_node(t),))
    return _join(p, number, {}, [], [gap], shape)


def _without_differences(
    shares: dict[tuple[Node, Node, frozenset[tuple[Node | None, float]]], Share], tops: list[tuple[Share, float]]
) -> tuple[list[Node], list[tuple[Share, float]]]:
    """Write differences of the numerator as exp(t) - 1 = tanh(t / 2) (exp(t) + 1): their terms would cancel."""
    factors: list[Node] = []
    found: list[tuple[Share, float]] = []
    one = constant(1.0)

    def add_share(t: Linear, power: float) -> None:
        key = (one, one, frozenset(t.items()))
        shares[key] = Share(one, one, t, power + (shares[key].power if key in shares else 0.0))

    for top, power in tops:  # (exp(t) - 1) / (exp(2 t) - 1) = 1 / (exp(t) + 1)
        key = (top.b, top.c, frozenset(multiple(top.t, 2.0).items()))
        if top.kind == -1 and key in shares and shares[key].power == power:
            del shares[key]
            add_share(top.t, power)
            tops = [pair for pair in tops if pair[0] is not top]
    differences = any(top.kind == -1 for top, _ in tops)
    for top, power in tops:
        if top.kind == -1:
            factors.append(raised(_half_tangent(top), power))
        found.append((Share(one, one, top.t) if top.kind == -1 else top, power))
    sums = [top.t for top, _ in found]
    for key, share in list(shares.items()):
        if share.kind == -1 and (differences or share.t in sums):
            factors.append(raised(_half_tangent(share), -share.power))
            del shares[key]
            add_share(share.t, share.power)
    return factors, found


def _half_tangent(share: Share) -> Node:
    """Return (exp(t) - 1) / (exp(t) + 1), or (1 - exp(t)) / (exp(t) + 1), which fractional powers tell apart."""
    half = 0.5 if scalar_constant(share.c) == 1.0 else -0.5
    return elementwise("tanh", (as_node(multiple(share.t, half)),))


def _upright(
    b: Node, c: Node, t: Linear, exponent: Linear, number: float, power: float
) -> tuple[Node, Node, Linear, Linear, float]:
    """Write a sum so that equal ones look equal: the first number of t positive, b and c free of a common number."""
    if next(iter(sorted(t.items(), key=lambda pair: (pair[0] is None, _rank(pair[0])))))[1] < 0:
        exponent = added(exponent, t, power)
        b, c, t = c, b, multiple(t, -1.0)
    first, second = scalar_constant(b), scalar_constant(c)
    if first is not None and second is not None and abs(first) == abs(second) != 1.0:
        number *= abs(first) ** power
        b, c = constant(math.copysign(1.0, first)), constant(math.copysign(1.0, second))
    if scalar_constant(b) == 1.0 and scalar_constant(c) == -1.0 and float(power).is_integer():
        number *= (-1.0) ** power
        b, c = c, b
    return b, c, t, exponent, number


def _rank(node: Node | None) -> str:
    if node is None:
        return ""
    payload = tuple(node.payload) if isinstance(node.payload, tuple) else node.payload
    return f"{node.op} {payload!r:.40}"


def _with_tops(
    p: ExponentialProduct,
    number: float,
    exponent: Linear,
    below: list[Share],
    tops: list[tuple[Share, float]],
    factors: list[Node],
    shape: Shape,
) -> Node | None:
    """Multiply sums of the numerator out, if there is one; leave them where nothing meets them."""
    if not tops or not (below or exponent):
        lone = [raised(_open(top), power) for top, power in tops]
        return _join(p, number, exponent, below, [*factors, *lone], shape)
    if len(tops) > 1:
        return wide_form(p, shape) if len(p.sums) <= 2 else None
    (top, power) = tops[0]
    if below and power in range(2, TERMS):
        return _distributed(p, number, exponent, below, _multiplied_out(top, int(power)), factors, shape)
    if not below:
        part = multiple(exponent, 1.0 / power)
        opened = sum_of([(top.b, part), (top.c, added(part, top.t))])
        return _join(p, number, {}, [], [*factors, raised(opened, power)], shape)
    if power != 1.0:
        return wide_form(p, shape) if len(p.sums) <= 2 else None
    return _distributed(p, number, exponent, below, [(top.b, {}), (top.c, top.t)], factors, shape)


def _multiplied_out(top: Share, power: int) -> list[tuple[Node, Linear]]:
    """Return the terms of (b + c exp(t))**power."""
    parts = []
    for k in range(power + 1):
        first, second = scalar_constant(top.b), scalar_constant(top.c)
        if first is not None and second is not None:
            coefficient = constant(math.comb(power, k) * first ** (power - k) * second**k)
        else:
            coefficient = constant(float(math.comb(power, k)))
            for base, n in ((top.b, power - k), (top.c, k)):
                if n:
                    coefficient = coefficient * raised(base, float(n))
        parts.append((coefficient, multiple(top.t, float(k))))
    return parts


def _distributed(
    p: ExponentialProduct,
    number: float,
    exponent: Linear,
    below: list[Share],
    parts: Sequence[tuple[Node, Linear]],
    factors: list[Node],
    shape: Shape,
) -> Node | None:
    """Return each term of a numerator over all of the denominator, added up.

    Where all terms would have one denominator, they stay together: factoring would put them together again.
    """
    taken = [_taken_in(added(exponent, shift), below) for _, shift in parts]
    (_, kept), *others = taken
    if all(moved == kept for _, moved in others) and not any(_is_apart(left, below) for left, _ in taken):
        common: Linear = {}
        for share, moved in kept:
            common = added(common, share.t, moved)
        opened = sum_of([(c, left) for (c, _), (left, _) in zip(parts, taken, strict=True)])
        return _join(p, number, common, below, [*factors, opened], shape)
    total: Node | None = None
    for coefficient, shift in parts:
        term = _join(ExponentialProduct(), 1.0, added(exponent, shift), below, [], None)
        if term is None:
            return None
        c = scalar_constant(coefficient)
        size = term if c is not None and abs(c) == 1.0 else (coefficient if c is None else constant(abs(c))) * term
        if c is not None and c < 0:
            total = -size if total is None else total - size
        else:
            total = size if total is None else total + size
    assert total is not None
    return _join(p, number, {}, [], [*factors, total], shape)


def _open(share: Share) -> Node:
    return sum_of([(share.b, {}), (share.c, share.t)])


def _join(
    p: ExponentialProduct,
    number: float,
    exponent: Linear,
    below: Sequence[Share],
    factors: Sequence[Node],
    shape: Shape | None,
) -> Node | None:
    """Take the exponent into the shares as far as it reaches, and multiply everything."""
    written: list[Node] = []
    left, kept = _taken_in(exponent, below)
    if _is_apart(left, below):
        return multiplied(p, number, [*factors, _logarithmic(left, kept)], shape)
    for share, moved in kept:
        scale, nodes = _write_share(share, moved)
        number *= scale
        written.extend(nodes)
    if left.keys() - {None}:
        written.append(elementwise("exp", (as_node(left),)))
    elif left:
        number *= math.exp(left[None])
    if not number or not math.isfinite(number):
        return None
    return multiplied(p, number, [*factors, *written], shape)


def _taken_in(exponent: Linear, below: Sequence[Share]) -> tuple[Linear, list[tuple[Share, float]]]:
    """Return what is left of an exponent, and how many times t each share takes of it."""
    kept: list[tuple[Share, float]] = []
    for share in below:
        moved = _reach(exponent, share)
        exponent = added(exponent, share.t, -moved)
        kept.append((share, moved))
    return exponent, kept


def _is_apart(left: Linear, below: Sequence[Share]) -> bool:
    """Tell whether what is left may meet a share as inf and 0, and all shares have logarithms."""
    apart = bool(left) and any(ratio(left, share.t) is None for share in below) and not _is_small(left)
    return apart and all(share.kind > 0 for share in below)


def _reach(exponent: Linear, share: Share) -> float:
    """Return how many times t the exponent of a share may take."""
    wanted = ratio(exponent, share.t)
    if wanted is None:
        shared = [exponent.get(node, 0.0) / c for node, c in share.t.items() if node is not None]
        wanted = min(shared, key=abs) if shared and (min(shared) > 0 or max(shared) < 0) else 0.0
    reached = min(max(wanted, 0.0), share.power)
    if share.kind > 0 or (share.kind == -1 and 2.0 * reached == share.power and share.power.is_integer()):
        return reached
    return float(math.floor(reached))


def _is_small(exponent: Linear) -> bool:
    """Tell whether an exponent is negative wherever it moves, as far as a short look goes."""
    for node, c in exponent.items():
        if node is None:
            continue
        square = node.op == "abs" or (node.is_multiplication and node.args[0] is node.args[1])
        if node.is_power:
            n = scalar_constant(node.args[1])
            square = n is not None and n % 2 == 0
        if c > 0 or not square:
            return False
    return True


def _logarithmic(left: Linear, kept: Sequence[tuple[Share, float]]) -> Node:
    """Return the exponential of what is left of an exponent and of the logarithms of shares, with what each has taken.

    A share that has taken t is 1 / (c + b exp(-t)), whose logarithm keeps its digits: t - softplus(t) would lose them.
    """
    total = as_node(left)
    for share, moved in kept:
        b, c = scalar_constant(share.b) or 1.0, scalar_constant(share.c) or 1.0
        shift = math.log(c / b)
        t = added(share.t, {None: shift} if shift else {})
        for size, power, exponent in ((b, share.power - moved, multiple(t, -1.0)), (c, moved, t)):
            if power:
                total = total + scaled_node(power, elementwise("log_sigmoid", (as_node(exponent),)))
                total = total - power * math.log(size) if size != 1.0 else total
    return elementwise("exp", (total,))


def _write_share(share: Share, moved: float) -> tuple[float, list[Node]]:
    """Return (number, factors) of exp(moved t) (b + c exp(t))**-power."""
    up, down = share.power - moved, moved
    if share.kind == 1:
        if up == down:
            half = multiple(share.t, 0.5)
            if all(float(c).is_integer() for c in half.values()) or not float(up).is_integer():
                return 0.5**share.power, [raised(elementwise("sech", (as_node(half),)), share.power)]
            return 1.0, [raised(elementwise("sigmoid_slope", (as_node(share.t),)), up)]
        pairs = ((multiple(share.t, -1.0), up), (share.t, down))
        return 1.0, [_root_or_power("sigmoid", "log_sigmoid", (as_node(t),), n) for t, n in pairs if n]
    if share.kind == -1 and up == down:
        # exp(t / 2) / (exp(t) - 1) = 1 / (2 sinh(t / 2))
        return (2.0 * (scalar_constant(share.c) or 1.0)) ** -share.power, [
            raised(elementwise("csch", (as_node(multiple(share.t, 0.5)),)), share.power)
        ]
    ways = ((share.b, share.c, share.t, up), (share.c, share.b, multiple(share.t, -1.0), down))
    if share.kind == 2:
        parts = [((b, c, as_node(t)), n) for b, c, t, n in ways if n]
        return 1.0, [_root_or_power("exp_share", "log_exp_sum", args, n) for args, n in parts]
    return 1.0, [raised(elementwise("exp_share", (b, c, as_node(t))), n) for b, c, t, n in ways if n]


def _root_or_power(name: str, logarithm: str, args: tuple[Node, ...], n: float) -> Node:
    """Return a power of a share; a root by its logarithm, which reaches further than the share."""
    if float(n).is_integer():
        return raised(elementwise(name, args), n)
    sign = 1.0 if name == "sigmoid" else -1.0
    return elementwise("exp", (constant(sign * n) * elementwise(logarithm, args),))
