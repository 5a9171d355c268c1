"""Arguments of a call, checked and brought into the one form that runs.

Every mistake with arrays (name, count, kind of number, shape, batch, ``out``) is found here,
before anything is computed or written. The error speaks of the user's own formula: what came,
what was expected, what to do. The result is a list of arrays with one batch axis each. Arrays
that share memory are found among those whose addresses meet.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, zip_longest
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..._kernels.unit import is_tangled
from ...errors import ArgumentError, DtypeError, LimitError, ShapeError
from ...frontend.array import Array
from ...frontend.numpy.indexing import is_masked
from ...graph import INT, REAL, Node
from ...graph.primitives import NOTHING_KNOWN, Assumptions
from ...graph.reference.numeric import span
from ...graph.size_equations import bind
from ...graph.sizes import Dim, Shape, Size, Span, named, show, value
from .containers import numbers_of

__all__ = [
    "MOST_AXES",
    "Batch",
    "Parameter",
    "Targets",
    "check_outs",
    "check_spans",
    "coded",
    "holds_symbol",
    "letters_of",
    "match",
    "one_axis",
    "parameters_of",
    "refuse_mappings",
    "sample_shape",
    "stack_batches",
]


def _extent(array: npt.NDArray[Any]) -> tuple[int, int]:
    """Return the first address of an array, and the one behind its last."""
    low = high = int(array.__array_interface__["data"][0])
    if array.flags.c_contiguous or not array.size:
        return low, low + array.nbytes
    for size, stride in zip(array.shape, array.strides, strict=True):
        reach = (size - 1) * stride
        low, high = low + min(0, reach), high + max(0, reach)
    return low, high + array.itemsize


def _share(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Tell whether two arrays share an element; arrays for which that is hard to tell are taken to."""
    effort: Any = 1000
    return np.may_share_memory(a, b, max_work=effort)


