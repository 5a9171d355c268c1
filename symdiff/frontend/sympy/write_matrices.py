"""Terms as whole matrices of SymPy, of fixed or symbolic size; a vector is an n x 1 matrix.

Each function gives None where SymPy has no form for the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp
from sympy.combinatorics import Permutation
from sympy.matrices.expressions import diagonal
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.factorizations import LofCholesky
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.tensor.array.expressions import array_expressions as arrays

from ...graph import whole
from ...graph.sizes import Dim, product
from ...printing.notation import Term
from . import write_scalars
from .forms import Adjugate, AdjugateDifferential
from .write_scalars import SCALARS, inverse, mul, number

Sizes = Mapping[str, Any]
Build = Callable[..., Any]


def matmul(*factors: Any) -> Any:
    """Return a product of matrices and scalars, unevaluated and flat."""
    flat: list[Any] = []
    for factor in factors:
        flat.extend(factor.args if isinstance(factor, sp.MatMul) and factor.args[0].is_Matrix else [factor])
    return sp.MatMul(*flat) if len(flat) > 1 else flat[0]


def scaled(factor: Any, x: Any) -> Any:
    """Return a number times a matrix."""
    if factor is sp.S.One:
        return x
    if isinstance(x, sp.MatMul) and not x.args[0].is_Matrix:
        return sp.MatMul(mul(factor, x.args[0]), *x.args[1:])
    return sp.MatMul(factor, *(x.args if isinstance(x, sp.MatMul) else (x,)))


def hadamard(*factors: Any) -> Any:
    """Return a product element by element."""
    return sp.HadamardProduct(*factors) if len(factors) > 1 else factors[0]


def applied(function: Callable[[Any], Any], x: Any) -> Any:
    """Return a scalar function applied to every element, and not to a 1 x 1 matrix to see what comes, as SymPy does."""
    d = sp.Dummy("d")
    return sp.MatrixExpr.__new__(ElementwiseApplyFunction, sp.Lambda(d, function(d)), x)


def entry(x: Any) -> Any:
    """Return the entry of a 1 x 1 matrix."""
    return MatrixElement(x, sp.S.Zero, sp.S.Zero)


#: Reductions and normalizations that matrices of SymPy can say; any other is written as an operation of its own.
_REDUCED = frozenset(("unit", "softmax", "log_softmax", "logsumexp", "norm", "mean", "var"))


class Wholes:
    """Builds whole matrices.

    Parameters
    ----------
    sizes : mapping of str to sympy.Symbol
        Symbols for the names of sizes.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def size(self, dim: Dim) -> Any:
        """Return a size as SymPy's."""
        return write_scalars.size(dim, self.sizes)

    def shape(self, term: Term) -> tuple[Any, Any]:
        """Return the shape of the matrix that stands for a term."""
        rows, columns = (*term.shape, 1)[:2]
        return self.size(rows), self.size(columns)

    def ones(self, rows: Any, columns: Any) -> Any:
        """Return a matrix of ones."""
        return sp.OneMatrix(rows, columns)

    def fit(self, arg: Term, x: Any, term: Term) -> Any:
        """Return an argument repeated to the shape of an elementwise operation; scalars stay."""
        if arg.ndim == 0 or arg.shape == term.shape:
            return x
        rows, columns = self.shape(term)
        if arg.ndim == 1 and term.ndim == 2:
            x = x.T if isinstance(x, sp.MatrixBase) else sp.Transpose(x)
        have = x.shape
        if have[0] == 1 and rows != 1:
            x = matmul(self.ones(rows, 1), x)
        if have[1] == 1 and columns != 1:
            x = matmul(x, self.ones(1, columns))
        return x

    def build(self, term: Term, args: tuple[Any, ...]) -> Any:
        """Return the matrix (or scalar) for a term with its arguments built, or None."""
        method: Build | None = getattr(self, f"_{term.kind}", None)
        return None if method is None else method(term, *args)

    # ------------------------------------------------------------ leaves

    def _filled(self, term: Term) -> Any:
        shape = self.shape(term)
        return sp.ZeroMatrix(*shape) if term.data == 0 else scaled(number(term.data), sp.OneMatrix(*shape))

    def _eye(self, term: Term) -> Any:
        return sp.Identity(self.size(term.shape[0])) if term.data == (0, 1) and len(set(term.shape)) == 1 else None

    # ------------------------------------------------------------ arithmetic

    def _sum(self, term: Term, *args: Any) -> Any:
        parts = []
        for arg, x, minus in zip(term.args, args, term.data, strict=True):
            fitted = self.fit(arg, x, term) if arg.ndim else scaled(x, self.ones(*self.shape(term)))
            parts.append(scaled(sp.S.NegativeOne, fitted) if minus else fitted)
        return sp.MatAdd(*parts)

    def _product(self, term: Term, *args: Any) -> Any:
        scalars, matrices = [], []
        for arg, x, divides in zip(term.args, args, term.data, strict=True):
            if arg.ndim:
                fitted = self.fit(arg, x, term)
                matrices.append(sp.HadamardPower(fitted, -1) if divides else fitted)
            else:
                scalars.append(inverse(x) if divides else x)
        return scaled(mul(*scalars) if scalars else sp.S.One, hadamard(*matrices))

    def _negative(self, term: Term, x: Any) -> Any:
        return scaled(sp.S.NegativeOne, x)

    def _power(self, term: Term, x: Any, exponent: Any) -> Any:
        base, above = term.args
        if base.shape == term.shape and (above.ndim == 0 or above.shape == term.shape):
            return sp.HadamardPower(x, exponent)
        return None

    def _call(self, term: Term, *args: Any) -> Any:
        arrays_ = [i for i, arg in enumerate(term.args) if arg.ndim]
        if len(arrays_) != 1:
            return None
        place = arrays_[0]

        def function(d: Any) -> Any:
            return SCALARS[term.data](*(d if i == place else x for i, x in enumerate(args)))

        return applied(function, self.fit(term.args[place], args[place], term))

    # ------------------------------------------------------------ products

    def _matmul(self, term: Term, *args: Any) -> Any:
        return matmul(*args)

    def _dot(self, term: Term, a: Any, b: Any) -> Any:
        return entry(matmul(sp.Transpose(a), b))

    def _transpose(self, term: Term, x: Any) -> Any:
        return sp.Transpose(x)

    def _outer(self, term: Term, a: Any, b: Any) -> Any:
        return matmul(a, sp.Transpose(b))

    def _trace(self, term: Term, x: Any) -> Any:
        return sp.Trace(x)

    def _diag(self, term: Term, v: Any) -> Any:
        return diagonal.DiagMatrix(v)

    def _diagonal(self, term: Term, x: Any) -> Any:
        return diagonal.DiagonalOf(x) if term.args[0].ndim == 2 else None

    def _total(self, term: Term, x: Any) -> Any:
        rows, columns = self.shape(term.args[0])
        if term.data == (0, 1) or term.args[0].ndim == 1:
            right = matmul(x, self.ones(columns, 1)) if term.args[0].ndim == 2 else x
            return entry(matmul(self.ones(1, rows), right))
        if term.data == (1,):
            return matmul(x, self.ones(columns, 1))
        return matmul(sp.Transpose(x), self.ones(rows, 1))

    def _rows(self, term: Term, v: Any, x: Any) -> Any:
        return matmul(diagonal.DiagMatrix(v), x)

    def _columns(self, term: Term, x: Any, v: Any) -> Any:
        return matmul(x, diagonal.DiagMatrix(v))

    def _expand(self, term: Term, x: Any) -> Any:
        if term.data == (True, False):
            return x
        return sp.Transpose(x) if term.data == (False, True) else sp.ImmutableDenseMatrix([[x]])

    def _broadcast(self, term: Term, x: Any) -> Any:
        if term.args[0].ndim == 0:
            return scaled(x, self.ones(*self.shape(term)))
        return self.fit(term.args[0], x, term)

    def _tensor(self, term: Term, *args: Any) -> Any:
        """Write a product of arrays, summed over some axes, as SymPy's array expressions."""
        labels, out = term.data
        if term.ndim < 3:
            return None
        flat = [label for own in labels for label in own]
        factors = [
            arrays.Reshape(x, x.shape[:1]) if arg.ndim == 1 else x for arg, x in zip(term.args, args, strict=True)
        ]
        for label in dict.fromkeys(flat):
            if flat.count(label) == 1 and label not in out:  # a sum over one axis is a product with ones
                axis = flat.index(label)
                factors.append(arrays.OneArray(self._sizes(term)[axis]))
                flat.append(label)
        whole = arrays.ArrayTensorProduct(*factors) if len(factors) > 1 else factors[0]
        repeated = [label for label in dict.fromkeys(flat) if flat.count(label) > 1]
        for label in repeated:
            axes = tuple(axis for axis, own in enumerate(flat) if own == label)
            if label in out:
                whole = arrays.ArrayDiagonal(whole, axes)
                flat = [*(own for own in flat if own != label), label]
            else:
                whole = arrays.ArrayContraction(whole, axes)
                flat = [own for own in flat if own != label]
        order = [flat.index(label) for label in out]
        return whole if order == sorted(order) else arrays.PermuteDims(whole, Permutation(order))

    def _sizes(self, term: Term) -> list[Any]:
        """Return the sizes of all axes of a term's arguments, one after the other."""
        return [self.size(n) for arg in term.args for n in arg.shape]

    # ------------------------------------------------------------ structure

    def _index(self, term: Term, x: Any) -> Any:
        if any(step != 1 for _, step, _ in term.data):
            return None
        items = [*term.data, (0, 1, None)][:2]
        if (
            len(term.data) == 2
            and items[1][2] is None
            and term.args[0].shape[1] == 1
            and items[0] == whole(term.args[0].shape[0])
        ):
            return x  # the only column of a matrix
        places = [self.size(start) for start, _, _ in items]
        if term.ndim == 0:
            return MatrixElement(x, *places)
        ends = [self.size(start + (1 if length is None else length)) for start, _, length in items]
        (i, j), (k, m) = places, ends
        try:
            part = sp.MatrixSlice(x, (i, k, 1), (j, m, 1))
        except (IndexError, TypeError):  # an empty part; an end of which SymPy cannot tell whether it is inside
            return None
        return sp.Transpose(part) if len(term.data) == 2 and items[0][2] is None else part

    def _reduce(self, term: Term, x: Any) -> Any:
        (own,), (name, axes) = term.args, term.data
        if name not in _REDUCED:
            return None

        def total(y: Any) -> Any:
            return self._total(Term("total", (own,), axes, term.shape), y)

        def widened(y: Any) -> Any:
            if len(axes) == own.ndim:
                return scaled(y, self.ones(*self.shape(own)))
            rows, columns = self.shape(own)
            return matmul(y, self.ones(1, columns)) if axes == (1,) else matmul(self.ones(rows, 1), sp.Transpose(y))

        def of(function: str, y: Any) -> Any:
            return applied(SCALARS[function], y) if getattr(y, "is_Matrix", False) else SCALARS[function](y)

        if name == "unit":
            length = of("sqrt", total(sp.HadamardPower(x, 2)))
            if len(axes) == own.ndim:
                return scaled(inverse(length), x)
            return hadamard(x, sp.HadamardPower(widened(length), -1))
        exps = of("exp", x)
        if name == "softmax":
            if len(axes) == own.ndim:
                return scaled(inverse(total(exps)), exps)
            return hadamard(exps, sp.HadamardPower(widened(total(exps)), -1))
        if name == "log_softmax":
            return sp.MatAdd(x, scaled(sp.S.NegativeOne, widened(of("log", total(exps)))))
        if name == "logsumexp":
            return of("log", total(exps))
        if name == "norm":
            return of("sqrt", total(sp.HadamardPower(x, 2)))
        count = inverse(self.size(product(own.shape[axis] for axis in axes)))
        mean = self._times(count, total(x))
        if name == "mean":
            return mean
        gap = sp.MatAdd(x, scaled(sp.S.NegativeOne, widened(mean)))
        return self._times(count, total(sp.HadamardPower(gap, 2)))

    def _times(self, factor: Any, y: Any) -> Any:
        return scaled(factor, y) if getattr(y, "is_Matrix", False) else mul(factor, y)

    def _concatenate(self, term: Term, *args: Any) -> Any:
        return sp.BlockMatrix([[arg] for arg in args] if term.data == 0 else [list(args)])

    def _stack(self, term: Term, *args: Any) -> Any:
        if term.ndim != 2:
            return None
        if term.data == 1:
            return sp.BlockMatrix([list(args)])
        return sp.BlockMatrix([[sp.Transpose(arg)] for arg in args])

    def _inv(self, term: Term, x: Any) -> Any:
        return sp.Inverse(x)

    def _matrix(self, term: Term, x: Any, *rest: Any) -> Any:
        if term.data == "solve":
            return matmul(sp.Inverse(x), *rest)
        if term.data == "adjugate":
            return Adjugate(x)
        if term.data == "adjugate_differential":
            return AdjugateDifferential(x, *rest)
        if term.data == "cholesky":
            return LofCholesky(x)
        det = sp.Determinant(x)
        if term.data == "det":
            return det
        if term.data == "logdet":
            return write_scalars.log(det)
        return write_scalars.log(sp.Abs(det, evaluate=False)) if term.data == "logabsdet" else None

    def _function(self, term: Term, *args: Any) -> Any:
        if term.data == "stop_gradient":
            return args[0]
        return sp.KroneckerProduct(*args) if term.data == "kron" and term.ndim == 2 else None
