"""What inputs are declared to be, checked on the numbers of a call.

Simplification relies on what is declared, so a wrong matrix would give a wrong result in silence. Checks that look at
each element once are made at every call: compiled ones by ``_kernels/batch/arguments.h``, before anything runs, and
those here where a call goes the long way or an argument failed. These say what is wrong, and where. Whether a matrix is
orthogonal or definite takes a product or a factorization, and is checked for ``validate=True``.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError
from ...graph.primitives import Assumptions
from .arguments import Batch, Parameter

__all__ = ["bits", "check", "check_all", "needs_validation"]

#: Roundings by which elements across the diagonal may differ, of the precision times the largest element.
ROUNDINGS = 100.0
_BITS = {"symmetric": 1, "skew": 2, "lower": 4, "upper": 8, "positive": 16, "definite": 32,
         "between": 64, "simplex": 64, "ordered": 64, "correlation": 64}  # fmt: skip


class _Violation(NamedTuple):
    """Where numbers are not what is declared, what they should be, and what to do."""

    wrong: npt.NDArray[np.bool_]
    fact: str
    advice: str


def bits(assumptions: Assumptions) -> int:
    """Return what is checked at every call, as ``_kernels/batch/arguments.h`` takes it.

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
