"""Declarations of inputs, checked on the numbers of a call: assumptions, and positions within range.

Simplification relies on what is declared, so a wrong matrix would give a wrong result in silence. Checks that look at
each element once are made at every call: compiled ones by ``_kernels/arrays/declared.h``, before anything runs, and
those here where a call goes the long way or an argument failed. These say what is wrong, and where. To find that a
matrix is orthogonal or definite takes a product or a factorization, and is checked for ``validate=True``.

Behind their check, positions are float64 like any other input, which hold each whole number of an array's length. So
programs and plans have no other kind of numbers.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError, ShapeError, UnsupportedError
from ...graph import INT, Node, inputs_of, postorder
from ...graph.primitives import BY_POSITION, Assumptions
from ...graph.size_equations import bind
from ...graph.sizes import Dim, Size, named, show, value
from .arguments import Batch, Parameter, as_integers, coded

__all__ = [
    "PositionRange",
    "bits",
    "check",
    "check_all",
    "check_positions",
    "coded_ranges",
    "floats",
    "needs_validation",
    "ranges_of",
    "refuse_positions",
    "taken_by",
    "with_positions",
]


#: Axes with positions that compiled code checks, at most.
MOST_RANGES = 128
#: The size of an axis that has every position of an array.
ANYWHERE = 2**31 - 1


class PositionRange(NamedTuple):
    """Positions of one axis.

    Parameters
    ----------
    name : str
        Of the input that brings them.
    at : Node
        That input, or a part of it.
    size : int or Size
        Length of the axis.
    """

    name: str
    at: Node
    size: Dim


def ranges_of(outputs: Iterable[Node]) -> list[PositionRange]:
    """Return where the positions of a formula have to lie."""
    found: dict[PositionRange, None] = {}
    for node in postorder(outputs):
        if node.op in BY_POSITION:
            at = node.args[1]
            size = (node.args[0] if node.op == "take" else node).shape[node.payload.axis]
            (source,) = inputs_of([at])
            found.setdefault(PositionRange(str(source.name), at, size))
    return list(found)


def check_positions(
    inputs: Sequence[Parameter],
    batch: Batch,
    ranges: Sequence[PositionRange],
    columns: bool,
    *,
    as_floats: bool = True,
) -> None:
    """Check positions against the axes that they are of, and make float64 of them.

    Raises
    ------
    ShapeError
        With the name, the place in the argument and the value of the first position that is out of range.
    """
    place = {p.name: k for k, p in enumerate(inputs)}
    for one in ranges:
        k = place[one.name]
        array, size = batch.arrays[k], value(one.size, batch.sizes)
        if not array.size:
            continue
        lowest, highest = array.min(), array.max()
        if lowest >= 0 and highest < size:
            continue
        part = part_of(one.at, array)
        outside = np.flatnonzero((part < 0) | (part >= size))
        if outside.size:
            raise ShapeError(_told(one, inputs[k], array, int(outside[0]), size, columns))
    if as_floats:
        floats(inputs, batch)


def floats(inputs: Sequence[Parameter], batch: Batch) -> None:
    """Make float64 of positions, as programs and plans take them."""
    for k, p in enumerate(inputs):
        if p.dtype is INT:
            batch.arrays[k] = batch.arrays[k].astype(np.float64)


def coded_ranges(
    inputs: Sequence[Parameter], ranges: Sequence[PositionRange], letters: Sequence[str]
) -> list[tuple[int, int]] | None:
    """Return the input and the size of each range, as compiled code checks them.

    Positions in a part of an input are checked with the whole of it, and positions that the formula does not read have
    any place: a call that compiled code refuses goes the long way, which looks at what is read.

    Returns
    -------
    list of tuple of int, or None
        None where it cannot: for positions of an axis whose size is no letter of the inputs. Calls go the long way.
    """
    found: list[tuple[int, int]] = []
    place = {p.name: k for k, p in enumerate(inputs)}
    for one in ranges:
        if not isinstance(one.size, int) and not (str(one.size) in letters and one.size == named(str(one.size))):
            return None
        found.append((place[one.name], coded((one.size,), letters)[0]))
    bound = {k for k, _ in found}
    found += [(k, ANYWHERE) for k, p in enumerate(inputs) if p.dtype is INT and k not in bound]
    return found if len(found) <= MOST_RANGES else None


def part_of(at: Node, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the part of an argument that is used, with the batch's axes in one in front."""
    (source,) = inputs_of([at])
    lead = array.ndim - source.ndim
    # there may be no position: -1 would tell nothing
    rows = array.reshape(math.prod(array.shape[:lead]), *array.shape[lead:])
    return rows if at is source else _function(source, at)(rows)[0]


