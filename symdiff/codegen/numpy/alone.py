"""NumPy source that needs NumPy alone: one function with the user's names, and the functions that it calls.

Those that symdiff has in Python (``graph/reference/numeric``), and stand-ins for SciPy's and for compiled ones
(:mod:`.standins`), are copied into the text, without annotations. What neither has is refused by name.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ...errors import UnsupportedError
from ...graph import INT, Node
from ...graph.reference import numeric
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Span, fixed
from ..names import docstring, safe_names
from .emit import Lines, emit_lines
from .standins import basic, bessels, elliptic, gammas, incomplete, integrals, normal
from .writer import number

__all__ = ["emit_alone"]

#: Constants of more numbers are refused: nobody wants to read them, nor Python.
CONSTANTS = 100_000
SPECIAL = r"\bspecial\."
_NUMBERED = re.compile(r"[vcn][0-9]+")
#: What is copied, the last that has a name; names of helpers differ.
_MODULES = (numeric, basic, normal, gammas, incomplete, bessels, elliptic, integrals)
_COMPILED = frozenset(row.name for row in FUNCTIONS.values() if row.special)

_ERRORS = '''
class ShapeError(ValueError):
    """Arrays do not fit the formula."""
'''
_SINGULAR = '''
class SingularMatrixError(np.linalg.LinAlgError):
    """A matrix is singular, or not positive definite; ``index`` is its place in the stack."""

    def __init__(self, message, index=()):
        super().__init__(message)
        self.index = index
'''
_ARGUMENTS = '''
def _arguments(given):
    """Return the arguments as float64, with the axes of the batch as one axis in front, and these axes."""
    arrays = []
    for name, value, axes, batched in given:
        array = np.asarray(value)
        if not np.can_cast(array.dtype, np.float64, "same_kind"):
            raise TypeError(f"{name} has dtype {array.dtype}; expected real numbers")
        lead = array.ndim - axes
        if lead < 0 or (lead and not batched):
            more = " and those of a batch in front" if batched else ""
            raise ShapeError(f"{name} has shape {array.shape}; expected {axes} axes{more}")
        arrays.append((array.astype(np.float64, copy=False), array.shape[:lead]))
    batch = np.broadcast_shapes(*[lead for _, lead in arrays])
    return [_in_a_row(array, lead, batch) for array, lead in arrays], batch


def _in_a_row(array, lead, batch):
    """Return an array with one axis in front: of the batch's length, or of length 1."""
    sample = array.shape[len(lead) :]
    if not lead:
        return array[None]
    spread = np.broadcast_to(array.reshape((1,) * (len(batch) - len(lead)) + array.shape), batch + sample)
    return spread.reshape((math.prod(batch), *sample))


def _checked(name, array, sample):
    """Refuse an array whose sample has another shape."""
    if array.shape[1:] != sample:
        raise ShapeError(f"{name} has shape {array.shape[1:]} for one sample; expected {sample}")


def _result(array, batch, summed):
    """Return a result with the axes of the batch in front, or summed over them."""
    sample = array.shape[1:]
    spread = np.broadcast_to(array, (math.prod(batch), *sample))
    return (spread.sum(axis=0) if summed else np.array(spread).reshape(batch + sample))[()]
