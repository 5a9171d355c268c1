"""Sparse matrices whose pattern a call brings: products, solutions and determinants.

Such a matrix is three inputs of a formula: its nonzeros, and for rows and columns the number of its pattern, by which
functions of numbers find the positions. So nothing of a pattern is copied on the way, and what is computed of it alone
is kept with it. Products, their transposes, and products at the positions of a pattern are each other's derivatives.
"""

from __future__ import annotations

import copy
import itertools
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._kernels.matrix import sparse as kernels
from ...errors import ArgumentError, ShapeError, SingularMatrixError
from ...graph.sizes import Dim, named, show
from ...ground.guard import described, guarded, guarded_operators
from ..array import Array, asarray
from ..numpy.shaping import parse_shape
from ..outputs import Compound, Record, Sparse
from ..provenance import of_inputs
from ..symbols import array
from .custom import Foreign, custom

__all__ = ["SparseMatrix", "SparseSum", "sparse_matrix"]

#: Patterns that are kept, the latest ones.
KEPT = 64
#: Analyses of factors that are kept, the latest ones.
ANALYSES = 8
#: Highest order of derivatives of a product or a solution.
ORDER = 3
#: Part of its largest element by which a symmetric matrix may differ from its transpose.
ASYMMETRY = 1e-10

# Of a pattern only SciPy's own arrays are kept, and what was made of them only with a copy to compare them with: a
# change of these arrays in place is a change of the pattern.
_patterns: OrderedDict[float, Any] = OrderedDict()
_numbers: dict[tuple[int, int, tuple[int, int]], float] = {}
# float32 has each of these numbers
_count = itertools.cycle(range(1, 2**24))


def _number_of(matrix: Any) -> float:
    """Return the number of a matrix's pattern, the one that the same arrays had before."""
    key = id(matrix.indices), id(matrix.indptr), matrix.shape
    number = _numbers.get(key)
    if number is None:
        number = _numbers[key] = float(next(_count))
        _patterns[number] = _with_data(matrix, None)
        while len(_patterns) > KEPT:
            _, old = _patterns.popitem(last=False)
            del _numbers[id(old.indices), id(old.indptr), old.shape]
    _patterns.move_to_end(number)
    return number


def _with_data(matrix: Any, data: Any) -> Any:
    """Return SciPy's array with other numbers, without the checks of its constructor."""
    made = copy.copy(matrix)
    made.data = data
    return made


def _pattern(number: Any) -> Any:
    """Return SciPy's array of a pattern, whose number each row has, up to rounding, without numbers of its own."""
    found = _patterns.get(round(float(number[0]))) if len(number) and np.isfinite(number[0]) else None
    if found is None:
        raise ArgumentError("a sparse matrix whose pattern no call brought; expected a scipy.sparse array for it")
    return found


