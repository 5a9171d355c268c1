"""A kernel on one page: formula, derivative, steps, graph, pattern of nonzeros, generated C, times.

The page is one file: no script, no font, no picture from elsewhere; drawings are SVG within it, and each line of C
stands beside the sub-formula that it computes. It follows the light or dark mode of its reader and fits a phone.
Whatever a user wrote is quoted.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError, DataError, SymdiffError
from ...frontend.array import Array
from ...graph import Node, postorder
from ...graph.scalars.arithmetic import SUMS
from ...graph.scalars.functions import FUNCTIONS
from ...ground.files import check_writable, replace_file
from ...ground.version import VERSION
from ...lowering.program import Program
from ...lowering.sparse.entries import SparsePattern
from ...printing import unicode
from ...printing.mathml import mathml
from ...printing.text import decimal
from ...runtime.kept.lookup import Problem
from ...runtime.kernel import Kernel
from ...runtime.origin import shown
from ...runtime.sparse_kernel import SparseKernel
from .benchmark import benchmark, in_words, sizes_of
from .derivation import derive
from .steps import Steps

__all__ = ["MOST_NODES", "annotated", "curve", "expressions", "graph", "nonzeros", "page", "pattern", "write_page"]


Places: TypeAlias = npt.NDArray[np.integer[Any]]

#: Nodes of a graph that is drawn.
MOST_NODES = 60
#: Width and height of a node's box and its row, in pixels.
_WIDTH, _HEIGHT, _ROW = 140, 30, 62
#: Characters of a node's formula in its box.
_SHOWN = 16
#: Rows and columns of a pattern that are drawn; of a larger one, each square stands for a block.
_CELLS = 120


def graph(roots: Sequence[Node]) -> str | None:
    """Return the graph of formulas, operands above what is made of them; None if it is too large to be read.

    Boxes that several others use are marked: they are computed once.
    """
    order = postorder(roots)
    if len(order) > MOST_NODES:
        return None
    depth: dict[Node, int] = {}
    uses: dict[Node, int] = {}
    for node in order:
        depth[node] = 1 + max((depth[arg] for arg in node.args), default=-1)
        for arg in set(node.args):
            uses[arg] = uses.get(arg, 0) + 1
    rows: dict[int, list[Node]] = {}
    for node in order:
        rows.setdefault(depth[node], []).append(node)
    widest = max(map(len, rows.values()))
    place = {
        node: ((k + 0.5) * widest * _WIDTH / len(row), level * _ROW + 20)
        for level, row in rows.items()
        for k, node in enumerate(row)
    }
    parts = []
    for node in order:
        x, y = place[node]
        for arg in dict.fromkeys(node.args):
            u, v = place[arg]
            parts.append(f'<line class="edge" x1="{u:.1f}" y1="{v + _HEIGHT / 2:.1f}" x2="{x:.1f}" y2="{y - 15:.1f}"/>')
    last = set(roots)
    for node in order:
        x, y = place[node]
        kind = "result" if node in last else "shared" if uses.get(node, 0) > 1 else "node"
        whole = unicode(node).splitlines()[-1]  # without the definitions of names, which have boxes of their own
        product = "product" if len(node.args) > 1 else "sum"
        shown = whole if len(whole) <= _SHOWN else f"{product if node.is_contraction else node.op} …"
        parts.append(
            f'<g class="{kind}"><title>{html.escape(whole)}</title>'
            f'<rect x="{x - _WIDTH / 2 + 5:.1f}" y="{y - _HEIGHT / 2:.1f}" width="{_WIDTH - 10}" height="{_HEIGHT}" '
            f'rx="5"/><text x="{x:.1f}" y="{y + 4:.1f}">{html.escape(shown)}</text></g>'
        )
    return _svg(widest * _WIDTH, len(rows) * _ROW, "the graph of the formula", "".join(parts))


def curve(points: Sequence[tuple[float, float]], across: str, up: str) -> str:
    """Return a line through points on logarithmic axes, whose ticks are powers of ten."""
    width, height, left, below = 560, 300, 70, 45
    xs, ys = [math.log10(x) for x, _ in points], [math.log10(y) for _, y in points]
    low, high = math.floor(min(ys)), max(math.ceil(max(ys)), math.floor(min(ys)) + 1)
    first, last = math.floor(min(xs)), max(math.ceil(max(xs)), math.floor(min(xs)) + 1)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + (x - first) / (last - first) * (width - left - 20),
            15 + (high - y) / (high - low) * (height - below - 15),
        )

    parts = []
    for k in range(first, last + 1):
        x, y = at(k, low)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="15" x2="{x:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 17:.1f}">{_power(k)}</text>')
    for k in range(low, high + 1):
        x, y = at(first, k)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{y:.1f}" x2="{width - 20}" y2="{y:.1f}"/>')
        parts.append(f'<text class="end" x="{x - 6:.1f}" y="{y + 4:.1f}">{_power(k)}</text>')
    places = [at(x, y) for x, y in zip(xs, ys, strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline class="line" points="{line}"/>')
    parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in places]
    parts.append(f'<text x="{(left + width) / 2}" y="{height - 6}">{html.escape(across)}</text>')
    parts.append(f'<text x="{-height / 2 + 20:.1f}" y="14" transform="rotate(-90)">{html.escape(up)}</text>')
    return _svg(width, height, f"{up} against {across}", "".join(parts))


def pattern(found: SparsePattern) -> str:
    """Return where nonzeros stand, a square for each or for a block of them."""
    return nonzeros(found.shape, *found.coordinates())


def nonzeros(shape: tuple[int, int], rows: Places, columns: Places) -> str:
    """Return a drawing of nonzeros by their coordinates, in the colour of the text where no style says another."""
    height, width = shape
    block = max(1, math.ceil(max(height, width) / _CELLS))
    down, across = math.ceil(height / block), math.ceil(width / block)
    filled = np.unique(rows.astype(np.int64) // block * across + columns.astype(np.int64) // block)
    scale = max(3.0, min(14.0, 480 / max(down, across, 1)))
    parts = [
        f'<rect class="frame" width="{across * scale:.1f}" height="{down * scale:.1f}" fill="none" '
        'stroke="currentColor"/>'
    ]
    parts += [
        f'<rect class="dot" x="{place % across * scale:.1f}" y="{place // across * scale:.1f}" '
        f'width="{scale - 0.6:.1f}" height="{scale - 0.6:.1f}" fill="currentColor"/>'
        for place in filled.tolist()
    ]
    title = f"{rows.size:,} nonzeros of {height:,}×{width:,}"
    return _svg(across * scale, down * scale, title, "".join(parts))


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))


def _svg(width: float, height: float, title: str, body: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="max-width: {width:.0f}px" role="img" '
        f'aria-label="{html.escape(title)}"><title>{html.escape(title)}</title>{body}</svg>'
    )


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


#: Lines of C that are shown at once.
_OPEN = 80
_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fdfdfb; --pale: #f0f0ec; --rule: #c9c9c2; --mark: #0b62a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4df; --paper: #16181b; --pale: #22262b; --rule: #444a52; --mark: #6cb4f0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid var(--rule); }
code, pre, .formula, .steps td:nth-child(2) { font-family: ui-monospace, monospace; font-size: .92em; }
.wide { overflow-x: auto; max-width: 100%; }
.formula, pre { background: var(--pale); padding: .6rem .8rem; border-radius: 6px; white-space: pre-wrap;
  margin: .4rem 0; }
.formula { overflow-x: auto; } .formula math { font-size: 1.15rem; } .steps td:nth-child(2) { overflow-x: auto; }
mtd[columnalign="left"] { text-align: -webkit-left; } mtd[columnalign="right"] { text-align: -webkit-right; }
table { border-collapse: collapse; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
.wide td, .wide th { overflow-wrap: break-word; }
.steps { width: 100%; } .steps td:nth-child(2) { width: 45%; }
.listing td { font-family: ui-monospace, monospace; font-size: .82em; white-space: pre; border: 0;
  padding: 0 1rem 0 0; }
.listing td:first-child { color: var(--mark); }
svg { width: 100%; height: auto; font: 12px ui-monospace, monospace; }
svg text { fill: var(--ink); text-anchor: middle; } svg text.end { text-anchor: end; }
svg rect, svg .frame { fill: var(--pale); stroke: var(--rule); }
svg .shared rect { stroke: var(--mark); stroke-width: 2.5; }
svg .result rect { stroke: var(--ink); stroke-width: 2.5; }
svg .edge, svg .grid { stroke: var(--rule); } svg .line { fill: none; stroke: var(--mark); stroke-width: 2; }
svg .dot { fill: var(--mark); stroke: none; }
@media (max-width: 40rem) {
  .steps, .steps tbody, .steps tr, .steps td { display: block; width: auto; border: 0; padding: .1rem 0; }
  .steps tr:has(th), .steps td:empty { display: none; }
  .steps tr { position: relative; border-bottom: 1px solid var(--rule); padding: .5rem 0 .5rem 1.6rem; }
  .steps td:first-child { position: absolute; left: 0; } .steps td:nth-child(2) { width: auto; }
  .steps td:nth-child(n+3) { font-size: .85rem; }
}
footer { margin-top: 2rem; color: color-mix(in srgb, var(--ink) 65%, var(--paper)); font-size: .85rem; }
"""


