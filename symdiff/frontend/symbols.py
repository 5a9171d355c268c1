"""Making symbols: inputs of a formula, names for parts of it, and the operations as functions."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np

from ..errors import AbsentError, ArgumentError
from ..graph import INT, input, label
from ..graph import stop_gradient as stopped
from ..ground.advice import LAYERS, advice
from ..ground.guard import guarded
from ..ground.stages import later
from .array import Array, asarray, call
from .numpy.library import LIBRARY, MODULES, public_name
from .numpy.operands import as_node, names_of, provenance_of
from .numpy.shaping import parse_shape, parse_size
from .outputs import fields_of, is_structure, leaves, names, pack, template_of
from .shapes import Declaration, SparseShape, assume, check_square, joined, split, split_kind

#: Length of the longest name an input may have.
NAME_LIMIT = 64


def check_name(name: object) -> str:
    """Return ``name`` if an input may be called so.

    Raises
    ------
    ArgumentError
        If it is not a Python identifier, is a keyword, or is longer than 64 characters.
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or len(name) > NAME_LIMIT:
        raise ArgumentError(
            f"an input called {name!r:.80}; expected a name of letters, digits and _ that is not a Python keyword, at "
            f"most {NAME_LIMIT} characters"
        )
    return name


@guarded
def scalar(
    name: str, *, positive: bool = False, between: tuple[float | None, float | None] | None = None
) -> Array:
    """Return a symbolic number.

    Parameters
    ----------
    name : str
        A Python identifier.
    positive : bool
        The number is above 0. Formulas become shorter, and calls of kernels refuse other numbers.
    between : tuple of two numbers, optional
        The number is between them, the ends excluded; None for no end.

    Examples
    --------
    >>> x = scalar("x")
    >>> x * x + 1
    x * x + 1
    """
    return symbol(name, (), positive=positive, between=between)


@guarded
def vector(name: str, n: int | str, **facts: Any) -> Array:
    """Return a symbolic vector of ``n`` elements; a name such as "n" is a size known at call time.

    Further keywords say what is known of its numbers, as for :func:`symbol`: ``positive=True``,
    ``between=(0.0, 1.0)``, ``simplex=True``, ``ordered=True``.
    """
    if isinstance(n, tuple | list):
        raise ArgumentError(
            f"the shape {n!r:.100} of vector {name!r:.80}; expected a length: sd.vector({name!r:.80}, 3)"
        )
    return symbol(name, (n,), **facts)


@overload
def matrix(name: str, n: int | str, m: int | str | None = None, *, sparse: Literal[True], **facts: Any) -> Any: ...
@overload
def matrix(
    name: str, n: int | str, m: int | str | None = None, *, sparse: Literal[False] = False, **facts: Any
) -> Array: ...
@guarded
def matrix(name: str, n: int | str, m: int | str | None = None, *, sparse: bool = False, **facts: Any) -> Any:
    """Return a symbolic matrix of ``n`` rows and ``m`` columns, whole numbers or names.

    Parameters
    ----------
    name : str
        A Python identifier.
    n, m : int or str
    sparse : bool
        A call brings a ``scipy.sparse`` array. Products with it, sums, and solutions and determinants of positive
        definite ones are formulas; derivatives are with respect to ``A.data``, its nonzeros by rows.
    **facts
        What is known of its numbers, as for :func:`symbol`: ``symmetric=True``, ``positive_definite=True``, ...

    Examples
    --------
    >>> S = matrix("S", "n", "n", symmetric=True)
    >>> S.T @ vector("x", "n")
    S @ x
    """
    if m is None or isinstance(n, tuple | list):
        raise ArgumentError(
            f"the shape {n!r:.100} of matrix {name!r:.80}; expected rows and columns: sd.matrix({name!r:.80}, 3, 3)"
        )
    if sparse:
        if facts:
            raise ArgumentError(f"a sparse matrix declared {', '.join(facts)}; expected sparse=True alone")
        return later.sparse_matrices.sparse_matrix(name, n, m)
    return symbol(name, (n, m), **facts)


