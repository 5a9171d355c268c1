"""Plans as text: a line for each step with its estimated time and why it is such a step, and the programs of loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...graph import Node
from ...graph.dump import brief, clip, leaf_text, word
from ...graph.sizes import Size
from ..program import program_lines
from .access import BATCH, Access, Check, LoopInput
from .cost import estimate
from .steps import Call, LoopStep, MatrixFunction, Move, Product, Reduction, Repacked, Repeated, Routine, Scan, Step

__all__ = ["letters_in", "plan_lines", "rows_of", "step_lines"]

#: Characters of the names of operands in one line.
_LONG = 60

_WHY = {
    LoopStep: "element by element, fused",
    Product: "a product of whole arrays",
    Reduction: "along a long axis",
    Scan: "each element needs those before it",
    Move: "positions that are listed",
    MatrixFunction: "one factorization for all functions of a matrix",
    Repacked: "the same memory",
    Repeated: "a loop: each step needs what the one before gave",
    Routine: "a routine on whole arrays",
    Call: "no native form: NumPy",
}


def step_lines(inputs: Sequence[Node], steps: Sequence[Step], rows: str | None = None) -> Iterator[str]:
    """Give one line for each step: what it makes, its estimated time, and why it is such a step.

    Parameters
    ----------
    inputs : sequence of Node
    steps : sequence of Step
    rows : str, optional
        The axis of one sample that stands in the place of the batch, where one does.
    """
    names = _names(inputs, steps)
    each = "a sample" if rows is None else f"for each of {rows}"
    for number, step in enumerate(steps):
        took = estimate(step)
        times = f"{_time(took.once)} a call" + (f" + {_time(took.sample)} {each}" if took.sample else "")
        results = ", ".join([names[node] for node in step.results])
        title = _title(step, [_name(names, node) for node in _operands(step)])
        title = title if rows is None else title.replace(str(BATCH), rows)
        yield f"step {number}: {title} -> {results}; {times}; {_why(step, rows is None)}"


def rows_of(inputs: Sequence[Node], own: Sequence[Node]) -> str | None:
    """Return the axis of one sample that a plan's inputs have in the place of the batch, None where there is none."""
    pairs = zip(inputs, own, strict=False)
    return next((word(node.shape[0]) for node, other in pairs if node.shape and other.shape[:1] == (BATCH,)), None)


def letters_in(inputs: Sequence[Node], steps: Sequence[Step]) -> list[str]:
    """Return the letters of sizes on which the estimated times of steps depend."""
    shapes = [node.shape for node in (*inputs, *(node for step in steps for node in step.results))]
    sizes = {size for shape in shapes for size in shape if isinstance(size, Size) and size != BATCH}
    return sorted({name for size in sizes for name in size.names - {str(BATCH)}})


def plan_lines(
    inputs: Sequence[Node], outputs: Sequence[Node], steps: Sequence[Step], checks: Sequence[Check]
) -> Iterator[str]:
    """Give each step: its loops, what it reads and writes, and the program of an element."""
    names = _names(inputs, steps)
    for node in inputs:
        yield f"input {names[node]}{brief(node).removeprefix(leaf_text(node))}"
    for number, step in enumerate(steps):
        yield f"step {number}: {_title(step)}"
        if isinstance(step, LoopStep):
            yield from _loop_lines(step, names)
        elif isinstance(step, Repacked):
            yield f"    gives {names[step.result]} = {_name(names, step.source)} from {word(step.start)} on"
        elif isinstance(step, Repeated):
            gives = ", ".join([names[node] for node in step.results])
            yield f"    gives {gives} from {', '.join([_name(names, node) for node in step.given])}"
            yield from (f"    {line}" for line in plan_lines(step.inputs, step.outputs, step.steps, step.checks))
        elif isinstance(step, Call):
            yield f"    gives {names[step.result]} = {brief(step.formula)}"
            for node, stand_in in zip(step.operands, step.inputs, strict=True):
                yield f"    {brief(stand_in)} is {_name(names, node)}"
        elif isinstance(step, MatrixFunction):
            others = [step.matrix] if step.other is None else [step.matrix, step.other]
            yield f"    gives {names[step.result]} = {step.op}({', '.join([_name(names, node) for node in others])})"
        elif isinstance(step, Routine):
            gives = ", ".join([names[node] for node in step.results])
            yield f"    gives {gives} = {step.op}({', '.join([_name(names, node) for node in step.operands])})"
        else:
            ports = [step.first, step.second] if isinstance(step, Product) else [step.source]
            yield f"    gives {names[step.result]}{_place(step.place)} = {brief(step.result)}"
            for port in ports:
                yield f"    reads {_port(names, port)}"
    for item, size in checks:
        yield f"check that {word(item)} fits an axis of size {word(size)}"
    yield f"results: {', '.join([_name(names, node) for node in outputs])}"