def write_page(kernel: Kernel, path: Any, title: str | None, timed: bool, overwrite: bool) -> None:
    """Write the page about a kernel; see :meth:`symdiff.Kernel.report`."""
    if not isinstance(path, str | PathLike):
        raise ArgumentError(f"a page at {path!r:.60}; expected the name of a file, such as 'page.html'")
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"{target}: expected a page called *.html")
    check_writable(target, overwrite=overwrite)
    made = page(kernel, title, timed).encode()

    def fill(stream: IO[bytes]) -> None:
        stream.write(made)

    replace_file(target, fill)


def page(kernel: Kernel, title: str | None = None, timed: bool = True) -> str:
    """Return the page about a kernel as HTML."""
    kernel.wait()
    problem: Problem = kernel._origin.problem()
    heading = html.escape(title or "A kernel of symdiff")
    body = "".join(
        f"<section><h2>{html.escape(name)}</h2>{content}</section>"
        for name, content in _sections(kernel, problem, timed)
        if content
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{heading}</title><style>{_STYLE}</style></head><body><h1>{heading}</h1>"
        f"<p><code>{html.escape(kernel.signature)}</code></p>{body}"
        f"<footer>symdiff {html.escape(VERSION)}, backend {html.escape(kernel.backend)}</footer></body></html>\n"
    )