@guarded
def symbol(
    name: str,
    shape: Any = (),
    *,
    symmetric: bool = False,
    skew: bool = False,
    diagonal: bool = False,
    lower: bool = False,
    upper: bool = False,
    positive_definite: bool = False,
    orthogonal: bool = False,
    positive: bool = False,
    between: tuple[float | None, float | None] | None = None,
    simplex: bool = False,
    ordered: bool = False,
    correlation: bool = False,
) -> Array:
    """Return a symbolic array.

    Parameters
    ----------
    name : str
        A Python identifier.
    shape : int, str or tuple of them
        Sizes of the axes; a name such as "n" is a size known at call time. With ``int`` in front, an array of
        positions, as :func:`indices` makes it.
    symmetric, skew, diagonal, lower, upper, positive_definite, orthogonal : bool
        What is known of the matrix, or of each matrix in the last two axes. ``skew`` is Sᵀ = -S, ``lower`` and
        ``upper`` are triangular; ``positive_definite`` implies symmetric.
    positive : bool
        Each element is above 0.
    between : tuple of two numbers, optional
        Each element is between them, the ends excluded; None for no end.
    simplex, ordered : bool
        Each vector in the last axis has elements above 0 whose sum is 1, or elements that ascend.
    correlation : bool
        The matrix is positive definite, with ones on the diagonal.

    Raises
    ------
    ArgumentError, ShapeError
        If the name or a size is unusable, facts contradict each other, or the matrix is not square.

    Notes
    -----
    A derivative with respect to a symmetric, skew, diagonal or triangular matrix is a matrix of the same kind: the
    projection of the derivative with respect to free entries. ``convention="entries"`` of a derivative gives the one by
    independent entries. Calls of a kernel check the numbers they are given.

    Examples
    --------
    >>> symbol("A", ("n", "n")).shape
    (n, n)
    """
    plain, known = split(shape)
    facts = assume(
        symmetric, skew, diagonal, lower, upper, positive_definite, orthogonal, positive,
        between, simplex, ordered, correlation,
    )  # fmt: skip
    assumptions = joined(known, facts)
    kind, sizes = split_kind(plain)
    full = parse_shape(sizes)
    check_square(check_name(name), full, assumptions)
    if kind is INT and any(assumptions):
        raise ArgumentError(f"{name!r} holds positions, and is declared; expected an array of real numbers, or no fact")
    return Array(input(name, full, kind, assumptions=assumptions))


@guarded
def indices(name: str, *shape: Any) -> Array:
    """Return a symbolic array of whole numbers, to index with: an integer input.

    Parameters
    ----------
    name : str
        A Python identifier.
    *shape : int or str
        Sizes of the axes; a name such as "n" is a size known at call time.

    Returns
    -------
    Array
        ``cs[idx]`` takes the positions that a call brings, from 0 on; :func:`gradient` and the like add up at them.
        Nothing else can be computed with it, and it has no derivative.

    Raises
    ------
    ArgumentError, ShapeError
        If the name or a size is unusable.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> cs, idx = sd.matrix("cs", 4, 2), sd.indices("idx", "n")
    >>> sd.gradient((cs[idx] ** 2).sum(), cs)
    add_at(2 * cs[idx], idx, 4)
    >>> sd.compile(cs[idx], [cs, idx])(np.eye(4, 2), [1, 3, 1])
    array([[0., 1.],
           [0., 0.],
           [0., 1.]])
    """
    sizes = shape[0] if len(shape) == 1 else shape
    return Array(input(check_name(name), parse_shape(sizes), INT))


@guarded
def index(name: str) -> Array:
    """Return a symbolic whole number, to index with; see :func:`indices`.

    Examples
    --------
    >>> import symdiff as sd
    >>> X, i = sd.matrix("X", "n", 3), sd.index("i")
    >>> X[i]
    X[i]
    """
    return indices(name, ())


@guarded
def array(name: Any, shape: Any = None, **facts: Any) -> Array:
    """Return an array of symbols and numbers, as NumPy's function of this name does, or a symbolic array.

    Parameters
    ----------
    name : sequence, or str
        Symbols, formulas and numbers, in lists within each other; or, with a shape, what :func:`symbol` takes.
    shape : int, str or tuple of them, optional
    **facts
        What is known of the numbers, as for :func:`symbol`: ``symmetric=True``, ...

    Raises
    ------
    ArgumentError, ShapeError, DtypeError
        If parts have different shapes, or there is a name without a shape.

    Examples
    --------
    >>> x = scalar("x")
    >>> array([[x, 1.0], [2 * x, x**2]]).shape
    (2, 2)
    """
    if not isinstance(name, str):
        if shape is not None or facts:
            raise ArgumentError(f"array() of a {type(name).__name__} and a shape; expected a name and a shape")
        return asarray(name)
    if shape is None:
        raise ArgumentError(f"array({name!r:.40}) without a shape; expected array(name, shape), or scalar(name)")
    return symbol(name, shape, **facts)


@guarded
def symmetric(n: Any) -> Declaration:
    """Return the shape of a symmetric matrix: ``A=sd.symmetric("n")`` beside formulas in text.

    ``n`` is the number of rows, the whole shape of a stack of matrices, or another such declaration.
    """
    return _declared(n, symmetric=True)


