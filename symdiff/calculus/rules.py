"""The table of array operations: one differential each, as a textbook prints it.

Forward mode applies a differential to tangents. Reverse mode transposes it: the
differential is linear in its tangents and built from linear operations alone, and only
those (contraction, slice, reshape, ...) have a transpose of their own, in ``LINEAR``. So
there is no second table of rules that could disagree with the first.

Tangents and cotangents carry the axes of their seed in front, and every rule below works
on the last axes only, so that one rule serves a single direction and a whole Jacobian.

Sources: Magnus and Neudecker, Matrix Differential Calculus (2019), "MN"; Giles, Collected
matrix derivative results for forward and reverse mode (2008), "Giles"; Petersen and
Pedersen, The Matrix Cookbook (2012), "MC".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ..graph import (
    BOOL,
    Labels,
    Node,
    constant,
    cumsum,
    delta,
    elementwise,
    gather,
    label_sizes,
    matrix,
    normalize,
    reduce,
    reshape,
    scatter,
    transpose,
    triangle,
    whole,
)
from ..graph.deltas.einsum import MINUS_ONE, einsum, is_structured, scale_by
from ..graph.deltas.structural import mask_product, put_items, take_items
from ..graph.scalars.functions import compare, unless_nan, where
from ..graph.sizes import Dim, Shape, product

# ---------------------------------------------------------------------------- products on the last axes


def matmul(a: Node, b: Node) -> Node:
    """Multiply the matrices in the last two axes; leading axes of one may extend the other's."""
    return _product(a, b, lambda i, j, k: ((i, j), (j, k), (i, k)))


def inner(a: Node, b: Node, axes: int) -> Node:
    """Sum the products of the last ``axes`` axes; leading axes of one may extend the other's."""
    rank = max(a.ndim, b.ndim)
    la, lb = tuple(range(rank - a.ndim, rank)), tuple(range(rank - b.ndim, rank))
    return einsum([a, b], [la, lb], tuple(range(rank - axes)))


def trace_product(a: Node, b: Node) -> Node:
    """Return tr(a b) for the matrices in the last two axes."""
    return _product(a, b, lambda i, j, k: ((i, j), (j, i), ()))


def _product(a: Node, b: Node, pattern: Callable[[int, int, int], tuple[Labels, Labels, Labels]]) -> Node:
    lead = max(a.ndim, b.ndim) - 2
    left, right, out = pattern(lead, lead + 1, lead + 2)

    def stack(x: Node) -> Labels:
        return tuple(range(lead - (x.ndim - 2), lead))

    return einsum([a, b], [(*stack(a), *left), (*stack(b), *right)], (*range(lead), *out))


def _swap(x: Node) -> Node:
    own = tuple(range(x.ndim))
    return einsum([x], [own], (*own[:-2], own[-1], own[-2]))


def _keep(x: Node, axes: tuple[int, ...], rank: int) -> Node:
    """Give a reduced array its axes back, with size 1 (``axes`` negative, of an array of ``rank``)."""
    shape = list(x.shape)
    for axis in sorted(axis + rank for axis in axes):
        shape.insert(axis + (x.ndim - (rank - len(axes))), 1)
    return reshape(x, tuple(shape))


def _sum_last(x: Node, axes: tuple[int, ...]) -> Node:
    own = tuple(range(x.ndim))
    gone = {axis + x.ndim for axis in axes}
    return einsum([x], [own], tuple(a for a in own if a not in gone))


# ---------------------------------------------------------------------------- differentials

#: Takes the node and the tangents of its arguments (None where an argument is constant).
Differential: TypeAlias = Callable[[Node, Sequence[Node | None]], Node]
DIFFERENTIALS: dict[str, Differential] = {}
SOURCES: dict[str, str] = {}


def _rule(op: str, source: str) -> Callable[[Differential], Differential]:
    def register(rule: Differential) -> Differential:
        DIFFERENTIALS[op] = rule
        SOURCES[op] = source
        return rule

    return register


@_rule("det", "MN 8.3: d det A = tr(adj(A) dA), Jacobi's formula")
def _det(node: Node, tangents: Sequence[Node | None]) -> Node:
    return trace_product(matrix("adjugate", node.args[0]), _only(tangents))


@_rule("logdet", "MN 8.3: d log det A = tr(inv(A) dA)")
def _logdet(node: Node, tangents: Sequence[Node | None]) -> Node:
    return trace_product(matrix("inv", node.args[0]), _only(tangents))


_rule("logabsdet", "MN 8.3: d log |det A| = tr(inv(A) dA)")(_logdet)