def _sections(kernel: Kernel, problem: Problem, timed: bool) -> Iterator[tuple[str, str]]:
    outputs = list(problem.outputs)
    origins = [_origin_of(output) for output in outputs]
    formulas = list(dict.fromkeys(formula for formula, _ in filter(None, origins)))
    yield "Formula", "".join(map(_formula, (Array(node) for node in formulas)))
    results = "".join(
        f"<p><code>{html.escape(p.name)}</code></p>{_formula(one)}"
        for p, one in zip(kernel.outputs, shown(outputs), strict=True)
    )
    yield ("Derivative" if formulas else "Formula"), results
    yield "Steps", "".join(_steps(output, origin) for output, origin in zip(outputs, origins, strict=True) if origin)
    drawn = graph([one.node for one in shown(outputs)])
    note = "<p>Operands stand above what is made of them. A blue frame marks what several use: it is computed once.</p>"
    yield "Graph", note + _wide(drawn) if drawn else f"<p>The graph has more than {MOST_NODES} nodes.</p>"
    if isinstance(kernel, SparseKernel):
        yield "Nonzeros", _patterns(kernel)
    yield "Generated C", _code(kernel)
    if kernel.rewrites:
        rows = "".join(f"<li><code>{html.escape(line)}</code></li>" for line in kernel.rewrites)
        yield "Rewritten for stability", f"<ul>{rows}</ul>"
    if timed:
        yield "Time", _times(kernel)


