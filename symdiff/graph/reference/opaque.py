"""Calls of functions of numbers that only Python knows, for one sample or many."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from ..._kernels.system.scopes import Bound
from ...errors import DtypeError, ShapeError
from ...ground.guard import users
from ..primitives import Opaque
from ..sizes import show

__all__ = ["call_each", "with_failures_as_nan"]

Numbers = npt.NDArray[Any]
P = ParamSpec("P")
T = TypeVar("T")

_fails_as_nan: ContextVar[bool] = ContextVar("fails_as_nan", default=False)


def with_failures_as_nan(function: Callable[P, T]) -> Callable[P, T]:
    """Let functions be nan where they fail, while a function runs that tries points of its own; a decorator."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with Bound(_fails_as_nan, True):
            return function(*args, **kwargs)

    return run


def call_each(opaque: Opaque, *given: Numbers) -> Numbers:
    """Return the values of a function, for arguments with axes in front of their own.

    Parameters
    ----------
    opaque : Opaque
    *given : ndarray
        Their axes in front broadcast.

    Raises
    ------
    ShapeError, DtypeError
        If a value has another shape than the function was made for, or holds no real numbers.

    Examples
    --------
    >>> call_each(Opaque("norm", np.linalg.norm, (), (1,)), np.array([[3.0, 4.0], [6.0, 8.0]]))
    array([ 5., 10.])
    """
    leads = [one.shape[: one.ndim - axes] for one, axes in zip(given, opaque.axes, strict=True)]
    lead = np.broadcast_shapes(*leads)
    own = [one.shape[len(front) :] for one, front in zip(given, leads, strict=True)]
    every = [
        np.broadcast_to(one.reshape((*(1,) * (len(lead) - len(front)), *one.shape)), (*lead, *shape))
        for one, front, shape in zip(given, leads, own, strict=True)
    ]
    call = _tolerant(opaque, lead) if _fails_as_nan.get() else users(opaque.function)
    if opaque.batched:  # the function may write to what it is given
        return _checked(opaque, call(*[np.array(one, np.float64) for one in every]), lead)
    result: Numbers | None = None
    for place in np.ndindex(*lead):
        args = [(np.asarray if opaque.reads else np.array)(one[place], np.float64)[()] for one in every]
        value = _checked(opaque, call(*args), ())
        if not lead:
            return value
        if result is None:
            result = np.empty((*lead, *value.shape))
        result[place] = value
    sizes = [size if isinstance(size, int) else 0 for size in opaque.shape]
    return np.empty((*lead, *sizes)) if result is None else result


def _tolerant(opaque: Opaque, lead: tuple[int, ...]) -> Callable[..., Any]:
    shape = [size if isinstance(size, int) else 1 for size in opaque.shape]

    def call(*args: Any) -> Any:
        try:
            return opaque.function(*args)
        except Exception:  # whatever it has against a point
            return np.full((*(lead if opaque.batched else ()), *shape), np.nan)

    return call


def _checked(opaque: Opaque, value: Any, lead: tuple[int, ...]) -> Numbers:
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "buif":
        raise DtypeError(f"{opaque.name} gave {type(value).__name__} of dtype {numbers.dtype}; expected real numbers")
    wanted = (*lead, *opaque.shape)
    fits = [not isinstance(size, int) or size == length for size, length in zip(wanted, numbers.shape, strict=False)]
    if numbers.ndim != len(wanted) or not all(fits):
        raise ShapeError(f"{opaque.name} gave a value of shape {numbers.shape}; expected {show(wanted)}")
    return numbers
