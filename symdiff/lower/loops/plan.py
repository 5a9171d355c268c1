"""From a formula over long arrays to loops: which passes there are, and what one element of each is.

A formula that is too large to scalarize, or whose sizes are known at call time only, is cut
into steps at operations that need a complete long axis. Between the cuts, everything is fused: one loop
whose element is a formula of fixed size (:mod:`.element`), lowered as any small formula is.
Three kinds of steps come out:

    map      every element of some arrays, from elements of others          y = exp(-x**2) * s
    sum      a sum over the loops of such an element                        s = sum(log(x))
    array    what has no loop here: a maximum, a product of large matrices   NumPy

A softmax over a long axis, say, is a maximum, a sum and a map. Steps that go over the same
range and do not wait for each other are one step with several results.

What pads an array or joins arrays is a loop cut into pieces, at whose edges the element's
formula changes; so the gradient of a stencil is one loop over the inside and two small ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...graph import BOOL, Node, label_sizes, placeholder, postorder, substitute
from ...graph.scalars.functions import to_real
from ...graph.sizes import Dim
from ...ground.gc_pause import paused
from ..dump import Listed, loop_lines
from ..expand import EXPANSIONS, expand_node
from ..program import CHEAP, Program
from ..unroll import unroll
from .access import Access, AxisIndex, Check, CutError, LoopInput, NoLoopError, all_of, is_long
from .element import Allowance, Elements
from .ranges import Range, cut

__all__ = ["ArrayStep", "LoopPiece", "LoopStep", "Loops", "plan_loops"]

#: Pieces into which one step may be cut.
PIECES = 32
#: Nodes of a formula that loops are looked for in: the element of a loop has about as many operations.
NODES = 5_000
#: Additions that an element of some loop should take where other steps run on NumPy: NumPy would do less as well.
WORTH = 6


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
    """A loop that computes some arrays, or sums.

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
    """

    loops: tuple[Dim, ...]
    results: tuple[Node, ...]
    places: tuple[Access, ...]
    total: bool
    pieces: tuple[LoopPiece, ...]


class ArrayStep(NamedTuple):
    """One operation on whole arrays.

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


@dataclass(frozen=True, repr=False)
class Loops(Listed):
    """Steps that compute a formula, in an order in which they can run.

    Parameters
    ----------
    inputs, outputs : tuple of Node
        Of the whole; outputs are results of steps.
    steps : tuple of LoopStep or ArrayStep
    checks : tuple of Check
        Slices to be checked when sizes are known.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    steps: tuple[LoopStep | ArrayStep, ...]
    checks: tuple[Check, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all of it is loops."""
        return all(isinstance(step, LoopStep) for step in self.steps)

    @property
    def is_cut(self) -> bool:
        """Whether a loop has several pieces, whose order counts on sizes not being small."""
        return any(isinstance(step, LoopStep) and len(step.pieces) > 1 for step in self.steps)

    def lines(self) -> Iterator[str]:
        """Give each step, with the program of an element."""
        return loop_lines(self)


@paused
def plan_loops(inputs: Sequence[Node], outputs: Sequence[Node], limit: int) -> Loops:
    """Find the loops of a formula.

    Parameters
    ----------
    inputs : sequence of Node
        In the order of the kernel's arguments; sizes may be symbolic.
    outputs : sequence of Node
        Without names, barriers and custom functions.
    limit : int
        Scalar operations of one element, at most.

    Returns
    -------
    Loops

    Raises
    ------
    UnsupportedError
        If it has none, or one that cannot be written as a small program; the message says why.
    """
    roots = [to_real(node) for node in _expand(outputs)]
    if len(postorder(roots)) > NODES:
        raise NoLoopError(f"a formula of more than {NODES} nodes has no short elements")
    if any(node.dtype is BOOL for node in inputs):
        raise NoLoopError("an input is a condition")
    planner = _Planner(limit)
    planner.discover(roots)
    return planner.finish(tuple(inputs), tuple(roots))


# ---------------------------------------------------------------------------- long reductions


