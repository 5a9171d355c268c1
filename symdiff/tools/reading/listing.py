"""Generated C beside the sub-formula that each line computes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...graph.scalars.arithmetic import SUMS
from ...graph.scalars.functions import FUNCTIONS
from ...lowering.program import Program
from ...printing.text import decimal

__all__ = ["annotated", "expressions"]

#: Operators with how closely they bind: comparisons, sums, products.
_INFIX = {
    op: (row.infix, 0 if row.is_comparison else 1 if op in SUMS else 2) for op, row in FUNCTIONS.items() if row.infix
}
#: Characters of a sub-formula; where it would be longer, values are called by their names in C.
_LONG = 60
#: A line of C that gives a value its number.
_VALUE = re.compile(r"^[VK] v(\d+)=")
_LOADED = re.compile(r"^V (v\d+(?:,v\d+)*);")


def expressions(program: Program) -> list[str]:
    """Return what each value of a program is, in the notation of formula text.

    Examples
    --------
    >>> import symdiff as sd
    >>> expressions(sd.compile("x * sin(y)", x=(), y=(), backend="interpreter")._units.program)
    ['x', 'y', 'sin(y)', 'x * sin(y)']
    """
    texts: list[str] = []
    levels: list[int] = []
    for i, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
        if op == "load":
            port, flat = program.inputs[args[0]], args[1]
            text, level = _element(port.name, port.shape, flat), 3
        elif op == "const":
            text, level = decimal(program.consts[i]), 3 if program.consts[i] >= 0 else 0
        else:
            text, level = _written(op, [(texts[a], levels[a]) for a in args])
            if len(text) > _LONG:
                short = [(f"v{a}", 3) if len(texts[a]) > _LONG // 4 else (texts[a], levels[a]) for a in args]
                text, level = _written(op, short)
        texts.append(text)
        levels.append(level)
    return texts


def _element(name: str, shape: tuple[int, ...], flat: int) -> str:
    if not shape:
        return name
    places: list[int] = []
    for size in reversed(shape):
        places.append(flat % size)
        flat //= size
    return f"{name}[{', '.join(map(str, reversed(places)))}]"


def _written(op: str, args: list[tuple[str, int]]) -> tuple[str, int]:
    if op in _INFIX:
        sign, level = _INFIX[op]
        (left, first), (right, second) = args
        left = left if first >= level else f"({left})"
        right = right if second > level else f"({right})"
        return f"{left} {sign} {right}", level
    if op == "negative":
        text, level = args[0]
        return f"-{text if level >= 2 else f'({text})'}", 1
    if op == "fma":
        product, _ = _written("multiply", args[:2])
        return _written("add", [(product, 2), args[2]])
    return f"{op}({', '.join(text for text, _ in args)})", 3


def annotated(source: str, program: Program) -> Iterator[tuple[str, str]]:
    """Give the lines of the function that computes one vector of samples, each with what it computes.

    Parameters
    ----------
    source : str
        What the emitter of C prints for the program.
    program : Program
    """
    texts = expressions(program)
    stored = {
        value: _element(port.name, port.shape, place)
        for port, values in zip(program.outputs, program.stores, strict=True)
        for place, value in enumerate(values)
    }
    inside = False
    for line in source.splitlines():
        inside = inside or "void whole(" in line or "void part" in line
        if not inside:
            continue
        if line.startswith("long kernel("):
            return
        value, loaded = _VALUE.match(line), _LOADED.match(line)
        if value is not None and int(value[1]) < len(texts):
            yield line, texts[int(value[1])]
        elif loaded is not None:
            yield line, ", ".join(texts[int(one[1:])] for one in loaded[1].split(","))
        elif line.startswith("STORE"):
            numbers = [int(n) for n in re.findall(r"\bv(\d+)\b", line)]
            yield line, ", ".join(f"{stored[n]} = v{n}" for n in numbers if n in stored)
        else:
            yield line, ""
