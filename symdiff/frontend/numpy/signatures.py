"""What an operation takes beside arrays: its arguments by name, each of its kind.

NumPy's functions agree on what ``axis``, ``keepdims`` or ``k`` are, so one table of kinds serves
all operations. What is of another kind (a truth value for an axis, a fraction for a count) is
refused here, by name, before an operation sees it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError, UnsupportedError
from .library import Entry
from .shaping import shown, whole_number

__all__ = ["bind_options"]

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


#: How many arguments are arrays, where that is no number.
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
        raise ArgumentError(f"{entry.name} takes {wanted} arguments; {len(args)} came{form}")
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
