"""Labels of a batch: the index of pandas, dims and coordinates of xarray, kept from the arguments to the results.

Samples are matched by position, as in any call. So arguments with labels must agree in them, and are refused where they
do not: nothing is put in another order, and no row is left out. Arguments without labels go along. Axes of a sample
have places, no labels. Polars' and Arrow's columns have no labels, and results of them are NumPy's arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..._kernels.call import container_library
from ...errors import ArgumentError
from .arguments import Parameter
from .containers import is_lazy, numbers_of

__all__ = ["Labels", "without_labels"]


@dataclass(frozen=True)
class FrameLabels:
    """Labels of pandas.

    Parameters
    ----------
    axes : tuple of (pandas.Index or None)
        One for each axis of the batch, counted from the last one; None where it has no labels.
    behind : bool
        Batch axes stand behind a sample's own.
    """

    axes: tuple[Any, ...]
    behind: bool

    def put_on(self, result: Any, own: int) -> Any:
        """Return a result as a Series or DataFrame; an array of more axes as it is.

        Parameters
        ----------
        result : ndarray
        own : int
            Axes of one sample of it.
        """
        lead = np.ndim(result) - own
        if not 1 <= np.ndim(result) <= 2 or not lead or is_lazy(result):
            return result
        import pandas as pd

        batch: list[Any] = [None] * lead
        batch[lead - len(self.axes) :] = self.axes[::-1]
        axes = [*[None] * own, *batch] if self.behind else [*batch, *[None] * own]
        if len(axes) == 1:
            return pd.Series(result, axes[0], copy=False)
        return pd.DataFrame(result, axes[0], axes[1], copy=False)


@dataclass(frozen=True)
class ArrayLabels:
    """Labels of xarray.

    Parameters
    ----------
    dims : tuple of hashable
        Of the batch's axes.
    coords : dict
        Coordinates along these.
    behind : bool
        Batch axes stand behind a sample's own.
    """

    dims: tuple[Any, ...]
    coords: dict[Any, Any]
    behind: bool

    def put_on(self, result: Any, own: int) -> Any:
        """Return a result as a DataArray, whose own axes are called dim_0, dim_1 and so on, as xarray does."""
        lead = np.ndim(result) - own
        if lead == 0:
            return result
        import xarray

        names = [f"dim_{k}" for k in range(own + len(self.dims))]
        free = [name for name in names if name not in self.dims][:own]
        dims = [*free, *self.dims] if self.behind else [*self.dims, *free]
        made = xarray.DataArray(result, self.coords, dims)
        made.name = None  # an array of Dask would give it that of its task
        return made


Labels: TypeAlias = FrameLabels | ArrayLabels


def without_labels(
    inputs: Sequence[Parameter], arguments: Sequence[Any], behind: bool
) -> tuple[list[Any], Labels | None]:
    """Return arguments as NumPy's arrays, or Dask's, and the labels of their batch; None where there are none.

    Raises
    ------
    ArgumentError
        If labels disagree.
    DtypeError
        For missing values, objects and the like.
    """
    libraries = [None if type(one) is np.ndarray else container_library(one) for one in arguments]
    own = [len(p.shape) for p in inputs]
    labelled = {one for one in libraries if one in ("pandas", "xarray")}
    plain = [one if is_lazy(one) else _unwrapped(p.name, one) for p, one in zip(inputs, arguments, strict=True)]
    frames = {
        k: _batch_part([one.index, one.columns] if hasattr(one, "columns") else [one.index], own[k], behind)
        for k, one in enumerate(arguments)
        if libraries[k] == "pandas" and hasattr(one, "iloc")
    }
    arrays = {k: one for k, one in enumerate(arguments) if libraries[k] == "xarray"}
    if arrays and any(frames.values()):
        told = ", ".join(f"{p.name} ({lib})" for p, lib in zip(inputs, libraries, strict=True) if lib in labelled)
        raise ArgumentError(f"labels of two libraries: {told}; pass arrays of one, x.to_numpy() for those of the other")
    names = [p.name for p in inputs]
    labels: Labels
    if arrays:
        labels, lengths = _of_arrays(names, arrays, plain, own, behind)
    else:
        labels = FrameLabels(_of_frames(names, frames), behind)
        lengths = [len(index) for index in labels.axes]
    for k, name in enumerate(names if lengths else []):
        batch = _batch_part(np.shape(plain[k]), own[k], behind)[::-1]
        if arrays and len(batch) > len(lengths):
            raise ArgumentError(f"{name} has {len(batch)} batch axes without names, besides dims of others; name them")
        if any(length == 1 != found for length, found in zip(lengths, batch, strict=False)):
            raise ArgumentError(f"{name} has more samples than there are labels; pass the labelled one as x.to_numpy()")
    return plain, labels if lengths else None


def _unwrapped(name: str, argument: Any) -> Any:
    """Return numbers, or the array of Dask's that stands in an array of xarray's."""
    is_lazy_inside = container_library(argument) == "xarray" and is_lazy(getattr(argument, "data", None))
    return argument.data if is_lazy_inside else numbers_of(name, argument)


def _batch_part(axes: Sequence[Any], own: int, behind: bool) -> list[Any]:
    """Return what belongs to the batch of the labels of all axes."""
    return list(axes[own:] if behind else axes[: max(len(axes) - own, 0)])


def _of_frames(names: Sequence[str], frames: dict[int, list[Any]]) -> tuple[Any, ...]:
    """Return the labels of each axis of the batch, from the last one."""
    axes: list[Any] = []
    first: list[str] = []
    for k, own in frames.items():
        for place, index in enumerate(own[::-1]):
            if place == len(axes):
                axes.append(index)
                first.append(names[k])
            elif not axes[place].equals(index):
                raise ArgumentError(
                    f"{names[k]} and {first[place]} have different labels: {_difference(index, axes[place])}; rows are "
                    "matched by position: align them first (x.align(y, join='inner')), or pass x.to_numpy()"
                )
            elif list(axes[place].names) != list(index.names):
                axes[place] = axes[place].rename([None] * index.nlevels if index.nlevels > 1 else None)
    return tuple(axes)


def _difference(index: Any, other: Any) -> str:
    if len(index) != len(other):
        return f"{len(index)} and {len(other)} of them"
    place = next((k for k, (a, b) in enumerate(zip(index, other, strict=True)) if a != b), 0)
    return f"{index[place]!r:.40} and {other[place]!r:.40} in place {place}"


def _of_arrays(
    names: Sequence[str], arrays: dict[int, Any], plain: list[Any], own: Sequence[int], behind: bool
) -> tuple[ArrayLabels, list[int]]:
    """Bring arrays of xarray to common dims, by name as xarray does, in place.

    Returns
    -------
    ArrayLabels
    list of int
        Lengths of the dims, from the last one.
    """
    leads = {k: _batch_part(one.dims, own[k], behind) for k, one in arrays.items()}
    sizes: dict[Any, tuple[int, str]] = {}
    for k, one in arrays.items():
        for dim in leads[k]:
            length, other = sizes.setdefault(dim, (one.sizes[dim], names[k]))
            if length != one.sizes[dim]:
                raise ArgumentError(f"{names[k]} has {one.sizes[dim]} places along {dim!r}, {other} has {length}")
    dims = tuple(sizes)
    for k, lead in leads.items():
        if np.ndim(plain[k]) >= own[k]:
            plain[k] = _spread(plain[k], lead, dims, own[k], behind)
    coords = _common_coords(names, arrays, leads)
    return ArrayLabels(dims, coords, behind), [length for length, _ in sizes.values()][::-1]


def _spread(array: Any, lead: Sequence[Any], dims: Sequence[Any], own: int, behind: bool) -> Any:
    """Return an array with its batch axes in the order of ``dims``, of length 1 along those that it lacks."""
    start = own if behind else 0
    order = [start + lead.index(dim) for dim in dims if dim in lead]
    array = array.transpose([*range(own), *order] if behind else [*order, *range(len(lead), array.ndim)])
    sample = array.shape[:own] if behind else array.shape[len(lead) :]
    found = iter(array.shape[start : start + len(lead)])
    wide = [next(found) if dim in lead else 1 for dim in dims]
    return array.reshape((*sample, *wide) if behind else (*wide, *sample))


def _common_coords(names: Sequence[str], arrays: dict[int, Any], leads: dict[int, list[Any]]) -> dict[Any, Any]:
    """Return coordinates along the batch: those of an index agree, of others the ones that do."""
    coords: dict[Any, Any] = {}
    origin: dict[Any, str] = {}
    for k, one in arrays.items():
        for label, coord in one.coords.items():
            if not set(coord.dims) <= set(leads[k]):
                continue
            if label not in origin:
                coords[label], origin[label] = coord.variable, names[k]
            elif label in coords and not coords[label].equals(coord.variable):
                if label in leads[k]:
                    told = f"{label!r}: {_difference(one.indexes[label], coords[label].to_index())}"
                    raise ArgumentError(
                        f"{names[k]} and {origin[label]} have different coordinates along {told}; align them first "
                        "(xarray.align(x, y, join='inner')), or pass x.to_numpy()"
                    )
                del coords[label]  # as xarray does
    return coords
