"""Factor common factors and divisors out of sums: ``x*a + x*b`` is computed as ``x*(a + b)``.

A derivative arrives as a sum over the ways from the input to the result, and ways that part
late share what they pass through. What is used elsewhere as well is left alone, so nothing
that was shared is computed twice. Only the last factor of a product is factored out: the rest
was computed before as well, so it does not overflow where ``(x*a)*b`` did not and ``a*b``
does. A sum keeps its order where nothing is factored out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from .builder import ProgramBuilder

#: Terms of the longest sum that is searched: the time stays linear in the length of the program.
_LONGEST = 64
#: What a division counts as beside a product.
_DIVISION = 6
_SUMS = frozenset(("add", "subtract"))
_PRODUCTS = frozenset(("multiply", "divide"))


class _Product(NamedTuple):
    """``left * right`` or ``left / right``, in the order it was written."""

    left: _Tree
    right: _Tree
    divides: bool


#: A decomposed product, or a value.
_Tree: TypeAlias = "_Product | int"
#: A value, and whether it is divided by.
_Factor: TypeAlias = tuple[int, bool]
#: Terms of a sum and their signs.
_Terms: TypeAlias = list[tuple[int, _Tree]]


def factor_out(builder: ProgramBuilder, roots: Iterable[int]) -> list[int]:
    """Append shorter forms of sums to ``builder``; return the new number of each value.

    Parameters
    ----------
    builder : ProgramBuilder
    roots : iterable of int
        What is stored or checked. Values that they do not need keep their numbers.
    """
    ops, args = builder.ops, builder.args
    uses = [0] * len(ops)
    for root in roots:
        uses[root] += 1
    inside = [False] * len(ops)  # whether the only use is in another sum
    for v in range(len(ops) - 1, -1, -1):
        if uses[v]:
            op = ops[v]
            if op != "load":
                is_sum = op in _SUMS
                for a in args[v]:
                    uses[a] += 1
                    inside[a] = is_sum and uses[a] == 1
    sums = _Sums(builder, uses)
    new = sums.new
    for v, used in enumerate(uses):
        op = ops[v]
        if not used or op in {"load", "const"}:
            continue
        shorter = sums.shorter(v) if op in _SUMS and not inside[v] else None
        if shorter is not None:
            new[v] = shorter
            continue
        for a in args[v]:
            if new[a] != a:
                new[v] = builder.value(op, tuple([new[a] for a in args[v]]))
                break
    return new


class _Sums:
    """The sums of a program, one after the other."""

    def __init__(self, builder: ProgramBuilder, uses: list[int]) -> None:
        self.builder, self.uses = builder, uses
        self.new = list(range(len(uses)))

    def shorter(self, root: int) -> int | None:
        """Return a sum with factors factored out, or None where there are none."""
        if not self._may_share(root):
            return None
        terms = self._terms(root)
        if len(terms) > _LONGEST or _best(terms) is None:
            return None
        return self._sum(terms)

    def _may_share(self, root: int) -> bool:
        """Tell whether there may be two products among the terms: most sums are seen to have none."""
        found = 0
        ops, uses = self.builder.ops, self.uses
        for v in self.builder.args[root]:
            if uses[v] == 1:
                op = ops[v]
                found += 2 if op in _SUMS or op == "negative" else op in _PRODUCTS
        return found > 1

    def _terms(self, root: int) -> _Terms:
        """Return the terms of a sum from the left, each with its sign."""
        found: _Terms = []
        stack = [(1, root)]
        while stack and len(found) <= _LONGEST:
            sign, v = stack.pop()
            op = self.builder.ops[v]
            if op in _SUMS and (v == root or self.uses[v] == 1):
                a, b = self.builder.args[v]
                stack += [(sign if op == "add" else -sign, b), (sign, a)]
            elif op == "negative" and self.uses[v] == 1:
                stack.append((-sign, self.builder.args[v][0]))
            else:
                found.append((sign, self._tree(v)))
        return found

    def _tree(self, v: int, *, within: bool = False) -> _Tree:
        """Decompose a product whose parts are used here only, down to the last factor that is no number."""
        op, consts = self.builder.ops[v], self.builder.consts
        if self.uses[v] > 1 or op not in ("multiply", "divide"):
            return v
        a, b = self.builder.args[v]
        if op == "divide":
            return _Product(a, b, True)
        left = self._tree(a, within=True) if b in consts and not within else a
        right = self._tree(b, within=True) if a in consts and not within else b
        return _Product(left, right, False)

    def _sum(self, terms: _Terms) -> int:
        """Write a sum, with the factor that saves most factored out, and so on."""
        builder, best = self.builder, _best(terms)
        if best is None:
            # what is added comes first, so that no sign has to be turned
            first = next((i for i, (sign, _) in enumerate(terms) if sign > 0), 0)
            total = self._value(terms[first][1])
            total = total if terms[first][0] > 0 else builder.negative(total)
            for sign, term in terms[:first] + terms[first + 1 :]:
                value = self._value(term)
                total = builder.add(total, value) if sign > 0 else builder.subtract(total, value)
            return total
        common = [(sign, _without(term, best)) for sign, term in terms if best in _factors(term)]
        others = [(sign, term) for sign, term in terms if best not in _factors(term)]
        turned = all(sign < 0 for sign, _ in common)
        body = self._sum([(-sign, term) for sign, term in common] if turned else common)
        factor, divides = self.new[best[0]], best[1]
        whole = builder.divide(body, factor) if divides else builder.multiply(body, factor)
        if not others:
            return builder.negative(whole) if turned else whole
        rest = self._sum(others)
        return builder.subtract(rest, whole) if turned else builder.add(rest, whole)

    def _value(self, tree: _Tree) -> int:
        if isinstance(tree, int):
            return self.new[tree]
        left, right = self._value(tree.left), self._value(tree.right)
        return self.builder.divide(left, right) if tree.divides else self.builder.multiply(left, right)


def _best(terms: _Terms) -> _Factor | None:
    """Return the factor that saves most when it is factored out, or None."""
    gains: dict[_Factor, int] = {}
    for _, term in terms:
        for factor in _factors(term):
            gains[factor] = gains.get(factor, -1) + 1
    best = max(gains, key=lambda factor: gains[factor] * (_DIVISION if factor[1] else 1), default=None)
    return best if best is not None and gains[best] else None


def _factors(tree: _Tree) -> dict[_Factor, None]:
    """Return the factors that can be factored out of a product, once each."""
    if isinstance(tree, int):
        return {}
    if tree.divides:
        assert isinstance(tree.right, int)
        return {(tree.right, True): None}
    found: dict[_Factor, None] = {}
    for side in (tree.left, tree.right):
        found |= {(side, False): None} if isinstance(side, int) else _factors(side)
    return found


def _without(tree: _Tree, factor: _Factor) -> _Tree:
    """Return a product without one of its :func:`_factors`."""
    assert isinstance(tree, _Product)
    if factor == (tree.right, tree.divides):
        return tree.left
    if factor == (tree.left, False) and not tree.divides:
        return tree.right
    # it is in the side that is a product, beside a number
    left, right = ((side if isinstance(side, int) else _without(side, factor)) for side in (tree.left, tree.right))
    return _Product(left, right, tree.divides)
