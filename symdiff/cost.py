"""An estimate of what a formula costs, to choose between two forms of it.

Counts scalar multiplications, additions and function calls as the graph stands, arrays
whole; a symbolic size counts as a nominal one, so that the choice does not wait for a call.
"""

from __future__ import annotations

from collections.abc import Sequence

from .deltas import STRUCTURE
from .graph import MATRIX_OPS, Node, label_sizes, postorder
from .sizes import Dim, product, value

#: What a symbolic size counts as, and what a transcendental function costs in additions.
NOMINAL, TRANSCENDENTAL = 20, 10
_CHEAP = frozenset({"add", "subtract", "multiply", "negative", "where", "to_real", "abs", "sign", "maximum", "minimum"})
_FREE = frozenset({"input", "constant", "delta", "onehot", "size", "reshape", "slice", "named", "stop_gradient"})


def _number(size: Dim) -> int:
    return size if isinstance(size, int) else max(1, value(size, dict.fromkeys(size.names, NOMINAL)))


def cost(roots: Sequence[Node]) -> float:
    """Return the estimated number of scalar operations below ``roots``."""
    total = 0.0
    for node in postorder(roots):
        if node.op in _FREE:
            continue
        elements = float(_number(product(node.shape)))
        if node.op == "contract":
            total += _contraction(node)
        elif node.op in MATRIX_OPS:
            n = float(_number(node.args[0].shape[-1]))
            total += n**3 + elements
        elif node.op in _CHEAP:
            total += elements
        elif node.op in ("concatenate", "pad", "gather", "scatter", "triangle"):
            total += 0.5 * elements
        else:
            total += TRANSCENDENTAL * max(elements, *(float(_number(product(a.shape))) for a in node.args))
    return total


def _contraction(node: Node) -> float:
    """Count the products of one contraction; a delta makes its two labels one."""
    labels, _, _ = node.payload
    sizes = label_sizes(node)
    same: dict[int, int] = {}
    dense = 0
    for arg, own in zip(node.args, labels, strict=True):
        if arg.op == "delta":
            same[own[1]] = own[0]
        elif arg.op == "onehot":
            sizes[own[0]] = 1
        else:
            dense += 1
    kept = {label: _number(size) for label, size in sizes.items() if label not in same}
    points = 1.0
    for size in kept.values():
        points *= size
    return points * max(1, dense - 1) if any(a.op not in STRUCTURE for a in node.args) else 0.0
