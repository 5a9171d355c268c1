"""The only crossing between the graph and SymPy, both ways.

SymPy is large and slow to import, and the compile path does not need it: the modules that
import it load when a formula first crosses.

Takes
    SymPy expressions, matrices and arrays; or graph nodes
Gives
    graph nodes; or SymPy expressions, as :class:`.forms.Definitions` where they are too deep for SymPy
Invariants
    * Nothing is evaluated or simplified on the way. A Derivative is taken by symdiff's own rules.
    * Symbols keep their identity: what was read with a symbol is written with the same one.
    * Reading does not recurse. SymPy itself does, so deep formulas are written as definitions.
Files
    forms          forms that SymPy lacks: definitions and a result, adjugates, operations by their text
    inputs         SymPy's symbols and functions of time as inputs
    functions      scalar functions: the table of both directions, compositions, classes of own functions
    read_terms     the machinery of reading; scalar, matrix and array expressions
    read           sums over ranges, entries, functions of time, derivatives; all readers put to work
    write_terms    scalar functions, numbers, sizes, whole matrices
    write          arrays of scalar expressions; graph to SymPy
Add
    a class to read: a reader in ``read_terms`` or ``read``; a function: ``sympy=`` in its row
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SymdiffError, UnsupportedError
from ...graph import Node
from .inputs import Inputs

if TYPE_CHECKING:
    from .forms import Definitions

__all__ = ["Definitions", "Inputs", "from_sympy", "is_sympy", "listed_symbols", "symbols_in", "to_sympy"]


#: Errors of SymPy where it cannot hold an expression, such as a comparison with nan.
_REFUSALS = (TypeError, ValueError, NotImplementedError, ArithmeticError, AttributeError, LookupError)


def is_sympy(value: object) -> bool:
    """Tell whether ``value`` is an expression, matrix or array of SymPy, or definitions of them."""
    return _is_of_sympy(type(value))  # type: ignore[arg-type, unused-ignore]  # a class is hashable


@lru_cache(maxsize=256)
def _is_of_sympy(kind: type) -> bool:
    # the class of an undefined function has no module
    return any(str(cls.__module__).partition(".")[0] == "sympy" for cls in kind.__mro__)


def holds_sympy(value: object) -> bool:
    """Tell whether ``value`` is an array of NumPy's that holds objects of SymPy, as ``np.asarray(matrix)`` does."""
    return isinstance(value, np.ndarray) and value.dtype == object and any(map(is_sympy, value.flat))


def symbols_in(value: object) -> list[Any] | None:
    """Return the entries of an explicit matrix, array or Tuple of SymPy's that stands for several variables.

    Returns
    -------
    list or None
        None for anything else.
    """
    if holds_sympy(value):
        return list(value.flat)  # type: ignore[attr-defined]
    if not is_sympy(value):
        return None
    import sympy as sp

    if isinstance(value, sp.MatrixBase):
        return list(value.flat())
    if isinstance(value, sp.NDimArray):
        return list(sp.flatten(value.tolist()))
    return list(value) if isinstance(value, sp.Tuple) else None


def listed_symbols(inputs: Any) -> Any:
    """Return a list of inputs with lists in place of the explicit matrices of SymPy's in it."""
    if isinstance(inputs, list | tuple) and type(inputs) in (list, tuple):
        return type(inputs)(symbols_in(one) or listed_symbols(one) for one in inputs)
    return symbols_in(inputs) if holds_sympy(inputs) else inputs


def __getattr__(attribute: str) -> Any:
    if attribute == "Definitions":  # a class of SymPy's, which is imported when it is first used
        return import_module(".forms", __name__).Definitions
    raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")


def from_sympy(expr: Any, inputs: Inputs | None = None) -> Node:
    """Return the graph of a SymPy expression, matrix or array.

    Parameters
    ----------
    expr : sympy.Basic, or mutable matrix or array of SymPy
    inputs : Inputs, optional
        The registry of symbols; give the same one for all expressions of one formula.

    Returns
    -------
    Node
        Scalars have no axes, SymPy's matrices always two.

    Raises
    ------
    UnsupportedError
        Naming the SymPy class that symdiff does not read, and what to do.
    LimitError
        If a Sum or Product unrolls to more than ``LIMITS.nodes`` terms.

    Examples
    --------
    >>> import sympy
    >>> A = sympy.MatrixSymbol("A", 2, 3)
    >>> from_sympy(A * A.T).shape
    (2, 2)
    """
    if holds_sympy(expr):
        from sympy import ImmutableDenseNDimArray

        expr = ImmutableDenseNDimArray(expr.flatten().tolist(), expr.shape)
    node: Node = import_module(".read", __name__).read(expr, Inputs() if inputs is None else inputs)
    return node


def to_sympy(node: Node, inputs: Inputs | None = None) -> Any:
    """Return a formula as a SymPy expression, matrix or array.

    Parameters
    ----------
    node : Node
    inputs : Inputs, optional
        The registry that the formula was read with: its symbols are used again.

    Returns
    -------
    sympy.Basic
        An array of one axis is an n x 1 matrix; one of more than two axes an array. Definitions where
        SymPy cannot hold the whole.

    Raises
    ------
    UnsupportedError
        If SymPy cannot hold it.

    Examples
    --------
    >>> from symdiff.graph import input, matrix, swap
    >>> to_sympy(swap(matrix("inv", input("A", (2, 2)))))
    (A**(-1)).T
    """
    try:
        return import_module(".write", __name__).write(node, Inputs() if inputs is None else inputs)
    except _REFUSALS as error:
        if isinstance(error, SymdiffError | RecursionError):
            raise
        raise UnsupportedError(
            f"SymPy has no form for this formula ({type(error).__name__}: {error!s:.200}); read it with str() or "
            ".latex()"
        ) from error
