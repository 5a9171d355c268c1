"""Loops whose body is one program: which of its arrays stay in registers from turn to turn.

Code of such a loop contains the loop itself. What is carried is then a variable of that code, and a turn takes as long
as its arithmetic. The interpreter, and loops with longer bodies, hand everything over in memory.
"""

from __future__ import annotations

from typing import NamedTuple

from ...graph import Node
from .steps import LoopStep, Repeated, stays_in_vectors

__all__ = ["COUNTER", "HELD", "MEMORY", "Wiring", "wiring_of"]

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
        """Whether a turn that changes nothing is the last: each turn depends on what is carried alone."""
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
