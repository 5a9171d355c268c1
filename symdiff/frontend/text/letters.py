"""Scopes of a text: letters that a part has for itself (``x -> exp(x)``, sums, loops, solutions); functions of its own.

For functions, ``f(x) = x * exp(-x)``, the tree is rewritten before arrays are built, in one loop: a call becomes a copy
of the terms of its formula, whose parameters refer to the terms of the arguments. A formula may call functions of lines
above, so that a copy holds theirs as well, and nothing can call itself. Arguments are built once, however often a
formula has them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import LimitError, ParseError
from ...graph import Node, placeholder, postorder, substitute
from ...graph.sizes import Dim, product
from ...ground.budget import spend
from ...ground.grammar import SyntaxNode, Tree, too_large
from ...ground.limits import Limits
from ..array import Array, asarray
from ..functions.recurrence import sum_over, while_loop
from .values import Mapped, arrows_of

#: Mark of a letter that has another name than in the text, behind the name there.
OTHERWISE = "'"


class _Function(NamedTuple):
    """A function of the text.

    Parameters
    ----------
    name : str
    parameters : tuple of str
    body : list of SyntaxNode
        Children count from the first term on; -1 is the first parameter, -2 the second one.
    result : int
        A term, or a parameter.
    letters : frozenset of str
        Names that belong to a part of the body: letters of sums, of indices and of functions of a number.
    """

    name: str
    parameters: tuple[str, ...]
    body: list[SyntaxNode]
    result: int
    letters: frozenset[str]


def expanded(tree: Tree, taken: Mapping[str, Collection[str]], limits: Limits) -> list[SyntaxNode]:
    """Return the terms of a text without functions of its own.

    Parameters
    ----------
    tree : Tree
    taken : mapping of str to collection of str
        Names that a function cannot have, by what they are: "an input", "a function", ...
    limits : Limits

    Raises
    ------
    ParseError
        If a function has a name that is taken, is called with other arguments than it has, or calls itself.
    LimitError
        If the whole is too long.
    """
    lines = {k: term for k, term in enumerate(tree.terms) if term.kind == "function"}
    if not lines:
        return tree.terms
    expansion = _Expansion(tree, limits)
    begin = 0
    for end, line in lines.items():
        first = line.value[2]
        expansion.add(range(begin, first), expansion.terms)
        name = line.value[0]
        names = [term.value for term in tree.terms[:end] if term.kind == "define"]
        known = {"defined already": [*names, *expansion.functions], **taken}
        what = next((what for what, own in known.items() if name in own), None)
        if what is not None:
            raise ParseError(f"{name!r} is {what}; expected a new name on the left of '='", tree.text, line.caret)
        expansion.define(line, range(first, end))
        begin = end + 1
    expansion.add(range(begin, len(tree.terms)), expansion.terms)
    return expansion.terms


class _Expansion:
    def __init__(self, tree: Tree, limits: Limits) -> None:
        self.tree, self.limits = tree, limits
        self.terms: list[SyntaxNode] = []
        self.functions: dict[str, _Function] = {}
        self.defining = ""
        self.places: dict[int, int] = {}  # of the terms of the text among those that are made
        self.count = 0
        self.letters = letters_of(tree.terms)

    def define(self, line: SyntaxNode, body: range) -> None:
        """Read the line of a function."""
        name, parameters, _ = line.value
        made: list[SyntaxNode] = []
        self.defining = name
        self.add(body, made, parameters)
        self.defining = ""
        letters = {term.value for term in made if term.kind == "axis" or self.is_letter(term)}
        letters |= {one for term in made if term.kind in ("by_index", "mapping") for one in term.value}
        result = self.places[line.children[0]]
        self.functions[name] = _Function(name, parameters, made, result, frozenset(letters))

    def is_letter(self, term: SyntaxNode) -> bool:
        """Tell whether a name is a letter where it stands, and so no parameter."""
        spans = self.letters.get(term.value, ()) if term.kind == "name" else ()
        return any(start <= term.start < end for start, end, _ in spans)

    def add(self, places: range, made: list[SyntaxNode], parameters: Sequence[str] = ()) -> None:
        """Add terms of the text to those made."""
        for place in places:
            term = self.tree.terms[place]
            children = tuple(self.places[child] for child in term.children)
            if term.kind == "name" and not self.is_letter(term):
                if term.value in parameters:
                    self.places[place] = -1 - parameters.index(term.value)
                    continue
                if term.value in self.functions or term.value == self.defining:
                    self.refuse(f"{term.value!r} is a function; expected its arguments, {term.value}(...)", term)
            if term.kind == "call" and term.value[0] == self.defining:
                self.refuse(
                    f"{term.value[0]} calls itself; text has no recursion, and sums: sum_over(k, n, x**k)", term
                )
            function = self.functions.get(term.value[0]) if term.kind == "call" else None
            if function is None:
                self.places[place] = self.append(term._replace(children=children), made)
            else:
                self.places[place] = self.call(function, term, children, made)

    def refuse(self, words: str, term: SyntaxNode) -> None:
        raise ParseError(words, self.tree.text, term.caret)

    def append(self, term: SyntaxNode, made: list[SyntaxNode]) -> int:
        spend(1)
        self.count += 1
        if self.count > self.limits.nodes:
            message = f"the formula has over {self.limits.nodes} operators, calls and commas, which is the limit"
            raise too_large(message, self.tree.text, term.caret)
        made.append(term)
        return len(made) - 1

    def call(self, function: _Function, term: SyntaxNode, given: tuple[int, ...], made: list[SyntaxNode]) -> int:
        """Copy the formula of a function with arguments in the place of its parameters."""
        name, wanted = function.name, len(function.parameters)
        if term.value[1]:
            self.refuse(f"{name}() has no arguments by name; write them in order: {name}({_listed(function)})", term)
        if len(given) != wanted:
            plural = "s" * (wanted != 1)
            self.refuse(f"{name}() takes {wanted} argument{plural}, {_listed(function)}; found {len(given)}", term)
        ending = f"{OTHERWISE}{len(made)}" if function.letters & self.names_in(given, made, function.letters) else ""
        copies: list[int] = []
        for one in function.body:
            children = tuple(copies[child] if child >= 0 else given[-1 - child] for child in one.children)
            value = _renamed(one, function.letters, ending) if ending else one.value
            copies.append(self.append(one._replace(children=children, value=value), made))
        return copies[function.result] if function.result >= 0 else given[-1 - function.result]

    def names_in(
        self, places: Sequence[int], made: Sequence[SyntaxNode], letters: frozenset[str]
    ) -> frozenset[str] | set[str]:
        """Return the names that arguments mention; those of a parameter may be any."""
        if not letters:
            return letters
        found, seen, todo = set[str](), set[int](), list(places)
        while todo:
            place = todo.pop()
            if place < 0:
                return letters
            if place not in seen:
                seen.add(place)
                spend(1)
                term = made[place]
                todo += term.children
                if term.kind in ("name", "axis"):
                    found.add(term.value)
        return found


def _renamed(term: SyntaxNode, letters: frozenset[str], ending: str) -> object:
    """Return the value of a term with other letters, so that arguments keep theirs."""
    if term.kind in ("by_index", "mapping"):
        return tuple(name.partition(OTHERWISE)[0] + ending for name in term.value)
    if term.kind in ("name", "axis") and term.value in letters:
        return str(term.value).partition(OTHERWISE)[0] + ending
    return term.value


def _listed(function: _Function) -> str:
    return ", ".join(function.parameters)


#: Names of sums.
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