class _Analysis:
    """The positions of a sum of symmetric matrices, of which some are transposed, and of its factor.

    Rows and columns are in the order of the least degree that SuperLU finds for ones on the pattern.
    """

    #: Those of the latest calls.
    latest: Sequence[_Analysis] = ()

    def __init__(self, patterns: Sequence[Any], transposed: tuple[bool, ...]) -> None:
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        n = patterns[0].shape[0]
        self.transposed = transposed
        self.given = [(one.indptr.copy(), one.indices.copy()) for one in patterns]
        pairs = [(np.repeat(np.arange(n), np.diff(one.indptr)), one.indices.astype(np.int_)) for one in patterns]
        pairs = [pair[::-1] if turned else pair for pair, turned in zip(pairs, transposed, strict=True)]
        i, j = (np.concatenate([*[pair[side] for pair in pairs], np.arange(n)]) for side in (0, 1))
        ones = csc_array((np.ones(2 * len(i)), (np.concatenate([i, j]), np.concatenate([j, i]))), (n, n))
        ones.data[:] = -1.0
        ones.setdiag(np.diff(ones.indptr))
        self.order = np.zeros(0, np.int32)
        if n:
            options = {"SymmetricMode": True}
            self.order = splu(ones, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options).perm_c
        i, j = self.order[i].astype(np.int_), self.order[j].astype(np.int_)
        keys, where = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_inverse=True)
        columns, rows = np.divmod(keys, max(n, 1))
        self.count = len(keys)
        #: The place of each nonzero of each matrix among the elements of the lower triangle, then those of the upper.
        self.places = np.split(where + self.count * (i < j), np.cumsum([len(pair[0]) for pair in pairs]))[:-1]
        pointers = np.searchsorted(columns, np.arange(n + 1))
        self.kernel = kernels.Analysis(pointers.astype(np.int32), rows.astype(np.int32))
        self.slots, self.diagonal = self.kernel.slots(rows, columns), self.kernel.diagonal()
        self.is_diagonal = rows == columns

    def fits(self, patterns: Sequence[Any]) -> bool:
        """Tell whether patterns are those of the analysis still."""
        return all(
            np.array_equal(pointers, one.indptr) and np.array_equal(indices, one.indices)
            for (pointers, indices), one in zip(self.given, patterns, strict=True)
        )

    def triangle(self, terms: Sequence[Any]) -> Any:
        """Return the elements of the lower triangle of the sum."""
        total = np.zeros(2 * self.count)
        for data, places in zip(terms, self.places, strict=True):
            total += np.bincount(places, data, 2 * self.count)
        lower, upper = total[: self.count], total[self.count :]
        unlike = np.where(self.is_diagonal, 0.0, lower - upper)
        size = max(np.abs(total).max(initial=0.0), 0.0)
        if not np.abs(unlike).max(initial=0.0) <= ASYMMETRY * size:
            raise SingularMatrixError(
                "a sparse matrix is not symmetric, or has nan; solve and logdet take those that are positive definite"
            )
        return lower


def _analysis(patterns: Sequence[Any], transposed: tuple[bool, ...]) -> _Analysis:
    """Return the analysis of a sum of matrices, the one of a call before if it was of the same positions."""
    latest = _Analysis.latest
    for found in latest:
        if found.transposed == transposed and found.fits(patterns):
            break
    else:
        found = _Analysis(patterns, transposed)
    _Analysis.latest = [found, *(one for one in latest if one is not found)][:ANALYSES]
    return found


class _Factors:
    """Cholesky's factor of a sum of matrices that is symmetric positive definite."""

    #: The latest one: a value and its derivatives ask for the same factors one after the other.
    latest: _Factors | None = None

    def __init__(self, analysis: _Analysis, triangle: Any) -> None:
        self.analysis, self.triangle = analysis, triangle
        self.values = np.zeros(analysis.kernel.count)
        self.values[analysis.slots] = triangle
        column = analysis.kernel.factor(self.values)
        if column >= 0:
            row = int(np.flatnonzero(analysis.order == column)[0])
            raise SingularMatrixError(
                f"a sparse matrix is not positive definite: the pivot of row {row} is not above 0; solve and logdet "
                "take those that are"
            )

    @cached_property
    def inverse(self) -> Any:
        """The elements of the inverse where the lower triangle of the matrix has some."""
        return self.analysis.kernel.inverse(self.values)[self.analysis.slots]

    def solve(self, b: Any) -> Any:
        """Return the solution for one right side, or for each column of several."""
        columns = b.reshape(len(b), -1)
        work = np.empty(columns.shape[::-1])
        work[:, self.analysis.order] = columns.T
        self.analysis.kernel.solve(self.values, work)
        return work[:, self.analysis.order].T.reshape(b.shape)


def _factors(terms: Sequence[Any], transposed: tuple[bool, ...]) -> _Factors:
    """Return the factors of a sum of matrices, each of them its nonzeros and the number of its pattern."""
    analysis = _analysis([_pattern(number) for number in terms[1::2]], transposed)
    triangle = analysis.triangle(terms[::2])
    latest = _Factors.latest
    if latest is None or latest.analysis is not analysis or not np.array_equal(latest.triangle, triangle):
        latest = _Factors.latest = _Factors(analysis, triangle)
    return latest


# ---------------------------------------------------------------------------- functions of numbers and their rules