@_rule("inv", "MN 8.4: d inv(A) = -inv(A) dA inv(A)")
def _inv(node: Node, tangents: Sequence[Node | None]) -> Node:
    return scale_by(MINUS_ONE, matmul(matmul(node, _only(tangents)), node))


@_rule("solve", "Giles 2.3.1: d X = inv(A) (dB - dA X), for A X = B")
def _solve(node: Node, tangents: Sequence[Node | None]) -> Node:
    a, _ = node.args
    da, db = tangents
    total = db
    if da is not None:
        change = scale_by(MINUS_ONE, matmul(da, node))
        total = change if db is None else _add(db, change)
    assert total is not None
    return solve_with(a, total)


def solve_with(a: Node, b: Node) -> Node:
    """Return inv(a) b, as a product when ``b`` holds deltas and as a solution otherwise."""
    if is_structured(b):
        return matmul(matrix("inv", a), b)
    return matrix("solve", a, b)


@_rule("cholesky", "Giles 2.2.3 and Murray 2016: d L = L tril(inv(L) dA inv(L)ᵀ, halved diagonal)")
def _cholesky(node: Node, tangents: Sequence[Node | None]) -> Node:
    # as the value does, read the lower triangle alone
    da = _only(tangents)
    back = matrix("inv", node)
    symmetric = _add(triangle(da, False, 0), _swap(triangle(da, False, -1)))
    inside = matmul(matmul(back, symmetric), _swap(back))
    lower = _add(triangle(inside, False, -1), triangle(inside, False, 0))
    return matmul(node, scale_by(constant(0.5), lower))


@_rule("adjugate", "differentiating MN 8.3 once more; singular values, see adjugate_differential")
def _adjugate(node: Node, tangents: Sequence[Node | None]) -> Node:
    return matrix("adjugate_differential", node.args[0], _only(tangents))


