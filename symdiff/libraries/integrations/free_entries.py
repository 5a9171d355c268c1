"""Free entries of declared matrices: the numbers that a solver may move, and the matrices that they make.

A triangular matrix of n rows has n (n + 1) / 2 of them, and so has a symmetric one; a skew one has n (n - 1) / 2, a
diagonal one n. Matrices are linear in them, so that derivatives by free entries are products with one constant matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...graph.primitives import Assumptions

__all__ = ["count", "free_positions", "mirrored", "spread"]


def _entries(facts: Assumptions, n: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], float] | None:
    """Return rows and columns of the free entries of a matrix, and how often they stand on the other side.

    That is 0, 1 or -1; None where every element is free.
    """
    if facts.diagonal:
        return np.arange(n), np.arange(n), 0.0
    if facts.upper:
        return *np.triu_indices(n), 0.0
    if facts.lower or facts.symmetric or facts.skew:
        return *np.tril_indices(n, -1 if facts.skew else 0), mirrored(facts)
    return None


def mirrored(facts: Assumptions) -> float:
    """Return how often a free entry stands on the other side of the diagonal: 0, 1 or -1 times."""
    return -1.0 if facts.skew else float(facts.symmetric and not facts.diagonal)


def count(shape: Sequence[int], facts: Assumptions) -> int:
    """Return the number of free entries of an array."""
    found = _entries(facts, shape[-1]) if shape else None
    return math.prod(shape) if found is None else math.prod(shape[:-2]) * len(found[0])


def free_positions(shape: Sequence[int], facts: Assumptions) -> npt.NDArray[Any]:
    """Return where the free entries stand in the flat array."""
    found = _entries(facts, shape[-1]) if shape else None
    if found is None:
        return np.arange(math.prod(shape))
    inside = found[0] * shape[-1] + found[1]
    stacks = np.arange(math.prod(shape[:-2]))[:, None] * (shape[-1] * shape[-2])
    return np.ravel(stacks + inside)


@lru_cache(64)
def spread(shapes: tuple[tuple[int, ...], ...], facts: tuple[Assumptions, ...]) -> sparse.csr_array:
    """Return the matrix that makes flat arrays, one behind the other, of the vector of their free entries."""
    blocks = []
    for shape, known in zip(shapes, facts, strict=True):
        positions = free_positions(shape, known)
        found = _entries(known, shape[-1]) if shape else None
        numbers, places = np.ones(len(positions)), np.arange(len(positions))
        rows = positions
        if found is not None and found[2]:
            n = shape[-1]
            apart = positions // n % n != positions % n
            across = positions - positions % (n * n) + positions % n * n + positions // n % n
            rows = np.concatenate([rows, across[apart]])
            numbers = np.concatenate([numbers, np.full(int(apart.sum()), found[2])])
            places = np.concatenate([places, places[apart]])
        blocks.append(sparse.coo_array((numbers, (rows, places)), (math.prod(shape), len(positions))))
    return sparse.csr_array(sparse.block_diag(blocks, format="csr"))
