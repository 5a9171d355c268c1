"""Programs, plans, graphs and code of the interpreter as plain values, and back.

A plan refers to arrays of the formula. What is left of them in a record is what running needs: inputs and constants as
they are, and of a result of a step its shape. A graph is written node by node.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..._kernels.programs.views import Operands, Operations, unpacked
from ...codegen.bytecode.format import Bytecode
from ...graph import Node, placeholder, postorder
from ...graph.nodes import BOOL, REAL, intern
from ...graph.primitives import (
    PRIMITIVES,
    Along,
    Assumptions,
    Axes,
    Contraction,
    Declared,
    Diagonal,
    Extent,
    Half,
    Items,
    Joint,
    Picks,
    Place,
    Placeholder,
)
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Size, Span
from ...ground.gc_pause import paused
from ...lowering.plan.access import AxisIndex, Check, LoopInput
from ...lowering.plan.plan import Plan
from ...lowering.plan.steps import (
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
    sources,
)
from ...lowering.program import CODES, GIVEN, OPERATIONS, SIGNATURES, Port, Program
from . import plain

__all__ = ["Graph", "read", "write"]

_Row = tuple[str | None, tuple[int, ...], Any, tuple[Any, ...], bool]


class Graph(NamedTuple):
    """Nodes with all that is below them.

    Parameters
    ----------
    roots : tuple of Node
    """

    roots: tuple[Node, ...]


#: Records whose fields are plain values, or such records.
_PAYLOADS = (
    *(Placeholder, Declared, Assumptions, Contraction, Diagonal, Place, Extent, Items, Picks, Axes, Along, Joint),
    *(Half, Span),
)
_STEPS = (
    *(LoopPiece, LoopStep, Product, Reduction, Repacked, Repeated, Scan, Move, MatrixFunction, Routine, AxisIndex),
    *(LoopInput, Check, Port),
)


# ---------------------------------------------------------------------------- writing


class _Nodes:
    """The nodes of one record, numbered: arrays that are there when a step runs, and nodes of graphs."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self.arrays: dict[Node, int] = {}
        self.graph: dict[Node, int] = {}

    def add_plan(self, plan: Plan | Repeated) -> None:
        """Give numbers to the arrays that a plan and its steps refer to."""
        self.add_arrays((*plan.inputs, *plan.outputs))
        for step in plan.steps:
            self.add_arrays((*step.results, *sources(step)))
            if isinstance(step, Repeated):
                self.add_plan(step)
            if isinstance(step, Call):
                self.add_arrays(step.inputs)
                self.add_graph([step.formula])

    def add_arrays(self, nodes: Iterable[Node]) -> None:
        """Give numbers to arrays that are there when a step runs."""
        for node in nodes:
            if node not in self.arrays:
                self.arrays[node] = len(self.rows)
                op, payload = (None, None) if node.args else (node.op, node.payload)
                self.rows.append((op, (), payload, node.shape, node.dtype is BOOL))

    def add_graph(self, roots: Iterable[Node]) -> None:
        """Give numbers to the nodes of a graph."""
        for node in postorder(roots):
            if node not in self.graph:
                args = tuple([self.graph[arg] for arg in node.args])
                self.graph[node] = len(self.rows)
                self.rows.append((node.op, args, node.payload, node.shape, node.dtype is BOOL))


