"""Arguments of operations: symbols, numbers and lists of them as nodes; other arguments by name, each of its kind.

An :class:`Operand` is what is known of a symbolic array without its operators
(:class:`symdiff.frontend.array.Array` adds those), so that reading operands does not depend on them. NumPy's functions
agree on the kinds of ``axis``, ``keepdims`` or ``k``: one table of kinds serves all operations, and a value of another
kind (a truth value for an axis, a fraction for a count) is refused by name before an operation sees it.
"""

from __future__ import annotations

import inspect
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from inspect import isfunction
from numbers import Number
from types import FrameType
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError, DtypeError, ShapeError, SymbolError, UnsupportedError
from ...graph import BOOL, INT, Node, broadcast_to, constant, delta, extent, postorder, spans_of
from ...graph.deltas.einsum import scale_by
from ...graph.reference.interpret import evaluate
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Dim, Shape, Size, Span, show, told_unknown
from ...ground.advice import MODULE, REFUSED
from ...ground.guard import guarded_operators, is_function, users
from ...ground.stages import later
from ..provenance import NOTHING, Provenance, join, of_node
from . import shaping
from .indexing import is_masked
from .library import Entry, public_name
from .operations import MOVING
from .shaping import check_device, shown, whole_number

#: Versions of the Python array API standard that symbols follow; see docs/array_api.md.
STANDARD = ("2021.12", "2022.12", "2023.12", "2024.12")

#: Operations without a number before a call, beside inputs.
_UNKNOWN = frozenset(("input", "size"))