class Targets:
    """Arrays that are written to, in order of their addresses.

    Parameters
    ----------
    arrays : sequence of ndarray
    """

    def __init__(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        extents = [_extent(array) for array in arrays]
        self.order = sorted(range(len(arrays)), key=extents.__getitem__)
        self.arrays = arrays
        self.starts = [extents[k][0] for k in self.order]
        #: The furthest end of each and those before it.
        self.ends = list(accumulate((extents[k][1] for k in self.order), max))

    def meet(self, array: npt.NDArray[Any], before: int | None = None) -> bool:
        """Tell whether an array shares an element with one of them, or with one of those before a number."""
        low, high = _extent(array)
        at = bisect_left(self.starts, high) - 1
        while at >= 0 and self.ends[at] > low:
            k = self.order[at]
            if (before is None or k < before) and _share(array, self.arrays[k]):
                return True
            at -= 1
        return False


#: Most axes of a batch, as NumPy broadcasts no more of them.
MOST_BATCH_AXES = 32

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
#: Batch axes that units take; more are brought into one, by copying where that must be.
MOST_AXES = 8


class Parameter(NamedTuple):
    """An input or output of a kernel.

    Parameters
    ----------
    name : str
    shape : tuple of int or Size
        Shape of one sample.
    assumptions : Assumptions
        What is known of the numbers of an input.
    dtype : {"real", "int"}
        Real numbers, or positions.
    """

    name: str
    shape: Shape
    assumptions: Assumptions = NOTHING_KNOWN
    dtype: str = REAL

    def __str__(self) -> str:
        return f"{self.name}: {'int ' if self.dtype is INT else ''}{show(self.shape)}"

    def __repr__(self) -> str:
        known = [name for name, holds in self.assumptions._asdict().items() if holds]
        return f"<{', '.join([str(self), *known])}>"


def parameters_of(inputs: Sequence[Node]) -> list[Parameter]:
    """Return inputs as a kernel has them."""
    return [Parameter(str(node.name), node.shape, node.assumptions, node.dtype) for node in inputs]


@dataclass(frozen=True)
class Batch:
    """The arguments of one call in the form that runs.

    Parameters
    ----------
    shape : tuple of int
        Shape of the batch, ``()`` for a single sample.
    count : int
        Number of samples.
    arrays : list of ndarray
        One for each input, the batch's axes in front, of the batch's lengths or of length 1.
    dtype : dtype
        Of the results.
    sizes : dict of str to int
        Numbers of the symbolic sizes.
    has_axes : tuple of bool
        Which inputs came with axes of a batch.
    """

    shape: tuple[int, ...]
    count: int
    arrays: list[Floats]
    dtype: np.dtype[Any]
    sizes: dict[str, int]
    has_axes: tuple[bool, ...] = ()


def match(inputs: Sequence[Parameter], given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Put arguments given by position and by name into the order of the inputs.

    Raises
    ------
    ArgumentError
        Too many arguments, an unknown name, one given twice, one missing.
    DtypeError
        For a dict in place of arrays.
    """
    names = [p.name for p in inputs]
    if len(given) > len(names):
        refuse_mappings(inputs, given)
        raise ArgumentError(f"{len(given)} arguments by position for {len(names)} inputs; expected {_listed(inputs)}")
    found = dict(zip(names, given, strict=False))
    for name, argument in named.items():
        if name in found:
            raise ArgumentError(f"the input {name!r} is given by position and by name; give it once")
        if name not in names:
            from difflib import get_close_matches

            close = get_close_matches(str(name), names, 1)
            hint = f"; did you mean {close[0]!r}? Expected" if close else "; expected"
            of_table = all(name in named or name in found for name in names) and len(named) > len(names) > 0
            wide = "; k(inputs=table) takes the columns of a table that are inputs" if of_table else ""
            raise ArgumentError(f"no input is called {name!r}{hint} {_listed(inputs)}{wide}")
        found[name] = argument
    missing = [p for p in inputs if p.name not in found]
    if missing:
        refuse_mappings(inputs, given)
        table = len(given) == 1 and hasattr(given[0], "columns")
        wide = "; k(inputs=table) takes the columns of a table that are inputs" if table else ""
        raise ArgumentError(f"missing {_listed(missing)}; expected {_listed(inputs)}, by position or by name{wide}")
    return [found[name] for name in names]


def refuse_mappings(inputs: Sequence[Parameter], given: Sequence[Any]) -> None:
    """Refuse dicts by position, which are no arrays: the inputs by name are meant.

    Raises
    ------
    DtypeError
    """
    for parameter, argument in zip_longest(inputs, given):
        if isinstance(argument, Mapping):
            keys = f"{type(argument).__name__} of {', '.join(map(repr, islice(argument, 5))) or 'nothing'}"
            which = f"{parameter.name} is" if parameter is not None else "an argument is"
            raise DtypeError(
                f"{which} a {keys:.200}; expected {_listed(inputs)}, by position or by name: k(**d) of a dict d of them"
            )


def _listed(inputs: Sequence[Parameter]) -> str:
    return ", ".join(map(str, inputs)) or "no inputs"


def as_floats(name: str, argument: Any) -> Floats:
    """Return an argument as an aligned array of float64 or float32, itself if it is one.

    Raises
    ------
    DtypeError
        For anything but real numbers.
    """
    if type(argument) is np.ndarray and argument.dtype == np.float64 and argument.flags.aligned:
        return argument
    if type(argument) is float:
        return np.array(argument)
    if is_masked(argument):
        raise DtypeError(f"{name} is a masked array, whose mask would be lost; pass {name}.filled(...) or select first")
    argument = numbers_of(name, argument)
    try:
        # Of large integers NumPy makes objects.
        array = np.asarray(float(argument) if type(argument) is int else argument)
    except ValueError as error:
        told = "rows of different lengths came" if "inhomogeneous" in str(error) else error
        raise ShapeError(f"{name} is no array of numbers: {told}; expected numbers, or nested lists of them") from error
    except Exception as error:
        from .containers import told_of_foreign

        raise DtypeError(told_of_foreign(name, argument, error)) from error
    kind = array.dtype
    if kind.kind not in "fiub" or kind.itemsize > 8:
        from .containers import told_of_no_numbers

        raise DtypeError(told_of_no_numbers(name, argument, array))
    single = kind.kind == "f" and kind.itemsize == 4
    return np.require(array, np.float32 if single else np.float64, "A")


def as_integers(name: str, argument: Any) -> npt.NDArray[Any]:
    """Return an argument as an array of integers, of whatever type it has.

    Raises
    ------
    DtypeError
        For anything else: positions are not rounded.
    """
    if isinstance(argument, np.ma.MaskedArray):
        raise DtypeError(f"{name} is a masked array, whose mask would be lost; pass {name}.filled(...) or select first")
    argument = numbers_of(name, argument)
    try:
        array = np.asarray(argument)
    except ValueError as error:
        raise ShapeError(f"{name} is no array of numbers: {error}") from error
    except Exception as error:
        from .containers import told_of_foreign

        raise DtypeError(told_of_foreign(name, argument, error)) from error
    if array.dtype.kind not in "iu":
        if array.size == 0 and isinstance(argument, list | tuple):  # NumPy has them float
            return array.astype(np.int64)
        what = f"a {type(argument).__name__}" if array.dtype.kind == "O" else f"an array of {array.dtype}"
        raise DtypeError(
            f"{name} is {what}; expected integers (int64, int32, ...), since positions are not rounded: convert it "
            "with .astype(int)"
        )
    return array


def stack_batches(
    inputs: Sequence[Parameter], arguments: Sequence[Any], batched: frozenset[str] | None, columns: bool
) -> Batch:
    """Check kinds and shapes of all arguments and broadcast their batch axes together.

    Parameters
    ----------
    inputs : sequence of Parameter
    arguments : sequence
        One for each input.
    batched : frozenset of str, optional
        Inputs that may have batch axes; None for all.
    columns : bool
        Batch axes stand behind a sample's own axes, not before.

    Raises
    ------
    DtypeError, ShapeError
    LimitError
        For more samples than can be counted.
    """
    arrays: list[Floats] = []
    batches: list[tuple[int, ...]] = []
    wrong: list[str] = []
    for p, argument in zip(inputs, arguments, strict=True):
        try:
            array: npt.NDArray[Any] = as_floats(p.name, argument) if p.dtype is REAL else as_integers(p.name, argument)
        except DtypeError:
            refuse_mappings(inputs, arguments)
            raise
        own = len(p.shape)
        extra = array.ndim - own
        allowed = batched is None or p.name in batched
        if columns and extra > 0:
            array = array.transpose(*range(own, array.ndim), *range(own))
        sample = array.shape[max(extra, 0) :]
        if extra < 0 or (extra > 0 and not allowed) or not _fits(p.shape, sample):
            expected = show(p.shape)
            if allowed:
                axes = ", ".join(map(str, p.shape))
                wide = f"{axes}, ..." if columns else f"..., {axes}"
                expected += f" or ({wide.strip(', ')})"
            free = ", ".join(sorted(batched or ())) or "no input"
            why = "" if allowed or extra <= 0 else f"; batch= lets {free} alone have more axes"
            wrong.append(f"{p.name} has shape {show(np.shape(argument))}; expected {expected}{why}")
        arrays.append(array)
        batches.append(array.shape[:extra])
    if wrong:
        order = f". The order is {', '.join(p.name for p in inputs)}" if len(wrong) > 1 else ""
        raise ShapeError(". ".join(wrong) + order)
    if len(max(batches, key=len, default=())) > MOST_BATCH_AXES:
        told = ", ".join(f"{p.name} has {len(b)}" for p, b in zip(inputs, batches, strict=True))
        raise LimitError(f"{told} batch axes; expected {MOST_BATCH_AXES} at most: reshape them to fewer")
    samples = [array.shape[len(lead) :] for array, lead in zip(arrays, batches, strict=True)]
    sizes = bind([p.name for p in inputs], [p.shape for p in inputs], samples)
    try:
        shape = np.broadcast_shapes(*batches)
    except ValueError:
        told = ", ".join(f"{p.name} {show(b)}" for p, b in zip(inputs, batches, strict=True) if b)
        aligned = zip_longest(*(lead[::-1] for lead in batches), fillvalue=1)
        if all(len({*lengths} - {1}) <= 1 for lengths in aligned):
            raise LimitError(f"a batch of more samples than can be counted: {told}") from None
        raise ShapeError(
            f"batch axes do not broadcast: {told}; they follow NumPy's rule, equal or 1 from the last axis backwards"
        ) from None
    reals = [(a, x) for p, a, x in zip(inputs, arrays, arguments, strict=True) if p.dtype is REAL]
    firm = [a for a, x in reals if type(x) not in (bool, int, float)]
    single = bool(firm) and all(a.dtype == np.float32 for a in firm)
    dtype = np.dtype(np.float32 if single else np.float64)
    # Python's numbers have no type of their own; axes that a batch lacks have length 1.
    full = [
        (a.astype(dtype, copy=False) if single and p.dtype is REAL else a).reshape(
            (*(1,) * (len(shape) - len(b)), *a.shape)
        )
        for p, a, b in zip(inputs, arrays, batches, strict=True)
    ]
    return Batch(shape, math.prod(shape), full, dtype, sizes, tuple(map(bool, batches)))


def _fits(wanted: Shape, got: tuple[int, ...]) -> bool:
    return all(isinstance(size, Size) or size == length for size, length in zip(wanted, got, strict=True))


def one_axis(array: Floats, batch: tuple[int, ...]) -> Floats:
    """Bring an array's batch axes into one, of the batch's size or 1; copies where strides do not allow it."""
    own, sample = array.shape[: len(batch)], array.shape[len(batch) :]
    if math.prod(own) == 1:
        return array.reshape(1, *sample)
    if own != batch:
        array = np.broadcast_to(array, (*batch, *sample))
    return array.reshape(math.prod(batch), *sample)


def check_outs(
    outputs: Sequence[Parameter], shapes: Sequence[tuple[int, ...]], outs: Sequence[Any], dtype: np.dtype[Any]
) -> None:
    """Check the arrays given as ``out``, before anything is written.

    Raises
    ------
    ArgumentError, ShapeError, DtypeError
    """
    for p, shape, out in zip(outputs, shapes, outs, strict=True):
        name = f"out for {p.name}" if len(outputs) > 1 else "out"
        if not isinstance(out, np.ndarray) or is_masked(out):
            raise ArgumentError(f"{name} is a {type(out).__name__}; expected an ndarray of shape {show(shape)}")
        if out.shape != shape:
            raise ShapeError(f"{name} has shape {show(out.shape)}; expected {show(shape)}")
        if out.dtype not in (dtype, np.dtype(np.float64)):
            raise DtypeError(f"{name} holds {out.dtype}; expected {dtype}")
        if not out.flags.writeable:
            raise ArgumentError(f"{name} is read-only; pass an array that can be written")
        if out.size and is_tangled(out):
            raise ArgumentError(f"{name} is a view whose elements share memory, such as a broadcast one; pass its own")
    targets = Targets(outs)
    for k, out in enumerate(outs):
        if targets.meet(out, before=k):
            raise ArgumentError(f"out for {outputs[k].name} overlaps another output; pass separate arrays")


def sample_shape(shape: Sequence[Dim], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return a shape with the numbers of its symbolic sizes; a size below 0, of slices beyond an end, is refused."""
    found = tuple([value(size, sizes) for size in shape])
    if found and min(found) < 0:
        told = ", ".join(f"{name} = {number}" for name, number in sizes.items())
        raise ShapeError(f"an array of shape {show(tuple(shape))} does not exist for {told}; give larger arrays")
    return found


def check_spans(spans: Sequence[Span], sizes: Mapping[str, int]) -> None:
    """Refuse arrays that are too small for what a formula takes of them.

    Raises
    ------
    ShapeError
    """
    for start, step, length, size in spans:
        count = 1 if length is None else value(length, sizes)
        span(value(start, sizes), step, count, value(size, sizes))


def coded(shape: Shape, letters: Sequence[str]) -> tuple[int, ...]:
    """Return a shape in which named sizes are -1, -2, ... by their place among the kernel's."""
    return tuple(size if isinstance(size, int) else -1 - letters.index(str(size)) for size in shape)


def holds_symbol(value: Any, depth: int = MOST_AXES) -> bool:
    """Tell whether an argument is a symbol, or a list with symbols in it."""
    if isinstance(value, list | tuple):
        return depth > 0 and any(holds_symbol(part, depth - 1) for part in value)
    return isinstance(value, Array)


def letters_of(inputs: Sequence[Parameter]) -> list[str] | None:
    """Return the named sizes of inputs in order, None where a size is more than a name."""
    found: list[str] = []
    for parameter in inputs:
        for size in parameter.shape:
            if isinstance(size, int):
                continue
            name = str(size)
            if size != named(name) or name not in size.names:
                return None
            if name not in found:
                found.append(name)
    return found