@cache
def _function(source: Node, at: Node) -> Callable[..., tuple[npt.NDArray[Any], ...]]:
    from ...codegen.numpy.emit import emit_numpy, load_numpy  # few calls need it

    return load_numpy(emit_numpy([source], [at]))


def _told(
    one: PositionRange, p: Parameter, array: npt.NDArray[Any], which: int, size: int, columns: bool
) -> str:
    # the same part of the places themselves says where it stands
    places = np.arange(array.size).reshape(array.shape)
    flat = int(part_of(one.at, places).flat[which])
    index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
    lead, own = index[: array.ndim - len(p.shape)], index[array.ndim - len(p.shape) :]
    while lead and array.shape[array.ndim - len(p.shape) - len(lead)] == 1:
        lead = lead[1:]
    spot = (*own, *lead) if columns else (*lead, *own)
    shown = f"{one.name}[{', '.join(map(str, spot))}]" if spot else one.name
    letter = f" = {one.size}" if isinstance(one.size, Size) else ""
    found = array[index]
    why = "; positions are counted from the front, negative ones are refused" if found < 0 else ""
    if not size:
        return f"{shown} is {found}; the axis that it is a position of has size 0{letter}, and no positions"
    return f"{shown} is {found}; expected 0 to {size - 1}, positions of an axis of size {size}{letter}{why}"


def refuse_positions(inputs: Sequence[Parameter], what: str) -> None:
    """Refuse what would run without a look at positions.

    Raises
    ------
    UnsupportedError
    """
    if any(p.dtype is INT for p in inputs):
        raise UnsupportedError(f"a kernel with positions among its inputs has no {what} would not look at their range")


def taken_by(inputs: Sequence[Parameter], batch: Batch, nodes: Iterable[Node]) -> dict[Node, npt.NDArray[np.int64]]:
    """Return the positions that a call brings, of inputs or parts of them.

    Raises
    ------
    ShapeError
        If samples have positions of their own: each would have a pattern of its own.
    """
    found = {}
    for node in nodes:
        (source,) = inputs_of([node])
        array = next(a for p, a in zip(inputs, batch.arrays, strict=True) if p.name == source.name)
        part = part_of(node, array)
        if len(part) != 1:
            raise ShapeError(
                f"{source.name} is a batch, and each sample would have a pattern of its own; give positions that "
                "all samples share"
            )
        found[node] = part[0].astype(np.int64)
    return found


def with_positions(
    inputs: Sequence[Parameter], given: Mapping[str, Any], needed: bool
) -> tuple[dict[str, int], list[Any]]:
    """Return the numbers of letters, and the arguments: of integer inputs those given, nothing of others."""
    whole = [p for p in inputs if p.dtype is INT]
    missing = [p.name for p in whole if p.name not in given] if needed else []
    if missing:
        raise ArgumentError(
            f"pattern() without {', '.join(missing)}, whose positions say where nonzeros stand; pass {missing[0]}=..."
        )
    known = {p.name: as_integers(p.name, given[p.name]) for p in whole if p.name in given}
    shaped = [p for p in whole if p.name in known]
    for p in shaped:
        if known[p.name].ndim != len(p.shape):
            raise ShapeError(f"{p.name} has shape {show(known[p.name].shape)}; expected {show(p.shape)}")
    sizes = {name: size for name, size in given.items() if name not in known}
    bound = bind(
        [*sizes, *(p.name for p in shaped)],
        [*((n,) for n in map(named, sizes)), *(p.shape for p in shaped)],
        [*((int(n),) for n in sizes.values()), *(known[p.name].shape for p in shaped)],
    ) if shaped else sizes
    arrays = [known.get(p.name, np.zeros((0,) * len(p.shape), np.int64)) for p in inputs]
    return {**sizes, **bound}, arrays