def _times(run: Callable[..., None], rows: int, matrix: Any, data: Any, x: Any, out: Any) -> Any:
    """Return a product with a vector, in ``out`` if that fits."""
    data = np.ascontiguousarray(data)
    x = np.ascontiguousarray(x, data.dtype)
    fits = out is not None and out.dtype == data.dtype and out.flags.c_contiguous
    y = out if fits else np.empty(rows, data.dtype)
    run(matrix.indptr, matrix.indices, data, x, y)
    return y


def _product(data: Any, number: Any, x: Any, out: Any = None) -> Any:
    matrix = _pattern(number)
    if x.ndim > 1:
        return _with_data(matrix, data) @ x
    return _times(kernels.product, matrix.shape[0], matrix, data, x, out)


def _transposed_product(data: Any, number: Any, y: Any, out: Any = None) -> Any:
    matrix = _pattern(number)
    if y.ndim > 1:
        return _with_data(matrix, data).T @ y
    return _times(kernels.transposed_product, matrix.shape[1], matrix, data, y, out)


def _sampled(number: Any, u: Any, v: Any, out: Any = None) -> Any:
    """Return the elements of u v^T at the positions of a pattern."""
    pattern = _pattern(number)
    left, right = np.repeat(u, np.diff(pattern.indptr), axis=0), v[pattern.indices]
    return left * right if u.ndim == 1 else np.einsum("ik,ik->i", left, right)


@dataclass(frozen=True)
class _Solution:
    """The solution of a system whose matrix is a sum of some matrices, of which some are transposed."""

    transposed: tuple[bool, ...]

    def __call__(self, *given: Any, out: Any = None) -> Any:
        """Return it, for nonzeros and number of each matrix, and the right side."""
        return _factors(given[:-1], self.transposed).solve(given[-1])


@dataclass(frozen=True)
class _LogDet:
    """The logarithm of the determinant of a sum of some matrices, of which some are transposed."""

    transposed: tuple[bool, ...]

    def __call__(self, *terms: Any, out: Any = None) -> Any:
        """Return it, for nonzeros and number of each matrix."""
        factors = _factors(terms, self.transposed)
        return 2.0 * float(np.log(factors.values[factors.analysis.diagonal]).sum())


@dataclass(frozen=True)
class _Inverse:
    """Elements of the inverse of a sum of some matrices, at the positions of one of these."""

    transposed: tuple[bool, ...]
    which: int

    def __call__(self, *terms: Any, out: Any = None) -> Any:
        """Return them, for nonzeros and number of each matrix."""
        factors = _factors(terms, self.transposed)
        return factors.inverse[factors.analysis.places[self.which] % factors.analysis.count]


class _Rules:
    """Functions of numbers as formulas, with derivatives to some order."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.made: dict[tuple[str, int], Callable[..., Array]] = {}

    def _call(self, name: str, function: Any, shape: Any, vjp: Any, args: Sequence[Array], of: int) -> Array:
        if (name, of) not in self.made:
            foreign = Foreign(name, function, shape, False, (of,), reads=True)
            self.made[name, of] = custom(foreign.value, name=name, vjp=vjp) if self.order else foreign.value
        return self.made[name, of](*args)


class _Functions(_Rules):
    """The products of a matrix of one shape as formulas, with derivatives made of each other.

    Each takes as ``of`` the place of the argument that a rule is linear in, by default that of the factor on the right.
    """

    def __init__(self, rows: Dim, columns: Dim, nonzeros: Dim, order: int = ORDER) -> None:
        super().__init__(order)
        self.rows, self.columns, self.nonzeros = rows, columns, nonzeros
        self.below = _Functions(rows, columns, nonzeros, order - 1) if order else self

    def product(self, data: Any, number: Any, x: Any, of: int = 2) -> Array:
        """Return ``A @ x``."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            d, p, x = args
            return self.below.sampled(p, c, x, 1), 0.0 * p, self.below.back(d, p, c)

        def shape(d: Any, p: Any, x: Any) -> Any:
            return (self.rows, *x[1:])

        return self._call("sparse_product", _product, shape, vjp, [data, number, x], of)

    def back(self, data: Any, number: Any, y: Any, of: int = 2) -> Array:
        """Return ``A.T @ y``."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            d, p, y = args
            return self.below.sampled(p, y, c, 2), 0.0 * p, self.below.product(d, p, c)

        def shape(d: Any, p: Any, y: Any) -> Any:
            return (self.columns, *y[1:])

        return self._call("sparse_transposed_product", _transposed_product, shape, vjp, [data, number, y], of)

    def sampled(self, number: Any, u: Any, v: Any, of: int = 2) -> Array:
        """Return the elements of ``u @ v.T`` at the positions of A."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            p, u, v = args
            return 0.0 * p, self.below.product(c, p, v, 0), self.below.back(c, p, u, 0)

        return self._call("sparse_sampled", _sampled, (self.nonzeros,), vjp, [number, u, v], of)


