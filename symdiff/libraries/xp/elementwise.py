"""Functions of the standard that act element by element: one row each, by the library's name."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from ...errors import ArgumentError
from ...frontend.array import Array, asarray
from ...frontend.numpy.shaping import like
from .calls import run

#: Functions of one array, and what the library calls those that it has under other names.
ONE = {
    **dict.fromkeys(("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1")),
    **dict.fromkeys(("floor", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not")),
    **dict.fromkeys(("negative", "positive", "reciprocal", "sign", "sin", "sinh", "square", "sqrt", "tan", "tanh")),
    "bitwise_invert": "invert",
    "conj": "positive",
    "real": "positive",
    "round": "rint",
    "trunc": None,
}

#: Functions of two arrays, which broadcast.
TWO = (
    *("add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal", "floor_divide"),
    *("greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or"),
    *("logical_xor", "maximum", "minimum", "multiply", "not_equal", "pow", "remainder", "subtract"),
)


def _function(name: str, own: str, arguments: tuple[str, ...]) -> Callable[..., Any]:
    signature = Signature([Parameter(argument, Parameter.POSITIONAL_ONLY) for argument in arguments])

    def call(*args: Any) -> Any:
        if len(args) != len(arguments):
            raise ArgumentError(f"xp.{name} takes {len(arguments)} arrays; {len(args)} came")
        return run(own, *args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Apply ``{own}`` element by element; docs/functions.md has its derivative."
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _function(name, own or name, ("x",)) for name, own in ONE.items()},
    **{name: _function(name, name, ("x1", "x2")) for name in TWO},
}


def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:
    """Limit elements to [min, max], where both or one of them may be missing."""
    array = asarray(x)
    if min is None and max is None:
        return array
    return run("clip", array, min, max)


def imag(x: Any, /) -> Array:
    """Return the imaginary part of real numbers: zeros."""
    array = asarray(x)
    return Array(like(array.node, 0.0), array.provenance)


def signbit(x: Any, /) -> Array:
    """Tell which numbers are below 0; zeros have no sign."""
    return run("less", x, 0.0)


FUNCTIONS |= {"clip": clip, "imag": imag, "signbit": signbit}
