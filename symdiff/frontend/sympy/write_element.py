"""One entry of a matrix expression.

SymPy would write out every sum of a product. Here cheap expressions are expanded (sums, outer
products, elementwise functions), and an entry of a true product or an inverse stays one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from sympy.matrices.expressions import diagonal
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.tensor.array.expressions import array_expressions as arrays

from .write_scalars import add, inverse, mul, power, replaced


def element(piece: Any, index: tuple[Any, ...]) -> Any:
    """Return one entry of a written array; of a scalar, the scalar.

    Parameters
    ----------
    piece : SymPy matrix, matrix expression, array or scalar; NumPy array or Lambda of conditions
    index : tuple of int or symbols
        A vector, being a column, takes one.
    """
    if not index:
        return piece
    if isinstance(piece, np.ndarray):
        return piece[index]
    if isinstance(piece, sp.NDimArray):
        return piece[index]
    row, column = (*index, 0)[:2]
    if isinstance(piece, sp.Lambda):
        return _called(piece, row, column)
    if isinstance(piece, sp.MatrixBase):
        return piece[row, column]
    if not isinstance(piece, sp.MatrixExpr):
        return arrays.ArrayElement(piece, index)
    return _entry(piece, row, column)


def _called(function: sp.Lambda, *args: Any) -> Any:
    values = [sp.Integer(arg) if isinstance(arg, int) else arg for arg in args]
    return replaced(function.expr, dict(zip(function.variables, values, strict=True)))


def _entry(x: Any, i: Any, j: Any) -> Any:
    fixed = isinstance(i, int) and isinstance(j, int)
    if isinstance(x, sp.OneMatrix):
        return sp.S.One
    if isinstance(x, sp.ZeroMatrix):
        return sp.S.Zero
    if isinstance(x, sp.Identity) and fixed:
        return sp.Integer(int(i == j))
    if isinstance(x, sp.Transpose):
        return element(x.arg, (j, i))
    if isinstance(x, sp.MatrixSlice) and x.rowslice[2] == 1 and x.colslice[2] == 1:
        return element(x.parent, (_sum(x.rowslice[0], i), _sum(x.colslice[0], j)))
    if isinstance(x, sp.FunctionMatrix):
        return _called(x.lamda, i, j)
    if isinstance(x, sp.MatAdd):
        terms = [element(arg, (i, j)) for arg in x.args]
        return add([term for term in terms if term is not sp.S.Zero] or [sp.S.Zero])
    if isinstance(x, sp.HadamardProduct):
        return mul(*(element(arg, (i, j)) for arg in x.args))
    if isinstance(x, sp.HadamardPower) and not getattr(x.exp, "is_Matrix", False):
        base = element(x.base, (i, j))
        return inverse(base) if x.exp == -1 else power(base, x.exp)
    if isinstance(x, ElementwiseApplyFunction):
        return _called(x.function, element(x.expr, (i, j)))
    if isinstance(x, diagonal.DiagMatrix) and fixed:
        return element(x.args[0], (i, 0)) if i == j else sp.S.Zero
    if isinstance(x, sp.MatMul):
        return _product_entry(x, i, j)
    return MatrixElement(x, *(sp.Integer(k) if isinstance(k, int) else k for k in (i, j)))


def _sum(start: Any, index: Any) -> Any:
    place = start + index
    return int(place) if place.is_Integer else place


def _product_entry(x: sp.MatMul, i: Any, j: Any) -> Any:
    scalars = [arg for arg in x.args if not arg.is_Matrix]
    matrices = [arg for arg in x.args if arg.is_Matrix]
    if len(matrices) == 1:
        parts = [element(matrices[0], (i, j))]
    elif isinstance(matrices[-1], diagonal.DiagMatrix):
        rest = sp.MatMul(*matrices[:-1]) if len(matrices) > 2 else matrices[0]
        parts = [element(rest, (i, j)), element(matrices[-1].args[0], (j, 0))]
    elif isinstance(matrices[0], diagonal.DiagMatrix):
        rest = sp.MatMul(*matrices[1:]) if len(matrices) > 2 else matrices[1]
        parts = [element(matrices[0].args[0], (i, 0)), element(rest, (i, j))]
    else:
        # an inner size of 1 is where an outer product meets
        cut = next((k for k in range(1, len(matrices)) if matrices[k].shape[0] == 1), None)
        if cut is None:
            whole = sp.MatMul(*matrices)
            parts = [MatrixElement(whole, *(sp.Integer(k) if isinstance(k, int) else k for k in (i, j)))]
        else:
            left, right = (sp.MatMul(*side) if len(side) > 1 else side[0] for side in (matrices[:cut], matrices[cut:]))
            parts = [element(left, (i, 0)), element(right, (0, j))]
    if any(part is sp.S.Zero for part in parts):
        return sp.S.Zero
    return mul(*scalars, *(part for part in parts if part is not sp.S.One))
