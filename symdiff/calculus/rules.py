"""The table of differentials: one an array operation, as a textbook prints it.

Forward mode applies a differential to tangents. Reverse mode transposes it: the
differential is linear in its tangents and built from linear operations alone, and only
those (contraction, slice, reshape, ...) have a transpose of their own, in
:mod:`symdiff.calculus.linear`. So there is no second table of rules that could disagree
with the first.

Tangents and cotangents carry the axes of their seed in front, and every rule below works
on the last axes only, so that one rule serves a single direction and a whole Jacobian.

The short names of sources are those of :class:`symdiff.calculus.linear.Law`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ..errors import NotDifferentiableError
from ..graph import (
    BOOL,
    Labels,
    Node,
    arrange,
    axes_of,
    constant,
    cumulative,
    custom,
    delta,
    elementwise,
    external,
    line_along,
    matrix,
    normalize,
    places,
    reduce,
    reshape,
    transpose,
    triangle,
    turned,
    zeros,
)
from ..graph.deltas.einsum import MINUS_ONE, einsum, is_structured, scale_by
from ..graph.deltas.structural import identity, mask_product, transposed
from ..graph.primitives import EACH, FIRST, INNER, SECOND, TOGETHER, Opaque, complete
from ..graph.scalars.functions import FUNCTIONS, compare, where
from ..graph.scalars.rows import unless_nan
from ..graph.sizes import Dim, product
from .linear import LINEAR, LINEARITY, PULLS, Law

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
LAWS: dict[str, Law] = {}


def _rule(op: str, name: str, equation: str, source: str) -> Callable[[Differential], Differential]:
    def register(rule: Differential) -> Differential:
        DIFFERENTIALS[op] = rule
        LAWS[op] = Law(name, equation, source)
        return rule

    return register


@_rule("det", "Jacobi's formula", "d det(A) = tr(adj(A) dA)", "MN 8.3; MC 41")
def _det(node: Node, tangents: Sequence[Node | None]) -> Node:
    return trace_product(matrix("adjugate", node.args[0]), _only(tangents))


@_rule("logdet", "differential of a log-determinant", "d log det(A) = tr(inv(A) dA)", "MN 8.3; MC 43")
def _logdet(node: Node, tangents: Sequence[Node | None]) -> Node:
    return trace_product(matrix("inv", node.args[0]), _only(tangents))


_rule("logabsdet", "differential of a log-determinant", "d log |det(A)| = tr(inv(A) dA)", "MN 8.3; MC 43")(_logdet)


@_rule("inv", "differential of an inverse", "d inv(A) = -inv(A) dA inv(A)", "MN 8.4; MC 40")
def _inv(node: Node, tangents: Sequence[Node | None]) -> Node:
    return scale_by(MINUS_ONE, matmul(matmul(node, _only(tangents)), node))


@_rule("solve", "differential of a solution", "dX = inv(A) (dB - dA X), for A X = B", "Giles 2.3.1")
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
    """Return inv(a) b, as a product when ``b`` holds deltas and as a solution otherwise.

    Axes of seeds in front of ``b`` become columns of it: one matrix is factorized once.
    """
    if is_structured(b):
        return matmul(matrix("inv", a), b)
    if a.ndim > 2 or b.ndim <= 2:
        return matrix("solve", a, b)
    lead, own = b.ndim - 2, tuple(range(b.ndim))
    behind = (lead, *range(lead), lead + 1)
    columns = einsum([b], [own], behind)
    x = matrix("solve", a, reshape(columns, (columns.shape[0], product(columns.shape[1:]))))
    return einsum([reshape(x, columns.shape)], [behind], own)


@_rule(
    "cholesky",
    "differential of Cholesky's factor",
    "dL = L tril(inv(L) dA inv(L)ᵀ), its diagonal halved",
    "Giles 2.2.3; Murray 2016",
)
def _cholesky(node: Node, tangents: Sequence[Node | None]) -> Node:
    # as the value does, read the lower triangle alone
    da = _only(tangents)
    back = matrix("inv", node)
    symmetric = _add(triangle(da, False, 0), transposed(triangle(da, False, -1)))
    inside = matmul(matmul(back, symmetric), transposed(back))
    lower = _add(triangle(inside, False, -1), triangle(inside, False, 0))
    return matmul(node, scale_by(constant(0.5), lower))


@_rule(
    "adjugate",
    "differential of the adjugate",
    "d adj(A), from the singular value decomposition of A",
    "MN 8.3 differentiated once more",
)
def _adjugate(node: Node, tangents: Sequence[Node | None]) -> Node:
    return matrix("adjugate_differential", node.args[0], _only(tangents))


@_rule("logsumexp", "differential of logsumexp", "d logsumexp(x) = <softmax(x), dx>", "chain rule, DLMF 4.7.1")
def _logsumexp(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    dx = _only(tangents)
    weights = normalize("softmax", x, axes_of(node, x))
    return _sum_last(scale_by(weights, dx), node.payload.axes)


@_rule(
    "softmax",
    "differential of softmax",
    "d softmax(x) = softmax(x) * (dx - <softmax(x), dx>)",
    "quotient rule, DLMF 1.4.10",
)
def _softmax(node: Node, tangents: Sequence[Node | None]) -> Node:
    dx = _only(tangents)
    mean = _keep(_sum_last(scale_by(node, dx), node.payload.axes), node.payload.axes, node.ndim)
    return scale_by(node, _subtract(dx, mean))


@_rule(
    "log_softmax",
    "differential of log softmax",
    "d log_softmax(x) = dx - <softmax(x), dx>",
    "chain rule, DLMF 4.7.1",
)
def _log_softmax(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    dx = _only(tangents)
    weights = normalize("softmax", x, axes_of(node, x))
    return _subtract(dx, _keep(_sum_last(scale_by(weights, dx), node.payload.axes), node.payload.axes, x.ndim))


@_rule("norm", "differential of a norm", "d |x| = <x / |x|, dx>, and 0 at 0", "MC 2.6.1")
def _norm(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    direction = normalize("unit", x, axes_of(node, x))
    return _sum_last(scale_by(direction, _only(tangents)), node.payload.axes)


@_rule("unit", "differential of a direction", "d (x / |x|) = (dx - u <u, dx>) / |x|, for u = x / |x|", "MC 2.6.1")
def _unit(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    dx = _only(tangents)
    along = _keep(_sum_last(scale_by(node, dx), node.payload.axes), node.payload.axes, x.ndim)
    length = _keep(reduce("norm", x, axes_of(node, x)), node.payload.axes, x.ndim)
    return scale_by(1.0 / length, _subtract(dx, scale_by(node, along)))


def _extremum(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    value = _keep(node, node.payload.axes, x.ndim)
    reached = reaches(node, x, value)
    count = _keep(_sum_last(where(reached, 1.0, 0.0), node.payload.axes), node.payload.axes, x.ndim)
    # a strong zero for the others: their own derivative may be infinite
    return _sum_last(mask_product(reached, scale_by(unless_nan(value) / count, _only(tangents))), node.payload.axes)


def reaches(node: Node, x: Node, value: Node) -> Node:
    """Return which elements of ``x`` are its extremum ``value``; all of them where that is nan."""
    outside = compare("less", x, value) if node.op == "max" else compare("less", value, x)
    return elementwise("logical_not", (outside,), BOOL)


_SHARED = "differential of an extremum", "dx where it is reached; elements that tie share it", "convention at kinks"
_rule("max", *_SHARED)(_extremum)
_rule("min", *_SHARED)(_extremum)


@_rule("prod", "product rule", "d prod(x) = sum_i dx_i prod_(j != i) x_j, without division", "DLMF 1.4.9")
def _prod(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    dx = _only(tangents)
    return _sum_last(scale_by(products_of_others(x, node.payload.axes), dx), node.payload.axes)


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


@_rule(
    "cumprod", "product rule", "dy_k = sum_(j <= k) dx_j prod_(i <= k, i != j) x_i, without division", "DLMF 1.4.9"
)
def _cumprod(node: Node, tangents: Sequence[Node | None]) -> Node:
    line = line_along(node.args[0], node.payload.axis)
    n = line.shape[-1]
    j, k = places(n)
    others = where(compare("equal", j, k), 1.0, reshape(line, (*line.shape[:-1], 1, n)))
    products = cumulative("cumprod", others, line.ndim, node.payload.reverse)
    return _along_line(node, where(_is_so_far(node, n), products, 0.0), _only(tangents))


@_rule("sort", "differential of a sort", "dx in the order of x; elements that tie share it", "convention at kinks")
def _sort(node: Node, tangents: Sequence[Node | None]) -> Node:
    (x,) = node.args
    axis, reverse = node.payload
    found = arrange(_only(tangents), x, axis + x.ndim)
    return turned(found, axis) if reverse else found


def _running_extremum(node: Node, tangents: Sequence[Node | None]) -> Node:
    reached = reached_so_far(node)
    n = reached.shape[-1]
    count = _sum_last(where(reached, 1.0, 0.0), (-2,))
    weight = reshape(unless_nan(line_along(node, node.payload.axis)) / count, (*reached.shape[:-2], 1, n))
    # the tangent for each k, in which a strong zero stands for the others: their own derivative may be infinite
    dx = line_along(_only(tangents), node.payload.axis)
    own = tuple(range(dx.ndim))
    wide = einsum([dx], [own], (*own, dx.ndim), {dx.ndim: n})
    total = _sum_last(mask_product(reached, scale_by(weight, wide)), (-2,))
    axis = node.payload.axis + total.ndim
    return transpose(total, (*range(axis), total.ndim - 1, *range(axis, total.ndim - 1)))


def reached_so_far(node: Node) -> Node:
    """Return which elements j, the last axis but one, are the extremum of those up to k, the last."""
    x, value = line_along(node.args[0], node.payload.axis), line_along(node, node.payload.axis)
    n = x.shape[-1]
    x, value = reshape(x, (*x.shape[:-1], n, 1)), reshape(value, (*x.shape[:-1], 1, n))
    outside = compare("less", x, value) if node.op == "cummax" else compare("less", value, x)
    return elementwise("logical_and", (elementwise("logical_not", (outside,), BOOL), _is_so_far(node, n)), BOOL)


_rule("cummax", *_SHARED)(_running_extremum)
_rule("cummin", *_SHARED)(_running_extremum)


def _is_so_far(node: Node, n: Dim) -> Node:
    """Return which elements j, the last axis but one, are among those that a running operation has met at k."""
    j, k = places(n)
    return compare("less_equal", k, j) if node.payload.reverse else compare("less_equal", j, k)


def _along_line(node: Node, slopes: Node, dx: Node) -> Node:
    """Return the sums over j of ``dx_j slopes_jk`` along the axis of ``node``; j and k are the slopes' last axes."""
    axis, rank = node.payload.axis + node.ndim, node.ndim
    at, k = dx.ndim - rank, dx.ndim
    kept = tuple(at + a for a in range(rank) if a != axis)
    out = (*range(at), *(k if a == axis else at + a for a in range(rank)))
    return einsum([dx, slopes], [tuple(range(dx.ndim)), (*kept, at + axis, k)], out)


