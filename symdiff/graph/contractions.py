"""Contractions over labelled indices, and the functions of square matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..errors import DtypeError, ShapeError
from .nodes import BOOL, INT, REAL, Node, broadcast_shapes, constant, intern, placeholder
from .primitives import PRIMITIVES, Contraction, Isotropic, Labels, Spectral
from .sizes import Dim, Shape, hint_of, show
from .structural import cumulative, reshape, slicing, whole


def contract(
    operands: Sequence[Node], labels: Sequence[Labels], out: Labels, sizes: Mapping[int, Dim] | None = None
) -> Node:
    """Multiply ``operands`` and sum over the labels that ``out`` lacks (Einstein notation).

    Parameters
    ----------
    operands : sequence of Node
    labels : sequence of tuple of int
        One label an axis of each operand; a label twice in one operand takes the diagonal.
    out : tuple of int
        Labels of the result, each once.
    sizes : mapping, optional
        Sizes of the labels of ``out`` that no operand has; the result is repeated along them.

    Raises
    ------
    ShapeError
        If one label stands for two sizes, or labels and axes differ in number.
    """
    place: dict[int, int] = {}
    extent: list[Dim] = []
    renamed = []
    kinds = False
    for node, own in zip(operands, labels, strict=True):
        if len(own) != len(node.shape):
            raise ShapeError(f"an operand of shape {show(node.shape)} came with {len(own)} labels, not {node.ndim}")
        row = []
        for name, size in zip(own, node.shape, strict=True):
            at = place.get(name)
            if at is None:
                at = place[name] = len(extent)
                extent.append(size)
            elif extent[at] != size:
                raise ShapeError(
                    f"sizes {extent[at]} and {size} are to be multiplied and summed together; "
                    f"operands have shapes {', '.join(show(o.shape) for o in operands)}; expected equal sizes"
                )
            row.append(at)
        renamed.append(tuple(row))
        kinds = kinds or node.dtype is not REAL
    repeated = []
    kept = []
    for name in out:
        at = place.get(name)
        if at is None:
            at = place[name] = len(extent)
            extent.append((sizes or {})[name])
            repeated.append((at, extent[-1]))
        kept.append(at)
    result = tuple(kept)
    if len(set(result)) != len(result):
        raise ShapeError("a label occurs twice in the result; expected each once (use a delta for a diagonal)")
    if len(operands) == 1 and renamed[0] == result:
        return operands[0]
    shape = tuple([extent[name] for name in result])
    dtype = REAL
    if kinds:
        if len(operands) > 1 or not set(renamed[0]) <= set(result):
            if any(node.dtype is INT for node in operands):
                raise DtypeError("integer inputs are positions: index an array with them, and do not compute with them")
            raise DtypeError("conditions cannot be multiplied or summed as they are; write where(c, 1, 0) first")
        dtype = operands[0].dtype
    return intern("contract", tuple(operands), Contraction(tuple(renamed), result, tuple(repeated)), shape, dtype)


def label_sizes(node: Node) -> dict[int, Dim]:
    """Return the size of every label of a contraction."""
    labels, _, repeated = node.payload
    sizes = dict(repeated)
    for arg, own in zip(node.args, labels, strict=True):
        sizes.update(zip(own, arg.shape, strict=True))
    return sizes


def transpose(x: Node, axes: Sequence[int] | None = None) -> Node:
    """Permute the axes; reverse them when ``axes`` is not given."""
    own = tuple(range(x.ndim))
    return contract([x], [own], tuple(axes) if axes is not None else own[::-1])


def swap(x: Node) -> Node:
    """Exchange the last two axes: the transpose of a matrix or of a stack of them."""
    own = tuple(range(x.ndim))
    return contract([x], [own], (*own[:-2], own[-1], own[-2]))


def broadcast_to(x: Node, shape: Shape) -> Node:
    """Repeat ``x`` to ``shape`` by NumPy's rule."""
    if x.shape == shape:
        return x
    if len(x.shape) > len(shape) or broadcast_shapes([x.shape, shape], "array and target") != shape:
        raise ShapeError(f"an array of shape {show(x.shape)} cannot be broadcast to {show(shape)}")
    offset = len(shape) - x.ndim
    axes = tuple(range(len(shape)))
    if x.dtype is BOOL:  # conditions cannot be summed, not even over one element
        stays = [a for a in range(x.ndim) if x.shape[a] != 1 or shape[a + offset] == 1]
        line = slicing(x, tuple(whole(n) if a in stays else (0, 1, None) for a, n in enumerate(x.shape)))
        return contract([line], [tuple(a + offset for a in stays)], axes, dict(enumerate(shape)))
    own = tuple(-1 - a if x.shape[a] == 1 and shape[a + offset] != 1 else a + offset for a in range(x.ndim))
    return contract([x], [own], axes, dict(enumerate(shape)))


