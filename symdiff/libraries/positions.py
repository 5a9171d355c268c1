"""Elements at positions that numbers decide, for programs of other libraries that are read as formulas.

An element is a sum of which one term is taken, so that an element which is not taken may be anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..frontend.array import Array, asarray
from ..frontend.symbols import Operations

__all__ = ["CHOSEN", "at_each", "check_count", "choose", "spread_each"]

#: Most elements among which positions that depend on the arguments choose, for all of these together.
CHOSEN = 10**6

sd = Operations()


def check_count(count: int) -> None:
    """Refuse positions that choose among too many elements."""
    if count > CHOSEN:
        raise ArgumentError(f"positions that depend on the arguments, in more than {CHOSEN:,} elements")


def choose(x: Array, places: Any, size: int) -> Array:
    """Return elements along the last axis, of this size, at places, with the axes of these in front."""
    check_count(math.prod(map(int, (*places.shape, *x.shape))))
    here = places.reshape((*places.shape, *(1,) * x.ndim)) == np.arange(size)
    return asarray(sd.sum(sd.where(here, x, 0.0), axis=-1))


def at_each(x: Array, places: Array, axis: int) -> Array:
    """Return elements along an axis at places in an array of as many axes, line by line."""
    lines, at = sd.moveaxis(x, axis, -1), sd.moveaxis(places, axis, -1)
    lines = lines[tuple(slice(0, n) for n in at.shape[:-1])]
    check_count(math.prod(map(int, (*at.shape, lines.shape[-1]))))
    here = at[..., :, None] == np.arange(int(lines.shape[-1]))
    return asarray(sd.moveaxis(sd.sum(sd.where(here, lines[..., None, :], 0.0), axis=-1), -1, axis))


def spread_each(x: Array, places: Array, axis: int, values: Array, *, adds: bool) -> Array:
    """Return an array to which values are added, or written one after the other, at places along an axis."""
    at, new, old = sd.moveaxis(places, axis, -1), sd.moveaxis(values, axis, -1), sd.moveaxis(x, axis, -1)
    if at.shape[:-1] != old.shape[:-1]:
        raise ArgumentError("positions that depend on the arguments, in a part of the other axes")
    check_count(math.prod(map(int, (*at.shape, old.shape[-1]))))
    here = at[..., :, None] == np.arange(int(old.shape[-1]))
    if adds:
        old = old + sd.sum(sd.where(here, new[..., None], 0.0), axis=-2)
    else:
        for k in range(int(at.shape[-1])):
            old = sd.where(here[..., k, :], new[..., k, None], old)
    return asarray(sd.moveaxis(old, -1, axis))
