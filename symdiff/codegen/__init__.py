"""Emitters: each prints a program or graph as source of one language, and does nothing else.

Takes
    a :class:`~symdiff.lowering.program.Program` (C, Cython, bytecode), or graph nodes (NumPy)
Gives
    source text or bytecode, and the facts that a runner needs to call it
Invariants
    * An emitter does no algebra; restructuring is a pass before it.
    * No text of a user reaches source, except checked names of arguments, docstrings and comments, in exported files.
    * C and bytecode run the same operations in the same order, and give the same bits.
Files
    row_blocks  rows of a sample by blocks of neighbouring elements
    names       text of a user in source: harmless names, comments and docstrings
    scalars     arithmetic and parts of long programs, which scalar C and scalar Cython share
    numpy       readable NumPy source, for every operation and size, and the same over JAX, PyTorch and the array API
    c           C over vectors of samples, the native backend
    c99         portable C for other programs, by export
    cython      a module that can be shipped without symdiff
    bytecode    code of the interpreter
Add
    a target: a folder or file here, and a row of :data:`TARGETS`, which ``kernel.source``, ``export``, the command
    line and docs/export.md read; what is to run, too, a row in ``runtime/runners``
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from ..errors import ArgumentError, SymdiffError, UnsupportedError
from ..graph import INT, Node, postorder
from ..graph.dump import record_text
from ..graph.sizes import Span
from ..ground.budget import limits
from ..lowering.program import Program
from .c.target import Target

__all__ = ["TARGETS", "Emit", "Language", "Request", "print_files", "print_source"]

T = TypeVar("T")


class Request(NamedTuple):
    """A formula to print, in the forms that an emitter may ask for, and how batches are treated.

    Parameters
    ----------
    inputs, nodes : sequence of Node
        The graph: the kernel's arguments, and its outputs as they are computed.
    lower : callable
        Lowers it to a scalar program of so many operations at most, or raises ``UnsupportedError``.
    machine : callable
        Tells which vectors and vector functions the code may use.
    batched : sequence of bool
        Which inputs may have batch axes.
    reduce : bool
        Each output is summed over the batch.
    columns : bool
        Batch axes stand behind a sample's own.
    usual : sequence of bool
        Which inputs have a batch in the calls that are expected; none for calls of one sample.
    name : str
        Name of the module or of the C function.
    results : sequence of str
        Names of the outputs.
    texts : callable
        Returns the outputs as formula text.
    spans : sequence of Span
        What the formula takes of axes whose sizes are letters.
    """

    inputs: Sequence[Node]
    nodes: Sequence[Node]
    lower: Callable[[int], Program]
    machine: Callable[[], Target]
    batched: Sequence[bool]
    reduce: bool = False
    columns: bool = False
    usual: Sequence[bool] = ()
    name: str = "formula"
    results: Sequence[str] = ()
    texts: Callable[[], Sequence[str]] = list
    spans: Sequence[Span] = ()

    def __repr__(self) -> str:
        return record_text(self)

    def program(self) -> Program:
        """Return the scalar program, or raise ``UnsupportedError`` where it is beyond the limit of native code."""
        return self.lower(limits().native_operations)


class Emit(Protocol):
    """An emitter, as :data:`TARGETS` has it."""

    def __call__(self, request: Request, /) -> str:
        """Return the source, or raise ``UnsupportedError`` where the language has no form for the formula."""


class Language(NamedTuple):
    """A language that formulas are printed in.

    Parameters
    ----------
    emit : Emit
        Prints the source as one text.
    suffix : str
        Suffix of its files' names.
    title : str
        Its name in print.
    description : str
        What the source is and which sizes it takes.
    needs : str
        What the source needs where it is used.
    files : callable, optional
        Returns the files by name, where they are others than the source alone.
    build : str
        Command that builds the files of ``{name}`` in the folder ``{out}``, or "".
    """

    emit: Emit
    suffix: str
    title: str
    description: str
    needs: str = ""
    files: Callable[[Request], dict[str, str]] | None = None
    build: str = ""

    def __repr__(self) -> str:
        return record_text(self)


def print_source(request: Request, target: str) -> str:
    """Return the source of a formula as one text.

    Raises
    ------
    UnsupportedError
        Where the target has no form for the formula; the message names those that have one.
    """
    return _printed(request, target, TARGETS[target].emit)


def print_files(request: Request, target: str) -> dict[str, str]:
    """Return the files of a target by name; raise as :func:`print_source` does."""
    row = TARGETS[target]
    if row.files is not None:
        return _printed(request, target, row.files)
    return {f"{request.name}.{row.suffix}": print_source(request, target)}


def _printed(request: Request, target: str, form: Callable[[Request], T]) -> T:
    positions = [str(node.name) for node in request.inputs if node.dtype is INT]
    if positions:
        raise UnsupportedError(
            f"source of a kernel with positions among its inputs ({', '.join(positions)}): it would not look at their "
            "range; call the kernel"
        )
    if request.columns:
        raise UnsupportedError("source of a kernel with batch axes behind; compile with batch_axis=0")
    if TARGETS[target].suffix in ("py", "pyx") and request.name.lower() in _MODULES:
        raise ArgumentError(f"a module called {request.name!r} would hide another one; choose another name")
    try:
        return form(request)
    except UnsupportedError as error:
        others = [f"target={name!r}" for name in TARGETS if name != target and _has_form(request, name)]
        *first, last = others or [""]
        told = f"{', '.join(first)}{' and ' if first else ''}{last} can write it"
        told = told if others else "no target can write it; call the kernel"
        raise UnsupportedError(f"{error}; {told}") from error


def _has_form(request: Request, target: str) -> bool:
    try:
        TARGETS[target].emit(request)
    except SymdiffError:
        return False
    return True


#: Modules that a module of the same name would hide.
_MODULES = frozenset({"setup", "symdiff", "numpy", "scipy", "math", "jax", "torch"})


def _c_files(request: Request) -> dict[str, str]:
    from .c99.emit import emit_c99
    from .names import check_function_name

    check_function_name(request.name)
    written = emit_c99(
        request.name,
        request.inputs,
        request.nodes,
        request.results,
        request.lower,
        batched=request.batched,
        reduce=request.reduce,
        formula=request.texts(),
        spans=request.spans,
    )
    return {f"{request.name}.c": written.source, f"{request.name}.h": written.header}


def _c(request: Request) -> str:
    source, header = _c_files(request).values()
    return header + "\n" + source.partition(f'#include "{request.name}.h"\n')[2].lstrip("\n")


def _cython(request: Request) -> str:
    if request.columns:
        raise UnsupportedError("a Cython module takes batch axes in front; compile with batch_axis=0")
    from ..printing import text
    from .cython import emit_cython

    if any(node.is_recurrence for node in postorder(request.nodes)):
        raise UnsupportedError("a Cython module has no loops, and so no root, fixed_point, minimizer or scan")
    shown = "\n".join(text(node) for node in request.nodes)
    return emit_cython(request.program(), formula=shown, batched=request.batched, reduce=request.reduce)


def _cython_files(request: Request) -> dict[str, str]:
    from .cython import build_files

    return {f"{request.name}.pyx": _cython(request), **build_files(request.name)}


def _numpy(request: Request, *, scipy: bool = False) -> str:
    from .numpy.alone import emit_alone

    return emit_alone(
        request.inputs,
        request.nodes,
        batched=request.batched,
        reduce=request.reduce,
        formula=request.texts(),
        results=request.results,
        spans=request.spans,
        scipy=scipy,
    )


def _over(name: str) -> Emit:
    def emit(request: Request) -> str:
        from ..printing import text
        from .numpy.libraries import emit_library

        shown = [text(node) for node in request.nodes]
        return emit_library(
            name, request.inputs, request.nodes, batched=request.batched, reduce=request.reduce, formula=shown
        )

    return emit


#: Every language that formulas are printed in, by the name that users give it.
TARGETS: dict[str, Language] = {
    "c": Language(
        _c,
        "c",
        "C",
        "portable C99, which is C++ as well; sizes are numbers, or letters as arguments",
        "a compiler of C99 or C++11, `-lm`",
        _c_files,
        "cc -std=c99 -O2 -ffp-contract=off -c {out}/{name}.c",
    ),
    "cython": Language(
        _cython,
        "pyx",
        "Cython",
        "a module with the files that build it; sizes are numbers",
        "NumPy; Cython and a C compiler to build",
        _cython_files,
        "cd {out} && python setup.py build_ext --inplace",
    ),
    "numpy": Language(_numpy, "py", "NumPy", "a module of array operations, of any sizes", "NumPy"),
    "numpy+scipy": Language(
        partial(_numpy, scipy=True), "py", "NumPy and SciPy", "the same, with `scipy.special`", "NumPy and SciPy"
    ),
    "jax": Language(_over("jax"), "py", "JAX", "the same for `jit`, `vmap` and `grad`", "JAX and NumPy"),
    "torch": Language(_over("torch"), "py", "PyTorch", "the same on any device", "PyTorch and NumPy"),
    "array_api": Language(
        _over("array_api"),
        "py",
        "array API",
        "the same over the [Python array API standard](https://data-apis.org/array-api/)",
        "any library of the standard, and NumPy",
    ),
}
