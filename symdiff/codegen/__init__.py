"""Emitters: each prints a program or graph as source of one language, and does nothing else.

Takes
    a :class:`~symdiff.lowering.program.Program` (C, Cython, bytecode), or graph nodes (NumPy)
Gives
    source text or bytecode, with what a runner must know to call it
Invariants
    * An emitter does no algebra; what restructures is a pass before it.
    * No text of a user reaches source, except checked names of arguments, docstrings and comments, in exported files.
    * C and bytecode run the same operations in the same order, and give the same bits.
Files
    row_blocks  rows of a sample by blocks of neighbouring elements
    names       names of a user in source
    scalars     what scalar C and scalar Cython write alike
    splitting   long programs as several functions
    numpy       readable NumPy source, for every operation and size, and the same over JAX, PyTorch and the array API
    c           C over vectors of samples, the native backend
    c99         portable C for other programs, by export
    cython      a module that can be shipped without symdiff
    bytecode    code of the interpreter
Add
    a target: a folder or file here, and a row of :data:`TARGETS`; what is to run, too, a row in ``runtime/runners``
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ..errors import UnsupportedError
from ..graph import Node, postorder
from ..graph.dump import record_text
from ..ground.budget import limits
from ..lowering.program import Program
from .c.target import Target

__all__ = ["TARGETS", "Emit", "Language", "Request"]


class Request(NamedTuple):
    """What is to be printed: a formula, in the forms that an emitter may ask for, and how batches are treated.

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
    """

    inputs: Sequence[Node]
    nodes: Sequence[Node]
    lower: Callable[[int], Program]
    machine: Callable[[], Target]
    batched: Sequence[bool]
    reduce: bool = False
    columns: bool = False
    usual: Sequence[bool] = ()

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
    suffix : str
        Of its files' names.
    description : str
        What its source is for.
    """

    emit: Emit
    suffix: str
    description: str


def _c(request: Request) -> str:
    from .c.emit import emit_c  # not needed by a value that is known

    constant = [not batched for batched in request.batched]
    return emit_c(
        request.program(), request.machine(), reduce=request.reduce, columns=request.columns, constant=constant
    ).text


def _cython(request: Request) -> str:
    if request.columns:
        raise UnsupportedError("a Cython module takes batch axes in front; compile with batch_axis=0")
    from ..printing import text
    from .cython.emit import emit_cython

    if any(node.is_recurrence for node in postorder(request.nodes)):
        raise UnsupportedError(
            "a Cython module has no loops, and so no root, fixed_point, minimizer or scan; expected target 'c', "
            "'numpy' or 'jax'"
        )
    shown = "\n".join(text(node) for node in request.nodes)
    return emit_cython(request.program(), formula=shown, batched=request.batched, reduce=request.reduce)


def _numpy(request: Request) -> str:
    from .numpy.emit import emit_numpy

    return emit_numpy(request.inputs, request.nodes).text


def _over(name: str) -> Emit:
    def emit(request: Request) -> str:
        if request.columns:
            raise UnsupportedError(f"source({name!r}) takes batch axes in front; compile with batch_axis=0")
        from ..printing import text
        from .numpy.libraries import emit_library

        shown = [text(node) for node in request.nodes]
        return emit_library(
            name, request.inputs, request.nodes, batched=request.batched, reduce=request.reduce, formula=shown
        )

    return emit


#: Every language that :meth:`symdiff.Kernel.source` prints, by name.
TARGETS: dict[str, Language] = {
    "c": Language(_c, "c", "a function over vectors of samples, which is built where it runs"),
    "cython": Language(_cython, "pyx", "a module that needs nothing but NumPy, to be shipped"),
    "numpy": Language(_numpy, "py", "array operations, for formulas of any size and for people to read"),
    "jax": Language(_over("jax"), "py", "a function over JAX, to be traced by jit, vmap and grad"),
    "torch": Language(_over("torch"), "py", "a function over PyTorch, on any device"),
    "array_api": Language(_over("array_api"), "py", "a function over any library of the Python array API standard"),
}
