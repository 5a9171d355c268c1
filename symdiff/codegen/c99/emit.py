"""A formula as a C file and its header: portable C99, which is C++ as well, with nothing but the standard library.

Around the function of one sample stands one that goes over many of them. What a reader has to know (the formula, the
order of the arguments, shapes, what is returned) is said in a comment at the head of both files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...calculus.cost import operations
from ...errors import UnsupportedError
from ...graph import BOOL, INT, Node
from ...graph.kinds import REPEATED
from ...graph.size_equations import equations
from ...graph.sizes import Dim, Span, fixed, product
from ...ground.budget import limits
from ...lowering.plan.calls import has_steps
from ...lowering.plan.planner import make_plan
from ...lowering.program import Program
from ..names import FORMULA, comment, harmless_names
from .arrays import ArrayCode, dim_text, functions_text, sample_functions

__all__ = ["Exported", "emit_c99"]

#: Scalar operations up to which a formula with loops is one program all the same.
SHORT = 2_000
#: Characters of a line of comments.
LINE = 110


class Exported(NamedTuple):
    """The two files.

    Parameters
    ----------
    header, source : str
    """

    header: str
    source: str


def emit_c99(
    name: str,
    inputs: Sequence[Node],
    nodes: Sequence[Node],
    results: Sequence[str],
    lower: Callable[[int], Program],
    *,
    batched: Sequence[bool],
    reduce: bool = False,
    formula: Sequence[str] = (),
    spans: Sequence[Span] = (),
) -> Exported:
    """Print a formula as C99.

    Parameters
    ----------
    name : str
        Of the function, and of the files.
    inputs, nodes : sequence of Node
        The function's arguments, and its results as they are computed.
    results : sequence of str
        Their names.
    lower : callable
        Lowers the formula to a scalar program of so many operations at most.
    batched : sequence of bool
        Which inputs have a sample each.
    reduce : bool
        Sum each result over the samples.
    formula : sequence of str
        What is computed, for the comment.
    spans : sequence of Span
        What it takes of axes whose sizes are letters.

    Raises
    ------
    UnsupportedError
        For inputs that are no real numbers, and what has neither a scalar program nor loops.
    """
    for node in inputs:
        if node.dtype in (BOOL, INT):
            raise UnsupportedError(f"the input {node.name!r:.80} holds {node.dtype} numbers; expected real ones")
    letters = [equation.name for equation in equations(tuple(node.shape for node in inputs))]
    lowered = _lowered(inputs, nodes, letters, lower, spans)
    conditions: list[str] = []
    if isinstance(lowered, Program):
        text, workspace = sample_functions(lowered)
        own = functions_text([lowered])
        functions = f"{own}\n{text}" if own else text
        room: Dim = workspace
    else:
        functions, room, conditions = lowered.text, lowered.workspace, lowered.conditions
    frame = _Frame(name, inputs, nodes, results, letters, batched, reduce)
    about = frame.about(formula)
    return Exported(frame.header(about), frame.source(about, functions, room, conditions))


def _lowered(
    inputs: Sequence[Node],
    nodes: Sequence[Node],
    letters: Sequence[str],
    lower: Callable[[int], Program],
    spans: Sequence[Span],
) -> Program | ArrayCode:
    """Return the program of a short formula, the loops of a long one, or whichever there is."""
    is_fixed = all(fixed(node.shape) is not None for node in inputs)
    is_straight = not any(node.below & REPEATED for node in nodes)
    if is_fixed and is_straight and (not has_steps(inputs, nodes) or operations(nodes) <= SHORT):
        return lower(limits().native_operations)
    try:
        return ArrayCode(make_plan(inputs, nodes, limits().unrolled_operations), letters, spans)
    except UnsupportedError as error:
        if not is_fixed:
            raise UnsupportedError(f"{error}; give its sizes as numbers") from None
    return lower(limits().native_operations)


class _Frame:
    """The frame of the arithmetic: names, the comment, the loop over samples."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Node],
        nodes: Sequence[Node],
        results: Sequence[str],
        letters: Sequence[str],
        batched: Sequence[bool],
        reduce: bool,
    ) -> None:
        self.name, self.inputs, self.nodes, self.results = name, inputs, nodes, results
        self.batched, self.reduce = batched, reduce
        taken = {name, "count", "k"}
        wanted = [str(node.name) for node in inputs]
        self.arguments = harmless_names(wanted, "input", taken)
        taken.update(self.arguments)
        self.targets = harmless_names(results, "output", taken)
        taken.update(self.targets)
        self.letters = dict(zip(letters, harmless_names(letters, "size", taken), strict=True))
        self.other = [
            (mine, theirs)
            for mine, theirs in [
                *zip(self.arguments, wanted, strict=True),
                *zip(self.targets, results, strict=True),
                *((mine, theirs) for theirs, mine in self.letters.items()),
            ]
            if mine != theirs
        ]

    # ------------------------------------------------------------------ the comment and the prototype

    def about(self, formula: Sequence[str]) -> str:
        """Return the comment: the formula, what the arguments are, and what is returned."""
        lines = []
        for result, text in zip(self.targets, formula, strict=False):
            shown = text if len(text) <= FORMULA else text[:FORMULA] + " ..."
            lines += [f"{result} = {line}" if k == 0 else f"  {line}" for k, line in enumerate(shown.split("\n"))]
        lines += ["", "All arrays are of double, row by row (row-major, C order), one sample behind the other.", ""]
        lines += ["count: the number of samples" + (", over which results are summed" if self.reduce else "")]
        lines += [f"{mine}: a size, at least 1" for mine in self.letters.values()]
        for mine, node, many in zip(self.arguments, self.inputs, self.batched, strict=True):
            lines.append(f"{mine}: in, {self._shape(node, many)}")
        for mine, node in zip(self.targets, self.nodes, strict=True):
            lines.append(f"{mine}: out, {self._shape(node, not self.reduce)}; overlaps no other array")
        if self.other:
            lines += ["", "Names that C could not take:"]
            lines += [f"{mine}: {theirs!r:.200}" for mine, theirs in self.other]
        lines += [
            "",
            "Returns -1 when all is computed; else results hold anything, and it is",
            "  the first sample in which a matrix is singular or not positive definite (0 or more),",
            "  -2 where there is no memory, -3 where sizes are too small for the formula.",
            "Several threads may call it at once.",
        ]
        told = "\n".join(comment(line).rstrip() for line in lines)
        return "/* Written by symdiff.\n\n   " + told.replace("\n", "\n   ").replace("\n   \n", "\n\n") + "\n*/\n"

    def _shape(self, node: Node, many: bool) -> str:
        sizes = [dim_text(size, self.letters) for size in node.shape]
        return f"({', '.join([*(['count'] if many else []), *sizes])}{',' if len(sizes) + many == 1 else ''})"

    def prototype(self) -> str:
        """Return the function's declaration without its semicolon."""
        parts = [f"ptrdiff_t {one}" for one in ("count", *self.letters.values())]
        parts += [f"const double *{one}" for one in self.arguments]
        parts += [f"double *{one}" for one in self.targets]
        lines, line = [], f"ptrdiff_t {self.name}("
        for k, part in enumerate(parts):
            text = part + (", " if k < len(parts) - 1 else ")")
            if len(line) + len(text) > LINE:
                lines.append(line.rstrip())
                line = "    "
            line += text
        return "\n".join([*lines, line])

    def header(self, about: str) -> str:
        """Return the header."""
        macro = f"SD_{self.name.upper()}_H"
        return f"""\
{about}
#ifndef {macro}
#define {macro}

#include <stddef.h>

#ifdef __cplusplus
extern "C" {{
#endif

{self.prototype()};

#ifdef __cplusplus
}}
#endif

#endif
"""

    # ------------------------------------------------------------------ the function

    def source(self, about: str, functions: str, room: Dim, conditions: Sequence[str]) -> str:
        """Return the source: the functions of one sample, and the one that goes over all.

        Parameters
        ----------
        about : str
            The comment.
        functions : str
            The last is ``int sd_sample(sizes, inputs, outputs, workspace)``.
        room : int or Size
            Numbers of workspace that it takes; without any, it has no such argument.
        conditions : sequence of str
            What has to hold of the sizes, by the names ``n0``, ``n1``, ...
        """
        sizes = ", ".join(f"ptrdiff_t n{k}" for k in range(len(self.letters)))
        fits = ""
        if conditions:
            lines = " &&\n         ".join(conditions)
            fits = f"static int sd_fits({sizes}) {{\n  return {lines};\n}}\n\n"
        body = "".join(f"  {line}\n" for line in self._body(room, bool(conditions)))
        return f"""\
{about}
#include "{self.name}.h"

#include <math.h>
#include <stdlib.h>

{functions}
{fits}{self.prototype()} {{
{body}}}
"""

    def _body(self, room: Dim, has_conditions: bool) -> Iterator[str]:
        size = {node: dim_text(product(node.shape), self.letters) for node in (*self.inputs, *self.nodes)}
        passed = [*self.letters.values()]
        for one, node, many in zip(self.arguments, self.inputs, self.batched, strict=True):
            passed.append(f"{one} + sd_i * {size[node]}" if many else one)
        held: Dim = 0
        starts = []
        for one, node in zip(self.targets, self.nodes, strict=True):
            starts.append(held)
            passed.append(f"sd_row + {dim_text(held, self.letters)}" if self.reduce else f"{one} + sd_i * {size[node]}")
            held = held + product(node.shape)
        passed += ["sd_w"] if room != 0 else []
        call = f"sd_sample({', '.join(passed)})"
        need = room + held * 3 if self.reduce else room
        memory = "" if need == 0 else "sd_w"
        yield "ptrdiff_t sd_i, sd_failed = -1;"
        if memory:
            yield "double *sd_w;"
        if self.reduce:
            yield "double *sd_row, *sd_block, *sd_total;"
        if has_conditions:
            yield f"if (!sd_fits({', '.join(self.letters.values())})) return -3;"
        if memory:
            yield f"sd_w = (double *)malloc(sizeof(double) * (size_t)({dim_text(need, self.letters)}));"
            yield "if (!sd_w) return -2;"
        if not self.reduce:
            yield "for (sd_i = 0; sd_i < count && sd_failed < 0; sd_i++)"
            yield f"  if ({call}) sd_failed = sd_i;"
        else:
            yield from self._sum(room, held, starts, call, size)
        if memory:
            yield "free(sd_w);"
        yield "return sd_failed;"

    def _sum(
        self, room: Dim, held: Dim, starts: Sequence[Dim], call: str, size: dict[Node, str]
    ) -> Iterator[str]:
        """Sum over the samples: 1024 at a time, since rounding errors grow with the number of additions."""
        whole = dim_text(held, self.letters)
        yield f"sd_row = sd_w + {dim_text(room, self.letters)};"
        yield f"sd_block = sd_row + {whole};"
        yield f"sd_total = sd_block + {whole};"
        yield f"for (ptrdiff_t k = 0; k < 2 * {whole}; k++) sd_block[k] = 0.0; /* and the total behind it */"
        yield "for (sd_i = 0; sd_i < count && sd_failed < 0; sd_i++) {"
        yield f"  if ({call}) sd_failed = sd_i;"
        yield f"  for (ptrdiff_t k = 0; k < {whole}; k++) sd_block[k] += sd_row[k];"
        yield "  if (sd_i % 1024 == 1023 || sd_i == count - 1)"
        yield f"    for (ptrdiff_t k = 0; k < {whole}; k++) {{"
        yield "      sd_total[k] += sd_block[k];"
        yield "      sd_block[k] = 0.0;"
        yield "    }"
        yield "}"
        for one, node, start in zip(self.targets, self.nodes, starts, strict=True):
            source = "sd_total[k]" if start == 0 else f"sd_total[{dim_text(start, self.letters)} + k]"
            yield f"for (ptrdiff_t k = 0; k < {size[node]}; k++) {one}[k] = {source};"
