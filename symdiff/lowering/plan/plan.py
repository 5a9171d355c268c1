"""The plan of a formula: steps over whole arrays, in an order in which they can run.

Of a loop whose body is one program, some arrays stay in registers from turn to turn: its code contains the loop
itself. What is carried is then a variable of that code, and a turn takes as long as its arithmetic. The interpreter,
and loops with longer bodies, hand everything over in memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...graph import Item, Node, elementwise, placeholder, postorder
from ...graph.primitives import LISTED
from ...graph.sizes import LEAST, Dim, Size
from ..program import Listed, Program
from .access import BATCH, Check, NoLoopError
from .cost import Estimate, estimate
from .dump import plan_lines
from .steps import LoopStep, Product, Reduction, Repeated, Step, is_tiled, loops_of, sources, stays_in_vectors

__all__ = [
    "COUNTER",
    "HELD",
    "MEMORY",
    "Plan",
    "Wiring",
    "check_phases",
    "find_checks",
    "is_map",
    "line_of",
    "programs_of",
    "wiring_of",
]


#: Arrays that are no carried ones: rows and whatever else is in memory, what all turns read, the number of the row.
MEMORY, HELD, COUNTER = -1, -2, -3
#: Numbers that are carried, elements of one copy, and operations of a turn, at most: more do not fit the registers.
CARRIED, COPIED, OPERATIONS = 64, 64, 1000


class Wiring(NamedTuple):
    """The arrays that a turn of a loop reads and writes, as code with the loop in it knows them.

    Parameters
    ----------
    sizes : tuple of int
        Elements of each carried array.
    inputs : tuple of int
        For each input of the program the number of a carried array, :data:`MEMORY`, :data:`HELD` or :data:`COUNTER`.
    outputs : tuple of int
        For each output of the program the number of the carried array that it becomes, or :data:`MEMORY`.
    copies : tuple of (int, int, int)
        What is copied after the program, in order: elements, source and target. Carried array ``k`` is ``2 * k`` as the
        turn found it, and ``2 * k + 1`` as the turn leaves it; others are :data:`MEMORY`.
    """

    sizes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    copies: tuple[tuple[int, int, int], ...]

    @property
    def settles(self) -> bool:
        """True where a turn that changes nothing is the last: each turn depends on what is carried alone."""
        read = {MEMORY, COUNTER}.isdisjoint(self.inputs)
        return read and MEMORY not in self.outputs and all(MEMORY not in copy[1:] for copy in self.copies)


def wiring_of(step: Repeated) -> Wiring | None:
    """Return the wiring of a loop; None where its body is not one short program over whole arrays.

    Copies are those of :func:`.bind.bind`: an output that no step computes, or that is another output as well.
    """
    if not stays_in_vectors(step.steps):
        return None
    (body,) = step.steps
    assert isinstance(body, LoopStep)
    (piece,) = body.pieces
    carried, counter = step.inputs[: step.carried], step.inputs[-1]
    number = {node: k for k, node in enumerate(carried)}
    rows = step.inputs[step.carried : step.carried + step.read]
    sizes = tuple([node.size if isinstance(node.size, int) else CARRIED + 1 for node in carried])
    if len(piece.program.ops) > OPERATIONS or sum(sizes) > CARRIED or len(number) < len(carried):
        return None
    inputs = []
    for port, read in zip(piece.program.inputs, piece.ports, strict=True):
        place = number.get(read.source, COUNTER if read.source is counter else MEMORY if read.source in rows else HELD)
        if place >= 0 and port.size != sizes[place]:
            return None
        inputs.append(place)
    written: dict[Node, int] = {}
    copies: list[tuple[int, int, int]] = []
    for k, node in enumerate(step.outputs):
        target = 2 * k + 1 if k < step.carried else MEMORY
        if node in body.results and node not in written:
            written[node] = target
        elif node is counter or not isinstance(node.size, int) or node.size > COPIED:
            return None
        else:
            source = written.get(node, 2 * number[node] if node in number else MEMORY)
            copies.append((node.size, source, target))
    outputs = tuple([written[node] // 2 if written.get(node, MEMORY) >= 0 else MEMORY for node in body.results])
    if any(k >= 0 and port.size != sizes[k] for k, port in zip(outputs, piece.program.outputs, strict=True)):
        return None
    return Wiring(sizes, tuple(inputs), outputs, tuple(copies))


@dataclass(frozen=True, repr=False)
class Plan(Listed):
    """Steps that compute a formula.

    Parameters
    ----------
    inputs, outputs : tuple of Node
        Of the whole; outputs are results of steps, inputs or constants.
    steps : tuple of Step
    checks : tuple of Check
        Slices to be checked when sizes are known.
    least : int
        What letters have to be at least, so that places in arrays follow each other as the steps have it.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    steps: tuple[Step, ...]
    checks: tuple[Check, ...]
    least: int = LEAST

    @property
    def estimate(self) -> Estimate:
        """Time of all steps, with nominal numbers for letters."""
        each = [estimate(step) for step in self.steps]
        return Estimate(sum(one.once for one in each), sum(one.sample for one in each))

    def lines(self) -> Iterator[str]:
        """Give each step, with the program of an element."""
        return plan_lines(self.inputs, self.outputs, self.steps, self.checks)