@_rule("external", "linearity of its author's rule", "d f(x, s) = f(x, ds), f linear in s", "symdiff.external")
def _external(node: Node, tangents: Sequence[Node | None]) -> Node:
    opaque: Opaque = node.payload
    if any(tangent is not None and i not in opaque.linear for i, tangent in enumerate(tangents)):
        raise NotDifferentiableError(
            f"{opaque.name} is a function of numbers without a derivative; expected a rule, sd.external(f, vjp=...), "
            "and for derivatives of derivatives one that is a formula of symbols, or stop_gradient of it"
        )
    given = [
        tangent if tangent is not None else zeros(arg.shape) if i in opaque.linear else arg
        for i, (arg, tangent) in enumerate(zip(node.args, tangents, strict=True))
    ]
    return external(opaque, given)


def _external_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    arg = node.args[i]
    block = _external(node, [identity(arg.shape) if k == i else None for k in range(len(node.args))])
    labels = tuple(range(prefix + block.ndim))
    lead, own, value = labels[:prefix], labels[prefix : prefix + arg.ndim], labels[prefix + arg.ndim :]
    return einsum([ct, block], [(*lead, *value), (*own, *value)], (*lead, *own))


PULLS["external"] = _external_pull


def _only(tangents: Sequence[Node | None]) -> Node:
    (tangent,) = tangents
    assert tangent is not None
    return tangent