def line_along(x: Node, axis: int) -> Node:
    """Return an array whose last axis is ``axis`` (negative) of ``x``."""
    return transpose(x, (*(a for a in range(x.ndim) if a != axis + x.ndim), axis + x.ndim))


def turned(x: Node, axis: int) -> Node:
    """Return an array with one axis (negative) turned."""
    n = x.shape[axis]
    return slicing(x, tuple((n - 1, -1, n) if a == axis + x.ndim else whole(m) for a, m in enumerate(x.shape)))


def places(n: Dim) -> tuple[Node, Node]:
    """Return the places along an axis as a column and as a row: numbers, which loops over long axes compare."""
    if isinstance(n, int):
        row = constant(np.arange(n, dtype=float))
    else:
        row = cumulative("cumsum", broadcast_to(constant(1.0), (n,)), 0)
    return reshape(row, (n, 1)), row


def sum_axes(x: Node, axes: Iterable[int]) -> Node:
    """Sum over the axes given (non-negative)."""
    drop = set(axes)
    own = tuple(range(x.ndim))
    return contract([x], [own], tuple(a for a in own if a not in drop))


def matmul(a: Node, b: Node) -> Node:
    """Multiply matrices, or stacks of them with broadcasting; at least two axes each."""
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"matmul of shapes {show(a.shape)} and {show(b.shape)}: size {a.shape[-1]} against {b.shape[-2]}; expected "
            "the last axis of the first to be as long as the second-to-last of the second"
            f"{hint_of(a.shape[-1], b.shape[-2])}"
        )
    lead = broadcast_shapes([a.shape[:-2], b.shape[:-2]], "matrix stacks")
    i, j, k = len(lead), len(lead) + 1, len(lead) + 2
    out = (*range(len(lead)), i, k)
    unique = iter(range(k + 1, k + 1 + 2 * len(lead)))

    def stack(x: Node) -> Labels:
        offset = len(lead) - (x.ndim - 2)
        return tuple(
            axis + offset if size == lead[axis + offset] else next(unique) for axis, size in enumerate(x.shape[:-2])
        )

    return contract([a, b], [(*stack(a), i, j), (*stack(b), j, k)], out, dict(enumerate(lead)))


def zeros(shape: Shape) -> Node:
    """Return an array of zeros."""
    return broadcast_to(constant(0.0), shape)


def matrix(op: str, *args: Node) -> Node:
    """Apply a function of square matrices, or of stacks of them (the last two axes).

    ``solve(A, B)`` and ``adjugate_differential(A, E)`` take a second matrix.
    """
    a = args[0]
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{op} of an array of shape {show(a.shape)}; expected a square matrix (or a stack of them)")
    if len(args) == 2:
        b = args[1]
        if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
            raise ShapeError(f"{op} of shapes {show(a.shape)} and {show(b.shape)}; expected as many rows in both")
        if op == "adjugate_differential" and b.shape[-2:] != a.shape[-2:]:
            raise ShapeError(f"{op} of shapes {show(a.shape)} and {show(b.shape)}; expected two matrices of one shape")
        lead = broadcast_shapes([a.shape[:-2], b.shape[:-2]], "matrix stacks")
        pair = (broadcast_to(a, (*lead, *a.shape[-2:])), broadcast_to(b, (*lead, *b.shape[-2:])))
        return intern(op, pair, None, (*lead, *b.shape[-2:]))
    shape = a.shape[:-1] if op == "eigvalsh" else a.shape if PRIMITIVES[op].keeps else a.shape[:-2]
    return intern(op, args, None, shape)


