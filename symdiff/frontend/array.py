"""The symbolic array that users hold, which NumPy's own functions and operators work on.

An :class:`Array` wraps a node of the graph, so that ``==`` may build a comparison while
nodes stay comparable by identity. Ordinary array code runs on it unchanged; what cannot
(item assignment, ``if`` on a symbol) says what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from ..errors import AbsentError, ArgumentError, DtypeError, ShapeError, SymbolError, UnsupportedError
from ..graph import BOOL, INT, REAL, Node, extent, inputs_of, postorder
from ..graph.scalars.functions import apply, compare
from ..graph.sizes import Size, show
from ..ground.advice import ARRAY, REFUSED, advice
from ..ground.guard import guarded, guarded_operators, refuse, users
from ..ground.pickles import refuse_unnumbered, written
from ..ground.stages import later
from . import sympy as interop
from .numpy import operations, shaping
from .numpy.indexing import getitem, spans_taken
from .numpy.library import DIRECT, LIBRARY, NUMPY_NAMES, OF_LINALG, OF_SHAPES, UFUNC_METHODS, Entry
from .numpy.operands import (
    Operand,
    as_node,
    bind_options,
    convert_arguments,
    convert_options,
    find_spans,
    provenance_of,
)
from .provenance import Facts, Provenance, named_inputs, of_inputs, of_spans

if TYPE_CHECKING:
    from sympy import Basic

#: Nodes of a formula, and characters of what it is written as, beyond which nobody reads it.
_OPERATIONS, _CHARACTERS = 2_000, 20_000


@guarded_operators
class Array(Operand):
    """A symbolic array: a formula with a shape.

    Made by :func:`scalar`, :func:`vector`, :func:`matrix`, :func:`array` and by calculating
    with those. Behaves as a NumPy array of real numbers (or of conditions) whose values are
    not known yet.

    Parameters
    ----------
    node : Node
        The formula.
    provenance : Provenance, optional
        How it came about, if that is more than what the formula itself tells.

    Examples
    --------
    >>> import numpy as np
    >>> from symdiff import vector
    >>> x = vector("x", 3)
    >>> np.exp(x).sum()
    sum(exp(x))
    """

    __slots__ = ()
    __array_priority__ = 1000

    def __iter__(self) -> Iterator[Array]:
        size = self.shape[0] if self.shape else None
        if not isinstance(size, int):
            raise SymbolError(
                f"going over {self._described()}; write what holds for all elements (2 * x, np.sum(x), np.max(x)), or "
                "sd.scan(step, start, x) for a loop along an array"
            )
        return (self[i] for i in range(size))

    def __call__(self, *args: object, **named: object) -> NoReturn:
        """Refuse a call: a formula is no function yet."""
        raise SymbolError(
            "a formula is called as if it were a function; write sd.compile(f)(...) for its numbers, and for SciPy's "
            "optimizers sd.objective(f, x), which has fun, jac and hess"
        )

    def _described(self) -> str:
        if not self.shape:
            return "a scalar symbol, which has no axes"
        return f"an array of shape {show(self.shape)}, whose length is known at call time only"

    def __reduce__(self) -> tuple[Any, ...]:
        return written(Array, self.node, self._provenance)

    __setstate__ = refuse_unnumbered

    # ------------------------------------------------------------ what it says

    def _shown(self, style: Literal["text", "latex", "unicode"], whole: str = "") -> str:
        """Write the formula in a style; one that is too long to be read as a summary that says what shows the whole."""
        from .. import printing
        from ..printing.from_entries import present

        known = self.provenance.facts
        if not whole or len(postorder([self.node], most=_OPERATIONS)) <= _OPERATIONS:
            names = [str(leaf.name) for leaf in known.inputs]
            node = present(self.node, derived=known.derived)
            shown: str = getattr(printing, style)(node, derived=known.derived, taken=names)
            if not whole or len(shown) <= _CHARACTERS:
                return shown
        operations = sum(bool(node.args) for node in postorder([self.node]))
        summary = f"... {operations:,} operations, which {whole} shows by definitions"
        return rf"\text{{{summary}}}" if style == "latex" else summary

    @guarded
    def __str__(self) -> str:
        return self._shown("text", ".text()")

    __repr__ = __str__

    @guarded
    def __format__(self, how: str) -> str:
        if how:
            raise SymbolError(
                f"the format {how!r:.40} of a symbol, which has no digits; compile the formula and format its numbers"
            )
        return str(self)

    @guarded
    def text(self) -> str:
        """Return the formula in text that can be parsed again, however long it is.

        ``str(f)`` is the same, but for a formula that is too long to be read: of that it is a summary.

        Examples
        --------
        >>> import symdiff as sd
        >>> x = sd.vector("x", 3)
        >>> sd.gradient(sd.sum(x**2), x).text()
        '2 * x'
        """
        return self._shown("text")

    @guarded
    def latex(self) -> str:
        r"""Return the formula in LaTeX, without dollar signs."""
        return self._shown("latex")

    @guarded
    def unicode(self) -> str:
        """Return the formula as a book prints it, on one line in Unicode."""
        return self._shown("unicode")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self._shown('latex', '.latex()')}$"

    @property
    @guarded
    def sympy(self) -> Basic:
        """The formula as a SymPy expression, matrix or array; what SymPy has no class for as one of symdiff's.

        SymPy fails on expressions nested some 165 deep, so of a formula that is deep, or large and
        much shared, this is a :class:`symdiff.Definitions` instead, which unpacks as ``definitions, result``:
        pairs of a symbol and its expression, each in terms of those before it, and the formula in terms of
        the symbols. Functions of symdiff read it back.
        """
        from ..printing.from_entries import present

        known = self.provenance.facts
        return interop.to_sympy(present(self.node, derived=known.derived), interop.Inputs.recalled(known.symbols))

    # ------------------------------------------------------------ what it is made of

    @property
    @guarded
    def inputs(self) -> tuple[Array, ...]:
        """The inputs in the order of a kernel's arguments, those that vanished from a derivative among them.

        Examples
        --------
        >>> from symdiff import matrix, vector
        >>> A, x = matrix("A", 3, 3), vector("x", 3)
        >>> (x @ A @ x).inputs
        (x, A)
        """
        return tuple(map(Array, named_inputs(inputs_of([self.node]), self.provenance).values()))

    @guarded
    def substitute(self, values: Mapping[Any, Any] | None = None, /, **named: Any) -> Array:
        """Return the formula with values in place of inputs or of parts of it.

        Parameters
        ----------
        values : mapping, optional
            Of an input, its name, or a part of the formula, to numbers or a formula of its shape. All come at once.
            Letters of sizes become the sizes of what comes in place of an input.
        **named
            The same by the names of inputs and of named parts.

        Raises
        ------
        ArgumentError, ShapeError
            If one is not in the formula, or a value does not fit.

        Examples
        --------
        >>> from symdiff import scalar, vector
        >>> x, y = scalar("x"), scalar("y")
        >>> (x * y + x).substitute(x=y, y=x + 1)
        y * (x + 1) + y
        >>> (x * y + x).substitute({x * y: 3})
        3 + x
        """
        from .substitution import substituted

        if not isinstance(values, Mapping | None):
            raise ArgumentError(f"substitute({values!r:.60}); expected a dict of values by inputs, or x=... by name")
        known = self.provenance.facts
        result, inputs = substituted(self.node, [one.node for one in self.inputs], {**(values or {}), **named})
        return Array(result, of_inputs(inputs, known.symbols).joined(Provenance(Facts(derived=known.derived))))

    # ------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Array:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Array:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Array:
        return _binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Array:
        return _binary("subtract", other, self)

    def __mul__(self, other: Any) -> Array:
        return _binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Array:
        return _binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Array:
        return _binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Array:
        return _binary("divide", other, self)

    def __floordiv__(self, other: Any) -> Array:
        return _binary("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Array:
        return _binary("floor_divide", other, self)

    def __mod__(self, other: Any) -> Array:
        return _binary("mod", self, other)

    def __rmod__(self, other: Any) -> Array:
        return _binary("mod", other, self)

    def __pow__(self, other: Any) -> Array:
        return _binary("power", self, other)

    def __rpow__(self, other: Any) -> Array:
        return _binary("power", other, self)

    def __matmul__(self, other: Any) -> Array:
        return _binary("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Array:
        return _binary("matmul", other, self)

    def __neg__(self) -> Array:
        return Array(apply("negative", self.node), self.provenance)

    def __pos__(self) -> Array:
        return self

    def __abs__(self) -> Array:
        return Array(apply("abs", self.node), self.provenance)

    def __round__(self, digits: int | None = None) -> Array:
        rounded: Array = call(LIBRARY["round"], (self, 0 if digits is None else digits), {})
        return rounded

    def __divmod__(self, other: Any) -> tuple[Array, Array]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Array, Array]:
        return other // self, other % self

    # ------------------------------------------------------------ comparison and logic

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return _binary("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("not_equal", self, other)

    def __lt__(self, other: Any) -> Array:
        return _binary("less", self, other)

    def __le__(self, other: Any) -> Array:
        return _binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Array:
        return _binary("greater", self, other)

    def __ge__(self, other: Any) -> Array:
        return _binary("greater_equal", self, other)

    def __and__(self, other: Any) -> Array:
        return _logic("logical_and", self, other)

    def __rand__(self, other: Any) -> Array:
        return _logic("logical_and", other, self)

    def __or__(self, other: Any) -> Array:
        return _logic("logical_or", self, other)

    def __ror__(self, other: Any) -> Array:
        return _logic("logical_or", other, self)

    def __xor__(self, other: Any) -> Array:
        return _logic("logical_xor", self, other)

    def __rxor__(self, other: Any) -> Array:
        return _logic("logical_xor", other, self)

    def __invert__(self) -> Array:
        if self.node.dtype is not BOOL:
            raise DtypeError("~ of real numbers; expected a condition such as x > 0")
        return Array(apply("logical_not", self.node), self.provenance)

    # ------------------------------------------------------------ shape

    @guarded
    def __getitem__(self, key: Any) -> Array:
        keys = key if isinstance(key, tuple) else (key,)
        given = [part for part in keys if isinstance(part, Array)]
        if any(part.__class__ is Shifted for part in keys):
            return _of_shifted(self, keys)
        if not given:
            taken = getitem(self.node, key)
            return Array(taken, self.provenance.joined(of_spans(spans_taken(self.node, key, taken))))
        known = tuple(part.position() if isinstance(part, Array) else part for part in keys)
        return Array(getitem(self.node, known), provenance_of(self, *given))

    @property
    def T(self) -> Array:
        """The axes in reverse order: the transpose of a matrix."""
        return Array(shaping.permute(self.node), self.provenance)

    @property
    def mT(self) -> Array:
        """The last two axes exchanged."""
        return Array(shaping.swapaxes(self.node, -1, -2), self.provenance)

    @guarded
    def reshape(self, *shape: Any, order: str = "C") -> Array:
        """Return the elements in C order, or in Fortran's, in another shape."""
        return Array(shaping.reshape_to(self.node, shape[0] if len(shape) == 1 else shape, order), self.provenance)

    @guarded
    def transpose(self, *axes: Any) -> Array:
        """Permute the axes; reverse them by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return Array(shaping.permute(self.node, order), self.provenance)

    @guarded
    def astype(self, dtype: Any) -> Array:
        """Return the numbers as they are for a real dtype, their whole parts for an integer one, or what is not 0.

        Numbers are of double precision in a formula, whatever they are called; a kernel has the dtype of its inputs.
        """
        return Array(shaping.cast(self.node, dtype), self.provenance)

    @guarded
    def copy(self) -> Array:
        """Return the array itself: symbols do not change."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return guarded(lambda *args, **kwargs: call(LIBRARY[_METHODS[name]], (self, *args), kwargs))
        if name in LIBRARY and isinstance(getattr(np, name, None), np.ufunc):
            # What NumPy calls on each element of an object array: np.exp(np.array([x, y])).
            return guarded(lambda *others: call(LIBRARY[name], (self, *others), {}))
        own = getattr(Array, name, None)
        if isinstance(own, property) and own.fget is not None:
            return users(own.fget)(self)  # it raised an AttributeError of its own, which is not to be hidden
        told = advice(name, ARRAY, [*_METHODS, *dir(Array)], "docs/reference.md")
        raise AbsentError(f"a symbolic array has no {name!r}{told}")

    def _sympy_(self) -> NoReturn:
        from sympy import SympifyError

        # of an operator, SymPy then leaves it to this class
        both = type("SymbolError", (SymbolError, SympifyError), {"__str__": SymbolError.__str__})
        raise both("a symbol of symdiff in SymPy; write np.sin(x), or the whole formula in SymPy")

    # ------------------------------------------------------------ NumPy's protocols

    @guarded
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__.lstrip("_")  # scipy.special.zeta calls a ufunc _zeta
        if method != "__call__":
            target = UFUNC_METHODS.get((name, method))
            if target is None:
                known = ", ".join(f"np.{one}.{other}" for one, other in UFUNC_METHODS if other == method)
                told = f"expected one of {known}" if known else "for np.add.at write sd.add_at(x, i, n)"
                raise UnsupportedError(f"np.{name}.{method} of symbols; {told}")
            if target in ("sum", "prod", "max", "min", "logsumexp", "any", "all") and "axis" not in kwargs:
                kwargs["axis"] = 0  # a ufunc reduces the first axis
            return call(LIBRARY[target], inputs, kwargs)
        if not kwargs and len(inputs) == 1 and name in DIRECT:
            return Array(apply(name, inputs[0].node), inputs[0].provenance)
        if kwargs.get("out") is not None:
            raise SymbolError(f"np.{name} with out= on symbols; they cannot be assigned to, use the value returned")
        kwargs.pop("out", None)
        if kwargs and name != "vecdot":
            raise UnsupportedError(f"np.{name} of symbols with {', '.join(kwargs)}=")
        if not kwargs and any(map(is_complex, inputs)):
            return later.complexes.apply(name, inputs)
        if name in ("add", "subtract") and (shifted := Shifted.of(name, *inputs)) is not None:
            return shifted
        return call(_entry(name), inputs, kwargs)

    @guarded
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__module__ == "numpy.fft":  # its results are complex arrays, which a later stage makes
            return later.complexes.transform(func.__name__, args, kwargs)
        own = OF_LINALG.get(func.__name__) if func.__module__ == "numpy.linalg" else None
        # np.eye(n, like=x) brings all its defaults
        named = {key: value for key, value in kwargs.items() if value not in _DEFAULTS.get(key, ())}
        if func.__name__ in ("array", "asarray", "asanyarray") and not named:  # np.array([[x, 1], [2, y]], like=x)
            return asarray(*args)
        return call(own or _entry(func.__name__, func.__module__), args, named)