def _add(a: Node, b: Node) -> Node:
    return a + b


def _subtract(a: Node, b: Node) -> Node:
    return a - b


def _solve_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    return solve_with(transposed(node.args[0]), ct)


def _adjugate_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    # d²det(A)[E, F] = tr(d adj(A)[E] F) is symmetric in E and F
    return transposed(matrix("adjugate_differential", node.args[0], transposed(ct)))


#: Arguments in which an operation of DIFFERENTIALS is linear, with the transpose there.
LINEAR_IN: dict[tuple[str, int], Callable[[Node, int, Node, int], Node]] = {
    ("solve", 1): _solve_pull,
    ("adjugate_differential", 1): _adjugate_pull,
}

#: Operations of which no argument's tangent is pushed by the operation itself.
NONLINEAR = INNER - TOGETHER - EACH - FIRST - {"custom", "stop_gradient"}
#: Rules that need the differentiator: :mod:`symdiff.calculus.recursive` adds them.
LATER = ("adjugate_differential", "recurrence", "eigvalsh", "eigenvectors", "spectral", "isotropic", "expm", "pinv")
complete(DIFFERENTIALS, __name__, NONLINEAR, without=LATER)
complete((op for op, _ in LINEAR_IN), __name__, SECOND)


# ---------------------------------------------------------------------------- scalar functions


