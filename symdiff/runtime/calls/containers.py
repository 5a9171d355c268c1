"""Columns and arrays of pandas, Polars, Arrow and xarray as NumPy's arrays of the same numbers.

Nothing is copied where their memory has NumPy's form. These libraries tell a missing value from a number, and NumPy's
arrays cannot: a conversion would make nan of it in silence, so it is refused by name and place. A nan is a number as it
is in NumPy's arrays. None of the libraries is imported here: what comes from one has it imported.
An argument that is no array of numbers is refused with the form to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..._kernels.call import container_library
from ...errors import ArgumentError, DtypeError

__all__ = ["columns_of", "is_lazy", "numbers_of", "rank_of", "stranger", "told_of_foreign", "told_of_no_numbers"]


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


Numbers = npt.NDArray[Any]

_EXPECTED = "expected real numbers (float64, float32, integers or bool)"
#: Objects of Dask's that are no arrays, and forms to write.
_OF_DASK = {
    "Array": "whose numbers are not computed here; call the kernel with it, or pass {0}.compute()",
    "Delayed": "which is not computed yet; pass {0}.compute()",
    "DataFrame": "which has no rows yet; write frame.map_partitions(lambda part: kernel(**part))",
    "Series": "which has no rows yet; write {0}.to_dask_array(lengths=True), or frame.map_partitions(...)",
}


def is_lazy(argument: Any) -> bool:
    """Tell whether an argument is an array of Dask's."""
    return container_library(argument) == "dask" and type(argument).__name__ == "Array"


def rank_of(argument: Any) -> int:
    """Return the number of axes of an argument, 0 of one that is refused when it is read."""
    try:
        return np.ndim(argument)
    except ValueError:  # nested lists of several lengths
        return 0


def columns_of(frame: Any, wanted: Sequence[str]) -> Mapping[str, Any]:
    """Return the columns of a table that are wanted, by name; anything that is no table as it is.

    Raises
    ------
    ArgumentError
        For a table without rows of its own, or with two columns of a name.
    """
    library, kind = container_library(frame), type(frame).__name__
    if library == "polars" and kind == "LazyFrame":
        raise ArgumentError("inputs= holds a LazyFrame; pass frame.collect()")
    if library == "dask":
        raise ArgumentError(f"inputs= holds a {kind} of Dask; write frame.map_partitions(lambda part: kernel(**part))")
    if library == "pyarrow" and hasattr(frame, "column_names"):
        names: list[Any] = list(frame.column_names)
    elif library in ("pandas", "polars") and kind != "Series" and hasattr(frame, "columns"):
        names = list(frame.columns)
    else:
        found: Mapping[str, Any] = frame
        return found
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise ArgumentError(f"the table has two columns called {twice[0]!r}; expected one")
    return {name: frame[name] for name in wanted if name in names}


def numbers_of(name: str, argument: Any) -> Any:
    """Return an argument as an array of NumPy's, itself if it comes from none of the libraries.

    Parameters
    ----------
    name : str
        Of the input.
    argument
        A Series, DataFrame, Arrow array, table, DataArray, or anything else.

    Raises
    ------
    DtypeError
        For missing values, objects, decimal numbers, dates and text, and what is not computed yet.
    """
    library = None if type(argument) is np.ndarray else container_library(argument)
    return argument if library is None else _READERS[library](name, argument)


def _refuse(name: str, what: str, remedy: str) -> NoReturn:
    raise DtypeError(f"{name} is {what}; {_EXPECTED}: {remedy}")


def _refuse_missing(name: str, where: object, remedy: str) -> NoReturn:
    raise DtypeError(f"{name} has a missing value, the first at {where}; {remedy}")


def _side_by_side(columns: Iterable[Numbers], rows: int) -> Numbers:
    """Return columns as one array (rows, columns) of a type that holds them all."""
    several = list(columns)
    return np.column_stack(several) if several else np.empty((rows, 0))


# ---------------------------------------------------------------------------- pandas


def _of_pandas(name: str, argument: Any) -> Any:
    if hasattr(argument, "columns"):
        if all(_is_plain(kind) for kind in argument.dtypes) and argument.dtypes.nunique() <= 1:
            return argument.to_numpy()
        columns = [argument.iloc[:, k] for k in range(argument.shape[1])]
        labels = [f"column {label!r} of {name}" for label in argument.columns]
        return _side_by_side(map(_pandas_column, labels, columns), len(argument))
    if hasattr(argument, "dtype") and hasattr(argument, "isna"):
        return _pandas_column(name, argument)
    kind = type(argument).__name__
    if kind in ("NAType", "NaTType"):
        _refuse_missing(name, "its place", "pass a number")
    return _refuse(name, f"a {kind} of pandas", "pass a Series or a DataFrame of numbers")


def _is_plain(kind: Any) -> bool:
    """Tell whether a type of NumPy's is one of real numbers."""
    return isinstance(kind, np.dtype) and kind.kind in "fiub"


def _pandas_column(name: str, column: Any) -> Numbers:
    kind = column.dtype
    if _is_plain(kind):
        return np.asarray(column)
    of = getattr(kind, "numpy_dtype", None) or getattr(kind, "subtype", None)  # of masked, Arrow's and sparse columns
    if isinstance(kind, np.dtype) or not _is_plain(of):
        remedy = "convert it with .astype(float)" if getattr(kind, "kind", "O") in "Of" else "pass numbers in its place"
        _refuse(name, f"a column of {_named(column)}", remedy)
    if not hasattr(kind, "subtype"):
        missing = np.asarray(column.isna())
        if missing.any():
            place = int(missing.argmax())
            label = column.index[place] if hasattr(column, "index") else place
            _refuse_missing(name, f"row {label!r}", "fill it (.fillna), or drop such rows (.dropna)")
    return np.asarray(column.to_numpy(dtype=of))


