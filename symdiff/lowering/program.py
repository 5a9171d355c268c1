"""The second IR: straight-line arithmetic on the scalars of one sample, in single-assignment form.

It stands between the graph of arrays and the targets (C, Cython, bytecode), so that an emitter only prints and every
backend is compared with the same reference implementation, which is slow and obvious
(``tests/support/program_reference.py``). A program is data; :meth:`Program.validate` states its rules. As text it is
numbered lines, in the order in which they run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from .._kernels.programs.tape import Operations, Tape, tape_of
from ..graph import BOOL
from ..graph.dump import clip, word
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import show

__all__ = [
    "CHEAP",
    "CODES",
    "GIVEN",
    "MASK_OPS",
    "MAX_ORDER",
    "OPERATIONS",
    "SIGNATURES",
    "Listed",
    "Port",
    "Program",
    "Scalars",
    "program_lines",
]


#: Values of one line that says what is stored, and lines of a ``repr``.
_ROW, _LINES = 8, 30


class Scalars(Protocol):
    """A program as it is printed; see :class:`symdiff.lowering.program.Program`."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Ports."""

    @property
    def outputs(self) -> tuple[Any, ...]:
        """Ports."""

    @property
    def ops(self) -> Sequence[str]:
        """Operations."""

    @property
    def args(self) -> Sequence[tuple[int, ...]]:
        """Operands."""

    @property
    def consts(self) -> Mapping[int, float]:
        """Numbers."""

    @property
    def stores(self) -> tuple[tuple[int, ...], ...]:
        """Values of each output."""

    @property
    def checks(self) -> tuple[tuple[int, str], ...]:
        """Values that must not be zero."""

    @property
    def wide(self) -> bool:
        """True where float64 is asked for."""


def program_lines(program: Scalars) -> Iterator[str]:
    """Give the ports, a line for each value, what is checked, and what is stored."""
    for kind, ports in (("input", program.inputs), ("output", program.outputs)):
        for number, port in enumerate(ports):
            yield f"{kind} {number}: {word(port.name)} {show(port.shape)}"
    if program.wide:
        yield "computed in float64 for inputs of float32 too"
    for i, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
        if op == "const":
            yield f"v{i} = {program.consts[i]!r}"
        elif op == "load":
            yield f"v{i} = load input {args[0]} [{args[1]}]"
        else:
            yield f"v{i} = {op} {_values(args)}"
    for value, message in program.checks:
        yield f"check v{value}, not 0: {clip(message, 200)}"
    for number, store in enumerate(program.stores):
        for start in range(0, len(store), _ROW):
            yield f"store output {number} [{start}] {_values(store[start : start + _ROW])}"


def _values(numbers: Sequence[int]) -> str:
    return ", ".join([f"v{number}" for number in numbers])


class Listed:
    """Lines as they are printed: all of them by ``str``, the first by ``repr``."""

    def lines(self) -> Iterator[str]:
        """Give all lines."""
        raise NotImplementedError

    def text(self) -> str:
        """Return all lines as one text."""
        return "\n".join(self.lines())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        lines = self.lines()
        shown = [clip(line, 200) for line in itertools.islice(lines, _LINES)]
        more = ["… text() has all of it"] if next(lines, None) is not None else []
        return "\n".join([f"<{type(self).__name__}", *(f"  {line}" for line in [*shown, *more])]) + ">"


REAL, MASK = "real", "mask"

#: Operations that compute nothing: an element of an input, and a number.
GIVEN = frozenset(("load", "const"))
#: Operand kinds of every operation that computes; those of :data:`GIVEN` have operands of their own.
SIGNATURES: dict[str, tuple[str, ...]] = {
    **{row.c: (MASK if row.takes is BOOL else REAL,) * row.arity for row in FUNCTIONS.values() if row.c},
    "where": (MASK, REAL, REAL),
    "copysign": (REAL, REAL),
    # x is fraction(x) * 2**exponent(x) with 1 <= abs(fraction(x)) < 2; of 0 and inf the fraction is 1
    "fraction": (REAL,),
    "exponent": (REAL,),
    "fma": (REAL, REAL, REAL),
}

#: All operations, by the numbers that tapes have for them, and these numbers.
OPERATIONS = ("load", "const", *SIGNATURES)
CODES = {name: code for code, name in enumerate(OPERATIONS)}

#: Operations whose value is a mask (true or false); all others give a real number.
MASK_OPS = frozenset(row.c for row in FUNCTIONS.values() if row.c and row.gives is BOOL)

#: Operations that take about as long as an addition, or no time.
CHEAP = frozenset(
    (
        *(*GIVEN, "add", "subtract", "multiply", "negative", "abs", "minimum", "maximum", "where", "fma"),
        *("less", "less_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_not", "to_real"),
        *("fraction", "exponent"),
    )
)