def exponential(a: Node, *direction: Node) -> Node:
    """Return the exponential of square matrices, or its derivative at them in a direction; stacks broadcast."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"expm of an array of shape {show(a.shape)}; expected a square matrix (or a stack of them)")
    for e in direction:
        if e.shape[-2:] != a.shape[-2:]:
            shapes = f"{show(a.shape)} and {show(e.shape)}"
            raise ShapeError(f"expm_differential of shapes {shapes}; expected square matrices of one shape")
    lead = broadcast_shapes([x.shape[:-2] for x in (a, *direction)], "matrix stacks")
    return intern("expm", (a, *direction), None, (*lead, *a.shape[-2:]))


def pseudo_inverse(a: Node) -> Node:
    """Return the pseudo-inverse of matrices with as many rows as columns, or more, of full rank."""
    if a.ndim < 2:
        raise ShapeError(f"pinv of an array of shape {show(a.shape)}; expected a matrix (or a stack of them)")
    return intern("pinv", (a,), None, (*a.shape[:-2], a.shape[-1], a.shape[-2]))


def point(k: int) -> Node:
    """Return the variable for eigenvalue number ``k`` of the formula of a function of matrices."""
    return placeholder(("eigenvalue", k), ())


def parameter(k: int) -> Node:
    """Return the variable for parameter number ``k`` of such a formula."""
    return placeholder(("parameter", k), ())


def spectrum(shape: Shape) -> Node:
    """Return the variable for all eigenvalues in the formula of an isotropic function."""
    return placeholder(("spectrum",), shape)


def spectrum_parameter(k: int, shape: Shape, dtype: str = REAL) -> Node:
    """Return the variable for parameter number ``k`` of such a formula."""
    return placeholder(("spectrum parameter", k), shape, dtype)


def isotropic(payload: Isotropic, args: Sequence[Node]) -> Node:
    """Apply an isotropic function to symmetric matrices, or its differential to a direction.

    Parameters
    ----------
    payload : Isotropic
    args : sequence of Node
        The matrix, of which the symmetric part counts; the parameters; at most one direction.
    """
    directions = args[1 + payload.parameters :]
    stacks = [payload.function.shape[:-1], *(e.shape[:-2] for e in directions)]
    return intern("isotropic", tuple(args), payload, (*broadcast_shapes(stacks, "matrix stacks"), *args[0].shape[-2:]))


def spectral(payload: Spectral, args: Sequence[Node]) -> Node:
    """Apply a function of symmetric matrices, or a derivative of one, to stacks of matrices that broadcast.

    Parameters
    ----------
    payload : Spectral
    args : sequence of Node
        The matrix, of which the symmetric part counts; the numbers that the function takes; the directions.

    Raises
    ------
    ShapeError
        If the matrices are not square and of one size, or stacks do not broadcast.
    """
    a, rest = args[0], args[1:]
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(
            f"{payload.name} of an array of shape {show(a.shape)}; expected a square matrix (or a stack of them)"
        )
    numbers, directions = rest[: payload.parameters], rest[payload.parameters :]
    for direction in directions:
        if direction.shape[-2:] != a.shape[-2:]:
            raise ShapeError(f"{payload.name} of shapes {show(a.shape)} and {show(direction.shape)}; expected one size")
    stacks = [a.shape[:-2], *(x.shape for x in numbers), *(e.shape[:-2] for e in directions)]
    return intern("spectral", tuple(args), payload, (*broadcast_shapes(stacks, "matrix stacks"), *a.shape[-2:]))