#: What NumPy's functions bring where nothing was asked for.
_DEFAULTS: dict[str, tuple[Any, ...]] = {"dtype": (None, float), "order": ("C",), "device": (None,)}
_METHODS = {
    **{
        name: name
        for name in (
            *("sum", "mean", "prod", "max", "min", "var", "std", "dot", "trace"),
            *("diagonal", "cumsum", "cumprod", "clip", "round", "squeeze", "swapaxes", "ravel", "take"),
            *("repeat", "all", "any"),
        )
    },
    "flatten": "ravel",
}


def _entry(name: str, module: str = "numpy") -> Entry:
    entry = LIBRARY.get(NUMPY_NAMES.get(name, name))
    if entry is None:
        reason = REFUSED.get(name, "symdiff has no such function; write it with those in the list of functions")
        raise UnsupportedError(f"np{module.removeprefix('numpy')}.{name} of symbols: {reason}")
    return entry


class Shifted:
    """Positions of an integer input and a whole number together, ``i + 1`` in ``x[i + 1]``."""

    __slots__ = ("by", "positions")

    def __init__(self, positions: Array, by: int) -> None:
        self.positions, self.by = positions, by

    @classmethod
    def of(cls, name: str, a: Any, b: Any) -> Shifted | None:
        """Return the sum or difference of positions and a whole number; None for any other operands."""
        if name == "add" and isinstance(b, Array | Shifted):
            a, b = b, a
        if not isinstance(b, int | np.integer) or isinstance(b, bool):
            return None
        by = int(b) if name == "add" else -int(b)
        if isinstance(a, Shifted):
            return cls(a.positions, a.by + by)
        return cls(a, by) if isinstance(a, Array) and a.node.dtype is INT else None

    def __add__(self, other: Any) -> Any:
        return NotImplemented if (made := Shifted.of("add", self, other)) is None else made

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if (made := Shifted.of("subtract", self, other)) is None else made

    __radd__ = __add__

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse to be computed with.

        Raises
        ------
        DtypeError
        """
        raise DtypeError(f"{self} in arithmetic; positions stand in an index and nowhere else: x[{self}]")

    __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __pow__ = _refuse
    __neg__ = __getitem__ = __iter__ = __len__ = __array__ = __array_ufunc__ = __array_function__ = _refuse

    def __repr__(self) -> str:
        return f"{self.positions} {'-' if self.by < 0 else '+'} {abs(self.by)}"

    def taken(self, x: Array, axis: int) -> Array:
        """Return an array of which the positions alone take the same as these of ``x``."""
        ahead = (slice(None),) * axis
        if self.by >= 0:
            return x[(*ahead, slice(self.by, None))]
        if isinstance(x.shape[axis], int) and -self.by > x.shape[axis]:
            raise ShapeError(f"positions {-self.by} in front of those of an axis of length {x.shape[axis]}")
        before: Array = np.concatenate([x[(*ahead, slice(self.by, None))], x], axis)  # type: ignore[assignment]  # NumPy's types know no symbols
        return before


def _of_shifted(x: Array, keys: tuple[Any, ...]) -> Array:
    """Return a part at shifted positions: that at the positions of an array that is shifted the other way."""
    items = list(keys)
    for number, item in enumerate(keys):
        if isinstance(item, Shifted):
            before, behind = ([one for one in part if one is not None] for part in (keys[:number], keys[number + 1 :]))
            dots = any(one is Ellipsis for one in before)
            x, items[number] = item.taken(x, x.ndim - 1 - len(behind) if dots else len(before)), item.positions
    return x[tuple(items)]


def _binary(name: str, a: Any, b: Any) -> Array:
    try:
        if name in DIRECT and a.__class__ is b.__class__ is Array:
            return Array(apply(name, a.node, b.node), a.provenance.joined(b.provenance))
        if name in ("add", "subtract"):
            shifted: Any = Shifted.of(name, a, b)
            if shifted is not None:
                index: Array = shifted  # its own type would be that of every sum
                return index
        if getattr(b, "__array_priority__", 0) > Array.__array_priority__:
            return NotImplemented  # type: ignore[no-any-return]  # a complex array knows what a real one times it is
        if is_complex(a) or is_complex(b):
            found: Array = later.complexes.apply(name, (a, b))
            return found
        left = a.node if isinstance(a, Array) else as_node(a)
        right = b.node if isinstance(b, Array) else as_node(b)
        if name == "matmul":
            return Array(operations.matmul(left, right), provenance_of(a, b))
        if name.startswith("greater"):
            return Array(compare(name, left, right), provenance_of(a, b))
        return Array(apply(name, left, right), provenance_of(a, b))
    except Exception as error:
        refuse(error, name, (a, b))


def is_complex(value: Any) -> bool:
    """Tell whether a value is a complex number or an array of them."""
    kind = type(value)
    if kind is Array or kind is float or kind is int:
        return False
    return isinstance(value, complex) or (isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "c")


def _logic(name: str, a: Any, b: Any) -> Array:
    try:
        left, right = as_node(a), as_node(b)
    except Exception as error:
        refuse(error, name, (a, b))
    if left.dtype is REAL or right.dtype is REAL:
        sign = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}[name]
        power = "; a power is written **" * (sign == "^")
        raise DtypeError(f"{sign} of real numbers; expected conditions, e.g. (x > 0) {sign} (y > 0){power}")
    return Array(apply(name, left, right), provenance_of(a, b))


@guarded
def asarray(value: Any) -> Array:
    """Return a symbol, number, array or (nested) list of them as a symbolic array."""
    return value if isinstance(value, Array) else Array(as_node(value), provenance_of(value))


def _number_of(size: Size) -> Array:
    """Return a size as a number of the formula."""
    return Array(extent(size))


Size.as_number = staticmethod(_number_of)


def wrap(value: Any, provenance: Provenance) -> Any:
    """Return nodes, and those in tuples, as arrays."""
    if isinstance(value, Node):
        return Array(value, provenance)
    if isinstance(value, tuple):
        parts = [wrap(part, provenance) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def call(entry: Entry, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call an operation of the library with symbols among its arguments.

    Raises
    ------
    ArgumentError
        If the number of arguments or a keyword does not fit.
    """
    given = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    try:
        arrays, options = bind_options(entry, args, given)
        result = entry.call(*convert_arguments(entry, arrays), **convert_options(entry, options))
        provenance = provenance_of(*args, *given.values())
        if entry.name in OF_SHAPES:  # of the first argument nothing else is left
            provenance = provenance.joined(of_spans(find_spans(args)))
        return wrap(result, provenance)
    except Exception as error:
        refuse(error, entry.name, args, given)