#: Roundings by which elements across the diagonal may differ, of the precision times the largest element.
ROUNDINGS = 100.0
_BITS = {"symmetric": 1, "skew": 2, "lower": 4, "upper": 8, "positive": 16, "definite": 32,
         "between": 64, "simplex": 64, "ordered": 64, "correlation": 64}  # fmt: skip


class _Violation(NamedTuple):
    """Message for numbers that are not as declared: the place, the declaration, what to do."""

    wrong: npt.NDArray[np.bool_]
    fact: str
    advice: str


def bits(assumptions: Assumptions) -> int:
    """Return what is checked at every call, as ``_kernels/arrays/declared.h`` takes it.

    Examples
    --------
    >>> bits(Assumptions(symmetric=True, definite=True))
    33
    """
    return functools.reduce(operator.or_, [bit for name, bit in _BITS.items() if getattr(assumptions, name)], 0)


def needs_validation(assumptions: Assumptions) -> bool:
    """Tell whether there is more to check for ``validate=True``; a diagonal tells whether it is definite."""
    return assumptions.orthogonal or (assumptions.definite and not assumptions.diagonal)


def check_all(inputs: Sequence[Parameter], batch: Batch, validate: bool) -> None:
    """Refuse a call whose numbers are not what is declared; see :func:`check`."""
    for p, array in zip(inputs, batch.arrays, strict=True):
        if any(p.assumptions):
            check(p.name, p.assumptions, array, len(batch.shape), validate)


def check(
    name: str, assumptions: Assumptions, array: npt.NDArray[np.floating[Any]], lead: int, validate: bool = False
) -> None:
    """Refuse numbers that are not what is declared.

    Parameters
    ----------
    name : str
        Of the input.
    assumptions : Assumptions
    array : ndarray
        Samples, with ``lead`` axes of the batch in front.
    lead : int
    validate : bool
        Whether to look at definite and orthogonal matrices too, which takes the third power of their size.

    Raises
    ------
    ArgumentError
        With the first sample that is wrong, and the place in it.
    """
    if not array.size:
        return
    for found in _violations(assumptions, array, validate):
        if found.wrong.any():
            place = tuple(int(i) for i in np.unravel_index(int(np.argmax(found.wrong)), found.wrong.shape))
            raise ArgumentError(_message(name, found, array, place, lead))