def _expand(roots: Sequence[Node]) -> list[Node]:
    """Write what reduces long axes, but sums and maxima, in terms of sums and maxima."""
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        if node.op in EXPANSIONS and any(is_long(node.args[0].shape[axis]) for axis in node.payload.axes):
            x = node.args[0]
            new[node] = expand_node(node.op, x, tuple(axis + x.ndim for axis in node.payload.axes))
    if not new:
        return list(roots)
    # an expansion is in terms of the argument as it was; from the leaves up, each sees the one before
    done: dict[Node, Node] = {}
    for old, expanded in new.items():
        (done[old],) = substitute([expanded], done)
    return substitute(roots, done)


# ---------------------------------------------------------------------------- planning


class _Task(NamedTuple):
    """How an array is computed, before steps are made one of several.

    Parameters
    ----------
    node : Node
    loops : tuple of int or Size
    place : Access
        Where in it an element stands.
    over : tuple of int
        For a sum over the loops, the labels that it sums over.
    """

    node: Node
    loops: tuple[Dim, ...]
    place: Access
    over: tuple[int, ...] = ()


class _Planner:
    """Finds which arrays there are between steps, and makes the steps."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.room = Allowance()
        self.kept: frozenset[Node] = frozenset()
        self.needs: dict[Node, list[Node]] = {}
        self.tasks: dict[Node, _Task] = {}
        self.arrays: dict[Node, ArrayStep] = {}
        self.checks: dict[Check, None] = {}

    def discover(self, roots: Sequence[Node]) -> None:
        """Find every array that has to be there, from the outputs down."""
        for _ in range(2):  # what whole-array steps read exists, and is not computed again: a second look
            self.needs, self.tasks, self.arrays = {}, {}, {}
            waiting = list(roots)
            while waiting:
                node = waiting.pop()
                if node not in self.needs:
                    self.needs[node] = self._needs(node)
                    waiting += self.needs[node]
            self.kept = frozenset(need for node in self.arrays for need in self.needs[node])
        if self.arrays and not any(task.loops for task in self.tasks.values()):
            raise NoLoopError("no part of it is a loop over a long axis")

    def _needs(self, node: Node) -> list[Node]:
        """Decide how a node is computed; return what has to be there before."""
        task = _task(node)
        pieces = None if task is None else self._pieces([task])
        if task is not None and pieces is not None:
            self.tasks[node] = task
            ports = [port for piece in pieces for port in piece]
            return [port.source for port in ports if port.source.args]
        step = self.arrays[node] = _array_step(node)
        return [operand for operand in step.operands if operand.args]

    def _pieces(self, tasks: Sequence[_Task]) -> list[dict[LoopInput, Node]] | None:
        """Return the ports of each piece, or None where one of the tasks is no loop's work."""
        made = self._make(tasks)
        return None if made is None else [elements.ports for elements, _ in made]

    def _make(self, tasks: Sequence[_Task]) -> list[tuple[Elements, list[Node]]] | None:
        """Make the elements of tasks over the same loops, in pieces where that must be."""
        ranges: list[list[Range]] = [[(0, size)] for size in tasks[0].loops]
        while True:
            try:
                return self._make_pieces(tasks, ranges)
            except CutError as error:
                finer = cut(ranges[error.loop], error.places, PIECES + 1)
                if len(finer) == len(ranges[error.loop]):
                    raise NoLoopError("where a part of an array ends depends on its sizes") from None
                ranges[error.loop] = finer

    def _make_pieces(
        self, tasks: Sequence[_Task], ranges: list[list[Range]]
    ) -> list[tuple[Elements, list[Node]]] | None:
        made = []
        for number, box in enumerate(itertools.product(*ranges)):
            if number >= PIECES:
                raise NoLoopError(f"one loop of it has more than {PIECES} pieces")
            elements = Elements(box, self.kept, self.room)
            results = []
            for task in tasks:
                result = _element(elements, task)
                if result is None:
                    return None
                results.append(result)
            made.append((elements, results))
        return made

    def finish(self, inputs: tuple[Node, ...], outputs: tuple[Node, ...]) -> Loops:
        """Put what was found in order, several arrays in one step where they can be."""
        level: dict[Node, int] = {}
        for node in postorder(self.needs):
            if node in self.needs:
                level[node] = 1 + max((level[need] for need in self.needs[node]), default=-1)
        steps: list[LoopStep | ArrayStep] = []
        for number in range(1 + max(level.values())):
            here = [node for node in level if level[node] == number]
            steps += [self.arrays[node] for node in here if node in self.arrays]
            alike: dict[tuple[object, ...], list[_Task]] = {}
            for task in [self.tasks[node] for node in here if node in self.tasks]:
                alike.setdefault((bool(task.over), task.loops), []).append(task)
            steps += [self._step(tasks) for tasks in alike.values()]
        if self.arrays and max(_work(step) for step in steps) < WORTH:
            raise NoLoopError("the loops would be a small part of the work")
        return Loops(inputs, outputs, tuple(steps), tuple(self.checks))

    def _step(self, tasks: list[_Task]) -> LoopStep:
        made = self._make(tasks)
        assert made is not None
        pieces = []
        for elements, results in made:
            self.checks.update(elements.checks)
            program = unroll(list(elements.ports.values()), results, self.limit)
            pieces.append(LoopPiece(elements.ranges, tuple(elements.ports), program))
        return LoopStep(
            tasks[0].loops,
            tuple(task.node for task in tasks),
            tuple(task.place for task in tasks),
            bool(tasks[0].over),
            tuple(pieces),
        )