#: Operations whose first operand is an order, a "const" that is a whole number up to this.
MAX_ORDER = {row.c: row.orders for row in FUNCTIONS.values() if row.c and row.orders}


class Port(NamedTuple):
    """An input or output of a kernel.

    Parameters
    ----------
    name : str
        The user's name; it is never printed into generated source.
    shape : tuple of int
        Shape of one sample.
    size : int
        Product of ``shape``.
    """

    name: str
    shape: tuple[int, ...]
    size: int


@dataclass(frozen=True, repr=False)
class Program(Listed):
    """Scalar operations in single-assignment form, in the order they run.

    Parameters
    ----------
    inputs, outputs : tuple of Port
        What one sample reads and writes.
    ops : sequence of str
        One operation for each value, a key of :data:`SIGNATURES`, "load" or "const".
    args : sequence of tuple of int
        Operands as numbers of earlier values. For "load": number of the input, element in flat
        C order. For "const": empty.
    consts : dict of int to float
        The numbers of the "const" operations.
    stores : tuple of tuple of int
        For each output, the value of each element in flat C order.
    checks : tuple of (int, str)
        Values that must not be zero (pivots, determinants), with the message of the
        :class:`~symdiff.errors.SingularMatrixError` raised where one is.
    wide : bool
        Computed in float64 for inputs of float32 too.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    ops: Sequence[str]
    args: Sequence[tuple[int, ...]]
    consts: dict[int, float]
    stores: tuple[tuple[int, ...], ...]
    checks: tuple[tuple[int, str], ...] = ()
    wide: bool = False

    @cached_property
    def tape(self) -> Tape:
        """The operations and their operands in arrays, for passes that look at all of them."""
        return self.ops.tape if isinstance(self.ops, Operations) else tape_of(OPERATIONS, self.ops, self.args)

    @property
    def tally(self) -> dict[str, int]:
        """Number of each operation."""
        return {name: count for name, count in zip(OPERATIONS, self.tape.tally(), strict=True) if count}

    @property
    def operations(self) -> int:
        """Number of values that are computed."""
        return sum(count for name, count in self.tally.items() if name not in GIVEN)

    @property
    def computed(self) -> list[int]:
        """Numbers of the values that are computed: neither an element of an input nor a constant."""
        return [i for i, op in enumerate(self.ops) if op not in GIVEN]

    @property
    def read(self) -> set[int]:
        """Numbers of the inputs of which elements are loaded."""
        return {args[0] for op, args in zip(self.ops, self.args, strict=True) if op == "load"}

    def lines(self) -> Iterator[str]:
        """Give the ports, a line for each value, what is checked, and what is stored."""
        return program_lines(self)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # a tape is made again

    def validate(self) -> None:
        """Check every rule of the form, in one pass.

        Raises
        ------
        ValueError
            With the number of the offending value.
        """
        count = len(self.ops)
        _require(len(self.args) == count, f"{len(self.args)} operand lists for {count} operations")
        for port in (*self.inputs, *self.outputs):
            _require(port.size == math.prod(port.shape), f"port of shape {port.shape} claims size {port.size}")
        kinds: list[str] = []
        for i, (op, args) in enumerate(zip(self.ops, self.args, strict=True)):
            kinds.append(MASK if op in MASK_OPS else REAL)
            if op == "const":
                _require(not args and i in self.consts, f"value {i}: a const needs a number and no operands")
                continue
            if op == "load":
                known = len(args) == 2 and 0 <= args[0] < len(self.inputs)
                _require(known and 0 <= args[1] < self.inputs[args[0]].size, f"value {i}: load of {args}")
                continue
            signature = SIGNATURES.get(op)
            _require(signature is not None, f"value {i}: unknown operation {op!r}")
            _require(all(0 <= a < i for a in args), f"value {i}: {op} of {args} is not of earlier values")
            _require(tuple(kinds[a] for a in args) == signature, f"value {i}: {op} takes {signature}")
            if op in MAX_ORDER:
                order = self.consts.get(args[0], math.nan)
                _require(order in range(MAX_ORDER[op] + 1), f"value {i}: {op} of order {order}")
        _require(all(self.ops[i] == "const" for i in self.consts), "a number belongs to no const")
        _require(len(self.stores) == len(self.outputs), f"{len(self.stores)} stores for {len(self.outputs)} outputs")
        for port, store in zip(self.outputs, self.stores, strict=True):
            _require(len(store) == port.size, f"{len(store)} values stored in an output of size {port.size}")
            _require(all(0 <= v < count and kinds[v] == REAL for v in store), "a store of an unknown or mask value")
        _require(
            all(0 <= v < count and kinds[v] == REAL for v, _ in self.checks), "a check of an unknown or mask value"
        )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(f"invalid program: {message}")
