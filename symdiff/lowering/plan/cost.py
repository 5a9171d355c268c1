"""Estimated times of the steps of a plan, from a table of fixed constants: nothing is measured where it runs.

Plans are chosen by these estimates, so equal formulas have equal plans everywhere. The constants are those of a core
with vectors of eight doubles; what counts is their ratio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...graph import Node
from ...graph.sizes import Dim, value
from ..program import CHEAP, GIVEN, Port, Program
from .access import BATCH, LoopInput
from .steps import (
    Call,
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
    sources,
    stays_in_vectors,
)

__all__ = ["Estimate", "alone_cost", "estimate", "program_cost", "turn_cost"]

# All times are in nanoseconds.
#: Calling one step, and calling Python.
STEP, PYTHON = 120.0, 20_000.0
#: In one turn of a loop: calling a program that runs where its arrays lie, and calling any other step.
TURN, OTHER_TURN = 30.0, 80.0
#: The time of a turn whose arrays stay in vectors, as a part of what its operations take elsewhere.
IN_VECTORS = 0.57
#: One function in a program; one cheap operation where all values stay in registers, and where values are spilled.
OPERATION, FITTING, SPILLING = 1.2, 0.035, 0.065
#: The same for one sample, a division or root among the functions; one number that is loaded or stored.
ALONE, ALONE_FUNCTION, ALONE_MOVED = 0.45, 5.0, 0.5
#: From so many cheap operations on, a program spills values.
REGISTERS = 400
#: Numbers of a vector: a vector of fewer elements takes as long.
LANES = 8
#: One multiplication in a product of matrices, and in a product with a vector; moving one byte.
MULTIPLICATION, STREAMED, BYTE = 0.025, 0.12, 0.02
#: One element of a sum whose arrays lack some of its loops, and are laid out for it.
LAID_OUT = 3.0
#: One of n³ numbers: for eigenvalues alone, for eigenvalues with eigenvectors, for an adjugate.
EIGENVALUES, EIGENVECTORS, COFACTORS = 0.6, 1.1, 1.0
#: One element: taken by its position, placed by its rank, sorted.
FOUND, ORDERED, SORTED = 1.5, 15.0, 4.0
#: The number that a letter stands for in estimates.
NOMINAL = 1000


class Estimate(NamedTuple):
    """Nanoseconds of a step: once a call, and for each sample of the batch."""

    once: float
    sample: float


def program_cost(program: Program, inputs: Sequence[Port] | None = None) -> float:
    """Return the nanoseconds that a program takes for one element, where all vectors are full.

    Parameters
    ----------
    program : Program
    inputs : sequence of Port, optional
        Those that differ from element to element; by default all.
    """
    cheap, others = _operations(program)
    return (FITTING if cheap < REGISTERS else SPILLING) * cheap + OPERATION * others + _moved(program, inputs)


def alone_cost(program: Program) -> float:
    """Return the nanoseconds of a program for one sample: all lanes of its vectors hold that."""
    cheap, others = _operations(program)
    stored = sum(value not in program.consts for own in program.stores for value in own)
    return ALONE * cheap + ALONE_FUNCTION * others + ALONE_MOVED * (program.tally.get("load", 0) + stored)


def _operations(program: Program) -> tuple[int, int]:
    """Return how many cheap operations there are, and how many others."""
    tally = program.tally
    cheap = sum(count for op, count in tally.items() if op in CHEAP and op not in GIVEN)
    return cheap, sum(count for op, count in tally.items() if op not in CHEAP)


def _moved(program: Program, inputs: Sequence[Port] | None) -> float:
    return 8 * BYTE * sum(port.size for port in (*(program.inputs if inputs is None else inputs), *program.outputs))


def estimate(step: Step, sizes: Mapping[str, int] | None = None) -> Estimate:
    """Return what a step takes.

    Parameters
    ----------
    step : Step
    sizes : mapping of str to int, optional
        Numbers of letters; :data:`NOMINAL` for those that it lacks.
    """
    known = sizes or {}
    batched, work = is_tiled(step), 0.0
    if isinstance(step, LoopStep):
        for piece in step.pieces:
            elements = math.prod(_between(low, high, known) for low, high in piece.ranges)
            work += LAID_OUT * elements if step.total and not step.kept and step.repeats_rows else 0.0
            shared = step.shared(piece) or (False,) * len(piece.ports)
            varying = [port for port, same in zip(piece.program.inputs, shared, strict=True) if not same]
            if batched:
                work += elements * program_cost(piece.program, varying)
            elif not step.loops:
                work += alone_cost(piece.program)
            else:
                cheap, others = _operations(piece.program)
                runs = _runs(step, piece, known)
                full = runs * -(-elements // (runs * LANES)) * LANES
                work += full * (FITTING * cheap + OPERATION * others) + elements * _moved(piece.program, ())
                work += 8 * BYTE * sum(_read_once(port, piece, known) for port in piece.ports)
    elif isinstance(step, Product):
        count = math.prod(_number(size, known) for size in step.sizes)
        # what samples share stays in the caches
        read = [node for node in (step.result, *sources(step)) if not batched or BATCH in node.shape]
        whole = max((_elements(node, known) for node in read), default=1)
        work = count * (MULTIPLICATION if count > 8 * whole else STREAMED) * (0.5 if step.symmetric else 1.0)
    elif isinstance(step, MatrixFunction):
        rows = _number(step.matrix.shape[-1], known)
        work = rows * _elements(step.matrix, known) * MULTIPLICATION + _elements(step.result, known) * rows * STREAMED
    elif isinstance(step, Routine) and step.op == "spectrum":
        (matrix,) = step.operands
        each = EIGENVALUES if step.made[1] is None else EIGENVECTORS
        work = each * _number(matrix.shape[-1], known) * _elements(matrix, known)
    elif isinstance(step, Routine) and step.op == "adjugate":
        work = COFACTORS * _number(step.results[0].shape[-1], known) * _elements(step.results[0], known)
    elif isinstance(step, Routine):
        work = {"arrange": ORDERED, "sort": SORTED}.get(step.op, FOUND) * _elements(step.operands[0], known)
        work += FOUND * _elements(step.results[0], known)
    elif isinstance(step, Repacked):
        return Estimate(0.0, 0.0)
    elif isinstance(step, Repeated) and step.parts:
        work = _number(step.length, known) * sum(estimate(own, sizes).sample for own in step.steps)
    elif isinstance(step, Repeated):
        work = _number(step.length, known) * turn_cost(step.steps, known)
    elif isinstance(step, Call):
        own = step.result.shape[:1] == (BATCH,)
        return Estimate(PYTHON, 8 * BYTE * _elements(step.result, known) if own else 0.0)
    else:
        assert isinstance(step, Reduction | Scan | Move)
        work = 16 * BYTE * math.prod(_number(size, known) for size in step.sizes)
    if batched:
        return Estimate(_begins(step), work)
    calls = TURN * sum(_runs(step, piece, known) - 1 for piece in step.pieces) if isinstance(step, LoopStep) else 0.0
    return Estimate(_begins(step) + calls + work, 0.0)


def _begins(step: Step) -> float:
    """Return the nanoseconds until a step does anything: each piece of a loop is called by itself."""
    return STEP * (len(step.pieces) if isinstance(step, LoopStep) else 1)


def turn_cost(steps: Sequence[Step], sizes: Mapping[str, int] | None = None) -> float:
    """Return the nanoseconds of one turn of a loop."""
    each = [TURN if isinstance(step, LoopStep) and _is_of_numbers(step) else OTHER_TURN for step in steps]
    cost = sum(each) + sum(estimate(step, sizes).once - _begins(step) for step in steps)
    return cost * (IN_VECTORS if stays_in_vectors(steps) else 1.0)


def _is_of_numbers(step: LoopStep) -> bool:
    """Tell whether elements of a step are next to each other in all arrays: it runs where they lie then."""
    return not step.loops or all(step.has_numbers(piece, step.shared(piece)) for piece in step.pieces)


def _runs(step: LoopStep, piece: LoopPiece, sizes: Mapping[str, int]) -> int:
    """Return how often the program of a piece is called: once, or once a row that lies by itself."""
    lengths = [_between(low, high, sizes) for low, high in piece.ranges]
    return math.prod([length for length in lengths if length != 1][:-1]) if _goes_by_rows(step, piece) else 1


def _goes_by_rows(step: LoopStep, piece: LoopPiece) -> bool:
    """Tell whether a program runs along one row of a piece after the other.

    It does where an array lacks a loop, and in parts of arrays, whose rows do not follow each other, unless these are
    laid out to be summed.
    """
    if len(step.loops) < 2:
        return False
    loops = [{index.loop for index in port.access if index.loop is not None} for port in piece.ports]
    lacks = any(0 < len(own) < len(step.loops) for own in loops)
    return lacks or (not step.total and (len(step.pieces) > 1 or any(map(_begins_within, piece.ports))))


def _read_once(port: LoopInput, piece: LoopPiece, sizes: Mapping[str, int]) -> int:
    """Return how many numbers a port reads, where those that a loop reads again lie in the nearest cache."""
    own: int = math.prod([_number(index.length, sizes) for index in port.access if index.length is not None])
    loops = {index.loop for index in port.access if index.loop is not None}
    return own * math.prod([_between(*piece.ranges[loop], sizes) for loop in loops])


def _begins_within(port: LoopInput) -> bool:
    """Tell whether a loop begins behind the first element of an array."""
    return any(index.loop is not None and index.start != 0 for index in port.access)


def _number(size: Dim, sizes: Mapping[str, int]) -> int:
    if isinstance(size, int):
        return size
    known = {name: sizes.get(name, NOMINAL) for name in size.names}
    return max(1, value(size, {**known, str(BATCH): 1}))


def _between(low: Dim, high: Dim, sizes: Mapping[str, int]) -> int:
    return _number(high - low, sizes)


def _elements(node: Node, sizes: Mapping[str, int]) -> int:
    return math.prod(_number(size, sizes) for size in node.shape)