def law_of(node: Node, moving: Sequence[bool]) -> Law:
    """Return the rule by which the differential of a node is taken, when these of its arguments move.

    The equation is empty for scalar functions, whose partial derivatives tell it.
    """
    if node.is_custom:
        law: Law = node.payload.rule.law
        return law
    if node.op in LAWS:
        return LAWS[node.op]
    several = sum(moving) > 1
    if node.op in LINEAR:
        return LINEAR[node.op].law if several else LINEARITY
    row = FUNCTIONS[node.op]
    is_linear = row.rule == "linearity" or (row.rule == "product rule" and not several)
    if is_linear or (row.rule == "quotient rule" and not moving[1]):
        return LINEARITY
    return Law(row.rule, "", f"DLMF {row.source}" if row.source[:1].isdigit() else row.source)


# ---------------------------------------------------------------------------- custom functions


class Captured(NamedTuple):
    """An array from outside that a custom function or its rule uses without taking it as an argument.

    ``title`` is how messages call it. ``counts`` tells whether the value changes with it: the rule
    has no derivative with respect to it then, and none can be derived.
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

    @property
    def law(self) -> Law:
        """Name of the rule in a derivation."""
        return Law("rule of its author", f"the {self.form} given for {self.name}", "symdiff.custom")

    def stand_ins(self, node: Node) -> dict[Node, Node]:
        """Return what ``images`` have besides parameters and seeds, for the node of a call: nothing."""
        return {}


@dataclass(frozen=True)
class ImplicitRule(CustomRule):
    """The differential of a solution x of g(x, p) = 0, dx = -inv(g_x) g_p dp, in terms of x itself.

    Parameters
    ----------
    value : Node
        The placeholder that ``image`` has for the solution, so that a derivative refers to it and has derivatives.
    regular : Node
        The value again, nan where g_x is singular up to rounding: there is no derivative there.
    letter : Node
        The unknown, a placeholder.
    title : str
        Its name.
    equations : tuple of Node
        Formulas of the unknown and the parameters that say what is solved, as they are written.
    given : tuple of int
        The parameters that are written behind them: a start, or both ends of a bracket.
    options : tuple of (str, float)
        What is written behind these by name.
    told : tuple of Node
        Iterations, residual and whether it converged, as formulas of the parameters.
    """

    value: Node | None = None
    regular: Node | None = None
    letter: Node | None = None
    title: str = "x"
    equations: tuple[Node, ...] = ()
    given: tuple[int, ...] = ()
    options: tuple[tuple[str, float], ...] = ()
    told: tuple[Node, ...] = ()

    @property
    def law(self) -> Law:
        """Name of the rule in a derivation."""
        return Law(
            "implicit function theorem",
            "dx = -inv(dg/dx) dg, for g(x) = 0",
            "Krantz and Parks, The Implicit Function Theorem (2013), 3.3",
        )

    def stand_ins(self, node: Node) -> dict[Node, Node]:
        """Return the solution, where it has a derivative, for its placeholder."""
        assert self.value is not None
        assert self.regular is not None
        return {self.value: custom(self, node.args, self.regular)}
