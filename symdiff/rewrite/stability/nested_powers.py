"""Roots and powers of powers as one power, in what is differentiated.

The slope of ``(x**4)**(2/3)`` is ``2/3 (x**4)**(-1/3) 4 x**3``, which is nan at 0, where that of ``abs(x)**(8/3)`` is
0. So is that of ``cbrt(x)**3``, which is x. Factors of a product that are powers of one number are one power, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...graph import Node, constant, elementwise
from ...graph.scalars.arithmetic import factors_of, peel
from ...graph.scalars.functions import scalar_constant
from ..rewriter import rule, spread
from .roots import length_of, square_of

#: How many operations down powers are looked for, and most factors of a product.
_DEPTH, _FACTORS = 6, 12
#: What is never negative, and vanishes where its arguments do.
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


@rule("power sqrt cbrt", "cbrt(x)**3, (x**4)**(2/3), sum(x**2)**(3/4)", "x, abs(x)**(8/3), norm(x)**(3/2)",
      "differentiated")
def _power_of_power(node: Node) -> Node | None:
    n = {"sqrt": 0.5, "cbrt": 1.0 / 3.0}.get(node.op) or scalar_constant(node.args[1])
    inner = power_of(node.args[0])
    if inner is None or inner.n == 1.0 or inner.x.is_constant or inner.x.shape != node.shape:
        return None
    if n is None:  # a square to a power that is an input
        if inner.n != 2.0 or inner.odd or inner.x.op in _LENGTHS:
            return None
        twice = elementwise("multiply", (constant(2.0), node.args[1]))
        return spread(elementwise("power", (elementwise("abs", (inner.x,)), twice)), node.shape)
    found = power_of(node)
    # slopes of whole powers are right at 0, and those of squares to more than 1
    if found is None or (n.is_integer() and inner.n.is_integer()) or (inner.n == 2.0 and not 0.0 < n < 1.0):
        return None
    is_root_left = inner.odd and not found.n.is_integer()
    return None if is_root_left else spread(found.written(), node.shape)


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
