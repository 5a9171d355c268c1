"""Arguments of an objective: variables as the one vector that optimizers move, and the inputs behind it.

A vector holds the free entries of declared matrices. A triangular matrix of n rows has n (n + 1) / 2 of them, and so
has a symmetric one; a skew one has n (n - 1) / 2, a diagonal one n. Matrices are linear in them, so that derivatives by
free entries are products with one constant matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import ArgumentError, ShapeError
from ..frontend.array import Array
from ..frontend.formula import Formula, order_inputs
from ..frontend.outputs import pack, unpack
from ..graph.primitives import NOTHING_KNOWN, Assumptions
from ..graph.sizes import Shape, Size, show, value
from ..runtime.calls.arguments import as_floats

__all__ = [
    "Behind",
    "Point",
    "Variables",
    "count",
    "free_positions",
    "in_order",
    "in_square",
    "mirrored",
    "name_of",
    "order_behind",
    "point_of",
    "spread",
]


def in_order(
    args: Sequence[Any], named: Mapping[str, Any], names: Sequence[str], inputs: Sequence[str]
) -> Sequence[Any]:
    """Return the arguments, those that came by name behind the others.

    Parameters
    ----------
    args, named : sequence and mapping
        What came by position and by name.
    names : sequence of str
        What a function takes, in order.
    inputs : sequence of str
        The last of these, which may come by name.

    Raises
    ------
    ArgumentError
        For a name that is no input, or one that came twice or not at all.
    """
    expected = f"expected {', '.join(names)}"
    for name in named:
        if name not in inputs:
            raise ArgumentError(f"no argument is called {name!r}; {expected}, those behind x by name if you like")
        if name in names[: len(args)]:
            raise ArgumentError(f"{name} came by position and by name; {expected}")
    missing = [name for name in names[len(args) :] if name not in named]
    if missing:
        raise ArgumentError(f"missing {', '.join(missing)}; {expected}")
    return [*args, *(named[name] for name in names[len(args) :])]


class Behind:
    """The inputs behind the vector, and what their shapes tell.

    Parameters
    ----------
    shapes : mapping of str to shape
        In order.
    has_batch : bool
        Whether they may have axes of a batch in front.
    """

    def __init__(self, shapes: Mapping[str, Shape], has_batch: bool) -> None:
        self.shapes, self.has_batch = dict(shapes), has_batch
        #: The number of axes of each, and the letters among its sizes by their place from the end.
        self._told = [
            (len(shape), [(k - len(shape), str(size)) for k, size in enumerate(shape) if _is_letter(size)])
            for shape in shapes.values()
        ]

    def letters(self, args: Sequence[Any]) -> dict[str, int]:
        """Return the numbers of letters that the shapes of arguments tell.

        Raises
        ------
        ShapeError
            If an argument has another number of axes, as one in the place of another has.
        """
        known: dict[str, int] = {}
        for (rank, letters), arg in zip(self._told, args, strict=True):
            own = arg.shape if type(arg) is np.ndarray else () if type(arg) is float else np.shape(arg)
            if len(own) != rank and not (self.has_batch and len(own) > rank):
                raise ShapeError(self._wrong(args))
            for place, letter in letters:
                known.setdefault(letter, own[place])
        return known

    def _wrong(self, args: Sequence[Any]) -> str:
        came = ", ".join(f"{name} {show(np.shape(arg))}" for name, arg in zip(self.shapes, args, strict=True))
        expected = ", ".join(f"{name} {show(shape)}" for name, shape in self.shapes.items())
        return (
            f"the arguments behind x have the shapes {came}; expected {expected}, in this order or by name; inputs= of "
            "sd.objective gives another order"
        )


def _is_letter(size: object) -> bool:
    return isinstance(size, Size) and str(size) in size.names


def order_behind(read: Formula, inputs: Any, variables: Sequence[Array]) -> list[str]:
    """Return the names of the inputs in a given order, in which the variables come first if they come at all."""
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    own = [str(one.node.name) for one in variables]
    others = given[len(own) :] if [str(one) for one in given[: len(own)]] == own else given
    if set(own) & set(map(str, others)):
        raise ArgumentError(f"a variable behind others in inputs=; solvers give {', '.join(own)} first: put them first")
    return list(order_inputs(read, [*others, *variables]))


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


Floats = npt.NDArray[np.float64]


#: The numbers of inputs, bit by bit, with their shapes and types.
Point: TypeAlias = list[tuple[tuple[int, ...], str, bytes]]


def point_of(inputs: Sequence[npt.NDArray[Any]], most: int) -> Point | None:
    """Return what tells whether inputs are those of the call before, or None if they are more than ``most`` bytes.

    Bits are compared and not numbers: at -0.0 a formula may have another value than at 0.0.
    """
    if sum([one.nbytes for one in inputs]) > most:
        return None
    return [(one.shape, one.dtype.char, one.tobytes()) for one in inputs]


def in_square(blocks: Any, lengths: Sequence[int]) -> Floats:
    """Return the Hessian by all variables in one, of the Hessians by two of them (of one alone, of it itself)."""
    total = sum(lengths)
    if len(lengths) == 1:
        return np.asarray(blocks, np.float64).reshape(total, total)
    result = np.empty((total, total))
    places = [slice(end - n, end) for n, end in zip(lengths, accumulate(lengths), strict=True)]
    for rows, m, row in zip(places, lengths, blocks, strict=True):
        for columns, n, block in zip(places, lengths, row, strict=True):
            result[rows, columns] = block.reshape(m, n)
    return result


class Variables:
    """The variables of an objective.

    Parameters
    ----------
    template : template
        Their structure, as :mod:`symdiff.frontend.outputs` says.
    names : sequence of str
    shapes : sequence of shape
        Letters for sizes are known from the other inputs; one more is told by the length of the vector.
    facts : sequence of Assumptions, optional
        What is declared of each, where the vector holds the free entries alone.
    """

    def __init__(
        self, template: Any, names: Sequence[str], shapes: Sequence[Shape], facts: Sequence[Assumptions] | None = None
    ) -> None:
        self.template = template
        self.names, self.shapes = tuple(names), tuple(shapes)
        self.facts = None if facts is None or not any(map(any, facts)) else tuple(facts)
        self._is_fixed = not any(isinstance(size, Size) for shape in self.shapes for size in shape)
        self._is_vector = self.facts is None and len(self.shapes) == 1 and len(self.shapes[0]) == 1

    def join(self, structure: Any) -> Floats:
        """Return the variables as one vector.

        Raises
        ------
        ArgumentError, ShapeError
            If the structure, or the shape of a variable, is another one.
        """
        parts = []
        every = zip(self.names, self.shapes, self._known, unpack(self.template, structure, "x"), strict=True)
        for name, shape, facts, part in every:
            array = as_floats(name, part)
            fits = [isinstance(size, Size) or size == length for size, length in zip(shape, array.shape, strict=False)]
            if array.ndim != len(shape) or not all(fits):
                raise ShapeError(f"{name} has shape {show(array.shape)}; expected {show(shape)}")
            parts.append(array.ravel() if self.facts is None else array.ravel()[free_positions(array.shape, facts)])
        return np.concatenate(parts) if parts else np.empty(0)

    @property
    def _known(self) -> tuple[Assumptions, ...]:
        return (NOTHING_KNOWN,) * len(self.shapes) if self.facts is None else self.facts

    def by_entries(self, derivative: Any, shapes: Sequence[tuple[int, ...]], both: bool = False) -> Any:
        """Return a derivative by all elements, along its last axis or along both, as one by what the vector holds."""
        if self.facts is None:
            return derivative
        matrix = spread(tuple(shapes), self.facts)
        reduced = derivative @ matrix
        return matrix.T @ reduced if both else reduced

    def lengths(self, known: Mapping[str, int]) -> list[int]:
        """Return the number of elements of each variable, for numbers of the letters."""
        known_shapes = [tuple(value(size, known) for size in shape) for shape in self.shapes]
        return [count(shape, facts) for shape, facts in zip(known_shapes, self._known, strict=True)]

    def split(self, x: Any, known: Mapping[str, int]) -> list[Floats]:
        """Return the parts of a vector, each of the shape of its variable.

        Raises
        ------
        DtypeError, ShapeError
            If it is no vector of real numbers, or has another length.
        """
        vector = np.asarray(as_floats("x", x), np.float64)
        if vector.ndim != 1:
            raise ShapeError(f"x has shape {show(vector.shape)}; expected a vector (flatten structures with join)")
        if self._is_vector:
            size = self.shapes[0][0]
            if isinstance(size, int) and size != len(vector):
                raise ShapeError(f"x has {len(vector)} elements; expected {size}, those of {self.names[0]}")
            return [vector]
        if not self._is_fixed:
            known = self._with_last(len(vector), known)
        shapes = tuple(tuple(self._number(size, known) for size in shape) for shape in self.shapes)
        lengths = [count(shape, facts) for shape, facts in zip(shapes, self._known, strict=True)]
        if sum(lengths) != len(vector):
            told = ", ".join(f"{name} {show(shape)}" for name, shape in zip(self.names, shapes, strict=True))
            told = told if self.facts is None else f"the free entries of {told}"
            raise ShapeError(f"x has {len(vector)} elements; expected {sum(lengths)}, those of {told}")
        if self.facts is not None:
            vector = spread(shapes, self.facts) @ vector
            lengths = [math.prod(shape) for shape in shapes]
        ends = accumulate(lengths)
        return [vector[end - n : end].reshape(own) for n, end, own in zip(lengths, ends, shapes, strict=True)]

    def structure(self, x: Any, known: Mapping[str, int]) -> Any:
        """Return the parts of a vector in the structure of the variables."""
        return pack(self.template, iter(self.split(x, known)))

    def _with_last(self, length: int, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the numbers of letters, with that of a single unknown one from the length of the vector."""
        letters = {name for shape in self.shapes for size in shape if isinstance(size, Size) for name in size.names}
        unknown = letters - known.keys()
        if len(unknown) != 1:
            return known
        (letter,) = unknown
        low, high = 1, max(1, length)
        while low < high:  # the number of elements grows with the letter
            middle = (low + high) // 2
            if sum(self.lengths({**known, letter: middle})) < length:
                low = middle + 1
            else:
                high = middle
        return {**known, letter: low} if sum(self.lengths({**known, letter: low})) == length else known

    def _number(self, size: Any, known: Mapping[str, int]) -> int:
        try:
            return value(size, known)
        except ShapeError:
            raise ShapeError(
                f"the size {size} of {', '.join(self.names)} cannot be told from one vector and the other arguments; "
                "expected numbers in the place of all letters but one, such as sd.matrix('A', 6, 3)"
            ) from None


def name_of(key: Any) -> Any:
    """Return the name of a symbol or of a sparse matrix; what is a name stays."""
    return str(key.node.name) if isinstance(key, Array) else getattr(key, "name", key)
