"""Letters that a part of a text has for itself: of ``x -> exp(x)``, and of sums, ``sum_over(k, n, x**k)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import LimitError, ParseError
from ...grammar.syntax import SyntaxNode
from ...graph import Node, placeholder, postorder, substitute
from ...graph.sizes import Dim, product
from ...ground.limits import Limits
from ..array import Array
from ..functions.recurrence import sum_over
from .indexed import arrows_of
from .values import Mapped

#: What a sum is called.
SUM = "sum_over"
_FORM = f"{SUM}(k, n, x**k) takes a letter, a number of terms from k = 0 on, and a formula of the letter"


def letters_of(terms: Sequence[SyntaxNode]) -> dict[str, list[tuple[int, int, Callable[[str], Node]]]]:
    """Return from where to where a name is a letter, and what makes of it what stands for it there."""
    found: dict[str, list[tuple[int, int, Callable[[str], Node]]]] = {
        name: [(start, end, Mapped.of) for start, end in spans]
        for name, spans in arrows_of(terms, "mapping").items()
    }
    for term in terms:
        if term.kind == "call" and term.value[0] == SUM and len(term.children) == 3:
            letter, _, formula = (terms[child] for child in term.children)
            if letter.kind == "name":
                known = found.setdefault(str(letter.value), [])
                known += [(letter.start, letter.end, _number), (formula.start, formula.end, _number)]
    return found


def parts_of_sum(term: SyntaxNode, terms: Sequence[SyntaxNode]) -> tuple[str, int, int]:
    """Return the letter of a sum, and where the number of its terms and its formula are."""
    places = term.children
    if len(places) != 3 or term.value[1] or terms[places[0]].kind != "name":
        raise ParseError(_FORM)
    return str(terms[places[0]].value), places[1], places[2]


def length_of_sum(position: Callable[[int], Dim], place: int) -> Dim:
    """Return how many terms a sum has, by what reads a place as a number or a size."""
    try:
        return position(place)
    except ParseError as error:
        message = f"expected a whole number, or a size made of letters of shapes: {_FORM}"
        raise ParseError(message, error.text, error.position) from None


def sum_of(letter: str, length: Dim, formula: Array, limits: Limits) -> Array:
    """Return the sum of a formula, if it takes no more numbers than an array may have."""
    work = length * _work(formula.node) if isinstance(length, int) else 1
    if work > limits.elements:
        raise LimitError(f"the sum adds up {work} numbers, over {limits.elements}, which is the limit")
    own = _number(letter)
    return sum_over(letter.replace("'", ""), length, lambda k: Array(substitute([formula.node], {own: k.node})[0]))


def _number(name: str) -> Node:
    return placeholder(("summed", name), ())


def _work(node: Node) -> int:
    """Return how many numbers a step computes at the most in one array, with the steps of sums in it."""
    most, steps = 1, 0
    for part in postorder([node]):
        size = product(part.shape)
        most = max(most, size if isinstance(size, int) else 1)
        if part.is_recurrence and isinstance(part.payload.length, int):
            steps += part.payload.length * max(map(_work, part.payload.body.results), default=1)
    return max(most, steps)