def _work(step: LoopStep | ArrayStep) -> int:
    """Return about how many additions one element of a step takes."""
    if isinstance(step, ArrayStep) or not step.loops:
        return 0
    ops = [op for op in step.pieces[0].program.ops if op not in ("load", "const")]
    return sum(1 if op in CHEAP else 10 for op in ops)


def _task(node: Node) -> _Task | None:
    """Return the loops that could compute a node."""
    if node.op == "contract":
        sizes = label_sizes(node)
        over = tuple(label for label in sizes if label not in node.payload.out and is_long(sizes[label]))
        if over:
            if any(is_long(size) for size in node.shape):
                return None
            return _Task(node, tuple(sizes[label] for label in over), tuple(map(all_of, node.shape)), over)
    long = [axis for axis, size in enumerate(node.shape) if is_long(size)]
    place = tuple(
        AxisIndex(long.index(axis), 0, 1, None) if axis in long else all_of(size)
        for axis, size in enumerate(node.shape)
    )
    return _Task(node, tuple(node.shape[axis] for axis in long), place)


def _element(elements: Elements, task: _Task) -> Node | None:
    """Return one element of what a task computes."""
    node = task.node
    if not task.over:
        return elements.make(node, task.place)
    at = {label: all_of(size) for label, size in label_sizes(node).items()}
    at |= {label: AxisIndex(loop, 0, 1, None) for loop, label in enumerate(task.over)}
    places, build = elements.product(node, at)
    return build([elements.at(place) for place in places])


#: What NumPy does to an array without touching its elements, or needs to see together with what uses it.
_STRUCTURAL = ("reshape", "slice", "delta", "onehot", "constant", "input", "size")


def _array_step(node: Node) -> ArrayStep:
    """Return one operation on whole arrays, together with what only moves its arguments."""
    if node.dtype is BOOL:
        raise NoLoopError("a condition would have to be kept as an array")
    inside: dict[Node, Node] = {}
    operands: dict[Node, Node] = {}
    for arg in _operands(node):
        operands[arg] = inside[arg] = placeholder(("operand", len(operands)), arg.shape)
    (formula,) = substitute([node], inside)
    return ArrayStep(node, tuple(operands), tuple(operands.values()), formula)


def _operands(node: Node) -> list[Node]:
    """Return the arrays that a step reads: below it, the first that are neither leaves nor views."""
    found: dict[Node, None] = {}
    stack = list(node.args[::-1])
    while stack:
        arg = stack.pop()
        if arg.op in _STRUCTURAL or (arg.op == "contract" and len(arg.args) == 1 and arg.size == arg.args[0].size):
            stack += arg.args[::-1]
        elif arg.dtype is BOOL:
            raise NoLoopError("a condition would have to be kept as an array")
        else:
            found.setdefault(arg)
    return list(found)
