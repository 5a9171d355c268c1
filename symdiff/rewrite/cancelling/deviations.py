"""Means of deviations from a mean, which are 0: where one deviation is nan or infinite, all are, and these stay."""

from __future__ import annotations

from typing import NamedTuple

from ...graph import Node, axes_of, constant, contract, elementwise, extent, postorder, substitute
from ...graph.kinds import CONTRACTED
from ...graph.scalars.arithmetic import SUMS, terms_of
from ...graph.sizes import product
from ..rewriter import make, rule, spread
from .monomials import DEPTH, TERMS, factors_in, scalars_of, total_of, without_scalars


@rule("add subtract", "z - mean(z), z = x - mean(x)", "z", "reading",
      inside="contract divide multiply negative reshape", below=(CONTRACTED,))
def _mean_of_deviations(node: Node) -> Node | None:
    """Leave the mean of deviations out where the deviations, and its scalars, are factors of another term."""
    if not any(_is_sum(arg) or arg.op in SUMS for arg in node.args):
        return None
    terms = terms_of(node, TERMS, enter=lambda part: part is node or not _is_deviation(part))
    if not any(_is_sum(term) for _, term in terms.parts):
        return None
    for k, (sign, term) in enumerate(terms.parts):
        found = _summed(term)
        if found is None:
            continue
        others = [part for i, part in enumerate(terms.parts) if i != k]
        beside = [factors_in(other) for _, other in others]
        parts, wanted = found.terms(), found.deviations()
        kept = [part for part, own in zip(parts, wanted, strict=True) if own is None or not _is_within(own, beside)]
        if not kept or (None not in wanted and _is_within(found.whole, beside)):
            return spread(total_of(others), node.shape)
        if len(kept) < len(parts) and found.is_only_sum:
            (shorter,) = substitute([term], {found.total: found.of(total_of(kept))})
            return spread(total_of([*others[:k], (sign, shorter), *others[k:]]), node.shape)
    return None


@rule("contract", "sum(c (x - mean(x))), sum(unit(x - mean(x))), outer(v, x - mean(x)).sum(1)", "0, 0, 0", "derived",
      inside="unit subtract multiply divide negative contract")
def _sum_of_deviations(node: Node) -> Node | None:
    """Write 0 for the sum of deviations, of their direction, and of what they are a factor of."""
    (first, *others), labels, out = node.args, node.payload.labels, node.payload.out
    if others:
        return spread(constant(0.0), node.shape) if _holds_deviation(node, {*out}) else None
    if len({*labels[0]}) < first.ndim:
        return None
    axes = {axis for axis, label in enumerate(labels[0]) if label not in out}
    inside = without_scalars(first, set(), ("negative",))
    if inside.shape != first.shape:
        return None
    zero = _deviation(inside, axes) is not None
    if not zero and inside.is_contraction:
        kept = {label for axis, label in enumerate(inside.payload.out) if axis not in axes}
        zero = _holds_deviation(inside, kept)
    return spread(constant(0.0), node.shape) if zero else None


def _holds_deviation(node: Node, kept: set[int]) -> bool:
    """Tell whether a vector among the factors of a contraction is a deviation that is summed by itself."""
    labels, _, repeated = node.payload
    for arg, own in zip(node.args, labels, strict=True):
        alone = len(own) == 1 and own[0] not in kept and sum(own[0] in others for others in labels) == 1
        if alone and own[0] not in dict(repeated):
            vector = without_scalars(arg, set(), ("negative",))
            if vector.shape == arg.shape and _deviation(vector, {0}) is not None:
                return True
    return False


def _is_within(wanted: set[tuple[Node, bool]], beside: list[set[tuple[Node, bool]]]) -> bool:
    return any(wanted <= factors for factors in beside)


def _is_sum(node: Node) -> bool:
    """Tell whether a node looks like a number times a sum."""
    for _ in range(DEPTH):
        if node.op in ("negative", "reshape", "divide"):
            node = node.args[0]
        elif node.is_multiplication and () in (node.args[0].shape, node.args[1].shape):
            node = node.args[node.args[0].shape == ()]
        else:
            break
    return node.is_contraction and not any(arg.shape for arg in node.args[:-1])