@paused
def write(value: Any) -> bytes:
    """Return a plain value as bytes, which may hold programs, plans, graphs and code.

    Raises
    ------
    UnkeepableError
        If it holds something that has no such form, like a function of Python.
    """
    nodes = _Nodes()
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, Plan):
            nodes.add_plan(one)
        elif isinstance(one, Graph):
            nodes.add_graph(one.roots)
        elif type(one) in (tuple, list):  # records of further classes, such as code, hold none
            stack += one
        elif type(one) is dict:
            stack += one.values()
    tags: dict[type, tuple[str, Callable[[Any], Any]]] = {
        **{kind: (kind.__name__, tuple) for kind in (*_PAYLOADS, *_STEPS)},
        Size: ("Size", lambda size: size.terms),
        Node: ("Node", lambda node: nodes.arrays[node]),
        Call: ("Call", lambda step: (step.result, step.operands, step.inputs, nodes.graph[step.formula])),
        Graph: ("Graph", lambda graph: tuple([nodes.graph[root] for root in graph.roots])),
        Plan: ("Plan", lambda plan: (plan.inputs, plan.outputs, plan.steps, plan.checks, plan.least)),
        Program: ("Program", _plain_program),
        Bytecode: ("Bytecode", _plain_code),
        _Nodes: ("Nodes", lambda table: tuple(table.rows)),
    }
    return plain.write((nodes, value), tags)


def _plain_program(program: Program) -> Any:
    codes, operands = program.tape.packed()
    names = (*OPERATIONS[:2], *(name for name in program.tally if name not in GIVEN))
    return (
        program.inputs,
        program.outputs,
        names,
        codes.translate(_table({CODES[name]: k for k, name in enumerate(names)})),
        operands,
        array("i", program.consts),
        array("d", program.consts.values()),
        tuple([array("i", store) for store in program.stores]),
        program.checks,
        program.wide,
    )


def _table(codes: Mapping[int, int]) -> bytes:
    """Return a table for :meth:`bytes.translate`."""
    table = bytearray(256)
    for code, other in codes.items():
        table[code] = other
    return bytes(table)


def _plain_code(code: Bytecode) -> Any:
    return (
        code.code,
        array("d", code.numbers),
        array("d", code.vectors),
        array("d", code.rows),
        tuple(code.functions),
        array("i", code.checks),
        code.lanes,
        code.workspace,
    )


# ---------------------------------------------------------------------------- reading


@paused
def read(contents: bytes) -> Any:
    """Return what :func:`write` wrote.

    Raises
    ------
    DataError
        If it is not in that form.
    """
    made: list[Node] = []
    makers: dict[str, Callable[[Any], Any]] = {
        **{kind.__name__: _maker(kind) for kind in (*_PAYLOADS, *_STEPS)},
        "Size": Size,
        "Node": lambda number: made[number],
        "Call": lambda parts: Call(parts[0], parts[1], parts[2], made[parts[3]]),
        "Graph": lambda numbers: Graph(tuple([made[number] for number in numbers])),
        "Plan": lambda parts: Plan(*parts),
        "Program": _program,
        "Bytecode": lambda parts: Bytecode(*parts),
        "Nodes": lambda rows: made.extend(_nodes(rows)),
    }
    _, value = plain.read(contents, makers)
    return value


def _maker(kind: Any) -> Callable[[Any], Any]:
    return lambda parts: kind(*parts)


def _nodes(rows: Sequence[_Row]) -> list[Node]:
    made: list[Node] = []
    for number, (op, args, payload, shape, is_bool) in enumerate(rows):
        dtype = BOOL if is_bool else REAL
        if op is None:
            made.append(placeholder(("kept", number), shape, dtype))
        elif op in PRIMITIVES or op in FUNCTIONS:
            made.append(intern(op, tuple([made[arg] for arg in args]), payload, shape, dtype))
        else:
            raise ValueError(f"no operation {op!r}")
    return made


def _program(parts: Any) -> Program:
    inputs, outputs, names, codes, operands, places, numbers, stores, checks, wide = parts
    known = dict(enumerate([CODES[name] for name in names]))
    if codes and max(codes) >= len(known):
        raise ValueError(f"operation {max(codes)} of {len(known)}")
    tape = unpacked(OPERATIONS, codes.translate(_table(known)), operands, _ARITIES)
    return Program(
        inputs,
        outputs,
        Operations(tape),
        Operands(tape),
        dict(zip(places, numbers, strict=True)),
        tuple([tuple(store) for store in stores]),
        checks,
        wide,
    )


#: For each operation how many operands it has.
_ARITIES = [2, 0, *map(len, SIGNATURES.values())]
