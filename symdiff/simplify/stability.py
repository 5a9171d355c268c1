"""Rewrites to forms that do not overflow or cancel, applied before differentiation too.

A derivative inherits the form of its formula: d/dx log(1 + exp(x)) is nan at 1000 when it is
computed as it is written, and 1 when it comes from softplus. The kernel lists what was done.
"""

from __future__ import annotations

from ..functions import scalar_constant
from ..graph import Node, concatenate, constant, elementwise, matrix, normalize, reduce, reshape, slicing, sum_axes
from ..sizes import Dim
from .engine import is_number, peel, rule, spread, stabilize


def _exp_of(node: Node) -> Node | None:
    """Return a with node = exp(a)."""
    node = peel(node)
    return node.args[0] if node.op == "exp" else None


def _exponents(node: Node, limit: int = 64) -> list[Node] | None:
    """Return a, b, ... when node = exp(a) + exp(b) + ..., a 1 counting as exp(0)."""
    found: list[Node] = []
    todo = [node]
    while todo:
        term = peel(todo.pop())
        if term.op == "add":
            todo.extend(term.args[::-1])
        elif term.op == "exp":
            found.append(term.args[0])
        elif is_number(term, 1.0):
            found.append(constant(0.0))
        else:
            return None
        if len(found) + len(todo) > limit:
            return None
    return found


