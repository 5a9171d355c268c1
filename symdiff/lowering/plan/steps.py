"""The steps that a plan is made of. Sizes may be letters: :mod:`.bind` puts numbers in for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...graph import Node
from ...graph.sizes import Dim, value
from ..program import Program
from .access import BATCH, Access, Check, LoopInput, Range

__all__ = [
    "Call",
    "LoopPiece",
    "LoopStep",
    "MatrixFunction",
    "Move",
    "Product",
    "Reduction",
    "Repacked",
    "Repeated",
    "Routine",
    "Scan",
    "Step",
    "is_tiled",
    "loops_of",
    "nested",
    "sources",
    "stays_in_vectors",
]


class LoopPiece(NamedTuple):
    """A part of a loop in which every element is made the same way.

    Parameters
    ----------
    ranges : tuple of Range
        From where to where each loop goes.
    ports : tuple of LoopInput
        Inputs of the program, in order.
    program : Program
        One element: of every result, or of what is summed.
    """

    ranges: tuple[Range, ...]
    ports: tuple[LoopInput, ...]
    program: Program


class LoopStep(NamedTuple):
    """A scalar program over an index space, that computes some arrays, or sums.

    Parameters
    ----------
    loops : tuple of int or Size
        How far each loop goes; none for what is computed once.
    results : tuple of Node
    places : tuple of Access
        Where in each result an element stands.
    total : bool
        Results are sums over the loops.
    pieces : tuple of LoopPiece
    fills : bool
        Results are filled with zeros before, since elements stand in a part of them.
    kept : bool
        Of a sum: there is one for each place along the first loop.
    """

    loops: tuple[Dim, ...]
    results: tuple[Node, ...]
    places: tuple[Access, ...]
    total: bool
    pieces: tuple[LoopPiece, ...]
    fills: bool = False
    kept: bool = False

    def shared(self, piece: LoopPiece, carried: Collection[Node] | None = None) -> tuple[bool, ...]:
        """Return which ports are read from one element: of all, or of each run along the last loop.

        Without loops all of them are: numbers that lanes share are broadcast, where rows would be transposed. In the
        body of a loop a program is for one sample, and what is ``carried`` alone lies in vectors.
        """
        if not self.loops:
            return tuple(carried is None or port.source not in carried for port in piece.ports)
        last = len(self.loops) - 1
        runs = not self.total and last > 0
        found = []
        for port, place in zip(piece.program.inputs, piece.ports, strict=True):
            loops = {index.loop for index in place.access} - {None}
            lists = any(index.listed is not None for index in place.access)
            found.append(not loops or (runs and port.size > 1 and last not in loops and not lists))
        return tuple(found)

    @property
    def repeats_rows(self) -> bool:
        """True where rows of several elements are read again in each run of one of several loops."""
        rows = [
            {index.loop for index in port.access} - {None}
            for piece in self.pieces
            for port in piece.ports
            if any(index.length is not None for index in port.access)
        ]
        return any(0 < len(loops) < len(self.loops) for loops in rows)

    def has_numbers(self, piece: LoopPiece, shared: Sequence[bool]) -> bool:
        """Tell whether an element takes one number of each array that is not shared, and gives one."""
        sizes = [port.size for port, one in zip(piece.program.inputs, shared, strict=True) if not one]
        return all(size == 1 for size in sizes) and (self.total or all(p.size == 1 for p in piece.program.outputs))

    def stays_within(self, sizes: Mapping[str, int]) -> bool:
        """Tell whether all that it writes is within its arrays, as it is for sizes that are not very small."""
        for node, place in zip(self.results, self.places, strict=True):
            for index, size in zip(place, node.shape, strict=True):
                count = 1 if index.length is None else value(index.length, sizes)
                if index.loop is not None:
                    count = value(self.loops[index.loop], sizes)
                first = value(index.start, sizes)
                last = first + index.step * (count - 1)
                if not (0 <= first < value(size, sizes) and 0 <= last < value(size, sizes)):
                    return False
        return True


class Product(NamedTuple):
    """A product of two arrays, summed over the labels that the result lacks.

    Parameters
    ----------
    result : Node
    sizes : tuple of int or Size
        Of each label.
    first, second : LoopInput
        The factors, whose loops are labels.
    place : Access
        Of the result.
    scale : float
        What the product is multiplied by.
    symmetric : bool
        The result is a matrix that equals its transpose.
    """

    result: Node
    sizes: tuple[Dim, ...]
    first: LoopInput
    second: LoopInput
    place: Access
    scale: float = 1.0
    symmetric: bool = False

    @property
    def results(self) -> tuple[Node, ...]:
        """The one array that it computes."""
        return (self.result,)


class Reduction(NamedTuple):
    """The maximum, minimum or product over some loops."""

    op: str
    result: Node
    sizes: tuple[Dim, ...]
    source: LoopInput
    place: Access

    @property
    def results(self) -> tuple[Node, ...]:
        """The one array that it computes."""
        return (self.result,)


class Scan(NamedTuple):
    """A cumulative sum along the last loop."""

    op: str
    result: Node
    sizes: tuple[Dim, ...]
    source: LoopInput
    place: Access
    reverse: bool

    @property
    def results(self) -> tuple[Node, ...]:
        """The one array that it computes."""
        return (self.result,)


class Move(NamedTuple):
    """Positions of one axis taken, or added to: a gather or a scatter.

    Parameters
    ----------
    result : Node
    sizes : tuple of int or Size
        Of each loop, the one along the indices among them.
    source : LoopInput
    place : Access
    loop : int
        The one along the indices.
    indices : tuple of int
    scatter : bool
    """

    result: Node
    sizes: tuple[Dim, ...]
    source: LoopInput
    place: Access
    loop: int
    indices: tuple[int, ...]
    scatter: bool

    @property
    def results(self) -> tuple[Node, ...]:
        """The one array that it computes."""
        return (self.result,)


class MatrixFunction(NamedTuple):
    """A function of square matrices, by a factorization that all functions of the same matrices share.

    Parameters
    ----------
    op : str
        "inv", "inv_transposed", "solve", "solve_transposed", "det", "logdet", "logabsdet" or "cholesky".
    result : Node
    matrix : Node
        An array that exists.
    other : Node or None
        The right-hand sides.
    indefinite : str
        For matrices that are declared definite: what is said where one is not. "" for any others.
    """

    op: str
    result: Node
    matrix: Node
    other: Node | None
    indefinite: str = ""

    @property
    def results(self) -> tuple[Node, ...]:
        """The one array that it computes."""
        return (self.result,)


class Routine(NamedTuple):
    """A function of whole arrays that compiled code has: positions and orders that a call brings, spectra, adjugates.

    Parameters
    ----------
    op : {"take", "put", "arrange", "sort", "reshape", "triangle", "spectrum", "adjugate"}
    made : tuple of Node or None
        The result; of a spectrum the eigenvalues and the eigenvectors, of which one may be missing.
    operands : tuple of Node
        Arrays that exist.
    axis, own, reverse : int, int, bool
        As :class:`~symdiff.lowering.plan.bound.RoutineStep` has them.
    """

    op: str
    made: tuple[Node | None, ...]
    operands: tuple[Node, ...]
    axis: int = 0
    own: int = 0
    reverse: bool = False

    @property
    def results(self) -> tuple[Node, ...]:
        """The arrays that it computes."""
        return tuple(node for node in self.made if node is not None)


class Call(NamedTuple):
    """One operation on whole arrays by a Python function.

    Parameters
    ----------
    result : Node
    operands : tuple of Node
        Arrays that are there by then.
    inputs : tuple of Node
        Stand-ins for them in ``formula``.
    formula : Node
    """

    result: Node
    operands: tuple[Node, ...]
    inputs: tuple[Node, ...]
    formula: Node

    def direct(self, inputs: Iterable[Node]) -> list[int] | None:
        """Return where the arguments of a function are that takes these arrays as they are; None for other steps."""
        node, given = self.formula, [*self.sized(inputs), *self.inputs]
        if node.op != "external" or not node.payload.reads or node.ndim > len(node.payload.shape):
            return None
        return [given.index(arg) for arg in node.args] if set(given).issuperset(node.args) else None

    def sized(self, inputs: Iterable[Node]) -> list[Node]:
        """Return the inputs of a plan from whose shapes the function takes the sizes."""
        tiled = is_tiled(self)
        return [node for node in inputs if tiled or node.shape[:1] != (BATCH,)]

    @property
    def results(self) -> tuple[Node, ...]:
        """The one array that it computes."""
        return (self.result,)


class Repacked(NamedTuple):
    """The elements of an array, from some place on, in another shape: nothing is moved.

    Parameters
    ----------
    result : Node
    source : Node
        An array that is there.
    start : int or Size
        How many of its elements, in C order, come before.
    """

    result: Node
    source: Node
    start: Dim

    @property
    def results(self) -> tuple[Node, ...]:
        """The one array that it is."""
        return (self.result,)


class Lasting(NamedTuple):
    """Which samples of a loop go on: those where ``sign`` times a carried number is above a bound, or at it.

    Parameters
    ----------
    carried : int
        Which of what is carried.
    sign : int
    bound : float
        Times the sign, too.
    strict : bool
        Whether those at the bound have ended.
    """

    carried: int
    sign: int
    bound: float
    strict: bool


class Repeated(NamedTuple):
    """Steps that run several times, each time on what the time before gave.

    Parameters
    ----------
    result : Node
        The value of a recurrence, or the first of its parts.
    given : tuple of Node
        Arrays that are there: what is carried into the first turn, what is gone along, what is held.
    inputs, outputs : tuple of Node
        Of one turn: what is carried, rows, what is held, and the number of the row; what is carried on and then what is
        written.
    steps : tuple of Step
        Of one turn.
    checks : tuple of Check
    carried, read : int
        How many arrays are carried, and gone along.
    length : int or Size
        How many turns there are.
    reverse : bool
        The first turn is for the last row.
    parts : tuple of Node
        Where each sample of a batch has a loop of its own: what is carried out of the last turn, an array each.
    lasting : Lasting, optional
        Which samples go on, where one number tells; else those go on that the last turn changed.
    """

    result: Node
    given: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    steps: tuple[Step, ...]
    checks: tuple[Check, ...]
    carried: int
    read: int
    length: Dim
    reverse: bool
    parts: tuple[Node, ...] = ()
    lasting: Lasting | None = None

    @property
    def results(self) -> tuple[Node, ...]:
        """The one array that it computes, or one for each that is carried."""
        return self.parts or (self.result,)

    @property
    def counts(self) -> bool:
        """True where a turn reads its number."""
        number = self.inputs[-1]
        return number in self.outputs or any(number in sources(step) for step in nested(self.steps))


Step: TypeAlias = Repacked | Repeated | LoopStep | Product | Reduction | Scan | Move | MatrixFunction | Routine | Call


def stays_in_vectors(steps: Sequence[Step]) -> bool:
    """Tell whether a loop with such a body keeps what it carries in vectors: it is one program for one sample."""
    return len(steps) == 1 and isinstance(steps[0], LoopStep) and not steps[0].loops and len(steps[0].pieces) == 1


def sources(step: Step) -> tuple[Node, ...]:
    """Return the arrays that a step reads."""
    if isinstance(step, LoopStep):
        return tuple(dict.fromkeys(port.source for piece in step.pieces for port in piece.ports))
    if isinstance(step, Product):
        return tuple(dict.fromkeys((step.first.source, step.second.source)))
    if isinstance(step, MatrixFunction):
        return (step.matrix,) if step.other is None else (step.matrix, step.other)
    if isinstance(step, Routine | Call):
        return step.operands
    if isinstance(step, Repacked):
        return (step.source,)
    if isinstance(step, Repeated):
        return tuple(dict.fromkeys(step.given))
    return (step.source.source,)


def loops_of(step: Step) -> tuple[Dim, ...]:
    """Return the lengths of a step's loops, none for steps of whole arrays."""
    if isinstance(step, LoopStep):
        return step.loops
    if isinstance(step, Repeated):
        return (step.length,)
    return () if isinstance(step, MatrixFunction | Routine | Call | Repacked) else step.sizes


def is_tiled(step: Step) -> bool:
    """Tell whether a step has the axis of tiles."""
    if isinstance(step, MatrixFunction | Routine | Call | Repacked | Repeated):
        return any(node.shape[:1] == (BATCH,) for node in (*step.results, *sources(step)))
    return BATCH in loops_of(step)


def nested(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield steps, and behind each that repeats a plan those of the plan."""
    for step in steps:
        yield step
        if isinstance(step, Repeated):
            yield from nested(step.steps)