@guarded_operators
class Operand:
    """A formula with a shape, and what is known of how it came about."""

    __slots__ = ("__weakref__", "_provenance", "node")

    node: Node

    def __init__(self, node: Node, provenance: Provenance | None = None) -> None:
        if node.__class__ is not Node:
            raise ArgumentError(f"Array of a {type(node).__name__}; expected asarray(...), or scalar, vector, matrix")
        self.node = node
        self._provenance = provenance

    # ------------------------------------------------------------ what it is

    @property
    def shape(self) -> Shape:
        """Sizes of the axes: whole numbers, or names known at call time."""
        return self.node.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.node.ndim

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return self.node.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """``float64``, ``bool`` for a condition, or ``int64`` for positions."""
        return np.dtype({BOOL: bool, INT: np.int64}.get(self.node.dtype, float))

    def __len__(self) -> int:
        if not self.shape:
            raise SymbolError("len() of a scalar symbol, which has no axes; expected an array: sd.vector('x', n)")
        if not isinstance(self.shape[0], int):
            raise SymbolError(
                f"len() of an array of shape {show(self.shape)}: the size is known at call time only; write "
                "x.shape[0], which formulas take as a number"
            )
        return self.shape[0]

    @property
    def provenance(self) -> Provenance:
        """Provenance, which its node does not tell."""
        if self._provenance is None:
            self._provenance = of_node(self.node)
        return self._provenance

    # ------------------------------------------------------------ the array API standard

    @property
    def device(self) -> str:
        """Device of the array: symbols lie nowhere, and kernels run on the "cpu"."""
        return "cpu"

    def to_device(self, device: Any, /, *, stream: None = None) -> Self:
        """Return the array itself, for the one device that there is.

        Raises
        ------
        UnsupportedError
            For any other.
        """
        check_device(device)
        if stream is not None:
            raise UnsupportedError(f"to_device with stream={shaping.shown(stream)}; expected None")
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the functions of the Python array API standard, for code that asks arrays for theirs: ``sd.xp``."""
        if api_version not in (None, *STANDARD):
            told = f"api_version={shaping.shown(api_version)} of the array API standard"
            raise UnsupportedError(f"{told}; known: {', '.join(STANDARD)}")
        return later.xp

    # ------------------------------------------------------------ what only numbers can do

    def _numbers(self) -> npt.NDArray[Any] | None:
        """Return the numbers of an array that is made of numbers alone; None for one with symbols or letters."""
        if self.node.is_input or self.provenance.facts.inputs:
            return None
        if any(part.op in _UNKNOWN or any(isinstance(n, Size) for n in part.shape) for part in postorder([self.node])):
            return None
        (found,) = evaluate([self.node], {})
        return np.asarray(found)

    def position(self) -> Any:
        """Return what an index by this array is: whole numbers or a mask where they are known, or else its node.

        Raises
        ------
        DtypeError
            If the numbers are fractions.
        """
        numbers = None if self.node.dtype is INT else self._numbers()
        if numbers is None or numbers.dtype == bool:
            return self.node if numbers is None else numbers
        if not (numbers == np.trunc(numbers)).all() or (abs(numbers) >= 2.0**53).any():
            raise DtypeError("an index by numbers that are not whole; expected positions, such as xp.arange(n)")
        return numbers.astype(np.int64)

    def _one(self, kind: str, told: str) -> Any:
        numbers = self._numbers()
        if numbers is None:
            is_of_sizes = not self.node.is_input and not self.provenance.facts.inputs
            if is_of_sizes:
                raise ShapeError(told_unknown(str(self)))
            raise SymbolError(told_of_scipy(public_name) or told)
        if numbers.ndim:
            raise SymbolError(f"{kind}() of an array of shape {show(self.shape)}; expected one number")
        return numbers[()]

    def __bool__(self) -> bool:
        return bool(
            self._one(
                "bool",
                "the truth of a symbol is not known before the kernel is called; write where(condition, a, b) instead "
                "of if, (a < b) & (b < c) instead of a < b < c or and, | ~ instead of or, not, np.maximum(a, b), "
                "np.minimum(a, b) instead of max, min, and np.sort(x) instead of sorted",
            )
        )

    def __float__(self) -> float:
        return float(
            self._one(
                "float",
                "float() of a symbol, as math's functions call it, or a symbol stored in an array of numbers; write "
                "NumPy's functions, e.g. np.sin(x) instead of math.sin(x), build arrays with np.stack([...]) or "
                "sd.asarray([...]), or compile the formula and call the kernel with numbers",
            )
        )

    def __int__(self) -> int:
        return int(self._one("int", "int() of a symbol; compile the formula and call the kernel with numbers"))

    def __index__(self) -> int:
        told = "a symbol as an index or a size; expected a whole number known when the formula is built"
        number = self._one("index", told)
        if isinstance(number, np.bool_) or not float(number).is_integer():
            raise SymbolError(f"{number} as an index or a size; expected a whole number")
        return int(number)

    def __complex__(self) -> complex:
        return complex(
            self._one("complex", "complex() of a symbol; compile the formula and call the kernel with numbers")
        )

    def __contains__(self, item: object) -> NoReturn:
        raise SymbolError("'in' on a symbol; write any(x == value)")

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise SymbolError(
            "a symbol cannot be assigned to; build the array with where(condition, a, b), stack([...]) or "
            "concatenate([...]), and in place of a library's function that assigns take symdiff's own (sd.logsumexp "
            "and kin; docs/functions.md)"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        """Return known numbers; a scalar symbol in an object array, which ``np.array([[c, -s], [s, c]])`` holds."""
        to_objects = dtype == np.dtype(object)
        numbers = None if to_objects else self._numbers()
        if numbers is not None:
            return numbers if dtype is None else numbers.astype(dtype)
        if self.ndim or not (dtype is None or to_objects):
            raise SymbolError(
                told_of_scipy(public_name)
                or "a symbol has no numbers for an array of numbers; build the array with sd.array([...]) of symbols "
                "and numbers or np.concatenate([...]), use a function of NumPy or symdiff (sd.logsumexp and kin; "
                "docs/functions.md) in place of one that computes with numbers, or compile first"
            )
        if not to_objects:
            warnings.warn(
                "NumPy makes of symbols in lists an array of Python objects, which products compute one by one and "
                "np.linalg refuses; write sd.array([[x, 1], [2, y]]), or np.array([[x, 1], [2, y]], like=x)",
                UserWarning, stacklevel=2,
            )  # fmt: skip
        cell = np.empty((), dtype=object)
        cell[()] = self
        return cell

    def __jax_array__(self) -> NoReturn:
        """Refuse functions of JAX, which ask for an array of its own."""
        raise SymbolError(
            "a function of JAX on a symbol; write NumPy's (np.sin(x)) or symdiff's, and give the kernel to JAX: k.jax()"
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        """Refuse functions of PyTorch, which hand over here."""
        name = getattr(func, "__name__", "a function")
        raise SymbolError(
            f"torch.{name:.60} on a symbol; write NumPy's (np.sin(x)) or symdiff's, and "
            "give the kernel to PyTorch: k.torch()"
        )


def as_node(value: Any) -> Node:
    """Return the node of a symbol, a number, an array of numbers, or a list holding any of them.

    Raises
    ------
    DtypeError
        If something is neither a symbol nor a real number.
    """
    if isinstance(value, Operand):
        return value.node
    if isinstance(value, Node):
        return value
    if isinstance(value, float | int):
        return constant(value if isinstance(value, float | bool) else operator.index(value))
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        return _stack_list(value)
    if isinstance(value, Size):
        return extent(value)
    if is_masked(value):
        raise DtypeError("a masked array in a formula, whose mask would be lost; pass its .filled(...)")
    try:
        array = np.asarray(value)
    except UnsupportedError:  # which says what to write
        raise
    except Exception:  # whatever the object's own __array__ raises
        array = np.array(None, dtype=object)
    if array.dtype == object:
        is_sympy = str(type(value).__module__).startswith("sympy.")
        own = "; write the whole formula in SymPy, or in symdiff's symbols" * is_sympy
        is_sparse = str(type(value).__module__).startswith("scipy.sparse.")
        own += "; sparse matrices come in calls: A = sd.matrix('A', m, n, sparse=True)" * is_sparse
        own += "; call it, or run it n times by sd.iterate(function, start, n)" * isfunction(value)
        raise DtypeError(
            f"a value of type {type(value).__name__}; expected a symbol, a real number, or an array of them{own}"
        )
    if array.dtype.kind not in "buif":
        what = "complex numbers" if array.dtype.kind == "c" else f"dtype {array.dtype}"
        if isinstance(value, str):
            what = f"the text {value!r:.40} among symbols"
        own = "; write the whole formula as text, or sd.scalar and the like" * isinstance(value, str)
        raise DtypeError(f"{what} in a formula; expected real numbers{own}")
    return _read_numbers(array)


def _read_numbers(array: npt.NDArray[Any]) -> Node:
    """Return the node of numbers: equal ones are one that is repeated, and np.eye(200) is not 40,000 numbers."""
    if array.dtype.kind == "b" or array.size < 2:
        return constant(array)
    numbers = np.ascontiguousarray(array, dtype=np.float64)
    bits = numbers.view(np.int64)
    first = float(numbers.flat[0])
    if (bits == bits.flat[0]).all():
        return broadcast_to(constant(first), array.shape)
    if array.ndim == 2 and array.shape[0] == array.shape[1] and first != 0.0:
        scaled = np.zeros(array.shape)
        np.fill_diagonal(scaled, first)
        if (bits == scaled.view(np.int64)).all():
            return scale_by(constant(first), delta(*array.shape))
    return constant(array)


def _stack_list(value: Any) -> Node:
    items = list(value) if not isinstance(value, np.ndarray) or value.ndim else [value.item()]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return as_node(items[0])
    if not any(isinstance(leaf, Operand | Node | Size) for leaf in _leaves(items)):
        try:
            objects = isinstance(value, np.ndarray) and all(isinstance(leaf, Number) for leaf in _leaves(items))
            array = np.array(value, dtype=float if objects else None)
        except (ValueError, TypeError, OverflowError):
            array = np.array(None, dtype=object)
        if array.dtype.kind in "buif":
            return constant(array)
        if array.dtype.kind == "c":
            raise DtypeError("complex numbers in a formula; expected real numbers")
        raise DtypeError(f"{value!r:.60} is neither an array of numbers nor of symbols with rows of equal length")
    try:
        return shaping.stack([as_node(item) for item in items])
    except ShapeError as error:
        raise ShapeError(f"a list of symbols whose parts differ in shape: {error}") from None


#: Axes of NumPy's arrays, at most.
_DEEPEST = 64


def _leaves(items: Sequence[Any]) -> Iterator[Any]:
    todo = [(item, 1) for item in items]
    while todo:
        item, depth = todo.pop()
        is_array = isinstance(item, np.ndarray) and item.dtype == object
        if is_array or isinstance(item, list | tuple):
            if depth > _DEEPEST:
                raise DtypeError(f"lists nested deeper than the {_DEEPEST} axes that an array may have")
            parts = [item.item()] if is_array and not item.ndim else item
            todo.extend((part, depth + 1) for part in parts)
        else:
            yield item


def provenance_of(*operands: Any) -> Provenance:
    """Return what is known of an array made of these: of arrays, and of (nested) lists of them, in their order."""
    result = NOTHING
    for operand in operands:
        if isinstance(operand, Operand):
            result = result.joined(operand._provenance or operand.provenance)
        elif isinstance(operand, Node):
            result = result.joined(of_node(operand))
        elif isinstance(operand, list | tuple) or (isinstance(operand, np.ndarray) and operand.dtype == object):
            found = [leaf for leaf in _leaves([operand]) if isinstance(leaf, Operand)]
            result = join([result, *(leaf.provenance for leaf in found[::-1])])
    return result


def find_spans(operands: Iterable[Any]) -> tuple[Span, ...]:
    """Return what arrays among operands take of axes whose sizes are letters, where that may be more than there is."""
    found: dict[Span, None] = {}
    for operand in operands:
        if not isinstance(operand, Operand):
            continue
        facts = operand.provenance.facts
        found |= dict.fromkeys(facts.spans)
        if any(isinstance(size, Size) for node in facts.inputs for size in node.shape):
            found |= dict.fromkeys(spans_of([operand.node]))
    return tuple(found)


def convert_arguments(entry: Entry, args: Sequence[Any]) -> list[Any]:
    """Return the arrays that an operation takes, as nodes.

    Raises
    ------
    DtypeError
        If one is an integer input, and the operation does not just move elements.
    """
    nodes = _converted(entry, args)
    if entry.name not in MOVING and any(isinstance(node, Node) and node.dtype is INT for node in nodes):
        raise DtypeError(
            f"{entry.name} of an integer input; integer inputs are positions, as in x[idx], and nothing else (declare "
            "another input of real numbers to compute with)"
        )
    return nodes


def _converted(entry: Entry, args: Sequence[Any]) -> list[Any]:
    if entry.arrays == "list":
        if isinstance(args[0], Operand | np.ndarray):
            return [as_node(args[0])]
        if not isinstance(args[0], list | tuple):
            raise ArgumentError(f"{entry.name} of a {type(args[0]).__name__}; expected a list of arrays")
        return [[as_node(part) for part in args[0]]]
    if entry.arrays == "lists":
        return [_listed(parts) for parts in args]
    if entry.arrays == "text":
        return [args[0], *map(as_node, args[1:])]
    if entry.arrays == "factor":
        return [_factor(entry, args[0]), *map(as_node, args[1:])]
    if entry.arrays == "mapped":
        return [as_node(args[0]), _of_nodes(entry, *args[:2]), *map(as_node, args[2:])]
    if entry.arrays == "rows":
        return [_nested(args[0])]
    if entry.arrays == "symbols":
        return list(args)
    if entry.arrays == "second":
        return [args[0], as_node(args[1])]
    return [None if a is None and i and entry.name == "clip" else as_node(a) for i, a in enumerate(args)]


def _of_nodes(entry: Entry, x: Any, function: Any) -> Callable[[Node], Node | None]:
    """Return a user's function of symbols as one of nodes, None for what is no symbol."""
    if not is_function(function) or not isinstance(x, Operand):
        raise ArgumentError(f"{entry.name} expects a symbolic array, and a function of one number such as np.exp")

    def run(node: Node) -> Node | None:
        result = users(function)(type(x)(node))
        return result.node if isinstance(result, Operand) else None

    return run


