"""A kernel on one page: formula, derivative, steps, graph, pattern of nonzeros, generated C, times.

The page is one file: no script, no font, no picture from elsewhere. It follows the light or dark mode of its reader and
fits a phone. Whatever a user wrote is quoted.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ...errors import DataError, SymdiffError
from ...frontend.array import Array
from ...graph import Node
from ...ground.files import check_writable, replace_file
from ...ground.version import VERSION
from ...lowering.program import Program
from ...printing.mathml import mathml
from ...runtime.about.formulas import shown
from ...runtime.kept.lookup import Problem
from ...runtime.kernel import Kernel
from ...runtime.sparse.kernel import SparseKernel
from .benchmark import benchmark, in_words, sizes_of
from .derivation import derive
from .drawings import MOST_NODES, curve, graph, pattern
from .listing import annotated
from .steps import Steps

__all__ = ["page", "write_page"]

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
        f'<div class="formula">{mathml(array.latex())}</div>'
        f"<details><summary>text and LaTeX</summary><pre>{html.escape(str(array))}</pre>"
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
