"""What to write in place of an argument that is no array of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Set
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["stranger", "told_of_foreign", "told_of_no_numbers"]

_EXPECTED = "expected real numbers (float64, float32, integers or bool)"
_CONVERTED = "convert it with np.asarray(x, float), or stack several arrays into one first"


def told_of_foreign(name: str, argument: Any, error: Exception) -> str:
    """Say what to write for an argument that NumPy cannot read.

    JAX and PyTorch have arrays that stand for numbers not known yet, or that know how they came about: a kernel is a
    function of such arrays by the method of the library's name.
    """
    kind = type(argument)
    library = kind.__module__.partition(".")[0].removesuffix("lib")
    if library not in ("jax", "torch"):
        return f"{name} is a {kind.__name__}, which is no array of numbers: {error}"
    return (
        f"{name} is a {kind.__name__} of {library}, whose numbers NumPy may not take; call k.{library}() of the "
        f"kernel k, which {library} differentiates"
    )


def told_of_no_numbers(name: str, argument: Any, array: npt.NDArray[Any]) -> str:
    """Say what an argument is of which NumPy made an array of no real numbers, and what to write.

    Parameters
    ----------
    name : str
        Of the input.
    argument
        What came.
    array : ndarray
        What NumPy made of it.
    """
    if array.dtype.kind == "c":
        hint = "pass the real and the imaginary part, as a formula of sd.complex_array takes them"
        return f"{name} is an array of {array.dtype}; {_EXPECTED}; {hint}"
    if array.dtype.kind != "O":
        return f"{name} is an array of {array.dtype}; {_EXPECTED}; convert it with .astype(float)"
    kind = type(argument).__name__
    if array.ndim == 0 or not array.size:
        return f"{name} is a {kind}; {_EXPECTED}; {_instead(argument)}"
    one = stranger(array.flat)
    what = f"{name} is {'an' if kind == 'ndarray' else 'a'} {kind} of objects, of {type(one).__name__} among them"
    if one is None:
        place = next(place for place in np.ndindex(array.shape) if array[place] is None)
        return f"{what}; {_EXPECTED}; put a number in place of {name}[{', '.join(map(str, place))}]"
    return f"{what}; {_EXPECTED}; {_CONVERTED}"


def stranger(values: Iterable[Any]) -> Any:
    """Return the first of some objects that is no real number, or else the first."""
    listed = list(values)
    return next((one for one in listed if not isinstance(one, Real)), listed[0] if listed else None)


def _instead(argument: Any) -> str:
    """Return what to write in place of one object."""
    if argument is None:
        return "None has no number, pass one"
    if hasattr(argument, "toarray"):
        return "pass .toarray() of a sparse array"
    if isinstance(argument, Set):
        return "a set has no order, pass a list"
    if hasattr(argument, "__iter__"):
        return "pass list(x) of what goes over numbers"
    return _CONVERTED if hasattr(argument, "__float__") else "pass numbers in its place"
