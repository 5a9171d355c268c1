"""Rules for positions that a call brings: what is taken, and what is added up at them."""

from __future__ import annotations

from ..graph import Node, constant, contract, elementwise, put, take, transpose, zeros
from ..graph.deltas.affine import is_identity, is_rows
from ..graph.deltas.einsum import einsum, is_zero
from ..graph.sizes import Dim
from .rewriter import rule, settle


@rule("contract", "eye(N)[idx] times x", "add_at(x, idx, N)", "arrays", inside="take")
def _rows_of_identity(node: Node) -> Node | None:
    """Put elements where rows of the identity have their 1, so that nothing is multiplied by zeros."""
    labels, out, repeated = node.payload
    for k, (rows, own) in enumerate(zip(node.args, labels, strict=True)):
        if is_rows(rows) and len(set(own)) == len(own) and (len(node.args) > 1 or set(own) - set(out)):
            others = [i for i in range(len(node.args)) if i != k]
            sizes = {**dict(repeated), **dict(zip(own, rows.shape, strict=True))}
            sizes |= dict(zip(out, node.shape, strict=True))
            args, names = [node.args[i] for i in others], [labels[i] for i in others]
            if not any(arg.shape and not is_zero(arg) for arg in args) and set(own) <= set(out):
                continue
            return _placed(rows.args[1], own, args, names, out, sizes)
    return None


def _placed(
    at: Node,
    own: tuple[int, ...],
    args: list[Node],
    labels: list[tuple[int, ...]],
    out: tuple[int, ...],
    sizes: dict[int, Dim],
) -> Node | None:
    """Write a product with rows of the identity, which have labels ``own``, without them."""
    *places, column = own
    taken, names = [], []
    for arg, axes in zip(args, labels, strict=True):
        if axes.count(column) > 1:
            return None
        # it is read where the rows have their 1 alone
        taken.append(settle(take(arg, at, axes.index(column)) if column in axes else arg))
        names.append(tuple(i for each in axes for i in (places if each == column else (each,))))
    if column not in out:
        return einsum(taken, names, out, sizes)
    first = [label for label in places if label in out]
    order = [*first, *(label for label in places if label not in out)]
    rest = [label for label in out if label != column and label not in first]
    body = einsum(taken, names, (*order, *rest), sizes)
    where = transpose(at, [places.index(label) for label in order])
    added = put(settle(body), where, len(first), sizes[column], len(first))
    return contract([added], [(*first, column, *rest)], out)


@rule("take", "add_at(x, i, N)[i], eye(N)[i][i]", "x, 1", "arrays", inside="put take")
def _taken_back(node: Node) -> Node | None:
    """Return what was put at one place, which is there alone."""
    x, at = node.args
    if at.shape or len(x.args) < 2 or x.args[1] is not at:
        return None
    if x.op == "put":
        return x.args[0] if x.payload == node.payload else None
    return constant(1.0) if is_rows(x) and is_identity(x.args[0]) else None


@rule("take", "zeros[idx], (x repeated)[idx]", "zeros, x repeated", "arrays")
def _taken_forms(node: Node) -> Node | None:
    x, at = node.args
    if is_zero(x):
        return zeros(node.shape)
    if not x.is_contraction or len(x.args) != 1 or node.payload.shared:
        return None
    labels, out, repeated = x.payload
    axis = node.payload.axis + x.ndim
    if out[axis] not in dict(repeated):
        return None
    fresh = tuple(range(1000, 1000 + at.ndim))
    sizes = {**dict(repeated), **dict(zip(fresh, at.shape, strict=True))}
    return contract(x.args, labels, (*out[:axis], *fresh, *out[axis + 1 :]), sizes)


@rule("put", "add_at(zeros, idx, N)", "zeros", "arrays")
def _put_forms(node: Node) -> Node | None:
    return zeros(node.shape) if is_zero(node.args[0]) else None


@rule("add subtract", "add_at(x, idx, N) + add_at(y, idx, N)", "add_at(x + y, idx, N)", "arrays", inside="put")
def _sum_of_puts(node: Node) -> Node | None:
    a, b = node.args
    if a.op != "put" or b.op != "put" or a.shape != b.shape or a.payload != b.payload or a.args[1] is not b.args[1]:
        return None
    total = settle(elementwise(node.op, (a.args[0], b.args[0])))
    return put(total, a.args[1], a.payload.axis + a.ndim, a.shape[a.payload.axis], a.payload.shared)


@rule("contract", "sum(add_at(x, idx, N)), sum(eye(N)[[2, 0]].T @ x)", "sum(x)", inside="put scatter")
def _sum_of_what_is_put(node: Node) -> Node | None:
    """Add up what was put somewhere along an axis, wherever it was put."""
    labels, out, repeated = node.payload
    args, names = list(node.args), list(labels)
    for place, arg in enumerate(node.args):
        if arg.op not in ("put", "scatter"):
            continue
        x, axis = arg.args[0], arg.payload.axis + arg.ndim
        label = names[place][axis]
        if label in out or sum(own.count(label) for own in names) > 1:
            continue
        fresh = max(max(own, default=0) for own in (*names, out)) + 1
        new = range(fresh, fresh + x.ndim - arg.ndim + 1)
        args[place], names[place] = x, (*names[place][:axis], *new, *names[place][axis + 1 :])
    return None if args == list(node.args) else settle(contract(args, names, out, dict(repeated)))
