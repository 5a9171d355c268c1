"""An estimate of what a formula costs, to choose between two forms of it.

Counts scalar multiplications, additions and function calls as the graph stands, arrays
whole; a symbolic size counts as a nominal one, so that the choice does not wait for a call.
"""

from __future__ import annotations

from collections.abc import Sequence

from .graph import MATRIX_OPS, Node, postorder
from .sizes import Dim, product, value

#: What a symbolic size counts as, and what a transcendental function costs in additions.
NOMINAL, TRANSCENDENTAL = 20, 10
_CHEAP = frozenset({"add", "subtract", "multiply", "negative", "where", "to_real", "abs", "sign", "maximum", "minimum"})
_FREE = frozenset({"input", "constant", "delta", "onehot", "size", "reshape", "slice", "named", "stop_gradient"})


def _number(size: Dim) -> int:
    return size if isinstance(size, int) else max(1, value(size, dict.fromkeys(size.names, NOMINAL)))


def _elements(node: Node) -> float:
    total = 1.0
    for size in node.shape:
        if not isinstance(size, int):
            return float(_number(product(node.shape)))
        total *= size
    return total


def cost(roots: Sequence[Node]) -> float:
    """Return the estimated number of scalar operations below ``roots``."""
    total = 0.0
    for node in postorder(roots):
        op = node.op
        if op in _FREE:
            continue
        if op == "contract":
            total += _contraction(node)
        elif op in _CHEAP:
            total += _elements(node)
        elif op in MATRIX_OPS:
            n = float(_number(node.args[0].shape[-1]))
            total += n**3 + _elements(node)
        elif op in ("concatenate", "pad", "gather", "scatter", "triangle"):
            total += 0.5 * _elements(node)
        else:
            total += TRANSCENDENTAL * max(_elements(node), *map(_elements, node.args))
    return total


def _contraction(node: Node) -> float:
    """Count the products of one contraction; a delta makes its two labels one."""
    labels, _, repeated = node.payload
    sizes: dict[int, Dim] = dict(repeated)
    same: set[int] = set()
    fixed: list[int] = []
    dense = 0
    for arg, own in zip(node.args, labels, strict=True):
        sizes.update(zip(own, arg.shape, strict=True))
        if arg.op == "delta":
            same.add(own[1])
        elif arg.op == "onehot":
            fixed.append(own[0])
        else:
            dense += 1
    if not dense:
        return 0.0
    points = 1.0
    for label, size in sizes.items():
        if label not in same and label not in fixed:
            points *= _number(size)
    return points * max(1, dense - 1)
