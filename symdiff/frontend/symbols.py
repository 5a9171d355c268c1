"""Making symbols: inputs of a formula, names for parts of it, and the operations as functions."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError
from ..graph import input, label, stop_gradient
from ..ground.guard import guarded
from .array import Array, asarray, call
from .numpy.library import LIBRARY
from .numpy.operands import as_node, provenance_of
from .numpy.shaping import parse_shape

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
def scalar(name: str) -> Array:
    """Return a symbolic number.

    Parameters
    ----------
    name : str
        A Python identifier.

    Examples
    --------
    >>> x = scalar("x")
    >>> x * x + 1
    x*x + 1
    """
    return symbol(name, ())


@guarded
def vector(name: str, n: int | str) -> Array:
    """Return a symbolic vector of ``n`` elements; a name such as "n" is a size known at call time."""
    return symbol(name, (n,))


@guarded
def matrix(name: str, n: int | str, m: int | str) -> Array:
    """Return a symbolic matrix of ``n`` rows and ``m`` columns, whole numbers or names."""
    return symbol(name, (n, m))


@guarded
def symbol(name: str, shape: Any = ()) -> Array:
    """Return a symbolic array.

    Parameters
    ----------
    name : str
        A Python identifier.
    shape : int, str or tuple of them
        Sizes of the axes; a name such as "n" is a size known at call time.

    Raises
    ------
    ArgumentError, ShapeError
        If the name or a size is unusable.

    Examples
    --------
    >>> symbol("A", ("n", "n")).shape
    (n, n)
    """
    return Array(input(check_name(name), parse_shape(shape)))


@guarded
def array(name: Any, shape: Any = None) -> Array:
    """Return an array of symbols and numbers, as NumPy's function of this name does, or a symbolic array.

    Parameters
    ----------
    name : sequence, or str
        Symbols, formulas and numbers, in lists within each other; or, with a shape, what :func:`symbol` takes.
    shape : int, str or tuple of them, optional

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
        if shape is not None:
            raise ArgumentError(f"array() of a {type(name).__name__} and a shape; expected a name and a shape")
        return asarray(name)
    if shape is None:
        raise ArgumentError(f"array({name!r:.40}) without a shape; expected array(name, shape), or scalar(name)")
    return symbol(name, shape)


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
def stop(x: Any) -> Array:
    """Return ``x`` as a constant to every derivative."""
    return Array(stop_gradient(as_node(x)), provenance_of(x))


@guarded
def function(entry_name: str) -> Callable[..., Any]:
    """Return an operation of the library as a function of symbols and numbers.

    Raises
    ------
    ArgumentError
        If there is no such operation.
    """
    entry = LIBRARY.get(entry_name) if isinstance(entry_name, str) else None
    if entry is None:
        raise ArgumentError(f"{entry_name!r:.60} is not an operation of symdiff; docs/functions.md lists them")

    def run(*args: Any, **kwargs: Any) -> Any:
        return call(entry, args, kwargs)

    run.__name__ = run.__qualname__ = entry_name
    run.__doc__ = entry.call.__doc__
    return run