def _named(column: Any) -> str:
    """Say what a column holds: its type, and for objects what the first one is that is no float."""
    if str(column.dtype) != "object":
        return str(column.dtype)
    return f"objects, of {type(stranger(column)).__name__} among them"


# ---------------------------------------------------------------------------- Polars


def _of_polars(name: str, argument: Any) -> Any:
    kind = type(argument).__name__
    if kind in ("LazyFrame", "Expr"):
        remedy = "pass frame.collect()" if kind == "LazyFrame" else "select it from a frame first, frame[column]"
        raise DtypeError(f"{name} is a {kind} of Polars, which has no numbers yet; {remedy}")
    if kind == "DataFrame":
        labels = [f"column {label!r} of {name}" for label in argument.columns]
        columns = list(map(_polars_column, labels, argument.get_columns()))
        same = len(set(argument.dtypes)) == 1 and columns[0].dtype.kind in "fiu"
        return argument.to_numpy() if same else _side_by_side(columns, argument.height)
    if kind == "Series":
        return _polars_column(name, argument)
    return _refuse(name, f"a {kind} of Polars", "pass a Series or a DataFrame of numbers")


def _polars_column(name: str, column: Any) -> Numbers:
    kind, elements = column.dtype, column
    while hasattr(kind, "shape") and hasattr(kind, "inner"):  # arrays of a fixed length in each row
        _check_polars_nulls(name, elements)
        kind, elements = kind.inner, elements.explode()
    is_number = kind.is_float() or kind.is_integer() or str(kind) == "Boolean"
    if not is_number:
        remedies = {"Decimal": "write .cast(pl.Float64)", "List": "write .list.to_array(width) where all are as long"}
        remedy = remedies.get(str(kind).partition("(")[0], "pass numbers in its place")
        _refuse(name, f"a column of {column.dtype} (Polars)", remedy)
    _check_polars_nulls(name, elements)
    return np.asarray(column.to_numpy())


def _check_polars_nulls(name: str, column: Any) -> None:
    if column.null_count():
        _refuse_missing(name, f"row {column.is_null().arg_max()}", "fill it (.fill_null), or drop such rows")


# ---------------------------------------------------------------------------- Arrow


def _of_pyarrow(name: str, argument: Any) -> Any:
    if hasattr(argument, "column_names"):  # a table, or a batch of records
        labels = [f"column {label!r} of {name}" for label in argument.column_names]
        return _side_by_side(map(_arrow_column, labels, argument.columns), argument.num_rows)
    if hasattr(argument, "null_count") and hasattr(argument, "type"):
        return _arrow_column(name, argument)
    if hasattr(argument, "as_py"):
        number = argument.as_py()
        if number is None:
            _refuse_missing(name, "its place", "pass a number")
        return number
    if hasattr(argument, "dim_names"):  # a tensor
        return argument.to_numpy()
    return _refuse(name, f"a {type(argument).__name__} of Arrow", "pass an array of numbers")


def _arrow_column(name: str, column: Any) -> Numbers:
    from pyarrow import types

    kind = column.type
    parts = column.chunks if hasattr(column, "chunks") else [column]
    if types.is_fixed_size_list(kind):
        _check_arrow_nulls(name, parts)
        width = kind.list_size
        rows = [_arrow_column(name, part.flatten()).reshape(len(part), width) for part in parts]
        return rows[0] if len(rows) == 1 else np.concatenate([np.empty((0, width)), *rows])
    if hasattr(kind, "storage_type"):  # tensors of a fixed shape in each row
        _check_arrow_nulls(name, parts)
        stored = [_arrow_column(name, part.storage) for part in parts]
        return np.concatenate(stored).reshape(-1, *kind.shape) if hasattr(kind, "shape") else np.concatenate(stored)
    if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
        remedies = {"decimal": "write .cast(pyarrow.float64())", "dictionary": "write .dictionary_decode()"}
        remedy = next((told for word, told in remedies.items() if str(kind).startswith(word)), "pass numbers instead")
        _refuse(name, f"a column of {kind} (Arrow)", remedy)
    _check_arrow_nulls(name, parts)
    if len(parts) == 1:
        return np.asarray(parts[0].to_numpy(zero_copy_only=False))
    return np.asarray(column.to_numpy())


def _check_arrow_nulls(name: str, parts: Sequence[Any]) -> None:
    before = 0
    for part in parts:
        if part.null_count:
            row = before + int(np.argmax(part.is_null().to_numpy(zero_copy_only=False)))
            _refuse_missing(name, f"row {row}", "fill it (pyarrow.compute.fill_null), or drop such rows")
        before += len(part)


# ---------------------------------------------------------------------------- xarray and Dask


def _of_xarray(name: str, argument: Any) -> Any:
    if not hasattr(argument, "data") or not hasattr(argument, "dims"):
        what = f"{name} is a {type(argument).__name__} of xarray"
        raise DtypeError(f"{what}; expected one array: pass its variables by name, kernel(**data)")
    inner = numbers_of(name, argument.data)
    if isinstance(inner, np.ndarray) and inner.dtype.kind == "O":
        _refuse(name, "a DataArray of objects", "convert it with .astype(float)")
    return inner


def _of_dask(name: str, argument: Any) -> Any:
    kind = type(argument).__name__
    told = _OF_DASK.get(kind, "which is not computed yet; pass {0}.compute()").format(name)
    raise DtypeError(f"{name} is {'an' if kind == 'Array' else 'a'} {kind} of Dask, {told}")


_READERS = {
    "pandas": _of_pandas,
    "polars": _of_polars,
    "pyarrow": _of_pyarrow,
    "xarray": _of_xarray,
    "dask": _of_dask,
}