def _loop_lines(step: LoopStep, names: dict[Node, str]) -> Iterator[str]:
    for node, place in zip(step.results, step.places, strict=True):
        yield f"    gives {names[node]}{_place(place)} = {brief(node)}"
    for number, piece in enumerate(step.pieces):
        ends = ", ".join([f"{word(low)}<=i{k}<{word(high)}" for k, (low, high) in enumerate(piece.ranges)])
        yield f"    piece {number}: {ends}"
        for k, port in enumerate(piece.ports):
            yield f"        input {k} is {_port(names, port)}"
        yield from (f"        {line}" for line in program_lines(piece.program))


def _names(inputs: Sequence[Node], steps: Sequence[Step]) -> dict[Node, str]:
    names = {node: leaf_text(node) for node in inputs}
    for node in inputs:  # a batch, or the rows, of an array: its place in the plan is that array's, and so is its name
        key = getattr(node.payload, "key", None)
        if isinstance(key, tuple) and isinstance(key[-1], str) and word(key[-1]) not in names.values():
            names[node] = word(key[-1])
    for number, step in enumerate(steps):
        for k, node in enumerate(step.results):
            names.setdefault(node, f"r{number}" if k == 0 else f"r{number}.{k}")
    return names


def _name(names: dict[Node, str], node: Node) -> str:
    return names.get(node) or brief(node)


def _port(names: dict[Node, str], port: LoopInput) -> str:
    return f"{_name(names, port.source)}{_place(port.access)}"


def _operands(step: Step) -> list[Node]:
    """Return the arrays that a step reads, each once."""
    if isinstance(step, LoopStep):
        read = [port.source for piece in step.pieces for port in piece.ports]
    elif isinstance(step, Product):
        read = [step.first.source, step.second.source]
    elif isinstance(step, MatrixFunction):
        read = [step.matrix] if step.other is None else [step.matrix, step.other]
    elif isinstance(step, Call | Routine):
        read = [*step.operands]
    elif isinstance(step, Repeated):
        read = [*step.given]
    else:
        read = [step.source if isinstance(step, Repacked) else step.source.source]
    return list(dict.fromkeys(read))


def _title(step: Step, operands: Sequence[str] = ()) -> str:
    """Return what a step does: over which loops, and of which operands where they are given."""
    of = f" of {clip(', '.join(operands), _LONG)}" if operands else ""
    if isinstance(step, LoopStep):
        loops = ", ".join([f"i{k}<{word(size)}" for k, size in enumerate(step.loops)]) or "once"
        return f"{'sum' if step.total else 'map'}{of} over {loops}"
    if isinstance(step, Product):
        return f"product{of} over {_sizes(step.sizes)}" + (", one triangle" if step.symmetric else "")
    if isinstance(step, MatrixFunction):
        return f"{step.op}{of}, matrices of {word(step.matrix.shape)}"
    if isinstance(step, Routine):
        return f"{step.op}{of}, arrays of {word(step.operands[0].shape)}"
    if isinstance(step, Call):
        return f"array {brief(step.formula)}"
    if isinstance(step, Repacked):
        return f"shape {word(step.result.shape)}{of}"
    if isinstance(step, Repeated):
        return f"{word(step.length)} times{of}" + (", from the last" if step.reverse else "")
    if isinstance(step, Move):
        return f"{'scatter' if step.scatter else 'gather'}{of} over {_sizes(step.sizes)}"
    return f"{step.op}{of} over {_sizes(step.sizes)}"


def _sizes(sizes: Iterable[object]) -> str:
    return ", ".join([f"i{k}<{word(size)}" for k, size in enumerate(sizes)])


def _why(step: Step, samples: bool) -> str:
    if isinstance(step, LoopStep) and not step.loops:
        return "the same for all elements"
    if isinstance(step, LoopStep) and BATCH in step.loops and len(step.loops) == 1:
        return "sample by sample, fused" if samples else "element by element, fused"
    return _WHY[type(step)]


def _time(nanoseconds: float) -> str:
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def _place(access: Access) -> str:
    """Return where an element stands, as an index is written; ``3:+2:n`` are n positions 2 apart."""
    parts = []
    for index in access:
        text = "" if index.start == 0 and index.loop is not None else word(index.start)
        if index.listed is not None:
            text = f"list[i{index.loop}]"
        elif index.loop is not None:
            step = "" if index.step == 1 else f"{index.step}*"
            text = f"{text}{' + ' if text else ''}{step}i{index.loop}"
        parts.append(text if index.length is None else f"{text}:+{index.step}:{word(index.length)}")
    return f"[{', '.join(parts)}]"
