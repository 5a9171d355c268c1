"""Exponentials of matrices: derivatives in directions that commute with the matrix, determinants."""

from __future__ import annotations

from ...graph import Labels, Node, contract, elementwise, exponential, matmul, swap
from ..rewriter import rule

#: Most factors that a matrix is looked for under.
_DEPTH = 8


@rule("expm", "expm_differential(s X, t X)", "t X @ expm(s X)")
def _along_itself(node: Node) -> Node | None:
    """Take a direction that is a number times the matrix itself, as in the derivative of exp(t X) by t."""
    if len(node.args) != 2 or node.ndim != 2:
        return None
    a, e = node.args
    return matmul(e, exponential(a)) if _core(a) is _core(e) else None


@rule("contract", "sum(X * expm_differential(X.T, C))", "sum(C * (X @ expm(X)))", inside="expm multiply")
def _weighed(node: Node) -> Node | None:
    """Move a derivative over to the matrix that it is weighed with, where that is a number times its own."""
    args, labels = _operands(node)
    for i, derivative in enumerate(args):
        if derivative.op != "expm" or len(derivative.args) != 2 or derivative.ndim != 2 or len({*labels[i]}) < 2:
            continue
        turned = swap(derivative.args[0])
        for j, weights in enumerate(args):
            beside = [*node.payload.out, *(one for k, own in enumerate(labels) if k not in (i, j) for one in own)]
            if j == i or labels[j] not in (labels[i], labels[i][::-1]) or set(labels[i]) & {*beside}:
                continue
            along = weights if labels[j] == labels[i] else swap(weights)
            if _core(turned) is _core(along):
                args[i], args[j] = derivative.args[1], matmul(along, exponential(turned))
                labels[j] = labels[i]
                return contract(args, labels, node.payload.out, dict(node.payload.repeated))
    return None


def _operands(node: Node) -> tuple[list[Node], list[Labels]]:
    """Return what is multiplied in a contraction, in products element by element as well."""
    args: list[Node] = []
    labels: list[Labels] = []
    for arg, own in zip(node.args, node.payload.labels, strict=True):
        parts = arg.args if arg.is_multiplication and all(part.shape == arg.shape for part in arg.args) else (arg,)
        args += parts
        labels += [own] * len(parts)
    return args, labels


@rule("det logdet logabsdet", "det(expm(A)), log(det(expm(A)))", "exp(trace(A)), trace(A)", "stability", inside="expm")
def _of_exponential(node: Node) -> Node | None:
    (x,) = node.args
    if x.op != "expm" or len(x.args) != 1:
        return None
    (a,) = x.args
    total = contract([a], [(*range(a.ndim - 2), a.ndim, a.ndim)], tuple(range(a.ndim - 2)))
    return elementwise("exp", (total,)) if node.op == "det" else total


def _core(node: Node) -> Node:
    """Return a matrix without the numbers that it is multiplied with."""
    turned = False
    for _ in range(_DEPTH):
        if node.is_negation or (node.is_division and _is_repeated(node.args[1])):
            node = node.args[0]
        elif node.is_multiplication and any(map(_is_repeated, node.args)):
            node = node.args[1 if _is_repeated(node.args[0]) else 0]
        elif node.is_contraction and sum(bool(arg.shape) for arg in node.args) == 1:
            k = next(k for k, arg in enumerate(node.args) if arg.shape)
            own, out = node.payload.labels[k], node.payload.out
            if node.args[k].ndim != 2 or own not in (out, out[::-1]) or len(set(own)) < 2:
                break
            node, turned = node.args[k], turned != (own != out)
        else:
            break
    return swap(node) if turned else node


def _is_repeated(x: Node) -> bool:
    return not x.shape or (x.is_contraction and not any(arg.shape for arg in x.args))