def line_of(plan: Plan) -> int:
    """Return the length of the one axis that all steps of a plan go along, 0 where there is none.

    Steps that put an array together of parts, move it or run along it element by element do not count.
    """
    longest = 0
    for step in plan.steps:
        loops = loops_of(step)
        if not isinstance(step, LoopStep | Product | Reduction) or len(loops) > 1:
            return 0
        if isinstance(step, LoopStep) and (step.fills or len(step.pieces) > 1):
            return 0
        longest = max(longest, *(size if isinstance(size, int) else 0 for size in loops), 0)
    return longest


def is_map(plan: Plan) -> bool:
    """Tell whether a plan is one loop along one axis, each element of which takes one number of each input."""
    if len(plan.steps) != 1 or not isinstance(step := plan.steps[0], LoopStep) or step.total or step.fills:
        return False
    program = step.pieces[0].program
    ports = (*program.inputs, *program.outputs)
    return len(step.loops) == len(step.pieces) == 1 and all(port.size == 1 for port in ports)


#: The most loops of a step, and the most axes of an array, of which one may be a batch's.
LOOPS, RANK = 8, 15


def check_phases(steps: Sequence[Step]) -> None:
    """Refuse steps of many loops, and of a tile that read what is known after all tiles: it is gone through once.

    Raises
    ------
    NoLoopError
        If there is one.
    """
    late: set[Node] = set()
    for step in steps:
        tiled = is_tiled(step)
        _check_axes(step)
        if any(BATCH in node.shape[1:] for node in step.results):
            raise NoLoopError("the axis of tiles is not the first of an array")
        reads_late = not late.isdisjoint(sources(step))
        if tiled and reads_late:
            raise NoLoopError("a step of tiles reads what all tiles give")
        if reads_late or (tiled and not any(BATCH in node.shape for node in step.results)):
            late.update(step.results)


def _check_axes(step: Step) -> None:
    """Refuse a step that has a loop for each of too many axes, as what fills or moves a whole array has."""
    by_element = isinstance(step, LoopStep) and not step.fills
    loops = max([len(loops_of(step)), *(node.ndim for node in step.results if not by_element)])
    if loops > LOOPS or any(node.ndim > RANK for node in (*step.results, *sources(step))):
        raise NoLoopError(f"a step of more than {LOOPS} loops, or of an array of more than {RANK} axes")


def programs_of(
    plan: Plan | Repeated, carried: frozenset[Node] | None = None
) -> list[tuple[Program, bool, tuple[bool, ...], bool, Wiring | None]]:
    """Return the scalar programs of a plan, in the order of their numbers.

    Each comes with whether it is summed, which of its inputs are read from one element, whether its arrays are
    thought to be packed, as those of most bodies of loops, and which of them are carried in registers, if it is all of
    a body.
    """
    found: list[tuple[Program, bool, tuple[bool, ...], bool, Wiring | None]] = []
    wiring = wiring_of(plan) if isinstance(plan, Repeated) else None
    alone = carried is not None and stays_in_vectors(plan.steps)
    for step in plan.steps:
        if isinstance(step, LoopStep):
            for piece in step.pieces:
                shared = step.shared(piece, carried)
                packed = alone if not step.loops else carried is not None and step.has_numbers(piece, shared)
                found.append((piece.program, step.total, shared, packed, wiring))
            if step.total and len(step.pieces) > 1:
                found.append((_adder(step), False, (), False, None))
        elif isinstance(step, Repeated):
            found += programs_of(step, None if step.parts else frozenset(step.inputs[: step.carried]))
    return found


def _adder(step: LoopStep) -> Program:
    """Return the program that adds up the sums of each piece: all of them, or those of one place that is kept."""
    shapes = [node.shape for node in step.results]
    if step.kept:
        shapes = [tuple(index.length for index in place if index.length is not None) for place in step.places]
    parts = [
        [placeholder(("part", number, k), shape) for number in range(len(step.pieces))]
        for k, shape in enumerate(shapes)
    ]
    sums = []
    for several in parts:
        total = several[0]
        for part in several[1:]:
            total = elementwise("add", (total, part))
        sums.append(total)
    from ..unroll import unroll  # not needed by a plan that is known

    return unroll([part for several in parts for part in several], sums)


def find_checks(outputs: Sequence[Node]) -> tuple[Check, ...]:
    """Return the places in axes of symbolic size, which have to be there when the sizes are known."""
    found: dict[Check, None] = {}
    for node in postorder(outputs):
        places: list[tuple[Item, Dim]] = []
        if node.is_slice:
            places += zip(node.payload.items, node.args[0].shape, strict=True)
        elif node.is_onehot:
            places.append(((node.payload.at, 1, None), node.shape[0]))
        elif node.op in LISTED and node.payload.indices:
            indexed = node.args[0] if node.is_gather else node
            size = indexed.shape[node.payload.axis]
            # the first index that is out of range is one that is larger than all before
            listed = node.payload.indices if isinstance(size, Size) else ()
            highest = dict.fromkeys(itertools.accumulate(listed, max))
            places += [((at, 1, None), size) for at in highest]
        for item, size in places:
            if isinstance(size, Size) and str(BATCH) not in size.names:
                found.setdefault(Check(item, size))
    return tuple(found)
