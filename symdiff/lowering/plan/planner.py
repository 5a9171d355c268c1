"""From a formula over whole arrays to a plan: which arrays there are, and which step computes each.

A formula is cut at operations that need complete arrays: products that are worth a step of their own, functions of
matrices beyond those that are scalarized, maxima and cumulative sums along long axes. Between the cuts everything is
fused into loops, whose element is a formula of fixed size (:mod:`.element`) and is lowered as any small formula
is. Loops over the same index space that do not depend on each other are one step.

What pads an array or joins arrays is a loop cut into pieces, at whose edges the element's formula changes: the
gradient of a stencil is one loop over the inside and two small ones.

Loops of a formula, routines and functions of Python are steps of their own, on whole arrays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from ...errors import UnsupportedError
from ...graph import (
    BOOL,
    Node,
    axes_of,
    contract,
    elementwise,
    inputs_of,
    label_sizes,
    parts_of,
    placeholder,
    postorder,
    result_of,
    results_of,
    step_number,
    substitute,
)
from ...graph.primitives import ADJUGATES, BY_POSITION, DELTAS, ITERATED, LISTED, Body
from ...graph.scalars.arithmetic import scaled
from ...graph.scalars.functions import to_real
from ...graph.sizes import Dim, least_size, sizes_from
from ...ground.gc_pause import paused
from ..expand import EXPANSIONS, expand_node, others_along_line
from ..matrices import said_of_indefinite
from ..unroll import unroll
from .access import (
    BATCH,
    MOST,
    Access,
    Allowance,
    AxisIndex,
    Bounds,
    CutError,
    LoopInput,
    NoLoopError,
    OrderError,
    PiecesError,
    Range,
    cut,
    inner_axes,
    inner_limit,
    is_given,
    is_long,
)
from .bound import SCANS
from .cost import NOMINAL, program_cost, turn_cost
from .distribution import distribute
from .element import Elements, PlacedTerm, Task, element_of, kept_label, padded_term, placed_terms, sums_rows, task_of
from .plan import Plan, check_phases, find_checks
from .products import (
    is_factored,
    is_product,
    is_transpose,
    shared_matrices,
    solve_inverses,
    solve_vectors,
    split_products,
    turned_inverses,
)
from .steps import (
    Call,
    Lasting,
    LoopPiece,
    LoopStep,
    MatrixFunction,
    Move,
    Product,
    Reduction,
    Repacked,
    Repeated,
    Routine,
    Scan,
    Step,
    is_tiled,
    nested,
    sources,
)
from .sums import are_shared, moved_arrays, padded_once, subtract_opposites, sum_arrays
from .turning import turn_around

__all__ = [
    "called",
    "check_length",
    "is_result",
    "make_plan",
    "part_of_loop",
    "repacked",
    "repeated",
    "reshaped",
    "routine",
    "with_joined_spectra",
]


#: In one turn of a loop: up to which length an axis is always unrolled, and up to which it may be.
SHORT, UNROLLED = 4, 64
#: Makes the plan of a formula; the number is the most operations of one scalar program.
Planner = Callable[[Sequence[Node], Sequence[Node], int], Plan]


def repeated(node: Node, limit: int, make_plan: Planner) -> Repeated | None:
    """Return a recurrence as a plan of its body that is repeated, None where the body needs NumPy or conditions."""
    body, length, reverse = node.payload
    given = (*body.carried, *body.read, *body.held, step_number())
    if _has_samples(node):
        return _by_sample(node, given, limit, make_plan)
    plans = []
    for most in _limits(body.results):
        with inner_axes(most), suppress(UnsupportedError):
            plan = make_plan(given, body.results, limit)
            if not any(isinstance(step, Call) for step in nested(plan.steps)):
                plans.append(plan)
    if not plans:
        return None
    plan = min(plans, key=lambda plan: turn_cost(plan.steps))
    parts = plan.inputs, plan.outputs, plan.steps, plan.checks
    return Repeated(node, node.args, *parts, len(body.carried), len(body.read), length, reverse)


def _has_samples(node: Node) -> bool:
    """Tell whether a recurrence is one of all samples of a batch."""
    return any(BATCH in own.shape for own in (*node.args, *node.payload.body.results))


def _by_sample(node: Node, given: tuple[Node, ...], limit: int, make_plan: Planner) -> Repeated | None:
    """Return a loop of the samples of a tile, where a turn depends on what is carried alone: each ends by itself."""
    body, length, reverse = node.payload
    if body.read or len(body.results) > len(body.carried) or any(own.shape[:1] != (BATCH,) for own in body.carried):
        return None
    with suppress(UnsupportedError):
        plan = make_plan(given, body.results, limit)
        if any(isinstance(step, Call) or not is_tiled(step) for step in nested(plan.steps)):
            return None
        inputs, outputs, steps, checks = plan.inputs, plan.outputs, plan.steps, plan.checks
        parts = tuple(results_of(node))
        counts = len(body.carried), 0
        loop = node.args, inputs, outputs, steps, checks, *counts, length, reverse
        made = Repeated(parts[0], *loop, parts, lasting(body))
        return None if made.counts else made
    return None


def lasting(body: Body) -> Lasting | None:
    """Return which samples a body changes, where a comparison of one carried number with a bound decides for all."""
    tests = set()
    for result, own in zip(body.results, body.carried, strict=False):
        if not result.is_choice or result.args[2] is not own:
            return None
        test = result.args[0]
        tests.add(test.args[0] if test.is_reshape else test)
    if len(tests) != 1:
        return None
    (test,) = tests
    if test.op not in ("less", "less_equal") or test.args[0].is_constant == test.args[1].is_constant:
        return None
    is_above = test.args[0].is_constant
    bound, number = test.args if is_above else test.args[::-1]
    if bound.ndim or number not in body.carried or math.prod(number.shape[1:]) != 1:
        return None
    sign = 1 if is_above else -1
    return Lasting(body.carried.index(number), sign, sign * float(bound.value), test.op == "less")


def part_of_loop(node: Node) -> tuple[Node, Node] | None:
    """Return the loop over samples that a node is a result of, and the result as the loop has it."""
    source = node.args[0] if node.is_reshape else node
    loop = source.args[0] if source.is_slice else source
    if not loop.is_recurrence or not _has_samples(loop):
        return None
    for part in map(partial(result_of, loop), parts_of(loop)):
        if (part.args[0] if part.is_reshape else part) is source:
            return loop, part
    return None


def _limits(results: Sequence[Node]) -> list[int]:
    """Return the bounds on unrolled axes that a body is planned with; the cheapest of these plans is kept.

    One turn computes one sample: a loop fills its vectors with elements, unrolled code has one number in all lanes.
    """
    usual = inner_limit()
    sizes = {size for node in postorder(results) for size in node.shape if isinstance(size, int)}
    others = ((SHORT, SHORT, usual), (UNROLLED, usual, UNROLLED))
    return [usual, *(most for most, low, high in others if any(low < size <= high for size in sizes))]


def is_result(node: Node) -> bool:
    """Tell whether a node is one result of a recurrence: a part of its output, reshaped."""
    if not node.is_reshape:
        return node.is_slice and part_of_loop(node) is not None
    source = node.args[0]
    return (source.args[0] if source.is_slice else source).is_recurrence


def repacked(node: Node) -> Repacked | None:
    """Return an array in another shape as a step of its own: no loop can index it where both shapes have letters."""
    if not node.is_reshape or node.dtype is BOOL:
        return None
    source: Node = node.args[0]
    start: Dim = 0
    if source.is_slice and source.args[0].ndim == 1:
        first, step, length = source.payload.items[0]
        if step == 1 and length is not None:
            source, start = source.args[0], first
    if BATCH in node.shape or BATCH in source.shape or source.dtype is BOOL:
        return None
    return Repacked(node, source, start)


def reshaped(node: Node) -> Routine | None:
    """Return an array of samples in another shape, as a copy: the samples of a tile may lie apart."""
    if not node.is_reshape or node.dtype is BOOL or not node.shape[:1] == node.args[0].shape[:1] == (BATCH,):
        return None
    return Routine("reshape", (node,), node.args)


def routine(node: Node) -> Routine | None:
    """Return an operation that compiled code does on whole arrays, None for others.

    The samples' axis can only be the first of each of its arrays.
    """
    if any(BATCH in own.shape[1:] or own.dtype is BOOL for own in (node, *node.args)):
        return None
    if node.op in ITERATED:
        return Routine("spectrum", (node, None) if node.op == "eigvalsh" else (None, node), node.args)
    if node.op in ADJUGATES:
        return Routine("adjugate", (node,), node.args)
    if node.op == "sort" and is_long(node.shape[node.payload.axis]):
        axis, back = node.payload
        return Routine("sort", (node,), node.args, axis + node.ndim, 0, back)
    if node.op in BY_POSITION:
        indexed = node.args[0] if node.op == "take" else node
        axis, own = node.payload.axis + indexed.ndim, node.payload.shared
        return Routine(node.op, (node,), node.args, axis, own)
    if node.op == "triangle" and any(map(is_long, node.shape[-2:])):
        upper, offset = node.payload
        return Routine("triangle", (node,), node.args, 0, offset, upper)
    if node.op == "arrange":
        axis, back = node.payload
        return Routine("arrange", (node,), node.args, axis + node.args[1].ndim, 0, back)
    return None


def with_joined_spectra(steps: Sequence[Step]) -> list[Step]:
    """Return steps that do not depend on each other, eigenvalues and eigenvectors of the same matrices in one."""
    joined: list[Step] = []
    place: dict[Node, int] = {}
    for step in steps:
        if not isinstance(step, Routine) or step.op != "spectrum":
            joined.append(step)
            continue
        (matrix,) = step.operands
        if matrix not in place:
            place[matrix] = len(joined)
            joined.append(step)
            continue
        other = joined[place[matrix]]
        assert isinstance(other, Routine)
        made = tuple(mine or its for mine, its in zip(step.made, other.made, strict=True))
        joined[place[matrix]] = step._replace(made=made)
    return joined


#: Leaves and views, which are written into the step that uses them: no elements are computed.
_STRUCTURAL = frozenset(("reshape", "slice", "constant", "input", "size")) | DELTAS


def called(node: Node) -> Call:
    """Return one operation on whole arrays as a call of NumPy, together with the views of its arguments."""
    if node.dtype is BOOL:
        raise NoLoopError("a condition would have to be kept as an array")
    inside: dict[Node, Node] = {}
    operands: dict[Node, Node] = {}
    for arg in _operands(node):
        operands[arg] = inside[arg] = placeholder(("operand", len(operands)), arg.shape)
    (formula,) = substitute([node], inside)
    step = Call(node, tuple(operands), tuple(operands.values()), formula)
    missing = {*inputs_of([formula])}.difference(step.inputs, step.sized(inputs_of([node])))
    if missing:
        raise NoLoopError("a step over all samples at once reads them from an input")
    return step


def _operands(node: Node) -> list[Node]:
    """Return the arrays that a step reads: below it, the first that are neither leaves nor views."""
    found: dict[Node, None] = {}
    stack = list(node.args[::-1])
    while stack:
        arg = stack.pop()
        if arg.op in _STRUCTURAL or (arg.is_contraction and len(arg.args) == 1 and arg.size == arg.args[0].size):
            stack += arg.args[::-1]
        elif arg.dtype is BOOL:
            raise NoLoopError("a condition would have to be kept as an array")
        else:
            found.setdefault(arg)
    return list(found)


#: Pieces into which one step may be cut, and from which on what is moved may be arrays of its own instead.
PIECES, FEW_PIECES = 32, 8
#: Elements that may be made for as many pieces.
FEW_ELEMENTS = 20_000
#: Pieces of a loop are computed together where that is less than this part of their work.
MUCH = 0.75
#: The elements of each piece of a loop, and what is made of them.
Made: TypeAlias = list[tuple[Elements, list[Node]]]
#: Nodes of a formula that a plan is made for: the element of a loop has about as many operations.
NODES = 5_000


@paused
def make_plan(inputs: Sequence[Node], outputs: Sequence[Node], limit: int) -> Plan:
    """Cut a formula into steps.

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
    Plan

    Raises
    ------
    UnsupportedError
        If a part of it cannot be planned; the message says why.
    """
    roots, apart = padded_once([to_real(node) for node in _expand(distribute(turn_around(outputs)))])
    count = len(roots)
    roots, symmetric = split_products(subtract_opposites([*roots, *apart]))
    # passes rebuild products, and with them those that are symmetric
    made = solve_vectors(solve_inverses([*roots, *symmetric], needed=len(roots)))
    padded, symmetric = frozenset(made[count : len(roots)]), set(made[len(roots) :])
    roots = made[:count]
    check_length(roots)
    if any(node.dtype is BOOL for node in inputs):
        raise NoLoopError("an input is a condition")
    with sizes_from():
        turned = turned_inverses(roots)

        def plan(bounds: Bounds, wanted: Sequence[Node] = roots) -> Plan:
            planner = _Planner(limit, symmetric, turned, bounds)
            planner.discover(wanted)
            return planner.finish(tuple(inputs), tuple(wanted))

        found: list[tuple[Plan, Bounds]] = []
        bounds = Bounds(FEW_PIECES, MOST, padded)
        try:
            found.append((plan(bounds), bounds))
        except PiecesError as error:
            for bounds in (Bounds(PIECES, FEW_ELEMENTS, padded), Bounds(PIECES, MOST, padded | moved_arrays(roots))):
                with suppress(NoLoopError):
                    found.append((plan(bounds), bounds))
            if not found:
                raise error
        best, bounds = min(found, key=lambda one: _nominal_time(one[0]))
        sums, terms = sum_arrays(roots, best.steps)
        if terms:
            with suppress(NoLoopError):
                other = plan(bounds._replace(apart=bounds.apart | terms), sums)
                best = min(best, other, key=_nominal_time) if are_shared(terms, other.steps) else best
        return best


def _nominal_time(plan: Plan) -> float:
    """Return the nanoseconds of a call of many samples, or of one where that is all."""
    return plan.estimate.once + NOMINAL * plan.estimate.sample


def check_length(roots: Sequence[Node]) -> None:
    """Refuse a formula that is too long to be planned."""
    if len(postorder(roots, most=NODES)) > NODES:
        raise NoLoopError(f"a formula of more than {NODES} nodes has no short elements")


def _expand(roots: Sequence[Node]) -> list[Node]:
    """Write reductions of long axes in terms of sums and maxima."""
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        if node.op in EXPANSIONS and any(is_long(node.args[0].shape[axis]) for axis in node.payload.axes):
            x = node.args[0]
            new[node] = expand_node(node.op, x, axes_of(node, x))
        elif node.op == "prod" and is_long(node.shape[-1] if node.shape else 1):
            others = others_along_line(node)
            if others is not None:
                new[node] = others
    if not new:
        return list(roots)
    # an expansion is in terms of the argument as it was; from the leaves up, each sees the one before
    done: dict[Node, Node] = {}
    for old, expanded in new.items():
        (done[old],) = substitute([expanded], done)
    return substitute(roots, done)


class _Planner:
    """Finds which arrays there are between steps, and makes the steps."""

    def __init__(self, limit: int, symmetric: Collection[Node], turned: Collection[Node], bounds: Bounds) -> None:
        self.limit = limit
        self.pieces, elements, self.apart = bounds
        self.symmetric = symmetric
        self.turned = turned
        self.room = Allowance(elements)
        self.kept = self.apart
        self.needs: dict[Node, list[Node]] = {}
        self.tasks: dict[Node, Task] = {}
        self.whole: dict[Node, Step] = {}
        self.placed: dict[Node, list[PlacedTerm]] = {}
        #: Plans of bodies, which do not depend on what else there is: each is made once, not in each look.
        self.repeated: dict[Node, Repeated | None] = {}

    # ------------------------------------------------------------------ which arrays there are

    def discover(self, roots: Sequence[Node]) -> None:
        """Find every array that has to be there, from the outputs down."""
        for _ in range(2):  # what other steps read exists, and is not computed again within loops: a second look
            self.needs, self.tasks, self.whole, self.placed = {}, {}, {}, {}
            waiting = [node for node in roots if not is_given(node)]
            while waiting:
                node = waiting.pop()
                if node not in self.needs:
                    self.needs[node] = self._needs(node)
                    waiting += self.needs[node]
            self.kept = self.apart.union(self.whole, *(self.needs[node] for node in self.whole))

    def _needs(self, node: Node) -> list[Node]:
        """Decide how a node is computed; return what has to be there before."""
        terms = [padded_term(node)] if node.is_pad and node in self.apart else placed_terms(node)
        if terms is not None:
            self.placed[node] = terms
            pieces_of = itertools.chain.from_iterable(self._placed(node))
            read = dict.fromkeys(port.source for elements, _ in pieces_of for port in elements.ports)
            return [source for source in read if not is_given(source) and source is not node]
        step = self._step(node)
        if step is None:
            task = task_of(node)
            pieces = None if task is None else self._pieces([task])
            if task is not None and pieces is not None:
                self.tasks[node] = task
                ports = [port for piece in pieces for port in piece]
                return [port.source for port in ports if not is_given(port.source)]
            step = repacked(node) or reshaped(node) or called(node)
        self.whole[node] = step
        return [source for source in sources(step) if not is_given(source)]

    def _step(self, node: Node) -> Step | None:
        """Return the step of an operation that needs complete arrays, None for what is a loop's work."""
        scale, product = scaled(node)
        if is_product(product):
            return self._product(node, product, scale)
        if node.op in ("max", "min", "prod") and any(is_long(node.args[0].shape[axis]) for axis in node.payload.axes):
            return self._reduction(node)
        if node.op in SCANS and is_long(node.shape[node.payload.axis]):
            return self._scan(node)
        if node.op in LISTED and _moves(node):
            return self._move(node)
        if node.is_contraction and sums_rows(node) and kept_label(node) is None:
            return self._sum(node)
        found = part_of_loop(node)
        if found is not None:
            loop, part = found
            step = self._repeated(loop)
            if step is not None:
                return step if part is node else Routine("reshape", (node,), (part,))
        if node.is_recurrence:
            return self._repeated(node)
        if is_result(node):
            return repacked(node)
        if node in self.turned or is_factored(node):
            return self._matrix(node)
        return routine(node)

    def _repeated(self, node: Node) -> Repeated | None:
        if node not in self.repeated:
            self.repeated[node] = repeated(node, self.limit, make_plan)
        return self.repeated[node]

    def _view(self, node: Node, access: Access, sizes: Sequence[Dim]) -> LoopInput:
        """Return where a factor is read: a part of an array that exists, or the factor itself, which then has to."""
        elements = Elements([(0, size) for size in sizes], self.kept, self.room, _is_apart, lists=False)
        try:
            found = elements.at((node, access))
        except (CutError, NoLoopError):
            return LoopInput(node, access)
        ports = list(elements.ports)
        if len(ports) == 1 and found is elements.ports[ports[0]] and not found.shape:
            return ports[0]
        return LoopInput(node, access)

    def _product(self, result: Node, node: Node, scale: float) -> Product:
        sizes = label_sizes(node)
        # the samples' axis is the first loop, along which tiles are
        order = sorted(sizes, key=lambda label: sizes[label] != BATCH)
        at = {label: AxisIndex(loop, 0, 1, None) for loop, label in enumerate(order)}
        lengths = tuple(sizes[label] for label in order)
        first, second = (
            self._view(arg, tuple(at[label] for label in own), lengths)
            for arg, own in zip(node.args, node.payload.labels, strict=True)
        )
        place = tuple(at[label] for label in node.payload.out)
        return Product(result, lengths, first, second, place, scale, node in self.symmetric)

    def _along(self, node: Node, axis: int) -> tuple[tuple[Dim, ...], Access]:
        """Return loops over all axes of an array, the given one last, and the place of an element."""
        order = [a for a in range(node.ndim) if a != axis] + [axis]
        place = tuple(AxisIndex(order.index(a), 0, 1, None) for a in range(node.ndim))
        return tuple(node.shape[a] for a in order), place

    def _reduction(self, node: Node) -> Reduction:
        (arg,) = node.args
        own = tuple(AxisIndex(a, 0, 1, None) for a in range(arg.ndim))
        axes = set(axes_of(node, arg))
        source = self._view(arg, own, arg.shape)
        return Reduction(node.op, node, arg.shape, source, tuple(i for a, i in enumerate(own) if a not in axes))

    def _sum(self, node: Node) -> Reduction:
        """Sum along long axes beside other long ones: the products are an array, whose rows are added up."""
        labels, out, _ = node.payload
        sizes = label_sizes(node)
        over = [label for label in sizes if label not in out and is_long(sizes[label])]
        # the samples' axis stands first
        kept = tuple(sorted((*over, *out), key=lambda label: sizes[label] != BATCH))
        products = contract(node.args, labels, kept)
        own = tuple(AxisIndex(axis, 0, 1, None) for axis in range(len(kept)))
        source = self._view(products, own, products.shape)
        return Reduction("sum", node, products.shape, source, tuple(own[kept.index(label)] for label in out))

    def _scan(self, node: Node) -> Scan:
        (arg,) = node.args
        sizes, place = self._along(arg, node.payload.axis + arg.ndim)
        return Scan(node.op, node, sizes, self._view(arg, place, sizes), place, node.payload.reverse)

    def _move(self, node: Node) -> Move:
        (arg,) = node.args
        axis = node.payload.axis + arg.ndim
        place = tuple(AxisIndex(a, 0, 1, None) for a in range(arg.ndim))
        sizes = tuple(len(node.payload.indices) if a == axis else size for a, size in enumerate(arg.shape))
        source = LoopInput(arg, place) if node.is_gather else self._view(arg, place, sizes)
        return Move(node, sizes, source, place, axis, node.payload.indices, node.op == "scatter")

    def _matrix(self, node: Node) -> MatrixFunction:
        if node in self.turned:
            matrix = shared_matrices(node.args[0].args[0])
            return MatrixFunction("inv_transposed", node, matrix, None, said_of_indefinite(matrix))
        matrix, *other = node.args
        op, matrix = node.op, shared_matrices(matrix)
        if op == "solve" and is_transpose(matrix):
            op, matrix = "solve_transposed", matrix.args[0]
        return MatrixFunction(op, node, matrix, other[0] if other else None, said_of_indefinite(matrix))

    # ------------------------------------------------------------------ loops

    def _pieces(self, tasks: Sequence[Task]) -> list[dict[LoopInput, Node]] | None:
        """Return the ports of each piece, or None where one of the tasks is no loop's work."""
        made = self._make(tasks)
        return None if made is None else [elements.ports for elements, _ in made]

    def _make(self, tasks: Sequence[Task]) -> Made | None:
        """Make the elements of tasks over the same loops."""

        def each(elements: Elements) -> list[Node] | None:
            results = []
            for task in tasks:
                result = element_of(elements, task)
                if result is None:
                    return None
                results.append(result)
            return results

        return self._in_pieces(tasks[0].loops, each)

    def _in_pieces(self, loops: Sequence[Dim], make: Callable[[Elements], list[Node] | None]) -> Made | None:
        """Make elements of loops, in pieces where what they are made of changes; None where they are no loop's work."""
        ranges: list[list[Range]] = [[(0, size)] for size in loops]
        while True:
            try:
                return self._make_pieces(ranges, make)
            except CutError as error:
                finer = cut(ranges[error.loop], error.places, self.pieces + 1)
                if len(finer) == len(ranges[error.loop]):
                    if len(finer) > self.pieces:
                        raise PiecesError(f"one loop of it has more than {self.pieces} pieces") from None
                    raise OrderError from None
                ranges[error.loop] = finer

    def _make_pieces(self, ranges: list[list[Range]], make: Callable[[Elements], list[Node] | None]) -> Made | None:
        made = []
        for k, box in enumerate(itertools.product(*ranges)):
            if k >= self.pieces:
                raise PiecesError(f"one loop of it has more than {self.pieces} pieces")
            elements = Elements(box, self.kept, self.room, _is_apart)
            results = make(elements)
            if results is None:
                return None
            made.append((elements, results))
        return made

    # ------------------------------------------------------------------ steps

    def finish(self, inputs: tuple[Node, ...], outputs: tuple[Node, ...]) -> Plan:
        """Put what was found in order, several arrays in one step where they can be."""
        level = self._levels()
        steps: list[Step] = []
        for now in range(1 + max(level.values(), default=-1)):
            here = [node for node in level if level[node] == now]
            whole = {id(step): step for node in here if (step := self.whole.get(node)) is not None}
            steps += with_joined_spectra([*whole.values()])
            for node in here:
                if node in self.placed:
                    steps += self._placed_steps(node)
            alike: dict[tuple[object, ...], list[Task]] = {}
            for task in [self.tasks[node] for node in here if node in self.tasks]:
                alike.setdefault((bool(task.over), task.kept, task.loops), []).append(task)
            steps += [self._program(tasks) for tasks in alike.values()]
        check_phases(steps)
        within = [check for step in steps if isinstance(step, Repeated) for check in step.checks]
        checks = tuple(dict.fromkeys((*find_checks(outputs), *within)))
        return Plan(inputs, outputs, tuple(steps), checks, least_size())

    def _placed(self, node: Node) -> list[Made]:
        """Make the elements of terms that stand in parts of an array; each adds to those before it."""
        made = []
        for k, term in enumerate(self.placed[node]):

            def sums(elements: Elements, k: int = k, term: PlacedTerm = term) -> list[Node] | None:
                value = term.element(elements)
                if value is None:
                    return None
                return [elementwise("add", (elements.port(node, term.place), value)) if k else value]

            pieces = self._in_pieces(term.loops, sums)
            if pieces is None:
                raise NoLoopError("a part of an array is no loop's work")
            made.append(pieces)
        return made

    def _placed_steps(self, node: Node) -> Iterator[LoopStep]:
        for k, (term, made) in enumerate(zip(self.placed[node], self._placed(node), strict=True)):
            fills = not k and not term.whole
            yield LoopStep(term.loops, (node,), (term.place,), False, self._programs(made), fills=fills)

    def _programs(self, made: Made) -> tuple[LoopPiece, ...]:
        pieces = []
        for elements, results in made:
            program = unroll(list(elements.ports.values()), results, self.limit)
            pieces.append(LoopPiece(elements.ranges, tuple(elements.ports), program))
        return tuple(pieces)

    def _levels(self) -> dict[Node, int]:
        """Return how many steps have to run before that of each array."""
        level: dict[Node, int] = {}
        stack = list(self.needs)
        while stack:
            node = stack[-1]
            missing = [need for need in self.needs[node] if need not in level]
            if node in level or not missing:
                level.setdefault(node, 1 + max((level[need] for need in self.needs[node]), default=-1))
                stack.pop()
            else:
                stack += missing
        return level

    def _program(self, tasks: list[Task]) -> LoopStep:
        made = self._make(tasks)
        assert made is not None
        pieces = self._programs(made)
        loops, total, kept = tasks[0].loops, bool(tasks[0].over), tasks[0].kept
        if not total and len(pieces) > 1:
            side_by_side = self._side_by_side(tasks, pieces)
            if side_by_side is not None:
                return side_by_side
        results, places = tuple(task.node for task in tasks), tuple(task.place for task in tasks)
        return LoopStep(loops, results, places, total, pieces, kept=kept)

    def _side_by_side(self, tasks: list[Task], pieces: Sequence[LoopPiece]) -> LoopStep | None:
        """Compute equally long pieces of a loop in one shorter loop, where their elements have much in common.

        The gates of a cell are joined to one array, and the slope of each is made of all of them.
        """
        found = _equal_parts([piece.ranges for piece in pieces])
        if found is None:
            return None
        loop, length = found
        loops = tuple(length if k == loop else size for k, size in enumerate(tasks[0].loops))
        moved = [
            task._replace(place=tuple(_moved(index, loop, k * length) for index in task.place))
            for k in range(len(pieces))
            for task in tasks
        ]
        elements = Elements([(0, size) for size in loops], self.kept, self.room, _is_apart)
        try:
            results = [element_of(elements, task) for task in moved]
        except NoLoopError:
            return None
        made = [result for result in results if result is not None]
        if len(made) < len(results):
            return None
        (joined,) = self._programs([(elements, made)])
        if program_cost(joined.program) > MUCH * sum(program_cost(piece.program) for piece in pieces):
            return None
        places = tuple(task.place for task in moved)
        return LoopStep(loops, tuple(task.node for task in moved), places, False, (joined,))


def _equal_parts(boxes: Sequence[Sequence[Range]]) -> tuple[int, int] | None:
    """Return the one loop that is cut, and how long its parts are, if all are equally long and follow each other."""
    cut_ = [k for k, ranges in enumerate(zip(*boxes, strict=True)) if len(set(ranges)) > 1]
    if len(cut_) != 1:
        return None
    ranges = [box[cut_[0]] for box in boxes]
    length = ranges[0][1]
    if not isinstance(length, int) or ranges != [(k * length, (k + 1) * length) for k in range(len(ranges))]:
        return None
    return cut_[0], length


def _moved(index: AxisIndex, loop: int, by: int) -> AxisIndex:
    return index._replace(start=index.start + index.step * by) if index.loop == loop else index


def _is_apart(node: Node) -> bool:
    """Tell whether a node is a step of its own, and no part of a loop."""
    return is_product(node) or is_factored(node) or is_result(node)


def _moves(node: Node) -> bool:
    """Tell whether positions along a long axis are taken, or added to: those taken in a loop are read by it."""
    axis = node.payload.axis
    before, after = is_long(node.args[0].shape[axis]), is_long(node.shape[axis])
    return before and not after if node.is_gather else before or after
