"""Dtypes by the names of the standard, and what it asks of them and of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...frontend.array import Array, asarray
from ...frontend.numpy.shaping import check_device, dtype_of, shown

#: The dtypes that arrays may be called by, of each kind; numbers are of double precision in a formula.
KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": (),
}
#: Kinds of several.
_WIDER = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating"),
}

DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for names in KINDS.values() for name in names}


def _of(given: Any) -> np.dtype[Any]:
    return given.dtype if isinstance(given, Array | np.ndarray | np.generic) else dtype_of(given)


def _copied(x: Any, dtype: Any) -> Array:
    return asarray(x).astype(dtype)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """Return numbers as they are for a real dtype, their whole parts for an integer one, or what is not 0."""
    check_device(device)
    return _copied(x, dtype)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Tell whether one dtype holds the values of another."""
    return bool(np.can_cast(_of(from_), dtype_of(to)))


def finfo(type: Any, /) -> Any:
    """Return the limits of a dtype of real numbers, or of that of an array."""
    return np.finfo(_of(type))


def iinfo(type: Any, /) -> Any:
    """Return the limits of a dtype of integers, or of that of an array."""
    return np.iinfo(_of(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Tell whether a dtype is another, or of a kind, or one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    own = dtype_of(dtype)
    if not isinstance(kind, str):
        return own == dtype_of(kind)
    return own.name in _names(kind)


def _names(kind: str) -> tuple[str, ...]:
    if kind not in KINDS and kind not in _WIDER:
        raise ArgumentError(f"kind={shown(kind)}; expected one of {', '.join([*KINDS, *_WIDER])}")
    return tuple(name for one in _WIDER.get(kind, (kind,)) for name in KINDS[one])


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype of what arrays, numbers and dtypes come to together."""
    if not arrays_and_dtypes:
        raise ArgumentError("result_type of nothing; expected an array, a number or a dtype")
    given = [each if type(each) in (bool, int, float) else _of(each) for each in arrays_and_dtypes]
    return np.result_type(*given)


class Capabilities:
    """What the namespace offers, as the standard's inspection asks for it."""

    def capabilities(self) -> dict[str, Any]:
        """Return what libraries may leave out: shapes are never of data."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        """Return the one device."""
        return "cpu"

    def devices(self) -> list[str]:
        """Return all devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> Mapping[str, np.dtype[Any]]:
        """Return the dtypes of arrays that are made without one: all numbers are of double precision."""
        check_device(device)
        return {"real floating": DTYPES["float64"], "integral": DTYPES["int64"], "indexing": DTYPES["int64"]}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> Mapping[str, np.dtype[Any]]:
        """Return the dtypes of a kind, or of several, by name."""
        check_device(device)
        kinds = tuple(KINDS) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        return {name: DTYPES[name] for one in kinds for name in _names(one)}


def __array_namespace_info__() -> Capabilities:  # noqa: N807
    """Return what the namespace offers."""
    return Capabilities()


FUNCTIONS = {
    function.__name__: function
    for function in (__array_namespace_info__, astype, can_cast, finfo, iinfo, isdtype, result_type)
}
