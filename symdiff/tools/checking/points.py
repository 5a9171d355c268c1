"""Random numbers for the inputs of a formula, such as it can be evaluated at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Draw", "definite", "ways_to_draw"]

#: Takes a shape and gives numbers.
Draw: TypeAlias = Callable[[tuple[int, ...]], npt.NDArray[np.floating[Any]]]
#: Mixed ways that are tried when no single one will do.
_MIXED = 40


def ways_to_draw(rng: np.random.Generator) -> Iterator[Draw]:
    """Give ways of drawing an array: a formula may need numbers in (0, 1), or definite matrices."""
    kinds: list[Draw] = [
        lambda shape: rng.normal(size=shape),
        lambda shape: rng.uniform(0.2, 0.9, shape),
        lambda shape: rng.uniform(1.1, 3.0, shape),
        lambda shape: definite(rng, shape),
    ]

    def mixed(shape: tuple[int, ...]) -> npt.NDArray[np.floating[Any]]:
        return kinds[int(rng.integers(len(kinds)))](shape)

    yield from kinds
    for _ in range(_MIXED):  # each array in a way of its own
        yield mixed


def definite(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.floating[Any]]:
    """Draw positive definite matrices where the shape allows them."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return rng.uniform(0.2, 0.9, shape)
    half = rng.uniform(0.0, 1.0, shape)
    return np.asarray(half @ half.swapaxes(-1, -2) + np.eye(shape[-1]))