'''


def emit_alone(
    inputs: Sequence[Node],
    nodes: Sequence[Node],
    *,
    batched: Sequence[bool],
    reduce: bool = False,
    formula: Sequence[str] = (),
    results: Sequence[str] = (),
    spans: Sequence[Span] = (),
) -> str:
    """Print a formula as a Python module that needs NumPy alone, with one function, ``evaluate``.

    Parameters
    ----------
    inputs, nodes : sequence of Node
        The function's arguments, and its results as they are computed.
    batched : sequence of bool
        Which inputs may have batch axes.
    reduce : bool
        Sum each result over the samples.
    formula, results : sequence of str
        What is computed and the names of it, for the docstring.
    spans : sequence of Span
        What it takes of axes whose sizes are letters.

    Raises
    ------
    UnsupportedError
        For inputs of positions, functions that symdiff has compiled only, and constants of very many numbers.
    """
    for node in inputs:
        if node.dtype is INT:
            raise UnsupportedError(f"the input {node.name!r:.80} holds positions; expected real numbers")
    names = argument_names([str(node.name) for node in inputs])
    written = emit_lines(inputs, nodes, names)
    writer = written.writer
    if writer.functions:
        raise UnsupportedError("a function of Python (sd.external), which no source holds")
    fitting = [writer.place(one[:3], one.size) for one in spans]
    functions = _functions({*writer.calls, *re.findall(r"\bspecial\.(\w+)", "\n".join(writer.lines))})
    text = [_head(functions), _ARGUMENTS]
    text += [f"\n\n{name} = {array_text(values)}\n" for name, values in writer.constants.items()]
    text += [f"\n\n{function}\n" for function in functions]
    text.append(signature_text(inputs, names, batched, reduce, formula, results, nodes))
    text.append(body_text(inputs, names, batched, reduce, written, fitting))
    return "".join(text)


def argument_names(wanted: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Return a name of Python for each input: its own, unless Python, the module or ``taken`` has that already.

    Examples
    --------
    >>> argument_names(["X", "λ", "lambda", "np", "v0"])
    ['X', 'λ', 'input2', 'input3', 'input4']
    """
    return safe_names(wanted, lambda name: _is_harmless(name) and name not in taken, "input")


def _is_harmless(name: str) -> bool:
    plain = name.isidentifier() and unicodedata.normalize("NFKC", name) == name
    return plain and not name.startswith("_") and not _NUMBERED.fullmatch(name) and name not in _taken()


@cache
def _taken() -> frozenset[str]:
    """Return the names that Python or the module has."""
    taken = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "math", "evaluate", "special", "batch"}
    taken |= {
        name
        for name in (*(name for module in _MODULES for name in dir(module)), "results")
        if not name.startswith("__")
    }
    return frozenset(taken | {"ShapeError", "SingularMatrixError"})


def _sample(shape: str) -> str:
    """Return the shape of one sample, of text for one with a batch axis of 1: ``(1, n0, 2)`` is ``(n0, 2)``."""
    inside = shape.removeprefix("(1,").removesuffix(")").strip()
    return f"({inside}{',' if inside and ',' not in inside else ''})"


# ---------------------------------------------------------------------------- the functions that are called


@cache
def _known() -> Mapping[str, ast.FunctionDef]:
    """Return the functions that may be copied, by name: stand-ins before symdiff's own."""
    found: dict[str, ast.FunctionDef] = {}
    for module in _MODULES:
        source = Path(str(module.__file__)).with_suffix("").with_suffix(".py").read_text(encoding="utf-8")
        found |= {part.name: part for part in ast.parse(source).body if isinstance(part, ast.FunctionDef)}
    return found


class _Plain(ast.NodeTransformer):
    """Leaves annotations away, and the module that stands for SciPy's."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        assert node.value is not None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "special":
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node


def plain_function(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a copy of a function without annotations."""
    plain = _Plain().visit(ast.parse(ast.unparse(function))).body[0]
    assert isinstance(plain, ast.FunctionDef)
    return ast.fix_missing_locations(plain)


def _functions(called: Collection[str]) -> list[str]:
    """Return the text of some functions behind that of those which they call."""
    known = _known()
    order: dict[str, ast.FunctionDef] = {}
    waiting = sorted(called, reverse=True)
    while waiting:
        name = waiting.pop()
        if name not in known and any(row.library == name for row in FUNCTIONS.values()):
            raise UnsupportedError(f"{name} is computed by SciPy, which the module would need")
        if name not in known:
            raise UnsupportedError(f"{name} is a function that NumPy lacks, and symdiff has compiled only")
        if name in order:
            continue
        plain = order[name] = plain_function(known[name])
        used = [part.id for part in ast.walk(plain) if isinstance(part, ast.Name)]
        waiting += sorted({other for other in used if other in known or other in _COMPILED}, reverse=True)
    return [ast.unparse(part) for part in reversed(order.values())]


def _head(functions: Iterable[str]) -> str:
    """Return the beginning: what the module is, imports, and the errors that its functions raise."""
    text = '"""A formula in NumPy, written by symdiff. It needs NumPy alone."""\n\n'
    text += f"import math\n\nimport numpy as np\n\n{_ERRORS}"
    return text + (f"\n{_SINGULAR}" if any("SingularMatrixError" in one for one in functions) else "") + "\n"


def array_text(values: npt.NDArray[Any]) -> str:
    """Return an array as source."""
    if values.size > CONSTANTS:
        raise UnsupportedError(f"a constant of {values.size} numbers, more than {CONSTANTS}; give it as an input")
    kind = "np.intp" if values.dtype.kind == "i" else "np.bool_" if values.dtype.kind == "b" else "np.float64"
    items = [number(item) if values.dtype.kind == "f" else repr(item) for item in values.ravel().tolist()]
    rows = "".join(f"        {', '.join(items[start : start + 8])},\n" for start in range(0, len(items), 8))
    return f"np.array(\n    [\n{rows}    ],\n    {kind},\n).reshape({values.shape})"


# ---------------------------------------------------------------------------- the function that users call


def signature_text(
    inputs: Sequence[Node],
    names: Sequence[str],
    batched: Sequence[bool],
    reduce: bool,
    formula: Sequence[str],
    results: Sequence[str],
    nodes: Sequence[Node],
) -> str:
    """Return the first lines of the function, and what they say of it."""
    doc = ["Compute the formula for one sample, or for a batch of them along leading axes.", "", "Parameters"]
    doc.append("----------")
    for name, node, many in zip(names, inputs, batched, strict=True):
        own = str(node.name)
        meant = "" if own == name else f": {docstring(own)}"
        doc.append(f"{name} : array_like of real numbers, shape {_shape(node, many)}{meant}")
    doc += ["", "Returns", "-------"]
    doc += [f"ndarray of float64, shape {_shape(node, not reduce)}" for node in nodes]
    if reduce:
        doc.append("    Summed over the batch.")
    doc += ["", "Notes", "-----"]
    for name, text in zip(results, formula, strict=False):
        doc += docstring(f"{name} = {text}" if len(formula) > 1 else text).split("\n")
    told = "\n".join(f"    {line}" if line else "" for line in doc).lstrip()
    return f'\n\ndef evaluate({", ".join(names)}):\n    """{told}\n    """\n'


def _shape(node: Node, many: bool) -> str:
    sizes = [str(size) for size in (fixed(node.shape) or node.shape)]
    return f"({', '.join([*(['...'] if many else []), *sizes])})"


def body_text(
    inputs: Sequence[Node],
    names: Sequence[str],
    batched: Sequence[bool],
    reduce: bool,
    lines: Lines,
    fitting: Sequence[str],
    guard: str = 'with np.errstate(all="ignore"):',
    more: str = "",
) -> str:
    """Return the statements of the function: arguments, sizes and what they must fit, the formula, results.

    ``guard`` is what the formula stands in, and ``more`` what the arguments give besides.
    """
    writer, found = lines
    rows = zip(names, inputs, batched, strict=True)
    given = [f"    ({name!a}, {name}, {node.ndim}, {many})," for name, node, many in rows]
    text = [f"[{', '.join(names)}], batch{more} = _arguments(", "    (", *(f"    {line}" for line in given)]
    text += ["    )", ")"]
    sized = re.compile(r"n[0-9]+ = ")
    text += [line for line in writer.lines if sized.match(line)]
    for name, node in zip(names, inputs, strict=True):
        text.append(f"_checked({name!a}, {name}, {_sample(writer.shape('1', node.shape))})")
    text += fitting
    body = [line for line in writer.lines if not sized.match(line)]
    if body and guard:
        text += [guard, *(f"    {re.sub(SPECIAL, '', line)}" for line in body)]
    else:
        text += body
    results = [f"_result({one}, batch, {reduce})" for one in found]
    text.append(f"return {results[0]}" if len(results) == 1 else f"return ({', '.join(results)})")
    return "".join(f"    {line}\n" for line in text)