def _factor(entry: Entry, given: Any) -> tuple[Node, bool]:
    if not isinstance(given, list | tuple) or len(given) != 2 or not isinstance(given[1], bool | np.bool_ | int):
        raise ArgumentError(f"{entry.name} with {shaping.shown(given)} first; expected a pair (factor, lower)")
    return as_node(given[0]), bool(given[1])


def _listed(parts: Any) -> list[Node]:
    if not isinstance(parts, list | tuple) and not getattr(parts, "ndim", 0):
        raise ArgumentError(
            "select of one condition; expected lists, select([x > 0, ...], [a, ...], b), or where(x > 0, a, b)"
        )
    return [as_node(part) for part in parts]


def convert_options(entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of an operation, with nodes where these are arrays."""
    if entry.name == "select":
        return {k: as_node(v) if k == "default" else _listed(v) for k, v in given.items()}
    if entry.options:
        return {k: as_node(v) if k in entry.options and v is not None else v for k, v in given.items()}
    return {k: v for k, v in given.items() if k != "optimize"}


def _nested(rows: Any) -> Any:
    return [_nested(r) for r in rows] if isinstance(rows, list) else as_node(rows)


#: Options for which a variable is easily taken, as messages call them.
_TOLD = {("diff", "n"): "n of diff (how often neighbours are subtracted; a derivative is gradient(f, x))"}

#: Keywords by which NumPy calls what the operation calls otherwise.
_OTHER_NAMES = {("reshape", "newshape"): "shape", ("eye", "M"): "m", ("clip", "min"): "lower", ("clip", "max"): "upper",
                ("clip", "a_min"): "lower", ("clip", "a_max"): "upper", ("tri", "M"): "m",
                ("var", "correction"): "ddof", ("std", "correction"): "ddof",
                **{(name, "indices_or_sections"): "sections"
                   for name in ("split", "array_split", "hsplit", "vsplit", "dsplit")}}  # fmt: skip


def _axes(name: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple | list):
        return tuple([whole_number(name, axis) for axis in value])
    if hasattr(value, "node"):
        raise ArgumentError(
            f"{name}={shown(value)}; expected a whole number. Of two arrays write maximum(x, y), minimum(x, y) or x + y"
        )
    return whole_number(name, value)


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise ArgumentError(f"{name}={shown(value)}; expected True or False")


def _number(name: str, value: Any) -> float:
    if isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool):
        return float(value)
    raise ArgumentError(f"{name}={shown(value)}; expected a number")


_KINDS: dict[str, Callable[[str, Any], Any]] = {
    "axis": _axes,
    **dict.fromkeys(("keepdims", "include_initial", "increasing", "invert"), _flag),
    **dict.fromkeys(("rowvar", "bias", "endpoint", "retstep", "approximate"), _flag),
    "ddof": _number,
    **dict.fromkeys(("axis1", "axis2", "offset", "k", "decimals", "ind"), whole_number),
    **dict.fromkeys(("unit_diagonal", "full_matrices", "compute_uv"), _flag),
}
#: Names that are a whole number in some operations and a size in others.
_COUNTS = {("diff", "n"), ("matrix_power", "n")}
#: Names that are a flag in some operations and an array in others.
_FLAGS = {("cholesky", "upper"), ("cho_factor", "lower"), ("solve_triangular", "lower")}


#: Numbers of arguments that are arrays, where an entry has a word.
_ARRAYS = {"none": 0, "list": 1, "rows": 1, "lists": 2, "factor": 2, "second": 2}


class _Signature(NamedTuple):
    names: tuple[str, ...]  # of all arguments, in order; none where there is any number of arrays
    needed: tuple[str, ...]  # those without a default
    arrays: int  # how many of them are arrays, or lists of arrays


@cache
def _signature(entry: Entry) -> _Signature:
    arrays = entry.most if entry.arrays == "mapped" else _ARRAYS.get(str(entry.arrays), entry.arrays)
    if not isinstance(arrays, int):
        return _Signature((), (), 0)
    given = [p for p in inspect.signature(entry.call).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    needed = tuple(p.name for p in given if p.default is p.empty)
    return _Signature(tuple(p.name for p in given), needed, arrays)


def names_of(entry: Entry) -> tuple[str, ...]:
    """Return the names of an operation's arguments by place, in order; none where there is any number of arrays."""
    row = FUNCTIONS.get(entry.name)
    names = row.arguments if row is not None and row.arity == entry.most else _signature(entry).names
    return names[: entry.most] if len(names) >= entry.least else ()


def bind_options(entry: Entry, args: Sequence[Any], given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call, checked: those that are arrays as they came, the others by name.

    Parameters
    ----------
    entry : Entry
    args : sequence
        By position.
    given : mapping
        By name.

    Raises
    ------
    ArgumentError
        For a wrong number of arguments, one that comes twice, or one of a wrong kind.
    UnsupportedError
        For a keyword that is not understood.
    """
    for key in given:
        if key not in entry.keywords:
            known = f"known: {', '.join(entry.keywords)}" if entry.keywords else "it takes none"
            raise UnsupportedError(f"{entry.name} with {key}=; {known}")
    names, needed, arrays = _signature(entry)
    named: dict[str, Any] = {}
    for key, value in given.items():
        name = _OTHER_NAMES.get((entry.name, key), key)
        if name in named or name in names[: len(args)]:
            raise ArgumentError(f"{entry.name} takes {name} once; it came twice")
        named[name] = value
    if len(args) + sum(name in needed for name in named) < entry.least or len(args) > (entry.most or len(args)):
        wanted = str(entry.least) if entry.most == entry.least else f"{entry.least} to {entry.most or 'any number'}"
        form = f"; expected {entry.name}({', '.join(names)})" if names else ""
        form += ", the shape a tuple: (3, 3)" * (names[:1] == ("shape",))
        plural = "argument" + "s" * (wanted != "1")
        raise ArgumentError(f"{entry.name} takes {wanted} {plural}; {len(args)} came{form}")
    if not names:
        return list(args), named
    named |= zip(names[arrays:], args[arrays:], strict=False)
    missing = [name for name in needed if name not in named and name not in names[: len(args)]]
    if missing:
        raise ArgumentError(f"{entry.name} takes {', '.join(names)}; {', '.join(missing)} did not come")
    for name, value in named.items():
        own = (entry.name, name)
        kind = whole_number if own in _COUNTS else _flag if own in _FLAGS else _KINDS.get(name)
        if kind is not None and name not in entry.options:
            named[name] = kind(_TOLD.get((entry.name, name), name), value)
    return list(args[:arrays]), named


#: Forms to write for SciPy's functions whose defaults differ from NumPy's.
_OF_SCIPY = {
    "cholesky": "sd.cholesky(A) for the lower factor, sd.cholesky(A, upper=True) for SciPy's upper one",
    "qr": "sd.qr(A), as numpy.linalg.qr,",
    **{name: f"sd.{name}(x, axis=-1), axis=None for all elements," for name in ("softmax", "log_softmax")},
}


def told_of_scipy(public_name: Callable[[str], str | None]) -> str | None:
    """Return what to write in place of the function of SciPy that asks for numbers, None where there is none.

    Parameters
    ----------
    public_name : callable
        How users write an operation of a name, None where there is none.

    Notes
    -----
    SciPy's functions that are written in Python pass their arguments to ``np.asarray`` and do not say who they are.
    """
    distributions = later.stats.named_functions()
    frame: FrameType | None = sys._getframe(1)
    found = called = None
    for _ in range(40):
        if frame is None:
            break
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("scipy.stats."):
            own = frame.f_locals.get("self")
            kind = getattr(own, "name", None) or type(own).__name__.removesuffix("_gen")
            name = frame.f_code.co_name
            if f"{kind}_{name}" in distributions:
                found = f"scipy.stats.{kind}.{name} computes with numbers; write sd.stats.{kind}.{name}(...) of symbols"
        elif module.startswith("scipy."):
            # a wrapper that goes over batches knows the function as f
            name = getattr(frame.f_locals.get("f"), "__name__", frame.f_code.co_name)
            known = public_name(name)
            if known:
                form = _OF_SCIPY.get(name, f"{known}(...)")
                found = f"a function of SciPy, {name}, computes with numbers; write {form} of symbols"
            elif name in REFUSED or name in MODULE:
                other = REFUSED.get(name) or MODULE[name]
                found = f"a function of SciPy, {name}, computes with numbers, and symdiff has none: {other}"
            elif hasattr(sys.modules[".".join(module.split(".")[:2])], own := frame.f_code.co_qualname.split(".")[0]):
                called = own
        frame = frame.f_back
    if found is None and called is not None:
        found = (
            f"a function of SciPy, {called}, computes with numbers, and symdiff has none; write its formula with "
            "NumPy's functions, give sd.external(f, ...) its derivative, or compile first and call it with numbers"
        )
    return found
