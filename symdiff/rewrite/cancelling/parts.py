"""Terms and factors as the rules that cancel see them, and sums and products of what is left."""

from __future__ import annotations

from ...graph import Node, constant
from ...graph.scalars.arithmetic import factors_of
from ..rewriter import make, multiplied

#: Most factors of a product and terms of a sum that are compared.
FACTORS, TERMS = 12, 9
#: How many operations are looked through from a sum to what it is of.
DEPTH = 8


def product_of(factors: list[Node]) -> Node:
    """Return a product, 1 of nothing."""
    result = constant(1.0)
    for factor in factors:
        result = make("multiply", result, factor)
    return result


def total_of(parts: list[tuple[float, Node]]) -> Node:
    """Return a sum of terms with their signs."""
    (sign, total), *rest = parts
    if sign < 0:
        total = make("negative", total)
    for sign, part in rest:
        total = make("add" if sign > 0 else "subtract", total, part)
    return total


def factors_in(node: Node) -> set[tuple[Node, bool]]:
    """Return the factors of a term, with whether each is a divisor; x for the direction of x."""
    found: set[tuple[Node, bool]] = set()
    for base, n in factors_of(node, FACTORS).parts:
        core = without_scalars(base, found, ()) if n == 1.0 else base
        found.add((core.args[0] if core.op == "unit" else core, n < 0))
    return found


def without_scalars(node: Node, scalars: set[tuple[Node, bool]], through: tuple[str, ...]) -> Node:
    """Return an array without the scalars that multiply and divide it, which are added to a set."""
    for _ in range(DEPTH):
        if node.op in through:
            node = node.args[0]
        elif node.is_division and node.args[1].shape == ():
            scalars.update((base, not under) for base, under in scalars_of(node.args[1]))
            node = node.args[0]
        elif node.is_multiplication and () in (node.args[0].shape, node.args[1].shape):
            first = node.args[0].shape == ()
            scalars.update(scalars_of(node.args[not first]))
            node = node.args[first]
        elif node.is_contraction and len(node.args) == 2 and node.args[0].shape == ():
            if node.payload.labels[1] != node.payload.out:
                break
            scalars.update(scalars_of(node.args[0]))
            node = node.args[1]
        else:
            break
    return node


def scalars_of(node: Node) -> set[tuple[Node, bool]]:
    """Return the factors of a scalar, with whether each is a divisor."""
    return {(base, n < 0) for base, n in factors_of(node, FACTORS).parts}


def without_factor(term: Node, factor: Node) -> Node:
    """Return a product without a factor, which may be in front of an array."""
    found = factors_of(term, FACTORS)
    kept = [(base, n) for base, n in found.parts if base is not factor]
    inner = [(base.args[1] if base.is_contraction and base.args[0] is factor else base, n) for base, n in kept]
    return multiplied(constant(float(found.sign)), inner)
