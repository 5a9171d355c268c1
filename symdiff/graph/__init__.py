"""The array graph: the one representation of a formula, from the front ends to the kernels.

A node is frozen and hash-consed, its unit is the array, and its shape may hold symbolic sizes. Nothing
here knows derivatives.

    element by element   any scalar function of :mod:`symdiff.graph.scalars.functions`, with broadcasting
    contract             Einstein notation: matmul, outer, trace, diagonal, transpose, sum, broadcast
    delta, onehot        the identity as an index pair k = start + step*i, and one row of it
    reduce               max, min, prod, logsumexp, norm over axes
    normalize            softmax, log_softmax, unit over axes
    cumulative           cumsum, cumprod, cummax, cummin, sort along one axis
    arrange              an array in the order of another
    slicing, pad         and its transpose                 gather, scatter   and its transpose
    take, put            the same at positions known at call time
    triangle, reshape, concatenate, matrix (det, inv, ...), spectral, isotropic, exponential, pseudo_inverse
    stop_gradient, named, custom
    external             a function of numbers that Python calls
    recurrence           one body that runs n times

Takes
    nodes and plain Python values, by the constructors that this folder exports
Gives
    :class:`Node`; walks over graphs (``postorder``, ``survey``, ``rebuild``, ``substitute``, ``flatten``,
    ``tabulate``, ``verify``)
Invariants
    * Equal nodes are the same object; ``is`` compares formulas, and passes memoise by node.
    * A constructor refuses what would break a rule of the graph; ``verify`` checks a whole graph.
    * Stages ask a node what it is (``node.is_contraction``) and compare a name only where it is theirs alone.
    * A node says what it is and not how it came about. No node refers to those that use it.
    * No walk recurses. Whatever makes nodes or walks over them charges the budget.
Files
    sizes            polynomials in named sizes
    dump             nodes as text: one line, or a listing
    primitives       the table of array operations, and the records that payloads are
    kinds            what a node tells of its operation, and notes of everything below it
    nodes            Node, the table of nodes, leaves, elementwise operations
    structural       operations that move elements or fold axes
    contractions     Einstein notation, and functions of square matrices
    traversal        walking, rebuilding, checking and flattening
    size_equations   sizes from the shapes of arrays that a call brings
    scalars          the table of scalar functions
    deltas           products with index deltas
    reference        the reference interpreter
Add
    a scalar function: a row in ``scalars/rows``; a primitive: a row in ``primitives``, a constructor here if none
    fits, its meaning in ``reference/numeric``, and what CONTRIBUTING.md lists
"""

from __future__ import annotations

from .._kernels.system.unique import mark as mark_settled
from .._kernels.system.unique import mark_tried
from .contractions import (
    broadcast_to,
    contract,
    exponential,
    isotropic,
    label_sizes,
    line_along,
    matmul,
    matrix,
    places,
    pseudo_inverse,
    spectral,
    sum_axes,
    swap,
    transpose,
    turned,
    zeros,
)
from .nodes import (
    BOOL,
    INT,
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
    number,
    onehot,
    placeholder,
)
from .primitives import Item, Label, Labels
from .structural import (
    arrange,
    concatenate,
    cumulative,
    custom,
    external,
    gather,
    joined_results,
    label,
    normalize,
    pad,
    part_of_part,
    parts_of,
    put,
    recurrence,
    reduce,
    reshape,
    result_of,
    results_of,
    scatter,
    slicing,
    step_number,
    stop_gradient,
    take,
    triangle,
    whole,
)
from .traversal import (
    Numbered,
    axes_of,
    canonical,
    dependents,
    flatten,
    inputs_of,
    number_nodes,
    postorder,
    rebuild,
    remake,
    resize,
    settles,
    spans_of,
    substitute,
    survey,
    surveyed,
    tabulate,
    unflatten,
    verify,
    walk_sizes,
    with_results,
    within,
)

__all__ = [
    "BOOL",
    "INT",
    "REAL",
    "Item",
    "Label",
    "Labels",
    "Node",
    "Number",
    "Numbered",
    "arrange",
    "as_node",
    "axes_of",
    "broadcast_shapes",
    "broadcast_to",
    "canonical",
    "concatenate",
    "constant",
    "contract",
    "cumulative",
    "custom",
    "delta",
    "dependents",
    "elementwise",
    "exponential",
    "extent",
    "external",
    "flatten",
    "gather",
    "input",
    "inputs_of",
    "intern",
    "isotropic",
    "joined_results",
    "label",
    "label_sizes",
    "line_along",
    "mark_settled",
    "mark_tried",
    "matmul",
    "matrix",
    "normalize",
    "number",
    "number_nodes",
    "onehot",
    "pad",
    "part_of_part",
    "parts_of",
    "placeholder",
    "places",
    "postorder",
    "pseudo_inverse",
    "put",
    "rebuild",
    "recurrence",
    "reduce",
    "remake",
    "reshape",
    "resize",
    "result_of",
    "results_of",
    "scatter",
    "settles",
    "slicing",
    "spans_of",
    "spectral",
    "step_number",
    "stop_gradient",
    "substitute",
    "sum_axes",
    "survey",
    "surveyed",
    "swap",
    "tabulate",
    "take",
    "transpose",
    "triangle",
    "turned",
    "unflatten",
    "verify",
    "walk_sizes",
    "whole",
    "with_results",
    "within",
    "zeros",
]