class _System(_Rules):
    """Solutions and determinants of a sum of matrices as formulas.

    ``terms`` are the nonzeros and the number of the pattern of each matrix.
    """

    def __init__(self, functions: Sequence[_Functions], transposed: Sequence[bool], order: int = ORDER) -> None:
        super().__init__(order)
        self.functions, self.transposed = [one.below for one in functions], tuple(transposed)
        self.below = _System(self.functions, transposed, order - 1) if order else self

    def solution(self, terms: Sequence[Array], b: Array) -> Array:
        """Return ``inv(A) @ b``."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            *terms, b = args
            x, back = self.below.solution(terms, b), self.below.solution(terms, c)
            slopes: list[Any] = []
            for one, number, turned in zip(self.functions, terms[1::2], self.transposed, strict=True):
                slope = one.sampled(number, x, back, 2) if turned else one.sampled(number, back, x, 1)
                slopes += [-slope, 0.0 * number]
            return *slopes, back

        function = _Solution(self.transposed)
        return self._call("sparse_solution", function, lambda *shapes: shapes[-1], vjp, [*terms, b], len(terms))

    def logdet(self, terms: Sequence[Array]) -> Array:
        """Return ``log(det(A))``."""

        def vjp(args: Sequence[Array], c: Array) -> tuple[Array, ...]:
            slopes: list[Any] = []
            for k, one in enumerate(self.functions):
                function = _Inverse(self.transposed, k)
                inverse = Foreign("sparse_inverse", function, (one.nonzeros,), False, reads=True)
                slopes += [c * inverse.value(*args), 0.0 * args[2 * k + 1]]
            return tuple(slopes)

        return self._call("sparse_logdet", _LogDet(self.transposed), (), vjp, terms, 0)


# ---------------------------------------------------------------------------- the matrix


class SparseTemplate(Record):
    """The template of a sparse matrix: of symbols it is three arrays, of numbers one of SciPy's sparse arrays."""

    __slots__ = ()

    def make(self, values: Sequence[Any]) -> Any:
        """Return the nonzeros: derivatives with respect to a pattern are 0."""
        return values[0]

    def show(self, texts: Sequence[str]) -> str:
        """Return rows and columns, which are the shapes of the vectors of its pattern."""
        rows, columns = (text.strip("(),") for text in texts[1:])
        return f"csr({rows}, {columns})"

    def values_of(self, value: Any, what: str) -> list[Any]:
        """Return the nonzeros by rows, and the number of the pattern for each row and column."""
        if isinstance(value, SparseMatrix):
            return [value.data, value.rows, value.columns]
        from scipy import sparse

        if not sparse.issparse(value) or value.ndim != 2:
            raise ArgumentError(
                f"{what} must be a sparse matrix, as scipy.sparse has them; got {described(value)}, of which "
                "scipy.sparse.csr_array(...) makes one"
            )
        if value.dtype.kind not in "buif":
            raise ArgumentError(f"{what} must be a sparse matrix of real numbers; got one of {value.dtype}")
        matrix = value.tocsr()
        try:
            matrix.check_format(full_check=False)
        except ValueError as error:
            raise ArgumentError(f"{what} is no sparse matrix any more: {error}") from None
        data = np.asarray(matrix.data, np.float32 if matrix.dtype == np.float32 else np.float64)
        number = data.dtype.type(_number_of(matrix))
        return [data, *(np.broadcast_to(number, (size,)) for size in matrix.shape)]


