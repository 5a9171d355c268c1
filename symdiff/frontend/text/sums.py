"""Letters that a part of a text has for itself: of ``x -> exp(x)``, sums, loops and solutions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ...errors import LimitError, ParseError
from ...graph import Node, placeholder, postorder, substitute
from ...graph.sizes import Dim, product
from ...ground.grammar import SyntaxNode
from ...ground.limits import Limits
from ..array import Array, asarray
from ..functions.recurrence import sum_over, while_loop
from .indexed import arrows_of
from .values import Mapped

#: What a sum is called.
SUM = "sum_over"
_FORM = f"{SUM}(k, n, x**k) takes a letter, a number of terms from k = 0 on, and a formula of the letter"


class Binding(NamedTuple):
    """A function of text that takes functions of a letter, and the shape of the letter from its start.

    Parameters
    ----------
    functions : int
        How many functions come first.
    form : str
        How it is called.
    most : int
        Arguments behind the functions, at most; the first is the start.
    least : int
    keywords : tuple of str
    """

    functions: int
    form: str
    most: int
    least: int = 1
    keywords: tuple[str, ...] = ("at_most", "tol")


#: Loops and solutions by their names.
BOUND = {
    "root": Binding(1, "root(x -> x**2 - a, start), or root(x -> x**2 - a, lower, upper)", 3),
    "fixed_point": Binding(1, "fixed_point(x -> cos(x), start)", 1),
    "minimizer": Binding(1, "minimizer(x -> f, start), or minimizer(x -> f, start, lower, upper)", 3),
    "while": Binding(2, "while(s -> condition, s -> step, start, at_most)", 2, 2, ()),
}


def shaped_letters(terms: Sequence[SyntaxNode]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return the places of a letter's function and of the start that has its shape, by from where to where it is one.

    There are several where a function of the text is called several times: its terms are copied.
    """
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for term in terms:
        bound = BOUND.get(term.value[0]) if term.kind == "call" else None
        if bound is not None and len(term.children) > bound.functions:
            for child in term.children[: bound.functions]:
                span = terms[child].start, terms[child].end
                found.setdefault(span, []).append((child, term.children[bound.functions]))
    return found


def order_of(terms: Sequence[SyntaxNode]) -> Iterable[int]:
    """Return the order in which terms get their meaning: functions of a letter behind what says its shape."""
    if not any(term.kind == "call" and term.value[0] in BOUND for term in terms):
        return range(len(terms))
    below = {child for term in terms for child in term.children}
    order, seen = list[int](), set[int]()
    todo = [(place, False) for place in reversed(range(len(terms))) if place not in below]
    while todo:
        place, built = todo.pop()
        if built:
            order.append(place)
        elif place not in seen:
            seen.add(place)
            term = terms[place]
            children = [child for child in term.children if child not in seen]
            if term.kind == "call" and term.value[0] in BOUND:
                children.sort(key=lambda child: terms[child].kind == "mapping")
            todo += [(place, True), *((child, False) for child in reversed(children))]
    return order


def bound_call(name: str, keywords: Sequence[str], arguments: Sequence[Any], limits: Limits) -> Array:
    """Return a loop or a solution, if it takes no more numbers than an array may have.

    Parameters
    ----------
    name : str
    keywords : sequence of str
        Names of the last arguments.
    arguments : sequence
        Functions of a letter, then arrays and numbers.
    """
    bound = BOUND[name]
    given = arguments[bound.functions : len(arguments) - len(keywords)]
    functions = arguments[: bound.functions]
    fits = all(isinstance(each, Mapped) for each in functions) and len(functions) == bound.functions
    if not fits or not bound.least <= len(given) <= bound.most or any(isinstance(each, Mapped) for each in given):
        raise ParseError(f"expected {bound.form}")
    for keyword in keywords:
        if keyword not in bound.keywords:
            raise ParseError(f"{name}() has no argument {keyword!r}; expected {bound.form}")
    options = dict(zip(keywords, arguments[len(arguments) - len(keywords) :], strict=True))
    made = _bound(name, functions, given, options)
    work = _work(made.node)
    if work > limits.elements:
        raise LimitError(f"{name} computes up to {work} numbers, over {limits.elements}, which is the limit")
    return made


def _bound(name: str, functions: Sequence[Any], given: Sequence[Any], options: dict[str, Any]) -> Array:
    if name == "while":
        condition, step = functions
        start, most = given
        made: Array = while_loop(condition, step, asarray(start), most)
        return made
    from ..functions import solutions  # few texts have them

    (formula,) = functions
    own = Array(formula.variable)
    if name == "root" and len(given) > 1:
        start = given[0] if len(given) == 3 else None
        return solutions.root(formula.body, own, start, tuple(given[-2:]), **options)
    if name == "minimizer" and len(given) > 1:
        return solutions.minimizer(formula.body, own, given[0], tuple(given[1:]), **options)
    solve: Callable[..., Array] = getattr(solutions, name)
    return solve(formula.body, own, given[0], **options)


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
        elif part.is_custom:
            steps += _work(part.payload.body)
    return max(most, steps)