def _violations(
    assumptions: Assumptions, array: npt.NDArray[np.floating[Any]], validate: bool
) -> Iterator[_Violation]:
    if assumptions.positive:
        expected = "expected finite numbers above 0 (where an optimizer varies it, write exp(v) of a free v)"
        yield _Violation(~((array > 0) & np.isfinite(array)), "positive", expected)
    if assumptions.between:
        low, high = assumptions.between
        expected = "expected numbers between these, the ends excluded"
        yield _Violation(~((low < array) & (array < high)), f"between {low:g} and {high:g}", expected)
    if assumptions.simplex:
        total = array.sum(-1, keepdims=True, dtype=np.float64)
        wrong = ~(np.abs(total - 1) <= ROUNDINGS * np.finfo(array.dtype).eps)
        yield _Violation(np.broadcast_to(wrong, array.shape), "a simplex", "expected a sum of 1: pass x / x.sum()")
    if assumptions.ordered:
        ascends = np.diff(array, axis=-1) > 0
        yield _Violation(np.insert(~ascends, 0, False, -1), "ordered", "expected elements that ascend: pass np.sort(x)")
    if not any(assumptions.of_matrices):
        return
    n = array.shape[-1]
    if assumptions.lower:
        above = np.triu(np.ones((n, n), bool), 1)
        name, remedy = ("diagonal", "np.diag(np.diag(A))") if assumptions.upper else ("lower triangular", "np.tril(A)")
        yield _Violation((array != 0) & above, name, f"expected 0 above the diagonal: pass {remedy}")
    if assumptions.upper:
        below = np.tril(np.ones((n, n), bool), -1)
        name, remedy = ("diagonal", "np.diag(np.diag(A))") if assumptions.lower else ("upper triangular", "np.triu(A)")
        yield _Violation((array != 0) & below, name, f"expected 0 below the diagonal: pass {remedy}")
    if assumptions.definite:
        wrong = ~(array > 0) & np.eye(n, dtype=bool)
        yield _Violation(wrong, "positive definite", "expected numbers above 0 on the diagonal")
    if assumptions.correlation:
        wrong = ~(np.abs(array - 1) <= ROUNDINGS * np.finfo(array.dtype).eps) & np.eye(n, dtype=bool)
        yield _Violation(wrong, "a correlation", "expected 1 on the diagonal")
    if assumptions.symmetric and not assumptions.diagonal:
        what = "positive definite" if assumptions.definite else "symmetric"
        yield _Violation(_unlike(array, 1.0), what, "expected a matrix equal to its transpose: pass (A + A.T) / 2")
    if assumptions.skew:
        yield _Violation(_unlike(array, -1.0), "skew", "expected the negative of the transpose: pass (A - A.T) / 2")
    if validate and assumptions.orthogonal:
        product = array.swapaxes(-1, -2).astype(np.float64) @ array.astype(np.float64)
        bound = ROUNDINGS * max(n, 1) * np.finfo(array.dtype).eps
        wrong = ~(np.abs(product - np.eye(n)) <= bound)
        yield _Violation(wrong, "orthogonal", "expected a matrix whose transpose times itself is I")
    if validate and assumptions.definite and not assumptions.diagonal:
        failed = np.zeros(array.shape, bool)
        for at in np.ndindex(array.shape[:-2]):
            try:
                np.linalg.cholesky(array[at])
            except np.linalg.LinAlgError:
                failed[(*at, 0, 0)] = True
                break
        yield _Violation(failed, "positive definite", "expected a matrix that has a Cholesky factor")


def _unlike(array: npt.NDArray[np.floating[Any]], sign: float) -> npt.NDArray[np.bool_]:
    """Tell which elements differ from those across the diagonal by more than rounding."""
    turned = sign * array.swapaxes(-1, -2)
    with np.errstate(invalid="ignore", over="ignore"):
        most = np.abs(array).max(axis=(-1, -2), keepdims=True)
        near = np.abs(array.astype(np.float64) - turned) <= ROUNDINGS * float(np.finfo(array.dtype).eps) * most
    exact = array == turned
    finite = np.isfinite(array).all(axis=(-1, -2), keepdims=True)
    return np.asarray(~(exact | (near & finite)))


def _message(
    name: str, found: _Violation, array: npt.NDArray[np.floating[Any]], place: Sequence[int], lead: int
) -> str:
    sample, own = tuple(place[:lead]), tuple(place[lead:])
    shown = f"{name}{list(own) if own else ''} = {float(array[tuple(place)])!r}"
    if found.fact in ("symmetric", "skew", "positive definite") and len(own) >= 2 and own[-1] != own[-2]:
        across = (*own[:-2], own[-1], own[-2])
        shown += f" and {name}{list(across)} = {float(array[(*sample, *across)])!r}"
    where = ""
    if any(size > 1 for size in array.shape[:lead]):  # else all samples share it
        where = f" (sample {sample[0] if lead == 1 else sample} of the batch)"
    return f"{name} is declared {found.fact}, and is not: {shown}{where}; {found.advice}, or do not declare it so"
