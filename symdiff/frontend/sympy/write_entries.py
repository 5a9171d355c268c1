"""Terms as explicit matrices and arrays of scalar expressions, for small fixed shapes.

Used where SymPy has no form for the whole: more than two axes, functions of several
matrices, indices that fit no matrix product. Each function takes and returns NumPy arrays of
SymPy expressions and works as NumPy does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy as sp
from sympy.matrices.expressions import diagonal
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.tensor.array.expressions import array_expressions as arrays

from ...errors import UnsupportedError
from ...ground.budget import spend
from ...printing.notation import Term
from . import write_scalars
from .write_scalars import (
    SCALARS,
    add,
    both,
    either,
    inverse,
    mul,
    negative,
    number,
    piecewise,
    power,
    replaced,
    unless,
)

Entries = npt.NDArray[np.object_]


def filled(shape: Sequence[int], entry: Callable[..., Any]) -> Entries:
    """Return the array whose entry at each index is ``entry(*index)``."""
    result = np.empty(tuple(shape), dtype=object)
    spend(4 * result.size)
    for index in np.ndindex(*shape):
        result[index] = entry(*index)
    return result


def each(function: Callable[..., Any], *args: Entries) -> Entries:
    """Apply a scalar function with broadcasting."""
    wide = np.broadcast_arrays(*args)
    return filled(wide[0].shape, lambda *index: function(*(arg[index] for arg in wide)))


def contract(args: Sequence[Entries], labels: Sequence[Sequence[int]], out: Sequence[int]) -> Entries:
    """Multiply and sum by Einstein's notation."""
    sizes = {label: n for arg, own in zip(args, labels, strict=True) for label, n in zip(own, arg.shape, strict=True)}
    inner = [label for label in sizes if label not in out]
    spend(4 * math.prod(sizes.values()))

    def entry(*index: int) -> Any:
        place = dict(zip(out, index, strict=True))
        terms = []
        for summed in np.ndindex(*(sizes[label] for label in inner)):
            place.update(zip(inner, summed, strict=True))
            factors = [arg[tuple(place[label] for label in own)] for arg, own in zip(args, labels, strict=True)]
            if not any(factor is sp.S.Zero for factor in factors):
                terms.append(mul(*factors))
        return add(terms) if terms else sp.S.Zero

    return filled([sizes[label] for label in out], entry)


def _sum(term: Term, *args: Entries) -> Entries:
    return each(partial(_scalar_sum, term), *args)


def _scalar_sum(term: Term, *args: Any) -> Any:
    signed = [negative(x) if minus else x for x, minus in zip(args, term.data, strict=True)]
    return add([x for x in signed if x is not sp.S.Zero] or [sp.S.Zero])


def _product(term: Term, *args: Entries) -> Entries:
    return each(partial(_scalar_product, term), *args)


def _scalar_product(term: Term, *args: Any) -> Any:
    return mul(*[inverse(x) if divides else x for x, divides in zip(args, term.data, strict=True)])


def _reduced(x: Entries, axes: Sequence[int], function: Callable[[list[Any]], Any]) -> Entries:
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    turned = np.transpose(x, [*kept, *axes])
    shape = turned.shape[: len(kept)]
    return filled(shape, lambda *index: function(list(np.ravel(turned[index]))))


def _total(values: list[Any]) -> Any:
    return add(values) if values else sp.S.Zero


def _mean(values: list[Any]) -> Any:
    return mul(sp.Rational(1, len(values)), _total(values))


def _var(values: list[Any]) -> Any:
    mean = _mean(values)
    return _mean([power(add([value, negative(mean)]), sp.Integer(2)) for value in values])


REDUCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "max": lambda values: sp.Max(*values, evaluate=False) if len(values) > 1 else values[0],
    "min": lambda values: sp.Min(*values, evaluate=False) if len(values) > 1 else values[0],
    "prod": lambda values: mul(*values),
    "mean": _mean,
    "var": _var,
    "norm": lambda values: power(_total([power(value, sp.Integer(2)) for value in values]), write_scalars.HALF),
    "logsumexp": lambda values: write_scalars.log(_total([write_scalars.exp(value) for value in values])),
}


def _reduce(term: Term, x: Entries) -> Entries:
    name, axes = term.data
    if name == "unit":
        length = np.expand_dims(_reduced(x, axes, REDUCTIONS["norm"]), tuple(axes))
        return each(lambda a, b: mul(a, inverse(b)), x, length)
    if name not in ("softmax", "log_softmax"):
        return _reduced(x, axes, REDUCTIONS[name])
    total = np.expand_dims(_reduced(each(write_scalars.exp, x), axes, _total), tuple(axes))
    if name == "softmax":
        return each(lambda a, b: mul(write_scalars.exp(a), inverse(b)), x, total)
    return each(lambda a, b: add([a, negative(write_scalars.log(b))]), x, total)


def _index(term: Term, x: Entries) -> Entries:
    keys: list[Any] = []
    for start, step, length in term.data:
        keys.append(start if length is None else [start + step * k for k in range(length)])
    for axis in reversed(range(len(keys))):
        x = np.asarray(np.take(x, keys[axis], axis=axis), dtype=object)
    return x


