"""Layout of a formula: on one line, or as definitions and a result.

A piece that stands in several places is defined once where that is shorter, and so is one
that would be nested too deeply or grow too long to read. Every term is written once, so a
formula of any size is written in linear time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import ClassVar, NamedTuple

from ..graph import Item, Node
from ..graph.sizes import Dim, Shape
from ..ground.budget import reserve, spend
from .calls import CALLS
from .notation import Loop, Readings, Term, by_quotients, centred, counted, names_in, postorder, read, written

#: Terms on one line up to which nothing becomes a definition, however often it occurs.
SHORT = 40
#: Characters a shared piece must have to be worth a definition.
WORTH = 14
#: Nesting and characters beyond which a piece becomes a definition though it occurs once.
DEEP, LONG = 40, 400
#: Characters from which a piece with the letter of a sum or a function becomes a definition, which is not read again.
FAR = 10_000
#: Terms that a part of a kind with a letter must have to be defined in a short formula.
NAMED = 4
_LETTERS = {"softmax": "p", "unit": "u", "norm": "r", "sqrt": "s"}


#: How tightly operations bind.
ARROW, COMPARISON, OR, AND, SUM, HADAMARD, PRODUCT, UNARY, POWER, POSTFIX, ATOM = range(11)


class Piece(NamedTuple):
    """Written text, and how tightly its outermost operation binds: as a call, if nothing is said."""

    text: str
    level: int = POSTFIX


def subscripts(items: Sequence[Item], sizes: Shape) -> list[str]:
    """Return what stands between the brackets of an index, without trailing full slices."""
    texts = [subscript(item, size) for item, size in zip(items, sizes, strict=True)]
    while len(texts) > 1 and texts[-1] == ":":
        texts.pop()
    return texts


def from_end(place: Dim, size: Dim) -> str:
    """Return a place, counted from the end where the size is known at call time only."""
    if not isinstance(place, int):
        gap = place - size
        if isinstance(gap, int) and gap < 0:
            return str(gap)
    return str(place)


def subscript(item: Item, size: Dim) -> str:
    """Return what stands between the brackets for one axis."""
    start, step, length = item
    if length is None:
        return from_end(start, size)
    stop = start + length * step
    first = "" if (start == 0 if step > 0 else start == size - 1) else from_end(start, size)
    last = "" if stop in (size, -1) or (step > 1 and _reaches_end(stop, size)) else from_end(stop, size)
    if step < 0 and isinstance(stop, int) and stop < 0:
        last = ""
    return f"{first}:{last}" + (f":{step}" if step != 1 else "")


def _reaches_end(stop: Dim, size: Dim) -> bool:
    return isinstance(stop, int) and isinstance(size, int) and stop >= size


class Layout(NamedTuple):
    """Definitions in order, and the results that use them."""

    definitions: list[tuple[str, str]]
    results: list[str]


class Style(ABC):
    """A way of writing terms; one method a kind of term, found by name."""

    #: What stands between factors, and between a letter and its formula.
    times, mapped = " * ", " -> "
    #: True where vectors of neighbours are written by index.
    neighbours: ClassVar[bool] = False
    #: Rules of reading that the style has besides those of all.
    readings: ClassVar[Sequence[Readings]] = ()
    #: Rules of reading derivatives that it has besides.
    derived_readings: ClassVar[Sequence[Readings]] = ()

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}

    def piece(self, term: Term) -> Piece:
        """Return the written form of a term below the one being written."""
        return self.pieces[id(term)]

    def wrapped(self, term: Term, level: int = POSTFIX) -> str:
        """Return the text of ``term``, in parentheses unless it binds at least as tightly as ``level``."""
        text, own = self.piece(term)
        return text if own >= level else self.parenthesised(text)

    def plain(self, term: Term) -> str:
        """Return the text of ``term`` as it is."""
        return self.piece(term).text

    @abstractmethod
    def parenthesised(self, text: str) -> str:
        """Return ``text`` in parentheses."""

    @abstractmethod
    def reference(self, name: str) -> Piece:
        """Return the name of an input or of a definition."""

    @abstractmethod
    def called(self, name: str, *args: str) -> Piece:
        """Return a call."""

    @abstractmethod
    def factors(self, terms: Sequence[Term]) -> list[str]:
        """Return scalars as they stand side by side in a product."""

    @abstractmethod
    def iterated(self, step: str, start: str, count: str) -> str:
        """Return a function that is applied several times."""

    @abstractmethod
    def scanned(self, loop: Loop, letters: list[str], parts: Sequence[list[str]]) -> str:
        """Return a loop along arrays, given its letters, what it starts with, goes along, carries on and writes."""

    def fraction(self, over: str, under: str, loose: bool) -> Piece:
        """Return a quotient; ``loose`` says that the divisor is a product."""
        return Piece(f"{over} / {f'({under})' if loose else under}", HADAMARD)

    def indexed(self, base: str, indices: Sequence[str]) -> str:
        """Return an element or a part of an array."""
        return f"{base}[{', '.join(indices)}]"

    def at_indices(self, text: str, indices: Sequence[str]) -> str:
        """Return the array that has the elements ``text`` at ``indices``."""
        return f"[{', '.join(indices)}]{self.mapped}{text}"

    def part(self, term: Term, indices: Sequence[str]) -> Piece:
        """Return a part of an array."""
        return Piece(self.indexed(self.wrapped(term), indices))

    def element(self, term: Term, indices: Sequence[str]) -> str:
        """Return an element of an array."""
        return self.part(term, indices).text

    def group(self, parts: Sequence[str]) -> str:
        """Return several pieces in brackets, one without."""
        return parts[0] if len(parts) == 1 else self.parenthesised(", ".join(parts))

    # ------------------------------------------------------------ what all styles write alike

    def _write_name(self, term: Term) -> Piece:
        return self.reference(term.data)

    def _write_index(self, term: Term) -> Piece:
        (x,) = term.args
        return self.part(x, subscripts(term.data, x.shape))

    def _write_take(self, term: Term) -> Piece:
        axis, places = term.data
        return self.part(term.args[0], [*[":"] * axis, str(list(places)) if places else ":0"])

    def _write_picked(self, term: Term) -> Piece:
        (x, at), (axis, shared) = term.args, term.data
        if shared:
            return self.called("take_at", self.plain(x), self.plain(at), f"axis={axis}", f"shared={shared}")
        return self.part(x, [*[":"] * axis, self.plain(at)])

    def _write_mapping(self, term: Term) -> Piece:
        return Piece(f"{self.reference(term.data).text}{self.mapped}{self.plain(term.args[0])}", ARROW)

    def _write_by_index(self, term: Term) -> Piece:
        out, products = term.data
        text = ""
        for product in products:
            elements = [self.element(x, indices) for x, indices in product.factors]
            own, under = self.times.join([*self.factors(product.scalars), *elements]), product.divisors
            if under:
                loose = len(under) > 1 or self.piece(under[0]).level < UNARY
                own = self.fraction(own, self.times.join(self.factors(under)), loose).text
            text += ((" - " if product.minus else " + ") if text else "-" * product.minus) + own
        return Piece(self.at_indices(text, out), ARROW)

    def _write_recurrence(self, term: Term) -> Piece:
        loop: Loop = term.data
        written = map(self.plain, term.args)
        parts = [list(islice(written, n)) for n in (loop.carried, loop.rows, loop.carried, len(term.args))]
        letters = [self.reference(letter.data).text for letter in loop.letters]
        start, on, outputs = self.group(parts[0]), self.group(parts[2]), parts[3]
        carried = self.group(letters[1 : 1 + loop.carried])
        step = f"{carried}{self.mapped}{on}"
        place = [str(loop.part)] * (loop.carried > 1 and loop.part is not None)
        if loop.condition and not parts[1]:
            goes_on = f"{carried}{self.mapped}{outputs[0]}"
            text = self.called("while", goes_on, step, start, str(loop.length)).text
        elif not parts[1] and not outputs and loop.part is not None:
            text = self.iterated(step, start, str(loop.length))
        else:
            return Piece(self.scanned(loop, letters, parts))
        return Piece(self.indexed(text, place) if place else text)

    def write(self, term: Term) -> Piece:
        """Write one term whose arguments are written already."""
        own: Callable[[Term], Piece] | None = getattr(self, f"_write_{term.kind}", None)
        if own is not None:
            return own(term)
        name, *more = CALLS[term.kind](term)
        return self.called(name, *map(self.plain, term.args), *more)


def lay_out(roots: Sequence[Node], style: Style, *, derived: bool = False, taken: Iterable[str] = ()) -> Layout:
    """Write nodes in a style.

    Parameters
    ----------
    roots : sequence of Node
    style : Style
    derived : bool, optional
        Whether they are derivatives, which no person wrote.
    taken : iterable of str, optional
        Names that no definition may have, besides those in the formulas.

    Returns
    -------
    Layout
    """
    from .notation.by_index import by_index

    tops = read(written(roots), derived=derived, more=style.readings, behind=style.derived_readings)
    tops = [by_index(top, neighbours=style.neighbours, taken=taken) or top for top in tops]
    order = postorder(tops)
    uses, weight = counted(order, SHORT + 1)
    if derived and (quotients := [term for term in order if _letter(term) == "q" and uses.get(id(term), 0) > 1
                                  and weight[id(term)] >= NAMED]):  # fmt: skip
        tops = by_quotients(tops, quotients)
        order = postorder(tops)
        uses, weight = counted(order, SHORT + 1)
    short = sum(weight[id(top)] for top in tops) <= SHORT
    last = {id(top) for top in tops}
    depth: dict[int, int] = {}
    definitions: list[tuple[str, str]] = []
    defined: set[int] = set()
    bound = _bound(order)
    names = _Names({*taken, *names_in(order)})
    spend(len(order))
    for term in order:
        own = id(term)
        if term.kind == "part" and id(term.args[0]) in defined:
            style.pieces[own], depth[own] = style.pieces[id(term.args[0])], 0
            continue
        if term.kind in ("named", "part"):
            is_part = term.kind == "part"
            name = names.of(term.data, "", names.taken) if is_part else names.of(str(term.data), "_")
            definitions.append((style.reference(name).text, style.plain(term.args[0])))
            style.pieces[own], depth[own] = style.reference(name), 0
            continue
        piece = style.write(term)
        depth[own] = 1 + max([depth[id(arg)] for arg in term.args], default=-1)
        size = len(piece.text)
        reserve(size)
        several = uses.get(own, 0) > 1
        shared = several and not short and size >= WORTH
        letter = _letter(term) if derived and weight[own] >= NAMED else ""
        worth = shared or (several and letter != "")
        needed = size > FAR if own in bound else worth or depth[own] >= DEEP or size > LONG
        is_part = (term.args or term.kind == "array") and term.kind not in ("mapping", "option")
        if is_part and own not in last and needed:
            name = names.of(letter, "", names.taken) if letter else names.fresh(len(definitions))
            definitions.append((style.reference(name).text, piece.text))
            piece, depth[own] = style.reference(name), 0
            defined.add(own)
        style.pieces[own] = piece
    return Layout(definitions, [style.plain(top) for top in tops])


def _bound(order: Sequence[Term]) -> set[int]:
    """Return the terms that hold a letter of a function or a sum around them, which no definition before it knows."""
    letters = {_letter_of(term) for term in order} - {None}
    holds: dict[int, frozenset[str]] = {}
    if not letters:
        return set()
    for term in order:
        own = frozenset[str]().union(*(holds[id(arg)] for arg in term.args)) - {_letter_of(term)}
        holds[id(term)] = own | {term.data} if term.kind == "name" and term.data in letters else own
    return {own for own, names in holds.items() if names}


def _letter_of(term: Term) -> str | None:
    """Return the letter that a function or a sum gives a meaning in its formula."""
    if term.kind == "mapping":
        return str(term.data)
    return str(term.data[0].data) if term.kind == "series" else None


def _letter(term: Term) -> str:
    """Return the letter by which books call a part of this kind, or none."""
    if term.kind in ("reduce", "call"):
        return _LETTERS.get(term.data if term.kind == "call" else term.data[0], "")
    if centred(term) is not None:
        return "c"
    return "q" if term.kind == "product" and not term.ndim and True in term.data else ""


class _Names:
    """Names of definitions, each once; none is tried twice."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.defined: set[str] = set()
        self.counts: dict[str, int] = {}
        self.number = 0

    def of(self, stem: str, join: str, taken: Collection[str] = ()) -> str:
        """Return a name for a part that its author, or a book, calls ``stem``: that, or with a number behind."""
        count, result = self.counts.get(stem, 0), stem
        while result in taken or result in self.defined:
            count += 1
            result = f"{stem}{join}{count}"
        self.counts[stem] = count
        self.defined.add(result)
        return result

    def fresh(self, count: int) -> str:
        """Return a name for the definition after ``count`` others."""
        self.number = max(self.number, count) + 1
        while f"t{self.number}" in self.taken:
            self.number += 1
        return f"t{self.number}"
