"""A derivative of high order as a polynomial in a few functions: that of tan in tan and 1 + tan².

The derivatives of tan, tanh, the logistic function, exp(x) sin(x) and their like are sums of few
products of powers, whatever the order, and a person wants to see those. Here a formula is multiplied
out, as far as its sums are not what the formula began with: ``x - y`` stays a factor, since its
powers multiplied out would cancel.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from ..graph import Node, constant, elementwise, number, postorder
from ..ground.budget import spend

#: Powers of atoms, in the order of the atoms.
_Monomial: TypeAlias = tuple[tuple[int, int], ...]
_Polynomial: TypeAlias = dict[_Monomial, float]

#: Terms that a polynomial on the way may have.
_TERMS = 48


def as_polynomial(root: Node, whole: Collection[Node]) -> Node | None:
    """Write a scalar formula as a sum of products of powers.

    Parameters
    ----------
    root : Node
        Of shape ``()``.
    whole : collection of Node
        Sums that are not multiplied out.

    Returns
    -------
    Node or None
        None if there are too many terms, or terms that cancel altogether, which could hide a NaN.
    """
    atoms: dict[Node, int] = {}
    known: dict[Node, _Polynomial] = {}
    for node in postorder([root]):
        own = None if node in whole else _expanded(node, known)
        if own is None:
            own = {((atoms.setdefault(node, len(atoms)), 1),): 1.0}
        if len(own) > _TERMS or 0.0 in own.values():
            return None
        known[node] = own
    names = list(atoms)
    total: Node | None = None
    for monomial, c in sorted(known[root].items(), key=lambda item: item[0]):
        term = _written(monomial, c, names)
        total = term if total is None else elementwise("add", (total, term))
    return total


def _expanded(node: Node, known: dict[Node, _Polynomial]) -> _Polynomial | None:
    """Return the polynomial of a sum, product, quotient by a number or whole power; None for anything else."""
    value = number(node)
    if value is not None:
        return {(): value} if value else None
    if node.shape != () or any(arg.shape != () for arg in node.args):
        return None
    parts = [known[arg] for arg in node.args]
    if node.is_additive:
        total = dict(parts[0])
        for monomial, c in parts[1].items():
            total[monomial] = total.get(monomial, 0.0) + (c if node.is_addition else -c)
        return total
    if node.is_negation:
        return {monomial: -c for monomial, c in parts[0].items()}
    if node.is_multiplication:
        return _product(*parts)
    if node.is_division and list(parts[1]) == [()]:
        return {monomial: c / parts[1][()] for monomial, c in parts[0].items()}
    exponent = number(node.args[1]) if node.is_power else None
    if exponent is not None and exponent.is_integer() and 2 <= exponent <= _TERMS and len(parts[0]) == 1:
        ((monomial, c),) = parts[0].items()
        return {tuple((atom, n * int(exponent)) for atom, n in monomial): c**exponent}
    return None


def _product(a: _Polynomial, b: _Polynomial) -> _Polynomial | None:
    if len(a) * len(b) > _TERMS * _TERMS:
        return None
    spend(len(a) * len(b) >> 2)
    total: _Polynomial = {}
    for first, c in a.items():
        for second, d in b.items():
            powers = dict(first)
            for atom, n in second:
                powers[atom] = powers.get(atom, 0) + n
            monomial = tuple(sorted(powers.items()))
            total[monomial] = total.get(monomial, 0.0) + c * d
    return total


def _written(monomial: _Monomial, c: float, names: list[Node]) -> Node:
    result: Node | None = None
    for atom, n in monomial:
        power = names[atom] if n == 1 else elementwise("power", (names[atom], constant(float(n))))
        result = power if result is None else elementwise("multiply", (result, power))
    if result is None:
        return constant(c)
    if c == -1.0:
        return elementwise("negative", (result,))
    return result if c == 1.0 else elementwise("multiply", (constant(c), result))