def _eye(term: Term) -> Entries:
    (start, step), (rows, columns) = term.data, term.shape
    return filled((int(str(rows)), int(str(columns))), lambda i, j: sp.Integer(int(j == start + step * i)))


#: What a cumulative operation makes of all elements so far.
CUMULATIVE: dict[str, Callable[[list[Any]], Any]] = {
    "cumsum": _total,
    **{f"cum{name}": REDUCTIONS[name] for name in ("prod", "max", "min")},
}


def _cumulative(term: Term, x: Entries) -> Entries:
    name, axis, backwards = term.data
    if name not in CUMULATIVE:
        raise UnsupportedError(f"SymPy has no form for {name}")
    if backwards:
        x = np.flip(x, axis)
    spend(x.size * x.shape[axis])
    slices = [np.take(x, range(k + 1), axis=axis) for k in range(x.shape[axis])]
    sums = np.stack([_reduced(part, (axis,), CUMULATIVE[name]) for part in slices], axis=axis) if slices else x
    return np.flip(sums, axis) if backwards else sums


def _triangle(term: Term, x: Entries) -> Entries:
    upper, offset = term.data

    def entry(*index: int) -> Any:
        diagonal = index[-1] - index[-2]
        return x[index] if (diagonal >= offset if upper else diagonal <= offset) else sp.S.Zero

    return filled(x.shape, entry)


def _matmul(term: Term, *args: Entries) -> Entries:
    def product(a: Entries, b: Entries) -> Entries:
        if b.ndim == 1:
            own = list(range(a.ndim))
            return contract([a, b], [own, own[-1:]], own[:-1])
        if a.ndim == 1:
            return contract([a, b], [[0], [0, 1]], [1])
        lead = max(a.ndim, b.ndim) - 2
        first, second = [*range(lead - (a.ndim - 2), lead)], [*range(lead - (b.ndim - 2), lead)]
        return contract(
            [a, b], [[*first, lead, lead + 1], [*second, lead + 1, lead + 2]], [*range(lead), lead, lead + 2]
        )

    return reduce(product, args)


#: Terms of scalars, of which there are many in a long formula, without arrays around them.
SCALAR_TERMS: dict[str, Callable[..., Any]] = {
    "sum": _scalar_sum,
    "product": _scalar_product,
    "negative": lambda term, x: negative(x),
    "power": lambda term, x, y: power(x, y),
    "call": lambda term, *args: SCALARS[term.data](*args),
}

ENTRIES: dict[str, Callable[..., Entries]] = {
    "array": lambda term: filled(term.shape, lambda *i: number(float(term.data[i]))),
    "filled": lambda term: filled(term.shape, lambda *i: number(term.data)),
    "eye": _eye,
    "onehot": lambda term: filled(term.shape, lambda i: sp.Integer(int(i == term.data))),
    "sum": _sum,
    "product": _product,
    "negative": lambda term, x: each(negative, x),
    "power": lambda term, x, y: each(power, x, y),
    "call": lambda term, *args: each(SCALARS[term.data], *args),
    "compare": lambda term, *args: each(SCALARS[term.data], *args),
    "and": lambda term, a, b: each(both, a, b),
    "or": lambda term, a, b: each(either, a, b),
    "not": lambda term, a: each(unless, a),
    "where": lambda term, c, a, b: each(lambda p, x, y: piecewise((x, p), (y, True)), c, a, b),
    "matmul": _matmul,
    "dot": _matmul,
    "transpose": lambda term, x: x.T,
    "permute": lambda term, x: np.transpose(x, term.data),
    "outer": lambda term, a, b: contract([a, b], [[0], [1]], [0, 1]),
    "trace": lambda term, x: contract([x], [[0, 0]], []),
    "diag": lambda term, v: filled(term.shape, lambda i, j: v[i] if i == j else sp.S.Zero),
    "diagonal": lambda term, x: filled(term.shape, lambda *i: np.diagonal(x, 0, *term.data)[i]),
    "total": lambda term, x: _reduced(x, term.data, _total),
    "rows": lambda term, v, x: each(mul, v[:, None], x),
    "columns": lambda term, x, v: each(mul, v, x),
    "expand": lambda term, x: x.reshape(term.shape),
    "broadcast": lambda term, x: np.broadcast_to(x, term.shape),
    "tensor": lambda term, *args: contract(args, *term.data),
    "index": _index,
    "take": lambda term, x: np.take(x, list(term.data[1]), axis=term.data[0]),
    "reduce": _reduce,
    "reshape": lambda term, x: x.reshape(term.shape),
    "concatenate": lambda term, *args: np.concatenate(args, axis=term.data),
    "stack": lambda term, *args: np.stack(args, axis=term.data),
    "cumulative": _cumulative,
    "triangle": _triangle,
}


# ---------------------------------------------------------------------------- one entry of a matrix expression


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
        return element(x.parent, (_shifted(x.rowslice[0], i), _shifted(x.colslice[0], j)))
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


def _shifted(start: Any, index: Any) -> Any:
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