def _formula(array: Array) -> str:
    return (
        f'<div class="formula">{mathml(array._shown("latex", "the text below"))}</div>'
        f"<details><summary>text and LaTeX</summary><pre>{html.escape(array.text())}</pre>"
        f"<pre>{html.escape(array.latex())}</pre></details>"
    )


def _origin_of(output: Array) -> tuple[Node, Node] | None:
    """Return the formula of which an output is a derivative, and the variable."""
    for result, formula, variable in output.provenance.facts.derivations:
        if result is output.node:
            return formula, variable
    return None


def _steps(output: Array, origin: tuple[Node, Node]) -> str:
    formula, variable = origin
    if not variable.is_input:
        return ""
    try:
        found = Steps(derive(formula, [variable], [output.node]))
        return _wide(found.html("mathml"))
    except SymdiffError as error:
        return f"<p>No steps: {html.escape(str(error))}</p>"


def _patterns(kernel: SparseKernel) -> str:
    try:
        found = kernel._patterns(sizes_of(kernel, {}))
    except SymdiffError as error:
        return f"<p>{html.escape(str(error))}</p>"
    return "".join(
        f"<p><code>{html.escape(p.name)}</code>: {one.size:,} of {one.shape[0]:,}×{one.shape[1]:,}</p>{pattern(one)}"
        for p, one in zip(kernel.outputs, found, strict=True)
        if one is not None
    )


def _code(kernel: Kernel) -> str:
    note = "<p>A value holds one number of several samples. In front of each line stands what it computes.</p>"
    try:
        if kernel._units is not None:
            return note + _listing(kernel.source(), kernel._units.program)
        programs = [] if kernel._plans is None else kernel._plans.programs()
    except SymdiffError as error:
        return f"<p>{html.escape(str(error))}</p>"
    plan = f"<p>The kernel runs as a plan.</p><pre>{html.escape(kernel.plan)}</pre>"
    listings = (f"<h3>Program {k}</h3>{_listing(text, program)}" for k, (program, text) in enumerate(programs))
    return plan + (note if programs else "") + "".join(listings)


def _listing(source: str, program: Program) -> str:
    """Return C with what each line computes."""
    rows: Sequence[tuple[str, str]] = list(annotated(source, program))
    body = "".join(f"<tr><td>{html.escape(told)}</td><td>{html.escape(line)}</td></tr>" for line, told in rows)
    listing = _wide(f'<table class="listing">{body}</table>')
    state = " open" if len(rows) <= _OPEN else ""
    return f"<details{state}><summary>{len(rows)} lines</summary>{listing}</details>"


def _times(kernel: Kernel) -> str:
    found = benchmark(kernel)
    rows = "".join(
        f"<tr><td>{t.batch:,}</td><td>{in_words(t.seconds)}</td><td>{in_words(t.per_sample)}</td></tr>"
        for t in found.timings
    )
    points = [(t.batch, t.per_sample) for t in found.timings]
    drawn = curve(points, "samples in a call", "seconds for a sample") if len(points) > 1 else ""
    head = "<tr><th>batch</th><th>a call</th><th>a sample</th></tr>"
    letters = f", with {html.escape(found.letters)}" if found.sizes else ""
    note = f"<p>Measured when this page was made, on random numbers{letters}.</p>"
    return f"{note}{drawn}{_wide(f'<table>{head}{rows}</table>')}"


def _wide(content: str) -> str:
    return f'<div class="wide">{content}</div>'
