"""Functions that a text defines, ``f(x) = x * exp(-x)``: each call is its formula, with the arguments in place.

The tree is rewritten before arrays are built, in one loop: a call of an own function becomes a copy of the terms of its
formula, whose parameters refer to the terms of the arguments. A formula may call functions of lines above, so that a
copy holds theirs as well, and nothing can call itself. Arguments are built once, however often a formula has them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ...errors import ParseError
from ...ground.budget import spend
from ...ground.grammar import SyntaxNode, Tree, too_large
from ...ground.limits import Limits
from .sums import letters_of

__all__ = ["OTHERWISE", "expanded"]

#: Stands in a letter that has another name than in the text, behind the name there.
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