class _Summed(NamedTuple):
    """Scalars times a sum along axes: the sum, the array that it is of, and the scalars, in the sum as well."""

    total: Node
    array: Node
    scalars: set[tuple[Node, bool]]

    @property
    def is_only_sum(self) -> bool:
        """True where no scalar is made of the sum."""
        return self.total not in postorder([node for node, _ in self.scalars])

    @property
    def whole(self) -> set[tuple[Node, bool]]:
        """The array and the scalars."""
        return {(self.array, False), *(scalar for scalar in self.scalars if not _is_number(scalar[0]))}

    @property
    def axes(self) -> set[int]:
        """The axes that are summed."""
        labels, out, _ = self.total.payload
        return {axis for axis, label in enumerate(labels[-1]) if label not in out}

    def terms(self) -> list[tuple[float, Node]]:
        """Return what is summed, apart from deviations from a mean."""
        parts = [*terms_of(self.array, TERMS).parts]
        for sign, x in list(parts):
            mean = next((part for part in parts if part[0] == -sign and _is_mean(part[1], x, self.axes)), None)
            if mean is not None and (sign, x) in parts and x.shape == self.array.shape:
                parts[parts.index((sign, x))] = sign, elementwise("subtract", (x, mean[1]))
                parts.remove(mean)
        return parts

    def deviations(self) -> list[set[tuple[Node, bool]] | None]:
        """Return z = x - mean(x), with scalars, for each term that is these scalars times z; None for others."""
        found: list[set[tuple[Node, bool]] | None] = []
        for _, term in self.terms():
            own = set(self.scalars)
            z = _deviation(without_scalars(term, own, ("negative",)), self.axes)
            whole = z is not None and term.shape == self.array.shape
            kept = {scalar for scalar in own if not _is_number(scalar[0])}
            found.append({(z, False), *kept} if whole and z is not None else None)
        return found

    def of(self, array: Node) -> Node:
        """Return the sum of another array, which may repeat along axes."""
        labels, out, repeated = self.total.payload
        return contract([*self.total.args[:-1], spread(array, self.array.shape)], labels, out, dict(repeated))


def _summed(node: Node) -> _Summed | None:
    scalars: set[tuple[Node, bool]] = set()
    total = without_scalars(node, scalars, ("negative", "reshape"))
    if not total.is_contraction or any(arg.shape for arg in total.args[:-1]):
        return None
    for arg in total.args[:-1]:
        scalars.update(scalars_of(arg))
    found = _Summed(total, total.args[-1], scalars)
    return found if found.axes else None


def _is_deviation(node: Node) -> bool:
    """Tell whether a sum is x - mean(x), which counts as one term."""
    every = [set(range(node.ndim)), *({axis} for axis in range(node.ndim) if node.ndim > 1)]
    return node.is_subtraction and any(_deviation(node, axes) is not None for axes in every)


def _deviation(node: Node, axes: set[int]) -> Node | None:
    """Return z for z = x - mean(x) along some axes, and for its direction."""
    if node.op == "unit" and set(axes_of(node, node)) == axes:
        node = node.args[0]
    if not node.is_subtraction or node.args[0].shape != node.shape or not _is_mean(node.args[1], node.args[0], axes):
        return None
    return node


def _is_number(node: Node) -> bool:
    """Tell whether a factor is a number or a size: anything else may be what makes a term nan."""
    return node.shape == () and all(leaf.op in ("constant", "size") for leaf in _below(node))


def _below(node: Node) -> list[Node]:
    """Return the leaves of a short formula, or the node where it is not short."""
    leaves: list[Node] = []
    todo = [node]
    while todo:
        part = todo.pop()
        if part.args and len(leaves) + len(todo) < DEPTH:
            todo.extend(part.args)
        else:
            leaves.append(part)
    return leaves


def _is_mean(node: Node, x: Node, axes: set[int]) -> bool:
    """Tell whether a node is the mean of x along axes, which may be left."""
    count = constant(1.0)
    size = 1.0
    for _ in range(DEPTH):
        if node.is_reshape:
            node = node.args[0]
        elif node.is_division and _is_number(node.args[1]):
            count = make("multiply", count, node.args[1])
            node = node.args[0]
        elif node.is_multiplication and node.args[0].is_constant and node.args[0].shape == ():
            size *= float(node.args[0].value)
            node = node.args[1]
        else:
            break
    if not node.is_contraction or node.args != (x,) or node.payload.repeated:
        return False
    (own,), out, _ = node.payload
    if {axis for axis, label in enumerate(own) if label not in out} != axes or len({*own}) < len(own):
        return False
    wanted = extent(product([x.shape[axis] for axis in axes]))
    return make("multiply", constant(size), wanted) is count or (
        count.is_constant and wanted.is_constant and float(wanted.value) * size == float(count.value)
    )
