"""An estimate of what a formula costs, to choose between two forms of it.

Counts scalar multiplications, additions and function calls as the graph stands, without those
on zeros that its structure shows; a symbolic size counts as a nominal one, so that the choice
does not wait for a call.
"""

from __future__ import annotations

from collections.abc import Sequence

from .graph import MATRIX_OPS, Node, postorder
from .sizes import Dim, product, value

#: What a symbolic size counts as, and what a transcendental function costs in additions.
NOMINAL, TRANSCENDENTAL = 20, 10
#: What a node and what each element of a product cost beside the operations: of two forms with as many,
#: the shorter, and the one that moves less.
_NODE = _PLACE = 0.01
_SUMS = frozenset({"add", "subtract"})
_CHEAP = frozenset({"where", "to_real", "abs", "sign", "maximum", "minimum"})
_FREE = frozenset({"input", "constant", "size", "named", "stop_gradient"})
_MOVES = frozenset({"pad", "gather", "scatter", "triangle"})
_VIEWS = frozenset({"reshape", "slice"})


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
    #: How many elements of a node may be other than zero.
    filled: dict[Node, float] = {}
    for node in postorder(roots):
        op, size = node.op, _elements(node)
        if op in _FREE:
            filled[node] = size
            continue
        if op == "contract":
            own, full = _contraction(node, filled)
        elif op in _SUMS:
            terms = sum([_spread(filled, arg, size) for arg in node.args])
            full = min(size, terms)
            own = terms - full
        elif op == "multiply":
            own = full = min([_spread(filled, arg, size) for arg in node.args])
        elif op == "negative":
            own = full = filled[node.args[0]]
        elif op == "divide":
            full = _spread(filled, node.args[0], size)
            own = TRANSCENDENTAL * full
        elif op in _CHEAP:
            own = full = size
        elif op == "delta":
            own, full = 0.0, float(min(map(_number, node.shape)))
        elif op == "onehot":
            own, full = 0.0, 1.0
        elif op in _VIEWS:
            own, full = 0.0, min(size, filled[node.args[0]])
        elif op in _MOVES:
            full = min(size, filled[node.args[0]])
            own = 0.5 * full
        elif op == "concatenate":
            full = sum([filled[arg] for arg in node.args])
            own = 0.5 * full
        elif op in MATRIX_OPS:
            n = float(_number(node.args[0].shape[-1]))
            own, full = n**3 + size, size
        else:
            own, full = TRANSCENDENTAL * max(size, *map(_elements, node.args)), size
        filled[node] = full
        total += own + _NODE
    return total


def extent(roots: Sequence[Node]) -> float:
    """Return how many elements all nodes below ``roots`` have, zeros included."""
    return sum(map(_elements, postorder(roots)))


def _spread(filled: dict[Node, float], arg: Node, size: float) -> float:
    """Return how many of ``size`` elements are filled when ``arg`` is repeated to as many."""
    own = _elements(arg)
    return filled[arg] if own == size else filled[arg] * size / max(own, 1.0)


def _contraction(node: Node, filled: dict[Node, float]) -> tuple[float, float]:
    """Count the products of one contraction, and the elements they fill; a delta makes its two labels one."""
    labels, out, repeated = node.payload
    sizes: dict[int, Dim] = dict(repeated)
    bound: set[int] = set()
    dense, density = 0, 1.0
    for arg, own in zip(node.args, labels, strict=True):
        sizes.update(zip(own, arg.shape, strict=True))
        if arg.op == "delta":
            bound.add(own[1])
        elif arg.op == "onehot":
            bound.add(own[0])
        else:
            dense += 1
            density *= filled[arg] / max(_elements(arg), 1.0)
    points, places = density, 1.0
    for label, size in sizes.items():
        if label not in bound:
            points *= _number(size)
            if label in out:
                places *= _number(size)
    if not dense:
        return 0.0, places
    full = min(points, places)
    return points * (dense - 1) + points - full + _PLACE * full, full
