"""A plan as C99: loops over arrays whose sizes may be arguments of the function.

Each step of the plan is a block of ``sd_sample``. Arrays between the steps stand in a workspace, row by row.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...graph import Node
from ...graph.sizes import Dim, Span, product
from ...lowering.plan.access import Access, AxisIndex
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
    loops_of,
    nested,
)
from ...lowering.program import Program
from .conditions import conditions_of, dim_text
from .matrices import FUNCTIONS_OF_MATRICES, matrix_text
from .program import element_lines, unused
from .spelling import functions_text, literal

__all__ = ["ArrayCode"]

#: Constants of more numbers are refused: a compiler would read them for minutes.
CONSTANTS = 100_000


class ArrayCode:
    """The functions of a plan.

    Parameters
    ----------
    plan : Plan
    letters : sequence of str
        The named sizes, which are arguments in front of all others.
    spans : sequence of Span
        What the formula takes of axes, beside what the plan checks.

    Attributes
    ----------
    text : str
        Functions; the last is ``int sd_sample(n0, ..., x0, ..., y0, ..., w)``.
    workspace : int or Size
        Numbers that ``w`` has room for.
    conditions : list of str
        What has to hold of the sizes.
    """

    def __init__(self, plan: Plan, letters: Sequence[str], spans: Sequence[Span] = ()) -> None:
        self.plan, self.named = plan, 0
        self.letters = {letter: f"n{k}" for k, letter in enumerate(letters)}
        self.names: dict[Node, str] = {}
        self.workspace: Dim = 0
        self.constants: list[str] = []
        self.heads: list[str] = []
        self.lists: dict[tuple[int, ...], str] = {}
        self.scratch: list[Dim] = []
        self.matrix_ops: set[str] = set()
        self.own: set[str] = set()
        self.lengths: Sequence[Dim] = ()
        body = list(self._body())
        self.conditions = list(dict.fromkeys(conditions_of(plan, spans, self.letters)))
        steps = [step for step in nested(plan.steps) if isinstance(step, LoopStep)]
        programs = [piece.program for step in steps for piece in step.pieces]
        self.text = self._text(programs, body)

    def dim(self, size: Dim) -> str:
        """Print a size."""
        return dim_text(size, self.letters)

    # ------------------------------------------------------------------ the whole

    def _text(self, programs: Sequence[Program], body: Sequence[str]) -> str:
        declared = [f"ptrdiff_t {name}" for name in self.letters.values()]
        declared += [f"const double *x{p}" for p in range(len(self.plan.inputs))]
        declared += [*(f"double *y{p}" for p in range(len(self.plan.outputs))), *["double *w"] * (self.workspace != 0)]
        lines = "".join(f"  {line}\n" if line else "\n" for line in [*self.heads, *body, "return 0;"])
        idle = unused([one.split()[-1].strip("*") for one in declared], lines)
        sample = f"static int sd_sample({', '.join(declared)}) {{\n{idle}{lines}}}\n"
        constants = "".join(f"{text}\n" for text in self.constants)
        functions = functions_text(programs, self.own)
        return "\n".join(part for part in (constants, functions, matrix_text(self.matrix_ops), sample) if part)

    def _body(self) -> Iterator[str]:
        for number, node in enumerate(self.plan.inputs):
            self.names[node] = f"x{number}"
        yield from self._steps(self.plan, [f"y{number}" for number in range(len(self.plan.outputs))])
        if self.scratch:
            # matrices are factored one at a time
            self.heads.append(f"double *factor = w + {self.dim(self.workspace)};")
            for size in dict.fromkeys(self.scratch):
                self.workspace = self.workspace + size

    def _steps(self, plan: Plan | Repeated, targets: Sequence[str]) -> Iterator[str]:
        """Print the steps of a plan whose inputs are there; ``targets`` are pointers to its outputs."""
        made = {node for step in plan.steps if not isinstance(step, Repacked) for node in step.results}
        copies = []
        for target, node in zip(targets, plan.outputs, strict=True):
            if node in made and node not in self.names:
                self.names[node] = target
            else:
                copies.append((target, node))
        for step in plan.steps:
            if isinstance(step, Repacked):
                source = self._of(step.source)
                self.names[step.result] = name = self._name("t")
                yield f"const double *{name} = {source} + {self.dim(step.start)};"
                continue
            self.lengths = loops_of(step)
            for node in step.results:
                if node not in self.names:
                    self._allocate(node)
            yield "{"
            for line in _STEPS[type(step)](self, step):
                yield f"  {line}"
            yield "}"
        for target, node in copies:
            yield self._copied(target, self._of(node), product(node.shape))

    def _copied(self, target: str, source: str, count: Dim) -> str:
        return f"for (ptrdiff_t i = 0; i < {self.dim(count)}; i++) {target}[i] = {source}[i];"

    def _name(self, kind: str) -> str:
        self.named += 1
        return f"{kind}{self.named}"

    def _allocate(self, node: Node) -> None:
        self.names[node] = self._room(node.shape)

    def _room(self, shape: Sequence[Dim]) -> str:
        """Return the pointer to an array between steps."""
        name = self._name("t")
        self.heads.append(f"double *{name} = w + {self.dim(self.workspace)};")
        self.workspace = self.workspace + product(shape)
        return name

    def _of(self, node: Node) -> str:
        """Return the pointer to an array that is read."""
        if node not in self.names:
            name = self.names[node] = self._name("n_" if node.is_size else "sd_c_")
            if node.is_size:
                self.heads.append(f"const double {name}[1] = {{(double){self.dim(node.payload.size)}}};")
            elif node.is_constant:
                self.constants.append(_table("double", name, [literal(float(x)) for x in np.ravel(node.value)]))
            else:
                raise UnsupportedError(f"a plan reads {node.op}, which no step makes")
        return self.names[node]

    # ------------------------------------------------------------------ where elements stand

    def _strides(self, node: Node) -> list[Dim]:
        return [product(node.shape[axis + 1 :]) for axis in range(node.ndim)]

    def _at(self, access: Access, strides: Sequence[Dim], loops: Sequence[str], lows: Sequence[Dim] = ()) -> str:
        """Return the offset of the first element at a place."""
        terms: list[str] = []
        constant: Dim = 0
        for index, stride in zip(access, strides, strict=True):
            if index.listed is not None:
                assert index.loop is not None
                low = lows[index.loop] if lows else 0
                inside = loops[index.loop] if low == 0 else f"{loops[index.loop]} - {self.dim(low)}"
                terms.append(self._times(f"{self._list(index.listed)}[{inside}]", stride))
                continue
            constant = constant + index.start * stride
            if index.loop is not None:
                terms.append(self._times(loops[index.loop], stride * index.step))
        if constant != 0 or not terms:
            terms.append(self.dim(constant))
        return " + ".join(terms)

    def _element(self, node: Node, access: Access, loops: Sequence[str]) -> str:
        """Return the one element of an array that stands at a place."""
        return f"{self._of(node)}[{self._at(access, self._strides(node), loops)}]"

    def _times(self, text: str, factor: Dim) -> str:
        return text if factor == 1 else f"{self.dim(factor)} * {text}"

    def _list(self, positions: Sequence[int]) -> str:
        key = tuple(positions)
        if key not in self.lists:
            self.lists[key] = f"sd_l{len(self.lists)}"
            self.constants.append(_table("ptrdiff_t", self.lists[key], list(map(str, key))))
        return self.lists[key]

    def _within(self, access: Access, strides: Sequence[Dim]) -> list[Dim]:
        """Return the offset of each element of a place from its first."""
        own = [(index, stride) for index, stride in zip(access, strides, strict=True) if index.length is not None]
        lengths = [_fixed(index.length) for index, _ in own]
        return [
            sum((stride * (index.step * k) for k, (index, stride) in zip(where, own, strict=True)), 0)
            for where in itertools.product(*map(range, lengths))
        ]

    # ------------------------------------------------------------------ steps

    def _loop(self, step: LoopStep) -> Iterator[str]:
        if step.fills or step.total:
            for node in step.results:
                yield f"for (ptrdiff_t i = 0; i < {self.dim(product(node.shape))}; i++) {self.names[node]}[i] = 0.0;"
        for piece in step.pieces:
            yield from self._piece(step, piece)

    def _piece(self, step: LoopStep, piece: LoopPiece) -> Iterator[str]:
        loops = [f"i{k}" for k in range(len(step.loops))]
        lows = [low for low, _ in piece.ranges]
        for k, (low, high) in enumerate(piece.ranges):
            yield f"for (ptrdiff_t i{k} = {self.dim(low)}; i{k} < {self.dim(high)}; i{k}++)"
        yield "{"
        loads = {}
        for k, port in enumerate(piece.ports):
            strides = self._strides(port.source)
            yield f"  const double *p{k} = {self._of(port.source)} + {self._at(port.access, strides, loops, lows)};"
            for e, offset in enumerate(self._within(port.access, strides)):
                loads[k, e] = f"p{k}[{self.dim(offset)}]"
        read = piece.program.read
        yield from (f"  (void)p{k};" for k in range(len(piece.ports)) if k not in read)
        lines, stores = element_lines(piece.program, loads)
        yield from (f"  {line}" for line in lines)
        for node, place, values in zip(step.results, step.places, stores, strict=True):
            strides = self._strides(node)
            base = f"{self.names[node]}[{self._at(place, strides, loops)}"
            for offset, value in zip(self._within(place, strides), values, strict=True):
                at = base if offset == 0 else f"{base} + {self.dim(offset)}"
                yield f"  {at}] {'+=' if step.total else '='} {value};"
        yield "}"

    def _product(self, step: Product) -> Iterator[str]:
        loops = [f"i{k}" for k in range(len(step.sizes))]
        kept = [index.loop for index in step.place if index.loop is not None]
        summed = [k for k in range(len(step.sizes)) if k not in kept]
        a, b = (self._element(port.source, port.access, loops) for port in (step.first, step.second))
        target = self._element(step.result, step.place, loops)
        scale = "" if step.scale == 1.0 else f"{literal(step.scale)} * "
        if kept and summed and _runs_along(step, kept[-1]):
            # rows are added up: neighbours in memory are read one after the other
            yield from self._nest(kept)
            yield f"  {target} = 0.0;"
            yield from self._nest([*kept[:-1], *summed, kept[-1]])
            yield f"  {target} += {scale}{a} * {b};"
            return
        yield from self._nest(kept)
        yield "{"
        yield "  double sum = 0.0;"
        yield from (f"  {line}" for line in self._nest(summed))
        yield f"    sum += {a} * {b};"
        yield f"  {target} = {scale}sum;"
        yield "}"

    def _nest(self, loops: Sequence[int]) -> Iterator[str]:
        for k in loops:
            yield f"for (ptrdiff_t i{k} = 0; i{k} < {self.dim(self.lengths[k])}; i{k}++)"

    def _reduction(self, step: Reduction) -> Iterator[str]:
        loops = [f"i{k}" for k in range(len(step.sizes))]
        kept = [index.loop for index in step.place if index.loop is not None]
        start, form = _REDUCTIONS[step.op]
        self.own.update(_OWN.get(step.op, ()))
        source = self._element(step.source.source, step.source.access, loops)
        target = self._element(step.result, step.place, loops)
        yield from self._nest(kept)
        yield "{"
        yield f"  double r = {start};"
        yield from (f"  {line}" for line in self._nest([k for k in range(len(step.sizes)) if k not in kept]))
        yield f"    r = {form.format('r', source)};"
        yield f"  {target} = r;"
        yield "}"

    def _scan(self, step: Scan) -> Iterator[str]:
        if step.op not in _SCANS:
            raise UnsupportedError(f"{step.op} along an axis has no C")
        last = len(step.sizes) - 1
        loops = [*(f"i{k}" for k in range(last)), "at"]
        start, form = _REDUCTIONS[_SCANS[step.op]]
        self.own.update(_OWN.get(_SCANS[step.op], ()))
        source = self._element(step.source.source, step.source.access, loops)
        target = self._element(step.result, step.place, loops)
        length = self.dim(step.sizes[last])
        yield from self._nest(range(last))
        yield "{"
        yield f"  double r = {start};"
        yield f"  for (ptrdiff_t i = 0; i < {length}; i++) {{"
        yield f"    const ptrdiff_t at = {f'{length} - 1 - i' if step.reverse else 'i'};"
        yield f"    r = {form.format('r', source)};"
        yield f"    {target} = r;"
        yield "  }"
        yield "}"

    def _move(self, step: Move) -> Iterator[str]:
        loops = [f"i{k}" for k in range(len(step.sizes))]
        listed = [*loops]
        table = self._list(step.indices)
        listed[step.loop] = f"{table}[i{step.loop}]"
        here, there = (listed, loops) if not step.scatter else (loops, listed)
        source = self._element(step.source.source, step.source.access, here)
        target = self._element(step.result, step.place, there)
        if step.scatter:
            count = self.dim(product(step.result.shape))
            yield f"for (ptrdiff_t i = 0; i < {count}; i++) {self.names[step.result]}[i] = 0.0;"
        yield from self._nest(range(len(step.sizes)))
        yield f"  {target} {'+=' if step.scatter else '='} {source};"

    def _matrix(self, step: MatrixFunction) -> Iterator[str]:
        """Go over the matrices of a stack, with the right-hand sides that belong to each."""
        self.matrix_ops.add(step.op)
        *lead, n = step.matrix.shape[:-1]
        if step.op != "cholesky":
            self.scratch.append(n * n)
        count = len(lead)
        access = tuple(AxisIndex(k, 0, 1, None) for k in range(count))
        loops = [f"i{k}" for k in range(count)]
        matrix_strides = self._strides(step.matrix)[:count]
        result_strides = self._strides(step.result)[:count]
        for k, size in enumerate(lead):
            yield f"for (ptrdiff_t i{k} = 0; i{k} < {self.dim(size)}; i{k}++)"
        yield "{"
        yield f"  const ptrdiff_t rows = {self.dim(n)};"
        yield f"  const double *a = {self._of(step.matrix)} + {self._at(access, matrix_strides, loops)};"
        yield f"  double *c = {self.names[step.result]} + {self._at(access, result_strides, loops)};"
        if step.other is not None:
            yield from self._right_sides(step, count, loops)
        yield f"  {FUNCTIONS_OF_MATRICES[step.op][1]}"
        yield "}"

    def _right_sides(self, step: MatrixFunction, count: int, loops: Sequence[str]) -> Iterator[str]:
        """Put the right-hand sides where their solution will stand, repeated along axes that they lack."""
        assert step.other is not None
        own = step.result.shape[count:]
        missing = step.result.ndim - step.other.ndim
        index = [*loops, *(f"j{k}" for k in range(len(own)))]
        strides = self._strides(step.other)
        terms = [
            self._times(index[axis + missing], stride)
            for axis, (size, stride) in enumerate(zip(step.other.shape, strides, strict=True))
            if size != 1
        ]
        width = own[1] if len(own) == 2 else 1
        yield f"  const ptrdiff_t columns = {self.dim(width)};"
        for k, size in enumerate(own):
            yield f"  for (ptrdiff_t j{k} = 0; j{k} < {self.dim(size)}; j{k}++)"
        to = " + ".join(self._times(f"j{k}", product(own[k + 1 :])) for k in range(len(own)))
        yield f"    c[{to}] = {self._of(step.other)}[{' + '.join(terms) or '0'}];"

    def _repeated(self, step: Repeated) -> Iterator[str]:
        """Run the steps of a body turn by turn: what is carried has two arrays that change places."""
        whole, kept = self.names[step.result], self.names
        given = [self._of(node) for node in step.given]
        rows = step.carried + step.read
        turn, row, number = map(self._name, ("turn", "row", "k"))
        pairs, moving, targets, last = [], [], [], []
        inside = {node: source for node, source in kept.items() if node.op in ("size", "constant")}
        for node, source in zip(step.inputs[: step.carried], given, strict=False):
            now, after = self._name("now"), self._name("next")
            yield f"double *{now} = {self._room(node.shape)}, *{after} = {self._room(node.shape)};"
            yield self._copied(now, source, product(node.shape))
            inside[node] = now
            pairs.append((now, after))
        for node, source in zip(step.inputs[step.carried : rows], given[step.carried : rows], strict=True):
            inside[node] = self._name("r")
            moving.append(f"const double *{inside[node]} = {source} + {self._times(row, product(node.shape))};")
        inside |= dict(zip(step.inputs[rows:-1], given[rows:], strict=True))
        inside[step.inputs[-1]] = number
        start: Dim = 0
        for k, node in enumerate(step.outputs):
            size = product(node.shape)
            if k < step.carried:
                targets.append(pairs[k][1])
                last.append(f"({whole} + {self.dim(start)})")
            else:
                targets.append(self._name("o"))
                moving.append(f"double *{targets[-1]} = {whole} + {self.dim(start)} + {self._times(row, size)};")
            start = start + size * (1 if k < step.carried else step.length)
        length = self.dim(step.length)
        yield f"for (ptrdiff_t {turn} = 0; {turn} < {length}; {turn}++) {{"
        yield f"  const ptrdiff_t {row} = {f'{length} - 1 - {turn}' if step.reverse else turn};"
        yield f"  const double {number}[1] = {{(double){row}}};"
        yield from (f"  {line}" for line in moving)
        self.names = inside
        yield from [f"  {line}" for line in self._steps(step, targets)]
        self.names = kept | {node: name for node, name in inside.items() if node.op in ("size", "constant")}
        for now, after in pairs:
            yield f"  {{ double *swap = {now}; {now} = {after}; {after} = swap; }}"
        yield from (f"  (void){line.split(' = ')[0].split()[-1].strip('*')};" for line in moving)
        yield f"  (void){number};"
        yield "}"
        for (now, _), target, node in zip(pairs, last, step.outputs, strict=False):
            yield self._copied(target, now, product(node.shape))

    def _refused(self, step: Call | Routine) -> Iterator[str]:
        raise UnsupportedError(f"{step.results[0].op} of whole arrays has no C")


#: Where each reduction begins, and how it goes on.
_REDUCTIONS = {
    "sum": ("0.0", "{} + {}"),
    "prod": ("1.0", "{} * {}"),
    "max": ("-(double)INFINITY", "sd_maximum({}, {})"),
    "min": ("(double)INFINITY", "sd_minimum({}, {})"),
}
_OWN = {"max": ("maximum",), "min": ("minimum",)}
_SCANS = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}

_STEPS: dict[type, Callable[[ArrayCode, Any], Iterator[str]]] = {
    LoopStep: ArrayCode._loop,
    Product: ArrayCode._product,
    Reduction: ArrayCode._reduction,
    Scan: ArrayCode._scan,
    Move: ArrayCode._move,
    MatrixFunction: ArrayCode._matrix,
    Repeated: ArrayCode._repeated,
    **dict.fromkeys((Call, Routine), ArrayCode._refused),
}


def _runs_along(step: Product, loop: int) -> bool:
    """Tell whether neighbours of the result are neighbours in a factor, too."""
    ends = [port.access[-1] for port in (step.first, step.second) if port.access]
    return any(index.loop == loop and index.listed is None for index in ends)


def _table(kind: str, name: str, items: Sequence[str]) -> str:
    if len(items) > CONSTANTS:
        raise UnsupportedError(f"a constant of {len(items)} numbers, more than {CONSTANTS}; give it as an input")
    lines = [", ".join(items[start : start + 8]) for start in range(0, len(items), 8)] or ["0"]
    inside = "".join(f"  {line},\n" for line in lines)
    return f"static const {kind} {name}[] = {{\n{inside}}};\n"


def _fixed(size: Dim | None) -> int:
    if not isinstance(size, int):
        raise UnsupportedError("an element of a loop has an axis of symbolic size")
    return size
