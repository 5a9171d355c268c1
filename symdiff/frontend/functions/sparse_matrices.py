"""Sparse matrices whose pattern a call brings: products, solutions and determinants, by SciPy.

Such a matrix is three inputs of a formula: its nonzeros, and for rows and columns the number of its pattern, by which
functions of numbers find the positions. So nothing of a pattern is copied on the way, and what is computed of it alone
is kept with it. Products, their transposes, and products at the positions of a pattern are each other's derivatives.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError, SingularMatrixError
from ...graph.sizes import Dim, show
from ...ground.guard import described, guarded, guarded_operators
from ..array import Array, asarray
from ..numpy.shaping import parse_shape
from ..outputs import Compound, Record
from ..symbols import array
from .custom import custom
from .external import Foreign

__all__ = ["SparseMatrix", "sparse_matrix"]

#: Patterns that are kept, the latest ones.
KEPT = 64
#: Highest order of derivatives of a product or a solution.
ORDER = 3
#: Columns of an inverse that are there at once.
BLOCK = 256


class _Pattern:
    """Positions of nonzeros by rows, and what is made of them."""

    def __init__(self, matrix: Any) -> None:
        self.indices, self.pointers, self.shape = matrix.indices, matrix.indptr, matrix.shape
        self.places: tuple[Any, Any] | None = None

    def matrix(self, data: Any) -> Any:
        """Return SciPy's array of these nonzeros."""
        from scipy import sparse

        return sparse.csr_array((data, self.indices, self.pointers), shape=self.shape, copy=False)

    def positions(self) -> tuple[Any, Any]:
        """Return the rows and the columns of the nonzeros."""
        if self.places is None:
            self.places = np.repeat(np.arange(self.shape[0]), np.diff(self.pointers)), self.indices
        return self.places

    def factors(self, data: Any) -> Any:
        """Return the factors of a matrix that is symmetric and positive definite."""
        from scipy.sparse.linalg import splu

        options = {"SymmetricMode": True}
        try:
            made = splu(self.matrix(data).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        except RuntimeError as error:
            raise SingularMatrixError(f"a sparse matrix is singular: {error}") from None
        if not (made.U.diagonal() > 0.0).all():
            raise SingularMatrixError("a sparse matrix is not positive definite; solve and logdet take those that are")
        return made


_patterns: OrderedDict[float, _Pattern] = OrderedDict()
_numbers: dict[tuple[int, int, tuple[int, int]], float] = {}
_count = itertools.count(1)


def _number_of(matrix: Any) -> float:
    """Return the number of a matrix's pattern, the one that the same arrays had before."""
    key = id(matrix.indices), id(matrix.indptr), matrix.shape
    number = _numbers.get(key)
    if number is None:
        number = _numbers[key] = float(next(_count))
        _patterns[number] = _Pattern(matrix)
        while len(_patterns) > KEPT:
            _, old = _patterns.popitem(last=False)
            del _numbers[id(old.indices), id(old.pointers), old.shape]
    _patterns.move_to_end(number)
    return number


def _pattern(number: Any) -> _Pattern:
    found = _patterns.get(float(number))
    if found is None:
        raise ArgumentError("a sparse matrix whose pattern no call brought; expected a scipy.sparse array for it")
    return found


# ---------------------------------------------------------------------------- functions of numbers and their rules


def _product(data: Any, number: Any, x: Any) -> Any:
    return _pattern(number).matrix(data) @ x


def _transposed_product(data: Any, number: Any, y: Any) -> Any:
    return _pattern(number).matrix(data).T @ y


def _sampled(number: Any, u: Any, v: Any) -> Any:
    """Return the elements of u v^T at the positions of a pattern."""
    rows, columns = _pattern(number).positions()
    return u[rows] * v[columns] if u.ndim == 1 else np.einsum("ik,ik->i", u[rows], v[columns])


def _solution(data: Any, number: Any, b: Any) -> Any:
    return _pattern(number).factors(data).solve(np.ascontiguousarray(b))


def _logdet(data: Any, number: Any) -> Any:
    return float(np.log(_pattern(number).factors(data).U.diagonal()).sum())


def _inverse(data: Any, number: Any) -> Any:
    """Return the elements of the inverse at the positions of the matrix."""
    pattern = _pattern(number)
    factors, (rows, columns) = pattern.factors(data), pattern.positions()
    n, result = pattern.shape[1], np.empty(len(rows))
    order = np.argsort(columns, kind="stable")
    ends = np.searchsorted(columns[order], np.arange(0, n + BLOCK, BLOCK))
    for k, begin in enumerate(range(0, n, BLOCK)):
        count = min(BLOCK, n - begin)
        right = np.zeros((n, count))
        right[np.arange(begin, begin + count), np.arange(count)] = 1.0
        own = order[ends[k] : ends[k + 1]]
        result[own] = factors.solve(right)[rows[own], columns[own] - begin]
    return result


class _Functions:
    """The functions of a matrix of one shape as formulas, with derivatives to some order made of each other.

    Each takes as ``of`` the place of the argument that a rule is linear in, by default that of the factor on the right.
    """

    def __init__(self, rows: Dim, columns: Dim, nonzeros: Dim, order: int = ORDER) -> None:
        self.rows, self.columns, self.nonzeros, self.order = rows, columns, nonzeros, order
        self.below = _Functions(rows, columns, nonzeros, order - 1) if order else self
        self.made: dict[tuple[str, int], Callable[..., Array]] = {}

    def _call(self, function: Callable[..., Any], shape: Any, vjp: Any, args: Sequence[Array], of: int) -> Array:
        key = function.__name__, of
        if key not in self.made:
            foreign = Foreign(f"sparse{function.__name__}", function, shape, False, (of,), reads=True)
            rule = {"vjp": vjp} if self.order else {}
            self.made[key] = custom(foreign.value, name=foreign.name, **rule) if rule else foreign.value
        return self.made[key](*args)

    def product(self, data: Any, number: Any, x: Any, of: int = 2) -> Array:
        """Return ``A @ x``."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            d, p, x = args
            return self.below.sampled(p, c, x, 1), 0.0 * p, self.below.back(d, p, c)

        return self._call(_product, lambda d, p, x: (self.rows, *x[1:]), vjp, [data, number, x], of)

    def back(self, data: Any, number: Any, y: Any, of: int = 2) -> Array:
        """Return ``A.T @ y``."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            d, p, y = args
            return self.below.sampled(p, y, c, 2), 0.0 * p, self.below.product(d, p, c)

        return self._call(_transposed_product, lambda d, p, y: (self.columns, *y[1:]), vjp, [data, number, y], of)

    def sampled(self, number: Any, u: Any, v: Any, of: int = 2) -> Array:
        """Return the elements of ``u @ v.T`` at the positions of A."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            p, u, v = args
            return 0.0 * p, self.below.product(c, p, v, 0), self.below.back(c, p, u, 0)

        return self._call(_sampled, lambda p, u, v: (self.nonzeros,), vjp, [number, u, v], of)

    def solution(self, data: Any, number: Any, b: Any) -> Array:
        """Return ``inv(A) @ b``."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            d, p, b = args
            back = self.below.solution(d, p, c)
            return -self.below.sampled(p, back, self.below.solution(d, p, b), 1), 0.0 * p, back

        return self._call(_solution, lambda d, p, b: b, vjp, [data, number, b], 2)

    def logdet(self, data: Any, number: Any) -> Array:
        """Return ``log(det(A))``."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            inverse = Foreign("sparse_inverse", _inverse, (self.nonzeros,), False, reads=True)
            return c * inverse.value(*args), 0.0 * args[1]

        return self._call(_logdet, (), vjp, [data, number], 0)


# ---------------------------------------------------------------------------- the matrix


class SparseTemplate(Record):
    """The template of a sparse matrix: of symbols it is three arrays, of numbers one of SciPy's sparse arrays."""

    __slots__ = ()

    def make(self, values: Sequence[Any]) -> Any:
        """Return the nonzeros: derivatives with respect to a pattern are 0."""
        return values[0]

    def values_of(self, value: Any, what: str) -> list[Any]:
        """Return the nonzeros by rows, and the number of the pattern for each row and column."""
        if isinstance(value, SparseMatrix):
            return [value.data, value.rows, value.columns]
        from scipy import sparse

        if not sparse.issparse(value) or value.ndim != 2:
            raise ArgumentError(f"{what} must be a sparse matrix, as scipy.sparse has them; got {described(value)}")
        if value.dtype.kind not in "buif":
            raise ArgumentError(f"{what} must be a sparse matrix of real numbers; got one of {value.dtype}")
        matrix = value.tocsr()
        number = _number_of(matrix)
        return [np.asarray(matrix.data, float), *(np.full(size, number) for size in matrix.shape)]


@guarded_operators
class SparseMatrix(Compound):
    """A sparse matrix of symbols; made by :func:`symdiff.matrix` with ``sparse=True``.

    Parameters
    ----------
    data, rows, columns : Array
        Its nonzeros by rows, which derivatives are with respect to, and the number of its pattern for each row and
        column.
    transposed : bool
    """

    fields = ("data", "rows", "columns")
    template = SparseTemplate
    __slots__ = ("_functions", "columns", "data", "rows", "transposed")
    __array_ufunc__ = None
    __array_priority__ = 2000

    def __init__(
        self, data: Array, rows: Array, columns: Array, transposed: bool = False, functions: _Functions | None = None
    ) -> None:
        self.data, self.rows, self.columns, self.transposed = data, rows, columns, transposed
        self._functions = functions or _Functions(rows.shape[0], columns.shape[0], data.shape[0])

    @property
    def name(self) -> str | None:
        """The name of an input; None of another matrix."""
        return str(self.data.node.name) if self.data.node.is_input and not self.transposed else None

    @property
    def shape(self) -> tuple[Any, Any]:
        """Rows and columns."""
        sizes = self.rows.shape[0], self.columns.shape[0]
        return sizes[::-1] if self.transposed else sizes

    @property
    def T(self) -> SparseMatrix:
        """The transpose, with the same nonzeros."""
        return self._with(self.data, not self.transposed)

    def __matmul__(self, x: Any) -> Array:
        return self._times(x, self.transposed)

    def __rmatmul__(self, y: Any) -> Array:
        y = asarray(y)
        if y.ndim == 1:
            return self._times(y, not self.transposed)
        turned: Array = self._times(y.T, not self.transposed).T
        return turned

    def __mul__(self, scale: Any) -> SparseMatrix:
        """Scale all nonzeros by a number, or columns by a vector."""
        scale = asarray(scale)
        if scale.ndim == 0:
            return self._with(self.data * scale, self.transposed)
        return self._scaled(scale, not self.transposed)

    __rmul__ = __mul__

    def __neg__(self) -> SparseMatrix:
        return self._with(-self.data, self.transposed)

    def __truediv__(self, scale: Any) -> SparseMatrix:
        return self * (1.0 / asarray(scale))

    @guarded
    def scale_rows(self, scale: Any) -> SparseMatrix:
        """Return the matrix with each row times an element of a vector."""
        return self._scaled(asarray(scale), self.transposed)

    @guarded
    def sum(self, axis: int | None = None) -> Array:
        """Return the sum of all elements, of each column (``axis=0``) or of each row (1)."""
        if axis is None:
            total: Array = self.data.sum()
            return total
        if axis not in (0, 1):
            raise ArgumentError(f"axis={axis!r:.40} of a sparse matrix; expected 0, 1 or None")
        ones = (self.columns if self.transposed != bool(axis) else self.rows) * 0.0 + 1.0
        return self @ ones if axis else self.T @ ones

    @guarded
    def solve(self, b: Any) -> Array:
        """Return the solution x of ``A @ x = b`` for a symmetric positive definite matrix, by SciPy's ``splu``."""
        b = asarray(b)
        self._check_square(b)
        return self._functions.solution(self.data, self.rows[0], b)

    @guarded
    def logdet(self) -> Array:
        """Return the logarithm of the determinant of a symmetric positive definite matrix."""
        self._check_square(None)
        return self._functions.logdet(self.data, self.rows[0])

    def __repr__(self) -> str:
        return f"<symdiff.SparseMatrix {self.name or self.data} of {show(self.shape)}>"

    def _with(self, data: Array, transposed: bool) -> SparseMatrix:
        return SparseMatrix(data, self.rows, self.columns, transposed, self._functions)

    def _times(self, x: Any, transposed: bool) -> Array:
        x = asarray(x)
        size = (self.rows if transposed else self.columns).shape[0]
        if x.ndim not in (1, 2) or x.shape[0] != size:
            raise ShapeError(f"a product of {self!r} with an array of shape {show(x.shape)}; expected {size} rows")
        function = self._functions.back if transposed else self._functions.product
        return function(self.data, self.rows[0], x)

    def _scaled(self, scale: Array, by_columns: bool) -> SparseMatrix:
        """Return the matrix with its rows, as the pattern has them, times elements, or its columns."""
        size = (self.columns if by_columns else self.rows).shape[0]
        if scale.shape != (size,):
            raise ShapeError(f"a scale of shape {show(scale.shape)} for {self!r}; expected a number or {size} elements")
        ones = (self.rows if by_columns else self.columns) * 0.0 + 1.0
        pair = (ones, scale) if by_columns else (scale, ones)
        return self._with(self.data * self._functions.sampled(self.rows[0], *pair), self.transposed)

    def _check_square(self, b: Array | None) -> None:
        rows, columns = self.shape
        if rows != columns:
            raise ShapeError(f"{self!r} is not square; solve and logdet take symmetric positive definite matrices")
        if b is not None and (b.ndim not in (1, 2) or b.shape[0] != rows):
            raise ShapeError(f"a right side of shape {show(b.shape)} for {self!r}; expected {rows} rows")


def sparse_matrix(name: str, n: Any, m: Any) -> SparseMatrix:
    """Return a sparse matrix as three inputs."""
    rows, columns = parse_shape((n, m))
    return SparseMatrix(
        array(name, (f"{name}_nonzeros",)), array(f"{name}_rows", (rows,)), array(f"{name}_columns", (columns,))
    )
