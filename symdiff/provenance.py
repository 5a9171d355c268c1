"""How an array that a user holds came about: what its node, which other formulas share, must not know.

Equal formulas are one node, whoever wrote them. That one of them is a derivative (and is shown
collected), that it is a Hessian (and one triangle of it is computed), which rewrites led to it and
which inputs it had before they vanished, is a fact of one array, so the array holds it beside its
node. An operation joins what is known of its operands.

Joining is cheap: few facts are merged at once, and where nothing is new the operand's own record
serves again; many are left in a tree of records, which is read when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .graph import Node, inputs_of

__all__ = ["NOTHING", "Facts", "Provenance", "join", "of_inputs", "of_node"]

#: Up to so many facts of two records are merged when they are joined.
_FEW = 12


class Facts(NamedTuple):
    """What is known of an array beside its node.

    Parameters
    ----------
    inputs : tuple of Node
        What it was calculated from, in order of first use, inputs that vanished from its node among them.
    rewrites : tuple of str
        What was rewritten for stability on the way to the derivatives that it is or was made of.
    hessians : tuple of Node
        Which nodes are Hessians by one array: their axes are those of the array, twice.
    derived : bool
        Whether it is a derivative, or made of one.
    """

    inputs: tuple[Node, ...] = ()
    rewrites: tuple[str, ...] = ()
    hessians: tuple[Node, ...] = ()
    derived: bool = False

    def with_those_of(self, other: Facts) -> Facts:
        """Return both, these before those; itself where nothing is new."""
        both = Facts(*map(_both, self[:3], other[:3]), self.derived or other.derived)
        return self if both == self else both


def _both(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    if first is second or not second:
        return first
    return first + new if (new := tuple([one for one in second if one not in first])) else first


class Provenance:
    """Facts, or the records they are to be read from.

    Parameters
    ----------
    facts : Facts, optional
        None where they are those of ``before``, in order.
    before : tuple of Provenance

    Notes
    -----
    It does not change, but for keeping what was read.
    """

    __slots__ = ("_before", "_facts")

    def __init__(self, facts: Facts | None, before: tuple[Provenance, ...] = ()) -> None:
        self._facts = facts
        self._before = before

    @property
    def facts(self) -> Facts:
        """What is known, each once."""
        if self._facts is None:
            self._facts = _read(self)
            self._before = ()
        return self._facts

    def joined(self, other: Provenance) -> Provenance:
        """Return what is known of an array made of one of this record and one of another."""
        if other is self or other is NOTHING:
            return self
        if self is NOTHING:
            return other
        own, new = self._facts, other._facts
        if own is not None and new is not None and _count(own) + _count(new) <= _FEW:
            both = own.with_those_of(new)
            return self if both is own else other if both == new else Provenance(both)
        if any(known is other for known in self._before):
            return self
        return Provenance(None, (self, other))

    def __reduce__(self) -> tuple[Any, ...]:
        return Provenance, (self.facts,)


def _count(facts: Facts) -> int:
    return len(facts.inputs) + len(facts.rewrites) + len(facts.hessians)


def _read(record: Provenance) -> Facts:
    """Read a tree of records from left to right, each record once."""
    inputs: dict[Node, None] = {}
    rewrites: dict[str, None] = {}
    hessians: dict[Node, None] = {}
    derived = False
    seen: set[Provenance] = set()
    stack = [record]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        before, facts = one._before, one._facts  # in this order: another thread may just have read it
        if facts is None:
            stack.extend(before[::-1])
        else:
            inputs.update(dict.fromkeys(facts.inputs))
            rewrites.update(dict.fromkeys(facts.rewrites))
            hessians.update(dict.fromkeys(facts.hessians))
            derived = derived or facts.derived
    return Facts(tuple(inputs), tuple(rewrites), tuple(hessians), derived)


#: Of numbers.
NOTHING = Provenance(Facts())


def join(records: Iterable[Provenance]) -> Provenance:
    """Return what is known of an array made of arrays with these records, in the order of its operands."""
    result = NOTHING
    for record in records:
        result = result.joined(record)
    return result


def of_inputs(inputs: Iterable[Node]) -> Provenance:
    """Return the record of a formula of these inputs."""
    return Provenance(Facts(tuple(inputs)))


def of_node(node: Node) -> Provenance:
    """Return what a node tells by itself: the inputs below it that have names, in order of first use."""
    if node.op == "constant":
        return NOTHING
    return of_inputs(one for one in inputs_of([node]) if isinstance(one.payload, str))
