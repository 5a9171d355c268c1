"""Products of vectors and matrices beyond ``@``: Kronecker, cross, and stacks of vectors and matrices."""

from __future__ import annotations

from ....errors import ShapeError
from ....graph import Node, broadcast_shapes, contract, gather, reshape
from ....graph.scalars.functions import apply, to_real
from ....graph.sizes import hint_of, show
from ..operations import diagonal, einsum
from ..reductions import sum
from ..shaping import moveaxis


def kron(a: Node, b: Node) -> Node:
    """Return the Kronecker product; the array of fewer axes gets axes of size 1 in front."""
    n = max(a.ndim, b.ndim)
    a, b = (reshape(to_real(x), (*[1] * (n - x.ndim), *x.shape)) for x in (a, b))
    whole_product = contract([a, b], [tuple(range(0, 2 * n, 2)), tuple(range(1, 2 * n, 2))], tuple(range(2 * n)))
    return reshape(whole_product, tuple(p * q for p, q in zip(a.shape, b.shape, strict=True)))


def cross(a: Node, b: Node, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Node:
    """Return the cross product of vectors with three elements, along the last axis or those given."""
    if axis is not None:
        axisa = axisb = axisc = axis
    if not a.ndim or not b.ndim:
        raise ShapeError(f"cross of shapes {show(a.shape)} and {show(b.shape)}; expected vectors of 3 elements")
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ShapeError(
            f"cross over axes of sizes {a.shape[-1]} and {b.shape[-1]}; expected 3 elements along both (of vectors in "
            "a plane, write a[..., 0]*b[..., 1] - a[..., 1]*b[..., 0])"
        )

    def turn(x: Node, first: int) -> Node:
        return gather(x, x.ndim - 1, (first, (first + 1) % 3, (first + 2) % 3))

    result = apply("subtract", apply("multiply", turn(a, 1), turn(b, 2)), apply("multiply", turn(a, 2), turn(b, 1)))
    return moveaxis(result, -1, axisc)


def vecdot(x1: Node, x2: Node, axis: int = -1) -> Node:
    """Multiply vectors along an axis (the last one), and sum; the other axes are broadcast."""
    if not x1.ndim or not x2.ndim:
        raise ShapeError(f"vecdot of shapes {show(x1.shape)} and {show(x2.shape)}; expected vectors, not scalars")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    _same(x1, -1, x2, -1, "vecdot")
    return einsum("...i,...i->...", x1, x2)


def matvec(x1: Node, x2: Node) -> Node:
    """Multiply the matrices in the last two axes by the vectors in the last axis; the others are broadcast."""
    if x1.ndim < 2 or not x2.ndim:
        raise ShapeError(f"matvec of shapes {show(x1.shape)} and {show(x2.shape)}; expected a matrix and a vector")
    _same(x1, -1, x2, -1, "matvec")
    return einsum("...ij,...j->...i", x1, x2)


def vecmat(x1: Node, x2: Node) -> Node:
    """Multiply the vectors in the last axis by the matrices in the last two axes; the others are broadcast."""
    if x2.ndim < 2 or not x1.ndim:
        raise ShapeError(f"vecmat of shapes {show(x1.shape)} and {show(x2.shape)}; expected a vector and a matrix")
    _same(x1, -1, x2, -2, "vecmat")
    return einsum("...i,...ij->...j", x1, x2)


def _same(a: Node, i: int, b: Node, j: int, what: str) -> None:
    if a.shape[i] != b.shape[j]:
        raise ShapeError(
            f"{what} of shapes {show(a.shape)} and {show(b.shape)}: size {a.shape[i]} against {b.shape[j]}"
            f"{hint_of(a.shape[i], b.shape[j])}"
        )
    lead = [x.shape[: x.ndim - (2 if what == own else 1)] for x, own in ((a, "matvec"), (b, "vecmat"))]
    broadcast_shapes(lead, what)


def stack_trace(x: Node, offset: int = 0) -> Node:
    """Sum the diagonal of the matrices in the last two axes, as ``numpy.linalg.trace`` does."""
    return sum(diagonal(x, offset, -2, -1), -1)


def stack_diagonal(x: Node, offset: int = 0) -> Node:
    """Take the diagonal of the matrices in the last two axes, as ``numpy.linalg.diagonal`` does."""
    return diagonal(x, offset, -2, -1)
