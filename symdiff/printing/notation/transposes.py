"""Matrices beside their transposes in sums, and vectors over their lengths in chains."""

from __future__ import annotations

from itertools import combinations

from .common_factors import turned_over
from .numbers import exchanged
from .reader import Reader, ReadingRules
from .terms import Term

RULES = ReadingRules()
#: Most terms of a sum that are compared in pairs.
_MOST = 16


@RULES.of("sum")
def _transposes_of_sums(reader: Reader, term: Term) -> Term | None:
    """Write the transpose of a sum, of which one term at most is not symmetric, as terms: S - Aᵀ for (S - A)ᵀ."""
    if term.ndim != 2 or len(term.args) > _MOST:
        return None
    parts: list[tuple[Term, bool]] = []
    for arg, minus in term.pairs:
        inner = arg.args[0] if arg.kind == "transpose" else arg
        opened = [(turned_over(reader, part), minus != own) for part, own in inner.pairs
                  ] if inner is not arg and _is_of_matrices(inner) else []  # fmt: skip
        moved = sum(part is not before for (part, _), before in zip(opened, inner.args, strict=False))
        parts += opened if opened and moved <= 1 else [(arg, minus)]
    return reader.sum(parts, term.shape) if len(parts) > len(term.args) else None


def _is_of_matrices(term: Term) -> bool:
    """Tell whether a term is a sum of matrices, none of which is a vector for every row."""
    return term.kind == "sum" and all(part.shape == term.shape for part in term.args)


@RULES.of("sum")
def _transposes_together(reader: Reader, term: Term) -> Term | None:
    """Write a matrix and its transpose side by side in a sum, in the same order wherever they are added."""
    if term.ndim != 2 or len(term.args) > _MOST:
        return None
    order = list(range(len(term.args)))
    for i, j in combinations(order, 2):
        if term.data[i] == term.data[j] and turned_over(reader, term.args[i]) is term.args[j] is not term.args[i]:
            order.remove(j)
            order.insert(order.index(i) + 1, j)
    if len(order) == 2 and not any(term.data) and turned_over(reader, term.args[0]) is term.args[1]:
        return reader.made("sum", term.args[::-1], term.data, term.shape)
    if order == sorted(order):
        return None
    return reader.sum([(term.args[at], term.data[at]) for at in order], term.shape)


@RULES.of("product")
def _direction_in_chain(reader: Reader, term: Term) -> Term | None:
    """Write a vector over its length as its direction: in x yᵀ / ‖x‖, and in A x uᵀ / ‖x‖ beside the direction."""
    over, under = term.factors
    for divisor in under:
        if divisor.kind != "reduce" or divisor.data[0] != "norm" or divisor.ndim:
            continue
        for place, arg in enumerate(over):
            for k, chain in enumerate(arg.args) if arg.kind == "outer" else ():
                unit, (x,) = arg.args[1 - k], divisor.args
                if chain is x:
                    turned = reader.make("reduce", (x,), ("unit", *divisor.data[1:]), x.shape)
                elif chain.kind == "matmul" and chain.args[-1] is x and _is_direction(unit, x):
                    turned = reader.chain([*chain.args[:-1], unit])
                else:
                    continue
                over[place] = reader.make("outer", (turned, unit) if k == 0 else (unit, turned), None, arg.shape)
                return reader.product(over, exchanged(under, divisor, []), term.shape)
    return None


def _is_direction(term: Term, x: Term) -> bool:
    return term.kind == "reduce" and term.data[0] == "unit" and term.args[0] is x
