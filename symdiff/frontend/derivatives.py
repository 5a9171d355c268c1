"""Derivatives of a formula in any form: text, SymPy or symbolic arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

from ..errors import ArgumentError
from ..ground.budget import budgeted
from ..ground.guard import guarded
from ..ground.limits import Budget
from ..ground.tracing import traced
from . import array_derivatives as derivatives
from .array import Array, asarray
from .display import FormulaDict, FormulaTuple
from .formula import merge_shapes, read_formula
from .sympy import is_sympy, symbols_in

#: Results of a derivative for one variable, for several in a tuple or list, and for several in a dict.
One_co = TypeVar("One_co", covariant=True)
Several_co = TypeVar("Several_co", covariant=True)
Named_co = TypeVar("Named_co", covariant=True)


class Derivative(Protocol[One_co, Several_co, Named_co]):
    """A derivative of a formula in any form: an array for one variable, a structure of them for a structure."""

    __name__: str

    @overload
    def __call__(
        self, f: Any, wrt: Any, /, *args: Any, joined: Literal[True],
        disconnected: Literal["error", "zero"] = "error", convention: Literal["projected", "entries"] | None = None,
        invertible: bool = False, shapes: Mapping[str, Any] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        budget: Literal["default", "strict"] | Budget | None = None, **named_shapes: Any,
    ) -> Array: ...

    @overload
    def __call__(
        self, f: Any, wrt: Array | str, /, *args: Any,
        disconnected: Literal["error", "zero"] = "error", convention: Literal["projected", "entries"] | None = None,
        invertible: bool = False, shapes: Mapping[str, Any] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        budget: Literal["default", "strict"] | Budget | None = None, **named_shapes: Any,
    ) -> One_co: ...

    @overload
    def __call__(
        self, f: Any, wrt: tuple[Array | str, ...] | list[Array] | list[str], /, *args: Any,
        disconnected: Literal["error", "zero"] = "error", convention: Literal["projected", "entries"] | None = None,
        invertible: bool = False, shapes: Mapping[str, Any] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        budget: Literal["default", "strict"] | Budget | None = None, **named_shapes: Any,
    ) -> Several_co: ...

    @overload
    def __call__(
        self, f: Any, wrt: dict[str, Array] | dict[str, str], /, *args: Any,
        disconnected: Literal["error", "zero"] = "error", convention: Literal["projected", "entries"] | None = None,
        invertible: bool = False, shapes: Mapping[str, Any] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        budget: Literal["default", "strict"] | Budget | None = None, **named_shapes: Any,
    ) -> Named_co: ...

    @overload
    def __call__(
        self, f: Any, wrt: Any, /, *args: Any,
        disconnected: Literal["error", "zero"] = "error", convention: Literal["projected", "entries"] | None = None,
        invertible: bool = False, shapes: Mapping[str, Any] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        budget: Literal["default", "strict"] | Budget | None = None, **named_shapes: Any,
    ) -> Any: ...


class Pushforward(Protocol):
    """The product of a Jacobian with a tangent: an array for one formula, a structure of them for a structure."""

    __name__: str

    @overload
    def __call__(self, f: Array | str, wrt: Any, /, *args: Any, **options: Any) -> Array: ...

    @overload
    def __call__(
        self, f: tuple[Array | str, ...] | list[Array] | list[str], wrt: Any, /, *args: Any, **options: Any
    ) -> list[Array] | FormulaTuple[Array]: ...

    @overload
    def __call__(
        self, f: dict[str, Array] | dict[str, str], wrt: Any, /, *args: Any, **options: Any
    ) -> FormulaDict[Array]: ...

    @overload
    def __call__(self, f: Any, wrt: Any, /, *args: Any, **options: Any) -> Any: ...


#: Results for a structure of variables: a derivative with respect to each, second derivatives for each pair.
Slopes: TypeAlias = Derivative[Array, FormulaTuple[Array], FormulaDict[Array]]
Curvatures: TypeAlias = Derivative[Array, FormulaTuple[FormulaTuple[Array]], FormulaDict[FormulaDict[Array]]]
ValueAndSlopes: TypeAlias = Derivative[
    tuple[Array, Array], tuple[Array, FormulaTuple[Array]], tuple[Array, FormulaDict[Array]]
]


#: Derivatives that structures of formulas have.
_OF_SEVERAL = (derivatives.jacobian, derivatives.vjp, derivatives.jvp)


def _widen(function: Any) -> Any:
    """Let a derivative of symbols take text and SymPy."""
    options = [*list(signature(function).parameters)[2:], "shapes", "functions", "budget"]

    @guarded
    @wraps(function)
    @budgeted
    def run(
        f: Any,
        /,
        *args: Any,
        disconnected: str = "error",
        convention: str | None = None,
        invertible: bool = False,
        shapes: Mapping[str, Any] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        budget: str | Budget | None = None,
        **named_shapes: Any,
    ) -> Any:
        wrt, args = _variables(function.__name__, args, named_shapes)
        if args and isinstance(args[-1], Mapping) and function.__name__ in ("gradient", "jacobian", "hessian"):
            raise ArgumentError(f"shapes of {function.__name__} by place; expected a name: shapes={{...}}, or x=3")
        if function is derivatives.derivative and "order" in named_shapes:
            args = (named_shapes.pop("order"),)
        joined = {"joined": named_shapes.pop("joined")} if "joined" in options and "joined" in named_shapes else {}
        entries, shape = symbols_in(wrt), getattr(wrt, "shape", ())
        if entries is not None:  # of a matrix of symbols, as SymPy has it: one result for all
            wrt, args = entries, tuple(symbols_in(arg) or arg for arg in args)
            if "joined" in options and not (function is derivatives.jacobian and hasattr(f, "jacobian")):
                joined.setdefault("joined", True)
        for key in ("seed", "tangent", "vector"):
            if key in named_shapes and function.__name__ in ("vjp", "jvp", "hvp"):
                args = (named_shapes.pop(key),)
        if function is derivatives.jacobian and isinstance(wrt, list) and joined.get("joined") is None and is_sympy(f):
            f = list(f) if hasattr(f, "jacobian") else f  # a matrix, whose entries are formulas of their own
        with traced(function.__name__, f):
            read = read_formula(f, merge_shapes(shapes, named_shapes), options, functions)
            if not isinstance(read.value, Array) and function not in _OF_SEVERAL:
                raise ArgumentError(f"{function.__name__} of several formulas; expected one (call it for each)")
            rest = [read.read(a) if not isinstance(a, int | float) else a for a in args]
            by = read.variables(wrt)
            read.refuse_unused()
            chosen = {} if convention is None else {"convention": convention}
            if chosen and "convention" not in options:
                raise ArgumentError(f"convention= of {function.__name__}; gradient, jacobian, hessian and vjp have one")
            value = read.value
            if function is derivatives.jacobian:
                value, joined["joined"] = _outputs(read.value, joined.get("joined"))
            chosen |= joined
            found = function(value, by, *rest, disconnected=disconnected, invertible=invertible, **chosen)
            return found if entries is None else _in_shape(function, found, shape)

    run.__doc__ = (function.__doc__ or "") + _NOTE
    return run


def _variables(title: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """Return what to differentiate with respect to, by place or as ``wrt=``, and what comes behind it by place."""
    if args:  # an input may be called wrt
        return args[0], args[1:]
    if "wrt" not in named:
        raise TypeError(f"{title}() missing 1 required positional argument: 'wrt'")
    return named.pop("wrt"), ()


def _in_shape(function: Any, found: Any, shape: tuple[int, ...]) -> Any:
    """Return the derivative wrt a matrix of symbols as one array: a gradient in its shape, of a column as a vector."""
    if function is derivatives.value_and_gradient:
        value, slopes = found
        return FormulaTuple((value, _in_shape(derivatives.gradient, asarray(list(slopes)), shape)))
    is_vector = sum(size != 1 for size in shape) < 2
    return found if is_vector or function is not derivatives.gradient else found.reshape([int(size) for size in shape])


def _outputs(value: Any, joined: bool | None) -> tuple[Any, bool]:
    """Return the outputs of a Jacobian, and whether it is one matrix.

    Raises
    ------
    ArgumentError
        If the outputs are no list of formulas, or are several and not to be joined.
    """
    if isinstance(value, Array):
        return value, bool(joined)
    if not isinstance(value, list | tuple) or not all(isinstance(part, Array) for part in value):
        raise ArgumentError("jacobian of a structure of formulas; expected a formula, or a list of formulas")
    if joined is False:
        raise ArgumentError("jacobian of several formulas with joined=False; call it for each")
    return value, True


_NOTE = """
    Notes
    -----
    The formula may be text, SymPy or symbols; variables and a seed likewise, text
    beside text. Shapes of text's inputs are given by keyword or in ``shapes``; a kernel of the result
    takes them in this order, and without shapes in that of first use in the formula. ``functions`` are
    what text may call besides the functions of the language, by name: functions of symbols. ``budget`` bounds the
    work: ``"strict"`` is for text from strangers, see :class:`symdiff.Budget`; by default text has
    ``"default"`` and anything else no bound.
    """

gradient: Slopes = _widen(derivatives.gradient)
value_and_gradient: ValueAndSlopes = _widen(derivatives.value_and_gradient)
jacobian: Slopes = _widen(derivatives.jacobian)
hessian: Curvatures = _widen(derivatives.hessian)
jvp: Pushforward = _widen(derivatives.jvp)
vjp: Slopes = _widen(derivatives.vjp)
hvp: Slopes = _widen(derivatives.hvp)
derivative: Derivative[Array, Array, Array] = _widen(derivatives.derivative)