@guarded_operators
class _Sparse(Sparse):
    """Operations of sparse matrices and their sums."""

    __slots__ = ()
    __array_ufunc__ = None
    __array_priority__ = 2000

    @property
    def shape(self) -> tuple[Any, Any]:
        """Rows and columns."""
        return self.terms[0].shape

    @property
    @abstractmethod
    def terms(self) -> tuple[SparseMatrix, ...]:
        """The matrices of single patterns that this is the sum of."""

    @property
    def T(self) -> _Sparse:
        """The transpose, with the same nonzeros."""
        return _sum(term._with(term.data, not term.transposed) for term in self.terms)

    def __matmul__(self, x: Any) -> Array:
        x = asarray(x)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ShapeError(
                f"a product of {self!r} with an array of shape {show(x.shape)}; expected {self.shape[1]} rows"
            )
        first, *others = [term._times(x) for term in self.terms]
        return sum(others, start=first)

    def __rmatmul__(self, y: Any) -> Array:
        y = asarray(y)
        if y.ndim not in (1, 2) or y.shape[-1] != self.shape[0]:
            raise ShapeError(
                f"a product of an array of shape {show(y.shape)} with {self!r}; expected {self.shape[0]} columns"
            )
        turned: Array = (self.T @ y.T).T
        return turned

    def __add__(self, other: Any) -> _Sparse:
        if not isinstance(other, _Sparse):
            raise ArgumentError(
                f"a sum of {self!r} and {described(other)}; expected another sparse matrix (products with vectors may "
                "be added instead)"
            )
        if other.shape != self.shape:
            raise ShapeError(f"a sum of {self!r} and {other!r}; expected equal shapes")
        return _sum((*self.terms, *other.terms))

    def __radd__(self, other: Any) -> _Sparse:
        total: _Sparse = self + other  # which says what is wrong
        return total

    def __sub__(self, other: Any) -> _Sparse:
        total: _Sparse = self + (-other if isinstance(other, _Sparse) else other)
        return total

    __rsub__ = __radd__

    def __mul__(self, scale: Any) -> _Sparse:
        """Scale all nonzeros by a number, or columns by a vector."""
        scale = asarray(scale)
        if scale.ndim == 0:
            return _sum(term._with(term.data * scale, term.transposed) for term in self.terms)
        return self._scaled(scale, 1)

    __rmul__ = __mul__

    def __neg__(self) -> _Sparse:
        turned: _Sparse = self * -1.0
        return turned

    def __truediv__(self, scale: Any) -> _Sparse:
        scaled: _Sparse = self * (1.0 / asarray(scale))
        return scaled

    @guarded
    def scale_rows(self, scale: Any) -> _Sparse:
        """Return the matrix with each row times an element of a vector."""
        return self._scaled(asarray(scale), 0)

    @guarded
    def sum(self, axis: int | None = None) -> Array:
        """Return the sum of all elements, of each column (``axis=0``) or of each row (1)."""
        if axis not in (0, 1, None):
            raise ArgumentError(f"axis={axis!r:.40} of a sparse matrix; expected 0, 1 or None")
        first, *others = [term._sum(axis) for term in self.terms]
        return sum(others, start=first)

    @guarded
    def solve(self, b: Any) -> Array:
        """Return the solution x of ``A @ x = b`` for a symmetric positive definite matrix, by Cholesky's factor."""
        b = asarray(b)
        system, terms = self._system()
        if b.ndim not in (1, 2) or b.shape[0] != self.shape[0]:
            raise ShapeError(f"a right side of shape {show(b.shape)} for {self!r}; expected {self.shape[0]} rows")
        return system.solution(terms, b)

    @guarded
    def logdet(self) -> Array:
        """Return the logarithm of the determinant of a symmetric positive definite matrix."""
        system, terms = self._system()
        return system.logdet(terms)

    def __repr__(self) -> str:
        names = " + ".join(f"{term.name or term.data}{'.T' * term.transposed}" for term in self.terms)
        return f"<symdiff.SparseMatrix {names} of {show(self.shape)}>"

    def _scaled(self, scale: Array, axis: int) -> _Sparse:
        size = self.shape[axis]
        if scale.shape != (size,):
            what = f"a number or {size} elements" if axis else f"{size} elements"
            raise ShapeError(f"a scale of shape {show(scale.shape)} for {self!r}; expected {what}")
        return _sum(term._with_scale(scale, bool(axis) != term.transposed) for term in self.terms)

    def _system(self) -> tuple[_System, list[Array]]:
        """Return the functions of a square matrix, and the arrays that they take."""
        if self.shape[0] != self.shape[1]:
            raise ShapeError(f"{self!r} is not square; solve and logdet take symmetric positive definite matrices")
        system = _System([term._functions for term in self.terms], [term.transposed for term in self.terms])
        return system, [array for term in self.terms for array in (term.data, term.rows)]