@rule("log", "log(1 + exp(x))", "softplus(x)", "stability")
def _log_one_plus_exp(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op != "add":
        return None
    for one, other in (inside.args, inside.args[::-1]):
        x = _exp_of(other)
        if x is not None and is_number(one, 1.0):
            return spread(elementwise("softplus", (x,)), node.shape)
    return None


@rule("log1p", "log1p(exp(x))", "softplus(x)", "stability")
def _log1p_exp(node: Node) -> Node | None:
    x = _exp_of(node.args[0])
    return None if x is None else elementwise("softplus", (x,))


@rule("log", "log(exp(a) + exp(b) + ...)", "logsumexp([a, b, ...])", "stability")
def _log_sum_of_exps(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op != "add":
        return None
    terms = _exponents(inside)
    if terms is None:
        return None
    if len(terms) == 2:
        return elementwise("logaddexp", (terms[0], terms[1]))
    parts = [reshape(spread(t, node.shape), (*node.shape, 1)) for t in terms]
    return reduce("logsumexp", concatenate(parts, node.ndim), (node.ndim,))


def _sum_over(node: Node) -> tuple[Node, tuple[int, ...]] | None:
    """Return (x, axes) with node = the sum of x over axes."""
    if node.op != "contract" or len(node.args) != 1:
        return None
    labels, out, repeated = node.payload
    if repeated or len(set(labels[0])) != len(labels[0]) or list(out) != sorted(out):
        return None
    axes = tuple(a for a, label in enumerate(labels[0]) if label not in out)
    return (node.args[0], axes) if axes else None


@rule("log", "log(sum(exp(x)))", "logsumexp(x)", "stability")
def _log_sum_exp(node: Node) -> Node | None:
    inside = peel(node.args[0])
    kept: tuple[Dim, ...] | None = None
    if inside.op == "reshape":
        kept, inside = inside.shape, peel(inside.args[0])
    found = _sum_over(inside)
    x = None if found is None else _exp_of(found[0])
    if x is None or found is None:
        return None
    result = reduce("logsumexp", spread(x, found[0].shape), found[1])
    return result if kept is None else reshape(result, kept)


@rule("log1p", "log1p(-sigmoid(x))", "log_sigmoid(-x)", "stability")
def _log1p_of_rest(node: Node) -> Node | None:
    inside = peel(node.args[0])
    other = peel(inside.args[0]) if inside.op == "negative" else inside
    if inside.op == "negative" and other.op == "sigmoid":
        return elementwise("log_sigmoid", (elementwise("negative", other.args),))
    return None


@rule("log", "log(1 + x)", "log1p(x)", "stability")
def _log_one_plus(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op == "add":
        for one, other in (inside.args, inside.args[::-1]):
            if is_number(one, 1.0) and other.shape == node.shape and other.op != "constant":
                return elementwise("log1p", (other,))
    if inside.op == "subtract" and is_number(inside.args[0], 1.0) and inside.args[1].shape == node.shape:
        return elementwise("log1p", (elementwise("negative", (inside.args[1],)),))
    return None


@rule("subtract", "exp(x) - 1", "expm1(x)", "stability", inside="exp named")
def _exp_minus_one(node: Node) -> Node | None:
    x = _exp_of(node.args[0])
    if x is not None and is_number(node.args[1], 1.0) and x.shape == node.shape:
        return elementwise("expm1", (x,))
    x = _exp_of(node.args[1])
    if x is not None and is_number(node.args[0], 1.0) and x.shape == node.shape:
        return elementwise("negative", (elementwise("expm1", (x,)),))
    return None


@rule("add", "exp(x) + (-1)", "expm1(x)", "stability", inside="exp named")
def _exp_plus_minus_one(node: Node) -> Node | None:
    for number, other in (node.args, node.args[::-1]):
        x = _exp_of(other)
        if x is not None and is_number(number, -1.0) and x.shape == node.shape:
            return elementwise("expm1", (x,))
    return None


@rule("log", "log(softmax(x))", "log_softmax(x)", "stability")
def _log_of_softmax(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op != "softmax":
        if inside.op == "slice" and peel(inside.args[0]).op == "softmax":
            return slicing(_log_of_softmax_node(peel(inside.args[0])), inside.payload)
        return None
    return _log_of_softmax_node(inside)


def _log_of_softmax_node(node: Node) -> Node:
    x = node.args[0]
    return normalize("log_softmax", x, tuple(a + x.ndim for a in node.payload))


@rule("log", "log(sigmoid(x))", "log_sigmoid(x)", "stability")
def _log_of_sigmoid(node: Node) -> Node | None:
    inside = peel(node.args[0])
    return elementwise("log_sigmoid", inside.args) if inside.op == "sigmoid" else None


@rule("log", "log(det(A))", "logdet(A)", "stability")
def _log_of_det(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op == "det":
        return matrix("logdet", inside.args[0])
    if inside.op == "abs" and peel(inside.args[0]).op == "det":
        return matrix("logabsdet", peel(inside.args[0]).args[0])
    return None


@rule("divide", "1 / (1 + exp(-x)), exp(x) / (1 + exp(x))", "sigmoid(x)", "stability")
def _sigmoid_forms(node: Node) -> Node | None:
    top, bottom = peel(node.args[0]), peel(node.args[1])
    if bottom.op != "add":
        return None
    for one, other in (bottom.args, bottom.args[::-1]):
        x = _exp_of(other)
        if x is None or not is_number(one, 1.0) or x.shape != node.shape:
            continue
        if is_number(top, 1.0):
            return elementwise("sigmoid", (_negated(x),))
        if peel(other) is top:
            return elementwise("sigmoid", (x,))
    return None


@rule("divide", "exp(a) / (exp(a) + exp(b) + ...)", "sigmoid(a - b), softmax([a, b, ...])[0]", "stability")
def _share_of_exps(node: Node) -> Node | None:
    a, bottom = _exp_of(node.args[0]), peel(node.args[1])
    terms = _exponents(bottom) if a is not None and bottom.op == "add" else None
    if a is None or terms is None or terms.count(a) != 1:
        return None
    place = terms.index(a)
    if len(terms) == 2:
        return spread(elementwise("sigmoid", (elementwise("subtract", (a, terms[1 - place])),)), node.shape)
    parts = [reshape(spread(t, node.shape), (*node.shape, 1)) for t in terms]
    shares = normalize("softmax", concatenate(parts, node.ndim), (node.ndim,))
    return slicing(shares, (*((0, 1, n) for n in node.shape), (place, 1, None)))


@rule("subtract", "1 - sigmoid(x)", "sigmoid(-x)", "stability")
def _rest_of_sigmoid(node: Node) -> Node | None:
    other = peel(node.args[1])
    if is_number(node.args[0], 1.0) and other.op == "sigmoid" and other.shape == node.shape:
        return elementwise("sigmoid", (_negated(other.args[0]),))
    return None


def _negated(x: Node) -> Node:
    return x.args[0] if x.op == "negative" else elementwise("negative", (x,))


@rule("divide", "exp(x) / sum(exp(x))", "softmax(x)", "stability")
def _softmax_form(node: Node) -> Node | None:
    top, bottom = peel(node.args[0]), peel(node.args[1])
    if top.op != "exp" or top.shape != node.shape:
        return None
    if bottom.op == "reshape":
        bottom = peel(bottom.args[0])
    found = _sum_over(bottom)
    if found is None or peel(found[0]) is not top:
        return None
    spread = tuple(1 if a in found[1] else n for a, n in enumerate(top.shape))
    kept = tuple(n for a, n in enumerate(top.shape) if a not in found[1])
    if node.args[1].shape != spread and not (kept == () and node.args[1].shape == ()):
        return None
    return normalize("softmax", top.args[0], found[1])


@rule("log", "log(exp(x))", "x", "stability")
def _log_of_exp(node: Node) -> Node | None:
    return _exp_of(node.args[0])


@rule("log", "log(x**n)", "n log |x| (even n), n log(x) (odd n)", "stability")
def _log_of_power(node: Node) -> Node | None:
    inside = peel(node.args[0])
    n = scalar_constant(inside.args[1]) if inside.op == "power" else None
    if n is None or n == 0 or not n.is_integer() or inside.args[0].shape != node.shape:
        return None
    x = inside.args[0]
    if n % 2 == 0:
        x = elementwise("abs", (x,))
    (log,) = stabilize([elementwise("log", (x,))])
    return elementwise("multiply", (constant(n), log))


@rule("power", "norm(x)**2", "sum(x**2)", "stability")
def _squared_norm(node: Node) -> Node | None:
    x, n = peel(node.args[0]), node.args[1]
    if x.op != "norm" or not is_number(n, 2.0) or n.shape != ():
        return None
    (inside,) = x.args
    square = elementwise("power", (inside, constant(2.0)))
    return sum_axes(square, [axis + inside.ndim for axis in x.payload])
