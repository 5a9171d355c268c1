"""Provenance of an array: facts that its node, which other formulas share, must not hold.

Equal formulas are one node, whoever wrote them. That one of them is a derivative (and is shown
collected), that it is a Hessian (and one triangle of it is computed), which rewrites led to it,
which inputs it had before they vanished and which symbols of SymPy these were, is a fact of one array,
so the array holds it beside its node. An operation joins what is known of its operands.

Joining is cheap: few facts are merged at once, and where nothing is new the operand's own record
serves again; many are left in a tree of records, which is read when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..graph import Node, inputs_of
from ..graph.sizes import Span
from .shapes import two_of

__all__ = ["NOTHING", "Facts", "Provenance", "join", "named_inputs", "of_inputs", "of_node", "of_spans"]

#: Up to so many facts of two records are merged when they are joined.
_FEW = 12


class Facts(NamedTuple):
    """Facts about an array that its node does not hold.

    Parameters
    ----------
    inputs : tuple of Node
        What it was calculated from, in order of first use, inputs that vanished from its node among them.
    rewrites : tuple of str
        What was rewritten for stability on the way to the derivatives that it is or was made of.
    hessians : tuple of Node
        Which nodes are Hessians with respect to one array: their axes are those of the array, twice.
    derived : bool
        Whether it is a derivative, or made of one.
    rows : tuple of (Node, int)
        Which nodes are Jacobians or Hessians, and how many of their axes are those of the formula; the others are
        those of the variable.
    derivations : tuple of (Node, Node, Node)
        Which nodes are gradients or Jacobians, of which formulas, by which variables.
    spans : tuple of Span
        What it takes of axes whose sizes are letters, where its node does not say so: a part of a part that became one
        part, of an array of ones, or of a formula whose derivative it is.
    symbols : tuple of (str, object)
        What SymPy's object is behind the name of an input, or of a size, where it is more than a symbol of that name.
    """

    inputs: tuple[Node, ...] = ()
    rewrites: tuple[str, ...] = ()
    hessians: tuple[Node, ...] = ()
    derived: bool = False
    rows: tuple[tuple[Node, int], ...] = ()
    derivations: tuple[tuple[Node, Node, Node], ...] = ()
    spans: tuple[Span, ...] = ()
    symbols: tuple[tuple[str, Any], ...] = ()


class Provenance:
    """Facts, or two records that they are to be read from, one after the other.

    Parameters
    ----------
    facts : Facts, optional
    halves : two of Provenance
        Where there are no facts.

    Notes
    -----
    It does not change, but for keeping what was read.
    """

    __slots__ = ("_facts", "_first", "_second", "_size")

    def __init__(self, facts: Facts | None, *halves: Provenance) -> None:
        self._facts = facts
        self._first: Provenance | None
        self._second: Provenance | None
        self._first, self._second = halves or (None, None)
        self._size = _FEW if facts is None else sum(map(len, facts[:3]))

    @property
    def facts(self) -> Facts:
        """The facts, without duplicates."""
        if self._facts is None:
            self._facts = _read(self)
            self._first = self._second = None
        return self._facts

    def joined(self, other: Provenance) -> Provenance:
        """Return the record of an array made of one with this record and one with another."""
        if other is self or other is NOTHING:
            return self
        if self is NOTHING:
            return other
        own, new = self._facts, other._facts
        if own is None or new is None or self._size + other._size > _FEW:
            return self if other is self._second else Provenance(None, self, other)
        known = own.inputs
        if new.derived or new.spans or new.symbols:
            both = _read(self, other)
            return self if both == own else Provenance(both)
        fresh = [one for one in new.inputs if one not in known]
        return Provenance(Facts((*known, *fresh), *own[1:])) if fresh else self

    def __reduce__(self) -> tuple[Any, ...]:
        return Provenance, (self.facts,)


def _read(*records: Provenance) -> Facts:
    """Read records, and those that they are made of, from left to right, each once."""
    inputs: dict[Node, None] = {}
    rewrites: dict[str, None] = {}
    hessians: dict[Node, None] = {}
    derived = False
    rows: dict[tuple[Node, int], None] = {}
    derivations: dict[tuple[Node, Node, Node], None] = {}
    spans: dict[Span, None] = {}
    symbols: dict[str, Any] = {}
    seen: set[Provenance] = set()
    stack = [*records[::-1]]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        first, second, facts = one._first, one._second, one._facts  # facts last: another thread may be reading
        if facts is None:
            if second is not None:
                stack.append(second)
            if first is not None:
                stack.append(first)
        else:
            inputs.update(dict.fromkeys(facts.inputs))
            rewrites.update(dict.fromkeys(facts.rewrites))
            hessians.update(dict.fromkeys(facts.hessians))
            derived = derived or facts.derived
            rows.update(dict.fromkeys(facts.rows))
            derivations.update(dict.fromkeys(facts.derivations))
            spans.update(dict.fromkeys(facts.spans))
            for name, symbol in facts.symbols:
                symbols.setdefault(name, symbol)
    lists = tuple(rows), tuple(derivations), tuple(spans), tuple(symbols.items())
    return Facts(tuple(inputs), tuple(rewrites), tuple(hessians), derived, *lists)


#: Provenance of numbers.
NOTHING = Provenance(Facts())


def join(records: Iterable[Provenance]) -> Provenance:
    """Return the record of an array made of arrays with these records, in the order of its operands."""
    result = NOTHING
    for record in records:
        result = result.joined(record)
    return result


def named_inputs(used: Iterable[Node], record: Provenance) -> dict[str, Node]:
    """Return inputs by name in order of first use; one that vanished makes way for another of its name.

    Raises
    ------
    ArgumentError
        If two inputs that are used have one name.
    """
    own = dict.fromkeys(used)
    found: dict[str, Node] = {}
    for node in dict.fromkeys([*record.facts.inputs, *own]):
        other = found.setdefault(str(node.name), node)
        if other is not node and node in own:
            if other in own:
                raise ArgumentError(two_of(other, node))
            found[str(node.name)] = node
    return found


def of_inputs(inputs: Iterable[Node], symbols: Iterable[tuple[str, Any]] = ()) -> Provenance:
    """Return the record of a formula of these inputs, and of what SymPy's objects behind their names are."""
    return Provenance(Facts(tuple(inputs), symbols=tuple(symbols)))


def of_spans(spans: Iterable[Span]) -> Provenance:
    """Return the record of a formula that takes such parts of axes."""
    found = tuple(spans)
    return Provenance(Facts(spans=found)) if found else NOTHING


def of_node(node: Node) -> Provenance:
    """Return what a node tells by itself: the inputs below it that have names, in order of first use."""
    if node.is_constant:
        return NOTHING
    return of_inputs(one for one in inputs_of([node]) if isinstance(one.name, str))
