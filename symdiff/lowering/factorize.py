"""Factor common factors and divisors out of sums: ``x*a + x*b`` is computed as ``x*(a + b)``.

A derivative arrives as a sum over the ways from the input to the result, and ways that part
late share what they pass through. What is used elsewhere as well is left alone, so nothing
that was shared is computed twice. Only the last factor of a product is factored out: the rest
was computed before as well, so it does not overflow where ``(x*a)*b`` did not and ``a*b``
does. A sum keeps its order where nothing is factored out.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple, TypeAlias

from .._kernels.programs.tape import count_uses, renumber, sums_to_search
from .builder import ProgramBuilder
from .program import CODES, OPERATIONS

#: Terms of the longest sum that is searched: the time stays linear in the length of the program.
_LONGEST = 64
#: What a division counts as beside a product.
_DIVISION = 6
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _NEGATIVE = (
    CODES[name] for name in ("add", "subtract", "multiply", "divide", "negative")
)
#: Of each operation, whether it is a sum; and its kind, by the numbers of :meth:`Tape.sums_to_search`.
_IS_SUM = bytes(name in ("add", "subtract") for name in OPERATIONS)
_KIND_OF = {"multiply": 1, "divide": 2, "negative": 3, "add": 4, "subtract": 5}
_KINDS = bytes(_KIND_OF.get(name, 0) for name in OPERATIONS)


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


def factor_out(builder: ProgramBuilder, roots: array[int]) -> array[int]:
    """Append shorter forms of sums to ``builder``; return the new number of each value.

    Parameters
    ----------
    builder : ProgramBuilder
    roots : array of int
        What is stored or checked. Values that they do not need keep their numbers.
    """
    tape = builder.tape
    uses, inside = count_uses(tape, roots, _IS_SUM)
    sums = _Sums(builder, uses)
    new = sums.new
    changed, done = False, 0
    for v in sums_to_search(tape, uses, inside, _KINDS, _LONGEST):
        if changed:
            renumber(tape, done, v, uses, new)
        shorter = sums.shorter(v)
        if shorter is not None:
            new[v] = shorter
            changed = True
        elif changed:
            renumber(tape, v, v + 1, uses, new)
        done = v + 1
    if changed:
        renumber(tape, done, len(uses), uses, new)
    return new


class _Sums:
    """The sums of a program, one after the other."""

    def __init__(self, builder: ProgramBuilder, uses: array[int]) -> None:
        self.builder, self.tape, self.uses = builder, builder.tape, uses
        self.new = array("i", range(len(uses)))

    def shorter(self, root: int) -> int | None:
        """Return a sum with factors factored out, or None where there are none."""
        terms = self.search(root)
        return None if terms is None else self._sum(terms)

    def search(self, root: int) -> _Terms | None:
        """Return the terms of a sum of which two have a factor in common, None where there are none."""
        terms = self._terms(root)
        return None if len(terms) > _LONGEST or _best(terms) is None else terms

    def _terms(self, root: int) -> _Terms:
        """Return the terms of a sum from the left, each with its sign."""
        found: _Terms = []
        stack = [(1, root)]
        while stack and len(found) <= _LONGEST:
            sign, v = stack.pop()
            code = self.tape.code(v)
            if code in (_ADD, _SUBTRACT) and (v == root or self.uses[v] == 1):
                stack += [(sign if code == _ADD else -sign, self.tape.operand(v, 1)), (sign, self.tape.operand(v))]
            elif code == _NEGATIVE and self.uses[v] == 1:
                stack.append((-sign, self.tape.operand(v)))
            else:
                found.append((sign, self._tree(v, False)))
        return found

    def _tree(self, v: int, within: bool) -> _Tree:
        """Decompose a product whose parts are used here only, down to the last factor that is no number."""
        code, consts = self.tape.code(v), self.builder.consts
        if self.uses[v] > 1 or code not in (_MULTIPLY, _DIVIDE):
            return v
        a, b = self.tape.operand(v), self.tape.operand(v, 1)
        if code == _DIVIDE:
            return _Product(a, b, True)
        left = self._tree(a, True) if b in consts and not within else a
        right = self._tree(b, True) if a in consts and not within else b
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