@_rule("logsumexp", "d logsumexp x = <softmax x, dx>")
def _logsumexp(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    dx = _only(tangents)
    weights = normalize("softmax", x, tuple(a + x.ndim for a in node.payload))
    return _sum_last(scale_by(weights, dx), node.payload)


@_rule("softmax", "d softmax x = softmax x * (dx - <softmax x, dx>)")
def _softmax(node: Node, tangents: Sequence[Node | None]) -> Node:
    dx = _only(tangents)
    mean = _keep(_sum_last(scale_by(node, dx), node.payload), node.payload, node.ndim)
    return scale_by(node, _subtract(dx, mean))


@_rule("log_softmax", "d log_softmax x = dx - <softmax x, dx>")
def _log_softmax(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    dx = _only(tangents)
    weights = normalize("softmax", x, tuple(a + x.ndim for a in node.payload))
    return _subtract(dx, _keep(_sum_last(scale_by(weights, dx), node.payload), node.payload, x.ndim))


@_rule("norm", "MC 131: d |x| = <x / |x|, dx>, and 0 at 0")
def _norm(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    direction = normalize("unit", x, tuple(a + x.ndim for a in node.payload))
    return _sum_last(scale_by(direction, _only(tangents)), node.payload)


@_rule("unit", "MC 132: d (x / |x|) = (dx - u <u, dx>) / |x|, for u = x / |x|")
def _unit(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    dx = _only(tangents)
    along = _keep(_sum_last(scale_by(node, dx), node.payload), node.payload, x.ndim)
    length = _keep(reduce("norm", x, tuple(a + x.ndim for a in node.payload)), node.payload, x.ndim)
    return scale_by(1.0 / length, _subtract(dx, scale_by(node, along)))


def _extremum(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    value = _keep(node, node.payload, x.ndim)
    reached = reaches(node, x, value)
    count = _keep(_sum_last(where(reached, 1.0, 0.0), node.payload), node.payload, x.ndim)
    # a strong zero for the others: their own derivative may be infinite
    return _sum_last(mask_product(reached, scale_by(unless_nan(value) / count, _only(tangents))), node.payload)


def reaches(node: Node, x: Node, value: Node) -> Node:
    """Return which elements of ``x`` are its extremum ``value``; all of them where that is nan."""
    outside = compare("less", x, value) if node.op == "max" else compare("less", value, x)
    return elementwise("logical_not", (outside,), BOOL)


_rule("max", "kink: elements that tie share equally")(_extremum)
_rule("min", "kink: elements that tie share equally")(_extremum)


@_rule("prod", "DLMF 1.4.9: d prod x = sum_i dx_i prod_(j != i) x_j, without division")
def _prod(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    dx = _only(tangents)
    return _sum_last(scale_by(products_of_others(x, node.payload), dx), node.payload)


def products_of_others(x: Node, axes: tuple[int, ...]) -> Node:
    """Return, for each element, the product of the others over ``axes`` (negative)."""
    gone = [axis + x.ndim for axis in axes]
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    line = reshape(transpose(x, (*kept, *gone)), (*(x.shape[a] for a in kept), product(x.shape[a] for a in gone)))
    n = line.shape[-1]
    own = compare("equal", delta(n, n), 1.0)
    others = where(own, 1.0, reshape(line, (*line.shape[:-1], 1, n)))
    result = reshape(reduce("prod", others, (others.ndim - 1,)), tuple(x.shape[a] for a in (*kept, *gone)))
    order = [*kept, *gone]
    return transpose(result, tuple(order.index(axis) for axis in range(x.ndim)))


def _only(tangents: Sequence[Node | None]) -> Node:
    (tangent,) = tangents
    assert tangent is not None
    return tangent


def _add(a: Node, b: Node) -> Node:
    return a + b


def _subtract(a: Node, b: Node) -> Node:
    return a - b


# ---------------------------------------------------------------------------- custom functions


class Captured(NamedTuple):
    """An array from outside that a custom function or its rule uses without taking it as an argument.

    ``title`` is how messages call it. ``counts`` tells whether the value changes with it: the rule
    gives no derivative by it then, and none can be told.
    """

    title: str
    counts: bool


@dataclass(frozen=True)
class CustomRule:
    """The derivative that an author gives for a function, written out as formulas.

    ``parameters`` are the placeholders that the function's body and ``images`` are written with:
    one for each argument, then one for each array in ``captured``. Nothing else from outside is in
    them, so a node of the function has all that it depends on among its arguments.

    The ``form`` says what ``images`` are: a "differential", one image, linear in a tangent for each
    argument; a "vjp", an image for each argument, linear in the cotangent; or a "jacobian", an array
    of shape value + argument for each. ``seeds`` are the placeholders of tangents or cotangent.
    """

    name: str
    parameters: tuple[Node, ...]
    form: str = "jacobian"
    seeds: tuple[Node, ...] = ()
    images: tuple[Node, ...] = ()
    captured: tuple[Captured, ...] = ()
    approximate: bool = False

    @property
    def arity(self) -> int:
        """Number of arguments; what was captured follows them."""
        return len(self.parameters) - len(self.captured)


# ---------------------------------------------------------------------------- linear operations


class Linear(NamedTuple):
    """A linear operation: how it acts on a tangent, and its transpose.

    ``push(node, i, tangent, prefix)`` and ``pull(node, i, cotangent, prefix)`` act on argument
    ``i``; ``prefix`` counts the seed's axes in front.
    """

    push: Callable[[Node, int, Node, int], Node]
    pull: Callable[[Node, int, Node, int], Node]


class Product(NamedTuple):
    """What a contraction's tangent or cotangent is multiplied by, as :func:`einsum` takes it.

    Operand ``at`` is the tangent or cotangent itself; ``own`` and ``result`` label the axes of it
    and of the product that stand behind the seed's.
    """

    operands: list[Node]
    labels: list[Labels]
    out: Labels
    sizes: dict[int, Dim]
    at: int
    own: Labels
    result: Labels


def pushed_product(node: Node, i: int, t: Node, prefix: int) -> Product:
    """Return the product that pushes the tangent of argument ``i`` through a contraction."""
    labels, out, _ = node.payload
    sizes = label_sizes(node)
    lead = tuple(range(len(sizes), len(sizes) + prefix))
    operands = [*node.args[:i], t, *node.args[i + 1 :]]
    given = [*labels[:i], (*lead, *labels[i]), *labels[i + 1 :]]
    return Product(operands, given, (*lead, *out), sizes, i, labels[i], out)


def pulled_product(node: Node, i: int, ct: Node, prefix: int) -> Product:
    """Return the product that pulls a cotangent back to argument ``i`` of a contraction."""
    labels, out, _ = node.payload
    sizes = label_sizes(node)
    fresh = len(sizes)
    lead = tuple(range(fresh, fresh + prefix))
    fresh += prefix
    operands = [ct, *node.args[:i], *node.args[i + 1 :]]
    given = [(*lead, *out), *labels[:i], *labels[i + 1 :]]
    result: list[int] = []
    for own in labels[i]:
        if own in result:  # a diagonal: the second index equals the first
            operands.append(delta(sizes[own], sizes[own]))
            given.append((own, fresh))
            result.append(fresh)
            fresh += 1
        else:
            result.append(own)
    return Product(operands, given, (*lead, *result), sizes, 0, out, tuple(result))


def _contract_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    product = pushed_product(node, i, t, prefix)
    return einsum(product.operands, product.labels, product.out, product.sizes)


def _contract_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    product = pulled_product(node, i, ct, prefix)
    return einsum(product.operands, product.labels, product.out, product.sizes)


def _items_with(prefix: int, node: Node, lead: Shape) -> tuple[Any, ...]:
    return (*(whole(n) for n in lead[:prefix]), *node.payload)


def _slice_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    return take_items(t, _items_with(prefix, node, t.shape))


def _slice_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    return put_items(ct, _items_with(prefix, node, ct.shape), (*ct.shape[:prefix], *node.args[0].shape))


def _pad_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    return put_items(t, _items_with(prefix, node, t.shape), (*t.shape[:prefix], *node.shape))


def _pad_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    return take_items(ct, _items_with(prefix, node, ct.shape))


def _gather_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    axis, indices = node.payload
    return gather(t, axis + t.ndim, indices)


def _gather_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    axis, indices = node.payload
    return scatter(ct, axis + ct.ndim, indices, node.args[0].shape[axis])


def _scatter_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    axis, indices = node.payload
    return scatter(t, axis + t.ndim, indices, node.shape[axis])


def _reshape_to(x: Node, prefix: int, shape: Shape) -> Node:
    """Reshape behind the prefix; axes of size 1 come and go as labels, so deltas survive that."""
    own = x.shape[prefix:]
    if is_structured(x) and tuple(n for n in own if n != 1) == tuple(n for n in shape if n != 1):
        labels = tuple(range(x.ndim))
        wide = iter(a for a in labels[prefix:] if x.shape[a] != 1)
        sizes: dict[int, Dim] = {}
        out = list(labels[:prefix])
        for place, size in enumerate(shape):
            out.append(next(wide) if size != 1 else -1 - place)
            sizes[-1 - place] = 1
        return einsum([x], [labels], tuple(out), sizes)
    return reshape(x, (*x.shape[:prefix], *shape))


def _concatenate_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    return put_items(t, _part_of(node, i, t.shape[:prefix]), (*t.shape[:prefix], *node.shape))


def _concatenate_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    return take_items(ct, _part_of(node, i, ct.shape[:prefix]))


def _part_of(node: Node, i: int, lead: Shape) -> tuple[Any, ...]:
    axis = node.payload + node.ndim
    start: Dim = 0
    for part in node.args[:i]:
        start = start + part.shape[axis]
    shape = node.args[i].shape
    own = tuple((start, 1, shape[a]) if a == axis else whole(n) for a, n in enumerate(node.shape))
    return (*(whole(n) for n in lead), *own)


def _solve_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    return solve_with(_swap(node.args[0]), ct)


def _adjugate_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    # d²det(A)[E, F] = tr(d adj(A)[E] F) is symmetric in E and F
    return _swap(matrix("adjugate_differential", node.args[0], _swap(ct)))


LINEAR: dict[str, Linear] = {
    "contract": Linear(_contract_push, _contract_pull),
    "slice": Linear(_slice_push, _slice_pull),
    "pad": Linear(_pad_push, _pad_pull),
    "gather": Linear(_gather_push, _gather_pull),
    "scatter": Linear(_scatter_push, _gather_push),
    "reshape": Linear(
        lambda node, i, t, prefix: _reshape_to(t, prefix, node.shape),
        lambda node, i, ct, prefix: _reshape_to(ct, prefix, node.args[0].shape),
    ),
    "concatenate": Linear(_concatenate_push, _concatenate_pull),
    "cumsum": Linear(
        lambda node, i, t, prefix: cumsum(t, node.payload[0] + t.ndim, node.payload[1]),
        lambda node, i, ct, prefix: cumsum(ct, node.payload[0] + ct.ndim, not node.payload[1]),
    ),
    "triangle": Linear(
        lambda node, i, t, prefix: triangle(t, *node.payload), lambda node, i, ct, prefix: triangle(ct, *node.payload)
    ),
    "named": Linear(lambda node, i, t, prefix: t, lambda node, i, ct, prefix: ct),
}

#: Arguments in which an operation of DIFFERENTIALS is linear, with the transpose there.
LINEAR_IN: dict[tuple[str, int], Callable[[Node, int, Node, int], Node]] = {
    ("solve", 1): _solve_pull,
    ("adjugate_differential", 1): _adjugate_pull,
}

#: Operations whose derivative can be infinite or undefined where the value is finite.
SINGULAR_OPS = frozenset({"inv", "solve", "logdet", "logabsdet", "cholesky", "norm", "unit", "custom"})