@guarded
def skew(n: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the shape of a skew matrix, Aᵀ = -A, ``A=sd.skew("n")`` beside text; of 3 elements, such a matrix.

    ``n`` is as for :func:`symmetric`; of a vector ``v`` this is the matrix of the cross product: ``skew(v) @ w`` is
    ``cross(v, w)``.

    Examples
    --------
    >>> skew("n").assumptions.skew, skew(vector("v", 3)).shape
    (True, (3, 3))
    """
    if not _is_shape(n):
        return function("skew")(n, *args, **kwargs)
    _check_alone("skew", args, kwargs)
    return _declared(n, skew=True)


@guarded
def lower(n: Any) -> Declaration:
    """Return the shape of a lower triangular matrix: ``A=sd.lower("n")`` beside formulas in text.

    ``n`` is the number of rows, the whole shape of a stack of matrices, or another such declaration.
    """
    return _declared(n, lower=True)


@guarded
def upper(n: Any) -> Declaration:
    """Return the shape of an upper triangular matrix: ``A=sd.upper("n")`` beside formulas in text.

    ``n`` is the number of rows, the whole shape of a stack of matrices, or another such declaration.
    """
    return _declared(n, upper=True)


@guarded
def csr(n: int | str, m: int | str) -> SparseShape:
    """Return the shape of a sparse matrix that a call brings: ``A=sd.csr("m", "n")`` beside text.

    Text has products with it, sums, ``solve(A, b)`` and ``logdet(A)``, as :func:`matrix` with ``sparse=True`` has them;
    derivatives with respect to A are with respect to its nonzeros by rows.

    Examples
    --------
    >>> import symdiff as sd
    >>> from scipy import sparse
    >>> k = sd.compile("A @ x", A=sd.csr("m", "n"), x="n")
    >>> k(sparse.csr_array([[1.0, 0.0], [0.0, 2.0]]), [3.0, 4.0])
    array([3., 8.])
    """
    parse_shape((n, m))
    return SparseShape(n, m)


@guarded
def positive_definite(n: Any) -> Declaration:
    """Return the shape of a symmetric, positive definite matrix: ``A=sd.positive_definite("n")`` beside text.

    ``n`` is the number of rows, the whole shape of a stack of matrices, or another such declaration.
    """
    return _declared(n, positive_definite=True)


@guarded
def orthogonal(n: Any) -> Declaration:
    """Return the shape of an orthogonal matrix, Aᵀ A = I: ``A=sd.orthogonal("n")`` beside formulas in text.

    ``n`` is the number of rows, the whole shape of a stack of matrices, or another such declaration.
    """
    return _declared(n, orthogonal=True)


@guarded
def diagonal(n: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the shape of a diagonal matrix, ``D=sd.diagonal("n")`` beside formulas in text; of an array, its diagonal.

    ``n`` is as for :func:`symmetric`; of anything else this is NumPy's function.

    Examples
    --------
    >>> diagonal("n").assumptions.diagonal, diagonal(matrix("A", "n", "n")).shape
    (True, (n,))
    """
    if not _is_shape(n):
        return function("diagonal")(n, *args, **kwargs)
    _check_alone("diagonal", args, kwargs)
    return _declared(n, diagonal=True)


@guarded
def positive(*shape: Any, **kwargs: Any) -> Any:
    """Return the shape of numbers above 0, ``s=sd.positive()`` and ``p=sd.positive("n")`` beside formulas in text.

    ``shape`` is one size for each axis, a tuple of them, or another declaration; of an array this is NumPy's function.

    Examples
    --------
    >>> positive(2, "n").shape
    (2, 'n')
    """
    if shape and not _is_shape(shape[0]):
        return function("positive")(*shape, **kwargs)
    if len(shape) == 1 and not _is_size(shape[0]):
        _check_alone("positive", (), kwargs)
        return _widened(shape[0], positive=True)
    _check_alone("positive", [size for size in shape if not _is_size(size)], kwargs)
    return _widened(shape, positive=True)


def _is_size(value: Any) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _is_shape(value: Any) -> bool:
    return _is_size(value) or isinstance(value, Declaration) or (isinstance(value, tuple) and all(map(_is_size, value)))


def _check_alone(title: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse what stands beside a shape.

    Raises
    ------
    ArgumentError
    """
    if args or kwargs:
        told = ", ".join([*(type(arg).__name__ for arg in args), *(f"{key}=" for key in kwargs)])
        raise ArgumentError(f"{title}() of a shape, with {told:.200} beside it; expected the shape alone, or an array")


def _declared(n: Any, **facts: Any) -> Declaration:
    """Return the shape of matrices, of some rows or as it is given."""
    if not _is_size(n):
        return _widened(n, **facts)
    parse_size(n)  # which refuses what is none
    return _widened((n, n), **facts)


def _widened(shape: Any, **facts: Any) -> Declaration:
    plain, known = split(shape)
    return Declaration(plain, joined(known, assume(**facts)))


@guarded
def name(x: Any, label_: str) -> Array:
    """Return ``x`` under a name: its value can be read, and it can be the variable of a derivative.

    Examples
    --------
    >>> x = scalar("x")
    >>> z = name(x * x, "z")
    """
    return Array(label(as_node(x), check_name(label_)), provenance_of(x))


@guarded
def stop_gradient(x: Any) -> Array:
    """Return ``x`` as a constant to every derivative.

    A formula that has an input behind it alone has a derivative of zeros with respect to this input, and no error: it
    contains the input.

    Examples
    --------
    >>> from symdiff import gradient
    >>> x = scalar("x")
    >>> print(gradient(stop_gradient(x) * x, x), gradient(stop_gradient(x) ** 2, x))
    stop_gradient(x) 0
    """
    return Array(stopped(as_node(x)), provenance_of(x))


@guarded
class Operations:
    """Operations of the library as attributes: all, or those of a public module."""

    def __init__(self, module: str | None = None) -> None:
        self._module = module
        self._names = LIBRARY if module is None else MODULES[module]

    def __repr__(self) -> str:
        return f"<operations of {self._module or 'the library'}>"

    @guarded
    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in self._names:
            return function(name)
        known = public_name(name)
        told = f"; write {known}" if known else advice(name, LAYERS, self._names, "docs/functions.md")
        raise AbsentError(f"{self._module or 'the library'} has no {name!r}{told}")

    def __dir__(self) -> list[str]:
        return sorted(self._names)


@guarded
def function(entry_name: str) -> Callable[..., Any]:
    """Return an operation of the library as a function of symbols and numbers.

    A function of one's own needs no such thing: a Python function of symbols is one. For text it goes into
    ``functions={"mm": mm}`` of :func:`symdiff.compile` and the derivatives; :func:`symdiff.custom` gives it another
    derivative, :func:`symdiff.external` calls what no formula says.

    Parameters
    ----------
    entry_name : str
        A name in `the list of functions <functions.html>`_, as text calls it.

    Returns
    -------
    callable

    Raises
    ------
    ArgumentError
        If there is no such operation.

    Examples
    --------
    >>> jv, x = function("jv"), scalar("x")
    >>> jv(2, x)
    jv(2, x)
    """
    entry = LIBRARY.get(entry_name) if isinstance(entry_name, str) else None
    if entry is None:
        raise ArgumentError(f"{entry_name!r:.60} is not an operation of symdiff; docs/functions.md lists them")

    def run(*args: Any, **kwargs: Any) -> Any:
        return call(entry, args, kwargs)

    run.__name__ = run.__qualname__ = entry_name
    wanted, is_plain = names_of(entry), inspect.isfunction(entry.call)
    run.__doc__ = entry.call.__doc__ if is_plain else f"Return {entry_name}({', '.join(wanted)}), element by element."
    kind, nothing = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.empty
    if is_plain:
        own = [p.replace(annotation=nothing) for p in inspect.signature(entry.call).parameters.values()]
    else:
        own = [inspect.Parameter(name, kind) for name in wanted]
    if own:
        run.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return guarded(run)


def symbols_of(name: str, shape: Any) -> Any:
    """Return a symbol of a shape, or a structure of symbols where shapes come in one."""
    if isinstance(shape, SparseShape):
        return matrix(name, *shape.sizes, sparse=True)
    template = template_of(shape, _is_one_shape)
    paths = names(template, name)
    if not paths:
        raise ArgumentError(f"the parameter {name!r} is an empty {type(shape).__name__}; expected shapes in it")
    arrays = [array(check_name(path), own) for path, own in zip(paths, leaves(shape, _is_one_shape), strict=True)]
    return pack(template, iter(arrays))


def sparse_in(inputs: Mapping[str, Array]) -> dict[str, Any]:
    """Return the sparse matrices among inputs, by name."""
    if not any(f"{name}_columns" in inputs for name in inputs):
        return {}
    found: dict[str, Any] = later.sparse_matrices.sparse_matrices(inputs)
    return found


def _is_one_shape(value: Any) -> bool:
    """Tell whether a value is the shape of one array: a tuple of sizes, and not of shapes."""
    return isinstance(value, list | tuple) and fields_of(value) is None and not any(map(is_structure, value))