class SparseMatrix(_Sparse, Compound):
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
    def terms(self) -> tuple[SparseMatrix, ...]:
        """The matrix itself."""
        return (self,)

    def _with(self, data: Array, transposed: bool) -> SparseMatrix:
        return SparseMatrix(data, self.rows, self.columns, transposed, self._functions)

    def _times(self, x: Array) -> Array:
        function = self._functions.back if self.transposed else self._functions.product
        return function(self.data, self.rows, x)

    def _sum(self, axis: int | None) -> Array:
        if axis is None:
            total: Array = self.data.sum()
            return total
        along_rows = self.transposed == bool(axis)
        ones = (self.rows if along_rows else self.columns) * 0.0 + 1.0
        function = self._functions.back if along_rows else self._functions.product
        return function(self.data, self.rows, ones)

    def _with_scale(self, scale: Array, by_columns: bool) -> SparseMatrix:
        """Return the matrix with its rows, as the pattern has them, times elements, or its columns."""
        ones = (self.rows if by_columns else self.columns) * 0.0 + 1.0
        pair = (ones, scale) if by_columns else (scale, ones)
        return self._with(self.data * self._functions.sampled(self.rows, *pair), self.transposed)


class SparseSum(_Sparse):
    """A sum of sparse matrices of several patterns; calls add them up where a solution or a determinant needs it."""

    __slots__ = ("_terms",)

    def __init__(self, terms: tuple[SparseMatrix, ...]) -> None:
        self._terms = terms

    @property
    def terms(self) -> tuple[SparseMatrix, ...]:
        """The matrices of single patterns that this is the sum of."""
        return self._terms


def _sum(terms: Iterable[SparseMatrix]) -> _Sparse:
    """Return the sum of matrices, with one term for those of one pattern."""
    found: dict[Any, SparseMatrix] = {}
    for term in terms:
        key = term.rows.node, term.columns.node, term.transposed
        found[key] = term._with(found[key].data + term.data, term.transposed) if key in found else term
    every = tuple(found.values())
    return every[0] if len(every) == 1 else SparseSum(every)


def sparse_matrix(name: str, n: Any, m: Any) -> SparseMatrix:
    """Return a sparse matrix as three inputs."""
    rows, columns = parse_shape((n, m))
    sizes = f"{name}_nonzeros", rows, columns
    parts = [array(f"{name}{part}", (size,)) for part, size in zip(_PARTS, sizes, strict=True)]
    # formulas of the nonzeros tell of all three, so that kernels take the matrix as one argument
    return SparseMatrix(Array(parts[0].node, of_inputs(part.node for part in parts)), parts[1], parts[2])


def sparse_matrices(inputs: Mapping[str, Array]) -> dict[str, SparseMatrix]:
    """Return the sparse matrices among inputs, by name."""
    found = {}
    for name, one in inputs.items():
        if one.shape == (named(f"{name}_nonzeros"),) and all(f"{name}{part}" in inputs for part in _PARTS):
            rows, columns = (inputs[f"{name}{part}"].shape[0] for part in _PARTS[1:])
            found[name] = sparse_matrix(name, rows, columns)
    return found


#: Endings of the names of the inputs of a sparse matrix: nonzeros, rows and columns.
_PARTS = ("", "_rows", "_columns")
