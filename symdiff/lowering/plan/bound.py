"""Bound plans, as the executor takes them: arrays and steps of a call whose sizes are numbers.

Everything here is a tuple of numbers, so a plan compares, prints and pickles as tuples do. The executor
(:class:`symdiff._kernels.plan.Plan`) checks all of it once, when a plan is made, and then runs it without Python.

A step runs over *loops*, whose lengths it lists; in a product the loops are called labels. A :class:`View` tells where
in an array the element of some place in the loops stands. The *tile axis* is the batch: the first axis of tiled
arrays, and the first loop of tiled steps, whose length is known when a plan runs. A call handles it tile by tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ...graph.dump import record_text

__all__ = [
    "AFTER",
    "ARENA",
    "BEFORE",
    "CONSTANT",
    "COUNT",
    "INPUT",
    "OUTPUT",
    "SCANS",
    "TILE",
    "USES",
    "WINDOW",
    "BlockStep",
    "BoundStep",
    "CallStep",
    "CopyStep",
    "FactorStep",
    "FactorUse",
    "FillStep",
    "GatherStep",
    "PlanArray",
    "ProductStep",
    "ProgramStep",
    "ReduceStep",
    "RepeatStep",
    "RoutineStep",
    "ScanStep",
    "View",
]

#: Kinds of arrays: of the caller, of the workspace, of the plan, the length of the batch as an array of one number, and
#: parts of an array before them, in its order, that loops move.
INPUT, OUTPUT, ARENA, CONSTANT, COUNT, WINDOW = range(6)
#: When a step runs: once before all tiles, in each tile, or once after all tiles.
BEFORE, TILE, AFTER = range(3)
#: Operations of a scan along its last loop.
SCANS = ("cumsum", "cumprod", "cummax", "cummin")
#: Questions to a factorization.
USES = ("logdet", "logabsdet", "det", "inv", "inv_transposed", "solve", "solve_transposed", "cholesky")


class PlanArray(NamedTuple):
    """An array that steps read or write.

    Parameters
    ----------
    kind : {INPUT, OUTPUT, ARENA, CONSTANT, COUNT, WINDOW}
        COUNT is one number, the length of the batch.
    number : int
        Which input or output; offset in bytes in the arena, in the part of the tile for tiled arrays and in the part
        that is kept for a whole call for others; of a window the array that it is a part of; 0 for other kinds.
    shape : tuple of int
        The first length of a tiled array is the tile's capacity in the arena, and has no meaning elsewhere.
    tiled : bool
        Whether the first axis is the batch.
    data : bytes or None
        The elements of a CONSTANT: float64 in C order.
    integer : bool
        Whether elements are int32 (pivots, states), not numbers; in the arena alone.
    offset : int
        Elements of its array before a window, where no loop has moved it.
    """

    kind: int
    number: int
    shape: tuple[int, ...]
    tiled: bool = False
    data: bytes | None = None
    integer: bool = False
    offset: int = 0


class View(NamedTuple):
    """A part of an array, seen from the loops of a step.

    Parameters
    ----------
    array : int
        Which of the plan's arrays.
    axes : tuple of (int, int, int, int)
        For each axis of the array ``(loop, start, step, length)``. With a loop, the position along the axis is
        ``start + step * index`` of that loop. With loop -1 and a length of 0 or more, the axis is one of the element's
        own: ``length`` positions from ``start`` on, ``step`` apart. Else (-1 and -1) the position is ``start``.
        The first axis of a tiled array is ``(0, 0, 1, -1)``.
    listed : tuple of (int, bytes)
        For inputs of programs: an axis, of some loop from 0 on in steps of 1, and its positions instead, int64, as many
        as the loop is long. One axis at most.
    """

    array: int
    axes: tuple[tuple[int, int, int, int], ...]
    listed: tuple[tuple[int, bytes], ...] = ()


class ProgramStep(NamedTuple):
    """A scalar program, run for every place in the loops or summed over them.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    units : int
        Number of the program among the plan's units.
    lengths : tuple of int
        Of the loops; the first has no meaning if the step is tiled.
    tiled : bool
        Whether the first loop is the batch.
    inputs, outputs : tuple of View
        One for each port of the program.
    sums : bool
        Whether the program is summed over all loops ...
    kept : bool
        ... but the first.
    accumulate : bool
        Whether sums run over the batch: what the first tile gives is written, what later ones give is added.
    checks : tuple of str
        Messages of the program's checks.
    """

    phase: int
    units: int
    lengths: tuple[int, ...]
    tiled: bool
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    sums: bool = False
    kept: bool = False
    accumulate: bool = False
    checks: tuple[str, ...] = ()


class ProductStep(NamedTuple):
    """A product of two arrays, summed over labels: ``c = alpha * sum(a * b)`` over the labels that ``c`` lacks.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    lengths : tuple of int
        Of each label; the first has no meaning if the step is tiled.
    tiled : bool
        Whether label 0 is the batch.
    a, b, c : View
        Loops are labels; each axis has a label or a fixed position.
    alpha : float
    accumulate : bool
        Whether label 0 is the batch and summed over.
    symmetric : bool
        Whether ``c`` equals its transpose, whatever ``a`` and ``b`` are: half of it is computed and then mirrored.
    """

    phase: int
    lengths: tuple[int, ...]
    tiled: bool
    a: View
    b: View
    c: View
    alpha: float = 1.0
    accumulate: bool = False
    symmetric: bool = False


class ReduceStep(NamedTuple):
    """A sum, maximum, minimum or product over the loops that the output lacks; nan wins, as in NumPy.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    lengths : tuple of int
    tiled : bool
    op : {"sum", "max", "min", "prod"}
    input, output : View
        Without axes of their own. The loops of the output are among those of the input.
    accumulate : bool
        Whether the first loop is the batch and reduced over.
    """

    phase: int
    lengths: tuple[int, ...]
    tiled: bool
    op: str
    input: View
    output: View
    accumulate: bool = False


class ScanStep(NamedTuple):
    """A running sum, product, maximum or minimum along the last loop.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    lengths : tuple of int
    tiled : bool
    op : str
        One of :data:`SCANS`.
    reverse : bool
        Whether it runs from the end.
    input, output : View
    """

    phase: int
    lengths: tuple[int, ...]
    tiled: bool
    op: str
    reverse: bool
    input: View
    output: View


class GatherStep(NamedTuple):
    """Elements at listed positions: ``output[k] = input[indices[k]]``, or the transpose of that.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    lengths : tuple of int
    tiled : bool
    scatter : bool
        Add up ``output[indices[k]] += input[k]``, from 0 everywhere in the output's array.
    axis_loop : int
        The loop that counts k.
    indices : bytes
        The positions, int64, as many as that loop is long: each stands for k in the view of the input, or, when
        scattering, in that of the output.
    input, output : View
    """

    phase: int
    lengths: tuple[int, ...]
    tiled: bool
    scatter: bool
    axis_loop: int
    indices: bytes
    input: View
    output: View


class CopyStep(NamedTuple):
    """A copy from one view to another.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    lengths : tuple of int
    tiled : bool
    input, output : View
    """

    phase: int
    lengths: tuple[int, ...]
    tiled: bool
    input: View
    output: View


class FillStep(NamedTuple):
    """One number everywhere in a view.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    lengths : tuple of int
    tiled : bool
    value : float
    output : View
    """

    phase: int
    lengths: tuple[int, ...]
    tiled: bool
    value: float
    output: View


class FactorStep(NamedTuple):
    """The factorization of every matrix of a stack; one that fails is recorded and raises nothing.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    tiled : bool
    a : int
        The array of the matrices, of shape (..., n, n).
    factor : int
        An array of the arena of that shape, of float64 also in plans of float32. What it holds is between this step
        and its uses.
    pivots, state : int
        Integer arrays of the arena, of shapes (..., n) and (...).
    symmetric : {0, 1, 2}
        0 for elimination with partial pivoting (LU); 1 to try Cholesky's factorization where a matrix equals its
        transpose and has a positive diagonal, and LU where that fails; 2 for matrices declared positive
        definite, of which the lower triangle is read: failure is failure.
    """

    phase: int
    tiled: bool
    a: int
    factor: int
    pivots: int
    state: int
    symmetric: int = 0


class FactorUse(NamedTuple):
    """Question to factorized matrices.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    tiled : bool
    op : str
        One of :data:`USES`; "cholesky" is the factor itself, for matrices declared positive definite.
    a, factor, pivots, state : int
        Arrays of the :class:`FactorStep`; ``a`` still has what was factorized. They may lack the batch where ``c``
        has it.
    b : int
        The right sides of "solve", of shape (..., n) or (..., n, k); else -1.
    c : int
        The array of the results.
    check : str
        Message for a matrix that has no factorization; determinants have values there too, and need none.
    """

    phase: int
    tiled: bool
    op: str
    a: int
    factor: int
    pivots: int
    state: int
    b: int
    c: int
    check: str = ""


class RoutineStep(NamedTuple):
    """A routine on whole arrays: elements at positions, in an order, or the spectrum of matrices.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    tiled : bool
    op : {"take", "put", "arrange", "sort", "reshape", "triangle", "spectrum", "adjugate"}
        "take": elements of ``a`` at the positions ``b`` of an axis; "put": those of ``a`` added up at positions ``b``;
        "arrange": elements of ``a`` in the ascending order of ``b``, of whose axes ``a`` has more in front, ties their
        mean; "triangle": a part of matrices ``a``, where ``b`` is -1; "spectrum": eigenvalues ``b`` of the symmetric
        parts of matrices ``a``, and eigenvectors ``c``; "sort": elements of ``a`` in ascending order, and "reshape":
        in another shape, where ``b`` is -1; "adjugate": that of matrices ``a``, or its derivative in the directions
        ``b``.
    a, b, c : int
        Arrays; ``c`` is the result. Of a spectrum one of ``b`` and ``c`` may be -1.
    axis : int
        Of ``a`` for "take" and "sort", of ``c`` for "put", of ``b`` for "arrange": from the front.
    own : int
        How many axes before it, the first ones of ``b``, have positions of their own; the diagonal of a triangle.
    reverse : bool
        Whether elements go back from the order, or descend, or a triangle is the upper one.
    """

    phase: int
    tiled: bool
    op: str
    a: int
    b: int
    c: int
    axis: int = 0
    own: int = 0
    reverse: bool = False


class CallStep(NamedTuple):
    """A function of whole arrays, in Python.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    tiled : bool
    function : callable
        Takes an ndarray of float64 for each input, of the rows of a tile for tiled arrays, and returns one
        that broadcasts to the output.
    inputs : tuple of int
    output : int
        Arrays.
    reads : bool
        Whether the function neither writes to its arguments nor keeps them, so that none is copied.
    """

    phase: int
    tiled: bool
    function: Callable[..., Any]
    inputs: tuple[int, ...]
    output: int
    reads: bool = False

    def __repr__(self) -> str:
        return record_text(self)


class BlockStep(NamedTuple):
    """The steps behind it, run for one part of a long axis after the other: what is between them stays in the cache.

    They are tiled, and outside the tiles of a batch: their first loop is the axis. Arrays between them are tiled, too;
    in all others the first loop goes on from part to part. Sums over the axis accumulate.

    Parameters
    ----------
    phase : {BEFORE, AFTER}
    tiled : bool
        False.
    span : int
        How many steps.
    length : int
        Of the axis.
    """

    phase: int
    tiled: bool
    span: int
    length: int


class RepeatStep(NamedTuple):
    """A loop over the steps behind it.

    Parameters
    ----------
    phase : {BEFORE, TILE, AFTER}
    tiled : bool
        Whether each sample of a tile has a loop of its own, which ends with its first turn that changes nothing: the
        rows of samples that go on move together.
    span : int
        How many of the following steps of the phase are its body.
    turns : int
    reverse : bool
        Whether the first turn is for the last row.
    windows : tuple of (int, int)
        Arrays of the kind WINDOW, and by how many elements they move from row to row.
    swaps : tuple of (int, int)
        Arrays of one shape in the arena that change places after each turn.
    counter : int
        An array of one number that the row's number is written to, or -1.
    results : tuple of int
        If tiled: for each pair the array that gets the last values, or -1 where nothing reads them.
    held : tuple of int
        If tiled: the arrays of a tile that turns read, which are the loop's own.
    lasting : tuple of int, int, float, bool
        If tiled: which pair tells of samples that go on, by a sign times its number, above a bound, or at it unless
        strict; a pair of -1 where none does.
    """

    phase: int
    tiled: bool
    span: int
    turns: int
    reverse: bool
    windows: tuple[tuple[int, int], ...]
    swaps: tuple[tuple[int, int], ...]
    counter: int = -1
    results: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    lasting: tuple[int, int, float, bool] = (-1, 1, 0.0, True)


BoundStep: TypeAlias = (
    BlockStep | RepeatStep | ProgramStep | ProductStep | ReduceStep | ScanStep | GatherStep
    | CopyStep | FillStep | FactorStep | FactorUse | RoutineStep | CallStep
)
