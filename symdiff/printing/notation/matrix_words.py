"""Products of matrices and vectors as words: what they multiply from left to right, and the scalars in front.

Two terms of a sum have a factor in common where their words begin, or end, with the same letters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from .reader import Reader
from .terms import Term, transpose

#: Most factors of a product that are looked into.
_MOST = 16


class Scaled(NamedTuple):
    """A product with arrays: its sign, its scalars, its scalar divisors, and the product of the arrays."""

    minus: bool
    over: list[Term]
    under: list[Term]
    core: Term


def split_scalars(reader: Reader, term: Term) -> Scaled:
    """Return a product with its scalars apart; of anything else the sign at most."""
    negative = term.kind == "negative"
    core = term.args[0] if negative else term
    if core.kind != "product" or len(core.args) > _MOST:
        return Scaled(negative, [], [], core)
    over, under = core.factors
    arrays = [arg for arg in over if arg.ndim]
    scalars = [arg for arg in over if not arg.ndim]
    if any(arg.ndim for arg in under) or not all(arg.shape == core.shape for arg in arrays) or not arrays:
        return Scaled(negative, [], [], core)
    if len(arrays) > 1 and not scalars and not under:
        return Scaled(negative, [], [], core)
    return Scaled(negative, scalars, under, reader.product(arrays, [], core.shape))


class MatrixFactor(NamedTuple):
    """A factor of a product that does not commute: a matrix, a column, a row, or a vector on the diagonal."""

    kind: str
    of: Term

    def alike(self) -> Hashable:
        """Return what is the same for a difference and its negative."""
        return self.kind, without_sign(self.of)


def without_sign(x: Term) -> Hashable:
    """Return the same for a difference and its negative."""
    if x.kind == "sum" and x.data == (False, True):
        return frozenset(x.args)
    if x.kind in ("columns", "rows"):
        return x.kind, *map(without_sign, x.args)
    return x


#: Kinds of arrays by their axes, and of vectors turned over.
_KINDS, _TURNED = {1: "column", 2: "matrix"}, {"column": "row", "row": "column"}


def letters(reader: Reader, x: Term) -> list[MatrixFactor]:
    """Return a vector or a matrix as a product from left to right."""
    if x.kind == "matmul" and all(arg.ndim <= 2 for arg in x.args) and x.args[0].ndim == 2:
        return [
            letter
            for arg in x.args
            for letter in (letters(reader, arg) if arg.kind == "matmul" else [MatrixFactor(_KINDS[arg.ndim], arg)])
        ]
    if x.kind == "outer":
        return [*letters(reader, x.args[0]), *_turned(reader, letters(reader, x.args[1]))]
    if x.kind == "rows":
        return [MatrixFactor("diag", x.args[0]), *letters(reader, x.args[1])]
    if x.kind == "columns":
        return [*letters(reader, x.args[0]), MatrixFactor("diag", x.args[1])]
    if x.kind == "diag":
        return [MatrixFactor("diag", x.args[0])]
    return [MatrixFactor(_KINDS[x.ndim], x)]


def _turned(reader: Reader, word: Sequence[MatrixFactor]) -> list[MatrixFactor]:
    """Return the transpose of a product."""
    turned = [(_TURNED.get(kind, kind), turned_over(reader, of) if of.ndim == 2 else of) for kind, of in word[::-1]]
    return [MatrixFactor(*factor) for factor in turned]


def joined(reader: Reader, word: Sequence[MatrixFactor]) -> MatrixFactor:
    """Return a product as one letter."""
    *front, last = word
    if not front:
        return last
    row = next((k for k, letter in enumerate(word) if letter.kind == "row"), None)
    if row is not None:
        _, right = joined(reader, _turned(reader, word[row:]))
        if row == 0:
            return MatrixFactor("row", right)
        _, left = joined(reader, word[:row])
        return MatrixFactor("matrix", reader.make("outer", (left, right), None, left.shape + right.shape))
    first, *rest = word
    if last.kind == "diag" or first.kind == "diag":
        kind, of = joined(reader, front if last.kind == "diag" else rest)
        v = last.of if last.kind == "diag" else first.of
        if kind != "matrix":
            return MatrixFactor(kind, reader.product([of, v] if last.kind == "diag" else [v, of], [], v.shape))
        if last.kind == "diag":
            return MatrixFactor("matrix", reader.make("columns", (of, v), None, of.shape))
        return MatrixFactor("matrix", reader.make("rows", (v, of), None, of.shape))
    place = next((k for k, letter in enumerate(word) if letter.kind == "diag"), None)
    if place is not None:
        word = [joined(reader, word[: place + 1]), joined(reader, word[place + 1 :])]
    return MatrixFactor(last.kind, reader.chain([letter.of for letter in word]))


def turned_over(reader: Reader, matrix: Term) -> Term:
    """Return the transpose; A + Aᵀ is its own."""
    if matrix.kind == "sum" and matrix.data == (False, False) and count_transposes(matrix) is not None:
        a, b = matrix.args
        if a.shape == b.shape == matrix.shape and turned_over(reader, a) is b:
            return matrix
    return transpose(matrix, make=reader.make)


def count_transposes(x: Term, levels: int = 3) -> int | None:
    """Return how many signs of transposes a sum, or a product, of matrices has; None where there is much below it."""
    if x.kind not in ("matmul", "sum", "negative"):
        return int(x.kind == "transpose")
    counts = [count_transposes(arg, levels - 1) for arg in x.args] if levels and len(x.args) <= _MOST else [None]
    return None if None in counts else sum(count or 0 for count in counts)
