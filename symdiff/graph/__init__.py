"""The array graph: the one representation of a formula between front doors and kernels.

A :class:`Node` is frozen and hash-consed: equal nodes are the same object, so common
sub-formulas are shared from birth and passes memoise by node. Arrays, not scalars, are the
unit, and a shape may hold symbolic sizes. Nodes are made by the functions below, each of
which refuses what would break the graph's rules; nothing here knows derivatives.

    element by element   any scalar function of :mod:`symdiff.graph.scalars.functions`, with broadcasting
    contract             Einstein notation: matmul, outer, trace, diagonal, transpose, sum, broadcast
    delta, onehot        the identity as an index pair k = start + step*i, and one row of it
    reduce               max, min, prod, logsumexp, norm over axes
    normalize            softmax, log_softmax, unit over axes    cumsum     along one axis
    slicing, pad         and its transpose                 gather, scatter   and its transpose
    triangle, reshape, concatenate, matrix (det, inv, ...), stop_gradient, named, custom
"""

from __future__ import annotations

from .contractions import (
    MATRIX_OPS,
    Label,
    Labels,
    broadcast_to,
    contract,
    label_sizes,
    matmul,
    matrix,
    sum_axes,
    swap,
    transpose,
    zeros,
)
from .nodes import (
    BOOL,
    REAL,
    Node,
    Number,
    as_node,
    broadcast_shapes,
    constant,
    delta,
    elementwise,
    extent,
    input,
    intern,
    mark_settled,
    number,
    onehot,
    placeholder,
)
from .structural import (
    Item,
    concatenate,
    cumsum,
    custom,
    gather,
    label,
    normalize,
    pad,
    reduce,
    reshape,
    scatter,
    slicing,
    stop_gradient,
    triangle,
    whole,
)
from .traversal import (
    NORMALIZATIONS,
    REDUCTIONS,
    dependents,
    flatten,
    inputs_of,
    postorder,
    rebuild,
    remake,
    substitute,
    unflatten,
    verify,
    walk_sizes,
)

__all__ = [
    "BOOL",
    "MATRIX_OPS",
    "NORMALIZATIONS",
    "REAL",
    "REDUCTIONS",
    "Item",
    "Label",
    "Labels",
    "Node",
    "Number",
    "as_node",
    "broadcast_shapes",
    "broadcast_to",
    "concatenate",
    "constant",
    "contract",
    "cumsum",
    "custom",
    "delta",
    "dependents",
    "elementwise",
    "extent",
    "flatten",
    "gather",
    "input",
    "inputs_of",
    "intern",
    "label",
    "label_sizes",
    "mark_settled",
    "matmul",
    "matrix",
    "normalize",
    "number",
    "onehot",
    "pad",
    "placeholder",
    "postorder",
    "rebuild",
    "reduce",
    "remake",
    "reshape",
    "scatter",
    "slicing",
    "stop_gradient",
    "substitute",
    "sum_axes",
    "swap",
    "transpose",
    "triangle",
    "unflatten",
    "verify",
    "walk_sizes",
    "whole",
    "zeros",
]
